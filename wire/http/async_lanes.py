"""The connection pool for asyncio and trio; `lanes.py` has the one for threads and the rules."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING, TypeGuard

import anyio
import httpx

from wire.core.errors import ungrouped
from wire.http.async_httpx_lane import AsyncHttpxLane
from wire.http.lanes import (
    BROKEN,
    LanesState,
    client_closed,
    may_send_again,
    seconds_for_a_lane,
)
from wire.http.prepared import Origin, request_origin
from wire.http.watchdog import UPGRADE

if TYPE_CHECKING:
    import asyncio

    from wire.http.async_direct import AsyncDirectLane

    AsyncLane = AsyncHttpxLane | AsyncDirectLane


class AsyncLanes(LanesState["AsyncLane"], httpx.AsyncBaseTransport):
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

    _httpx_lane = AsyncHttpxLane

    def _direct_lane(self) -> type[AsyncDirectLane]:
        from wire.http.async_direct import AsyncDirectLane

        return AsyncDirectLane

    def _is_on_trio(self) -> bool:
        try:
            return not _is_of_asyncio(current_loop())
        except anyio.NoEventLoopError:
            return False  # `describe()` may be called before a loop runs

    def _reset(self) -> None:
        super()._reset()
        self._loops: dict[object, _LoopLanes] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        ours = self._loops.get(current_loop()) or await self._start()
        origin = request_origin(request)
        await _acquired(ours.limiter, request)
        lane = None
        try:
            lane = await self._take(ours, origin, upgrades=UPGRADE in request.extensions)
            try:
                response = await lane.send(request)
            except BROKEN:
                if not (lane.was_closed() and may_send_again(request)):
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
            raise client_closed()
        for loop, lanes in list(self._loops.items()):
            ended = has_ended(loop)
            if ended:  # without `shutdown_asyncgens` its lanes are still open
                lanes.cut_off()
            if ended or lanes.over:
                self._loops.pop(loop, None)
        ours = self._loops[current_loop()] = _LoopLanes(self._limit, self._keep)
        await anext(ours.until_the_end)
        return ours

    async def _take(self, ours: _LoopLanes, origin: Origin, *, upgrades: bool) -> AsyncLane:
        while True:
            if self._closed:
                raise client_closed()
            idle = ours.idle[origin]
            if upgrades or not idle:
                return self._open(origin, upgrades=upgrades)
            lane = idle.pop()
            if self._is_kept(lane):
                return lane
            await lane.aclose()

    async def aclose(self) -> None:
        """Close idle lanes and those in use; readers of the latter wake up with an error.

        Lanes of another event loop that runs in another thread are closed when that loop ends.
        """
        self._closed = True
        ours = self._loops.pop(current_loop(), None)
        for lanes in list(self._loops.values()):
            lanes.over = True
        if ours is not None and not ours.over:
            await ours.until_the_end.aclose()

    def _forked(self) -> None:
        """Leave all connections to the parent."""
        for lanes in self._loops.values():
            lanes.cut_off()
        _INHERITED.extend(self._loops.values())
        self._reset()


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

    def take_back(self, leased: _AsyncLeased, *, keep: bool) -> bool:
        """Return `keep`. Must not await: see the invariants in `lanes.py`."""
        self.busy.discard(leased)
        self.limiter.release()
        if keep:
            leased.lane.idle_since = time.monotonic()
            self.idle[leased.origin].append(leased.lane)
        return keep

    def keeps(self, leased: _AsyncLeased) -> bool:
        """Return whether a lane would be kept if it was given back after its body was read."""
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
        # The body of a direct lane knows whether it was read to its end.
        return self._reads if self.lane.is_direct else self

    @property
    def _is_whole(self) -> bool:
        """Whether the body was read to its end."""
        if not self.lane.is_direct:
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
        if not self._ended and self.lane.is_direct and self._is_whole:
            self._ended = self._lanes.keeps(self) and self._lanes.take_back(self, keep=True)
        return self._ended

    async def aclose(self) -> None:
        if self._ended:
            return
        self._ended = True
        if not self._is_whole:
            self._lanes.take_back(self, keep=False)
            await self._drop()
            return
        clean = False
        try:
            await self._body.aclose()
            clean = True
        finally:
            if not self._lanes.take_back(self, keep=clean and self._lanes.keeps(self)):
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
        if self.lane.is_direct:
            return
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
        pass
    try:
        with anyio.fail_after(seconds_for_a_lane(request)):
            await limiter.acquire()
    except TimeoutError:
        raise httpx.PoolTimeout("no free lane", request=request) from None


# asyncio is imported late: a program that runs one of its loops has imported it anyway, and for a
# program that only imports `wire` it would take as long as a sixth of `import httpx`.


def _is_of_asyncio(loop: object) -> TypeGuard[asyncio.AbstractEventLoop]:
    """Return whether an event loop is one of asyncio, and not a token of trio."""
    import asyncio

    return isinstance(loop, asyncio.AbstractEventLoop)


def has_ended(loop: object) -> bool:
    """Return whether an event loop of asyncio is closed."""
    return _is_of_asyncio(loop) and loop.is_closed()


def current_loop() -> object:
    """Return the running event loop: the loop itself on asyncio, a token on trio."""
    import asyncio

    try:
        if asyncio.current_task() is not None:  # otherwise a guest of asyncio, such as trio
            return asyncio.get_running_loop()
    except RuntimeError:
        pass
    import anyio.lowlevel

    token = anyio.lowlevel.current_token()
    return getattr(token, "native_token", token)  # wrapped since anyio 4.11


_INHERITED: list[_LoopLanes] = []
"""Lanes of the parent's event loops. Kept, because their finalizers would wake the loop."""
