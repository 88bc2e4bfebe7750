"""Polling of files and batches: pauses with a total limit, and the typed error of a failed job."""

from __future__ import annotations

import math

from wire.core.exchange import Pause
from wire.errors import APIError, ConfigurationError, TotalClock, class_of_status
from wire.gemini.types import Status

HTTP_OF_RPC = {
    1: 499,
    2: 500,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 400,
    10: 409,
    11: 400,
    12: 501,
    13: 500,
    14: 503,
    15: 500,
    16: 401,
}
"""google.rpc code -> HTTP status (google/rpc/code.proto)."""

_RPC_NAMES = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    13: "INTERNAL",
    14: "UNAVAILABLE",
}
"""google.rpc code -> its name, for statuses that have only the number."""


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
                    f"{name}: expected a positive number of seconds, not {seconds!r}"
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
    status = HTTP_OF_RPC.get(code, code if 400 <= code < 600 else 500)
    return class_of_status(status)(
        f"{subject}: {(error and error.message) or 'no message'}",
        details=(error and error.details) or (),
        status=status,
        code=(error and error.status) or _RPC_NAMES.get(code),
        raw=raw,
    )
