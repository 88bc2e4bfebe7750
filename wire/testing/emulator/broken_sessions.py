"""Faults of the messages of a session: of one answer, or of all messages. No socket and no clock.

`wire.testing.emulator.faults` has the words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from wire.testing.cassette.faults import Fault, finishes
from wire.testing.cassette.pieces import Cut, Pause, Reset
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.sessions import Close, OtherFrame, Session, SessionPiece, Torn

PAUSE_SECONDS = 1.0
"""The length of a pause whose fault has no `seconds`."""
_GARBAGE = b"{not json"
_OF_THE_NEXT = ("drop", "frame", "huge", "swap")
"""Those that change the message behind their place; all others stand between two messages."""


class _Faulty:
    """One fault, and how many messages were sent before it."""

    def __init__(self, fault: Fault, session: Session) -> None:
        self._fault, self._session = fault, session
        self._last = b""
        self._held: bytes | None = None
        self._over = False
        self.count = 0
        self.changed = False

    def through(self, pieces: Iterable[SessionPiece]) -> Iterator[SessionPiece]:
        """Yield pieces, with the fault at its place."""
        yield from self._between()
        for piece in pieces:
            if self._over:
                continue  # the session goes on, but its client learns nothing of it
            if not isinstance(piece, bytes):
                yield piece
                continue
            self.count += 1
            yield from self._changed(piece)
            self._last = piece
            yield from self._between()

    def _between(self) -> Iterator[SessionPiece]:
        """Yield what stands between two messages."""
        fault = self._fault
        after = 0 if fault.kind == "slow" else fault.after
        if self.changed or self.count != after or fault.kind in (*_OF_THE_NEXT, "drop-finish"):
            return
        if fault.bytes or (fault.kind == "repeat" and not self._last):
            return
        self.changed = True
        match fault.kind:
            case "cut":
                yield Cut()
            case "reset":
                yield Reset()
            case "close":
                yield Close(fault.code, fault.reason)
            case "stall" | "slow":
                yield Pause(_seconds(fault))
            case "garbage":
                yield _GARBAGE
            case "repeat":
                yield self._last
            case "end":
                self._over = True
            case "expire":
                yield from self._session.farewell(_seconds(fault))
            case _:  # error, error-bare
                yield from self._session.error(fault)
                self._over = True

    def _changed(self, data: bytes) -> Iterator[SessionPiece]:
        """Yield a message, or what the fault makes of it."""
        fault = self._fault
        if self._held is not None:
            held, self._held = self._held, None
            self.changed = True
            yield data
            yield held
        elif fault.kind == "drop-finish" and finishes(data):
            self.changed = True
        elif self.changed or self.count != fault.after + 1:
            yield data
        elif fault.bytes and fault.kind in ("cut", "reset"):
            self.changed = True
            yield Torn(data, fault.bytes)
            yield Cut() if fault.kind == "cut" else Reset()
        elif fault.kind == "swap":
            self._held = data
        elif fault.kind == "drop":
            self.changed = True
        elif fault.kind == "huge":
            self.changed = True
            yield data.rjust(fault.size)
        elif fault.kind == "frame":
            self.changed = True
            yield OtherFrame(data)
        else:
            yield data


def _seconds(fault: Fault) -> float:
    return PAUSE_SECONDS if fault.seconds is None else fault.seconds


def broken(
    session: Session, answer: Answer, pieces: Iterable[SessionPiece]
) -> Iterable[SessionPiece]:
    """Return the messages of an answer with the faults that its steps have.

    A fault that would change nothing closes the session, with a reason that names the step.
    """
    for place, fault in answer.faults:
        pieces = _checked(_Faulty(fault, session), fault, place, pieces)
    return pieces


def _checked(
    faulty: _Faulty, fault: Fault, place: str, pieces: Iterable[SessionPiece]
) -> Iterator[SessionPiece]:
    yield from faulty.through(pieces)
    if not faulty.changed:
        words = f"{place}fault: {fault.kind}; after={fault.after}"
        yield Close(1011, f"{words}: the answer has {faulty.count} messages")


class BrokenSession:
    """A session whose messages, counted from its first, have a fault; satisfies `Session`."""

    def __init__(self, session: Session, fault: Fault) -> None:
        self._session, self._faulty = session, _Faulty(fault, session)
        self.endpoint, self.binary = session.endpoint, session.binary
        self.listens = session.listens

    def begin(self) -> Iterable[SessionPiece]:
        """Return what is sent first."""
        return self._faulty.through(self._session.begin())

    def receive(self, data: bytes) -> Iterable[SessionPiece]:
        """Return what is sent after a message of the client."""
        return self._faulty.through(self._session.receive(data))

    def error(self, fault: Fault) -> Iterable[SessionPiece]:
        """Return the error of a fault."""
        return self._session.error(fault)

    def farewell(self, seconds: float) -> Iterable[SessionPiece]:
        """Return how the vendor closes the session after a time."""
        return self._session.farewell(seconds)
