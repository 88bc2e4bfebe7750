"""Folds chunks into the response that the call without streaming would have returned.

Folding merges the JSON of the chunks, not their structs. A struct has no unknown keys, so folding
structs would lose them.

- Texts are joined, and lists concatenated.
- `tool_calls.py` assembles the calls (Q9 to Q11).
- The last usage counts (Q16). Of any other key, the last value that is not empty counts.

Each message and call of the folded response keeps its bytes, so that it can be sent back
unchanged.
"""

from __future__ import annotations

import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

import msgspec

from wire.core.chunk_bytes import RawValue
from wire.core.json_values import merged_json
from wire.core.lenient import decoded, fields_of, fitted, items_of, number, plain, strict_json
from wire.core.memory import RAW, Slice, encode, freeze
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
    """Fold chunks, or their bytes, into the response of the same call without streaming."""
    sources = [
        bytes(chunk) if isinstance(chunk, msgspec.Raw) else encode(chunk) for chunk in chunks
    ]
    plains = [_plain_object(source) for source in sources]
    if len(plains) == 1 and _is_complete(plains[0]):
        return keep_bytes(decoded(sources[0], ChatCompletion), sources[0])
    return _decoded_merged(_merged(plains, dialect))


def _decoded_merged(merged: Object) -> ChatCompletion:
    """Encode the merged object and decode it to the response, with its bytes."""
    data = merged_json(merged)
    return keep_bytes(decoded(data, ChatCompletion), data)


def _plain_object(source: bytes) -> Object:
    # A lone half of a surrogate pair is replaced only after the texts are joined: the other half
    # may be in the next chunk.
    value = plain(source)
    return value if isinstance(value, dict) else {}


def _is_complete(value: Object) -> bool:
    """Return whether a chunk is a complete response, from a server that ignores `stream`."""
    choices = value.get("choices")
    return isinstance(choices, list) and all(
        isinstance(each, dict)
        and "message" in each
        and not any(
            _has_value(value) for key, value in _object(each, "delta").items() if key != "role"
        )
        for each in choices
    )


# --- merging --------------------------------------------------------------------------------------


def _has_value(value: Any) -> bool:
    return bool(value) or isinstance(value, (int, float))


def _last_values(objects: Sequence[Object], *besides: str) -> Object:
    """Return the last value of each key that is not empty, without the keys in `besides`.

    Hosts repeat keys with an empty value in later chunks; it must not replace an earlier one.
    """
    merged: Object = {}
    for each in objects:
        _add_values(merged, each, *besides)
    return merged


def _add_values(merged: Object, added: Object, *besides: str) -> None:
    for key, value in added.items():
        if key not in besides and (key not in merged or _has_value(value)):
            merged[key] = value


def _merged(chunks: Sequence[Object], dialect: Dialect) -> Object:
    pieces: dict[int, list[Object]] = {}
    for chunk in chunks:
        for choice in _objects(chunk.get("choices")):
            index = choice.get("index")
            pieces.setdefault(index if isinstance(index, int) else 0, []).append(choice)
    merged = _last_values(chunks, "choices", "obfuscation", "usage")
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
    """Return the last usage. Hosts send it at one of three positions in a chunk (Q16)."""
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
        if not collected and not _has_content(delta):
            # A complete message counts only if no delta before it had content. Otherwise it
            # repeats the deltas, and the text would be doubled (Q5).
            delta = {**delta, **_with_indexes(_object(piece, "message"))}
        deltas.append(delta)
        collected = collected or _has_content(delta)
    merged["message"] = _merged_message(deltas, dialect)
    merged |= _last_values(pieces, "index", "delta", "message", "logprobs", "text")
    finishes = [
        present(finish)
        for piece in pieces
        for finish in (piece.get("finishReason"), piece.get("finish_reason"))
        if _is_text(finish)
    ]
    merged["finish_reason"] = next((finish for finish in reversed(finishes) if finish), None)
    logprobs = [piece for piece in pieces if piece.get("logprobs") is not None]
    objects = [each for piece in logprobs if isinstance(each := piece["logprobs"], dict)]
    # Some hosts send numbers.
    odd = [{"logprobs": piece["logprobs"]} for piece in logprobs]
    return merged | ({"logprobs": _concatenated(objects)} if objects else _concatenated(odd))


def _with_indexes(message: Object) -> Object:
    """Return a complete message with an index in each tool call: two calls with one id stay two
    (Q9).
    """
    calls = _objects(message.get("tool_calls"))
    if not calls:
        return message
    indexed = [
        each if each.get("index") is not None else {**each, "index": index}
        for index, each in enumerate(calls)
    ]
    return {**message, "tool_calls": indexed}


CONTENT_FIELDS = (
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "audio",
    "images",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "reasoning_details",
)
"""Fields of a delta that hold content of the message."""


def _has_content(delta: Object) -> bool:
    return any(_has_value(delta.get(name)) for name in CONTENT_FIELDS)


def _concatenated(objects: Sequence[Object]) -> Object:
    """Concatenate lists; of any other key, take the last value that is not empty."""
    merged = _last_values(objects)
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
    merged = _concatenated(deltas)
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
    """Join the contents to one text, or, if one of them is a list, to one list of parts.

    Adjacent parts of one type are joined too.
    """
    valid = [
        content
        for content in contents
        if isinstance(content, str) or (isinstance(content, list) and _objects(content) == content)
    ]
    if all(map(_is_text, valid)):
        # Without any valid content, the last invalid one is kept.
        return "".join(map(str, valid)) if valid else next(iter(contents[-1:]), None)
    # Runs of parts are joined once: joining two at a time would be quadratic.
    runs: list[list[Object]] = []
    for content in valid:
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            if part == {"type": "text", "text": ""}:
                continue
            if runs and _may_join(runs[-1][-1], part):
                runs[-1].append(part)
            else:
                runs.append([part])
    return [run[0] if len(run) == 1 else _joined_parts(run) for run in runs]


_JOINABLE = {"type", "text", "thinking", "closed"}
"""Keys of parts that may be joined. An unknown key may belong to the exact text of its part."""


def _may_join(one: Object, other: Object) -> bool:
    return one.keys() | other.keys() <= _JOINABLE and one.get("type") == other.get("type")


def _joined_parts(parts: Sequence[Object]) -> Object:
    joined: Object = {}
    for part in parts:
        joined |= part
    for name in ("text", "thinking"):
        values = [value for part in parts if (value := part.get(name)) is not None]
        if len(values) > 1 and all(map(_is_text, values)):
            joined[name] = "".join(values)
        elif len(values) > 1 and all(isinstance(value, list) for value in values):
            joined[name] = _content(values)
    return joined


def _audio(pieces: Sequence[Object]) -> Object:
    audio = _last_values(pieces)
    if "transcript" in audio:
        audio["transcript"] = _texts(pieces, "transcript")
    if "data" in audio:
        from wire.openai.chat.media import joined_base64  # few models speak

        data = [text for each in pieces if isinstance(text := each.get("data"), str)]
        audio["data"] = joined_base64(data) if data else None
    return audio


def joined_details(details: Sequence[Object], dialect: Dialect) -> list[Object]:
    """Join fragments of reasoning by type and index, in the order of their first fragments (Q6).

    Texts are joined. From a host with `cumulative_details` the last text counts, because each one
    contains those before it (Q7). Of any other key, the last value that is not `null` counts.
    """
    joined: dict[tuple[str, str], Object] = {}
    # Key of a fragment -> name of a text -> its fragments, joined once at the end.
    texts: dict[tuple[str, str], dict[str, list[Any]]] = {}
    for detail in details:
        key = (str(detail.get("type")), str(detail.get("index")))
        own, known = joined.setdefault(key, {}), texts.setdefault(key, {})
        for name, value in detail.items():
            is_text = name in ("text", "summary") and _is_text(value)
            if is_text and name in known and not dialect.cumulative_details:
                known[name].append(value)
            elif value is not None or name not in own:
                own[name] = value
                known.pop(name, None)
                if is_text:
                    known[name] = [value]
    for key, known in texts.items():
        joined[key] |= {name: "".join(pieces) for name, pieces in known.items()}
    return list(joined.values())


def _calls(deltas: Sequence[Object]) -> Object:
    """Assemble the calls.

    `Calls` matches a delta to its call by index, id and name, never by the position in its list:
    most lists hold one delta, so that deltas of all calls are at position 0 (Q9).
    """
    calls = Calls()
    # id() of a call -> its other keys, also unknown ones, which `Calls` does not collect.
    metadata: dict[int, Object] = {}
    legacy: list[OpenCall] = []
    for delta in deltas:
        for item in _objects(delta.get("tool_calls")):
            call = calls.add(_fit(item, ToolCall))
            known = metadata.setdefault(id(call), {"function": {}})
            _add_values(known, item, "id", "function", "custom", "extra_content", "index")
            _add_values(known["function"], _object(item, "function"), "name", "arguments")
        if isinstance(delta.get("function_call"), dict):
            begun = calls.add_legacy(_fit(delta["function_call"], FunctionCall))
            legacy = [begun] if begun is not None else legacy
    merged: Object = {}
    if legacy:
        merged["function_call"] = {"name": legacy[0].name, "arguments": legacy[0].text}
    others = [call for call in calls.all if call not in legacy]
    if others:
        merged["tool_calls"] = [_call(call, metadata[id(call)]) for call in others]
    return merged


def _call(call: OpenCall, metadata: Object) -> Object:
    function = {
        "name": call.name,
        "arguments" if call.kind == "function" else "input": call.text,
        **metadata.pop("function", {}),
    }
    merged = {
        "id": call.id,
        **metadata,
        "type": present(metadata.get("type")) or call.kind,
        call.kind: function,
    }
    if call.extra is not None:
        merged["extra_content"] = call.extra
    return merged


def _fit(value: Object, kind: Any) -> Any:
    return fitted(json.loads(json.dumps(value), parse_float=number), kind)


def _object(owner: Mapping[str, Any], key: str) -> Object:
    value = owner.get(key)
    return value if isinstance(value, dict) else {}


def _objects(values: Any) -> list[Object]:
    """Return the items of a list of objects; empty if an item is not one, as in `decoded`."""
    return (
        values
        if isinstance(values, list) and all(isinstance(each, dict) for each in values)
        else []
    )


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


# --- chunks of text -----------------------------------------------------------------------------

_Text: TypeAlias = str | msgspec.UnsetType | None
_Empty: TypeAlias = msgspec.UnsetType | None
_Blank: TypeAlias = Literal["", None] | msgspec.UnsetType
_UNSET = msgspec.UNSET


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    arguments: str
    name: _Blank = _UNSET


class _CallPiece(msgspec.Struct, forbid_unknown_fields=True):
    """A delta of a call with neither id nor name: it continues the call of the delta before it."""

    function: _Arguments
    index: RawValue = _UNSET
    id: _Blank = _UNSET
    type: RawValue = _UNSET


class _TextDelta(msgspec.Struct, forbid_unknown_fields=True):
    content: _Text = _UNSET
    reasoning_content: _Text = _UNSET
    reasoning: _Text = _UNSET
    reasoning_text: _Text = _UNSET
    role: RawValue = _UNSET
    refusal: _Empty = _UNSET
    channel: RawValue = _UNSET
    token_id: RawValue = _UNSET
    function_call: _Empty = _UNSET
    tool_calls: _Empty | Annotated[list[_CallPiece], msgspec.Meta(max_length=1)] = _UNSET


class _TextChoice(msgspec.Struct, forbid_unknown_fields=True):
    delta: _TextDelta
    index: RawValue = _UNSET
    text: RawValue = _UNSET
    seed: RawValue = _UNSET
    raw_output: RawValue = _UNSET
    matched_stop: RawValue = _UNSET
    finish_reason: RawValue = _UNSET
    native_finish_reason: RawValue = _UNSET
    stop_reason: RawValue = _UNSET
    content_filter_results: RawValue = _UNSET
    logprobs: _Empty = _UNSET
    token_ids: _Empty = _UNSET


class TextChunk(msgspec.Struct, forbid_unknown_fields=True):
    """A chunk that holds only text of one choice, or a piece of the arguments of one call; see
    `wire.core.chunk_bytes`.
    """

    changing: ClassVar[Mapping[str, Any]] = {"obfuscation": str, "text": str}
    latest_key: ClassVar[str] = ""

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
        """Take out the content, the three fields of reasoning, and the arguments."""
        choice = self.choices[0]
        delta: Any = choice.delta
        arguments = ""
        if delta.tool_calls:
            function = delta.tool_calls[0].function
            arguments, function.arguments = function.arguments, ""
        texts = (
            delta.content or "",
            delta.reasoning_content or "",
            delta.reasoning or "",
            delta.reasoning_text or "",
            arguments,
        )
        if delta.content:
            delta.content = ""
        if delta.reasoning_content:
            delta.reasoning_content = ""
        if delta.reasoning:
            delta.reasoning = ""
        if delta.reasoning_text:
            delta.reasoning_text = ""
        choice.text = self.obfuscation = _UNSET  # the content again, and padding: both are dropped
        return texts, _UNSET

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """Encode this chunk with these texts, joined."""
        delta = self.choices[0].delta
        *texts, arguments = columns
        for name, column in zip(_TEXT_KEYS, texts, strict=False):
            if isinstance(getattr(delta, name), str):
                setattr(delta, name, "".join(column))
        calls = delta.tool_calls
        if calls:
            (call,) = calls
            delta.tool_calls = [
                msgspec.structs.replace(call, function=_Arguments(piece, call.function.name))
                for piece in _joined_arguments(arguments)
            ]
        data = msgspec.json.encode(self)
        delta.tool_calls = calls
        self.split()
        return data

    def text_key(self, position: int) -> str:
        """Return the key of a text."""
        return _TEXT_KEYS[position]


_TEXT_KEYS = ("content", "reasoning_content", "reasoning", "reasoning_text", "arguments")


def _joined_arguments(pieces: Sequence[str]) -> list[str]:
    """Join pieces to fewer ones, which `OpenCall.add_arguments` reads as it would read these.

    It drops a piece that repeats the arguments so far, if they are a complete object (Q11). So a
    piece that may begin an object stays alone: joined to others, it would be one more object behind
    the first, or others would become one with it.
    """
    joined: list[str] = []
    for begins_object, group in itertools.groupby(pieces, _begins_object):
        run = list(group)
        joined += run if begins_object else ["".join(run)]
    return joined


def _begins_object(piece: str) -> bool:
    return piece.lstrip()[:1] == "{"


# --- bytes of messages ----------------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of one choice's message and of its calls out of the response, on first use."""

    def __init__(self, data: bytes, choice: int) -> None:
        self._data, self._choice = data, choice

    @functools.cached_property
    def _message(self) -> msgspec.Raw:
        choices = items_of(fields_of(msgspec.Raw(strict_json(self._data))).get("choices"))
        message: msgspec.Raw = fields_of(choices[self._choice])["message"]
        return message.copy()

    @functools.cached_property
    def _calls(self) -> list[msgspec.Raw]:
        return items_of(fields_of(self._message).get("tool_calls"))

    def message(self) -> msgspec.Raw:
        """Return the bytes of the message."""
        return self._message

    def call(self, position: int) -> msgspec.Raw:
        """Return the bytes of one of its tool calls."""
        return self._calls[position].copy()


def keep_bytes(response: ChatCompletion, data: bytes) -> ChatCompletion:
    """Attach to each message and tool call of a received response its bytes, which are cut out on
    first use.
    """
    for index, choice in enumerate(response.choices or ()):
        message = choice.message
        if message is None:
            continue
        pieces = _Slices(data, index)
        freeze(message)
        vars(message)[RAW] = Slice(pieces.message)
        for position, call in enumerate(message.tool_calls or ()):
            vars(call)[RAW] = Slice(pieces.call, position)
    return response
