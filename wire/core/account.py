"""The account of a call: attempts, waits, bytes and times. It is metadata of the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from wire.core.rate_limits import RateLimit


class Account(msgspec.Struct):
    """Attempts, waits, bytes and times of one call.

    `client.account(result)` returns it; an error of the call has it as `error.account`.

    >>> from wire import Chat
    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http) as chat:
    ...     account = chat.client.account(chat.ask("Hi"))
    >>> account.attempts, account.status
    (1, 200)

    Times are seconds since the call began. Bytes are those of the bodies of the last attempt, as
    sent and received, before decompression.
    """

    attempts: int = 0
    """Number of requests that were sent, the first one included."""
    waits: list[float] = msgspec.field(default_factory=list)
    """Seconds of each pause between attempts."""
    status: int | None = None
    """HTTP status of the last response; `None` if none came."""
    sent: int = 0
    """Bytes of the request body."""
    received: int = 0
    """Bytes of the response body."""
    first_byte: float | None = None
    """When the headers of the last response had arrived."""
    first_event: float | None = None
    """When the first event of a stream had arrived."""
    seconds: float | None = None
    """When the response was complete, or the call had failed."""
    request_id: str | None = None
    """The provider's id of the request; `None` if no header has one."""
    events: int = 0
    """Number of chunks of a stream; 0 for a call that is not streamed."""
    received_at: float | None = None
    """When the headers of the last response had arrived, in seconds since 1970."""
    response_headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The headers of the last response by their names in lower case; credentials are hidden. They
    are masked when they are first read; JSON of an account needs `enc_hook=dict`."""
    error_limits: tuple[Any, ...] = ()
    """The rate limits that the body of a 429 names, if that was the last response."""

    @property
    def rate_limits(self) -> dict[str, str]:
        """The headers of the last response that report rate limits, as received."""
        from wire.core.rate_limits import rate_limit_headers

        return rate_limit_headers(self.response_headers)

    @property
    def limits(self) -> tuple[RateLimit, ...]:
        """The rate limits that the last response reports, in its body and its headers.

        They are parsed when this is read. A header that is malformed gives no value; it is still
        in `response_headers`.
        """
        from wire.core.rate_limits import header_limits  # many programs read none

        return (*self.error_limits, *header_limits(self.response_headers, self.received_at or 0.0))
