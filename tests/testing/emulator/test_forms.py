"""Hosts whose requests and answers have another form: `wire.testing.emulator.forms`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire import Client, anthropic, openai
from wire.core.event_stream import Decoder
from wire.errors import (
    APIError,
    AuthenticationError,
    ConnectionLost,
    NotFoundError,
    OverloadedError,
    RateLimitError,
    WireError,
)
from wire.testing.emulator import Emulator, EmulatorTransport

SAID = "This is an emulator, and no model. You said: Hi"
MODEL = "anthropic.claude-opus-4-8-v1:0"
INVOKE = f"/model/{MODEL}/invoke"
STREAM = f"{INVOKE}-with-response-stream"
BODY = {
    "anthropic_version": "2026-10-21",
    "max_tokens": 99,
    "messages": [{"role": "user", "content": "Hi"}],
}
KEY = {"authorization": "Bearer fake-key"}
HOSTS: dict[str, dict[str, str]] = {
    "bedrock@invoke": {"region": "us-west-2"},
    "bedrock@anthropic": {"region": "us-west-2"},
    "anthropic@aws": {"region": "us-west-2", "workspace": "wrkspc_1"},
    "anthropic@vertex": {"project": "my-project", "location": "europe-west4"},
    "anthropic@google": {"project": "my-project", "workspace": "wrkspc_1"},
    "azure@anthropic": {"resource": "me"},
}


def client(name: str, key: str = "fake-key") -> Client:
    transport = EmulatorTransport(Emulator())
    return Client(name, api_key=key, http=transport, retry=None, **HOSTS[name])  # type: ignore[arg-type]


def request() -> anthropic.MessageRequest:
    user = anthropic.Message(role="user", content="Hi")
    return anthropic.MessageRequest(model=MODEL, max_tokens=99, messages=[user])


def failure(name: str, fault: str = "", key: str = "fake-key", stream: bool = False) -> WireError:
    headers = {"x-wire-fault": fault} if fault else {}
    with client(name, key) as there, pytest.raises(WireError) as caught:
        if stream:
            call = anthropic.stream_message(request()).replace(headers=headers)
            with there.stream(call) as events:
                list(events)
        else:
            there.send(anthropic.create_message(request()).replace(headers=headers))
    return caught.value


@pytest.mark.parametrize("name", HOSTS)
def test_a_client_is_answered(name: str) -> None:
    with client(name) as there:
        answer = there.send(anthropic.create_message(request()))
        with there.stream(anthropic.stream_message(request())) as events:
            kinds = [event.type for event in events]
        counted = there.send(anthropic.count_tokens(request()))
    block: Any = answer.content[0]
    assert (block.text, answer.stop_reason, counted.input_tokens) == (SAID, "end_turn", 1)
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    assert events.result().content == answer.content


@pytest.mark.parametrize("name", HOSTS)
def test_errors(name: str) -> None:
    assert type(failure(name, key="bad-key")) is AuthenticationError
    limited = failure(name, "429; retry-after=7")
    assert (type(limited), limited.retry_after) == (RateLimitError, 7)
    broken = failure(name, "error; after=3", stream=True)
    assert isinstance(broken, OverloadedError)
    assert broken.partial is not None
    assert isinstance(failure(name, "cut; after=3", stream=True), ConnectionLost)


def posted(path: str, body: Any, headers: Any = KEY) -> tuple[int, dict[str, str], bytes]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = Emulator().answer("POST", path, headers, data)
    return answer.status, dict(answer.headers), answer.body


def test_a_stream_of_frames() -> None:
    status, headers, body = posted(STREAM, BODY)
    frames = (decoder := Decoder()).feed(body)
    assert (status, headers["content-type"]) == (200, "application/vnd.amazon.eventstream")
    assert (decoder.error, decoder.rest) == (None, b"")
    assert {name: frames[0].text(name) for name in frames[0].headers} == {
        ":event-type": "chunk",
        ":content-type": "application/json",
        ":message-type": "event",
    }
    assert all(set(json.loads(frame.payload)) == {"bytes", "p"} for frame in frames)


def test_counts_of_a_response_stand_in_headers() -> None:
    _, headers, body = posted(INVOKE, BODY)
    assert json.loads(body)["usage"]["output_tokens"] == 15
    assert headers["x-amzn-bedrock-input-token-count"] == "1"
    assert headers["x-amzn-bedrock-output-token-count"] == "15"
    assert headers["x-amzn-requestid"].startswith("req_")


def test_a_request_without_a_key_is_refused() -> None:
    status, headers, body = posted(INVOKE, BODY, {})
    assert (status, headers["x-amzn-errortype"]) == (403, "UnrecognizedClientException")
    assert json.loads(body) == {"message": "x-api-key header is required"}


@pytest.mark.parametrize("body", [{**BODY, "anthropic_version": ""}, {"max_tokens": 9}])
def test_a_version_is_required(body: Any) -> None:
    status, headers, data = posted(INVOKE, body)
    assert (status, headers["x-amzn-errortype"]) == (400, "ValidationException")
    assert json.loads(data) == {"message": "anthropic_version: Field required"}


def test_a_body_that_is_no_object() -> None:
    status, headers, _ = posted(INVOKE, b"[]")
    assert (status, headers["x-amzn-errortype"]) == (400, "ValidationException")


def test_deployments_need_a_version() -> None:
    path = "/openai/deployments/gpt-5-mini/chat/completions"
    body = {"messages": [{"role": "user", "content": "Hi"}]}
    assert posted(path, body, {"api-key": "fake-key"})[0] == 404
    status, _, data = posted(f"{path}?api-version=2024-10-21", body, {"api-key": "fake-key"})
    answer = json.loads(data)
    assert (status, answer["choices"][0]["message"]["content"]) == (200, SAID)
    assert answer["model"].startswith("gpt-5-mini")


def test_deployments_answer_a_client() -> None:
    http = EmulatorTransport(Emulator())
    options: Any = {"resource": "me", "api_key": "fake-key", "http": http, "retry": None}
    user = openai.Message(role="user", content="Hi")
    ask = openai.ChatCompletionRequest(model="gpt-5-mini", messages=[user])
    with Client("azure@deployments", **options) as there:
        answer = there.send(openai.chat_completions(ask))
        assert answer.choices[0].message.content == SAID
        with pytest.raises(APIError) as caught:
            there.send(openai.chat_completions(ask).replace(headers={"x-wire-fault": "404"}))
    assert isinstance(caught.value, NotFoundError)
