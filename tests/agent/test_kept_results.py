"""Results of tools that ran are kept, whatever ends the run or fails beside them.

Each result is in the history, in `last_run` and in a saved run as soon as it is there. No tool that
was started is started again.
"""

from __future__ import annotations

import asyncio
import functools
import math
import signal
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, ClassVar

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from tests.agent.agents import MODEL, Scripted, on, talk
from tests.joined import joined
from tests.property import ALL, sample
from wire.agent import Agent, Guard, LLMAgent, RunState, dump_run, load_run, read_session
from wire.agent.provider import LLMResponse, StreamDelta
from wire.agent.tool_calls import run_calls
from wire.chat.chat import Chat
from wire.core.retry import NONE, Retry
from wire.errors import ToolError
from wire.history import HistoryManager, check
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.neutral.request import Tool
from wire.testing.emulator import Emulator, EmulatorTransport
from wire.tools import Toolbox, ToolContext, tool

TASKS = ["asyncio", "trio"]
STYLES = [*TASKS, "threads"]
CUT_OFF = {"error": "cancelled while it ran; it may have had effects"}
AT_ONCE = Retry(base=0)


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def call(id: str, name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def answers(messages: Sequence[Message]) -> dict[str, Any]:
    """Id of a call -> its answer. A call that has two results fails the test."""
    results = [result for message in messages for result in message.tool_results]
    assert max(Counter(result.id for result in results).values(), default=1) == 1
    return {result.id: result.answer for result in results}


def until(there: Callable[[], object]) -> None:
    """Wait for what another thread does; an error after ten seconds."""
    end = time.monotonic() + 10
    while not there():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.001)


# --- cancelled at every await ---------------------------------------------------------------------


class Bench:
    """Tools, a hook and a provider that count their checkpoints, and cancel the run at one."""

    def __init__(self, at: float = math.inf, threads: bool = True) -> None:
        self.at, self.points = at, 0
        self.cancel: Callable[[], object] = lambda: None
        self.started: list[str] = []
        self.finished: list[str] = []
        self.fourth = "plain" if threads else "at_once"

    async def point(self) -> None:
        self.points += 1
        if self.points == self.at:
            self.cancel()
        await anyio.lowlevel.checkpoint()

    def tools(self) -> list[Tool]:
        @tool
        async def at_once(context: ToolContext) -> str:
            """No checkpoint."""
            self.started.append(context.call.id)
            self.finished.append(context.call.id)
            return f"result {context.call.id}"

        @tool
        async def slow(context: ToolContext) -> str:
            """Three checkpoints."""
            self.started.append(context.call.id)
            for _ in range(3):
                await self.point()
            self.finished.append(context.call.id)
            return f"result {context.call.id}"

        @tool
        async def shielded(context: ToolContext) -> str:
            """It finishes although the run is cancelled."""
            self.started.append(context.call.id)
            with anyio.CancelScope(shield=True):
                await self.point()
                await self.point()
            self.finished.append(context.call.id)
            return f"result {context.call.id}"

        @tool
        def plain(context: ToolContext) -> str:
            """It runs in a thread, which nothing can stop."""
            self.started.append(context.call.id)
            return f"result {context.call.id}"

        return [at_once, slow, shielded, plain]

    async def approve(self, call: ToolCall) -> bool:
        await self.point()
        return True

    async def generate(self, messages: Sequence[Message], *_: Any, **__: Any) -> LLMResponse:
        await self.point()
        turn = sum(message.role == "assistant" for message in messages)
        first = [call("a", "at_once"), call("b", "slow"), call("c", "shielded")]
        turns = [(*first, call("d", self.fourth)), (call("e", "slow"), call("f", "at_once"))]
        if turn < len(turns):
            return LLMResponse(function_calls=turns[turn])
        return LLMResponse(text="Done.")

    async def generate_stream(self, messages: Any, **_: Any) -> AsyncIterator[StreamDelta]:
        for delta in (await self.generate(messages)).deltas():
            await self.point()
            yield delta

    def agent(self, approved: bool) -> LLMAgent:
        return LLMAgent(self, tools=self.tools(), approve=self.approve if approved else None)


async def cancelled(bench: Bench, agent: LLMAgent, how: str, stream: bool = False) -> bool:
    """Run until the bench cancels; `native` cancels the task as asyncio does, without anyio."""
    if how == "native":
        task = asyncio.ensure_future(agent.run("Hi", stream=stream))
        bench.cancel = task.cancel
        await asyncio.wait([task])
        return task.cancelled()
    with anyio.CancelScope() as scope:
        bench.cancel = scope.cancel
        await agent.run("Hi", stream=stream)
    return scope.cancelled_caught


async def after_ticks(ticks: int, agent: LLMAgent, stream: bool) -> bool:
    """Run until the event loop has come round so often, wherever the run is then."""

    async def count() -> None:
        for _ in range(ticks):
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(count)
        await agent.run("Hi", stream=stream)
        group.cancel_scope.cancel()
        return False
    return True


async def check_all_is_kept(bench: Bench, agent: LLMAgent, approved: bool) -> None:
    """After a cancelled run: what its history, its result and its saved state hold; then resume."""
    assert agent.last_run is not None
    result = agent.last_run.result
    told, known = answers(agent.history.messages), answers(result.messages)
    until(lambda: {*known} <= {*bench.started})  # a thread may be between its begin and its tool
    for id in bench.finished:
        assert told[id] == {"result": f"result {id}"}
    for id in bench.started:
        assert told[id] in ({"result": f"result {id}"}, CUT_OFF)
    for id in {*told} - {*bench.started}:
        assert told[id] == {"error": "cancelled"}
    assert known == {id: answer for id, answer in told.items() if id in bench.started}
    assert {run.call.id: run.result.answer for run in result.runs} == known
    assert check([*agent.history.messages, Message.user("And?")]) == []

    other = Bench(threads=bench.fourth == "plain")
    other.started, other.finished = bench.started, bench.finished
    again = other.agent(approved)
    ended = await again.resume(load_run(dump_run(result.state)))
    assert (ended.reason, ended.text) == ("end", "Done.")
    assert sorted(other.started) == list("abcdef")
    final = answers(ended.messages)
    assert final == {id: known.get(id, {"result": f"result {id}"}) for id in "abcdef"}
    assert tuple(again.history.messages) == ended.state.messages


@pytest.mark.sampled
@pytest.mark.parametrize("how", ["asyncio scope", "asyncio native", "trio scope"])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("approved", [False, True])
def test_a_run_cancelled_at_any_await_keeps_all(how: str, stream: bool, approved: bool) -> None:
    backend, by = how.split()

    async def undisturbed() -> int:
        bench = Bench()
        assert (await bench.agent(approved).run("Hi", stream=stream)).text == "Done."
        assert sorted(bench.started) == list("abcdef")
        return bench.points

    async def main(at: int) -> None:
        bench = Bench(at)
        agent = bench.agent(approved)
        assert await cancelled(bench, agent, by, stream)
        await check_all_is_kept(bench, agent, approved)

    points = on(backend, undisturbed)
    assert points >= 11
    for at in sample(range(1, points + 1), 6):
        on(backend, main, at)


@pytest.mark.sampled
@joined("backend", TASKS)
@joined("stream", [False, True])
@joined("approved", [False, True])
def test_a_run_cancelled_at_any_tick_keeps_all(backend: str, stream: bool, approved: bool) -> None:
    """These are all the awaits there are, those of the library too."""

    async def main(ticks: int) -> bool:
        bench = Bench(threads=False)
        agent = bench.agent(approved)
        cut = await after_ticks(ticks, agent, stream)
        if agent.last_run is not None:
            await check_all_is_kept(bench, agent, approved)
        return cut

    ticks = 1
    while on(backend, main, ticks):
        ticks += 1 if ALL else 3
        assert ticks < 1000
    assert ticks > 11


@pytest.mark.parametrize("backend", TASKS)
def test_a_conversation_goes_on_after_a_cancelled_run_and_the_model_is_told_the_results(
    backend: str,
) -> None:
    async def main() -> list[Message]:
        bench = Bench()
        agent = LLMAgent(bench, tools=bench.tools())
        bench.at = 4  # in `slow` or `shielded` of the first turn
        assert await cancelled(bench, agent, "scope")
        provider = Scripted(LLMResponse(text="I see."))
        agent.provider = provider
        await agent.run("What came of it?")
        return list(provider.asked[0][1]["messages"])

    sent = on(backend, main)
    assert [message.role for message in sent] == ["user", "assistant", "tool", "user"]
    assert [result.id for result in sent[2].tool_results] == ["a", "b", "c", "d"]
    told = answers(sent)
    assert (told["a"], told["b"], told["c"]) == (
        {"result": "result a"},
        CUT_OFF,
        {"result": "result c"},
    )


@pytest.mark.parametrize("backend", TASKS)
def test_a_function_that_returned_before_its_cancellation_has_its_result(
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its thread is done, and the loop has not heard of it when the cancellation comes."""

    class Asked(Scripted):
        async def generate(self, *args: Any, **kwargs: Any) -> LLMResponse:
            await anyio.lowlevel.checkpoint()
            return await super().generate(*args, **kwargs)

    async def main() -> dict[str, Any]:
        async def run_in_thread(_: Any, __: int, function: Callable[[], object]) -> None:
            thread = threading.Thread(target=function)
            thread.start()
            thread.join()
            scope.cancel()
            await anyio.lowlevel.checkpoint()

        @tool(name="write")
        def write() -> str:
            return "written"

        monkeypatch.setattr("wire.agent.tool_calls.run_in_thread", run_in_thread)
        agent = LLMAgent(Asked(LLMResponse(function_calls=(call("a", "write"),))), tools=[write])
        with anyio.CancelScope() as scope:
            await agent.run("Hi")
        assert scope.cancelled_caught
        return answers(agent.history.messages)

    assert on(backend, main) == {"a": {"result": "written"}}


@pytest.mark.parametrize("backend", TASKS)
def test_a_function_that_no_thread_began_before_the_cancellation_is_never_begun(
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A thread takes it up late, while another tool still keeps the run from ending."""
    made: list[str] = []
    queued: list[Callable[[], object]] = []

    async def run_in_thread(_: Any, __: int, function: Callable[[], object]) -> None:
        queued.append(function)
        await anyio.sleep(20)

    def write() -> None:
        made.append("write")

    @tool
    async def late() -> str:
        with anyio.CancelScope(shield=True):
            while not queued:
                await anyio.lowlevel.checkpoint()
            scopes[0].cancel()
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            thread = threading.Thread(target=queued[0])
            thread.start()
            thread.join()
        return "done"

    async def main() -> tuple[dict[str, Any], RunState]:
        calls = (call("a", "write"), call("b", "late"))
        agent = LLMAgent(Scripted(LLMResponse(function_calls=calls)), tools=[write, late])
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await agent.run("Hi")
        assert agent.last_run is not None
        return answers(agent.last_run.result.messages), agent.last_run.state

    scopes: list[anyio.CancelScope] = []
    monkeypatch.setattr("wire.agent.tool_calls.run_in_thread", run_in_thread)
    told, state = on(backend, main)
    assert (told, made) == ({"b": {"result": "done"}}, [])
    assert ([each.id for each in state.open_calls], state.started) == (["a"], ())


@pytest.mark.parametrize("backend", TASKS)
def test_a_function_that_waited_for_a_thread_was_not_started_and_runs_after_resume(
    backend: str,
) -> None:
    made: list[str] = []

    def write() -> str:
        made.append("write")
        return "written"

    async def main() -> Any:
        limiter = anyio.to_thread.current_default_thread_limiter()
        taken = [object() for _ in range(int(limiter.total_tokens))]
        for each in taken:
            limiter.acquire_on_behalf_of_nowait(each)
        agent = LLMAgent(Scripted(LLMResponse(function_calls=(call("a", "write"),))), tools=[write])
        with anyio.move_on_after(0.01) as scope:
            await agent.run("Hi")
        for each in taken:
            limiter.release_on_behalf_of(each)
        assert scope.cancelled_caught
        assert agent.last_run is not None
        state = load_run(dump_run(agent.last_run.state))
        assert (state.started, [each.id for each in state.open_calls], made) == ((), ["a"], [])
        agent.provider = Scripted(LLMResponse(text="Done."))
        return await agent.resume(state)

    result = on(backend, main)
    assert (answers(result.messages), made) == ({"a": {"result": "written"}}, ["write"])
    assert [run.result.content for run in result.runs] == ["written"]


# --- by threads -----------------------------------------------------------------------------------


def calling(*names: str) -> list[dict[str, Any]]:
    return [
        {"match": {"number": 1}, "say": {"calls": [{"name": name} for name in names]}},
        {"say": "Done."},
    ]


def agent_by_threads(script: list[dict[str, Any]], **options: Any) -> Agent:
    return Agent(
        Chat(MODEL, api_key="fake-key", http=EmulatorTransport(Emulator(script)), retry=NONE),
        **options,
    )


def by_name(messages: Sequence[Message]) -> dict[str, Any]:
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return {names[id]: answer for id, answer in answers(messages).items()}


@pytest.mark.parametrize("by", ["hook", "signal"])
def test_ctrl_c_keeps_what_is_there_and_marks_what_runs(by: str) -> None:
    over = threading.Event()
    made: list[str] = []

    def quick() -> str:
        made.append("quick")
        return "written"

    def slow() -> str:
        made.append("slow")
        over.wait(20)
        return "late"

    def quick_is_there() -> bool:
        return by_name(agent.history.messages)["quick"] == {"result": "written"}

    def interrupt() -> str:
        until(quick_is_there)
        until(lambda: "slow" in made)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        over.wait(20)
        return "late"

    def approve(call: ToolCall) -> bool:
        if by == "hook" and call.name == "interrupt":
            until(quick_is_there)
            until(lambda: "slow" in made)
            raise KeyboardInterrupt
        return True

    tools = [quick, slow, interrupt]
    agent = agent_by_threads(calling("quick", "slow", "interrupt"), tools=tools, approve=approve)
    try:
        with pytest.raises(KeyboardInterrupt):
            agent.run("Hi")
        told = by_name(agent.history.messages)
        # The call that was being asked about was not started: it stays open.
        assert told == {
            "quick": {"result": "written"},
            "slow": CUT_OFF,
            "interrupt": {"error": "cancelled"} if by == "hook" else CUT_OFF,
        }
        assert agent.last_run is not None
        state = agent.last_run.state
        saved = dump_run(state)
        still_open = [each.name for each in load_run(saved).open_calls]
        assert still_open == (["interrupt"] if by == "hook" else [])
    finally:
        over.set()
    for thread in threading.enumerate():
        if thread.name.startswith("wire-tool"):
            thread.join(20)
    # Functions that went on are not heard any more.
    assert agent.last_run.state is state
    assert by_name(agent.history.messages) == told
    again = agent_by_threads([{"say": "Done."}], tools=tools, approve=lambda call: "not now")
    result = again.resume(load_run(saved))
    assert result.text == "Done."
    assert by_name(result.messages) == {
        **told,
        "interrupt": {"error": "not now"} if by == "hook" else CUT_OFF,
    }
    assert sorted(made) == ["quick", "slow"]


def test_a_result_is_in_the_history_while_another_call_is_being_asked_about() -> None:
    seen: list[Any] = []

    def quick() -> str:
        return "written"

    def approve(call: ToolCall) -> bool:
        if call.name == "other":
            until(lambda: by_name(agent.history.messages)["quick"] == {"result": "written"})
            assert agent.last_run is not None
            seen.append(by_name(agent.last_run.result.messages))
            seen.append(by_name(load_run(dump_run(agent.last_run.state)).messages))
        return True

    tools = [quick, tool(quick, name="other")]
    agent = agent_by_threads(calling("quick", "other"), tools=tools, approve=approve)
    assert agent.run("Hi").text == "Done."
    assert seen == [{"quick": {"result": "written"}}] * 2


@pytest.mark.parametrize("style", STYLES)
def test_ctrl_c_while_a_result_is_handed_over_does_not_lose_it(style: str) -> None:
    class Slow(HistoryManager):
        """It is interrupted before it has taken the first result."""

        def add_message(self, message: Message | None, allow_incomplete: bool = False) -> None:
            if message is not None and message.role == "tool" and not interrupted:
                interrupted.append(message)
                raise KeyboardInterrupt
            super().add_message(message, allow_incomplete)

    interrupted: list[Message] = []
    history = Slow()
    with pytest.raises(KeyboardInterrupt):
        tools = [tool(lambda: "noon", name="now")]
        talk(style, calling("now"), "Hi", tools=tools, history=history)
    assert by_name(history.messages) == {"now": {"result": "noon"}}


# --- hooks that raise -----------------------------------------------------------------------------


def test_a_hook_that_raises_refuses_its_own_call_and_the_run_goes_on(style: str) -> None:
    made: list[str] = []

    @tool
    def write(name: str) -> str:
        made.append(name)
        return f"{name} written"

    def approve(call: ToolCall) -> bool:
        name = (call.arguments or {})["name"]
        if name == "b":
            raise OSError("no terminal")
        if name == "c":
            raise ExceptionGroup("several", [KeyError()])
        return True

    script = [
        {
            "match": {"number": 1},
            "say": {"calls": [{"name": "write", "args": {"name": name}} for name in "abcd"]},
        },
        {"say": "Done."},
    ]
    said = talk(style, script, "Hi", tools=[write], approve=approve)
    assert [result.answer for result in said.result.messages[1].tool_results] == [
        {"result": "a written"},
        {"error": "refused: the approve hook failed: no terminal"},
        {"error": "refused: the approve hook failed: KeyError"},
        {"result": "d written"},
    ]
    assert (said.result.text, sorted(made)) == ("Done.", ["a", "d"])
    assert {type(run.error).__name__ for run in said.result.runs} == {
        "NoneType",
        "OSError",
        "ExceptionGroup",
    }
    assert said.history[1:] == said.result.messages


def test_an_async_hook_that_raises_refuses_too(style: str) -> None:
    async def approve(call: ToolCall) -> bool:
        await anyio.lowlevel.checkpoint()
        raise OSError("no terminal")

    now = tool(lambda: "noon", name="now")
    said = talk(style, calling("now"), "Hi", tools=[now], approve=approve)
    refusal = {"error": "refused: the approve hook failed: no terminal"}
    assert by_name(said.history) == {"now": refusal}


def test_what_the_model_is_told_of_a_hook_goes_through_on_error(style: str) -> None:
    def approve(call: ToolCall) -> bool:
        raise OSError("password=hunter2")

    said = talk(
        style,
        calling("now"),
        "Hi",
        tools=[tool(lambda: "noon", name="now")],
        approve=approve,
        on_error=lambda error, call: f"{call.name}: {type(error).__name__}",
    )
    assert by_name(said.history) == {"now": {"error": "now: OSError"}}


@pytest.mark.parametrize("broken", ["raises", "returns no text"])
def test_an_on_error_that_fails_costs_the_others_nothing(style: str, broken: str) -> None:
    @tool
    def crash() -> str:
        raise RuntimeError("password=hunter2")

    def on_error(error: Exception, call: ToolCall) -> Any:
        if broken == "raises":
            raise KeyError(str(error))
        return None

    said = talk(
        style,
        calling("crash", "now"),
        "Hi",
        tools=[crash, tool(lambda: "noon", name="now")],
        on_error=on_error,
    )
    raised = "KeyError" if broken == "raises" else "TypeError"
    assert by_name(said.history) == {
        "crash": {"error": f"tool crash failed, and on_error raised {raised}"},
        "now": {"result": "noon"},
    }
    assert str(said.result.runs[0].error or said.result.runs[1].error) == "password=hunter2"


class Broken(Guard):
    """A guard of one's own with a mistake in it."""

    fails: ClassVar[tuple[str, str]] = ("", "")

    def counted(self, calls: Any, before: Any) -> dict[str, int]:
        self._fail("counted", calls)
        return super().counted(calls, before)

    def stops(self, calls: Any, counts: Any, tool_only: int, toolbox: Toolbox) -> bool:
        self._fail("stops", calls)
        return super().stops(calls, counts, tool_only, toolbox)

    def steers(self, call: ToolCall, counts: Any, toolbox: Toolbox) -> str:
        self._fail("steers", [call])
        return super().steers(call, counts, toolbox)

    def _fail(self, method: str, calls: Any) -> None:
        for each in calls:
            if self.fails == (method, each.name):
                raise LookupError(f"no {each.name}")


@pytest.mark.parametrize("method", ["counted", "steers", "stops"])
def test_a_guard_that_raises_refuses_its_own_call(style: str, method: str) -> None:
    class Failing(Broken):
        fails = (method, "other")

    now = tool(lambda: "noon", name="now")
    said = talk(
        style,
        calling("now", "other"),
        "Hi",
        tools=[now, tool(lambda: "x", name="other")],
        guard=Failing(),
    )
    refusal = {"error": "refused: the guard hook failed: no other"}
    # `stops` is asked of the whole turn.
    assert by_name(said.history) == {
        "now": refusal if method == "stops" else {"result": "noon"},
        "other": refusal,
    }
    assert said.result.text == "Done."


def test_a_final_that_raises_is_not_final_and_loses_nothing(style: str) -> None:
    @tool(final=lambda content: content["done"])
    def leave() -> str:
        return "bye"

    said = talk(style, calling("leave"), "Hi", tools=[leave])
    assert (said.result.text, by_name(said.history)) == ("Done.", {"leave": {"result": "bye"}})


# --- tools that break more than themselves --------------------------------------------------------


@joined("kind", [SystemExit, KeyboardInterrupt])
@joined("grouped", [False, True])
def test_an_exit_out_of_a_tool_is_raised_bare_and_keeps_what_is_there(
    style: str,
    kind: type[BaseException],
    grouped: bool,
) -> None:
    over, begun = threading.Event(), threading.Event()

    def quick() -> str:
        return "written"

    def leave() -> str:
        until(lambda: by_name(kept[0].history.messages)["quick"] == {"result": "written"})
        assert begun.wait(20)
        raise BaseExceptionGroup("one", [kind("bye")]) if grouped else kind("bye")

    def slow() -> str:
        begun.set()
        over.wait(20)
        return "late"

    kept: list[Any] = []
    try:
        with pytest.raises(kind, match="bye"):
            talk(
                style,
                calling("quick", "leave", "slow"),
                "Hi",
                tools=[quick, leave, slow],
                setup=kept.append,
            )
        assert by_name(kept[0].history.messages) == {
            "quick": {"result": "written"},
            "leave": CUT_OFF,
            "slow": CUT_OFF,
        }
    finally:
        over.set()


@pytest.mark.parametrize("backend", TASKS)
def test_an_exit_out_of_an_async_tool_can_be_caught_where_the_run_is_awaited(backend: str) -> None:
    @tool
    async def quick() -> str:
        return "written"

    @tool
    async def leave() -> str:
        while not begun or "result" not in answers(agent.history.messages)["a"]:
            await anyio.lowlevel.checkpoint()
        raise SystemExit(3)

    @tool
    async def slow() -> str:
        begun.append("slow")
        await anyio.sleep(20)
        return "late"

    async def main() -> None:
        with pytest.raises(SystemExit) as left:
            await agent.run("Hi")
        assert left.value.code == 3

    begun: list[str] = []
    calls = (call("a", "quick"), call("b", "leave"), call("c", "slow"))
    agent = LLMAgent(Scripted(LLMResponse(function_calls=calls)), tools=[quick, leave, slow])
    on(backend, main)
    told = answers(agent.history.messages)
    assert told == {"a": {"result": "written"}, "b": CUT_OFF, "c": CUT_OFF}


@joined("backend", TASKS)
@joined("kind", [SystemExit, KeyboardInterrupt])
def test_an_exit_out_of_a_hook_is_raised_bare_and_keeps_what_is_there(
    backend: str,
    kind: type[BaseException],
) -> None:
    async def approve(call: ToolCall) -> bool:
        while call.id == "b" and "result" not in answers(agent.history.messages)["a"]:
            await anyio.lowlevel.checkpoint()
        if call.id == "b":
            raise kind("bye")
        return True

    async def main() -> None:
        with pytest.raises(kind, match="bye"):
            await agent.run("Hi")

    now = tool(lambda: "noon", name="now")
    calls = (call("a", "now"), call("b", "now"))
    agent = LLMAgent(Scripted(LLMResponse(function_calls=calls)), tools=[now], approve=approve)
    on(backend, main)
    told = answers(agent.history.messages)
    assert told == {"a": {"result": "noon"}, "b": {"error": "cancelled"}}  # `b` was never made


@pytest.mark.parametrize("how", ["asyncio", "threads"])
def test_a_tool_whose_own_work_was_cancelled_fails_alone(how: str) -> None:
    """asyncio alone lets a cancellation out to those who wait for the cancelled task."""

    @tool
    async def wait() -> str:
        task = asyncio.ensure_future(asyncio.sleep(20))
        task.cancel()
        await task
        return "never"

    @tool
    async def other() -> str:
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        return "done"

    said = talk(how, calling("wait", "other"), "Hi", tools=[wait, other])
    assert by_name(said.history) == {
        "wait": {"error": "a task that it waited for was cancelled"},
        "other": {"result": "done"},
    }
    assert said.result.text == "Done."


def test_a_hook_whose_own_work_was_cancelled_refuses_its_call() -> None:
    async def approve(call: ToolCall) -> bool:
        if call.name == "other":
            return True
        task = asyncio.ensure_future(asyncio.sleep(20))
        task.cancel()
        return await task

    tools = [tool(lambda: "noon", name="now"), tool(lambda: "x", name="other")]
    said = talk("asyncio", calling("now", "other"), "Hi", tools=tools, approve=approve)
    assert by_name(said.history) == {
        "now": {
            "error": "refused: the approve hook failed: a task that it waited for was cancelled"
        },
        "other": {"result": "x"},
    }


@pytest.mark.parametrize("backend", TASKS)
def test_calls_that_are_not_ours_to_make_are_refused_before_any_is_made(backend: str) -> None:
    made: list[str] = []

    async def main() -> None:
        now = tool(lambda: made.append("now"), name="now")
        box = Toolbox([now, Tool("ask_user", "Ask the user.")])
        with pytest.raises(ToolError, match="tool ask_user: it has no function"):
            await run_calls(box, [call("a", "now"), call("b", "ask_user")])

    on(backend, main)
    assert made == []


# --- groups out of a provider ---------------------------------------------------------------------


@joined("backend", TASKS)
@joined("stream", [False, True])
def test_no_group_comes_out_of_a_provider(backend: str, stream: bool) -> None:
    def run(error: BaseException) -> Any:
        class Failing(Scripted):
            async def generate(self, *_: Any, **__: Any) -> LLMResponse:
                raise error

            async def generate_stream(self, *_: Any, **__: Any) -> AsyncIterator[StreamDelta]:
                raise error
                yield StreamDelta()

        return on(backend, lambda: LLMAgent(Failing(), retry=NONE).run("Hi", stream=stream))

    one, two = ValueError("one"), KeyError("two")
    for error in (one, ExceptionGroup("g", [ExceptionGroup("h", [one])])):
        with pytest.raises(ValueError, match="one") as raised:
            run(error)
        assert raised.value is one
        assert not hasattr(one, "__notes__")
    with pytest.raises(ValueError, match="one") as raised:
        run(ExceptionGroup("g", [one, two]))
    assert raised.value is one
    assert one.__notes__ == ["raised together with KeyError('two')"]
    with pytest.raises(KeyboardInterrupt):
        run(BaseExceptionGroup("g", [ValueError("x"), KeyboardInterrupt()]))


@pytest.mark.parametrize("backend", TASKS)
def test_a_group_of_a_failure_that_may_pass_is_tried_again(backend: str) -> None:
    gone = ExceptionGroup("g", [ConnectionResetError("gone")])
    whole = Scripted(gone, LLMResponse(text="Hello."))
    assert on(backend, lambda: LLMAgent(whole, retry=AT_ONCE).run("Hi")).text == "Hello."
    pieces = Scripted([gone], LLMResponse(text="Hello."))
    assert on(backend, lambda: LLMAgent(pieces).run("Hi", stream=True)).text == "Hello."
    assert [how for how, _ in pieces.asked] == ["generate_stream", "generate"]


@pytest.mark.parametrize("backend", TASKS)
def test_a_streamed_run_and_a_resumed_one_let_no_group_out(backend: str) -> None:
    def failing() -> Scripted:
        return Scripted([StreamDelta(text="a"), ExceptionGroup("g", [ValueError("x")])])

    def on_delta(delta: StreamDelta) -> None:
        raise ExceptionGroup("g", [LookupError("screen")])

    def view(messages: Sequence[Message]) -> Sequence[Message]:
        raise ExceptionGroup("g", [LookupError("view")])

    async def main() -> None:
        with pytest.raises(LookupError, match="view"):
            async with LLMAgent(failing(), view=view).stream("Hi") as deltas:
                async for _ in deltas:
                    pass
        with pytest.raises(ValueError, match="x"):
            async with LLMAgent(failing()).stream("Hi") as deltas:
                async for _ in deltas:
                    pass
        with pytest.raises(ValueError, match="x"):
            state = RunState(messages=(Message.user("Hi"),), begun=1)
            await LLMAgent(failing()).resume(state, stream=True)
        with pytest.raises(LookupError, match="screen"):
            await LLMAgent(failing()).run("Hi", stream=True, on_stream_delta=on_delta)

    on(backend, main)


def test_threads_let_no_group_out() -> None:
    def on_delta(delta: StreamDelta) -> None:
        raise ExceptionGroup("g", [LookupError("screen")])

    def stop(state: RunState) -> bool:
        raise ExceptionGroup("g", [LookupError("stop")])

    with pytest.raises(LookupError, match="screen"):
        agent_by_threads([{"say": "Hi."}]).run("Hi", stream=True, on_stream_delta=on_delta)
    now = tool(lambda: "noon", name="now")
    agent = agent_by_threads(calling("now"), tools=[now], stop_when=stop)
    with pytest.raises(LookupError, match="stop"):
        agent.run("Hi")
    assert by_name(agent.history.messages) == {"now": {"result": "noon"}}


# --- runs that wait, and runs that were saved while calls ran -------------------------------------


def test_a_run_that_waits_has_the_results_that_are_there(style: str, tmp_path: Any) -> None:
    script = [
        {"match": {"number": 1}, "say": {"calls": [{"name": "ask_user"}, {"name": "now"}]}},
        {"say": "Never mind."},
    ]
    kept: list[Any] = []
    said = talk(
        style,
        script,
        "Hi",
        "Go on",
        tools=[tool(lambda: "noon", name="now"), Tool("ask_user", "Ask.")],
        setup=kept.append,
    )
    waiting = said.results[0]
    assert waiting.reason == "waiting"
    assert by_name(waiting.messages) == {"now": {"result": "noon"}}
    assert by_name(said.history) == {"ask_user": {"error": "cancelled"}, "now": {"result": "noon"}}
    file = tmp_path / "run.json"
    file.write_bytes(dump_run(waiting.state))
    assert load_run(file.read_bytes()) == waiting.state
    assert by_name(read_session(file).messages) == {"now": {"result": "noon"}}


@joined(
    ("resumed", "told", "again"),
    [
        ({}, {"a": CUT_OFF, "b": {"result": "b read"}, "c": {"result": "c written"}}, ["b", "c"]),
        (
            {"results": [ToolResult("a", "write", "it was written")]},
            {
                "a": {"result": "it was written"},
                "b": {"result": "b read"},
                "c": {"result": "c written"},
            },
            ["b", "c"],
        ),
        (
            {"verdicts": {"a": True, "c": "not now"}},
            {"a": {"result": "a written"}, "b": {"result": "b read"}, "c": {"error": "not now"}},
            ["a", "b"],
        ),
    ],
)
@joined("backend", TASKS)
def test_a_run_that_was_saved_while_calls_ran_starts_none_of_them_again(
    backend: str, resumed: dict[str, Any], told: dict[str, Any], again: list[str]
) -> None:
    """Tools that change nothing are run again, and what somebody wants to be run again."""
    made: list[str] = []

    @tool
    async def write(context: ToolContext) -> str:
        made.append(context.call.id)
        return f"{context.call.id} written"

    @tool(read_only=True)
    async def read(context: ToolContext) -> str:
        made.append(context.call.id)
        return f"{context.call.id} read"

    turn = Message.assistant(call("a", "write"), call("b", "read"), call("c", "write"))
    state = RunState(messages=(Message.user("Hi"), turn), begun=1, asked=1, started=("a", "b"))
    state = load_run(dump_run(state))
    assert state.started == ("a", "b")
    agent = LLMAgent(Scripted(LLMResponse(text="Done.")), tools=[write, read])
    result = on(backend, functools.partial(agent.resume, state, **resumed))
    assert answers(result.messages) == told
    assert sorted(made) == again
    assert (result.text, result.state.started) == ("Done.", ())
    given = {each.id for each in resumed.get("results", ())}
    assert {run.call.id for run in result.runs} == {*told} - given


@pytest.mark.parametrize("backend", TASKS)
def test_a_read_only_tool_that_was_cut_off_runs_again(backend: str) -> None:
    scopes: list[anyio.CancelScope] = []

    @tool(read_only=True)
    async def read() -> str:
        if scopes:
            scopes.pop().cancel()
            await anyio.sleep(20)
        return "read"

    async def main() -> Any:
        agent = LLMAgent(
            Scripted(LLMResponse(function_calls=(call("a", "read"),)), LLMResponse(text="Done.")),
            tools=[read],
        )
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            await agent.run("Hi")
        assert agent.last_run is not None
        state = agent.last_run.state
        assert ([each.id for each in state.open_calls], state.started) == (["a"], ())
        return await agent.resume(load_run(dump_run(state)))

    assert answers(on(backend, main).messages) == {"a": {"result": "read"}}


@pytest.mark.parametrize("backend", TASKS)
def test_tools_of_one_turn_see_each_others_results_in_the_call_order(backend: str) -> None:
    seen: list[list[str]] = []

    @tool
    async def first() -> str:
        while not answers(agent.history.messages).get("b", {}).get("result"):
            await anyio.lowlevel.checkpoint()
        assert agent.last_run is not None
        seen.append([result.id for result in agent.last_run.result.messages[-1].tool_results])
        return "1"

    @tool
    async def second() -> str:
        return "2"

    provider = Scripted(
        LLMResponse(function_calls=(call("a", "first"), call("b", "second"))),
        LLMResponse(text="Done."),
    )
    agent = LLMAgent(provider, tools=[first, second], history=HistoryManager())

    async def main() -> Any:
        with anyio.fail_after(10):
            return await agent.run("Hi")

    result = on(backend, main)
    assert seen == [["b"]]
    assert [each.id for each in result.messages[1].tool_results] == ["a", "b"]
    assert agent.history.messages[1:] == list(result.messages)
    assert (agent.history.notes, agent.history.messages.notes) == ((), ())
