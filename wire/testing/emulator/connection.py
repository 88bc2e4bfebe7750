"""One connection of a server: h11 reads its requests, each under a clock of `EmulatorLimits`."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from email.utils import formatdate
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol

from wire.core.errors import ConfigurationError
from wire.testing.cassette.pieces import Cut, Pause, Reset
from wire.testing.emulator.answer import Answer, LiveAnswer
from wire.testing.emulator.crowd import Phase
from wire.testing.emulator.limits import EmulatorLimits
from wire.testing.emulator.sessions import Close, Session
from wire.testing.emulator.upgraded import accepting, problem, run_session, wants_websocket

try:
    import h11
except ImportError:
    raise ConfigurationError(
        "the emulator as a server needs h11: pip install 'wire-llm[emulator]'"
    ) from None

_LINGER_ZERO = struct.pack("ii", 1, 0)  # SO_LINGER with time 0: closing sends a reset
_READ_BYTES = 64 * 1024
_WRITE_BYTES = 64 * 1024
_AWAY_SECONDS = 0.25
"""How often a pause looks whether the client went away."""
_RETRY_AFTER = "1"
"""Seconds in the `retry-after` of a connection that found no place."""
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


class Owner(Protocol):
    """The server of a connection."""

    name: str
    application: Application
    loop: asyncio.AbstractEventLoop

    async def respond(
        self,
        connection: Connection,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
    ) -> Answer | LiveAnswer:
        """Respond to one request of a connection."""
        ...

    async def session(
        self, connection: Connection, target: str, headers: list[tuple[str, str]]
    ) -> Session | Answer:
        """Open a session over WebSocket, or return the response that refuses it."""
        ...

    async def asked(self, ask: Callable[[], Any]) -> Any:
        """Answer a request with the application, in a worker thread."""
        ...

    def enters(self, connection: Connection, phase: Phase) -> Phase:
        """Put a connection into a phase; return the one that it was in."""
        ...

    def forget(self, connection: Connection) -> None:
        """Remove a connection that is being closed."""
        ...

    def buffers(self, size: int) -> bool:
        """Count bytes of bodies in memory; false if they would be too many."""
        ...

    def holds(self, size: int) -> None:
        """Count bytes of responses in memory; who reads none of theirs gives way."""
        ...

    def log(self, method: str, target: str, answer: Answer | LiveAnswer) -> None:
        """Log a request that was answered."""
        ...


class _Rejected(Exception):
    """A request that is answered with an error, after which the connection is closed."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """One connection: its requests one after the other, until one side closes it."""

    def __init__(
        self, owner: Owner, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._owner, self._reader, self._writer = owner, reader, writer
        self._limits = owner.application.limits
        self._http = h11.Connection(
            h11.SERVER, max_incomplete_event_size=self._limits.max_head_bytes
        )
        self._deadline = 0.0
        self._method, self._target = "", ""
        self._headers: list[tuple[str, str]] = []
        self._buffered = self._held = 0
        # A write returns when the kernel has the bytes: so no response is held here.
        writer.transport.set_write_buffer_limits(0)

    def abort(self) -> None:
        """Close the connection at once; it no longer counts as open."""
        self._owner.forget(self)
        self._release()  # at once: who waits for room counts on it
        self._writer.transport.abort()

    async def run(self, refused: int) -> None:
        """Serve the connection; a status refuses it before its first request."""
        try:
            while await self._exchange(refused):
                self._owner.enters(self, Phase.HEAD)
            self._writer.close()
            await self._writer.wait_closed()
        except (OSError, EOFError) as error:  # the client went away
            # The reader keeps its error, whose frames would keep the response until the collector
            # of cycles runs: gigabytes of large ones.
            error.__traceback__ = error.__cause__ = error.__context__ = None
        finally:
            self._release()

    def _release(self) -> None:
        self._owner.buffers(-self._buffered)
        self._owner.holds(-self._held)
        self._buffered = self._held = 0

    async def _exchange(self, refused: int) -> bool:
        """Serve one request; return whether another may follow."""
        self._method = self._target = ""
        self._headers = []
        try:
            if refused:
                of_whom = " of this address" if refused == 429 else ""
                raise _Rejected(refused, f"Too many connections{of_whom}.")
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
        answer = await self._answered(body)
        if not isinstance(answer, Answer | LiveAnswer):
            return await self._upgrade(answer)
        del body
        self._release()
        owner.log(self._method, self._target, answer)
        if isinstance(answer, Answer):
            self._held = sum(len(piece) for piece in answer.pieces if isinstance(piece, bytes))
            owner.holds(self._held)
        try:
            complete = await self._send(answer)
        except h11.LocalProtocolError as error:  # a header that HTTP does not allow
            if self._http.our_state is h11.SEND_RESPONSE:
                await self._reject(500, str(error))
            return False
        self._release()
        if not complete or self._http.states != {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            return False
        self._http.start_next_cycle()
        return True

    async def _answered(self, body: bytes) -> Answer | LiveAnswer | Session:
        self._owner.enters(self, Phase.ANSWER)
        if self._method == "GET" and wants_websocket(self._headers):
            return await self._owner.session(self, self._target, self._headers)
        return await self._owner.respond(self, self._method, self._target, self._headers, body)

    # --- a session over WebSocket -----------------------------------------------------------------

    async def _upgrade(self, session: Session) -> bool:
        """Serve a session; return false, since no request follows it."""
        if reason := problem():
            await self._reject(501, reason)
            return False
        head = [*_named(self._owner.name), *accepting(self._headers)]
        accepted = h11.InformationalResponse(status_code=101, headers=head)
        await self._write(self._http.send(accepted) or b"")
        begun = self._http.trailing_data[0]
        limits = self._limits
        await run_session(session, self, begun, limits.max_body_bytes, limits.linger_seconds)
        return False

    async def read(self, seconds: float | None = None) -> bytes | None:
        """Return the next bytes of a session; none at its end, and after a long silence.

        `None` means that the seconds have passed.
        """
        try:
            async with asyncio.timeout(self._limits.idle_seconds if seconds is None else seconds):
                return await self._reader.read(_READ_BYTES)
        except TimeoutError:
            return b"" if seconds is None else None

    def now(self) -> float:
        """Return the time of the loop in seconds."""
        return self._owner.loop.time()

    async def write(self, data: bytes) -> None:
        """Send bytes of a session."""
        await self._write(data)

    async def pause(self, seconds: float) -> None:
        """Wait, unless the client goes away meanwhile."""
        await self._pause(seconds)

    async def made(self, make: Callable[[], Any]) -> Any:
        """Return what a function of a session returns, in a worker thread."""
        made = await self._owner.asked(make)
        # An answer is the error of a function of the script that raised.
        return [Close(1011, made.body.decode()[:100])] if isinstance(made, Answer) else made

    def enters(self, phase: Phase) -> Phase:
        """Put the connection into a phase."""
        return self._owner.enters(self, phase)

    def reset(self) -> None:
        """End the connection by a reset."""
        sock = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO)
        self.abort()

    # --- reading ----------------------------------------------------------------------------------

    async def _begins(self) -> bool:
        """Wait for the first byte of a request; false if none comes."""
        if not self._http.trailing_data[0]:
            data, begin = b"\r\n", b""
            try:
                async with asyncio.timeout(self._limits.idle_seconds):
                    # Old clients end a body with an empty line of its own (RFC 9112, 2.2).
                    while data and not (begin := data.lstrip(b"\r\n")):
                        data = await self._reader.read(_READ_BYTES)
            except TimeoutError:
                return False
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
        self._deadline = self._owner.loop.time() + limits.head_seconds
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
        self._owner.enters(self, Phase.BODY)
        length = next((int(v) for name, v in request.headers if name == b"content-length"), 0)
        too_large = f"Request payload size exceeds the limit: {limits.max_body_bytes} bytes."
        if length > limits.max_body_bytes:
            raise _Rejected(413, too_large)
        if self._http.they_are_waiting_for_100_continue:
            proceed = h11.InformationalResponse(status_code=100, headers=[])
            await self._write(self._http.send(proceed) or b"")
        self._deadline = self._owner.loop.time() + limits.body_seconds
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
        owner.enters(self, Phase.LEAVING)
        answer = await owner.asked(
            partial(
                owner.application.rejected,
                self._method,
                self._target,
                self._headers,
                status,
                f"{message[:1].upper()}{message[1:]}",
            )
        )
        owner.log(self._method or "-", self._target or "-", answer)
        head = [("connection", "close"), *_head_of(answer, owner.name)]
        if status in (429, 503):
            head.append(("retry-after", _RETRY_AFTER))
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
            if not self._writer.transport.get_write_buffer_size():
                await self._writer.drain()  # raises if the client has gone
                continue
            before = self._owner.enters(self, Phase.READER)
            async with asyncio.timeout(self._limits.write_seconds):
                await self._writer.drain()
            self._owner.enters(self, before)

    async def _send(self, answer: Answer | LiveAnswer) -> bool:
        """Send a response; false if the connection is to be closed."""
        if isinstance(answer, LiveAnswer):
            await self._send_live(answer)
            return True
        has_body = self._method != "HEAD" and answer.status not in (204, 304)
        if answer.whole:
            data = self._started(answer)
            if has_body:
                body = self._http.send(h11.Data(answer.body)) or b""
                if len(body) > _WRITE_BYTES:  # one packet for both would cost a copy of the body
                    await self._write(data)
                    data = b""
                data += body
            await self._write(data + (self._http.send(h11.EndOfMessage()) or b""))
            return True
        begun = False
        for piece in answer.pieces:
            if isinstance(piece, Pause):
                await self._pause(piece.seconds)
            elif isinstance(piece, (Cut, Reset)):
                if isinstance(piece, Reset):
                    self.reset()
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
        watch = self._owner.loop.create_task(self._watch(task))
        try:
            yield
        finally:
            watch.cancel()

    async def _watch(self, task: asyncio.Task[Any]) -> None:
        # What nobody reads yet, such as the close of a session, hides the end from `at_eof`.
        while not (self._writer.is_closing() or getattr(self._reader, "_eof", False)):  # noqa: ASYNC110  no event tells of either
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
        end = self._owner.loop.time() + seconds
        while (left := end - self._owner.loop.time()) > 0:
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
    return [*_named(server), *kept, *length]


def _named(server: str) -> list[tuple[str, str]]:
    return [("server", server), ("date", formatdate(usegmt=True))]


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
