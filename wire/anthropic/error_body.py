"""Error responses of Anthropic and of the other hosts of Messages, as typed errors.

Anthropic sends `{"type": "error", "error": {"type", "message"}, "request_id"}`. Other hosts omit
the outer type, or use one of the envelopes of `wire.core.error_words`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from wire.anthropic.types import ErrorObject
from wire.core.arguments import checked_arguments
from wire.core.error_words import TOO_LONG, ErrorReader, Words
from wire.core.errors import APIError, QuotaError
from wire.core.lazy import lazy_pattern

_QUOTA = lazy_pattern(
    r"spend_limit_reached|spend limit|api usage limits|credit "
    r"balance|insufficient.?(quota|balance|credit|funds)|billing_error",
    re.IGNORECASE,
)


class _Errors(ErrorReader[ErrorObject]):
    kind = ErrorObject
    flat_keys: ClassVar[tuple[str, ...]] = ("message", "msg", "detail")
    flat_mark: ClassVar[tuple[str, str] | None] = ("type", "error")
    quota = Words(QuotaError, _QUOTA)
    classes: ClassVar[tuple[Words, ...]] = (
        Words(QuotaError, statuses=frozenset({402})),
        Words(QuotaError, _QUOTA, frozenset({400, 403, 429})),
        TOO_LONG,
    )

    def code(self, error: ErrorObject) -> str | None:
        """Return the first of: `error_code` in the details, the code of other hosts, the type."""
        error_code = error.details.get("error_code") if error.details is not None else None
        # Kimi sends the text `<nil>` for an absent type, which would be a useless code.
        kind = error.type if error.type not in ("", "<nil>") else None
        codes = (error_code, error.code, kind)
        return next((str(code) for code in codes if code is not None), None)


ERRORS = _Errors()


@checked_arguments()
def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """Build the typed error of a response with an error status.

    Its `details` has one `ErrorObject`; its `code` is the most specific code in that.

    >>> body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    >>> error = parse_error(529, {}, body)
    >>> type(error).__name__, error.code, error.retryable
    ('OverloadedError', 'overloaded_error', True)
    """
    return ERRORS.parse(status, body)


_TYPES = {
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


@checked_arguments()
def render_error(status: int, message: str, code: str = "") -> dict[str, Any]:
    """Return the error object that a client of Messages gets, as a body or as an event.

    >>> render_error(529, "Overloaded")["error"]
    {'type': 'overloaded_error', 'message': 'Overloaded'}
    """
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    details = {"details": {"error_code": code}} if code else {}
    return {"type": "error", "error": {"type": kind, "message": message, **details}}
