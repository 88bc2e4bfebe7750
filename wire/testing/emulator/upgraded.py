"""A connection that has become a WebSocket: its messages, and pauses in which it listens."""

from __future__ import annotations

import base64
import hashlib
import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol

from wire.testing.cassette.pieces import Cut, Pause, Reset
from wire.testing.emulator.crowd import Phase
from wire.testing.emulator.sessions import Close, Later, OtherFrame, Session, SessionPiece, Torn

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MAX_REASON_BYTES = 123
"""Of the reason of a close (RFC 6455, 5.5): servers cut a longer one."""


class Talk(Protocol):
    """What a session needs of its connection."""

    async def read(self, seconds: float | None = None) -> bytes | None:
        """Return the next bytes; none at the end, and after a long silence.

        `None` means that the seconds have passed.
        """
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    async def pause(self, seconds: float) -> None:
        """Wait, unless the client goes away meanwhile."""
        ...

    def now(self) -> float:
        """Return the time in seconds."""
        ...

    async def made(self, make: Callable[[], Any]) -> Any:
        """Return what a function returns in a worker thread."""
        ...

    def enters(self, phase: Phase) -> Phase:
        """Put the connection into a phase."""
        ...

    def reset(self) -> None:
        """End the connection by a reset."""
        ...


def wants_websocket(headers: Sequence[tuple[str, str]]) -> bool:
    """Return whether the headers of a request ask for a WebSocket."""
    given = dict(headers)
    return given.get("upgrade", "").lower() == "websocket" and "sec-websocket-key" in given


def accepting(headers: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that accept it."""
    key = dict(headers)["sec-websocket-key"].encode()
    accept = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
    return [("upgrade", "websocket"), ("connection", "Upgrade"), ("sec-websocket-accept", accept)]


def problem() -> str:
    """Return why this process has no WebSockets; empty if it has."""
    try:
        import websockets.protocol  # noqa: F401  an extra
    except ImportError:
        return "sessions need websockets: pip install 'wire-llm[live]'"
    return ""


async def run_session(
    session: Session, talk: Talk, begun: bytes, max_size: int, linger: float
) -> None:
    """Serve a session until one side ends it; `begun` are its first bytes.

    After a close of the server, what the client still sends is discarded for so many seconds: else
    the system would drop what the client has not read yet.
    """
    from websockets.protocol import SERVER, Protocol

    from wire.http.websocket import SILENT

    protocol = Protocol(SERVER, max_size=max_size, logger=SILENT)
    served = _Served(protocol, session, talk)
    await served.run(begun)
    if protocol.close_sent is not None:
        await served.leave(talk.now() + linger)


def _up_to_a_pause(pieces: Iterator[SessionPiece]) -> list[SessionPiece]:
    """Take pieces up to a pause; none at their end.

    What a session does after a pause depends on the messages that come meanwhile.
    """
    taken: list[SessionPiece] = []
    for piece in pieces:
        taken.append(piece)
        if isinstance(piece, Pause):
            break
    return taken


class _Served:
    """Reads the messages of a session, and sends its pieces."""

    def __init__(self, protocol: Any, session: Session, talk: Talk) -> None:
        self._protocol, self._session, self._talk = protocol, session, talk
        self._parts: list[bytes] = []
        self._paused: list[tuple[float, int, Iterator[SessionPiece]]] = []
        self._order = itertools.count()

    async def run(self, begun: bytes) -> None:
        goes_on = await self._answer(self._session.begin)
        if begun and goes_on:
            goes_on = await self._receive(begun)
        while goes_on:
            left = max(self._paused[0][0] - self._talk.now(), 0) if self._paused else None
            data = await self._talk.read(left)
            if data is None:
                goes_on = await self._send(heapq.heappop(self._paused)[2])
            elif data:
                goes_on = await self._receive(data)
            else:
                return

    async def leave(self, until: float) -> None:
        """Wait for the close of the client."""
        self._talk.enters(Phase.LEAVING)
        while self._protocol.close_rcvd is None:
            data = await self._talk.read(max(until - self._talk.now(), 0))
            if not data:
                return
            self._protocol.receive_data(data)

    async def _receive(self, data: bytes) -> bool:
        """Answer the messages that bytes complete; return false if the session is over."""
        self._protocol.receive_data(data)
        frames: list[Any] = [*self._protocol.events_received()]
        for frame in frames:
            if frame.opcode.name not in ("TEXT", "BINARY", "CONT"):
                continue
            self._parts.append(bytes(frame.data))
            if frame.fin:
                message, self._parts = b"".join(self._parts), []
                if not await self._answer(partial(self._session.receive, message)):
                    return False
        await self._flush()
        return self._protocol.close_sent is None

    async def _answer(self, make: Callable[[], Iterable[SessionPiece]]) -> bool:
        """Send what a function of the session makes; return false if the session is over."""
        self._talk.enters(Phase.ANSWER)
        return await self._send(iter(await self._talk.made(make)))

    async def _send(self, pieces: Iterator[SessionPiece]) -> bool:
        """Send pieces up to a pause in which the session listens."""
        while taken := await self._talk.made(partial(_up_to_a_pause, pieces)):
            for piece in taken:
                if isinstance(piece, Pause) and self._session.listens:
                    self._put_off(piece.seconds, pieces)
                    return True
                if not await self._piece(piece):
                    return False
        if not self._paused:
            self._talk.enters(Phase.HEAD)
        return True

    def _put_off(self, seconds: float, pieces: Iterator[SessionPiece]) -> None:
        # The number decides between equal times, since pieces have no order.
        at = self._talk.now() + seconds
        heapq.heappush(self._paused, (at, next(self._order), pieces))

    async def _piece(self, piece: SessionPiece) -> bool:
        """Send one piece; return false if the session is over."""
        protocol, binary = self._protocol, self._session.binary
        match piece:
            case Pause():
                await self._talk.pause(piece.seconds)
            case Later():
                self._put_off(piece.seconds, iter(piece.pieces))
            case Close():
                reason = piece.reason.encode()[:_MAX_REASON_BYTES].decode("utf-8", "ignore")
                protocol.send_close(piece.code, reason)
                await self._flush()
                return False
            case Reset():
                self._talk.reset()
                return False
            case Cut():
                return False
            case Torn():
                self._frame(piece.data, binary)
                await self._flush(piece.size)
            case OtherFrame():
                self._frame(piece.data, not binary)
                await self._flush()
            case _:
                self._frame(piece, binary)
                await self._flush()
        return True

    def _frame(self, data: bytes, binary: bool) -> None:
        (self._protocol.send_binary if binary else self._protocol.send_text)(data)

    async def _flush(self, size: int | None = None) -> None:
        data = b"".join(self._protocol.data_to_send())[:size]
        if data:
            await self._talk.write(data)
