"""The cases: files of JSON beside this module, one for each wire, and the form that they have."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted

_FOLDER = Path(__file__).parent / "cases"

Aspect = Literal[
    "signatures kept",
    "fields kept",
    "cut streams told",
    "errors in streams told",
    "parallel calls paired",
    "retries right",
    "keys masked",
    "stops told",
    "usage told",
]
"""What a case is about."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mistyped key is an error: a check that is not read would pass each client."""


class Tool(_Row, frozen=True):
    """A function that the model may call, with its results."""

    name: str
    description: str
    parameters: dict[str, Any]
    by: str
    """The argument that chooses the result."""
    results: dict[str, str]


class Task(_Row, frozen=True):
    """What the client is to do. Each turn goes on until an answer has no calls."""

    turns: list[str]
    """Texts of the user, one after another in one conversation."""
    stream: bool = False
    thoughts: bool = False
    """Whether the client asks the model to think, and for what it thought."""
    max_tokens: int = 2000
    tools: list[Tool] = []
    show: bool = False
    """Whether the client reports what a log would show of its error, or else of itself."""


class Sent(_Row, frozen=True):
    """A check of one request that the server received."""

    request: int
    """From 1; -1 is the last one."""
    at: str
    """A path in its body, as `paths.values_at` reads it."""
    equals: list[Any] | None = None
    """The values there, all and in this order."""
    texts: list[str] | None = None
    """For each value there, in this order, a text that its JSON contains."""


class Call(_Row, frozen=True):
    """A call that the client read."""

    name: str
    args: dict[str, Any]


class Tokens(_Row, frozen=True):
    """Tokens of the last answer."""

    input: int
    output: int


class Expectation(_Row, frozen=True):
    """What is right. The key of the task never stands in the output of the client."""

    requests: tuple[int, int] | None = None
    """The least and the most requests to the endpoint."""
    waits: list[float] = []
    """The least seconds between a request and the next one."""
    sent: list[Sent] = []
    error: bool = False
    """Whether the client reports an error."""
    status: int | None = None
    """The status that the error names."""
    says: str | None = None
    """A text that the error contains: words of the server."""
    text: str | None = None
    """The text of the last answer."""
    calls: list[Call] | None = None
    """The calls of all answers."""
    stop: list[str] | None = None
    """Words for why the model stopped, of which the client reports one."""
    usage: Tokens | None = None


class Case(_Row, frozen=True, kw_only=True):
    """One conversation with a scripted server."""

    id: str
    """`wire/name`."""
    aspect: Aspect
    about: str
    """What a right client does, in one sentence."""
    task: Task
    script: list[dict[str, Any]]
    """Steps of the server, as `wire.testing.emulator.script` reads them."""
    expect: Expectation
    model: str = ""
    """Replaces that of the wire."""
    base_url: str = ""
    """Replaces that of the wire."""
    host: str = ""
    """Replaces that of the wire."""


class Wire(_Row, frozen=True):
    """The cases of one wire, and where its clients find the server."""

    wire: str
    host: str
    """The host that the server plays, by its name in `wire.providers`."""
    model: str
    base_url: str
    """With `{url}` in the place of the address of the server."""
    key: str
    """A fake key."""
    environment: dict[str, str]
    """The variables that clients of this wire read, with `{base_url}` and `{key}`."""
    endpoint: str
    """A regular expression of the paths that ask the model."""
    cases: list[Case]


@cache
def wires() -> tuple[Wire, ...]:
    """Read the cases of all wires, by the names of their files."""
    files = sorted(_FOLDER.glob("*.json"))
    return tuple(decoder(Wire).decode(each.read_bytes()) for each in files)


def chosen(patterns: Sequence[str] = ()) -> list[tuple[Wire, Case]]:
    """Return the cases that a pattern fits, such as `openai/*`, or all.

    Raises `ConfigurationError` for a pattern that fits none.

    >>> [case.id for _, case in chosen(["openai/cut*"])]
    ['openai/cut-stream']
    """
    rows = [(wire, case) for wire in wires() for case in wire.cases]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(case.id, pattern) for _, case in rows):
            raise ConfigurationError(f"case: no case fits {quoted(pattern)}; --list prints them")
    return [
        (wire, case)
        for wire, case in rows
        if not patterns or any(fnmatch.fnmatchcase(case.id, each) for each in patterns)
    ]
