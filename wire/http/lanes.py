"""An httpx transport made of one-connection httpx transports, so that httpx's pool has nothing to
search and nothing to lose.

httpx's own pool loses a place for good when a call is cancelled while it is being given a
connection (encode/httpcore#1093), and costs ~N^3 for N streams. Here a call takes a lane or opens
one, keeps it until its body is closed, and gives it back; a limiter of our own counts them. Rules
that make it hold (R-21, R-25):

- A lane goes back only if its body was read to the end *and* its own close returned normally, else
  it is closed and dropped.
- A shield of anyio does not stop a native `task.cancel()`, so nothing awaits between "closed" and
  "given back", and the place in the limiter is released before anything that can be cancelled.
"""

from __future__ import annotations

import socket
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator

import anyio
import httpx

from wire.errors import ConfigurationError
from wire.http.sending import proxy_for, tls

Origin = tuple[str, str, int | None]

LIMIT, KEEP = 1000, 100
_ONE = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=60.0)


def _origin(request: httpx.Request) -> Origin:
    return request.url.scheme, request.url.host, request.url.port


def _closed() -> ConfigurationError:
    return ConfigurationError("the client is closed")


class Lanes(httpx.BaseTransport):
    """Lanes for threads: at most `limit` at a time, at most `keep` idle ones an origin."""

    def __init__(self, limit: int = LIMIT, keep: int = KEEP) -> None:
        self._limiter, self._keep = threading.Semaphore(limit), keep
        self._idle: defaultdict[Origin, list[httpx.HTTPTransport]] = defaultdict(list)
        self._busy: set[_Leased] = set()
        self._lock = threading.Lock()
        self._closed = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        origin = _origin(request)
        if not self._limiter.acquire(timeout=request.extensions.get("timeout", {}).get("pool")):
            raise httpx.PoolTimeout("no free lane", request=request)
        lane = None
        try:
            lane = self._take(origin)
            response = lane.handle_request(request)
            leased = _Leased(response, self, origin, lane)
            with self._lock:
                self._busy.add(leased)
        except BaseException:
            self._limiter.release()
            if lane is not None:
                lane.close()
            raise
        response.stream = leased
        return response

    def _take(self, origin: Origin) -> httpx.HTTPTransport:
        with self._lock:
            if self._closed:
                raise _closed()
            idle = self._idle[origin]
            if idle:
                return idle.pop()
        return httpx.HTTPTransport(
            verify=tls(origin[0]), limits=_ONE, proxy=proxy_for(*origin), trust_env=False
        )

    def _take_back(self, leased: _Leased, clean: bool) -> bool:
        """True if the lane was kept."""
        with self._lock:
            self._busy.discard(leased)
            kept = clean and not self._closed and len(self._idle[leased.origin]) < self._keep
            if kept:
                self._idle[leased.origin].append(leased.lane)
        self._limiter.release()
        return kept

    def close(self) -> None:
        """Close idle lanes, and break those in use, so that their readers wake up with an error."""
        with self._lock:
            self._closed = True
            idle = [lane for lanes in self._idle.values() for lane in lanes]
            self._idle.clear()
            busy = list(self._busy)
        for lane in idle:
            lane.close()
        for leased in busy:
            leased.abort()


class _Leased(httpx.SyncByteStream):
    """The body of a response, and the lane it comes on."""

    def __init__(
        self, response: httpx.Response, lanes: Lanes, origin: Origin, lane: httpx.HTTPTransport
    ) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)
        self.origin, self.lane = origin, lane
        self._body, self._lanes = response.stream, lanes
        self._network = response.extensions.get("network_stream")
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
                self.lane.close()

    def abort(self) -> None:
        """Shut the socket down: closing it would not wake a thread that waits in `recv`."""
        self._aborted = True
        found = self._network.get_extra_info("socket") if self._network is not None else None
        if found is not None:
            try:
                found.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the other side was faster


class AsyncLanes(httpx.AsyncBaseTransport):
    """Lanes for asyncio and trio: at most `limit` at a time, at most `keep` idle ones an origin."""

    def __init__(self, limit: int = LIMIT, keep: int = KEEP) -> None:
        self._limit, self._keep = limit, keep
        self._limiter: anyio.Semaphore | None = (
            None  # made at the first call, inside the event loop it belongs to
        )
        self._idle: defaultdict[Origin, list[httpx.AsyncHTTPTransport]] = defaultdict(list)
        self._busy: set[_AsyncLeased] = set()
        self._closed = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        if self._limiter is None:
            self._limiter = anyio.Semaphore(self._limit)
        origin = _origin(request)
        await self._limiter.acquire()
        lane = None
        try:
            lane = self._take(origin)
            response = await lane.handle_async_request(request)
        except BaseException:
            self._limiter.release()
            if lane is not None:
                with anyio.CancelScope(shield=True):
                    await lane.aclose()
            raise
        leased = _AsyncLeased(response, self, origin, lane)
        self._busy.add(leased)
        response.stream = leased
        return response

    def _take(self, origin: Origin) -> httpx.AsyncHTTPTransport:
        if self._closed:
            raise _closed()
        idle = self._idle[origin]
        if idle:
            return idle.pop()
        return httpx.AsyncHTTPTransport(
            verify=tls(origin[0]), limits=_ONE, proxy=proxy_for(*origin), trust_env=False
        )

    def _take_back(self, leased: _AsyncLeased, clean: bool) -> bool:
        """True if the lane was kept. No await in here."""
        assert self._limiter is not None
        self._busy.discard(leased)
        self._limiter.release()
        if clean and not self._closed and len(self._idle[leased.origin]) < self._keep:
            self._idle[leased.origin].append(leased.lane)
            return True
        return False

    async def aclose(self) -> None:
        """Close idle lanes and those in use; readers of the latter wake up with an error."""
        self._closed = True
        lanes = [lane for idle in self._idle.values() for lane in idle]
        lanes += [leased.lane for leased in self._busy]
        self._idle.clear()
        for lane in lanes:
            await lane.aclose()


class _AsyncLeased(httpx.AsyncByteStream):
    """The body of a response, and the lane it comes on."""

    def __init__(
        self,
        response: httpx.Response,
        lanes: AsyncLanes,
        origin: Origin,
        lane: httpx.AsyncHTTPTransport,
    ) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
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
            self._failed = (
                True  # a generator that raised ends the next time as if the body were whole
            )
            raise

    async def aclose(self) -> None:
        if self._ended:
            return
        self._ended = True
        if not self._whole:
            self._lanes._take_back(self, clean=False)
            await self._drop()
            return
        clean = False
        try:
            await self._body.aclose()
            clean = True
        finally:
            if not self._lanes._take_back(self, clean):
                await self._drop()

    async def _drop(self) -> None:
        """Close the connection, then let the generators in which httpx reads run into that: one of
        them left to the garbage collector is a warning on trio. What they still hold is at most one
        read of the socket."""
        with anyio.CancelScope(shield=True):
            await self.lane.aclose()
            try:
                while True:
                    await anext(self)
            except (httpx.TransportError, OSError, RuntimeError, StopAsyncIteration):
                pass  # a RuntimeError is another task that reads; the closed connection wakes it up
