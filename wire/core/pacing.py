"""Decides when each of many calls may be sent, so that a server's rate limits hold.

No clock, no I/O, no locks: each method gets the time as an argument, in seconds of any clock.
`wire.pace` holds the lock and waits.

Used capacity comes back evenly over the window of a limit, as at OpenAI and Anthropic. A limit that
the user sets is never changed. A limit that a server reports is separate, for one model at one
provider, and all limits must allow a call.
"""

from __future__ import annotations

import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import msgspec

from wire.core.decoders import decoder

if TYPE_CHECKING:
    from wire.core.rate_limits import RateLimit

_BYTES_PER_TOKEN = 4
_SHARE = 0.98
"""Share of each limit that is used. Calls do not take equally long to the server: without a margin,
a slow and a quick one would arrive closer together than the limit allows."""
_MINUTE = 60.0
LONGEST = 3600.0
"""Seconds. A longer wait, or a limit with a longer window, is ignored: the call is sent, and the
server's error reports at once what waiting would not mend."""
_SLACK = 1e-6
_SHORTEST = 0.001
"""Seconds. Clocks are not exact: after a shorter wait the capacity might still be missing."""
_USED = 0.5
"""The part of a limit that must be used up before its reset tells how quickly it comes back:
`remaining` and many resets are rounded."""

BUSY = frozenset({429, 503, 529})
"""Statuses of an overloaded server. Without a limit and without `Retry-After`, they mean that too
many calls run at the same time."""
_OUTPUT_UNITS = frozenset({"tokens", "output_tokens"})
_OUTPUTS = 32
"""Number of replies whose lengths are averaged for the usual length."""
_ROUNDS_BELOW = 32
_ANSWERS_BELOW = 250
"""The rounds of answers, and the least number of answers, before as many calls run again as the
server has refused: so a server that takes no more refuses few calls."""

_MOST_MODELS = 1_000
"""The number of models whose limits are kept. The model that was asked longest ago is dropped
first."""
_MOST_LIMITS = 16
"""The number of limits that are kept of a model, so that a server cannot fill the memory with names
of its own."""

Amounts = Mapping[str, float]
"""The amount of each unit that a call uses."""


class Place:
    """The place of one attempt: first in the queue, then among the calls that run."""

    __slots__ = (
        "amounts", "at", "is_open", "model", "number", "reported", "responded", "sent"
    )  # fmt: skip

    def __init__(self, model: _Model, amounts: Amounts, is_open: bool) -> None:
        self.model, self.amounts = model, amounts
        self.is_open = is_open  # whether its output length is unlimited
        self.number = 0  # its number among the calls let through; 0: not yet
        self.at = 0.0
        self.reported = False  # whether the server has responded
        self.sent: Amounts = {}  # `_Model.sent` and `.responded` when it was let through
        self.responded: Amounts = {}


class _Model:
    """One model at one server: the limits that it reported, and what calls to it use.

    The sums over all calls replace a search among those that run: what was let through after a
    call is the difference between two sums.
    """

    __slots__ = (
        "is_known",
        "limits",
        "open",
        "outputs",
        "pending",
        "responded",
        "running",
        "sent",
        "usual_output",
        "width",
    )

    def __init__(self, most: int | None) -> None:
        self.width = _Width(most)
        self.usual_output = 0.0  # mean tokens of recent replies
        self.outputs = 0  # number of replies in this mean
        self.running = 0
        self.limits: OrderedDict[tuple[str, str, float | None], _Limit] = OrderedDict()
        self.is_known = False  # whether a server has responded
        self.pending = 0  # running calls without a response
        self.open: defaultdict[str, float] = defaultdict(int)  # their amounts
        self.sent: defaultdict[str, float] = defaultdict(int)  # total of the calls let through
        self.responded: defaultdict[str, float] = defaultdict(int)  # the part with a response

    def expected(self, place: Place) -> Amounts:
        """Estimate the amounts of a call, with an output of the usual length if it is unlimited.

        Without this estimate, many calls at once would be let through for the tokens of their
        requests alone, and their replies would exceed the limit.
        """
        if not (place.is_open and self.outputs):
            return place.amounts
        amounts = dict(place.amounts)
        for unit in _OUTPUT_UNITS & amounts.keys():
            amounts[unit] += self.usual_output
        return amounts

    def has_output(self, tokens: float) -> None:
        self.outputs = min(self.outputs + 1, _OUTPUTS)
        self.usual_output += (tokens - self.usual_output) / self.outputs

    def let_through(self, place: Place) -> None:
        self.pending += 1
        self.running += 1
        for unit, amount in place.amounts.items():
            self.sent[unit] += amount
            self.open[unit] += amount
        place.sent, place.responded = dict(self.sent), dict(self.responded)

    def ended(self, place: Place) -> None:
        """Record that `place` has ended, or has its response."""
        self.pending -= 1
        for unit, amount in place.amounts.items():
            self.open[unit] -= amount

    def has_response(self, place: Place) -> None:
        place.reported = self.is_known = True
        self.ended(place)
        for unit, amount in place.amounts.items():
            self.responded[unit] += amount


class _Width:
    """The number of concurrent calls to one model, learned from a server that is busy.

    A refusal halves the number. Each round of as many answers raises it by one. Below the refused
    number it stays for many rounds: few calls then test whether the server takes more now.
    """

    __slots__ = ("answers", "latest", "limit", "most", "refused_at")

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.limit: int | None = None  # none before the first refusal
        self.refused_at = 0
        self.answers = 0  # since the last change
        self.latest = 0  # number of the last call that was let through before the last refusal

    def is_full(self, running: int) -> bool:
        return self.limit is not None and running >= self.limit

    def refused(self, place: Place, running: int, count: int) -> None:
        """Halve the number after a refusal.

        `count` calls were ever let through, and `running` of this model have not ended.
        """
        if place.number <= self.latest:
            return  # it was sent before the number was halved, so it shows nothing new
        at = running if self.limit is None else min(running, self.limit)
        self.limit, self.refused_at = max(1, at // 2), at
        self.answers, self.latest = 0, count

    def answered(self, place: Place) -> None:
        if self.limit is None or place.number <= self.latest:
            return
        self.answers += 1
        needed = self.limit
        if self.limit + 1 == self.refused_at:
            needed = max(self.limit * _ROUNDS_BELOW, _ANSWERS_BELOW)
        if self.answers < needed:
            return
        self.limit, self.answers = self.limit + 1, 0
        if self.most is not None and self.limit >= self.most:
            self.limit = None


class _Limit:
    """The remaining capacity of one limit."""

    __slots__ = ("at", "latest", "left", "limit", "window")

    def __init__(self, limit: float, window: float, now: float) -> None:
        self.limit, self.window = limit * _SHARE, window
        self.left, self.at = self.limit, now
        self.latest = 0  # number of the attempt whose report was used last

    def refill(self, now: float) -> None:
        came_back = max(0.0, now - self.at) * self.limit / self.window
        self.left, self.at = min(self.limit, self.left + came_back), max(self.at, now)

    def wait(self, amount: float) -> float:
        """Return the seconds until `amount` is available; one above the limit needs all of it."""
        missing = min(amount, self.limit) - self.left
        return missing * self.window / self.limit if missing > _SLACK else 0.0


class Pacing:
    """Selects the waiting call that goes next, and its time.

    >>> pacing = Pacing({"requests": 1}, window=60)
    >>> first, second = pacing.enter("a", {"requests": 1}), pacing.enter("a", {"requests": 1})
    >>> pacing.wait(second, 0.0) is None  # it is not its turn
    True
    >>> pacing.wait(first, 0.0), round(pacing.wait(second, 0.0))
    (0.0, 61)

    `limits` are per `window` of so many seconds. `concurrent` bounds the calls that run; of a model
    whose server is `busy`, fewer run for a while. Without limits, one call to each key runs alone
    until its server has responded: it may report limits.
    """

    def __init__(
        self, limits: Mapping[str, float], window: float, concurrent: int | None = None
    ) -> None:
        self._given, self._window, self._concurrent = dict(limits), window, concurrent
        self._own: dict[str, _Limit] = {}
        self._idle: float | None = None  # seconds since an earlier process used the limits
        self._models: OrderedDict[str, _Model] = OrderedDict()  # least recently asked first
        self._queue: OrderedDict[Place, None] = OrderedDict()
        self._running: set[Place] = set()
        self._until = -math.inf
        self._count = 0

    def resume(self, idle: float) -> None:
        """Start from the state of an earlier process that used the named limits `idle` seconds ago.

        Call it before the first call. The limits may have been used up then. One call goes alone:
        only if its response reports the remaining capacity, the named limits count as full.
        """
        self._idle = idle

    def forget_calls(self) -> None:
        """Drop the waiting and running calls in a forked child; they belong to the parent.

        The capacity that they use stays used.
        """
        for place in self._running:
            place.reported = True  # so that a later report is not counted as its end
        self._queue.clear()
        self._running.clear()
        for model in self._models.values():
            model.running = model.pending = 0
            model.open.clear()

    @property
    def next(self) -> Place | None:
        """The place whose turn it is."""
        return next(iter(self._queue), None)

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """The number of running calls."""
        return len(self._running)

    def enter(self, key: str, amounts: Amounts, *, is_open: bool = False) -> Place:
        """Join the queue at its end; `key` names the server and the model.

        `is_open`: `amounts` has no output, since the request does not limit it.
        """
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = _Model(self._concurrent)
        self._models.move_to_end(key)
        if len(self._models) > _MOST_MODELS:
            self._models.popitem(last=False)
        place = Place(model, amounts, is_open)
        self._queue[place] = None
        return place

    def wait(self, place: Place, now: float) -> float | None:
        """Return the seconds that `place` must wait; 0 if it is let through now, and counted.

        Returns `None` if another call goes first or one must end, so that only a change ends the
        wait.
        """
        if self.next is not place:
            return None
        if self._concurrent is not None and len(self._running) >= self._concurrent:
            return None
        model = place.model
        if model.width.is_full(model.running):
            return None
        is_first = not model.is_known and (self._idle is not None or not self._given)
        if is_first and model.pending:
            return None  # one call finds out whether the server reports limits
        limits = self._limits(place, now)
        expected = model.expected(place)
        waits = [limit.wait(expected[unit]) for unit, limit in limits]
        longest = max([self._until - now, *waits])
        if longest > 0:
            return max(longest, _SHORTEST)
        del self._queue[place]
        self._count += 1
        place.number, place.at, place.amounts = self._count, now, expected
        self._running.add(place)
        model.let_through(place)
        for unit, limit in limits:
            limit.left -= place.amounts[unit]
        return 0.0

    def leave(self, place: Place, now: float, used: Amounts) -> None:
        """End the wait or the run of `place`; `used` replaces its estimate, unit by unit."""
        if place not in self._running:
            self._queue.pop(place, None)
            return
        self._running.discard(place)
        place.model.running -= 1
        if output := used.get("output_tokens"):
            place.model.has_output(output)
        if not place.reported:
            place.model.ended(place)
        for unit, limit in self._limits(place, now):
            if limit.latest < place.number:  # otherwise its server has counted what was used
                amount = place.amounts[unit]
                limit.left += amount - used.get(unit, amount)

    def busy(self, place: Place) -> None:
        """Record that the server has refused `place`, with a status of `BUSY` and no details.

        Half as many calls to its model run at the same time from now on, but once for all calls
        that ran together. Answers raise the number again.
        """
        place.model.width.refused(place, place.model.running, self._count)

    def answered(self, place: Place) -> None:
        """Record that the server has answered `place`."""
        place.model.width.answered(place)

    def hold(self, seconds: float, now: float) -> None:
        """Hold all calls for the seconds that a server wants."""
        if seconds <= LONGEST:
            self._until = max(self._until, now + seconds)

    def learn(
        self, place: Place, reported: Iterable[RateLimit], received_at: float, now: float
    ) -> None:
        """Store the limits in the response to `place`, which arrived at the epoch `received_at`."""
        model = place.model
        if not place.reported:
            model.has_response(place)
        idle, self._idle = self._idle, None
        for report in reported:
            unit = report.unit
            if unit not in place.amounts:
                continue  # how much a call uses of it is unknown
            if report.limit is None or report.remaining is None or report.limit <= 0:
                continue
            if report.window is not None and report.window > LONGEST:
                continue
            key = unit, report.scope, report.window
            limit = model.limits.get(key)
            is_new = limit is None
            if limit is None:
                limit = model.limits[key] = _Limit(report.limit, report.window or _MINUTE, now)
            if place.number < limit.latest:
                continue  # a later call has reported more
            model.limits.move_to_end(key)
            if len(model.limits) > _MOST_LIMITS:
                model.limits.popitem(last=False)
            if idle is not None and unit in self._own:
                self._own[unit].left = self._own[unit].limit - place.amounts[unit]
            limit.latest = place.number
            limit.refill(now)
            limit.limit = report.limit * _SHARE
            used = report.limit - report.remaining
            if report.window is None and report.resets_at and used >= report.limit * _USED:
                seconds = report.resets_at.timestamp() - received_at
                if 0 < seconds <= LONGEST:
                    limit.window = seconds * report.limit / used
            left = report.remaining - report.limit * (1 - _SHARE)
            # Best case: the server counted this call when it was let through, and all before it.
            came_back = (now - place.at) * limit.limit / limit.window
            most = left + came_back - (model.sent[unit] - place.sent[unit])
            # Worst case: the server counted it just now, and before all calls that ran at the same
            # time: those without a response, and those whose response came after it was let
            # through.
            others = model.responded[unit] - place.amounts[unit] - place.responded.get(unit, 0)
            least = left - others - model.open[unit]
            known = least if is_new else max(min(limit.left, most), least)
            limit.left = min(limit.limit, known)

    def _limits(self, place: Place, now: float) -> list[tuple[str, _Limit]]:
        """Return the limits that count what `place` uses, as they are now, each with its unit."""
        for unit, most in self._given.items():
            if unit in place.amounts and unit not in self._own:
                own = self._own[unit] = _Limit(most, self._window, now)
                if self._idle is not None:
                    own.left = min(own.limit, self._idle * own.limit / own.window)
        learned = [(unit, limit) for (unit, _, _), limit in place.model.limits.items()]
        found = [each for each in (*learned, *self._own.items()) if each[0] in place.amounts]
        for _, limit in found:
            limit.refill(now)
        return found


# --- tokens ---------------------------------------------------------------------------------------


class _Generation(msgspec.Struct, rename="camel"):
    max_output_tokens: int | None = None


class _Body(msgspec.Struct):
    """The keys of the longest output in the bodies of the vendors."""

    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None
    generation_config: _Generation | None = msgspec.field(default=None, name="generationConfig")


def estimated(body: bytes) -> dict[str, float]:
    """Estimate the use of a request with this body: a token per 4 bytes, and the longest output.

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
    """Return the amount of each unit that a call with this number of tokens uses."""
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "uncached_input_tokens": input_tokens - cached,
    }
