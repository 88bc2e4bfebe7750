"""Typed errors of the codes with which a WebSocket is closed (RFC 6455, 7.4)."""

from __future__ import annotations

from wire.core.errors import (
    APIError,
    BadRequestError,
    ConnectionLost,
    OverloadedError,
    ServerError,
    WireError,
)

NORMAL = 1000
NO_CODE = 1005
"""The server closed the connection and named no code."""
NO_CLOSE = 1006
"""The connection ended without a close message."""

_CLASSES: dict[int, type[APIError]] = {
    1003: BadRequestError,
    1007: BadRequestError,
    1009: BadRequestError,
    1011: ServerError,
    1013: OverloadedError,
}
_WORDS = {
    1000: "the server ended it",
    1001: "the server goes away",
    1002: "the server found a message malformed",
    1003: "the server does not take such a message",
    NO_CODE: "the server ended it without a reason",
    NO_CLOSE: "the connection broke off",
    1007: "the server does not take the content of a message",
    1008: "a message is against a policy of the server",
    1009: "a message is too large for the server",
    1011: "the server failed",
    1012: "the server restarts",
    1013: "the server is overloaded",
}
_LOST = frozenset({1000, 1001, NO_CODE, NO_CLOSE, 1012})
_RETRYABLE = _LOST | {1011, 1013}


def closed_error(code: int, reason: str) -> WireError:
    """Return the error for a connection that the server closed.

    >>> print(closed_error(1007, "Request contains an invalid argument."))
    1007: Request contains an invalid argument.
    >>> print(closed_error(1006, ""))
    the socket was closed: 1006, the connection broke off

    The reason, if there is one, is the message: servers put their error into it. Codes from 4000 on
    are the server's own.
    """
    retryable = code in _RETRYABLE
    words = _WORDS.get(code, "the server's own code" if code >= 4000 else "an unknown code")
    if code in _LOST:
        told = f"; {reason}" if reason else ""
        message = f"the socket was closed: {code}, {words}{told}"
        return ConnectionLost(message, retryable=retryable)
    kind = _CLASSES.get(code, APIError)
    return kind(reason or f"the socket was closed: {words}", code=str(code), retryable=retryable)
