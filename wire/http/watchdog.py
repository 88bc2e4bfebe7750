"""Shuts a connection down when the deadline of its call has passed.

A thread that waits in `recv` cannot be cancelled, and the timeout of a socket begins anew with each
byte: a server that sends one byte at a time would hold the thread for ever (R-13). The watchdog is
one daemon thread of the process. At the deadline it shuts the socket down, which wakes the reader
with an error or the end of the file. Streams of asyncio and trio use it too, because entering a
timeout scope costs as much as a read.

A watch is registered once for an attempt. Afterwards its deadline is moved by writing an attribute:
the thread looks at each watch when it is due, and at least once in its `period`. A deadline that is
set to later than that is therefore never missed, and a read needs no lock.

Locks and queues are only those of C, as a KeyboardInterrupt may arrive between any two lines.
"""

from __future__ import annotations

import heapq
import itertools
import math
import queue
import sys
import threading
import time
import weakref
from collections import deque
from typing import Any, Protocol

from wire.core.forks import at_fork
from wire.http.sockets import cut_off, inode, shut_down

ATTEMPT = "wire.attempt"
"""Request extension: the `Clocks` of the attempt. A request of another client has none."""

UPGRADE = "wire.upgrade"
"""Request extension: the key of a request that opens a WebSocket. Such a request gets a new
connection, which is httpx's: those of `wire.http.direct` cannot change their protocol."""

_PERIOD = 1.0
"""Seconds after which a watch is looked at again at the latest, and removed if it has ended."""
_TICKS = 8


class Watch:
    """The deadline of one attempt and the connection to shut down."""

    __slots__ = (
        "__weakref__",
        "connection",
        "deadline",
        "ends",
        "fired",
        "is_watched",
        "over",
        "period",
        "repeatable",
    )

    def __init__(self, period: float, ends: float, *, repeatable: bool = False) -> None:
        self.connection: Any = None
        """The socket, or the object with which an event loop represents it."""
        self.deadline: float = math.inf
        """In seconds of `time.monotonic`. Must not be set to less than `period` seconds ahead,
        except to `ends`."""
        self.period: float = min(period, _PERIOD)
        self.ends: float = ends
        self.fired: bool = False
        """The connection has been shut down: its end of file is not the server's."""
        self.is_watched: bool = False
        """Whether the thread checks it. The thread cannot be started while the interpreter ends."""
        self.over: bool = False
        self.repeatable: bool = repeatable
        """Whether the request may be sent a second time."""

    def start(self) -> None:
        """Register the watch; once more after the deadline was moved to less than `period` ahead.

        >>> watch = Watch(period=1.0, ends=math.inf)
        >>> watch.start()
        >>> watch.end()
        """
        _watchdog.add(self)

    def clear(self) -> bool:
        """Clear the deadline; return whether the connection had been shut down before."""
        with _watchdog.lock:
            self.deadline = math.inf
            return self.fired

    def cut(self) -> None:
        """Shut the connection down before its deadline, which wakes its reader with an error.

        Any thread may call it. Nothing happens after `end`.
        """
        if sys.is_finalizing():
            return  # no other thread runs, and one that was stopped may hold the lock
        with _watchdog.lock:
            if not self.over and self.connection is not None:
                shut_down(self.connection)

    def end(self) -> None:
        """End the watch: from now on another call may use the connection."""
        if sys.is_finalizing():
            self.over = True  # the thread has been stopped, and may hold the lock
            return
        with _watchdog.lock:
            self.over = True


class Clocks(Protocol):
    """The clocks of one attempt to send a request."""

    watch: Watch
    half_open: Any

    @property
    def until_deadline(self) -> float:
        """Seconds until the deadline of the current wait."""
        ...

    def opening(self) -> None:
        """Start the connect time, because a connection is being opened."""
        ...

    def connected(self, connection: Any) -> None:
        """Set the connection of the attempt, whose socket the watchdog may shut down."""
        ...

    def sending(self) -> None:
        """Start the time to the first byte, because the connection is open."""
        ...

    def trace(self, name: str, info: Any) -> bool:
        """Process an event of httpcore's `trace`; return True if it moved the deadline."""
        ...


def await_signal(signals: queue.SimpleQueue[Any], seconds: float) -> None:
    """Wait until `signals` has an item, and remove it, for at most so long.

    Only one thread at a time may wait. Before Python 3.13, `get` waits for ever if its time has
    passed when it begins to wait. After a `get_nowait` that found nothing it begins at once.
    """
    try:
        signals.get_nowait()
    except queue.Empty:
        try:
            signals.get(timeout=seconds)
        except queue.Empty:
            pass


class _Watchdog:
    def __init__(self) -> None:
        # Reentrant: a signal handler, or a `__del__`, may close a stream inside of it.
        self.lock = threading.RLock()
        self._new: deque[Watch] = deque()
        self._heap: list[tuple[float, int, weakref.ref[Watch]]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None
        self._wakes = math.inf
        self._calls: queue.SimpleQueue[None] = queue.SimpleQueue()

    def add(self, watch: Watch) -> None:
        if sys.is_finalizing():
            watch.is_watched = False
            return
        with self.lock:
            self._new.append(watch)
            watch.is_watched = True
            if self._thread is not None and self._thread.is_alive():
                if _due(watch, time.monotonic()) < self._wakes:
                    self._calls.put(None)
                return
            thread = threading.Thread(target=self._run, name="wire watchdog", daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the interpreter is ending, or has no thread left
                watch.is_watched = False  # clocks run between reads
                return
            self._thread = thread

    def _run(self) -> None:
        idle = False
        while True:
            with self.lock:
                if self._thread not in (None, threading.current_thread()):
                    return  # an interrupt of `add` had forgotten this thread
                self._check(time.monotonic())
                if not self._heap and idle:
                    self._thread = None
                    return
                idle = not self._heap
                self._wakes = self._heap[0][0] if self._heap else time.monotonic() + _PERIOD
                wait = max(0.0, self._wakes - time.monotonic())
            await_signal(self._calls, wait)

    def _check(self, now: float) -> None:
        heap = self._heap
        while self._new:
            self._push(self._new.popleft(), now)
        while heap and heap[0][0] <= now:
            watch = heapq.heappop(heap)[2]()
            if watch is None or watch.over:
                continue
            if watch.deadline <= now and watch.connection is not None:
                watch.fired = True
                # During a handshake, TLS has taken the socket over, and the connection that will
                # replace it is not known yet. The watch waits for it: otherwise a server that then
                # sends interim responses without end would hold its reader for ever.
                watch.over = shut_down(watch.connection)
            if not watch.over:
                self._push(watch, now)

    def _push(self, watch: Watch, now: float) -> None:
        heapq.heappush(self._heap, (_due(watch, now), next(self._numbers), weakref.ref(watch)))


def _due(watch: Watch, now: float) -> float:
    """Return the time at which the thread next checks a watch.

    Without a near deadline, that is a tick of a clock that all watches share. The thread then wakes
    eight times in a period, not once for each call.
    """
    tick = watch.period / _TICKS
    due = (now + watch.period) // tick * tick
    if now < watch.deadline < due:
        due = watch.deadline
    return watch.ends if now < watch.ends < due else due


_watchdog = _Watchdog()


def _forked(_: object) -> None:
    """Replace the watchdog in a forked child, which has no watchdog thread.

    The connections of running calls are the parent's: the child only closes its descriptors.
    """
    global _watchdog
    parents, _watchdog = _watchdog, _Watchdog()
    for watch in (*parents._new, *(each() for _, _, each in parents._heap)):
        if watch is not None and not watch.over:
            cut_off(watch.connection, inode(watch.connection))


at_fork(sys.modules[__name__], _forked)
