"""The retry policy: whether to retry after an error, how many seconds to wait, and the budget.

`exchange.py` applies it. The presets `SPEC`, `RESUME_AGENT` and `ATTRACTOR` are named after the
systems whose numbers they have. In every preset but `NONE`, waits double up to a cap and are
spread at random, so that many clients do not return at the same moment. A `retry-after` of the
server replaces the computed wait; one above the cap ends the retries (R-15, R-16).

A policy alone multiplies the load on a host that is down: three attempts for each call. The budget
limits the retries of all calls of a client to one host (R-17).

A test that expects an error should not sit through the waits: `off()` switches retries off (R-18).
"""

from __future__ import annotations

import contextlib
import math
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import ClockError, ConfigurationError, WireError
from wire.core.fields import Fields
from wire.core.forks import new_in_child
from wire.core.secret import quoted, seal_fields

if TYPE_CHECKING:
    from random import Random

__all__ = [
    "ATTRACTOR",
    "DEFAULT",
    "NONE",
    "RESUME_AGENT",
    "SPEC",
    "Retry",
    "off",
]


RETRY_COST = 5
"""Tokens of a retry. The numbers are those of botocore's standard mode."""
TIMEOUT_COST = 10
"""Tokens of a retry after a `ClockError`: it occupied the host for longer."""


class Retry(msgspec.Struct, frozen=True, metaclass=Fields):
    """A retry policy: the number of attempts and the waits between them.

    >>> from random import Random
    >>> Retry(attempts=2, spread=(1, 1)).wait(WireError(retryable=True), 1, Random(0))
    1.0

    The wait after attempt n is `uniform(*spread) * min(cap, base * factor**(n-1))` seconds.

    A client has one for all calls, and a call may have its own: `call.replace(retry=NONE)`.

    Raises `ConfigurationError` that names the field with a bad value.
    """

    attempts: int = 3
    """Maximum number of attempts, the first one included."""
    base: float = 1.0
    """Seconds. The wait after the first attempt, before `spread`."""
    factor: float = 2.0
    """Factor of each wait to the wait before it."""
    cap: float = 60.0
    """Seconds. The longest wait before `spread`, and the longest `retry-after` that is obeyed."""
    spread: tuple[float, float] = (0.0, 1.0)
    """Bounds of the random factor."""
    budget: int | None = 500
    """Tokens for the retries of all calls of a client to one host. A retry takes 5, one after a
    timeout 10. A call that succeeds gives back the tokens that it took, or 1 if it took
    none. Without enough tokens the error is raised at once. `None`: not limited."""

    def __post_init__(self) -> None:
        seal_fields(self)
        if type(self.attempts) is not int or self.attempts < 1:
            raise ConfigurationError(
                f"retry.attempts: expected a whole number from 1 up, not {quoted(self.attempts)}"
            )
        if self.budget is not None and (type(self.budget) is not int or self.budget < 0):
            raise ConfigurationError(
                "retry.budget: expected a whole number from 0 up or None, not "
                f"{quoted(self.budget)}"
            )
        for name in ("base", "factor", "cap"):
            if not _is_time(getattr(self, name)):
                raise ConfigurationError(
                    f"retry.{name}: expected a finite number from 0 up, not "
                    f"{quoted(getattr(self, name))}"
                )
        if not (
            isinstance(self.spread, tuple)
            and len(self.spread) == 2
            and all(map(_is_time, self.spread))
            and self.spread[0] <= self.spread[1]
        ):
            raise ConfigurationError(
                "retry.spread: expected two finite numbers from 0 up, the smaller one first, not "
                f"{quoted(self.spread)}"
            )

    @checked_arguments(ConfigurationError)
    def wait(self, error: WireError, attempt: int, dice: Random) -> float | None:
        """Return the seconds to wait after `attempt` failed; `None`: raise the error now."""
        if attempt >= self.attempts or not error.retryable or is_off():
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.cap else None
        try:
            wait = self.base * float(self.factor) ** (attempt - 1)
        except OverflowError:
            wait = self.cap
        return dice.uniform(*self.spread) * min(self.cap, wait)


class RetryBudget:
    """The tokens that are left for retries to one host (R-17). Safe to use from many threads.

    >>> budget = RetryBudget(8)
    >>> budget.take(WireError()), budget.take(WireError()), budget.left
    (5, 0, 3)
    >>> budget.give_back(5)
    >>> budget.left
    8
    """

    left: int
    size: int

    __slots__ = ("left", "size")

    def __init__(self, size: int) -> None:
        self.size = self.left = size

    def take(self, error: WireError) -> int:
        """Take the tokens for a retry after `error`, and return their number; 0: too few left."""
        cost = TIMEOUT_COST if isinstance(error, ClockError) else RETRY_COST
        with _counting:
            if self.left < cost:
                return 0
            self.left -= cost
        return cost

    def give_back(self, tokens: int) -> None:
        """Give tokens back, up to the size."""
        with _counting:
            self.left = min(self.size, self.left + tokens)


class RetryBudgets:
    """The budgets of a client, one for each host and size."""

    def __init__(self) -> None:
        self._budgets: dict[tuple[str, int], RetryBudget] = {}

    def of(self, host: str, policy: Retry) -> RetryBudget | None:
        """Return the budget for calls to `host` under `policy`; `None` if it sets no limit."""
        if policy.budget is None:
            return None
        key = host, policy.budget
        return self._budgets.get(key) or self._budgets.setdefault(key, RetryBudget(policy.budget))


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Switch retries off while the block runs, in tests.

    >>> from random import Random
    >>> with off():
    ...     print(Retry().wait(WireError(retryable=True), 1, Random(0)))
    None

    It applies to the whole process: to each policy of clients, agents and uploads, in all threads
    and tasks, also to calls that began before the block. Blocks may be nested and may overlap; the
    last one that ends switches retries on again. A forked child inherits the state.
    """
    global _blocks
    with _counting:
        _blocks += 1
    try:
        yield
    finally:
        with _counting:
            _blocks -= 1


def is_off() -> bool:
    """Return whether a block of `off()` runs."""
    return _blocks > 0


_blocks = 0
"""The number of blocks of `off()` that run. A context variable would not reach the threads that a
test starts, nor a server of the test's own.
"""
_counting = threading.RLock()  # reentrant: a signal may interrupt a thread that holds it
new_in_child(sys.modules[__name__], _counting=threading.RLock)


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


DEFAULT = Retry()
SPEC = Retry(spread=(0.5, 1.5))
RESUME_AGENT = Retry(spread=(0.8, 1.2))
ATTRACTOR = Retry(attempts=4, cap=30.0, spread=(0.75, 1.25))
NONE = Retry(attempts=1)
