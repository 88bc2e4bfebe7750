"""Builders of neutral requests and replies, and their form on the wire, for the tests."""

from __future__ import annotations

import json
from typing import Any

from wire import notes, openai
from wire.core.provider import Provider
from wire.neutral.messages import Media, Message, Reply, ToolCall
from wire.neutral.request import Request, Tool
from wire.openai import ChatCompletion, Dialect, chat_host, parse_reply
from wire.openai.chat.reader import parse_completion
from wire.providers import PROVIDERS

PNG = Media(data=b"\x89PNG", media_type="image/png")
PORT = {"type": "object", "properties": {"port": {"type": "string"}}}
TIDE = Tool("get_tide", "When the tide is high", PORT)
HI = Message.user("Hi")
A, B = (
    ToolCall(id=id, name="get_tide", arguments={"port": port})
    for id, port in (("call_A", "Brest"), ("call_B", "Łódź"))
)


def asked(*messages: Message, **settings: Any) -> Request:
    return Request(messages=messages or (HI,), **settings)


def dialect_of(provider: str) -> Dialect:
    dialect = PROVIDERS[provider].dialect
    assert dialect is not None
    return dialect


def row_of(dialect: Dialect = openai.PLAIN, name: str = "openai") -> Provider:
    """The row of a host with this dialect."""
    return chat_host(name, "https://host.example/v1", "HOST_API_KEY", dialect)


def body_of(
    request: Request,
    model: str = "m",
    dialect: Dialect = openai.PLAIN,
    provider: str = "openai",
) -> Any:
    return json.loads(openai.call(request, model, row_of(dialect, provider)).body)


def told(
    request: Request,
    model: str = "m",
    dialect: Dialect = openai.PLAIN,
    provider: str = "openai",
) -> list[str]:
    return list(map(str, notes(openai.stream_call(request, model, row_of(dialect, provider)))))


def sent(*messages: Message, dialect: Dialect = openai.PLAIN, **settings: Any) -> list[Any]:
    made: list[Any] = body_of(asked(*messages, **settings), dialect=dialect)["messages"]
    return made


def received(message: Any, finish: str = "stop", **beside: Any) -> ChatCompletion:
    return parse_completion(
        json.dumps(
            {"choices": [{"index": 0, "message": message, "finish_reason": finish}], **beside}
        ).encode()
    )


def reply_of(
    message: Any,
    provider: str = "openai",
    model: str = "m",
    dialect: Dialect = openai.PLAIN,
    **beside: Any,
) -> Reply:
    return parse_reply(received(message, **beside), dialect, provider=provider, model=model)


def results(reply: Reply, content: Any = "17:42") -> list[Message]:
    return [Message.tool_result(call, content) for call in reply.tool_calls]
