"""Errors in every envelope: class, code, retry, message. As an error response, within a response of
status 200, and within a stream (Q14).
"""

from __future__ import annotations

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import wire
from tests.joined import joined
from tests.openai.chat.bodies import chunk, sse, told
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
    StreamIncomplete,
    StreamInvalid,
)
from wire.neutral.messages import Done
from wire.openai import EmbeddingList, Model, ModelList
from wire.openai.chat.reader import parse_completion
from wire.openai.common.error_body import ERRORS, parse_error, upstream_message
from wire.openai.common.reader import parse_plain


def body(**error):
    return json.dumps({"error": error}).encode()


# --- status ---------------------------------------------------------------------------------------


@joined(
    ("status", "cls", "retryable"),
    [
        (400, BadRequestError, False),
        (401, AuthenticationError, False),
        (402, QuotaError, False),
        (403, AccessDeniedError, False),
        (404, NotFoundError, False),
        (405, APIError, False),
        (408, RequestTimeoutError, True),
        (409, APIError, True),
        (413, BadRequestError, False),
        (422, BadRequestError, False),
        (429, RateLimitError, True),
        (500, ServerError, True),
        (502, ServerError, True),
        (503, OverloadedError, True),
        (504, ServerError, True),
        (529, OverloadedError, True),
    ],
)
def test_status(status, cls, retryable):
    error = parse_error(status, {}, body(message="No.", type="t", code="c", param="p"))
    assert (type(error), error.status, error.code, error.retryable, error.message) == (
        cls,
        status,
        "c",
        retryable,
        "No.",
    )
    [details] = error.details
    assert (details.message, details.type, details.code, details.param) == ("No.", "t", "c", "p")


@joined(
    ("status", "error", "cls", "retryable"),
    [
        # a quota does not refill soon
        (
            429,
            {
                "message": "You exceeded your current quota, please check your plan.",
                "code": "insufficient_quota",
            },
            QuotaError,
            False,
        ),
        (429, {"message": "No.", "type": "insufficient_quota"}, QuotaError, False),
        (
            429,
            {"message": "No.", "type": "insufficient_balance_error", "code": "1008"},
            QuotaError,
            False,
        ),
        (429, {"message": "No.", "code": "billing_hard_limit_reached"}, QuotaError, False),
        (
            429,
            {"message": "Rate limit reached for gpt-5.4", "code": "rate_limit_exceeded"},
            RateLimitError,
            True,
        ),
        (402, {"message": "This request requires more credits.", "code": 402}, QuotaError, False),
        (
            403,
            {"message": "Your credit balance is too low.", "code": "c"},
            AccessDeniedError,
            False,
        ),
        # the prompt is too long
        (400, {"message": "No.", "code": "context_length_exceeded"}, ContextLengthError, False),
        (
            400,
            {"message": "This model's maximum context length is 8192 tokens."},
            ContextLengthError,
            False,
        ),
        (
            400,
            {
                "message": "the request exceeds the available context size",
                "type": "exceed_context_size_error",
            },
            ContextLengthError,
            False,
        ),
        (
            413,
            {"message": "prompt is too long: 210000 tokens > 200000 maximum"},
            ContextLengthError,
            False,
        ),
        (
            422,
            {"message": "Input length and `max_tokens` exceed context limit"},
            ContextLengthError,
            False,
        ),
        (500, {"message": "Context window exceeded"}, ContextLengthError, False),
        # GLM, Qwen, xAI, Kimi, Ollama's cloud, SGLang
        (400, {"code": "1261", "message": "Prompt exceeds max length"}, ContextLengthError, False),
        (
            400,
            {"message": "<400> Range of input length should be [1, 204800]"},
            ContextLengthError,
            False,
        ),
        (
            400,
            {"message": "This model's maximum prompt length is 131072"},
            ContextLengthError,
            False,
        ),
        (
            400,
            {"message": "Your request exceeded model token limit: 262144 (requested: 275363)"},
            ContextLengthError,
            False,
        ),
        (400, {"message": "prompt too long; exceeded max context"}, ContextLengthError, False),
        (
            400,
            {"message": "Input length (160062 tokens) exceeds the maximum allowed length (59862)"},
            ContextLengthError,
            False,
        ),
        (400, {"message": "max_tokens is too large"}, BadRequestError, False),
        (429, {"message": "too many tokens per minute"}, RateLimitError, True),
        (404, {"message": "context length"}, NotFoundError, False),
    ],
)
def test_words_beside_the_status(status, error, cls, retryable):
    found = parse_error(status, {}, body(**error))
    assert (type(found), found.status, found.retryable) == (cls, status, retryable)


@joined(
    ("error", "cls", "status"),
    [
        ({"code": 429}, RateLimitError, 429),
        ({"code": "503"}, OverloadedError, 503),
        ({"status_code": 503, "code": 400}, OverloadedError, 503),
        ({"http_code": "400"}, BadRequestError, 400),
        ({"metadata": {"status_code": 404}}, NotFoundError, 404),
        ({"code": "rate_limit_exceeded"}, RateLimitError, 429),
        ({"type": "rate_limit_error", "code": "x"}, RateLimitError, 429),
        ({"code": "RateLimitReached"}, RateLimitError, 429),
        ({"type": "too_many_requests"}, RateLimitError, 429),
        ({"status": "RESOURCE_EXHAUSTED"}, RateLimitError, 429),
        ({"code": "insufficient_quota"}, QuotaError, 429),
        ({"type": "invalid_request_error"}, BadRequestError, 400),
        ({"status": "INVALID_ARGUMENT"}, BadRequestError, 400),
        ({"code": "invalid-argument"}, BadRequestError, 400),
        ({"type": "BadRequestError"}, BadRequestError, 400),
        ({"code": "context_length_exceeded"}, ContextLengthError, 400),
        ({"type": "exceed_context_size_error"}, ContextLengthError, 400),
        ({"code": "invalid_api_key"}, AuthenticationError, 401),
        ({"type": "authentication_error"}, AuthenticationError, 401),
        ({"type": "permission_error"}, AccessDeniedError, 403),
        ({"status": "PERMISSION_DENIED"}, AccessDeniedError, 403),
        ({"code": "model_not_found"}, NotFoundError, 404),
        ({"type": "not_found_error"}, NotFoundError, 404),
        ({"type": "overloaded_error"}, OverloadedError, 529),
        ({"status": "UNAVAILABLE"}, OverloadedError, 503),
        ({"code": "timeout"}, RequestTimeoutError, 504),
        ({"code": 1008, "message": "insufficient balance"}, QuotaError, 429),
        ({"code": 200}, ServerError, 200),
        ({"code": 600}, ServerError, 200),
        ({"code": "9" * 5000}, ServerError, 200),
        ({"code": True}, ServerError, 200),
        ({"message": "This model's maximum context length is 9"}, ContextLengthError, 200),
        ({}, ServerError, 200),
    ],
)
def test_status_of_an_error_inside_a_good_answer(error, cls, status):
    seen = told(sse({"error": {"message": "No.", **error}}))
    assert (type(seen.error), seen.error.status) == (cls, status)
    retried = RateLimitError, RequestTimeoutError, OverloadedError, ServerError
    assert seen.error.retryable is (cls in retried)


# --- envelopes ------------------------------------------------------------------------------------

RATE = {"message": "Slow down.", "type": "rate", "code": "c1"}
LOC = [
    {"type": "missing", "loc": ["body", "messages", 0], "msg": "Field required"},
    {"msg": "And more", "loc": []},
]
ENVELOPES = {
    "envelope": ({"error": RATE}, "Slow down.", "c1", "rate"),
    "envelope, more beside it": (
        {"error": RATE, "id": "x", "request_id": "r", "user_id": "u"},
        "Slow down.",
        "c1",
        "rate",
    ),
    "envelope of type error": (
        {"type": "error", "error": {"type": "rate", "message": "Slow down."}},
        "Slow down.",
        None,
        "rate",
    ),
    "of type error, and no other": (
        {"type": "error", "error": {"message": "Slow down."}},
        "Slow down.",
        None,
        None,
    ),
    "code beside": (
        {"error": {"message": "Slow down."}, "status_code": 429, "code": 7},
        "Slow down.",
        7,
        None,
    ),
    "text": ({"error": "Slow down."}, "Slow down.", None, None),
    "text and code": ({"code": "busy", "error": "Slow down."}, "Slow down.", "busy", None),
    "flat, with object": (
        {"object": "error", "message": "Slow down.", "type": "rate", "param": None, "code": "3505"},
        "Slow down.",
        "3505",
        "rate",
    ),
    "flat": ({"message": "Slow down.", "type": "rate"}, "Slow down.", None, "rate"),
    "flat, with reason": (
        {"code": 429, "reason": "BUSY", "message": "Slow down.", "metadata": {}},
        "Slow down.",
        429,
        "BUSY",
    ),
    "msg": ({"code": 5, "msg": "Slow down."}, "Slow down.", 5, None),
    "detail": ({"detail": "Slow down."}, "Slow down.", None, None),
    "detail, a list": ({"detail": LOC}, "body.messages.0: Field required; And more", None, None),
    "detail, an object": ({"detail": {"message": "Slow down."}}, "Slow down.", None, None),
    "detail beside an error": (
        {"error": {"code": 1}, "detail": {"msg": "Slow down."}},
        "Slow down.",
        1,
        None,
    ),
    "base_resp": (
        {"base_resp": {"status_code": 1002, "status_msg": "Slow down."}, "choices": None},
        "Slow down.",
        1002,
        None,
    ),
    "a list of one": (
        [{"error": {"code": 429, "message": "Slow down.", "status": "RESOURCE_EXHAUSTED"}}],
        "Slow down.",
        429,
        "RESOURCE_EXHAUSTED",
    ),
    "a JSON text": ("Slow down.", "Slow down.", None, None),
    "message is no text": ({"error": {"message": {"a": 1}}}, '{"a":1}', None, None),
    "error is no object": ({"error": ["Slow", "down"]}, '["Slow","down"]', None, None),
    "fields of odd types": (
        {"error": {"message": "Slow down.", "type": 5, "code": 1.5, "param": [1]}},
        "Slow down.",
        None,
        None,
    ),
    "no words but a code": ({"error": {"code": "c1"}}, "c1", "c1", None),
}


@joined("name", ENVELOPES)
def test_envelope(name):
    plain, message, code, kind = ENVELOPES[name]
    error = parse_error(429, {}, json.dumps(plain).encode())
    [details] = error.details
    assert (error.message, type(error), error.retryable) == (message, RateLimitError, True)
    assert (details.code, details.type) == (code, kind)
    assert type(details.code) is type(code)  # its JSON type
    assert error.code == (str(code) if code is not None else kind)
    assert error.raw == json.dumps(plain).encode()


@joined(
    ("data", "message"),
    [
        (b"<html><h1>502\n</h1></html>", "<html><h1>502 </h1></html>"),
        (b"", "no message"),
        (b" \n", "no message"),
        (b"busy", "busy"),
        (b"{}", "{}"),
        (b"[]", "[]"),
        (b"null", "null"),
        (b'{"error": {}}', '{"error": {}}'),
        (b'{"error": null, "detail": null}', '{"error": null, "detail": null}'),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"\xef\xbb\xbf" + b'{"error": "No."}', "No."),
        (b'{"error": {"message": "a\\ud83c"}}', "a"),  # half a pair is nothing a terminal shows
        (b'{"error": {"message": "a\xff"}}', "a\ufffd"),
        (b'{"error": ' + b"[" * 5000, '{"error": [['),
    ],
    ids=range(14),
)
def test_no_envelope(data, message):
    error = parse_error(502, {}, data)
    assert error.message.startswith(message)
    assert (type(error), error.status, error.retryable, error.raw, len(error.details)) == (
        ServerError,
        502,
        True,
        data,
        1,
    )
    assert len(str(error).encode()) < 2048


@given(
    st.binary(max_size=30)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=3) | st.sampled_from(["error", "No."]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "error",
                        "message",
                        "detail",
                        "code",
                        "type",
                        "base_resp",
                        "status_code",
                        "choices",
                        "metadata",
                        "details",
                        "raw",
                    ]
                ),
                inner,
                max_size=4,
            )
        ),
    ).map(lambda plain: json.dumps(plain).encode())
)
def test_whatever_comes_is_an_error(data):
    error = parse_error(500, {}, data)
    assert isinstance(error, APIError)
    assert isinstance(error.details[0].message, str)
    assert pickle.loads(pickle.dumps(error)).details == error.details
    told(sse(data))


@joined(
    "plain",
    [
        {},
        {"choices": []},
        {"message": "Hi"},
        {"detail": "d"},
        {"error": None},
        {"error": ""},
        {"base_resp": {"status_code": 0}},
        "text",
        5,
        [],
        [[]],
    ],
)
def test_no_error_unless_it_is_certain(plain):
    assert ERRORS.error_in(plain, certain=False) is None


# --- inside a good answer -------------------------------------------------------------------------

CERTAIN = [
    name
    for name, (plain, *_) in ENVELOPES.items()
    if ERRORS.error_in(plain, certain=False) is not None
]


@pytest.mark.row("Q14")
@joined("name", CERTAIN)
def test_in_a_stream(name):
    plain, message, code, _ = ENVELOPES[name]
    seen = told(
        sse(
            chunk({"content": "The"}, usage={"prompt_tokens": 1}),
            plain,
            chunk({"content": " end"}, "stop"),
            b"[DONE]",
        )
    )
    assert isinstance(seen.error, APIError)
    assert (seen.error.message, seen.error.details[0].code, seen.error.raw) == (
        message,
        code,
        json.dumps(plain).strip("[]").encode(),
    )
    # what came before it was handed out, and nothing after it is
    assert (seen.reply.text, seen.reply.usage.input) == ("The", 1)
    assert (seen.reply.stop.reason, seen.reply.stop.message) == ("error", message)
    assert isinstance(seen.events[-1], Done)


@pytest.mark.row("Q14")
@joined("name", [name for name, (plain, *_) in ENVELOPES.items() if not isinstance(plain, str)])
def test_as_a_whole_answer(name):
    plain, message, code, _ = ENVELOPES[name]
    seen = told(json.dumps(plain, indent=1).encode())
    with pytest.raises(APIError) as caught:
        parse_completion(json.dumps(plain).encode())
    for error in (seen.error, caught.value):
        assert (error.message, error.details[0].code, error.partial) == (message, code, None)


@pytest.mark.row("Q14")
@joined("name", ENVELOPES)
def test_as_an_event_of_that_name(name):
    plain, message, code, _ = ENVELOPES[name]
    seen = told(b"event: error\n" + sse(plain))
    assert (seen.error.message, seen.error.details[0].code) == (message, code)


@pytest.mark.row("Q14")
def test_an_event_of_that_name_with_mere_words():
    seen = told(
        sse(chunk({"content": "The"})) + b"event: error\ndata: it broke:\ndata: no luck\n\n"
    )
    assert (type(seen.error), seen.error.message, seen.error.status, seen.error.retryable) == (
        ServerError,
        "it broke: no luck",
        200,
        True,
    )
    assert seen.reply.text == "The"
    assert told(b'event: error\ndata: [{"message":"No.","code":403}]\n\n').error.message == "No."
    assert told(b'event: error\ndata: ["No.", 5]\n\n').error.message == "No."
    assert told(b'event: error\ndata: {"mood":"low"}\n\n').error.message == '{"mood":"low"}'
    assert told(b"event: message\n" + sse(chunk({"content": "Hi"}, "stop"))).error is None


@pytest.mark.row("Q14")
@pytest.mark.parametrize(
    "line",
    [
        b'{"error":{"message":"No.","code":503}}',
        b'[{"error":{"message":"No.","code":503}}]',
        b'{\n  "error":\n  {"message":"No.","code":503\n}}',
    ],
)
def test_bare_json_after_good_events(line):
    for end in (b"", b"\n", b"\n\ndata: [DONE]\n\n"):
        seen = told(sse(chunk({"content": "The"})) + line + end)
        assert (type(seen.error), seen.error.message, seen.reply.text) == (
            OverloadedError,
            "No.",
            "The",
        )


def test_bare_json_that_is_no_error_is_told():
    seen = told(sse(chunk({"content": "The"}, "stop")) + b'{"mood":"low"}\n' + sse(b"[DONE]"))
    assert (seen.error, [str(note).partition(":")[2][:9] for note in seen.notes]) == (
        None,
        [" outside:"],
    )


@pytest.mark.row("Q14")
def test_beside_choices_and_inside_them():
    beside = told(
        sse(
            chunk({"content": "The"}),
            chunk({"content": " end"}, "error", error={"code": 502, "message": "Gone."}),
        )
    )
    assert (type(beside.error), beside.error.message, beside.reply.text, beside.reply.stop.raw) == (
        ServerError,
        "Gone.",
        "The end",
        "error",
    )
    inside = told(
        sse(chunk({"content": "The"}, "error", choice={"error": {"code": 429, "message": "Slow."}}))
    )
    assert (type(inside.error), inside.error.message, inside.reply.text) == (
        RateLimitError,
        "Slow.",
        "The",
    )
    groq = told(
        sse(
            chunk({"content": "The"}),
            chunk({}, x_groq={"id": "r", "error": "over_capacity"}),
            b"[DONE]",
        )
    )
    assert (type(groq.error), groq.error.message, groq.reply.text) == (
        ServerError,
        "over_capacity",
        "The",
    )


@pytest.mark.row("Q14")
@pytest.mark.parametrize(
    ("beside", "cls"),
    [
        ({"error": {"code": 429, "message": "Slow."}}, RateLimitError),
        ({"error": "Slow."}, ServerError),
        ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}, QuotaError),
    ],
)
def test_a_whole_answer_with_an_error_beside_it(beside, cls):
    data = json.dumps(
        {"choices": [{"message": {"content": "The"}, "finish_reason": "stop"}], **beside}
    ).encode()
    with pytest.raises(cls) as caught:
        parse_completion(data)
    assert caught.value.partial.text == "The"
    assert type(told(data).error) is cls


@pytest.mark.row("Q14")
def test_a_choice_that_failed_in_a_whole_answer():
    plain = {
        "choices": [
            {
                "message": {"content": "The"},
                "finish_reason": "error",
                "error": {"code": 502, "message": "Gone."},
            }
        ]
    }
    with pytest.raises(ServerError, match=r"Gone\.") as caught:
        parse_completion(json.dumps(plain).encode())
    assert caught.value.partial.text == "The"
    del plain["choices"][0]["error"]
    with pytest.raises(StreamIncomplete, match="'error'") as caught:
        parse_completion(json.dumps(plain).encode())
    assert (caught.value.partial.text, caught.value.code) == ("The", "error")


@pytest.mark.row("Q14")
@joined("error", [{"message": "a\ud83c"}, True, ["boom"], 5])
def test_an_error_of_any_type_is_not_swallowed(error):
    assert isinstance(told(sse({"id": "x", "error": error}, b"[DONE]")).error, ServerError)


def test_error_null_and_words_like_it_are_no_error():
    answer = chunk(
        {"content": '"error"'},
        "stop",
        error=None,
        base_resp={"status_code": 0, "status_msg": ""},
        object="x",
    )
    assert told(sse(answer)).error is None


# --- what hosts put beside it ---------------------------------------------------------------------


@joined(
    ("raw", "upstream", "message"),
    [
        ('{"error":{"message":"Too long."}}', "Too long.", "Provider returned error: Too long."),
        (
            '{"type":"error","error":{"type":"t","message":"Too long."}}',
            "Too long.",
            "Provider returned error: Too long.",
        ),
        ('{"message":"Too long."}', "Too long.", "Provider returned error: Too long."),
        ('{"message":"Provider returned"}', "Provider returned", "Provider returned error"),
        ("<html>", None, "Provider returned error"),
        (None, None, "Provider returned error"),
        ({"message": "no text"}, None, "Provider returned error"),
    ],
)
def test_upstream_message_of_openrouter(raw, upstream, message):
    error = parse_error(
        400,
        {},
        body(
            message="Provider returned error", code=400, metadata={"raw": raw, "provider_name": "P"}
        ),
    )
    assert (upstream_message(error.details[0]), error.message) == (upstream, message)
    assert error.details[0].metadata["provider_name"] == "P"


@joined(
    ("details", "seconds"),
    [
        (
            [
                {"@type": "t"},
                {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"},
            ],
            34.4,
        ),
        ([{"retryDelay": "7s"}], 7.0),
        ([{"retryDelay": "7m"}], None),
        ([{"retryDelay": 7}], None),
        (["7s"], None),
        ("7s", None),
        (None, None),
    ],
)
def test_retry_info_of_gemini(details, seconds):
    data = json.dumps(
        [
            {
                "error": {
                    "code": 429,
                    "message": "Slow.",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": details,
                }
            }
        ]
    ).encode()
    error = parse_error(429, {}, data)
    assert (error.retry_after, error.code, error.details[0].type) == (
        seconds,
        "429",
        "RESOURCE_EXHAUSTED",
    )


QUOTA_OF_GOOGLE = (
    "You exceeded your current quota, please check your plan and billing details. For more "
    "information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
)
MINUTE = "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
DAY = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"


def google_quota(*ids: str, **fields: object) -> dict[str, object]:
    retry_info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.4s"}
    failure = {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        "violations": [{"quotaId": id} for id in ids],
    }
    return {
        "code": 429,
        "message": QUOTA_OF_GOOGLE,
        "status": "RESOURCE_EXHAUSTED",
        "details": [failure, retry_info],
        **fields,
    }


@joined(
    ("error", "cls"),
    [
        (google_quota(MINUTE), RateLimitError),
        (google_quota("GenerateContentPaidTierInputTokensPerModelPerMinute"), RateLimitError),
        (google_quota("GenerateRequestsPerHour"), RateLimitError),
        (google_quota(DAY), QuotaError),
        (google_quota(MINUTE, DAY), QuotaError),
        (google_quota(), RateLimitError),
        (google_quota(details=None), RateLimitError),
        (google_quota(details=["PerDay"]), RateLimitError),
        (google_quota(details=[{"violations": ["PerDay", {"quotaId": 1}]}]), RateLimitError),
        (google_quota(details={"violations": []}), RateLimitError),
        # no word of Google's: the message counts
        (google_quota(MINUTE, status=None), QuotaError),
    ],
)
def test_the_ids_of_quotas_decide_at_gemini(error: dict[str, object], cls: type) -> None:
    raw = json.dumps({"error": error})
    routed = {"code": 429, "message": "Provider returned error", "metadata": {"raw": raw}}
    for body in ([{"error": error}], {"error": error}, {"error": routed}):
        found = parse_error(429, {}, json.dumps(body).encode())
        assert (type(found), found.retryable) == (cls, cls is RateLimitError)
        assert found.retry_after == (34.4 if "34.4s" in raw else None)
        assert QUOTA_OF_GOOGLE in found.message


def test_fields_of_hosts_are_kept():
    error = parse_error(
        400, {}, body(message="No.", failed_generation="{", n_ctx=4, n_prompt_tokens=9, status="S")
    )
    [details] = error.details
    assert (details.failed_generation, details.n_ctx, details.n_prompt_tokens, details.status) == (
        "{",
        4,
        9,
        "S",
    )


# --- answers that are one struct ------------------------------------------------------------------


@joined(
    ("kind", "plain", "cls"),
    [
        (ModelList, {"error": {"message": "No.", "code": 401}}, AuthenticationError),
        (ModelList, {"detail": "No."}, ServerError),
        (Model, {"object": "error", "message": "No.", "code": 404}, NotFoundError),
        (
            EmbeddingList,
            {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}},
            QuotaError,
        ),
    ],
)
def test_an_error_in_place_of_a_struct(kind, plain, cls):
    data = json.dumps(plain).encode()
    with pytest.raises(cls) as caught:
        parse_plain(kind, data)
    assert caught.value.raw == data


def test_structs():
    models = parse_plain(ModelList, b' [{"id":"a"},{"id":"b","owner":1}]\n')
    assert [model.id for model in models.data] == ["a", "b"]
    assert wire.unknown(models) == [("data[1].owner", 1)]
    assert parse_plain(Model, b'{"id":"a"}').id == "a"
    assert parse_plain(EmbeddingList, b'{"data":[{"index":0,"embedding":[0.5]}]}').data[
        0
    ].embedding == [0.5]
    assert parse_plain(ModelList, b"{}") == ModelList()


@pytest.mark.parametrize(
    ("data", "cls"),
    [
        (b"<html>", StreamInvalid),
        (b"", StreamInvalid),
        (b'[{"error":{"message":"No.","code":403}}]', AccessDeniedError),
    ],
)
def test_what_is_no_struct(data, cls):
    with pytest.raises(cls):
        parse_plain(Model, data)
