"""Lanes without httpx for threads: HTTP/1.1 on a socket. `async_direct.py` has those for asyncio.

A chunk costs a third to two thirds of what it costs through httpx, a small request a third. trio
and proxies are not supported; there lanes of httpx serve.

A lane sends one request at a time. How it was left decides on its next one:

- The response was read to its end, nothing came after it, and the server keeps the connection: the
  lane is reusable.
- Anything else, such as a cancelled read or a response that came before the whole request was sent:
  the pool closes the lane (R-25).

The deadlines of an attempt are kept by the watchdog, which shuts the socket down (`wire.http.
watchdog`); no read has a timeout of its own. Only a TCP connection that is being opened cannot be
shut down, so that opening one has a timeout. A request of another client, such as `httpx.Client`,
has the timeouts of its extension `timeout` instead.
"""

from __future__ import annotations

import math
import queue
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Iterator, MutableMapping
from typing import Any, ClassVar

import httpx

from wire.http.http11 import ResponseReader
from wire.http.prepared import PreparedResponse, chunk_of, request_head
from wire.http.sockets import cut_off, has_arrived, inode
from wire.http.watchdog import ATTEMPT, Clocks, await_signal

Sessions = MutableMapping[tuple[str, str, int | None], ssl.SSLSession]
"""The last TLS session of each origin: with it a handshake takes one round trip less."""

_READ_SIZE = 64 * 1024
WRITE_SIZE = 64 * 1024
"""Bytes that are written without looking whether the server has answered already."""
CONTINUE_SECONDS = 1.0
"""How long `Expect: 100-continue` waits. Servers that do not know it answer nothing."""


class DirectLaneState:
    """State of a lane that those for threads and for asyncio share."""

    is_direct: ClassVar[bool] = True

    __slots__ = (
        "_context",
        "_inode",
        "_is_kept",
        "_is_sent",
        "_origin",
        "_reader",
        "_sessions",
        "idle_since",
    )

    def __init__(
        self,
        origin: tuple[str, str, int | None],
        context: ssl.SSLContext | None,
        sessions: Sessions,
    ) -> None:
        self._origin, self._context, self._sessions = origin, context, sessions
        self._reader: ResponseReader  # of the last exchange
        self._is_kept = self._is_sent = False
        self._inode: int | None = None
        self.idle_since = 0.0

    @property
    def socket(self) -> Any:
        """The socket, or the object with which an event loop represents it."""
        raise NotImplementedError

    @property
    def _address(self) -> tuple[str, int]:
        scheme, host, port = self._origin
        return host, port or (443 if scheme == "https" else 80)

    def _begin(self, request: httpx.Request) -> Clocks | None:
        """Start an exchange on the open connection."""
        clocks: Clocks | None = request.extensions.get(ATTEMPT)
        if clocks is not None:
            clocks.connected(self)
            clocks.sending()
        self._reader = ResponseReader(request.method)
        self._is_sent = False
        return clocks

    def _response(self, body: Any) -> httpx.Response:
        reader = self._reader
        if not self._is_kept:
            self._is_kept = True
            self._keep_session()
        extensions = {
            "http_version": reader.version,
            "reason_phrase": reader.reason,
            "network_stream": self,
        }
        headers, reader.headers = reader.headers, []  # the lane keeps the reader
        return PreparedResponse(reader.status, headers, body, extensions)

    def _keep_session(self) -> None:
        secured = self.get_extra_info("ssl_object")
        session = None if secured is None else secured.session
        if session is not None:
            self._sessions[self._origin] = session

    def get_extra_info(self, name: str) -> Any:
        """Return the `socket` or `ssl_object`, as a network stream of httpcore does."""
        raise NotImplementedError

    def is_reusable(self) -> bool:
        """Return whether the last response lets the connection serve another request."""
        return self._is_sent and self._reader.is_reusable

    def is_clean(self) -> bool:
        """Return whether neither data nor the end arrived since the last response (R-25, R-26)."""
        return self.is_reusable() and not has_arrived(self.socket)

    def was_closed(self) -> bool:
        """Return whether the server had closed this kept lane, so that no request reached it."""
        return self._is_kept and not self._reader.begun

    def cut_off(self) -> None:
        """Close this process's descriptor of the socket, and nothing else."""
        cut_off(self.socket, self._inode)


class DirectLane(DirectLaneState):
    """A lane for threads: a blocking socket, whose reads the watchdog and `close` end."""

    __slots__ = ("_buffer", "_socket", "_view")

    def __init__(
        self,
        origin: tuple[str, str, int | None],
        context: ssl.SSLContext | None,
        sessions: Sessions,
    ) -> None:
        super().__init__(origin, context, sessions)
        self._socket: Any = None
        self._buffer = bytearray(_READ_SIZE)
        self._view = memoryview(self._buffer)

    @property
    def socket(self) -> Any:
        """The socket of the connection."""
        return self._socket

    def get_extra_info(self, name: str) -> Any:
        """Return the `socket` or `ssl_object`, as a network stream of httpcore does."""
        if name == "ssl_object":
            return self._socket if isinstance(self._socket, ssl.SSLSocket) else None
        return self._socket if name == "socket" else None

    def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        waits = request.extensions.get("timeout") or {}
        if self._socket is None:
            self._socket = self._connected(request.extensions.get(ATTEMPT), waits.get("connect"))
            self._inode = inode(self._socket)
        clocks = self._begin(request)
        # While it ends, the interpreter cannot start a thread, so nothing would shut the socket
        # down.
        watched = clocks is not None and clocks.watch.is_watched
        reader = self._reader
        self._socket.settimeout(None if watched else waits.get("write"))
        try:
            self._write(request)
        except httpx.WriteError:
            pass  # the server may have answered before it closed the connection
        if not watched:
            self._socket.settimeout(waits.get("read"))
        while not reader.has_head:
            reader.check()
            self.read()
        return self._response(_Body(self, reader))

    def _connected(self, clocks: Clocks | None, seconds: float | None) -> Any:
        if clocks is not None:
            clocks.opening()
        try:
            connection: Any = _opened(self._address, clocks, seconds)
            if self._context is not None:
                connection = self._secured(connection, self._context, clocks)
        except TimeoutError as cause:
            raise httpx.ConnectTimeout(str(cause)) from cause
        except OSError as cause:
            raise httpx.ConnectError(str(cause)) from cause
        return connection

    def _secured(self, connection: Any, context: ssl.SSLContext, clocks: Clocks | None) -> Any:
        secured = context.wrap_socket(
            connection,
            server_hostname=self._origin[1],
            session=self._sessions.get(self._origin),
            do_handshake_on_connect=False,
        )
        self._socket = secured  # for `close`, and for the watchdog
        if clocks is not None:
            clocks.connected(self)
        secured.do_handshake()
        return secured

    def _write(self, request: httpx.Request) -> None:
        head, is_chunked, expects = request_head(request)
        reader = self._reader
        if expects:
            self._send(head, is_large=False)
            head = b""
            self._wait_for_continue()
        sent = 0
        for data in request.stream:  # type: ignore[union-attr]
            if reader.begun and (reader.has_head or reader.problem):
                return  # the server answered early, and does not read the rest
            if is_chunked:
                data = chunk_of(data) if data else b""
            sent += len(data)
            self._send(head + data, is_large=sent > WRITE_SIZE)
            head = b""
        self._send(head + chunk_of(b"") if is_chunked else head, is_large=sent > WRITE_SIZE)
        self._is_sent = not reader.has_head

    def _send(self, data: bytes, *, is_large: bool) -> None:
        try:
            if is_large:
                self._send_and_read(data)
            elif data:
                self._socket.sendall(data)
        except TimeoutError as cause:
            raise httpx.WriteTimeout(str(cause)) from cause
        except OSError as cause:
            raise httpx.WriteError(str(cause)) from cause

    def _send_and_read(self, data: bytes) -> None:
        """Send a large body, or a piece of one, and read meanwhile.

        A server may answer early, such as by 413, and read no further. A blocking `send` would then
        wait until the deadline.
        """
        connection: Any = self._socket
        seconds = connection.gettimeout()
        left, reader = memoryview(data), self._reader
        connection.setblocking(False)
        try:
            with selectors.DefaultSelector() as selector:
                both = selectors.EVENT_READ | selectors.EVENT_WRITE
                selector.register(connection, both)
                while left and not reader.has_head and not reader.problem:
                    if not (ready := selector.select(seconds)):
                        raise TimeoutError("the write operation timed out")
                    try:
                        if ready[0][1] & selectors.EVENT_READ:
                            self.read()
                        left = left[connection.send(left[:WRITE_SIZE]) :]
                    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                        pass  # in TLS, received bytes need not be data
        finally:
            connection.settimeout(seconds)

    def _wait_for_continue(self) -> None:
        reader, seconds = self._reader, self._socket.gettimeout()
        self._socket.settimeout(min(CONTINUE_SECONDS, seconds or math.inf))
        try:
            while not (reader.can_continue or reader.has_head or reader.problem):
                self.read()
        except httpx.ReadTimeout:
            pass
        finally:
            self._socket.settimeout(seconds)

    def read(self) -> None:
        """Read once from the socket."""
        try:
            size = self._socket.recv_into(self._buffer)
        except (BlockingIOError, ssl.SSLWantReadError):
            raise
        except TimeoutError as cause:
            raise httpx.ReadTimeout(str(cause)) from cause
        except OSError as cause:
            raise httpx.ReadError(str(cause)) from cause
        if size:
            self._reader.feed(self._view[:size])
        else:
            self._reader.end()

    def is_clean(self) -> bool:
        """Return whether neither data nor the end arrived since the last response (R-25, R-26)."""
        secured = self.get_extra_info("ssl_object")
        return super().is_clean() and not (secured is not None and secured.pending())

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()


def _opened(
    address: tuple[str, int], clocks: Clocks | None, seconds: float | None
) -> socket.socket:
    """Open a TCP connection to the first address of a host that accepts one, within one deadline.

    Each address gets an equal share of the time left, because the first may not respond at all.
    """
    if clocks is not None:
        seconds = clocks.until_deadline
    ends = math.inf if seconds is None else time.monotonic() + seconds
    problem: OSError = OSError("the host has no address")
    found = literal(*address) or _looked_up(address, seconds)
    for place, (family, kind, protocol, _, peer) in enumerate(found):
        connection = socket.socket(family, kind, protocol)
        try:
            share = (ends - time.monotonic()) / (len(found) - place)
            if share <= 0:
                raise TimeoutError("timed out")
            connection.settimeout(None if share == math.inf else share)
            connection.connect(peer)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as cause:
            connection.close()
            problem = cause
        except BaseException:
            connection.close()
            raise
        else:
            # TLS has all of the time left, not the share of the address.
            left = max(ends - time.monotonic(), 0.001)
            connection.settimeout(None if left == math.inf else left)
            return connection
    raise problem


def literal(host: str, port: int) -> list[Any]:
    """Return the host itself if it is an IP address, which needs no lookup; or nothing."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return [(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))]
    return []


def _looked_up(address: tuple[str, int], seconds: float | None) -> list[Any]:
    """Return the addresses of a host. Raises `TimeoutError` after so long (R-13).

    Nothing can interrupt a lookup: one that takes longer goes on in its thread, which is a daemon.
    """
    found: list[Any] = []
    over: queue.SimpleQueue[None] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found.append(socket.getaddrinfo(*address, type=socket.SOCK_STREAM))
        except Exception as error:
            found.append(error)
        over.put(None)

    if seconds is None or seconds == math.inf:
        look_up()
    else:
        try:
            threading.Thread(target=look_up, name="wire lookup", daemon=True).start()
        except RuntimeError:  # the interpreter ends, or has no thread left
            look_up()
        await_signal(over, max(seconds, 0.001))
    if not found:
        raise TimeoutError("the name of the host was not found in time")
    if isinstance(found[0], Exception):
        raise found[0]
    addresses: list[Any] = found[0]
    return addresses


class _Body(httpx.SyncByteStream):
    """The body of a response, its own iterator."""

    def __init__(self, lane: DirectLane, reader: ResponseReader) -> None:
        self._lane, self._reader = lane, reader

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        reader = self._reader
        while not reader.size:
            if reader.is_complete:
                raise StopIteration
            reader.check()
            self._lane.read()
        return reader.take()
