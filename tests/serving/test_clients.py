"""Clients of each API on a model of each vendor: the emulator is strict on both sides."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest

from tests.joined import joined
from tests.serving.running import ECHO, MODELS, chat, gateway
from wire import AsyncChat, Media, Message, ToolResult
from wire.errors import OverloadedError
from wire.neutral.messages import Reply, TextDelta
from wire.testing.emulator import Emulator, Outage

QUESTION = "What is the weather in Paris and in Oslo?"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
EACH = pytest.mark.parametrize("model", MODELS)
CLIENTS = pytest.mark.parametrize("client", MODELS)


class City(msgspec.Struct):
    city: str


def get_weather(city: str) -> str:
    """Weather of a city."""
    raise NotImplementedError


async def replied(asker: AsyncChat, messages: list[Message], *, streams: bool) -> Reply:
    # gpt-4o has no effort: as a backend's setting it is left out, as a client's it is refused.
    effort = None if asker.provider == "openai@chat" else "high"
    if not streams:
        return await asker.ask(messages=messages, tools=[get_weather], effort=effort)
    async with asker.stream(messages=messages, tools=[get_weather], effort=effort) as events:
        return await events.reply()


async def tool_loop(asker: AsyncChat, *, streams: bool) -> tuple[list[Message], Reply]:
    messages = [Message.user(QUESTION)]
    first = await replied(asker, messages, streams=streams)
    assert [call.arguments for call in first.tool_calls] == [{"city": "Paris"}, {"city": "Oslo"}]
    assert first.stop.reason == "tool_calls"
    results = [ToolResult(call.id, call.name, "sunny") for call in first.tool_calls]
    messages += [first.message, Message.tool_response(results)]
    return messages, await replied(asker, messages, streams=streams)


@EACH
@CLIENTS
def test_streams(client: str, model: str) -> None:
    emulator = Emulator()

    async def main() -> None:
        with gateway(model, emulator) as server:
            async with chat(server, client) as asker:
                async with asker.stream("Hi", system="Be brief.") as events:
                    texts = [event.text async for event in events if isinstance(event, TextDelta)]
                    reply = await events.reply()
                assert "".join(texts) == reply.text == f"{ECHO}Hi"
                assert len(texts) > 2
                assert reply.stop.reason == "end"
                # An answer of Converse names no model.
                served = MODELS[model].partition(":")[2]
                assert reply.model == ("" if client == "converse" else served)
                assert reply.usage is not None
                assert reply.usage.input > 0 < reply.usage.output
                _, answer = await tool_loop(asker, streams=True)
                assert answer.text.startswith('Your tool get_weather says {"result": "sunny"} and')
                async with asker.stream("Where is Oslo?", output=City) as events:
                    assert (await events.reply()).output == City("Oslo")
                image = Media(data=PNG, media_type="image/png")
                async with asker.stream([image, "What is it?"]) as events:
                    assert (await events.reply()).text == f"{ECHO}What is it?"
                emulator.outage = Outage()
                with pytest.raises(OverloadedError) as caught:
                    async with asker.stream("Hi"):
                        pass
                assert caught.value.status == 503

    asyncio.run(main())
    # The backend is as strict as its vendor, and refused nothing.
    assert [each["status"] for each in emulator.requests] == [200, 200, 200, 200, 200, 503]


@joined(("client", "model"), [*itertools.pairwise([*MODELS, "gemini"])])
def test_whole_replies(client: str, model: str) -> None:
    emulator = Emulator()

    async def main() -> None:
        with gateway(model, emulator) as server:
            async with chat(server, client) as asker:
                reply = await asker.ask("Hi")
                assert (reply.text, reply.stop.reason) == (f"{ECHO}Hi", "end")
                assert reply.usage is not None
                assert reply.usage.input > 0 < reply.usage.output
                _, answer = await tool_loop(asker, streams=False)
                assert answer.text.startswith('Your tool get_weather says {"result": "sunny"} and')
                assert (await asker.ask("Where is Oslo?", output=City)).output == City("Oslo")
                emulator.outage = Outage()
                with pytest.raises(OverloadedError):
                    await asker.ask("Hi")

    asyncio.run(main())
    assert [each["status"] for each in emulator.requests] == [200, 200, 200, 200, 503]


@CLIENTS
def test_a_model_of_the_clients_own_vendor_gets_its_signatures_from_a_gateway_of_another_time(
    client: str,
) -> None:
    """What a client holds of the conversation suffices, where its vendor has an opaque field."""
    emulator = Emulator()

    async def main() -> list[str]:
        with gateway("gemini", emulator) as server:
            async with chat(server, client) as asker:
                messages, _ = await tool_loop(asker, streams=True)
        with gateway("gemini", emulator) as server:
            async with chat(server, client) as asker:
                reply = await replied(asker, messages, streams=False)
        assert reply.text.startswith("Your tool")
        parts = emulator.requests[-1]["body"]["contents"][1]["parts"]
        return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]

    [signature] = asyncio.run(main())
    given = [part for part in _calls_of(emulator) if part == signature]
    assert bool(given) == (client not in ("chat", "ollama"))


def _calls_of(emulator: Emulator) -> list[str]:
    """The signature that went back in the first conversation, which the server has made."""
    parts = emulator.requests[1]["body"]["contents"][1]["parts"]
    return [part["thoughtSignature"] for part in parts if "thoughtSignature" in part]
