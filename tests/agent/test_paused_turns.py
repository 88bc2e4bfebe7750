"""Turns that the host pauses: the agent sends the message back, and the model goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.agents import Talk, talk
from tests.joined import joined
from wire.agent import RunResult
from wire.neutral.messages import Message, ServerToolCall, ServerToolResult, Text, ToolCall
from wire.sessions import dump_session, load_session

STYLES = ["asyncio", "trio", "threads"]
MODEL = "anthropic:claude-sonnet-5"
SEARCH = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "tides of Brest"},
}
FOUND = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [
        {
            "type": "web_search_result",
            "url": "https://tides.example/brest",
            "title": "Tides",
            "encrypted_content": "b3BhcXVl",
        }
    ],
}
TOOLS = {"anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}}
CHAT = {"options": TOOLS}


def paused(*blocks: Any) -> dict[str, Any]:
    return {"answer": {"content": list(blocks), "stop_reason": "pause_turn"}}


def run(style: str, *script: Any, run: dict[str, Any] | None = None, **options: Any) -> Talk:
    return talk(
        style, list(script), "When is high tide?", model=MODEL, chat=CHAT, run=run, **options
    )


@joined("stream", [False, True], ids=["whole", "streamed"])
@joined("style", STYLES)
def test_a_paused_turn_goes_on(style: str, stream: bool) -> None:
    text = {"type": "text", "text": "I look."}
    ended = {"answer": {"content": [FOUND, {"type": "text", "text": " At six."}]}}
    said = run(style, paused(text, SEARCH), ended, run={"stream": stream})
    first, second = said.bodies
    assert second["messages"] == [
        *first["messages"],
        {"role": "assistant", "content": [text, SEARCH]},
    ]
    result = said.result
    assert [step.reply.stop.reason for step in result.steps] == ["pause", "end"]
    assert (result.reason, result.state.asked, result.text) == ("end", 2, "I look. At six.")
    assert result.usage.total == sum(step.reply.usage.total for step in result.steps)
    # One turn is one message of the history, with the bytes of each block.
    assert [message.role for message in said.history] == ["user", "assistant"]
    assert [type(part) for part in said.history[-1].parts] == [
        Text,
        ServerToolCall,
        ServerToolResult,
        Text,
    ]
    assert load_session(dump_session(said.history)).messages == said.history
    assert sum(delta.response is not None for delta in said.deltas) == 2 * stream


@pytest.mark.parametrize("style", STYLES)
def test_a_history_with_a_paused_turn_goes_back_as_it_came(style: str) -> None:
    ended = {"answer": {"content": [FOUND, {"type": "text", "text": "At six."}]}}
    said = talk(
        style, [paused(SEARCH), ended, {"say": "Good."}], "When?", "Thanks.", model=MODEL, chat=CHAT
    )
    assert said.bodies[-1]["messages"][1] == {
        "role": "assistant",
        "content": [SEARCH, FOUND, {"type": "text", "text": "At six."}],
    }


@pytest.mark.parametrize("style", STYLES)
def test_each_pause_counts_as_a_step(style: str) -> None:
    said = run(style, {**paused(SEARCH), "times": 0}, run={"max_steps": 3})
    assert (said.result.reason, len(said.bodies)) == ("max_steps", 3)
    assert [step.reply.stop.reason for step in said.result.steps] == ["pause"] * 3
    assert len(said.result.messages) == 1


@pytest.mark.parametrize("style", STYLES)
def test_calls_of_a_paused_turn_run_first(style: str) -> None:
    def tide(port: str) -> str:
        """When the tide is high."""
        return f"six at {port}"

    call = {"type": "tool_use", "id": "toolu_1", "name": "tide", "input": {"port": "Brest"}}
    said = run(style, paused(SEARCH, FOUND, call), {"say": "At six."}, tools=[tide])
    assert said.result.text == "At six."
    assert [message.role for message in said.result.messages] == ["assistant", "tool", "assistant"]
    assert isinstance(said.result.messages[0].parts[-1], ToolCall)


def resumed(style: str) -> tuple[RunResult, RunResult, list[Any]]:
    """A run that stops at a pause, and the same run resumed."""
    import anyio

    from wire.agent import Agent, LLMAgent
    from wire.chat.chat import AsyncChat, Chat
    from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

    script: list[Any] = [paused(SEARCH), {"say": "At six."}]
    emulator = Emulator(script, lenient=True)
    options: dict[str, Any] = {"api_key": "fake-key", **CHAT}
    if style == "threads":
        with Agent(Chat(MODEL, http=EmulatorTransport(emulator), **options)) as agent:
            stopped = agent.run("When?", max_steps=1)
            return stopped, agent.resume(stopped.state), emulator.requests

    async def main() -> tuple[RunResult, RunResult]:
        chat = AsyncChat(MODEL, http=AsyncEmulatorTransport(emulator), **options)
        async with chat, LLMAgent(chat) as agent:
            stopped = await agent.run("When?", max_steps=1)
            return stopped, await agent.resume(stopped.state)

    return *anyio.run(main, backend=style), emulator.requests


@pytest.mark.parametrize("style", STYLES)
def test_a_run_that_stopped_at_a_pause_is_resumed(style: str) -> None:
    stopped, ended, requests = resumed(style)
    assert (stopped.reason, ended.reason, ended.text) == ("max_steps", "end", "At six.")
    assert requests[-1]["body"]["messages"][-1] == {"role": "assistant", "content": [SEARCH]}


@pytest.mark.parametrize("style", STYLES)
def test_an_agent_continues_a_message_of_its_caller(style: str) -> None:
    begun = Message.assistant("At")
    said = talk(
        style,
        [{"say": "Six."}, {"say": " six."}],
        "When?",
        begun,
        model="anthropic:claude-haiku-4-5",
    )
    texts = [{"type": "text", "text": text} for text in ("Six.", "At")]
    assert said.bodies[-1]["messages"][-1] == {"role": "assistant", "content": texts}
    assert [message.text for message in said.result.messages] == [" six."]
