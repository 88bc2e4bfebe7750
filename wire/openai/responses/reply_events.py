"""Writes a whole response, or one item of it, as the events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from wire.neutral.serving import Split, in_one_piece

Events: TypeAlias = list[dict[str, Any]]
SUMMARY = "response.reasoning_summary"
"""What the names of the events of a summary begin with."""


def events_of(body: Mapping[str, Any], split: Split = in_one_piece) -> Iterator[dict[str, Any]]:
    """Yield a whole response as the events of a stream; `split` returns the pieces of a text."""
    for number, event in enumerate(_unnumbered(body, split)):
        yield {**event, "sequence_number": number}


def _unnumbered(body: Mapping[str, Any], split: Split) -> Iterator[dict[str, Any]]:
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    begun |= {key: None for key in ("completed_at", "error", "incomplete_details") if key in body}
    if body.get("background"):
        queued = {**begun, "status": "queued"}
        yield {"type": "response.created", "response": queued}
        yield {"type": "response.queued", "response": queued}
    else:
        yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(body.get("output") or ()):
        for events in item_events(index, item, split):
            yield from events
    yield last_event(body)


def last_event(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the event that ends the stream of a response."""
    status = body.get("status")
    kind = status if status in ("failed", "incomplete") else "completed"
    return {"type": f"response.{kind}", "response": dict(body)}


# --- the events of an item ------------------------------------------------------------------------

_HOSTED = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
}
"""Type of an item -> the events between those that add and close it."""
_WRITTEN = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
    "mcp_call": ("arguments", "response.mcp_call_arguments"),
    "code_interpreter_call": ("code", "response.code_interpreter_call_code"),
}
"""Type of an item -> its text, and the name of the events of the text."""
_AROUND = {
    "mcp_call": (("in_progress",), ("completed",)),
    "code_interpreter_call": (("in_progress",), ("interpreting", "completed")),
}
_Make: TypeAlias = Callable[..., dict[str, Any]]


def item_events(
    index: int, item: Mapping[str, Any], split: Split = in_one_piece
) -> tuple[Events, Events]:
    """Return the events of an item up to its last delta, and those that close it."""
    kind = str(item.get("type"))

    def event(name: str, **fields: Any) -> dict[str, Any]:
        return {"type": name, "item_id": item.get("id"), "output_index": index, **fields}

    begun = {**item, **({"status": "in_progress"} if "status" in item else {})}
    if kind == "reasoning":
        begun |= {"summary": []}
    if kind in ("message", "reasoning") and "content" in item:
        begun["content"] = []
    inside, closing = _texts(item, kind, event, split)
    if kind in _HOSTED:
        inside = [event(f"response.{kind}.{word}") for word in _HOSTED[kind]]
    elif kind in _WRITTEN and isinstance(item.get(_WRITTEN[kind][0]), str):
        key, name = _WRITTEN[kind]
        text = item[key]
        begun[key] = ""
        halves = [each for each in (text[: len(text) // 2], text[len(text) // 2 :]) if each]
        before, after = _AROUND.get(kind, ((), ()))
        inside = [event(f"response.{kind}.{word}") for word in before]
        inside += [event(f"{name}.delta", delta=each) for each in halves]
        closing = [event(f"{name}.done", **{key: text})]
        closing += [event(f"response.{kind}.{word}") for word in after]
    added = {"type": "response.output_item.added", "output_index": index, "item": begun}
    done = {"type": "response.output_item.done", "output_index": index, "item": dict(item)}
    return [added, *inside], [*closing, done]


def _texts(item: Mapping[str, Any], kind: str, event: _Make, split: Split) -> tuple[Events, Events]:
    """Return the events of the parts of a message, or of an item of reasoning."""
    opening: Events = []
    closing: Events = []
    has_parts = kind in ("message", "reasoning")
    for number, part in enumerate((item.get("summary") if kind == "reasoning" else None) or ()):
        at, text, name = {"summary_index": number}, part.get("text") or "", SUMMARY
        opening += closing
        opening.append(event(f"{name}_part.added", part={**part, "text": ""}, **at))
        opening += [event(f"{name}_text.delta", delta=each, **at) for each in split(text)]
        closing = [event(f"{name}_text.done", text=text, **at)]
        closing.append(event(f"{name}_part.done", part=part, **at))
    content = item.get("content") if has_parts else None
    for number, part in enumerate(content if isinstance(content, list) else ()):
        first, last = _content_part(part, {"content_index": number}, event, split)
        opening += [*closing, *first]
        closing = last
    return opening, closing


def _content_part(
    part: Mapping[str, Any], at: Mapping[str, Any], event: _Make, split: Split
) -> tuple[Events, Events]:
    kind = str(part.get("type"))
    key = "refusal" if kind == "refusal" else "text"
    name, text = f"response.{kind}", part.get(key) or ""
    is_text = kind == "output_text"
    empty = {**part, key: "", **({"annotations": [], "logprobs": []} if is_text else {})}
    more: dict[str, Any] = {"logprobs": []} if is_text else {}
    opening = [event("response.content_part.added", part=empty, **at)]
    opening += [event(f"{name}.delta", delta=each, **at, **more) for each in split(text)]
    opening += [
        event(f"{name}.annotation.added", annotation=each, annotation_index=number, **at)
        for number, each in enumerate(part.get("annotations") or ())
    ]
    more = {"logprobs": part.get("logprobs") or []} if is_text else {}
    closing = [event(f"{name}.done", **{key: text}, **at, **more)]
    return opening, [*closing, event("response.content_part.done", part=part, **at)]
