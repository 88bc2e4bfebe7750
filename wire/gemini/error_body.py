"""Error answers of Gemini as typed errors: one object in an envelope, or a list of one, with any
HTTP status (R-03).

Inside a good answer and in the middle of a stream the HTTP status is 200, and the object's own code
counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from wire.core.decoders import decoder
from wire.errors import (
    APIError,
    AuthenticationError,
    ContextLengthError,
    QuotaError,
    RateLimitError,
    class_of_status,
    one_line,
    retryable_status,
)
from wire.gemini.types import ErrorDetail, Status

_CONTEXT = re.compile(r"input token count .*exceeds the maximum number of tokens", re.IGNORECASE)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class _Envelope(msgspec.Struct):
    error: msgspec.Raw = msgspec.Raw()


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """The typed error that an error answer asks for; list-wrapped bodies and bodies that are no
    JSON are read as well.
    """
    found = error_in(body)
    if found is not None:
        return typed(status_of(found), status, body)
    text = one_line(body.decode("utf-8", "replace"), 300)
    return class_of_status(status)(
        text or "no body", status=status, retryable=retryable_status(status), raw=body
    )


def error_in(data: bytes) -> bytes | None:
    """The error object of an envelope, or of the first envelope of a list."""
    try:
        found: _Envelope | list[_Envelope] = decoder(_Envelope | list[_Envelope]).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    envelope = found if isinstance(found, _Envelope) else found[0] if found else _Envelope()
    error = bytes(envelope.error)
    return None if error in (b"", b"null") else error


def status_of(error: bytes) -> Status:
    """The error object as a struct, whatever of it is not as it should be."""
    try:
        status: Status = decoder(Status).decode(error)
    except msgspec.DecodeError:
        plain = msgspec.json.decode(error)
        if not isinstance(plain, dict):
            return Status(
                message=plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()
            )
        code, word, message = (str(plain.get(key) or "") for key in ("code", "status", "message"))
        status = Status(
            message=message or None,
            status=word or None,
            code=int(code) if code.isdecimal() else None,
        )
    return status


def typed(error: Status, http_status: int, body: bytes) -> APIError:
    """An error object as an exception."""
    status = http_status
    if http_status < 400:
        status = error.code if isinstance(error.code, int) and 400 <= error.code < 600 else 500
    details = error.details or []
    cls = class_of_status(status)
    message = error.message or "no message"
    retryable = retryable_status(status)
    if any(detail.reason == "API_KEY_INVALID" for detail in details):
        cls = AuthenticationError
    elif _CONTEXT.search(message):
        cls = ContextLengthError
    elif issubclass(cls, RateLimitError) and any(_is_daily(detail) for detail in details):
        cls, retryable = QuotaError, False
    violations = [violation for detail in details for violation in detail.field_violations or ()]
    broken = next((violation.field for violation in violations if violation.field), None)
    if broken and broken not in message:
        message = f"{message} (field {broken})"
    return cls(
        message,
        details=details,
        status=status,
        code=error.status,
        retryable=retryable,
        retry_after=next(
            (seconds for detail in details if (seconds := _delay(detail)) is not None), None
        ),
        raw=body,
    )


def _is_daily(detail: ErrorDetail) -> bool:
    """A quota by the day: its id says so, and its RetryInfo does not mean that waiting as long
    helps (G74).
    """
    return any("PerDay" in (violation.quota_id or "") for violation in detail.violations or ())


def _delay(detail: ErrorDetail) -> float | None:
    found = _DELAY.fullmatch(detail.retry_delay or "")
    return float(found[1]) if found else None
