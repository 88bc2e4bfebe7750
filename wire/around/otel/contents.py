"""What requests and replies say, as attributes in the form of the conventions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from wire.core.credentials import without_known
from wire.neutral.messages import Media, Message, Part, Reply, Text, Thought, ToolCall, ToolResult
from wire.neutral.request import Tool

if TYPE_CHECKING:
    from wire.around.otel.names import Names
    from wire.neutral.request import Request

_FIELDS = ("temperature", "top_p", "max_tokens", "seed")
_SETTINGS = ("top_k", "presence_penalty", "frequency_penalty")


def settings_of(request: Request) -> dict[str, Any]:
    """Return the attributes of the settings that a request has.

    >>> from wire.neutral.request import Request
    >>> settings_of(Request(messages=[], temperature=0.5, stop=["###"]))
    {'gen_ai.request.temperature': 0.5, 'gen_ai.request.stop_sequences': ('###',)}
    """
    given = {name: getattr(request, name) for name in _FIELDS}
    given |= {name: (request.settings or {}).get(name) for name in _SETTINGS}
    given["stop_sequences"] = tuple(request.stop) or None
    found = {f"gen_ai.request.{name}": each for name, each in given.items() if each is not None}
    return found | ({"gen_ai.output.type": "json"} if request.output is not None else {})


def content_of(request: Request, names: Names) -> dict[str, str]:
    """Return the attributes of prompt and tools as JSON; known forms of keys hidden in them."""
    tools = [_tool(each) for each in request.tools]
    found: Mapping[str, list[Any]] = {
        names.system: [{"type": "text", "content": request.system}] if request.system else [],
        names.messages: [_message(each) for each in request.messages],
        names.tools: tools,
    }
    return {name: _json(value) for name, value in found.items() if value}


def answer_of(reply: Reply, reason: str) -> str:
    """Return the messages of a reply as JSON; known forms of keys hidden in it."""
    return _json([{**_message(reply.message), "finish_reason": reason}])


def _json(value: Iterable[Any]) -> str:
    return without_known(msgspec.json.encode(value).decode())


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "parts": [_part(each) for each in message.parts]}


def _tool(tool: Any) -> dict[str, Any]:
    """Convert a tool; one that the server runs has a kind alone."""
    if not isinstance(tool, Tool):
        return {"type": tool.kind, "name": tool.kind}
    return {
        "type": tool.kind,
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.parameters,
    }


def _part(part: Part) -> dict[str, Any]:
    """Convert a message part to the form of the conventions; media without their bytes."""
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Thought():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            arguments = part.text if part.arguments is None else part.arguments
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            return {"type": "tool_call_response", "id": part.id, "response": part.answer}
        case Media():
            return {"type": "media", "mime_type": part.media_type}
        case _:
            return {"type": part.kind}
