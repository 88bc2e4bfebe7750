"""Reads the bodies of Converse, and decides when an answer is complete.

- A stream is binary frames. The payload of a frame is the event without its name: the name is the
  type of the frame, and becomes the one key of the event here.
- A stream is complete when `metadata` was read, which has the token counts. `messageStop` has the
  stop reason, and is not the end.
- The padding `p` that the server adds to each event is removed: it says nothing.
- An exception ends the reading at any position. An event of an unknown type is handed out and
  changes nothing.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, TypeVar

import msgspec

from wire.converse.error_body import ERRORS
from wire.converse.fold import fold, keep_bytes
from wire.converse.types import ConverseResponse, ConverseStreamEvent
from wire.core import reading
from wire.core.error_words import ErrorReader
from wire.core.errors import StreamInvalid
from wire.core.lenient import decoded, fields_of, items_of
from wire.core.limits import Limits
from wire.core.memory import WireStruct
from wire.core.reading import FramedReader, has_fields, parse_whole, shown

W = TypeVar("W", bound=WireStruct)

# --- complete bodies ------------------------------------------------------------------------------


def parse_answer(body: bytes) -> ConverseResponse:
    """Decode a complete answer, also one that was sent as events.

    Raises the provider's error if the body contains one, `StreamIncomplete` if the answer is
    truncated, `StreamInvalid` if the body is not an answer of this wire.
    """
    return parse_whole(
        body,
        lambda data: decoded(data, ConverseResponse),
        lambda answer, _: _is_answer(answer),
        keep_bytes,
        ChunkReader,
        fold,
    )


def _is_answer(answer: ConverseResponse) -> bool:
    return answer.output is not None or answer.stop_reason is not None


def parse_plain(kind: type[W], body: bytes) -> W:
    """Decode a complete body that is one struct, such as a count of tokens.

    Raises the provider's error if the body contains one, `StreamInvalid` if the body is not a
    struct of that kind.
    """
    return reading.parse_plain(kind, body, ERRORS, has_fields, may_be_empty=False)


# --- streams --------------------------------------------------------------------------------------

_LAST_PADDING = re.compile(rb',"p":"[A-Za-z0-9]*"\}$')


def without_padding(payload: bytes) -> bytes:
    """Return the JSON of an event without its padding.

    >>> without_padding(b'{"role":"assistant","p":"abc"}')
    b'{"role":"assistant"}'
    """
    found = _LAST_PADDING.search(payload)
    if found is not None:  # as in most events: nothing has to be decoded
        return payload[: found.start()] + b"}"
    if b'"p"' not in payload:
        return payload
    fields = fields_of(msgspec.Raw(payload))
    if fields.pop("p", None) is None:
        return payload
    return msgspec.json.encode(fields)


class ChunkReader(FramedReader[ConverseStreamEvent]):
    """Decodes the body of one stream into events."""

    done: bool
    finished: bool
    __slots__ = ()

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    value_name = "an event of Converse"
    ending = "metadata"
    answer_name = "output"
    chunk_type = ConverseStreamEvent
    own_keys = frozenset({"message", "Message"})
    """Those of errors, which have no envelope."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        super().__init__(limits)

    def unframed(self, name: str, payload: bytes) -> tuple[bytes, str]:
        """Return the event in a frame, as an object with its name as the only key."""
        if not name:
            raise StreamInvalid(f"an event without a type: {shown(payload)}", raw=payload)
        key = msgspec.json.encode(name)
        return b"{%s:%s}" % (key, without_padding(payload) or b"{}"), "message"

    def read(self, data: bytes, name: str) -> None:
        """Emit an event, or the events of a complete answer; raise the error that it contains."""
        event = decoded(data, ConverseStreamEvent)
        error = ERRORS.in_success(data, certain=name == "error" or not self._frames_read)
        if error is not None or name == "error":
            raise error or ERRORS.without_words(data)
        events = None if self._frames_read or has_fields(event) else _events_of(data)
        if events is None and self.as_json and not has_fields(event):
            raise StreamInvalid(f"not an answer of Converse: {shown(data)}", raw=data)
        for each in [event] if events is None else events:
            self.emit(each)

    @property
    def _frames_read(self) -> bool:
        return self._frames is not None

    def follow(self, chunk: ConverseStreamEvent) -> None:
        """Record what has arrived; `metadata` ends the reading."""
        self.answers = self.answers or chunk.metadata is None
        self.done = self.finished = chunk.metadata is not None

    def is_whole(self) -> bool:
        """Return whether `metadata` was read."""
        return self.done


def _events_of(data: bytes) -> list[ConverseStreamEvent] | None:
    """Convert a complete answer to the events of a stream of that answer; `None` for another
    object.
    """
    if not _is_answer(decoded(data, ConverseResponse)):
        return None
    fields = fields_of(msgspec.Raw(data))
    message = fields_of(fields_of(fields.pop("output", None)).get("message"))
    blocks = items_of(message.pop("content", None))
    stop = {
        name: fields.pop(name)
        for name in ("stopReason", "additionalModelResponseFields")
        if name in fields
    }
    events: list[dict[str, Any]] = [{"messageStart": message}]
    for index, block in enumerate(blocks):
        events += block_events(index, fields_of(block))
    events += [{"messageStop": stop}, {"metadata": fields}]
    return [decoded(msgspec.json.encode(each), ConverseStreamEvent) for each in events]


def block_events(index: int, block: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the events of one block, whose values are bytes."""
    start: dict[str, Any] = {}
    deltas: list[dict[str, Any]] = []
    for kind, value in block.items():
        fields = fields_of(value)
        if kind == "toolUse":
            given = fields.pop("input", None)
            start[kind] = fields
            if given is not None and bytes(given).strip() != b"{}":
                deltas.append({kind: {"input": bytes(given).decode("utf-8", "replace")}})
        elif kind == "toolResult":
            content = fields.pop("content", [])
            start[kind] = fields
            deltas.append({kind: content})
        elif kind == "reasoningContent":
            text = fields_of(fields.pop("reasoningText", None))
            deltas += [{kind: {name: piece}} for name, piece in (*text.items(), *fields.items())]
        elif kind == "citationsContent":
            texts = items_of(fields.get("content"))
            deltas += [{"text": fields_of(each).get("text", "")} for each in texts]
            deltas += [{"citation": each} for each in items_of(fields.get("citations"))]
        elif kind == "image":
            image_format = {"format": fields.pop("format")} if "format" in fields else {}
            start[kind] = image_format
            deltas.append({kind: fields})
        else:
            deltas.append({kind: value})
    at = {"contentBlockIndex": index}
    events: list[dict[str, Any]] = []
    if start:
        events.append({"contentBlockStart": {**at, "start": start}})
    events += [{"contentBlockDelta": {**at, "delta": delta}} for delta in deltas]
    return [*events, {"contentBlockStop": at}]
