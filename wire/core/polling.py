"""Polling of files and batches: pauses with a total limit."""

from __future__ import annotations

import math

from wire.core.exchange import Pause
from wire.core.secret import quoted
from wire.errors import ConfigurationError, TotalClock


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
        """The next pause. Raises `TotalClock` with the reason if the total is used up."""
        if self._waited >= self._most:
            raise TotalClock(f"{reason} after {self._waited:g} s of waiting")
        pause = Pause(min(self._every, self._most - self._waited))
        self._waited += pause.seconds
        return pause
