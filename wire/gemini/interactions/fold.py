"""Folds events into the interaction that the call without streaming would have returned.

Folding merges the JSON of the events, not their structs. A struct has no unknown keys, so folding
structs would lose them.

`interaction.completed` has no steps: they are assembled from their deltas, by the index of each
event. The signature of a thought is the last one that is not empty. The arguments of a call replace
those that its step began with.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import msgspec

from wire.core.chunk_bytes import BORDER, RawValue, folded_hops
from wire.core.lenient import Fields, decoded, fields_of, items_of, plain, strict_json, well_formed
from wire.core.memory import RAW, Slice, encode, freeze
from wire.gemini.interactions.types import Interaction, InteractionEvent, Step

END = "interaction.completed"
"""The event after which an interaction is complete."""

_MEDIA = frozenset({"image", "audio", "document", "video"})
_TYPE_OF = {
    "text": "model_output",
    "text_annotation_delta": "model_output",
    "text_annotation": "model_output",
    "thought_summary": "thought",
    "thought_signature": "thought",
    "arguments_delta": "function_call",
    **dict.fromkeys(_MEDIA, "model_output"),
}
"""Type of a delta -> the type of its step, if no event began the step."""


def fold(events: Sequence[InteractionEvent | msgspec.Raw]) -> Interaction:
    """Fold events, or their bytes, into the interaction of the same call without streaming."""
    sources = [
        bytes(event) if isinstance(event, msgspec.Raw) else encode(event) for event in events
    ]
    if BORDER in sources:
        return folded_hops(sources, fold)
    builder = _Builder()
    for source in sources:
        builder.add(fields_of(msgspec.Raw(source)))
    data = msgspec.json.encode(builder.merged())
    return keep_bytes(decoded(data, Interaction), data)


def _plain(raw: Any) -> Any:
    """Decode a value that may be kept as bytes."""
    return plain(bytes(raw)) if isinstance(raw, msgspec.Raw) else raw


def _text(raw: Any) -> str:
    value = _plain(raw)
    return value if isinstance(value, str) else ""


# --- steps ----------------------------------------------------------------------------------------


class StepBuilder:
    """One step while its events arrive."""

    def __init__(self, start: Fields) -> None:
        self._fields = start
        self._content = list[Any](items_of(self._fields.pop("content", None)))
        self._summary = list[Any](items_of(self._fields.pop("summary", None)))
        self._texts: list[str] = []  # of the last content, if that is a text
        self._arguments: list[str] = []
        self._sound: list[bytes] = []  # of the last content, if that is a sound in pieces

    @property
    def kind(self) -> str:
        """The type of the step."""
        return _text(self._fields.get("type"))

    def add(self, delta: Fields) -> None:
        """Add a delta."""
        kind = _text(delta.get("type"))
        if not kind:
            return  # no delta: a note of its event says what it was
        if kind == "text":
            self._add_text(_text(delta.get("text")))
        elif kind in ("text_annotation_delta", "text_annotation"):
            content = self._open("text")
            added = items_of(delta.get("annotations"))
            content["annotations"] = [*items_of(content.get("annotations")), *added]
        elif kind == "thought_summary":
            self._summary.append(delta.get("content"))
        elif kind == "thought_signature":
            self._merge({"signature": delta.get("signature")})
        elif kind == "arguments_delta":
            self._arguments.append(_text(delta.get("arguments")))
        elif kind in _MEDIA:
            self._add_media(kind, delta)
        elif kind == self.kind or self.kind != "model_output":
            self._merge({key: value for key, value in delta.items() if key != "type"})
        else:
            self._close()
            self._content.append(delta)  # a kind of content that is newer than this library

    def _merge(self, fields: Fields) -> None:
        """Set fields of the step; an empty signature says nothing."""
        for key, value in fields.items():
            if key == "signature" and not _text(value):
                continue
            self._fields[key] = value

    def _open(self, kind: str) -> dict[str, Any]:
        """Return the last content; begin one if that is of another kind."""
        last = self._content[-1] if self._content else None
        if isinstance(last, msgspec.Raw):
            last = self._content[-1] = fields_of(last)
        if not isinstance(last, dict) or _text(last.get("type")) != kind:
            self._close()
            last = {"type": kind, **({"text": ""} if kind == "text" else {})}
            self._content.append(last)
        return last

    def _close(self) -> None:
        """Write the pieces of the last content into it."""
        if self._texts:
            # One delta may end in the first half of a surrogate pair, and the next begin with the
            # second. So lone halves are replaced only after the texts are joined.
            content = self._content[-1]
            content["text"] = well_formed(_text(content.get("text")) + "".join(self._texts))
        if self._sound:
            self._content[-1]["data"] = base64.b64encode(b"".join(self._sound)).decode()
        self._texts, self._sound = [], []

    def _add_text(self, text: str) -> None:
        if not self._texts:
            self._open("text")
        self._texts.append(text)

    def _add_media(self, kind: str, delta: Fields) -> None:
        """Add a content; pieces of one sound are joined."""
        piece = _decoded(delta.get("data")) if kind == "audio" else None
        if piece is None or not self._sound:
            self._close()
            self._content.append(dict(delta))
        else:
            self._content[-1] |= {key: each for key, each in delta.items() if key != "data"}
        if piece is not None:
            self._sound.append(piece)

    def merged(self) -> Fields:
        """Return the step that its events form."""
        self._close()
        step = dict(self._fields)
        if self._content:
            step["content"] = self._content
        if self._summary:
            step["summary"] = self._summary
        if self._arguments:
            step["arguments"] = _arguments("".join(self._arguments))
        return step


def _decoded(data: Any) -> bytes | None:
    try:
        return base64.b64decode(_text(data), validate=True) or None
    except ValueError:
        return None


def _arguments(text: str) -> Any:
    """Return the arguments of a call as their JSON; those that are none stay a text."""
    if not text.strip():
        return {}
    data = text.encode("utf-8", "surrogatepass")
    if plain(data) is None and text.strip() != "null":
        return well_formed(text)
    return msgspec.Raw(strict_json(data))


# --- interactions ---------------------------------------------------------------------------------


class _Builder:
    """The interaction while its events arrive."""

    def __init__(self) -> None:
        self._interaction: Fields = {}
        self._last: list[msgspec.Raw] = []  # steps of the last event, which has none today
        self._steps: dict[int, StepBuilder] = {}

    def add(self, event: Fields) -> None:
        kind, index = _text(event.get("event_type")), _plain(event.get("index"))
        index = index if isinstance(index, int) else 0
        if kind == "step.start":
            self._steps[index] = StepBuilder(fields_of(event.get("step")))
        elif kind == "step.delta":
            delta = fields_of(event.get("delta"))
            if index not in self._steps:
                of = _text(delta.get("type"))
                self._steps[index] = StepBuilder({"type": _TYPE_OF.get(of, of)})
            self._steps[index].add(delta)
        elif kind.startswith("interaction."):
            self._set_state(kind, event)
        metadata = fields_of(event.get("metadata"))
        usage = metadata.get("total_usage", metadata.get("usage"))
        if usage is not None:
            self._interaction["usage"] = usage

    def _set_state(self, kind: str, event: Fields) -> None:
        """Merge the interaction of an event, or the fields of a status update."""
        state = fields_of(event.get("interaction"))
        self._last = items_of(state.pop("steps", None)) or self._last
        for key in ("status", "continuation_token", "usage"):
            if key in event:
                state.setdefault(key, event[key])
        if "interaction_id" in event:
            self._interaction.setdefault("id", event["interaction_id"])
        self._interaction |= state

    def merged(self) -> Fields:
        steps: Sequence[Any] = [step.merged() for _, step in sorted(self._steps.items())]
        return {**self._interaction, "steps": steps or self._last}


# --- events of text -------------------------------------------------------------------------------


class _TextDelta(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["text"]
    text: str


class TextEvent(msgspec.Struct, forbid_unknown_fields=True):
    """An event that holds only text of one step; see `wire.core.chunk_bytes`."""

    changing: ClassVar[Mapping[str, Any]] = {}
    latest_key: ClassVar[str] = ""

    index: int
    delta: _TextDelta
    event_type: Literal["step.delta"]

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
        return "text"


# --- bytes of steps -------------------------------------------------------------------------------


class _Slices:
    """Cuts the bytes of the steps out of an interaction, once, on first use."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @functools.cached_property
    def _steps(self) -> list[msgspec.Raw]:
        return items_of(fields_of(msgspec.Raw(strict_json(self._data))).get("steps"))

    def step(self, index: int) -> msgspec.Raw:
        """Return the bytes of one step."""
        return self._steps[index].copy()


def keep_bytes(interaction: Interaction, data: bytes) -> Interaction:
    """Attach to each step of a received interaction its bytes, which are cut out on first use."""
    if interaction.steps:
        pieces = _Slices(data)
        steps: list[Step] = freeze(interaction.steps)
        for index, step in enumerate(steps):
            vars(step)[RAW] = Slice(pieces.step, index)
        msgspec.structs.force_setattr(interaction, "steps", steps)
    return interaction
