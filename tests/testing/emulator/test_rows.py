"""Every provider of `wire.providers` answers through the transports of the emulator."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.joined import joined
from tests.testing.emulator.response_asks import TEXT
from wire import AsyncChat, Chat, Client
from wire.openai.responses import ResponseRequest, stream_response
from wire.providers import PROVIDERS, Provider
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.testing.emulator.hosts import own_prefix, row_of, rows_of
from wire.testing.emulator.received import received
from wire.testing.emulator.routes import Route

MODELS = {
    "anthropic": "claude-sonnet-5",
    "azure": "gpt-5.4",
    "deepseek": "deepseek-chat",
    "gemini": "gemini-3.8-flash",
    "glm": "glm-5.3",
    "kimi": "kimi-k2.6",
    "minimax": "MiniMax-M3",
    "mistral": "mistral-small-latest",
    "openai": "gpt-5.4",
    "qwen": "qwen3.8-max",
    "xai": "grok-4-fast",
}
"""Family -> a model of it; other providers take any name."""
OWN = dict.fromkeys(("bedrock", "bedrock@invoke"), "us.anthropic.claude-sonnet-4-6")
OWN |= dict.fromkeys(("ollama", "ollama@cloud"), "qwen3:8b")
"""Row -> a model of it, where others of its family have other names."""


def options(row: Provider) -> dict[str, Any]:
    """What a client of this row needs beside a key."""
    values = {
        "project": "p",
        "location": "us-central1",
        "region": "us-west-2",
        "resource": "me",
        "workspace": "wrkspc_1",
        "account": "a",
    }
    more: dict[str, Any] = {name: values[name] for name in row.options}
    if row.name == "gemini@vertex" or not row.key_variable:
        return more | {"token": lambda: "fake-token"}
    return more


def model(row: Provider) -> str:
    return f"{row.name}:{OWN.get(row.name) or MODELS.get(row.family, 'some-model')}"


STREAMS_ONLY = "chatgpt@responses"
LISTS_MODELS = "bedrock@models"
ROWS = pytest.mark.parametrize(
    "row",
    [row for row in PROVIDERS.values() if row.name not in (STREAMS_ONLY, LISTS_MODELS)],
    ids=lambda row: row.name,
)


@ROWS
def test_a_row_answers_whole_and_in_pieces(row: Provider) -> None:
    emulator = Emulator()
    more = options(row)
    more |= {} if "token" in more else {"api_key": "fake"}
    with Chat(model(row), http=EmulatorTransport(emulator), **more) as chat:
        assert chat.ask("hi").text.endswith("You said: hi")
        with chat.stream("hi") as events:
            assert events.reply().text.endswith("You said: hi")
    assert [request["status"] for request in emulator.requests] == [200, 200]


def test_the_service_of_chatgpt_takes_streams_with_instructions_only() -> None:
    emulator = Emulator()
    asked = ResponseRequest(model="gpt-5.4", input="hi", instructions="Be brief.", store=False)
    http = EmulatorTransport(emulator)
    with (
        Client(STREAMS_ONLY, api_key="fake", http=http) as client,
        client.stream(stream_response(asked)) as events,
    ):
        message = events.result().output[-1]
    assert [part.text for part in message.content] == [TEXT]
    [request] = emulator.requests
    assert (request["target"], request["status"]) == ("/backend-api/codex/responses", 200)


@pytest.mark.anyio
@ROWS
async def test_a_row_answers_async(row: Provider) -> None:
    more = options(row)
    more |= {} if "token" in more else {"api_key": "fake"}
    async with AsyncChat(model(row), http=AsyncEmulatorTransport(), **more) as chat:
        assert (await chat.ask("hi")).text.endswith("You said: hi")


@joined("row", [row for row in PROVIDERS.values() if not row.key_required])
def test_a_self_hosted_server_needs_no_key(row: Provider) -> None:
    with Chat(model(row), http=EmulatorTransport()) as chat:
        assert chat.ask("hi").text.endswith("You said: hi")


@joined(
    "row",
    [row for wire in ("openai", "openai.responses", "anthropic") for row in rows_of(wire)],
    ids=lambda row: row.name,
)
def test_an_address_means_its_row(row: Provider) -> None:
    """So that each is asked with its own rules."""
    base = row.base_url
    body = json.dumps({"model": MODELS.get(row.family, "some-model")}).encode()
    request = received(1, "POST", f"{base}{row.prefix}/any", {}, body)
    route = Route("", prefix=urlsplit(base).path + row.prefix)
    assert row_of(request, route, row.wire) is row


@joined(
    "row",
    [row for row in rows_of("openai") if row.shape is None or not row.shape.paths],
    ids=lambda row: row.name,
)
def test_a_server_on_loopback_has_the_path_of_a_row(row: Provider) -> None:
    body = {"model": MODELS.get(row.family, "a/b"), "messages": [{"role": "user", "content": "hi"}]}
    path = f"{own_prefix(row)}/chat/completions"
    key = {"authorization": "Bearer fake"}
    answer = Emulator().answer("POST", path, key, json.dumps(body).encode())
    assert answer.status == 200, answer.body
