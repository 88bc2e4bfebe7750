"""Threads for the functions of tools.

A thread cannot be stopped from outside. The interpreter waits at its exit for every thread that is
not a daemon, so a function that never returns would keep the process from ending (R-43). The
threads of `concurrent.futures`, and those of anyio on asyncio, are not daemons. These are.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import importlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread

_anyio_internals: Any = None
with contextlib.suppress(ImportError):  # a later anyio may have moved it
    _anyio_internals = importlib.import_module("anyio._core._eventloop")

THREAD_NAME = "wire-tool"


class DaemonThreads:
    """Runs jobs in their order, in at most `limit` threads.

    >>> from queue import SimpleQueue
    >>> results = SimpleQueue()
    >>> threads = DaemonThreads(limit=2)
    >>> for position in range(3):
    ...     threads.submit(position, lambda: results.put("done"))
    >>> [results.get() for _ in range(3)]
    ['done', 'done', 'done']

    A thread ends when no job is left. `abandon` gives the place of a thread that does not return to
    another one, so the number of threads exceeds `limit` by those that were abandoned. A job must
    not raise.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._jobs: deque[tuple[int, Callable[[], object]]] = deque()
        self._running: dict[int, float] = {}
        self._threads = 0

    def submit(self, position: int, job: Callable[[], object]) -> None:
        """Run the job as soon as a thread is free. `position` identifies it."""
        with self._lock:
            self._jobs.append((position, job))
            self._add_thread()

    @property
    def running(self) -> dict[int, float]:
        """The jobs that run, by position, with the `time.monotonic()` at which they started."""
        with self._lock:
            return dict(self._running)

    def abandon(self, position: int) -> None:
        """Let another thread take the place of the one that runs this job."""
        with self._lock:
            if self._running.pop(position, None) is not None:
                self._threads -= 1
                self._add_thread()

    def _add_thread(self) -> None:
        if self._jobs and self._threads < self._limit:
            self._threads += 1
            threading.Thread(target=self._work, name=THREAD_NAME, daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._threads -= 1
                    return
                position, job = self._jobs.popleft()
                self._running[position] = time.monotonic()
            job()
            del job  # a thread must not keep a result alive
            with self._lock:
                if self._running.pop(position, None) is None:
                    return  # abandoned: another thread has its place


async def run_in_thread(
    threads: DaemonThreads, position: int, function: Callable[[], object]
) -> None:
    """Run a function in a thread, on asyncio and trio; a cancellation abandons it.

    The function must not raise. It may use `anyio.from_thread`.
    """
    loop = anyio.lowlevel.current_token()
    loop = getattr(loop, "native_token", loop)  # since anyio 4.11 wrapped
    if not isinstance(loop, asyncio.AbstractEventLoop):
        # The threads of trio are daemons.
        await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
        return
    await anyio.lowlevel.checkpoint()
    async with anyio.to_thread.current_default_thread_limiter():
        with anyio.CancelScope() as scope:
            returned = anyio.Event()
            context = contextvars.copy_context()
            if "sniffio" in sys.modules:  # there is no event loop in the thread
                context.run(sys.modules["sniffio"].current_async_library_cvar.set, None)
            claimed = _claimed(loop, scope)

            def work() -> None:
                with claimed:
                    context.run(function)
                try:
                    loop.call_soon_threadsafe(returned.set)
                except RuntimeError:
                    pass  # the loop is closed, since nobody waits for the function any more

            threads.submit(position, work)
            try:
                await returned.wait()
            except BaseException:
                threads.abandon(position)
                raise


@contextlib.contextmanager
def _claimed(loop: asyncio.AbstractEventLoop, scope: anyio.CancelScope) -> Iterator[None]:
    """Make `anyio.from_thread` work in this thread, as it does in a thread of anyio.

    anyio has no public function for it. Without the private one, `from_thread` needs the argument
    `token`.
    """
    claim = getattr(_anyio_internals, "claim_worker_thread", None)
    if claim is None:  # pragma: no cover
        yield
        return
    with claim(_anyio_internals.get_async_backend("asyncio"), loop):
        _anyio_internals.threadlocals.current_cancel_scope = scope
        yield
