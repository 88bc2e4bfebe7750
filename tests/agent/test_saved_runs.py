"""Runs that are resumed: event by event, after an error, and after the process was killed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

import wire.http.aio
import wire.http.client
from tests.agent.agents import MODEL, talk
from wire.agent import Agent, AgentEvent, LLMAgent, RunResult, RunState
from wire.chat.chat import AsyncChat, Chat
from wire.core.retry import NONE
from wire.errors import ConfigurationError, ServerError
from wire.neutral.messages import Done, ToolResult
from wire.neutral.request import Tool
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import ToolRun, tool

STYLES = ["asyncio", "trio", "threads"]
PAGE = Path(__file__).parents[2] / "docs/guide/runs.md"


@tool(needs_approval=True)
def write(name: str) -> str:
    """Write a file."""
    return f"{name} written"


TOOLS = [write, Tool("ask_user", "Ask the user.")]


def resumed_stream(
    style: str, emulator: Emulator, *state: RunState, **options: Any
) -> tuple[list[AgentEvent], RunResult]:
    """The events and the result of `resume_stream` of a new agent."""

    async def main() -> tuple[list[AgentEvent], RunResult]:
        chat = AsyncChat(MODEL, api_key="fake-key", http=AsyncEmulatorTransport(emulator))
        async with LLMAgent(chat, tools=TOOLS) as agent:
            async with agent.resume_stream(*state, **options) as events:
                seen = [event async for event in events]
            return seen, events.result

    if style != "threads":
        return anyio.run(main, backend=style)
    chat = Chat(MODEL, api_key="fake-key", http=EmulatorTransport(emulator))
    with Agent(chat, tools=TOOLS) as agent:
        with agent.resume_stream(*state, **options) as events:
            seen = list(events)
        return seen, events.result


@pytest.mark.parametrize("style", STYLES)
def test_a_resumed_run_has_its_events_too(style: str) -> None:
    calls = [{"name": "write", "args": {"name": "a"}}, {"name": "ask_user", "args": {}}]
    state = talk(style, [{"say": {"calls": calls}}], "Hi", tools=TOOLS).result.state
    to_write, to_ask = state.open_calls
    emulator = Emulator([{"say": {"calls": calls[1:]}}])
    seen, result = resumed_stream(
        style,
        emulator,
        state,
        verdicts={to_write.id: "not now"},
        results=[ToolResult(to_ask.id, "ask_user", "blue")],
        max_steps=2,
    )
    run, *of_reply, done = seen
    assert isinstance(run, ToolRun)
    assert result.reply is not None
    assert (run.call, run.result.answer) == (to_write, {"error": "not now"})
    assert done == Done(result.reply)
    assert [each.answer for each in result.messages[1].tool_results] == [
        {"error": "not now"},
        {"result": "blue"},
    ]
    assert (result.reason, len(emulator.requests), len(of_reply)) == ("waiting", 1, 3)

    # A run that has ended is returned without a request and without events.
    ended = talk(style, [{"say": "Done."}], "Hi").result.state
    assert resumed_stream(style, emulator, ended) == ([], RunResult(state=ended))
    assert len(emulator.requests) == 1


# --- killed processes -----------------------------------------------------------------------------

KILLED = """

import os, sys
from wire.neutral.messages import Message, Reply, Stop, ToolCall

KILLED_AT, LOG = sys.argv[1:]


def at(place):
    with open(LOG, "a") as log:
        print(place, file=log)
    if place == KILLED_AT:
        os._exit(9)


def high_tide(port: str):
    at("in_the_tool")
    return "05:12"


class Model:
    def ask(self, *, messages, **settings):
        at(f"asked_by_{messages[-1].role}")
        if messages[-1].role == "user":
            call = ToolCall(id="c1", name="high_tide", arguments={"port": "Brest"})
            return Reply(Message.assistant(call), Stop("tool_calls"))
        (result,) = messages[-1].tool_results
        return Reply(Message.assistant(f"The tool: {result.answer}"), Stop("end"))

    stream = ask


print(main(Model(), Path("run.json")))
"""
"""What follows the program of the page: a model and a tool in which the process is killed."""


@pytest.mark.processes
def test_the_program_of_the_page_survives_being_killed_at_each_of_its_steps(
    tmp_path: Path,
) -> None:
    block = re.compile(r"^```python\n(from pathlib.*?)^if __name__", re.MULTILINE | re.DOTALL)
    (program,) = block.findall(PAGE.read_text("utf-8"))
    (tmp_path / "program.py").write_text(program + KILLED, "utf-8")
    log = tmp_path / "log"

    def start(killed_at: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "program.py", killed_at, str(log)],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PAGE.parents[2])},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.strip()

    assert start("asked_by_user") == (9, "")
    assert start("in_the_tool") == (9, "")
    assert start("asked_by_tool") == (9, "")
    error = "cancelled while it ran; it may have had effects"
    assert start("nowhere") == (0, f"The tool: {{'error': '{error}'}}")
    assert log.read_text("utf-8").split() == [
        "asked_by_user",
        "asked_by_user",
        "in_the_tool",
        "asked_by_tool",
        "asked_by_tool",
    ]


# --- an agent's chat and its history --------------------------------------------------------------


def test_a_turn_that_failed_is_asked_again_or_dropped() -> None:
    emulator = Emulator([{"say": "One."}, {"fault": "500"}, {"fault": "500"}, {"say": "Three."}])
    http = EmulatorTransport(emulator)
    with Agent(Chat(MODEL, api_key="fake-key", http=http, retry=NONE)) as agent:
        agent.run("First?")
        for question in ("Second?", None):
            with pytest.raises(ServerError):
                agent.run(question)
            assert [each.text for each in agent.history.messages] == ["First?", "One.", "Second?"]
        assert [each.text for each in agent.history.drop_last_turn()] == ["Second?"]
        assert agent.run("Third?").text == "Three."
    sent = [each["parts"][0]["text"] for each in emulator.requests[-1]["body"]["contents"]]
    assert sent == ["First?", "One.", "Third?"]


@pytest.mark.parametrize("style", STYLES)
def test_an_agent_makes_its_chat_of_a_name_and_closes_it(
    style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    script = Emulator([{"say": "Hello."}])
    opened = wire.http.client.opened, wire.http.aio.opened
    monkeypatch.setattr(
        wire.http.client, "opened", lambda http, *rest: opened[0](EmulatorTransport(script), *rest)
    )
    monkeypatch.setattr(
        wire.http.aio,
        "opened",
        lambda http, *rest: opened[1](AsyncEmulatorTransport(script), *rest),
    )

    async def main() -> str:
        async with LLMAgent(MODEL) as agent:
            text = (await agent.run("Hi")).text
        with pytest.raises(ConfigurationError, match=r"^gemini: the client is closed$"):
            await agent.run("Hi")
        return text

    if style == "threads":
        with Agent(MODEL) as agent:
            text = agent.run("Hi").text
        with pytest.raises(ConfigurationError, match=r"^gemini: the client is closed$"):
            agent.run("Hi")
    else:
        text = anyio.run(main, backend=style)
    assert text == "Hello."
