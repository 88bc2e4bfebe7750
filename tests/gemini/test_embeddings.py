"""Embeddings: the calls, their errors, and the responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from wire import unknown
from wire.core.call import Call
from wire.errors import ConfigurationError, RuleError, StreamInvalid
from wire.gemini import (
    BatchEmbedContentsRequest,
    BatchEmbedContentsResponse,
    ComputeTokensResponse,
    Content,
    ContentEmbedding,
    EmbedContentConfig,
    EmbedContentRequest,
    EmbedContentResponse,
    EmbeddingUsageMetadata,
    Operation,
    Part,
    PredictRequest,
    TaskType,
    batch_embed_contents,
    compute_tokens,
    contents,
    embed_content,
    get_operation,
    predict,
    predict_long_running,
)
from wire.http.target import target

MODEL = "gemini-embedding-001"
VERTEX = target("gemini@vertex", {"api_key": "fake-key", "project": "p", "location": "eu"})
TEXT = {"parts": [{"text": "Hi"}]}


@joined(
    ("request_", "body"),
    [
        ("Hi", {"content": TEXT}),
        (Content(parts=[Part(text="Hi")]), {"content": TEXT}),
        (
            EmbedContentRequest(content=Content(parts=[Part(text="Hi")]), model="models/x"),
            {"content": TEXT, "model": "models/x"},
        ),
        (
            EmbedContentRequest(
                content=contents("Hi")[0],
                embed_content_config=EmbedContentConfig(
                    task_type=TaskType.RETRIEVAL_DOCUMENT, title="T", output_dimensionality=3
                ),
            ),
            {
                "content": {**TEXT, "role": "user"},
                "embedContentConfig": {
                    "taskType": "RETRIEVAL_DOCUMENT",
                    "title": "T",
                    "outputDimensionality": 3,
                },
            },
        ),
    ],
)
def test_embed_content(request_: Any, body: Any):
    call = embed_content(MODEL, request_)
    assert (call.method, call.target, json.loads(call.body)) == (
        "POST",
        f"/models/{MODEL}:embedContent",
        body,
    )


def test_batch_embed_contents():
    requests: list[Any] = [
        "a",
        Content(parts=[Part(text="b")]),
        EmbedContentRequest(content=Content(parts=[Part(text="c")]), title="T"),
    ]
    call = batch_embed_contents(MODEL, requests)
    model = f"models/{MODEL}"
    assert call.target == f"/{model}:batchEmbedContents"
    assert json.loads(call.body) == {
        "requests": [
            {"model": model, "content": {"parts": [{"text": "a"}]}},
            {"model": model, "content": {"parts": [{"text": "b"}]}},
            {"model": model, "content": {"parts": [{"text": "c"}]}, "title": "T"},
        ]
    }
    given = BatchEmbedContentsRequest(
        requests=[
            EmbedContentRequest(content=Content(parts=[Part(text="a")]), model="models/other")
        ]
    )
    assert json.loads(batch_embed_contents(MODEL, given).body)["requests"][0]["model"] == model
    assert given.requests is not None
    assert given.requests[0].model == "models/other"


@joined(
    ("request_", "path"),
    [
        (None, "request"),
        (5, "request"),
        ([], "request"),
        (EmbedContentRequest(content="Hi"), "content"),  # type: ignore[arg-type]
        (Content(parts=[Part(text=5)]), "content.parts[0].text"),  # type: ignore[arg-type]
        (EmbedContentRequest(output_dimensionality="3"), "outputDimensionality"),  # type: ignore[arg-type]
        ("\ud83c", "content.parts[0].text"),
    ],
)
def test_bad_requests(request_: Any, path: str):
    with pytest.raises(RuleError) as caught:
        embed_content(MODEL, request_)
    assert caught.value.violations[0].path == path


@joined(
    ("requests", "path"),
    [
        ("Hi", "requests"),
        (None, "requests"),
        (["Hi", 5], "requests[1]"),
        (["Hi", Content(parts=[Part(text=5)])], "requests[1].content.parts[0].text"),  # type: ignore[arg-type]
        (["Hi"] * 101, "requests"),
    ],
)
def test_bad_batches(requests: Any, path: str):
    with pytest.raises(RuleError) as caught:
        batch_embed_contents(MODEL, requests)
    assert caught.value.violations[0].path == path


def test_a_hundred_are_taken():
    assert len(json.loads(batch_embed_contents(MODEL, ["Hi"] * 100).body)["requests"]) == 100


@joined("model", ["", "a b", None, "models/../x"])
@joined("endpoint", [embed_content, batch_embed_contents, predict, compute_tokens])
def test_bad_model(endpoint: Any, model: Any):
    request = {
        embed_content: "Hi",
        batch_embed_contents: ["Hi"],
        predict: PredictRequest(),
        compute_tokens: [],
    }[endpoint]
    with pytest.raises(ConfigurationError, match=r"^model: "):
        endpoint(model, request)


def test_answers():
    body = (
        b'{"embedding":{"values":[0.5,-1,2e-3]},"usageMetadata":{"promptTokenCount":2},"novelty":1}'
    )
    answer = embed_content(MODEL, "Hi").parse(body)
    assert answer == EmbedContentResponse(
        embedding=ContentEmbedding(values=[0.5, -1.0, 0.002]),
        usage_metadata=EmbeddingUsageMetadata(prompt_token_count=2),
    )
    assert answer.raw == body
    body = b'{"embeddings":[{"values":[1]},{"values":[2]}]}'
    assert batch_embed_contents(MODEL, ["a", "b"]).parse(body) == BatchEmbedContentsResponse(
        embeddings=[ContentEmbedding(values=[1.0]), ContentEmbedding(values=[2.0])]
    )
    odd = embed_content(MODEL, "Hi").parse(b'{"embedding":{"values":["a"]}}')
    assert (odd.embedding, unknown(odd)) == (ContentEmbedding(), [("embedding.values", ["a"])])
    with pytest.raises(StreamInvalid, match="EmbedContentResponse"):
        embed_content(MODEL, "Hi").parse(b'{"embedding":["a"]}')


def test_vertex_embeds_one_at_a_time():
    place = (
        "https://aiplatform.eu.rep.googleapis.com/v1beta1/projects/p/locations/eu/publishers/google"
    )
    assert (
        VERTEX.url(VERTEX.accept(embed_content(MODEL, "Hi"), Call))
        == f"{place}/models/{MODEL}:embedContent"
    )
    with pytest.raises(
        ConfigurationError,
        match=r"no endpoint POST /models/.*:batchEmbedContents",
    ):
        VERTEX.accept(batch_embed_contents(MODEL, ["Hi"]), Call)


# --- predict --------------------------------------------------------------------------------------


def test_predict():
    request = PredictRequest(instances=[{"prompt": "a wave"}], parameters={"sampleCount": 1})
    for call, verb in (
        (predict("imagen-4", request), "predict"),
        (predict_long_running("imagen-4", request), "predictLongRunning"),
    ):
        assert call.target == f"/models/imagen-4:{verb}"
        assert call.body == b'{"instances":[{"prompt":"a wave"}],"parameters":{"sampleCount":1}}'
    assert predict("imagen-4", request).parse(
        b'{"predictions":[{"mimeType":"image/png"}]}'
    ).predictions == [{"mimeType": "image/png"}]
    with pytest.raises(RuleError, match=r"expected a .*PredictRequest"):
        predict("imagen-4", {"instances": []})  # type: ignore[arg-type]


def test_operations():
    call = get_operation("models/veo-3/operations/abc")
    assert (call.method, call.target) == ("GET", "/models/veo-3/operations/abc")
    failed = b'{"name":"models/veo-3/operations/abc","done":true,"error":{"code":3,"message":"no"}}'
    answer = call.parse(failed)
    assert (answer.done, answer.error and answer.error.message, answer.raw) == (True, "no", failed)
    assert call.parse(b'{"name":"a/b"}') == Operation(name="a/b")
    for name in ("", "abc", None, "a/../b", "a/b?c"):
        with pytest.raises(ConfigurationError):
            get_operation(name)  # type: ignore[arg-type]


def test_compute_tokens_is_vertex_only():
    call = compute_tokens("gemini-2.5-flash", contents("Hi"))
    assert call.body == b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}]}'
    assert VERTEX.accept(call, Call) == call
    with pytest.raises(ConfigurationError, match=r"^gemini: call: this host has no endpoint POST"):
        target("gemini", {"api_key": "fake-key"}).accept(call, Call)
    answer = call.parse(b'{"tokensInfo":[{"role":"user","tokenIds":["651"],"tokens":["VGhl"]}]}')
    assert isinstance(answer, ComputeTokensResponse)
    assert answer.tokens_info is not None
    assert answer.tokens_info[0].token_ids == ["651"]
    with pytest.raises(RuleError, match="request"):
        compute_tokens("gemini-2.5-flash", "Hi")  # type: ignore[arg-type]
