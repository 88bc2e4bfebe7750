"""The gateway before llama.cpp: clients of each API get what the real model says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from tests.real.test_llama import MODEL, QUESTION
from tests.real.test_neutral import get_forecast
from tests.serving.running import MODELS, chat
from wire import AsyncChat, Message, Reply, ToolResult
from wire.gateway import Gateway, GatewayServer, serve
from wire.neutral.messages import TextDelta

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]


@pytest.fixture
def gateway(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayServer]:
    monkeypatch.delenv("LLAMA_CPP_API_KEY", raising=False)
    backend = AsyncChat(f"llama.cpp:{MODEL}", base_url=f"{server}/v1", timeouts=300, retry=None)
    with serve(Gateway(backend)) as running:
        yield running


@pytest.mark.parametrize("client", MODELS)
def test_a_question_whole_and_in_pieces(gateway: GatewayServer, client: str) -> None:
    async def main() -> tuple[Reply, list[str], Reply]:
        async with chat(gateway, client, timeouts=300) as asker:
            whole = await asker.ask("Hi", max_tokens=16)
            async with asker.stream("Hi", max_tokens=16) as events:
                texts = [event.text async for event in events if isinstance(event, TextDelta)]
                return whole, texts, await events.reply()

    whole, texts, streamed = asyncio.run(main())
    assert whole.text
    assert "".join(texts) == streamed.text
    for reply in (whole, streamed):
        assert reply.stop.reason in ("length", "end")
        assert reply.usage is not None
        assert reply.usage.input > 0
        assert 0 < reply.usage.output <= 16


@pytest.mark.parametrize("client", MODELS)
def test_a_tool_loop(gateway: GatewayServer, client: str) -> None:
    async def main() -> tuple[Reply, Reply]:
        async with chat(gateway, client, timeouts=300) as asker:
            messages = [Message.user(QUESTION)]
            # Required, since a small model that samples may answer without a call.
            async with asker.stream(
                messages=messages, tools=[get_forecast], tool_choice="required", max_tokens=60
            ) as events:
                first = await events.reply()
            results = [ToolResult(call.id, call.name, "clear") for call in first.tool_calls]
            messages += [first.message, Message.tool_response(results)]
            last = await asker.ask(messages=messages, tools=[get_forecast], max_tokens=16)
            return first, last

    first, last = asyncio.run(main())
    assert first.tool_calls[0].name == "get_forecast"
    assert first.tool_calls[0].arguments is not None
    assert last.usage is not None
