"""Error responses: status and text to class, code, retry and message."""

from __future__ import annotations

import json
import pickle
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.errors import (
    AccessDeniedError,
    APIError,
    AuthenticationError,
    AuthError,
    BadRequestError,
    ContextLengthError,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
)
from wire.gemini import ErrorDetail, FieldViolation, HelpLink, QuotaViolation, generate_content
from wire.gemini.error_body import parse_error
from wire.gemini.reader import ChunkReader, parse_response

from .conversations import ask

TYPE = "type.googleapis.com/google.rpc."


def body(code: int, status: str, message: str = "No.", *details: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "error": {
                "code": code,
                "message": message,
                "status": status,
                **({"details": details} if details else {}),
            }
        }
    ).encode()


def quota(identifier: str) -> dict[str, Any]:
    return {
        "@type": f"{TYPE}QuotaFailure",
        "violations": [{"quotaMetric": "requests", "quotaId": identifier, "quotaValue": "250"}],
    }


RETRY_INFO = {"@type": f"{TYPE}RetryInfo", "retryDelay": "34.4s"}
BAD_KEY = {
    "@type": f"{TYPE}ErrorInfo",
    "reason": "API_KEY_INVALID",
    "domain": "googleapis.com",
    "metadata": {"service": "x"},
}
PER_MINUTE, PER_DAY = (
    quota("GenerateRequestsPerMinutePerProjectPerModel"),
    quota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
)
TOO_LONG = "The input token count (2097153) exceeds the maximum number of tokens allowed (1048576)."


@pytest.mark.row("S4-18")
@joined(
    ("status", "code", "cls", "retryable"),
    [
        (400, "INVALID_ARGUMENT", BadRequestError, False),
        (400, "FAILED_PRECONDITION", BadRequestError, False),
        (401, "UNAUTHENTICATED", AuthenticationError, False),
        (403, "PERMISSION_DENIED", AccessDeniedError, False),
        (404, "NOT_FOUND", NotFoundError, False),
        (408, "DEADLINE_EXCEEDED", RequestTimeoutError, True),
        (409, "ABORTED", APIError, True),
        (413, "INVALID_ARGUMENT", BadRequestError, False),
        (429, "RESOURCE_EXHAUSTED", RateLimitError, True),
        (499, "CANCELLED", APIError, False),
        (500, "INTERNAL", ServerError, True),
        (502, "UNKNOWN", ServerError, True),
        (503, "UNAVAILABLE", OverloadedError, True),
        (504, "DEADLINE_EXCEEDED", RequestTimeoutError, True),
    ],
)
def test_status(status, code, cls, retryable):
    error = parse_error(status, {}, body(status, code))
    assert (type(error), error.status, error.code, error.retryable) == (
        cls,
        status,
        code,
        retryable,
    )
    assert (error.message, error.retry_after, error.details) == ("No.", None, ())
    assert str(error) == f"{status} {code}: No."


@pytest.mark.row("S4-18")
@joined(
    ("word", "status", "cls", "retryable"),
    [
        ("INVALID_ARGUMENT", 400, BadRequestError, False),
        ("UNAUTHENTICATED", 401, AuthenticationError, False),
        ("PERMISSION_DENIED", 403, AccessDeniedError, False),
        ("NOT_FOUND", 404, NotFoundError, False),
        ("RESOURCE_EXHAUSTED", 429, RateLimitError, True),
        ("INTERNAL", 500, ServerError, True),
        ("UNAVAILABLE", 503, OverloadedError, True),
        ("DEADLINE_EXCEEDED", 504, RequestTimeoutError, True),
    ],
)
def test_the_word_counts_where_there_is_no_number(word, status, cls, retryable):
    said = json.dumps({"error": {"status": word, "message": "No."}}).encode()
    with pytest.raises(APIError) as whole:
        parse_response(said)
    reader = ChunkReader()
    assert (reader.feed(b"data: " + said + b"\n\n"), type(reader.error)) == ([], cls)
    for error in (whole.value, reader.error):
        assert (type(error), error.status, error.code, error.retryable, error.raw) == (
            cls,
            status,
            word,
            retryable,
            said,
        )


@pytest.mark.row("S4-18")
def test_classes_by_what_to_do():
    """A caller that knows `AuthError`, `RateLimitError`, `ContextLengthError` and `ServerError`
    catches their kinds.
    """

    def found(status, message="No."):
        return parse_error(status, {}, json.dumps({"error": {"message": message}}).encode())

    assert [isinstance(found(status), AuthError) for status in (401, 403, 404)] == [
        True,
        True,
        False,
    ]
    assert all(isinstance(found(status), ServerError) for status in (500, 502, 503))
    assert type(found(400, TOO_LONG)) is ContextLengthError
    assert type(found(400, "The token is no name.")) is BadRequestError
    assert isinstance(found(429), RateLimitError)


@joined(
    ("status", "message", "details", "cls", "retryable", "retry_after"),
    [
        (
            400,
            "API key not valid. Please pass a valid API key.",
            [BAD_KEY],
            AuthenticationError,
            False,
            None,
        ),  # G73
        (400, TOO_LONG, [], ContextLengthError, False, None),
        (429, "Quota.", [PER_MINUTE, RETRY_INFO], RateLimitError, True, 34.4),
        (
            429,
            "Quota.",
            [PER_DAY, RETRY_INFO],
            QuotaError,
            False,
            34.4,
        ),  # G74: the delay is of another quota
        (429, "Quota.", [PER_MINUTE, PER_DAY], QuotaError, False, None),
        (
            429,
            "Quota.",
            [{"@type": f"{TYPE}RetryInfo", "retryDelay": "7s"}],
            RateLimitError,
            True,
            7.0,
        ),
        (
            429,
            "Quota.",
            [{"@type": f"{TYPE}RetryInfo", "retryDelay": "0s"}],
            RateLimitError,
            True,
            0.0,
        ),
        (
            429,
            "Quota.",
            [{"@type": f"{TYPE}RetryInfo", "retryDelay": "soon"}],
            RateLimitError,
            True,
            None,
        ),
        (
            429,
            "Quota.",
            [{"@type": f"{TYPE}RetryInfo", "retryDelay": "-1s"}],
            RateLimitError,
            True,
            None,
        ),
        (429, "Quota.", [{"@type": f"{TYPE}RetryInfo"}], RateLimitError, True, None),
        (503, "Busy.", [RETRY_INFO], OverloadedError, True, 34.4),
        (400, "Quota.", [PER_DAY], BadRequestError, False, None),
        (429, "Quota.", [{"@type": "made.up", "novelty": {"a": 1}}], RateLimitError, True, None),
    ],
    ids=[
        "key",
        "context",
        "minute",
        "day",
        "both",
        "whole",
        "zero",
        "no-number",
        "negative",
        "no-delay",
        "busy",
        "day-of-400",
        "unknown-detail",
    ],
)
def test_details_decide(status, message, details, cls, retryable, retry_after):
    error = parse_error(status, {}, body(status, "X", message, *details))
    assert (type(error), error.retryable, error.retry_after, error.message) == (
        cls,
        retryable,
        retry_after,
        message,
    )


def test_details_are_typed():
    all_details = [
        PER_DAY,
        RETRY_INFO,
        BAD_KEY,
        {"@type": f"{TYPE}Help", "links": [{"description": "Learn", "url": "https://example.com"}]},
        {
            "@type": f"{TYPE}BadRequest",
            "fieldViolations": [{"field": "contents[0].parts", "description": "Empty."}],
        },
        {"@type": f"{TYPE}LocalizedMessage", "locale": "en-US", "message": "No."},
        {"@type": f"{TYPE}DebugInfo", "detail": "[ORIGINAL ERROR] generic::x"},
    ]
    error = parse_error(429, {}, body(429, "RESOURCE_EXHAUSTED", "No.", *all_details))
    assert error.details == (
        ErrorDetail(
            type=f"{TYPE}QuotaFailure",
            violations=[
                QuotaViolation(
                    quota_metric="requests",
                    quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier",
                    quota_value="250",
                )
            ],
        ),
        ErrorDetail(type=f"{TYPE}RetryInfo", retry_delay="34.4s"),
        ErrorDetail(
            type=f"{TYPE}ErrorInfo",
            reason="API_KEY_INVALID",
            domain="googleapis.com",
            metadata={"service": "x"},
        ),
        ErrorDetail(
            type=f"{TYPE}Help", links=[HelpLink(description="Learn", url="https://example.com")]
        ),
        ErrorDetail(
            type=f"{TYPE}BadRequest",
            field_violations=[FieldViolation(field="contents[0].parts", description="Empty.")],
        ),
        ErrorDetail(type=f"{TYPE}LocalizedMessage", locale="en-US", message="No."),
        ErrorDetail(type=f"{TYPE}DebugInfo", detail="[ORIGINAL ERROR] generic::x"),
    )


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("Invalid value.", "Invalid value. (field contents[1].parts)"),
        (
            "Invalid value at 'contents[1].parts'.",
            "Invalid value at 'contents[1].parts'.",
        ),  # said already
    ],
)
def test_the_broken_field_is_named(message, shown):
    violations = {
        "@type": f"{TYPE}BadRequest",
        "fieldViolations": [
            {"description": "x"},
            {"field": "contents[1].parts", "description": "y"},
        ],
    }
    assert parse_error(400, {}, body(400, "INVALID_ARGUMENT", message, violations)).message == shown


@joined(
    ("sent", "message", "code"),
    [
        (b"[" + body(503, "UNAVAILABLE", "Busy.") + b"]", "Busy.", "UNAVAILABLE"),
        (b" \n" + body(503, "UNAVAILABLE", "Busy."), "Busy.", "UNAVAILABLE"),
        (b"<html>\n<h1>Bad Gateway</h1>\n</html>", "<html> <h1>Bad Gateway</h1> </html>", None),
        (b"", "no message", None),
        (b"  \n", "no message", None),
        (b"upstream connect error", "upstream connect error", None),
        (b"\xff\xfe\x00bad", "\ufffd\ufffd bad", None),
        (b'{"error":"text"}', "text", None),
        (b'{"detail":"Not Found"}', '{"detail":"Not Found"}', None),
        (b"[]", "[]", None),
        (b"null", "null", None),
        (b'{"error":null}', '{"error":null}', None),
        (b'{"error":{}}', '{"error":{}}', None),
        (b'{"error":{"message":""}}', "no message", None),
        (b'{"error":{"message":"a\\nb\\u0000c"}}', "a b c", None),
        (b'{"error":{"code":"503","message":"Busy."}}', "Busy.", None),
        (
            b'{"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"',
            '{"error":{"code":503,"message":"Busy.","status":"UNAVAILABLE"',
            None,
        ),
    ],
    ids=[
        "list",
        "blank-first",
        "html",
        "empty",
        "blank",
        "text",
        "not-utf8",
        "error-is-text",
        "detail",
        "empty-list",
        "null",
        "error-null",
        "error-empty",
        "no-message",
        "control-characters",
        "code-is-text",
        "cut",
    ],
)
def test_bodies_of_all_kinds(sent, message, code):
    error = parse_error(503, {}, sent)
    assert (type(error), error.status, error.code, error.message, error.retryable) == (
        OverloadedError,
        503,
        code,
        message,
        True,
    )
    assert error.raw == sent


def test_what_is_nested_too_deeply_is_shown_as_text():
    sent = b'{"error":' + b'{"a":' * 100_000
    error = parse_error(500, {}, sent)
    assert (type(error), error.raw) == (ServerError, sent)
    assert len(error.message) <= 300


@given(st.binary(max_size=60), st.sampled_from([400, 404, 429, 500, 503]))
def test_any_body_gives_an_error_of_the_status(sent, status):
    error = parse_error(status, {}, sent)
    assert (error.status, error.raw) == (status, sent)
    assert not any(
        unicodedata.category(letter) in ("Cc", "Cs", "Zl", "Zp") for letter in error.message
    )  # fit for one line of a log


@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(  # noqa: E501
    st.sampled_from(["error", "code", "message", "status", "details", "@type", "retryDelay", "violations", "fieldViolations", "field"]),  # noqa: E501
    inner, max_size=4), max_leaves=12))  # fmt: skip
def test_any_json_gives_an_error_of_the_status(value):
    error = parse_error(429, {}, json.dumps(value).encode())
    assert (error.status, isinstance(error, RateLimitError)) == (429, True)


def test_error_keeps_all_in_a_pickle():
    error = pickle.loads(
        pickle.dumps(
            parse_error(429, {}, body(429, "RESOURCE_EXHAUSTED", "Quota.", PER_DAY, RETRY_INFO))
        )
    )
    assert (type(error), error.code, error.retry_after, error.details[1].retry_delay) == (
        QuotaError,
        "RESOURCE_EXHAUSTED",
        34.4,
        "34.4s",
    )


def test_the_call_carries_the_reader():
    error = generate_content("gemini-3-pro-preview", ask("Hi")).read_error(
        404, {}, body(404, "NOT_FOUND")
    )
    assert isinstance(error, NotFoundError)


@pytest.mark.row("U-133")
@joined(
    ("word", "cls"),
    [
        ("NOT_FOUND", NotFoundError),
        ("INVALID_ARGUMENT", BadRequestError),
        ("UNAUTHENTICATED", AuthenticationError),
        ("PERMISSION_DENIED", AccessDeniedError),
        ("RESOURCE_EXHAUSTED", RateLimitError),
        ("UNAVAILABLE", OverloadedError),
        ("DEADLINE_EXCEEDED", RequestTimeoutError),
        ("INTERNAL", ServerError),
    ],
)
def test_each_status_word_has_its_class_inside_a_200(word, cls):
    error = ChunkReader()
    error.feed(b'{"error":{"status":"' + word.encode() + b'","message":"No."}}')
    assert type(error.error) is cls
