"""Events of a run, and their output on a terminal or in a log."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, TextIO, TypeAlias, get_args

from wire.core.errors import PipelineError, one_line
from wire.core.printable import printable_json, printable_line, printable_lines
from wire.pipeline.graph import Node

Kind: TypeAlias = Literal[
    "started", "asking", "answer", "call", "result", "completed", "failed", "ended"
]
LogLevel: TypeAlias = Literal["debug", "info", "warn", "error"]
LogFormat: TypeAlias = Literal["text", "json"]

LOG_LEVELS: tuple[LogLevel, ...] = get_args(LogLevel)
LOG_FORMATS: tuple[LogFormat, ...] = get_args(LogFormat)

_LEVEL_OF: dict[str, LogLevel] = {"failed": "error", "ended": "warn"}
"""The level of a kind of event; of all others it is info."""
_LEVEL_OF_SEVERITY: dict[str, LogLevel] = {
    "debug": "debug",
    "warning": "warn",
    "error": "error",
    "critical": "error",
}
_MAX_SHOWN_BYTES = 200
"""Of the arguments of a call, and of its result."""
_MAX_LINE_BYTES = 1 << 16
_WIDTH = 100
_MAX_WORD = 10 * _WIDTH


@dataclasses.dataclass(frozen=True)
class Event:
    """An event of a node.

    - `started`, `completed`, `failed`: the node. `ended`: the run ended at this node, which is not
      an exit.
    - `asking`: the node asks the user.
    - `answer`: a piece of its agent's answer. `call`, `result`: a tool call of the agent.
    """

    kind: Kind
    node: Node
    seconds: float = 0.0
    """How long the node took."""
    message: str = ""
    """The error of a node that failed; the piece of an answer; the call, or its result."""


def line(event: Event) -> str:
    """Format an event as a line of a log.

    >>> line(Event("completed", Node("ask"), 1.234)), line(Event("ended", Node("ask")))
    ('completed ask (codergen) in 1.2 s', 'ended     ask (codergen) has no outgoing edge')
    >>> line(Event("call", Node("ask"), message='list_dir {"path": "."}'))
    'call      ask: list_dir {"path": "."}'
    """
    node = printable_line(event.node.id)
    if event.kind in ("answer", "call", "result"):
        # An answer has one line in an event, whose emoji may need joiners.
        shown = printable_lines if event.kind == "answer" else printable_line
        return f"{event.kind:<9} {node}: {shown(event.message)}"
    text = f"{event.kind:<9} {node} ({printable_line(event.node.type)})"
    if event.kind in ("completed", "failed"):
        text += f" in {event.seconds:.1f} s"
    return f"{text} has no outgoing edge" if event.kind == "ended" else text


class Progress:
    """Writes events as lines; give it to an engine as `report`.

    On a terminal, a last line shows the nodes that are running. Answers of agents are written line
    by line as they arrive. `level` is the least level that is written; with `format="json"`, each
    line is a JSON object with time, level and event or message.

    Characters that act on a terminal or hide text are escaped (`wire.core.printable`).

    Raises `PipelineError` for an unknown level or format.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        terminal: bool | None = None,
        level: LogLevel = "info",
        format: LogFormat = "text",
        now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="milliseconds"),
    ) -> None:
        for name, value, known in (
            ("level", level, LOG_LEVELS),
            ("format", format, LOG_FORMATS),
        ):
            if value not in known:
                raise PipelineError(f"{name}: expected one of {', '.join(known)}, not {value!r}")
        self._out = out
        self._terminal = out.isatty() and _can_encode(out) if terminal is None else terminal
        self._terminal = self._terminal and format == "text"
        self._level, self._json, self._now = level, format == "json", now
        self._running: list[str] = []
        self._answers: dict[str, str] = {}
        """Id of a node -> the beginning of a line of its agent's answer."""

    def __call__(self, event: Event) -> None:
        """Write an event."""
        if event.kind == "answer":
            self._add_answer(event)
            return
        if rest := self._answers.pop(event.node.id, "").rstrip():
            self._write(dataclasses.replace(event, kind="answer", seconds=0.0, message=rest))
        name = event.node.id
        if event.kind == "started":
            self._running.append(name)
        elif event.kind in ("completed", "failed") and name in self._running:
            self._running.remove(name)
        self._write(event)

    def _add_answer(self, event: Event) -> None:
        """Write the lines that are complete; a long line is wrapped."""
        text = self._answers.get(event.node.id, "") + event.message
        *complete, rest = text.split("\n")
        if len(rest) > _WIDTH:
            *wrapped, rest = textwrap.wrap(
                rest, _WIDTH, drop_whitespace=False, break_long_words=False, break_on_hyphens=False
            )
            complete += wrapped
        if len(rest) > _MAX_WORD:
            # A word without an end would be searched for blanks again with each piece of it.
            complete.append(rest)
            rest = ""
        self._answers[event.node.id] = rest
        for each in complete:
            self._write(dataclasses.replace(event, message=each.rstrip()))

    def _write(self, event: Event) -> None:
        if not self._is_shown(_LEVEL_OF.get(event.kind, "info")):
            return
        if self._json:
            self._write_json(_LEVEL_OF.get(event.kind, "info"), _facts(event))
        elif not self._terminal:
            self._out.write(f"{line(event)}\n")
        elif event.kind in _SIGNS:
            self._out.write(f"{_CLEAR}{_SIGNS[event.kind]} {line(event)[10:]}\n{self._status()}")
        else:
            self._out.write(_CLEAR if event.kind == "asking" else f"{_CLEAR}{self._status()}")
        self._out.flush()

    def report(self, message: str, severity: str) -> None:
        """Write an error, a warning or a log record as a line: `warning: message`."""
        level: LogLevel = _LEVEL_OF_SEVERITY.get(severity, "info")
        if not self._is_shown(level):
            return
        text = f"{severity}: {one_line(message, _MAX_LINE_BYTES)}"
        if self._json:
            self._write_json(level, {"message": message})
        else:
            self._out.write(f"{_CLEAR}{text}\n{self._status()}" if self._terminal else f"{text}\n")
        self._out.flush()

    def close(self) -> None:
        """Erase the line with the running nodes."""
        if self._terminal:
            self._out.write(_CLEAR)
            self._out.flush()

    def _is_shown(self, level: LogLevel) -> bool:
        return LOG_LEVELS.index(level) >= LOG_LEVELS.index(self._level)

    def _write_json(self, level: LogLevel, facts: dict[str, Any]) -> None:
        entry = {"time": self._now(), "level": level, **facts}
        text = json.dumps(entry, ensure_ascii=not _is_utf8(self._out))
        self._out.write(f"{printable_json(text)}\n")

    def _status(self) -> str:
        # A line wider than the terminal wraps, and only its last part would be erased.
        names = printable_line(", ".join(self._running))
        if len(names) > 60:
            names = f"{len(self._running)} nodes"
        return f"… {names}" if names else ""


def _facts(event: Event) -> dict[str, Any]:
    facts: dict[str, Any] = {"event": event.kind, "node": event.node.id, "type": event.node.type}
    if event.kind in ("completed", "failed"):
        facts["seconds"] = round(event.seconds, 3)
    return {**facts, "message": event.message} if event.message else facts


def shown(text: str) -> str:
    """Shorten a text of a model or a tool to one line.

    >>> shown("first\\nsecond")
    'first second'
    """
    return one_line(text, _MAX_SHOWN_BYTES)


def _is_utf8(out: TextIO) -> bool:
    return (getattr(out, "encoding", None) or "").lower().replace("-", "") == "utf8"


def _can_encode(out: TextIO) -> bool:
    try:
        "… ✓✗→←".encode(out.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


_CLEAR = "\r\x1b[K"
_SIGNS = {
    "answer": " ",
    "call": "→",
    "result": "←",
    "completed": "\x1b[32m✓\x1b[0m",
    "failed": "\x1b[31m✗\x1b[0m",
    "ended": "\x1b[33m!\x1b[0m",
}
