"""Notes of agents on beginnings that changed, and what the unread caches cost."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest

from wire import Agent, Chat, HistoryManager, Message, Request, Tool, ToolCall
from wire.agent import RunResult
from wire.anthropic.parse import parse_reply
from wire.anthropic.reader import parse_message
from wire.chat.cache_health import CacheHealth
from wire.history import Beginning, Compacted, first_change
from wire.neutral.messages import Origin, Reply, Stop, Text, Thought, ToolResult, with_origin
from wire.openai.responses import parse as responses
from wire.openai.responses.reader import parse_response
from wire.testing.emulator import Emulator, EmulatorTransport

CLAUDE = "anthropic:claude-opus-5"
LONG = "word " * 5_000
TALK = (Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?"))
CALL = Message.assistant(ToolCall(id="1", name="a"))
LOOK, HEAR = Tool("look", "Look."), Tool("hear", "Hear.")


def request(*messages: Message, **fields: Any) -> Request:
    return Request(messages=messages, **fields)


@pytest.mark.parametrize(
    ("before", "now", "path"),
    [
        (request(*TALK), request(*TALK), ""),
        (request(*TALK), request(*TALK, Message.assistant("Fine."), Message.user("Bye")), ""),
        (request(*TALK), request(*TALK[1:]), "messages[0]"),
        (request(*TALK), request(*TALK[:2]), "messages[2]"),
        (request(*TALK), request(Message.user("Ho"), *TALK[1:]), "messages[0].parts[0]"),
        (request(*TALK, tools=(LOOK,)), request(*TALK, tools=(LOOK, HEAR)), "tools[1]"),
        (request(*TALK, tools=(LOOK, HEAR)), request(*TALK, tools=(HEAR,)), "tools[0]"),
        (
            request(*TALK, tools=(HEAR, LOOK)),
            request(*TALK, tools=(HEAR, Tool("look", "See."))),
            "tools[1].description",
        ),
        (request(*TALK, system="A"), request(*TALK, system="B"), "system"),
        # Tools come before the system prompt, and that before the messages.
        (request(*TALK, system="A"), request(*TALK[1:], system="B", tools=(LOOK,)), "tools[0]"),
        (
            request(*TALK[:2], Message.user([Text("a"), Text("b")])),
            request(*TALK[:2], Message.user([Text("a"), Text("c")])),
            "messages[2].parts[1]",
        ),
        # A last message that got more parts goes on.
        (
            request(
                Message.assistant(ToolCall(id="1", name="a")),
                Message("tool", (ToolResult("1", "a"),)),
            ),
            request(
                CALL,
                Message("tool", (ToolResult("1", "a"), ToolResult("2", "b"))),
            ),
            "",
        ),
    ],
)
def test_the_first_change_is_named(before: Request, now: Request, path: str) -> None:
    assert first_change(before, now) == path


def agent_of(model: str, emulator: Emulator, **options: Any) -> Agent:
    chat = Chat(model, api_key="fake-key", http=EmulatorTransport(emulator), max_tokens=99)
    return Agent(chat, **options)


def notes_of(result: RunResult) -> list[str]:
    assert result.reply is not None
    return [str(note) for note in result.reply.notes]


@pytest.mark.parametrize("model", [CLAUDE, "openai@responses:gpt-5.6", "openai@chat:gpt-5.6"])
def test_a_changed_beginning_is_noted_with_what_was_not_read(model: str) -> None:
    agent = agent_of(model, Emulator([{"say": "Fine."}] * 4), system_prompt=LONG, caching="auto")
    first, second = agent.run("Hi"), agent.run("And now?")
    assert notes_of(first) == notes_of(second) == []
    assert second.reply is not None
    assert second.reply.usage is not None
    cached = second.reply.usage.cached + second.reply.usage.cache_written
    assert cached > 5_000
    agent.system_prompt = "Now. " + LONG
    third = agent.run("Why?")
    [note] = notes_of(third)
    lost = third.cache_lost.tokens
    assert (
        note
        == f"system: changed since the last request: {lost:,} tokens of its cache were not read"
    )
    assert lost == cached  # nothing of it was read
    assert (first.cache_lost.tokens, second.cache_lost.tokens) == (0, 0)
    fourth = agent.run("And then?")
    assert (notes_of(fourth), fourth.cache_lost.tokens) == ([], 0)


def test_the_loss_in_usd_is_the_difference_of_the_prices() -> None:
    agent = agent_of(CLAUDE, Emulator([{"say": "Fine."}] * 2), system_prompt=LONG, caching="auto")
    agent.run("Hi")
    agent.register_tool(Tool("look", "Look."))
    result = agent.run("And now?")
    # The catalogue's prices of claude-opus-5: 5 USD for a million of tokens, 0.50 from the cache.
    tokens = result.cache_lost.tokens
    assert result.cache_lost.cost == Decimal("4.5") * tokens / 1_000_000
    assert notes_of(result)[0].startswith("tools[0]: changed")


def test_a_pruned_history_is_noted_at_its_first_message() -> None:
    history = HistoryManager(max_messages=2)
    emulator = Emulator([{"say": "Fine."}] * 3)
    agent = agent_of(CLAUDE, emulator, history=history, caching="auto")
    agent.run(LONG)
    result = agent.run("And now?")
    assert [note.partition(": changed")[0] for note in notes_of(result)] == ["messages[0].parts[0]"]
    assert result.cache_lost.tokens > 5_000


def test_a_summary_is_a_change_on_purpose() -> None:
    script = [{"match": {"text": "Summarise this"}, "times": 99, "say": "They met."}]
    emulator = Emulator([*script, *[{"say": "Fine."}] * 9])
    agent = agent_of("openai@chat:gpt-5.6", emulator, caching="auto", compaction=8_000)
    results = [agent.run(LONG) for _ in range(5)]
    assert sum(len(each.compactions) for each in results) > 0
    assert [notes_of(each) for each in results] == [[]] * 5
    assert [each.cache_lost.tokens for each in results] == [0] * 5


# --- thoughts that a model reads only behind what they were made after ----------------------------


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("anthropic:claude-fable-5-1", True),
        ("anthropic:claude-opus-5-5", True),
        ("anthropic:claude-opus-5", False),
    ],
)
def test_pruning_that_may_cost_thoughts_is_told(model: str, told: bool) -> None:
    thoughtful = {"say": {"text": "Fine.", "thoughts": "Hm."}}
    agent = agent_of(model, Emulator([thoughtful] * 4), history=HistoryManager(max_messages=4))
    for turn in range(3):
        result = agent.run(f"And now, {turn}?")
    notes = [each for each in notes_of(result) if "may be lost" in each]
    assert len(notes) == told
    if told:
        assert notes[0].startswith("messages[0].parts[0]: changed since the last request: claude-")
        assert "the thoughts of 1 message may be lost" in notes[0]


def test_a_summary_of_the_agent_that_may_cost_thoughts_is_told() -> None:
    """At a host that does not compact itself."""
    origin = Origin("openrouter@anthropic", "anthropic/claude-opus-5.5", "anthropic", None)
    said = with_origin(Message("assistant", (Thought("Hm.", signature="s"), Text("Hi."))), origin)
    reply, health = Reply(said, Stop("end")), CacheHealth()
    health.replied(reply, Beginning((), "", (*TALK, said)), None)
    after = Reply(said, Stop("end"))
    summary = Compacted(3, "They met.")
    health.replied(after, Beginning((), "", summary.applied([*TALK, said, *TALK])), summary)
    [note] = after.notes
    assert str(note).startswith("messages[0].parts[0]: changed since the last request: ")
    assert "the thoughts of 1 message may be lost" in str(note)


def test_what_the_server_changed_in_a_request_is_noted() -> None:
    """The form is that of the guide "Preserved thinking", and of openai 3.54.0."""
    dropped = {
        "type": "thinking_dropped",
        "path": "messages.2.content.0",
        "reason": "prefix_binding_mismatch",
    }
    answer = {"content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn"}
    message = {**answer, "input_transformations": [dropped]}
    reply = parse_reply(parse_message(json.dumps(message).encode()))
    assert [str(note) for note in reply.notes] == [
        "messages.2.content.0: changed by the server: thinking_dropped, prefix_binding_mismatch"
    ]
    removed = {"id": "rs_1", "type": "reasoning", "action": "removed", "reason": "prefix_mismatch"}
    body = {"status": "completed", "output": [], "input_transformations": [removed]}
    response = responses.parse_reply(parse_response(json.dumps(body).encode()))
    assert [str(note) for note in response.notes] == [
        "rs_1: left out by the server: reasoning, prefix_mismatch"
    ]
