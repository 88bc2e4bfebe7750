"""Runs calls while the reply that has them is still streamed.

A call starts as soon as its arguments are whole and `Steps.early` takes it. Each is a run of
`run_calls` of its own, which reports to `Steps`; the calls that are left run after the reply.
"""

from __future__ import annotations

import contextvars
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from queue import Empty, SimpleQueue
from typing import Any

import anyio
from anyio.abc import TaskGroup

from wire.agent.hooks import MAX_WAIT_SECONDS
from wire.agent.tool_threads import DaemonThreads
from wire.neutral.messages import ToolCall


class EarlyTasks:
    """The early calls of a run on asyncio or trio."""

    def __init__(self, group: TaskGroup, most: int) -> None:
        self._group, self._places = group, anyio.Semaphore(most)
        self._running = 0
        self._ended = anyio.Event()
        self._exits: list[BaseException] = []

    def start(self, run: Callable[[ToolCall], Any], call: ToolCall) -> None:
        """Run a call in a task; `run` is an async function."""
        self._running += 1
        self._group.start_soon(self._run, run, call)

    async def _run(self, run: Callable[[ToolCall], Any], call: ToolCall) -> None:
        try:
            async with self._places:
                await run(call)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            # Raised by `wait`: in a task, SystemExit would end the loop of asyncio at once.
            self._exits.append(error)
        finally:
            self._running -= 1
            self._ended.set()

    async def wait(self) -> None:
        """Return when no call runs. Raises what is to end the run, such as `SystemExit`."""
        while self._running:
            self._ended = anyio.Event()
            await self._ended.wait()
        if self._exits:
            raise self._exits[0]


@asynccontextmanager
async def early_tasks(most: int) -> AsyncIterator[EarlyTasks]:
    """Yield what runs early calls, at most so many at once; their tasks end with the block."""
    async with anyio.create_task_group() as group:
        yield EarlyTasks(group, most)
        group.cancel_scope.cancel()


class EarlyThreads:
    """The early calls of a run for threads, at most so many at once."""

    def __init__(self, most: int) -> None:
        self._threads = DaemonThreads(most)
        self._left = 0
        self._ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def start(self, run: Callable[[ToolCall], Any], call: ToolCall) -> None:
        """Run a call in a thread."""
        self._left += 1
        context = contextvars.copy_context()
        self._threads.submit(self._left, lambda: context.run(self._run, run, call))

    def _run(self, run: Callable[[ToolCall], Any], call: ToolCall) -> None:
        exit: BaseException | None = None
        try:
            run(call)
        except BaseException as error:
            exit = error
        self._ended.put(exit)

    def wait(self) -> None:
        """Return when no call runs. Raises what is to end the run, such as `SystemExit`."""
        while self._left:
            try:
                exit = self._ended.get(timeout=MAX_WAIT_SECONDS)
            except Empty:  # a Ctrl-C just before a wait does not end it
                continue
            self._left -= 1
            if exit is not None:
                raise exit
