"""Cuts replies at stop sequences, for hosts that have none.

A request whose host takes none is rendered with a note (`sent_stops`), and `ReplyReader` cuts its
replies. A sequence is searched in neighboring texts as in one; a thought, a call or a picture
between them separates them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from wire.core.call import TextSource
from wire.core.errors import RuleError, Violation
from wire.core.memory import PARTIAL, Note
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    Message,
    Origin,
    Part,
    ProviderEvent,
    Reply,
    Restart,
    Stop,
    Text,
    TextDelta,
    Thought,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    with_origin,
)
from wire.neutral.request import cuts


class Match(NamedTuple):
    """A stop sequence in a text, and the position where it begins."""

    at: int
    sequence: str


def first_match(text: str, stops: Sequence[str]) -> Match | None:
    """Find the stop sequence that begins first; of several there, the one that ends first.

    >>> first_match("one, two; three", [";", ","])
    Match(at=3, sequence=',')
    """
    return min((Match(at, stop) for stop in stops if (at := text.find(stop)) >= 0), default=None)


def _open_at(text: str, stops: Sequence[str]) -> int:
    """Find the longest end of a text that may begin a stop sequence; return its position."""
    longest = max(map(len, stops))
    for at in range(max(0, len(text) - longest + 1), len(text)):
        end = text[at:]
        if any(len(end) < len(stop) and stop.startswith(end) for stop in stops):
            return at
    return len(text)


def refuse_without_request(notes: Sequence[Note]) -> None:
    """Raise `RuleError` for a call whose reply is cut, if its reader does not know the request."""
    if cuts(notes):
        problem = "the host takes none, or not so many, and results of a batch are not cut"
        raise RuleError(violations=[Violation("stop", problem, remedy="leave it out")])


# --- complete replies -----------------------------------------------------------------------------


def cut(reply: Reply, stops: Sequence[str]) -> Reply:
    """Cut a reply before the first stop sequence, with a note; return it unchanged if it has none.

    The origin of the message loses its bytes, so the message is sent back as its parts: the model
    must not continue from text that the caller did not see.

    >>> reply = cut(Reply(Message.assistant("1, 2"), Stop("end", raw="completed")), [","])
    >>> reply.text, reply.stop
    ('1', Stop(reason='end', raw='completed', sequence=','))
    """
    parts = reply.message.parts
    found = _place(parts, stops)
    if found is None:
        return reply
    index, match = found
    last = parts[index]
    assert isinstance(last, Text)
    # Its signature and its metadata belong to the complete text.
    kept = (
        *parts[:index],
        *([Text(last.text[: match.at], refusal=last.refusal)] if match.at else []),
    )
    message = Message("assistant", kept)
    end = len(message.text)
    cited = [
        each if (each.end or 0) <= end else msgspec.structs.replace(each, end=end)
        for each in reply.message.citations
        if (each.start or 0) < end
    ]
    message = msgspec.structs.replace(message, citations=tuple(cited))
    if (origin := reply.message.origin) is not None:
        with_origin(message, Origin(origin.provider, origin.model, origin.wire))
    dropped = Counter(type(part).__name__ for part in parts[index + 1 :])
    words = "".join(f", {count} {name}" for name, count in sorted(dropped.items()))
    letters = len(last.text) - match.at
    note = Note("stop", f"cut before {match.sequence!r}: {letters} characters{words} left out")
    return msgspec.structs.replace(
        reply,
        message=message,
        stop=_stop(reply, message, match.sequence),
        notes=(*reply.notes, note),
    )


def _place(parts: Sequence[Part], stops: Sequence[str]) -> tuple[int, Match] | None:
    """Return the index of the text where the first stop sequence begins, and the match in it."""
    # No event separates these texts: a stream cannot tell them apart.
    run: dict[int, str] = {}
    for index, part in enumerate((*parts, None)):
        if isinstance(part, Text):
            run[index] = part.text
        elif part is None or _separates(part):
            if (match := first_match("".join(run.values()), stops)) is not None:
                at = match.at
                for each, text in run.items():
                    if at < len(text):
                        return each, Match(at, match.sequence)
                    at -= len(text)
            run = {}
    return None


def _separates(part: Part) -> bool:
    return isinstance(part, ToolCall | Media) or (isinstance(part, Thought) and part.text != "")


def _stop(reply: Reply, message: Message, sequence: str) -> Stop:
    """Build the stop that a host with stop sequences would report for a complete response."""
    stop = reply.stop
    if PARTIAL in reply.notes:
        return msgspec.structs.replace(stop, sequence=sequence)
    return Stop("tool_calls" if message.tool_calls else "end", stop.raw, message.refusal, sequence)


# --- streams --------------------------------------------------------------------------------------


class StopEvents:
    """The events of a reply up to the first stop sequence, and `Done`.

    An end of a text that may be the beginning of a sequence is held back until the next event shows
    whether it is. The rest of the stream is read, since its last event has the usage.
    """

    def __init__(self, events: Callable[[], TextSource], stops: Sequence[str]) -> None:
        self._source, self._stops = events(), stops
        self._begin()

    def _begin(self) -> None:
        self._held = ""
        self._is_cut = False
        self._calls = 0

    def feed(self, chunk: object) -> list[Event]:
        """Return the events of one chunk."""
        return self._passed(self._source.feed(chunk))

    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one with other texts."""
        return self._passed(self._source.feed_texts(texts))

    def close(self, answer: Reply) -> list[Event]:
        """Return the last events. Raises the errors of the source."""
        return self._passed(self._source.close(answer))

    def _passed(self, events: Sequence[Event]) -> list[Event]:
        passed: list[Event] = []
        for event in events:
            if isinstance(event, TextDelta):
                passed += self._text(event.text)
            elif isinstance(event, ProviderEvent):
                passed.append(event)
            elif isinstance(event, Restart):
                self._begin()
                passed.append(event)
            else:
                passed += self._text("", ends=True)
                if self._shows(event):
                    passed.append(event)
        return passed

    def _shows(self, event: Event) -> bool:
        """Return whether the caller gets an event that is not a text."""
        if isinstance(event, ToolCallStart) and not self._is_cut:
            self._calls = event.position + 1
        if isinstance(event, ToolCallDelta | ToolCallEnd):
            return event.position < self._calls
        return not self._is_cut or isinstance(event, Done)

    def _text(self, text: str, *, ends: bool = False) -> list[Event]:
        """Return the events of a further text; with `ends`, no text follows it."""
        if self._is_cut:
            return []
        text = self._held + text
        open_at = len(text) if ends else _open_at(text, self._stops)
        match = first_match(text, self._stops)
        # A sequence that begins before the match may still be completed.
        if match is not None and match.at <= open_at:
            self._is_cut, open_at = True, match.at
        self._held = text[open_at:]
        return [TextDelta(text[:open_at])] if open_at else []
