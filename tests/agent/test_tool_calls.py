"""Calls of one turn, run at once: on asyncio, on trio, and by threads."""

from __future__ import annotations

import functools
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import anyio.to_thread
import pytest

from tests.joined import joined
from wire import AsyncChat, Chat
from wire.agent import Agent, LLMAgent
from wire.agent.provider import StreamDelta
from wire.agent.tool_calls import Approve, run_calls, run_calls_in_threads
from wire.errors import ConfigurationError, ToolError
from wire.neutral.messages import Message, ToolCall
from wire.testing.emulator import Emulator, EmulatorTransport
from wire.tools import Toolbox, ToolContext, ToolRun, tool

Run = Callable[..., list[ToolRun]]


def _in_tasks(backend: str) -> Run:
    def run(
        toolbox: Toolbox, calls: Sequence[ToolCall], approve: Approve | None = None, **options: Any
    ) -> list[ToolRun]:
        return anyio.run(
            functools.partial(run_calls, toolbox, calls, approve, **options), backend=backend
        )

    return run


@pytest.fixture(params=["asyncio", "trio", "threads"])
def run(request: pytest.FixtureRequest) -> Run:
    return run_calls_in_threads if request.param == "threads" else _in_tasks(request.param)


def call(id: str, name: str, /, **arguments: object) -> ToolCall:
    return ToolCall(id=id, name=name, arguments=arguments)


def answers(runs: Sequence[ToolRun]) -> list[dict[str, Any]]:
    return [each.result.answer for each in runs]


@pytest.mark.row("S3-09", "S1-54")
def test_functions_of_one_turn_overlap_plain_and_async(run: Run) -> None:
    """Each waits for all the others: one after the other they would never end."""
    met = threading.Barrier(3, timeout=20)

    @tool(timeout=20)
    def plain(n: int) -> int:
        met.wait()
        return n

    @tool(timeout=20)
    async def other(n: int) -> int:
        await anyio.to_thread.run_sync(met.wait, abandon_on_cancel=True)
        return n

    runs = run(
        Toolbox([plain, other]),
        [call("a", "plain", n=1), call("b", "other", n=2), call("c", "plain", n=3)],
    )
    assert answers(runs) == [{"result": 1}, {"result": 2}, {"result": 3}]
    assert [each.call.id for each in runs] == ["a", "b", "c"]


@pytest.mark.row("S1-54", "S3-11", "S3-12")
def test_what_goes_wrong_is_an_answer_and_costs_the_others_nothing(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    @tool
    def crash(n: int) -> int:
        """It never works."""
        raise RuntimeError("no such file")

    @tool
    async def silent(n: int) -> int:
        """It says nothing."""
        raise KeyError

    @tool
    def fine(n: int) -> int:
        """It works."""
        return n

    calls = [
        call("a", "crash", n=1),
        call("b", "nobody"),
        call("c", "fine", n="x"),
        call("d", "silent", n=1),
        call("e", "fine", n=5),
    ]
    with caplog.at_level(logging.WARNING, "wire.agent"):
        runs = run(Toolbox([crash, silent, fine]), calls)
    assert answers(runs) == [
        {"error": "no such file"},
        {"error": "unknown tool: nobody"},
        {"error": "invalid parameters: $.n: Expected `int`, got `str`"},
        {"error": "KeyError"},
        {"result": 5},
    ]
    assert [type(each.error).__name__ for each in runs] == [
        "RuntimeError",
        "NoneType",
        "NoneType",
        "KeyError",
        "NoneType",
    ]
    told = sorted(record.getMessage() for record in caplog.records)
    assert [each.partition(" at ")[0] for each in told] == [
        "the call of crash failed: RuntimeError",
        "the call of silent failed: KeyError",
    ]
    # The place is one of the code; the message and the traceback stand at DEBUG.
    assert all(" at test_tool_calls.py:" in each for each in told)
    assert not any(record.exc_info for record in caplog.records)


@pytest.mark.row("S3-12")
def test_a_filter_decides_what_the_model_is_told(run: Run) -> None:
    def crash() -> None:
        raise RuntimeError("password of the database: x")

    runs = run(
        Toolbox([crash], on_error=lambda error, call: f"{call.name} failed"), [call("a", "crash")]
    )
    assert answers(runs) == [{"error": "crash failed"}]
    assert str(runs[0].error) == "password of the database: x"


@pytest.mark.row("S3-15")
def test_a_tool_over_its_time_is_answered_and_the_others_are_kept(run: Run) -> None:
    over = threading.Event()

    @tool(timeout=0.05)
    def plain() -> str:
        over.wait(20)
        return "late"

    @tool(timeout=0.05)
    async def other() -> str:
        # By threads nobody cancels it: it ends with the test, or its thread would outlive the run.
        await anyio.to_thread.run_sync(over.wait, 20, abandon_on_cancel=True)
        return "late"

    def quick() -> str:
        return "done"

    try:
        runs = run(
            Toolbox([plain, other, quick]),
            [call("a", "plain"), call("b", "other"), call("c", "quick")],
        )
    finally:
        over.set()
    assert answers(runs) == [
        {"error": "tool plain timeout after 0.05 s"},
        {"error": "tool other timeout after 0.05 s"},
        {"result": "done"},
    ]


@pytest.mark.row("S3-15")
def test_a_timeout_that_a_function_raises_is_its_own(run: Run) -> None:
    @tool(timeout=20)
    def asks() -> str:
        raise TimeoutError("API request failed: timeout")

    @tool(timeout=20)
    async def waits() -> str:
        with anyio.fail_after(0):
            await anyio.sleep(20)
        return "late"

    runs = run(Toolbox([asks, waits]), [call("a", "asks"), call("b", "waits")])
    assert answers(runs) == [{"error": "API request failed: timeout"}, {"error": "TimeoutError"}]


@pytest.mark.row("S1-58")
def test_each_call_is_approved_or_refused_and_all_are_answered(run: Run) -> None:
    made: list[str] = []

    def write(name: str) -> str:
        made.append(name)
        return "written"

    def approve(call: ToolCall) -> bool | str:
        return {"a": True, "b": "not that one", "c": False, "d": True}[call.id]

    calls = [call(id, "write", name=id) for id in "abcd"]
    assert answers(run(Toolbox([write]), calls, approve)) == [
        {"result": "written"},
        {"error": "not that one"},
        {"error": "refused by the user"},
        {"result": "written"},
    ]
    assert sorted(made) == ["a", "d"]


@pytest.mark.parametrize("verdict", [None, 1, 0, 1.0, [True], {"approved": True}, object])
def test_only_true_approves(run: Run, verdict: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Issue class 7: a hook that returns nothing has not said yes."""
    made: list[str] = []

    def write(name: str) -> None:
        made.append(name)

    async def approve(call: ToolCall) -> Any:
        return verdict

    kind = type(verdict).__name__
    problem = f"its result: expected True, False or the reason of a refusal as text, not {kind}"
    for hook in (lambda call: verdict, approve):
        [asked] = run(Toolbox([write]), [call("a", "write", name="x")], hook)
        assert asked.result.answer == {"error": f"refused: the approve hook failed: {problem}"}
        assert isinstance(asked.error, ConfigurationError)
    assert made == []
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_plain_hook_holds_up_no_other_task_and_asks_one_question_at_a_time(backend: str) -> None:
    released, asked, at_once = threading.Event(), [], [0, 0]

    def write(name: str) -> str:
        return "written"

    def approve(call: ToolCall) -> bool:
        asked.append(call.id)
        at_once[0] += 1
        at_once[1] = max(at_once)
        other_tasks_go_on = released.wait(10)
        at_once[0] -= 1
        return other_tasks_go_on

    async def main() -> list[ToolRun]:
        async with anyio.create_task_group() as group:

            async def release() -> None:
                while not asked:
                    await anyio.lowlevel.checkpoint()
                released.set()

            group.start_soon(release)
            calls = [call(id, "write", name=id) for id in "abcd"]
            return await run_calls(Toolbox([write]), calls, approve)

    assert answers(anyio.run(main, backend=backend)) == [{"result": "written"}] * 4
    assert (sorted(asked), at_once) == (["a", "b", "c", "d"], [0, 1])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_hooks_and_tools_of_threads_work_where_a_loop_is_running(backend: str) -> None:
    """Issue class 7: as in a notebook."""
    deltas: list[str] = []

    async def write(name: str) -> str:
        await anyio.lowlevel.checkpoint()
        return "written"

    async def approve(call: ToolCall) -> bool | str:
        await anyio.lowlevel.checkpoint()
        return call.arguments == {"name": "a"} or "only a"

    async def on_stream_delta(delta: StreamDelta) -> None:
        await anyio.lowlevel.checkpoint()
        deltas.append(delta.text)

    script = [
        {"say": {"calls": [{"name": "write", "args": {"name": name}} for name in "ab"]}},
        {"say": "Done."},
    ]

    async def cell() -> list[Any]:
        http = EmulatorTransport(Emulator(script))
        chat = Chat("gemini:gemini-3.1-pro-preview", api_key="fake-key", http=http)
        with Agent(chat, tools=[write], approve=approve) as agent:
            result = agent.run("Hi", stream=True, on_stream_delta=on_stream_delta)
        return [run.result.answer for run in result.runs]

    before = threading.active_count()
    assert anyio.run(cell, backend=backend) == [{"result": "written"}, {"error": "only a"}]
    assert "".join(deltas) == "Done."
    while threading.active_count() > before:  # the last thread of a tool may be ending
        time.sleep(0.001)


def test_an_interrupt_cancels_an_async_hook() -> None:
    cancelled = threading.Event()

    async def approve(call: ToolCall) -> bool:
        try:
            signal.raise_signal(signal.SIGINT)
            await anyio.sleep_forever()
        finally:
            cancelled.set()
        return True

    def write(name: str) -> str:
        return "written"

    with pytest.raises(KeyboardInterrupt):
        run_calls_in_threads(Toolbox([write]), [call("a", "write", name="x")], approve)
    assert cancelled.is_set()


async def _async_hook(*_: Any) -> Any:
    return True


@joined("name", ["stop_when", "on_change", "on_error", "view"])
@joined("kind", [Agent, LLMAgent])
def test_a_hook_that_is_not_awaited_cannot_be_async(kind: Any, name: str) -> None:
    """Its coroutine would count as true."""
    chat = AsyncChat if kind is LLMAgent else Chat
    problem = f"^{name}: expected a plain function, not an async one$"
    with pytest.raises(ConfigurationError, match=problem):
        kind(chat("gemini:gemini-3.1-pro-preview", api_key="fake-key"), **{name: _async_hook})
    with pytest.raises(ToolError, match=r"^tool now: final: expected a plain function, not an "):
        tool(lambda: 1, name="now", final=_async_hook)


def test_what_cannot_be_made_is_not_asked_about(run: Run) -> None:
    asked: list[str] = []

    def approve(call: ToolCall) -> bool:
        asked.append(call.id)
        return True

    def write(name: str) -> str:
        return name

    run(
        Toolbox([write]),
        [call("a", "write"), call("b", "nobody"), call("c", "write", name="x")],
        approve,
    )
    assert asked == ["c"]


@pytest.mark.row("S1-58")
def test_approval_may_wait_for_somebody(run: Run) -> None:
    def write(name: str) -> str:
        return name

    async def approve(call: ToolCall) -> str:
        await anyio.lowlevel.checkpoint()
        return "no"

    assert answers(run(Toolbox([write]), [call("a", "write", name="x")], approve)) == [
        {"error": "no"}
    ]


@pytest.mark.row("S3-25")
def test_a_function_may_ask_for_its_call_the_model_and_the_messages(run: Run) -> None:
    def who(context: ToolContext, word: str) -> list[str]:
        return [context.call.id, context.model, context.messages[0].text, word]

    runs = run(
        Toolbox([who]),
        [call("a", "who", word="x")],
        model="gemini-3.1-pro-preview",
        messages=[Message.user("Hi")],
    )
    assert answers(runs) == [{"result": ["a", "gemini-3.1-pro-preview", "Hi", "x"]}]


@pytest.mark.row("S1-54", "S3-15")
@joined("backend", ["asyncio", "trio"])
@joined("kind", ["plain", "async"])
def test_a_cancelled_run_is_no_answer(backend: str, kind: str) -> None:
    over = threading.Event()
    ended: list[str] = []

    async def main() -> str:
        begun = anyio.Event()

        async def waits() -> None:
            begun.set()
            try:
                await anyio.sleep(20)
            finally:
                ended.append("async")

        def blocks() -> None:
            anyio.from_thread.run_sync(begun.set)
            over.wait(20)

        toolbox = Toolbox([tool(blocks if kind == "plain" else waits, name="waits")])
        with anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(run_calls, toolbox, [call("a", "waits")])
                await begun.wait()
                scope.cancel()
            return "answered"
        return "cancelled"

    try:
        assert anyio.run(main, backend=backend) == "cancelled"
    finally:
        over.set()
    assert ended == (["async"] if kind == "async" else [])


def test_nothing_to_run_is_nothing(run: Run) -> None:
    assert run(Toolbox([]), []) == []


# --- bounds ---------------------------------------------------------------------------------------


class Peak:
    """The most functions that ran at once, and the most threads of tools."""

    def __init__(self, full: int) -> None:
        self.now = self.most = self.threads = 0
        self.full = threading.Event()
        self._full, self._lock = full, threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            names = [each.name for each in threading.enumerate()]
            self.threads = max(self.threads, names.count("wire-tool"))
            if self.now == self._full:
                self.full.set()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_turn_of_300_calls_runs_as_many_at_once_as_it_may(run: Run, kind: str) -> None:
    """R-11: at most 16 functions, in at most 16 threads, and the results in call order."""
    peak = Peak(16)

    def plain(n: int) -> int:
        with peak:
            assert peak.full.wait(20)
            return n

    async def other(n: int) -> int:
        with peak:
            await anyio.to_thread.run_sync(peak.full.wait, 20)
            return n

    function = tool(plain if kind == "plain" else other, name="function")
    runs = run(Toolbox([function]), [call(str(n), "function", n=n) for n in range(300)])
    assert answers(runs) == [{"result": n} for n in range(300)]
    assert peak.most == 16
    assert peak.threads <= 16


def test_a_limit_of_one_runs_one_call_after_the_other(run: Run) -> None:
    order: list[int] = []
    peak = Peak(1)

    def step(n: int) -> int:
        with peak:
            order.append(n)
            return n

    runs = run(Toolbox([step]), [call(str(n), "step", n=n) for n in range(5)], max_parallel=1)
    assert (answers(runs), order) == ([{"result": n} for n in range(5)], [0, 1, 2, 3, 4])
    assert peak.most == 1


@joined("limit", [0, -1, True, 2.0, None, "16"])
def test_a_limit_that_is_none_is_refused(run: Run, limit: Any) -> None:
    with pytest.raises(ConfigurationError, match="max_parallel: expected a whole number"):
        run(Toolbox([]), [], max_parallel=limit)


def test_functions_that_never_return_do_not_keep_the_others_waiting(run: Run) -> None:
    """Each takes a place until its timeout, which begins when it starts."""
    over = threading.Event()

    @tool(timeout=0.05)
    def stuck() -> None:
        over.wait(20)

    def quick(n: int) -> int:
        return n

    calls = [call(f"s{n}", "stuck") for n in range(6)] + [call("q", "quick", n=7)]
    try:
        runs = run(Toolbox([stuck, quick]), calls, max_parallel=2)
    finally:
        over.set()
    late = {"error": "tool stuck timeout after 0.05 s"}
    assert answers(runs) == [*[late] * 6, {"result": 7}]


TOOL_THAT_NEVER_RETURNS = """
import sys, threading, anyio
from wire.agent import Agent, LLMAgent
from wire.chat.chat import AsyncChat, Chat
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import tool

style, how = sys.argv[1:]

@tool(timeout=0.05 if how == "timeout" else None)
def stuck() -> None:
    if how == "interrupt":
        import os, signal
        os.kill(os.getpid(), signal.SIGINT)
        if style != "threads":
            # asyncio has no handler below Python: a signal that arrives just before the loop
            # sleeps is seen when something wakes the loop.
            anyio.from_thread.run_sync(int)
    threading.Event().wait(600)

script = [{"match": {"number": 1}, "say": {"calls": [{"name": "stuck"}]}}, {"say": "Done."}]
name = "gemini:gemini-3.1-pro-preview"
try:
    if style == "threads":
        chat = Chat(name, api_key="fake-key", http=EmulatorTransport(Emulator(script)))
        print(Agent(chat, tools=[stuck]).run("Hi"))
    else:
        chat = AsyncChat(name, api_key="fake-key", http=AsyncEmulatorTransport(Emulator(script)))
        print(anyio.run(LLMAgent(chat, tools=[stuck]).run, "Hi", backend=style))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.processes
@pytest.mark.row("R-43")
@pytest.mark.parametrize(
    ("style", "how", "printed"),
    [
        ("asyncio", "timeout", "Done."),
        pytest.param("trio", "timeout", "Done.", marks=pytest.mark.slow),
        pytest.param("threads", "timeout", "Done.", marks=pytest.mark.slow),
        pytest.param("asyncio", "interrupt", "interrupted", marks=pytest.mark.slow),
        ("trio", "interrupt", "interrupted"),
        ("threads", "interrupt", "interrupted"),
    ],
)
def test_a_tool_that_never_returns_does_not_keep_the_process_from_ending(
    style: str, how: str, printed: str
) -> None:
    """The tool waits ten minutes; the process ends at once, or `timeout` fails the test."""
    command = [sys.executable, "-c", TOOL_THAT_NEVER_RETURNS, style, how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_plain_function_may_use_the_event_loop_of_its_run(backend: str) -> None:
    async def double(n: int) -> int:
        await anyio.lowlevel.checkpoint()
        return 2 * n

    @tool
    def uses_loop(n: int) -> int:
        anyio.from_thread.check_cancelled()
        return anyio.from_thread.run(double, n)

    @tool
    def uses_a_loop_of_its_own(n: int) -> int:
        return anyio.run(double, n)

    toolbox = Toolbox([uses_loop, uses_a_loop_of_its_own])
    calls = [call("a", "uses_loop", n=2), call("b", "uses_a_loop_of_its_own", n=3)]
    assert answers(_in_tasks(backend)(toolbox, calls)) == [{"result": 4}, {"result": 6}]
