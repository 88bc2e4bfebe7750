"""Errors as Anthropic and the hosts of its wire send them, as typed errors.

`{"type": "error", "error": {"type", "message"}, "request_id"}`; other hosts leave out the outer
type, or use one of the envelopes of `wire.core.error_words`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wire.anthropic.types import ErrorObject
from wire.core.error_words import ErrorReader, Words
from wire.errors import APIError, ContextLengthError, QuotaError

_CONTEXT = re.compile(
    r"prompt is too long|maximum context length|context "
    r"(length|window|size)|context_length_exceeded|exceed context limit|too many tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"spend_limit_reached|spend limit|api usage limits|credit "
    r"balance|insufficient.?(quota|balance|credit|funds)|billing_error",
    re.IGNORECASE,
)

STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict": 409,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The HTTP status of each type of error, for errors that come with status 200."""


class _Errors(ErrorReader[ErrorObject]):
    kind = ErrorObject
    flat_keys = ("message", "msg", "detail")
    flat_mark = ("type", "error")
    status_keys = ("http_code", "code")
    status_of_word = STATUS_OF_TYPE
    quota = _QUOTA
    classes = (
        Words(QuotaError, statuses=frozenset({402})),
        Words(QuotaError, _QUOTA, frozenset({400, 403, 429})),
        Words(ContextLengthError, _CONTEXT, frozenset({400, 413, 422, 500})),
    )

    def code(self, error: ErrorObject) -> str | None:
        """`error_code` of the details, then the code of other hosts, then the type."""
        exact = error.details.get("error_code") if error.details is not None else None
        # Kimi's server writes `<nil>` for no type.
        kind = error.type if error.type not in ("", "<nil>") else None
        named = (exact, error.code, kind)
        return next((str(word) for word in named if word is not None), None)


ERRORS = _Errors()


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """The typed error of a response with an error status. Its `details` hold one `ErrorObject`; its
    `code` is the most exact name in it.

    >>> body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    >>> error = parse_error(529, {}, body)
    >>> type(error).__name__, error.code, error.retryable
    ('OverloadedError', 'overloaded_error', True)
    """
    return ERRORS.parse(status, body)
