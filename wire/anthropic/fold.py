"""Folds events into the response that the call without streaming would have returned.

Folding merges the JSON of the events, not their structs. A struct has no unknown keys, so folding
structs would lose them. Texts are joined. Counts of usage replace earlier ones, because they are
cumulative. The input of a call is the JSON text that its fragments form.

Each block of the folded response keeps its bytes, because a signed block must be sent back
unchanged. A block without deltas keeps exactly the bytes that it was sent in.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from wire.anthropic.types import MessageResponse, MessageStreamEvent
from wire.core.chunk_bytes import RawValue
from wire.core.lenient import Fields, decoded, fields_of, items_of, plain, strict_json, well_formed
from wire.core.memory import RAW, Slice, encode, freeze, well_formed_utf8


def fold(events: Sequence[MessageStreamEvent | msgspec.Raw]) -> MessageResponse:
    """Fold events, or their bytes, into the response of the same call without streaming."""
    builder = _MessageBuilder()
    for event in events:
        builder.add(
            fields_of(event if isinstance(event, msgspec.Raw) else msgspec.Raw(encode(event)))
        )
    data = msgspec.json.encode(builder.merged())
    return keep_bytes(decoded(data, MessageResponse), data)


def _plain(raw: Any) -> Any:
    """Decode a value that may be kept as bytes."""
    return plain(bytes(raw)) if isinstance(raw, msgspec.Raw) else raw


def _is_null(raw: Any) -> bool:
    return raw is None or (isinstance(raw, msgspec.Raw) and bytes(raw) == b"null")


# --- blocks ---------------------------------------------------------------------------------------


class _Block:
    """One block while its deltas arrive. Without deltas it is the bytes of its start, unchanged."""

    def __init__(self, start: msgspec.Raw) -> None:
        self.start = start
        self._fields: Fields = {}
        self._input_pieces: list[str] = []
        self._text_pieces: dict[str, list[str]] = {}
        self._citations: list[Any] = []

    def add(self, delta: Fields) -> None:
        """Add a delta.

        A delta of an unknown type adds its members to the block: a text is appended, any other
        value replaces the earlier one.
        """
        kind = _text(delta.get("type"))
        if kind == "input_json_delta":
            self._input_pieces.append(_text(delta.get("partial_json")))
        elif kind == "citations_delta" and not _is_null(delta.get("citation")):
            self._citations.append(delta["citation"])
        elif kind == "signature_delta" and not _is_null(delta.get("signature")):
            self._fields["signature"] = delta["signature"]
        elif kind in _TEXT_FIELDS:
            self._join(_TEXT_FIELDS[kind], _text(delta.get(_TEXT_FIELDS[kind])))
        else:
            for name, value in delta.items():
                if isinstance(text := _plain(value), str) and name != "type":
                    self._join(name, text)
                elif name != "type" and not _is_null(value):
                    self._fields[name] = value

    def _join(self, name: str, text: str) -> None:
        self._text_pieces.setdefault(name, []).append(text)

    def merged(self) -> Any:
        """Return the block with the deltas so far."""
        if not (self._fields or self._text_pieces or self._citations or self._input_pieces):
            return self.start
        block: Fields = fields_of(self.start) | self._fields
        for name, texts in self._text_pieces.items():
            # One delta may end in the first half of a surrogate pair, and the next begin with the
            # second. So lone halves are replaced only after the texts are joined.
            block[name] = well_formed("".join([_text(block.get(name)), *texts]))
        if self._citations:
            before = _plain(block.get("citations"))
            block["citations"] = [*(before if isinstance(before, list) else ()), *self._citations]
        text = "".join(self._input_pieces)
        if text.strip():
            block["input"] = _json(text)
        elif "input" not in block and self._input_pieces:
            block["input"] = {}
        return block


_TEXT_FIELDS = {"text_delta": "text", "thinking_delta": "thinking"}
"""Type of a delta with text -> the field of its text, in the delta and in the block.

The other fields of such a delta describe the stream, not the response, and are dropped.
"""

_BLOCK_TYPES = {  # type of a delta -> type of the block that it belongs to
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
    "compaction_delta": "compaction",
}


def _text(raw: Any) -> str:
    value = _plain(raw)
    return value if isinstance(value, str) else ""


def _json(text: str) -> msgspec.Raw | str:
    """Encode a JSON text as bytes for the body; keep it as a text if it is truncated and so not
    valid JSON.
    """
    data = well_formed_utf8(text)
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode()
    return msgspec.Raw(data)


# --- messages -------------------------------------------------------------------------------------


class _MessageBuilder:
    """The message while its events arrive."""

    def __init__(self) -> None:
        self._message: Fields = {"type": "message", "role": "assistant", "content": []}
        self._usage: Fields = {}
        self._blocks: list[_Block] = []
        self._open: dict[bytes, _Block] = {}  # index -> the block that its deltas are added to

    def add(self, event: Fields) -> None:
        kind = _plain(event.get("type"))
        if kind == "message_start":
            self._begin_message(fields_of(event.get("message")))
        elif kind == "content_block_start":
            self._open[_index(event)] = self._new_block(
                event.get("content_block", msgspec.Raw(b"{}"))
            )
        elif kind == "content_block_delta":
            index, delta = _index(event), fields_of(event.get("delta"))
            if index not in self._open:  # some hosts omit `content_block_start`
                start = {"type": _BLOCK_TYPES.get(_text(delta.get("type")), "text")}
                self._open[index] = self._new_block(msgspec.Raw(msgspec.json.encode(start)))
            self._open[index].add(delta)
        elif kind == "content_block_stop":
            self._open.pop(_index(event), None)
        elif kind in ("message_delta", "message_stop"):
            self._update(event)

    def _begin_message(self, message: Fields) -> None:
        """Begin the message. A second `message_start` comes from a host that retried the model in
        the middle of the stream. What was collected belongs to the failed try, so it is dropped.
        """
        self._message = {**message, "content": []} if message else self._message
        self._usage = fields_of(message.get("usage"))
        self._open = {}
        content = _plain(message.get("content"))
        self._blocks = (
            [_Block(each) for each in items_of(message["content"])]
            if isinstance(content, list)
            else []
        )

    def _new_block(self, start: msgspec.Raw) -> _Block:
        block = _Block(start)
        self._blocks.append(block)
        return block

    def _update(self, event: Fields) -> None:
        for name, value in [*event.items(), *fields_of(event.get("delta")).items()]:
            if name not in ("type", "delta", "usage") and not (
                _is_null(value) and name in self._message
            ):
                self._message[name] = value
        for name, value in fields_of(event.get("usage")).items():
            if not (_is_null(value) and name in self._usage):
                self._usage[name] = value

    def merged(self) -> Fields:
        message = {**self._message, "content": [block.merged() for block in self._blocks]}
        return {**message, "usage": self._usage} if self._usage else message


def _index(event: Fields) -> bytes:
    return bytes(event.get("index", b""))


# --- events of text -----------------------------------------------------------------------------


class _TextDelta(msgspec.Struct, forbid_unknown_fields=True, tag="text_delta"):
    text: str


class _ThinkingDelta(msgspec.Struct, forbid_unknown_fields=True, tag="thinking_delta"):
    text: str = msgspec.field(name="thinking")


class _InputDelta(msgspec.Struct, forbid_unknown_fields=True, tag="input_json_delta"):
    text: str = msgspec.field(name="partial_json")


class TextEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event that holds only text of one block; see `wire.core.chunk_bytes`."""

    changing: ClassVar[Mapping[str, Any]] = {}
    latest_key: ClassVar[str] = ""

    type: Literal["content_block_delta"]  # not a tag, which msgspec lets an object omit
    index: int
    delta: _TextDelta | _ThinkingDelta | _InputDelta

    def split(self) -> tuple[tuple[str], RawValue]:
        """Take out the text."""
        text, self.delta.text = self.delta.text, ""
        return (text,), msgspec.UNSET

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """Encode this event with these texts, joined."""
        self.delta.text = "".join(columns[0])
        data = msgspec.json.encode(self)
        self.split()
        return data

    def text_key(self, position: int) -> str:
        """Return the key of the text."""
        return self.delta.__struct_encode_fields__[position]


# --- bytes of blocks ------------------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of the blocks out of a response, once, on first use."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @functools.cached_property
    def _blocks(self) -> list[msgspec.Raw]:
        return items_of(fields_of(msgspec.Raw(strict_json(self._data))).get("content"))

    def block(self, index: int) -> msgspec.Raw:
        """Return the bytes of one block."""
        return self._blocks[index].copy()


def keep_bytes(response: MessageResponse, data: bytes) -> MessageResponse:
    """Attach to each block of a received response its bytes, which are cut out on first use."""
    if response.content:
        pieces = _Slices(data)
        msgspec.structs.force_setattr(response, "content", freeze(response.content))
        for index, block in enumerate(response.content):
            vars(block)[RAW] = Slice(pieces.block, index)
    return response
