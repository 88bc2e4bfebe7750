"""A response whose text has another JSON type: its JSON is the text, in replies and in events."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.joined import joined
from wire import Chat, TextDelta

VALUES: list[Any] = [{"city": "Paris"}, ["a", 1], 7, True, {"a": "\u00e9"}, {"a": None}]


def gemini_text(value: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": value}]}, "finishReason": "STOP"}]}


def gemini_parts(value: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": value}, "finishReason": "STOP"}]}


def gemini_content(value: Any) -> dict[str, Any]:
    return {"candidates": [{"content": value, "finishReason": "STOP"}]}


def chat_content(value: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": value}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


def chat_delta(value: Any) -> dict[str, Any]:
    delta = {"role": "assistant", "content": value}
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}


def messages_text(value: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": value}]
    return {"type": "message", "content": content, "stop_reason": "end_turn"}


CASES = {
    "gemini text": ("gemini:gemini-3.5-flash", gemini_text),
    "gemini parts": ("gemini:gemini-3.5-flash", gemini_parts),
    "gemini content": ("gemini:gemini-3.5-flash", gemini_content),
    "chat content": ("openai:gpt-5.2", chat_content),
    "chat delta": ("openai:gpt-5.2", chat_delta),
    "messages text": ("anthropic:claude-sonnet-4-6", messages_text),
}


@pytest.mark.parametrize("value", VALUES, ids=json.dumps)
@pytest.mark.parametrize(("model", "make"), CASES.values(), ids=CASES)
def test_its_json_is_the_text(model: str, make: Any, value: Any) -> None:
    if make is gemini_content and isinstance(value, dict):
        pytest.skip("an object is a Content")
    if make is chat_content and isinstance(value, list):
        pytest.skip("a list is a list of parts")
    body = json.dumps(make(value)).encode()
    http = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    with Chat(model, api_key="fake-key", http=http, max_tokens=9) as chat:
        reply = chat.ask("Hi")
        assert json.loads(reply.text) == value
        assert not reply.empty
        sse = b"data: " + body + b"\n\n"
        http = httpx.MockTransport(lambda _: httpx.Response(200, content=sse))
    with Chat(model, api_key="fake-key", http=http, max_tokens=9) as chat:
        with chat.stream("Hi") as stream:
            events = list(stream)
        streamed = stream.reply()
        assert (streamed.message, streamed.stop) == (reply.message, reply.stop)
        texts = [event.text for event in events if isinstance(event, TextDelta)]
        assert "".join(texts) == reply.text


@joined(("model", "make"), CASES.values(), ids=CASES)
def test_null_is_no_text(model: str, make: Any) -> None:
    body = json.dumps(make(None)).encode()
    http = httpx.MockTransport(lambda _: httpx.Response(200, content=body))
    with Chat(model, api_key="fake-key", http=http, max_tokens=9) as chat:
        assert chat.ask("Hi").text == ""
