"""A whole response as the events of a stream, in OpenAI's order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wire.openai.responses.reply_events import events_of as wire_events
from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.model import pieces
from wire.testing.emulator.vendors.openai.responses.hosts import Host, new_id

Events = list[dict[str, Any]]
Staged = Callable[[Mapping[str, Any], str], Mapping[str, Any]]
"""An item as it stands in one event: `added`, `done`."""

_PADDED_TO = 16
_CREATED_WITHOUT = ("billing",)
_MADE_OF_REASONING = "response.reasoning_part"


def events_of(
    response: Mapping[str, Any], host: Host, staged: Staged, *, error_only: bool = False
) -> Events:
    """List the events of a response, numbered from 0, as a host sends them.

    A failed response ends with an `error` event and `response.failed`; with `error_only` the first
    is the end, in the flat form of the reference.
    """
    sent = {key: value for key, value in response.items() if key not in _CREATED_WITHOUT}
    written = list(wire_events(sent, pieces))
    last = {**written.pop(), "response": _last(response, host), **host.beside}
    events = [*_overlapping(written, host), *_end(response, last, error_only)]
    events = [each for event in events for each in _of_host(event, host, staged)]
    for number, event in enumerate(events):
        event["sequence_number"] = number
        if host.ids_change == "always":
            _rename(event, number, host)
    return events


def _rename(event: dict[str, Any], number: int, host: Host) -> None:
    """Give an event ids of its own."""
    if "response" in event:
        id = new_id(host.response_id, "resp", f"{event['response'].get('id')} {number}")
        event["response"] = {**event["response"], "id": id}
    if "item" in event:
        event["item"] = _renamed(event["item"], host, event["type"])
    if "item_id" in event:
        event["item_id"] = new_id("item_{hex}", "", f"{event['item_id']} {number}")


def _last(response: Mapping[str, Any], host: Host) -> dict[str, Any]:
    """Return the response of the last event."""
    last = {key: value for key, value in response.items() if key not in _CREATED_WITHOUT}
    if not host.terminal_output:
        last["output"] = []
    elif host.ids_change != "never":
        last["output"] = [_renamed(item, host, "end") for item in last.get("output") or ()]
    return last


def _end(
    response: Mapping[str, Any], last: dict[str, Any], error_only: bool
) -> Iterator[dict[str, Any]]:
    if response.get("status") == "failed":
        error = {"param": None, **(response.get("error") or {})}
        if error_only:
            yield {"type": "error", **error}
            return
        # Recorded nested, where the reference has it flat.
        yield {"type": "error", "error": {"type": error.get("code"), **error}}
    yield last


def _renamed(item: Mapping[str, Any], host: Host, seed: str) -> dict[str, Any]:
    """Return an item with another id of the same form."""
    id = str(item.get("id"))
    return {**item, "id": new_id(host.item_id, id.partition("_")[0], f"{id} {seed}")}


def _overlapping(events: Events, host: Host) -> Iterator[dict[str, Any]]:
    """Yield the events; some hosts close an item of reasoning after the one that follows it."""
    held: Events = []
    reasoning: set[int] = set()
    for event in events:
        index, kind = event.get("output_index"), event["type"]
        if kind == "response.output_item.added" and event["item"].get("type") == "reasoning":
            reasoning.add(event["output_index"])
        if host.overlaps and index in reasoning and kind.endswith(".done"):
            held.append(event)
            continue
        yield event
        if kind == "response.output_item.done":
            yield from held
            held = []
    yield from held


def _of_host(event: dict[str, Any], host: Host, staged: Staged) -> Iterator[dict[str, Any]]:
    """Yield an event as a host sends it."""
    kind, part = event["type"], event.get("part") or {}
    if "item" in event:
        event["item"] = dict(staged(event["item"], kind.rpartition(".")[2]))
    if isinstance(event.get("delta"), str):
        event |= _padding(event["delta"], host)
    word = kind.removeprefix("response.content_part.")
    made = host.reasoning_parts and word != kind and part.get("type") == "reasoning_text"
    if made and word == "done":
        yield {**event, "type": f"{_MADE_OF_REASONING}.{word}"}
    yield event
    if made and word == "added":
        yield {**event, "type": f"{_MADE_OF_REASONING}.{word}"}


def _padding(delta: str, host: Host) -> dict[str, str]:
    """Return letters that round the length of a delta up."""
    if not host.obfuscates:
        return {}
    made = hashlib.sha256(delta.encode("utf-8", "surrogatepass")).hexdigest()
    return {"obfuscation": made[: -len(delta) % _PADDED_TO]}


# --- framing --------------------------------------------------------------------------------------


def event_stream(events: Iterable[Any], host: Host) -> Answer:
    """Build a response of server-sent events as a host frames them."""
    framed = [frame(each, host) for each in events]
    if framed:
        framed[0] = host.comment.encode() + framed[0]
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
