"""A connection pool: an httpx transport made of lanes.

A lane has one connection and sends one request at a time. It is an httpx transport with room for
one connection (`wire.http.httpx_lane`), or a socket (`wire.http.direct`). httpx's own pool loses a
connection slot for good when a call is cancelled while it waits for a connection
(encode/httpcore#1093), and its work grows with about the cube of the number of streams. Here httpx
never has to search a pool.

All lanes have `send`, `is_reusable`, `is_clean`, `was_closed`, `socket` and `cut_off`, and `close`
or `aclose`.

A lane is in one of three states:

    idle     in the stack of its origin, no limiter slot taken
    busy     leased to one response body, one limiter slot taken
    dropped  closed, its slot released

    idle -> busy     a call takes the lane, or opens a new one
    busy -> idle     the body was read to the end and its close returned normally
    busy -> dropped  anything else: an error, a cancellation, a body that was left early

Invariants (R-21, R-25):

- The number of taken slots is the number of busy lanes and of calls that are opening one. A slot
  that is released twice would exceed the limit; one that is never released would block a later
  call forever.
- A lane whose body has unread bytes is never idle. The next call on it would read them as the
  beginning of its own response.
- A lane is taken again only if nothing has arrived since its last response: neither bytes, which
  would be read as the next response, nor the end of the connection.
- `anyio.CancelScope(shield=True)` does not stop a native `task.cancel()`. Therefore nothing is
  awaited between the end of the body's close and the return of the lane, and the slot is released
  before anything that can be cancelled.

A server may close an idle connection at the same moment as a call is sent on it. If such a call
gets no byte of a response it is sent once more, at once and on a new connection. That is no attempt
of `Retry`. It is done only for a call that may be sent twice (`Call.idempotent`).

A connection belongs to the process that opened it, and to its event loop (R-24, R-42):

- A forked child inherits the parent's sockets. If both used one, each would read responses to the
  other. The child therefore drops all lanes, and starts with new locks and a new limiter.
- A second event loop cannot use a socket that is registered with the first. Each loop therefore has
  lanes and a limiter of its own, and closes its lanes when it ends.
"""

from __future__ import annotations

import asyncio
import math
import os
import queue
import ssl
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.lowlevel
import httpx

from wire.core.arguments import whole_number
from wire.core.secret import quoted
from wire.errors import ConfigurationError, ungrouped
from wire.http.httpx_lane import AsyncHttpxLane, HttpxLane
from wire.http.network import direct_problem, is_patched, proxy_for, proxy_option, tls
from wire.http.sockets import shut_down
from wire.http.watchdog import ATTEMPT

if TYPE_CHECKING:
    from wire.http.direct import AsyncDirectLane, DirectLane

    Lane = HttpxLane | DirectLane
    AsyncLane = AsyncHttpxLane | AsyncDirectLane

Origin = tuple[str, str, int | None]

MAX_LANES = 1000
"""Default for busy lanes, for all origins together."""
MAX_IDLE_LANES = 100
"""Default for idle lanes of one origin."""
_KEPT_SECONDS = 60.0
"""How long an idle lane is kept."""
_BROKEN = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""What httpx raises for a connection that the server has closed."""


def _origin(request: httpx.Request) -> Origin:
    # `raw_host` is the host that is connected to. `host` decodes punycode, and may fail.
    return request.url.scheme, request.url.raw_host.decode("ascii"), request.url.port


def _closed() -> ConfigurationError:
    return ConfigurationError("the client is closed")


Connections = Literal["auto", "direct", "httpx"]
"""How lanes connect: `direct` (`wire.http.direct`), `httpx`, or `auto`, which is direct where that
can serve and httpx elsewhere."""


_CONNECTIONS = ("auto", "direct", "httpx")


def _check_options(limit: int, keep: int, connections: str) -> None:
    whole_number("limit", limit, least=1, error=ConfigurationError)
    whole_number("keep", keep, least=0, error=ConfigurationError)
    if connections not in _CONNECTIONS:
        raise ConfigurationError(
            f"connections: expected 'auto', 'direct' or 'httpx', not {quoted(connections)}"
        )
    if connections == "direct" and (problem := direct_problem(None)):
        raise ConfigurationError(f"connections='direct': {problem}")


def _is_direct(connections: str, proxy: str | None, *, on_trio: bool = False) -> bool:
    """Whether a new lane connects directly. Raises `ConfigurationError` if it has to and cannot."""
    if connections == "httpx":
        return False
    problem = direct_problem(proxy, on_trio=on_trio)
    if problem and connections == "direct":
        raise ConfigurationError(f"connections='direct': {problem}")
    return not problem and not (connections == "auto" and is_patched())


def _may_send_again(request: httpx.Request) -> bool:
    """Whether a request that reached nobody may be sent on another lane."""
    clocks = request.extensions.get(ATTEMPT)
    return clocks is not None and clocks.watch.repeatable and not clocks.watch.fired


def _is_kept(lane: Lane | AsyncLane, connections: str) -> bool:
    """Whether an idle lane may send another request (R-25, R-26)."""
    if time.monotonic() - lane.idle_since >= _KEPT_SECONDS or not lane.is_clean():
        return False
    is_direct = not isinstance(lane, (HttpxLane, AsyncHttpxLane))
    return not (is_direct and connections == "auto" and is_patched())


class _Slot:
    """A place of the limiter; it is free again when nothing refers to it any more."""

    __slots__ = ("__weakref__",)


class _Slots:
    """The limiter for threads.

    A KeyboardInterrupt may arrive between any two lines, also between taking a place and storing it
    (R-43). Therefore a place is taken as long as its object lives. What happens at its end are
    functions of C, as an interrupt in a `__del__` would be lost and the place with it.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._taken: dict[weakref.ref[_Slot], weakref.ref[_Slot]] = {}
        self._released: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def take(self, timeout: float | None) -> _Slot | None:
        """Wait for a slot; `None` after the timeout."""
        ends = math.inf if timeout is None else time.monotonic() + timeout
        while (slot := self._free()) is None:
            left = ends - time.monotonic()
            if left <= 0:
                return None
            try:
                self._released.get(timeout=min(left, 1.0))
            except queue.Empty:
                pass
        return slot

    def _free(self) -> _Slot | None:
        with self._lock:
            if len(self._taken) >= self._limit:
                return None
            slot = _Slot()
            wake = weakref.ref(slot, self._released.put)
            self._taken[weakref.ref(slot, self._taken.pop)] = wake
        if not self._released.empty():
            try:
                self._released.get_nowait()  # of a release that nobody waited for
            except queue.Empty:
                pass
        return slot


class Lanes(httpx.BaseTransport):
    """The connection pool for threads, an httpx transport.

    >>> from wire import Client
    >>> with Client("gemini", api_key="fake-key", http=Lanes(limit=20)) as client:
    ...     client.describe()["http"]
    'Lanes'

    At most `limit` connections are busy at a time; a further call waits. At most `keep` idle
    connections are kept for each origin. `trust_env=False` ignores the proxies and TLS settings of
    the environment. Requests to this machine never use a proxy.

    `connections="direct"` connects without httpx, which costs a third of the CPU and needs the
    extra `[fast]`; `"httpx"` connects with it. `"auto"` is direct where httptools is installed, no
    proxy applies, and no test library such as respx has replaced a part of httpx.

    Raises `ConfigurationError` for a request after `close`, `httpx.PoolTimeout` if no connection is
    free within the pool timeout.
    """

    trust_env: bool
    """Whether the proxies and certificates of the environment are used."""

    connections: Connections
    """How new lanes connect."""

    def __init__(
        self,
        limit: int = MAX_LANES,
        keep: int = MAX_IDLE_LANES,
        *,
        trust_env: bool = True,
        connections: Connections = "auto",
    ) -> None:
        _check_options(limit, keep, connections)
        self._limit, self._keep, self.trust_env = limit, keep, trust_env
        self.connections = connections
        self._closed = False
        self._start()
        _ALL.add(self)

    def _start(self) -> None:
        """Set the state of a process that has no connection yet."""
        self._slots, self._lock = _Slots(self._limit), threading.Lock()
        self._idle: defaultdict[Origin, list[Lane]] = defaultdict(list)
        self._sessions: dict[Origin, ssl.SSLSession] = {}
        self._busy: dict[weakref.ref[_Leased], None] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        origin = _origin(request)
        slot = lane = None
        try:
            slot = self._slots.take(request.extensions.get("timeout", {}).get("pool"))
            if slot is None:
                raise httpx.PoolTimeout("no free lane", request=request)
            lane = self._take(origin)
            try:
                response = lane.send(request)
            except _BROKEN:
                if not (lane.was_closed() and _may_send_again(request)):
                    raise
                lane.close()
                lane = self._open(origin)
                response = lane.send(request)
            leased = _Leased(response, self, origin, lane, slot)
            self._busy[weakref.ref(leased, self._busy.pop)] = None
        except BaseException:
            if lane is not None:
                lane.close()
            raise
        finally:
            slot = None  # a traceback that keeps this frame would keep it
        response.stream = leased
        return response

    def _take(self, origin: Origin) -> Lane:
        while True:
            with self._lock:
                if self._closed:
                    raise _closed()
                idle = self._idle[origin]
                lane = idle.pop() if idle else None
            if lane is None:
                return self._open(origin)
            if _is_kept(lane, self.connections):
                return lane
            lane.close()

    def _connections_to(self, origin: Origin) -> str:
        """How a new lane to an origin would connect: `direct` or `httpx`."""
        if self.connections != "auto":
            return self.connections
        proxy = proxy_for(*origin, self.trust_env)
        return "direct" if _is_direct("auto", proxy) else "httpx"

    def _open(self, origin: Origin) -> Lane:
        env, secure = self.trust_env, origin[0] == "https"
        proxy = proxy_for(*origin, env)
        if _is_direct(self.connections, proxy):
            from wire.http.direct import DirectLane  # needs httptools

            return DirectLane(origin, tls("https", env) if secure else None, self._sessions)
        return HttpxLane(tls(origin[0], env), proxy_option(proxy, env))

    def _take_back(self, leased: _Leased, clean: bool) -> bool:
        """Return True if the lane was kept."""
        self._busy.pop(weakref.ref(leased), None)
        with self._lock:
            idle = self._idle[leased.origin]
            kept = clean and not self._closed and len(idle) < self._keep
            kept = kept and leased.lane.is_reusable()
            if kept:
                leased.lane.idle_since = time.monotonic()
                idle.append(leased.lane)
        return kept

    def close(self) -> None:
        """Close idle lanes, and shut busy ones down, which wakes their readers with an error."""
        with self._lock:
            self._closed = True
            idle = [lane for lanes in self._idle.values() for lane in lanes]
            self._idle.clear()
            busy = self._leased()
        for lane in idle:
            lane.close()
        for leased in busy:
            leased.abort()

    def _leased(self) -> list[_Leased]:
        return [leased for each in list(self._busy) if (leased := each()) is not None]

    def _forked(self) -> None:
        """Leave all connections to the parent, whose threads may hold the old locks."""
        for leased in self._leased():
            leased.forget()
        for lanes in self._idle.values():
            for lane in lanes:
                lane.cut_off()
        self._start()


class _Leased(httpx.SyncByteStream):
    """The body of a response, and the lane it comes on."""

    def __init__(
        self,
        response: httpx.Response,
        lanes: Lanes,
        origin: Origin,
        lane: Lane,
        slot: _Slot,
    ) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)
        self.origin, self.lane = origin, lane
        self.slot: _Slot | None = slot
        self._body, self._lanes = response.stream, lanes
        self._whole = self._ended = self._aborted = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._body
        self._whole = True

    def close(self) -> None:
        if self._ended:
            return
        self._ended, clean = True, False
        try:
            self._body.close()
            clean = self._whole and not self._aborted
        finally:
            try:
                if not self._lanes._take_back(self, clean):
                    self.lane.close()
            finally:
                self.slot = None  # whatever was interrupted: the caller may keep this object

    def abort(self) -> None:
        """Shut the socket down, which wakes its reader with an error."""
        self._aborted = True
        shut_down(self.lane.socket)

    def forget(self) -> None:
        """Leave the connection to the parent. A further read in this process raises an error."""
        self._ended = True
        self.lane.cut_off()


class AsyncLanes(httpx.AsyncBaseTransport):
    """The connection pool for asyncio and trio; `limit` and `keep` apply to each event loop.

    The other options are those of `Lanes`. On trio all connections are those of httpx.

    >>> import anyio
    >>> from wire import AsyncClient
    >>> async def main() -> str:
    ...     http = AsyncLanes(limit=20)
    ...     async with AsyncClient("gemini", api_key="fake-key", http=http) as client:
    ...         return client.describe()["http"]
    >>> anyio.run(main)
    'AsyncLanes'
    """

    trust_env: bool
    """Whether the proxies and certificates of the environment are used."""

    connections: Connections
    """How new lanes connect."""

    def __init__(
        self,
        limit: int = MAX_LANES,
        keep: int = MAX_IDLE_LANES,
        *,
        trust_env: bool = True,
        connections: Connections = "auto",
    ) -> None:
        _check_options(limit, keep, connections)
        self._limit, self._keep, self.trust_env = limit, keep, trust_env
        self.connections = connections
        self._sessions: dict[Origin, ssl.SSLSession] = {}
        self._loops: dict[object, _LoopLanes] = {}
        self._closed = False
        _ALL.add(self)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        ours = self._loops.get(_current_loop()) or await self._start()
        origin = _origin(request)
        await _acquired(ours.limiter, request)
        lane = None
        try:
            lane = await self._take(ours, origin)
            try:
                response = await lane.send(request)
            except _BROKEN:
                if not (lane.was_closed() and _may_send_again(request)):
                    raise
                await lane.aclose()
                lane = self._open(origin)
                response = await lane.send(request)
        except BaseException as error:
            ours.limiter.release()
            if lane is not None:
                await lane.aclose()
            if isinstance(error, BaseExceptionGroup):
                raise ungrouped(error) from error  # trio connects in a nursery
            raise
        leased = _AsyncLeased(response, ours, origin, lane)
        ours.busy.add(leased)
        response.stream = leased
        return response

    async def _start(self) -> _LoopLanes:
        """Create the lanes of this event loop, and drop those of loops that have ended."""
        if self._closed:
            raise _closed()
        for loop, lanes in list(self._loops.items()):
            ended = isinstance(loop, asyncio.AbstractEventLoop) and loop.is_closed()
            if ended:  # without `shutdown_asyncgens` its lanes are still open
                lanes.cut_off()
            if ended or lanes.over:
                self._loops.pop(loop, None)
        ours = self._loops[_current_loop()] = _LoopLanes(self._limit, self._keep)
        await anext(ours.until_the_end)
        return ours

    async def _take(self, ours: _LoopLanes, origin: Origin) -> AsyncLane:
        while True:
            if self._closed:
                raise _closed()
            idle = ours.idle[origin]
            if not idle:
                return self._open(origin)
            lane = idle.pop()
            if _is_kept(lane, self.connections):
                return lane
            await lane.aclose()

    def _connections_to(self, origin: Origin) -> str:
        """How a new lane to an origin would connect: `direct` or `httpx`."""
        if self.connections != "auto":
            return self.connections
        proxy = proxy_for(*origin, self.trust_env)
        return "direct" if _is_direct("auto", proxy, on_trio=_is_on_trio()) else "httpx"

    def _open(self, origin: Origin) -> AsyncLane:
        env, secure = self.trust_env, origin[0] == "https"
        proxy = proxy_for(*origin, env)
        if _is_direct(self.connections, proxy, on_trio=_is_on_trio()):
            from wire.http.direct import AsyncDirectLane  # needs httptools

            return AsyncDirectLane(origin, tls("https", env) if secure else None, self._sessions)
        return AsyncHttpxLane(tls(origin[0], env), proxy_option(proxy, env))

    async def aclose(self) -> None:
        """Close idle lanes and those in use; readers of the latter wake up with an error.

        Lanes of another event loop that runs in another thread are closed when that loop ends.
        """
        self._closed = True
        ours = self._loops.pop(_current_loop(), None)
        for lanes in list(self._loops.values()):
            lanes.over = True
        if ours is not None and not ours.over:
            await ours.until_the_end.aclose()

    def _forked(self) -> None:
        """Leave all connections to the parent."""
        for lanes in self._loops.values():
            lanes.cut_off()
        _INHERITED.extend(self._loops.values())
        self._loops = {}


class _LoopLanes:
    """The lanes of one event loop."""

    def __init__(self, limit: int, keep: int) -> None:
        self.limiter, self.keep = anyio.Semaphore(limit), keep
        self.idle: defaultdict[Origin, list[AsyncLane]] = defaultdict(list)
        self.busy: set[_AsyncLeased] = set()
        self.over = False
        self.until_the_end = self._close_at_the_end()

    async def _close_at_the_end(self) -> AsyncGenerator[None, None]:
        """Close all lanes when the event loop ends.

        The generator is suspended while the loop runs. A loop that ends closes its generators,
        which is the last moment when a connection can be closed with `await`.
        """
        try:
            yield
        finally:
            self.over = True
            lanes = [lane for idle in self.idle.values() for lane in idle]
            lanes += [leased.lane for leased in self.busy]
            self.idle.clear()
            for lane in lanes:
                await lane.aclose()

    def take_back(self, leased: _AsyncLeased, clean: bool) -> bool:
        """Return True if the lane was kept. Must not await: see the invariants above."""
        self.busy.discard(leased)
        self.limiter.release()
        if clean and self.keeps(leased):
            leased.lane.idle_since = time.monotonic()
            self.idle[leased.origin].append(leased.lane)
            return True
        return False

    def keeps(self, leased: _AsyncLeased) -> bool:
        """Whether a lane would be kept if it was given back with a body that was read."""
        has_room = not self.over and len(self.idle[leased.origin]) < self.keep
        return has_room and leased.lane.is_reusable()

    def cut_off(self) -> None:
        """Close the descriptors of all sockets without the event loop."""
        self.over = True
        for idle in self.idle.values():
            for lane in idle:
                lane.cut_off()
        for leased in self.busy:
            leased.forget()


class _AsyncLeased(httpx.AsyncByteStream):
    """The body of a response, and the lane it comes on."""

    def __init__(
        self,
        response: httpx.Response,
        lanes: _LoopLanes,
        origin: Origin,
        lane: AsyncLane,
    ) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self.origin, self.lane = origin, lane
        self._body, self._reads, self._lanes = response.stream, aiter(response.stream), lanes
        self._whole = self._failed = self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        # The body of a direct lane knows itself whether it was read to its end.
        return self if isinstance(self.lane, AsyncHttpxLane) else self._reads

    @property
    def _is_whole(self) -> bool:
        """Whether the body was read to its end."""
        if isinstance(self.lane, AsyncHttpxLane):
            return self._whole
        whole: bool = self._body.is_whole  # type: ignore[attr-defined]
        return whole

    async def __anext__(self) -> bytes:
        try:
            return await anext(self._reads)
        except StopAsyncIteration:
            self._whole = not self._failed
            raise
        except BaseException:
            # After an exception a generator raises StopAsyncIteration, as at the end of a body.
            self._failed = True
            raise

    def give_back(self) -> bool:
        """Give the lane back if that needs no `await`; return whether the body is closed."""
        if not self._ended and self._is_whole and not isinstance(self.lane, AsyncHttpxLane):
            self._ended = self._lanes.keeps(self) and self._lanes.take_back(self, clean=True)
        return self._ended

    async def aclose(self) -> None:
        if self._ended:
            return
        self._ended = True
        if not self._is_whole:
            self._lanes.take_back(self, clean=False)
            await self._drop()
            return
        clean = False
        try:
            await self._body.aclose()
            clean = True
        finally:
            if not self._lanes.take_back(self, clean):
                await self._drop()

    def forget(self) -> None:
        """Close the descriptor only. A further read raises an error."""
        self._ended = True
        self.lane.cut_off()

    async def _drop(self) -> None:
        """Close the connection, then exhaust the generators in which httpx reads the body.

        trio warns about a generator that is left to the garbage collector. At most one buffered
        read is left in them.
        """
        await self.lane.aclose()
        with anyio.CancelScope(shield=True):
            try:
                while True:
                    await anext(self)
            except (httpx.TransportError, OSError, RuntimeError, StopAsyncIteration):
                pass  # RuntimeError: another task is reading; the closed connection wakes it


async def _acquired(limiter: anyio.Semaphore, request: httpx.Request) -> None:
    """Take a slot, within the deadline of the attempt."""
    try:
        limiter.acquire_nowait()
        return
    except anyio.WouldBlock:
        clocks = request.extensions.get(ATTEMPT)
    seconds = (
        request.extensions.get("timeout", {}).get("pool")
        if clocks is None
        else clocks.until_deadline
    )
    try:
        with anyio.fail_after(seconds):
            await limiter.acquire()
    except TimeoutError:
        raise httpx.PoolTimeout("no free lane", request=request) from None


def _is_on_trio() -> bool:
    """Whether the running event loop is trio's; False if none runs."""
    try:
        return not isinstance(_current_loop(), asyncio.AbstractEventLoop)
    except anyio.NoEventLoopError:
        return False


def _current_loop() -> object:
    """The running event loop: the loop itself on asyncio, a token on trio."""
    try:
        if asyncio.current_task() is not None:  # else a guest of asyncio, such as trio
            return asyncio.get_running_loop()
    except RuntimeError:
        pass
    token = anyio.lowlevel.current_token()
    return getattr(token, "native_token", token)  # since anyio 4.11 wrapped


_ALL: weakref.WeakSet[Lanes | AsyncLanes] = weakref.WeakSet()
_INHERITED: list[_LoopLanes] = []
"""Lanes of the parent's event loops. Kept, because their finalizers would wake the loop."""


def _forked() -> None:
    for lanes in list(_ALL):
        lanes._forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
