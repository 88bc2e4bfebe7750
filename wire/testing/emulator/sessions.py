"""Sessions over WebSocket: what a vendor answers to each message. No socket and no clock."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from wire.testing.cassette.faults import Fault
from wire.testing.cassette.pieces import Cut, Piece, Reset
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


@dataclass(frozen=True, slots=True)
class OtherFrame:
    """A message in a frame of the kind that the session does not use."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Torn:
    """The first bytes of the frame of a message."""

    data: bytes
    size: int
    """Number of the bytes."""


@dataclass(frozen=True, slots=True)
class Later:
    """Pieces that are sent after a time, whatever is sent meanwhile."""

    seconds: float
    pieces: Sequence[SessionPiece]


SessionPiece = Piece | Close | OtherFrame | Torn | Later
"""A message as bytes, a pause, or the end of the connection."""


class Session(Protocol):
    """One session of a client."""

    @property
    def endpoint(self) -> str:
        """The name that scripts match."""
        ...

    @property
    def binary(self) -> bool:
        """Whether its messages are sent in binary frames."""
        ...

    @property
    def listens(self) -> bool:
        """Whether it reads messages while a pause holds up an answer. If not, they wait."""
        ...

    def begin(self) -> Iterable[SessionPiece]:
        """Return what is sent first."""
        ...

    def receive(self, data: bytes) -> Iterable[SessionPiece]:
        """Return what is sent after a message of the client.

        The pieces are taken up to a pause, and further ones when the pause is over. So what was
        taken has been sent when another message is received.
        """
        ...

    def error(self, fault: Fault) -> Iterable[SessionPiece]:
        """Return the error of a fault, as the vendor tells it in a session."""
        ...

    def farewell(self, seconds: float) -> Iterable[SessionPiece]:
        """Return how the vendor tells that it closes the session after a time, and closes it."""
        ...


@runtime_checkable
class HasSessions(Protocol):
    """A vendor that has sessions."""

    def session(self, request: Received, route: Route, ask: Ask) -> Session | None:
        """Open a session; `None` for an endpoint that has none. Raises `Refusal`."""
        ...


class Speech:
    """The pieces of an answer that is being sent, which the client may interrupt at a pause."""

    def __init__(self, pieces: Iterable[SessionPiece]) -> None:
        self._pieces = pieces
        self._over = False
        self.sent: list[bytes] = []
        """The messages that were sent."""

    def __iter__(self) -> Iterator[SessionPiece]:
        for piece in self._pieces:
            if isinstance(piece, bytes):
                self.sent.append(piece)
            yield piece
            if self._over:
                return

    def stop(self) -> None:
        """Send nothing more of it."""
        self._over = True

    @property
    def interrupted(self) -> bool:
        """Whether it was stopped."""
        return self._over


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


def broken_off(answer: Answer) -> Piece | None:
    """Return how the connection ends in place of an answer; `None` if it does not."""
    return next((each for each in answer.pieces if isinstance(each, (Cut, Reset))), None)


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
