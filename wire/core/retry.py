"""Whether an error deserves another attempt, and after how long: one policy, pure. `exchange.py`
obeys it.

The names of the presets are those of the systems whose numbers they carry. All of them: three or
four attempts, waits that double up to a cap, spread so that many clients do not return at once; a
wish of the server replaces the computed wait and is refused when it is longer than the cap (R-15,
R-16).
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
    """`attempts` in all; before attempt n+1 a wait of `uniform(*spread) * min(cap, base *
    factor**(n-1))` seconds.

    >>> Retry(attempts=2, spread=(1, 1)).wait(WireError(retryable=True), 1, Random(0))
    1.0
    """

    attempts: int = 3
    base: float = 1.0
    factor: float = 2.0
    cap: float = 60.0
    spread: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        if type(self.attempts) is not int or self.attempts < 1:
            raise ConfigurationError(f"retry.attempts: a number from 1 up, not {self.attempts!r}")
        for name in ("base", "factor", "cap"):
            if not _is_time(getattr(self, name)):
                raise ConfigurationError(
                    f"retry.{name}: a finite number from 0 up, not {getattr(self, name)!r}"
                )
        if not (
            isinstance(self.spread, tuple)
            and len(self.spread) == 2
            and all(map(_is_time, self.spread))
            and self.spread[0] <= self.spread[1]
        ):
            raise ConfigurationError(
                "retry.spread: two finite numbers from 0 up, the smaller one first, not "
                f"{self.spread!r}"
            )

    def wait(self, error: WireError, attempt: int, dice: Random) -> float | None:
        """Seconds to wait after `attempt` failed with `error`; `None` if it is to be raised now."""
        if attempt >= self.attempts or not error.retryable:
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.cap else None
        try:
            grown = self.base * float(self.factor) ** (attempt - 1)
        except OverflowError:
            grown = self.cap
        return dice.uniform(*self.spread) * min(self.cap, grown)


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


DEFAULT = Retry()
SPEC = Retry(spread=(0.5, 1.5))
RESUME_AGENT = Retry(spread=(0.8, 1.2))
ATTRACTOR = Retry(attempts=4, cap=30.0, spread=(0.75, 1.25))
NONE = Retry(attempts=1)
