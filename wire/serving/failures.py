"""Errors of the backend as failures that a client of any vendor understands."""

from __future__ import annotations

from collections.abc import Sequence

from wire.core.errors import (
    AccessDeniedError,
    APIError,
    AuthError,
    ClockError,
    ConfigurationError,
    ConnectionLost,
    ContextLengthError,
    LimitError,
    RateLimitError,
    RuleError,
    ServerError,
    StreamError,
    WireError,
)
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Failure

_STATUSES: tuple[tuple[type[WireError], int], ...] = (
    (RuleError, 400),
    (ConfigurationError, 500),
    (ClockError, 504),
    (ConnectionLost, 502),
    (StreamError, 502),
    (LimitError, 502),
)


def refuses_key(error: WireError) -> bool:
    """Return whether the key is wrong; a valid one may be denied something, too."""
    return isinstance(error, AuthError) and not isinstance(error, AccessDeniedError)


def status_of(error: WireError) -> int:
    """Return the status that a client gets for an error.

    >>> status_of(RuleError("top_p: 5")), status_of(RateLimitError(status=429))
    (400, 429)

    A key that the backend refuses is the gateway's and not the client's: the status is 502. What a
    valid key may not do, such as read a file of another one, keeps its status.
    """
    if refuses_key(error):
        return 502
    if isinstance(error, ContextLengthError):
        return 400
    if isinstance(error, RateLimitError):
        return 429
    if isinstance(error, APIError):
        status = error.status or 0
        if 400 <= status <= 599:
            return status
        return 500 if isinstance(error, ServerError) else 502
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def words_of(error: WireError) -> str:
    """Return the message that a client gets for an error."""
    if refuses_key(error):
        return f"The backend refused the key of the gateway: {error.message}"
    if isinstance(error, ConfigurationError):
        return f"The gateway is not set up: {error.message}"
    return error.message or type(error).__name__


_TOO_LONG = {
    "anthropic": "prompt is too long",
    "converse": "Input is too long",
    "ollama": "the input length exceeds the context length",
}
"""Wire -> the words by which its clients know that a prompt is too long."""


def failure_of(error: WireError, request: Received, route: Route, wires: Sequence[str]) -> Failure:
    """Build the failure for an error, for the vendor that speaks these wires.

    Clients shorten the conversation if they recognise that it is too long: those of OpenAI by the
    code, those of Anthropic and of Bedrock by the message.
    """
    message, code = words_of(error), ""
    if isinstance(error, ContextLengthError):
        if "openai" in wires:
            code = "context_length_exceeded"
        for wire, words in _TOO_LONG.items():
            if wire in wires and words.lower() not in message.lower():
                message = f"{words}: {message}"
    elif isinstance(error, RuleError):
        code = error.code or ""
    return Failure(
        status_of(error),
        message,
        code,
        retry_after=error.retry_after,
        request=request,
        route=route,
    )
