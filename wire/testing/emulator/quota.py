"""Rate limits of an emulator, for tests of pacing and retries.

What a request uses comes back evenly over the window, as at OpenAI and Anthropic. A request over
the quota gets 429 in the words of its vendor, with the time to wait in its spelling. The tokens of
a request are estimated before it is answered, and settled with the usage of the answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted, seal_fields
from wire.testing.emulator.answer import Answer

_BYTES_PER_TOKEN = 4
_INPUT = re.compile(rb'"(prompt_tokens|input_tokens|promptTokenCount)": ?(\d+)')
_OUTPUT = re.compile(
    rb'"(completion_tokens|output_tokens|candidatesTokenCount|thoughtsTokenCount)": ?(\d+)'
)
"""Keys of the usage. A later event of a stream has the sum so far."""


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """How much an emulator allows in a window, of all models together; `None`: no limit.

    >>> Quota(requests=60, tokens=100_000).window
    60.0

    Raises `ConfigurationError` for a value that is not a positive number.
    """

    requests: int | None = None
    """Number of requests."""
    tokens: int | None = None
    """Tokens of requests and answers together."""
    input_tokens: int | None = None
    """Tokens of requests."""
    output_tokens: int | None = None
    """Tokens of answers."""
    window: float = 60.0
    """Seconds."""

    def __post_init__(self) -> None:
        seal_fields(self)
        for name in self.__struct_fields__:
            value = getattr(self, name)
            kinds: tuple[type, ...] = (int, float) if name == "window" else (int,)
            number = isinstance(value, kinds) and not isinstance(value, bool)
            if not (number and 0 < value < math.inf) and (value is not None or name == "window"):
                what = "number" if name == "window" else "whole number"
                raise ConfigurationError(
                    f"quota: {name}: expected a positive {what}, not {quoted(value)}"
                )


@dataclass(frozen=True, slots=True)
class LimitState:
    """The remaining amount of one limit."""

    unit: str
    """`requests`, `tokens`, `input_tokens` or `output_tokens`."""
    limit: int
    remaining: int
    seconds: float
    """Until all of it is back."""
    moment: float
    """When that is, in seconds since 1970."""


class _Bucket:
    """One limit: it holds up to `limit`, which come back within a window."""

    def __init__(self, unit: str, limit: int, window: float, now: float) -> None:
        self.unit, self.limit, self.window = unit, limit, window
        self.left, self.at = float(limit), now

    def refill(self, now: float) -> None:
        came_back = max(0.0, now - self.at) * self.limit / self.window
        self.left, self.at = min(float(self.limit), self.left + came_back), now

    def wait(self, amount: float) -> float:
        """Return the seconds until `amount` is there.

        An amount above the limit needs the full bucket.
        """
        return max(0.0, (min(amount, self.limit) - self.left) * self.window / self.limit)

    def state(self) -> LimitState:
        seconds = (self.limit - self.left) * self.window / self.limit
        return LimitState(
            self.unit, self.limit, max(0, math.floor(self.left)), seconds, self.at + seconds
        )


class Meter:
    """Counts what the requests to one emulator use of its quota."""

    def __init__(self, quota: Quota, clock: Callable[[], float]) -> None:
        self._clock, now = clock, clock()
        limits = {name: getattr(quota, name) for name in quota.__struct_fields__[:-1]}
        self._buckets = [
            _Bucket(unit, limit, quota.window, now)
            for unit, limit in limits.items()
            if limit is not None
        ]

    def take(self, size: int) -> tuple[LimitState, float] | None:
        """Count a request of so many bytes; the limit that refuses it, and the seconds to wait."""
        amounts = _amounts(size // _BYTES_PER_TOKEN, 0)
        self._refill()
        waits = [(bucket.wait(amounts[bucket.unit]), bucket) for bucket in self._buckets]
        longest, bucket = max(waits, key=lambda each: each[0])
        # Rounding up is the vendors' way: who waits so long is not refused again.
        if longest > 1e-6:
            return bucket.state(), math.ceil(longest * 1000) / 1000
        self._use(amounts)
        return None

    def settle(self, size: int, answer: Answer) -> None:
        """Replace the estimate for a request by the usage of its answer, if it reports any."""
        body = answer.body
        inputs, outputs = _reported(_INPUT, body), _reported(_OUTPUT, body)
        if inputs or outputs:
            estimated = _amounts(size // _BYTES_PER_TOKEN, 0)
            used = _amounts(inputs, outputs)
            self._use({unit: used[unit] - estimated[unit] for unit in used})

    def states(self) -> Sequence[LimitState]:
        """Return the remaining amount of each limit."""
        self._refill()
        return [bucket.state() for bucket in self._buckets]

    def _refill(self) -> None:
        now = self._clock()
        for bucket in self._buckets:
            bucket.refill(now)

    def _use(self, amounts: dict[str, int]) -> None:
        for bucket in self._buckets:
            bucket.left -= amounts[bucket.unit]


def _reported(keys: re.Pattern[bytes], body: bytes) -> int:
    """Add up the largest count of each key: Gemini counts thoughts apart."""
    largest: dict[bytes, int] = {}
    for key, count in keys.findall(body):
        largest[key] = max(largest.get(key, 0), int(count))
    return sum(largest.values())


def _amounts(input_tokens: int, output_tokens: int) -> dict[str, int]:
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
    }


def limit_states(
    meter: Meter | None, limits: Sequence[tuple[str, int]], status: int, now: float
) -> Sequence[LimitState]:
    """Return the limits for the headers of a response: the quota, or the constant `limits`."""
    if meter is not None:
        return meter.states()
    return [
        LimitState(unit, limit, 0 if status == 429 else limit - 1, 0.006, now + 60)
        for unit, limit in limits
    ]
