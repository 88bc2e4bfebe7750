"""Selects which of several models to ask next, when some of them fail. No I/O.

A model is skipped for as long as its server asks for (`Retry-After`), and for `Circuit.seconds`
after `Circuit.failures` failures in a row, or after one that waiting does not mend, such as a
refused key. This is a circuit breaker: the circuit of the model is open. When the time is over, one
request goes to the model; its success closes the circuit, its failure opens it again.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Collection

import msgspec

from wire.core.errors import ConfigurationError, WireError
from wire.core.forks import at_fork
from wire.core.secret import quoted


class Circuit(msgspec.Struct, frozen=True):
    """Settings that say when a failing model is skipped.

    >>> Circuit(failures=1).seconds
    30.0

    Raises `ConfigurationError` that names the field with a bad value.
    """

    failures: int = 3
    """Failures in a row after which the model is skipped."""
    seconds: float = 30.0
    """Seconds for which it is skipped."""

    def __post_init__(self) -> None:
        if type(self.failures) is not int or self.failures < 1:
            raise ConfigurationError(
                f"circuit.failures: expected a whole number from 1 up, not {quoted(self.failures)}"
            )
        seconds: object = self.seconds
        if not (
            isinstance(seconds, (int, float))
            and not isinstance(seconds, bool)
            and 0 <= seconds < math.inf
        ):
            raise ConfigurationError(
                f"circuit.seconds: expected a finite number from 0 up, not {quoted(seconds)}"
            )


class _State:
    """The health of one model."""

    __slots__ = ("failures", "is_wish", "probing", "until")

    def __init__(self) -> None:
        self.failures = 0  # in a row
        self.until = -math.inf  # time until which it is skipped
        self.is_wish = False  # whether its server asked for that wait
        self.probing = False  # a probe request tests whether the model works again


class Circuits:
    """The circuits of several models, by position. Safe to use from many threads.

    >>> circuits = Circuits(2, Circuit(failures=1))
    >>> circuits.take(())
    0
    >>> circuits.failed(0, WireError("busy"))
    >>> circuits.take(()), round(circuits.left(0))
    (1, 30)
    """

    def __init__(self, count: int, circuit: Circuit) -> None:
        self._states = [_State() for _ in range(count)]
        self._circuit = circuit
        self._lock = threading.Lock()
        at_fork(self, Circuits._forked)

    def _forked(self) -> None:
        """Release the probes of the parent's threads; a forked child never learns their outcome."""
        self._lock = threading.Lock()
        for state in self._states:
            state.probing = False

    def take(self, tried: Collection[int]) -> int | None:
        """Return the first model that may be asked and is not in `tried`; `None` if there is none.

        `succeeded`, `failed` or `released` follows. If all others are skipped, the first one whose
        server did not ask for a wait is taken: an open circuit is a guess, and an attempt is better
        than no response.
        """
        now = time.monotonic()
        with self._lock:
            others = [
                (position, state)
                for position, state in enumerate(self._states)
                if position not in tried
            ]
            for position, state in others:
                if state.until > now or (state.failures and state.probing):
                    continue
                state.probing = self._is_open(state)
                return position
            for position, state in others:
                if not (state.is_wish and state.until > now):
                    return position
        return None

    def has_other(self, tried: Collection[int]) -> bool:
        """Return whether `take` would return a model that is not in `tried`."""
        now = time.monotonic()
        return any(
            position not in tried and not (state.is_wish and state.until > now)
            for position, state in enumerate(self._states)
        )

    def succeeded(self, position: int) -> None:
        """Record that the model has responded."""
        with self._lock:
            state = self._states[position]
            state.failures, state.until, state.probing = 0, -math.inf, False
            state.is_wish = False

    def failed(self, position: int, error: WireError) -> None:
        """Record that the model has failed."""
        now = time.monotonic()
        with self._lock:
            state = self._states[position]
            state.probing = False
            state.failures += 1
            if not error.retryable:  # a refused key, a model that was shut down
                state.failures = max(state.failures, self._circuit.failures)
            if error.retry_after is not None:
                state.until, state.is_wish = max(state.until, now + error.retry_after), True
            elif self._is_open(state):
                if state.until <= now:
                    state.is_wish = False
                state.until = max(state.until, now + self._circuit.seconds)

    def released(self, position: int) -> None:
        """Record that the request to the model ended without showing whether the model works."""
        with self._lock:
            self._states[position].probing = False

    def left(self, position: int) -> float:
        """Return the seconds for which the model is still skipped; 0 if it is not."""
        return max(0.0, self._states[position].until - time.monotonic())

    def _is_open(self, state: _State) -> bool:
        return state.failures >= self._circuit.failures
