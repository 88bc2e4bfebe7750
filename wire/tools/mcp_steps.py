"""Takes the steps of a call of an MCP server, in an event loop or in a thread.

A generator yields what is to be done, and receives the results. So the rules of the protocol, which
wait for nothing themselves, are written once.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import time
from collections.abc import Callable, Generator
from typing import Any, NamedTuple, Protocol

import anyio
import anyio.to_thread

from wire.core.errors import ToolError

_LAST_SECONDS = 2.0
"""Seconds that a call which is over waits until the server knows it."""
_LATE: Any = object()


class Late(BaseException):
    """A call in a thread exceeds its timeout. No handler takes it for an error of the server."""


class Portal(Protocol):
    """Runs functions in the event loop of another thread, such as `BlockingPortal` of anyio."""

    def call(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Call the function in the loop, await what it returns, and return the result."""
        ...


class Call(NamedTuple):
    """Call the session. A last call tells the server that the call is over."""

    run: Callable[[], Any]
    is_last: bool = False


class Ask(NamedTuple):
    """Ask `on_input`."""

    run: Callable[[], Any]


class Wait(NamedTuple):
    """Wait."""

    seconds: float


Steps = Generator[Call | Ask | Wait, Any, Any]


async def run(steps: Steps) -> Any:
    """Take the steps in this event loop, and return what they return.

    A plain `on_input` runs in a thread, since it may wait for a person.
    """
    try:
        step = next(steps)
        while True:
            try:
                value = await _taken(step)
            except BaseException as raised:
                step = steps.throw(raised)
            else:
                step = steps.send(value)
    except StopIteration as end:
        return end.value


async def _taken(step: Call | Ask | Wait) -> Any:
    if isinstance(step, Wait):
        return await anyio.sleep(step.seconds)
    if isinstance(step, Call) and step.is_last:
        # A cancelled call may await nothing that is not shielded.
        with anyio.move_on_after(_LAST_SECONDS, shield=True):
            return await awaited(step.run)
        return None
    if isinstance(step, Ask) and not inspect.iscoroutinefunction(step.run):
        value = await anyio.to_thread.run_sync(step.run, abandon_on_cancel=True)
        return await value if inspect.isawaitable(value) else value
    return await awaited(step.run)


async def awaited(run: Callable[[], Any]) -> Any:
    """Call, and await what is returned if it is an awaitable."""
    value = run()
    return await value if inspect.isawaitable(value) else value


def run_in_threads(steps: Steps, portal: Portal | None, timeout: float | None = None) -> Any:
    """Take the steps in this thread, and return what they return.

    A thread cannot be stopped, so the steps themselves end after the seconds of `timeout`: `Late`.
    """
    end = math.inf if timeout is None else time.monotonic() + timeout
    try:
        step = next(steps)
        while True:
            try:
                value = _taken_here(step, portal, end - time.monotonic())
            except BaseException as raised:
                step = steps.throw(raised)
            else:
                step = steps.send(value)
    except StopIteration as last:
        return last.value


def _taken_here(step: Call | Ask | Wait, portal: Portal | None, left: float) -> Any:
    if isinstance(step, Call) and step.is_last:
        with contextlib.suppress(Late):
            return called(step.run, portal, _LAST_SECONDS)
        return None
    if left <= 0:
        raise Late
    if isinstance(step, Wait):
        return time.sleep(min(step.seconds, left))
    if isinstance(step, Call):
        return called(step.run, portal, left)
    value = step.run()
    if not inspect.isawaitable(value):
        return value
    call = anyio.run if portal is None else portal.call
    return _in_time(call(_within, lambda: value, left))


def called(call: Callable[[], Any], portal: Portal | None, seconds: float = math.inf) -> Any:
    """Call the session, in the event loop of the portal if there is one."""
    if portal is not None:
        return _in_time(portal.call(_within, call, seconds))
    value = call()
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()  # otherwise Python warns that it was never awaited
        raise ToolError("the session is async; pass the portal of its event loop as portal=")
    return value


async def _within(call: Callable[[], Any], seconds: float) -> Any:
    with anyio.move_on_after(seconds):
        return await awaited(call)
    return _LATE  # an exception that is no `Exception` would end the loop of the portal


def _in_time(value: Any) -> Any:
    if value is _LATE:
        raise Late
    return value
