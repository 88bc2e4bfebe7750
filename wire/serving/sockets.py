"""Responses over WebSocket at the gateway: each `response.create` is a request for a stream.

The session is that of the emulator, which runs in a worker thread. What it asks for is answered by
the gateway in the event loop, and each event is sent as soon as it is made.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from wire.serving.admission import refusal_of
from wire.testing.cassette.pieces import Pause, Piece
from wire.testing.emulator.answer import Answer, LiveAnswer
from wire.testing.emulator.handshakes import OF_HANDSHAKES
from wire.testing.emulator.received import received
from wire.testing.emulator.sessions import Session
from wire.testing.emulator.vendor import Failure, Refusal, vendor_of

if TYPE_CHECKING:
    from wire.serving.gateway import Gateway

Run = Callable[[Callable[[], Coroutine[Any, Any, Any]]], Any]
"""Runs a coroutine in the loop of the server for a worker thread (`Awaiting`)."""
_SERVED = "responses.socket"
"""The sessions that are served, by their name for scripts."""


@dataclass(frozen=True, slots=True)
class _Streamed:
    """An answer whose pieces come while they are made; each is sent at once."""

    status: int
    pieces: Iterator[Piece]
    faults: tuple[()] = ()
    body: bytes = b""


def opened(
    gateway: Gateway, target: str, headers: Iterable[tuple[str, str]], run: Run
) -> Session | Answer:
    """Open a session, or return the response that refuses it."""
    sent = [(name, value) for name, value in headers if name not in OF_HANDSHAKES]
    try:
        request = received(0, "GET", target, sent, b"", gateway.limits)
    except ValueError:  # such as http://[::1
        return gateway.rejected("GET", "", (), 400, "The target of the request is malformed.")
    vendor, route = vendor_of(request, gateway.vendors)
    if (refusal := refusal_of(request, gateway.key)) is not None:
        status, words = refusal
        return vendor.error_answer(Failure(status, words, request=request, route=route))

    def ask(path: str, body: bytes) -> Answer:
        kept = [*sent, ("content-type", "application/json")]
        answer = run(functools.partial(gateway.respond, "POST", path, kept, body))
        if isinstance(answer, LiveAnswer):
            return cast(Answer, _Streamed(answer.status, _pieces(answer.pieces, run)))
        return cast(Answer, answer)

    opens = getattr(vendor, "session", None)
    if opens is not None and route is not None:
        try:
            session = opens(request, route, ask)
        except Refusal:  # of the vendor that the emulator plays; the gateway has a key of its own
            session = None
        if session is not None and session.endpoint == _SERVED:
            return cast(Session, session)
    words = "The gateway serves Responses alone over WebSocket."
    return vendor.error_answer(Failure(404, words, request=request, route=route))


def _pieces(pieces: AsyncGenerator[bytes, None], run: Run) -> Iterator[Piece]:
    try:
        while (piece := run(functools.partial(_next, pieces))) is not None:
            yield piece
            yield Pause(0)  # what came before it is sent
    finally:
        with suppress(EOFError):  # nobody is there any more
            run(pieces.aclose)


async def _next(pieces: AsyncGenerator[bytes, None]) -> bytes | None:
    return await anext(pieces, None)
