"""Error bodies of Interactions as typed errors.

The code of an error is a word, such as `invalid_request`, and there is no status beside it. What
stands before the service answers in the form of generateContent. An interaction that failed has its
errors in a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from wire.core.arguments import checked_arguments
from wire.core.error_words import Words
from wire.core.errors import APIError, BadRequestError, QuotaError
from wire.core.lazy import lazy_pattern
from wire.gemini.error_body import GeminiErrors
from wire.gemini.types import Status

_CREDITS = lazy_pattern(r"^payment_required$", re.MULTILINE)
_BLOCKED = lazy_pattern(
    r"^(safety|recitation|language|prohibited_content|spii|blocklist|content_blocked|image_\w+"
    r"|no_image|missing_thought_signature)$|^Request blocked due to",
)


class _Errors(GeminiErrors):
    classes: ClassVar[tuple[Words, ...]] = (
        Words(QuotaError, _CREDITS),
        Words(BadRequestError, _BLOCKED),
        *GeminiErrors.classes,
    )

    def words(self, error: Status) -> str:
        """Return the text that `classes` search: the code, then the words of Gemini."""
        return f"{error.status or ''}\n{super().words(error)}"


ERRORS = _Errors()


@checked_arguments()
def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """Build the typed error for a response with an error status.

    >>> body = b'{"error":{"code":"model_not_found","message":"No such model."}}'
    >>> error = parse_error(404, {}, body)
    >>> type(error).__name__, error.code
    ('NotFoundError', 'model_not_found')
    """
    return ERRORS.parse(status, body)


_CODES: dict[int, str] = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    409: "aborted",
    416: "out_of_range",
    429: "rate_limit_exceeded",
    499: "cancelled",
    500: "internal",
    501: "not_implemented",
    503: "unavailable",
    504: "deadline_exceeded",
}
"""HTTP status -> the word that the server sends with it."""


@checked_arguments()
def render_error(status: int, message: str, code: str = "") -> dict[str, Any]:
    """Return the error object that a client of Interactions gets, as a body or in an event.

    >>> render_error(404, "No such model.", "model_not_found")
    {'error': {'code': 'model_not_found', 'message': 'No such model.'}}
    """
    word = code or _CODES.get(status) or ("internal" if status >= 500 else "invalid_request")
    return {"error": {"code": word, "message": message}}
