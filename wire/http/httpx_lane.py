"""Lanes for threads, made of httpx transports with one connection each; deadlines of a transport.

`async_httpx_lane.py` has the same for asyncio and trio. It has a module of its own because a
program with threads needs neither asyncio nor anyio, and loading them takes time.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import httpx

from wire.http.network import parts_of
from wire.http.pools import take_lost
from wire.http.sockets import cut_off, inode
from wire.http.watchdog import ATTEMPT, Clocks

ONE_CONNECTION = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None)


def send_in_time(
    send: Callable[[httpx.Request], httpx.Response], request: httpx.Request, http: Any = None
) -> httpx.Response:
    """Send with a transport or client of httpx, with the clocks of the attempt.

    After a failure, the pools of `http` get back the places that they would have lost.
    """
    clocks: Clocks | None = request.extensions.get(ATTEMPT)
    if clocks is None:
        return send(request)
    request.extensions["trace"] = clocks.trace
    try:
        return send(request)
    except BaseException:
        for connection in unwanted(clocks, http):
            connection.close()
        raise


def unwanted(clocks: Clocks, http: Any) -> list[Any]:
    """Return the connections to close after an attempt that has failed to send."""
    half_open = [] if clocks.half_open is None else [clocks.half_open]
    return [*half_open, *take_lost(parts_of(http))]


class HttpxLaneState:
    """A transport with one connection, and the httpcore stream of that connection."""

    is_direct: ClassVar[bool] = False

    __slots__ = ("_inode", "_network", "_parser", "_transport", "idle_since")

    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self.idle_since = 0.0
        self._network: Any = None
        self._parser: Any = None
        self._inode: int | None = None

    def _opened(self, response: httpx.Response) -> httpx.Response:
        """Record the connection of a response."""
        network = response.extensions.get("network_stream")
        if network is not self._network:
            self._network = network
            # A mock that answers in place of the connection tells nothing of it.
            self._parser = None if network is None else _parser(self._transport)
            self._inode = inode(self.socket)
        return response

    def is_reusable(self) -> bool:
        """Return True: httpx replaces a connection that is not reusable by another."""
        return True

    def is_clean(self) -> bool:
        """Return whether neither data nor the end arrived since the last response (R-25, R-26)."""
        return (
            self._parser is not None
            and not self._parser.trailing_data[0]
            and not _has_unread(self._network)
        )

    def was_closed(self) -> bool:
        """Return whether the server had closed this kept lane, so that no request reached it."""
        return (
            self._parser is not None
            and self._parser.their_state.__name__ == "SEND_RESPONSE"
            and not self._parser.trailing_data[0]
        )

    @property
    def socket(self) -> Any:
        """The socket, or the object with which an event loop represents it."""
        return self._network.get_extra_info("socket") if self._network is not None else None

    def cut_off(self) -> None:
        """Close this process's descriptor of the socket, and nothing else."""
        cut_off(self.socket, self._inode)


class HttpxLane(HttpxLaneState):
    """A lane for threads."""

    __slots__ = ()

    def __init__(self, verify: ssl.SSLContext, proxy: httpx.Proxy | None) -> None:
        super().__init__(
            httpx.HTTPTransport(verify=verify, limits=ONE_CONNECTION, proxy=proxy, trust_env=False)
        )
        pool: Any = getattr(self._transport, "_pool", None)
        if hasattr(pool, "_optional_thread_lock"):
            # httpcore's own lock is a class of Python. A KeyboardInterrupt between its `acquire`
            # and the `with` block leaves it locked, and the next step waits for ever.
            pool._optional_thread_lock = threading.Lock()

    def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        if self._network is None:
            response = send_in_time(self._transport.handle_request, request)
        else:
            if ATTEMPT in request.extensions:
                request.extensions[ATTEMPT].connected(self._network)
            response = self._transport.handle_request(request)
        return self._opened(response)

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()


def _parser(transport: Any) -> Any:
    """Return the `h11.Connection` of a transport with one connection; `None` if it is not found.

    Only this object knows of bytes that arrived together with the end of a response. httpx and
    httpcore have no public name for it. A lane without it is not used again.
    """
    try:
        (connection,) = transport._pool.connections
        while (inner := getattr(connection, "_connection", None)) is not None:
            connection = inner  # of a proxy
        return connection._h11_state
    except (AttributeError, ValueError):
        return None


def _has_unread(network: Any) -> bool:
    """Return whether a connection holds bytes, or its end, on any layer below the parser."""
    try:
        if network.get_extra_info("is_readable"):
            return True
        secured = network.get_extra_info("ssl_object")
        if isinstance(secured, ssl.SSLObject):  # asyncio and trio
            secured.read(1)
            return True
        if secured is not None and secured.pending():
            return True
    except ssl.SSLWantReadError:
        pass
    except (OSError, ValueError):
        return True  # closed
    # anyio reads up to 256 KiB from a socket of asyncio and hands them out in smaller pieces.
    stream = getattr(network, "_stream", None)
    stream = getattr(stream, "transport_stream", stream)
    return bool(getattr(getattr(stream, "_protocol", None), "read_queue", None))
