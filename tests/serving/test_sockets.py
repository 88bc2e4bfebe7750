"""Clients of Responses over WebSocket at the gateway, on models of other APIs."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest

from tests.http.drive import EVERY, Drive
from tests.serving.running import backend
from wire import Agent, AsyncChat, Chat, Client, tool
from wire.errors import AuthenticationError, NotFoundError
from wire.gateway import Gateway, serve
from wire.openai import realtime, responses
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

CALLS: list[Any] = [
    {"say": {"calls": [{"name": "tide", "args": {"port": "Brest"}}]}},
    {"say": "At noon."},
]


@tool
def tide(port: str) -> str:
    """When the tide is high."""
    return f"noon at {port}"


def ours(url: str, **more: Any) -> dict[str, Any]:
    return {"api_key": "k", "base_url": f"{url}/v1", "retry": None, **more}


@pytest.mark.parametrize("api", ["gemini", "anthropic", "chat", "responses", "ollama"])
def test_an_agent_keeps_its_socket_over_its_tools(api: str) -> None:
    emulator = Emulator(CALLS)
    with serve(Gateway(backend(api, emulator))) as server:
        options = ours(server.url, connection="socket")
        with Chat("openai@responses:gpt-5.4", **options) as chat:
            with Agent(chat, tools=[tide]) as agent:
                assert agent.run("When is the tide?").text == "At noon."
    first, last = emulator.requests[0], emulator.requests[-1]
    assert "noon at Brest" in json.dumps(last)
    assert "When is the tide?" in json.dumps(last)  # the client sent it only once
    assert "noon at Brest" not in json.dumps(first)


@pytest.mark.parametrize("drive", EVERY)
def test_events_come_as_they_are_made(drive: Drive) -> None:
    """The backend goes on only when its first words have arrived."""
    arrived = threading.Event()

    class Waiting(httpx.AsyncBaseTransport):
        def __init__(self) -> None:
            self._inner = AsyncEmulatorTransport(Emulator([{"say": "One two three."}]))

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            import anyio.to_thread

            answer = await self._inner.handle_async_request(request)
            pieces = [each + b"\n\n" for each in (await answer.aread()).split(b"\n\n") if each]

            async def paced() -> Any:
                for at, piece in enumerate(pieces):
                    if at == len(pieces) - 1:
                        assert await anyio.to_thread.run_sync(arrived.wait, 20)
                    yield piece

            return httpx.Response(200, headers=answer.headers, content=paced())

    chat = AsyncChat("anthropic:claude-sonnet-5", api_key="k", http=Waiting())
    with serve(Gateway(chat)) as server:

        def work(door: Any) -> str:
            with door.connect(responses.socket()) as socket:
                socket.send(responses.ResponseRequest(model="m", input="Hi", store=False))
                texts = []
                while (event := socket.next()).type != "response.completed":
                    if event.type == "response.output_text.delta":
                        texts.append(event.delta)
                        arrived.set()
                return "".join(texts)

        assert drive.session(work, "openai", base_url=f"{server.url}/v1") == "One two three."


def test_a_client_that_leaves_ends_the_call_of_the_backend() -> None:
    left = threading.Event()

    class Endless(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            import anyio

            async def never() -> Any:
                try:
                    await anyio.sleep(60)
                    yield b""
                finally:
                    left.set()

            return httpx.Response(
                200, headers={"content-type": "text/event-stream"}, content=never()
            )

    chat = AsyncChat("anthropic:claude-sonnet-5", api_key="k", http=Endless(), retry=None)
    with serve(Gateway(chat)) as server, Client("openai", **ours(server.url)) as client:
        with client.connect(responses.socket()) as socket:
            socket.send(responses.ResponseRequest(model="m", input="Hi", store=False))
        assert left.wait(20)


def test_errors_of_a_request_are_events_and_the_session_goes_on() -> None:
    emulator = Emulator([{"fault": "429"}, {"say": "Hello."}])
    with serve(Gateway(backend("gemini", emulator))) as server:
        with Client("openai", **ours(server.url)) as client:
            with client.connect(responses.socket()) as socket:
                events = socket.events()
                socket.send(responses.ResponseRequest(model="m", input="Hi", store=False))
                refused = next(events)
                assert refused.type == "error"
                socket.send(responses.ResponseRequest(model="m", input="Hi", store=False))
                kinds = []
                while not kinds or kinds[-1] != "response.completed":
                    kinds.append(next(events).type)
    assert kinds[0] == "response.created"


def test_the_key_of_the_gateway_is_asked_for_at_the_handshake() -> None:
    with serve(Gateway(backend("gemini"), key="secret-of-the-gateway")) as server:
        with Client("openai", **ours(server.url)) as client:
            with pytest.raises(AuthenticationError), client.connect(responses.socket()):
                pass
        options = ours(server.url, api_key="secret-of-the-gateway", connection="socket")
        with Chat("openai@responses:gpt-5.4", **options) as chat:
            assert chat.ask("Hi").text


def test_other_sessions_are_refused() -> None:
    with serve(Gateway(backend("gemini"))) as server:
        with Client("openai", **ours(server.url)) as client:
            call = realtime.socket("gpt-realtime")
            with pytest.raises(NotFoundError, match="Responses alone"), client.connect(call):
                pass
