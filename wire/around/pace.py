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

import threading
from collections.abc import Generator, Mapping
from time import monotonic
from typing import Generic, TypeVar

from wire.around.seam import (
    Around,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    CallFailed,
    HeadReceived,
    Moment,
    Outgoing,
    Signal,
    StreamLeft,
    Wait,
)
from wire.catalogue.usage import Usage
from wire.core.account import Account
from wire.core.errors import ConfigurationError, WireError
from wire.core.forks import at_fork
from wire.core.pacing import BUSY, LONGEST, Pacing, Place, amounts, estimated
from wire.core.secret import quoted

__all__ = ["Pace"]

_NOTHING = amounts(0, 0)
Turn = TypeVar("Turn")
"""An attempt that waits or runs."""


class Limiter(Generic[Turn]):
    """Counts the attempts of each call, and makes them wait; a subclass decides for how long."""

    def __call__(self, outgoing: Outgoing) -> Around:
        """Return the generator that `around=` runs for a call."""
        key = f"{outgoing.provider} {outgoing.base_url} {outgoing.model}"
        estimate = estimated(outgoing.call.body)
        # The first wait is before the call begins, so that its total time does not run.
        turn: Turn | None = self._entered(key, estimate)
        sent = False
        used: Mapping[str, float] = _NOTHING
        try:
            assert turn is not None
            yield from self._waited(turn)
            while True:
                moment: Moment = yield None
                if isinstance(moment, AttemptStarted):
                    if sent:  # a retry, or a stream that is continued
                        if turn is not None:
                            self._leave(turn, {})
                        turn = self._entered(key, estimate)
                        yield from self._waited(turn)
                    sent, used = True, _NOTHING
                elif isinstance(moment, HeadReceived):
                    if turn is not None:
                        self._learn(turn, moment.account)
                elif isinstance(moment, AttemptFailed):
                    if turn is not None:
                        if moment.error.status is not None:  # otherwise the headers are older ones
                            self._learn(turn, moment.account, moment.error)
                        self._leave(turn, _NOTHING)
                        turn = None
                elif isinstance(moment, CallEnded):
                    if turn is not None:
                        self._answered(turn)
                    usage = getattr(moment.result, "usage", None)
                    used = _used(usage) if isinstance(usage, Usage) else {}
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

    def _entered(self, key: str, estimate: Mapping[str, float], /) -> Turn:
        """Join the queue; `key` names the server and the model."""
        raise NotImplementedError

    def _waited(self, turn: Turn, /) -> Generator[Wait, None, None]:
        """Wait until `turn` is let through."""
        raise NotImplementedError

    def _learn(self, turn: Turn, account: Account, error: WireError | None = None, /) -> None:
        """Store the limits that the response to `turn` reports."""
        raise NotImplementedError

    def _answered(self, turn: Turn, /) -> None:
        """Record that the call of `turn` has its result."""
        raise NotImplementedError

    def _leave(self, turn: Turn, used: Mapping[str, float], /) -> None:
        """End the wait or the run of `turn`; `used` replaces its estimate, unit by unit."""
        raise NotImplementedError


class Pace(Limiter[Place]):
    """Lets calls wait until the rate limits of a provider allow them, first come first served.

    Args:
        requests: Requests in a window; `None`: as many as the server reports.
        tokens: Tokens of requests and replies together in a window; `None` likewise.
        window: Seconds of the window of `requests` and `tokens`.
        concurrent: Calls that run at the same time; `None`: no limit.

    One object serves all clients and chats of a process that share a key, on threads, asyncio and
    trio. Each attempt of a call counts as a request. The limits that responses report hold beside
    the named ones.

    A server may refuse a call with 429, 503 or 529 and tell neither a limit nor when to come back.
    Then half as many calls to its model run at the same time; answers raise the number again, one
    by one, up to `concurrent`.

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

    def _entered(self, key: str, estimate: Mapping[str, float]) -> Place:
        with self._lock:
            return self._pacing.enter(key, estimate, is_open=not estimate["output_tokens"])

    def _waited(self, place: Place) -> Generator[Wait, None, None]:
        """Wait until `place` is let through."""
        while True:
            with self._lock:
                seconds = self._pacing.wait(place, monotonic())
                signal = self._turns[place] = Signal()
                if seconds == 0:
                    del self._turns[place]
            if seconds == 0:
                self._wake()
                return
            yield Wait(signal, seconds)

    def _learn(self, place: Place, account: Account, error: WireError | None = None) -> None:
        now = monotonic()
        with self._lock:
            self._pacing.learn(place, account.limits, account.received_at or 0.0, now)
            if error is not None and error.retry_after is not None:
                self._pacing.hold(error.retry_after, now)
            elif error is not None and is_busy(error, account):
                self._pacing.busy(place)
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
        """Wake the first call in the queue to check again."""
        with self._lock:
            first = self._pacing.next
            signal = self._turns.get(first) if first is not None else None
        if signal is not None:
            signal.set()


def is_busy(error: WireError, account: Account) -> bool:
    """Return whether a server refused a call because too many run at the same time."""
    is_told = error.retry_after is not None or account.limits
    return error.retryable and error.status in BUSY and not is_told


def _used(usage: Usage) -> dict[str, float]:
    return amounts(usage.input, usage.output, cached=usage.cached)
