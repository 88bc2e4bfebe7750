"""The gateway as a server: who may use it, what it refuses, how its streams begin and end."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.joined import joined
from tests.serving.running import (
    BODIES,
    ECHO,
    MODELS,
    backend,
    chat,
    gateway,
    got,
    message_of,
    posted,
)
from wire import AsyncChat
from wire.errors import AccessDeniedError, ConfigurationError
from wire.gateway import Gateway, serve
from wire.neutral.messages import TextDelta
from wire.testing.emulator import Emulator, EmulatorLimits

CLIENTS = pytest.mark.parametrize("client", MODELS)
KEY_HEADERS = {
    "gemini": {"x-goog-api-key": "the-key"},
    "chat": {"authorization": "Bearer the-key"},
    "responses": {"authorization": "Bearer the-key"},
    "anthropic": {"x-api-key": "the-key"},
}


def test_clients_must_send_the_key() -> None:
    emulator = Emulator()
    with gateway("gemini", emulator, key="the-key") as server:
        for client, headers in KEY_HEADERS.items():
            wrong = {name: value.replace("the", "another") for name, value in headers.items()}
            for sent in ({}, wrong):
                refused = posted(server, client, headers=sent)
                words = "The key of the gateway is missing or wrong."
                assert (refused.status_code, message_of(client, refused)) == (401, words)
            assert posted(server, client, headers=headers).status_code == 200
        path = "/v1beta/models/any:generateContent?key=the-key"
        assert posted(server, "gemini", path=path).status_code == 200
    assert len(emulator.requests) == 5


@joined(
    ("header", "value", "status"),
    [
        ("origin", "https://example.com", 403),
        ("origin", "null", 403),
        ("origin", "http://[::1", 403),
        ("host", "example.com:80", 403),
        ("origin", "http://localhost:3000", 200),
        ("host", "localhost:8911", 200),
        ("host", "[::1]:8911", 200),
    ],
)
def test_web_pages_may_not_use_a_gateway_without_a_key(
    shared: Any, header: str, value: str, status: int
) -> None:
    assert posted(shared, "chat", headers={header: value}).status_code == status


@pytest.fixture
def shared() -> Any:
    with gateway("anthropic") as server:
        yield server


def test_other_machines_need_a_key() -> None:
    with pytest.raises(ConfigurationError, match="give the gateway a key"):
        with serve(Gateway(backend("gemini")), host="0.0.0.0"):
            pass


@CLIENTS
def test_the_key_of_the_backend_is_in_no_response(client: str) -> None:
    key = "invalid-" + "k" * 30
    with serve(Gateway(backend("gemini", key=key))) as server:
        for changes in ({}, {"stream": True}):
            response = posted(server, client, changes if client != "gemini" else {})
            assert response.status_code == 502
            assert message_of(client, response).startswith("The backend refused the key of the")
            assert key not in response.text + str(response.headers)


@CLIENTS
def test_errors_have_the_form_of_the_clients_vendor(client: str) -> None:
    limits = EmulatorLimits(max_body_bytes=2000, max_json_depth=20)
    with gateway("responses", limits=limits) as server:
        malformed = posted(server, client, content=b'{"messages": [')
        assert malformed.status_code == 400
        assert "JSON" in message_of(client, malformed)
        too_deep = posted(server, client, {"extra": json.loads("[" * 30 + "]" * 30)})
        assert too_deep.status_code == 400
        assert "20" in message_of(client, too_deep)
        too_large = posted(server, client, {"extra": "x" * 3000})
        assert too_large.status_code == 413
        assert "2000 bytes" in message_of(client, too_large)


@joined(
    ("client", "path", "message"),
    [
        ("gemini", "/v1beta/cachedContents", "The gateway does not serve cachedContents."),
        ("responses", "/v1/responses/compact", "The gateway does not serve responses.compact."),
        ("gemini", "/v1beta/files", "The gateway does not serve files.create: no backend has the"),
    ],
)
def test_other_endpoints_are_not_there(shared: Any, client: str, path: str, message: str) -> None:
    headers = KEY_HEADERS[client]
    response = posted(shared, client, headers=headers, path=path)
    assert response.status_code == 404
    assert message_of(client, response).startswith(message[:-1])


def test_models_and_token_counts() -> None:
    with gateway("anthropic") as server:
        for client, path in (("gemini", "/v1beta/models"), ("chat", "/v1/models")):
            assert "claude-sonnet-5" in str(got(server, path, KEY_HEADERS[client]))
            one = got(server, f"{path}/claude-sonnet-5", KEY_HEADERS[client])
            assert "claude-sonnet-5" in one.get("id", one.get("name"))
        listed = got(server, "/v1/models", {"anthropic-version": "2023-06-01"})
        assert [each["id"] for each in listed["data"]] == ["claude-sonnet-5"]
        assert listed["data"][0]["max_tokens"] == 128000
        path = "/v1beta/models/any:countTokens"
        assert posted(server, "gemini", path=path).json() == {"totalTokens": 1}
        path = "/v1/responses/input_tokens"
        assert posted(server, "responses", path=path).json()["input_tokens"] == 1
        path = "/v1/messages/count_tokens"
        body = json.dumps({**BODIES["anthropic"], "max_tokens": None}).encode()
        counted = posted(server, "anthropic", path=path, content=body)
        assert counted.json() == {"input_tokens": 1}
        assert counted.headers.get("x-wire-note") is None
    with gateway("chat") as server:
        counted = posted(server, "anthropic", path=path, content=body)
        assert counted.json()["input_tokens"] == 8  # the frames of a message and of the prompt
        assert "estimated" in counted.headers["x-wire-note"]


def test_several_backends_by_the_name_that_a_client_asks_for() -> None:
    named = {"fast": backend("chat"), "claude-*": backend("anthropic"), "*": backend("gemini")}
    with serve(Gateway(named)) as server:
        for client in ("chat", "responses", "anthropic"):
            for model, answers in (
                ("fast", "gpt-4o"),
                ("claude-opus-5", "claude-sonnet-5"),
                ("other", "gemini-3.8-flash"),
            ):
                assert posted(server, client, {"model": model}).json()["model"] == answers
        path = "/v1beta/models/fast:generateContent"
        assert posted(server, "gemini", path=path).json()["modelVersion"] == "gpt-4o"
        listed = got(server, "/v1/models", KEY_HEADERS["chat"])["data"]
        assert [each["id"] for each in listed] == ["fast", "claude-*", "gemini-3.8-flash"]
        assert got(server, "/v1/models/fast", KEY_HEADERS["chat"])["owned_by"] == "openai"


@CLIENTS
def test_a_name_without_a_backend_is_an_unknown_model(client: str) -> None:
    with serve(Gateway({"fast": backend("chat")})) as server:
        response = posted(server, client)
        assert response.status_code == 404
        assert "there are fast." in response.text
        if client not in ("gemini", "converse"):  # whose model stands in the path
            assert posted(server, client, content=b"{").status_code == 400


def test_a_conversation_may_move_to_another_backend() -> None:
    emulator = Emulator([{"say": {"calls": [{"name": "tide", "args": {}}]}}, {"say": "At five."}])
    named = {"one": backend("gemini", emulator), "two": backend("anthropic", emulator)}
    tools = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}]
    with serve(Gateway(named)) as server:
        asked = BODIES["chat"]["messages"]
        body = posted(server, "chat", {"model": "one", "tools": tools}).json()
        message = body["choices"][0]["message"]
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "5"}
        turns = [*asked, message, result]
        changes = {"model": "two", "tools": tools, "messages": turns}
        said = posted(server, "chat", changes).json()["choices"][0]["message"]["content"]
    assert said == "At five."
    sent = emulator.requests[1]["body"]["messages"]
    assert [each["role"] for each in sent] == ["user", "assistant", "user"]
    assert sent[2]["content"][0]["content"] == "5"


def test_what_the_backend_does_not_get_is_in_headers() -> None:
    with gateway("anthropic") as server:
        sent = {"logit_bias": {"1": 7}, "temperature": 0.5, "user": "Zoë\nx"}
        response = posted(server, "chat", sent)
        notes = response.headers.get_list("x-wire-note")
        assert notes[0] == "logit_bias: left out: it has no neutral form"
        assert any(each.startswith("temperature: left out: temperature: ") for each in notes)
        odd = posted(server, "chat", {"Zoë\r\nx-evil: 1\x00": 7}).headers
        assert odd["x-wire-note"].startswith("Zo\\xeb")
        assert "x-evil" not in odd
        many = posted(server, "chat", {f"key_{number}": 1 for number in range(50)}).headers
        notes_of_many = many.get_list("x-wire-note")
        assert (len(notes_of_many), notes_of_many[-1]) == (21, "31 more")
        streamed = posted(server, "chat", {"logit_bias": {"1": 7}, "stream": True})
        assert streamed.headers.get_list("x-wire-note")[0] == notes[0]
        assert streamed.text.endswith("data: [DONE]\n\n")


LEAST = "changed from 1 to 16, the least that openai@responses takes"


@joined(
    ("changes", "changed"),
    [
        ({"max_tokens": 1}, {"max_tokens": LEAST}),
        (
            {"max_tokens": 1, "temperature": 0.5, "thinking": {"type": "adaptive"}},
            {"max_tokens": LEAST, "temperature": "left out"},
        ),
        ({"max_tokens": 16, "temperature": 0.5}, {}),
    ],
)
def test_settings_that_the_model_refuses_are_changed(
    changes: dict[str, Any], changed: dict[str, str]
) -> None:
    with gateway("responses") as server:
        response = posted(server, "anthropic", changes)
        notes = [each.split(": ") for each in response.headers.get_list("x-wire-note")]
        assert (response.status_code, {note[0]: note[1] for note in notes}) == (200, changed)


def test_what_is_wrong_for_every_model_is_refused() -> None:
    with gateway("responses") as server:
        refused = posted(server, "chat", {"top_p": 5})
        assert refused.status_code == 400
        assert message_of("chat", refused).startswith("top_p: ")


@joined(
    ("api", "client", "changes", "path", "answers"),
    [
        ("chat", "chat", {"n": 3}, "n", "choices"),
        ("anthropic", "chat", {"n": 3}, "n", "choices"),
        (
            "gemini",
            "gemini",
            {"generationConfig": {"candidateCount": 3}},
            "generationConfig.candidateCount",
            "candidates",
        ),
    ],
)
def test_of_several_answers_a_client_gets_one_with_a_note(
    api: str, client: str, changes: dict[str, Any], path: str, answers: str
) -> None:
    emulator = Emulator()
    with gateway(api, emulator) as server:
        response = posted(server, client, changes)
    assert len(response.json()[answers]) == 1
    assert response.headers["x-wire-note"].startswith(f"{path}: left out: there is one answer")
    assert emulator.requests[0]["body"].keys().isdisjoint(changes)


def test_a_stream_of_google_without_sse_is_an_array() -> None:
    with gateway("anthropic") as server:
        path = "/v1beta/models/any:streamGenerateContent"
        [chunk] = posted(server, "gemini", path=path).json()
        assert chunk["candidates"][0]["content"]["parts"][0] == {"text": f"{ECHO}Hi"}


def test_a_response_continues_another_one() -> None:
    emulator = Emulator()
    with gateway("gemini", emulator) as server:
        first = posted(server, "responses", {"instructions": "Be brief."}).json()
        assert first["instructions"] == "Be brief."
        changes = {"previous_response_id": first["id"], "input": "And then?"}
        second = posted(server, "responses", {**changes, "store": False}).json()
        assert second["previous_response_id"] == first["id"]
        body = emulator.requests[-1]["body"]
        texts = [part["text"] for each in body["contents"] for part in each["parts"]]
        assert [text for text in texts if text] == ["Hi", f"{ECHO}Hi", "And then?"]
        assert "systemInstruction" not in body
        for id in (second["id"], "resp_unknown"):
            refused = posted(server, "responses", {"previous_response_id": id})
            assert refused.status_code == 400
            assert "previous_response_id: the gateway has no response" in refused.text


def test_a_conversation_that_is_too_long_is_recognised() -> None:
    emulator = Emulator([{"answer": _TOO_LONG, "status": 400}] * 2)
    with gateway("responses", emulator) as server:
        assert message_of("anthropic", posted(server, "anthropic")).startswith("prompt is too long")
        error = posted(server, "chat").json()["error"]
        assert error["code"] == "context_length_exceeded"


_TOO_LONG = {
    "error": {
        "message": "Your input exceeds the context window of this model.",
        "type": "invalid_request_error",
        "param": "input",
        "code": "context_length_exceeded",
    }
}


def test_a_defect_is_an_error_of_the_clients_vendor(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("secret details")

    monkeypatch.setattr(Gateway, "_parsed", broken)
    with gateway("gemini") as server:
        response = posted(server, "anthropic")
        assert response.status_code == 500
        assert message_of("anthropic", response) == "The gateway failed: ZeroDivisionError."


class Waiting(httpx.AsyncBaseTransport):
    """A backend that sends the first chunk of an answer, and the rest when it is told to."""

    def __init__(self) -> None:
        self.first, self.rest = self._chunks()
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.closed = threading.Event()

    @staticmethod
    def _chunks() -> tuple[bytes, bytes]:
        answer = Emulator().answer(
            "POST",
            "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
            {"x-goog-api-key": "any"},
            json.dumps(BODIES["gemini"]).encode(),
        )
        first, *rest = (piece for piece in answer.pieces if isinstance(piece, bytes))
        return first, b"".join(rest)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.set()
        return httpx.Response(
            200, headers={"content-type": "text/event-stream"}, stream=_Body(self)
        )


class _Body(httpx.AsyncByteStream):
    def __init__(self, owner: Waiting) -> None:
        self._owner = owner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._owner.first
        while not self._owner.go_on.is_set():  # noqa: ASYNC110  set by another thread
            await asyncio.sleep(0.005)
        yield self._owner.rest

    async def aclose(self) -> None:
        self._owner.closed.set()


def waiting() -> tuple[Waiting, Gateway]:
    transport = Waiting()
    model = AsyncChat(MODELS["gemini"], http=transport, api_key="fake-key", retry=None)
    return transport, Gateway(model)


@CLIENTS
def test_a_client_gets_each_piece_when_the_backend_sends_it(client: str) -> None:
    transport, made = waiting()

    async def main() -> None:
        with serve(made) as server:
            async with chat(server, client) as asker, asker.stream("Hi") as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        transport.go_on.set()
                reply = await events.reply()
        assert reply.text == "This is an emulator, and no model. You said: Hi"

    asyncio.run(main())


@pytest.mark.parametrize("streams", [True, False])
def test_the_call_of_the_backend_ends_when_the_client_goes_away(streams: bool) -> None:
    transport, made = waiting()
    with serve(made) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        body = json.dumps({**BODIES["chat"], "stream": streams})
        connection.request("POST", "/v1/chat/completions", body, {"authorization": "Bearer any"})
        assert transport.asked.wait(30)
        sock = connection.sock
        assert sock is not None
        if streams:
            response = connection.getresponse()
            assert b"chat.completion.chunk" in response.readline()
            response.close()
        sock.close()
        connection.close()
        assert transport.closed.wait(30)
        assert not transport.go_on.is_set()


def test_an_error_within_a_stream_is_an_event_of_the_clients_vendor() -> None:
    emulator = Emulator([{"say": "One two three four.", "fault": "error; after=1"}] * 3)
    with gateway("gemini", emulator) as server:
        messages = posted(server, "anthropic", {"stream": True})
        assert messages.status_code == 200
        last = messages.text.rstrip().split("\n\n")[-1]
        assert last.startswith("event: error\n")
        assert '"type": "overloaded_error"' in last
        completion = posted(server, "chat", {"stream": True}).text
        assert '"error"' in completion
        assert "[DONE]" not in completion
        response = posted(server, "responses", {"stream": True}).text
        assert "response.completed" not in response
        assert '"type":"error"' in response


def test_a_blocked_reply_is_one_that_the_clients_vendor_blocked() -> None:
    emulator = Emulator([{"say": {"finish": "SAFETY"}}] * 4)
    with gateway("gemini", emulator) as server:
        message = posted(server, "anthropic").json()
        assert (message["stop_reason"], message["content"]) == ("refusal", [])
        streamed = posted(server, "anthropic", {"stream": True}).text
        assert '"stop_reason":"refusal"' in streamed
        choice = posted(server, "chat").json()["choices"][0]
        assert choice["finish_reason"] == "content_filter"
        response = posted(server, "responses").json()
        assert response["incomplete_details"] == {"reason": "content_filter"}


def test_clients_with_another_host_name_are_refused_by_the_library_too() -> None:
    async def main() -> None:
        with gateway("gemini") as server:
            headers = {"origin": "https://example.com"}
            async with chat(server, "anthropic", headers=headers) as asker:
                with pytest.raises(AccessDeniedError, match="the header origin names another"):
                    await asker.ask("Hi")

    asyncio.run(main())


@joined(
    ("arguments", "message"),
    [
        ({"backend": "claude"}, "model"),
        ({"backend": 5}, "backend: expected an AsyncChat or its model, not int"),
        ({"backend": {"a": 5}}, "backend\\['a'\\]: expected an AsyncChat or its model, not int"),
        ({"backend": {}}, "backend: expected at least one model"),
        ({"backend": "gemini:gemini-3.8-flash", "key": 5}, "key: expected a text, not int"),
        ({"backend": "gemini:gemini-3.8-flash", "key": ""}, "key"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Gateway(**arguments)


def test_a_gateway_to_a_name_uses_the_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "fake-key")
    assert repr(Gateway("anthropic:claude-sonnet-5")) == "Gateway(anthropic:claude-sonnet-5)"
    named = {"fast": "anthropic:claude-haiku-4-5", "*": "anthropic:claude-sonnet-5"}
    shown = "fast=anthropic:claude-haiku-4-5, *=anthropic:claude-sonnet-5"
    assert repr(Gateway(named)) == f"Gateway({shown})"
