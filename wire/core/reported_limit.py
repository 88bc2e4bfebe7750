"""A rate limit that a server reports with its answers: what is left of it, and until when.

No clock, no I/O: each method gets the time as an argument, in seconds of any clock.

What is left is spread over the time to the reset. Where a window ends at the reset, all of it is
used just then. Where a bucket is refilled all the time, the reset is when it would be full. Such a
server is known by a reset that is the later the more is used: what is left goes at once, but for a
margin, and then as much as comes back.

A third kind counts the calls of the last minute, so that each call comes back on its own. Its reset
is when the oldest call comes back, or the newest one: soon, or always a minute away. Spread over
it, what is left would be used too quickly or too slowly. Such a server is known by a reset that
moves on and does not bring back all of the limit. It gets calls at `limit / window`.
"""

from __future__ import annotations

import math

from wire.core.learned_rate import CATCH_UP

_MINUTE = 60.0
"""Seconds of a window that the server does not name."""
_ROUNDED, _EXACT = 1.5, 0.2
"""Seconds. Resets of one window differ by less, if they are rounded to seconds, and if not."""
_EARLY = 0.5
"""Seconds before the reset at which all of the limit is to be used. Calls that still go when a
window ends early show that it has ended."""
_MARGIN = 0.05
"""Share of a bucket that is left to calls that are counted otherwise than they were estimated."""
_LEAST = 2
"""The least amount that is left so."""
_PRECISE = 0.02
"""Seconds. A shorter reset, in milliseconds, does not tell how quickly a bucket is refilled."""
_SHARE = 0.98
"""Share of `limit / window` that a server gets whose calls come back on their own."""
_SLACK = 1e-6
"""Less is the noise of floating-point numbers."""


class ReportedLimit:
    """What is left of one limit.

    >>> limit = ReportedLimit(10, None, now=0.0)
    >>> limit.left
    10
    """

    __slots__ = (
        "_amount",
        "_at",
        "_earliest",
        "_first",
        "_grows",
        "_is_guess",
        "_is_idle",
        "_last",
        "_late",
        "_longest",
        "_moves",
        "_renewed_at",
        "_returns",
        "_same",
        "latest",
        "left",
        "limit",
        "resets_at",
        "window",
    )

    def __init__(self, limit: float, window: float | None, now: float) -> None:
        self.limit, self.window = limit, window
        self.left = limit
        self.resets_at: float | None = None
        self.latest = 0  # number of the call whose report was used last
        self._at = self._last = now
        self._amount = 0.0  # of the call that went at `_last`, or a little later
        self._renewed_at = -math.inf
        self._is_idle = True  # whether no call is under way
        self._is_guess = False  # whether `resets_at` is not what the server has said
        self._longest = 0.0  # seconds to the reset, the longest that was reported
        self._same = _ROUNDED
        self._first: tuple[float, float] | None = None  # used, and seconds to the reset
        self._grows: bool | None = None  # whether the reset is the later the more is used
        self._returns = 0.0  # how much comes back to a bucket in a second
        self._moves = False  # whether each call comes back on its own
        self._earliest = -1.0  # the least that `_late` may be
        self._late = 0.0  # seconds by which a window ends after its reset

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until `amount` may be used; one above the limit needs all of it."""
        missing = min(amount, self.limit) - self.left
        if missing <= _SLACK:
            return max(0.0, self._due(now) - now)
        if self._refill:
            return missing / self._refill
        assert self.resets_at is not None
        if self._is_guess and self._is_idle:  # one call finds out what is left
            return 0.0
        return max(0.0, self.resets_at + self._late - now)

    @property
    def _is_bucket(self) -> bool:
        """Whether the limit is refilled all the time, and it is known how quickly."""
        return bool(self._grows) and self._returns > 0

    @property
    def _refill(self) -> float:
        """How much comes back in a second; 0 if all of it comes back at once."""
        if self._is_bucket:
            return self._returns
        if self._moves:
            return self.limit / max(self.window or self._longest, 1.0)
        return self.limit / (self.window or _MINUTE) if self.resets_at is None else 0.0

    def refresh(self, now: float, under_way: float) -> None:
        """Count what has come back; after the reset all of it, less what is `under_way`."""
        if self._refill or self.resets_at is None:
            self.left = min(self.limit, self.left + self.came_back(self._at, now))
        elif now >= self.resets_at + self._late:
            # What is under way was counted before, unless it is a bucket.
            self.left = max(self.left, self.limit - under_way * (self._grows is not False))
            self.resets_at = now + max(self._longest, _EXACT)
            self._renewed_at, self._is_guess = now, True
        self._at, self._is_idle = now, under_way <= 0

    def came_back(self, since: float, now: float) -> float:
        """Return what came back, if it does not come back all at once."""
        return max(0.0, now - since) * self._refill

    def use(self, amount: float, now: float) -> None:
        """Count what a call uses that goes now."""
        self._last = max(self._due(now), now - CATCH_UP)
        self._amount = amount
        self.left -= amount

    def _due(self, now: float) -> float:
        """Return when the next call is due, for what the last one used and what is left now."""
        return self._last + self._amount / self.speed(now)

    def speed(self, now: float) -> float:
        """Return how much may be used in a second."""
        if self.resets_at is None:
            return math.inf
        if self._is_bucket:
            margin = max(self.limit * _MARGIN, _LEAST)
            return math.inf if self.left >= margin else self._returns * max(self.left, 1.0) / margin
        if self._moves:
            return self._refill * _SHARE
        seconds = self.resets_at + self._late - now
        spread = max(self.left, 0.0) / max(seconds - min(_EARLY, 0.1 * seconds), _SLACK)
        return spread if spread > 0 else math.inf

    def learn(
        self,
        limit: float,
        used: float,
        seconds: float | None,
        now: float,
        *,
        age: float,
        is_exact: bool,
    ) -> bool | None:
        """Store when the limit resets, `seconds` from now; return whether a new window has begun.

        Returns `None` for a report of a window that is over.
        `used` is what the server has counted of it, at some time in the last `age` seconds.
        `is_exact`: it does not round its resets to seconds.
        """
        self.limit = limit
        if seconds is None:
            return False
        self._same = _EXACT if is_exact else _ROUNDED
        resets_at = now + seconds
        if used > 0 and seconds >= (_PRECISE if is_exact else _ROUNDED):
            self._returns = used / seconds
        if now - age < self._renewed_at and resets_at < self._renewed_at + self._same:
            return None  # of a call that went before that reset
        self._longest = max(self._longest, seconds)
        self._compare(used, seconds, is_exact=is_exact)
        last, self.resets_at = self.resets_at, resets_at
        if last is None:
            return False
        was_guess, self._is_guess = self._is_guess, False
        if was_guess:
            last = self._renewed_at
        elif -self._same <= resets_at - last <= self._same + age and not self._grows:
            # Seconds that are rounded up: the earliest moment is the closest.
            self.resets_at = min(last, resets_at)
            return False
        if self._grows or (resets_at < last and not was_guess):
            return False
        # A window that has just begun ends as late as the longest reset that was seen.
        since = now - last
        begins = seconds + since >= self._longest * 0.9 - self._same - age
        self._moves = since < -self._same - age or not begins
        if not self._moves and not was_guess and since < self._late:
            # The window ended before its reset, which was rounded up.
            self._late = max(self._earliest, since)
        return not self._moves

    def _compare(self, used: float, seconds: float, *, is_exact: bool) -> None:
        """Find out whether the reset grows with what is used, against the least use that was seen.

        The two must be far enough apart for rounded seconds to tell.
        """
        if self._first is None or used < self._first[0]:
            self._first = used, seconds
            return
        before, first = self._first
        expected = first * used / max(before, 1.0)  # of a bucket
        if used < 2 * before + 2:
            return
        if is_exact:
            self._grows = seconds > expected / 2
        elif expected > first + 2 * _ROUNDED:
            self._grows = seconds > 1.5 * first + _ROUNDED

    def refused(self, sent_at: float, now: float) -> None:
        """Record that the server has refused a call; just after the reset, it was rounded down."""
        if self._renewed_at <= sent_at and now - self._renewed_at < self._same:
            self._late, self._earliest = (0.0 if self._late < 0 else min(self._late + 1, 2.0)), 0.0
            self._renewed_at = -math.inf
