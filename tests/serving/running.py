"""Gateways with an emulator as their backend, and raw requests to them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import httpx

from wire import AsyncChat
from wire.gateway import Gateway, GatewayServer, serve
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "chat": "openai@chat:gpt-4o",
    "responses": "openai@responses:gpt-5.4",
    "anthropic": "anthropic:claude-sonnet-5",
    "converse": "bedrock:us.anthropic.claude-sonnet-4-6",
    "interactions": "gemini@interactions:gemini-3.8-flash",
    "ollama": "ollama:qwen3:8b",
}
ECHO = "This is an emulator, and no model. You said: "
PATHS = {
    "gemini": "/v1beta/models/any:generateContent",
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "converse": "/model/any.model/converse",
    "interactions": "/v1beta/interactions",
    "ollama": "/api/chat",
}
BODIES: dict[str, dict[str, Any]] = {
    "gemini": {"contents": [{"parts": [{"text": "Hi"}]}]},
    "chat": {"model": "any", "messages": [{"role": "user", "content": "Hi"}]},
    "responses": {"model": "any", "input": "Hi"},
    "anthropic": {
        "model": "any",
        "max_tokens": 500,
        "messages": [{"role": "user", "content": "Hi"}],
    },
    "converse": {
        "inferenceConfig": {"maxTokens": 500},
        "messages": [{"role": "user", "content": [{"text": "Hi"}]}],
    },
    "interactions": {"model": "any", "input": "Hi"},
    "ollama": {
        "model": "any",
        "stream": False,
        "messages": [{"role": "user", "content": "Hi"}],
    },
}
PLACES: dict[str, dict[str, Any]] = {"converse": {"region": "us-east-1"}}
"""API -> further options of its client."""


def backend(api: str, emulator: Emulator | None = None, key: str = "fake-key") -> AsyncChat:
    """A chat with an emulated model: that of an API, or the one of this name."""
    http = AsyncEmulatorTransport(emulator)
    place = PLACES.get(api, {})
    return AsyncChat(MODELS.get(api, api), http=http, api_key=key, retry=None, **place)


@contextlib.contextmanager
def gateway(api: str, emulator: Emulator | None = None, **options: Any) -> Iterator[GatewayServer]:
    """A gateway to an emulated model."""
    with serve(Gateway(backend(api, emulator), **options)) as server:
        yield server


def base_url(server: GatewayServer, client: str) -> str:
    """The base URL that a client of an API gets."""
    return server.url + ("/v1" if client in ("chat", "responses") else "")


def chat(server: GatewayServer, client: str, **options: Any) -> AsyncChat:
    """A client of an API that talks to the gateway."""
    options = {"api_key": "fake-key", **options}
    return AsyncChat(MODELS[client], base_url=base_url(server, client), retry=None, **options)


def posted(
    server: GatewayServer,
    client: str,
    changes: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    *,
    path: str = "",
    content: bytes | None = None,
) -> httpx.Response:
    """The response to a raw request in the format of an API, as its clients send it."""
    body = {**BODIES[client], **(changes or {})}
    own = {"anthropic-version": "2023-06-01"} if client == "anthropic" else {}
    # A client with `verify` loads all certificates of the machine.
    with httpx.Client(verify=False, trust_env=False, timeout=30) as http:
        return http.post(
            server.url + (path or PATHS[client]),
            content=json.dumps(body) if content is None else content,
            headers={"content-type": "application/json", **own, **(headers or {})},
        )


def got(server: GatewayServer, path: str, headers: dict[str, str]) -> Any:
    """The JSON of the response to a GET."""
    with httpx.Client(verify=False, trust_env=False, timeout=30) as http:
        return http.get(server.url + path, headers=headers).json()


def message_of(client: str, response: httpx.Response) -> str:
    """The message in the error body of a vendor."""
    if client == "converse":
        assert response.headers["x-amzn-errortype"]
        return str(response.json()["message"])
    if client == "ollama":
        return str(response.json()["error"])
    error: dict[str, Any] = response.json()["error"]
    text: str = error["message"]
    if client == "gemini":
        assert error["code"] == response.status_code
    if client == "anthropic":
        assert response.json()["type"] == "error"
    return text
