"""Errors in every envelope that a host of chat completions puts them in, as typed errors (Q14).

`{"error": {...}}`, `{"error": "text"}` with or without a code beside it, a flat `{"message",
"type", "code"}`, `{"detail":
...}`, `base_resp`, a list of one envelope, a page of HTML, nothing at all; with an error status, as a whole answer of
status 200, or as an event of a stream.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from wire.core.lenient import fitted, plain
from wire.errors import (
    APIError,
    ContextLengthError,
    QuotaError,
    class_of_status,
    one_line,
    retryable_status,
)
from wire.openai.chat.types import ErrorObject

_CONTEXT = re.compile(
    r"context_length_exceeded|exceed_context_size|maximum context length|context "
    r"(length|window|size)|prompt is too long"
    r"|input length and .?max_tokens.? exceed|too many tokens",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient.?(quota|balance|credit|funds)|billing_hard_limit|credit "
    r"balance|exceeded your current quota",
    re.IGNORECASE,
)
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")

_STATUS_OF_WORD = {
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "ratelimitreached": 429,
    "resource_exhausted": 429,
    "too_many_requests": 429,
    "invalid_request_error": 400,
    "invalid_argument": 400,
    "invalid-argument": 400,
    "badrequesterror": 400,
    "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_error": 403,
    "permission_denied": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "overloaded_error": 503,
    "unavailable": 503,
    "timeout": 504,
}
"""Codes and types that say a status, for errors that come inside a good one."""


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> APIError:
    """The typed error that an error answer asks for. Its `details` hold one `ErrorObject`, with the
    provider's own code in its own type.

    >>> error = parse_error(429, {}, b'{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}')
    >>> type(error).__name__, error.code, error.retryable
    ('QuotaError', 'insufficient_quota', False)
    """
    found = error_in(plain(body), certain=True)
    if found is None:
        found = ErrorObject(message=body.decode("utf-8", "replace").strip())
    return typed(found, status, body)


def typed(error: ErrorObject, http_status: int, body: bytes) -> APIError:
    """An error object as an exception; inside a good answer what the object itself says of a status
    counts.
    """
    status = http_status if http_status >= 400 else _status_in(error)
    message = one_line(error.message or "") or "no message"
    words = " ".join(str(word) for word in (error.code, error.type, message) if word is not None)
    cls, retryable = class_of_status(status), retryable_status(status)
    if status in (402, 429) and (status == 402 or _QUOTA.search(words)):
        cls, retryable = QuotaError, False
    elif status in (400, 413, 422, 500) and _CONTEXT.search(words):
        cls, retryable = ContextLengthError, False
    upstream = upstream_message(error)
    code = error.code if error.code is not None else error.type
    return cls(
        f"{message}: {upstream}" if upstream and upstream not in message else message,
        details=[error],
        status=status,
        code=None if code is None else str(code),
        retryable=retryable,
        retry_after=_delay(error),
        raw=body,
    )


def _status_in(error: ErrorObject) -> int:
    for code in (
        error.status_code,
        error.http_code,
        error.code,
        error.metadata and error.metadata.get("status_code"),
    ):
        number = (
            int(code) if isinstance(code, str) and len(code) == 3 and code.isdecimal() else code
        )
        if isinstance(number, int) and 400 <= number < 600:
            return number
    for word in (error.code, error.type):
        status = _STATUS_OF_WORD.get(str(word).lower())
        if status is not None:
            return status
    return 429 if _QUOTA.search(f"{error.message}") else 500


def upstream_message(error: ErrorObject) -> str | None:
    """What the host behind a gateway said, which OpenRouter hands on as JSON in a text."""
    raw = error.metadata.get("raw") if isinstance(error.metadata, dict) else None
    if not isinstance(raw, str):
        return None
    found = error_in(plain(raw.encode("utf-8", "replace")), certain=True)
    return found.message if found is not None else None


def _delay(error: ErrorObject) -> float | None:
    """The wait in a RetryInfo, which Gemini's compatible endpoint sends as its native one does."""
    for detail in error.details if isinstance(error.details, list) else ():
        found = (
            _DELAY.fullmatch(str(detail.get("retryDelay"))) if isinstance(detail, dict) else None
        )
        if found:
            return float(found[1])
    return None


# --- envelopes ------------------------------------------------------------------------------------


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
        inside = error if isinstance(error, dict) else {"message": _text(error)}
        beside = {
            key: value.get(key)
            for key in ("code", "type", "status_code", "detail")
            if key not in inside
        }
        beside["type"] = None if beside.get("type") == "error" else beside.get("type")
        return _object({**beside, **inside})
    base = value.get("base_resp")
    if isinstance(base, dict) and base.get("status_code"):
        return _object({"code": base["status_code"], "message": base.get("status_msg")})
    choices = value.get("choices")
    for each in (
        value.get("x_groq"),
        *(choices if isinstance(choices, list) else ()),
    ):  # Groq, OpenRouter
        if isinstance(each, dict) and each.get("error"):
            return error_in({"error": each["error"]}, certain=True)
    if value.get("object") == "error" or (certain and ("message" in value or "msg" in value)):
        return _object(value)
    if certain and "detail" in value:
        return _object({**value, "message": _detail(value["detail"])})
    return None


def _object(found: dict[str, Any]) -> ErrorObject:
    """An error object whatever its values are; `type` falls back to Google's `status`, the message
    to what there is.
    """
    code, kind = found.get("code"), found.get("type")
    words = (
        found.get("message")
        or found.get("msg")
        or found.get("detail")
        or found.get("reason")
        or kind
        or found.get("status")
        or code
    )
    known = {name: found[name] for name in _FIELDS if name in found}
    known |= {
        "message": _detail(words) if words is not None else "",
        "type": kind
        if isinstance(kind, str)
        else _word(found.get("status")) or _word(found.get("reason")),
        "code": code if isinstance(code, (str, int)) and not isinstance(code, bool) else None,
    }
    return fitted(known, ErrorObject)


_FIELDS = ErrorObject.__struct_encode_fields__


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _detail(value: Any) -> str:
    """A text; of FastAPI's list of what is wrong, each with its place."""
    if (
        isinstance(value, list)
        and value
        and all(isinstance(item, dict) and "msg" in item for item in value)
    ):
        return "; ".join(
            f"{'.'.join(map(str, item.get('loc') or ()))}: {item['msg']}".lstrip(": ")
            for item in value
        )
    if isinstance(value, dict):
        words = value.get("message") or value.get("msg") or value.get("detail")
        return _text(words if words else value)
    return _text(value)
