"""WebSocket sessions for threads. `async_links.py` has those for asyncio and trio."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx

from wire.core.call import Received, Sent
from wire.core.errors import ConfigurationError
from wire.core.forks import at_fork
from wire.core.limits import Limits
from wire.core.stream_block import ForThreads
from wire.http.duplex import LINK, MAX_QUEUED, SocketState, second_listener, upgraded
from wire.http.sending import TRANSPORT_ERRORS, Attempt
from wire.http.sockets import is_ready, shut_down
from wire.http.websocket import READ_BYTES, WRITE_BYTES, Tape, WebSocket

_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)
_LEADING_SECONDS = 0.001


class Link:
    """A WebSocket on the connection of a response.

    The socket does not block. One thread may wait for messages while others send: each use of the
    socket is short and under a lock, since OpenSSL allows one thread at a time.
    """

    __slots__ = ("__weakref__", "_lock", "_out", "_response", "_socket", "network", "websocket")

    def __init__(
        self,
        extensions: dict[str, Any],
        response: httpx.Response,
        limits: Limits,
        tape: Tape | None = None,
    ) -> None:
        self.network: Any = upgraded(extensions, response)
        network = self.network
        self.websocket: WebSocket = WebSocket(limits, tape)
        self._response = response
        self._socket = network.get_extra_info("socket")
        if self._socket is None or isinstance(network.get_extra_info("ssl_object"), ssl.SSLObject):
            raise ConfigurationError(
                "http: a WebSocket needs a connection with a socket of its own, not one within the "
                "TLS of a proxy"
            )
        self._lock = threading.Lock()
        self._out = bytearray()
        at_fork(self, Link._forked)
        try:
            # What came in one piece with the head of the response, if anything did.
            self.websocket.feed(network.read(READ_BYTES, _LEADING_SECONDS))
        except Exception:
            pass  # nothing has come yet, or the first read tells what is wrong
        self._socket.setblocking(False)
        self.flush()

    def _forked(self) -> None:
        """Leave the connection to the parent (R-42)."""
        self._lock, self._socket = threading.Lock(), socket.socket()
        self._out.clear()
        self.websocket.break_off()

    def is_open(self) -> bool:
        """Return whether it can be used further; what has arrived is read."""
        try:
            while not self.websocket.over and self._take():
                self.flush()
        except TRANSPORT_ERRORS:
            return False
        return not self.websocket.over

    def read(self, seconds: float) -> bool:
        """Read once; return whether anything, or the end, came within so many seconds."""
        if not self._take() and not (is_ready(self._socket, seconds) and self._take()):
            return False
        self.flush()
        return True

    def _take(self) -> bool:
        with self._lock:
            try:
                data = self._socket.recv(READ_BYTES)
            except _NOT_READY:
                return False
            self.websocket.feed(data)
            return True

    def send(self, message: bytes, seconds: float) -> None:
        """Send a text; raise `TimeoutError` if the server takes none of it for so many seconds."""
        with self._lock:
            self._out += self.websocket.send(message)
        while not self.flush():
            # A server may take nothing until its own messages are read.
            if not is_ready(self._socket, seconds, writes=True):
                raise TimeoutError
            if len(self.websocket.messages) < MAX_QUEUED:
                self._take()

    def ping(self) -> None:
        """Ask whether the server is there."""
        with self._lock:
            self._out += self.websocket.ping()
        self.flush()

    def flush(self) -> bool:
        """Send what the socket takes now; return whether everything is sent."""
        with self._lock:
            self._out += self.websocket.output()
            try:
                while self._out:
                    del self._out[: self._socket.send(self._out[:WRITE_BYTES])]
            except _NOT_READY:
                return False
        return True

    def stop(self) -> None:
        """Tell the server, and shut the connection down: whoever waits for it wakes up."""
        try:
            with self._lock:
                self._out += self.websocket.close()
            self.flush()
        except TRANSPORT_ERRORS:
            pass  # it is closed in any case
        shut_down(self._socket)

    def end(self) -> None:
        """Close the connection, after nobody waits for it."""
        try:
            self._response.close()
        except TRANSPORT_ERRORS:
            pass


class Socket(ForThreads, SocketState[Sent, Received]):
    """A WebSocket session: events go out by `send` and come in by `events`, at the same time.

    One thread may wait for events while others send. Pings of the server are answered while the
    program waits for events or sends.
    """

    def __init__(self, attempt: Attempt, response: httpx.Response) -> None:
        made = response.extensions.get(LINK, Link)
        self._link: Link = made(attempt._extensions, response, attempt.target.limits)
        super().__init__(attempt, self._link.websocket)
        self._listener: dict[None, tuple[int]] = {}
        """The thread that waits for messages, as in `wire.http.client.Stream`."""

    def send(self, event: Sent) -> None:
        """Send one event.

        Returns when the connection has taken it. Raises the error of an event that cannot be sent,
        and that of a session that has ended.
        """
        message = self._encoded(event)
        try:
            self._link.send(message, self._attempt._idle)
        except TRANSPORT_ERRORS as cause:
            raise self._broken(cause) from cause

    def events(self) -> Iterator[Received]:
        """Iterate over the events of the server until it closes the session.

        It may be left and called again: it goes on with the next event. A regular end (1000) ends
        it; any other raises its `WireError`, each time.
        """
        while (message := self._message()) is not None:
            yield self._decoded(message)

    def close(self) -> None:
        """End the session, from any thread. A thread that waits for events gets the end."""
        mine = (threading.get_ident(),)
        left = self._left()
        try:
            if left:
                self._link.stop()
            if self._listener.setdefault(None, mine) is mine:
                self._link.end()  # otherwise the thread that listens closes the connection
                self._listener.clear()
        finally:
            if left:
                self._tell_end()

    def _message(self) -> bytes | None:
        mine = (threading.get_ident(),)
        if self._listener.setdefault(None, mine) is not mine:
            if self._closed:
                return None  # the thread that ends the session has the place
            raise second_listener()
        silence, link = self._silence, self._link
        silence.heard(time.monotonic())
        try:
            while (message := self._next()) is None and not self._has_ended:
                now = time.monotonic()
                if silence.is_over(now):
                    raise TimeoutError
                if silence.asks(now):
                    link.ping()
                if link.read(silence.wait(now)):
                    silence.heard(time.monotonic())
            return message
        except TRANSPORT_ERRORS as cause:
            if self._closed:
                return None
            raise self._broken(cause) from cause
        finally:
            self._listener.clear()
            if self._closed:
                link.end()
