"""The rate at which a server takes calls, learned from its answers and refusals.

No clock, no I/O: each method gets the time as an argument, in seconds of any clock.

Before the first refusal nothing is known, and nothing is limited. A refusal stops the calls:

    refused -> hold        no call goes, for as long as the server asks, or for a short time
    hold -> probe          one call goes; if it is refused, the next hold is longer
    probe taken -> paced   calls go one by one, at the rate that was measured

The rate is measured from one hold to the next. When a hold ends, the server has just begun to take
calls again. So what it took between the ends of two holds is what it allows, whether it counts in
windows or refills a bucket. The burst before the first hold is no such measurement, since a full
bucket may have been spent: the rate is then searched, and doubles every `_DOUBLES` seconds until
the next refusal. The burst counts only if the hold was longer than it, as at a server with windows.

The pace begins a little below the measured rate and grows with the calls that it lets through. A
long measurement is exact, so the pace grows slowly after it, and few calls are refused.

An outage is a hold too, but shows nothing about the rate. Its time counts for no measurement.
"""

from __future__ import annotations

import math

LONGEST_WISH = 60.0
"""Seconds. A server that asks for a longer wait is asked earlier: the limits of vendors count by
the minute, and a longer wish is often a mistake."""
_SHORTEST_HOLD = 0.25
_LATER = 0.05
"""A server that does not say when to come back is asked again after this share of the time since
the refusal, so that the end of its window is known as precisely."""
_WINDOWS = (10.0, 60.0)
"""Seconds. Usual windows of servers. One that does not say when to come back is asked at the moment
at which such a window would end, too."""
_ROUNDED = 2.0
"""Seconds. A whole number of at least so many may be rounded up, by half a second on average."""

_DOUBLES = 1.5
"""Seconds in which the pace doubles while the rate is searched. In less time, the answers would
come too late to show that the rate was found."""
_FLOOR = 0.98
"""Share of the measured rate at which the pace begins."""
_GROWTH = 0.03
"""Share of the measured rate by which the pace grows over as many calls as were measured."""
_SLOW_ROUNDS = 4
"""After so many times as many calls without a refusal, the server may take much more than it did:
the pace grows with the square from then on."""
_LOWER = 0.95
"""Share of the pace at a refusal below which the rate is not, if it is near the measured one. The
bucket of a server with small bursts was full while the pace was low, so the measurement is low."""
_NEAR = 1.1
_DIP = 0.75
"""Share of the pace that is left by a refusal soon after the last one. The measured rate may be
right all the same, so `_DIP_CALLS` calls bring the pace back to it."""
_DIP_CALLS = 400
_SOON = 0.25
"""Share of the calls of a measurement before which a refusal is soon after the last one."""
_FEWEST, _MOST = 20, 2_000
"""The calls that a measurement counts for, however short or long it was."""

CATCH_UP = 0.1
"""Seconds that a pace may be behind and make up for: an event loop wakes late."""
_LATE = 0.02


class _Hold:
    """The time in which no call goes but one that tests the server, the probe."""

    __slots__ = (
        "is_rate", "is_told", "is_usual", "probe", "refused_at", "rounded", "since", "step", "until"
    )  # fmt: skip

    def __init__(self, now: float, *, is_rate: bool, is_told: bool) -> None:
        self.since = now
        self.is_rate = is_rate  # a limit is the cause, not an outage
        self.is_told = is_told  # the server reports its limits, so no burst was sent
        self.step = 0.0  # seconds from a refused probe to the next one; 0: none was refused
        self.probe = 0  # its number; 0: none has gone
        self.refused_at = now  # when the last call that was refused went
        self.until = now  # when the probe may go, or went
        self.is_usual = False  # `until` is when a usual window would end
        self.rounded = 0.0  # seconds by which `until` is too late, on average

    def prolong(self, now: float, wish: float | None, windows_since: float) -> None:
        """Set when the next probe may go."""
        self.probe = 0
        self.until = now + (max(self.step, _SHORTEST_HOLD) if wish is None else wish)
        self.rounded = 0.5 if wish is not None and wish >= _ROUNDED and wish == int(wish) else 0.0
        self.is_usual = False
        if wish is None:
            for window in _WINDOWS:
                if now < windows_since + window < self.until:
                    self.until, self.is_usual = windows_since + window, True

    @property
    def end(self) -> float:
        """When the server began to take calls again, now that the probe was taken."""
        if self.step and not self.is_usual:  # between the last two probes
            return (self.refused_at + self.until) / 2
        return self.until - self.rounded


class LearnedRate:
    """When the next call may go to one model at one server.

    >>> rate = LearnedRate()
    >>> rate.wait(0.0)
    0.0
    >>> rate.sent(1, 0.0)
    False
    >>> rate.refused(1, 1, 0.0, wish=2.0, is_rate=True, is_told=False)
    >>> rate.wait(0.5)
    1.5
    """

    __slots__ = (
        "_began",
        "_confidence",
        "_dip",
        "_hold",
        "_is_measuring",
        "_latest",
        "_measured",
        "_paced",
        "_searched_since",
        "_slot",
        "_taken",
        "_taken_before",
    )

    def __init__(self) -> None:
        self._taken = 0  # calls that went and were not refused
        self._latest = 0  # number of the last call that went before the last refusal
        # The measurement that runs: since when, after how many calls, and whether since a hold.
        self._began: float | None = None
        self._taken_before = 0
        self._is_measuring = False
        self._measured = math.inf  # calls per second
        self._confidence = 0  # calls that the measurement counts for
        self._searched_since: float | None = None
        self._dip = 1.0
        self._paced = 0  # calls since the last hold that went at the pace
        self._slot = -math.inf  # when the next call may go
        self._hold: _Hold | None = None

    @property
    def held_until(self) -> float:
        """When the server may be tested; in the past, if calls go."""
        return -math.inf if self._hold is None else self._hold.until

    def pace(self, now: float) -> float:
        """Return the calls per second; infinite before the first refusal."""
        if self._searched_since is not None:
            return self._measured * 2 ** min((now - self._searched_since) / _DOUBLES, 64)
        if math.isinf(self._measured):
            return math.inf
        rounds = self._paced / self._confidence
        grown = _GROWTH * (rounds + max(0.0, rounds - _SLOW_ROUNDS) ** 2 / 2)
        return self._measured * self._dipped * (_FLOOR + grown)

    @property
    def _dipped(self) -> float:
        return min(1.0, self._dip + self._paced / _DIP_CALLS)

    def wait(self, now: float) -> float | None:
        """Return the seconds until the next call may go; `None`: until the probe has its answer."""
        if self._hold is None:
            return max(0.0, self._slot - now)
        return None if self._hold.probe else max(0.0, self._hold.until - now)

    def sent(self, number: int, now: float) -> bool:
        """Record that the call `number` goes; return whether it had to wait for its turn."""
        if self._began is None:
            self._began = now
        self._taken += 1
        if self._hold is not None:
            self._hold.probe, self._hold.until = number, now
            return True
        pace = self.pace(now)
        if math.isinf(pace):
            return False
        late = max(_LATE, min(CATCH_UP, 2 / pace))
        waited = self._slot > now - late / 2
        if now - self._slot > max(1.0, 5 / pace):  # nothing waited, so nothing was measured
            self._began, self._taken_before, self._is_measuring = now, self._taken - 1, False
        self._slot = max(self._slot, now - late) + 1 / pace
        return waited

    def taken(self, number: int, now: float, *, waited: bool) -> bool:
        """Record that the server has taken the call `number`, which has `waited` for its turn.

        Return whether it is the first one after an outage.
        """
        hold = self._hold
        if hold is None:
            self._paced += waited
            return False
        if number != hold.probe:
            return False
        self._hold = None
        if hold.is_rate:
            self._measure(hold)
            # The probe is the first call of the next measurement.
            self._began, self._taken_before, self._is_measuring = hold.end, self._taken - 1, True
            self._paced = 0
            self._slot = max(now, hold.until + 1 / self.pace(now))  # the probe has used one
            return False
        gone = now - hold.since
        assert self._began is not None
        self._began += gone
        if self._searched_since is not None:
            self._searched_since += gone
        self._slot = now
        return hold.step > 0

    def left(self, number: int, now: float) -> None:
        """Record that the call `number` is over, whether it was answered or not."""
        hold = self._hold
        if hold is not None and number == hold.probe:  # neither taken nor refused
            hold.probe, hold.until = 0, now + max(hold.step, _SHORTEST_HOLD)

    def forget_probe(self) -> None:
        """Record that nobody will hear of the call that tests the server."""
        if self._hold is not None:
            self._hold.probe = 0

    def refused(
        self,
        number: int,
        count: int,
        now: float,
        *,
        wish: float | None,
        is_rate: bool,
        is_told: bool,
    ) -> None:
        """Record that the server has refused the call `number`, of `count` that ever went.

        `wish`: the seconds that it asks for. `is_rate`: it says that a limit is the cause.
        `is_told`: it reports its limits.
        """
        if wish is not None and not 0 < wish <= LONGEST_WISH:
            wish = None
        self._taken -= 1
        hold = self._hold
        if number <= self._latest:  # it went before the hold, so it shows nothing new
            if hold is not None and wish is not None and not hold.probe:
                hold.until = max(hold.until, now + wish)
            return
        self._latest = count
        if hold is None:
            hold = self._hold = _Hold(now, is_rate=is_rate, is_told=is_told)
        else:
            hold.is_rate = hold.is_rate and is_rate
            hold.refused_at = hold.until
            hold.step = max(_SHORTEST_HOLD, _LATER * (now - hold.since))
        hold.prolong(now, wish, now if self._began is None else self._began)

    def _measure(self, hold: _Hold) -> None:
        """Set the measured rate at the end of a hold."""
        assert self._began is not None
        pace, calls, end = self.pace(hold.since), self._taken - 1 - self._taken_before, hold.end
        busy, held = hold.since - self._began, end - hold.since
        rate = calls / max(end - self._began, _LATE)
        if self._is_measuring and calls < self._confidence * _SOON:
            if self._dipped == 1.0:  # once may be by chance
                self._dip = _DIP
                return
            self._confidence = _FEWEST
            self._measured = min(pace * _LOWER, max(rate, pace * _DIP))
        elif not calls or not (self._is_measuring or hold.is_told or held > max(_ROUNDED, busy)):
            self._measured = min(pace, 1 / max(held, _SHORTEST_HOLD / 2))
            self._searched_since = end
        elif self._searched_since is not None:
            self._measured, self._confidence = pace / 2, _FEWEST
            self._searched_since = None
        else:
            if pace < math.inf:
                rate = min(pace, max(rate, min(pace * _LOWER, rate * _NEAR)))
            agrees = abs(rate - self._measured) < 0.05 * rate
            calls += self._confidence if agrees else 0
            self._measured, self._confidence = rate, min(_MOST, max(_FEWEST, calls))
        self._dip = 1.0
