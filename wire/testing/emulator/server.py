"""The emulator as an HTTP server on loopback: opens sockets, and sleeps where a response pauses.

One thread runs an event loop for all connections, with h11 as the HTTP parser, so that an idle
or slow connection costs no thread. A few worker threads ask the emulator, so that a long request
does not delay the others' bytes. `EmulatorLimits` bounds everything that a client can hold on to.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import queue
import socket
import struct
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted
from wire.testing.cassette.format.kept_headers import EMULATOR, kept_url
from wire.testing.cassette.pieces import Cut, Pause, Reset
from wire.testing.emulator.answer import Answer, LiveAnswer, json_answer, json_bytes
from wire.testing.emulator.core import Emulator
from wire.testing.emulator.limits import EmulatorLimits

try:
    import h11
except ImportError:
    raise ConfigurationError(
        "the emulator as a server needs h11: pip install 'wire-llm[emulator]'"
    ) from None

_LINGER_ZERO = struct.pack("ii", 1, 0)  # SO_LINGER with time 0: closing sends a reset
_READ_BYTES = 64 * 1024
_WRITE_BYTES = 64 * 1024
_WORKERS = 4
_BACKLOG = 1024
"""Connections that wait to be accepted; Linux caps it at somaxconn."""
_STOP_SECONDS = 5.0
"""A script's function that does not return keeps its thread, but not the one that stops."""
_AWAY_SECONDS = 0.25
"""How often a pause looks whether the client went away."""
_ACCEPT_PAUSE_SECONDS = 0.05
_ACCEPTED_AT_ONCE = 64
"""Connections that are accepted before the others are served again."""
_VERSIONS = (b"1.0", b"1.1")
_TRANSPORT_HEADERS = frozenset({"connection", "content-length", "transfer-encoding"})


class Application(Protocol):
    """The application behind a server, besides its responses (`HttpServer.respond`)."""

    @property
    def limits(self) -> EmulatorLimits:
        """Sizes and times that the server enforces."""
        ...

    def rejected(
        self, method: str, target: str, headers: list[tuple[str, str]], status: int, message: str
    ) -> Answer:
        """Return the error for a request that is not read."""
        ...


class HttpServer:
    """An application served over HTTP; `url` is its address."""

    name = "wire"
    """The header `server` of responses."""

    def __init__(
        self,
        application: Application,
        port: int = 0,
        log: Callable[[str], object] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self._application = application
        self._log = log
        self._socket = _listening(host, port)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._connections: dict[Connection, None] = {}
        self._serving: set[asyncio.Task[Any]] = set()
        self._buffered = 0
        self._loop: asyncio.AbstractEventLoop
        self._over: asyncio.Event
        self._started = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, daemon=True),
            *(threading.Thread(target=self._work, daemon=True) for _ in range(_WORKERS)),
        ]
        for each in self._threads:
            each.start()
        self._started.wait()

    @property
    def url(self) -> str:
        """The address, without the version of an API."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def limits(self) -> EmulatorLimits:
        """Sizes and times that the server enforces."""
        return self._application.limits

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return len(self._connections)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of bodies that are being received or answered."""
        return self._buffered

    def stop(self) -> None:
        """Refuse new connections, end those that are open, and end the threads."""
        if sys.is_finalizing():
            return  # the threads have been stopped, and `join` would wait for all of its time
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._over.set)
        for _ in range(_WORKERS):
            self._jobs.put(None)
        for each in self._threads:
            each.join(_STOP_SECONDS)

    # --- the worker threads -----------------------------------------------------------------------

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()

    async def respond(
        self,
        connection: Connection,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
    ) -> Answer | LiveAnswer:
        """Respond to one request of a connection."""
        raise NotImplementedError

    async def on_stop(self) -> None:
        """Run in the event loop after all connections are closed."""

    async def asked(self, ask: Callable[[], Answer]) -> Answer:
        """Answer a request with the application, in a worker thread."""
        future: asyncio.Future[Answer] = self._loop.create_future()

        def deliver(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer)

        def job() -> None:
            try:
                answer = ask()
            except BaseException as error:  # of a script's function; the client gets its message
                answer = _crash(error)
            with contextlib.suppress(RuntimeError):  # the server has stopped
                self._loop.call_soon_threadsafe(deliver, answer)

        self._jobs.put(job)
        return await future

    # --- the event loop ---------------------------------------------------------------------------

    def _run(self) -> None:
        # A selector loop has add_reader() on Windows too.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._served_until_over())

    async def _served_until_over(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        # Each connection handles its own errors; nothing is left to write to stderr.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._socket.setblocking(False)
        self._listen()
        self._started.set()
        await self._over.wait()
        self._loop.remove_reader(self._socket)
        tasks = list(self._serving)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._socket.close()
        await self.on_stop()

    # asyncio's own servers lose connections that are accepted while they are closed, and write a
    # traceback where accept() fails.
    def _listen(self) -> None:
        if not self._over.is_set():
            self._loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        for _ in range(_ACCEPTED_AT_ONCE):
            try:
                sock, _address = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptor is left
                idle = [each for each in self._connections if each.idle]
                for each in idle[: len(idle) // 2 + 1]:
                    each.abort()
                self._loop.remove_reader(self._socket)
                self._loop.call_later(_ACCEPT_PAUSE_SECONDS, self._listen)
                return
            sock.setblocking(False)
            task = self._loop.create_task(self._serve(sock))
            self._serving.add(task)
            task.add_done_callback(partial(self._end, sock))

    def _end(self, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        sock.close()  # a task that was cancelled before its first step has closed nothing

    async def _serve(self, sock: socket.socket) -> None:
        reader = asyncio.StreamReader(limit=_READ_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await self._loop.connect_accepted_socket(lambda: protocol, sock)
        writer = asyncio.StreamWriter(transport, protocol, reader, self._loop)
        connection = Connection(self, reader, writer)
        limit, crowded = self._application.limits.max_connections, False
        if len(self._connections) >= 2 * limit:
            # Even those that are being refused are too many.
            connection.abort()
            return
        if len(self._connections) >= limit:
            # In the order of their last requests, so the first has been idle the longest.
            idle = next((each for each in self._connections if each.idle), None)
            if idle is not None:
                idle.abort()
            crowded = idle is None
        self._connections[connection] = None
        try:
            await connection.run(crowded=crowded)
        finally:
            connection.abort()

    def forget(self, connection: Connection) -> None:
        """Remove a connection that is being closed."""
        self._connections.pop(connection, None)

    def served(self, connection: Connection) -> None:
        """Mark the connection as the last one that answered: it was idle for the shortest time."""
        if connection in self._connections:
            del self._connections[connection]
            self._connections[connection] = None

    def buffers(self, size: int) -> bool:
        """Count bytes of bodies in memory; false if they would be too many."""
        if size > 0 and self._buffered + size > self._application.limits.max_buffered_bytes:
            return False
        self._buffered += size
        return True

    def log(self, method: str, target: str, answer: Answer | LiveAnswer) -> None:
        """Log a request that was answered."""
        if self._log is not None:
            rule = f" [{answer.rule}]" if answer.rule else ""
            # h11 refuses control characters in a method and a target.
            self._log(f"{method} {kept_url(target)} {answer.status}{rule}")


class Server(HttpServer):
    """A running emulator; `url` is its address."""

    name = EMULATOR

    def __init__(
        self,
        emulator: Emulator,
        port: int = 0,
        log: Callable[[str], object] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.emulator = emulator
        super().__init__(emulator, port, log, host)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The requests received, without keys; see `Emulator.requests`."""
        return self.emulator.requests

    async def respond(
        self,
        connection: Connection,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
    ) -> Answer | LiveAnswer:
        """Respond with the emulator."""
        return await self.asked(partial(self.emulator.answer, method, target, headers, body))


def _listening(host: str, port: int) -> socket.socket:
    """Open a socket that listens. Raises `ConfigurationError` that names the wrong value."""
    if type(port) is not int or not 0 <= port <= 65535:
        raise ConfigurationError(f"port: expected a number from 0 to 65535, not {quoted(port)}")
    if not isinstance(host, str):
        raise ConfigurationError(f"host: expected a str, not {type(host).__name__}")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=_BACKLOG)
    except OSError as cause:
        reason = (cause.strerror or str(cause)).partition(" (")[0]
        problem = {
            errno.EADDRINUSE: f"port: {port} is in use on {host}; 0 takes a free one",
            errno.EACCES: f"port: {port} is not allowed for this user",
        }.get(cause.errno or 0, f"host: {host}: {reason}")
    except UnicodeError:
        problem = f"host: {quoted(host)} is not an address"
    raise ConfigurationError(problem)


class _Rejected(Exception):
    """A request that is answered with an error, after which the connection is closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """One connection: its requests one after the other, until one side closes it."""

    def __init__(
        self, owner: HttpServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._owner, self._reader, self._writer = owner, reader, writer
        self._limits = owner.limits
        self._http = h11.Connection(
            h11.SERVER, max_incomplete_event_size=self._limits.max_head_bytes
        )
        self._deadline = 0.0
        self._method, self._target = "", ""
        self._headers: list[tuple[str, str]] = []
        self._buffered = 0
        self.idle: bool = True
        """Whether it waits for the first byte of a request."""
        # A write returns when the kernel has the bytes: so no response is held here.
        writer.transport.set_write_buffer_limits(0)

    def abort(self) -> None:
        """Close the connection at once; it no longer counts as open."""
        self.idle = False
        self._owner.forget(self)
        self._writer.transport.abort()

    async def run(self, *, crowded: bool) -> None:
        """Serve the connection; `crowded` refuses its first request."""
        try:
            while await self._exchange(crowded=crowded):
                self._owner.served(self)
            self._writer.close()
            await self._writer.wait_closed()
        except (OSError, EOFError):
            pass  # the client went away
        finally:
            self._release()

    def _release(self) -> None:
        self._owner.buffers(-self._buffered)
        self._buffered = 0

    async def _exchange(self, *, crowded: bool) -> bool:
        """Serve one request; return whether another may follow."""
        self._method = self._target = ""
        self._headers = []
        try:
            if crowded:
                raise _Rejected(503, "Too many connections.")
            if not await self._begins():
                return False
            request = await self._head()
            body = await self._body(request)
        except _Rejected as error:
            await self._reject(error.status, str(error))
            return False
        except h11.RemoteProtocolError as error:
            status, message = error.error_status_hint, str(error)
            if status == 431 and not self._target and b"\n" not in self._http.trailing_data[0]:
                status, message = 414, "The target of the request is too long."
            await self._reject(status, message)
            return False
        owner = self._owner
        answer = await owner.respond(self, self._method, self._target, self._headers, body)
        del body
        self._release()
        owner.log(self._method, self._target, answer)
        try:
            complete = await self._send(answer)
        except h11.LocalProtocolError as error:  # a header that HTTP does not allow
            if self._http.our_state is h11.SEND_RESPONSE:
                await self._reject(500, str(error))
            return False
        if not complete or self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return False
        self._http.start_next_cycle()
        return True

    # --- reading ----------------------------------------------------------------------------------

    async def _begins(self) -> bool:
        """Wait for the first byte of a request; false if none comes."""
        if not self._http.trailing_data[0]:
            self.idle = True
            data, begin = b"\r\n", b""
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    # Old clients end a body with an empty line of its own (RFC 9112, 2.2).
                    while data and not (begin := data.lstrip(b"\r\n")):
                        data = await self._reader.read(_READ_BYTES)
            except TimeoutError:
                return False
            finally:
                self.idle = False
            if not begin:
                return False
            self._http.receive_data(begin)
        return True

    async def _event(self, late: str) -> Any:
        """Read the next event of h11.

        Raises `_Rejected` with the text `late` after the deadline.
        """
        while (event := self._http.next_event()) is h11.NEED_DATA:
            try:
                async with asyncio.timeout_at(self._deadline):
                    data = await self._reader.read(_READ_BYTES)
            except TimeoutError:
                raise _Rejected(408, late) from None
            self._http.receive_data(data)
        return event

    async def _head(self) -> h11.Request:
        limits = self._limits
        self._deadline = self._owner._loop.time() + limits.head_seconds
        request = await self._event(f"The headers took longer than {limits.head_seconds:g} s.")
        if not isinstance(request, h11.Request):
            raise EOFError
        self._method = request.method.decode("ascii")
        self._target = request.target.decode("ascii")
        self._headers = [
            (name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers
        ]
        if request.http_version not in _VERSIONS:
            raise _Rejected(505, "Only HTTP/1.0 and HTTP/1.1 are supported.")
        names = [name for name, _ in self._headers]
        if "transfer-encoding" in names and "content-length" in names:
            # Two lengths are how requests are smuggled past a proxy (RFC 9112, 6.1).
            raise _Rejected(400, "Both content-length and transfer-encoding are given.")
        if len(self._target) > limits.max_target_bytes:
            raise _Rejected(
                414, f"The target of a request has at most {limits.max_target_bytes} bytes."
            )
        if len(names) > limits.max_headers:
            raise _Rejected(431, f"A request has at most {limits.max_headers} headers.")
        if sum(len(name) + len(value) + 4 for name, value in self._headers) > limits.max_head_bytes:
            raise _Rejected(
                431, f"The headers of a request have at most {limits.max_head_bytes} bytes."
            )
        return request

    async def _body(self, request: h11.Request) -> bytes:
        limits = self._limits
        length = next((int(v) for name, v in request.headers if name == b"content-length"), 0)
        too_large = f"Request payload size exceeds the limit: {limits.max_body_bytes} bytes."
        if length > limits.max_body_bytes:
            raise _Rejected(413, too_large)
        if self._http.they_are_waiting_for_100_continue:
            proceed = h11.InformationalResponse(status_code=100, headers=[])
            await self._write(self._http.send(proceed) or b"")
        self._deadline = self._owner._loop.time() + limits.body_seconds
        pieces: list[bytes] = []
        late = f"The body took longer than {limits.body_seconds:g} s."
        size = 0
        while isinstance(event := await self._event(late), h11.Data):
            size += len(event.data)
            if size > limits.max_body_bytes:
                raise _Rejected(413, too_large)
            if not self._owner.buffers(len(event.data)):
                raise _Rejected(503, "The emulator receives too many bytes at once.")
            self._buffered += len(event.data)
            # Those of a body with a length are as large as what a read returns.
            if len(pieces) >= limits.max_chunks and not length:
                raise _Rejected(413, f"A body has at most {limits.max_chunks} chunks.")
            pieces.append(bytes(event.data))
        if not isinstance(event, h11.EndOfMessage):
            raise EOFError
        return b"".join(pieces)

    # --- writing ----------------------------------------------------------------------------------

    async def _reject(self, status: int, message: str) -> None:
        """Answer with an error, then discard what still comes, so that the client reads it."""
        owner = self._owner
        self._release()
        answer = await owner.asked(
            partial(
                owner._application.rejected,
                self._method,
                self._target,
                self._headers,
                status,
                f"{message[:1].upper()}{message[1:]}",
            )
        )
        owner.log(self._method or "-", self._target or "-", answer)
        head = [("connection", "close"), *_head_of(answer, owner.name)]
        lines = [f"HTTP/1.1 {answer.status} {_reason(answer.status)}"]
        lines += [f"{name}: {value}" for name, value in head]
        await self._write("\r\n".join([*lines, "", ""]).encode("latin-1") + answer.body)
        if self._writer.can_write_eof():
            self._writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._limits.linger_seconds):
                while await self._reader.read(_READ_BYTES):
                    pass

    async def _write(self, data: bytes) -> None:
        """Send bytes. Raises `TimeoutError` if the client does not take them."""
        for at in range(0, len(data), _WRITE_BYTES):
            self._writer.write(data[at : at + _WRITE_BYTES])
            async with asyncio.timeout(self._limits.write_seconds):
                await self._writer.drain()

    async def _send(self, answer: Answer | LiveAnswer) -> bool:
        """Send a response; false if the connection is to be closed."""
        if isinstance(answer, LiveAnswer):
            await self._send_live(answer)
            return True
        has_body = self._method != "HEAD" and answer.status not in (204, 304)
        if answer.whole:
            data = self._started(answer)
            if has_body:
                data += self._http.send(h11.Data(answer.body)) or b""
            await self._write(data + (self._http.send(h11.EndOfMessage()) or b""))
            return True
        begun = False
        for piece in answer.pieces:
            if isinstance(piece, Pause):
                await self._pause(piece.seconds)
            elif isinstance(piece, (Cut, Reset)):
                if isinstance(piece, Reset):
                    sock = self._writer.get_extra_info("socket")
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
                    self.abort()
                return False
            else:
                # Headers and first bytes in one write: a small response arrives in one packet.
                data = b"" if begun else self._started(answer)
                begun = True
                if piece and has_body:
                    data += self._http.send(h11.Data(piece)) or b""
                await self._write(data)
        data = b"" if begun else self._started(answer)
        await self._write(data + (self._http.send(h11.EndOfMessage()) or b""))
        return True

    async def _send_live(self, answer: LiveAnswer) -> None:
        """Send the pieces of a response as they come."""
        data = b""
        async with self.while_here(), contextlib.aclosing(answer.pieces) as pieces:
            async for piece in pieces:
                if self._http.our_state is h11.SEND_RESPONSE:
                    data = self._started(answer)
                if piece:
                    await self._write(data + (self._http.send(h11.Data(piece)) or b""))
                    data = b""
        await self._write(data + (self._http.send(h11.EndOfMessage()) or b""))

    @contextlib.asynccontextmanager
    async def while_here(self) -> AsyncIterator[None]:
        """Cancel the task of the block if the client goes away meanwhile."""
        task = asyncio.current_task()
        assert task is not None
        watch = self._owner._loop.create_task(self._watch(task))
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self, task: asyncio.Task[Any]) -> None:
        while not (self._writer.is_closing() or self._reader.at_eof()):  # noqa: ASYNC110  no event tells of either
            await asyncio.sleep(_AWAY_SECONDS)
        task.cancel()

    def _started(self, answer: Answer | LiveAnswer) -> bytes:
        """Encode status line and headers."""
        head = _head_of(answer, self._owner.name)
        response = h11.Response(
            status_code=answer.status, headers=head, reason=_reason(answer.status)
        )
        return self._http.send(response) or b""

    async def _pause(self, seconds: float) -> None:
        """Wait, unless the client goes away meanwhile: then it raises `EOFError`."""
        end = self._owner._loop.time() + seconds
        while (left := end - self._owner._loop.time()) > 0:
            await asyncio.sleep(min(left, _AWAY_SECONDS))
            if self._writer.is_closing() or self._reader.at_eof():
                raise EOFError


def _head_of(answer: Answer | LiveAnswer, server: str) -> list[tuple[str, str]]:
    """Return the headers of a response, with its length if the length is known."""
    kept = [(name, value) for name, value in answer.headers if name not in _TRANSPORT_HEADERS]
    length = (
        [("content-length", str(len(answer.body)))]
        if isinstance(answer, Answer) and answer.whole
        else []
    )
    return [
        ("server", server),
        ("date", formatdate(usegmt=True)),
        *kept,
        *length,
    ]


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _crash(error: BaseException) -> Answer:
    message = f"the emulator failed: {type(error).__name__}: {error}"
    body = {"error": {"code": 500, "message": message, "status": "INTERNAL"}}
    return json_answer(json_bytes(body, indent=2), 500)


@contextlib.contextmanager
def serve(
    emulator: Emulator,
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    log: Callable[[str], object] | None = None,
) -> Iterator[Server]:
    """Serve the emulator while the block runs, on a free port of loopback if none is given.

    Raises `ConfigurationError` for a port that is in use and an address that this machine has not.

    `log` gets a line for each request: method, path without keys, status, and the rule that
    refused it.
    """
    server = Server(emulator, port, log, host)
    try:
        yield server
    finally:
        server.stop()
