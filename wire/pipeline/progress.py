"""What a run tells of itself, and how it looks on a terminal and in a log."""

from __future__ import annotations

import dataclasses
from typing import Literal, TextIO, TypeAlias

from wire.pipeline.graph import Node

Kind: TypeAlias = Literal["started", "asking", "completed", "failed", "ended"]


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happened to a node. `ended`: the run ended at it, though it is no exit."""

    kind: Kind
    node: Node
    seconds: float = 0.0
    """How long the node took."""
    message: str = ""
    """Why it failed."""


def line(event: Event) -> str:
    """An event as a line of a log.

    >>> line(Event("completed", Node("ask"), 1.234)), line(Event("ended", Node("ask")))
    ('completed ask (codergen) in 1.2 s', 'ended     ask (codergen) has no way out')
    """
    text = f"{event.kind:<9} {event.node.id} ({event.node.type})"
    if event.kind in ("completed", "failed"):
        text += f" in {event.seconds:.1f} s"
    return f"{text} has no way out" if event.kind == "ended" else text


class Progress:
    """Writes what it is told: lines as they come; on a terminal one for each node, and below them
    what is running.

    It is given to an engine as `told`.
    """

    def __init__(self, out: TextIO, *, terminal: bool | None = None) -> None:
        self._out = out
        self._terminal = out.isatty() and _can_say(out) if terminal is None else terminal
        self._running: list[str] = []

    def __call__(self, event: Event) -> None:
        """Tell of an event."""
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
        """Write a line that is about no node."""
        self._out.write(f"{_CLEAR}{text}\n{self._status()}" if self._terminal else f"{text}\n")
        self._out.flush()

    def close(self) -> None:
        """Take away the line of what is running."""
        if self._terminal:
            self._out.write(_CLEAR)
            self._out.flush()

    def _status(self) -> str:
        # Longer than the terminal is wide, it would stay there.
        names = ", ".join(self._running)
        return f"… {names if len(names) <= 60 else f'{len(self._running)} nodes'}" if names else ""


def _can_say(out: TextIO) -> bool:
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
