"""Waits that a signal ends, on asyncio and trio."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from wire.around.seam import Wait


async def wait_for(wait: Wait) -> None:
    """Wait for the seconds of a wait, or until its signal comes."""
    woken = anyio.Event()
    wake = functools.partial(_in_this_loop(), woken.set)
    wait.signal.when_set(wake)
    try:
        with anyio.move_on_after(wait.seconds):
            await woken.wait()
    finally:
        wait.signal.forget(wake)


def _in_this_loop() -> Callable[[Callable[[], object]], None]:
    """Return a function that runs others in the running event loop; any thread may call it."""
    import asyncio  # imported late, as in `async_lanes.py`

    run: Callable[[Callable[[], object]], object]
    if anyio.get_cancelled_exc_class() is asyncio.CancelledError:
        run = asyncio.get_running_loop().call_soon_threadsafe
    else:
        import trio

        run = trio.lowlevel.current_trio_token().run_sync_soon

    def run_there(function: Callable[[], object]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed, so nobody waits
            run(function)

    return run_there
