"""Errors as Anthropic and the hosts of its wire say them, as typed errors.

`{"type": "error", "error": {"type", "message"}, "request_id"}`; of other hosts the same without its
outer type, an error that is text, MiniMax's `base_resp`, a page of HTML, nothing at all; with an
error status, as a whole answer of status 200, or as an event of a stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.anthropic.types import ErrorObject
from wire.core.lenient import fitted, plain
from wire.errors import (
    APIError,
    ContextLengthError,
    QuotaError,
    class_of_status,
    one_line,
    retryable_status,
)

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
"""The status that an error has by its type, where it comes inside a good answer."""


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """The typed error that an error answer asks for. Its `details` hold one `ErrorObject`; its
    `code` is the most exact name in it.

    >>> body = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}'
    >>> error = parse_error(529, {}, body)
    >>> type(error).__name__, error.code, error.retryable, error.request_id
    ('OverloadedError', 'overloaded_error', True, 'req_1')
    """
    value = plain(body)
    found = error_in(value, certain=True)
    if found is None:
        found = ErrorObject(message=body.decode("utf-8", "replace").strip())
    return typed(found, status, body, request_id_in(value))


def typed(
    error: ErrorObject, http_status: int, body: bytes, request_id: str | None = None
) -> APIError:
    """An error object as an exception; inside a good answer what the object itself says of a status
    counts.
    """
    status = http_status if http_status >= 400 else _status_in(error)
    message = one_line(error.message or "") or "no message"
    exact = error.details.get("error_code") if error.details is not None else None
    code = next((word for word in (exact, error.code, _kind(error)) if word is not None), None)
    words = " ".join(str(word) for word in (code, error.type, message))
    cls, retryable = class_of_status(status), retryable_status(status)
    if status == 402 or (status in (400, 403, 429) and _QUOTA.search(words)):
        cls, retryable = QuotaError, False
    elif status in (400, 413, 422, 500) and _CONTEXT.search(words):
        cls, retryable = ContextLengthError, False
    return cls(
        message,
        details=[error],
        status=status,
        code=None if code is None else str(code),
        retryable=retryable,
        request_id=request_id,
        raw=body,
    )


def _kind(error: ErrorObject) -> str | None:
    """Its type; `<nil>` is what a server of Kimi's writes for none."""
    return error.type if error.type not in (None, "", "<nil>") else None


def _status_in(error: ErrorObject) -> int:
    for code in (error.http_code, error.code):
        number = (
            int(code) if isinstance(code, str) and len(code) == 3 and code.isdecimal() else code
        )
        if isinstance(number, int) and 400 <= number < 600:
            return number
    return STATUS_OF_TYPE.get(str(_kind(error)), 429 if _QUOTA.search(f"{error.message}") else 500)


def error_in(value: Any, *, certain: bool) -> ErrorObject | None:
    """The error that a JSON value holds.

    `certain`: it is one for sure, and words that an answer could have too are read as one.
    """
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, str):
        return ErrorObject(message=value) if certain else None
    if not isinstance(value, dict):
        return None
    error = value.get("error")
    if error:
        return _object(
            error
            if isinstance(error, dict)
            else {"message": _text(error), "code": value.get("code")}
        )
    base = value.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return _object({"code": base["status_code"], "message": base.get("status_msg")})
    if value.get("type") == "error" or (
        certain and any(name in value for name in ("message", "msg", "detail"))
    ):
        return _object({key: item for key, item in value.items() if key != "type"})
    return None


def request_id_in(value: Any) -> str | None:
    """The id that stands beside an error."""
    found = value.get("request_id") if isinstance(value, dict) else None
    return found if isinstance(found, str) and found else None


def _object(found: dict[str, Any]) -> ErrorObject:
    """An error object whatever its values are."""
    kind = found.get("type")
    words = next(
        (found[name] for name in ("message", "msg", "detail", "type", "code") if found.get(name)),
        "",
    )
    known = {name: found[name] for name in ErrorObject.__struct_encode_fields__ if name in found}
    return fitted(
        {**known, "message": _text(words), "type": kind if isinstance(kind, str) else None},
        ErrorObject,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
