"""Folds events into the answer that the call without streaming would have returned.

Folding merges the JSON of the events, not their structs. A struct has no unknown keys, so folding
structs would lose them. Texts are joined. The input of a call is the JSON text that its fragments
form. Blocks are told apart by `contentBlockIndex`.

Each block of the folded answer keeps its bytes, because signed reasoning must be sent back
unchanged.
"""

from __future__ import annotations

import base64
import binascii
import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from wire.converse.types import ContentBlock, ConverseResponse, ConverseStreamEvent
from wire.core.chunk_bytes import RawValue
from wire.core.lenient import Fields, decoded, fields_of, items_of, plain, strict_json, well_formed
from wire.core.memory import RAW, Slice, encode, freeze, remember, well_formed_utf8


def fold(events: Sequence[ConverseStreamEvent | msgspec.Raw]) -> ConverseResponse:
    """Fold events, or their bytes, into the answer of the same call without streaming."""
    builder = _Builder()
    for event in events:
        raw = event if isinstance(event, msgspec.Raw) else msgspec.Raw(encode(event))
        for name, payload in fields_of(raw).items():
            builder.add(name, fields_of(payload))
    data = msgspec.json.encode(builder.merged())
    return keep_bytes(decoded(data, ConverseResponse), data)


def fold_block(events: Sequence[ConverseStreamEvent]) -> ContentBlock:
    """Fold the events of one block."""
    block = _Block()
    for event in events:
        raw = fields_of(msgspec.Raw(encode(event)))
        for payload in raw.values():
            block.add(fields_of(payload))
    data = msgspec.json.encode(block.merged())
    return remember(freeze(decoded(data, ContentBlock)), data)


def _text(raw: Any) -> str:
    value = plain(bytes(raw)) if isinstance(raw, msgspec.Raw) else raw
    return value if isinstance(value, str) else ""


# --- blocks ---------------------------------------------------------------------------------------


class _Block:
    """One block while its deltas arrive."""

    def __init__(self) -> None:
        self._start: Fields = {}  # kind -> the fields that it began with
        self._texts: list[str] = []
        self._input: list[str] = []
        self._reasoning: dict[str, list[str]] = {}
        self._results: list[msgspec.Raw] = []
        self._citations: list[Any] = []
        self._image: Fields = {}
        self._others: Fields = {}

    def add(self, payload: Fields) -> None:
        """Add the start of the block, or a delta.

        A delta of an unknown kind adds its members to the block: a text is appended, any other
        value replaces the earlier one.
        """
        self._start |= fields_of(payload.get("start"))
        for kind, value in fields_of(payload.get("delta")).items():
            if kind == "text":
                self._texts.append(_text(value))
            elif kind == "toolUse":
                self._input.append(_text(fields_of(value).get("input")))
            elif kind == "reasoningContent":
                for name, piece in fields_of(value).items():
                    self._reasoning.setdefault(name, []).append(_text(piece))
            elif kind == "toolResult":
                self._results += items_of(value)
            elif kind == "citation":
                self._citations.append(value)
            elif kind == "image":
                self._image |= _joined_source(self._image, fields_of(value))
            else:
                before, text = _text(self._others.get(kind)), _text(value)
                self._others[kind] = well_formed(before + text) if text else value

    def merged(self) -> Any:
        """Return the block with the deltas so far: an object with one key in most cases."""
        block: Fields = dict(self._start)
        # One delta may end in the first half of a surrogate pair, and the next begin with the
        # second. So lone halves are replaced only after the texts are joined.
        text = well_formed("".join(self._texts))
        if self._citations:
            written = {"content": [{"text": text}]} if self._texts else {}
            block["citationsContent"] = {**written, "citations": self._citations}
        elif self._texts:
            block["text"] = text
        if self._reasoning:
            block["reasoningContent"] = _reasoning(self._reasoning)
        if self._input or "toolUse" in block:
            block["toolUse"] = {**fields_of(block.get("toolUse")), "input": self._arguments()}
        if self._results or "toolResult" in block:
            begun = fields_of(block.get("toolResult"))
            block["toolResult"] = {**begun, "content": list(_joined_texts(self._results))}
        if self._image:
            block["image"] = {**fields_of(block.get("image")), **self._image}
        return {**block, **self._others}

    def _arguments(self) -> Any:
        text = "".join(self._input)
        return _json(text) if text.strip() else {}


def _reasoning(pieces: Mapping[str, Sequence[str]]) -> Fields:
    """Return the reasoning of a block: its text with the signature, or what is encrypted."""
    found: Fields = {}
    readable = {
        name: well_formed("".join(pieces[name])) for name in ("text", "signature") if name in pieces
    }
    if readable:
        found["reasoningText"] = {"text": "", **readable}
    for name, texts in pieces.items():
        if name == "redactedContent":
            found[name] = joined_base64(texts)
        elif name not in readable:
            found[name] = well_formed("".join(texts))
    return found


def joined_base64(pieces: Sequence[str]) -> str:
    """Join pieces that were encoded one by one; malformed ones are joined as texts.

    >>> joined_base64(["YQ==", "Yg=="])
    'YWI='
    """
    if len(pieces) == 1:
        return pieces[0]
    try:
        data = b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
    except (binascii.Error, ValueError):
        return "".join(pieces)
    return base64.b64encode(data).decode()


def _joined_source(before: Fields, image: Fields) -> Fields:
    """Return a piece of an image, with the bytes of the pieces before it."""
    ours, theirs = fields_of(before.get("source")), fields_of(image.get("source"))
    if "bytes" in ours and "bytes" in theirs:
        joined = joined_base64([_text(ours["bytes"]), _text(theirs["bytes"])])
        source = msgspec.json.encode({**ours, **theirs, "bytes": joined})
        return {**image, "source": msgspec.Raw(source)}
    return image


def _joined_texts(parts: Sequence[msgspec.Raw]) -> Iterator[Any]:
    """Yield the parts of a result; neighbours that are nothing but texts become one."""
    texts: list[str] = []
    for part in parts:
        fields = fields_of(part)
        if set(fields) == {"text"}:
            texts.append(_text(fields["text"]))
            continue
        if texts:
            yield {"text": well_formed("".join(texts))}
        texts = []
        yield part
    if texts:
        yield {"text": well_formed("".join(texts))}


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


# --- answers --------------------------------------------------------------------------------------

_OF_MESSAGE = {"messageStart"}
_OF_ANSWER = {"messageStop", "metadata"}
_OF_BLOCK = {"contentBlockStart", "contentBlockDelta"}


class _Builder:
    """The answer while its events arrive."""

    def __init__(self) -> None:
        self._message: Fields = {"role": "assistant"}
        self._answer: Fields = {}
        self._blocks: dict[bytes, _Block] = {}  # index -> block, in the order of their beginnings

    def add(self, name: str, payload: Fields) -> None:
        if name in _OF_MESSAGE:
            self._message, self._blocks = {**self._message, **payload}, {}
        elif name in _OF_ANSWER:
            self._answer |= payload
        elif name in _OF_BLOCK:
            index = bytes(payload.get("contentBlockIndex", b"0"))
            self._blocks.setdefault(index, _Block()).add(payload)

    def merged(self) -> Fields:
        message = {**self._message, "content": [each.merged() for each in self._blocks.values()]}
        return {"output": {"message": message}, **self._answer}


# --- events of text -------------------------------------------------------------------------------


class _Text(msgspec.Struct, forbid_unknown_fields=True):
    text: str


class _Input(msgspec.Struct, forbid_unknown_fields=True):
    text: str = msgspec.field(name="input")


class _Delta(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    text: str | None = None
    tool_use: _Input | None = None
    reasoning_content: _Text | None = None


class _BlockDelta(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    content_block_index: int
    delta: _Delta


class TextEvent(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """An event that holds only text of one block; see `wire.core.chunk_bytes`."""

    changing: ClassVar[Mapping[str, Any]] = {}
    latest_key: ClassVar[str] = ""

    content_block_delta: _BlockDelta

    def split(self) -> tuple[tuple[str], RawValue]:
        """Take out the text."""
        delta = self.content_block_delta.delta
        inner = delta.tool_use or delta.reasoning_content
        if inner is not None:
            text, inner.text = inner.text, ""
        else:
            text, delta.text = delta.text or "", ""
        return (text,), msgspec.UNSET

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """Encode this event with these texts, joined."""
        delta, text = self.content_block_delta.delta, "".join(columns[0])
        inner = delta.tool_use or delta.reasoning_content
        if inner is not None:
            inner.text = text
        else:
            delta.text = text
        data = msgspec.json.encode(self)
        self.split()
        return data

    def text_key(self, position: int) -> str:
        """Return the key of the text."""
        return "text" if self.content_block_delta.delta.tool_use is None else "input"


# --- bytes of blocks ------------------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of the blocks out of an answer, once, on first use."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @functools.cached_property
    def _blocks(self) -> list[msgspec.Raw]:
        answer = fields_of(msgspec.Raw(strict_json(self._data)))
        message = fields_of(fields_of(answer.get("output")).get("message"))
        return items_of(message.get("content"))

    def block(self, index: int) -> msgspec.Raw:
        """Return the bytes of one block."""
        return self._blocks[index].copy()


def keep_bytes(answer: ConverseResponse, data: bytes) -> ConverseResponse:
    """Attach to each block of a received answer its bytes, which are cut out on first use."""
    message = answer.output.message if answer.output is not None else None
    if message is not None and message.content:
        pieces = _Slices(data)
        msgspec.structs.force_setattr(message, "content", freeze(message.content))
        for index, block in enumerate(message.content):
            vars(block)[RAW] = Slice(pieces.block, index)
    return answer
