"""Bytes of a body in, events out: how Messages are framed, and when an answer is whole.

- What the body is, its first letter says, not its content type: JSON, or events. A whole answer in
  place of events is given out as the events that would have told it.
- It is whole when `message_stop` was read, or `[DONE]` of a host that ends its streams so; then
  reading ends (R-01, R-04).
- An `error` ends the reading wherever it stands (R-03). `ping` says nothing. An event of a name
  that is not known is given out, and changes nothing (R-09). An event that is no JSON is an error:
  what it said would be missing in the answer.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from wire.anthropic.error_body import error_in, parse_error, request_id_in, typed
from wire.anthropic.fold import fields_of, fold, items_of, whole
from wire.anthropic.types import (
    ErrorObject,
    MessageBatchResult,
    MessageResponse,
    MessageStreamEvent,
)
from wire.core.framing import Framing
from wire.core.jsonstream import Cutter
from wire.core.lenient import Unreadable, decoded, plain
from wire.core.memory import PARTIAL, Note, WireStruct, remember, with_notes
from wire.core.sse import EVENT_LIMIT, Decoder, Event
from wire.errors import StreamError, StreamIncomplete, StreamInvalid, WireError, one_line

W = TypeVar("W", bound=WireStruct)

# --- whole answers --------------------------------------------------------------------------------


def parse_message(body: bytes) -> MessageResponse:
    """A whole answer. A body that came as events is read all the same.

    Raises the provider's error if the body is one, `StreamIncomplete` if it ends too early,
    `StreamInvalid` if it is nothing of the wire.
    """
    if body.lstrip()[:1] == b"{":
        try:
            answer = decoded(body, MessageResponse)
        except Unreadable:
            pass  # unless it is several objects, one after another
        else:
            if _is_answer(answer):
                return whole(answer, body)
    reader = ChunkReader()
    events = [*reader.feed(body), *reader.close()]
    if reader.error is not None:
        if events:
            reader.error.partial = with_notes(fold(events), [*reader.notes, PARTIAL])
        raise reader.error
    return with_notes(fold(events), reader.notes)


def _is_answer(answer: MessageResponse) -> bool:
    failed = answer.base_resp is not None and answer.base_resp.status_code
    return not failed and answer.content is not None and answer.type in ("message", None)


def parse_plain(kind: type[W], body: bytes) -> W:
    """A whole answer that is one struct.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    try:
        answer = decoded(body, kind)
    except Unreadable as cause:
        answer, problem = None, str(cause)
    else:
        problem = "nothing of it is there"
    if answer is None or not any(
        getattr(answer, name, None) is not None for name in ("id", "data", "input_tokens")
    ):
        raise _failure(body) or StreamInvalid(
            f"not a {kind.__name__} ({problem}): {_shown(body)}", raw=body
        )
    return answer


def parse_results(body: bytes) -> list[MessageBatchResult]:
    """The lines of a batch's results.

    Raises the provider's error if the body is one, `StreamInvalid` that names a line that is none.
    """
    results: list[MessageBatchResult] = []
    for number, line in enumerate(body.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            result = decoded(line, MessageBatchResult)
        except Unreadable as cause:
            result, problem = MessageBatchResult(), str(cause)
        else:
            problem = "no custom_id"
        if result.custom_id is None:
            raise _failure(body) or StreamInvalid(
                f"line {number} is no result of a batch ({problem}): {_shown(line)}", raw=body
            )
        if result.result is not None and result.result.message is not None:
            message = fields_of(fields_of(msgspec.Raw(line))["result"])["message"]
            whole(remember(result.result.message, message), bytes(message))
        results.append(result)
    return results


def _failure(body: bytes) -> WireError | None:
    value = plain(body)
    found = error_in(value, certain=False)
    return None if found is None else typed(found, 200, body, request_id_in(value))


# --- streams --------------------------------------------------------------------------------------


class ChunkReader:
    """Bytes of one streamed body in, events out; `wire.core.call.Reader` says what its
    fields mean.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.error: WireError | None = None
        self.done = False
        self.finished = False
        self.notes: list[Note] = []
        self._events = Decoder(limit)
        self._cutter = Cutter(limit)
        self._framing = Framing()
        self._seen = 0
        self._begun = False  # something of an answer came
        self._stop: str | None = None

    def feed(self, data: bytes) -> list[MessageStreamEvent]:
        """Events that `data` completes."""
        events: list[MessageStreamEvent] = []
        if self.error is not None or self.done:
            return events
        data = self._framing.feed(data)
        try:
            if self._framing.as_json:
                for value in self._cutter.feed(data):
                    if not self.done:
                        self._read(value, "", events)
            elif data:
                for event in self._events.feed(data):
                    self._take(event, events)
        except WireError as error:
            self.error = error
        return events

    def close(self) -> list[MessageStreamEvent]:
        """The event that the end of the body completes, if one; `error` says if the answer is not
        whole.
        """
        events: list[MessageStreamEvent] = []
        try:
            if self.error is None and self._framing.as_json:
                self._cutter.check()
            elif self.error is None and not self.done:
                for event in self._events.close():
                    self._take(event, events)
            self.error = self.error or self._incomplete()
        except WireError as error:
            self.error = error
        return events

    def _take(self, event: Event, events: list[MessageStreamEvent]) -> None:
        if self.done:
            return  # what comes with the end in one piece is as little of the answer as what comes later
        if event.outside:
            self._outside(event.data, events)
        elif not event.blank:
            self._seen += 1
            self._read(event.data.strip(), event.event, events, event.cut)

    def _read(
        self, data: bytes, name: str, events: list[MessageStreamEvent], cut: bool = False
    ) -> None:
        """Add the event that data is, if it says something. Raises the error that it is."""
        if data == b"[DONE]":
            self.done = self.finished = self._stop is not None
            return
        try:
            event = decoded(data, MessageStreamEvent)
        except Unreadable as cause:
            if name == "error":
                raise parse_error(500, {}, data) from None
            if failure := _failure(data):
                raise failure from None
            if cut:
                return  # it says nothing wrong, it says too little
            raise StreamInvalid(
                f"not an event of Messages ({cause}): {_shown(data)}", raw=data
            ) from None
        certain = "error" in (event.type, name)
        if certain or event.error is not None or event.type is None:
            value = plain(data)
            found = error_in(value, certain=certain) or (
                ErrorObject(message=data.decode("utf-8", "replace")) if certain else None
            )
            if found is not None:
                raise typed(found, 200, data, request_id_in(value))
        if event.type == "message" or (event.type is None and self._framing.as_json):
            for told in self._told(data):
                self._note(told, events)
        elif event.type != "ping":
            self._note(event, events)

    def _told(self, data: bytes) -> list[MessageStreamEvent]:
        """A whole answer as the events that would have told it.

        Raises `StreamInvalid` if it is none.
        """
        answer = decoded(data, MessageResponse)
        if not _is_answer(answer):
            raise _failure(data) or StreamInvalid(
                f"not an answer of Messages: {_shown(data)}", raw=data
            )
        message = fields_of(msgspec.Raw(data))
        blocks = items_of(message.pop("content"))
        stop = {
            name: message.pop(name) for name in ("stop_reason", "stop_sequence") if name in message
        }
        told: list[dict[str, object]] = [
            {"type": "message_start", "message": {**message, "content": []}}
        ]
        for index, block in enumerate(blocks):
            told += [
                {"type": "content_block_start", "index": index, "content_block": block},
                {"type": "content_block_stop", "index": index},
            ]
        told += [
            {"type": "message_delta", "delta": stop, "usage": message.get("usage", {})},
            {"type": "message_stop"},
        ]
        return [decoded(msgspec.json.encode(each), MessageStreamEvent) for each in told]

    def _note(self, event: MessageStreamEvent, events: list[MessageStreamEvent]) -> None:
        if event.type == "message_stop" and not self._begun:
            return  # the end of nothing
        events.append(event)
        self._begun = self._begun or event.type in (
            "message_start",
            "content_block_start",
            "content_block_delta",
        )
        if event.type == "message_delta" and event.delta is not None:
            self._stop = event.delta.stop_reason or self._stop
        self.done = self.finished = event.type == "message_stop"

    def _outside(self, line: bytes, events: list[MessageStreamEvent]) -> None:
        """A line that belongs to no event: an error in bare JSON is one (R-03), anything else is
        skipped and told.
        """
        if self._cutter.rest or line.lstrip()[:1] in (b"{", b"["):
            for value in self._cutter.feed(line + b"\n"):
                if failure := _failure(value):
                    raise failure
                self._drop(value)
        else:
            self._drop(line)

    def _drop(self, data: bytes) -> None:
        """Tell what was not read; of many pieces the first ones are enough."""
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(
                Note(
                    f"event {self._seen}",
                    f"outside: dropped, it is nothing of the wire: {_shown(data)}",
                )
            )

    def _incomplete(self) -> StreamError | None:
        if self.done:
            return None
        if self._framing.as_json and self._cutter.rest:
            rest = bytes(self._cutter.rest)
            return StreamIncomplete(
                f"the answer ended in the middle of its JSON: {_shown(rest)}",
                retryable=not self._begun,
                raw=rest,
            )
        told = f"; dropped: {self.notes[0]}" if self.notes else ""
        if not self._begun:
            return StreamIncomplete(
                f"the answer ended before its first event{told}", retryable=True
            )
        return StreamIncomplete(f"the stream ended without message_stop{told}")


_MOST_NOTES = 100


def _shown(data: bytes) -> str:
    return one_line(data[:200].decode("utf-8", "replace"))
