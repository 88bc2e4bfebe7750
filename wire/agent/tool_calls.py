"""Calls of one turn, run at once: on asyncio and trio, or by threads.

What a result says is decided in `wire.tools`.
"""

from __future__ import annotations

import contextvars
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import anyio
import anyio.to_thread

from wire.agent.steps import Verdict, refused
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.tools import Ready, Toolbox, ToolContext, ToolRun

Approve: TypeAlias = Callable[[ToolCall], Verdict | Awaitable[Verdict]]
"""Asked before each call: `True` lets it be made, `False` or a reason refuses it."""

log = logging.getLogger("wire.agent")


async def run_calls(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    approve: Approve | None = None,
    *,
    model: str = "",
    messages: Sequence[Message] = (),
) -> list[ToolRun]:
    """Run calls at once, functions that are not async in threads; one `ToolRun` for each, in call
    order.

    An exception of a function is its result, a cancellation is not: it ends all of them, and goes
    up.
    """
    runs: dict[int, ToolRun] = {}

    async def run(place: int, call: ToolCall) -> None:
        ready = _prepared(toolbox, call, model, messages)
        if isinstance(ready, Ready) and approve is not None:
            verdict = approve(call)
            ready = (
                refused(call, await verdict if inspect.isawaitable(verdict) else verdict) or ready
            )
        runs[place] = (
            ToolRun(call, ready)
            if isinstance(ready, ToolResult)
            else _logged(await _outcome(toolbox, ready))
        )

    async with anyio.create_task_group() as group:
        for place, call in enumerate(calls):
            group.start_soon(run, place, call)
    return [runs[place] for place in range(len(calls))]


async def _outcome(toolbox: Toolbox, ready: Ready) -> ToolRun:
    value: Any = None
    error: Exception | None = None
    with anyio.move_on_after(ready.timeout) as clock:
        try:
            value = (
                ready.run()
                if ready.is_async
                else await anyio.to_thread.run_sync(ready.run, abandon_on_cancel=True)
            )
            if inspect.isawaitable(value):
                value = await value
        except Exception as raised:
            error = raised
        return toolbox.finish(ready, value, error)
    assert clock.cancelled_caught
    return toolbox.timed_out(ready)


def run_calls_in_threads(
    toolbox: Toolbox,
    calls: Sequence[ToolCall],
    approve: Approve | None = None,
    *,
    model: str = "",
    messages: Sequence[Message] = (),
) -> list[ToolRun]:
    """As `run_calls`, by threads; async functions get an event loop of their own.

    A thread cannot be stopped: a function that is over its time goes on unheard.
    """
    runs: dict[int, ToolRun] = {}
    started: dict[int, tuple[Ready, Future[Any], float]] = {}
    pool = ThreadPoolExecutor(max_workers=len(calls) or 1, thread_name_prefix="wire-tool")
    try:
        for place, call in enumerate(calls):
            ready = _prepared(toolbox, call, model, messages)
            if isinstance(ready, Ready) and approve is not None:
                verdict = approve(call)
                ready = (
                    refused(
                        call,
                        anyio.run(_awaited, verdict) if inspect.isawaitable(verdict) else verdict,
                    )
                    or ready
                )
            if isinstance(ready, ToolResult):
                runs[place] = ToolRun(call, ready)
            else:
                context = contextvars.copy_context()
                started[place] = (ready, pool.submit(context.run, _run, ready), time.monotonic())
        for place, (ready, future, began) in started.items():
            runs[place] = _logged(_waited(toolbox, ready, future, began))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return [runs[place] for place in range(len(calls))]


def _run(ready: Ready) -> Any:
    value = ready.run()
    return anyio.run(_awaited, value) if inspect.isawaitable(value) else value


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _waited(toolbox: Toolbox, ready: Ready, future: Future[Any], began: float) -> ToolRun:
    left = None if ready.timeout is None else max(0.0, ready.timeout - (time.monotonic() - began))
    try:
        value = future.result(left)
    except TimeoutError as error:
        # One that the function raised itself is its own.
        return toolbox.finish(ready, None, error) if future.done() else toolbox.timed_out(ready)
    except Exception as error:
        return toolbox.finish(ready, None, error)
    return toolbox.finish(ready, value, None)


def _prepared(
    toolbox: Toolbox, call: ToolCall, model: str, messages: Sequence[Message]
) -> Ready | ToolResult:
    return toolbox.prepare(call, ToolContext(call=call, model=model, messages=tuple(messages)))


def _logged(run: ToolRun) -> ToolRun:
    """The model gets a message; what is behind it goes to the log."""
    if run.error is not None:
        log.warning("the call of %s failed: %s", run.call.name, run.error, exc_info=run.error)
    return run
