"""Reads the bodies of Responses, and decides when a response is complete.

- A response is complete when one of `response.completed` and `response.incomplete` was read. There
  is no other sign: most hosts send no `[DONE]`, and a stream may end with status 200 after any
  event (R-01, R-04).
- `response.failed` ends the reading with the provider's error. So does the event `error`, but only
  when the next event arrives or the body ends: `response.failed` follows it at most hosts and holds
  the state of the response.
- Only the `type` in the JSON counts. Some hosts send no `event:` line.
- An event of an unknown type is handed out and changes nothing (R-09). An event that is not JSON is
  an error, because the response would lack its content.
- A complete response in place of events is converted to the deltas of its texts and its last
  event.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.chunk_bytes import RawValue
from wire.core.error_words import ErrorReader
from wire.core.errors import APIError, StreamInvalid, WireError
from wire.core.lenient import decoded, fields_of
from wire.core.limits import Limits
from wire.core.reading import FramedReader, parse_whole, shown
from wire.openai.common.error_body import ERRORS
from wire.openai.responses.fold import TERMINAL_EVENTS, fold, keep_bytes
from wire.openai.responses.types import Response, StreamEvent

_FAILED = "response.failed"
_EVENT_OF_STATUS = {"incomplete": "response.incomplete", "failed": _FAILED}

# --- complete bodies ------------------------------------------------------------------------------


@checked_arguments()
def parse_response(body: bytes) -> Response:
    """Decode a complete response, also one that was sent as events.

    Raises the provider's error if the body contains one or the response failed, `StreamIncomplete`
    if the response is truncated, `StreamInvalid` if the body is not a response of this wire.
    """
    return parse_whole(
        body,
        lambda data: decoded(data, Response),
        lambda response, _: _is_response(response),
        keep_bytes,
        ChunkReader,
        fold,
    )


def _is_response(response: Response) -> bool:
    """Return whether it is a response that did not fail.

    One in the background has no output yet; one that has ended has at least an empty one.
    """
    has_ended = response.status in ("completed", "incomplete")
    return (
        response.error is None
        and response.status != "failed"
        and (response.output is not None or (response.object == "response" and not has_ended))
    )


# --- streams --------------------------------------------------------------------------------------


class ChunkReader(FramedReader[StreamEvent]):
    """Decodes the body of one stream into events."""

    done: bool
    __slots__ = (
        "_failure",
        "_in_background",
        "_whole",
        "_worded",
        "last_number",
        "response_id",
    )

    finished: bool

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    value_name = "an event of Responses"
    ending = "response.completed"
    answer_name = "output"
    chunk_type = StreamEvent

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        super().__init__(limits)
        self._whole = False
        self._failure: WireError | None = None  # of an event `error`
        self._worded: APIError | None = None  # the same, if the event says more than that
        self._in_background = False
        self.response_id: str = ""
        self.last_number: int | None = None
        """The `sequence_number` of the last event."""

    def read(self, data: bytes, name: str) -> None:
        """Emit an event, or the last event of a complete response; raise the error in it."""
        event = decoded(data, StreamEvent)
        if event.type == "error" or (event.type is None and name == "error"):
            self._raise_failure()
            self._worded = ERRORS.in_success(data, certain=True)
            self._failure = self._worded or ERRORS.without_words(data)
        elif event.type is None:
            self._raise_failure()
            for each in _events_of(data):
                self.emit(each)
        elif event.type == _FAILED:
            self.emit(event)
        else:
            self._raise_failure()
            self.emit(event)

    def follow(self, chunk: StreamEvent) -> None:
        """Record the last event, which ends the reading; raise the error of a failed response."""
        if chunk.sequence_number is not None:
            self.last_number = chunk.sequence_number
        if not self.answers and (chunk.item is not None or chunk.delta is not None):
            self.answers = True
        if chunk.response is not None:
            self.answers = self.answers or _is_response(chunk.response)
            self.response_id = chunk.response.id or self.response_id
            self._in_background = bool(chunk.response.background)
        if chunk.type == _FAILED:
            raise _failure_of(chunk, self._worded)
        if chunk.type in TERMINAL_EVENTS:
            self._whole = self.done = self.finished = True

    def follow_texts(self, latest: RawValue) -> None:
        """Record the number of the last event."""
        if latest is not msgspec.UNSET:
            self.last_number = int(bytes(latest))

    def end(self) -> None:
        """Handle `[DONE]`, which ends the body and completes nothing."""
        self._raise_failure()
        self.done = self.finished = self._whole

    def close(self) -> list[StreamEvent]:
        """Return the last chunks at the end of the body; set `error` if it is incomplete."""
        before = self.error
        last = super().close()
        self.error = before or self._failure or self.error
        return last

    @property
    def is_resumable(self) -> bool:
        """Whether the server can stream the events behind the last one."""
        return self._in_background and self.last_number is not None and bool(self.response_id)

    def is_whole(self) -> bool:
        """Return whether a last event was read."""
        return self._whole

    def _raise_failure(self) -> None:
        if self._failure is not None:
            raise self._failure


def _failure_of(event: StreamEvent, before: APIError | None) -> WireError:
    """Return the error of a failed response; if there are two, the one with more words.

    The event `error` names a type and a parameter, `response.failed` only a code and a message.
    """
    response = fields_of(event.raw).get("response", msgspec.Raw(b"{}"))
    error = fields_of(response).get("error")
    own: APIError | None = None
    if error is not None and bytes(error) != b"null":
        # Without its envelope, whose status is that of the response and not of the error.
        envelope = b'{"error":' + bytes(error) + b"}"
        own = ERRORS.in_success(envelope, certain=True, raw=bytes(response))
    if before is not None and (own is None or before.message != "no message"):
        return before
    return own or ERRORS.without_words(bytes(event.raw or b""))


def _events_of(data: bytes) -> Iterator[StreamEvent]:
    """Yield the texts of a complete response as the deltas of a stream, and its last event.

    Raises the provider's error, or `StreamInvalid` if `data` is not a response.
    """
    response = decoded(data, Response)
    if not _is_response(response) and response.status != "failed":
        error = ERRORS.in_success(data, certain=True)
        raise error or StreamInvalid(f"not a response: {shown(data)}", raw=data)
    for index, item in enumerate(response.output or ()):
        content = item.content if item.type == "message" and isinstance(item.content, list) else ()
        for at, part in enumerate(content):
            if part.type == "output_text" and part.text:
                place = {"output_index": index, "content_index": at, "delta": part.text}
                delta = {"type": "response.output_text.delta", **place}
                # json writes halves of surrogate pairs as they came, as escapes.
                yield decoded(json.dumps(delta).encode(), StreamEvent)
    kind = _EVENT_OF_STATUS.get(response.status or "", "response.completed")
    event = b'{"type":"' + kind.encode() + b'","response":' + data + b"}"
    yield decoded(bytes(msgspec.Raw(event)), StreamEvent)
