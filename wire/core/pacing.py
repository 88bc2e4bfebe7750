"""Decides when each of many calls may be sent, so that a server's rate limits hold.

No clock, no I/O, no locks: each method gets the time as an argument, in seconds of any clock.
`wire.pace` holds the lock and waits.

Limits hold for a key: an account, a host and a model. Each key has a queue, what its server reports
(`reported_limit`), what its answers and refusals show (`learned_rate`), and how many calls its
server takes at the same time (`learned_width`). The limits that the user names (`named_limit`) hold
for all keys together. The keys take turns, and none waits because of another one's server.
"""

from __future__ import annotations

import itertools
import math
from collections import OrderedDict, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from wire.core.amounts import Amounts
from wire.core.learned_rate import LearnedRate
from wire.core.learned_width import LearnedWidth
from wire.core.named_limit import SLACK, NamedLimits, rounded
from wire.core.reported_limit import ReportedLimit

if TYPE_CHECKING:
    from datetime import datetime

    from wire.core.rate_limits import RateLimit

BUSY = frozenset({429, 503, 529})
"""Statuses of a server that refuses a call because of its load, before it does any work for it."""
RATE_LIMITED = 429
"""The status of a server whose limits refuse a call; the others are those of an outage."""
LONGEST = 3600.0
"""Seconds. A limit with a longer window is ignored: the call is sent, and the server's error
reports at once what waiting would not mend."""

_OUTPUT_UNITS = frozenset({"tokens", "output_tokens"})
_OUTPUTS = 32
"""Number of replies whose lengths are averaged for the usual length."""
_LONG_WISH = 1.0
"""Seconds. A server that asks for a longer wait counts calls by the time, not those that run."""
_MOST_MODELS = 1_000
"""The number of keys whose limits are kept. The key that was asked longest ago is dropped first."""
_MOST_LIMITS = 16
"""The number of limits that are kept of a key, so that a server cannot fill the memory with names
of its own."""


def is_fraction(resets_at: datetime, received_at: float) -> bool:
    """Return whether a reset is neither a whole second of a clock nor of a wait."""
    moment = resets_at.timestamp()
    return all(abs(each - round(each)) > 0.001 for each in (moment, moment - received_at))


class Place:
    """The place of one attempt: first in the queue, then among the calls that run."""

    __slots__ = (
        "amounts", "at", "is_open", "model", "number", "reported", "responded", "sent", "waited"
    )  # fmt: skip

    def __init__(self, model: _Model, amounts: Amounts, is_open: bool) -> None:
        self.model, self.amounts = model, amounts
        self.is_open = is_open  # whether its output length is unlimited
        self.number = 0  # its number among the calls let through; 0: not yet
        self.at = 0.0
        self.waited = False  # whether the learned rate made it wait
        self.reported = False  # whether the server has responded
        self.sent: Amounts = {}  # `_Model.sent` and `.responded` when it was let through
        self.responded: Amounts = {}


class _Model:
    """One key: what its server has reported and shown, and what calls to it use.

    The sums over all calls replace a search among those that run: what was let through after a
    call is the difference between two sums.
    """

    __slots__ = (
        "is_known",
        "limits",
        "open",
        "outputs",
        "pending",
        "queue",
        "rate",
        "responded",
        "running",
        "sent",
        "usual_output",
        "width",
    )

    def __init__(self, most: int | None) -> None:
        self.queue: OrderedDict[Place, None] = OrderedDict()
        self.rate, self.width = LearnedRate(), LearnedWidth(most)
        self.usual_output = 0.0  # mean tokens of recent replies
        self.outputs = 0  # number of replies in this mean
        self.running = 0
        self.limits: OrderedDict[tuple[str, str, float | None], ReportedLimit] = OrderedDict()
        self.is_known = False  # whether a server has responded
        self.pending = 0  # running calls without a response
        self.open: defaultdict[str, float] = defaultdict(int)  # their amounts
        self.sent: defaultdict[str, float] = defaultdict(int)  # total of the calls let through
        self.responded: defaultdict[str, float] = defaultdict(int)  # the part with a response

    @property
    def first(self) -> Place | None:
        return next(iter(self.queue), None)

    def wait(self, amounts: Amounts, now: float) -> float | None:
        """Return the seconds until a call may go as far as this key allows it; `None`: until one of
        its calls has an answer.
        """
        if self.width.is_full(self.running):
            return None
        wait = self.rate.wait(now)
        if wait is None:
            return None
        for (unit, _, _), limit in self.limits.items():
            limit.refresh(now, self.open[unit])
            wait = max(wait, limit.wait(amounts[unit], now))
        return wait

    def refused(
        self, place: Place, count: int, now: float, *, wish: float | None, is_rate: bool
    ) -> None:
        """Record a refusal; `count` calls were ever let through."""
        width, beside, is_told = self.width, self.running - 1, bool(self.limits)
        is_new = place.number > width.latest
        for limit in self.limits.values():
            limit.refused(place.at, now)
        if is_new and self.rate.held_until == -math.inf:
            width.before = width.limit
        counts_time = (wish or 0) > _LONG_WISH or is_told
        if is_new and is_rate and not counts_time and width.is_met(beside, waited=place.waited):
            width.lower(beside, count)
            return
        if width.limit is None:
            if not counts_time:
                width.guess(beside, count)
        elif width.is_guess and not is_new:  # it went together with the one before
            width.limit = max(1, width.limit - 1)
        self.rate.refused(place.number, count, now, wish=wish, is_rate=is_rate, is_told=is_told)

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

    def let_through(self, place: Place, now: float) -> None:
        place.waited = self.rate.sent(place.number, now)
        for (unit, _, _), limit in self.limits.items():
            limit.use(place.amounts[unit], now)
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

    def learn(self, place: Place, report: RateLimit, received_at: float, now: float) -> None:
        """Store what a response to `place` reports of one limit."""
        unit = report.unit
        assert report.limit is not None
        assert report.remaining is not None
        key = unit, report.scope, report.window
        limit = self.limits.get(key)
        is_new = limit is None
        if limit is None:
            limit = self.limits[key] = ReportedLimit(report.limit, report.window, now)
        if place.number < limit.latest:
            return  # a later call has reported more
        self.limits.move_to_end(key)
        if len(self.limits) > _MOST_LIMITS:
            self.limits.popitem(last=False)
        limit.latest = place.number
        seconds = None
        if report.resets_at is not None:
            seconds = report.resets_at.timestamp() - received_at
            seconds = max(0.0, seconds) if seconds <= LONGEST else None
        used = report.limit - report.remaining
        is_exact = report.resets_at is not None and is_fraction(report.resets_at, received_at)
        begins = limit.learn(
            report.limit, used, seconds, now, age=now - place.at, is_exact=is_exact
        )
        if begins is None:
            return
        is_new = is_new or begins
        # Best case: the server counted this call when it was let through, and all before it.
        most = report.remaining + limit.came_back(place.at, now)
        most -= self.sent[unit] - place.sent[unit]
        # Worst case: the server counted it just now, and before all calls that ran at the same
        # time: those without a response, and those whose response came after it was let through.
        others = self.responded[unit] - place.amounts[unit] - place.responded.get(unit, 0)
        least = report.remaining - others - self.open[unit]
        known = least if is_new else max(min(limit.left, most), least)
        limit.left = min(limit.limit, known)


class Pacing:
    """Selects the waiting calls that go next, and their time.

    >>> pacing = Pacing({"requests": 1}, window=60)
    >>> first, second = pacing.enter("a", {"requests": 1}), pacing.enter("a", {"requests": 1})
    >>> pacing.wait(second, 0.0) is None  # it is not its turn
    True
    >>> pacing.wait(first, 0.0), round(pacing.wait(second, 0.0))
    (0.0, 61)

    `limits` are per `window` of so many seconds, and hold for all keys together, as `concurrent`
    does, which bounds the calls that run. Without limits, one call to each key runs alone until its
    server has responded: it may report limits.
    """

    def __init__(
        self, limits: Mapping[str, float], window: float, concurrent: int | None = None
    ) -> None:
        self._named, self._concurrent = NamedLimits(dict(limits), window), concurrent
        self._models: OrderedDict[str, _Model] = OrderedDict()  # least recently asked first
        self._turns: OrderedDict[_Model, None] = OrderedDict()  # those with a queue, in turn
        self._running: set[Place] = set()
        self._count = 0

    def resume(self, idle: float) -> None:
        """Start from the state of an earlier process that used the named limits `idle` seconds ago.

        Call it before the first call. The limits may have been used up then: only if the first
        response reports the remaining capacity, they count as full.
        """
        self._named.idle = idle

    def forget_calls(self) -> None:
        """Drop the waiting and running calls in a forked child; they belong to the parent.

        The capacity that they use stays used.
        """
        for place in self._running:
            place.reported = True  # so that a later report is not counted as its end
        self._turns.clear()
        self._running.clear()
        for model in self._models.values():
            model.queue.clear()
            model.running = model.pending = 0
            model.open.clear()
            model.rate.forget_probe()

    def firsts(self) -> Iterator[Place]:
        """Yield the first place of each key that waits; the key whose turn it is comes first."""
        for model in self._turns:
            yield next(iter(model.queue))

    @property
    def waiting(self) -> int:
        """The number of waiting calls."""
        return sum(len(model.queue) for model in self._turns)

    @property
    def running(self) -> int:
        """The number of running calls."""
        return len(self._running)

    def enter(
        self, key: str, amounts: Amounts, *, is_open: bool = False, before: int | None = None
    ) -> Place:
        """Join the queue of a key; `key` names the account, the server and the model.

        `is_open`: `amounts` has no output, since the request does not limit it. `before`: the
        number of calls that go first; `None`: all that wait.
        """
        model = self._models.get(key)
        if model is None:
            model = self._models[key] = _Model(self._concurrent)
        self._models.move_to_end(key)
        if len(self._models) > _MOST_MODELS:
            self._models.popitem(last=False)
        place = Place(model, amounts, is_open)
        model.queue[place] = None
        if before is not None:
            first = [each for each in itertools.islice(model.queue, before) if each is not place]
            for each in (place, *reversed(first)):
                model.queue.move_to_end(each, last=False)
        self._turns.setdefault(model)
        return place

    def wait(self, place: Place, now: float) -> float | None:
        """Return the seconds that `place` must wait; 0 if it is let through now, and counted.

        Returns `None` if another call goes first or one must end, so that only a change ends the
        wait.
        """
        model = place.model
        if model.first is not place:
            return None
        if not model.is_known and model.pending and not self._named.limits:
            return None  # one call finds out whether the server reports limits
        amounts = model.expected(place)
        wait = model.wait(amounts, now)
        if wait is None or (wait := rounded(wait)):
            return wait
        if self._concurrent is not None and len(self._running) >= self._concurrent:
            return None
        # What is named holds for all keys: it goes to the first one that waits for nothing else.
        for other in self._turns:
            if other is model:
                break
            first = other.first
            if first is None:
                continue
            ready = other.wait(other.expected(first), now)
            if ready is not None and ready <= SLACK:
                return None
        if wait := self._named.wait(amounts, now):
            return wait
        self._let_through(place, amounts, now)
        self._named.use(amounts, now)
        return 0.0

    def _let_through(self, place: Place, amounts: Amounts, now: float) -> None:
        model = place.model
        self._unqueue(place)
        if model.queue:
            self._turns.move_to_end(model)
        self._count += 1
        place.number, place.at, place.amounts = self._count, now, amounts
        self._running.add(place)
        model.let_through(place, now)

    def _unqueue(self, place: Place) -> None:
        model = place.model
        model.queue.pop(place, None)
        if not model.queue:
            self._turns.pop(model, None)

    def leave(self, place: Place, now: float, used: Amounts) -> None:
        """End the wait or the run of `place`; `used` replaces its estimate, unit by unit."""
        if place not in self._running:
            self._unqueue(place)
            return
        self._running.discard(place)
        model = place.model
        model.running -= 1
        model.rate.left(place.number, now)
        if output := used.get("output_tokens"):
            model.has_output(output)
        if not place.reported:
            model.ended(place)
        for (unit, _, _), known in model.limits.items():
            if known.latest < place.number:  # otherwise its server has counted what was used
                known.left += place.amounts[unit] - used.get(unit, place.amounts[unit])
        self._named.settle(place.amounts, used, now)

    def refused(self, place: Place, now: float, *, wish: float | None, status: int | None) -> None:
        """Record that the server has refused `place` with a `status` of `BUSY`.

        `wish`: the seconds that it asks for.
        """
        is_rate = status == RATE_LIMITED
        place.model.refused(place, self._count, now, wish=wish, is_rate=is_rate)

    def taken(self, place: Place, now: float) -> None:
        """Record that the server has taken `place`: its response has begun."""
        model = place.model
        if model.rate.taken(place.number, now, waited=place.waited):
            model.width.restore()
        model.width.taken(place.number)

    def answered(self, place: Place) -> None:
        """Record that the server has answered `place`."""
        place.model.width.answered(place.number, place.model.running)

    def held(self, key: str, now: float) -> float:
        """Return the seconds for which no call goes to `key`; 0 if calls go."""
        model = self._models.get(key)
        return max(0.0, model.rate.held_until - now) if model is not None else 0.0

    def learn(
        self, place: Place, reported: Iterable[RateLimit], received_at: float, now: float
    ) -> None:
        """Store the limits in the response to `place`, which arrived at the epoch `received_at`."""
        model = place.model
        if not place.reported:
            model.has_response(place)
        for report in reported:
            unit = report.unit
            if unit not in place.amounts:
                continue  # how much a call uses of it is unknown
            if report.limit is None or report.remaining is None or report.limit <= 0:
                continue
            if report.window is not None and report.window > LONGEST:
                continue
            model.learn(place, report, received_at, now)
        self._named.reported(place.amounts, {unit for unit, _, _ in model.limits})
