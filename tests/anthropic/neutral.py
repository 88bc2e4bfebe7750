"""Builders of neutral requests and replies, and their form on the wire, for the tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire import anthropic, notes
from wire.anthropic import MessageResponse, parse_reply
from wire.anthropic.reader import parse_message
from wire.errors import RuleError
from wire.neutral.messages import Media, Message, Reply, ToolCall
from wire.neutral.request import Request, Tool

MODEL = "claude-opus-4-8"
BUDGETS = "claude-sonnet-4-5"
SIGNED = "EqQBCkYIBxgCKkBz"
PNG = Media(data=b"\x89PNG", media_type="image/png")
PORT = {"type": "object", "properties": {"port": {"type": "string"}}}
TIDE = Tool("get_tide", "When the tide is high", PORT)
HI = Message.user("Hi")
A, B = (
    ToolCall(id=id, name="get_tide", arguments={"port": port})
    for id, port in (("call_A", "Brest"), ("call_B", "Łódź"))
)

NO_TOOLS = "tools: warning: tools: some hosts refuse tool calls in the history without tools"
"""What is noted of a conversation with calls whose request has no tools (A40)."""


def asked(*messages: Message, **settings: Any) -> Request:
    return Request(messages=messages or (HI,), **{"max_tokens": 100, **settings})


def body_of(request: Request, model: str = MODEL, **options: Any) -> Any:
    return json.loads(anthropic.call(request, model, **options).body)


def sent(
    *messages: Message, model: str = MODEL, provider: str = "anthropic", **settings: Any
) -> Any:
    return body_of(asked(*messages, **settings), model, provider=provider)["messages"]


def told(
    *messages: Message, model: str = MODEL, provider: str = "anthropic", **settings: Any
) -> list[str]:
    return list(
        map(
            str,
            notes(anthropic.stream_call(asked(*messages, **settings), model, provider=provider)),
        )
    )


def refused(
    *messages: Message,
    kind: type[RuleError] = RuleError,
    model: str = MODEL,
    provider: str = "anthropic",
    **settings: Any,
) -> Any:
    """Paths and rule ids of the violations that a rendering raises."""
    with pytest.raises(RuleError) as caught:
        anthropic.stream_call(asked(*messages, **settings), model, provider=provider)
    assert type(caught.value) is kind
    return [(each.path, each.rule) for each in caught.value.violations]


def received(*blocks: Any, stop: str | None = "end_turn", **beside: Any) -> MessageResponse:
    said = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": stop,
        **beside,
    }
    return parse_message(json.dumps(said, ensure_ascii=False).encode())


def reply_of(
    *blocks: Any, provider: str = "anthropic", model: str = MODEL, body: bytes = b"", **beside: Any
) -> Reply:
    return parse_reply(received(*blocks, **beside), provider=provider, model=model, body=body)


def text(said: str, **beside: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **beside}


def tool_use(id: str = "toolu_1", name: str = "get_tide", input: Any = None) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": {} if input is None else input}


def tool_result(id: str = "toolu_1", content: Any = "17:42", **beside: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **beside}


def thinking(said: str = "Hm.", signature: str = SIGNED) -> dict[str, Any]:
    return {"type": "thinking", "thinking": said, "signature": signature}
