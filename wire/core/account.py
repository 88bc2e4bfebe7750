"""The account of a call: attempts, waits, bytes and times. It is metadata of the result."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.memory import ACCOUNT
from wire.core.printable import printable_line
from wire.errors import WireError

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
MAX_WAIT = 1e9
"""Seconds. A server that asks for a longer wait is mistaken, so the wish is ignored."""
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-goog-request-id",
    "x-cloud-trace-context",
    "cf-ray",
)


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
    rate_limits: dict[str, str] = msgspec.field(default_factory=dict)
    """Rate-limit headers as received."""
    events: int = 0
    """Number of chunks of a stream; 0 for a call that is not streamed."""


def answer_account(answer: Any) -> Account | None:
    """The account of a received result; `None` if no client of this process received it.

    `client.account(result)` returns the same.
    """
    account: Account | None = getattr(answer, "__dict__", {}).get(ACCOUNT)
    return account


def keep_account(answer: Any, account: Account) -> None:
    """Attach the account to a result as metadata, unless its type has no room for it."""
    metadata = getattr(answer, "__dict__", None)
    if metadata is not None:
        metadata[ACCOUNT] = account


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's id of the request; `None` if no header has one."""
    id = next((headers[name] for name in _REQUEST_IDS if name in headers), None)
    return id and printable_line(id)  # it is printed and logged


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that report rate limits and remaining quota."""
    return {
        name: value
        for name, value in headers.items()
        if "ratelimit" in name.lower() or name.lower() == "retry-after"
    }


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server wants the client to wait.

    Reads milliseconds, seconds and dates. Any other value is ignored.

    >>> retry_after({"retry-after": "2.5"}, 0), retry_after({"retry-after": "-1"}, 0)
    (2.5, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        seconds = float(text) * scale if _NUMBER.fullmatch(text) else _until(text, now)
        if seconds is not None and seconds <= MAX_WAIT:
            return seconds
    return None


def _until(text: str, now: float) -> float | None:
    if not text:
        return None
    # Both cost more than a third of `import httpx`, and few servers send a date.
    import datetime
    import email.utils

    try:
        date = email.utils.parsedate_to_datetime(text)
        # A date without a zone is in GMT (RFC 9110), not in the local zone.
        return max(
            0.0, (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() - now
        )
    except (ValueError, TypeError, OverflowError):
        return None


def completed(error: WireError, headers: Mapping[str, str], now: float) -> WireError:
    """Add request id, wait and retryability from the response headers to an error.

    Of a wait in the body and one in the headers, the longer one counts.
    """
    error.request_id = error.request_id or request_id(headers)
    seconds = retry_after(headers, now)
    if seconds is not None:
        error.retry_after = max(seconds, error.retry_after or 0.0)
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        error.retryable = should_retry == "true"
    return error
