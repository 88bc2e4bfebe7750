"""A whole response as the events of a stream, in OpenAI's order."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.model import pieces
from wire.testing.emulator.vendors.openai.responses.hosts import Host, new_id

Events = list[dict[str, Any]]
Staged = Callable[[Mapping[str, Any], str], Mapping[str, Any]]
"""An item as it stands in one event: `added`, `done`."""

_PADDED_TO = 16
_CREATED_WITHOUT = ("billing",)
# Between the events that add and close the item.
_HOSTED = {
    "web_search_call": ("in_progress", "searching", "completed"),
    "file_search_call": ("in_progress", "searching", "completed"),
    "image_generation_call": ("in_progress", "generating", "completed"),
    "mcp_list_tools": ("in_progress", "completed"),
}
# Type of the item, its text, and the name of the events of the text.
_WRITTEN = {
    "function_call": ("arguments", "response.function_call_arguments"),
    "custom_tool_call": ("input", "response.custom_tool_call_input"),
    "mcp_call": ("arguments", "response.mcp_call_arguments"),
    "code_interpreter_call": ("code", "response.code_interpreter_call_code"),
}
_AROUND = {
    "mcp_call": (("in_progress",), ("completed",)),
    "code_interpreter_call": (("in_progress",), ("interpreting", "completed")),
}


def events_of(
    response: Mapping[str, Any], host: Host, staged: Staged, *, error_only: bool = False
) -> Events:
    """List the events of a response, numbered from 0.

    A failed response ends with an `error` event and `response.failed`; with `error_only` the first
    is the end, in the flat form of the reference.
    """
    events = list(_numberless(response, host, staged, error_only))
    for number, event in enumerate(events):
        event["sequence_number"] = number
        if host.ids_change == "always" and "response" in event:
            named = new_id(host.response_id, "resp", f"{response.get('id')} {number}")
            event["response"] = {**event["response"], "id": named}
    return events


def _numberless(
    response: Mapping[str, Any], host: Host, staged: Staged, error_only: bool
) -> Iterator[dict[str, Any]]:
    begun = {key: value for key, value in response.items() if key not in _CREATED_WITHOUT}
    begun |= {"status": "in_progress", "output": [], "usage": None}
    begun |= {
        key: None for key in ("completed_at", "error", "incomplete_details") if key in response
    }
    if response.get("background"):
        yield {"type": "response.created", "response": {**begun, "status": "queued"}}
        yield {"type": "response.queued", "response": {**begun, "status": "queued"}}
    else:
        yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    held: Events = []
    for index, item in enumerate(response.get("output") or ()):
        if not isinstance(item, Mapping):  # of a script
            continue
        opening, closing = _item_events(item, index, host, staged)
        yield from opening
        if host.overlaps and item.get("type") == "reasoning":
            held = closing
            continue
        yield from closing
        yield from held
        held = []
    yield from held
    yield from _end(response, host, error_only)


def _end(response: Mapping[str, Any], host: Host, error_only: bool) -> Iterator[dict[str, Any]]:
    status = response.get("status")
    if status == "failed":
        error = {"param": None, **(response.get("error") or {})}
        if error_only:
            yield {"type": "error", **error}
            return
        # Recorded nested, where the reference has it flat.
        yield {"type": "error", "error": {"type": error.get("code"), **error}}
    last = {key: value for key, value in response.items() if key not in _CREATED_WITHOUT}
    if not host.terminal_output:
        last["output"] = []
    elif host.ids_change != "never":
        last["output"] = [_renamed(item, host, "end") for item in last.get("output") or ()]
    kind = status if status in ("failed", "incomplete") else "completed"
    yield {"type": f"response.{kind}", "response": last, **host.beside}


def _renamed(item: Mapping[str, Any], host: Host, seed: str) -> dict[str, Any]:
    """Return an item with another id of the same form."""
    id = str(item.get("id"))
    return {**item, "id": new_id(host.item_id, id.partition("_")[0], f"{id} {seed}")}


# --- items ----------------------------------------------------------------------------------------


def _item_events(
    item: Mapping[str, Any], index: int, host: Host, staged: Staged
) -> tuple[Events, Events]:
    """Return the events of an item up to its last delta, and those that close it."""
    kind, id = str(item.get("type")), item.get("id")
    rotates, numbers = host.ids_change == "always", itertools.count()

    def event(name: str, **fields: Any) -> dict[str, Any]:
        named = new_id("item_{hex}", "", f"{id} {next(numbers)}") if rotates else id
        return {"type": name, "item_id": named, "output_index": index, **fields}

    inside, closing = _inside(item, kind, host, event)
    begun, done = dict(staged(_begun(item, kind), "added")), dict(staged(item, "done"))
    if rotates:
        begun, done = _renamed(begun, host, "added"), _renamed(done, host, "done")
    added = {"type": "response.output_item.added", "item": begun, "output_index": index}
    closed = {"type": "response.output_item.done", "item": done, "output_index": index}
    return [added, *inside], [*closing, closed]


def _begun(item: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return the item of `output_item.added`."""
    empty: dict[str, Any] = {"status": "in_progress"} if "status" in item else {}
    if kind in ("message", "reasoning") and "content" in item:
        empty["content"] = []
    if kind == "reasoning":
        empty["summary"] = []
    if kind in _WRITTEN:
        empty[_WRITTEN[kind][0]] = ""
    return {**item, **empty}


Event = Callable[..., dict[str, Any]]


def _inside(item: Mapping[str, Any], kind: str, host: Host, event: Event) -> tuple[Events, Events]:
    if kind in _HOSTED:
        return [event(f"response.{kind}.{word}") for word in _HOSTED[kind]], []
    if kind in _WRITTEN and isinstance(item.get(_WRITTEN[kind][0]), str):
        key, name = _WRITTEN[kind]
        text = item[key]
        halves = [each for each in (text[: len(text) // 2], text[len(text) // 2 :]) if each]
        deltas = [event(f"{name}.delta", delta=each, **_padding(each, host)) for each in halves]
        before, after = _AROUND.get(kind, ((), ()))
        return (
            [*(event(f"response.{kind}.{word}") for word in before), *deltas],
            [
                event(f"{name}.done", **{key: text}),
                *(event(f"response.{kind}.{word}") for word in after),
            ],
        )
    opening, closing = _texts(item, kind, host, event)
    return opening, closing


def _texts(item: Mapping[str, Any], kind: str, host: Host, event: Event) -> tuple[Events, Events]:
    """Return the events of the parts of a message, or of a reasoning item."""
    opening: Events = []
    closing: Events = []
    summary = item.get("summary") if kind == "reasoning" else None
    content = item.get("content") if kind in ("message", "reasoning") else None
    for number, part in enumerate(summary or ()):
        opening += closing
        at, text = {"summary_index": number}, part.get("text") or ""
        opening.append(
            event("response.reasoning_summary_part.added", part={**part, "text": ""}, **at)
        )
        name = "response.reasoning_summary_text"
        opening += _deltas(name, text, host, event, at)
        closing = [
            event(f"{name}.done", text=text, **at),
            event("response.reasoning_summary_part.done", part=part, **at),
        ]
    for number, part in enumerate(content if isinstance(content, list) else ()):
        opening += closing
        first, closing = _content_part(part, {"content_index": number}, host, event)
        opening += first
    return opening, closing


def _content_part(
    part: Mapping[str, Any], at: Mapping[str, Any], host: Host, event: Event
) -> tuple[Events, Events]:
    kind = str(part.get("type"))
    key = "refusal" if kind == "refusal" else "text"
    name, text = f"response.{kind}", part.get(key) or ""
    more: dict[str, Any] = {"logprobs": []} if kind == "output_text" else {}
    empty = {**part, key: "", **({"annotations": [], "logprobs": []} if more else {})}
    opening = [event("response.content_part.added", part=empty, **at)]
    if host.reasoning_parts and kind == "reasoning_text":
        opening.append(event("response.reasoning_part.added", part=empty, **at))
    opening += _deltas(name, text, host, event, {**at, **more})
    opening += [
        event(f"{name}.annotation.added", annotation=each, annotation_index=number, **at)
        for number, each in enumerate(part.get("annotations") or ())
    ]
    if more:
        more = {"logprobs": part.get("logprobs") or []}
    closing = [event(f"{name}.done", **{key: text}, **at, **more)]
    if host.reasoning_parts and kind == "reasoning_text":
        closing.append(event("response.reasoning_part.done", part=part, **at))
    return opening, [*closing, event("response.content_part.done", part=part, **at)]


def _deltas(name: str, text: str, host: Host, event: Event, at: Mapping[str, Any]) -> Events:
    return [
        event(f"{name}.delta", delta=each, **at, **_padding(each, host)) for each in pieces(text)
    ]


def _padding(delta: str, host: Host) -> dict[str, str]:
    """Return letters that round the length of a delta up."""
    if not host.obfuscates:
        return {}
    digest = hashlib.sha256(delta.encode("utf-8", "surrogatepass")).hexdigest()
    return {"obfuscation": digest[: -len(delta) % _PADDED_TO]}


# --- framing --------------------------------------------------------------------------------------


def event_stream(events: Iterable[Any], host: Host) -> Answer:
    """Build a response of server-sent events as a host frames them."""
    framed = [frame(each, host) for each in events]
    if framed:
        framed[0] = host.comment + framed[0]
    if host.done_marker:
        framed.append(b"data: [DONE]\n\n")
    return Answer(200, (("content-type", "text/event-stream; charset=utf-8"),), tuple(framed))


def frame(event: Any, host: Host) -> bytes:
    """Encode one event, with its name if the host sends names."""
    name = event.get("type") if isinstance(event, Mapping) and host.event_names else None
    line = b"event: " + str(name).encode("utf-8", "replace") + b"\n" if name else b""
    return line + b"data: " + json_bytes(event) + b"\n\n"


def folded(events: Iterable[Any]) -> dict[str, Any]:
    """Return the response that a script's events make.

    It is the last one, with the items that were closed.
    """
    response: dict[str, Any] = {}
    closed: dict[int, Any] = {}
    for event in events:
        if not isinstance(event, Mapping):
            continue
        if isinstance(event.get("response"), Mapping):
            response = dict(event["response"])
        if event.get("type") == "response.output_item.done":
            closed[int(event.get("output_index") or 0)] = event.get("item")
    if not response.get("output"):
        response["output"] = [item for _, item in sorted(closed.items())]
    return response
