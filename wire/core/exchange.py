"""When to send, wait, give up: a generator that yields what to do and is told what came of it. No
clock, no I/O.

An attempt succeeds when its answer is there: for a stream, when its first event is there (an error
in place of the first event is an error of the call). After that nothing is tried again, since the
caller has seen a part of the answer.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from random import Random

from wire.core.retry import Retry
from wire.errors import WireError


@dataclass(frozen=True, slots=True)
class Send:
    """Send the request."""

    attempt: int
    """1 for the first."""
    seconds: float | None
    """What is left of the total time, `None` if it is not limited."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Sleep, then go on."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Failed:
    """What came of `Send`, when no answer did."""

    error: WireError
    elapsed: float
    """Seconds since the call began."""


Step = Send | Pause
Outcome = Failed | None


def exchange(retry: Retry, total: float | None, dice: Random) -> Generator[Step, Outcome, None]:
    """Return when an attempt succeeded (`None` was sent), or raise what the last attempt deserves.

    The answer to `Send` is `Failed` or `None`; the answer to `Pause` is not looked at.
    """
    left = total
    attempt = 0
    while True:
        attempt += 1
        failed = yield Send(attempt, left)
        if failed is None:
            return
        error = failed.error
        error.attempts = attempt
        wait = retry.wait(error, attempt, dice)
        if total is not None and wait is not None:
            left = total - failed.elapsed - wait
        if wait is None or (left is not None and left <= 0):
            raise error
        yield Pause(wait)
