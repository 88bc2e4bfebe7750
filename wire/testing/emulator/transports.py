"""The emulator as httpx transports, for `http=` of a client: no socket.

A pause raises `httpx.ReadTimeout` if it is as long as the client's read timeout; a shorter one is
skipped, unless `sleep` is true. A cut body raises `httpx.RemoteProtocolError`, a reset
`httpx.ReadError`, as with a server.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator

import anyio
import httpx

from wire.core.arguments import checked_arguments
from wire.errors import ConfigurationError
from wire.testing.emulator.answer import Answer, Cut, Pause, Piece
from wire.testing.emulator.core import Emulator


class EmulatorTransport(httpx.BaseTransport):
    """Answers requests from an emulator, a new one if none is given."""

    @checked_arguments(ConfigurationError, before=True)
    def __init__(self, emulator: Emulator | None = None, *, sleep: bool = False) -> None:
        self.emulator: Emulator = Emulator() if emulator is None else emulator
        self._sleep = sleep

    @checked_arguments(ConfigurationError)
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request without a network."""
        answer = _answer(self.emulator, request, request.read())
        pieces = list(answer.pieces)
        while pieces and not isinstance(pieces[0], bytes):
            _wait(pieces.pop(0), request, time.sleep if self._sleep else None)
        return _response(answer, _Body(pieces, request, self._sleep))


class AsyncEmulatorTransport(httpx.AsyncBaseTransport):
    """`EmulatorTransport` for asyncio and trio."""

    @checked_arguments(ConfigurationError, before=True)
    def __init__(self, emulator: Emulator | None = None, *, sleep: bool = False) -> None:
        self.emulator: Emulator = Emulator() if emulator is None else emulator
        self._sleep = sleep

    @checked_arguments(ConfigurationError)
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request without a network."""
        answer = _answer(self.emulator, request, await request.aread())
        pieces = list(answer.pieces)
        while pieces and not isinstance(pieces[0], bytes):
            await _async_wait(pieces.pop(0), request, self._sleep)
        return _response(answer, _AsyncBody(pieces, request, self._sleep))


def _answer(emulator: Emulator, request: httpx.Request, body: bytes) -> Answer:
    return emulator.answer(request.method, str(request.url), request.headers.multi_items(), body)


def _response(
    answer: Answer, stream: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    length = [("content-length", str(len(answer.body)))] if answer.whole else []
    return httpx.Response(answer.status, headers=[*answer.headers, *length], stream=stream)


def _broken(piece: Piece, request: httpx.Request) -> Exception:
    if isinstance(piece, Cut):
        return httpx.RemoteProtocolError(
            "peer closed connection without sending complete message body", request=request
        )
    return httpx.ReadError("connection reset by peer", request=request)


def _wait_of(request: httpx.Request, pause: Pause) -> tuple[float, bool]:
    """How long to wait, and whether the client's read timeout comes first."""
    timeout = (request.extensions.get("timeout") or {}).get("read")
    return (pause.seconds, False) if timeout is None or pause.seconds < timeout else (timeout, True)


def _wait(piece: Piece, request: httpx.Request, sleep: object) -> None:
    if not isinstance(piece, Pause):
        raise _broken(piece, request)
    seconds, late = _wait_of(request, piece)
    if callable(sleep):
        sleep(seconds)
    if late:
        raise httpx.ReadTimeout("timed out", request=request)


async def _async_wait(piece: Piece, request: httpx.Request, sleep: bool) -> None:
    if not isinstance(piece, Pause):
        raise _broken(piece, request)
    seconds, late = _wait_of(request, piece)
    await anyio.sleep(seconds if sleep else 0)
    if late:
        raise httpx.ReadTimeout("timed out", request=request)


class _Body(httpx.SyncByteStream):
    def __init__(self, pieces: list[Piece], request: httpx.Request, sleep: bool) -> None:
        self._pieces, self._request, self._sleep = pieces, request, sleep

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if not isinstance(piece, bytes):
                _wait(piece, self._request, time.sleep if self._sleep else None)
            elif piece:
                yield piece


class _AsyncBody(httpx.AsyncByteStream):
    """An iterator of its own: trio warns about an async generator that is not exhausted."""

    def __init__(self, pieces: list[Piece], request: httpx.Request, sleep: bool) -> None:
        self._left, self._request, self._sleep = iter(pieces), request, sleep

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._left:
            if not isinstance(piece, bytes):
                await _async_wait(piece, self._request, self._sleep)
            elif piece:
                return piece
        raise StopAsyncIteration
