"""Calls of one turn, run at once: on asyncio and trio, or by threads.

Each call is reported when its tool starts and when its result is there. What a result says is
decided in `wire.tools`; what becomes of calls that a cancelled run leaves behind, in `steps`.
"""

from __future__ import annotations

import contextvars
import inspect
import logging
import math
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import Any, Protocol, TypeAlias

import anyio
import anyio.to_thread

from wire.agent.steps import Verdict, refused
from wire.errors import ToolError, ungrouped
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.tools import Ready, Toolbox, ToolContext, ToolRun

Approve: TypeAlias = Callable[[ToolCall], Verdict | Awaitable[Verdict]]
"""Asked before each call: `True` lets it be made, `False` or a reason refuses it."""

log = logging.getLogger("wire.agent")

_WAKE = 0.5
"""Seconds. Python loses the wake-up by a Ctrl-C that comes just before a thread begins to wait."""


class Progress(Protocol):
    """Who is told how calls get on, such as `Steps`: from any thread, one report at a time."""

    def started(self, call: ToolCall) -> None:
        """The tool of this call is about to run."""
        ...

    def answered(self, runs: Iterable[ToolRun]) -> None:
        """These calls have their results."""
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
    """Run calls at once, functions that are not async in threads; their `ToolRun`s in call order.

    An exception of a function is its result, and one of `approve` refuses its call. A cancellation
    ends all calls and is raised, and so is what else is no `Exception`, such as `SystemExit`: by
    then `progress` has been told of every result that was there. Raises `ToolError` before any call
    is made, if one is of a tool without a function.
    """
    turn = _Turn(calls, progress)
    prepared = [_prepared(toolbox, call, model, messages) for call in calls]
    exits: list[BaseException] = []

    async def run(place: int, ready: Ready | ToolRun) -> None:
        try:
            if isinstance(ready, Ready) and approve is not None:
                ready = await _approved(toolbox, ready, approve)
            if isinstance(ready, Ready):
                ready = await _outcome(toolbox, ready, turn, place)
            turn.add(place, ready)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as raised:
            error = ungrouped(raised)
            if isinstance(error, anyio.get_cancelled_exc_class()):
                raise error from raised
            # asyncio lets an exit out of a task end the event loop at once. So it is raised where
            # the run is awaited, when the other calls have stopped.
            exits.append(error)
            group.cancel_scope.cancel()

    try:
        async with anyio.create_task_group() as group:
            for place, ready in enumerate(prepared):
                group.start_soon(run, place, ready)
    finally:
        turn.end()
        if exits:
            raise exits[0]
    return turn.runs


async def _approved(toolbox: Toolbox, ready: Ready, approve: Approve) -> Ready | ToolRun:
    """The call if it may be made, else its answer."""
    try:
        verdict = approve(ready.call)
        if inspect.isawaitable(verdict):
            verdict = await _contained(verdict)
    except Exception as error:
        return toolbox.hook_failed(ready.call, "approve", error)
    return _judged(ready, verdict)


def _judged(ready: Ready, verdict: Verdict) -> Ready | ToolRun:
    refusal = refused(ready.call, verdict)
    return ready if refusal is None else ToolRun(ready.call, refusal)


async def _outcome(toolbox: Toolbox, ready: Ready, turn: _Turn, place: int) -> ToolRun:
    try:
        with anyio.move_on_after(ready.timeout):
            return toolbox.finish(ready, await _contained(_value(ready, turn, place)))
    except Exception as error:
        return toolbox.finish(ready, None, error)
    return toolbox.timed_out(ready)


async def _value(ready: Ready, turn: _Turn, place: int) -> Any:
    if ready.is_async:
        turn.begin(place)
        value = ready.run()
    else:
        value = await _in_thread(ready, turn, place)
    return await value if inspect.isawaitable(value) else value


async def _in_thread(ready: Ready, turn: _Turn, place: int) -> Any:
    outcome: list[tuple[Any, BaseException | None]] = []

    def work() -> None:
        if turn.begin(place):
            try:
                outcome.append((ready.run(), None))
            except BaseException as raised:
                outcome.append((None, raised))

    try:
        await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        # A thread cannot be stopped. It does not begin any more; what it has returned counts.
        turn.withhold(place)
        if not outcome:
            raise
    value, error = outcome[0]
    if error is not None:
        raise error
    return value


async def _contained(awaitable: Awaitable[Any]) -> Any:
    """What it gives; a cancellation that is not the run's is an error like any other.

    On asyncio a task that waits for a cancelled one gets its `CancelledError`. Left alone, it would
    cancel the other calls of the turn.
    """
    try:
        return await awaitable
    except anyio.get_cancelled_exc_class() as cancelled:
        if anyio.current_effective_deadline() == -math.inf:
            raise
        raise ToolError("what it waited for was cancelled") from cancelled


def run_calls_in_threads(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    approve: Approve | None = None,
    *,
    model: str = "",
    messages: Sequence[Message] = (),
    progress: Progress | None = None,
) -> list[ToolRun]:
    """As `run_calls`, by threads; async functions get an event loop of their own.

    `approve` is asked in the thread of the caller. A thread cannot be stopped: a function past its
    timeout, or past a `KeyboardInterrupt`, keeps running, and its result is discarded.
    """
    turn = _Turn(calls, progress)
    prepared = [_prepared(toolbox, call, model, messages) for call in calls]
    running: dict[Future[None], tuple[int, Ready, float]] = {}
    pool = ThreadPoolExecutor(max_workers=len(calls) or 1, thread_name_prefix="wire-tool")
    try:
        for place, ready in enumerate(prepared):
            if isinstance(ready, Ready) and approve is not None:
                ready = _approved_here(toolbox, ready, approve)
            if isinstance(ready, ToolRun):
                turn.add(place, ready)
                continue
            until = time.monotonic() + (math.inf if ready.timeout is None else ready.timeout)
            context = contextvars.copy_context()
            future = pool.submit(context.run, _work, toolbox, ready, turn, place)
            running[future] = (place, ready, until)
        while running:
            left = min(until for _, _, until in running.values()) - time.monotonic()
            done, _ = wait(running, max(0.0, min(left, _WAKE)), FIRST_COMPLETED)
            for future in done:
                del running[future]
                error = future.exception()
                if error is not None:
                    raise ungrouped(error)
            for future, (place, ready, until) in [*running.items()]:
                if until <= time.monotonic():
                    del running[future]
                    turn.add(place, toolbox.timed_out(ready))
    finally:
        turn.end()
        pool.shutdown(wait=False, cancel_futures=True)
    return turn.runs


def _approved_here(toolbox: Toolbox, ready: Ready, approve: Approve) -> Ready | ToolRun:
    """As `_approved`, without an event loop unless the hook needs one."""
    try:
        verdict = approve(ready.call)
        if inspect.isawaitable(verdict):
            verdict = anyio.run(_contained, verdict)
    except Exception as error:
        return toolbox.hook_failed(ready.call, "approve", error)
    return _judged(ready, verdict)


def _work(toolbox: Toolbox, ready: Ready, turn: _Turn, place: int) -> None:
    """A call from beginning to end, in a thread of its own: its result waits for nobody."""
    if not turn.begin(place):
        return
    value: Any = None
    error: Exception | None = None
    try:
        value = ready.run()
        if inspect.isawaitable(value):
            value = anyio.run(_contained, value)
    except Exception as raised:
        error = raised
    turn.add(place, toolbox.finish(ready, value, error))


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
    """The runs of the calls of one turn. Each is reported once, by whichever thread has it.

    The lock keeps three things apart that happen in different threads: a tool that begins, a result
    that comes, and the end of the turn, after which nothing begins and nothing is reported.
    """

    def __init__(self, calls: Sequence[ToolCall], progress: Progress | None) -> None:
        self._calls, self._progress = calls, progress
        self._runs: dict[int, ToolRun] = {}
        self._withheld: set[int] = set()
        self._ended = False
        self._lock = Lock()

    def begin(self, place: int) -> bool:
        """Whether the tool of this call may run; it is reported as started."""
        with self._lock:
            if self._ended or place in self._withheld or place in self._runs:
                return False
            if self._progress is not None:
                self._progress.started(self._calls[place])
            return True

    def withhold(self, place: int) -> None:
        """Let the tool of this call not begin any more."""
        with self._lock:
            self._withheld.add(place)

    def add(self, place: int, run: ToolRun) -> None:
        """Report a run, unless its call is answered already. What is behind an error is logged."""
        with self._lock:
            if self._ended or place in self._runs:
                return
            self._runs[place] = run
            if self._progress is not None:
                self._progress.answered([run])
        if run.error is not None:
            told = "the call of %s failed: %s"
            log.warning(told, run.call.name, run.error, exc_info=run.error)

    def end(self) -> None:
        """Report nothing any more."""
        with self._lock:
            self._ended = True

    @property
    def runs(self) -> list[ToolRun]:
        """Of all calls, in call order."""
        return [self._runs[place] for place in range(len(self._calls))]
