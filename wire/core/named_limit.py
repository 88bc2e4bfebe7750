"""Rate limits that the user names.

No clock, no I/O: each method gets the time as an argument, in seconds of any clock.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

from wire.core.amounts import Amounts
from wire.core.learned_rate import CATCH_UP

SLACK = 1e-5
"""Seconds. A shorter wait is the noise of floating-point numbers."""
_SHORTEST = 0.001
"""Seconds. Clocks are not exact: after a shorter wait the capacity might still be missing."""
_SHARE = 0.98
"""Share of each named limit that is used. Calls do not take equally long to the server: without a
margin, a slow and a quick one would arrive closer together than the limit allows."""


def rounded(seconds: float) -> float:
    """Return a wait without the noise of floating-point numbers and clocks.

    >>> rounded(1e-9), rounded(0.0002), rounded(2.5)
    (0.0, 0.001, 2.5)
    """
    return max(seconds, _SHORTEST) if seconds > SLACK else 0.0


class NamedLimits:
    """What is left of the limits that the user names, over their window.

    `idle`: seconds since an earlier process has used them; `None`: there was none. It may have used
    them up: they count as full only if the first response reports what is left.
    """

    def __init__(
        self, limits: Mapping[str, float], window: float, idle: float | None = None
    ) -> None:
        self.limits, self.window, self.idle = limits, window, idle
        self._left: dict[str, _Left] = {}  # by unit, from the first call that uses it

    def wait(self, amounts: Amounts, now: float) -> float:
        """Return the seconds until these amounts are available."""
        waits = [left.wait(amount, now) for left, amount in self._counted(amounts, now)]
        return rounded(max(waits, default=0.0))

    def use(self, amounts: Amounts, now: float) -> None:
        """Count what a call uses that goes now."""
        for left, amount in self._counted(amounts, now):
            left.use(amount, now)

    def settle(self, amounts: Amounts, used: Amounts, now: float) -> None:
        """Count what a call has `used`, for which these amounts were counted."""
        more = {unit: used.get(unit, amount) - amount for unit, amount in amounts.items()}
        for left, amount in self._counted(more, now):
            left.settle(amount)

    def reported(self, amounts: Amounts, units: Container[str]) -> None:
        """Record a response to a call with these amounts that reports what is left of `units`."""
        idle, self.idle = self.idle, None
        for unit, amount in amounts.items():
            left = self._left.get(unit)
            if left is None or left.bursts or unit not in units:
                continue
            left.bursts = True
            if idle is not None:  # what an earlier process has used is in the report
                left.left = left.limit - amount

    def _counted(self, amounts: Amounts, now: float) -> Iterator[tuple[_Left, float]]:
        """Yield what is left of each limit that counts what a call uses, with its amount."""
        for unit, most in self.limits.items():
            if (amount := amounts.get(unit)) is None:
                continue
            left = self._left.get(unit)
            if left is None:
                left = self._left[unit] = _Left(most, self.window, now)
                if self.idle is not None:
                    left.left = min(left.limit, self.idle * left.speed)
            yield left, amount


class _Left:
    """What is left of one limit.

    It is used evenly: the server may refuse a burst. Once the server reports what is left of a
    limit of this unit, what was not used before may be used at once.
    """

    __slots__ = ("at", "bursts", "left", "limit", "next_at", "speed")

    def __init__(self, limit: float, window: float, now: float) -> None:
        self.limit = limit * _SHARE
        self.speed = self.limit / window
        self.left, self.at = self.limit, now
        self.next_at = now
        self.bursts = False

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` is available; one above the limit needs all of it."""
        came_back = max(0.0, now - self.at) * self.speed
        self.left, self.at = min(self.limit, self.left + came_back), max(self.at, now)
        missing = (min(amount, self.limit) - self.left) / self.speed
        return max(0.0, missing, 0.0 if self.bursts else self.next_at - now)

    def use(self, amount: float, now: float) -> None:
        """Count what a call uses that goes now."""
        self.left -= amount
        self.next_at = max(self.next_at, now - CATCH_UP) + amount / self.speed

    def settle(self, more: float) -> None:
        """Count that a call has used `more` than it was estimated to use."""
        self.left -= more
        self.next_at += more / self.speed
