"""The emulator as an HTTP server on loopback: opens sockets, and sleeps where a response pauses.

One thread runs an event loop for all connections, with h11 as the HTTP parser, so that an idle
or slow connection costs no thread. A few worker threads ask the emulator, so that a long request
does not delay the others' bytes. `EmulatorLimits` bounds everything that a client can hold on to,
and `crowd` says which connection gives way to a new one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import errno
import queue
import socket
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

from wire.core.errors import ConfigurationError
from wire.core.hosts import is_loopback
from wire.core.logs import logger
from wire.core.secret import quoted
from wire.testing.cassette.format.kept_headers import EMULATOR, kept_url
from wire.testing.emulator.answer import Answer, LiveAnswer, json_answer, json_bytes
from wire.testing.emulator.connection import Application, Connection
from wire.testing.emulator.core import Emulator
from wire.testing.emulator.crowd import Crowd, Phase, Repeated, peer_of
from wire.testing.emulator.limits import EmulatorLimits
from wire.testing.emulator.sessions import Session

_LOG = logger("wire.server")
_READ_BYTES = 64 * 1024
_WORKERS = 4
_BACKLOG = 4096
"""Connections that wait to be accepted; Linux caps it at somaxconn."""
_STOP_SECONDS = 5.0
"""A script's function that does not return keeps its thread, but not the one that stops."""
_ACCEPT_PAUSE_SECONDS = 0.05
_ACCEPTED_AT_ONCE = 64
"""Connections that are accepted before the others are served again."""
_LEAVING = 64
"""Connections that are being refused at once; one more ends the oldest of them without a word."""
_SAME_LINE_SECONDS = 60.0
"""A line that thousands of connections cause is written once in this time."""
_SEND_BYTES = 256 * 1024
"""What the system takes of a response that is not read; Linux would let it grow to 4 MiB, 8 GiB
for 2,000 clients."""
_PROBES = 3
"""Questions without an answer after which the system takes a silent client for gone."""


class HttpServer:
    """An application served over HTTP; `url` is its address."""

    name = "wire"
    """The header `server` of responses."""
    part_of_descriptors = 3 / 4
    """How many of the file descriptors of the process its connections may take."""

    def __init__(
        self,
        application: Application,
        port: int = 0,
        log: Callable[[str], object] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self.application: Application = application
        self._log = log
        self._socket = _listening(host, port)
        self.host = host
        self.port: int = self._socket.getsockname()[1]
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._crowd = _crowd(application.limits, self.part_of_descriptors)
        self._lines = Repeated(_SAME_LINE_SECONDS)
        self._serving: set[asyncio.Task[Any]] = set()
        self._buffered = self._held = 0
        self.loop: asyncio.AbstractEventLoop
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
        return self.application.limits

    @property
    def open_connections(self) -> int:
        """How many connections are open."""
        return len(self._crowd)

    @property
    def buffered_bytes(self) -> int:
        """Bytes of bodies that are being received or answered."""
        return self._buffered

    def stop(self) -> None:
        """Refuse new connections, end those that are open, and end the threads."""
        if sys.is_finalizing():
            return  # the threads have been stopped, and `join` would wait for all of its time
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self.loop.call_soon_threadsafe(self._over.set)
        for _ in range(_WORKERS):
            self._jobs.put(None)
        for each in self._threads:
            each.join(_STOP_SECONDS)

    # --- the worker threads -----------------------------------------------------------------------

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # it would keep its answer until the next one

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

    async def session(
        self, connection: Connection, target: str, headers: list[tuple[str, str]]
    ) -> Session | Answer:
        """Refuse a WebSocket; a server with sessions has them in place of this."""
        message = "This server has no WebSocket here."
        refuse = partial(self.application.rejected, "GET", target, headers, 501, message)
        answer: Answer = await self.asked(refuse)
        return answer

    async def on_stop(self) -> None:
        """Run in the event loop after all connections are closed."""

    async def asked(self, ask: Callable[[], Any]) -> Any:
        """Answer a request with the application, in a worker thread."""
        future: asyncio.Future[Any] = self.loop.create_future()

        def deliver(answer: Any) -> None:
            if not future.done():
                future.set_result(answer)

        def job() -> None:
            try:
                answer = ask()
            except BaseException as error:  # of a script's function; the client gets its message
                answer = _crash(error)
            with contextlib.suppress(RuntimeError):  # the server has stopped
                self.loop.call_soon_threadsafe(deliver, answer)

        self._jobs.put(job)
        return await future

    # --- the event loop ---------------------------------------------------------------------------

    def _run(self) -> None:
        # A selector loop has add_reader() on Windows too.
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            runner.run(self._served_until_over())

    async def _served_until_over(self) -> None:
        self.loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        # Each connection handles its own errors; nothing is left to write to stderr.
        self.loop.set_exception_handler(lambda loop, context: None)
        self._socket.setblocking(False)
        self._listen()
        self._started.set()
        await self._over.wait()
        self.loop.remove_reader(self._socket)
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
            self.loop.add_reader(self._socket, self._accept)

    def _accept(self) -> None:
        # Those of a few rounds are open beside the places; too many would drive each other out
        # before their heads are read, or leave no descriptor.
        for _ in range(min(_ACCEPTED_AT_ONCE, self._crowd.most // 16 + 1)):
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptor is left
                self._without_descriptors()
                return
            sock.setblocking(False)
            _prepare(sock, self.limits.probe_seconds)
            task = self.loop.create_task(self._serve(sock, peer_of(str(address[0]))))
            self._serving.add(task)
            task.add_done_callback(partial(self._end, sock))

    def _without_descriptors(self) -> None:
        """Close half of those that give way; accept again after a pause, since it would spin."""
        for _ in range(self._crowd.giving_way // 2 + 1):
            gone = self._crowd.longest()
            if gone is not None:
                gone.abort()
        self._tell("descriptors", "no file descriptor is left for a new connection")
        self.loop.remove_reader(self._socket)
        self.loop.call_later(_ACCEPT_PAUSE_SECONDS, self._listen)

    def _end(self, sock: socket.socket, task: asyncio.Task[None]) -> None:
        self._serving.discard(task)
        sock.close()  # a task that was cancelled before its first step has closed nothing

    async def _serve(self, sock: socket.socket, peer: str) -> None:
        reader = asyncio.StreamReader(limit=_READ_BYTES)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await self.loop.connect_accepted_socket(lambda: protocol, sock)
        writer = asyncio.StreamWriter(transport, protocol, reader, self.loop)
        connection = Connection(self, reader, writer)
        refused, gone = self._crowd.enter(connection, peer)
        for each in gone:
            each.abort()
        if refused or gone:
            how = f"refused with {refused}" if refused else "closed to make room"
            which = "one of" if refused else "one, for"
            words = f"too many connections: {which} {peer} was {how}; {len(self._crowd)} are open"
            self._tell(f"crowd {refused}", words)
        try:
            await connection.run(refused)
        finally:
            connection.abort()

    def forget(self, connection: Connection) -> None:
        """Remove a connection that is being closed."""
        self._crowd.leave(connection)

    def enters(self, connection: Connection, phase: Phase) -> Phase:
        """Put a connection into a phase; return the one that it was in."""
        before = self._crowd.phase(connection)
        for each in self._crowd.move(connection, phase):
            each.abort()
        return before

    def holds(self, size: int) -> None:
        """Count bytes of responses in memory; who reads none of theirs gives way."""
        self._held += size
        while size > 0 and self._held > self.limits.max_buffered_bytes:
            gone = self._crowd.longest(phases=(Phase.READER,))
            if gone is None:
                return
            gone.abort()

    def buffers(self, size: int) -> bool:
        """Count bytes of bodies in memory; false if they would be too many."""
        if size > 0 and self._buffered + size > self.limits.max_buffered_bytes:
            return False
        self._buffered += size
        return True

    def log(self, method: str, target: str, answer: Answer | LiveAnswer) -> None:
        """Log a request that was answered."""
        if self._log is not None:
            rule = f" [{answer.rule}]" if answer.rule else ""
            # h11 refuses control characters in a method and a target.
            line = f"{method} {kept_url(target)} {answer.status}{rule}"
            if target == "-":  # no head: thousands of them are one line
                line = self._lines.line(line, line, self.loop.time())
            if line:
                self._log(line)

    def _tell(self, kind: str, text: str) -> None:
        """Log what the operator has to know, once in a while."""
        if line := self._lines.line(kind, text, self.loop.time()):
            _LOG.warning("%s", line)
            if self._log is not None:
                self._log(line)


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
        answer: Answer = await self.asked(
            partial(self.emulator.answer, method, target, headers, body)
        )
        return answer

    async def session(
        self, connection: Connection, target: str, headers: list[tuple[str, str]]
    ) -> Session | Answer:
        """Open a session of the emulator."""
        opened: Session | Answer = await self.asked(partial(self.emulator.session, target, headers))
        return opened


class Awaiting:
    """Runs coroutines of a loop for a worker thread that serves a session."""

    def __init__(self, loop: asyncio.AbstractEventLoop, here: Callable[[], Any]) -> None:
        self._loop, self._here = loop, here
        self._tasks: set[asyncio.Task[Any]] = set()  # the loop holds tasks weakly

    def __call__(self, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Return the result of the coroutine that `make` makes.

        It is cancelled when the client goes away. Raises `EOFError` then, and after the server has
        stopped. In the loop itself, where what a client has left is discarded, it is only started.
        """
        if self._is_loop():
            self._start(make())
            return None
        found: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            self._loop.call_soon_threadsafe(lambda: self._start(self._guarded(make, found)))
        except RuntimeError:
            raise EOFError from None
        while True:
            try:
                return found.result(1.0)
            except TimeoutError:
                if not self._loop.is_running():
                    raise EOFError from None

    def _is_loop(self) -> bool:
        try:
            return asyncio.get_running_loop() is self._loop
        except RuntimeError:
            return False

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        self._tasks.add(task := self._loop.create_task(work))
        task.add_done_callback(self._tasks.discard)

    async def _guarded(
        self, make: Callable[[], Coroutine[Any, Any, Any]], found: concurrent.futures.Future[Any]
    ) -> None:
        try:
            async with self._here():
                result = await make()
        except asyncio.CancelledError:
            found.set_exception(EOFError())
        except BaseException as error:
            found.set_exception(error)
        else:
            found.set_result(result)


def _crowd(limits: EmulatorLimits, part_of_descriptors: float) -> Crowd[Connection]:
    """Return the room for connections: a part of the descriptors at most."""
    descriptors = _descriptors()
    most = min(int(limits.max_connections), max(int(descriptors * part_of_descriptors), 1))

    def share(peer: str) -> int:
        # A proxy on this machine has one address for all of its clients.
        part = most if is_loopback(peer.removesuffix("/64")) else max(most * 3 // 4, 1)
        return min(int(limits.max_connections_per_peer), part)

    return Crowd(most, share, min(_LEAVING, max(descriptors // 16, 1)))


def _descriptors() -> int:
    """Return how many file descriptors this process may have."""
    try:
        import resource
    except ImportError:  # Windows, whose sockets are no descriptors
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft


def _prepare(sock: socket.socket, seconds: float) -> None:
    """Bound what the system holds, and let it find out whether a silent client is still there."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    wait = max(1, round(seconds))
    for name, value in (("KEEPIDLE", wait), ("KEEPINTVL", wait), ("KEEPCNT", _PROBES)):
        option = getattr(socket, f"TCP_{name}", None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


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
