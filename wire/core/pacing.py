"""Decides when each of many calls may be sent, so that a server's rate limits hold.

No clock, no I/O, no locks: each method gets the time as an argument, in seconds of any clock.
`wire.pace` holds the lock and waits.

What a limit allows comes back evenly over its window, as at OpenAI and Anthropic. A limit that
somebody named is never changed. What servers report is a limit of its own, for one model at one
provider, and all limits must allow a call.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from wire.core.decoders import decoder

if TYPE_CHECKING:
    from wire.core.rate_limits import RateLimit

_BYTES_PER_TOKEN = 4
_SHARE = 0.98
"""Of each limit. Calls do not take equally long to the server: without the rest, one that is slow
and one that is quick would arrive closer together than the limit allows."""
_MINUTE = 60.0
LONGEST = 3600.0
"""Seconds. A wait that is longer is not kept, nor a limit with a longer window: the call is sent,
and the server's error says in time what no patience mends."""
_SLACK = 1e-6
_SHORTEST = 0.001
"""Seconds. Clocks are not exact: a shorter wait might never bring what it waits for."""
_USED = 0.5
"""The part of a limit that must be used up before its reset tells how quickly it comes back:
`remaining` is rounded, and so are many resets."""

Amounts = Mapping[str, float]
"""What a call uses of each unit."""


class Place:
    """The place of one attempt: first in the queue, then among the calls that run."""

    __slots__ = ("amounts", "at", "key", "number", "reported")

    def __init__(self, key: str, amounts: Amounts) -> None:
        self.key, self.amounts = key, amounts
        self.number = 0  # when it was let through; 0: not yet
        self.at = 0.0
        self.reported = False  # whether the server has responded


class _Limit:
    """What is left of one limit."""

    __slots__ = ("at", "latest", "left", "limit", "window")

    def __init__(self, limit: float, window: float, now: float) -> None:
        self.limit, self.window = limit * _SHARE, window
        self.left, self.at = self.limit, now
        self.latest = 0  # number of the attempt whose report was used last

    def refill(self, now: float) -> None:
        came_back = max(0.0, now - self.at) * self.limit / self.window
        self.left, self.at = min(self.limit, self.left + came_back), max(self.at, now)

    def wait(self, amount: float) -> float:
        """Seconds until `amount` is there; a larger one than the limit needs all of it."""
        missing = min(amount, self.limit) - self.left
        return missing * self.window / self.limit if missing > _SLACK else 0.0


class Pacing:
    """Which of the calls that wait goes next, and when.

    >>> pacing = Pacing({"requests": 1}, window=60)
    >>> first, second = pacing.enter("a", {"requests": 1}), pacing.enter("a", {"requests": 1})
    >>> pacing.wait(second, 0.0) is None  # it is not its turn
    True
    >>> pacing.wait(first, 0.0), round(pacing.wait(second, 0.0))
    (0.0, 61)

    `limits` are per `window` of so many seconds. `concurrent` bounds the calls that run. Without
    limits, one call to each key runs alone until its server has responded: it may report limits.
    """

    def __init__(
        self, limits: Mapping[str, float], window: float, concurrent: int | None = None
    ) -> None:
        self._given, self._window, self._concurrent = dict(limits), window, concurrent
        self._own: dict[str, _Limit] = {}
        self._learned: dict[str, dict[tuple[str, str, float | None], _Limit]] = {}
        self._queue: deque[Place] = deque()
        self._running: dict[Place, None] = {}  # the first let through comes first
        self._responded: deque[tuple[float, Place]] = deque()  # since the oldest of them
        self._until = -math.inf
        self._count = 0

    @property
    def next(self) -> Place | None:
        """Whose turn it is."""
        return self._queue[0] if self._queue else None

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """How many calls run."""
        return len(self._running)

    def enter(self, key: str, amounts: Amounts) -> Place:
        """Join the queue at its end; `key` names the server and the model."""
        place = Place(key, amounts)
        self._queue.append(place)
        return place

    def wait(self, place: Place, now: float) -> float | None:
        """Seconds that `place` must wait; 0: it is let through now, and counted.

        `None`: until something changes: another call goes first, or one must end.
        """
        if self._queue[0] is not place:
            return None
        if self._concurrent is not None and len(self._running) >= self._concurrent:
            return None
        if not self._given and place.key not in self._learned and self._probed(place.key):
            return None
        limits = self._limits(place, now)
        waits = [limit.wait(amount) for limit, amount in limits]
        longest = max([self._until - now, *waits])
        if longest > 0:
            return max(longest, _SHORTEST)
        self._queue.popleft()
        self._count += 1
        place.number, place.at = self._count, now
        self._running[place] = None
        for limit, amount in limits:
            limit.left -= amount
        return 0.0

    def leave(self, place: Place, now: float, used: Amounts) -> None:
        """End the wait or the run of `place`; `used` replaces its estimate, unit by unit."""
        if place not in self._running:
            if place in self._queue:
                self._queue.remove(place)
            return
        del self._running[place]
        for unit, amount in place.amounts.items():
            for limit in self._limits_of(place.key, unit, now):
                if limit.latest < place.number:  # else its server has counted what was used
                    limit.left += amount - used.get(unit, amount)

    def hold(self, seconds: float, now: float) -> None:
        """A server wants all to wait."""
        if seconds <= LONGEST:
            self._until = max(self._until, now + seconds)

    def learn(
        self, place: Place, reported: Iterable[RateLimit], received_at: float, now: float
    ) -> None:
        """Take over what a response to `place` reports; it came at `received_at` of the epoch."""
        beside = self._beside(place)
        later = [each for each in beside if each.number > place.number and not each.reported]
        is_first, place.reported = not place.reported, True
        limits = self._learned.setdefault(place.key, {})
        for report in reported:
            if report.limit is None or report.remaining is None or report.limit <= 0:
                continue
            if report.window is not None and report.window > LONGEST:
                continue
            key = report.unit, report.scope, report.window
            limit = limits.get(key)
            is_new = limit is None
            if limit is None:
                limit = limits[key] = _Limit(report.limit, report.window or _MINUTE, now)
            if place.number < limit.latest:
                continue  # a later call has told more
            limit.latest = place.number
            limit.refill(now)
            limit.limit = report.limit * _SHARE
            used = report.limit - report.remaining
            if report.window is None and report.resets_at and used >= report.limit * _USED:
                seconds = report.resets_at.timestamp() - received_at
                if 0 < seconds <= LONGEST:
                    limit.window = seconds * report.limit / used
            left = report.remaining - report.limit * (1 - _SHARE)
            # At best the server has counted this call when it was let through, and all before it.
            came_back = (now - place.at) * limit.limit / limit.window
            most = left + came_back - sum(each.amounts.get(report.unit, 0) for each in later)
            # At worst it has counted it just now, and before all that ran at the same time.
            least = left - sum(each.amounts.get(report.unit, 0) for each in beside)
            known = least if is_new else max(min(limit.left, most), least)
            limit.left = min(limit.limit, known)
        if is_first:
            self._responded.append((now, place))

    def _probed(self, key: str) -> bool:
        """Whether a call runs whose response may tell the limits."""
        return any(each.key == key and not each.reported for each in tuple(self._running))

    def _beside(self, place: Place) -> list[Place]:
        """The calls that the server may have counted after `place`: those without a response, and
        those whose response came after `place` was let through.
        """
        oldest = next(iter(self._running), place).at
        while self._responded and self._responded[0][0] < oldest:
            self._responded.popleft()
        beside = [each for at, each in self._responded if at >= place.at]
        beside += [each for each in tuple(self._running) if not each.reported]
        return [each for each in beside if each is not place and each.key == place.key]

    def _limits(self, place: Place, now: float) -> list[tuple[_Limit, float]]:
        return [
            (limit, amount)
            for unit, amount in place.amounts.items()
            for limit in self._limits_of(place.key, unit, now)
        ]

    def _limits_of(self, key: str, unit: str, now: float) -> list[_Limit]:
        """The limits that count `unit`, as they are now."""
        if unit in self._given and unit not in self._own:
            self._own[unit] = _Limit(self._given[unit], self._window, now)
        learned = self._learned.get(key, {})
        found = [limit for (counted, _, _), limit in learned.items() if counted == unit]
        if unit in self._own:
            found.append(self._own[unit])
        for limit in found:
            limit.refill(now)
        return found


# --- tokens ---------------------------------------------------------------------------------------


class _Generation(msgspec.Struct, rename="camel"):
    max_output_tokens: int | None = None


class _Body(msgspec.Struct):
    """Where the bodies of the vendors name the longest output."""

    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None
    generation_config: _Generation | None = msgspec.field(default=None, name="generationConfig")


def estimated(body: bytes) -> dict[str, float]:
    """What a request with this body may use: a token for each 4 bytes, and the longest output.

    >>> estimated(b'{"max_tokens": 100}')["tokens"]
    104
    """
    try:
        read = decoder(_Body).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        read = _Body()  # a file, or a value that the server will refuse
    most = read.max_tokens or read.max_completion_tokens or read.max_output_tokens
    if most is None and read.generation_config is not None:
        most = read.generation_config.max_output_tokens
    return amounts(len(body) // _BYTES_PER_TOKEN, max(0, most or 0))


def amounts(input_tokens: int, output_tokens: int, *, cached: int = 0) -> dict[str, float]:
    """What a call with so many tokens uses of each unit."""
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "uncached_input_tokens": input_tokens - cached,
    }
