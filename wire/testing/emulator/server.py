"""The emulator as an HTTP server on loopback: opens sockets, and sleeps where a response pauses."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from wire.core.printable import printable_line
from wire.testing.emulator.answer import Answer, Cut, Pause, Reset, json_answer
from wire.testing.emulator.core import Emulator
from wire.testing.written_headers import kept_url

_LINGER_ZERO = struct.pack("ii", 1, 0)  # SO_LINGER with time 0: closing sends a reset
_MAX_BODY_BYTES = 1 << 30


class Server(ThreadingHTTPServer):
    """A running emulator; `url` is its address."""

    daemon_threads = True
    block_on_close = False
    # A client that opens 1,000 connections at once is not refused; Linux caps it at somaxconn.
    request_queue_size = 1024

    def __init__(
        self, emulator: Emulator, port: int = 0, log: Callable[[str], object] | None = None
    ) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.emulator = emulator
        self.log = log
        self.stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """The address, without the version of an API."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests received, without keys; see `Emulator.requests`."""
        return self.emulator.requests

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection, and remember it so that `stop` can end it while it is idle."""
        with self._lock:
            self._open.add(request)
        try:
            super().finish_request(request, client_address)
        except (OSError, ValueError):
            pass  # the client went away
        finally:
            with self._lock:
                self._open.discard(request)

    def stop(self) -> None:
        """Refuse new connections, and end those that are open."""
        self.stopping.set()
        self.shutdown()
        with self._lock:
            connections = list(self._open)
        for each in connections:
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # it is closed already
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "wire-emulator"
    sys_version = ""
    disable_nagle_algorithm = True

    @property
    def _owner(self) -> Server:
        return cast(Server, self.server)

    def _answer(self) -> None:
        try:
            body = self._body()
        except ValueError:
            self.close_connection = True
            self.send_error(400)
            return
        try:
            answer = self._owner.emulator.answer(
                self.command, self.path, list(self.headers.items()), body
            )
        except Exception as error:  # of a script's function; the client gets its message
            answer = _crash(error)
        if self._owner.log is not None:
            rule = f" [{answer.rule}]" if answer.rule else ""
            # Python's server takes control characters in a path.
            line = f"{self.command} {kept_url(self.path)} {answer.status}{rule}"
            self._owner.log(printable_line(line))
        try:
            self._send(answer)
        except OSError:
            self.close_connection = True  # the client went away

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = _answer

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            pieces: list[bytes] = []
            while size := int(self.rfile.readline(1 << 16).partition(b";")[0], 16):
                pieces.append(self.rfile.read(min(size, _MAX_BODY_BYTES)))
                self.rfile.readline(1 << 16)
            while self.rfile.readline(1 << 16).strip():
                pass  # trailers
            return b"".join(pieces)
        return self.rfile.read(min(int(self.headers.get("content-length") or 0), _MAX_BODY_BYTES))

    def _send(self, answer: Answer) -> None:
        if answer.whole:
            self._head(answer, f"content-length: {len(answer.body)}", answer.body)
            return
        begun = False
        for piece in answer.pieces:
            if isinstance(piece, Pause):
                if self._owner.stopping.wait(piece.seconds):
                    self.close_connection = True
                    return
            elif isinstance(piece, (Cut, Reset)):
                self.close_connection = True
                if isinstance(piece, Reset):
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
                self.connection.close()
                return
            else:
                framed = b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b""
                if begun:
                    self.wfile.write(framed)
                else:
                    self._head(answer, "transfer-encoding: chunked", framed)
                begun = True
        self.wfile.write(b"0\r\n\r\n") if begun else self._head(answer, "content-length: 0", b"")

    def _head(self, answer: Answer, length: str, begin: bytes) -> None:
        self.send_response(answer.status)
        for name, value in (*answer.headers, tuple(length.split(": "))):
            self.send_header(name, value)
        # Headers and first bytes in one write: a small response arrives in one packet.
        buffer: list[bytes] = self._headers_buffer
        buffer.append(b"\r\n")
        self._headers_buffer: list[bytes] = []
        self.wfile.write(b"".join(buffer) + (b"" if self.command == "HEAD" else begin))

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: `/_wire/requests` shows what was received."""


def _crash(error: Exception) -> Answer:
    message = f"the emulator failed: {type(error).__name__}: {error}"
    body = {"error": {"code": 500, "message": message, "status": "INTERNAL"}}
    return json_answer(json.dumps(body, indent=2).encode(), 500)


@contextlib.contextmanager
def serve(
    emulator: Emulator, port: int = 0, *, log: Callable[[str], object] | None = None
) -> Iterator[Server]:
    """Serve the emulator on loopback while the block runs, on a free port if none is given.

    `log` gets a line for each request: method, path without keys, status, and the rule that
    refused it.
    """
    server = Server(emulator, port, log)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        server.stop()
        thread.join()
