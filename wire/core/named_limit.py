"""A rate limit that the user names.

No clock, no I/O: each method gets the time as an argument, in seconds of any clock.
"""

from __future__ import annotations

from wire.core.learned_rate import CATCH_UP

_SHARE = 0.98
"""Share of each named limit that is used. Calls do not take equally long to the server: without a
margin, a slow and a quick one would arrive closer together than the limit allows."""


class NamedLimit:
    """What is left of a limit that the user names, over its window.

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
