"""What waiting for files and batches needs: pauses that end, and errors that stand inside
answers.
"""

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

_WORDS = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    13: "INTERNAL",
    14: "UNAVAILABLE",
}


class PollPolicy:
    """Pauses of `every` seconds, `most` seconds of them together."""

    def __init__(self, every: float, most: float) -> None:
        for name, seconds in (("every", every), ("most", most)):
            if (
                isinstance(seconds, bool)
                or not isinstance(seconds, (int, float))
                or not 0 < seconds < math.inf
            ):
                raise ConfigurationError(
                    f"{name}: a positive number of seconds is wanted, not {seconds!r}"
                )
        self._every, self._most = every, most
        self._waited = 0.0

    def pause(self, why: str) -> Pause:
        """The next pause. Raises `TotalClock` that says why it was waited for so long."""
        if self._waited >= self._most:
            raise TotalClock(f"{why} after {self._waited:g} s of waiting")
        pause = Pause(min(self._every, self._most - self._waited))
        self._waited += pause.seconds
        return pause


def failed(error: Status | None, what: str, raw: bytes = b"") -> APIError:
    """The typed error that a failed job asks for; inside jobs `code` is one of google.rpc, and
    asking again does not help.

    >>> failed(Status(code=3, message="no video in it"), "files/abc is FAILED")
    BadRequestError("400 INVALID_ARGUMENT: files/abc is FAILED: no video in it")
    """
    code = error.code if error is not None and error.code is not None else 13
    status = HTTP_OF_RPC.get(code, code if 400 <= code < 600 else 500)
    return class_of_status(status)(
        f"{what}: {(error and error.message) or 'no message'}",
        details=(error and error.details) or (),
        status=status,
        code=(error and error.status) or _WORDS.get(code),
        raw=raw,
    )
