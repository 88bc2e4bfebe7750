"""Hooks of the user, plain or async: they are called without an event loop, and what they return is
checked.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Self, TypeAlias

import anyio.from_thread
from anyio.from_thread import BlockingPortal

from wire.core.errors import ConfigurationError
from wire.neutral.messages import ToolCall, ToolResult
from wire.tools import is_async

Verdict: TypeAlias = bool | str
"""Decision on one call: `True` lets it run, `False` or a text, the reason, refuses it."""

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


def check_verdict(verdict: object, name: str) -> None:
    """Raise `ConfigurationError` for a verdict that is neither a bool nor a text.

    A hook that returns nothing has not said yes, and neither has one that returns 1 or "yes".
    """
    if not isinstance(verdict, bool | str):
        raise ConfigurationError(
            f"{name}: expected True, False or the reason of a refusal as text, not "
            f"{type(verdict).__name__}"
        )


def refused(call: ToolCall, verdict: Verdict) -> ToolResult | None:
    """Return the result of a call that is refused; `None` if it may run.

    Only `True` lets it run.
    """
    if verdict is True:
        return None
    return ToolResult(
        call.id,
        call.name,
        verdict if isinstance(verdict, str) and verdict else "refused by the user",
        error=True,
    )


def refuse_coroutine(name: str, returned: object, expected: str) -> None:
    """Raise `ConfigurationError` if a hook that is called without `await` returned a coroutine."""
    if inspect.iscoroutine(returned):
        returned.close()
        raise ConfigurationError(f"{name}: expected {expected}, not a coroutine")
