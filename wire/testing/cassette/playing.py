"""A response that no network delivers: a body of chunks, pauses and errors, for httpx.

A pause raises `httpx.ReadTimeout` if it is as long as the client's read timeout; a shorter one is
skipped. So no test waits (C-35), unless it asks for `sleep`.
"""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Iterable, Iterator

import anyio
import httpx

from wire.testing.cassette.format.structs import End
from wire.testing.cassette.pieces import Pause
from wire.testing.cassette.player import Played

_RAISED: dict[End, type[httpx.TransportError]] = {
    "timeout": httpx.ReadTimeout,
    "cut": httpx.RemoteProtocolError,
}

Step = bytes | Pause | httpx.TransportError
"""Bytes are read, pauses waited for, errors raised."""


class Playing(httpx.SyncByteStream, httpx.AsyncByteStream):
    """The body of a response.

    Is its own iterator, since trio warns of an async generator that is not closed.
    """

    def __init__(self, pieces: Iterable[Step], request: httpx.Request, sleep: bool) -> None:
        self._left = list(pieces)
        self._left.reverse()
        self._request, self._sleep = request, sleep

    def begin(self) -> None:
        """Wait for the status line, which comes after pauses and errors before the first bytes."""
        while self._left and not isinstance(self._left[-1], bytes):
            self._wait(self._left.pop())

    async def async_begin(self) -> None:
        """Run `begin` on asyncio and trio."""
        while self._left and not isinstance(self._left[-1], bytes):
            await self._async_wait(self._left.pop())

    def __iter__(self) -> Iterator[bytes]:
        while self._left:
            piece = self._next()
            if not isinstance(piece, bytes):
                self._wait(piece)
            elif piece:
                yield piece

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while self._left:
            piece = self._next()
            if not isinstance(piece, bytes):
                await self._async_wait(piece)
            elif piece:
                return piece
        raise StopAsyncIteration

    def _next(self) -> Step:
        # An error stays: reading on after it never looks like a clean end (C-05).
        piece = self._left[-1]
        return piece if isinstance(piece, httpx.TransportError) else self._left.pop()

    def _wait(self, piece: Step) -> None:
        seconds, error = self._waited(piece)
        if self._sleep and seconds:
            time.sleep(seconds)
        if error is not None:
            raise error

    async def _async_wait(self, piece: Step) -> None:
        seconds, error = self._waited(piece)
        await anyio.sleep(seconds if self._sleep else 0)
        if error is not None:
            raise error

    def _waited(self, piece: Step) -> tuple[float, Exception | None]:
        """Return the seconds to wait, and the error to raise then."""
        if not isinstance(piece, Pause):
            assert isinstance(piece, httpx.TransportError)
            return 0, piece
        timeout = (self._request.extensions.get("timeout") or {}).get("read")
        if timeout is None:
            timeout = math.inf
        if piece.seconds < timeout:
            return piece.seconds, None
        late = httpx.ReadTimeout("timed out", request=self._request)
        # Without a read timeout, a test would wait for ever in an endless stall.
        self._left.append(late)
        return (0 if timeout == math.inf else timeout), late


def body_of(played: Played, request: httpx.Request, sleep: bool = False) -> Playing:
    """Return the body of a recorded response.

    Reading past the end of an interrupted recording raises: the rest was never received (C-05).
    """
    steps: list[Step] = [*(played.chunks or [b""])]  # the status line came in any case
    if played.end != "eof":
        error = _RAISED.get(played.end, httpx.ReadError)
        steps.append(error(f"the {played.source} ends here: {played.end}", request=request))
    return Playing(steps, request, sleep)


def played_response(
    played: Played, body: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    """Build a recorded response with this body."""
    return httpx.Response(played.status, headers=played.headers, stream=body)
