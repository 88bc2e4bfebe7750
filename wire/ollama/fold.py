"""Folds the lines of a stream into the answer that the call without streaming would have returned.

Folding merges the JSON of the lines, not their structs. A struct has no unknown keys, so folding
structs would lose them. Texts are joined, lists are concatenated; of any other key the last value
counts.

The message of the folded answer and each call keep their bytes, so that they can be sent back
unchanged.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from wire.core.chunk_bytes import RawValue
from wire.core.lenient import Fields, decoded, fields_of, items_of, plain, strict_json, well_formed
from wire.core.memory import RAW, Slice, WireStruct, encode, freeze
from wire.ollama.types import ChatResponse, GenerateResponse, Progress

W = TypeVar("W", bound=WireStruct)

_UNSET = msgspec.UNSET


def fold(lines: Sequence[ChatResponse | msgspec.Raw]) -> ChatResponse:
    """Fold lines, or their bytes, into the answer of the same call without streaming."""
    data = _folded(lines, (), ("logprobs",), ("message",))
    return keep_bytes(decoded(data, ChatResponse), data)


def fold_generated(lines: Sequence[GenerateResponse | msgspec.Raw]) -> GenerateResponse:
    """Fold lines, or their bytes, into the continuation of the same call without streaming."""
    data = _folded(lines, ("response", "thinking"), ("logprobs",), ())
    return decoded(data, GenerateResponse)


def fold_progress(lines: Sequence[Progress | msgspec.Raw]) -> Progress:
    """Return the last line of a download, which says how it ended."""
    last = lines[-1]
    return decoded(bytes(last if isinstance(last, msgspec.Raw) else encode(last)), Progress)


_TEXTS = ("content", "thinking")
_LISTS = ("tool_calls", "images")
_EMPTY = (b"null", b"[]")


def _folded(
    lines: Sequence[WireStruct | msgspec.Raw],
    texts: Sequence[str],
    lists: Sequence[str],
    messages: Sequence[str],
) -> bytes:
    sources = [each if isinstance(each, msgspec.Raw) else encode(each) for each in lines]
    if len(sources) == 1:
        return bytes(sources[0])
    objects = [fields_of(msgspec.Raw(bytes(each))) for each in sources]
    merged = _merged(objects, texts, lists)
    for name in messages:
        inner = [fields_of(each[name]) for each in objects if name in each]
        if inner:
            merged[name] = _merged(inner, _TEXTS, _LISTS)
    return msgspec.json.encode(merged)


def _merged(objects: Iterable[Fields], texts: Sequence[str], lists: Sequence[str]) -> Fields:
    """Join the texts, concatenate the lists, and keep the last value of any other key."""
    merged: Fields = {}
    joined: dict[str, list[str]] = {}
    for each in objects:
        for key, value in each.items():
            found = plain(bytes(value)) if key in texts else None
            if isinstance(found, str):
                joined.setdefault(key, []).append(found)
                merged.setdefault(key, "")
            elif key in lists and (items := items_of(value)):
                before = merged.get(key)
                merged[key] = [*(before if isinstance(before, list) else ()), *items]
            elif key not in joined and (key not in merged or bytes(value) not in _EMPTY):
                merged[key] = value
    # A line may end in the first half of a surrogate pair, and the next begin with the second
    # . So lone halves are replaced only after the texts are joined.
    return merged | {key: well_formed("".join(pieces)) for key, pieces in joined.items()}


# --- lines of text --------------------------------------------------------------------------------


class _TextMessage(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    role: RawValue = _UNSET
    content: str | None = None
    thinking: str | None = None


class TextChunk(msgspec.Struct, forbid_unknown_fields=True):
    """A line that holds only text of the message; see `wire.core.chunk_bytes`."""

    changing: ClassVar[Mapping[str, Any]] = {"created_at": msgspec.Raw}
    latest_key: ClassVar[str] = "created_at"

    message: _TextMessage
    model: RawValue = _UNSET
    created_at: RawValue = _UNSET
    done: RawValue = _UNSET

    def split(self) -> tuple[tuple[str, ...], RawValue]:
        """Take out the two texts, and the time."""
        message, latest = self.message, self.created_at
        texts = message.content or "", message.thinking or ""
        if message.content:
            message.content = ""
        if message.thinking:
            message.thinking = ""
        self.created_at = _UNSET
        return texts, latest

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """Encode this line with these texts, joined, and the last time."""
        for name, column in zip(_TEXTS, columns, strict=True):
            if isinstance(getattr(self.message, name), str):
                setattr(self.message, name, "".join(column))
        self.created_at = latest
        data = msgspec.json.encode(self)
        self.split()
        return data

    def text_key(self, position: int) -> str:
        """Return the key of a text."""
        return _TEXTS[position]


# --- bytes of messages and calls ------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of the message and of its calls out of an answer, once, on first use."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @functools.cached_property
    def _message(self) -> msgspec.Raw:
        answer = fields_of(msgspec.Raw(strict_json(self._data)))
        return msgspec.Raw(bytes(answer.get("message", b"{}")))

    @functools.cached_property
    def _calls(self) -> list[msgspec.Raw]:
        return items_of(fields_of(self._message).get("tool_calls"))

    def message(self, _: int) -> msgspec.Raw:
        """Return the bytes of the message."""
        return self._message.copy()

    def call(self, index: int) -> msgspec.Raw:
        """Return the bytes of one call."""
        return self._calls[index].copy()


def keep_bytes(answer: ChatResponse, data: bytes) -> ChatResponse:
    """Attach to the message of a received answer and to its calls their bytes, which are cut out on
    first use.
    """
    message = answer.message
    if message is not None:
        freeze(message)
        pieces = _Slices(data)
        vars(message)[RAW] = Slice(pieces.message, 0)
        for index, call in enumerate(message.tool_calls or ()):
            vars(call)[RAW] = Slice(pieces.call, index)
    return answer
