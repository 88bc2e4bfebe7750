"""Rate limits that hold for the calls of several processes together.

One process has the `Leases` of all runs. The others, their holders, tell it about each attempt:
`Asked` before it is sent, `Heard` of its response, `Ended` after it. It answers with the attempts
that may be sent now, some at a time. No clock and no I/O.

An attempt waits for two: for its server, whose limits and refusals `wire.core.pacing` knows for the
attempts of all runs, and for what its run names. Runs that name the same limits and ask the same
server with the same key share these, too. `concurrent` holds for each run alone.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from wire.core.amounts import Amounts
from wire.core.decoders import decoder
from wire.core.named_limit import SLACK, NamedLimits
from wire.core.pacing import Pacing, Place
from wire.core.rate_limits import RateLimit

_NO_UNIT = {"": 1.0}
"""With any limit, `Pacing` lets several calls go to a server that has not responded yet. Whether
one goes alone depends on the run."""


class Asked(msgspec.Struct, frozen=True, array_like=True, tag="asked"):
    """An attempt waits."""

    number: int
    """Of the attempt; its holder counts them."""
    key: str
    """The account, the server and the model."""
    amounts: dict[str, float]
    """The most that it may use of each unit."""
    before: int | None = None
    """The number of attempts that go before it; `None`: all that wait."""


class Heard(msgspec.Struct, frozen=True, array_like=True, tag="heard"):
    """The server has responded to an attempt."""

    number: int
    limits: tuple[RateLimit, ...]
    """The rate limits in the response."""
    received_at: float
    """When the response came, in seconds since 1970."""
    refused: int | None
    """The status, if it refused the attempt because of its load."""
    retry_after: float | None
    """Seconds that it wants all to wait."""


class Ended(msgspec.Struct, frozen=True, array_like=True, tag="ended"):
    """An attempt has ended, or waits no more."""

    number: int
    used: dict[str, float]
    """The amounts that it used, for the units where they are known."""
    is_answered: bool
    """Whether the call has its result."""


Said: TypeAlias = Asked | Heard | Ended


def encode(said: Iterable[Said]) -> bytes:
    """Encode the messages of a holder."""
    return msgspec.json.encode(list(said))


def decode(data: bytes) -> list[Said]:
    """Decode the messages that `encode` wrote."""
    read: list[Said] = decoder(list[Said]).decode(data)
    return read


class Terms(msgspec.Struct, frozen=True):
    """The limits of a run."""

    limits: dict[str, int]
    """The most that the run may use of each unit in a window."""
    window: float
    """Seconds."""
    concurrent: int = 32
    """The most attempts at the same time."""
    idle: float | None = None
    """Seconds since an earlier process has used the limits; `None`: there was none."""


class _Limits(NamedLimits):
    """What runs name."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(terms.limits, terms.window, terms.idle)
        self.keys: set[str] = set()  # that count to it

    def are_of(self, terms: Terms, key: str) -> bool:
        """Return whether a run with these terms that asks this key shares them."""
        return key in self.keys and (self.limits, self.window) == (terms.limits, terms.window)


class _Run:
    """A run, and the attempts of its holders."""

    def __init__(self, name: str, terms: Terms) -> None:
        self.name, self.terms = name, terms
        self.limits: _Limits | None = None  # before it asks
        self.attempts: dict[str, dict[int, _Attempt]] = {}
        self.running = 0


class _Attempt:
    """An attempt that waits or runs."""

    __slots__ = ("asked", "holder", "limits", "place", "run")

    def __init__(self, run: _Run, limits: _Limits, holder: str, asked: Asked) -> None:
        self.run, self.limits, self.holder, self.asked = run, limits, holder, asked
        self.place: Place | None = None  # of one that runs


class Leases:
    """Which of the attempts that wait may be sent, and when.

    The attempts of a run to one server go in their order; runs and servers take turns.

    >>> leases = Leases()
    >>> leases.begin("run", Terms({"requests": 60}, window=60))
    >>> leases.hear("run", "a", [Asked(1, "model", {"requests": 1.0})], now=0)
    >>> leases.hear("run", "b", [Asked(1, "model", {"requests": 1.0})], now=0)
    >>> leases.grant(now=0)
    ({'run': {'a': [1]}}, 1.0...)
    >>> leases.grant(now=2)
    ({'run': {'b': [1]}}, None)
    """

    def __init__(self) -> None:
        self._servers = Pacing(_NO_UNIT, 1.0)
        self._runs: dict[str, _Run] = {}
        self._queues: OrderedDict[tuple[str, str], deque[_Attempt]] = OrderedDict()
        """By the run and the key, in turn."""

    def begin(self, run: str, terms: Terms) -> None:
        """Add a run."""
        self._runs[run] = _Run(run, terms)

    def end(self, run: str, now: float) -> None:
        """Remove a run. Its attempts may have been sent: their estimates count as used."""
        ended = self._runs.pop(run, None)
        if ended is not None:
            for attempts in ended.attempts.values():
                self._leave(attempts.values(), now)

    def hear(self, run: str, holder: str, said: Iterable[Said], now: float) -> None:
        """Take over what a holder says about its attempts of a run.

        What it says of an unknown run or attempt has no effect.
        """
        known = self._runs.get(run)
        if known is None:
            return
        attempts = known.attempts.setdefault(holder, {})
        for each in said:
            if isinstance(each, Asked):
                attempts[each.number] = self._asked(known, holder, each, now)
            elif (attempt := attempts.get(each.number)) is None:
                continue
            elif isinstance(each, Heard):
                self._heard(attempt, each, now)
            else:
                if each.is_answered and attempt.place is not None:
                    self._servers.answered(attempt.place)
                self._leave([attempts.pop(each.number)], now, each.used)

    def _asked(self, run: _Run, holder: str, asked: Asked, now: float) -> _Attempt:
        if run.limits is None:
            run.limits = self._limits(run.terms, asked.key) or _Limits(run.terms)
        run.limits.keys.add(asked.key)
        attempt = _Attempt(run, run.limits, holder, asked)
        queue = self._queues.setdefault((run.name, asked.key), deque())
        queue.insert(len(queue) if asked.before is None else asked.before, attempt)
        return attempt

    def _limits(self, terms: Terms, key: str) -> _Limits | None:
        """Return what another run with this key has left, if it names the same limits."""
        for run in self._runs.values():
            if run.limits is not None and run.limits.are_of(terms, key):
                return run.limits
        return None

    def _heard(self, attempt: _Attempt, heard: Heard, now: float) -> None:
        place = attempt.place
        if place is None:
            return
        self._servers.learn(place, heard.limits, heard.received_at, now)
        units = {unit for unit, _, _ in place.model.limits}
        attempt.limits.reported(place.amounts, units)
        if heard.refused is None:
            self._servers.taken(place, now)
        else:
            self._servers.refused(place, now, wish=heard.retry_after, status=heard.refused)

    def _leave(self, attempts: Iterable[_Attempt], now: float, used: Amounts | None = None) -> None:
        """End the wait or the run of attempts."""
        for attempt in attempts:
            place = attempt.place
            if place is None:
                self._unqueue(attempt)
                continue
            attempt.run.running -= 1
            self._servers.leave(place, now, used or {})
            attempt.limits.settle(place.amounts, used or {}, now)

    def _unqueue(self, attempt: _Attempt) -> None:
        name = attempt.run.name, attempt.asked.key
        queue = self._queues[name]
        queue.remove(attempt)
        if not queue:
            del self._queues[name]

    def grant(self, now: float) -> tuple[dict[str, dict[str, list[int]]], float | None]:
        """Return the attempts that may be sent now, by their runs and holders.

        The number is the seconds until the next one may be sent; `None`: not before a holder sends
        a message.
        """
        granted: dict[str, dict[str, list[int]]] = {}
        while True:
            attempt, seconds = self._next(now)
            if attempt is None:
                return granted, seconds
            holders = granted.setdefault(attempt.run.name, {})
            holders.setdefault(attempt.holder, []).append(attempt.asked.number)

    def _next(self, now: float) -> tuple[_Attempt | None, float | None]:
        """Let an attempt through and return it, or else the seconds until one may go."""
        waits: list[float] = []
        kept: set[str | _Limits] = set()  # servers and limits for which one waits that is ready
        for name, queue in self._queues.items():
            attempt, key = queue[0], name[1]
            run, limits = attempt.run, attempt.limits
            if run.running >= run.terms.concurrent or key in kept or limits in kept:
                continue
            place = self._entered(attempt)
            amounts = place.model.expected(place)
            own, server = limits.wait(amounts, now), None
            if own == 0:
                if self._is_unknown(run, place):
                    self._servers.leave(place, now, {})
                    continue
                server = self._servers.wait(place, now)
                if server == 0:
                    self._let_through(attempt, place, now)
                    return attempt, None
                kept.add(key)
            else:
                server = place.model.wait(amounts, now)
                if server is not None and server <= SLACK:
                    kept.add(limits)
            self._servers.leave(place, now, {})
            if server is not None:
                waits.append(max(own, server))
        return None, min(waits, default=None)

    def _entered(self, attempt: _Attempt) -> Place:
        asked = attempt.asked
        is_open = asked.amounts.get("output_tokens") == 0
        return self._servers.enter(asked.key, asked.amounts, is_open=is_open)

    def _is_unknown(self, run: _Run, place: Place) -> bool:
        """Return whether another call finds out what limits there are, and the run names none."""
        return not run.terms.limits and not place.model.is_known and place.model.pending > 0

    def _let_through(self, attempt: _Attempt, place: Place, now: float) -> None:
        self._unqueue(attempt)
        name = attempt.run.name, attempt.asked.key
        if name in self._queues:
            self._queues.move_to_end(name)
        attempt.place = place
        attempt.run.running += 1
        attempt.limits.use(place.amounts, now)

    def forget(self, holder: str, now: float) -> None:
        """Remove a holder. Its attempts may have been sent: their estimates count as used."""
        for run in self._runs.values():
            self._leave(run.attempts.pop(holder, {}).values(), now)
