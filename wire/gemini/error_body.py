"""Reads Gemini's error bodies as typed errors.

The body is a `google.rpc.Status` in an envelope, or a list with one such envelope, under any HTTP
status (R-03). An error inside a response or a stream arrives under HTTP status 200; there the code
in the body counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from wire.core.arguments import checked_arguments
from wire.core.error_words import DAILY_QUOTA, ErrorReader, Words, quota_lines
from wire.core.errors import APIError, AuthenticationError, ContextLengthError
from wire.core.lazy import lazy_pattern
from wire.gemini.types import ErrorDetail, Status

_KEY = lazy_pattern(r"^reason: API_KEY_INVALID$", re.MULTILINE)
_CONTEXT = lazy_pattern(r"input token count .*exceeds the maximum number of tokens", re.IGNORECASE)

RPC_CODES = {
    1: ("CANCELLED", 499),
    2: ("UNKNOWN", 500),
    3: ("INVALID_ARGUMENT", 400),
    4: ("DEADLINE_EXCEEDED", 504),
    5: ("NOT_FOUND", 404),
    6: ("ALREADY_EXISTS", 409),
    7: ("PERMISSION_DENIED", 403),
    8: ("RESOURCE_EXHAUSTED", 429),
    9: ("FAILED_PRECONDITION", 400),
    10: ("ABORTED", 409),
    11: ("OUT_OF_RANGE", 400),
    12: ("UNIMPLEMENTED", 501),
    13: ("INTERNAL", 500),
    14: ("UNAVAILABLE", 503),
    15: ("DATA_LOSS", 500),
    16: ("UNAUTHENTICATED", 401),
}
"""google.rpc code -> its word and HTTP status (google/rpc/code.proto)."""


class GeminiErrors(ErrorReader[Status]):
    """The errors of Google's APIs."""

    kind = Status
    message_keys: ClassVar[tuple[str, ...]] = ("message",)
    type_keys: ClassVar[tuple[str, ...]] = ()
    classes: ClassVar[tuple[Words, ...]] = (
        Words(AuthenticationError, _KEY),
        Words(ContextLengthError, _CONTEXT),
        DAILY_QUOTA,
    )

    def fields(self, received: dict[str, Any]) -> dict[str, Any]:
        """Return the fields of the error, with an integer code: relays send the code as text.

        A word in its place is the status.
        """
        fields = super().fields(received)
        code = fields.get("code")
        if isinstance(code, str) and len(code) == 3 and code.isdecimal():
            fields["code"] = int(code)
        elif isinstance(code, str) and "status" not in fields:
            fields = {**fields, "status": code, "code": None}  # of Interactions and decisions
        return fields

    def code(self, error: Status) -> str | None:
        """Return the name of the google.rpc code."""
        return error.status

    def words(self, error: Status) -> str:
        """Return the text that `classes` search: the message, and a line for each reason and quota
        id.
        """
        details = self.details(error)
        return "\n".join(
            [
                self.message(error),
                *(f"reason: {detail.reason}" for detail in details),
                *quota_lines(each.quota_id for one in details for each in one.violations or ()),
            ]
        )

    def message(self, error: Status) -> str:
        """Return the message, with the first invalid field that the details name."""
        message = super().message(error)
        violations = [each for one in self.details(error) for each in one.field_violations or ()]
        field = next((each.field for each in violations if each.field), None)
        return f"{message} (field {field})" if field and field not in message else message

    def details(self, error: Status) -> tuple[ErrorDetail, ...]:
        """Return the google.rpc details."""
        return tuple(error.details or ())


ERRORS = GeminiErrors()


@checked_arguments()
def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """Build the typed error for a response with an error status.

    Its `details` are google.rpc details.

    >>> body = b'{"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}}'
    >>> error = parse_error(503, {}, body)
    >>> type(error).__name__, error.code, error.retryable
    ('OverloadedError', 'UNAVAILABLE', True)
    """
    return ERRORS.parse(status, body)


_WORDS: dict[int, str] = {status: word for word, status in reversed(RPC_CODES.values())} | {
    400: "INVALID_ARGUMENT",
    409: "ABORTED",
    500: "INTERNAL",
}
"""HTTP status -> the word that the server sends with it."""


@checked_arguments()
def render_error(
    status: int, message: str, code: str = "", *, details: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """Return the error object that a client of Gemini gets, as a body or as an event.

    >>> render_error(503, "Overloaded.")
    {'error': {'code': 503, 'message': 'Overloaded.', 'status': 'UNAVAILABLE'}}
    """
    error = {"code": status, "message": message, "status": code or _WORDS.get(status, "UNKNOWN")}
    return {"error": {**error, **({"details": list(details)} if details else {})}}
