"""A connection that has become a WebSocket: its messages, one after the other."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from wire.testing.cassette.pieces import Pause, Reset
from wire.testing.emulator.crowd import Phase
from wire.testing.emulator.sessions import Close, Session, SessionPiece

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Talk(Protocol):
    """What a session needs of its connection."""

    async def read(self) -> bytes:
        """Return the next bytes; none at the end, and after a long silence."""
        ...

    async def write(self, data: bytes) -> None:
        """Send bytes."""
        ...

    async def pause(self, seconds: float) -> None:
        """Wait, unless the client goes away meanwhile."""
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


async def run_session(session: Session, talk: Talk, begun: bytes, max_size: int) -> None:
    """Serve a session until one side ends it; `begun` are its first bytes."""
    from websockets.protocol import SERVER, Protocol

    from wire.http.websocket import SILENT

    protocol = Protocol(SERVER, max_size=max_size, logger=SILENT)
    served = _Served(protocol, talk)
    if not await served.send(await talk.made(session.begin)):
        return
    parts: list[bytes] = []
    data = begun or await talk.read()
    while data:
        protocol.receive_data(data)
        frames: list[Any] = [*protocol.events_received()]
        for frame in frames:
            kind = frame.opcode.name
            if kind not in ("TEXT", "BINARY", "CONT"):
                continue
            parts.append(bytes(frame.data))
            if frame.fin:
                message, parts = b"".join(parts), []
                talk.enters(Phase.ANSWER)
                pieces = await talk.made(partial(session.receive, message))
                if not await served.send(pieces):
                    return
                talk.enters(Phase.HEAD)
        await served.flush()
        if protocol.close_sent is not None:
            return
        data = await talk.read()


class _Served:
    """Sends the pieces of a session."""

    def __init__(self, protocol: Any, talk: Talk) -> None:
        self._protocol, self._talk = protocol, talk

    async def send(self, pieces: Sequence[SessionPiece]) -> bool:
        """Send them; return false if the session is over."""
        for piece in pieces:
            if isinstance(piece, bytes):
                self._protocol.send_text(piece)
                await self.flush()
            elif isinstance(piece, Pause):
                await self._talk.pause(piece.seconds)
            elif isinstance(piece, Close):
                self._protocol.send_close(piece.code, piece.reason)
                await self.flush()
                return False
            else:
                if isinstance(piece, Reset):
                    self._talk.reset()
                return False
        return True

    async def flush(self) -> None:
        data = b"".join(self._protocol.data_to_send())
        if data:
            await self._talk.write(data)
