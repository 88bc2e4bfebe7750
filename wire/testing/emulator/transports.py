"""The emulator as httpx transports, for `http=` of a client: no socket.

A pause raises `httpx.ReadTimeout` if it is as long as the client's read timeout; a shorter one is
skipped, unless `sleep` is true. A cut body raises `httpx.RemoteProtocolError`, a reset
`httpx.ReadError`, as with a server.
"""

from __future__ import annotations

import httpx

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError
from wire.testing.cassette.format.kept_headers import EMULATOR
from wire.testing.cassette.pieces import Cut, Piece, Reset
from wire.testing.cassette.playing import Playing, Step
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.core import Emulator


class _WithoutSockets:
    def _put_below(self, sockets: object) -> None:
        """Answer the requests of `connection="socket"` as all others."""


class EmulatorTransport(_WithoutSockets, httpx.BaseTransport):
    """Answers requests from an emulator, a new one if none is given."""

    @checked_arguments(ConfigurationError, before=True)
    def __init__(self, emulator: Emulator | None = None, *, sleep: bool = False) -> None:
        self.emulator: Emulator = Emulator() if emulator is None else emulator
        self._sleep = sleep

    @checked_arguments(ConfigurationError)
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request without a network."""
        answer = _answer(self.emulator, request, request.read())
        body = _body(answer, request, self._sleep)
        body.begin()
        return _response(answer, body)


class AsyncEmulatorTransport(_WithoutSockets, httpx.AsyncBaseTransport):
    """`EmulatorTransport` for asyncio and trio."""

    @checked_arguments(ConfigurationError, before=True)
    def __init__(self, emulator: Emulator | None = None, *, sleep: bool = False) -> None:
        self.emulator: Emulator = Emulator() if emulator is None else emulator
        self._sleep = sleep

    @checked_arguments(ConfigurationError)
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer a request without a network."""
        answer = _answer(self.emulator, request, await request.aread())
        body = _body(answer, request, self._sleep)
        await body.async_begin()
        return _response(answer, body)


def _answer(emulator: Emulator, request: httpx.Request, body: bytes) -> Answer:
    return emulator.answer(request.method, str(request.url), request.headers.multi_items(), body)


def _body(answer: Answer, request: httpx.Request, sleep: bool) -> Playing:
    return Playing((_played(piece, request) for piece in answer.pieces), request, sleep)


def _played(piece: Piece, request: httpx.Request) -> Step:
    if isinstance(piece, Cut):
        return httpx.RemoteProtocolError(
            "peer closed connection without sending complete message body", request=request
        )
    if isinstance(piece, Reset):
        return httpx.ReadError("connection reset by peer", request=request)
    return piece


def _response(answer: Answer, body: Playing) -> httpx.Response:
    length = [("content-length", str(len(answer.body)))] if answer.whole else []
    headers = [("server", EMULATOR), *answer.headers, *length]
    return httpx.Response(answer.status, headers=headers, stream=body)
