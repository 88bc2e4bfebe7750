"""Error responses of OpenAI and of the other hosts of its API, as typed errors (Q14).

OpenAI sends `{"error": {"message", "type", "param", "code"}}`; other hosts use any of the envelopes
of `wire.core.error_words`. In streams Groq sends an error in `x_groq`, OpenRouter in a choice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from wire.core.arguments import checked_arguments
from wire.core.error_words import DAILY_QUOTA, TOO_LONG, ErrorReader, Words, quota_lines
from wire.core.errors import APIError, NotFoundError, QuotaError
from wire.core.lazy import lazy_pattern
from wire.core.lenient import plain
from wire.openai.common.types.errors import ErrorObject

_MODEL = lazy_pattern(r"model_not_found")
_QUOTA = lazy_pattern(
    r"insufficient.?(quota|balance|credit|funds)|billing_hard_limit|credit "
    r"balance|exceeded your current quota",
    re.IGNORECASE,
)

_EXHAUSTED = "RESOURCE_EXHAUSTED"
"""The google.rpc code of a quota. Google sends it as `status`, no other host does."""


class _Errors(ErrorReader[ErrorObject]):
    kind = ErrorObject
    flat_keys: ClassVar[tuple[str, ...]] = ("message", "msg", "detail")
    flat_mark: ClassVar[tuple[str, str] | None] = ("object", "error")
    inner_keys: ClassVar[tuple[str, ...]] = ("x_groq", "choices")
    beside_keys: ClassVar[tuple[str, ...]] = ("code", "type", "status_code", "detail")
    message_keys: ClassVar[tuple[str, ...]] = ("message", "msg", "detail", "reason")
    type_keys: ClassVar[tuple[str, ...]] = ("type", "status", "reason")
    quota = Words(QuotaError, _QUOTA)
    classes: ClassVar[tuple[Words, ...]] = (
        Words(QuotaError, statuses=frozenset({402})),
        DAILY_QUOTA,
        # Chat completions answer 404, Responses 400.
        Words(NotFoundError, _MODEL, frozenset({400, 404})),
        Words(QuotaError, _QUOTA, frozenset({429})),
        TOO_LONG,
    )

    def code(self, error: ErrorObject) -> str | None:
        """Return the provider's code as text; its type if it has no code."""
        return str(error.code) if error.code is not None else error.type

    def message(self, error: ErrorObject) -> str:
        """Return the message; from a gateway, followed by the message of the host behind it."""
        message, upstream = super().message(error), upstream_message(error)
        return f"{message}: {upstream}" if upstream and upstream not in message else message

    def words(self, error: ErrorObject) -> str:
        """Return the text that `classes` search.

        Of a quota of Google, the codes and the ids: its message is the same for the quota of a
        minute, which comes back, and for that of a day.
        """
        for each in (error, upstream_error(error)):
            if each is not None and each.status == _EXHAUSTED:
                return "\n".join([_EXHAUSTED, *quota_lines(_quota_ids(each.details))])
        return super().words(error)


def _quota_ids(details: object) -> Iterator[object]:
    """Yield the ids in the google.rpc details of an error."""
    for detail in details if isinstance(details, list) else ():
        violations = detail.get("violations") if isinstance(detail, dict) else None
        for each in violations if isinstance(violations, list) else ():
            if isinstance(each, dict):
                yield each.get("quotaId")


ERRORS = _Errors()


@checked_arguments()
def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """Build the typed error of a response with an error status.

    Its `details` has one `ErrorObject`, which keeps the type of the provider's code.

    >>> body = b'{"error":{"message":"No credit.","code":"insufficient_quota"}}'
    >>> error = parse_error(429, {}, body)
    >>> type(error).__name__, error.code, error.retryable
    ('QuotaError', 'insufficient_quota', False)
    """
    return ERRORS.parse(status, body)


_TYPES = {429: "requests"}
_CODES = {429: "rate_limit_exceeded"}


@checked_arguments()
def render_error(
    status: int, message: str, code: str = "", *, kind: str = "", param: str | None = None
) -> dict[str, Any]:
    """Return the error object that a client of OpenAI gets, as a body or as an event.

    `kind` is its type, if that is not the usual one of the status.

    >>> render_error(404, "No such model.", "model_not_found")["error"]["type"]
    'invalid_request_error'
    """
    usual = "server_error" if status >= 500 else "invalid_request_error"
    fields = {"message": message, "type": kind or _TYPES.get(status, usual), "param": param}
    return {"error": {**fields, "code": code or _CODES.get(status)}}


def upstream_error(error: ErrorObject) -> ErrorObject | None:
    """Return the error of the host behind a gateway.

    OpenRouter sends that host's JSON as a text.
    """
    raw = error.metadata.get("raw") if error.metadata is not None else None
    if not isinstance(raw, str):
        return None
    return ERRORS.error_in(plain(raw.encode("utf-8", "replace")), certain=True)


def upstream_message(error: ErrorObject) -> str | None:
    """Return the message of `upstream_error`."""
    upstream = upstream_error(error)
    return upstream.message if upstream is not None else None
