"""Decides when each of many calls may be sent, so that a server's rate limits hold.

No clock, no I/O, no locks: each method gets the time as an argument, in seconds of any clock.
`wire.pace` holds the lock and waits.

What a limit allows comes back evenly over its window, as at OpenAI and Anthropic. A limit that
somebody named is never changed. What servers report is a limit of its own, for one model at one
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

BUSY = frozenset({429, 503, 529})
"""Statuses of a server that has too much to do. Without a limit and without `Retry-After`, they say
that too many calls run at the same time."""
_OUTPUT_UNITS = frozenset({"tokens", "output_tokens"})
_OUTPUTS = 32
"""Replies whose lengths make the usual one."""
_ROUNDS_BELOW = 32
_ANSWERS_BELOW = 250
"""The rounds of answers, and the least number of answers, before as many calls run again as the
server has refused: so few calls are refused by a server that takes no more."""

_MOST_MODELS = 1_000
"""The number of models whose limits are kept. The model that was asked longest ago is dropped
first."""
_MOST_LIMITS = 16
"""The number of limits that are kept of a model, so that a server cannot fill the memory with names
of its own."""

Amounts = Mapping[str, float]
"""What a call uses of each unit."""


class Place:
    """The place of one attempt: first in the queue, then among the calls that run."""

    __slots__ = (
        "amounts", "at", "is_open", "model", "number", "reported", "responded", "sent"
    )  # fmt: skip

    def __init__(self, model: _Model, amounts: Amounts, is_open: bool) -> None:
        self.model, self.amounts = model, amounts
        self.is_open = is_open  # whether its output may have any length
        self.number = 0  # when it was let through; 0: not yet
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
        self.usual_output = 0.0  # tokens of replies of late
        self.outputs = 0  # how many replies it is the mean of
        self.running = 0
        self.limits: OrderedDict[tuple[str, str, float | None], _Limit] = OrderedDict()
        self.is_known = False  # whether a server has responded
        self.pending = 0  # calls that run without a response
        self.open: defaultdict[str, float] = defaultdict(int)  # what these use
        self.sent: defaultdict[str, float] = defaultdict(int)  # all that were ever let through
        self.responded: defaultdict[str, float] = defaultdict(int)  # of these, with a response

    def expected(self, place: Place) -> Amounts:
        """What a call may use, with an output of the usual length if it may have any.

        Without it, many calls at once would be let through for the tokens of their requests alone,
        and their replies would exceed the limit.
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
        """`place` runs no more, or has its response."""
        self.pending -= 1
        for unit, amount in place.amounts.items():
            self.open[unit] -= amount

    def has_response(self, place: Place) -> None:
        place.reported = self.is_known = True
        self.ended(place)
        for unit, amount in place.amounts.items():
            self.responded[unit] += amount


class _Width:
    """How many calls to one model run at the same time, learned from a server that is busy.

    A refusal halves the number. Each round of as many answers raises it by one. Below the number
    that was refused it stays for many rounds: few calls find out whether more are taken now.
    """

    __slots__ = ("answers", "latest", "limit", "most", "refused_at")

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.limit: int | None = None  # none before the first refusal
        self.refused_at = 0
        self.answers = 0  # since the last change
        self.latest = 0  # number of the call that was let through last before the last refusal

    def is_full(self, running: int) -> bool:
        return self.limit is not None and running >= self.limit

    def refused(self, place: Place, running: int, count: int) -> None:
        """`count` calls were ever let through, and `running` of this model have not ended."""
        if place.number <= self.latest:
            return  # it was on its way when the number was halved, and tells nothing new
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
        self._models: OrderedDict[str, _Model] = OrderedDict()  # the one asked last comes last
        self._queue: OrderedDict[Place, None] = OrderedDict()
        self._running: set[Place] = set()
        self._until = -math.inf
        self._count = 0

    def resume(self, idle: float) -> None:
        """Before the first call: an earlier process has used the named limits until `idle` seconds
        ago.

        They may have been used up then. One call goes alone: only if its response reports what is
        left, nothing is missing of the named ones.
        """
        self._idle = idle

    def forget_calls(self) -> None:
        """In a forked child: the calls that wait or run are the parent's. What they use of the
        limits stays used.
        """
        for place in self._running:
            place.reported = True  # what is told of it later must not be counted as its end
        self._queue.clear()
        self._running.clear()
        for model in self._models.values():
            model.running = model.pending = 0
            model.open.clear()

    @property
    def next(self) -> Place | None:
        """Whose turn it is."""
        return next(iter(self._queue), None)

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._queue)

    @property
    def running(self) -> int:
        """How many calls run."""
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
        """Seconds that `place` must wait; 0: it is let through now, and counted.

        `None`: until something changes: another call goes first, or one must end.
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
            if limit.latest < place.number:  # else its server has counted what was used
                amount = place.amounts[unit]
                limit.left += amount - used.get(unit, amount)

    def busy(self, place: Place) -> None:
        """The server has refused `place`, which runs, with a status of `BUSY` and no more words.

        Half as many calls to its model run at the same time from now on, but once for all calls
        that ran together. Answers raise the number again.
        """
        place.model.width.refused(place, place.model.running, self._count)

    def answered(self, place: Place) -> None:
        """The server has answered `place`."""
        place.model.width.answered(place)

    def hold(self, seconds: float, now: float) -> None:
        """A server wants all to wait."""
        if seconds <= LONGEST:
            self._until = max(self._until, now + seconds)

    def learn(
        self, place: Place, reported: Iterable[RateLimit], received_at: float, now: float
    ) -> None:
        """Take over what a response to `place` reports; it came at `received_at` of the epoch."""
        model = place.model
        if not place.reported:
            model.has_response(place)
        idle, self._idle = self._idle, None
        for report in reported:
            unit = report.unit
            if unit not in place.amounts:
                continue  # nothing is known of what a call uses of it
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
                continue  # a later call has told more
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
            # At best the server has counted this call when it was let through, and all before it.
            came_back = (now - place.at) * limit.limit / limit.window
            most = left + came_back - (model.sent[unit] - place.sent[unit])
            # At worst it has counted it just now, and before all that ran at the same time: those
            # without a response, and those whose response came after it was let through.
            others = model.responded[unit] - place.amounts[unit] - place.responded.get(unit, 0)
            least = left - others - model.open[unit]
            known = least if is_new else max(min(limit.left, most), least)
            limit.left = min(limit.limit, known)

    def _limits(self, place: Place, now: float) -> list[tuple[str, _Limit]]:
        """The limits that count what `place` uses, as they are now, each with its unit."""
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
    """What a call with this number of tokens uses of each unit."""
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "uncached_input_tokens": input_tokens - cached,
    }
