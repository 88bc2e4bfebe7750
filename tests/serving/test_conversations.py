"""Conversations of one gateway whose calls have equal ids, names and arguments at the backend."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import pytest

from tests.serving.running import BODIES, PATHS
from wire import AsyncChat
from wire.gateway import Gateway
from wire.testing.emulator.answer import LiveAnswer

_STYLES = ("gemini", "chat", "responses", "previous", "anthropic")
"""APIs of clients; `previous` is Responses with the id of the last response."""
_ID = "functions.f:0"
_STREAM = "data: {}\n\ndata: [DONE]\n\n"
_HEADERS = {"anthropic": [("anthropic-version", "2023-06-01")]}
_IDS = {
    "gemini": r'"args":\{\},"id":"([^"]+)"',
    "chat": r'"id":"([^"]+)","type":"function"',
    "responses": r'"call_id":"([^"]+)"',
    "anthropic": r'"type":"tool_use","id":"([^"]+)"',
}
_LEGAL = {
    "gemini": r"[\w.:-]{1,64}",
    "chat": r"call_\w{1,35}",
    "responses": r"call_\w{1,35}",
    "anthropic": r"toolu_[a-zA-Z0-9_-]+",
}


class Kimi(httpx.AsyncBaseTransport):
    """A host that gives each call the same id. The results of calls name the conversation."""

    def __init__(self) -> None:
        self.begun = 0
        self.mixed: list[Any] = []
        """Assistant messages of another conversation, or without their thoughts."""
        self.turns: Counter[int] = Counter()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(await request.aread())
        own = [each for each in body["messages"] if each["role"] == "assistant"]
        results = [each for each in body["messages"] if each["role"] == "tool"]
        if results:
            conversation = results[0]["content"]
        else:
            conversation, self.begun = str(self.begun), self.begun + 1
        sent = [
            (each.get("reasoning_content"), each["tool_calls"][0]["id"], result["tool_call_id"])
            for each, result in zip(own, results, strict=True)
        ]
        if sent != [(f"{conversation}.{turn}", _ID, _ID) for turn in range(len(results))]:
            self.mixed.append((conversation, sent))
        self.turns[len(results)] += 1
        function = {"name": "f", "arguments": "{}"}
        call = {"index": 0, "id": _ID, "type": "function", "function": function}
        message = {
            "role": "assistant",
            "content": "",
            "reasoning_content": f"{conversation}.{len(results)}",
            "tool_calls": [call],
        }
        key = "delta" if body.get("stream") else "message"
        choice = {"index": 0, key: message, "finish_reason": "tool_calls"}
        text = json.dumps({"id": "c", "model": "k", "created": 1, "choices": [choice]})
        if body.get("stream"):
            headers = {"content-type": "text/event-stream"}
            return httpx.Response(200, headers=headers, text=_STREAM.format(text))
        return httpx.Response(200, headers={"content-type": "application/json"}, text=text)


def tools(api: str) -> list[Any]:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    given: dict[str, list[Any]] = {
        "gemini": [{"functionDeclarations": [{"name": "f", "description": "F."}]}],
        "chat": [{"type": "function", "function": {"name": "f", "parameters": schema}}],
        "responses": [{"type": "function", "name": "f", "parameters": schema}],
        "anthropic": [{"name": "f", "input_schema": schema}],
    }
    return given[api]


def turn(api: str, id: str, result: str) -> list[dict[str, Any]]:
    """A call and its result, as a client sends them that drops all other fields."""
    call: dict[str, Any]
    if api == "gemini":
        call = {"functionCall": {"name": "f", "args": {}, "id": id}}
        response = {"functionResponse": {"name": "f", "id": id, "response": {"result": result}}}
        return [{"role": "model", "parts": [call]}, {"role": "user", "parts": [response]}]
    if api == "chat":
        call = {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        return [
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": id, "content": result},
        ]
    if api == "responses":
        return [
            {"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": id, "output": result},
        ]
    use = {"type": "tool_use", "id": id, "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": id, "content": result}
    return [{"role": "assistant", "content": [use]}, {"role": "user", "content": [answer]}]


class Client:
    """One conversation of a client that keeps nothing but the ids of calls and responses."""

    def __init__(self, gateway: Gateway, number: int) -> None:
        style = _STYLES[number % len(_STYLES)]
        self.continues = style == "previous"
        self.api = "responses" if self.continues else style
        self.streams = number // len(_STYLES) % 2 == 1
        self.number, self.gateway = number, gateway
        self.ids: list[str] = []
        self.response = ""

    async def ask(self) -> None:
        body = self.body()
        path = PATHS[self.api]
        if self.streams and self.api == "gemini":
            path = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
        elif self.streams:
            body["stream"] = True
        content = json.dumps(body).encode()
        answer = await self.gateway.respond("POST", path, _HEADERS.get(self.api, ()), content)
        if isinstance(answer, LiveAnswer):
            received = b"".join([piece async for piece in answer.pieces])
        else:
            received = answer.body
        assert answer.status == 200, received
        ids = set(re.findall(_IDS[self.api], re.sub(r'([:,]) "', r'\1"', received.decode())))
        assert len(ids) == 1, received
        self.ids += ids
        if self.continues:
            self.response = re.findall(r'"id": ?"(resp_[^"]+)"', received.decode())[0]

    def body(self) -> dict[str, Any]:
        key = {"gemini": "contents", "responses": "input"}.get(self.api, "messages")
        body = {**BODIES[self.api], "tools": tools(self.api)}
        turns = [each for id in self.ids for each in turn(self.api, id, str(self.number))]
        if self.response:
            return {**body, "previous_response_id": self.response, key: turns[-1:]}
        first = body[key] if isinstance(body[key], list) else [{"role": "user", "content": "Hi"}]
        return {**body, key: [*first, *turns]}


async def conversed(turns: int, numbers: Sequence[int]) -> tuple[Kimi, Mapping[int, Client]]:
    """The host after `turns` of conversations that all begin before any goes on."""
    host = Kimi()
    backend = AsyncChat("kimi:kimi-k2-thinking", http=host, api_key="fake-key", retry=None)
    gateway = Gateway(backend)
    clients = {number: Client(gateway, number) for number in numbers}
    for each in clients.values():
        await each.ask()  # one after the other: the host counts them
    order = list(clients.values()) * (turns - 1)
    random.Random(7).shuffle(order)
    waiting = {client.number: asyncio.Lock() for client in order}

    async def go_on(client: Client) -> None:
        async with waiting[client.number]:
            await client.ask()

    for start in range(0, len(order), 50):
        await asyncio.gather(*map(go_on, order[start : start + 50]))
    await gateway.aclose()
    return host, clients


@pytest.mark.parametrize("many", [100, pytest.param(1000, marks=pytest.mark.slow)])
def test_conversations_with_equal_ids_do_not_get_each_others_thoughts(many: int) -> None:
    host, clients = asyncio.run(conversed(2, range(many)))
    assert host.mixed == []
    assert host.turns == {0: many, 1: many}
    ids = [id for client in clients.values() for id in client.ids]
    assert len(set(ids)) == len(ids) == 2 * many
    wrong = [
        (client.api, id)
        for client in clients.values()
        for id in client.ids
        if not re.fullmatch(_LEGAL[client.api], id)
    ]
    assert wrong == []


def test_calls_with_equal_ids_in_one_conversation_keep_their_own_thoughts() -> None:
    host, clients = asyncio.run(conversed(4, range(2 * len(_STYLES))))
    assert host.mixed == []
    assert host.turns == dict.fromkeys(range(4), len(clients))
