"""What a server of WebSockets sends and reads, as bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from websockets.frames import Close, Frame, Opcode
from websockets.protocol import SERVER, Protocol

_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accepted(request: bytes, *more: str) -> bytes:
    """The response that opens a WebSocket."""
    key = re.search(rb"(?i)sec-websocket-key: (\S+)", request)
    assert key is not None
    accept = base64.b64encode(hashlib.sha1(key[1] + _GUID).digest()).decode()
    head = ["HTTP/1.1 101 X", "Upgrade: WebSocket", "Connection: upgrade"]
    return "\r\n".join([*head, f"Sec-WebSocket-Accept: {accept}", *more, "", ""]).encode()


def frame(kind: str, data: bytes = b"", *, fin: bool = True) -> bytes:
    """One frame: `text`, `binary`, `cont`, `ping`, `pong` or `close`."""
    return Frame(Opcode[kind.upper()], data, fin=fin).serialize(mask=False)


def text(value: Any) -> bytes:
    """A message of JSON."""
    return frame("text", json.dumps(value).encode())


def close(code: int, reason: str = "") -> bytes:
    """A close frame."""
    return frame("close", Close(code, reason).serialize())


class Peer:
    """Reads what the client sends, frame by frame."""

    def __init__(self, talk: socket.socket) -> None:
        self._talk, self._protocol = talk, Protocol(SERVER, max_size=None)
        self._frames: list[Frame] = []

    def frame(self) -> tuple[str, bytes]:
        """Kind and data of the next frame; `("end", b"")` at the end of the connection."""
        while not self._frames:
            data = self._talk.recv(65536)
            if not data:
                return "end", b""
            self._protocol.receive_data(data)
            self._frames += self._protocol.events_received()  # type: ignore[arg-type]
        first = self._frames.pop(0)
        return first.opcode.name.lower(), bytes(first.data)

    def message(self) -> Any:
        """The JSON of the next message; `None` at the end."""
        while (got := self.frame())[0] not in ("text", "end"):
            pass
        return json.loads(got[1]) if got[0] == "text" else None

    def send(self, *frames: bytes) -> None:
        self._talk.sendall(b"".join(frames))


def served(script: Callable[[Peer], None]) -> Callable[[int, bytes], list[Any]]:
    """A script of `loopback` that opens a WebSocket and goes on with `script`."""
    return lambda number, request: [accepted(request), lambda talk: script(Peer(talk)), "close"]
