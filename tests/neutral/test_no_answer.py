"""Bodies with status 200 that hold no answer: the same kind of error on each wire, whole and as a
stream. A whole body in place of a stream has its text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.joined import joined
from wire import Chat, Client, anthropic, gemini, openai
from wire.errors import StreamIncomplete, StreamInvalid
from wire.neutral.messages import Event, Reply
from wire.openai import responses

MODELS = {
    "gemini": "gemini:gemini-3.5-flash",
    "openai": "openai@chat:gpt-5.4",
    "openai.responses": "openai@responses:gpt-5.4",
    "anthropic": "anthropic:claude-opus-4-8",
}
KEYS = {
    "gemini": "candidates",
    "openai": "choices",
    "openai.responses": "output",
    "anthropic": "content",
}
"""The key of what a reply is made of."""


def server(body: str, kind: str) -> httpx.MockTransport:
    headers = {"content-type": kind}
    return httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, text=body))


def whole(wire: str, body: str) -> Reply:
    with Chat(MODELS[wire], api_key="fake-key", retry=None, http=server(body, "text/json")) as chat:
        return chat.ask("Hi")


def streamed(wire: str, body: str, kind: str = "text/event-stream") -> tuple[list[Event], Reply]:
    with Chat(MODELS[wire], api_key="fake-key", retry=None, http=server(body, kind)) as chat:
        with chat.stream("Hi") as events:
            return list(events), events.reply()


def framed(wire: str, body: str) -> str:
    """The body as the only content of a stream that ends as those of the wire do."""
    if wire == "openai":
        return f"data: {body}\n\ndata: [DONE]\n\n"
    if wire == "openai.responses":
        return f'data: {{"type":"response.completed","response":{body}}}\n\n'
    if wire == "anthropic":
        start, stop = f'{{"type":"message_start","message":{body}}}', '{"type":"message_stop"}'
        return f"data: {start}\n\ndata: {stop}\n\n"
    return f"data: {body}\n\n"


def bodies() -> Iterator[tuple[str, str]]:
    for wire, key in KEYS.items():
        yield wire, "{}"
        yield from ((wire, json.dumps({key: value})) for value in ("oops", None, [None], {}, 5))
        if wire in ("gemini", "openai"):  # elsewhere the key holds the content, which may be empty
            yield wire, json.dumps({key: []})


@joined(("wire", "body"), bodies())
def test_a_body_without_an_answer_is_invalid(wire: str, body: str) -> None:
    with pytest.raises(StreamInvalid):
        whole(wire, body)
    with pytest.raises(StreamInvalid):
        streamed(wire, body, "application/json")
    if (wire, body) != ("gemini", '{"candidates": []}'):  # no stream ends like this: it is cut
        with pytest.raises(StreamInvalid):
            streamed(wire, framed(wire, body))


@joined("wire", MODELS)
def test_null_is_invalid_and_a_stream_of_nothing_incomplete(wire: str) -> None:
    with pytest.raises(StreamInvalid):
        whole(wire, "null")
    with pytest.raises(StreamInvalid):
        streamed(wire, "null", "application/json")
    for body in ("", ": waiting\n\n", "data: [DONE]\n\n", "data: null\n\n"):
        with pytest.raises(StreamIncomplete):
            streamed(wire, body)


TEXT = {"type": "output_text", "text": "Ebb."}
USER = gemini.Content(role="user", parts=[gemini.Part(text="Hi")])
ASKED = gemini.GenerateContentRequest(contents=[USER])
WHOLE: dict[str, tuple[str, Any, Callable[[], Any]]] = {
    "gemini": (
        "gemini",
        {"candidates": [{"content": {"parts": [{"text": "Ebb."}]}, "finishReason": "STOP"}]},
        lambda: gemini.stream_generate_content("gemini-3.5-flash", ASKED),
    ),
    "openai": (
        "openai@chat",
        {"choices": [{"index": 0, "message": {"content": "Ebb."}, "finish_reason": "stop"}]},
        lambda: openai.stream_chat_completions(
            openai.ChatCompletionRequest(
                model="gpt-5.4", messages=[openai.Message(role="user", content="Hi")]
            )
        ),
    ),
    "openai.responses": (
        "openai@responses",
        {
            "status": "completed",
            "output": [{"type": "message", "role": "assistant", "content": [TEXT]}],
        },
        lambda: responses.stream_response(responses.ResponseRequest(model="gpt-5.4", input="Hi")),
    ),
    "anthropic": (
        "anthropic",
        {"content": [{"type": "text", "text": "Ebb."}], "stop_reason": "end_turn"},
        lambda: anthropic.stream_message(
            anthropic.MessageRequest(
                model="claude-opus-4-8",
                max_tokens=9,
                messages=[anthropic.Message(role="user", content="Hi")],
            )
        ),
    ),
}


@joined("wire", WHOLE)
def test_a_whole_body_in_place_of_a_stream_has_its_text(wire: str) -> None:
    provider, body, call = WHOLE[wire]
    sent = json.dumps(body)
    events, reply = streamed(wire, sent, "application/json")
    assert (reply.text, "".join(getattr(each, "text", "") for each in events)) == ("Ebb.", "Ebb.")
    with Client(provider, api_key="fake-key", http=server(sent, "application/json")) as client:
        with client.stream(call()) as stream:
            chunks = list(stream)
    delta = "delta" if wire == "openai.responses" else "text"
    assert "".join(getattr(each, delta) or "" for each in chunks) == "Ebb."
