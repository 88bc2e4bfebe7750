"""Runs with a typed answer: `output=` of agents, on each wire and in each style."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agent.agents import on, talk
from tests.joined import joined
from wire.agent import Agent, LLMAgent, RunResult, dump_run, load_run
from wire.chat.chat import AsyncChat, Chat
from wire.chat.fallback import FallbackChat
from wire.errors import ConfigurationError, OutputError, SchemaError
from wire.neutral.messages import Message, ObjectDelta, Reply, Restart, Stop
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODELS = [
    "gemini:gemini-3.8-flash",
    "gemini:gemini-2.5-flash",
    "openai:gpt-5.4",
    "openai@chat:gpt-4.1",
    "anthropic:claude-sonnet-5",
]
STYLES = ["threads", "asyncio", "trio"]
CALL = {"calls": [{"name": "people", "args": {"city": "Brest"}}]}
RIGHT = '{"name":"Brest","people":140000}'


class City(msgspec.Struct):
    name: str
    people: int


BREST = City("Brest", 140_000)


def people(city: str) -> int:
    """How many people live in a city."""
    return 140_000


def said(style: str, script: list[Any], **options: Any) -> Any:
    return talk(style, script, "Which city?", **{"tools": [people], "output": City, **options})


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("style", STYLES)
def test_a_run_has_a_typed_answer_after_its_tools(model: str, style: str) -> None:
    talked = said(style, [{"say": CALL}, {"say": RIGHT}], model=model)
    assert (talked.result.output, talked.result.reason) == (BREST, "end")
    assert [step.reply.output for step in talked.result.steps] == [None, BREST]
    assert len(talked.requests) == 2


@pytest.mark.parametrize("style", STYLES)
@joined("model", MODELS)
@joined("stream", [False, True])
def test_an_answer_that_does_not_fit_is_asked_for_again(
    style: str, model: str, stream: bool
) -> None:
    """The conversation has the answer and its problem, as the request that asks again."""
    script = [{"say": CALL}, {"say": "Brest."}, {"say": RIGHT}]
    talked = said(style, script, model=model, run={"stream": stream})
    result = talked.result
    assert (result.output, result.reason, result.complete) == (BREST, "end", True)
    roles = ["assistant", "tool", "assistant", "user", "assistant"]
    assert [message.role for message in result.messages] == roles
    assert talked.history[1:] == result.messages
    assert result.messages[2].text == "Brest."
    assert "Answer again, with JSON that matches the schema." in result.messages[3].text
    assert (result.state.asked, result.state.misfits, len(result.steps)) == (3, 0, 3)
    assert result.usage.total == sum(step.reply.usage.total for step in result.steps)
    if stream:
        assert [delta.restart for delta in talked.deltas].count(True) == 1


@pytest.mark.parametrize("style", STYLES)
def test_the_last_answer_that_does_not_fit_is_the_error(style: str) -> None:
    with pytest.raises(OutputError, match=r"not valid JSON|expected|JSON") as caught:
        said(style, [{"say": "Brest."}, {"say": "Oslo."}, {"say": RIGHT}])
    assert caught.value.partial.text == "Oslo."
    with pytest.raises(OutputError) as caught:
        said(style, [{"say": "Brest."}, {"say": RIGHT}], output_retries=0)
    assert caught.value.partial.text == "Brest."
    talked = said(style, [{"say": "A."}, {"say": "B."}, {"say": RIGHT}], output_retries=2)
    assert talked.result.output == BREST


def agent_of(*script: Any, **options: Any) -> tuple[Agent[Any], Emulator]:
    emulator = Emulator(list(script))
    chat = Chat("openai:gpt-5.4", api_key="fake-key", http=EmulatorTransport(emulator))
    return Agent(chat, **options), emulator


def test_an_error_keeps_what_was_spent_and_said() -> None:
    agent, _ = agent_of({"say": "A."}, {"say": "B."})
    with pytest.raises(OutputError):
        agent.run("Which city?", output=City)
    assert agent.last_run is not None
    run = agent.last_run.result
    assert [step.reply.text for step in run.steps] == ["A.", "B."]
    assert (run.output, run.reason, run.state.asked) == (None, "stopped", 2)
    assert run.usage.total == sum(step.reply.usage.total for step in run.steps)


def test_asking_again_counts_against_the_limits_of_the_run() -> None:
    agent, emulator = agent_of({"say": "A."}, {"say": RIGHT}, output=City)
    result = agent.run("Which city?", max_steps=1)
    assert (result.reason, result.complete, result.output) == ("max_steps", False, None)
    assert len(emulator.requests) == 1
    result = agent.resume(result.state)
    assert (result.output, len(emulator.requests)) == (BREST, 2)
    agent, emulator = agent_of({"say": "A."}, {"say": RIGHT}, output=City, max_cost=Decimal("1e-9"))
    result = agent.run("Which city?")
    assert (result.reason, len(emulator.requests)) == ("max_cost", 1)


def test_a_refusal_and_a_cut_answer_are_not_asked_for_again() -> None:
    message = {"role": "assistant", "content": None, "refusal": "No."}
    refused = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    cut = {"text": '{"name":', "finish": "length"}
    for step in ({"answer": refused}, {"say": cut}):
        emulator = Emulator([step, {"say": RIGHT}])
        chat = Chat("openai@chat:gpt-4.1", api_key="fake-key", http=EmulatorTransport(emulator))
        with Agent(chat) as agent, pytest.raises(OutputError):
            agent.run("Which city?", output=City)
        assert len(emulator.requests) == 1


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_a_streamed_answer_grows(style: str) -> None:
    async def grown() -> tuple[list[Any], RunResult[City]]:
        http = AsyncEmulatorTransport(Emulator([{"say": "Brest."}, {"say": RIGHT}]))
        chat = AsyncChat("anthropic:claude-sonnet-5", api_key="fake-key", http=http)
        async with LLMAgent(chat) as agent, agent.stream("Which?", output=City) as run:
            events = [event async for event in run]
            return events, run.result

    events, result = on(style, grown)
    (again,) = [each for each in events if isinstance(each, Restart)]
    assert again.reply is not None
    assert again.reply.text == "Brest."
    after = events[events.index(again) :]
    assert [each.path for each in after if isinstance(each, ObjectDelta)][-1] == ()
    assert result.output == BREST


def test_the_type_of_a_run_comes_before_that_of_the_agent() -> None:
    agent, _ = agent_of({"say": '{"value":[1,2]}'}, {"say": RIGHT}, output=City)
    assert agent.run("Numbers?", output=list[int]).output == [1, 2]
    assert agent.run("Which city?").output == BREST


def test_a_run_without_an_answer_has_no_output() -> None:
    """A run that waits for a result has none; resumed, it is asked for the same type again."""
    agent, _ = agent_of({"say": CALL}, {"say": RIGHT}, tools=[people], approve=lambda _: False)
    agent._stop_when = lambda state: True
    stopped = agent.run("Which city?", output=City)
    assert (stopped.reason, stopped.output) == ("stopped", None)
    agent._stop_when = None
    saved = load_run(dump_run(stopped.state))
    assert agent.resume(saved, output=City).output == BREST


def test_a_fallback_takes_the_type_too() -> None:
    down = Chat("gemini:gemini-3.8-flash", api_key="fake-key", retry=None,
                http=EmulatorTransport(Emulator([{"fault": "503", "times": 0}])))  # fmt: skip
    up = Chat("openai:gpt-5.4", api_key="fake-key",
              http=EmulatorTransport(Emulator([{"say": RIGHT}])))  # fmt: skip
    assert Agent(FallbackChat([down, up])).run("Which?", output=City).output == BREST


class Plain:
    """A model of one's own, which takes no output."""

    def ask(self, *, messages: Any) -> Reply:
        return Reply(Message.assistant("Hi."), Stop("end"))

    stream = ask


class Provider:
    async def generate(self, messages: Any, *rest: Any, **settings: Any) -> Any:
        raise AssertionError

    generate_stream = generate


def test_what_cannot_be_done_is_said_before_anything_is_sent() -> None:
    agent, emulator = agent_of({"say": RIGHT})
    with pytest.raises(SchemaError, match="cannot be the type of output"):
        agent.run("Which city?", output=int.__add__)
    assert (agent.history.messages, emulator.requests) == ([], [])
    with pytest.raises(ConfigurationError, match=r"^output_retries: expected"):
        Agent(Plain(), output_retries=-1)
    for make in (
        lambda: Agent(Plain(), output=City),
        lambda: Agent(Plain()).run("Hi", output=City),
        lambda: LLMAgent(Provider(), output=City),
    ):
        with pytest.raises(ConfigurationError, match=r"^output: .*(Plain|Provider) takes no"):
            make()


KILLED = """
import sys, msgspec
from pathlib import Path
from wire.agent import Agent, read_run, save_run
from wire.chat.chat import Chat
from wire.testing.emulator import Emulator, EmulatorTransport

class City(msgspec.Struct):
    name: str
    people: int

path = Path(sys.argv[1])
left = [{"say": "Brest."}, {"say": "Oslo."}, {"say": '{"name":"Brest","people":140000}'}]
state = read_run(path) if path.exists() else None
asked = state.asked if state else 0
http = EmulatorTransport(Emulator(left[asked:]))

def changed(state):
    save_run(path, state)
    if state.asked > asked:
        sys.stdout.flush()
        import os, signal
        os.kill(os.getpid(), signal.SIGKILL)

chat = Chat("openai:gpt-5.4", api_key="fake-key", http=http)
with Agent(chat, on_change=changed, output=City, output_retries=2) as agent:
    result = agent.resume(state) if state else agent.run("Which city?")
"""


@pytest.mark.processes
def test_a_killed_run_knows_how_often_it_asked(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    for asked in (1, 2, 3):
        done = subprocess.run(
            [sys.executable, "-c", KILLED, path],
            check=False,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert done.returncode == -9
        state = load_run(path.read_bytes())
        assert (state.asked, state.misfits) == (asked, asked % 3)
    assert state.reason == "end"
    assert [message.role for message in state.messages] == ["user", "assistant"] * 3
