"""A run that is broken anywhere and resumed from its saved state never runs a tool twice.

The model asks for three calls, then for one, then answers. Each way to break the run happens in
its first turn or in its second. A new agent resumes what was saved.
"""

from __future__ import annotations

import functools
import itertools
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest

from wire.agent import Agent, LLMAgent, RunResult
from wire.agent.run_state import RunState
from wire.agent.saved_runs import dump_run, load_run
from wire.core.retry import NONE
from wire.errors import ConfigurationError, ConnectionLost
from wire.history import check
from wire.neutral.events import events_of
from wire.neutral.messages import Message, Reply, Stop, Text, ToolCall

STYLES = ["asyncio", "trio", "threads"]
TURNS = [("c1", "c2", "c3"), ("c4",)]
IDS = {"c1", "c2", "c3", "c4"}
BREAKS = [
    "model before the head", "model in the stream", "model, no end", "interrupt in the model",
    "exit in the model", "tool", "interrupt in a tool", "exit in a tool", "cancellation in a tool",
    "interrupt in a hook", "cancellation in a hook", "interrupt in a delta", "stop_when raises",
    "interrupt in stop_when", "interrupt in the view",
]  # fmt: skip


def reply_to(messages: Any) -> Reply:
    turn = sum(message.role == "assistant" for message in messages)
    if turn == len(TURNS):
        return Reply(Message.assistant("done"), Stop("end"))
    calls = [ToolCall(id=id, name="act", arguments={"id": id}) for id in TURNS[turn]]
    return Reply(Message("assistant", (Text("I act."), *calls)), Stop("tool_calls"))


class Break:
    """Breaks the run, once, at one place in one turn."""

    def __init__(self, how: str = "", turn: int = 0) -> None:
        self.how, self.turn, self.done = how, turn, False
        self.cancel: Callable[[], object] = lambda: None

    def at(self, place: str, messages: Any = None, id: str = "") -> None:
        turn = (
            id not in TURNS[0]
            if id
            else sum(message.role == "assistant" for message in messages or ())
        )
        if self.done or place not in self.how or turn != self.turn:
            return
        self.done = True
        if self.how.startswith("cancellation"):
            self.cancel()
        elif self.how.startswith("interrupt"):
            raise KeyboardInterrupt
        elif self.how.startswith("exit"):
            raise SystemExit(3)
        elif place.startswith("model"):
            raise ConnectionLost("gone")
        else:
            raise ValueError("broken")


class Model:
    """Either kind of model: `of(style)` is one that an agent takes."""

    def __init__(self, broken: Break) -> None:
        self.broken = broken

    def ask(self, *, messages: Any, **settings: Any) -> Reply:
        self.broken.at("model", messages)
        return reply_to(messages)

    def events(self, messages: Any) -> Any:
        in_stream = self.broken.how in ("model in the stream", "model, no end")
        if not in_stream:
            self.broken.at("model", messages)
        events = events_of(reply_to(messages))
        for position, event in enumerate(events):
            if in_stream and position == len(events) // 2:
                if self.broken.how == "model in the stream":
                    self.broken.at("model in the stream", messages)
                elif not self.broken.done and self.broken.turn == sum(
                    message.role == "assistant" for message in messages
                ):
                    self.broken.done = True
                    return
            yield event

    @contextmanager
    def stream(self, *, messages: Any, **settings: Any) -> Any:
        yield self.events(messages)


class AsyncModel(Model):
    async def ask(self, *, messages: Any, **settings: Any) -> Reply:  # type: ignore[override]
        await anyio.lowlevel.checkpoint()
        return super().ask(messages=messages)

    @asynccontextmanager
    async def stream(self, *, messages: Any, **settings: Any) -> Any:  # type: ignore[override]
        async def events() -> Any:
            for event in self.events(messages):
                await anyio.lowlevel.checkpoint()
                yield event

        async with aclosing(events()) as each:
            yield each


class Runs:
    """The agents of a run, what their tools did, and the states as they were saved."""

    def __init__(self, style: str, broken: Break, *, asynchronous: bool = False) -> None:
        self.style, self.broken = style, broken
        self.made: Counter[str] = Counter()
        self._lock = threading.Lock()
        self.asynchronous = asynchronous

    def agent(self, **further: Any) -> Any:
        def act(id: str) -> str:
            with self._lock:
                self.made[id] += 1
            self.broken.at("tool", id=id)
            return f"result of {id}"

        async def act_async(id: str) -> str:
            result = act(id)
            await anyio.lowlevel.checkpoint()
            return result

        act_async.__name__ = "act"

        def approve(call: ToolCall) -> bool:
            self.broken.at("hook", id=call.id)
            return True

        def stop_when(state: RunState) -> bool:
            self.broken.at("stop_when", state.messages[:-2])
            return False

        def view(messages: Any) -> Any:
            self.broken.at("view", messages)
            return messages

        kind: Any = Agent if self.style == "threads" else LLMAgent
        model = (Model if self.style == "threads" else AsyncModel)(self.broken)
        tools = [act_async if self.asynchronous else act]
        options: Any = {"stop_when": stop_when, "view": view, "retry": NONE, "tools": tools}
        return kind(model, approve=approve, **options, **further)

    def drive(self, work: Callable[..., Any], *arguments: Any, stream: bool) -> RunResult | None:
        """The result of a run; `None` for one that is broken."""

        def delta(_: Any) -> None:
            self.broken.at("delta", ())

        options: Any = {"stream": stream, "on_stream_delta": delta}
        bound = functools.partial(work, *arguments, **options)

        async def main() -> Any:
            with anyio.CancelScope() as scope:

                def cancel() -> None:
                    try:
                        anyio.from_thread.run_sync(scope.cancel)
                    except RuntimeError:  # this is the thread of the loop
                        scope.cancel()

                self.broken.cancel = cancel
                return await bound()
            return None

        before = self.broken.done
        try:
            return bound() if self.style == "threads" else anyio.run(main, backend=self.style)
        except (KeyboardInterrupt, SystemExit, Exception):
            if before or not self.broken.done:
                raise
            return None


def whole(result: RunResult | None) -> None:
    """The run ended, and each call has its one result."""
    assert result is not None
    assert (result.reason, result.text) == ("end", "done")
    results = [each.id for message in result.messages for each in message.tool_results]
    assert sorted(results) == sorted(IDS)
    assert check(result.state.messages[:-1]) == []


@pytest.mark.row("R-43")
@pytest.mark.parametrize(
    ("turn", "stream", "asynchronous"),
    [
        # Each two values of the three meet in one of the four that a quick run has.
        pytest.param(*values, marks=pytest.mark.slow if sum(values) % 2 else ())
        for values in itertools.product((0, 1), (False, True), (False, True))
    ],
)
@pytest.mark.parametrize("how", BREAKS)
@pytest.mark.parametrize("style", STYLES)
def test_a_broken_run_that_is_resumed_runs_each_tool_once(
    style: str, how: str, turn: int, stream: bool, asynchronous: bool
) -> None:
    if style == "threads" and how.startswith("cancellation"):
        pytest.skip("threads have no cancellation")
    broken = Break(how, turn)
    runs = Runs(style, broken, asynchronous=asynchronous)
    agent = runs.agent()
    result = runs.drive(agent.run, "Go", stream=stream)
    for _ in range(3):
        if result is not None and result.reason == "end":
            break
        state = load_run(dump_run(agent.last_run.state))
        agent = runs.agent()
        result = runs.drive(agent.resume, state, stream=stream)
    whole(result)
    assert all(count == 1 for count in runs.made.values())
    # A call that was cut off before its tool began has an error in place of a run, at most.
    assert set(runs.made) <= IDS


@pytest.mark.row("R-43")
@pytest.mark.parametrize("style", STYLES)
def test_a_process_that_is_killed_after_any_save_runs_each_tool_once(style: str) -> None:
    """A tool begins after the save that says so: a call is never in doubt."""
    runs = Runs(style, Break())
    saves: list[tuple[bytes, Counter[str]]] = []

    def save(state: RunState) -> None:
        with runs._lock:
            saves.append((dump_run(state), Counter(runs.made)))

    whole(runs.drive(runs.agent(on_change=save).run, "Go", stream=False))
    assert len(saves) == 1 + 3 + 2 * len(IDS)  # the question, three replies, starts and results
    assert load_run(saves[0][0]).messages == (Message.user("Go"),)
    assert load_run(saves[-1][0]).reason == "end"
    for position, (saved, _) in enumerate(saves):
        # What ran until the next save, at the latest, ran before the process was killed.
        before = saves[min(position + 1, len(saves) - 1)][1]
        again = Runs(style, Break())
        whole(again.drive(again.agent().resume, load_run(saved), stream=False))
        assert all(count == 1 for count in (before + again.made).values()), position


class Disk:
    """Saves states until it is full, once or from then on."""

    def __init__(self, space: int, once: bool) -> None:
        self.space, self.once = space, once
        self.changes = 0
        self.started: set[str] = set()
        """Ids of calls whose start was saved before the disk was full."""

    def save(self, state: RunState) -> None:
        self.changes += 1
        if self.changes <= self.space:
            self.started.update(state.started)
        elif self.changes == self.space + 1 or not self.once:
            raise OSError("disk full")


def results_of(conversation: Any) -> set[tuple[str, Any]]:
    results = [each for message in conversation.messages for each in message.tool_results]
    return {(each.id, each.content) for each in results}


@pytest.mark.row("R-43")
@pytest.mark.parametrize("once", [True, False], ids=["once", "from then on"])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("style", STYLES)
def test_a_state_that_cannot_be_saved_ends_the_run_before_a_tool_starts(
    style: str, asynchronous: bool, once: bool
) -> None:
    for position in range(1 + 3 + 2 * len(IDS)):
        runs = Runs(style, Break(), asynchronous=asynchronous)
        disk = Disk(position, once)
        agent = runs.agent(on_change=disk.save)
        with pytest.raises(OSError, match=r"^disk full$"):
            runs.drive(agent.run, "Go", stream=False)
        assert set(runs.made) <= disk.started, position
        assert results_of(agent.last_run.state) <= results_of(agent.history)
        whole(runs.drive(runs.agent().resume, agent.last_run.state, stream=False))
        assert all(count == 1 for count in runs.made.values()), position


@pytest.mark.parametrize("style", STYLES)
def test_a_hook_that_returns_a_coroutine_is_refused(style: str) -> None:
    """It would never run, and nothing would be saved."""

    async def save(state: RunState) -> None: ...

    runs = Runs(style, Break())
    agent = runs.agent(on_change=lambda state: save(state))
    with pytest.raises(ConfigurationError, match=r"^on_change: expected None, not a coroutine$"):
        runs.drive(agent.run, "Go", stream=False)
