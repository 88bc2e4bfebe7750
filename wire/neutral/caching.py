"""Selects the messages of a request that get a cache breakpoint, and names its beginning.

A breakpoint asks the vendor to keep the request up to there. Each wire's own module renders it.
This module is loaded for requests with `caching` or with a message that has `cache`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from wire.core.memory import Note, encode
from wire.neutral.messages import Message
from wire.neutral.request import Request

MAX_BREAKPOINTS = 4
"""The most breakpoints of a request. Anthropic refuses more (A21)."""


def breakpoint_paths(
    request: Request,
    conversation: Iterable[tuple[str, Message]],
    notes: list[Note],
    most: int = MAX_BREAKPOINTS,
) -> frozenset[str]:
    """Return the paths of the messages that get a breakpoint: the last `most` ones.

    A note reports each of the others.
    """
    if request.caching == "off":
        return frozenset()
    paths = [path for path, message in conversation if message.cache]
    kept = paths[-most:]
    notes += [
        Note(f"{path}.cache", f"left out: a request has at most {most} cache breakpoints")
        for path in paths[: len(paths) - len(kept)]
    ]
    return frozenset(kept)


def prefix_key(beginning: Sequence[Any]) -> str:
    """Return a name of the beginning of requests, equal for equal beginnings and only for them.

    >>> prefix_key(["Be brief.", []]) == prefix_key(["Be brief.", []])
    True

    `beginning` are values that JSON can represent. Its 37 characters are within the 64 that OpenAI
    accepts. It is empty if JSON cannot represent them: building the body then raises the error.
    """
    try:
        data = encode(beginning)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return ""
    return f"wire-{hashlib.sha256(data).hexdigest()[:32]}"
