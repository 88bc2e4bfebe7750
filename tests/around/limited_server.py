"""A server with rate limits of all shapes, in simulated time.

Written from what vendors and the IETF say of their limits: OpenAI (buckets, durations as resets),
Anthropic (buckets, dates as resets), Gemini (429 with RetryInfo and no headers), GitHub (fixed
windows, resets since 1970), draft-ietf-httpapi-ratelimit-headers (policies and windows), RFC 9110
(`Retry-After` in seconds and as a date).
"""

from __future__ import annotations

import math
import random
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any

import httpx
import msgspec
import trio

ANSWER = {
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
}


class Bucket:
    """Holds up to `size`; `rate` of it come back in each second."""

    def __init__(self, rate: float, size: float) -> None:
        self.rate, self.size = rate, size
        self._left, self._at = size, 0.0

    def take(self, now: float, amount: float) -> float | None:
        """Use an amount; the seconds until it is there, if it is not."""
        self._left, self._at = min(self.size, self._left + (now - self._at) * self.rate), now
        if self._left < amount:
            return (amount - self._left) / self.rate
        self._left -= amount
        return None

    def left(self, now: float) -> float:
        return self._left

    def reset(self, now: float) -> float:
        """Seconds until it is full."""
        return (self.size - self._left) / self.rate


class FixedWindow:
    """Takes `size` in each window, counted from the start of the server."""

    def __init__(self, size: float, window: float) -> None:
        self.size, self.window, self.rate = size, window, size / window
        self._number, self._used = 0, 0.0

    def take(self, now: float, amount: float) -> float | None:
        number = math.floor(now / self.window)
        if number != self._number:
            self._number, self._used = number, 0.0
        if self._used + amount > self.size:
            return self.reset(now)
        self._used += amount
        return None

    def left(self, now: float) -> float:
        return self.size - self._used

    def reset(self, now: float) -> float:
        """Seconds until the window ends."""
        return (self._number + 1) * self.window - now


class SlidingWindow:
    """Takes `size` calls in any window."""

    def __init__(self, size: int, window: float) -> None:
        self.size, self.window, self.rate = size, window, size / window
        self._calls: deque[float] = deque()

    def take(self, now: float, amount: float) -> float | None:
        while self._calls and self._calls[0] <= now - self.window:
            self._calls.popleft()
        if len(self._calls) >= self.size:
            return self.reset(now)
        self._calls.append(now)
        return None

    def left(self, now: float) -> float:
        return self.size - len(self._calls)

    def reset(self, now: float) -> float:
        """Seconds until the oldest call leaves the window."""
        return self._calls[0] + self.window - now


Shape = Bucket | FixedWindow | SlidingWindow
Told = Callable[[Shape, float], dict[str, str]]


def openai(shape: Shape, now: float, unit: str = "requests") -> dict[str, str]:
    """`1s`, `6m0.5s`: the time until all is back."""
    seconds = shape.reset(now)
    minutes = f"{math.floor(seconds / 60)}m" if seconds >= 60 else ""
    return {
        f"x-ratelimit-limit-{unit}": f"{shape.size:.0f}",
        f"x-ratelimit-remaining-{unit}": f"{math.floor(shape.left(now))}",
        f"x-ratelimit-reset-{unit}": f"{minutes}{seconds % 60:.3f}s",
    }


def openai_tokens(shape: Shape, now: float) -> dict[str, str]:
    return openai(shape, now, "tokens")


def ietf(shape: Shape, now: float) -> dict[str, str]:
    return {
        "ratelimit-policy": f'"calls";q={shape.size:.0f};w={shape.size / shape.rate:.0f}',
        "ratelimit": f'"calls";r={math.floor(shape.left(now))};t={math.ceil(shape.reset(now))}',
    }


def clock() -> float:
    """Seconds since 1970 that move with simulated time.

    By the machine's clock each run would round its dates another way.
    """
    return 1_800_000_000.5 + trio.current_time()


def dated(ahead: float) -> Told:
    """Resets as dates of a clock that is `ahead`, as Anthropic writes them."""

    def told(shape: Shape, now: float) -> dict[str, str]:
        at = datetime.fromtimestamp(math.ceil(clock() + ahead + shape.reset(now)), UTC)
        return {
            "date": http_date(clock() + ahead),
            "anthropic-ratelimit-requests-limit": f"{shape.size:.0f}",
            "anthropic-ratelimit-requests-remaining": f"{math.floor(shape.left(now))}",
            "anthropic-ratelimit-requests-reset": at.isoformat(),
        }

    return told


def silent(shape: Shape, now: float) -> dict[str, str]:
    return {}


def http_date(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True)


Wish = Callable[[float], tuple[dict[str, str], dict[str, Any]]]
"""Seconds until the server takes calls again, to the headers and the members of an error."""


def in_seconds(wait: float) -> tuple[dict[str, str], dict[str, Any]]:
    return {"retry-after": str(math.ceil(wait))}, {}


def as_a_date(wait: float) -> tuple[dict[str, str], dict[str, Any]]:
    """By a clock that is an hour ahead."""
    now = clock() + 3600
    return {"date": http_date(now), "retry-after": http_date(math.ceil(now + wait))}, {}


def zero(wait: float) -> tuple[dict[str, str], dict[str, Any]]:
    return {"retry-after": "0"}, {}


def absurd(wait: float) -> tuple[dict[str, str], dict[str, Any]]:
    return {"retry-after": "86400"}, {}


def retry_info(wait: float) -> tuple[dict[str, str], dict[str, Any]]:
    """Google's, in the body alone."""
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    return {}, {"details": [{"@type": kind, "retryDelay": f"{wait:.3f}s"}]}


def nothing(wait: float) -> tuple[dict[str, str], dict[str, Any]]:
    return {}, {}


class LimitedServer(httpx.AsyncBaseTransport):
    """Answers calls of chat completions after 0.1 to 0.4 s, and refuses those over its limit."""

    def __init__(
        self,
        shape: Shape | None,
        told: Told = silent,
        wish: Wish = nothing,
        *,
        amount: float = 1.0,
        concurrent: float = math.inf,
        storm: tuple[float, float] | None = None,
    ) -> None:
        self.shape, self.told, self.wish, self.amount = shape, told, wish, amount
        self.concurrent, self.storm = concurrent, storm
        self.taken: list[float] = []
        self.refused: list[float] = []
        self.busy: list[tuple[float, float]] = []
        self._running = 0
        self._dice = random.Random(1)
        self._began = trio.current_time()

    @property
    def now(self) -> float:
        return trio.current_time() - self._began

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        await trio.sleep(self._dice.uniform(0.001, 0.01))  # the way to the server
        now = self.now
        if self.storm is not None and now % self.storm[1] < self.storm[0]:
            return answer(503, {"error": {"message": "The server is overloaded.", "code": 503}})
        wait = None if self.shape is None else self.shape.take(now, self.amount)
        if self._running >= self.concurrent:
            wait = 0.5
        headers = {} if self.shape is None else self.told(self.shape, now)
        if wait is not None:
            self.refused.append(now)
            wished, members = self.wish(wait)
            error = {"message": "Rate limit reached.", "code": "rate_limit_exceeded", **members}
            return answer(429, {"error": error}, headers | wished)
        self.taken.append(now)
        self._running += 1
        try:
            await trio.sleep(self._dice.uniform(0.1, 0.4))
        finally:
            self._running -= 1
            self.busy.append((now, self.now))
        return answer(200, ANSWER, headers)


def answer(
    status: int, body: dict[str, Any], headers: dict[str, str] | None = None
) -> httpx.Response:
    return httpx.Response(
        status,
        headers={"content-type": "application/json", **(headers or {})},
        content=msgspec.json.encode(body),
    )
