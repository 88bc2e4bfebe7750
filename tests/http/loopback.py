"""A server on loopback that plays raw bytes: what no well-behaved HTTP library would send can be
sent, cut and held back.
"""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.threads import running

Step = bytes | str | threading.Event | Callable[[Any], None]
"""Bytes to send, or what to do: "hold" until the client goes away, "reset" the connection, "close"
it, wait for an event, or a function of the socket.
"""
Script = Callable[[int, bytes], Sequence[Step]]
"""From the number of the request and its bytes to what is played."""


def head(status: int = 200, kind: str = "text/event-stream", **headers: str) -> bytes:
    lines = [
        f"HTTP/1.1 {status} X",
        f"content-type: {kind}",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(body: Any, status: int = 200, kind: str = "application/json", **headers: str) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return head(status, kind, content_length=str(len(data)), **headers) + data


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


LAST = b"0\r\n\r\n"
STREAM = head(transfer_encoding="chunked")


def event(chunk: Any) -> bytes:
    return chunked(b"data: " + json.dumps(chunk).encode() + b"\r\n\r\n")


def text(words: str, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": words}], "role": "model"}}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": {"promptTokenCount": 3}}


ANSWER = text("Hello.", "STOP")
GOOD_STREAM = [STREAM, event(text("Hel")), event(text("lo.", "STOP")), LAST]


class Loopback:
    """Plays `script` to every request; counts connections and keeps the requests.

    With `certificate`, a file of a certificate and its key, it speaks TLS.
    """

    def __init__(self, script: Script, certificate: Path | None = None) -> None:
        self.script = script
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if certificate else None
        if self._tls is not None:
            self._tls.load_cert_chain(str(certificate))
        self.requests: list[bytes] = []
        self.connections = 0
        self.resumed = 0
        """Connections whose TLS session is an earlier one's."""
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._gone = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._accepting = threading.Thread(
            target=self._accept, name="loopback accepts", daemon=True
        )
        self._serving: list[threading.Thread] = []
        self.closed = threading.Semaphore(0)
        """Released each time that a connection has ended."""

    @property
    def url(self) -> str:
        scheme = "https" if self._tls else "http"
        return f"{scheme}://127.0.0.1:{self._socket.getsockname()[1]}"

    def start(self) -> None:
        self._accepting.start()

    def _accept(self) -> None:
        while not self._gone.is_set():
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
                self._open.add(peer)
            thread = threading.Thread(
                target=self._serve,
                args=(peer,),
                name="loopback serves",
                daemon=True,
            )
            self._serving.append(thread)
            thread.start()

    def _serve(self, peer: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError), peer, self._secured(peer) as talk:
                if isinstance(talk, ssl.SSLSocket) and talk.session_reused:
                    self.resumed += 1
                while request := _read_request(talk):
                    with self._lock:
                        number = len(self.requests)
                        self.requests.append(request)
                    if not self._play(talk, self.script(number, request)):
                        return
        finally:
            with self._lock:
                self._open.discard(peer)
            self.closed.release()

    def _secured(self, peer: socket.socket) -> socket.socket:
        return self._tls.wrap_socket(peer, server_side=True) if self._tls else peer

    def _play(self, peer: socket.socket, steps: Sequence[Step]) -> bool:
        """True if the connection stays."""
        for step in steps:
            if isinstance(step, bytes):
                peer.sendall(step)
            elif isinstance(step, threading.Event):
                assert step.wait(10)
            elif callable(step):
                step(peer)
            elif step == "hold":
                peer.recv(1)
            elif step == "reset":
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return False
            else:
                return False
        return True

    def stop(self) -> None:
        """Ends every connection and waits for the threads; AssertionError if one still runs."""
        self._gone.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        # First: a connection that is taken at this moment would not be among the open ones.
        self._accepting.join(5)
        self._socket.close()
        with self._lock:
            for peer in self._open:
                with contextlib.suppress(OSError):
                    peer.shutdown(socket.SHUT_RDWR)
        left = running([self._accepting, *self._serving], within=5)
        assert not left, f"threads of the server still run: {left}"


def _read_request(peer: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = peer.recv(65536)
        if not piece:
            return b""
        data += piece
    top, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in top.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        piece = peer.recv(65536)
        if (
            not piece
        ):  # the client hung up; recv says so again and again, and the loop would never end
            return b""
        body += piece
    return top + b"\r\n\r\n" + body


@contextlib.contextmanager
def loopback(
    script: Script | Sequence[Step],
    certificate: Path | None = None,
) -> Iterator[Loopback]:
    """A running server; a list of steps is played to every request."""
    steps = script if callable(script) else (lambda number, request: script)
    server = Loopback(steps, certificate)
    server.start()
    try:
        yield server
    finally:
        server.stop()


Serve = Callable[[socket.socket], None]
"""Plays one connection."""


@contextlib.contextmanager
def serving(serve: Serve) -> Iterator[tuple[int, list[int]]]:
    """A port whose connections `serve` plays, and a list with one item for each connection."""
    count: list[int] = []
    peers: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def one(peer: socket.socket) -> None:
        with contextlib.suppress(OSError):
            serve(peer)

    def accept(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                count.append(1)
                peers.append(peer)
                threads.append(threading.Thread(target=one, args=(peer,), daemon=True))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        accepting = threading.Thread(target=accept, args=(server,), daemon=True)
        accepting.start()
        yield server.getsockname()[1], count
        server.shutdown(socket.SHUT_RDWR)
        accepting.join(5)
    for peer in peers:
        with contextlib.suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join(5)
    for peer in peers:
        peer.close()
