"""Hooks of the user for code without an event loop: plain functions and async functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self

import anyio.from_thread
from anyio.from_thread import BlockingPortal

from wire.core.errors import ConfigurationError
from wire.tools import is_async

MAX_WAIT_SECONDS = 0.5
"""Maximum time of one wait. A Ctrl-C just before a wait begins does not wake the thread, so a long
wait is split.
"""


class HookLoop:
    """Returns what a hook returned, or what its awaitable becomes, from code without `await`.

    >>> async def approve(call):
    ...     return True
    >>> with HookLoop() as hooks:
    ...     hooks.result(approve("a")), hooks.result("no")
    (True, 'no')

    Awaitables run in an event loop of asyncio in a thread of their own, which starts with the first
    one. So it also works where a loop is running already, as in a notebook: no second loop can run
    in that thread. Leaving the block, also by an exception, cancels what still runs.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._portal: BlockingPortal | None = None

    def result(self, value: Any) -> Any:
        """Return the value, or the result of the awaitable. Raises what the awaitable raises."""
        if not inspect.isawaitable(value):
            return value
        if self._portal is None:
            self._portal = self._stack.enter_context(anyio.from_thread.start_blocking_portal())
        future: Future[Any] = self._portal.start_task_soon(_awaited, value)
        while not future.done():
            wait([future], MAX_WAIT_SECONDS)
        return future.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)


async def _awaited(awaitable: Any) -> Any:
    return await awaitable


def check_plain(options: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raise `ConfigurationError` for a hook that is async but is called without `await`.

    The coroutine that it returns would count as true, and would never run.
    """
    for name in names:
        if options.get(name) is not None and is_async(options[name]):
            raise ConfigurationError(f"{name}: expected a plain function, not an async one")
