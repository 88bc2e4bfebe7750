"""Messages into a run that is under way, and its stop from outside."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.agent.agents import kills, on
from tests.joined import joined
from wire.agent import (
    Agent,
    LLMAgent,
    MessageJoined,
    RunResult,
    RunState,
    dump_run,
    load_run,
    read_run,
)
from wire.chat.chat import AsyncChat, Chat
from wire.errors import HistoryError
from wire.neutral.messages import Message, TextDelta
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODELS = [
    "gemini:gemini-3.8-flash",
    "openai:gpt-5.4",
    "openai@chat:gpt-4.1",
    "anthropic:claude-sonnet-5",
]
STYLES = ["threads", "asyncio", "trio"]
CALL = {"say": {"calls": [{"name": "tide", "args": {"port": "Brest"}}]}}
LONG = {"say": "One two three four five six."}


def texts(messages: Any) -> list[str]:
    return [f"{each.role}: {each.text}" for each in messages]


class Steered:
    """An agent whose tool, or whose stream, is the moment at which something is done to it."""

    def __init__(self, style: str, model: str, *script: Any) -> None:
        self.style, self.emulator = style, Emulator(list(script))
        self.during: Callable[[Any], None] = lambda agent: None
        self.states: list[RunState] = []
        self.events: list[Any] = []
        options: dict[str, Any] = {"tools": [self.tide], "on_change": self.states.append}
        chat: dict[str, Any] = {"api_key": "fake-key", "retry": None}
        self.agent: Any
        if style == "threads":
            http: Any = EmulatorTransport(self.emulator, sleep=True)
            self.agent = Agent(Chat(model, http=http, **chat), **options)
        else:
            http = AsyncEmulatorTransport(self.emulator, sleep=True)
            self.agent = LLMAgent(AsyncChat(model, http=http, **chat), **options)

    def tide(self, port: str) -> str:
        """When the tide is high."""
        self.during(self.agent)
        return "05:12"

    def run(self, text: Any = "High tide?", *, state: RunState | None = None) -> RunResult:
        if self.style == "threads":
            return self.agent.run(text) if state is None else self.agent.resume(state)
        work = self.agent.run if state is None else self.agent.resume
        return on(self.style, partial(work, text if state is None else state))

    def stream(self, seen: Callable[[Any], None]) -> RunResult:
        """Stream a run; `seen` gets each event."""
        if self.style == "threads":
            with self.agent.stream("High tide?") as events:
                for event in events:
                    self.events.append(event)
                    seen(event)
            return events.result

        async def run() -> RunResult:
            async with self.agent.stream("High tide?") as events:
                async for event in events:
                    self.events.append(event)
                    seen(event)
            return events.result

        return on(self.style, run)

    @property
    def sent(self) -> list[str]:
        """The bodies of the requests to the model."""
        return [str(each["body"]) for each in self.emulator.requests if each["method"] == "POST"]


def elsewhere(function: Callable[[], None]) -> None:
    """Call a function in another thread, and wait for it."""
    raised: list[BaseException] = []

    def work() -> None:
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("style", STYLES)
def test_a_message_joins_the_next_request_after_the_results(model: str, style: str) -> None:
    steered = Steered(style, model, CALL, {"say": "At 05:12."})

    def both(agent: Any) -> None:
        elsewhere(lambda: agent.send("In Roscoff, too?"))
        agent.send("And when is low tide?")

    steered.during = both
    result = steered.run()
    assert texts(result.messages) == [
        "assistant: ",
        "tool: ",
        "user: In Roscoff, too?",
        "user: And when is low tide?",
        "assistant: At 05:12.",
    ]
    assert (result.reason, result.state.inbox) == ("end", ())
    assert tuple(steered.agent.history.messages)[1:] == result.messages
    assert len(steered.sent) == 2
    before, _, after = steered.sent[1].partition("In Roscoff, too?")
    assert "05:12" in before
    assert "And when is low tide?" in after


@pytest.mark.parametrize("style", STYLES)
def test_a_run_that_has_just_answered_goes_on(style: str) -> None:
    steered = Steered(style, MODELS[0], {"say": "At 05:12."}, {"say": "At 11:20."})
    once = iter([lambda: steered.agent.send("And low tide?")])

    def seen(event: Any) -> None:
        if isinstance(event, TextDelta):
            next(once, lambda: None)()

    result = steered.stream(seen)
    assert texts(result.messages) == [
        "assistant: At 05:12.",
        "user: And low tide?",
        "assistant: At 11:20.",
    ]
    kinds = [type(event).__name__ for event in steered.events]
    assert kinds == ["TextDelta", "Done", "MessageJoined", "TextDelta", "Done"]
    assert steered.events[2] == MessageJoined(Message.user("And low tide?"))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("thread", [False, True])
def test_a_message_at_once_ends_the_reply_that_is_streamed(
    model: str, style: str, thread: bool
) -> None:
    """What was said stays, and is marked as an incomplete reply is."""
    steered = Steered(style, model, LONG, {"say": "At 11:20."})
    cut: list[bool] = []

    def seen(event: Any) -> None:
        if isinstance(event, TextDelta) and not cut:
            cut.append(True)
            send = partial(steered.agent.send, "Low tide, please.", at_once=True)
            elsewhere(send) if thread and style == "threads" else send()

    result = steered.stream(seen)
    said, asked, answered = result.messages
    assert LONG["say"].startswith(said.text)
    assert 0 < len(said.text) < len(LONG["say"])
    assert texts([asked, answered]) == ["user: Low tide, please.", "assistant: At 11:20."]
    first = result.steps[0].reply
    assert first.text == said.text
    notes = [str(note) for note in first.notes]
    assert "cut off: a message was sent to the run" in notes
    assert any("partial" in note for note in notes)
    assert (result.reason, result.state.asked) == ("end", 2)
    assert said.text in steered.sent[1]


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_another_thread_ends_the_reply_that_a_task_waits_for(style: str) -> None:
    quiet = {"say": "One two three.", "fault": "stall; after=1; seconds=9"}
    steered = Steered(style, MODELS[0], quiet, {"say": "At 11:20."})

    def seen(event: Any) -> None:
        if isinstance(event, TextDelta) and len(steered.events) == 1:
            send = partial(steered.agent.send, "Low tide?", at_once=True)
            threading.Timer(0.05, send).start()

    result = steered.stream(seen)
    assert texts(result.messages)[1:] == ["user: Low tide?", "assistant: At 11:20."]


@pytest.mark.parametrize("style", STYLES)
def test_a_message_at_once_that_comes_before_the_first_byte_ends_the_reply(style: str) -> None:
    late = {**LONG, "fault": "stall; after=0; seconds=0.3"}
    steered = Steered(style, MODELS[0], late, {"say": "At 11:20."})
    timer = threading.Timer(0.05, lambda: steered.agent.send("Low tide?", at_once=True))
    timer.start()
    result = steered.stream(lambda event: None)
    assert texts(result.messages)[-2:] == ["user: Low tide?", "assistant: At 11:20."]
    assert result.steps[0].reply.text != LONG["say"]


def test_a_reply_that_is_not_streamed_is_not_ended() -> None:
    steered = Steered("threads", MODELS[0], CALL, {"say": "At 05:12."}, {"say": "At 11:20."})
    steered.during = lambda agent: agent.send("Low tide?", at_once=True)
    result = steered.run()
    assert texts(result.messages)[2:] == ["user: Low tide?", "assistant: At 05:12."]


@pytest.mark.parametrize("style", STYLES)
def test_what_is_sent_is_saved_until_it_joins(style: str) -> None:
    steered = Steered(style, MODELS[2], CALL, {"say": "At 05:12."})
    steered.during = lambda agent: agent.send(Message.user("Low tide?", cache=True))
    steered.run()
    waiting = [state for state in steered.states if state.inbox]
    assert waiting[0].inbox == (Message.user("Low tide?", cache=True),)
    assert all(load_run(dump_run(state)) == state for state in steered.states)
    again = Steered(style, MODELS[2], {"say": "At 11:20."})
    result = again.run(state=load_run(dump_run(waiting[-1])))
    assert texts(result.messages)[-2:] == ["user: Low tide?", "assistant: At 11:20."]


@pytest.mark.parametrize("style", STYLES)
@joined("model", MODELS)
def test_a_run_is_stopped_inspected_changed_and_resumed(style: str, model: str) -> None:
    steered = Steered(style, model, CALL, {"say": "At 05:12."})
    steered.during = lambda agent: elsewhere(agent.stop)
    stopped = steered.run()
    assert (stopped.reason, len(steered.sent)) == ("stopped", 1)
    assert [run.result.answer for run in stopped.runs] == [{"result": "05:12"}]
    changed = stopped.state.with_messages([*stopped.state.messages, Message.user("In words.")])
    result = steered.run(state=load_run(dump_run(changed)))
    assert texts(result.messages)[-2:] == ["user: In words.", "assistant: At 05:12."]


def test_a_run_that_is_over_takes_no_message() -> None:
    steered = Steered("threads", MODELS[0], {"say": "Hi."}, {"fault": "400"})
    for method in (lambda: steered.agent.send("Hi"), steered.agent.stop):
        with pytest.raises(HistoryError, match="no run is under way"):
            method()
    steered.run()
    with pytest.raises(HistoryError, match=r"the run has ended \(end\).*run\(\)"):
        steered.agent.send("Hi")
    with pytest.raises(Exception, match="400"):
        steered.run()
    with pytest.raises(HistoryError, match=r"the run has ended \(stopped\)"):
        steered.agent.send("Hi")
    with pytest.raises(HistoryError, match=r"message\.role: expected a message of the user"):
        steered.agent.send(Message.assistant("Hi"))


def test_senders_of_many_threads_lose_nothing() -> None:
    steered = Steered("threads", MODELS[0], CALL, {"say": "At 05:12."})

    def crowd(agent: Any) -> None:
        threads = [
            threading.Thread(target=lambda n=n: [agent.send(f"{n}:{k}") for k in range(20)])
            for n in range(5)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()

    steered.during = crowd
    sent = [each.text for each in steered.run().messages if each.role == "user"]
    assert sorted(sent) == sorted(f"{n}:{k}" for n in range(5) for k in range(20))
    for n in range(5):
        assert [each for each in sent if each.startswith(f"{n}:")] == [
            f"{n}:{k}" for k in range(20)
        ]


@pytest.mark.parametrize("style", STYLES)
def test_an_agent_adds_up_what_its_runs_used(style: str) -> None:
    steered = Steered(style, MODELS[3], CALL, {"say": "At 05:12."}, {"say": "At 11:20."})
    assert (steered.agent.usage.total, str(steered.agent.cost)) == (0, "0 USD")
    first, second = steered.run(), steered.run("And low tide?")
    assert steered.agent.usage.total == first.usage.total + second.usage.total > 0
    assert steered.agent.cost == first.cost + second.cost
    assert steered.agent.cost.total > 0


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_texts_may_be_left(style: str) -> None:
    """A generator that is left is warned of by trio, since nothing closes it."""

    async def read() -> list[str]:
        http = AsyncEmulatorTransport(Emulator([LONG, LONG]))
        chat = AsyncChat(MODELS[0], api_key="fake-key", http=http)
        first = []
        async with LLMAgent(chat) as agent, agent.stream("Hi") as run, chat.stream("Hi") as events:
            for each in (run, events):
                async for text in each.texts():
                    first.append(text)
                    break
        return first

    assert all(LONG["say"].startswith(each) for each in on(style, read))


def test_the_texts_of_a_run_are_those_of_its_events() -> None:
    steered = Steered("threads", MODELS[3], CALL, {"say": "At 05:12."})
    with steered.agent.stream("High tide?") as events:
        assert "".join(events.texts()) == "At 05:12."

    async def read() -> str:
        http = AsyncEmulatorTransport(Emulator([{"say": "At 05:12."}]))
        async with LLMAgent(AsyncChat(MODELS[0], api_key="fake-key", http=http)) as agent:
            async with agent.stream("High tide?") as events:
                return "".join([text async for text in events.texts()])

    assert anyio.run(read) == "At 05:12."


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

def tide(port: str) -> str:
    \"\"\"When the tide is high.\"\"\"
    with open(f"{path}.ran", "a") as file:
        file.write("ran\\n")
    if not said(read_run(path)):
        for text in ("first", "second"):
            agent.send(text)
    return "05:12"

def said(state):
    return [each.text for each in (*state.messages, *state.inbox) if each.role == "user"][1:]

state = read_run(path) if path.exists() else None
call = {"say": {"calls": [{"name": "tide", "args": {"port": "Brest"}}]}}
script = [{"say": "At 05:12."}] * 3
if not state or not state.asked:
    script.insert(0, call)
chat = Chat(sys.argv[3], api_key="fake-key", http=EmulatorTransport(Emulator(script)))
agent = Agent(chat, tools=[tide], on_change=changed)
result = agent.run("High tide?") if state is None else agent.resume(state)
print(result.reason, *said(result.state), sep="|")
"""


@pytest.mark.parametrize(("model", "at"), kills(MODELS, 12))
def test_no_message_is_lost_by_a_kill(model: str, at: int, tmp_path: Path) -> None:
    """Killed at a change of its state, a run has the messages that were saved, in order."""
    saved: list[str] = []
    path = tmp_path / "run.json"
    for attempt in (at, 1000):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, path, str(attempt), model],
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        if done.returncode == -9:
            state = read_run(path)
            both = (*state.messages, *state.inbox)
            saved = [each.text for each in both if each.role == "user"][1:]
    assert done.returncode == 0, done.stderr
    reason, *said = done.stdout.strip().split("|")
    assert reason == "end"
    assert said[: len(saved)] == saved
    assert said in (["first", "second"], ["first"], [])
    ran = Path(f"{path}.ran")
    assert not ran.exists() or ran.read_text() == "ran\n"
