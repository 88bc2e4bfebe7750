"""Complete bodies and errors: what is a response, and which error the other ones are.

`test_streams.py` has the streams.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.openai.responses.bodies import CREATED, delta, message, parsed, read, response, sse
from wire.errors import (
    APIError,
    BadRequestError,
    RateLimitError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
)
from wire.openai.responses.reader import ChunkReader, parse_response

LIMIT = {"code": "rate_limit_exceeded", "message": "Slow down."}


def raised(body: bytes | dict[str, Any]) -> Any:
    with pytest.raises((APIError, StreamInvalid, StreamIncomplete)) as caught:
        parse_response(body if isinstance(body, bytes) else json.dumps(body).encode())
    return caught.value


@joined("status", ["queued", "in_progress", "cancelled", "incomplete"])
def test_a_response_without_output_is_a_response_unless_it_failed(status: str) -> None:
    found = parsed(status=status)
    assert (found.status, found.output, found.error) == (status, [], None)


def test_an_item_keeps_the_bytes_that_it_came_in() -> None:
    body = b'{"status":"completed","output":[ {"type":"message" , "role":"assistant","moon":1.0} ]}'
    [item] = parse_response(body).output or ()
    assert item.raw == b'{"type":"message" , "role":"assistant","moon":1.0}'
    assert parse_response(body).raw == body


def test_the_error_of_a_failed_response_keeps_the_response() -> None:
    failed = response(status="failed", error=LIMIT)
    error = raised(failed)
    assert (type(error), error.status, error.code) == (RateLimitError, 429, "rate_limit_exceeded")
    assert json.loads(error.raw) == failed
    streamed = read(sse(CREATED, {"type": "response.failed", "response": failed})).error
    assert isinstance(streamed, RateLimitError)
    assert json.loads(streamed.raw) == failed
    assert error.details[0].type is None  # the status of the response is none of the error


def test_of_two_errors_the_one_with_more_words_counts() -> None:
    nested = {"type": "error", "error": {"type": "tokens", **LIMIT, "param": "input"}}
    failed = {"type": "response.failed", "response": response(status="failed", error=LIMIT)}
    both = read(sse(CREATED, nested, failed))
    assert isinstance(both.error, APIError)
    assert (both.error.details[0].type, both.error.details[0].param) == ("tokens", "input")
    # The failed response is handed out, although the error before it counts.
    assert [event.type for event in both.events] == ["response.created", "response.failed"]
    wordless = read(sse(CREATED, {"type": "error"}, failed)).error
    assert isinstance(wordless, RateLimitError)
    assert wordless.message == "Slow down."


@joined(
    "after",
    [
        b"",
        sse(delta(0, "Hi")),
        b"data: [DONE]\n\n",
        b'data: {"object":"response","status":"completed","output":[]}\n\n',
    ],
    ids=["end", "event", "DONE", "response"],
)
def test_an_error_is_raised_when_no_failed_response_follows(after: bytes) -> None:
    """Either form of it, with its name in the JSON or in the line before."""
    flat = b'data: {"type":"error","code":"invalid_prompt","message":"No.","param":null}\n\n'
    named = b'event: error\ndata: {"error":{"code":"invalid_prompt","message":"No."}}\n\n'
    for event in (flat, named):
        error = read(sse(CREATED), event, after).error
        assert isinstance(error, BadRequestError)
        assert (error.code, error.message) == ("invalid_prompt", "No.")


def test_the_codes_of_failed_responses_decide_the_class() -> None:
    for code, kind, retryable in (
        ("server_error", ServerError, True),
        ("vector_store_timeout", ServerError, True),
        ("invalid_image_format", BadRequestError, False),
        ("bio_policy", BadRequestError, False),
    ):
        error = raised(response(status="failed", error={"code": code, "message": "No."}))
        assert (type(error), error.retryable) == (kind, retryable)


@joined(
    ("body", "kind", "words"),
    [
        (b'{"mood":"low"}', StreamInvalid, 'not a response: {"mood":"low"}'),
        (b'{"status":"completed","output":[', StreamIncomplete, "in the middle of its JSON"),
        (b"data: {not json}\n\n", StreamInvalid, "not an event of Responses"),
        (b"", StreamIncomplete, "before its first event"),
    ],
)
def test_what_is_no_response(body: bytes, kind: type[Exception], words: str) -> None:
    error = raised(body)
    assert type(error) is kind
    assert words in str(error)


def test_a_complete_response_in_place_of_events_is_its_texts_and_its_last_event() -> None:
    for status, kind in (("completed", "completed"), ("incomplete", "incomplete")):
        body = json.dumps(response(message("Hi"), status=status)).encode()
        outcome = read(body[:40], body[40:])
        assert [(event.type, event.delta) for event in outcome.events] == [
            ("response.output_text.delta", "Hi"),
            (f"response.{kind}", None),
        ]
        assert (outcome.reply.text, outcome.error) == ("Hi", None)
        assert [getattr(each, "text", "") for each in outcome.neutral] == ["Hi"]


def test_reading_goes_on_until_the_last_event_and_no_further() -> None:
    reader = ChunkReader()
    reader.feed(sse(CREATED, delta(0, "Hi")))
    assert (reader.done, reader.finished, reader.is_whole()) == (False, False, False)
    end = {"type": "response.completed", "response": response(message("Hi"))}
    assert [event.type for event in reader.feed(sse(end, delta(0, "more")))] == [
        "response.completed"
    ]
    assert (reader.done, reader.finished, reader.is_whole(), reader.close()) == (
        True,
        True,
        True,
        [],
    )
