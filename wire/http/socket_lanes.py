"""Requests that follow each other on WebSockets, for threads: a transport of httpx.

The transport answers as HTTP would, with the events of a stream. So calls, retries, clocks, errors
and accounts are the same. `async_socket_lanes.py` has it for asyncio and trio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from wire.core.limits import Limits
from wire.core.turns import Turn, Turns
from wire.http.lanes import may_send_again
from wire.http.links import Link
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


def on_sockets(http: Any, handle: Any, limits: Limits) -> tuple[SocketLanes, Any]:
    """Put sockets above a transport, and below a cassette, which has answers as HTTP has them.

    Returns them, and the function that sends a request.
    """
    if (put_below := getattr(http, "_put_below", None)) is None:
        lanes = SocketLanes(handle, limits)
        return lanes, lanes.handle_request
    lanes = SocketLanes(lambda request: lanes._inner.handle_request(request), limits)
    lanes._inner = put_below(lanes)
    return lanes, handle


class SocketLanes(SocketLanesState[Link]):
    """Sends the requests of calls with `turns` on WebSockets, all others as before."""

    def __init__(self, handle: Callable[[httpx.Request], httpx.Response], limits: Limits) -> None:
        super().__init__()
        self._handle, self._limits = handle, limits
        self._inner: Any = None
        """What it closes at the end, below a cassette."""
        protocol_of(limits.event)  # tells at once if the extra is not installed

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        make = turns_of(request)
        if make is None:
            return self._handle(request)
        body = request.read()
        kept = self._idle_one(request, body)
        while True:
            if kept is None:
                opened = self._opened(request, make)
                if isinstance(opened, httpx.Response):
                    return opened
                kept = opened
            is_new = kept.is_new
            try:
                turn = self._asked(kept, request, body)
            except (httpx.ReadError, OSError):
                drop(kept)
                # The server closed it before the request came: nothing was answered.
                if is_new or not may_send_again(request):
                    raise
                kept = None
                continue
            except BaseException:
                drop(kept)
                raise
            if not (turn.again and not is_new):
                return answered(turn, kept.link.network, _Answer(self, kept, turn))
            drop(kept)
            kept = None

    def _idle_one(self, request: httpx.Request, body: bytes) -> Kept[Link] | None:
        for old in self._taken_out(self._is_old):
            drop(old)
        while (kept := self._best((request_origin(request), request.url.path), body)) is not None:
            if kept.link.is_open():
                clocks = request.extensions[ATTEMPT]
                clocks.connected(kept.link.network)
                clocks.sending()
                return kept
            drop(kept)
        return None

    def _opened(
        self, request: httpx.Request, make: Callable[[], Turns]
    ) -> Kept[Link] | httpx.Response:
        """Open a WebSocket; return the response of a server that refuses it."""
        handshake = opening(request)
        response = self._handle(handshake)
        if not (response.status_code == 101 or response.is_success):
            return response
        try:
            link = Link(handshake.extensions, response, self._limits)
        except BaseException:
            response.close()
            raise
        request.extensions[ATTEMPT].connected(link.network)
        return Kept(link, make(), (request_origin(request), request.url.path))

    def _asked(self, kept: Kept[Link], request: httpx.Request, body: bytes) -> Turn:
        """Send a request, and return what the first message says."""
        for anew in (False, True):
            message = kept.turns.begin(body, anew=anew)
            request.extensions[ATTEMPT].account.sent = len(message)
            kept.link.send(message, math.inf)
            turn = next_turn(kept)
            if not (turn.again and turn.keeps):
                break
        return turn

    def close(self) -> None:
        """Close all idle sockets."""
        self._closed = True
        for kept in self._taken_out(lambda _: True):
            drop(kept)
        if self._inner is not None:
            self._inner.close()


def next_turn(kept: Kept[Link]) -> Turn:
    """Wait for the next message that says something."""
    link = kept.link
    while True:
        while not (messages := link.websocket.messages):
            if link.websocket.over:
                raise lost(link.websocket)
            link.read(math.inf)  # the clocks of the call shut the connection down
        turn = kept.turns.take(messages.popleft())
        if turn.data or turn.is_last:
            return turn


def drop(kept: Kept[Link]) -> None:
    """Close a socket."""
    kept.link.stop()
    kept.link.end()


class _Answer(httpx.SyncByteStream):
    """The body of an answer, its own iterator."""

    def __init__(self, lanes: SocketLanes, kept: Kept[Link], first: Turn) -> None:
        self._lanes, self._kept = lanes, kept
        self._first: Turn | None = first
        self._last: Turn | None = None
        self._is_closed = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        if self._last is not None:
            raise StopIteration
        turn, self._first = self._first or next_turn(self._kept), None
        if turn.is_last:
            self._last = turn
        return turn.data

    def close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        whole = self._last is not None and self._last.keeps
        if not (whole and self._lanes._put(self._kept)):
            drop(self._kept)
