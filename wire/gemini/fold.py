"""Chunks folded into the answer that the plain call would have given, and the bytes that each part
of it came in.

Folding is done on the JSON of the chunks, not on structs, so that nothing is lost that no struct
knows. It never merges across a signature or an unknown key, keeps empty parts, and takes the last
usage, never a sum.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.memory import RAW, FrozenList, Slice, encode, freeze, kept_bytes, remember, sayable
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
    try:
        data = msgspec.json.encode(
            _merged([decoder(_Object).decode(source) for source in sources], _opened)
        )
    except msgspec.DecodeError:
        # Half of a surrogate pair, which msgspec does not read: the other half may stand in the
        # next chunk.
        text = json.dumps(
            _merged([json.loads(source) for source in sources], _as_it_is), ensure_ascii=False
        )
        data = sayable(text)
    return _cut(remember(decoder(GenerateContentResponse).decode(data), data), data)


def whole(answer: GenerateContentResponse, body: bytes) -> GenerateContentResponse:
    """An answer that came in one piece, with the bytes of its parts."""
    if HALVES in vars(answer):
        return fold([answer])
    # Inside a `result` it is a part of the body.
    return _cut(
        answer,
        body if memoryview(kept_bytes(answer)).nbytes == len(body) else bytes(kept_bytes(answer)),
    )


HALVES = "_halves"
"""Beside an answer in whose bytes half a surrogate pair stands: they cannot be cut before they are
mended.
"""


_Object = dict[str, msgspec.Raw]


class _PlainText(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A text or thought with nothing beside it."""

    text: str
    thought: bool | None = None


def _opened(value: Any, kind: Any) -> Any:
    return None if value is None else decoder(kind | None).decode(value)


def _as_it_is(value: Any, kind: Any) -> Any:
    return value


def _merged(chunks: Sequence[dict[str, Any]], opened: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Chunks as one object; their values are raw JSON, or plain objects where raw JSON cannot be
    read.
    """
    candidates: dict[int, list[dict[str, Any]]] = {}
    for chunk in chunks:
        for candidate in opened(chunk.get("candidates"), list[_Object]) or ():
            candidates.setdefault(opened(candidate.get("index"), int) or 0, []).append(candidate)
    whole = _last(chunks)
    if "candidates" in whole:
        whole["candidates"] = [
            _merged_candidate(candidates[index], opened) for index in sorted(candidates)
        ]
    return whole


def _merged_candidate(
    pieces: Sequence[dict[str, Any]], opened: Callable[[Any, Any], Any]
) -> dict[str, Any]:
    whole = _last(pieces)
    contents = [
        content
        for piece in pieces
        if (content := opened(piece.get("content"), _Object)) is not None
    ]
    if contents:
        whole["content"] = _last(contents)
        if "parts" in whole["content"]:
            parts = [
                part
                for content in contents
                for part in opened(content.get("parts"), list[msgspec.Raw]) or ()
            ]
            whole["content"]["parts"] = _joined(parts)
    return whole


def _last(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The last value of each key; one that says nothing, such as `groundingMetadata: {}` in a later
    chunk, takes nothing back.
    """
    whole: dict[str, Any] = {}
    for each in objects:
        for key, value in each.items():
            if key not in whole or (
                bytes(value) if isinstance(value, msgspec.Raw) else value
            ) not in (b"{}", b"null", {}, None):
                whole[key] = value
    return whole


def _joined(parts: Sequence[Any]) -> list[Any]:
    joined: list[Any] = []
    run: list[tuple[Any, _PlainText]] = []
    for part in [*parts, None]:
        plain = _plain_text(part)
        if run and (plain is None or plain.thought != run[0][1].thought):
            # One text alone keeps its bytes.
            texts = "".join(each.text for _, each in run)
            joined.append(
                run[0][0]
                if len(run) == 1
                else msgspec.to_builtins(_PlainText(texts, run[0][1].thought))
            )
            run = []
        if plain is not None:
            run.append((part, plain))
        elif part is not None:
            joined.append(part)
    return joined


def _plain_text(part: Any) -> _PlainText | None:
    try:
        if isinstance(part, msgspec.Raw):
            plain: _PlainText = decoder(_PlainText).decode(part)
        else:
            plain = convert(part, _PlainText)
    except msgspec.ValidationError:
        return None
    return plain


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
    content: Content = remember(decoder(Content).decode(data), data)
    pieces: _ContentCut = decoder(_ContentCut).decode(data)
    if content.parts is not None:
        parts = (
            _own_part(part, piece)
            for part, piece in zip(content.parts, pieces.parts or (), strict=True)
        )
        msgspec.structs.force_setattr(content, "parts", FrozenList(parts))
    return content


def part_in(data: bytes) -> Part:
    """A Part out of the bytes that it came in."""
    return _own_part(decoder(Part).decode(data), data)


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
