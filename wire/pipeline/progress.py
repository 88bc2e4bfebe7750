"""Events of a run, and their output on a terminal or in a log."""

from __future__ import annotations

import dataclasses
from typing import Literal, TextIO, TypeAlias

from wire.pipeline.graph import Node

Kind: TypeAlias = Literal["started", "asking", "completed", "failed", "ended"]


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of a node. `ended`: the run ended at this node, which is not an exit."""

    kind: Kind
    node: Node
    seconds: float = 0.0
    """How long the node took."""
    message: str = ""
    """The error of a node that failed."""


def line(event: Event) -> str:
    """An event as a line of a log.

    >>> line(Event("completed", Node("ask"), 1.234)), line(Event("ended", Node("ask")))
    ('completed ask (codergen) in 1.2 s', 'ended     ask (codergen) has no outgoing edge')
    """
    text = f"{event.kind:<9} {event.node.id} ({event.node.type})"
    if event.kind in ("completed", "failed"):
        text += f" in {event.seconds:.1f} s"
    return f"{text} has no outgoing edge" if event.kind == "ended" else text


class Progress:
    """Writes events as lines; give it to an engine as `report`.

    On a terminal, it writes one line for each node that ended, and a last line with the nodes that
    are running.
    """

    def __init__(self, out: TextIO, *, terminal: bool | None = None) -> None:
        self._out = out
        self._terminal = out.isatty() and _can_encode(out) if terminal is None else terminal
        self._running: list[str] = []

    def __call__(self, event: Event) -> None:
        """Write an event."""
        name = event.node.id
        if event.kind == "started":
            self._running.append(name)
        elif event.kind in ("completed", "failed") and name in self._running:
            self._running.remove(name)
        if not self._terminal:
            self._out.write(f"{line(event)}\n")
        elif event.kind in _SIGNS:
            self._out.write(f"{_CLEAR}{_SIGNS[event.kind]} {line(event)[10:]}\n{self._status()}")
        else:
            self._out.write(_CLEAR if event.kind == "asking" else f"{_CLEAR}{self._status()}")
        self._out.flush()

    def say(self, text: str) -> None:
        """Write a line that is not an event."""
        self._out.write(f"{_CLEAR}{text}\n{self._status()}" if self._terminal else f"{text}\n")
        self._out.flush()

    def close(self) -> None:
        """Erase the line with the running nodes."""
        if self._terminal:
            self._out.write(_CLEAR)
            self._out.flush()

    def _status(self) -> str:
        # A line wider than the terminal wraps, and only its last part would be erased.
        names = ", ".join(self._running)
        if len(names) > 60:
            names = f"{len(self._running)} nodes"
        return f"… {names}" if names else ""


def _can_encode(out: TextIO) -> bool:
    try:
        "… ✓✗".encode(out.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


_CLEAR = "\r\x1b[K"
_SIGNS = {
    "completed": "\x1b[32m✓\x1b[0m",
    "failed": "\x1b[31m✗\x1b[0m",
    "ended": "\x1b[33m!\x1b[0m",
}
