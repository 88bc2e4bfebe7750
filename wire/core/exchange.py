"""Decides when to send, when to wait and when to give up. No clock, no I/O.

`exchange` is a generator. It yields a `Step`; the client carries it out and sends the `Outcome`
back. The steps alternate:

    Send -> None    the attempt succeeded: gives tokens back to the budget and returns
    Send -> Failed  another attempt is allowed: yields Pause, then Send
    Send -> Failed  the next attempt sends another request, or a limiter decides when it is sent:
                    yields a Pause of 0 s, then Send
    Send -> Failed  no attempt is left, the error is not retryable, the wait would exceed the total
                    time, or the retry budget is used up: raises the error

The total time is checked before a pause begins, because no attempt could follow a longer wait.

A plain call succeeds when its response is decoded. A stream succeeds when its first event is
decoded; an error in place of the first event is an error of the call. Nothing is retried after the
first event: the caller may have seen it, and a second attempt would repeat it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING

import msgspec

from wire.core.errors import WireError
from wire.core.lazy import lazy_pattern
from wire.core.printable import printable_line
from wire.core.retry import Retry, RetryBudget

if TYPE_CHECKING:
    from random import Random

    from wire.core.rate_limits import RateLimit

MAX_WAIT = 1e9
"""Seconds. A server that asks for a longer wait is mistaken, so the wish is ignored."""
_NUMBER = lazy_pattern(r"[0-9]+(\.[0-9]+)?")
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-goog-request-id",
    "x-cloud-trace-context",
    "x-amzn-requestid",
    "cf-ray",
)


class Send(msgspec.Struct, frozen=True):
    """Send the request."""

    attempt: int
    """Number of the attempt, from 1."""
    seconds: float | None
    """Seconds left of the total time; `None`: not limited."""


class Pause(msgspec.Struct, frozen=True):
    """Sleep for `seconds`.

    >>> Pause(0.5).seconds
    0.5
    """

    seconds: float
    """Length of the pause."""


class Failed(msgspec.Struct, frozen=True):
    """The outcome of a `Send` that failed."""

    error: WireError
    elapsed: float
    """Seconds from the beginning of the call to the failure."""
    amended: bool = False
    """Whether the request was changed because of the error, so that it may now succeed."""
    is_again: bool = False
    """Whether the attempt is repeated without counting: a limiter waits for the server."""


Step = Send | Pause
Outcome = Failed | None


def exchange(
    retry: Retry, total: float | None, dice: Random, budget: RetryBudget | None = None
) -> Generator[Step, Outcome, None]:
    """Yield the steps of one call; return after a success, raise the error of the last attempt.

    >>> from random import Random
    >>> steps = exchange(Retry(attempts=2, spread=(1, 1)), None, Random(0))
    >>> next(steps)
    Send(attempt=1, seconds=None)
    >>> steps.send(Failed(WireError("busy", retryable=True), elapsed=0.5))
    Pause(seconds=1.0)
    >>> next(steps)
    Send(attempt=2, seconds=None)

    `total` limits the call with all its attempts and pauses, in seconds. `budget` limits the
    retries of many calls. The outcome of a `Pause` is ignored.
    """
    left = total
    attempt = free = taken = 0  # `free`: attempts that do not count
    while True:
        attempt += 1
        failed = yield Send(attempt, left)
        if failed is None:
            if budget is not None and budget.left < budget.size:
                budget.give_back(taken or 1)
            return
        error = failed.error
        error.attempts = attempt
        if failed.is_again or (failed.amended and attempt - free < retry.attempts):
            free += failed.is_again
            if total is not None and (left := total - failed.elapsed) <= 0:
                raise error
            yield Pause(0.0)
            continue
        wait = retry.wait(error, attempt - free, dice)
        if total is not None and wait is not None:
            left = total - failed.elapsed - wait
        if wait is None or (left is not None and left <= 0):
            raise error
        if budget is not None:
            tokens = budget.take(error)
            if not tokens:
                error.retry_budget_empty = True
                raise error
            taken += tokens
        yield Pause(wait)


# --- facts in the response ------------------------------------------------------------------------


def request_id(headers: Mapping[str, str]) -> str | None:
    """Return the provider's id of the request; `None` if no header has one."""
    id = next((headers[name] for name in _REQUEST_IDS if name in headers), None)
    return id and printable_line(id)  # it is printed and logged


def error_limits(error: WireError, now: float) -> tuple[RateLimit, ...]:
    """Parse the rate limits in the body of a 429 error (Google, OpenRouter)."""
    if error.status != 429 or not error.raw:
        return ()
    from wire.core.rate_limits import body_limits  # few calls end with a 429

    return body_limits(error.raw, now)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that the server wants the client to wait.

    Reads milliseconds, seconds and dates. A date is compared with the `date` of the same response,
    since the server's clock may be wrong. Any other value is ignored.

    >>> retry_after({"retry-after": "2.5"}, 0), retry_after({"retry-after": "-1"}, 0)
    (2.5, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        if _NUMBER().fullmatch(text):
            seconds: float | None = float(text) * scale
        else:
            seconds = _until(text, headers, now) if text else None
        if seconds is not None and seconds <= MAX_WAIT:
            return seconds
    return None


def _until(text: str, headers: Mapping[str, str], now: float) -> float | None:
    from wire.core.server_clock import http_date, server_time  # few servers send a date

    date = http_date(text)
    return None if date is None else max(0.0, date - server_time(headers, now))


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
