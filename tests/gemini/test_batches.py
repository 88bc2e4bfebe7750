"""Batches: the calls, the responses inside them, polling, and the files of requests and results."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from wire.core.call import Call
from wire.errors import (
    APIError,
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    RuleError,
    ServerError,
    StreamInvalid,
    TotalClock,
)
from wire.gemini import (
    BatchOperation,
    BatchState,
    Content,
    EmbedContentBatch,
    EmbedContentRequest,
    Empty,
    GenerateContentBatch,
    GenerateContentRequest,
    InlinedEmbedContentRequest,
    InlinedEmbedContentRequests,
    InlinedRequest,
    InputEmbedContentConfig,
    Part,
    batch_lines,
    batch_results,
    cancel_batch,
    contents,
    create_batch,
    create_embed_batch,
    delete_batch,
    embed_batch_results,
    generate_content,
    get_batch,
    get_embed_batch,
    list_batches,
    update_batch,
    update_embed_batch,
    wait_for_batch,
    wait_for_embed_batch,
)
from wire.http.target import target

from .playing import play

MODEL = "gemini-2.5-flash"
HI = GenerateContentRequest(contents=contents("Hi"))
HI_JSON = {"contents": [{"parts": [{"text": "Hi"}], "role": "user"}]}
ANSWER = (
    '{"candidates": [{"content": {"parts": [{"text": "Yo", "thoughtSignature": "c2ln", '
    '"novelty": 1.50}], "role": "model"}}]}'
)

# --- calls ----------------------------------------------------------------------------------------


@joined(
    ("call", "line", "body"),
    [
        (get_batch("abc"), "GET /batches/abc", b""),
        (get_embed_batch("batches/abc"), "GET /batches/abc", b""),
        (list_batches(3, "t"), "GET /batches?pageSize=3&pageToken=t", b""),
        (cancel_batch("abc"), "POST /batches/abc:cancel", b""),
        (delete_batch("abc"), "DELETE /batches/abc", b""),
        (
            update_batch("abc", GenerateContentBatch(priority=3), update_mask="priority"),
            "PATCH /batches/abc:updateGenerateContentBatch?updateMask=priority",
            b'{"priority":3}',
        ),
        (
            update_embed_batch(
                "abc", EmbedContentBatch(display_name="d"), update_mask="displayName"
            ),
            "PATCH /batches/abc:updateEmbedContentBatch?updateMask=displayName",
            b'{"displayName":"d"}',
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_calls(call: Call[Any], line: str, body: bytes):
    assert (f"{call.method} {call.target}", call.body) == (line, body)


@pytest.mark.parametrize(
    ("requests", "config"),
    [
        ([HI, InlinedRequest(request=HI, metadata={"id": "b"})],
         {"requests": {"requests": [{"request": HI_JSON}, {"request": HI_JSON, "metadata": {"id": "b"}}]}}),  # noqa: E501
        ((HI,), {"requests": {"requests": [{"request": HI_JSON}]}}),
        ("files/abc", {"fileName": "files/abc"}),
        ("abc", {"fileName": "files/abc"}),
    ],
)  # fmt: skip
def test_create(requests: Any, config: Any):
    call = create_batch(MODEL, requests, display_name="d")
    assert (call.method, call.target) == ("POST", f"/models/{MODEL}:batchGenerateContent")
    assert json.loads(call.body) == {"batch": {"displayName": "d", "inputConfig": config}}


def test_create_as_it_is():
    batch = GenerateContentBatch(display_name="d", priority=5)
    assert json.loads(create_batch(MODEL, batch).body) == {
        "batch": {"displayName": "d", "priority": 5}
    }
    assert (
        json.loads(create_batch(MODEL, batch, display_name="e").body)["batch"]["displayName"] == "e"
    )


def test_create_for_embeddings():
    request = InlinedEmbedContentRequest(
        request=EmbedContentRequest(content=Content(parts=[Part(text="Hi")])), metadata={"id": 1}
    )
    config = InputEmbedContentConfig(requests=InlinedEmbedContentRequests(requests=[request]))
    call = create_embed_batch(
        "gemini-embedding-001", EmbedContentBatch(display_name="d", input_config=config)
    )
    assert call.target == "/models/gemini-embedding-001:asyncBatchEmbedContent"
    assert json.loads(call.body)["batch"]["inputConfig"] == {
        "requests": {
            "requests": [
                {"request": {"content": {"parts": [{"text": "Hi"}]}}, "metadata": {"id": 1}}
            ]
        }
    }


BAD = GenerateContentRequest(contents=[Content(role="user", parts=[Part(text=5)])])  # type: ignore[arg-type]


@joined(
    ("requests", "path"),
    [
        (None, "requests"),
        ([], "requests"),
        ({"a": HI}, "requests"),
        ([HI, BAD], "batch.inputConfig.requests.requests[1].request.contents[0].parts[0].text"),
        (
            [InlinedRequest(request=BAD)],
            "batch.inputConfig.requests.requests[0].request.contents[0].parts[0].text",
        ),
        ([HI, "Hi"], "batch.inputConfig.requests.requests[1].request.request"),
        ([InlinedRequest()], "batch.inputConfig.requests.requests[0].request.request"),
        (
            [GenerateContentRequest(contents=[])],
            "batch.inputConfig.requests.requests[0].request.contents",
        ),
        (
            [InlinedRequest(request=HI, metadata="a")],
            "batch.inputConfig.requests.requests[0].metadata",
        ),
        (GenerateContentBatch(priority="high", display_name=5), "batch.displayName"),
    ],
)
def test_bad_batches(requests: Any, path: str):
    with pytest.raises(RuleError) as caught:
        create_batch(MODEL, requests)
    assert caught.value.violations[0].path == path


def test_bad_names():
    for name in ("", "files/abc", None, "a/b/c", "batches/../x"):
        for endpoint in (
            get_batch,
            get_embed_batch,
            cancel_batch,
            delete_batch,
            wait_for_batch,
            wait_for_embed_batch,
        ):
            with pytest.raises(ConfigurationError, match=r"^name: expected .*batches/ID"):
                endpoint(name)  # type: ignore[arg-type,operator]
    with pytest.raises(ConfigurationError, match=r"^name: expected files/ID"):
        create_batch(MODEL, "batches/abc")
    with pytest.raises(ConfigurationError, match=r"^model: "):
        create_batch("", [HI])
    for mask in ("", None):
        with pytest.raises(RuleError, match="updateMask"):
            update_batch("abc", GenerateContentBatch(), update_mask=mask)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"expected a .*EmbedContentBatch"):
        create_embed_batch(MODEL, GenerateContentBatch())  # type: ignore[arg-type]


def test_vertex_has_no_batches_in_this_form():
    vertex = target("gemini@vertex", {"api_key": "fake-key", "project": "p", "location": "eu"})
    for call in (
        create_batch(MODEL, [HI]),
        get_batch("a"),
        list_batches(),
        cancel_batch("a"),
        delete_batch("a"),
        get_embed_batch("a"),
    ):
        with pytest.raises(ConfigurationError, match="has no"):
            vertex.accept(call, Call)


# --- answers --------------------------------------------------------------------------------------

PENDING = b"""{
  "name": "batches/abc",
  "metadata": {
    "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
    "batchStats": {"requestCount": "2", "pendingRequestCount": "2"},
    "state": "BATCH_STATE_PENDING"
  }
}
"""


def done(results: str, **more: str) -> bytes:
    inlined = '{"inlinedResponses": {"inlinedResponses": [' + results + "]}}"
    metadata = '{"state": "BATCH_STATE_SUCCEEDED", "output": ' + inlined + "}"
    return (
        '{"name": "batches/abc", "done": true, "metadata": '
        + metadata
        + ', "response": '
        + inlined
        + "}"
    ).encode()


def test_pending():
    answer = create_batch(MODEL, [HI]).parse(PENDING)
    assert (answer.name, answer.done, answer.results, answer.raw) == (
        "batches/abc",
        None,
        [],
        PENDING,
    )
    assert answer.metadata is not None
    assert answer.metadata.state == BatchState.PENDING
    assert answer.metadata.batch_stats is not None
    assert answer.metadata.batch_stats.request_count == "2"
    assert wire.unknown(answer) == []


def test_answers_inside_go_back_as_they_came():
    body = done(
        '{"response": '
        + ANSWER
        + ', "metadata": {"id": "a"}}, {"error": {"code": 3, "message": "no"}}'
    )
    answer = get_batch("abc").parse(body)
    first, second = answer.results
    assert (first.metadata, second.response, second.error and second.error.code) == (
        {"id": "a"},
        None,
        3,
    )
    assert first.response is not None
    assert first.response.text == "Yo"
    assert first.response.raw == ANSWER.encode()
    back = generate_content(
        MODEL, GenerateContentRequest(contents=contents("Hi", first.response, "Go on"))
    )
    assert b'{"text": "Yo", "thoughtSignature": "c2ln", "novelty": 1.50}' in back.body
    assert answer.raw == body
    assert answer.metadata is not None
    assert answer.metadata.output is not None
    assert wire.unknown(first.response) == [("candidates[0].content.parts[0].novelty", 1.5)]


def test_results_stand_in_either_place():
    inlined = json.loads(done('{"response": ' + ANSWER + "}"))
    for key in ("metadata", "response"):
        answer = get_batch("abc").parse(
            json.dumps({name: value for name, value in inlined.items() if name != key}).encode()
        )
        assert [one.response.text for one in answer.results if one.response] == ["Yo"]
    file = b'{"name":"batches/abc","done":true,"response":{"responsesFile":"files/r"}}'
    answer = get_batch("abc").parse(file)
    assert answer.results == []
    assert answer.response is not None
    assert answer.response.responses_file == "files/r"
    for odd in (
        b'{"response":{"inlinedResponses":{}}}',
        b'{"response":{"inlinedResponses":{"inlinedResponses":[]}}}',
        b"{}",
    ):
        assert get_batch("abc").parse(odd).results == []


def test_an_answer_that_is_an_error():
    gone = b'{"error":{"code":404,"message":"Gone.","status":"NOT_FOUND"}}'
    for call in (get_batch("abc"), get_embed_batch("abc"), list_batches()):
        with pytest.raises(NotFoundError):
            call.parse(gone)
    own = b'{"name":"batches/abc","done":true,"error":{"code":13,"message":"broke"}}'
    answer = get_batch("abc").parse(own)
    assert answer.error is not None
    assert answer.error.message == "broke"
    with pytest.raises(StreamInvalid):
        get_batch("abc").parse(b"<html>")


def test_lists_hold_batches_of_both_kinds():
    config = '{"requests":{"requests":[{"request":{"content":{},"taskType":"CLUSTERING"}}]}}'
    embed = (
        '{"name":"batches/e","metadata":{"@type":"x.EmbedContentBatch",'
        '"state":"BATCH_STATE_RUNNING","inputConfig":' + config + "}}"
    )
    answer = list_batches().parse(
        ('{"operations":[' + embed + "," + PENDING.decode() + '],"nextPageToken":"t"}').encode()
    )
    assert [
        (each.name, each.metadata and each.metadata.state) for each in answer.operations or ()
    ] == [
        ("batches/e", "BATCH_STATE_RUNNING"),
        ("batches/abc", "BATCH_STATE_PENDING"),
    ]
    assert delete_batch("abc").parse(b"{}") == cancel_batch("abc").parse(b"{}") == Empty()


# --- waiting --------------------------------------------------------------------------------------


def test_wait_until_it_is_done():
    played = play(
        wait_for_batch("abc", every=30, most=100),
        PENDING,
        PENDING,
        done('{"response": ' + ANSWER + "}"),
    )
    assert (played.asked, played.pauses) == (["GET /batches/abc"] * 3, [30.0, 30.0])
    assert played.answer.results[0].response.text == "Yo"
    assert play(
        wait_for_batch(BatchOperation(name="batches/abc")), b'{"done":true}'
    ).answer == BatchOperation(done=True)
    embedded = (
        b'{"name":"batches/e","done":true,"response":{"inlinedResponses":'
        b'{"inlinedResponses":[{"response":{"embedding":{"values":[1]}}}]}}}'
    )
    answer = play(wait_for_embed_batch("e"), embedded).answer
    assert answer.response.inlined_responses.inlined_responses[0].response.embedding.values == [1.0]


@joined(
    ("body", "kind", "message"),
    [
        (
            {"done": True, "error": {"code": 3, "message": "no such file"}},
            BadRequestError,
            "batches/abc is at its end: no such file",
        ),
        (
            {"metadata": {"state": "BATCH_STATE_FAILED"}},
            ServerError,
            "batches/abc is BATCH_STATE_FAILED: no message",
        ),
        (
            {
                "done": True,
                "metadata": {"state": "BATCH_STATE_CANCELLED"},
                "error": {"code": 1, "message": "c"},
            },
            APIError,
            "CANCELLED: c",
        ),
        ({"metadata": {"state": "BATCH_STATE_EXPIRED"}}, ServerError, "BATCH_STATE_EXPIRED"),
    ],
)
def test_a_batch_that_failed(body: Any, kind: type[Exception], message: str):
    played = play(wait_for_batch("abc"), json.dumps({"name": "batches/abc", **body}).encode())
    assert type(played.error) is kind
    assert message in str(played.error)


def test_waiting_has_an_end():
    played = play(wait_for_batch("abc", every=60, most=60), PENDING, PENDING)
    assert isinstance(played.error, TotalClock)
    assert "BATCH_STATE_PENDING after 60 s" in played.error.message


# --- files ----------------------------------------------------------------------------------------


def test_lines_of_requests():
    received = generate_content(MODEL, HI).parse(ANSWER.replace(", ", ",\r\n").encode())
    lines = batch_lines(
        {"a": HI, 'b"\n': GenerateContentRequest(contents=contents("Hi", received, "Go on"))}
    )
    assert lines.count(b"\n") == 2
    first, second = [json.loads(line) for line in lines.splitlines()]
    assert first == {"key": "a", "request": HI_JSON}
    assert second["key"] == 'b"\n'
    assert second["request"]["contents"][1]["parts"] == [
        {"text": "Yo", "thoughtSignature": "c2ln", "novelty": 1.5}
    ]


@joined(
    ("requests", "path"),
    [
        (None, "requests"),
        ({}, "requests"),
        ([HI], "requests"),
        ({1: HI}, "requests"),
        ({"a": BAD}, "requests['a'].contents[0].parts[0].text"),
    ],
)
def test_bad_lines(requests: Any, path: str):
    with pytest.raises(RuleError) as caught:
        batch_lines(requests)
    assert caught.value.violations[0].path == path


def test_lines_of_results():
    lines = [
        '{"key":"a","response":' + ANSWER + "}",
        '{"key":"b","error":{"code":3,"message":"no"}}',
        "",
        ANSWER,
        '{"code":8,"message":"busy"}',
    ]
    found = batch_results("\r\n".join(lines).encode() + b"\n")
    assert [
        (one.key, one.response and one.response.text, one.error and one.error.message)
        for one in found
    ] == [
        ("a", "Yo", None),
        ("b", None, "no"),
        (None, "Yo", None),
        (None, None, "busy"),
    ]
    assert found[0].response is not None
    assert found[0].response.raw == ANSWER.encode()
    content = found[0].response.candidates[0].content  # type: ignore[index]
    assert content is not None
    assert msgspec.json.decode(content.raw or b"")["parts"][0]["novelty"] == 1.5
    assert batch_results(b"") == []


@joined(
    "line",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"key":"a"}',
        b'{"response":5}',
        b"\xff",
        b"[" * 100_000,
        b'{"response":null}',
    ],
)
def test_lines_that_are_none(line: bytes):
    with pytest.raises(StreamInvalid, match="line 2 of the results"):
        batch_results(b'{"code":8}\n' + line)


def test_lines_of_vectors():
    found = embed_batch_results(
        b'{"key":"a","response":{"embedding":{"values":[0.5]}}}\n{"key":"b","error":{"code":3}}'
    )
    assert [
        (one.key, one.response and one.response.embedding and one.response.embedding.values)
        for one in found
    ] == [
        ("a", [0.5]),
        ("b", None),
    ]
