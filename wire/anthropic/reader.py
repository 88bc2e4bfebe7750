"""Reads the bodies of Messages, and decides when a response is complete.

- A complete message instead of events is converted to the events of a stream of that message.
- A response is complete when `message_stop` was read. Some hosts send `[DONE]` instead; it counts
  once a stop reason was read. Reading then ends (R-01, R-04).
- An `error` ends the reading at any position (R-03). `ping` is skipped. An event of an unknown type
  is handed out and changes nothing (R-09). An event that is not JSON is an error, because the
  response would lack its content.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

import msgspec

from wire.anthropic.error_body import ERRORS
from wire.anthropic.fold import fold, keep_bytes
from wire.anthropic.types import MessageBatchResult, MessageResponse, MessageStreamEvent
from wire.core import reading
from wire.core.error_words import ErrorReader
from wire.core.errors import StreamInvalid
from wire.core.json_lines import numbered_lines
from wire.core.lenient import Unreadable, decoded, fields_of, items_of
from wire.core.limits import Limits
from wire.core.memory import WireStruct, remember
from wire.core.reading import FramedReader, parse_whole, shown

W = TypeVar("W", bound=WireStruct)

# --- complete bodies ------------------------------------------------------------------------------


def parse_message(body: bytes) -> MessageResponse:
    """Decode a complete response, also one that was sent as events.

    Raises the provider's error if the body contains one, `StreamIncomplete` if the response is
    truncated, `StreamInvalid` if the body is not a response of this wire.
    """
    return parse_whole(
        body,
        lambda data: decoded(data, MessageResponse),
        lambda response, _: _is_response(response),
        keep_bytes,
        ChunkReader,
        fold,
    )


def _is_response(response: MessageResponse) -> bool:
    failed = response.base_resp is not None and response.base_resp.status_code
    return not failed and response.content is not None and response.type in ("message", None)


def parse_plain(kind: type[W], body: bytes) -> W:
    """Decode a complete body that is one struct, such as a list of models.

    Raises the provider's error if the body contains one, `StreamInvalid` if the body is not a
    `kind`.
    """
    return reading.parse_plain(kind, body, ERRORS, _is_plain_response, may_be_empty=False)


def _is_plain_response(response: WireStruct) -> bool:
    return any(getattr(response, key, None) is not None for key in ("id", "data", "input_tokens"))


def parse_results(body: bytes) -> list[MessageBatchResult]:
    """Decode the results of a batch: one JSON object in each line.

    Raises the provider's error if the body contains one, else `StreamInvalid` with the number of
    the malformed line.
    """
    results: list[MessageBatchResult] = []
    for number, line in numbered_lines(body):
        try:
            result = decoded(line, MessageBatchResult)
        except Unreadable as cause:
            result, problem = MessageBatchResult(), str(cause)
        else:
            problem = "no custom_id"
        if result.custom_id is None:
            raise ERRORS.in_success(body) or StreamInvalid(
                f"line {number} is not a result of a batch ({problem}): {shown(line)}", raw=body
            )
        if result.result is not None and result.result.message is not None:
            message = fields_of(fields_of(msgspec.Raw(line))["result"])["message"]
            keep_bytes(remember(result.result.message, message), bytes(message))
        results.append(result)
    return results


# --- streams --------------------------------------------------------------------------------------


class ChunkReader(FramedReader[MessageStreamEvent]):
    """Decodes the body of one stream into events."""

    done: bool
    __slots__ = ("_begun", "_stop")

    finished: bool

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    value_name = "an event of Messages"
    ending = "message_stop"
    answer_name = "content"
    chunk_type = MessageStreamEvent

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        super().__init__(limits)
        self._begun = False
        self._stop: str | None = None

    @property
    def begun(self) -> bool:
        """Whether a message, or a block of one, has begun. If not, the call may be retried."""
        return self._begun

    def read(self, data: bytes, name: str) -> None:
        """Emit an event, or the events of a complete message; raise the error that it contains."""
        event = decoded(data, MessageStreamEvent)
        certain = "error" in (event.type, name)
        error = ERRORS.in_success(data, certain=certain)
        if error is not None or certain:
            raise error or ERRORS.without_words(data)
        if event.type == "message" or (event.type is None and self.as_json):
            for each in _events_of(data):
                self.emit(each)
        # `message_stop` before any message does not complete the response.
        elif event.type != "ping" and (self._begun or event.type != "message_stop"):
            self.emit(event)

    def follow(self, chunk: MessageStreamEvent) -> None:
        """Record the stop reason, and `message_stop`, which ends the reading."""
        if chunk.type == "message_start" and self._begun:
            self.note(f"event {self.count}", "restarted: the earlier events are not part of it")
        if chunk.type == "message_start":
            self._begun = True
            self.answers = chunk.message is not None and chunk.message.content is not None
        elif not self.answers and chunk.type in ("content_block_start", "content_block_delta"):
            self._begun = self.answers = True
        if chunk.type == "message_delta" and chunk.delta is not None:
            self._stop = chunk.delta.stop_reason or self._stop
        self.done = self.finished = chunk.type == "message_stop"

    def end(self) -> None:
        """Complete a message that has a stop reason at `[DONE]`; without one it is truncated."""
        self.done = self.finished = self._stop is not None

    def is_whole(self) -> bool:
        """Return whether `message_stop` was read."""
        return self.done


def _events_of(data: bytes) -> list[MessageStreamEvent]:
    """Convert a complete message to the events of a stream of that message.

    Raises `StreamInvalid` if `data` is not a message.
    """
    response = decoded(data, MessageResponse)
    if not _is_response(response):
        raise StreamInvalid(f"not a response of Messages: {shown(data)}", raw=data)
    message = fields_of(msgspec.Raw(data))
    blocks = items_of(message.pop("content"))
    stop = {name: message.pop(name) for name in ("stop_reason", "stop_sequence") if name in message}
    events: list[dict[str, object]] = [
        {"type": "message_start", "message": {**message, "content": []}}
    ]
    for index, block in enumerate(blocks):
        events += [
            {"type": "content_block_start", "index": index, "content_block": block},
            {"type": "content_block_stop", "index": index},
        ]
    events += [
        {"type": "message_delta", "delta": stop, "usage": message.get("usage", {})},
        {"type": "message_stop"},
    ]
    return [decoded(msgspec.json.encode(each), MessageStreamEvent) for each in events]
