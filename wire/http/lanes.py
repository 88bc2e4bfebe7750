"""A connection pool: an httpx transport made of httpx transports with one connection each.

A lane is such a one-connection transport. httpx's own pool loses a connection slot for good when a
call is cancelled while it waits for a connection (encode/httpcore#1093), and its work grows with
about the cube of the number of streams. Here httpx never has to search a pool.

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
import socket
import ssl
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import anyio
import anyio.lowlevel
import httpx

from wire.core.arguments import whole_number
from wire.errors import ConfigurationError, ungrouped
from wire.http.network import proxy_for, proxy_option, tls
from wire.http.watchdog import TRACE, WATCH, shut_down

Origin = tuple[str, str, int | None]

MAX_LANES = 1000
"""Default for busy lanes, for all origins together."""
MAX_IDLE_LANES = 100
"""Default for idle lanes of one origin."""
_KEPT_SECONDS = 60.0
"""How long an idle lane is kept."""
_ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)
_BROKEN = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""What httpx raises for a connection that the server has closed."""


def _origin(request: httpx.Request) -> Origin:
    # `raw_host` is the host that is connected to. `host` decodes punycode, and may fail.
    return request.url.scheme, request.url.raw_host.decode("ascii"), request.url.port


def _closed() -> ConfigurationError:
    return ConfigurationError("the client is closed")


class _Lane:
    """A transport with one connection, and the httpcore stream of that connection."""

    __slots__ = ("_inode", "_network", "_parser", "idle_since", "transport")

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self.idle_since = 0.0
        self._network: Any = None
        self._parser: Any = None
        self._inode: int | None = None

    def prepare(self, request: httpx.Request) -> None:
        """Let the watchdog know the connection that the request takes, or will open."""
        if self._network is None:
            if TRACE in request.extensions:
                request.extensions["trace"] = request.extensions[TRACE]
        elif WATCH in request.extensions:
            request.extensions[WATCH].connection = self.socket

    def opened(self, response: httpx.Response) -> None:
        """Record the connection of a response."""
        network = response.extensions.get("network_stream")
        if network is not self._network:
            self._network, self._parser = network, _parser(self.transport)
            self._inode = _inode(self.socket)

    def is_clean(self) -> bool:
        """Whether nothing has arrived since the last response, not even the end (R-25, R-26)."""
        return (
            time.monotonic() - self.idle_since < _KEPT_SECONDS
            and self._parser is not None
            and not self._parser.trailing_data[0]
            and not _has_unread(self._network)
        )

    def was_closed(self, request: httpx.Request) -> bool:
        """Whether the server had closed this kept lane, so that the request may be sent again."""
        watch = request.extensions.get(WATCH)
        return (
            watch is not None
            and watch.repeatable
            and not watch.fired
            and self._parser is not None
            and self._parser.their_state.__name__ == "SEND_RESPONSE"
            and not self._parser.trailing_data[0]
        )

    @property
    def socket(self) -> Any:
        """The socket, or the object with which an event loop represents it."""
        return self._network.get_extra_info("socket") if self._network is not None else None

    def cut_off(self) -> None:
        """Close this process's descriptor of the socket, and nothing else.

        Nothing is sent, not even TLS's close_notify, and the connection is not shut down, because
        another process may still use it.
        """
        connection = self.socket
        if isinstance(connection, socket.socket):
            connection.close()
        elif self._inode is not None and self._inode == _inode(connection):
            # The socket belongs to an event loop that has ended or is the parent's, and cannot
            # close it now. The loop may still close the descriptor later. /dev/null takes the
            # number until then; otherwise that close could hit an unrelated new file.
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, connection.fileno(), inheritable=False)
            os.close(null)


def _parser(transport: Any) -> Any:
    """The `h11.Connection` of a transport with one connection, `None` if it cannot be found.

    It alone knows of bytes that arrived together with the end of a response. httpx and httpcore
    have no public name for it. A lane without it is not used again.
    """
    try:
        (connection,) = transport._pool.connections
        while (inner := getattr(connection, "_connection", None)) is not None:
            connection = inner  # of a proxy
        return connection._h11_state
    except (AttributeError, ValueError):
        return None


def _has_unread(network: Any) -> bool:
    """Whether a connection holds bytes, or its end, on any layer below the parser."""
    try:
        if network.get_extra_info("is_readable"):
            return True
        secured = network.get_extra_info("ssl_object")
        if isinstance(secured, ssl.SSLObject):  # asyncio and trio
            secured.read(1)
            return True
        if secured is not None and secured.pending():
            return True
    except ssl.SSLWantReadError:
        pass
    except (OSError, ValueError):
        return True  # closed
    # anyio reads up to 256 KiB from a socket of asyncio and hands them out in smaller pieces.
    stream = getattr(network, "_stream", None)
    stream = getattr(stream, "transport_stream", stream)
    return bool(getattr(getattr(stream, "_protocol", None), "read_queue", None))


def _inode(connection: Any) -> int | None:
    """Identifies a socket: its descriptor may be reused by another file after it was closed."""
    try:
        return os.fstat(connection.fileno()).st_ino if os.name == "posix" else None
    except (AttributeError, OSError):
        return None


def _check_counts(limit: int, keep: int) -> None:
    whole_number("limit", limit, least=1, error=ConfigurationError)
    whole_number("keep", keep, least=0, error=ConfigurationError)


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

    Raises `ConfigurationError` for a request after `close`, `httpx.PoolTimeout` if no connection is
    free within the pool timeout.
    """

    trust_env: bool
    """Whether the proxies and certificates of the environment are used."""

    def __init__(
        self, limit: int = MAX_LANES, keep: int = MAX_IDLE_LANES, *, trust_env: bool = True
    ) -> None:
        _check_counts(limit, keep)
        self._limit, self._keep, self.trust_env = limit, keep, trust_env
        self._closed = False
        self._start()
        _ALL.add(self)

    def _start(self) -> None:
        """Set the state of a process that has no connection yet."""
        self._slots, self._lock = _Slots(self._limit), threading.Lock()
        self._idle: defaultdict[Origin, list[_Lane]] = defaultdict(list)
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
            lane.prepare(request)
            try:
                response: httpx.Response = lane.transport.handle_request(request)
            except _BROKEN:
                if not lane.was_closed(request):
                    raise
                lane.transport.close()
                lane = self._open(origin)
                lane.prepare(request)
                response = lane.transport.handle_request(request)
            leased = _Leased(response, self, origin, lane, slot)
            self._busy[weakref.ref(leased, self._busy.pop)] = None
        except BaseException:
            if lane is not None:
                lane.transport.close()
            slot = None  # the traceback would keep it
            raise
        response.stream = leased
        return response

    def _take(self, origin: Origin) -> _Lane:
        while True:
            with self._lock:
                if self._closed:
                    raise _closed()
                idle = self._idle[origin]
                lane = idle.pop() if idle else None
            if lane is None:
                return self._open(origin)
            if lane.is_clean():
                return lane
            lane.transport.close()

    def _open(self, origin: Origin) -> _Lane:
        env = self.trust_env
        verify, proxy = tls(origin[0], env), proxy_option(proxy_for(*origin, env), env)
        lane = _Lane(
            httpx.HTTPTransport(verify=verify, limits=_ONE, proxy=proxy, trust_env=False),
        )
        pool: Any = getattr(lane.transport, "_pool", None)
        if hasattr(pool, "_optional_thread_lock"):
            # httpcore's own lock is a class of Python. A KeyboardInterrupt between its `acquire`
            # and the `with` block leaves it locked, and the next step waits for ever.
            pool._optional_thread_lock = threading.Lock()
        return lane

    def _take_back(self, leased: _Leased, clean: bool) -> bool:
        """Return True if the lane was kept."""
        self._busy.pop(weakref.ref(leased), None)
        with self._lock:
            idle = self._idle[leased.origin]
            kept = clean and not self._closed and len(idle) < self._keep
            if kept:
                leased.lane.idle_since = time.monotonic()
                idle.append(leased.lane)
        leased.slot = None
        return kept

    def close(self) -> None:
        """Close idle lanes, and shut busy ones down, which wakes their readers with an error."""
        with self._lock:
            self._closed = True
            idle = [lane for lanes in self._idle.values() for lane in lanes]
            self._idle.clear()
            busy = self._leased()
        for lane in idle:
            lane.transport.close()
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
        lane: _Lane,
        slot: _Slot,
    ) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)
        lane.opened(response)
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
            if not self._lanes._take_back(self, clean):
                self.lane.transport.close()

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

    def __init__(
        self, limit: int = MAX_LANES, keep: int = MAX_IDLE_LANES, *, trust_env: bool = True
    ) -> None:
        _check_counts(limit, keep)
        self._limit, self._keep, self.trust_env = limit, keep, trust_env
        self._loops: dict[object, _LoopLanes] = {}
        self._closed = False
        _ALL.add(self)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        ours = self._loops.get(_current_loop()) or await self._start()
        origin = _origin(request)
        await ours.limiter.acquire()
        lane = None
        try:
            lane = await self._take(ours, origin)
            lane.prepare(request)
            try:
                response: httpx.Response = await lane.transport.handle_async_request(request)
            except _BROKEN:
                if not lane.was_closed(request):
                    raise
                with anyio.CancelScope(shield=True):
                    await lane.transport.aclose()
                lane = self._open(origin)
                lane.prepare(request)
                response = await lane.transport.handle_async_request(request)
        except BaseException as error:
            ours.limiter.release()
            if lane is not None:
                with anyio.CancelScope(shield=True):
                    await lane.transport.aclose()
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

    async def _take(self, ours: _LoopLanes, origin: Origin) -> _Lane:
        while True:
            if self._closed:
                raise _closed()
            idle = ours.idle[origin]
            if not idle:
                return self._open(origin)
            lane = idle.pop()
            if lane.is_clean():
                return lane
            with anyio.CancelScope(shield=True):
                await lane.transport.aclose()

    def _open(self, origin: Origin) -> _Lane:
        env = self.trust_env
        verify, proxy = tls(origin[0], env), proxy_option(proxy_for(*origin, env), env)
        return _Lane(
            httpx.AsyncHTTPTransport(verify=verify, limits=_ONE, proxy=proxy, trust_env=False),
        )

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
        self.idle: defaultdict[Origin, list[_Lane]] = defaultdict(list)
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
            with anyio.CancelScope(shield=True):
                for lane in lanes:
                    await lane.transport.aclose()

    def take_back(self, leased: _AsyncLeased, clean: bool) -> bool:
        """Return True if the lane was kept. Must not await: see the invariants above."""
        self.busy.discard(leased)
        self.limiter.release()
        idle = self.idle[leased.origin]
        if clean and not self.over and len(idle) < self.keep:
            leased.lane.idle_since = time.monotonic()
            idle.append(leased.lane)
            return True
        return False

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
        lane: _Lane,
    ) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        lane.opened(response)
        self.origin, self.lane = origin, lane
        self._body, self._reads, self._lanes = response.stream, aiter(response.stream), lanes
        self._whole = self._failed = self._ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

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

    async def aclose(self) -> None:
        if self._ended:
            return
        self._ended = True
        if not self._whole:
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
        with anyio.CancelScope(shield=True):
            await self.lane.transport.aclose()
            try:
                while True:
                    await anext(self)
            except (httpx.TransportError, OSError, RuntimeError, StopAsyncIteration):
                pass  # RuntimeError: another task is reading; the closed connection wakes it


def _current_loop() -> object:
    """The running event loop: the loop itself on asyncio, a token on trio."""
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
