"""Bodies that are no request: the client gets the 400 of its vendor, and the others are served."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from tests.joined import joined
from wire import AsyncChat
from wire.serving import Gateway
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
from wire.testing.emulator.answer import Answer

GOOD: dict[str, tuple[str, dict[str, Any], str]] = {
    "gemini": (
        "/v1beta/models/m:generateContent",
        {"contents": [{"parts": [{"text": "Hi"}]}]},
        "x-goog-api-key",
    ),
    "chat": (
        "/v1/chat/completions",
        {"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
        "authorization",
    ),
    "responses": (
        "/v1/responses",
        {"model": "m", "input": [{"role": "user", "content": "Hi"}]},
        "authorization",
    ),
    "anthropic": (
        "/v1/messages",
        {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
        "x-api-key",
    ),
}
"""Path, body and header of the key of each client."""
LISTS = {
    "gemini": "contents",
    "chat": "messages",
    "responses": "input",
    "anthropic": "messages",
}
DEEP = b"[" * 100_000 + b"]" * 100_000


def spoiled(client: str, value: bytes) -> bytes:
    """The good body with another value in place of its text."""
    return json.dumps(GOOD[client][1]).encode().replace(b'"Hi"', value)


def answered(client: str, body: bytes) -> tuple[Answer, Answer]:
    """The answer to a body, and to a good one that came at the same time."""
    path, good, key = GOOD[client]
    headers = [(key, "Bearer fake"), ("content-type", "application/json")]

    async def run() -> tuple[Answer, Answer]:
        backend = AsyncEmulatorTransport(Emulator([{"say": "Ebb."}] * 2))
        gateway = Gateway(AsyncChat("anthropic:claude-sonnet-5", api_key="k", http=backend))
        both = await asyncio.gather(
            gateway.respond("POST", path, headers, body),
            gateway.respond("POST", path, headers, json.dumps(good).encode()),
        )
        await gateway.aclose()
        assert all(isinstance(each, Answer) for each in both)
        return both  # type: ignore[return-value]

    return asyncio.run(run())


def message_of(client: str, answer: Answer) -> str:
    """The message of the error, in the form of the client's vendor."""
    error = json.loads(b"".join(answer.pieces))["error"]
    kinds = {"gemini": ("status", "INVALID_ARGUMENT")}
    key, kind = kinds.get(client, ("type", "invalid_request_error"))
    assert error[key] == kind
    return str(error["message"])


@joined("client", GOOD)
def test_a_body_that_is_no_request(client: str) -> None:
    texts = {
        b"null": "got `null`",
        b"[]": "got `array`",
        b"{": "JSON",
        b"": "JSON",
        b"x" * (50 << 20): "JSON",
        DEEP: "deep",
        spoiled(client, DEEP): "deep",
        spoiled(client, b'"\xff"'): "JSON",
        spoiled(client, b"5"): "[0]",
        json.dumps({**GOOD[client][1], LISTS[client]: 5}).encode(): LISTS[client],
    }
    for body, text in texts.items():
        answer, other = answered(client, body)
        assert (answer.status, other.status) == (400, 200), body[:80]
        assert text in message_of(client, answer), body[:80]


@joined("client", GOOD)
def test_half_a_surrogate_pair(client: str) -> None:
    """Google's server replaces it, the others cannot decode the body."""
    answer, other = answered(client, spoiled(client, rb'"\ud83d"'))
    assert other.status == 200
    if client == "gemini":
        assert answer.status == 200
    else:
        assert answer.status == 400
        assert "JSON" in message_of(client, answer)
