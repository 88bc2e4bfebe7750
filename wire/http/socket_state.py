"""WebSockets that are kept for further requests, for threads and for tasks alike. No I/O."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import httpx

from wire.core.call import Call, StreamCall
from wire.core.forks import at_fork
from wire.core.turns import Turn, Turns
from wire.http.watchdog import ATTEMPT, UPGRADE
from wire.http.websocket import WebSocket, new_key, upgrade_headers

KEPT_SECONDS = 55 * 60.0
"""Seconds after which a socket is not used further. OpenAI ends one after 60 minutes."""
_MAX_IDLE = 100
_OF_BODIES = frozenset({"content-length", "content-type", "transfer-encoding", "accept"})

AnyLink = TypeVar("AnyLink")


class Kept(Generic[AnyLink]):
    """A WebSocket, and what is known of the answers on it."""

    __slots__ = ("born", "is_new", "link", "place", "turns")

    def __init__(self, link: AnyLink, turns: Turns, place: tuple[Any, ...]) -> None:
        self.link, self.turns, self.place = link, turns, place
        self.born = time.monotonic()
        self.is_new = True


class SocketLanesState(Generic[AnyLink]):
    """The idle WebSockets of a client."""

    def __init__(self) -> None:
        self._reset()
        at_fork(self, lambda lanes: lanes._reset())  # the sockets are the parent's

    def _reset(self) -> None:
        self._idle: list[Kept[AnyLink]] = []
        self._lock = threading.Lock()
        self._closed = False

    def _best(self, place: tuple[Any, ...], body: bytes) -> Kept[AnyLink] | None:
        """Take the idle socket that has most of a request already; else the one used last."""
        if not self._idle:
            return None
        request = self._idle[0].turns.read(body)
        with self._lock:
            there = [each for each in self._idle if each.place == place]
            best = max(reversed(there), key=lambda each: each.turns.known(request), default=None)
            if best is not None:
                self._idle.remove(best)
        return best

    def _put(self, kept: Kept[AnyLink]) -> bool:
        """Keep a socket for further requests; return false if it has to be closed."""
        kept.is_new = False
        with self._lock:
            has_room = len(self._idle) < _MAX_IDLE and not self._closed
            if has_room and not self._is_old(kept):
                self._idle.append(kept)
                return True
        return False

    def _is_old(self, kept: Kept[AnyLink]) -> bool:
        return time.monotonic() - kept.born >= KEPT_SECONDS

    def _taken_out(self, is_over: Callable[[Kept[AnyLink]], bool]) -> list[Kept[AnyLink]]:
        with self._lock:
            found = [each for each in self._idle if is_over(each)]
            self._idle = [each for each in self._idle if each not in found]
        return found


def turns_of(request: httpx.Request) -> Callable[[], Turns] | None:
    """Return what makes the turns of a request; `None` if it goes over HTTP."""
    call = getattr(request.extensions.get(ATTEMPT), "call", None)
    is_handshake = UPGRADE in request.extensions
    return call.turns if isinstance(call, Call | StreamCall) and not is_handshake else None


def opening(request: httpx.Request) -> httpx.Request:
    """Return the request that opens a WebSocket for a request, with its headers and clocks."""
    key = new_key()
    extensions = {**request.extensions, UPGRADE: key}
    headers = [
        *((name, value) for name, value in request.headers.items() if name not in _OF_BODIES),
        *upgrade_headers(key),
    ]
    return httpx.Request("GET", request.url, headers=headers, extensions=extensions)


def lost(websocket: WebSocket) -> httpx.ReadError:
    """Build the error of a socket that ended before its answer did."""
    error = websocket.error
    return httpx.ReadError("the socket was closed" if error is None else error.message)


def answered(turn: Turn, network: Any, body: Any) -> httpx.Response:
    """Return the beginning of an answer as HTTP has it."""
    kind = "text/event-stream" if turn.status == 200 else "application/json"
    extensions = {"network_stream": network, "http_version": b"HTTP/1.1"}
    return httpx.Response(
        turn.status, headers={"content-type": kind}, stream=body, extensions=extensions
    )
