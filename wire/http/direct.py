"""Lanes without httpx: HTTP/1.1 on a socket for threads, and on a protocol of asyncio.

They need httptools, the extra `[fast]`. A chunk costs a third to two thirds of what it costs
through httpx, a small request a third. trio and proxies are not supported; there lanes of httpx
serve.

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

import asyncio
import itertools
import math
import selectors
import socket
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, MutableMapping
from typing import Any

import httpx

from wire.http.http11 import ResponseReader, chunk_of, head_of
from wire.http.sockets import cut_off, has_arrived, inode
from wire.http.watchdog import ATTEMPT, Clocks

Sessions = MutableMapping[tuple[str, str, int | None], ssl.SSLSession]
"""The last TLS session of each origin: with it a handshake takes one round trip less."""

_READ_SIZE = 64 * 1024
_WRITE_SIZE = 64 * 1024
"""Bytes that are written without looking whether the server has answered already."""
_MAX_UNREAD = 256 * 1024
"""Bytes of a body after which asyncio stops reading the socket until the caller has taken them."""
_CONTINUE_SECONDS = 1.0
"""How long `Expect: 100-continue` waits. Servers that do not know it answer nothing."""
_NEXT_ADDRESS_SECONDS = 0.25
_HANDSHAKE_SECONDS = 86400.0
"""asyncio's own limit of a handshake, which must not end before the connect time."""


class _Lane:
    """The parts that lanes of both kinds share."""

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
        self._reader: ResponseReader = ResponseReader("GET")
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
        return httpx.Response(
            reader.status, headers=reader.headers, stream=body, extensions=extensions
        )

    def _keep_session(self) -> None:
        secured = self.get_extra_info("ssl_object")
        session = None if secured is None else secured.session
        if session is not None:
            self._sessions[self._origin] = session

    def get_extra_info(self, name: str) -> Any:
        """The `socket` or the `ssl_object` of the connection, as a network stream of httpcore."""
        raise NotImplementedError

    def is_reusable(self) -> bool:
        """Whether the last response lets the connection serve another request."""
        return self._is_sent and self._reader.is_reusable

    def is_clean(self) -> bool:
        """Whether nothing has arrived since the last response, not even the end (R-25, R-26)."""
        return self.is_reusable() and not has_arrived(self.socket)

    def was_closed(self) -> bool:
        """Whether the server had closed this kept lane, so that no request has reached it."""
        return self._is_kept and not self._reader.begun

    def cut_off(self) -> None:
        """Close this process's descriptor of the socket, and nothing else."""
        cut_off(self.socket, self._inode)


# --- threads --------------------------------------------------------------------------------------


class DirectLane(_Lane):
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
        """The `socket` or the `ssl_object` of the connection, as a network stream of httpcore."""
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
        # A thread that the interpreter cannot start any more, at its end, shuts nothing down.
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
        head, is_chunked, expects = head_of(
            request.method, request.url.raw_path, request.headers.raw
        )
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
            self._send(head + data, is_large=sent > _WRITE_SIZE)
            head = b""
        self._send(head + chunk_of(b"") if is_chunked else head, is_large=sent > _WRITE_SIZE)
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
                        left = left[connection.send(left[:_WRITE_SIZE]) :]
                    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                        pass  # in TLS, what arrived need not be data
        finally:
            connection.settimeout(seconds)

    def _wait_for_continue(self) -> None:
        reader, seconds = self._reader, self._socket.gettimeout()
        self._socket.settimeout(min(_CONTINUE_SECONDS, seconds or math.inf))
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
        """Whether nothing has arrived since the last response, not even the end (R-25, R-26)."""
        secured = self.get_extra_info("ssl_object")
        return super().is_clean() and not (secured is not None and secured.pending())

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()


def _opened(
    address: tuple[str, int], clocks: Clocks | None, seconds: float | None
) -> socket.socket:
    """A TCP connection to the first address of a host that accepts one, within one deadline.

    Each address gets an equal share of the time left, as the first may not answer at all.
    """
    if clocks is not None:
        seconds = clocks.until_deadline
    ends = math.inf if seconds is None else time.monotonic() + seconds
    problem: OSError = OSError("the host has no address")
    found = socket.getaddrinfo(*address, type=socket.SOCK_STREAM)
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


# --- asyncio --------------------------------------------------------------------------------------


class AsyncDirectLane(_Lane):
    """A lane for asyncio."""

    __slots__ = ("_connection",)

    def __init__(
        self,
        origin: tuple[str, str, int | None],
        context: ssl.SSLContext | None,
        sessions: Sessions,
    ) -> None:
        super().__init__(origin, context, sessions)
        self._connection: _Connection | None = None

    @property
    def socket(self) -> Any:
        """The object with which the event loop represents the socket."""
        return self.get_extra_info("socket")

    def get_extra_info(self, name: str) -> Any:
        """The `socket` or the `ssl_object` of the connection, as a network stream of httpcore."""
        return None if self._connection is None else self._connection.transport.get_extra_info(name)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        waits = request.extensions.get("timeout") or {}
        if self._connection is None:
            self._connection = await self._connected(
                request.extensions.get(ATTEMPT), waits.get("connect")
            )
            self._inode = inode(self.socket)
        connection = self._connection
        clocks = self._begin(request)
        watched = clocks is not None and clocks.watch.is_watched
        connection.begin(self._reader, {} if watched else waits)
        await self._write(request, connection)
        while not self._reader.has_head:
            await connection.arrival()
        return self._response(_AsyncBody(connection, self._reader))

    async def _connected(self, clocks: Clocks | None, seconds: float | None) -> _Connection:
        if clocks is not None:
            clocks.opening()
            seconds = clocks.until_deadline
        host, _ = self._address
        tls: dict[str, Any] = {}
        if self._context is not None:
            resumed = _Resumed(self._context, self._sessions.get(self._origin))
            tls = {
                "ssl": resumed,
                "server_hostname": host,
                "ssl_handshake_timeout": _HANDSHAKE_SECONDS,
            }
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                opened = await _async_opened(self._address)
                try:
                    _, connection = await asyncio.get_running_loop().create_connection(
                        _Connection, sock=opened, **tls
                    )
                except BaseException:
                    opened.close()
                    raise
        except TimeoutError as cause:
            raise httpx.ConnectTimeout(str(cause)) from cause
        except OSError as cause:
            raise httpx.ConnectError(str(cause)) from cause
        return connection

    async def _write(self, request: httpx.Request, connection: _Connection) -> None:
        head, is_chunked, expects = head_of(
            request.method, request.url.raw_path, request.headers.raw
        )
        reader = self._reader
        if expects:
            await connection.send(head)
            head = b""
            await connection.wait_for_continue()
        async for data in request.stream:  # type: ignore[union-attr]
            if reader.begun and (reader.has_head or reader.problem):
                return  # the server answered early, and does not read the rest
            if is_chunked:
                data = chunk_of(data) if data else b""
            await connection.send(head + data)
            head = b""
        await connection.send(head + chunk_of(b"") if is_chunked else head)
        self._is_sent = not reader.has_head

    def is_clean(self) -> bool:
        """Whether nothing has arrived since the last response, not even the end (R-25, R-26)."""
        connection = self._connection
        return connection is not None and connection.is_open and super().is_clean()

    async def aclose(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()


async def _async_opened(address: tuple[str, int]) -> socket.socket:
    """A TCP connection to the first address of a host that accepts one.

    The next address is tried after a quarter of a second, while the ones before it go on (RFC
    8305). asyncio's own form of it leaves a socket open if it is cancelled at a wrong moment.
    """
    loop = asyncio.get_running_loop()
    waiting = _literal(*address) or _alternating(
        await loop.getaddrinfo(*address, type=socket.SOCK_STREAM)
    )
    if len(waiting) == 1:
        return await _tcp(loop, waiting[0])
    running: set[asyncio.Task[socket.socket]] = set()
    opened: list[socket.socket] = []
    problem: BaseException = OSError("the host has no address")
    try:
        while (waiting or running) and not opened:
            if waiting:
                running.add(loop.create_task(_tcp(loop, waiting.popleft())))
            done, running = await asyncio.wait(
                running,
                timeout=_NEXT_ADDRESS_SECONDS if waiting else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                if cause := task.exception():
                    problem = cause
                else:
                    opened.append(task.result())
    finally:
        for task in running:
            task.add_done_callback(_close_late)
            task.cancel()
        for late in opened[1:]:
            late.close()
    if not opened:
        raise problem
    return opened[0]


def _literal(host: str, port: int) -> deque[Any]:
    """The address of a host that is one, for which asyncio would start a thread; else empty."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except OSError:
            continue
        return deque([(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", (host, port))])
    return deque()


def _alternating(found: list[Any]) -> deque[Any]:
    """Addresses of the two families in turn, beginning with the family of the first."""
    ours = [each for each in found if each[0] == found[0][0]]
    others = [each for each in found if each[0] != found[0][0]]
    pairs = itertools.zip_longest(ours, others)
    return deque(each for pair in pairs for each in pair if each is not None)


def _close_late(task: asyncio.Task[socket.socket]) -> None:
    """Close the connection of a task that was cancelled when it had one already."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _tcp(loop: asyncio.AbstractEventLoop, found: Any) -> socket.socket:
    family, kind, protocol, _, peer = found
    connection = socket.socket(family, kind, protocol)
    try:
        connection.setblocking(False)
        await loop.sock_connect(connection, peer)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        connection.close()
        raise
    return connection


class _Resumed:
    """Gives asyncio a TLS context whose connections resume a session.

    asyncio calls `wrap_bio` of the context, and has no argument for a session.
    """

    def __init__(self, context: ssl.SSLContext, session: ssl.SSLSession | None) -> None:
        self._context, self._session = context, session

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, **options: Any
    ) -> ssl.SSLObject:
        return self._context.wrap_bio(incoming, outgoing, session=self._session, **options)


class _Connection(asyncio.Protocol):
    """A connection of asyncio: feeds what arrives to the reader of the response."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._reader: ResponseReader | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._is_lost = False
        self._when_lost: asyncio.Future[None] | None = None
        self._waits: Mapping[str, float | None] = {}
        self._is_paused = self._is_full = False
        self.is_open = True

    # --- called by asyncio ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        reader = self._reader
        if reader is None:
            self._drop()
            return
        reader.feed(data)
        if reader.problem or (reader.is_complete and not reader.is_reusable):
            self._drop()
        elif reader.size > _MAX_UNREAD and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        reader = self._reader
        if reader is not None and not reader.is_complete:
            if exc is None:
                reader.end()
            else:
                reader.fail(httpx.ReadError, str(exc))
        self._is_lost = True
        if self._when_lost is not None:
            self._when_lost.set_result(None)
        self._wake()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        self._is_full = False
        self._wake()

    # --- called by the lane -----------------------------------------------------------------------

    def begin(self, reader: ResponseReader, waits: Mapping[str, float | None]) -> None:
        """Read the next response; `waits` are the timeouts of httpx, if the watchdog has none."""
        self._reader, self._waits = reader, waits

    def arrival(self) -> Awaitable[None]:
        """Return what ends when something has arrived. Raises the error of the connection.

        No coroutine of its own where the watchdog limits the wait: this is called for each read.
        """
        if self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()
        reader = self._reader
        assert reader is not None
        reader.check()
        if (seconds := self._waits.get("read")) is not None:
            return self._arrival_in(seconds)
        self._waiter = self._loop.create_future()
        return self._waiter

    async def _arrival_in(self, seconds: float) -> None:
        try:
            await self._wait(seconds)
        except TimeoutError as cause:
            raise httpx.ReadTimeout(str(cause)) from cause

    async def send(self, data: bytes) -> None:
        """Write, and wait while the buffer of the transport is full.

        A server may answer early, such as by 413, and read no further: then the rest is not sent.
        """
        left, reader = memoryview(data), self._reader
        assert reader is not None
        while left and not reader.has_head and not reader.problem:
            self.transport.write(left[:_WRITE_SIZE])
            left = left[_WRITE_SIZE:]
            while self._is_full and not reader.has_head and not reader.problem:
                try:
                    await self._wait(self._waits.get("write"))
                except TimeoutError as cause:
                    raise httpx.WriteTimeout(str(cause)) from cause

    async def wait_for_continue(self) -> None:
        """Wait until the server permits the body, or answers, or does not know the question."""
        reader = self._reader
        assert reader is not None
        try:
            async with asyncio.timeout(_CONTINUE_SECONDS):
                while not (reader.can_continue or reader.has_head or reader.problem):
                    await self._wait(None)
        except TimeoutError:
            pass

    async def close(self) -> None:
        """Close the connection and wait until its socket is closed."""
        self._drop()
        if self._is_lost:
            return
        if self._when_lost is None:
            self._when_lost = self._loop.create_future()
        await asyncio.shield(self._when_lost)  # a cancelled future could not be set

    def _drop(self) -> None:
        self.is_open = False
        self.transport.abort()

    async def _wait(self, seconds: float | None) -> None:
        self._waiter = waiter = self._loop.create_future()
        async with asyncio.timeout(seconds):
            await waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class _AsyncBody(httpx.AsyncByteStream):
    """The body of a response, its own iterator."""

    __slots__ = ("_connection", "_reader")

    def __init__(self, connection: _Connection, reader: ResponseReader) -> None:
        self._connection, self._reader = connection, reader

    @property
    def is_whole(self) -> bool:
        """Whether the body was read to its end."""
        return self._reader.is_complete and not self._reader.size

    def give_back(self) -> bool:
        """Nothing has to be closed: who holds the lane gives it back."""
        return True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        reader = self._reader
        while not reader.size:
            if reader.is_complete:
                raise StopAsyncIteration
            await self._connection.arrival()
        return reader.take()
