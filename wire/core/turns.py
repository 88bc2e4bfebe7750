"""Calls that follow each other on one WebSocket, in place of HTTP requests. No I/O.

A wire that has such a connection gives its calls a function that makes a `Turns`: the state of one
connection. The transport sends what `begin` returns, and passes each message to `take`.
"""

from __future__ import annotations

from typing import Any, Protocol

import msgspec


class Turn(msgspec.Struct, frozen=True):
    """What a message means for the answer that is being read."""

    data: bytes = b""
    """Bytes of the body of the answer, as HTTP would have them."""
    is_last: bool = False
    """Whether the answer ends with it."""
    status: int = 200
    """Another one refuses the request; `data` is then the whole body."""
    again: bool = False
    """Whether to send the same request once more, with everything in it, before `data` counts."""
    keeps: bool = True
    """Whether the connection may be used further."""


class Turns(Protocol):
    """The answers of one connection, one after the other."""

    def read(self, body: bytes) -> Any:
        """Return what `known` looks at in a request, whichever connection it is for."""
        ...

    def known(self, request: Any) -> int:
        """Return how much of a request that was read the connection has already; 0 is nothing."""
        ...

    def begin(self, body: bytes, *, anew: bool = False) -> bytes:
        """Return the message that sends a request; `anew`: with everything in it."""
        ...

    def take(self, message: bytes) -> Turn:
        """Read one message of the server."""
        ...
