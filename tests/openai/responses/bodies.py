"""Builders of items, responses and events, and the visible results of reading a stream."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from wire.errors import WireError
from wire.neutral.messages import Event, Reply
from wire.openai.responses import EventReader, Response, StreamEvent, parse_reply, parse_response
from wire.openai.responses.fold import fold
from wire.openai.responses.reader import ChunkReader


def text(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "output_text", "annotations": [], "text": text, **more}


def refusal(text: str) -> dict[str, Any]:
    return {"type": "refusal", "refusal": text}


def message(*parts: Any, id: str = "msg_t1", **more: Any) -> dict[str, Any]:
    """A message of the model; a text stands for its part."""
    content = [text(part) if isinstance(part, str) else part for part in parts]
    fixed = {"id": id, "type": "message", "status": "completed", "role": "assistant"}
    return {**fixed, "content": content, **more}


def function_call(number: int, name: str, arguments: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"fc_t{number}",
        "type": "function_call",
        "status": "completed",
        "arguments": arguments,
        "call_id": f"call_t{number}",
        "name": name,
        **more,
    }


def custom_call(text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": "ctc_t1",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": "call_t1",
        "input": text,
        "name": "plot",
        **more,
    }


def reasoning(*summary: str, secret: str | None = "Z2F0ZQ==", **more: Any) -> dict[str, Any]:
    parts = [{"type": "summary_text", "text": each} for each in summary]
    kept = {"encrypted_content": secret} if secret is not None else {}
    return {"id": "rs_t1", "type": "reasoning", **kept, "summary": parts, **more}


def reasoning_text(text: str, **more: Any) -> dict[str, Any]:
    content = [{"type": "reasoning_text", "text": text}]
    return {"id": "rs_t1", "type": "reasoning", "summary": [], "content": content, **more}


USAGE = {
    "input_tokens": 9,
    "input_tokens_details": {"cached_tokens": 4},
    "output_tokens": 7,
    "output_tokens_details": {"reasoning_tokens": 3},
    "total_tokens": 16,
}


def response(*output: Any, status: str = "completed", **more: Any) -> dict[str, Any]:
    usage = {"usage": USAGE if status == "completed" else None}
    fixed = {"id": "resp_t1", "object": "response", "status": status, "model": "gpt-5.6"}
    return {**fixed, "output": list(output), **usage, **more}


def parsed(*output: Any, **more: Any) -> Response:
    return parse_response(json.dumps(response(*output, **more), ensure_ascii=False).encode())


def reply_of(
    *output: Any, provider: str = "openai@responses", model: str = "gpt-5.6", **more: Any
) -> Reply:
    return parse_reply(parsed(*output, **more), provider=provider, model=model)


def sse(*events: Any) -> bytes:
    """One event for each object."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


CREATED = {"type": "response.created", "response": response(status="in_progress")}


def completed(*output: Any, **more: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": response(*output, **more)}


def added(index: int, item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.added", "output_index": index, "item": item}


def done(index: int, item: Any) -> dict[str, Any]:
    return {"type": "response.output_item.done", "output_index": index, "item": item}


def delta(index: int, text: str, kind: str = "output_text", **more: Any) -> dict[str, Any]:
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text, **more}


class Outcome(NamedTuple):
    """The visible results of reading a stream."""

    events: list[StreamEvent]
    error: WireError | None
    response: Response
    neutral: list[Event]
    """Without the last one, `Done`."""
    reply: Reply


def read(*pieces: bytes) -> Outcome:
    reader, neutral = ChunkReader(), EventReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.close()
    folded = fold(events)
    reply = parse_reply(folded)
    told = [each for event in events for each in neutral.feed(event)]
    if reader.error is None:
        told += neutral.close(reply)[:-1]
    return Outcome(events, reader.error, folded, told, reply)
