"""Connections that a pool of httpx or httpx2 has lost.

Such a pool drops a connection that is closed, and uses one again that is idle. Some become neither
when their call fails or is cancelled while it opens them. Each holds a place for good, and in a
pool without places every later call waits until its clocks end it:

- The TLS handshake through a proxy failed or was cancelled. The connection still counts the
  CONNECT as under way (encode/httpcore#1023, pydantic/httpx2#1175).
- The call was cancelled at the end of a TLS handshake, before it took the lock of the new
  connection.
- The call was cancelled when it had got a place and had opened no connection yet. Only the pool of
  httpx loses this place (encode/httpcore#1093).

No call of the pool has such a connection, which is how it is known. The libraries have no public
name for the calls of a pool. A pool without the private names of today is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_NAMES = {"_connections", "_optional_thread_lock", "_requests"}


def take_lost(parts: Iterable[Any]) -> list[Any]:
    """Remove lost connections from the pools among the parts of a transport.

    Calls that wait for a place get one. The connections that are returned must be closed.
    """
    unwanted: list[Any] = []
    for pool in filter(_is_known, parts):
        with pool._optional_thread_lock:
            in_use = {request.connection for request in pool._requests}
            lost = [each for each in pool._connections if each not in in_use and _is_stuck(each)]
            if lost:
                pool._connections = [each for each in pool._connections if each not in lost]
                unwanted += [*lost, *pool._assign_requests_to_connections()]
    return unwanted


def _is_known(part: Any) -> bool:
    """Return whether a part is a pool of httpcore or httpcore2 with the names used here."""
    has_names = getattr(part, "__dict__", {}).keys() >= _NAMES
    return has_names and hasattr(type(part), "_assign_requests_to_connections")


def _is_stuck(connection: Any) -> bool:
    """Return whether the pool can neither drop a connection without a call nor use it again."""
    return not (connection.is_closed() or connection.is_idle() or connection.is_available())
