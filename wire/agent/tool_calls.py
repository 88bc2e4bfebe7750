"""Runs the calls of one turn at the same time, on asyncio and trio or in threads.

Each call is reported when its tool starts and when it has its result. `wire.tools` builds the
results. `wire.agent.steps` decides about calls that a cancelled run leaves open.
"""

from __future__ import annotations

import contextvars
import inspect
import math
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Any, Protocol, TypeAlias

import anyio
import anyio.to_thread

from wire.agent.hooks import MAX_WAIT_SECONDS, HookLoop
from wire.agent.steps import Verdict, check_verdict, refused
from wire.core.logs import logger
from wire.errors import ToolError, ungrouped
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.tools import Ready, Toolbox, ToolContext, ToolRun
from wire.tools.signature import is_async

Approve: TypeAlias = Callable[[ToolCall], Verdict | Awaitable[Verdict]]
"""Called before each tool call: `True` approves it, `False` or a reason refuses it. Anything else,
such as the `None` of a function that returns nothing, refuses it too.
"""

log = logger("wire.agent")


class Progress(Protocol):
    """Receives reports about calls, from any thread, one at a time. `Steps` is one."""

    def started(self, call: ToolCall) -> None:
        """The tool of this call is about to start."""
        ...

    def answered(self, runs: Iterable[ToolRun]) -> None:
        """These calls got their results."""
        ...


async def run_calls(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    approve: Approve | None = None,
    *,
    model: str = "",
    messages: Sequence[Message] = (),
    progress: Progress | None = None,
) -> list[ToolRun]:
    """Run calls at the same time, plain functions in threads; returns the runs in call order.

    A plain `approve` is called in a thread too, for one call at a time: while it waits for a user,
    other tasks go on. An async one is awaited for all calls at the same time.

    An exception of a function becomes its result, one of `approve` refuses its call. A cancellation
    ends all calls and is raised. So is any other exception that is no `Exception`, such as
    `SystemExit`. By then `progress` has every result that exists. Raises `ToolError`, before any
    call starts, for a call of a tool without a function.
    """
    turn = _Turn(calls, progress)
    prepared = [_prepared(toolbox, call, model, messages) for call in calls]
    one_question = anyio.CapacityLimiter(1)
    exits: list[BaseException] = []

    async def run(position: int, ready: Ready | ToolRun) -> None:
        try:
            if isinstance(ready, Ready) and approve is not None:
                ready = await _approved(toolbox, ready, approve, one_question)
            if isinstance(ready, Ready):
                ready = await _outcome(toolbox, ready, turn, position)
            turn.add(position, ready)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as raised:
            error = ungrouped(raised)
            if isinstance(error, anyio.get_cancelled_exc_class()):
                raise error from raised
            # On asyncio, SystemExit in a task ends the event loop at once. So it is raised where
            # the run is awaited, after the other calls have stopped.
            exits.append(error)
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            for position, ready in enumerate(prepared):
                group.start_soon(run, position, ready)
    finally:
        turn.end()
        if exits:
            raise exits[0]
    return turn.runs


async def _approved(
    toolbox: Toolbox, ready: Ready, approve: Approve, one_question: anyio.CapacityLimiter
) -> Ready | ToolRun:
    """The call if it is approved, else its result."""
    try:
        verdict: Any = (
            approve(ready.call)
            if is_async(approve)
            else await anyio.to_thread.run_sync(
                approve, ready.call, abandon_on_cancel=True, limiter=one_question
            )
        )
        if inspect.isawaitable(verdict):
            verdict = await _await_contained(verdict)
        return _apply_verdict(ready, verdict)
    except Exception as error:
        return toolbox.hook_failed(ready.call, "approve", error)


def _apply_verdict(ready: Ready, verdict: Verdict) -> Ready | ToolRun:
    check_verdict(verdict, "its result")
    refusal = refused(ready.call, verdict)
    return ready if refusal is None else ToolRun(ready.call, refusal)


async def _outcome(toolbox: Toolbox, ready: Ready, turn: _Turn, position: int) -> ToolRun:
    try:
        with anyio.move_on_after(ready.timeout):
            return toolbox.finish(ready, await _await_contained(_value(ready, turn, position)))
    except Exception as error:
        return toolbox.finish(ready, None, error)
    return toolbox.timed_out(ready)


async def _value(ready: Ready, turn: _Turn, position: int) -> Any:
    if ready.is_async:
        turn.begin(position)
        value = ready.run()
    else:
        value = await _in_thread(ready, turn, position)
    return await value if inspect.isawaitable(value) else value


async def _in_thread(ready: Ready, turn: _Turn, position: int) -> Any:
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        if turn.begin(position):
            try:
                outcome.append((ready.run(), None))
            except BaseException as raised:
                outcome.append((None, raised))

    try:
        await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        # A thread cannot be stopped. If it has not started, it never does; if it has returned,
        # its value counts.
        turn.withhold(position)
        if not outcome:
            raise
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


async def _await_contained(awaitable: Awaitable[Any]) -> Any:
    """Await it; a cancellation that is not the run's becomes a `ToolError`.

    On asyncio, awaiting a cancelled task raises its `CancelledError`. It would cancel the other
    calls of the turn.
    """
    try:
        return await awaitable
    except anyio.get_cancelled_exc_class() as cancelled:
        if anyio.current_effective_deadline() == -math.inf:
            raise
        raise ToolError("a task that it waited for was cancelled") from cancelled


def run_calls_in_threads(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    approve: Approve | None = None,
    *,
    model: str = "",
    messages: Sequence[Message] = (),
    progress: Progress | None = None,
) -> list[ToolRun]:
    """As `run_calls`, in threads; each async function gets its own event loop.

    `approve` is called in the caller's thread. A thread cannot be stopped: a function past its
    timeout, or after a `KeyboardInterrupt`, keeps running; its result is discarded.
    """
    turn = _Turn(calls, progress)
    prepared = [_prepared(toolbox, call, model, messages) for call in calls]
    running: dict[Future[None], tuple[int, Ready, float]] = {}
    pool = ThreadPoolExecutor(max_workers=len(calls) or 1, thread_name_prefix="wire-tool")
    try:
        for position, ready in enumerate(prepared):
            if isinstance(ready, Ready) and approve is not None:
                ready = _approved_here(toolbox, ready, approve)
            if isinstance(ready, ToolRun):
                turn.add(position, ready)
                continue
            until = time.monotonic() + (math.inf if ready.timeout is None else ready.timeout)
            context = contextvars.copy_context()
            future = pool.submit(context.run, _work, toolbox, ready, turn, position)
            running[future] = (position, ready, until)
        while running:
            left = min(until for _, _, until in running.values()) - time.monotonic()
            done, _ = wait(running, max(0.0, min(left, MAX_WAIT_SECONDS)), FIRST_COMPLETED)
            for future in done:
                del running[future]
                error = future.exception()
                if error is not None:
                    raise ungrouped(error)
            for future, (position, ready, until) in [*running.items()]:
                if until <= time.monotonic():
                    del running[future]
                    turn.add(position, toolbox.timed_out(ready))
    finally:
        turn.end()
        pool.shutdown(wait=False, cancel_futures=True)
    return turn.runs


def _approved_here(toolbox: Toolbox, ready: Ready, approve: Approve) -> Ready | ToolRun:
    """As `_approved`, with an event loop only if the hook is async."""
    try:
        with HookLoop() as hooks:
            verdict = hooks.result(approve(ready.call))
        return _apply_verdict(ready, verdict)
    except Exception as error:
        return toolbox.hook_failed(ready.call, "approve", error)


def _work(toolbox: Toolbox, ready: Ready, turn: _Turn, position: int) -> None:
    """Run a call from start to end in its thread, and report its result from there."""
    if not turn.begin(position):
        return
    value: Any = None
    error: Exception | None = None
    try:
        value = ready.run()
        if inspect.isawaitable(value):
            # The context of the caller is copied for the tool. Where a loop runs in the caller's
            # thread, sniffio's variable in it says that one runs here too.
            if sniffio := sys.modules.get("sniffio"):
                sniffio.current_async_library_cvar.set(None)
            value = anyio.run(_await_contained, value)
    except Exception as raised:
        error = raised
    turn.add(position, toolbox.finish(ready, value, error))


def _prepared(
    toolbox: Toolbox,
    call: ToolCall,
    model: str,
    messages: Sequence[Message],
) -> Ready | ToolRun:
    context = ToolContext(call=call, model=model, messages=tuple(messages))
    ready = toolbox.prepare(call, context)
    return ToolRun(call, ready) if isinstance(ready, ToolResult) else ready


class _Turn:
    """The runs of the calls of one turn. Each is reported once, by the thread that has it.

    The lock serializes three events from different threads: a tool starts, a result arrives, the
    turn ends. After the end no tool starts and nothing is reported.
    """

    def __init__(self, calls: Sequence[ToolCall], progress: Progress | None) -> None:
        self._calls, self._progress = calls, progress
        self._runs: dict[int, ToolRun] = {}
        self._withheld: set[int] = set()
        self._ended = False
        self._lock = Lock()

    def begin(self, position: int) -> bool:
        """Report that the tool starts; false if it must not start any more."""
        with self._lock:
            if self._ended or position in self._withheld or position in self._runs:
                return False
            if self._progress is not None:
                self._progress.started(self._calls[position])
            return True

    def withhold(self, position: int) -> None:
        """Prevent the tool of this call from starting."""
        with self._lock:
            self._withheld.add(position)

    def add(self, position: int, run: ToolRun) -> None:
        """Report a run, unless its call has a result already. Its exception is logged."""
        with self._lock:
            if self._ended or position in self._runs:
                return
            self._runs[position] = run
            if self._progress is not None:
                self._progress.answered([run])
        if run.error is not None:
            text = "the call of %s failed: %s"
            log.warning(text, run.call.name, run.error, exc_info=run.error)

    def end(self) -> None:
        """End the turn: nothing starts or is reported from here on."""
        with self._lock:
            self._ended = True

    @property
    def runs(self) -> list[ToolRun]:
        """The runs of all calls, in call order."""
        return [self._runs[position] for position in range(len(self._calls))]
