"""A conversation that another wire began goes on here, and back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gemini.interactions.samples import NAME, SIGNED, THOUGHT, Player, whole
from wire import Chat, Message, ToolResult, notes
from wire.gemini.interactions.rules import SKIP, check
from wire.testing.emulator import EmulatorTransport


def high_tide(port: str) -> str:
    """The time of high tide in a port."""
    return "05:12"


def chat(model: str) -> Chat:
    own: Any = {"api_key": "fake-key", "http": EmulatorTransport(), "tools": [high_tide]}
    return Chat(model, **own)


@pytest.mark.parametrize(
    "other", ["gemini:gemini-3.8-flash", "openai:gpt-5.6", "anthropic:claude-sonnet-5"]
)
def test_a_turn_of_another_wire_goes_on_and_back(other: str) -> None:
    asked = Message.user("When is high tide in Brest?")
    with chat(other) as there, chat(NAME) as here:
        called = there.ask(messages=[asked])
        [call] = called.tool_calls
        result = Message.tool_response([ToolResult(call.id, call.name, "05:12")])
        history = [asked, called.message, result]
        handed = here.call(messages=history)
        body = json.loads(handed.body)
        assert check(body) == []
        assert [step["type"] for step in body["input"]][-3:] == [
            "thought", "function_call", "function_result"
        ]  # fmt: skip
        assert body["input"][-3]["signature"] == SKIP
        assert any("(I9)" in each.message for each in notes(handed))
        own = here.ask(messages=history)
        back = [*history, own.message, Message.user("And?")]
        assert there.ask(messages=back).text
        assert here.ask(messages=[*back[:-1], Message.user("And?")]).text


def test_a_thought_of_this_wire_goes_nowhere_else() -> None:
    http = Player(whole(THOUGHT, {"type": "model_output", "content": []}))
    with Chat(NAME, api_key="fake-key", http=http, retry=None) as here:
        reply = here.ask("Hi")
    for other in ("gemini:gemini-3.8-flash", "openai:gpt-5.6", "anthropic:claude-sonnet-5"):
        with chat(other) as there:
            call = there.call(messages=[Message.user("Hi"), reply.message, Message.user("And?")])
            assert SIGNED.encode() not in call.body
            assert notes(call)
