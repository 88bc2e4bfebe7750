"""The cases: files of JSON beside this module, one for each wire, and the form that they have.

`schemas/conformance.schema.json` is the JSON Schema of such a file.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from wire.core.decoders import convert, json_schema
from wire.core.errors import ConfigurationError
from wire.core.files import read_whole
from wire.core.json_values import json_of_file
from wire.core.secret import quoted
from wire.testing.conformance.paths import values_at
from wire.testing.emulator.script import step_of

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
    "pauses continued",
    "usage told",
]
"""What a case is about."""


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mistyped key is an error: a check that is not read would pass each client.

    What a class here checks of its keys is a `ValueError` with `.key: problem`, or `problem`.
    """


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
    search: bool = False
    """Whether the model may search the web, by a tool that the server runs."""
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

    def __post_init__(self) -> None:
        try:
            values_at(None, self.at)
        except ValueError as cause:
            raise ValueError(f".at: {cause}") from None
        if self.request == 0:
            raise ValueError(".request: expected a number from 1, or -1 for the last one")
        if (self.equals is None) == (self.texts is None):
            raise ValueError("expected equals or texts, one of them")


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
    error: bool | None = False
    """Whether the client reports an error. With `null` both are right: an error that has one of
    `words`, or an answer with one of `stop`.
    """
    status: int | None = None
    """The status that the error names."""
    says: str | None = None
    """A text that the error contains: words of the server."""
    words: list[str] = []
    """Words in small letters, of which the error has one in its type or message."""
    text: str | None = None
    """The text of the last answer."""
    calls: list[Call] | None = None
    """The calls of all answers."""
    stop: list[str] | None = None
    """Words for why the model stopped, of which the client reports one."""
    usage: Tokens | None = None

    def __post_init__(self) -> None:
        if self.requests is not None and not 0 <= self.requests[0] <= self.requests[1]:
            raise ValueError(".requests: expected the least number, then the most")


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

    def __post_init__(self) -> None:
        for index, step in enumerate(self.script):
            path = f"script[{index}]"
            try:
                step_of(step, path)
            except ConfigurationError as cause:
                problem = cause.message.removeprefix("script: ")
                where = "" if problem.startswith(path) else f"{path}."  # a fault has no path
                raise ValueError(f".{where}{problem}") from None


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

    def __post_init__(self) -> None:
        if not self.key:
            raise ValueError(".key: expected a fake key, by which a leak is seen")
        try:
            re.compile(self.endpoint)
        except re.error as cause:
            raise ValueError(f".endpoint: no regular expression: {cause}") from None
        for index, case in enumerate(self.cases):
            if not case.id.startswith(f"{self.wire}/"):
                problem = f"expected {self.wire}/ and a name, not {quoted(case.id)}"
                raise ValueError(f".cases[{index}].id: {problem}")


def read(path: str | os.PathLike[str]) -> Wire:
    """Read the cases of one file.

    Raises `ConfigurationError` with the name of the file and the JSON path of what is wrong.
    """
    name = os.fsdecode(path)
    value = json_of_file(read_whole(path, ConfigurationError), name, ConfigurationError)
    try:
        wire: Wire = convert(value, Wire)
    except msgspec.ValidationError as cause:
        problem, _, where = str(cause).partition(" - at `$")
        where = where.rstrip("`")
        if problem.startswith("."):  # a check of this module, which names the key below
            key, _, problem = problem.partition(": ")
            where += key
        place = f"{where.lstrip('.')}: " if where else ""
        raise ConfigurationError(f"{name}: {place}{problem[:1].lower()}{problem[1:]}") from None
    return wire


@cache
def wires() -> tuple[Wire, ...]:
    """Read the cases of this library, by the names of their files."""
    return tuple(map(read, sorted(_FOLDER.glob("*.json"))))


def wires_of(paths: Sequence[str | os.PathLike[str]]) -> list[Wire]:
    """Read the cases of files, and of the files `*.json` of folders.

    Raises `ConfigurationError` for a folder without such a file, and for an id that two cases have.
    """
    found: list[Wire] = []
    names: dict[str, str] = {}
    for path in paths:
        files = sorted(Path(path).glob("*.json")) if os.path.isdir(path) else [path]
        if not files:
            raise ConfigurationError(f"{os.fsdecode(path)}: no file *.json in this folder")
        for file in files:
            wire = read(file)
            for index, case in enumerate(wire.cases):
                place = f"{os.fsdecode(file)}: cases[{index}].id"
                if case.id in names:
                    problem = f"{quoted(case.id)} is the id at {names[case.id]}, too"
                    raise ConfigurationError(f"{place}: {problem}")
                names[case.id] = place
            found.append(wire)
    return found


def chosen(
    patterns: Sequence[str] = (), paths: Sequence[str | os.PathLike[str]] = ()
) -> list[tuple[Wire, Case]]:
    """Return the cases that a pattern fits, such as `openai/*`, or all.

    They are those of the files and folders `paths`, or else those of this library. Raises
    `ConfigurationError` for a pattern that fits none.

    >>> [case.id for _, case in chosen(["openai/cut*"])]
    ['openai/cut-stream']
    """
    among = wires_of(paths) if paths else wires()
    rows = [(wire, case) for wire in among for case in wire.cases]
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(case.id, pattern) for _, case in rows):
            raise ConfigurationError(f"case: no case fits {quoted(pattern)}; --list prints them")
    return [
        (wire, case)
        for wire, case in rows
        if not patterns or any(fnmatch.fnmatchcase(case.id, each) for each in patterns)
    ]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a file of cases."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Cases of wire conformance",
        **json_schema(Wire),
    }
