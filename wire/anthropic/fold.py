"""Events folded into the answer that the plain call would have given, and the bytes that each block
of it came in.

Folding is done on the JSON of the events, so that keys are kept that no struct knows, and what came
whole keeps its bytes. Texts are joined, counts of usage replaced (they are cumulative), input of a
call is the JSON that its pieces make.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from wire.anthropic.types import MessageResponse, MessageStreamEvent
from wire.core.chunk_bytes import RawValue
from wire.core.decoders import decoder
from wire.core.lenient import Fields, decoded, fields_of, items_of, plain, said, strict_json
from wire.core.memory import RAW, Slice, encode, freeze, sayable


def fold(events: Sequence[MessageStreamEvent | msgspec.Raw]) -> MessageResponse:
    """The answer that the plain call would have given; of an event its bytes are enough."""
    folding = _Folding()
    for event in events:
        folding.add(
            fields_of(event if isinstance(event, msgspec.Raw) else msgspec.Raw(encode(event)))
        )
    data = msgspec.json.encode(folding.merged())
    return whole(decoded(data, MessageResponse), data)


def plain_of(raw: Any) -> Any:
    """A value that is kept as bytes."""
    return plain(bytes(raw)) if isinstance(raw, msgspec.Raw) else raw


def _says_nothing(raw: Any) -> bool:
    return raw is None or (isinstance(raw, msgspec.Raw) and bytes(raw) == b"null")


# --- blocks ---------------------------------------------------------------------------------------


class _Block:
    """One block on its way; until a delta comes it is the bytes that it began with."""

    def __init__(self, start: msgspec.Raw) -> None:
        self.start = start
        self._fields: Fields = {}
        self._pieces: list[str] = []
        self._texts: dict[str, list[str]] = {}
        self._citations: list[Any] = []

    def add(self, delta: Fields) -> None:
        """What a delta says of it.

        A kind of delta that is not known adds its members: text goes on, of others the last one
        counts.
        """
        kind = _text(delta.get("type"))
        if kind == "input_json_delta":
            self._pieces.append(_text(delta.get("partial_json")))
        elif kind == "citations_delta" and not _says_nothing(delta.get("citation")):
            self._citations.append(delta["citation"])
        elif kind == "signature_delta" and not _says_nothing(delta.get("signature")):
            self._fields["signature"] = delta["signature"]
        elif kind in _TEXTS:
            self._join(_TEXTS[kind], _text(delta.get(_TEXTS[kind])))
        else:
            for name, value in delta.items():
                if isinstance(text := plain_of(value), str) and name != "type":
                    self._join(name, text)
                elif name != "type" and not _says_nothing(value):
                    self._fields[name] = value

    def _join(self, name: str, text: str) -> None:
        self._texts.setdefault(name, []).append(text)

    def merged(self) -> Any:
        """The block as far as it has come."""
        if not (self._fields or self._texts or self._citations or self._pieces):
            return self.start
        block: Fields = fields_of(self.start) | self._fields
        for name, texts in self._texts.items():
            # Half a surrogate pair may have come in one delta, and the other half in the next
            #
            block[name] = said("".join([_text(block.get(name)), *texts]))
        if self._citations:
            before = plain_of(block.get("citations"))
            block["citations"] = [*(before if isinstance(before, list) else ()), *self._citations]
        text = "".join(self._pieces)
        if text.strip():
            block["input"] = _json(text)
        elif "input" not in block and self._pieces:
            block["input"] = {}
        return block


_TEXTS = {"text_delta": "text", "thinking_delta": "thinking", "compaction_delta": "content"}
"""Kinds of deltas that a text goes on with, and the member that it stands in.

Their other members are about the way, not the answer.
"""

_TYPES = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
    "input_json_delta": "tool_use",
    "compaction_delta": "compaction",
}


def _text(raw: Any) -> str:
    value = plain_of(raw)
    return value if isinstance(value, str) else ""


def _json(text: str) -> msgspec.Raw | str:
    """Bytes of the JSON that a text is; the text itself where it ends in the middle of it."""
    data = sayable(text)
    try:
        msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return data.decode()
    return msgspec.Raw(data)


# --- messages -------------------------------------------------------------------------------------


class _Folding:
    """The answer as far as the events go."""

    def __init__(self) -> None:
        self._message: Fields = {"type": "message", "role": "assistant", "content": []}
        self._usage: Fields = {}
        self._blocks: list[_Block] = []
        self._open: dict[bytes, _Block] = {}  # index -> the block that a delta of this index is for

    def add(self, event: Fields) -> None:
        kind = plain_of(event.get("type"))
        if kind == "message_start":
            self._begin(fields_of(event.get("message")))
        elif kind == "content_block_start":
            self._open[_index(event)] = self._started(
                event.get("content_block", msgspec.Raw(b"{}"))
            )
        elif kind == "content_block_delta":
            index, delta = _index(event), fields_of(event.get("delta"))
            if index not in self._open:  # some hosts forget to begin a block
                begun = {"type": _TYPES.get(_text(delta.get("type")), "text")}
                self._open[index] = self._started(msgspec.Raw(msgspec.json.encode(begun)))
            self._open[index].add(delta)
        elif kind == "content_block_stop":
            self._open.pop(_index(event), None)
        elif kind in ("message_delta", "message_stop"):
            self._go_on(event)

    def _begin(self, message: Fields) -> None:
        """A second beginning is one of an answer that was begun anew, and what was collected is
        none of it.
        """
        self._message = {**message, "content": []} if message else self._message
        self._usage = fields_of(message.get("usage"))
        self._open = {}
        content = plain_of(message.get("content"))
        self._blocks = (
            [_Block(each) for each in items_of(message["content"])]
            if isinstance(content, list)
            else []
        )

    def _started(self, start: msgspec.Raw) -> _Block:
        block = _Block(start)
        self._blocks.append(block)
        return block

    def _go_on(self, event: Fields) -> None:
        for name, value in [*event.items(), *fields_of(event.get("delta")).items()]:
            if name not in ("type", "delta", "usage") and not (
                _says_nothing(value) and name in self._message
            ):
                self._message[name] = value
        for name, value in fields_of(event.get("usage")).items():
            if not (_says_nothing(value) and name in self._usage):
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
    """An event with nothing but text of one block; see `wire.core.chunk_bytes`."""

    type: Literal["content_block_delta"]  # not a tag, which msgspec lets an object omit
    index: int
    delta: _TextDelta | _ThinkingDelta | _InputDelta

    def split(self) -> tuple[tuple[str], RawValue]:
        """The text."""
        text, self.delta.text = self.delta.text, ""
        return (text,), msgspec.UNSET

    def joined(self, texts: tuple[str, ...], latest: RawValue) -> bytes:
        """The JSON of this event with this text."""
        (self.delta.text,) = texts
        data = msgspec.json.encode(self)
        self.split()
        return data


# --- bytes of blocks ------------------------------------------------------------------------------


class _AnswerCut(msgspec.Struct):
    content: list[msgspec.Raw] | None = None


class _Pieces:
    """The slices of an answer's blocks, found when the first of them is wanted."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @functools.cached_property
    def _blocks(self) -> list[msgspec.Raw]:
        answer: _AnswerCut = decoder(_AnswerCut).decode(strict_json(self._data))
        return answer.content or []

    def block(self, place: int) -> msgspec.Raw:
        """The bytes of one block."""
        return self._blocks[place].copy()


def whole(answer: MessageResponse, data: bytes) -> MessageResponse:
    """Give each block of a received answer the slice of its bytes, to be cut out when somebody
    wants it.
    """
    if answer.content:
        pieces = _Pieces(data)
        msgspec.structs.force_setattr(answer, "content", freeze(answer.content))
        for place, block in enumerate(answer.content):
            vars(block)[RAW] = Slice(pieces.block, place)
    return answer
