"""What a model of any provider does in one conversation each: used with the real providers, and
with the emulator, which shows that a good answer passes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import msgspec
import pytest

from wire import Agent, Chat, Media, Reply, errors
from wire.neutral.messages import TextDelta

UNKNOWN_MODEL = "no-such-model-4711"


class Person(msgspec.Struct):
    """A person."""

    name: str
    age: int


def get_weather(city: str) -> str:
    """The weather of a city."""
    return f"{city}: 17 degrees, sun"


def red_square() -> bytes:
    """A PNG of 64 by 64 red pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff\0\0" * 64) * 64)
    return b"".join(
        (b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", header), chunk(b"IDAT", rows), chunk(b"IEND", b""))
    )


def text(chat: Chat) -> None:
    reply = chat.ask("Say hello in one sentence.")
    _check_text(reply)


def stream(chat: Chat) -> None:
    with chat.stream("Write a haiku.") as events:
        texts = [event.text for event in events if isinstance(event, TextDelta)]
        reply = events.reply()
    assert "".join(texts) == reply.text
    _check_text(reply)


def parallel_tools(chat: Chat) -> None:
    agent = Agent(chat, tools=[get_weather])
    run = agent.run("How is the weather in San Francisco and in New York? Ask for both at once.", 4)
    asked = [call.arguments for message in run.messages for call in message.tool_calls]
    assert len(asked) >= 2
    assert 2 <= len(run.steps) <= 4  # at most three rounds of calls, then the answer
    assert run.reason == "end"
    assert "17" in str(run)


def image(chat: Chat) -> None:
    picture = Media(data=red_square(), media_type="image/png")
    reply = chat.ask(["Which colour is this? Answer in one word.", picture])
    assert "red" in reply.text.lower()


def structured_output(chat: Chat) -> None:
    reply = chat.ask("Extract: Alice is 30 years old.", output=Person)
    assert reply.output == Person("Alice", 30)


def unknown_model(chat: Chat) -> None:
    with (
        Chat(f"{chat.provider}:{UNKNOWN_MODEL}", client=chat.client, max_tokens=99) as other,
        pytest.raises(errors.NotFoundError),
    ):
        other.ask("Hi")


SMOKE_TESTS: tuple[Callable[[Chat], None], ...] = (
    text,
    stream,
    parallel_tools,
    image,
    structured_output,
    unknown_model,
)


def _check_text(reply: Reply) -> None:
    assert reply.text.strip()
    assert reply.stop.reason == "end"
    assert reply.usage is not None
    assert reply.usage.input > 0
    assert reply.usage.output > 0
