"""Writes a whole step, or a whole interaction, as the events of a stream.

Values are plain, or the bytes of received JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.json_values import merged_json
from wire.core.lenient import fields_of, items_of

Events: TypeAlias = list[dict[str, Any]]
Split: TypeAlias = Callable[[str], Sequence[str]]

_MEDIA = ("image", "audio", "document", "video")
_STARTED = ("id", "name", "call_id", "server_name")
"""Keys of a step that its first event has, too."""
_OF_INTERACTION = ("id", "status", "model", "agent", "object", "created", "updated")


def whole(text: str) -> Sequence[str]:
    """Return a text as its only piece."""
    return (text,)


def events_of(interaction: Mapping[str, Any], split: Split = whole) -> Iterator[dict[str, Any]]:
    """Yield a whole interaction as the events of a stream; `split` returns the pieces of a text."""
    yield from begin_events(interaction)
    for index, step in enumerate(_list(interaction.get("steps"))):
        yield from step_events(index, _object(step), split)
    yield last_event(interaction)


def begin_events(interaction: Mapping[str, Any]) -> Events:
    """Return the events before the first step."""
    known = {key: interaction[key] for key in _OF_INTERACTION if key in interaction}
    begun = {"id": "", **known, "status": "in_progress"}
    update = {"interaction_id": begun["id"], "status": "in_progress"}
    return [
        {"event_type": "interaction.created", "interaction": begun},
        {"event_type": "interaction.status_update", **update},
    ]


def last_event(interaction: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event that ends the stream: the interaction without its steps."""
    rest = {key: value for key, value in interaction.items() if key != "steps"}
    return {"event_type": "interaction.completed", "interaction": {"id": "", **rest}}


def step_events(index: int, step: Mapping[str, Any], split: Split = whole) -> Events:
    """Return the events of one step.

    >>> [each["event_type"] for each in step_events(0, {"type": "thought", "signature": "eA=="})]
    ['step.start', 'step.delta', 'step.stop']
    """
    start, deltas = _pieces(step, split)
    events: Events = [{"event_type": "step.start", "index": index, "step": start}]
    events += [{"event_type": "step.delta", "index": index, "delta": each} for each in deltas]
    return [*events, {"event_type": "step.stop", "index": index}]


def _pieces(step: Mapping[str, Any], split: Split) -> tuple[dict[str, Any], Events]:
    """Return the step as it begins, and its deltas."""
    kind = _text(step.get("type"))
    rest = dict(step)
    deltas: Events = []
    if kind == "thought":
        summary = _list(rest.pop("summary", None))
        deltas = [{"type": "thought_summary", "content": each} for each in summary]
        if "signature" in rest:
            deltas.append({"type": "thought_signature", "signature": rest.pop("signature")})
        return rest, deltas
    if kind in ("model_output", "user_input"):
        for each in _list(rest.pop("content", None)):
            deltas += _content_deltas(_object(each), split)
        return rest, deltas
    if kind == "function_call":
        text = json_text(rest.get("arguments", {}))
        given = {"type": "arguments_delta", "arguments": text}
        return {**rest, "arguments": {}}, [given]
    start = {"type": rest.pop("type", kind)}
    start |= {key: rest.pop(key) for key in _STARTED if key in rest}
    return start, [{"type": start["type"], **rest}] if rest else []


def _content_deltas(content: dict[str, Any], split: Split) -> Events:
    if _text(content.get("type")) != "text":
        return [content]
    given = content.get("text", "")
    texts = split(given) if isinstance(given, str) else [given]
    deltas: Events = [{"type": "text", "text": each} for each in texts]
    if _list(content.get("annotations")):
        deltas.append({"type": "text_annotation_delta", "annotations": content["annotations"]})
    return deltas


def json_text(value: Any) -> str:
    """Return the JSON of a value as text; of received bytes, these."""
    if isinstance(value, msgspec.Raw):
        return bytes(value).decode("utf-8", "replace")
    return merged_json(value).decode()


def _text(value: Any) -> str:
    if isinstance(value, msgspec.Raw):
        from wire.core.lenient import plain

        value = plain(bytes(value))
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return items_of(value) if isinstance(value, msgspec.Raw) else list(value or ())


def _object(value: Any) -> dict[str, Any]:
    return fields_of(value) if isinstance(value, msgspec.Raw) else dict(value)
