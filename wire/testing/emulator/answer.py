"""What the emulator says: a status, headers, and pieces of a body with the pauses and breaks
between them. No clock, no socket.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.core.memory import sayable
from wire.testing.writing import Layout, Style, written


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing is sent for so many seconds.

    In front of the first bytes it is a pause before the head.
    """

    seconds: float


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed before the body's announced end."""


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset."""


Piece = bytes | Pause | Cut | Reset


@dataclass(frozen=True, slots=True)
class Answer:
    """One response.

    Its headers name neither a length nor a transfer coding: these are the shell's.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    pieces: tuple[Piece, ...]
    rule: str = ""
    """Id of the rule for which the request was refused."""

    @property
    def body(self) -> bytes:
        """All bytes that are sent."""
        return b"".join(piece for piece in self.pieces if isinstance(piece, bytes))

    @property
    def whole(self) -> bool:
        """It is sent in one piece, with its length."""
        return len(self.pieces) < 2 and all(isinstance(piece, bytes) for piece in self.pieces)


JSON = "application/json; charset=UTF-8"
EVENTS = "text/event-stream"


def google(value: Any, layout: Layout = "google") -> bytes:
    """JSON as Google's servers write it: on one line in events, indented in whole bodies, `<` and
    `>` escaped.
    """
    try:
        plain = msgspec.json.encode(value)
    except UnicodeEncodeError:  # words that repeat half a surrogate pair out of a request
        plain = sayable(json.dumps(value, ensure_ascii=False))
    return written(plain, Style(layout, "google"))


def whole(
    value: Any, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = JSON
) -> Answer:
    """A whole body, indented."""
    return Answer(
        status,
        (("content-type", kind), *(headers or {}).items()),
        (google(value, "indent 2") + b"\n",),
    )


def events(chunks: Iterable[Any], headers: Mapping[str, str] | None = None) -> Answer:
    """Server-sent events, framed with CRLF."""
    pieces = tuple(event(chunk) for chunk in chunks)
    return Answer(200, (("content-type", EVENTS), *(headers or {}).items()), pieces or (b"",))


def event(chunk: Any) -> bytes:
    """One event of Gemini's."""
    return b"data: " + google(chunk) + b"\r\n\r\n"


def array(chunks: Iterable[Any], headers: Mapping[str, str] | None = None) -> Answer:
    """What a stream is without `alt=sse`: one array, indented, that grows by an item a chunk."""
    pieces = [
        (b"\n,\r\n" if place else b"[") + google(chunk, "indent 2")
        for place, chunk in enumerate(chunks)
    ]
    return Answer(
        200, (("content-type", JSON), *(headers or {}).items()), (*(pieces or [b"["]), b"\n]")
    )


def lines(chunks: Iterable[Any]) -> Answer:
    """Server-sent events as OpenAI frames them: LF, and `[DONE]` at the end."""
    pieces = [
        b"data: " + sayable(json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))) + b"\n\n"
        for chunk in chunks
    ]
    return Answer(
        200, (("content-type", "text/event-stream; charset=utf-8"),), (*pieces, b"data: [DONE]\n\n")
    )
