"""WebSocket sessions for asyncio and trio. `links.py` has those for threads."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any, Generic

import anyio
import httpx

from wire.core.call import Received, Sent
from wire.core.limits import Limits
from wire.core.stream_block import ForTasks
from wire.http.duplex import LINK, SocketState, second_listener, upgraded
from wire.http.sending import TRANSPORT_ERRORS, Attempt
from wire.http.sockets import has_arrived
from wire.http.websocket import READ_BYTES, WRITE_BYTES, Tape, WebSocket


class AsyncLink:
    """A WebSocket on the connection of a response.

    One task may wait for messages while others send.
    """

    __slots__ = ("_out", "_response", "_writing", "network", "websocket")

    def __init__(
        self,
        extensions: dict[str, Any],
        response: httpx.Response,
        limits: Limits,
        tape: Tape | None = None,
    ) -> None:
        self.network: Any = upgraded(extensions, response)
        self.websocket: WebSocket = WebSocket(limits, tape)
        self._response = response
        self._out = bytearray()
        self._writing = anyio.Lock()

    async def is_open(self) -> bool:
        """Return whether it can be used further; what has arrived is read."""
        connection = self.network.get_extra_info("socket")
        try:
            while not self.websocket.over and has_arrived(connection):
                if not await self.read(_ARRIVED_SECONDS):
                    break  # a part of what TLS sends at once
        except TRANSPORT_ERRORS:
            return False
        return not self.websocket.over

    async def read(self, seconds: float) -> bool:
        """Read once; return whether anything, or the end, came within so many seconds."""
        data = None
        with anyio.move_on_after(seconds):
            data = await _translated(self.network.read(READ_BYTES, None))
        if data is None:
            return False
        self.websocket.feed(data)
        self._out += self.websocket.output()
        if self._out:
            await self.flush(seconds)
        return True

    async def send(self, message: bytes, seconds: float) -> None:
        """Send a text; raise `TimeoutError` if the server takes none of it for so many seconds."""
        self._out += self.websocket.send(message)
        await self.flush(seconds)

    async def ping(self, seconds: float) -> None:
        """Ask whether the server is there."""
        self._out += self.websocket.ping()
        await self.flush(seconds)

    async def flush(self, seconds: float) -> None:
        """Send everything, in the order in which it was made."""
        async with self._writing:
            try:
                while self._out:
                    piece = bytes(self._out[:WRITE_BYTES])
                    del self._out[: len(piece)]
                    # TLS that is cancelled while it writes loses what it has encrypted.
                    with anyio.fail_after(min(seconds, _PIECE_SECONDS), shield=True):
                        await _translated(self.network.write(piece, None))
            except BaseException:
                self.websocket.break_off()  # nothing can be sent behind half a message
                raise

    async def close(self) -> None:
        """Tell the server, and close the connection; a task that waits for it wakes up."""
        with anyio.CancelScope(shield=True):
            try:
                self._out += self.websocket.close()
                with anyio.move_on_after(_CLOSE_SECONDS):
                    await _translated(self.network.write(bytes(self._out), None))
            except TRANSPORT_ERRORS:
                pass  # it is closed in any case
            try:
                await self.network.aclose()
                await self._response.aclose()
            except TRANSPORT_ERRORS:
                pass


_PIECE_SECONDS = 10.0
"""How long a cancellation waits for the connection to take a piece of a message."""
_ARRIVED_SECONDS = 0.05
_CLOSE_SECONDS = 0.5
"""How long a server may take to read that the session ends."""


async def _translated(step: Any) -> Any:
    """Await a step of a connection; its errors become those of Python."""
    try:
        return await step
    except (OSError, RuntimeError):
        raise
    except Exception as cause:  # of httpcore, in whichever of its versions
        raise ConnectionError(str(cause) or type(cause).__name__) from cause


class AsyncSocket(ForTasks, SocketState[Sent, Received]):
    """A WebSocket session for asyncio and trio; see `Socket`."""

    def __init__(self, attempt: Attempt, response: httpx.Response) -> None:
        made = response.extensions.get(LINK, AsyncLink)
        self._link: AsyncLink = made(attempt._extensions, response, attempt.target.limits)
        super().__init__(attempt, self._link.websocket)
        self._is_heard = False

    async def send(self, event: Sent) -> None:
        """Send one event.

        Returns when the connection has taken it. Raises the error of an event that cannot be sent,
        and that of a session that has ended.
        """
        message = self._encoded(event)
        try:
            await self._link.send(message, self._attempt._idle)
        except TRANSPORT_ERRORS as cause:
            raise self._broken(cause) from cause

    def events(self) -> AsyncIterator[Received]:
        """Iterate over the events of the server until it closes the session.

        It may be left and called again: it goes on with the next event. A regular end (1000) ends
        it; any other raises its `WireError`, each time.
        """
        return _AsyncEvents(self)

    async def aclose(self) -> None:
        """End the session, from any task. A task that waits for events gets the end."""
        if self._left():
            try:
                await self._link.close()
            finally:
                self._tell_end()

    async def _message(self) -> bytes | None:
        if self._is_heard:
            raise second_listener()
        self._is_heard = True
        silence, link = self._silence, self._link
        silence.heard(time.monotonic())
        try:
            while (message := self._next()) is None and not self._has_ended:
                now = time.monotonic()
                if silence.is_over(now):
                    raise TimeoutError
                if silence.asks(now):
                    await link.ping(silence.wait(now))
                if await link.read(silence.wait(now)):
                    silence.heard(time.monotonic())
            return message
        except TRANSPORT_ERRORS as cause:
            if self._closed:
                return None
            raise self._broken(cause) from cause
        finally:
            self._is_heard = False


class _AsyncEvents(ForTasks, Generic[Received]):
    """Not a generator: trio warns about one that is left before its end."""

    __slots__ = ("_socket",)

    def __init__(self, socket: AsyncSocket[Any, Received]) -> None:
        self._socket = socket

    def __aiter__(self) -> AsyncIterator[Received]:
        return self

    async def __anext__(self) -> Received:
        message = await self._socket._message()
        if message is None:
            raise StopAsyncIteration
        return self._socket._decoded(message)


async def open_socket(attempt: Attempt, response: httpx.Response) -> AsyncSocket[Any, Any]:
    """Begin the session of a response."""
    return AsyncSocket(attempt, response)
