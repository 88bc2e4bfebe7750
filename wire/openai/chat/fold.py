"""Chunks folded into the answer that the plain call would have given, and the bytes that each
message of it came in.

Folding is done on the JSON of the chunks, so that keys are kept that no struct knows. Texts are
joined, lists go on, calls are put together as `calls.py` says (Q9 to Q11), the last usage counts
(Q16); of all else the last value that says something.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.chunk_bytes import RawValue
from wire.core.decoders import decoder
from wire.core.lenient import decoded, fitted, number, plain, strict_json
from wire.core.memory import RAW, Slice, encode, freeze, sayable
from wire.openai.chat.tool_calls import Calls, OpenCall, present
from wire.openai.chat.types import (
    ChatCompletion,
    ChatCompletionChunk,
    CompletionUsage,
    FunctionCall,
    ToolCall,
)
from wire.openai.common.dialect import PLAIN, Dialect

Object: TypeAlias = dict[str, Any]


def fold(
    chunks: Sequence[ChatCompletionChunk | msgspec.Raw], dialect: Dialect = PLAIN
) -> ChatCompletion:
    """The answer that the plain call would have given; of a chunk its bytes are enough."""
    sources = [
        bytes(chunk) if isinstance(chunk, msgspec.Raw) else encode(chunk) for chunk in chunks
    ]
    plains = [_plain(source) for source in sources]
    if len(plains) == 1 and _is_whole(plains[0]):
        return whole(decoded(sources[0], ChatCompletion), sources[0])
    return _said(_merged(plains, dialect))


def _said(merged: Object) -> ChatCompletion:
    try:
        data = msgspec.json.encode(merged)
    except (UnicodeEncodeError, OverflowError):  # half a surrogate pair, or a very long integer
        data = sayable(json.dumps(merged, ensure_ascii=False))
    return whole(decoded(data, ChatCompletion), data)


def _plain(source: bytes) -> Object:
    # Half a surrogate pair stays: the other half may stand in the next chunk.
    value = plain(source)
    return value if isinstance(value, dict) else {}


def _is_whole(value: Object) -> bool:
    """An answer in one piece, as a server sends it that does not stream."""
    choices = value.get("choices")
    return isinstance(choices, list) and all(
        isinstance(each, dict)
        and "message" in each
        and not any(
            _says_something(value)
            for key, value in (each.get("delta") or {}).items()
            if key != "role"
        )
        for each in choices
    )


# --- merging --------------------------------------------------------------------------------------


def _says_something(value: Any) -> bool:
    return bool(value) or isinstance(value, (int, float))


def _last(objects: Sequence[Object], *besides: str) -> Object:
    """The last value of each key that says something, but for some keys."""
    merged: Object = {}
    for each in objects:
        for key, value in each.items():
            if key not in besides and (key not in merged or _says_something(value)):
                merged[key] = value
    return merged


def _merged(chunks: Sequence[Object], dialect: Dialect) -> Object:
    pieces: dict[int, list[Object]] = {}
    for chunk in chunks:
        for choice in _objects(chunk.get("choices")):
            index = choice.get("index")
            pieces.setdefault(index if isinstance(index, int) else 0, []).append(choice)
    merged = _last(chunks, "choices", "obfuscation", "usage")
    if chunks:
        merged["object"] = "chat.completion"
        merged["choices"] = [
            _merged_choice(index, pieces[index], dialect) for index in sorted(pieces)
        ]
        usage = _usage(chunks)
        if usage is not None:
            merged["usage"] = usage
    return merged


def _usage(chunks: Sequence[Object]) -> Object | None:
    """The last one, wherever a chunk has it (Q16)."""
    for chunk in reversed(chunks):
        inside = [choice.get("usage") for choice in reversed(_objects(chunk.get("choices")))]
        for usage in (chunk.get("usage"), *inside, _object(chunk, "x_groq").get("usage")):
            if isinstance(usage, dict) and _fit(usage, CompletionUsage) != CompletionUsage():
                return usage
    return None


def _merged_choice(index: int, pieces: Sequence[Object], dialect: Dialect) -> Object:
    merged: Object = {"index": index}
    deltas: list[Object] = []
    collected = False
    for piece in pieces:
        delta = _object(piece, "delta")
        if not collected and not _collects(delta):
            delta = {
                **delta,
                **_object(piece, "message"),
            }  # beside deltas that said nothing a message is the answer (Q5)
        deltas.append(delta)
        collected = collected or _collects(delta)
    merged["message"] = _merged_message(deltas, dialect)
    merged |= _last(pieces, "index", "delta", "message", "logprobs", "text")
    finishes = [
        present(finish)
        for piece in pieces
        for finish in (piece.get("finishReason"), piece.get("finish_reason"))
        if _is_text(finish)
    ]
    merged["finish_reason"] = next((finish for finish in reversed(finishes) if finish), None)
    logprobs = [each for piece in pieces if isinstance(each := piece.get("logprobs"), dict)]
    if logprobs:
        merged["logprobs"] = _going_on(logprobs)
    return merged


ANSWERS = (
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "audio",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "reasoning_details",
)
"""Fields in which a delta says something."""


def _collects(delta: Object) -> bool:
    return any(_says_something(delta.get(name)) for name in ANSWERS)


def _going_on(objects: Sequence[Object]) -> Object:
    """Lists go on; of all else the last value."""
    merged = _last(objects)
    for key, value in merged.items():
        if isinstance(value, list):
            merged[key] = [
                item
                for each in objects
                if isinstance(items := each.get(key), list)
                for item in items
            ]
    return merged


_JOINED = ("refusal", "reasoning_content", "reasoning", "reasoning_text")


def _merged_message(deltas: Sequence[Object], dialect: Dialect) -> Object:
    merged = _going_on(deltas)
    merged["role"] = next(
        (role for delta in deltas if _is_text(role := delta.get("role")) and present(role)),
        "assistant",
    )
    merged["content"] = _content(
        [delta["content"] for delta in deltas if delta.get("content") is not None]
    )
    for name in _JOINED:
        if name in merged:
            merged[name] = _texts(deltas, name)
    audio = [delta["audio"] for delta in deltas if isinstance(delta.get("audio"), dict)]
    if audio:
        merged["audio"] = _audio(audio)
    details = [item for delta in deltas for item in _objects(delta.get("reasoning_details"))]
    if details:
        merged["reasoning_details"] = joined_details(details, dialect)
    merged |= _calls(deltas)
    return merged


def _texts(objects: Sequence[Object], name: str) -> str | None:
    texts = [text for each in objects if isinstance(text := each.get(name), str)]
    return "".join(texts) if texts else None


def _content(contents: Sequence[Any]) -> Any:
    """Texts joined; where one came as a list, a list of parts in which neighbours of one kind are
    joined.
    """
    sound = [
        content
        for content in contents
        if isinstance(content, str) or (isinstance(content, list) and _objects(content) == content)
    ]
    if all(map(_is_text, sound)):
        # Of what is no content the last one is kept, if there is nothing else.
        return "".join(map(str, sound)) if sound else next(iter(contents[-1:]), None)
    parts: list[Object] = []
    for content in sound:
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part == {"type": "text", "text": ""}:
                continue
            last = parts[-1] if parts else {}
            if (
                parts
                and part.keys() | last.keys() <= _JOINABLE
                and part.get("type") == last.get("type")
            ):
                parts[-1] = _joined_part(last, part)
            else:
                parts.append(part)
    return parts


_JOINABLE = {"type", "text", "thinking", "closed"}


def _joined_part(one: Object, other: Object) -> Object:
    joined = {**one, **other}
    for name in ("text", "thinking"):
        pair = [value for each in (one, other) if (value := each.get(name)) is not None]
        if len(pair) == 2 and all(map(_is_text, pair)):
            joined[name] = "".join(pair)
        elif len(pair) == 2 and all(isinstance(value, list) for value in pair):
            joined[name] = _content(pair)
    return joined


def _audio(pieces: Sequence[Object]) -> Object:
    audio = _last(pieces)
    for name in ("data", "transcript"):
        if name in audio:
            audio[name] = _texts(pieces, name)
    return audio


def joined_details(details: Sequence[Object], dialect: Dialect) -> list[Object]:
    """Fragments of reasoning by type and index, in the order in which they were begun (Q6).

    Texts are joined, or the last one counts where a host sends all of it again (Q7); of other keys
    the last value counts.
    """
    whole: dict[tuple[Any, Any], Object] = {}
    for detail in details:
        key = (str(detail.get("type")), str(detail.get("index")))
        before = whole.get(key)
        if before is None:
            whole[key] = dict(detail)
            continue
        for name, value in detail.items():
            if (
                name in ("text", "summary")
                and _is_text(value)
                and _is_text(before.get(name))
                and not dialect.cumulative_details
            ):
                before[name] += value
            elif value is not None:
                before[name] = value
    return list(whole.values())


def _calls(deltas: Sequence[Object]) -> Object:
    calls, beside = Calls(), dict[int, Object]()
    legacy: list[OpenCall] = []
    for delta in deltas:
        for item in _objects(delta.get("tool_calls")):
            call, _ = calls.add(_fit(item, ToolCall))
            known = beside.setdefault(id(call), {})
            beside[id(call)] = _last(
                [known, item], "id", "function", "custom", "extra_content", "index"
            )
            beside[id(call)]["function"] = _last(
                [known.get("function") or {}, _object(item, "function")], "name", "arguments"
            )
        if isinstance(delta.get("function_call"), dict):
            found = calls.add_legacy(_fit(delta["function_call"], FunctionCall))
            legacy = [found[0]] if found is not None else legacy
    merged: Object = {}
    if legacy:
        merged["function_call"] = {"name": legacy[0].name, "arguments": legacy[0].text}
    others = [call for call in calls.all if call not in legacy]
    if others:
        merged["tool_calls"] = [_call(call, beside[id(call)]) for call in others]
    return merged


def _call(call: OpenCall, beside: Object) -> Object:
    function = {
        "name": call.name,
        "arguments" if call.kind == "function" else "input": call.text,
        **beside.pop("function", {}),
    }
    merged = {
        "id": call.id,
        **beside,
        "type": present(beside.get("type")) or call.kind,
        call.kind: function,
    }
    if call.extra is not None:
        merged["extra_content"] = call.extra
    return merged


def _fit(value: Object, kind: Any) -> Any:
    return fitted(json.loads(json.dumps(value), parse_float=number), kind)


def _object(owner: Mapping[str, Any], key: str) -> Object:
    found = owner.get(key)
    return found if isinstance(found, dict) else {}


def _objects(values: Any) -> list[Object]:
    """A list of objects; one with anything else in it is left out as a whole, as `decoded` does."""
    return (
        values
        if isinstance(values, list) and all(isinstance(each, dict) for each in values)
        else []
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# --- chunks of text -----------------------------------------------------------------------------

_Text: TypeAlias = str | msgspec.UnsetType | None
_Nothing: TypeAlias = msgspec.UnsetType | None
_UNSET = msgspec.UNSET


class _TextDelta(msgspec.Struct, forbid_unknown_fields=True):
    content: _Text = _UNSET
    reasoning_content: _Text = _UNSET
    reasoning: _Text = _UNSET
    reasoning_text: _Text = _UNSET
    role: RawValue = _UNSET
    refusal: _Nothing = _UNSET
    channel: RawValue = _UNSET
    function_call: _Nothing = _UNSET
    tool_calls: _Nothing | tuple[()] = _UNSET


class _TextChoice(msgspec.Struct, forbid_unknown_fields=True):
    delta: _TextDelta
    index: RawValue = _UNSET
    finish_reason: RawValue = _UNSET
    native_finish_reason: RawValue = _UNSET
    stop_reason: RawValue = _UNSET
    content_filter_results: RawValue = _UNSET
    logprobs: _Nothing = _UNSET
    token_ids: _Nothing = _UNSET


class TextChunk(msgspec.Struct, forbid_unknown_fields=True):
    """A chunk with nothing but text of one choice; see `wire.core.chunk_bytes`."""

    choices: tuple[_TextChoice]
    id: RawValue = _UNSET
    object: RawValue = _UNSET
    created: RawValue = _UNSET
    model: RawValue = _UNSET
    provider: RawValue = _UNSET
    service_tier: RawValue = _UNSET
    system_fingerprint: RawValue = _UNSET
    usage: RawValue = _UNSET
    obfuscation: RawValue = _UNSET

    def split(self) -> tuple[tuple[str, ...], RawValue]:
        """Content and three kinds of reasoning."""
        delta: Any = self.choices[0].delta
        texts = (
            delta.content or "",
            delta.reasoning_content or "",
            delta.reasoning or "",
            delta.reasoning_text or "",
        )
        if delta.content:
            delta.content = ""
        if delta.reasoning_content:
            delta.reasoning_content = ""
        if delta.reasoning:
            delta.reasoning = ""
        if delta.reasoning_text:
            delta.reasoning_text = ""
        self.obfuscation = _UNSET  # padding, which folding drops
        return texts, _UNSET

    def joined(self, texts: tuple[str, ...], latest: RawValue) -> bytes:
        """The JSON of this chunk with other texts."""
        delta = self.choices[0].delta
        for name, text in zip(delta.__struct_fields__, texts, strict=False):
            if isinstance(getattr(delta, name), str):
                setattr(delta, name, text)
        data = msgspec.json.encode(self)
        self.split()
        return data


# --- bytes of messages ----------------------------------------------------------------------------


class _MessageCut(msgspec.Struct):
    tool_calls: list[msgspec.Raw] | None = None


class _ChoiceCut(msgspec.Struct):
    message: msgspec.Raw = msgspec.Raw()


class _AnswerCut(msgspec.Struct):
    choices: list[_ChoiceCut] | None = None


class _Pieces:
    """The slices of one choice's message, found when the first of them is wanted."""

    def __init__(self, data: bytes, choice: int) -> None:
        self._data, self._choice = data, choice

    @functools.cached_property
    def _message(self) -> msgspec.Raw:
        answer: _AnswerCut = decoder(_AnswerCut).decode(strict_json(self._data))
        return (answer.choices or [])[self._choice].message.copy()

    @functools.cached_property
    def _calls(self) -> list[msgspec.Raw]:
        message: _MessageCut = decoder(_MessageCut).decode(self._message)
        return message.tool_calls or []

    def message(self) -> msgspec.Raw:
        """The bytes of the message."""
        return self._message

    def call(self, place: int) -> msgspec.Raw:
        """The bytes of one of its tool calls."""
        return self._calls[place].copy()


def whole(answer: ChatCompletion, data: bytes) -> ChatCompletion:
    """Give each message and tool call of a received answer the slice of its bytes, to be cut out
    when somebody wants it.
    """
    for index, choice in enumerate(answer.choices or ()):
        message = choice.message
        if message is None:
            continue
        pieces = _Pieces(data, index)
        freeze(message)
        vars(message)[RAW] = Slice(pieces.message)
        for place, call in enumerate(message.tool_calls or ()):
            vars(call)[RAW] = Slice(pieces.call, place)
    return answer
