"""Endpoints of Messages: method, path, headers and body of each call, and its parsed response; then
the same calls sent by the clients.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from tests.joined import joined
from wire import AsyncClient, Client, anthropic
from wire.anthropic import (
    BatchCreateRequest,
    BatchRequest,
    ContentBlock,
    CountTokensRequest,
    Message,
    MessageRequest,
    MessageResponse,
)
from wire.anthropic.reader import parse_message
from wire.core.call import Call, StreamCall
from wire.core.retry import Retry
from wire.errors import (
    ConfigurationError,
    NotFoundError,
    OverloadedError,
    RuleError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
)

from .test_streams import HIGH, STREAMS, WHOLE, message

KEY = "fake-key-4711"
MODEL = "claude-sonnet-4-6"
ASKED = {"model": MODEL, "messages": [{"role": "user", "content": "How high?"}], "max_tokens": 100}
PROMPT = {name: value for name, value in ASKED.items() if name != "max_tokens"}
JSON = {"content-type": "application/json"}


def asked(**more: Any) -> MessageRequest:
    return MessageRequest(
        model=MODEL, max_tokens=100, messages=[Message(role="user", content="How high?")], **more
    )


def batch(*names: str, **more: Any) -> list[BatchRequest]:
    return [BatchRequest(custom_id=name, params=asked(**more)) for name in names]


# --- what is sent ---------------------------------------------------------------------------------

CALLS: dict[
    str, tuple[Callable[[], Call[Any] | StreamCall[Any, Any]], str, dict[str, str], Any]
] = {
    "create": (lambda: anthropic.create_message(asked()), "POST /messages", JSON, ASKED),
    "stream": (
        lambda: anthropic.stream_message(asked()),
        "POST /messages",
        JSON,
        {**ASKED, "stream": True},
    ),
    "stream, said already": (
        lambda: anthropic.stream_message(asked(stream=True)),
        "POST /messages",
        JSON,
        {**ASKED, "stream": True},
    ),
    "count": (
        lambda: anthropic.count_tokens(
            CountTokensRequest(model=MODEL, messages=[Message(role="user", content="How high?")])
        ),
        "POST /messages/count_tokens",
        JSON,
        PROMPT,
    ),
    "count of a request": (
        lambda: anthropic.count_tokens(
            asked(stream=True, temperature=1.0, stop_sequences=["."], system="Be brief.")
        ),
        "POST /messages/count_tokens",
        JSON,
        {**PROMPT, "system": "Be brief."},
    ),
    "models": (anthropic.list_models, "GET /models", {}, None),
    "models, a page": (
        lambda: anthropic.list_models(limit=5, after_id="claude a", before_id="b"),
        "GET /models?limit=5&after_id=claude%20a&before_id=b",
        {},
        None,
    ),
    "models, retired": (
        lambda: anthropic.list_models(lifecycle="retired"),
        "GET /models?lifecycle%5B%5D=retired",
        {},
        None,
    ),
    "model": (lambda: anthropic.get_model(MODEL), f"GET /models/{MODEL}", {}, None),
    "batch": (
        lambda: anthropic.create_batch(batch("a", "b")),
        "POST /messages/batches",
        JSON,
        {"requests": [{"custom_id": "a", "params": ASKED}, {"custom_id": "b", "params": ASKED}]},
    ),
    "batch, made": (
        lambda: anthropic.create_batch(
            BatchCreateRequest(requests=batch("a"), user_profile_id="u", workspace_id="w")
        ),
        "POST /messages/batches",
        {**JSON, "anthropic-user-profile-id": "u", "anthropic-workspace-id": "w"},
        {"requests": [{"custom_id": "a", "params": ASKED}]},
    ),
    **{
        f"{make.__name__} in a workspace": (
            functools.partial(
                lambda make: make(asked(workspace_id="w", user_profile_id="u")), make
            ),
            target,
            {**JSON, "anthropic-user-profile-id": "u", "anthropic-workspace-id": "w"},
            body,
        )
        for make, target, body in (
            (anthropic.create_message, "POST /messages", ASKED),
            (anthropic.stream_message, "POST /messages", {**ASKED, "stream": True}),
            (anthropic.count_tokens, "POST /messages/count_tokens", PROMPT),
        )
    },
    "get batch": (
        lambda: anthropic.get_batch("msgbatch_1"),
        "GET /messages/batches/msgbatch_1",
        {},
        None,
    ),
    "batches": (
        lambda: anthropic.list_batches(limit=1),
        "GET /messages/batches?limit=1",
        {},
        None,
    ),
    "cancel": (
        lambda: anthropic.cancel_batch("msgbatch_1"),
        "POST /messages/batches/msgbatch_1/cancel",
        {},
        None,
    ),
    "delete": (
        lambda: anthropic.delete_batch("msgbatch_1"),
        "DELETE /messages/batches/msgbatch_1",
        {},
        None,
    ),
    "results": (
        lambda: anthropic.batch_results("msgbatch_1"),
        "GET /messages/batches/msgbatch_1/results",
        {},
        None,
    ),
}


@joined("name", CALLS)
def test_what_is_sent(name: str):
    make, target, headers, body = CALLS[name]
    call = make()
    assert (call.wire, f"{call.method} {call.target}", dict(call.headers)) == (
        "anthropic",
        target,
        headers,
    )
    assert (json.loads(call.body) if call.body else None) == body


@pytest.mark.parametrize(
    "make",
    [anthropic.create_message, anthropic.stream_message, anthropic.count_tokens],
    ids=lambda make: make.__name__,
)
def test_betas_are_one_header(make: Any):
    assert make(asked(), betas=["a-2025-01-01", "b"]).headers == {
        **JSON,
        "anthropic-beta": "a-2025-01-01,b",
    }
    assert make(asked()).replace(headers={"anthropic-beta": "c"}).headers == {
        **JSON,
        "anthropic-beta": "c",
    }
    for odd in ("a-2025-01-01", [""], [1]):
        with pytest.raises(ConfigurationError, match="betas: expected a list of names"):
            make(asked(), betas=odd)


@joined(
    ("make", "problem"),
    [
        (
            lambda: anthropic.create_message({"model": MODEL}),
            "request: expected a MessageRequest, not dict",
        ),
        (lambda: anthropic.stream_message(b"{}"), "request: expected a MessageRequest, not bytes"),
        (
            lambda: anthropic.count_tokens(None),
            "request: expected a CountTokensRequest or MessageRequest, not NoneType",
        ),
        (
            lambda: anthropic.create_message(asked(stream=True)),
            "stream: this call does not stream (use stream_message(request))",
        ),
        (
            lambda: anthropic.create_message(asked(temperature="hot")),
            "temperature: Expected `float | null`, got `str`",
        ),
        (
            lambda: anthropic.create_message(
                asked(system=[ContentBlock(type="text", text=object())])
            ),
            "system[0].text: expected a JSON value, not object",
        ),
        (
            lambda: anthropic.create_batch([]),
            "requests: expected a non-empty list of BatchRequests, not list",
        ),
        (
            lambda: anthropic.create_batch([asked()]),
            "requests[0]: expected a BatchRequest, not MessageRequest",
        ),
        (
            lambda: anthropic.create_batch(batch("a", workspace_id="w")),
            "requests[0].params.workspace_id: a header, which all requests of a batch share (set "
            "BatchCreateRequest.workspace_id)",
        ),
        (
            lambda: anthropic.create_batch(batch("a", "a")),
            "requests[1].custom_id: 'a' is the id of another request",
        ),
        (
            lambda: anthropic.create_batch(batch("a b")),
            "requests[0].custom_id: expected 1 to 64 letters, digits, _ and -",
        ),
        (
            lambda: anthropic.create_batch(batch("x" * 65)),
            "requests[0].custom_id: expected 1 to 64 letters, digits, _ and -",
        ),
        (
            lambda: anthropic.create_batch(batch("a", stream=True)),
            "requests[0].params.stream: a batch does not stream (remove it)",
        ),
        (
            lambda: anthropic.create_batch(batch("a", top_k="x")),
            "requests[0].params.top_k: Expected `int | null`, got `str`",
        ),
    ],
)
def test_bad_input_is_told_before_anything_is_sent(make: Any, problem: str):
    with pytest.raises(RuleError) as caught:
        make()
    assert problem in str(caught.value)


@joined("odd", ["", "/", "a/b", "..", None, 1])
def test_a_name_leads_to_no_other_path(odd: Any):
    for make in (
        anthropic.get_model,
        anthropic.get_batch,
        anthropic.cancel_batch,
        anthropic.delete_batch,
        anthropic.batch_results,
    ):
        with pytest.raises(ConfigurationError, match="expected a name such as"):
            make(odd)


def test_a_lifecycle_is_a_name():
    with pytest.raises(ConfigurationError, match="lifecycle: expected active, deprecated or"):
        anthropic.list_models(lifecycle=["active"])


def test_a_page_is_a_number_and_two_ids():
    for page in ({"limit": "x"}, {"after_id": 1}, {"before_id": b"x"}):
        with pytest.raises(
            ConfigurationError,
            match="limit, after_id, before_id: expected an integer and two texts",
        ):
            anthropic.list_batches(**page)


UNANSWERED = [
    Message(role="user", content="How high?"),
    Message(
        role="assistant",
        content=[ContentBlock(type="tool_use", id="toolu_1", name="tide", input={})],
    ),
    Message(role="user", content="Well?"),
]


@pytest.mark.parametrize(
    "make",
    [anthropic.create_message, anthropic.stream_message, anthropic.count_tokens],
    ids=lambda make: make.__name__,
)
def test_rules_are_looked_at(make: Any):
    with pytest.raises(RuleError) as caught:
        make(MessageRequest(model=MODEL, max_tokens=100, messages=UNANSWERED))
    assert (
        "`tool_use` ids were found without `tool_result` blocks"
        in caught.value.violations[0].message
    )
    with pytest.raises(RuleError) as caught:
        anthropic.create_batch(
            [
                BatchRequest(
                    custom_id="a",
                    params=MessageRequest(model=MODEL, max_tokens=100, messages=UNANSWERED),
                )
            ]
        )
    assert caught.value.violations[0].path.startswith("requests[0].params.messages[")


UNSIGNED = [
    Message(role="user", content="How high?"),
    Message(
        role="assistant",
        content=[
            ContentBlock(type="thinking", thinking="Moon."),
            ContentBlock(type="text", text="High."),
        ],
    ),
    Message(role="user", content="And now?"),
]


def test_what_only_anthropic_refuses_is_for_its_clients():
    """Kimi and other hosts send thinking without a signature, and require it back."""
    call = anthropic.create_message(MessageRequest(model=MODEL, max_tokens=100, messages=UNSIGNED))

    def answering(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=message(HIGH))

    with Client("kimi@anthropic", api_key=KEY, http=httpx.MockTransport(answering)) as client:
        assert client.send(call).text == "High."
    with (
        Client("anthropic", api_key=KEY, http=httpx.MockTransport(answering)) as client,
        pytest.raises(RuleError) as caught,
    ):
        client.send(call)
    assert caught.value.provider == "anthropic"


# --- how answers are read -------------------------------------------------------------------------

ANSWERS: dict[str, tuple[Any, bytes, Callable[[Any], Any], Any]] = {
    "create": (
        anthropic.create_message(asked()),
        json.dumps(message(HIGH)).encode(),
        lambda answer: (answer.text, answer.stop_reason, answer.usage.output_tokens),
        ("High.", "end_turn", 12),
    ),
    "count": (
        anthropic.count_tokens(asked()),
        b'{"input_tokens":0}',
        lambda answer: answer.input_tokens,
        0,
    ),
    "models": (
        anthropic.list_models(),
        b'{"data":[{"id":"m","type":"model","capabilities":{"effort":{"supported":true,'
        b'"max":{"supported":false}}}}],"has_more":true,"last_id":"m"}',
        lambda answer: (
            answer.data[0].capabilities.effort.max.supported,
            answer.has_more,
            answer.last_id,
        ),
        (False, True, "m"),
    ),
    "model": (
        anthropic.get_model("m"),
        b'{"id":"m","max_tokens":64000}',
        lambda answer: answer.max_tokens,
        64000,
    ),
    "batch": (
        anthropic.get_batch("b"),
        b'{"id":"b","processing_status":"ended","request_counts":{"succeeded":2}}',
        lambda answer: (answer.processing_status, answer.request_counts.succeeded),
        ("ended", 2),
    ),
    "batches": (
        anthropic.list_batches(),
        b'{"data":[],"has_more":false}',
        lambda answer: (answer.data, answer.has_more),
        ([], False),
    ),
    "delete": (
        anthropic.delete_batch("b"),
        b'{"id":"b","type":"message_batch_deleted"}',
        lambda answer: answer.type,
        "message_batch_deleted",
    ),
}


@joined("name", ANSWERS)
def test_how_answers_are_read(name: str):
    call, body, look, expected = ANSWERS[name]
    answer = call.parse(body)
    assert (look(answer), answer.raw) == (expected, body)
    for odd, error in [
        (
            b'{"type":"error","error":{"type":"not_found_error","message":"model: m"},'
            b'"request_id":"r"}',
            NotFoundError,
        ),
        (b'{"object":"chat.completion","choices":[]}', StreamInvalid),
    ]:
        with pytest.raises(error):
            call.parse(odd)
    for odd in (b"", b"<html></html>", b"[1]"):
        with pytest.raises((StreamInvalid, StreamIncomplete)):
            call.parse(odd)


RESULTS = (
    b'{"custom_id":"b","result":{"type":"succeeded","message":{"id":"msg_1",'
    b'"type":"message","role":"assistant",'
    b'"content":[{"type":"text",  "text":"High."}],"moon":1}}}\n'
    b'{"custom_id":"a","result":{"type":"errored","error":{"type":"error",'
    b'"error":{"type":"invalid_request_error","message":"no"}}}}\r\n'
    b'\n{"custom_id":"c","result":{"type":"expired"}}'
)


def test_results_of_a_batch():
    results = {
        result.custom_id: result.result for result in anthropic.batch_results("b").parse(RESULTS)
    }
    answer, failed = results["b"].message, results["a"].error
    assert (answer.text, answer.content[0].raw, answer.raw.endswith(b'"moon":1}')) == (
        "High.",
        b'{"type":"text",  "text":"High."}',
        True,
    )
    assert (failed.error.type, failed.error.message, results["c"].type) == (
        "invalid_request_error",
        "no",
        "expired",
    )
    assert anthropic.batch_results("b").parse(b"\n") == []


@joined(
    ("body", "error", "problem"),
    [
        (RESULTS + b"\n<html>", StreamInvalid, "line 5 is not a result of a batch"),
        (b'{"custom_id":', StreamInvalid, "line 1 is not a result of a batch"),
        (b'{"id":"b"}', StreamInvalid, "line 1 is not a result of a batch (no custom_id)"),
        (
            b'{"type":"error","error":{"type":"not_found_error","message":"gone"}}',
            NotFoundError,
            "gone",
        ),
    ],
)
def test_what_are_no_results(body: bytes, error: type[Exception], problem: str):
    with pytest.raises(error) as caught:
        anthropic.batch_results("b").parse(body)
    assert problem in str(caught.value)


def test_results_with_odd_bytes_are_read():
    body = (
        b'{"custom_id":"b","result":{"type":"succeeded","message":{"content":[{"type":"text",'
        b'"text":"\\ud83c"}]}},"moon":NaN}'
    )
    result = anthropic.batch_results("b").parse(body)[0]
    assert result.result.message.content[0].raw == '{"type": "text", "text": "\ufffd"}'.encode()


# --- through the clients --------------------------------------------------------------------------


def through(style: str, provider: str, http: httpx.MockTransport, call: Any, **options: Any) -> Any:
    """The response of a call; or the folded response of a stream, and its events."""

    options = {"api_key": KEY, "http": http, "retry": Retry(attempts=1), **options}

    def work() -> Any:
        with Client(provider, **options) as client:
            if isinstance(call, Call):
                return client.send(call)
            with client.stream(call) as stream:
                return [*stream], stream.result()

    async def main() -> Any:
        async with AsyncClient(provider, **options) as client:
            if isinstance(call, Call):
                return await client.send(call)
            async with client.stream(call) as stream:
                return [event async for event in stream], await stream.result()

    return work() if style == "sync" else anyio.run(main, backend=style)


@joined("style", ["sync", "asyncio", "trio"])
@joined("provider", ["anthropic", "minimax@anthropic", "kimi@anthropic"])
def test_an_answer_through_the_clients(style: str, provider: str):
    seen: list[httpx.Request] = []

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        streamed = json.loads(request.content).get("stream")
        headers = {"request-id": "req_1", "anthropic-ratelimit-requests-remaining": "7"}
        return httpx.Response(
            200,
            content=STREAMS["call"] if streamed else json.dumps(WHOLE["call"]).encode(),
            headers=headers,
        )

    http = httpx.MockTransport(answering)
    answer = through(style, provider, http, anthropic.create_message(asked()))
    events, streamed = through(style, provider, http, anthropic.stream_message(asked()))
    assert answer == streamed == parse_message(json.dumps(WHOLE["call"]).encode())
    assert ("".join(event.text for event in events), events[-1].type) == ("I look.", "message_stop")
    assert [request.url.path for request in seen] == [
        "/v1/messages" if provider == "anthropic" else "/anthropic/v1/messages"
    ] * 2
    version = "2026-10-21" if provider == "anthropic" else "2023-06-01"
    assert {request.headers["anthropic-version"] for request in seen} == {version}
    key = ("x-api-key", KEY) if "minimax" in provider else ("authorization", f"Bearer {KEY}")
    assert all(request.headers[key[0]] == key[1] for request in seen)


VERSIONS = [
    ("anthropic", {}, "2026-10-21"),
    ("anthropic", {"version": "2023-06-01"}, "2023-06-01"),
    ("anthropic", {"headers": {"Anthropic-Version": "2027-01-01"}}, "2027-01-01"),
    ("deepseek@anthropic", {}, "2023-06-01"),
    ("glm@anthropic", {"version": "2026-10-21"}, "2026-10-21"),
]


@joined(("provider", "options", "version"), VERSIONS)
@joined("kind", [Client, AsyncClient], ids=["sync", "async"])
@joined(
    "make",
    [
        lambda: anthropic.create_message(asked()),
        anthropic.list_models,
        lambda: anthropic.batch_results("msgbatch_1"),
    ],
    ids=["message", "models", "results"],
)
def test_the_version_is_that_of_the_host_or_an_option(
    make: Any, kind: Any, provider: str, options: Any, version: str
):
    client = kind(provider, api_key=KEY, **options)
    assert client.preview(make()).headers["anthropic-version"] == version
    own = make().replace(headers={"anthropic-version": "2023-01-01"})
    assert client.preview(own).headers["anthropic-version"] == "2023-01-01"


HOT = {"temperature": 1.0, "top_p": 0.5, "top_k": 3}


@joined(
    "make",
    [
        lambda more: anthropic.create_message(asked(**more)),
        lambda more: anthropic.stream_message(asked(**more)),
        lambda more: anthropic.create_batch(batch("a", **more)),
    ],
    ids=["create", "stream", "batch"],
)
@joined("style", ["sync", "asyncio", "trio"])
def test_what_one_version_refuses_is_refused_of_that_version(style: str, make: Any):
    seen: list[httpx.Request] = []

    def answering(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(500)

    http = httpx.MockTransport(answering)
    with pytest.raises(RuleError) as caught:
        through(style, "anthropic", http, make(HOT))
    assert [(each.rule, each.message) for each in caught.value.violations] == [
        ("A42", f"{name}: Extra inputs are not permitted") for name in HOT
    ]
    assert 'version="2023-06-01"' in caught.value.violations[0].remedy
    assert seen == []
    for options in ({"provider": "minimax@anthropic"}, {"version": "2023-06-01"}):
        with pytest.raises(ServerError):
            through(style, options.pop("provider", "anthropic"), http, make(HOT), **options)
    assert [request.headers["anthropic-version"] for request in seen] == ["2023-06-01"] * 2


@pytest.mark.row("S4-05")
@pytest.mark.parametrize("style", ["sync", "asyncio", "trio"])
def test_an_error_in_a_stream_comes_with_what_had_arrived(style: str):
    http = httpx.MockTransport(lambda request: httpx.Response(200, content=STREAMS["error"]))
    with pytest.raises(OverloadedError) as caught:
        through(style, "anthropic", http, anthropic.stream_message(asked()))
    error = caught.value
    assert (
        error.provider,
        error.status,
        error.retryable,
        error.request_id,
        error.partial.text,
    ) == ("anthropic", 529, False, "req_7", "Hi")


@pytest.mark.row("S4-03")
def test_a_missing_key_is_told_with_the_variable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with Client("anthropic") as client, pytest.raises(ConfigurationError) as caught:
        client.send(anthropic.create_message(asked()))
    assert str(caught.value) == "anthropic: no API key: give api_key= or set ANTHROPIC_API_KEY"


@pytest.mark.row("S4-27")
def test_overloaded_is_tried_again():
    bodies = [
        (529, b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
        (200, STREAMS["text"]),
    ]

    def answering(request: httpx.Request) -> httpx.Response:
        status, body = bodies.pop(0)
        return httpx.Response(status, content=body)

    with Client(
        "anthropic",
        api_key=KEY,
        http=httpx.MockTransport(answering),
        retry=Retry(attempts=2, base=0.0),
    ) as client:
        with client.stream(anthropic.stream_message(asked())) as stream:
            assert "".join(event.text for event in stream) == "The tide is high: 潮🌊."
            assert (stream.account.attempts, type(stream.result())) == (2, MessageResponse)
