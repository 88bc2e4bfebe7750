"""Polling of files and batches: pauses with a total limit, and the typed error of a failed job."""

from __future__ import annotations

import math

from wire.core.exchange import Pause
from wire.core.secret import quoted
from wire.errors import APIError, ConfigurationError, TotalClock, class_of_status
from wire.gemini.error_body import RPC_CODES
from wire.gemini.types import Status


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


def failed(error: Status | None, subject: str, raw: bytes = b"") -> APIError:
    """The typed error of a failed job. `subject` begins its message, `raw` is the response.

    The `code` of an error inside a job is a google.rpc code; it is mapped to an HTTP status.

    >>> failed(Status(code=3, message="no video in it"), "files/abc is FAILED")
    BadRequestError("400 INVALID_ARGUMENT: files/abc is FAILED: no video in it")
    """
    code = error.code if error is not None and error.code is not None else 13
    word, status = RPC_CODES.get(code, (None, code if 400 <= code < 600 else 500))
    return class_of_status(status)(
        f"{subject}: {(error and error.message) or 'no message'}",
        details=(error and error.details) or (),
        status=status,
        code=(error and error.status) or word,
        raw=raw,
    )
