"""What one value of a body means in Messages, and when a response is whole.

- A whole message in place of events is handed out as the events that would have carried it.
- A response is whole when `message_stop` was read, or `[DONE]` of a host that ends its streams so;
  then reading ends (R-01, R-04).
- An `error` ends the reading wherever it stands (R-03). `ping` says nothing. An event of an unknown
  name is handed out, and changes nothing (R-09). An event that is no JSON is an error: what it said
  would be missing in the response.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from wire.anthropic.error_body import ERRORS
from wire.anthropic.fold import fold, whole
from wire.anthropic.types import MessageBatchResult, MessageResponse, MessageStreamEvent
from wire.core import reading
from wire.core.lenient import Unreadable, decoded, fields_of, items_of
from wire.core.memory import WireStruct, remember
from wire.core.reading import FramedReader, parse_whole, shown
from wire.core.sse import EVENT_LIMIT
from wire.errors import StreamInvalid

W = TypeVar("W", bound=WireStruct)

# --- whole bodies ---------------------------------------------------------------------------------


def parse_message(body: bytes) -> MessageResponse:
    """A whole response. A body that came as events is read all the same.

    Raises the provider's error if the body is one, `StreamIncomplete` if it ends too early,
    `StreamInvalid` if it is nothing of the wire.
    """
    return parse_whole(
        body,
        lambda data: decoded(data, MessageResponse),
        lambda response, _: _is_response(response),
        whole,
        ChunkReader(),
        fold,
    )


def _is_response(response: MessageResponse) -> bool:
    failed = response.base_resp is not None and response.base_resp.status_code
    return not failed and response.content is not None and response.type in ("message", None)


def parse_plain(kind: type[W], body: bytes) -> W:
    """A whole body that is one struct.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    return reading.parse_plain(kind, body, ERRORS, _is_plain_response, may_be_empty=False)


def _is_plain_response(response: WireStruct) -> bool:
    return any(getattr(response, key, None) is not None for key in ("id", "data", "input_tokens"))


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
            raise ERRORS.in_success(body) or StreamInvalid(
                f"line {number} is no result of a batch ({problem}): {shown(line)}", raw=body
            )
        if result.result is not None and result.result.message is not None:
            message = fields_of(fields_of(msgspec.Raw(line))["result"])["message"]
            whole(remember(result.result.message, message), bytes(message))
        results.append(result)
    return results


# --- streams --------------------------------------------------------------------------------------


class ChunkReader(FramedReader[MessageStreamEvent]):
    """Bytes of one streamed body in, events out."""

    errors = ERRORS
    value_name = "an event of Messages"
    ending = "message_stop"

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        super().__init__(limit)
        self._begun = False
        self._stop: str | None = None

    @property
    def begun(self) -> bool:
        """Whether a message, or a block of one, came."""
        return self._begun

    def read(self, data: bytes, name: str) -> None:
        """Emit an event, or the events that would have carried a whole message."""
        event = decoded(data, MessageStreamEvent)
        certain = "error" in (event.type, name)
        error = ERRORS.in_success(data, certain=certain)
        if error is not None or certain:
            raise error or ERRORS.without_words(data)
        if event.type == "message" or (event.type is None and self.as_json):
            for each in _events_of(data):
                self.emit(each)
        # `message_stop` without a message is the end of nothing.
        elif event.type != "ping" and (self._begun or event.type != "message_stop"):
            self.emit(event)

    def follow(self, chunk: MessageStreamEvent) -> None:
        """The stop reason, and `message_stop`, after which nothing belongs to the response."""
        self._begun = self._begun or chunk.type in (
            "message_start",
            "content_block_start",
            "content_block_delta",
        )
        if chunk.type == "message_delta" and chunk.delta is not None:
            self._stop = chunk.delta.stop_reason or self._stop
        self.done = self.finished = chunk.type == "message_stop"

    def end(self) -> None:
        """`[DONE]` ends a message that has a stop reason."""
        self.done = self.finished = self._stop is not None

    def is_whole(self) -> bool:
        """`message_stop` was read."""
        return self.done


def _events_of(data: bytes) -> list[MessageStreamEvent]:
    """A whole message as the events that would have carried it.

    Raises `StreamInvalid` if it is none.
    """
    response = decoded(data, MessageResponse)
    if not _is_response(response):
        raise StreamInvalid(f"not an answer of Messages: {shown(data)}", raw=data)
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
