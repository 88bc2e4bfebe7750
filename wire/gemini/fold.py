"""Chunks folded into the answer that the plain call would have given, and the bytes that each part
of it came in.

Folding is done on the JSON of the chunks, not on structs, so that nothing is lost that no struct
knows. It never merges across a signature or an unknown key, keeps empty parts, and takes the last
usage, never a sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from wire.core.chunk_bytes import RawValue
from wire.core.decoders import convert, decoder
from wire.core.lenient import (
    NOT_STRICT,
    Fields,
    decoded,
    fields_of,
    items_of,
    plain,
    said,
    strict_json,
)
from wire.core.memory import RAW, FrozenList, Slice, encode, freeze, kept_bytes, remember
from wire.gemini.types import Content, GenerateContentResponse, Part


def fold(chunks: Sequence[GenerateContentResponse | msgspec.Raw]) -> GenerateContentResponse:
    """The answer that the plain call would have given; of a chunk its bytes are enough.

    Parts stay in order with the bytes they came in; neighbouring texts of one kind are joined if
    neither has a signature nor an unknown key (G26). Of what every chunk repeats the last one
    counts, and an empty object takes nothing back. Keys that we do not know are carried over at
    every level; `wire.unknown` tells them.
    """
    sources = [
        bytes(chunk) if isinstance(chunk, msgspec.Raw) else encode(chunk) for chunk in chunks
    ]
    # Half of a surrogate pair stays as it came until the parts are joined: the other half may stand
    # in the next chunk.
    data = strict_json(msgspec.json.encode(_merged([fields_of(source) for source in sources])))
    return _cut(decoded(data, GenerateContentResponse), data)


def whole(answer: GenerateContentResponse, body: bytes) -> GenerateContentResponse:
    """An answer that came in one piece, with the bytes of its parts."""
    if NOT_STRICT in vars(answer):
        return fold([answer])
    # Inside a `result` it is a part of the body.
    return _cut(
        answer,
        body if memoryview(kept_bytes(answer)).nbytes == len(body) else bytes(kept_bytes(answer)),
    )


_EMPTY = (b"{}", b"null")
"""Values that replace no earlier value of their key."""


def _merged(chunks: Sequence[Fields]) -> Fields:
    """Chunks as one object, its values raw JSON."""
    candidates: dict[int, list[Fields]] = {}
    for chunk in chunks:
        for candidate in map(fields_of, _objects(chunk.get("candidates"))):
            candidates.setdefault(_index(candidate), []).append(candidate)
    whole = _last(chunks)
    if candidates:
        whole["candidates"] = [_merged_candidate(candidates[index]) for index in sorted(candidates)]
    return whole


def _objects(raw: Any) -> list[msgspec.Raw]:
    """A list of objects; one with anything else in it is left out as a whole, as `decoded` does."""
    items = items_of(raw)
    return items if all(bytes(memoryview(item)[:1]) == b"{" for item in items) else []


def _index(candidate: Fields) -> int:
    index = plain(bytes(candidate.get("index", b"null")))
    return int(index) if type(index) in (int, float) and index == index // 1 else 0


def _merged_candidate(pieces: Sequence[Fields]) -> Fields:
    whole = _last(pieces)
    contents = [fields for piece in pieces if (fields := fields_of(piece.get("content")))]
    if contents:
        whole["content"] = _last(contents)
        parts = [part for content in contents for part in _objects(content.get("parts"))]
        if parts:
            whole["content"]["parts"] = _joined(parts)
    return whole


def _last(objects: Sequence[Fields]) -> Fields:
    """The last value of each key; one that says nothing, such as `groundingMetadata: {}` in a later
    chunk, takes nothing back.
    """
    whole: Fields = {}
    for each in objects:
        for key, value in each.items():
            if key not in whole or bytes(value) not in _EMPTY:
                whole[key] = value
    return whole


class _PlainText(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A text or thought with nothing beside it."""

    text: str
    thought: bool | None = None


def _joined(parts: Sequence[msgspec.Raw]) -> list[Any]:
    joined: list[Any] = []
    run: list[tuple[msgspec.Raw, _PlainText]] = []
    for part in [*parts, None]:
        text = None if part is None else _plain_text(part)
        if run and (text is None or text.thought != run[0][1].thought):
            # One text alone keeps its bytes.
            texts = said("".join(each.text for _, each in run))
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
    except (msgspec.DecodeError, UnicodeDecodeError):  # half a surrogate pair, or no UTF-8
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
    """A chunk with nothing but one text or thought; see `wire.core.chunk_bytes`."""

    candidates: tuple[_TextCandidate]
    usage_metadata: RawValue = msgspec.UNSET
    model_version: RawValue = msgspec.UNSET
    response_id: RawValue = msgspec.UNSET
    create_time: RawValue = msgspec.UNSET

    def split(self) -> tuple[tuple[str], RawValue]:
        """The text, and the usage unless it is empty."""
        part, usage = self.candidates[0].content.parts[0], self.usage_metadata
        text, part.text = part.text, ""
        if usage is msgspec.UNSET or bytes(usage) in _EMPTY:
            return (text,), msgspec.UNSET
        self.usage_metadata = msgspec.UNSET
        return (text,), usage

    def joined(self, texts: tuple[str, ...], latest: RawValue) -> bytes:
        """The JSON of this chunk with this text and usage."""
        (self.candidates[0].content.parts[0].text,) = texts
        if latest is not msgspec.UNSET:
            self.usage_metadata = latest
        data = msgspec.json.encode(self)
        self.split()
        return data


# --- bytes of parts -------------------------------------------------------------------------------


class _ContentCut(msgspec.Struct):
    parts: list[msgspec.Raw] | None = None


class _CandidateCut(msgspec.Struct):
    content: msgspec.Raw = msgspec.Raw()


class _AnswerCut(msgspec.Struct):
    candidates: list[_CandidateCut] | None = None


class _Pieces:
    """The slices of one candidate's Content, found once, when the first of them is wanted."""

    def __init__(self, data: bytes, candidate: int) -> None:
        self._data, self._candidate = data, candidate
        self._content: msgspec.Raw | None = None
        self._parts: list[msgspec.Raw] | None = None

    def content(self) -> msgspec.Raw:
        """The bytes of the Content."""
        if self._content is None:
            answer: _AnswerCut = decoder(_AnswerCut).decode(self._data)
            self._content = self._own((answer.candidates or [])[self._candidate].content)
        return self._content

    def part(self, place: int) -> msgspec.Raw:
        """The bytes of one of its parts."""
        if self._parts is None:
            content: _ContentCut = decoder(_ContentCut).decode(self.content())
            self._parts = content.parts or []
        return self._own(self._parts[place])

    def _own(self, piece: msgspec.Raw) -> msgspec.Raw:
        """A view of most of the answer stays a view: megabytes of image are not to be copied twice.
        A small piece is copied, so that it does not keep all of its answer alive."""
        return piece if 2 * memoryview(piece).nbytes >= len(self._data) else piece.copy()


def _cut(answer: GenerateContentResponse, data: bytes) -> GenerateContentResponse:
    """Give each Content and Part of a received answer the slice of its bytes, to be cut out when
    somebody wants it.
    """
    for index, candidate in enumerate(answer.candidates or ()):
        content = candidate.content
        if content is None:
            continue
        pieces = _Pieces(data, index)
        vars(content)[RAW] = Slice(pieces.content)
        if content.parts is not None:
            for place, part in enumerate(content.parts):
                _freeze(part)
                vars(part)[RAW] = Slice(pieces.part, place)
            msgspec.structs.force_setattr(content, "parts", FrozenList(content.parts))
    return answer


def content_in(data: bytes) -> Content:
    """A Content out of the bytes that it came in, which were kept; it and its parts remember
    theirs, as in the answer.
    """
    data = strict_json(data)
    content = decoded(data, Content)
    if content.parts is not None:
        pieces: _ContentCut = decoder(_ContentCut).decode(data)
        parts = (
            _own_part(part, piece)
            for part, piece in zip(content.parts, pieces.parts or (), strict=True)
        )
        msgspec.structs.force_setattr(content, "parts", FrozenList(parts))
    return content


def part_in(data: bytes) -> Part:
    """A Part out of the bytes that it came in."""
    data = strict_json(data)
    return _own_part(decoded(data, Part), data)


def _own_part(part: Part, data: msgspec.Raw | bytes) -> Part:
    _freeze(part)
    return remember(part, data)


def _freeze(part: Part) -> None:
    try:
        call = part.function_call
        if (
            call is not None and call.args is not None and call.partial_args is None
        ):  # the common one, in a hurry
            msgspec.structs.force_setattr(call, "args", freeze(call.args))
        elif part.text is None or part.part_metadata is not None:
            freeze(part)
    except RecursionError:
        pass  # arguments nested so deeply are changed by nobody's hand
