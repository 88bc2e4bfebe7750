"""Errors in a response of status 200: each spelling of a status counts, on every wire."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.joined import joined
from wire import Chat, Retry
from wire.errors import (
    APIError,
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamInvalid,
    WireError,
)

MODELS = (
    "gemini:gemini-3.5-flash",
    "openai:gpt-5.2",
    "anthropic:claude-sonnet-4-6",
    "openai@responses:gpt-5.4",
)


def answered(model: str, body: Any) -> tuple[WireError, int]:
    """The error that a question ends in when the body comes with status 200, and the requests."""
    requests: list[httpx.Request] = []
    content = body.encode() if isinstance(body, str) else json.dumps(body).encode()

    def serve(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=content)

    http = httpx.MockTransport(serve)
    quick = Retry(base=0)
    with Chat(model, api_key="fake-key", http=http, retry=quick) as chat:
        with pytest.raises(WireError) as caught:
            chat.ask("Hi")
    return caught.value, len(requests)


@joined("model", MODELS)
@joined(
    ("error", "kind", "status"),
    [
        *(
            ({key: value}, RateLimitError, 429)
            for key in ("code", "status", "status_code", "http_code", "http_status", "statusCode")
            for value in (429, "429")
        ),
        ({"status": "RESOURCE_EXHAUSTED"}, RateLimitError, 429),
        ({"status": "Too Many Requests"}, RateLimitError, 429),
        ({"status": "UNAUTHENTICATED"}, AuthenticationError, 401),
        ({"status": "NOT_FOUND"}, NotFoundError, 404),
        ({"status": "UNAVAILABLE"}, OverloadedError, 503),
        ({"status": "DEADLINE_EXCEEDED"}, RequestTimeoutError, 504),
        ({"type": "overloaded_error"}, OverloadedError, 529),
        ({"type": "timeout_error"}, RequestTimeoutError, 504),
        ({"code": "request_timeout"}, RequestTimeoutError, 408),
        ({"code": 408}, RequestTimeoutError, 408),
        ({"type": "request_too_large"}, BadRequestError, 413),
        ({"code": 413}, BadRequestError, 413),
        ({"code": "content_filter"}, BadRequestError, 400),
        ({"type": "content_filter_error"}, BadRequestError, 400),
        ({"code": 500, "message": "stopped by the content filter"}, BadRequestError, 500),
        ({"message": "API key not valid. Please pass one."}, AuthenticationError, 200),
        ({"message": "Incorrect API key provided"}, AuthenticationError, 200),
        ({"message": "flux"}, ServerError, 200),
    ],
)
def test_the_class_and_the_status(
    model: str, error: dict[str, Any], kind: type[APIError], status: int
) -> None:
    found, requests = answered(model, {"error": {"message": "No.", **error}})
    assert isinstance(found, APIError)
    assert (type(found), found.status) == (kind, status)
    retried = kind in (RateLimitError, RequestTimeoutError, OverloadedError, ServerError, APIError)
    assert (found.retryable, requests) == ((True, 3) if retried else (False, 1))


@joined("model", MODELS)
def test_a_status_beside_the_error_counts(model: str) -> None:
    found, _ = answered(model, {"status": 429, "error": "Slow down.", "message": "x"})
    assert isinstance(found, RateLimitError)
    assert (found.status, found.message) == (429, "Slow down.")


def test_the_error_of_a_choice_is_read_the_same_way() -> None:
    for error, kind in (
        ({"message": "API key not valid"}, AuthenticationError),
        ({"message": "m", "status": "UNAVAILABLE"}, OverloadedError),
        ({"message": "flagged", "code": "content_filter"}, BadRequestError),
    ):
        found, _ = answered("openai:gpt-5.2", {"choices": [{"index": 0, "error": error}]})
        assert type(found) is kind


@joined("model", MODELS)
@joined(
    "body",
    [
        "flux",
        "Error: no route to the model",
        "Bad gateway",
        "<html><title>502</title></html>",
        '["flux"]',
        "[1, 2]",
        '"flux"',
        "7",
        '{"mood": "low"}',
    ],
)
def test_a_body_that_is_none_of_the_wire_is_shown_and_not_requested_again(
    model: str, body: str
) -> None:
    found, requests = answered(model, body)
    assert (type(found), found.status, found.retryable, requests) == (
        StreamInvalid,
        200,
        False,
        1,
    )
    assert body.strip("[]") in found.message


@joined("model", MODELS)
@joined("body", ["", "\n", ": keep-alive\n\n", "data: \n\n", "ev", "data: {"])
def test_a_body_that_broke_off_before_its_first_event_is_requested_again(
    model: str, body: str
) -> None:
    found, requests = answered(model, body)
    assert (found.retryable, requests) == (True, 3)
