"""Requests that follow each other on WebSockets, for asyncio and trio; see `socket_lanes.py`."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx

from wire.core.limits import Limits
from wire.core.turns import Turn, Turns
from wire.http.async_lanes import current_loop, has_ended
from wire.http.async_links import AsyncLink
from wire.http.lanes import may_send_again
from wire.http.prepared import request_origin
from wire.http.socket_state import (
    Kept,
    SocketLanesState,
    answered,
    lost,
    opening,
    turns_of,
)
from wire.http.watchdog import ATTEMPT
from wire.http.websocket import protocol_of


def on_sockets(http: Any, handle: Any, limits: Limits) -> tuple[AsyncSocketLanes, Any]:
    """Put sockets above a transport, and below a cassette, which has answers as HTTP has them.

    Returns them, and the function that sends a request.
    """
    if (put_below := getattr(http, "_put_below", None)) is None:
        lanes = AsyncSocketLanes(handle, limits)
        return lanes, lanes.handle_async_request
    lanes = AsyncSocketLanes(lambda request: lanes._inner.handle_async_request(request), limits)
    lanes._inner = put_below(lanes)
    return lanes, handle


class AsyncSocketLanes(SocketLanesState[AsyncLink]):
    """Sends the requests of calls with `turns` on WebSockets, all others as before."""

    def __init__(
        self, handle: Callable[[httpx.Request], Awaitable[httpx.Response]], limits: Limits
    ) -> None:
        super().__init__()
        self._handle, self._limits = handle, limits
        self._inner: Any = None
        """What it closes at the end, below a cassette."""
        protocol_of(limits.event)  # tells at once if the extra is not installed

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        make = turns_of(request)
        if make is None:
            return await self._handle(request)
        body = await request.aread()
        kept = await self._idle_one(request, body)
        while True:
            if kept is None:
                opened = await self._opened(request, make)
                if isinstance(opened, httpx.Response):
                    return opened
                kept = opened
            is_new = kept.is_new
            try:
                turn = await self._asked(kept, request, body)
            except (httpx.ReadError, OSError):
                await kept.link.close()
                # The server closed it before the request came: nothing was answered.
                if is_new or not may_send_again(request):
                    raise
                kept = None
                continue
            except BaseException:
                await kept.link.close()
                raise
            if not (turn.again and not is_new):
                return answered(turn, kept.link.network, _AsyncAnswer(self, kept, turn))
            await kept.link.close()
            kept = None

    async def _idle_one(self, request: httpx.Request, body: bytes) -> Kept[AsyncLink] | None:
        self._taken_out(lambda each: has_ended(each.place[-1]))
        for old in self._taken_out(self._is_old):
            await old.link.close()
        while (kept := self._best(_place(request), body)) is not None:
            if await kept.link.is_open():
                clocks = request.extensions[ATTEMPT]
                clocks.connected(kept.link.network)
                clocks.sending()
                return kept
            await kept.link.close()
        return None

    async def _opened(
        self, request: httpx.Request, make: Callable[[], Turns]
    ) -> Kept[AsyncLink] | httpx.Response:
        """Open a WebSocket; return the response of a server that refuses it."""
        handshake = opening(request)
        response = await self._handle(handshake)
        if not (response.status_code == 101 or response.is_success):
            return response
        try:
            link = AsyncLink(handshake.extensions, response, self._limits)
        except BaseException:
            await response.aclose()
            raise
        request.extensions[ATTEMPT].connected(link.network)
        return Kept(link, make(), _place(request))

    async def _asked(self, kept: Kept[AsyncLink], request: httpx.Request, body: bytes) -> Turn:
        """Send a request, and return what the first message says."""
        for anew in (False, True):
            message = kept.turns.begin(body, anew=anew)
            request.extensions[ATTEMPT].account.sent = len(message)
            await kept.link.send(message, math.inf)
            turn = await next_turn(kept)
            if not (turn.again and turn.keeps):
                break
        return turn

    async def aclose(self) -> None:
        """Close the idle sockets of this event loop; those of others end with theirs."""
        self._closed = True
        loop = current_loop()
        for kept in self._taken_out(lambda each: each.place[-1] is loop):
            await kept.link.close()
        if self._inner is not None:
            await self._inner.aclose()


def _place(request: httpx.Request) -> tuple[object, ...]:
    return request_origin(request), request.url.path, current_loop()


async def next_turn(kept: Kept[AsyncLink]) -> Turn:
    """Wait for the next message that says something."""
    link = kept.link
    while True:
        while not (messages := link.websocket.messages):
            if link.websocket.over:
                raise lost(link.websocket)
            await link.read(math.inf)  # the clocks of the call shut the connection down
        turn = kept.turns.take(messages.popleft())
        if turn.data or turn.is_last:
            return turn


class _AsyncAnswer(httpx.AsyncByteStream):
    """The body of an answer, its own iterator."""

    def __init__(self, lanes: AsyncSocketLanes, kept: Kept[AsyncLink], first: Turn) -> None:
        self._lanes, self._kept = lanes, kept
        self._first: Turn | None = first
        self._last: Turn | None = None
        self._is_closed = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if self._last is not None:
            raise StopAsyncIteration
        turn, self._first = self._first or await next_turn(self._kept), None
        if turn.is_last:
            self._last = turn
        return turn.data

    async def aclose(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        whole = self._last is not None and self._last.keeps
        if not (whole and self._lanes._put(self._kept)):
            await self._kept.link.close()
