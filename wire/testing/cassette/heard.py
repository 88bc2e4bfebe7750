"""The messages of one session while it is recorded. No I/O; the caller has the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from msgspec import UNSET, UnsetType

from wire.testing.cassette.format.bodies import read_message
from wire.testing.cassette.format.redaction import Redaction
from wire.testing.cassette.format.structs import Close, Direction, End, Message


class HeardMessage(NamedTuple):
    """A message as it was sent or received, secrets included."""

    direction: Direction
    data: bytes
    is_text: bool
    after: int | UnsetType
    """Milliseconds since the message before, if they are recorded."""

    def __repr__(self) -> str:
        # Tracebacks show the variables of frames, and a message may have a key.
        return f"HeardMessage({self.direction}, {len(self.data)} bytes)"


class Heard:
    """Hears a session, as `wire.http.websocket.Tape`.

    `lap` returns the milliseconds since it was called before; without it, no times are recorded.
    """

    def __init__(self, lap: Callable[[], int] | None = None) -> None:
        self._lap = lap
        self.messages: list[HeardMessage] = []
        self.end: End = "closed by the caller"
        self.close: Close | UnsetType = UNSET

    def sent(self, message: bytes) -> None:
        """Note a message of the client."""
        self.note("sent", message, is_text=True)

    def received(self, message: bytes, *, is_text: bool) -> None:
        """Note a message of the server."""
        self.note("received", message, is_text=is_text)

    def closed(self, code: int, reason: str) -> None:
        """Note that the server closed the session."""
        self.end, self.close = "eof", Close(code=code, reason=reason)

    def broke(self, how: Literal["cut", "reset", "timeout"]) -> None:
        """Note that the session ended without a close; the first end counts."""
        if self.end == "closed by the caller":
            self.end = how

    def note(self, direction: Direction, message: bytes, *, is_text: bool) -> None:
        """Note a message."""
        after = UNSET if self._lap is None else self._lap()
        self.messages.append(HeardMessage(direction, message, is_text, after))


class Written(NamedTuple):
    """The messages of a session for the cassette."""

    messages: list[Message]
    sent_paths: list[str]
    """Those that selected a value of a sent message."""
    received_paths: list[str]
    """Those that selected a value of a received message."""


def written(heard: Iterable[HeardMessage], redaction: Redaction) -> Written:
    """Convert messages to the form of the cassette, redacted.

    Raises as `Redaction.apply`.
    """
    paths: dict[Direction, dict[str, None]] = {"sent": {}, "received": {}}
    messages: list[Message] = []
    for each in heard:
        redacted = redaction.apply(each.data)
        paths[each.direction] |= dict.fromkeys(redacted.paths)
        messages.append(
            Message(
                direction=each.direction,
                after=each.after,
                binary=not each.is_text,
                body=read_message(redacted.data),
            )
        )
    return Written(messages, [*paths["sent"]], [*paths["received"]])
