"""A limiter for the calls of one process to a provider, as a function of `around=`.

>>> from wire import Chat
>>> from wire.testing.emulator import Emulator, EmulatorTransport
>>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
>>> pace = Pace(requests=60, tokens=100_000, concurrent=8)
>>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http, around=pace) as chat:
...     chat.ask("Hi").text
'Hello.'
"""

from __future__ import annotations

import math
import threading
from collections.abc import Generator, Mapping
from time import monotonic
from typing import Any, Generic, TypeVar

from wire.around.seam import (
    Again,
    Around,
    AttemptFailed,
    AttemptRefused,
    AttemptStarted,
    CallEnded,
    CallFailed,
    HeadReceived,
    Moment,
    Outgoing,
    Signal,
    StreamLeft,
    Wait,
    stands_in,
)
from wire.catalogue.facts import counted_as
from wire.catalogue.usage import Usage
from wire.core.account import Account
from wire.core.amounts import amounts, estimated
from wire.core.errors import ConfigurationError, RateLimitError, WireError
from wire.core.forks import at_fork
from wire.core.pacing import BUSY, LONGEST, RATE_LIMITED, Pacing, Place
from wire.core.secret import quoted

__all__ = ["Pace"]

LONGEST_OUTAGE = 30.0
"""Seconds. The answers 503 and 529 of a longer outage count for the retry policy."""
_MOST_OUTAGES = 1_000
"""The number of keys whose outages are kept."""
_NOTHING = amounts(0, 0)
Turn = TypeVar("Turn")
"""An attempt that waits or runs."""


class Limited:
    """A call as a limiter sees it."""

    __slots__ = ("amounts", "before", "key", "model", "refused_at")

    def __init__(self, outgoing: Outgoing) -> None:
        self.model = outgoing.model
        name = counted_as(self.model) if self.model else ""
        self.key = f"{outgoing.account} {outgoing.provider} {outgoing.base_url} {name}"
        """The account, the server and the model, as the vendor counts its calls."""
        self.amounts = estimated(outgoing.call.body)
        self.refused_at = math.inf  # the last time
        self.before: int | None = None
        """The number of calls that go before it in the queue; `None`: all that wait."""


class _Outages:
    """Since when servers refuse all calls with 503 or 529."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}
        self._taken: dict[str, float] = {}  # when the last call went that was taken

    def taken(self, key: str, sent_at: float) -> None:
        """Record that the server has taken a call that went at that time."""
        self._taken[key] = max(sent_at, self._taken.get(key, -math.inf))
        if sent_at > self._since.get(key, math.inf):
            del self._since[key]

    def refused(self, call: Limited, now: float) -> bool:
        """Record a refusal; return whether the call waits for the end of the outage.

        If the server has taken others since it refused the call before, or takes none for long, it
        is no outage that passes: the retry policy decides.
        """
        before, call.refused_at = call.refused_at, now
        if len(self._since) > _MOST_OUTAGES:
            self._since.clear()
            self._taken.clear()
        since = self._since.setdefault(call.key, now)
        took_others = self._taken.get(call.key, -math.inf) > before
        if before == math.inf:
            call.before = 0
        else:  # another call tests the server: it may refuse this one alone
            call.before = None if took_others else 1
        return not took_others and now - since <= LONGEST_OUTAGE


class Limiter(Generic[Turn]):
    """Counts the attempts of each call, and makes them wait; a subclass decides for how long."""

    counts_queue: bool = True
    """Whether the wait for the first attempt counts to the total time of a call, as all others do.
    A row of a bulk run may wait for as long as the quota needs; nobody waits for it."""

    def __init__(self) -> None:
        self._outages = _Outages()

    def __call__(self, outgoing: Outgoing) -> Around:
        """Return the generator that `around=` runs for a call."""
        return self._around(Limited(outgoing), stands_in.get())

    def _around(self, call: Limited, has_other: bool) -> Around:
        """Run one call; `has_other`: another model is asked at once if this one takes no calls."""
        if has_other:
            self._refuse_if_held(call)
        turn: Turn | None
        turn = first = self._entered(call)
        sent, sent_at = False, -math.inf
        used: Mapping[str, float] = _NOTHING
        try:
            yield from self._waited(first, is_timed=self.counts_queue)
            while True:
                moment: Moment = yield None
                if isinstance(moment, AttemptStarted):
                    if sent:  # a retry, or a stream that is continued
                        if turn is not None:
                            self._leave(turn, {})
                        turn = self._entered(call)
                        yield from self._waited(turn, is_timed=True)
                    sent, used, sent_at = True, _NOTHING, monotonic()
                elif isinstance(moment, HeadReceived):
                    if turn is not None:
                        self._heard(turn, moment.account)
                    if moment.status not in BUSY:
                        self._outages.taken(call.key, sent_at)
                elif isinstance(moment, AttemptRefused | AttemptFailed):
                    self._failed(turn, moment)
                    turn = None
                    is_refused = isinstance(moment, AttemptRefused)
                    if is_refused and self._waits(call, moment.error, has_other):
                        yield Again()
                elif isinstance(moment, CallEnded):
                    used = self._ended(turn, moment.result)
                    return
                elif isinstance(moment, StreamLeft):
                    used = {}  # the server may have produced the whole reply
                    return
                elif isinstance(moment, CallFailed):
                    return
        finally:
            if turn is not None:
                # A call that was never sent has not used a request.
                self._leave(turn, used if sent else {**_NOTHING, "requests": 0})

    def _refuse_if_held(self, call: Limited) -> None:
        """Raise `RateLimitError` if no call goes to the model of this one."""
        if seconds := self._held(call.key):
            raise RateLimitError(
                f"{call.model} takes no calls for {seconds:.3g} s",
                retryable=True,
                retry_after=seconds,
            )

    def _failed(self, turn: Turn | None, moment: AttemptRefused | AttemptFailed) -> None:
        """End the run of an attempt that has failed."""
        if turn is None:
            return
        if isinstance(moment, AttemptRefused):
            self._heard(turn, moment.account, moment.error)
        elif moment.error.status is not None:  # otherwise the headers are older ones
            self._heard(turn, moment.account)
        self._leave(turn, _NOTHING)

    def _ended(self, turn: Turn | None, result: Any) -> Mapping[str, float]:
        """Record the result of a call; return what it has used."""
        if turn is not None:
            self._answered(turn)
        usage = getattr(result, "usage", None)
        return _used(usage) if isinstance(usage, Usage) else {}

    def _waits(self, call: Limited, error: WireError, has_other: bool) -> bool:
        """Return whether a call that was refused waits until the server takes calls again.

        Raises the error if another model can be asked.
        """
        if has_other:
            raise error
        is_outage = self._outages.refused(call, monotonic())
        return is_outage or error.status == RATE_LIMITED

    def _held(self, key: str, /) -> float:
        """Return the seconds for which no call goes to `key`, as far as it is known."""
        return 0.0

    def _entered(self, call: Limited, /) -> Turn:
        """Join the queue."""
        raise NotImplementedError

    def _waited(self, turn: Turn, /, *, is_timed: bool) -> Generator[Wait, None, None]:
        """Wait until `turn` is let through; with `is_timed` it counts to the total time."""
        raise NotImplementedError

    def _heard(self, turn: Turn, account: Account, refusal: WireError | None = None, /) -> None:
        """Store the limits that the response to `turn` reports, and whether it is a refusal."""
        raise NotImplementedError

    def _answered(self, turn: Turn, /) -> None:
        """Record that the call of `turn` has its result."""
        raise NotImplementedError

    def _leave(self, turn: Turn, used: Mapping[str, float], /) -> None:
        """End the wait or the run of `turn`; `used` replaces its estimate, unit by unit."""
        raise NotImplementedError


class Pace(Limiter[Place]):
    """Lets calls wait until the rate limits of a provider allow them.

    Args:
        requests: Requests in a window; `None`: as many as the server takes.
        tokens: Tokens of requests and replies together in a window; `None` likewise.
        window: Seconds of the window of `requests` and `tokens`.
        concurrent: Calls that run at the same time; `None`: as many as the server takes.

    One object serves all clients and chats of a process, on threads, asyncio and trio. What it
    names holds for all of them together. What servers report and what their refusals show holds
    for one key, host and model each. Each attempt of a call counts as a request.

    A call that a server refuses with 429 is sent again when the server takes calls again. That
    takes neither an attempt of the retry policy nor tokens of its budget; only the total time of
    the call ends it, which runs while it waits. So it is with 503 and 529 in an outage of up to
    30 seconds.

    Raises `ConfigurationError` that names the field with a bad value.
    """

    def __init__(
        self,
        *,
        requests: int | None = None,
        tokens: int | None = None,
        window: float = 60.0,
        concurrent: int | None = None,
    ) -> None:
        counts = {"requests": requests, "tokens": tokens, "concurrent": concurrent}
        for name, count in counts.items():
            if count is not None and (type(count) is not int or not 0 < count < 1e15):
                raise ConfigurationError(
                    f"pace: {name}: expected a whole number from 1 up, or None, not {quoted(count)}"
                )
        if type(window) not in (int, float) or not 0 < window <= LONGEST:
            raise ConfigurationError(
                f"pace: window: expected seconds, more than 0 and at most {LONGEST:g}, not "
                f"{quoted(window)}"
            )
        super().__init__()
        given = {"requests": requests, "tokens": tokens}
        limits = {unit: count for unit, count in given.items() if count is not None}
        self._pacing = Pacing(limits, window, concurrent)
        # The garbage collector may close a generator in the middle of a method, in its thread.
        self._lock = threading.RLock()
        self._turns: dict[Place, Signal] = {}
        at_fork(self, Pace._forked)

    def _forked(self) -> None:
        """Drop the calls of the parent's threads, which do not end in the child and wake nobody."""
        self._lock, self._turns = threading.RLock(), {}
        self._pacing.forget_calls()

    def _resume(self, idle: float) -> None:
        """Start from the state of an earlier process that used the limits `idle` seconds ago."""
        self._pacing.resume(idle)

    @property
    def waiting(self) -> int:
        """Calls that wait for their turn."""
        return self._pacing.waiting

    @property
    def running(self) -> int:
        """Calls that were let through and have not ended."""
        return self._pacing.running

    def _held(self, key: str) -> float:
        with self._lock:
            return self._pacing.held(key, monotonic())

    def _entered(self, call: Limited) -> Place:
        is_open = not call.amounts["output_tokens"]
        with self._lock:
            return self._pacing.enter(call.key, call.amounts, is_open=is_open, before=call.before)

    def _waited(self, place: Place, *, is_timed: bool) -> Generator[Wait, None, None]:
        while True:
            with self._lock:
                seconds = self._pacing.wait(place, monotonic())
                signal = self._turns[place] = Signal()
                if seconds == 0:
                    del self._turns[place]
            if seconds == 0:
                self._wake()
                return
            yield Wait(signal, seconds, is_timed=is_timed)

    def _heard(self, place: Place, account: Account, refusal: WireError | None = None) -> None:
        now = monotonic()
        with self._lock:
            self._pacing.learn(place, account.limits, account.received_at or 0.0, now)
            if refusal is not None:
                self._pacing.refused(place, now, wish=refusal.retry_after, status=refusal.status)
            elif account.status is not None and account.status not in BUSY:
                self._pacing.taken(place, now)
        self._wake()

    def _answered(self, place: Place) -> None:
        with self._lock:
            self._pacing.answered(place)

    def _leave(self, place: Place, used: Mapping[str, float]) -> None:
        with self._lock:
            self._pacing.leave(place, monotonic(), used)
            self._turns.pop(place, None)
        self._wake()

    def _wake(self) -> None:
        """Wake the first call of each queue to check again."""
        with self._lock:
            signals = [self._turns.get(place) for place in self._pacing.firsts()]
        for signal in signals:
            if signal is not None:
                signal.set()


def _used(usage: Usage) -> dict[str, float]:
    return amounts(usage.input, usage.output, cached=usage.cached)
