"""Runs a function in a task of its own, which may outlive the block that started it.

A task group inside an async generator would be left by another task if the generator is collected.
Here the task group is inside the task, and the generator only starts and stops it.
"""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from wire.core.errors import ungrouped


class Background:
    """One function that runs in the background, on asyncio or trio."""

    def __init__(self, function: Callable[[], Awaitable[None]]) -> None:
        self._function = function
        self._scope = anyio.CancelScope()
        self._ended: anyio.Event | None = None
        self._task: Any = None
        self.error: BaseException | None = None
        """The exception that the function raised."""

    @property
    def has_ended(self) -> bool:
        """Whether the function has returned or raised."""
        return self._ended is not None and self._ended.is_set()

    def start(self) -> None:
        """Start the function; it runs when this task waits."""
        import asyncio  # late, as in `wire.http.async_lanes`

        self._ended = anyio.Event()
        if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
            self._task = asyncio.create_task(self._run())  # the loop itself keeps no reference
            return
        import trio

        trio.lowlevel.spawn_system_task(self._run, context=contextvars.copy_context())

    async def _run(self) -> None:
        assert self._ended is not None
        try:
            with self._scope:
                await self._function()
        except BaseExceptionGroup as group:
            self.error = ungrouped(group)
        except BaseException as error:
            self.error = error
        finally:
            self._ended.set()

    async def stop(self) -> None:
        """Cancel the function and wait until it has ended."""
        if self._ended is not None:
            self._scope.cancel()
            await self._ended.wait()
