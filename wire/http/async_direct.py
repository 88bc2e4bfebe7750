"""Lanes without httpx for asyncio: HTTP/1.1 on a protocol. `direct.py` has the rules."""

from __future__ import annotations

import asyncio
import itertools
import math
import socket
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from weakref import WeakKeyDictionary

import httpx

from wire.http.direct import CONTINUE_SECONDS, WRITE_SIZE, DirectLaneState, Sessions, literal
from wire.http.http11 import ResponseReader
from wire.http.prepared import Origin, chunk_of, request_body, request_head
from wire.http.sockets import inode
from wire.http.watchdog import ATTEMPT, Clocks

_MAX_UNREAD = 256 * 1024
"""Bytes of a body after which asyncio stops reading the socket until the caller has taken them."""
_NEXT_ADDRESS_SECONDS = 0.25
_OPENED_AT_ONCE = 256
"""Connections that are opened to one origin at the same time. The queue of a server that accepts
more slowly than they come has room for 128 to 4,096; the system drops the others, and tries again
after 1, 3 and 7 seconds."""
_SLOW_SECONDS = 1.0
"""After so long the next connection is opened, though this one is not: its host may be down."""
_HANDSHAKE_SECONDS = 86400.0
"""asyncio's own limit of a handshake, which must not end before the connect time."""


class AsyncDirectLane(DirectLaneState):
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
        """Return the `socket` or `ssl_object`, as a network stream of httpcore does."""
        return None if self._connection is None else self._connection.transport.get_extra_info(name)

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        waits = request.extensions.get("timeout") or {}
        if self._connection is None:
            clocks = request.extensions.get(ATTEMPT)
            wait = waits.get("pool") if clocks is None else clocks.until_deadline
            async with _turn_to_open(self._origin, wait):
                self._connection = await self._connected(clocks, waits.get("connect"))
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
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                opened = await _async_opened(self._address)
                try:
                    _, connection = await loop.create_connection(_Connection, sock=opened)
                    if self._context is not None:
                        session = self._sessions.get(self._origin)
                        await connection.secure(_Resumed(self._context, session), host)
                except BaseException:
                    opened.close()
                    raise
        except TimeoutError as cause:
            raise httpx.ConnectTimeout(str(cause)) from cause
        except OSError as cause:
            raise httpx.ConnectError(str(cause)) from cause
        return connection

    async def _write(self, request: httpx.Request, connection: _Connection) -> None:
        head, is_chunked, expects = request_head(request)
        reader = self._reader
        if not (is_chunked or expects) and (body := request_body(request)) is not None:
            await connection.send(head + body)
            self._is_sent = not reader.has_head
            return
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
        """Return whether neither data nor the end arrived since the last response (R-25, R-26)."""
        connection = self._connection
        return connection is not None and connection.is_open and super().is_clean()

    async def aclose(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.close()


_OPENING: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Origin, asyncio.Semaphore]]
_OPENING = WeakKeyDictionary()
"""Turns to open a connection, by event loop and origin, of all clients."""


@asynccontextmanager
async def _turn_to_open(origin: Origin, seconds: float | None) -> AsyncIterator[None]:
    """Wait until fewer than `_OPENED_AT_ONCE` connections are being opened to an origin.

    Raises `httpx.PoolTimeout` after some seconds; `None`: not limited.
    """
    loop = asyncio.get_running_loop()
    turns = _OPENING.setdefault(loop, {}).setdefault(origin, asyncio.Semaphore(_OPENED_AT_ONCE))
    try:
        async with asyncio.timeout(None if seconds == math.inf else seconds):
            await turns.acquire()
    except TimeoutError:
        raise httpx.PoolTimeout("too many connections are being opened") from None
    held = [True]

    def release() -> None:
        if held:
            held.clear()
            turns.release()

    slow = loop.call_later(_SLOW_SECONDS, release)
    try:
        yield
    finally:
        slow.cancel()
        release()


async def _async_opened(address: tuple[str, int]) -> socket.socket:
    """Open a TCP connection to the first address of a host that accepts one.

    The next address is tried after a quarter of a second, while the ones before it go on (RFC
    8305). asyncio's own version leaves a socket open if it is cancelled at a wrong moment.
    """
    loop = asyncio.get_running_loop()
    waiting = deque(literal(*address)) or _alternating(
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


def _alternating(found: list[Any]) -> deque[Any]:
    """Order addresses by the two families in turn, beginning with the family of the first."""
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

    __class__: Any = ssl.SSLContext  # `start_tls` accepts only instances of `SSLContext`

    def __init__(self, context: ssl.SSLContext, session: ssl.SSLSession | None) -> None:
        self._context, self._session = context, session

    def wrap_bio(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, **options: Any
    ) -> ssl.SSLObject:
        return self._context.wrap_bio(incoming, outgoing, session=self._session, **options)


class _Connection(asyncio.Protocol):
    """A connection of asyncio: feeds received bytes to the reader of the response."""

    __slots__ = (
        "_is_full",
        "_is_lost",
        "_is_paused",
        "_loop",
        "_reader",
        "_waiter",
        "_waits",
        "_when_lost",
        "is_open",
        "transport",
    )

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
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

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

    async def secure(self, context: Any, host: str) -> None:
        """Begin TLS; a failure or a cancellation at any moment aborts the connection.

        Not `create_connection(ssl=...)`: cancelled, it leaves a transport that still shuts TLS
        down, or has yet to begin it, on a descriptor that may be another connection's by then.
        """
        try:
            secured = await self._loop.start_tls(
                self.transport,
                self,
                context,
                server_hostname=host,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
            )
        except BaseException:
            self._drop()
            raise
        self.transport = secured or self.transport  # `None` if the server has gone already

    def begin(self, reader: ResponseReader, waits: Mapping[str, float | None]) -> None:
        """Read the next response; `waits` are the timeouts of httpx, if the watchdog has none."""
        self._reader, self._waits = reader, waits
        if not self.is_open:  # lost before there was a reader to tell
            reader.end()

    def arrival(self) -> Awaitable[None]:
        """Return an awaitable that ends when data has arrived. Raises the error of the connection.

        It is not a coroutine of its own where the watchdog limits the wait: this is called for each
        read.
        """
        if self._is_paused:
            self._is_paused = False
            self.transport.resume_reading()
        reader = self._reader
        assert reader is not None
        if reader.problem is not None:
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
            self.transport.write(left[:WRITE_SIZE])
            left = left[WRITE_SIZE:]
            while self._is_full and not reader.has_head and not reader.problem:
                try:
                    await self._wait(self._waits.get("write"))
                except TimeoutError as cause:
                    raise httpx.WriteTimeout(str(cause)) from cause

    async def wait_for_continue(self) -> None:
        """Wait until the server permits the body, responds, or ignores the header for too long."""
        reader = self._reader
        assert reader is not None
        try:
            async with asyncio.timeout(CONTINUE_SECONDS):
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
        """Return True: the holder of the lane gives it back, so nothing has to be closed."""
        return True

    def arrival(self) -> Awaitable[None] | None:
        """Return an awaitable that ends when data has arrived; `None` if `take` has data to return.

        Raises the error of the connection.
        """
        reader = self._reader
        return None if reader.size or reader.is_complete else self._connection.arrival()

    def take(self) -> bytes | None:
        """Return the bytes that have arrived; `None` at the end of the body."""
        return self._reader.take() if self._reader.size else None

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        while (arrival := self.arrival()) is not None:
            await arrival
        if (data := self.take()) is None:
            raise StopAsyncIteration
        return data
