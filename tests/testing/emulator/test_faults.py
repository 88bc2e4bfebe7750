"""Faults by header and by script: what is sent, and where it breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import GEMINI_3, GEMINI_25, error, post, said, user
from wire import Chat
from wire.core.rate_limits import body_limits
from wire.errors import ConfigurationError, QuotaError
from wire.testing.cassette.faults import Fault
from wire.testing.emulator import Cut, Emulator, EmulatorTransport, Pause, Reset
from wire.testing.emulator.faults import fault_of

BODY = {"contents": [user("hi")]}
STREAM = f"{GEMINI_25}:streamGenerateContent?alt=sse"
WHOLE = f"{GEMINI_25}:generateContent"


def broken(fault: str, target: str = STREAM) -> list[Any]:
    """What is sent after the first event."""
    emulator = Emulator()
    good, bad = post(emulator, target, BODY), post(Emulator(), target, BODY, x_wire_fault=fault)
    assert bad.status == 200
    assert bad.pieces[0] == good.pieces[0]
    return list(bad.pieces[1:])


def test_statuses() -> None:
    answer = post(Emulator(), WHOLE, BODY, x_wire_fault="429; retry-after=2.5")
    assert error(answer)[:2] == (429, "RESOURCE_EXHAUSTED")
    assert dict(answer.headers)["retry-after"] == "2.5"
    details = {
        each["@type"].rpartition(".")[2]: each
        for each in json.loads(answer.body)["error"]["details"]
    }
    assert details["RetryInfo"]["retryDelay"] == "2.5s"
    assert (
        details["QuotaFailure"]["violations"][0]["quotaId"]
        == "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
    )
    overloaded = post(Emulator(), STREAM, BODY, x_wire_fault="503; retry-after=1")
    assert error(overloaded) == (
        503,
        "UNAVAILABLE",
        "The model is overloaded. Please try again later.",
    )
    assert json.loads(overloaded.body)["error"]["details"] == [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "1s"}
    ]
    assert error(post(Emulator(), WHOLE, BODY, x_wire_fault="500"))[:2] == (500, "INTERNAL")
    assert error(post(Emulator(), WHOLE, BODY, x_wire_fault="409; message=Odd."))[1:] == (
        "ABORTED",
        "Odd.",
    )


def test_a_scripted_status_names_no_amount_that_a_client_would_keep_to() -> None:
    answer = post(Emulator(), WHOLE, BODY, x_wire_fault="429; retry-after=2.5")
    assert "limit" not in error(answer)[2].partition("rate-limits")[2]
    [limit] = body_limits(answer.body, 0.0)
    assert (limit.unit, limit.limit, limit.remaining) == ("requests", None, 0)


@joined(
    ("model", "status", "code", "message"),
    [
        (
            "gemini:gemini-3.8-flash",
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        (
            "openai:gpt-5.4",
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        (
            "openai@chat:gpt-4o",
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        (
            "anthropic:claude-sonnet-5",
            400,
            "invalid_request_error",
            "Your credit balance is too low to access the Anthropic API.",
        ),
        (
            "gemini@openai:gemini-3.8-flash",
            429,
            "429",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
    ],
)
def test_a_used_up_quota_has_the_words_of_each_vendor(
    model: str, status: int, code: str, message: str
) -> None:
    emulator = Emulator([{"fault": "quota", "times": 0}])
    with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        with pytest.raises(QuotaError) as caught:
            chat.ask("Hi")
        with pytest.raises(QuotaError), chat.stream("Hi"):
            pass
    error = caught.value
    assert (error.status, error.code, error.retryable) == (status, code, False)
    assert error.message.startswith(message)
    assert len(emulator.requests) == 2  # never retried


def test_errors_in_the_middle() -> None:
    assert broken("error; status=500; message=No.") == [
        b'data: {"error": {"code": 500,"message": "No.","status": "INTERNAL"}}\r\n\r\n',
    ]
    assert broken("error-bare") == [
        b'{\n  "error": {\n    "code": 503,\n    "message": "The model is overloaded. '
        b'Please try again later.",\n'
        b'    "status": "UNAVAILABLE"\n  }\n}\n'
    ]


def test_breaks() -> None:
    good = list(post(Emulator(), STREAM, BODY).pieces)
    assert broken("cut") == [Cut()]
    assert broken("cut; after=3") == [*good[1:3], Cut()]
    assert broken("reset") == [Reset()]
    assert broken("end") == [b""]
    assert broken("stall; seconds=7") == [Pause(7.0), *good[1:]]
    assert broken("garbage") == [b"data: {not json\r\n\r\n", *good[1:]]
    assert list(post(Emulator(), STREAM, BODY, x_wire_fault="slow; seconds=3").pieces) == [
        Pause(3.0),
        *good,
    ]
    assert list(post(Emulator(), STREAM, BODY, x_wire_fault="reset; after=0").pieces) == [
        b"",
        Reset(),
    ]


def test_a_whole_body_breaks_in_its_middle() -> None:
    whole = post(Emulator(), WHOLE, BODY).body
    cut = post(Emulator(), WHOLE, BODY, x_wire_fault="cut")
    assert cut.pieces == (whole[: len(whole) // 2], Cut())


@joined(
    ("fault", "place"),
    [
        *((f"{kind}; after=9", "after=9") for kind in ("cut", "reset", "stall", "garbage")),
        *((f"{kind}; after=9", "after=9") for kind in ("error", "error-bare", "repeat", "drop")),
        ("end; after=9", "after=9"),
        ("cut; bytes=100000", "after=0; bytes=100000"),
        ("cut; bytes=100000; after=1", "after=1; bytes=100000"),
    ],
)
def test_a_fault_that_changes_nothing_is_told(fault: str, place: str) -> None:
    good = post(Emulator(), STREAM, BODY)
    kind = fault.partition(";")[0]
    told = f"fault: {kind}; {place}: the response has {len(good.pieces)} events, "
    told += f"{len(good.body):,} bytes"
    script: list[Any] = [{"say": "unused", "match": {"number": 9}}, {"fault": fault}]
    assert error(post(Emulator(script), STREAM, BODY)) == (
        400,
        "INVALID_ARGUMENT",
        f"script: steps[1]: {told}",
    )
    assert error(post(Emulator(), STREAM, BODY, x_wire_fault=fault))[2] == told


def test_faults_of_other_endpoints_and_of_chat() -> None:
    emulator = Emulator()
    assert (
        emulator.answer(
            "GET", "/v1beta/models", {"x-goog-api-key": "k", "x-wire-fault": "500"}, b""
        ).status
        == 500
    )
    chat = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "hi"}]}
    limited = post(
        emulator,
        "/v1/chat/completions",
        chat,
        authorization="Bearer k",
        x_wire_fault="429; retry-after=1",
    )
    assert json.loads(limited.body)["error"]["code"] == "rate_limit_exceeded"
    google = {**chat, "model": "gemini-3.1-pro-preview"}
    limited = post(
        emulator,
        "/v1beta/openai/chat/completions",
        google,
        authorization="Bearer k",
        x_wire_fault="429; retry-after=1",
    )
    assert json.loads(limited.body)[0]["error"]["status"] == "RESOURCE_EXHAUSTED"
    middle = post(
        emulator,
        "/v1/chat/completions",
        {**chat, "stream": True},
        authorization="Bearer k",
        x_wire_fault="error; status=500",
    )
    assert middle.body.endswith(b'"type": "server_error", "param": null, "code": null}}\n\n')


def test_a_fault_for_the_first_requests_alone() -> None:
    emulator = Emulator()
    assert [post(emulator, WHOLE, BODY, x_wire_fault="503; times=2").status for _ in range(4)] == [
        503,
        503,
        200,
        200,
    ]
    assert (
        post(emulator, WHOLE, {"contents": [user("other")]}, x_wire_fault="503; times=2").status
        == 503
    )


def test_a_fault_by_the_number_of_the_request() -> None:
    emulator = Emulator(
        {
            "steps": [
                {"match": {"number": 2}, "fault": {"status": 429, "retry_after": 2}},
                {"match": {"number": 3}, "fault": "cut"},
            ]
        }
    )
    answers = [post(emulator, STREAM, BODY) for _ in range(4)]
    assert [answer.status for answer in answers] == [200, 429, 200, 200]
    assert [answer.pieces[-1] == Cut() for answer in answers] == [False, False, True, False]


@joined("said", ["nothing", "cut; how=1", "cut; after=x", "", {"fault": "cut", "when": 1}])
def test_faults_that_are_none(said: Any) -> None:
    with pytest.raises(ConfigurationError, match="fault: "):
        fault_of(said)


def test_a_header_that_is_none_is_told() -> None:
    assert error(post(Emulator(), WHOLE, BODY, x_wire_fault="cut; how=1"))[2].startswith(
        "x-wire-fault: fault: 'how' is not a setting"
    )


def test_forms() -> None:
    assert fault_of({"status": 503}) == fault_of("503") == Fault("status", status=503)
    assert (
        fault_of({"fault": "stall", "seconds": 2})
        == fault_of("stall; seconds=2")
        == Fault("stall", seconds=2.0)
    )


def test_a_stream_that_is_an_array_breaks_too() -> None:
    answer = post(Emulator(), f"{GEMINI_3}:streamGenerateContent", BODY, x_wire_fault="error")
    assert answer.body.endswith(b'"status": "UNAVAILABLE"\n  }\n}\n')
    assert said(post(Emulator(), f"{GEMINI_3}:streamGenerateContent", BODY))
