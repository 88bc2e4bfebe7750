"""Neutral conversations, and helpers that render them for Gemini."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire import gemini, notes
from wire.errors import RuleError
from wire.gemini import parse_reply
from wire.gemini.reader import parse_response
from wire.neutral.messages import Media, Message, ToolCall, ToolResult
from wire.neutral.request import Request

from .conversations import RECEIVED

MODEL = "gemini-3.1-pro-preview"
HI = Message.user("Hi")
PNG = Media(data=b"\x89PNG\r\n\x1a\n", media_type="image/png")
TIDE = {
    "type": "object",
    "properties": {"port": {"type": "string"}},
    "required": ["port"],
    "additionalProperties": False,
}
A = ToolCall(id="call_A", name="tide", arguments={"port": "Brest"})
B = ToolCall(id="call_B", name="tide", arguments={"port": "Łódź"})


def asked(*messages: Message, **fields: Any) -> Request:
    return Request(messages=messages or (HI,), **fields)


def sent(
    *messages: Message, model: str = MODEL, provider: str = "gemini", **fields: Any
) -> dict[str, Any]:
    return json.loads(gemini.stream_call(asked(*messages, **fields), model, provider=provider).body)


def contents(*messages: Message, **how: Any) -> Any:
    return sent(*messages, **how)["contents"]


def config(**fields: Any) -> Any:
    return sent(**fields).get("generationConfig")


def told(
    *messages: Message, model: str = MODEL, provider: str = "gemini", **fields: Any
) -> list[str]:
    return [
        str(note)
        for note in notes(gemini.stream_call(asked(*messages, **fields), model, provider=provider))
    ]


def refused(
    *messages: Message,
    kind: type[RuleError] = RuleError,
    model: str = MODEL,
    provider: str = "gemini",
    **fields: Any,
) -> Any:
    """Paths and rules of the violations."""
    with pytest.raises(RuleError) as error:
        gemini.stream_call(asked(*messages, **fields), model, provider=provider)
    assert type(error.value) is kind
    return [(each.path, each.rule) for each in error.value.violations]


def received(body: bytes = RECEIVED, model: str = MODEL, provider: str = "gemini") -> Message:
    return parse_reply(parse_response(body), body=b"1", model=model, provider=provider).message


def answer_with(*parts: Any) -> bytes:
    return json.dumps(
        {
            "candidates": [
                {"content": {"parts": list(parts), "role": "model"}, "finishReason": "STOP"}
            ]
        }
    ).encode()


def results(message: Message) -> Message:
    return Message.tool_response(
        ToolResult(call.id, call.name, {"metres": 2}) for call in message.tool_calls
    )


def user(*texts: str) -> dict[str, Any]:
    return {"parts": [{"text": text} for text in texts], "role": "user"}
