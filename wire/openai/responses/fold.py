"""Folds events into the response that the call without streaming would have returned.

Folding merges the JSON of the events, not their structs. A struct has no unknown keys, so folding
structs would lose them.

The output is a list of items, and each event names the position of its item. Ids of items are not
used: a gateway of GitHub sends another id with each event. Items overlap, so that there is no
current item. For each position the first of these counts that was received:

1. the item of `output_item.done`, with its bytes. At some hosts the last event has no output.
2. the item of the last event, such as a list of tools that no event completed.
3. what the deltas form. Only an incomplete response needs it.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from wire.core.chunk_bytes import RawValue
from wire.core.lenient import Fields, decoded, fields_of, items_of, plain, strict_json, well_formed
from wire.core.memory import RAW, Slice, encode, freeze
from wire.openai.responses.types import Item, Response, StreamEvent

TERMINAL_EVENTS = frozenset({"response.completed", "response.incomplete", "response.cancelled"})
"""Events after which a response is complete. `response.failed` is an error instead."""

_STATES = TERMINAL_EVENTS | {
    "response.created",
    "response.queued",
    "response.in_progress",
    "response.failed",
}
"""Events that hold the response itself."""


def fold(events: Sequence[StreamEvent | msgspec.Raw]) -> Response:
    """Fold events, or their bytes, into the response of the same call without streaming."""
    builder = _ResponseBuilder()
    for event in events:
        builder.add(
            fields_of(event if isinstance(event, msgspec.Raw) else msgspec.Raw(encode(event)))
        )
    data = msgspec.json.encode(builder.merged())
    return keep_bytes(decoded(data, Response), data)


def _plain(raw: Any) -> Any:
    """Decode a value that may be kept as bytes."""
    return plain(bytes(raw)) if isinstance(raw, msgspec.Raw) else raw


def _text(raw: Any) -> str:
    value = _plain(raw)
    return value if isinstance(value, str) else ""


# --- items ----------------------------------------------------------------------------------------


class ItemPositions:
    """The position in the output of the item that each event belongs to.

    llama.cpp sends no positions. There an id that is new begins the next item.
    """

    def __init__(self) -> None:
        self._of_id: dict[str, int] = {}
        self._latest = 0

    def position(self, index: int | None, id: str | None) -> int:
        """Return the position, by the `output_index` of the event, else by the id of its item."""
        if index is not None:
            return index
        if id:
            self._latest = self._of_id.setdefault(id, len(self._of_id))
        return self._latest


class Piece(msgspec.Struct, frozen=True):
    """Where the text of a delta belongs."""

    item: str
    """Type of the item, for hosts that omit `output_item.added`."""
    field: str
    """Field of the text, in the item or in its part."""
    parts: str = ""
    """Field of the item with the list of parts; empty for a text of the item itself."""
    part: str = ""
    """Type of the part."""
    position: str = "content_index"
    """Key of the event with the position of the part."""


PIECES = {
    "response.output_text": Piece("message", "text", "content", "output_text"),
    "response.refusal": Piece("message", "refusal", "content", "refusal"),
    "response.reasoning_text": Piece("reasoning", "text", "content", "reasoning_text"),
    "response.reasoning_summary_text": Piece(
        "reasoning", "text", "summary", "summary_text", "summary_index"
    ),
    "response.function_call_arguments": Piece("function_call", "arguments"),
    "response.custom_tool_call_input": Piece("custom_tool_call", "input"),
    "response.mcp_call_arguments": Piece("mcp_call", "arguments"),
    "response.code_interpreter_call_code": Piece("code_interpreter_call", "code"),
}
"""Type of an event, without its last word `delta` or `done` -> where its text belongs."""

_PARTS = {
    "response.content_part": ("message", "content", "content_index"),
    "response.reasoning_part": ("reasoning", "content", "content_index"),  # vLLM
    "response.reasoning_summary_part": ("reasoning", "summary", "summary_index"),
}
"""Type of an event, without `added` or `done` -> the item, its list of parts, the key of the
position."""


class _Part:
    """One part of an item while its deltas arrive."""

    def __init__(self) -> None:
        self.fields: Fields = {}
        self.texts: dict[str, list[str]] = {}
        self.annotations: list[Any] = []

    def merged(self) -> Fields:
        part = dict(self.fields)
        for name, pieces in self.texts.items():
            # One delta may end in the first half of a surrogate pair, and the next begin with the
            # second. So lone halves are replaced only after the texts are joined.
            part[name] = well_formed("".join(pieces))
        if self.annotations and not items_of(part.get("annotations")):
            part["annotations"] = self.annotations
        return part


class _Item:
    """One item while its events arrive."""

    def __init__(self, kind: str) -> None:
        self.start: Fields = {"type": kind}
        self.done: msgspec.Raw | None = None
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[tuple[str, int], _Part] = {}
        self._open: dict[str, int] = {}  # list of parts -> position of the part that began last

    def begin(self, name: str, index: int) -> None:
        """Record that a part began and has not ended."""
        self._parts.setdefault((name, index), _Part())
        self._open[name] = index

    def end(self, name: str) -> None:
        """Record that the part that began last has ended."""
        self._open.pop(name, None)

    def part(self, name: str, index: int, kind: str = "") -> _Part:
        """Return the part at a position of one of the lists of the item."""
        if (name, index) not in self._parts:
            # vLLM counts the position up with each delta of the one part that it began.
            index = self._open.get(name, index)
        part = self._parts.setdefault((name, index), _Part())
        if kind:
            part.fields.setdefault("type", kind)
        return part

    def texts(self, piece: Piece, index: int) -> list[str]:
        """Return the fragments of the text that the deltas of `piece` belong to."""
        if not piece.parts:
            return self._texts.setdefault(piece.field, [])
        part = self.part(piece.parts, index, piece.part)
        return part.texts.setdefault(piece.field, [])

    def merged(self) -> Any:
        """Return the complete item as it was received; else what its events form."""
        if self.done is not None:
            return self.annotated(self.done)
        item: Fields = dict(self.start)
        for name, pieces in self._texts.items():
            item[name] = well_formed("".join(pieces))
        for name in dict.fromkeys(name for name, _ in self._parts):
            positions = sorted(index for each, index in self._parts if each == name)
            item[name] = [self._parts[name, index].merged() for index in positions]
        return item

    def annotated(self, whole: msgspec.Raw) -> Any:
        """Return the complete item, with annotations that only its events have."""
        added = {at: part.annotations for (_, at), part in self._parts.items() if part.annotations}
        content: list[Any] = items_of(fields_of(whole).get("content")) if added else []
        bare = {
            at: part
            for at, part in enumerate(map(fields_of, content))
            if at in added and not items_of(part.get("annotations"))
        }
        for at, part in bare.items():
            content[at] = {**part, "annotations": added[at]}
        return {**fields_of(whole), "content": content} if bare else whole


# --- responses ------------------------------------------------------------------------------------


class _ResponseBuilder:
    """The response while its events arrive."""

    def __init__(self) -> None:
        self._response: Fields = {"object": "response"}
        self._last: list[msgspec.Raw] = []  # the output of the event with the latest state
        self._items: dict[int, _Item] = {}
        self._positions_of = ItemPositions()

    def add(self, event: Fields) -> None:
        kind = _text(event.get("type"))
        if kind in _STATES:
            self._set_state(kind, event.get("response"))
            return
        if kind == "response.output_item.added":
            item = self._item(event, "")
            item.start = fields_of(event.get("item"))
            return
        if kind == "response.output_item.done":
            item = event.get("item", msgspec.Raw(b"{}"))
            self._item(event, "").done = item
            return
        base, _, step = kind.rpartition(".")
        if base in PIECES:
            piece = PIECES[base]
            texts = self._item(event, piece.item).texts(piece, _position(event, piece.position))
            if step == "delta":
                texts.append(_text(event.get("delta")))
            elif step == "done" and (whole := _text(event.get(piece.field))):
                texts[:] = [whole]
        elif base in _PARTS:
            kind, name, key = _PARTS[base]
            item, index = self._item(event, kind), _position(event, key)
            if step == "added":
                item.begin(name, index)
            part = item.part(name, index)
            part.fields |= fields_of(event.get("part"))
            if step == "done":
                part.texts.clear()
                item.end(name)
        elif base == "response.output_text.annotation":
            part = self._item(event, "message").part("content", _position(event, "content_index"))
            part.annotations.append(event.get("annotation"))

    def _set_state(self, kind: str, response: Any) -> None:
        if kind == "response.created":
            # A second one comes from a host that ran the model again: what was collected belongs to
            # the failed try.
            self._response, self._last = {"object": "response"}, []
            self._items.clear()
            self._positions_of = ItemPositions()
        state = fields_of(response)
        self._last = items_of(state.pop("output", None)) or self._last
        self._response |= state

    def _item(self, event: Fields, kind: str) -> _Item:
        given = _plain(event.get("output_index"))
        id = _text(event.get("item_id")) or _text(fields_of(event.get("item")).get("id"))
        index = self._positions_of.position(given if isinstance(given, int) else None, id)
        if index not in self._items:
            self._items[index] = _Item(kind)
        return self._items[index]

    def merged(self) -> Fields:
        return {**self._response, "output": [self._at(index) for index in self._positions()]}

    def _positions(self) -> list[int]:
        received = {_key(item.done) for item in self._items.values() if item.done is not None}
        added = (
            index
            for index, item in enumerate(self._last)
            if index not in self._items and _key(item) not in received
        )
        return sorted({*self._items, *added})

    def _at(self, index: int) -> Any:
        item = self._items.get(index)
        if item is None:
            return self._last[index]
        if item.done is None and self._fits(index, item):
            return item.annotated(self._last[index])
        return item.merged()

    def _fits(self, index: int, item: _Item) -> bool:
        """Return whether the last event has an item of the same type at this position."""
        if not 0 <= index < len(self._last):
            return False
        return _text(fields_of(self._last[index]).get("type")) == _text(item.start.get("type"))


def _key(item: msgspec.Raw) -> tuple[bytes, bytes]:
    """Return the ids that identify an item: an item of the last event may stand at another
    position.
    """
    fields = fields_of(item)
    return bytes(fields.get("id", b"")), bytes(fields.get("call_id", b""))


def _position(event: Fields, key: str) -> int:
    value = _plain(event.get(key))
    return value if isinstance(value, int) else 0


# --- events of text -------------------------------------------------------------------------------


class TextEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event that holds only text of one item; see `wire.core.chunk_bytes`."""

    changing: ClassVar[Mapping[str, Any]] = {"sequence_number": int, "obfuscation": str}
    latest_key: ClassVar[str] = "sequence_number"

    type: Literal[
        "response.output_text.delta",
        "response.refusal.delta",
        "response.reasoning_text.delta",
        "response.reasoning_summary_text.delta",
        "response.function_call_arguments.delta",
        "response.custom_tool_call_input.delta",
        "response.mcp_call_arguments.delta",
        "response.code_interpreter_call_code.delta",
    ]
    delta: str
    output_index: RawValue = msgspec.UNSET
    sequence_number: RawValue = msgspec.UNSET
    content_index: RawValue = msgspec.UNSET
    summary_index: RawValue = msgspec.UNSET
    item_id: RawValue = msgspec.UNSET
    logprobs: tuple[()] | msgspec.UnsetType | None = msgspec.UNSET
    obfuscation: RawValue = msgspec.UNSET

    def split(self) -> tuple[tuple[str], RawValue]:
        """Take out the text, and the number of the event, which the next one has one higher."""
        text, self.delta = self.delta, ""
        number, self.sequence_number = self.sequence_number, msgspec.UNSET
        self.obfuscation = msgspec.UNSET  # padding, which folding drops
        return (text,), number

    def joined(self, columns: Sequence[list[str]], latest: RawValue) -> bytes:
        """Encode this event with these texts, joined."""
        self.delta = "".join(columns[0])
        self.sequence_number = latest
        data = msgspec.json.encode(self)
        self.split()
        return data

    def text_key(self, position: int) -> str:
        """Return the key of the text."""
        return "delta"


# --- bytes of items -------------------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of the items out of a response, once, on first use."""

    def __init__(self, data: bytes, key: str) -> None:
        self._data, self._key = data, key

    @functools.cached_property
    def _items(self) -> list[msgspec.Raw]:
        return items_of(fields_of(msgspec.Raw(strict_json(self._data))).get(self._key))

    def item(self, index: int) -> msgspec.Raw:
        """Return the bytes of one item."""
        return self._items[index].copy()


def keep_bytes(response: Response, data: bytes) -> Response:
    """Attach to each item of a received response its bytes, which are cut out on first use."""
    if response.output:
        msgspec.structs.force_setattr(
            response, "output", with_bytes(response.output, data, "output")
        )
    return response


def with_bytes(items: list[Item], data: bytes, key: str) -> list[Item]:
    """Return the items, frozen, with their bytes in `data`.

    `data` is a JSON object that has the items under `key`.
    """
    pieces = _Slices(data, key)
    items = freeze(items)
    for index, item in enumerate(items):
        vars(item)[RAW] = Slice(pieces.item, index)
    return items
