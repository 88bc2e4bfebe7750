"""Notes of chats with `caching=` on requests that began otherwise than those they go on from."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest

from wire import Agent, AsyncChat, Chat, Message, Reply
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

CLAUDE = "anthropic:claude-opus-5"
LONG = "word " * 5_000
CHANGED = "messages[0].parts[0]: changed since the last request: "


def chat_of(script: list[Any] | None = None, model: str = CLAUDE, **settings: Any) -> Chat:
    http = EmulatorTransport(Emulator(script or [{"say": "Fine."}] * 9))
    return Chat(model, api_key="fake-key", http=http, **settings)


def notes_of(reply: Reply) -> list[str]:
    return [str(note) for note in reply.notes if "changed since" in note.message]


def lost(before: Reply) -> str:
    assert before.usage is not None
    tokens = before.usage.cached + before.usage.cache_written
    assert tokens > 5_000
    return f"{tokens:,} tokens of its cache were not read"


def turn(chat: Chat, talk: list[Message], text: str, **settings: Any) -> Reply:
    """Ask in a list of messages that grows."""
    talk.append(Message.user(text))
    reply = chat.ask(messages=talk, **settings)
    talk.append(reply.message)
    return reply


@pytest.mark.parametrize("model", [CLAUDE, "openai@responses:gpt-5.6", "openai@chat:gpt-5.6"])
def test_a_changed_beginning_is_noted(model: str) -> None:
    chat, talk = chat_of(model=model, caching="auto"), list[Message]()
    assert notes_of(turn(chat, talk, LONG)) == []
    second = turn(chat, talk, "And now?")
    assert notes_of(second) == []
    talk[0] = Message.user("Today. " + LONG)
    assert notes_of(turn(chat, talk, "Why?")) == [CHANGED + lost(second)]
    assert notes_of(turn(chat, talk, "And then?")) == []


def test_a_changed_message_in_the_middle_is_named() -> None:
    chat, talk = chat_of(caching="auto"), list[Message]()
    turn(chat, talk, "Hi")
    turn(chat, talk, LONG)
    turn(chat, talk, LONG)
    talk[2] = Message.user("Other words. " + LONG)
    [note] = notes_of(turn(chat, talk, "Why?"))
    assert note.startswith("messages[2].parts[0]: changed since the last request: ")


def test_the_setting_of_one_request_counts() -> None:
    chat, talk = chat_of(), list[Message]()
    turn(chat, talk, LONG, caching="long")
    turn(chat, talk, "And now?")  # not compared, and not kept
    talk[0] = Message.user("Today. " + LONG)
    assert notes_of(turn(chat, talk, "Why?", caching="off")) == []
    [note] = notes_of(turn(chat, talk, "Why?", caching="long"))
    assert note.startswith(CHANGED)


def test_streams_and_async_chats_have_the_note() -> None:
    chat, talk = chat_of(caching="auto"), list[Message]()
    first = turn(chat, talk, LONG)
    talk[0] = Message.user("Today. " + LONG)
    with chat.stream(messages=[*talk, Message.user("Why?")]) as events:
        next(events)
        assert notes_of(events.partial()) == []
        assert notes_of(events.reply()) == [CHANGED + lost(first)]

    async def ask() -> Reply:
        http = AsyncEmulatorTransport(Emulator([{"say": "Fine."}] * 2))
        async with AsyncChat(CLAUDE, api_key="fake-key", http=http, caching="auto") as chat:
            reply = await chat.ask(LONG)
            changed = (Message.user("Today. " + LONG), reply.message, Message.user("Why?"))
            return await chat.ask(messages=changed)

    assert notes_of(anyio.run(ask)) == [CHANGED + lost(first)]


def test_answers_with_an_output_have_the_note() -> None:
    class City(msgspec.Struct):
        name: str

    chat = chat_of([{"say": '{"name": "Brest"}'}] * 2, caching="auto")
    first = chat.ask(LONG, output=City)
    assert first.output == City("Brest")
    changed = [Message.user("Today. " + LONG), first.message, Message.user("And now?")]
    reply = chat.ask(messages=changed, output=City)
    assert (reply.output, notes_of(reply)) == (City("Brest"), [CHANGED + lost(first)])


def test_other_conversations_are_not_compared() -> None:
    """Each has the same reply; two of them are asked in turns."""
    chat = chat_of([{"say": "Fine."}] * 30, caching="auto")
    talks: list[list[Message]] = [[], []]
    for number in range(6):
        assert notes_of(turn(chat, talks[number % 2], f"{number} {LONG}")) == []
    assert notes_of(chat.ask("Hi " + LONG)) == []
    # Rebuilt from texts, and so equal and not the same.
    again = [Message(each.role, each.parts) for each in talks[0]]
    assert notes_of(turn(chat, again, "And now?")) == []
    again[0] = Message.user("Today. " + LONG)
    [note] = notes_of(turn(chat, again, "And then?"))
    assert note.startswith(CHANGED)


def test_an_agent_tells_it_once_and_not_after_its_summary() -> None:
    agent = Agent(chat_of(caching="auto"), LONG)
    agent.run("Hi")
    agent.system_prompt = "Now. " + LONG
    result = agent.run("And now?")
    assert result.reply is not None
    [note] = notes_of(result.reply)
    assert note.startswith("system: changed since the last request: ")
    assert result.cache_lost.tokens > 5_000
    script = [{"match": {"text": "Summarise this"}, "times": 99, "say": "They met."}]
    chat = chat_of([*script, *[{"say": "Fine."}] * 9], "openai@chat:gpt-5.6", caching="auto")
    agent = Agent(chat, compaction=8_000)
    results = [agent.run(LONG) for _ in range(5)]
    assert sum(len(each.compactions) for each in results) > 0
    assert [notes_of(each.reply) for each in results if each.reply] == [[]] * 5
    assert [each.cache_lost.tokens for each in results] == [0] * 5
