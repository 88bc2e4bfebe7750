"""Calls that run while the reply that has them is still streamed: `early_tools=True`."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agent.agents import kills, on
from wire.agent import Agent, LLMAgent, RunResult, RunState, dump_run, load_run, read_run
from wire.agent.steps import INTERRUPTED
from wire.chat.chat import AsyncChat, Chat
from wire.errors import WireError
from wire.history import check
from wire.neutral.messages import (
    Done,
    Message,
    Reply,
    Restart,
    Stop,
    TextDelta,
    ToolCall,
    ToolCallEnd,
)
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import ToolRun, tool

MODELS = [
    "gemini:gemini-3.8-flash",
    "openai:gpt-5.4",
    "openai@chat:gpt-4.1",
    "anthropic:claude-sonnet-5",
]
STYLES = ["threads", "asyncio", "trio"]
PORTS = ["Brest", "Oslo", "Dover"]
CALLS = {"say": {"calls": [{"name": "tide", "args": {"port": port}} for port in PORTS]}}
ANSWER = {"say": "At 05:12."}
WAIT = 10
"""Seconds; a test that waits so long fails."""


def wrong(state: RunState) -> list[Any]:
    """What a request with the conversation would be refused for."""
    return [each for each in check(state.messages) if each.severity == "error"]


class Early:
    """An agent with a tool whose calls are noted."""

    def __init__(self, style: str, model: str, *script: Any, **options: Any) -> None:
        self.style, self.emulator = style, Emulator(list(script))
        self.ran: list[str] = []
        self.has_run = threading.Event()
        self.states: list[RunState] = []
        given: dict[str, Any] = {"tools": [self.tide], "early_tools": True, **options}
        given.setdefault("on_change", self.states.append)
        chat: dict[str, Any] = {"api_key": "fake-key", "retry": None}
        self.agent: Any
        if style == "threads":
            http: Any = EmulatorTransport(self.emulator)
            self.agent = Agent(Chat(model, http=http, **chat), **given)
        else:
            http = AsyncEmulatorTransport(self.emulator)
            self.agent = LLMAgent(AsyncChat(model, http=http, **chat), **given)

    def tide(self, port: str) -> str:
        """When the tide is high."""
        self.ran.append(port)
        self.has_run.set()
        return f"05:12 in {port}"

    def run(self, state: RunState | None = None) -> RunResult:
        """Stream a run, as early calls do in any case."""
        run = (
            functools.partial(self.agent.run, "Tides?", stream=True)
            if state is None
            else functools.partial(self.agent.resume, state, stream=True)
        )
        return run() if self.style == "threads" else on(self.style, run)

    @property
    def answers(self) -> list[str]:
        """The results in the last request, as its text has them."""
        body = str(self.emulator.requests[-1]["body"])
        return [port for port in PORTS if f"05:12 in {port}" in body]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("style", STYLES)
def test_a_call_runs_while_its_reply_is_streamed(model: str, style: str) -> None:
    """The reader of the events goes on only after the first call has run."""
    early = Early(style, model, CALLS, ANSWER)
    kinds: list[str] = []

    def seen(event: Any) -> bool:
        """Whether the reader is to wait for the tool."""
        kinds.append(type(event).__name__)
        return isinstance(event, ToolCallEnd) and not early.has_run.is_set()

    if style == "threads":
        with early.agent.stream("Tides?") as events:
            for event in events:
                if seen(event):
                    assert early.has_run.wait(WAIT)
            result = events.result
    else:

        async def read() -> RunResult:
            async with early.agent.stream("Tides?") as events:
                async for event in events:
                    if seen(event):
                        with anyio.fail_after(WAIT):
                            await anyio.to_thread.run_sync(early.has_run.wait, WAIT)
            return events.result

        result = on(style, read)
    assert kinds.index("Done") > kinds.index("ToolCallEnd")
    assert [kind for kind in kinds if kind in ("Done", "ToolRun")] == [
        "Done", "ToolRun", "ToolRun", "ToolRun", "Done",
    ]  # fmt: skip
    assert sorted(early.ran) == sorted(PORTS)
    assert early.answers == PORTS
    assert result.text == "At 05:12."


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("style", STYLES)
def test_the_result_is_that_of_a_run_without_it(model: str, style: str) -> None:
    early = Early(style, model, CALLS, ANSWER).run()
    plain = Early(style, model, CALLS, ANSWER, early_tools=False).run()
    assert early.messages == plain.messages
    assert early.steps[0].reply.message == plain.steps[0].reply.message
    assert [run.call.arguments for run in early.runs] == [{"port": port} for port in PORTS]
    assert [len(step.runs) for step in early.steps] == [3, 0]
    assert (early.usage, early.cost, early.reason) == (plain.usage, plain.cost, plain.reason)
    assert early.state.started == ()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("style", STYLES)
def test_a_reply_that_breaks_off_keeps_the_results(model: str, style: str) -> None:
    """Wherever the reply breaks off, what ran is in the next request, and ran once."""
    kept = []
    for after in range(1, 16):
        broken = {**CALLS, "fault": f"cut; after={after}"}
        early = Early(style, model, broken, ANSWER)
        try:
            result = early.run()
        except WireError:
            assert early.ran == []  # no call was whole
            continue
        assert sorted(early.ran) == sorted(set(early.ran))
        assert early.answers == [port for port in PORTS if port in early.ran]
        assert (result.reason, result.text) == ("end", "At 05:12.")
        assert wrong(result.state) == []
        assert tuple(early.agent.history.messages)[1:] == result.messages
        first = result.steps[0]
        assert [run.result.error for run in first.runs] == [False] * len(early.ran)
        if any("broken off, and its calls were run" in str(note) for note in first.reply.notes):
            kept.append(len(early.ran))
    # Chat completions end a call with the next one, or with the reply.
    assert kept or model.startswith("openai@chat")


def test_a_run_that_breaks_off_again_and_again_ends() -> None:
    broken = {**CALLS, "fault": "cut; after=2", "times": 0}
    early = Early("threads", MODELS[0], broken)
    result = early.agent.run("Tides?", max_steps=3)
    assert (result.reason, result.state.asked) == ("max_steps", 3)


@pytest.mark.parametrize("style", STYLES)
def test_what_needs_an_approval_runs_after_the_reply(style: str) -> None:
    asked: list[str] = []

    def approve(call: Any) -> bool:
        asked.append(call.arguments["port"])
        return bool(call.arguments["port"] != "Oslo")

    early = Early(style, MODELS[1], CALLS, ANSWER, approve=approve)
    result = early.run()
    assert sorted(asked) == sorted(PORTS)
    assert sorted(early.ran) == ["Brest", "Dover"]
    assert [run.result.error for run in result.runs] == [False, True, False]
    delete = tool(early.tide, name="tide", needs_approval=True)
    waiting = Early(style, MODELS[1], CALLS, ANSWER, tools=[delete]).run()
    assert (waiting.reason, len(waiting.waiting)) == ("waiting", 3)


def test_a_reply_that_begins_anew_keeps_the_results() -> None:
    """As one does of a host that starts over: its calls so far are no part of it."""
    call = ToolCall(id="1", name="tide", arguments={"port": "Brest"})
    said = Reply(Message.assistant(call), Stop("tool_calls"))

    class Model:
        asked = 0

        def ask(self, **settings: Any) -> Reply:
            raise AssertionError

        @contextmanager
        def stream(self, *, messages: Any, **settings: Any) -> Iterator[Any]:
            self.asked += 1
            self.messages = messages
            yield Events(self.asked)

    class Events:
        def __init__(self, asked: int) -> None:
            last = Reply(Message.assistant("At 05:12."), Stop("end"))
            self.events = iter(
                [ToolCallEnd(0, call), Restart("anew"), TextDelta("Hi")]
                if asked == 1
                else [TextDelta("At 05:12."), Done(last)]
            )

        def __iter__(self) -> Iterator[Any]:
            return self.events

        def partial(self) -> Reply:
            return said

    model, ran = Model(), []

    def tide(port: str) -> str:
        """When the tide is high."""
        ran.append(port)
        return "05:12"

    result = Agent(model, tools=[tide], early_tools=True).run("Tides?")
    assert (result.text, ran, model.asked) == ("At 05:12.", ["Brest"], 2)
    assert [each.content for each in model.messages[-1].tool_results] == ["05:12"]


def test_limits_hold() -> None:
    early = Early("threads", MODELS[0], CALLS, ANSWER, max_calls=2)
    result = early.run()
    assert (len(early.ran), result.reason) == (2, "max_calls")
    early = Early("threads", MODELS[0], CALLS, ANSWER, max_calls_per_turn=1)
    result = early.run()
    assert (len(early.ran), [run.result.error for run in result.runs]) == (1, [False, True, True])


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_a_stream_that_is_left_ends_its_calls(style: str) -> None:
    early = Early(style, MODELS[0], CALLS, ANSWER)

    async def forever(port: str) -> str:
        """When the tide is high."""
        began.set()
        await anyio.sleep(WAIT * 6)
        return "never"

    early.agent.register_tool(tool(forever, name="tide"), replace=True)
    began = anyio.Event()

    async def leave() -> RunResult:
        with anyio.fail_after(WAIT):
            async with early.agent.stream("Tides?") as events:
                async for event in events:
                    if isinstance(event, Done):
                        break
                await began.wait()
        return events.result

    result = on(style, leave)
    assert {run.result.content for run in result.runs} == {INTERRUPTED}
    assert all(load_run(dump_run(state)) == state for state in early.states)


def test_an_exit_of_a_tool_ends_the_run() -> None:
    for style in STYLES:
        early = Early(style, MODELS[0], CALLS, ANSWER)

        def leaves(port: str) -> str:
            """When the tide is high."""
            raise SystemExit(3)

        early.agent.register_tool(tool(leaves, name="tide"), replace=True)
        with pytest.raises(SystemExit):
            early.run()


@pytest.mark.parametrize("style", STYLES)
def test_a_message_at_once_keeps_the_calls_that_run(style: str) -> None:
    early = Early(style, MODELS[1], CALLS, ANSWER)
    early.agent.on_sent = None

    def send(event: Any) -> None:
        if isinstance(event, ToolCallEnd) and len(early.emulator.requests) == 1:
            early.agent.send("Only one, please.", at_once=True)

    if style == "threads":
        with early.agent.stream("Tides?") as events:
            for event in events:
                send(event)
            result = events.result
    else:

        async def read() -> RunResult:
            async with early.agent.stream("Tides?") as events:
                async for event in events:
                    send(event)
            return events.result

        result = on(style, read)
    assert wrong(result.state) == []
    assert early.answers == [port for port in PORTS if port in early.ran]
    assert result.messages[-2].text == "Only one, please."
    assert 1 <= len(early.ran) <= 3
    assert isinstance(result.runs[0], ToolRun)


PROGRAM = """
import os, signal, sys
from pathlib import Path
from wire.agent import Agent, read_run, save_run
from wire.chat.chat import Chat
from wire.testing.emulator import Emulator, EmulatorTransport

path, at = Path(sys.argv[1]), int(sys.argv[2])
changes = iter(range(1000))

def changed(state):
    save_run(path, state)
    if next(changes) == at:
        os.kill(os.getpid(), signal.SIGKILL)

def note(line):
    with open(f"{path}.log", "a") as file:
        file.write(line + "\\n")

def tide(port: str) -> str:
    \"\"\"When the tide is high.\"\"\"
    note(f"began {port}")
    note(f"ended {port}")
    return f"05:12 in {port}"

state = read_run(path) if path.exists() else None
calls = [{"name": "tide", "args": {"port": port}} for port in ("Brest", "Oslo", "Dover")]
script = [{"say": {"calls": calls}}, {"say": "At 05:12."}]
has_asked = state is not None and len(state.messages) > 1
http = EmulatorTransport(Emulator(script[1:] if has_asked else script))
chat = Chat(sys.argv[3], api_key="fake-key", http=http)
agent = Agent(chat, tools=[tide], on_change=changed, early_tools=True)
result = agent.run("Tides?") if state is None else agent.resume(state)
print(result.reason)
"""


@pytest.mark.parametrize(("model", "at"), kills(MODELS, 14))
def test_no_tool_runs_twice_after_a_kill(model: str, at: int, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for attempt in (at, 1000):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, path, str(attempt), model],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    log = Path(f"{path}.log")
    began = log.read_text().splitlines() if log.exists() else []
    assert sorted(began) == sorted(set(began))
    state = read_run(path)
    assert wrong(state) == []
    contents = {each.content for message in state.messages for each in message.tool_results}
    assert contents <= {INTERRUPTED, *(f"05:12 in {port}" for port in PORTS)}
