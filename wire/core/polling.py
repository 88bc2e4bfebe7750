"""Polling of files and batches until they have ended, with a total limit of the pauses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

from wire.core.errors import ConfigurationError, TotalClock
from wire.core.exchange import Pause
from wire.core.flow import Flow
from wire.core.secret import quoted

Job = TypeVar("Job")


class PollPolicy:
    """Pauses of `every` seconds between polls, `most` seconds in total.

    Raises `ConfigurationError` for a number that is not positive or not finite.
    """

    def __init__(self, every: float, most: float) -> None:
        for name, seconds in (("every", every), ("most", most)):
            if (
                isinstance(seconds, bool)
                or not isinstance(seconds, (int, float))
                or not 0 < seconds < math.inf
            ):
                raise ConfigurationError(
                    f"{name}: expected a positive number of seconds, not {quoted(seconds)}"
                )
        self._every, self._most = every, most
        self._waited = 0.0

    def pause(self, reason: str) -> Pause:
        """Return the next pause. Raises `TotalClock` with the reason if the total is used up."""
        if self._waited >= self._most:
            raise TotalClock(f"{reason} after {self._waited:g} s of waiting")
        pause = Pause(min(self._every, self._most - self._waited))
        self._waited += pause.seconds
        return pause


def polled(
    name: str,
    read: Callable[[], Flow[Job]],
    pending: Callable[[Job], str | None],
    policy: PollPolicy,
) -> Flow[Job]:
    """Run `read` as a flow until `pending` returns `None`, and return the job.

    `pending` returns the state of a job that has not ended; an error of a job that failed is its
    own. Raises `TotalClock` with the name and the last state.
    """
    while True:
        job = yield from read()
        state = pending(job)
        if state is None:
            return job
        yield policy.pause(f"{name} is still {state or 'without a state'}")
