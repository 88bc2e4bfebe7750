"""Runs the calls of one turn at the same time, on asyncio and trio or in threads.

At most `max_parallel` functions run at once; the other calls wait for their turn.

Each call is reported when its tool starts and when it has its result. `wire.tools` builds the
results. `wire.agent.steps` decides about calls that a cancelled run leaves open.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import math
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from logging import Logger
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Protocol, TypeAlias

import anyio

from wire.agent.budgets import checked_count
from wire.agent.hooks import MAX_WAIT_SECONDS, HookLoop, Verdict, check_verdict, refused
from wire.agent.on_disk import saved_later
from wire.agent.spans import Span, Spans, run_inside
from wire.agent.steps import INTERRUPTED
from wire.agent.tool_threads import DaemonThreads, run_in_thread
from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, ToolError, ungrouped
from wire.core.logs import log_failure, logger
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.tools import Ready, Toolbox, ToolContext, ToolRun, is_async

Approve: TypeAlias = Callable[[ToolCall], Verdict | Awaitable[Verdict]]
"""Called before each tool call: `True` approves it, `False` or a reason refuses it. Anything else,
such as the `None` of a function that returns nothing, refuses it too.
"""

log: Logger = logger("wire.agent")

MAX_PARALLEL_TOOLS = 16
"""Default for the calls of one turn that run at once. Models ask for hundreds, and each plain
function takes a thread.
"""


class Progress(Protocol):
    """Receives reports about calls, from any thread, one at a time. `Steps` is one."""

    def started(self, call: ToolCall) -> None:
        """Note that the tool of this call is about to start."""
        ...

    def answered(self, runs: Iterable[ToolRun]) -> None:
        """Note that these calls got their results."""
        ...


@checked_arguments(ConfigurationError)
async def run_calls(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    approve: Approve | None = None,
    *,
    model: str = "",
    messages: Sequence[Message] = (),
    progress: Progress | None = None,
    max_parallel: int = MAX_PARALLEL_TOOLS,
    tracing: Spans | None = None,
) -> list[ToolRun]:
    """Run calls at the same time, plain functions in threads; returns the runs in call order.

    At most `max_parallel` functions run at once. The timeout of a tool begins when it starts. A
    plain function past its timeout keeps running in its thread; its result is discarded, and it
    does not count any more.

    A plain `approve` is called in a thread too, for one call at a time: while it waits for a user,
    other tasks go on. An async one is awaited for all calls at the same time.

    An exception of a function becomes its result, one of `approve` refuses its call. A cancellation
    ends all calls and is raised. So is any other exception that is not an `Exception`, such as
    `SystemExit`, and any exception of `progress`, after which no tool starts. By then `progress`
    has every result that exists. Raises `ToolError`, before any call starts, for a call of a tool
    without a function, and `ConfigurationError` for a `max_parallel` below 1.
    """
    checked_count("max_parallel", max_parallel)
    turn = _Turn(calls, progress, DaemonThreads(max_parallel), toolbox, tracing)
    prepared = [_prepared(toolbox, call, model, messages) for call in calls]
    questions = _Questions()
    exits: list[BaseException] = []
    places = anyio.CapacityLimiter(max_parallel)

    async def run(position: int, ready: Ready | ToolRun) -> None:
        try:
            if isinstance(ready, Ready) and approve is not None:
                ready = await _approved(toolbox, ready, approve, questions, position)
                if isinstance(ready, Ready):
                    await places.acquire_on_behalf_of(position)
            if isinstance(ready, Ready):
                ready = await _outcome(toolbox, ready, turn, position)
                places.release_on_behalf_of(position)
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
                # Here, because trio runs new tasks in random order. A call that waits for its
                # approval takes no place.
                if approve is None and isinstance(ready, Ready):
                    await places.acquire_on_behalf_of(position)
                group.start_soon(run, position, ready)
    finally:
        turn.end()
        if exits:
            raise exits[0]
    return turn.runs


class _Questions:
    """Calls a plain `approve` in a thread, for one call at a time."""

    def __init__(self) -> None:
        self._one, self._threads = anyio.CapacityLimiter(1), DaemonThreads(1)

    async def ask(self, approve: Approve, call: ToolCall, position: int) -> Any:
        """Call `approve` and return its result. Raises the error that it raised."""
        outcome: list[tuple[Any, BaseException | None]] = []

        def work() -> None:
            try:
                outcome.append((approve(call), None))
            except BaseException as raised:
                outcome.append((None, raised))

        async with self._one:
            await run_in_thread(self._threads, position, work)
        verdict, error = outcome[0]
        if error is not None:
            raise error
        return verdict


async def _approved(
    toolbox: Toolbox, ready: Ready, approve: Approve, questions: _Questions, position: int
) -> Ready | ToolRun:
    """Return the call if it is approved, else its result."""
    try:
        verdict: Any = (
            approve(ready.call)
            if is_async(approve)
            else await questions.ask(approve, ready.call, position)
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
            run: ToolRun = await _await_contained(_ended(toolbox, ready, turn, position))
            return run
    except Exception as error:
        if error is turn.failure:
            raise
        return toolbox.finish(ready, None, error)
    return toolbox.timed_out(ready)


async def _ended(toolbox: Toolbox, ready: Ready, turn: _Turn, position: int) -> ToolRun:
    if ready.is_async:
        turn.begin(position)
        value = turn.run(position, ready)
    else:
        value = await _in_thread(toolbox, ready, turn, position)
        if isinstance(value, ToolRun):
            return value
    return toolbox.finish(ready, await value if inspect.isawaitable(value) else value)


async def _in_thread(toolbox: Toolbox, ready: Ready, turn: _Turn, position: int) -> Any:
    """Return the run of a plain function, or the awaitable that it returned.

    The run is reported from the thread: until the event loop is free, a kill would lose it.
    """
    outcome: list[Any] = []

    def work() -> None:
        try:
            if turn.begin(position):
                value, error = _called(ready, turn, position)
                if not inspect.isawaitable(value):
                    value = toolbox.finish(ready, value, error)
                    turn.add(position, value)
                outcome.append(value)
        except BaseException as raised:
            outcome.append(raised)

    try:
        await run_in_thread(turn.threads, position, work)
    except anyio.get_cancelled_exc_class():
        # A thread cannot be stopped. If it has not started, it never does; if it has returned,
        # its value counts.
        turn.withhold(position)
        if not outcome:
            raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]


def _called(ready: Ready, turn: _Turn, position: int) -> tuple[Any, Exception | None]:
    try:
        return turn.run(position, ready), None
    except Exception as error:
        return None, error


async def _await_contained(awaitable: Awaitable[Any]) -> Any:
    """Await the awaitable; a cancellation that is not the run's becomes a `ToolError`.

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
    max_parallel: int = MAX_PARALLEL_TOOLS,
    tracing: Spans | None = None,
) -> list[ToolRun]:
    """Run calls, as `run_calls`, in threads; each async function gets its own event loop.

    `approve` is called in the caller's thread. A thread cannot be stopped: a function past its
    timeout, or after a `KeyboardInterrupt`, keeps running; its result is discarded, and it does not
    keep the process from ending.
    """
    checked_count("max_parallel", max_parallel)
    turn = _Turn(calls, progress, DaemonThreads(max_parallel), toolbox, tracing)
    prepared = [_prepared(toolbox, call, model, messages) for call in calls]
    timeouts = [each.timeout for each in prepared if isinstance(each, Ready)]
    shortest = min((each for each in timeouts if each is not None), default=math.inf)
    submitted: dict[int, Ready] = {}
    ended: SimpleQueue[tuple[int, BaseException | None]] = SimpleQueue()
    try:
        for position, ready in enumerate(prepared):
            if isinstance(ready, Ready) and approve is not None:
                ready = _approved_here(toolbox, ready, approve)
            if isinstance(ready, ToolRun):
                turn.add(position, ready)
                continue
            submitted[position] = ready
            work = functools.partial(_work, toolbox, ready, turn, position, ended)
            turn.threads.submit(position, functools.partial(contextvars.copy_context().run, work))
        while submitted:
            left, late = _deadlines(turn.threads.running, submitted)
            left = min(left, shortest)  # a function may start, and exceed its time, during the wait
            for position in late:
                turn.add(position, toolbox.timed_out(submitted.pop(position)))
                turn.threads.abandon(position)
            if submitted:
                try:
                    position, error = ended.get(timeout=min(left, MAX_WAIT_SECONDS))
                except Empty:
                    continue
                submitted.pop(position, None)
                if error is not None:
                    raise ungrouped(error)
    finally:
        turn.end()
    return turn.runs


def _deadlines(
    running: Mapping[int, float], submitted: Mapping[int, Ready]
) -> tuple[float, list[int]]:
    """Return the seconds until the first function exceeds its timeout, and the positions of those
    that have exceeded it.
    """
    now, first, late = time.monotonic(), math.inf, []
    for position, started in running.items():
        if position not in submitted:
            continue
        timeout = submitted[position].timeout
        left = math.inf if timeout is None else started + timeout - now
        if left <= 0:
            late.append(position)
        else:
            first = min(first, left)
    return first, late


def _approved_here(toolbox: Toolbox, ready: Ready, approve: Approve) -> Ready | ToolRun:
    """Approve a call, as `_approved`, with an event loop only if the hook is async."""
    try:
        with HookLoop() as hooks:
            verdict = hooks.result(approve(ready.call))
        return _apply_verdict(ready, verdict)
    except Exception as error:
        return toolbox.hook_failed(ready.call, "approve", error)


def _work(
    toolbox: Toolbox,
    ready: Ready,
    turn: _Turn,
    position: int,
    ended: SimpleQueue[tuple[int, BaseException | None]],
) -> None:
    """Run a call from start to end in its thread, and report its result from there.

    `ended` gets the position of the call, and an exception that is to end the run.
    """
    exit: BaseException | None = None
    try:
        if turn.begin(position):
            turn.add(position, _run_to_end(toolbox, ready, turn, position))
    except BaseException as raised:
        exit = raised
    ended.put((position, exit))


def _run_to_end(toolbox: Toolbox, ready: Ready, turn: _Turn, position: int) -> ToolRun:
    value: Any = None
    error: Exception | None = None
    try:
        value = turn.run(position, ready)
        if inspect.isawaitable(value):
            # The context of the caller is copied for the tool. Where a loop runs in the caller's
            # thread, sniffio's variable in it says that one runs here too.
            if sniffio := sys.modules.get("sniffio"):
                sniffio.current_async_library_cvar.set(None)
            value = anyio.run(_await_contained, value)
    except Exception as raised:
        error = raised
    return toolbox.finish(ready, value, error)


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

    def __init__(
        self,
        calls: Sequence[ToolCall],
        progress: Progress | None,
        threads: DaemonThreads,
        toolbox: Toolbox,
        tracing: Spans | None,
    ) -> None:
        self._calls, self._progress = calls, progress
        self._toolbox, self._tracing = toolbox, tracing
        self._spans: dict[int, Span] = {}
        """The spans of the tools that run."""
        self.threads = threads
        """The threads of plain functions."""
        self._runs: dict[int, ToolRun] = {}
        self._withheld: set[int] = set()
        self._ended = False
        self._lock = Lock()
        self.failure: BaseException | None = None
        """The first error of `progress`: it ends the turn, and is not a result of a tool."""

    def begin(self, position: int) -> bool:
        """Report that the tool starts; false if it must not start any more.

        Raises `failure` if there is one.
        """
        with saved_later() as save, self._lock:
            if self._ended or position in self._withheld or position in self._runs:
                return False
            if self.failure is not None:
                raise self.failure
            call = self._calls[position]
            self._report(lambda progress: progress.started(call))
            if self._tracing is not None:
                description = getattr(self._toolbox.get(call.name), "description", "")
                self._spans[position] = self._tracing._tool_span(call, description)
        # Without the lock: results of other calls must not wait for a disk.
        self._report(lambda _: save())
        return True

    def run(self, position: int, ready: Ready) -> Any:
        """Call the function of a tool that has begun, inside its span."""
        span = self._spans.get(position)
        return ready.run() if span is None else run_inside(span, ready.run)

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
            span = self._spans.pop(position, None)
            self._report(lambda progress: progress.answered([run]))
        if span is not None:
            span.end(run.error, result=run.result)
        if run.error is not None:
            log_failure(log, "the call of %s failed: %s", run.call.name, error=run.error)

    def _report(self, report: Callable[[Progress], None]) -> None:
        if self._progress is None:
            return
        try:
            report(self._progress)
        except BaseException as error:
            self.failure = self.failure or error
            raise

    def end(self) -> None:
        """End the turn: nothing starts or is reported from here on."""
        with self._lock:
            self._ended = True
        for position, span in self._spans.items():
            span.end(ToolError(f"tool {self._calls[position].name}: {INTERRUPTED}"))

    @property
    def runs(self) -> list[ToolRun]:
        """The runs of all calls, in call order."""
        return [self._runs[position] for position in range(len(self._calls))]
