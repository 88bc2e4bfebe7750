"""What a call cost: kept beside the answer, not in it."""

from __future__ import annotations

import datetime
import email.utils
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.core.memory import ACCOUNT
from wire.errors import WireError

_NUMBER = re.compile(r"\d+(\.\d+)?")
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-goog-request-id",
    "x-cloud-trace-context",
    "cf-ray",
)


@dataclass(slots=True)
class Account:
    """Attempts, waits, bytes and times of one call; `client.account(answer)` gives it.

    Times are in seconds since the call began; bytes are those of bodies as they went over the wire,
    of the last attempt.
    """

    attempts: int = 0
    waits: list[float] = field(default_factory=list)
    """Pauses between attempts."""
    status: int | None = None
    sent: int = 0
    received: int = 0
    first_byte: float | None = None
    """When the head of the last answer was there."""
    first_event: float | None = None
    """When the first event of a stream was there."""
    seconds: float | None = None
    """When the answer was whole."""
    request_id: str | None = None
    rate_limits: dict[str, str] = field(default_factory=dict)
    """Rate-limit headers as they came."""
    events: int = 0
    """Chunks of a stream, 0 for a whole answer."""


def answer_account(answer: Any) -> Account | None:
    """The account of a received answer, `None` if it did not come through a client of this
    process.
    """
    found: Account | None = getattr(answer, "__dict__", {}).get(ACCOUNT)
    return found


def keep_account(answer: Any, account: Account) -> None:
    """Lay the account beside the answer."""
    beside = getattr(answer, "__dict__", None)
    if beside is not None:
        beside[ACCOUNT] = account


def request_id(headers: Mapping[str, str]) -> str | None:
    """The id under which the provider knows the request."""
    return next((headers[name] for name in _REQUEST_IDS if name in headers), None)


def rate_limits(headers: Mapping[str, str]) -> dict[str, str]:
    """Headers that tell what is left of a quota."""
    return {
        name: value
        for name, value in headers.items()
        if "ratelimit" in name.lower() or name.lower() == "retry-after"
    }


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server wants the client to wait; milliseconds, seconds and dates are read,
    nonsense is not.

    >>> retry_after({"retry-after": "2.5"}, 0), retry_after({"retry-after": "-1"}, 0)
    (2.5, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        seconds = float(text) * scale if _NUMBER.fullmatch(text) else _until(text, now)
        if seconds is not None and math.isfinite(seconds):
            return seconds
    return None


def _until(text: str, now: float) -> float | None:
    try:
        date = email.utils.parsedate_to_datetime(text)
        # A date without a zone is one of GMT (RFC 9110), not of the machine that reads it.
        return max(
            0.0, (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() - now
        )
    except (ValueError, TypeError, OverflowError):
        return None


def completed(error: WireError, headers: Mapping[str, str], now: float) -> WireError:
    """An error answer with what its headers say; a wait in the body and one in the headers: the
    longer one counts.
    """
    error.request_id = error.request_id or request_id(headers)
    asked = retry_after(headers, now)
    if asked is not None:
        error.retry_after = max(asked, error.retry_after or 0.0)
    wish = headers.get("x-should-retry")
    if wish in ("true", "false"):
        error.retryable = wish == "true"
    return error
