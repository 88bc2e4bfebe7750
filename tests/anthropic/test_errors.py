"""Error responses of Anthropic and of the other hosts of Messages, as typed errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire.anthropic.error_body import ERRORS, parse_error
from wire.anthropic.types import ErrorObject
from wire.core.exchange import completed
from wire.errors import (
    AccessDeniedError,
    APIError,
    AuthenticationError,
    BadRequestError,
    ContextLengthError,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)


def body_of(kind: str | None, message: str, **more: Any) -> bytes:
    inside = (
        {"type": kind, "message": message, **more}
        if kind is not None
        else {"message": message, **more}
    )
    return json.dumps({"type": "error", "error": inside, "request_id": "req_1"}).encode()


TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
RESPONSES: dict[str, tuple[int, bytes, type[APIError], str | None, bool]] = {
    "bad request": (
        400,
        body_of("invalid_request_error", "messages: bad"),
        BadRequestError,
        "invalid_request_error",
        False,
    ),
    "too long": (
        400,
        body_of("invalid_request_error", TOO_LONG),
        ContextLengthError,
        "invalid_request_error",
        False,
    ),
    "too long with the answer": (
        400,
        body_of(
            "invalid_request_error", "input length and `max_tokens` exceed context limit: 9 + 9 > 9"
        ),
        ContextLengthError,
        "invalid_request_error",
        False,
    ),
    "no credit": (
        400,
        body_of(
            "invalid_request_error", "Your credit balance is too low to access the Anthropic API."
        ),
        QuotaError,
        "invalid_request_error",
        False,
    ),
    "own spend limit": (
        400,
        body_of("invalid_request_error", "You have reached your specified API usage limits."),
        QuotaError,
        "invalid_request_error",
        False,
    ),
    "key": (
        401,
        body_of("authentication_error", "invalid x-api-key"),
        AuthenticationError,
        "authentication_error",
        False,
    ),
    "billing": (402, body_of("billing_error", "Pay first"), QuotaError, "billing_error", False),
    "permission": (
        403,
        body_of("permission_error", "Not yours"),
        AccessDeniedError,
        "permission_error",
        False,
    ),
    "no such model": (
        404,
        body_of("not_found_error", "model: none"),
        NotFoundError,
        "not_found_error",
        False,
    ),
    "conflict": (409, body_of("conflict", "Again"), APIError, "conflict", True),
    "too large": (
        413,
        body_of("request_too_large", "Request exceeds the maximum size"),
        BadRequestError,
        "request_too_large",
        False,
    ),
    "rate": (
        429,
        body_of("rate_limit_error", "Slow down"),
        RateLimitError,
        "rate_limit_error",
        True,
    ),
    "spend limit": (
        429,
        body_of(
            "rate_limit_error", "Enough", details={"error_code": "enforced_spend_limit_reached"}
        ),
        QuotaError,
        "enforced_spend_limit_reached",
        False,
    ),
    "internal": (
        500,
        body_of("api_error", "Internal server error"),
        ServerError,
        "api_error",
        True,
    ),
    "unavailable": (
        503,
        body_of("api_error", "Service unavailable"),
        OverloadedError,
        "api_error",
        True,
    ),
    "timeout": (
        504,
        body_of("timeout_error", "Too slow"),
        RequestTimeoutError,
        "timeout_error",
        True,
    ),
    "overloaded": (
        529,
        body_of("overloaded_error", "Overloaded"),
        OverloadedError,
        "overloaded_error",
        True,
    ),
    # other hosts
    "kimi": (
        400,
        b'{"error":{"type":"<nil>","message":"no such tool"},"type":"error"}',
        BadRequestError,
        None,
        False,
    ),
    "minimax": (
        429,
        body_of("rate_limit_error", "insufficient balance (1008)", http_code="429"),
        QuotaError,
        "rate_limit_error",
        False,
    ),
    "text": (500, b'{"error":"engine is down"}', ServerError, None, True),
    "flat": (
        400,
        b'{"message":"no model","code":"bad_model"}',
        BadRequestError,
        "bad_model",
        False,
    ),
    "detail": (422, b'{"detail":[{"msg":"field required"}]}', BadRequestError, None, False),
    "page": (502, b"<html>Bad Gateway</html>", ServerError, None, True),
    "nothing": (529, b"", OverloadedError, None, True),
    "list": (
        404,
        b'[{"error":{"type":"not_found_error","message":"gone"}}]',
        NotFoundError,
        "not_found_error",
        False,
    ),
    "odd": (
        400,
        b'{"error":{"type":7,"message":["a"],"details":"b","code":{"c":1}}}',
        BadRequestError,
        None,
        False,
    ),
}


@pytest.mark.row("S4-18")
@joined("name", RESPONSES)
def test_errors_are_typed(name: str):
    status, body, kind, code, retryable = RESPONSES[name]
    error = parse_error(status, {}, body)
    assert (type(error), error.status, error.code, error.retryable, error.raw) == (
        kind,
        status,
        code,
        retryable,
        body,
    )
    assert error.request_id == ("req_1" if b"req_1" in body else None)
    assert [type(detail) for detail in error.details] == [ErrorObject]


@joined(
    ("body", "message"),
    [
        (body_of("api_error", "Internal\nserver error"), "Internal server error"),
        (b'{"error":"engine is down"}', "engine is down"),
        (b'{"detail":[{"msg":"field required"}]}', "field required"),
        (b'{"error":{"type":"api_error"}}', "api_error"),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"", "no message"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_the_servers_words_are_told(body: bytes, message: str):
    assert parse_error(500, {}, body).message == message


def test_headers_complete_an_error():
    headers = {"request-id": "req_h", "retry-after": "7", "x-should-retry": "false"}
    error = completed(parse_error(529, headers, b"{}"), headers, 0.0)
    assert (error.request_id, error.retry_after, error.retryable) == ("req_h", 7.0, False)
    assert (
        completed(
            parse_error(529, headers, body_of("overloaded_error", "x")), headers, 0.0
        ).request_id
        == "req_1"
    )


STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The table of Anthropic's documentation of errors."""


def in_success(**error: object) -> APIError:
    """The error that a response of status 200 holds."""
    found = ERRORS.in_success(json.dumps({"error": error}).encode())
    assert found is not None
    return found


@joined("kind", STATUS_OF_TYPE)
def test_inside_a_good_answer_the_type_says_the_status(kind: str):
    error = in_success(type=kind, message="x")
    assert (error.status, type(error)) == (
        STATUS_OF_TYPE[kind],
        type(parse_error(STATUS_OF_TYPE[kind], {}, body_of(kind, "x"))),
    )


def test_inside_a_good_answer_other_hosts_say_it_otherwise():
    assert in_success(type="x", http_code="403").status == 403
    assert in_success(code=404).status == 404
    assert in_success(message="insufficient balance").status == 429
    assert in_success(message="?").status == 200


@joined(
    "value",
    [
        {"type": "message", "content": []},
        {"id": "b", "base_resp": {"status_code": 0, "status_msg": ""}},
        {"error": None, "id": "x"},
        {"message": "High."},
        "High.",
        [],
        None,
    ],
)
def test_what_is_no_error(value: Any):
    assert ERRORS.error_in(value, certain=False) is None
