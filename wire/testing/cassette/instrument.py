"""Intended changes of a replay: the chunks of a body, and faults (C-32, C-33)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from wire.core.errors import ConfigurationError
from wire.core.forks import new_in_child
from wire.testing.cassette.chunking import as_received, chunking_of, paced
from wire.testing.cassette.faults import Fault, broken, error_response, events_of, fault_of
from wire.testing.cassette.format.structs import End
from wire.testing.cassette.pieces import Cut, Pause, Reset
from wire.testing.cassette.player import Played
from wire.testing.cassette.plot import Plot

Faults = str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]]
"""One fault, or several of which the first that applies to an attempt counts."""


class Instrument:
    """Changes recorded responses before they are played.

    `chunks` is a text of `wire.testing.cassette.chunking`, `faults` one of
    `wire.testing.cassette.faults` or a list of them. With `sleep`, recorded times are kept. Raises
    `ConfigurationError` for other texts.
    """

    def __init__(self, chunks: str = "recorded", faults: Faults = (), sleep: bool = False) -> None:
        self.chunking, self._sleep = chunking_of(chunks), sleep
        given = [faults] if isinstance(faults, (str, Mapping)) else list(faults)
        self._faults = [fault_of(each) for each in given if each]
        self._attempts: Counter[int] = Counter()
        self._lock = threading.Lock()
        new_in_child(self, _lock=threading.Lock)

    def check(self, interactions: int, name: str) -> None:
        """Raise `ConfigurationError` for a fault of an interaction that the cassette has not."""
        for fault in self._faults:
            if fault.interaction is not None and fault.interaction >= interactions:
                raise ConfigurationError(
                    f"fault: interaction={fault.interaction}: {name} has {interactions}, "
                    "counted from 0"
                )

    def rewind(self) -> None:
        """Count attempts from the beginning."""
        self._attempts.clear()

    def fault(self, index: int) -> Fault | None:
        """Return the fault of the next attempt at an interaction.

        Whoever plays it keeps the interaction for the next attempt: a retry of the caller gets the
        same recorded response.
        """
        if not self._faults:
            return None
        with self._lock:
            self._attempts[index] += 1
            attempt = self._attempts[index]
        for each in self._faults:
            if each.interaction in (None, index) and each.applies(attempt):
                return each
        return None

    def changed(self, played: Played, fault: Fault | None) -> Played:
        """Return the response with the fault, in the chunks that `chunking` makes.

        A fault has its own pauses, between events. Without one, the recorded times are kept.
        """
        if fault is not None:
            played = with_fault(played, fault)
            return played._replace(chunks=self.chunking.cut(played.chunks))
        chunks = as_received(played.chunks, played.lengths)
        if self._sleep:
            chunks = paced(chunks, played.times)
        return played._replace(chunks=self.chunking.cut(chunks))


def recorded_events(played: Played) -> list[bytes]:
    """Return the events of a recorded response, by which faults count."""
    recorded = [each for each in played.chunks if isinstance(each, bytes)]
    is_stream = played.headers.get("content-type", "").startswith("text/event-stream")
    return events_of(recorded, is_stream=is_stream)


def with_fault(played: Played, fault: Fault) -> Played:
    """Return a recorded response with a fault."""
    if fault.kind == "status":
        status, headers, body = error_response(fault)
        return Played(status, headers, [body], "eof")
    pieces = broken(recorded_events(played), fault)
    ends: dict[type, End] = {Cut: "cut", Reset: "reset"}
    end = ends.get(type(pieces[-1]), "eof" if fault.kind == "end" else played.end)
    chunks = [each for each in pieces if isinstance(each, (bytes, Pause))]
    # The length that was recorded is that of the whole body.
    headers = {k: v for k, v in played.headers.items() if k != "content-length"}
    return played._replace(headers=headers, chunks=chunks, end=end, source=f"fault {fault.kind}")


def with_cut(plot: Plot, fault: Fault) -> None:
    """Put a fault into a session that is played.

    Raises `ConfigurationError` for one that a session cannot have.
    """
    ends: dict[str, End] = {"cut": "cut", "reset": "reset"}
    if fault.kind not in ends:
        raise ConfigurationError(
            f"fault: {fault.kind} is not for sessions; they have a status, {' and '.join(ends)}"
        )
    plot.cut(fault.after, ends[fault.kind])
