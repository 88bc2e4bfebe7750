"""The retry policy: whether to retry after an error, and how many seconds to wait.

`exchange.py` applies it. The presets `SPEC`, `RESUME_AGENT` and `ATTRACTOR` are named after the
systems whose numbers they have. In every preset but `NONE`, waits double up to a cap and are
spread at random, so that many clients do not return at the same moment. A `retry-after` of the
server replaces the computed wait; one above the cap ends the retries (R-15, R-16).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random

from wire.errors import ConfigurationError, WireError

__all__ = [
    "ATTRACTOR",
    "DEFAULT",
    "NONE",
    "RESUME_AGENT",
    "SPEC",
    "Retry",
]


@dataclass(frozen=True, slots=True)
class Retry:
    """A retry policy: the number of attempts and the waits between them.

    >>> Retry(attempts=2, spread=(1, 1)).wait(WireError(retryable=True), 1, Random(0))
    1.0

    The wait after attempt n is `uniform(*spread) * min(cap, base * factor**(n-1))` seconds.

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

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise ConfigurationError(
                f"retry.attempts: expected a whole number from 1 up, not {self.attempts!r}"
            )
        for name in ("base", "factor", "cap"):
            if not _is_time(getattr(self, name)):
                raise ConfigurationError(
                    f"retry.{name}: expected a finite number from 0 up, not {getattr(self, name)!r}"
                )
        if not (
            isinstance(self.spread, tuple)
            and len(self.spread) == 2
            and all(map(_is_time, self.spread))
            and self.spread[0] <= self.spread[1]
        ):
            raise ConfigurationError(
                "retry.spread: expected two finite numbers from 0 up, the smaller one first, not "
                f"{self.spread!r}"
            )

    def wait(self, error: WireError, attempt: int, dice: Random) -> float | None:
        """Seconds to wait after `attempt` failed with `error`; `None`: raise the error now."""
        if attempt >= self.attempts or not error.retryable:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.cap else None
        try:
            wait = self.base * float(self.factor) ** (attempt - 1)
        except OverflowError:
            wait = self.cap
        return dice.uniform(*self.spread) * min(self.cap, wait)


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


DEFAULT = Retry()
SPEC = Retry(spread=(0.5, 1.5))
RESUME_AGENT = Retry(spread=(0.8, 1.2))
ATTRACTOR = Retry(attempts=4, cap=30.0, spread=(0.75, 1.25))
NONE = Retry(attempts=1)
