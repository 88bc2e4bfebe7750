"""Clients of hosts that have another form of requests and answers than their wire's reference."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from tests.serving.running import ECHO, MODELS, backend, gateway
from tests.serving.test_clients import tool_loop
from wire import AsyncChat
from wire.auth import SigV4
from wire.core.event_stream import CONTENT_TYPE, Decoder
from wire.errors import AuthenticationError, OverloadedError
from wire.gateway import Gateway, GatewayServer, serve
from wire.testing.emulator import Emulator, Outage

HOSTS: dict[str, dict[str, str]] = {
    "bedrock@invoke:us.anthropic.claude-opus-4-8-v1:0": {"region": "us-west-2"},
    "anthropic@vertex:claude-opus-4-8": {"project": "my-project", "location": "europe-west4"},
    "azure@deployments:gpt-5.4-mini": {},
}
INVOKE = "/model/anthropic.claude-opus-4-8-v1:0/invoke"
BODY: dict[str, Any] = {
    "anthropic_version": "bedrock-2023-05-31",
    "max_tokens": 99,
    "messages": [{"role": "user", "content": "Hi"}],
}


def client(server: GatewayServer, name: str, key: str = "fake-key") -> AsyncChat:
    base_url = server.url + ("/openai" if name.startswith("azure") else "")
    return AsyncChat(name, base_url=base_url, api_key=key, retry=None, **HOSTS[name])  # type: ignore[arg-type]


def invoked(server: GatewayServer, body: dict[str, Any], path: str = INVOKE) -> httpx.Response:
    with httpx.Client(verify=False, trust_env=False, timeout=30) as http:
        return http.post(server.url + path, json=body)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("streams", [False, True])
def test_a_loop_with_tools(name: str, model: str, streams: bool) -> None:
    async def main() -> None:
        with gateway(model) as server:
            async with client(server, name) as asker:
                _, reply = await tool_loop(asker, streams=streams)
                assert reply.stop.reason == "end"
                assert "sunny" in reply.text

    asyncio.run(main())


def test_whole_answers_have_the_headers_of_the_host() -> None:
    with gateway("gemini") as server:
        answer = invoked(server, {**BODY, "top_k": 4})
    assert answer.json()["content"] == [{"type": "text", "text": f"{ECHO}Hi"}]
    assert answer.headers["x-amzn-bedrock-input-token-count"] == "1"
    assert answer.headers["x-amzn-requestid"].startswith("req_")
    assert "request-id" not in answer.headers


def test_streams_are_frames() -> None:
    with gateway("chat") as server:
        answer = invoked(server, BODY, f"{INVOKE}-with-response-stream")
    assert answer.headers["content-type"] == CONTENT_TYPE
    frames = Decoder().feed(answer.content)
    assert {frame.text(":event-type") for frame in frames} == {"chunk"}
    assert len(frames) > 5
    assert b"invocationMetrics" not in frames[0].payload


def test_refusals_are_those_of_the_host() -> None:
    with gateway("gemini") as server:
        answer = invoked(server, {"max_tokens": 9, "messages": []})
        missing = invoked(server, {**BODY, "messages": 5})
    for refused in (answer, missing):
        assert refused.status_code == 400
        assert refused.headers["x-amzn-errortype"] == "ValidationException"
        assert list(refused.json()) == ["message"]
    assert answer.json()["message"] == "anthropic_version: Field required"


def test_errors_of_the_backend_keep_their_class() -> None:
    name = next(iter(HOSTS))

    async def main() -> None:
        with gateway("gemini", Emulator(outage=Outage())) as server:
            async with client(server, name) as asker:
                with pytest.raises(OverloadedError):
                    await asker.ask("Hi")

    asyncio.run(main())


def test_the_key_of_the_gateway_is_that_of_the_client() -> None:
    name = next(iter(HOSTS))

    async def main() -> None:
        with serve(Gateway(backend("gemini"), key="fake-gateway-key")) as server:
            async with client(server, name, "fake-gateway-key") as asker:
                assert (await asker.ask("Hi")).text == f"{ECHO}Hi"
            async with client(server, name) as asker:
                with pytest.raises(AuthenticationError):
                    await asker.ask("Hi")

    asyncio.run(main())


def test_the_key_of_the_gateway_signs_the_requests_of_clients_of_aws() -> None:
    name = next(iter(HOSTS))

    def signed(server: GatewayServer, secret: str) -> AsyncChat:
        credentials = SigV4("fake-access-key", secret)
        options: Any = {"base_url": server.url, "credentials": credentials, "retry": None}
        return AsyncChat(name, **options, **HOSTS[name])

    async def main() -> None:
        with serve(Gateway(backend("gemini"), key="fake-gateway-key")) as server:
            async with signed(server, "fake-gateway-key") as asker:
                assert (await asker.ask("Hi")).text == f"{ECHO}Hi"
            async with signed(server, "fake-other-key") as asker:
                with pytest.raises(AuthenticationError, match="does not match the signature"):
                    await asker.ask("Hi")
        with gateway("gemini") as server:
            async with signed(server, "fake-other-key") as asker:
                assert (await asker.ask("Hi")).text == f"{ECHO}Hi"

    asyncio.run(main())


def test_a_name_of_a_model_is_that_of_the_path() -> None:
    backends = {"*opus*": backend("gemini"), "gpt-*": backend("chat")}
    with serve(Gateway(backends)) as server:
        assert invoked(server, BODY).status_code == 200
        unknown = invoked(server, BODY, "/model/anthropic.claude-haiku-9/invoke")
    assert (unknown.status_code, json.loads(unknown.content).keys()) == (404, {"message"})
