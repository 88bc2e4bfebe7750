"""Folds chunks into the response that the call without streaming would have returned.

Folding merges the JSON of the chunks, not their structs. A struct has no unknown keys, so folding
structs would lose them. Texts are never joined across a signature or an unknown key, empty parts
are kept, and the last usage replaces the earlier ones, because Gemini sends totals.

Each part of the folded response keeps its bytes: Gemini requires that parts with signatures are
sent back unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from wire.core.chunk_bytes import BORDER, RawValue, folded_hops
from wire.core.decoders import convert, decoder
from wire.core.lenient import (
    NOT_STRICT,
    Fields,
    decoded,
    fields_of,
    items_of,
    plain,
    strict_json,
    well_formed,
)
from wire.core.memory import RAW, FrozenList, Slice, encode, freeze, kept_bytes, remember
from wire.gemini.types import Content, GenerateContentResponse, Part


def fold(chunks: Sequence[GenerateContentResponse | msgspec.Raw]) -> GenerateContentResponse:
    """Fold chunks, or their bytes, into the response that the call without streaming would return.

    Parts keep their order and their bytes. Adjacent texts of one kind are joined if neither has a
    signature or an unknown key (G26). Of a key that several chunks have, the last value counts,
    unless it is an empty object. Unknown keys are kept at every level; `wire.unknown` reports them.
    """
    sources = [
        bytes(chunk) if isinstance(chunk, msgspec.Raw) else encode(chunk) for chunk in chunks
    ]
    if BORDER in sources:
        return folded_hops(sources, fold)
    # A lone half of a surrogate pair is replaced only after the texts are joined, because the other
    # half may be in the next chunk. Replacing it earlier would destroy the character.
    data = strict_json(msgspec.json.encode(_merged([fields_of(source) for source in sources])))
    return _with_slices(decoded(data, GenerateContentResponse), data)


def keep_bytes(response: GenerateContentResponse, body: bytes) -> GenerateContentResponse:
    """Attach the received bytes to the parts of a response that was not streamed."""
    # Bytes that are not strict JSON cannot be split into parts; folding converts them.
    if NOT_STRICT in vars(response):
        return fold([response])
    # A response that was wrapped in `result` is only a part of the body.
    return _with_slices(
        response,
        body
        if memoryview(kept_bytes(response)).nbytes == len(body)
        else bytes(kept_bytes(response)),
    )


_EMPTY = (b"{}", b"null")
"""Values that do not replace an earlier value of their key."""


def _merged(chunks: Sequence[Fields]) -> Fields:
    """Merge chunks to one object whose values are raw JSON."""
    candidates: dict[int, list[Fields]] = {}
    for chunk in chunks:
        for candidate in map(fields_of, _objects(chunk.get("candidates"))):
            candidates.setdefault(_index(candidate), []).append(candidate)
    merged = _last_values(chunks)
    if candidates:
        merged["candidates"] = [
            _merged_candidate(candidates[index]) for index in sorted(candidates)
        ]
    return merged


def _objects(raw: Any) -> list[msgspec.Raw]:
    """Return the items of a list of objects; empty if an item is not one, as in `decoded`."""
    items = items_of(raw)
    return items if all(bytes(memoryview(item)[:1]) == b"{" for item in items) else []


def _index(candidate: Fields) -> int:
    index = plain(bytes(candidate.get("index", b"null")))
    return int(index) if type(index) in (int, float) and index == index // 1 else 0


def _merged_candidate(pieces: Sequence[Fields]) -> Fields:
    merged = _last_values(pieces)
    contents = [fields for piece in pieces if (fields := fields_of(piece.get("content")))]
    if contents:
        merged["content"] = _last_values(contents)
        parts = [part for content in contents for part in _objects(content.get("parts"))]
        if parts:
            merged["content"]["parts"] = _joined(parts)
    return merged


def _last_values(objects: Sequence[Fields]) -> Fields:
    """Return the last value of each key.

    An empty value, such as `groundingMetadata: {}` in a later chunk, does not replace an earlier
    one: it adds nothing, and the earlier value would be lost.
    """
    merged: Fields = {}
    for each in objects:
        for key, value in each.items():
            if key not in merged or bytes(value) not in _EMPTY:
                merged[key] = value
    return merged


class _PlainText(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A text or a thought without any other key.

    Only such parts may be joined. A signature belongs to the exact text of its part, and an unknown
    key may too: after joining, neither could be sent back with the text that it belongs to.
    """

    text: str
    thought: bool | None = None


def _joined(parts: Sequence[msgspec.Raw]) -> list[Any]:
    """Join runs of adjacent plain texts, and of adjacent plain thoughts."""
    joined: list[Any] = []
    run: list[tuple[msgspec.Raw, _PlainText]] = []
    for part in [*parts, None]:
        text = None if part is None else _plain_text(part)
        if run and (text is None or text.thought != run[0][1].thought):
            # A single text keeps its bytes, escapes included.
            texts = well_formed("".join(each.text for _, each in run))
            joined.append(
                run[0][0]
                if len(run) == 1
                else msgspec.to_builtins(_PlainText(texts, run[0][1].thought))
            )
            run = []
        if part is not None and text is not None:
            run.append((part, text))
        elif part is not None:
            joined.append(part)
    return joined


def _plain_text(part: msgspec.Raw) -> _PlainText | None:
    try:
        text: _PlainText = decoder(_PlainText).decode(part)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):  # a lone surrogate, or invalid UTF-8
        try:
            text = convert(plain(bytes(part)), _PlainText)
        except (msgspec.ValidationError, UnicodeEncodeError):
            return None
    return text


# --- chunks of text -----------------------------------------------------------------------------


class _TextContent(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    parts: tuple[_PlainText]
    role: RawValue = msgspec.UNSET


class _TextCandidate(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    content: _TextContent
    index: RawValue = msgspec.UNSET


class TextChunk(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    """A chunk that holds only one text or thought; see `wire.core.chunk_bytes`."""

    changing: ClassVar[Mapping[str, Any]] = {"usageMetadata": msgspec.Raw}
    latest_key: ClassVar[str] = "usageMetadata"

    candidates: tuple[_TextCandidate]
    usage_metadata: RawValue = msgspec.UNSET
    model_version: RawValue = msgspec.UNSET
    response_id: RawValue = msgspec.UNSET
    create_time: RawValue = msgspec.UNSET

    def split(self) -> tuple[tuple[str], RawValue]:
        """Take out the text, and the usage unless it is empty."""
        part, usage = self.candidates[0].content.parts[0], self.usage_metadata
        text, part.text = part.text, ""
        if usage is msgspec.UNSET or bytes(usage) in _EMPTY:
            return (text,), msgspec.UNSET
        self.usage_metadata = msgspec.UNSET
        return (text,), usage

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """Encode this chunk with these texts, joined, and this usage."""
        self.candidates[0].content.parts[0].text = "".join(columns[0])
        if latest is not msgspec.UNSET:
            self.usage_metadata = latest
        data = msgspec.json.encode(self)
        self.split()
        return data

    def text_key(self, position: int) -> str:
        """Return the key of the text."""
        return "text"


# --- bytes of parts -------------------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of one candidate's Content and of its parts out of the response.

    The cutting is done once, on first use, because most responses are never sent back.
    """

    def __init__(self, data: bytes, candidate: int) -> None:
        self._data, self._candidate = data, candidate
        self._content: msgspec.Raw | None = None
        self._parts: list[msgspec.Raw] | None = None

    def content(self) -> msgspec.Raw:
        """Return the bytes of the Content."""
        if self._content is None:
            candidates = items_of(fields_of(msgspec.Raw(self._data)).get("candidates"))
            content: msgspec.Raw = fields_of(candidates[self._candidate])["content"]
            self._content = self._detached(content)
        return self._content

    def part(self, position: int) -> msgspec.Raw:
        """Return the bytes of one of its parts."""
        if self._parts is None:
            self._parts = items_of(fields_of(self.content()).get("parts"))
        return self._detached(self._parts[position])

    def _detached(self, piece: msgspec.Raw) -> msgspec.Raw:
        """Copy a small piece, so that it does not keep the buffer of the response alive.

        A piece of at least half the buffer stays a view: copying it would double the memory of a
        large image.
        """
        return piece if 2 * memoryview(piece).nbytes >= len(self._data) else piece.copy()


def _with_slices(response: GenerateContentResponse, data: bytes) -> GenerateContentResponse:
    """Attach to each Content and Part of a received response its bytes, which are cut out on first
    use.
    """
    for index, candidate in enumerate(response.candidates or ()):
        content = candidate.content
        if content is None:
            continue
        pieces = _Slices(data, index)
        vars(content)[RAW] = Slice(pieces.content)
        if content.parts is not None:
            for position, part in enumerate(content.parts):
                _freeze(part)
                vars(part)[RAW] = Slice(pieces.part, position)
            msgspec.structs.force_setattr(content, "parts", FrozenList(content.parts))
    return response


def content_in(data: bytes) -> Content:
    """Decode a Content from its kept bytes; it and its parts keep theirs, as in the response."""
    data = strict_json(data)
    content = decoded(data, Content)
    if content.parts is not None:
        pieces = items_of(fields_of(msgspec.Raw(data)).get("parts"))
        parts = (
            _part_with_bytes(part, piece) for part, piece in zip(content.parts, pieces, strict=True)
        )
        msgspec.structs.force_setattr(content, "parts", FrozenList(parts))
    return content


def part_in(data: bytes) -> Part:
    """Decode a Part from its kept bytes."""
    data = strict_json(data)
    return _part_with_bytes(decoded(data, Part), data)


def _part_with_bytes(part: Part, data: msgspec.Raw | bytes) -> Part:
    _freeze(part)
    return remember(part, data)


def _freeze(part: Part) -> None:
    try:
        call = part.function_call
        # The fast path for the common part: a complete call.
        if call is not None and call.args is not None and call.partial_args is None:
            msgspec.structs.force_setattr(call, "args", freeze(call.args))
        elif part.text is None or part.part_metadata is not None:
            freeze(part)
    except RecursionError:
        # Arguments that are nested this deeply stay writable. That is better than failing to read
        # the response.
        pass
