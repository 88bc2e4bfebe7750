"""Sessions over WebSocket: what a vendor answers to each message. No socket and no clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from wire.testing.cassette.pieces import Piece
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route

Ask = Callable[[str, bytes], Answer]
"""Answers a POST of a body to a path, as if the client of the session had sent it over HTTP."""


@dataclass(frozen=True, slots=True)
class Close:
    """The server closes the session."""

    code: int
    reason: str = ""


SessionPiece = Piece | Close
"""A message as bytes, a pause, or the end of the connection."""


class Session(Protocol):
    """One session of a client."""

    def begin(self) -> Sequence[SessionPiece]:
        """Return what is sent first."""
        ...

    def receive(self, data: bytes) -> Sequence[SessionPiece]:
        """Return what is sent after a message of the client."""
        ...


@runtime_checkable
class HasSessions(Protocol):
    """A vendor that has sessions."""

    def session(self, request: Received, route: Route, ask: Ask) -> Session | None:
        """Open a session; `None` for an endpoint that has none. Raises `Refusal`."""
        ...


_EVENT_END = re.compile(rb"\r?\n\r?\n")
_DATA = re.compile(rb"^data: ?(.*?)\r?$", re.MULTILINE)


def messages_of(answer: Answer) -> Iterator[SessionPiece]:
    """Yield the events of a stream as messages, with its pauses and breaks where they were.

    An event that a break cuts is not sent.
    """
    held = b""
    for piece in answer.pieces:
        if not isinstance(piece, bytes):
            yield piece
            continue
        *events, held = _EVENT_END.split(held + piece)
        for event in events:
            data = b"\n".join(_DATA.findall(event))
            if data and data != b"[DONE]":
                yield data


def object_of(data: bytes) -> dict[str, Any] | None:
    """Decode a JSON object; `None` for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def message(value: dict[str, Any]) -> bytes:
    """Encode a message."""
    return json_bytes(value)
