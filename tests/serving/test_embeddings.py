"""Embeddings through the gateway: clients of OpenAI and of Gemini, with models of both."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.joined import joined
from tests.serving.running import backend, message_of, posted
from tests.serving.running import gateway as gateway_to
from wire import Client
from wire.gateway import Gateway, GatewayServer, serve
from wire.neutral.embeddings import packed, unpacked
from wire.testing.emulator import Emulator
from wire.testing.emulator.embeddings import vector

OPENAI, GEMINI = "openai:text-embedding-3-small", "gemini:gemini-embedding-001"
BOTH = pytest.mark.parametrize("model", [OPENAI, GEMINI])
PATHS = {
    "chat": "/v1/embeddings",
    "one": "/v1beta/models/any:embedContent",
    "batch": "/v1beta/models/any:batchEmbedContents",
}


def asked(server: GatewayServer, form: str, body: dict[str, Any]) -> httpx.Response:
    """The response to a request for embeddings, in one of three forms."""
    if form == "chat":
        body = {"model": "any", **body}
    client = "chat" if form == "chat" else "gemini"
    return posted(server, client, path=PATHS[form], content=json.dumps(body).encode())


def item(*texts: str, **options: Any) -> dict[str, Any]:
    """A request of Gemini for one vector."""
    return {"content": {"parts": [{"text": text} for text in texts]}, **options}


@BOTH
def test_a_client_of_openai_gets_vectors_of_any_model(model: str) -> None:
    emulator = Emulator()
    with gateway_to(model, emulator) as server:
        body = {"input": ["high tide", "low"], "dimensions": 4, "encoding_format": "float"}
        response = asked(server, "chat", body)
        alone = asked(server, "chat", {"input": "high tide", "dimensions": 4}).json()
    assert response.json() == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": vector("high tide", 4)},
            {"object": "embedding", "index": 1, "embedding": vector("low", 4)},
        ],
        "model": model.partition(":")[2],
        "usage": {"prompt_tokens": 3, "total_tokens": 3},
    }
    assert "x-wire-note" not in response.headers
    assert [each["embedding"] for each in alone["data"]] == [vector("high tide", 4)]
    sent = emulator.requests[0]["body"]
    if model == OPENAI:
        assert sent == {
            "model": "text-embedding-3-small",
            "input": ["high tide", "low"],
            "dimensions": 4,
        }
    else:
        assert [each["outputDimensionality"] for each in sent["requests"]] == [4, 4]


@BOTH
def test_vectors_in_base64(model: str) -> None:
    with gateway_to(model) as server:
        body = {"input": "tide", "dimensions": 3, "encoding_format": "base64"}
        [data] = asked(server, "chat", body).json()["data"]
    assert data["embedding"] == packed(vector("tide", 3))
    assert unpacked(data["embedding"]) == pytest.approx(vector("tide", 3))


@BOTH
def test_a_client_of_gemini_gets_vectors_of_any_model(model: str) -> None:
    emulator = Emulator()
    with gateway_to(model, emulator) as server:
        one = asked(server, "one", item("tide", outputDimensionality=4))
        config = {"output_dimensionality": 4, "taskType": "CLUSTERING"}
        items = [item(text, embed_content_config=config) for text in ("tide", "low")]
        batch = asked(server, "batch", {"requests": items})
    counted = {"promptTokenCount": 1}
    assert one.json() == {"embedding": {"values": vector("tide", 4)}, "usageMetadata": counted}
    vectors = [{"values": vector(text, 4)} for text in ("tide", "low")]
    assert batch.json() == {"embeddings": vectors, "usageMetadata": {"promptTokenCount": 2}}
    sent = emulator.requests[1]["body"]
    if model == OPENAI:
        task = "task: not sent: embeddings of this API have no field for it"
        assert batch.headers["x-wire-note"] == task
        assert sent["dimensions"] == 4
    else:
        assert "x-wire-note" not in batch.headers
        assert [each["taskType"] for each in sent["requests"]] == ["CLUSTERING"] * 2


def test_what_has_no_neutral_form_is_told() -> None:
    with gateway_to(GEMINI) as server:
        noted = asked(server, "chat", {"input": "tide", "user": "u", "extra": 1}).headers
        left = [f"{name}: left out: it has no neutral form" for name in ("user", "extra")]
        assert noted.get_list("x-wire-note") == left
    with gateway_to(OPENAI) as server:
        body = {"requests": [item("a", "b", title="T", taskType="NEW")]}
        noted = asked(server, "batch", body).headers
        assert noted.get_list("x-wire-note") == [
            "requests[0].title: left out: it has no neutral form",
            "requests[0].content.parts: sent as one text, with line breaks between the parts",
            "requests[0].taskType: left out: it has no neutral form",
        ]


def test_a_backend_of_the_clients_own_api_gets_it() -> None:
    emulator = Emulator()
    with gateway_to(OPENAI, emulator) as server:
        tokens = {"input": [[1, 2], [3]], "user": "u", "dimensions": 2}
        response = asked(server, "chat", tokens)
        assert [len(each["embedding"]) for each in response.json()["data"]] == [2, 2]
        assert "x-wire-note" not in response.headers
    assert emulator.requests[0]["body"] == {"model": "text-embedding-3-small", **tokens}
    emulator = Emulator()
    model = "models/gemini-embedding-001"
    with gateway_to(GEMINI, emulator) as server:
        items = [item("a", "b", title="T", model="models/any"), item("c", outputDimensionality=2)]
        vectors = asked(server, "batch", {"requests": items}).json()["embeddings"]
        assert [len(each["values"]) for each in vectors] == [3072, 2]
        sound = {"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}
        assert asked(server, "one", {"content": {"parts": [sound]}}).status_code == 200
    batch, one = (each["body"] for each in emulator.requests)
    assert batch["requests"] == [{**each, "model": model} for each in items]
    assert one == {"content": {"parts": [sound]}, "model": model}


@joined(
    ("form", "body", "message"),
    [
        ("chat", {"input": [1, 2]}, "input: only models of this API read token ids (send texts)"),
        ("chat", {"input": [[1], [2]]}, "input: only models of this API read token ids"),
        ("chat", {"input": []}, "input: expected at least one text"),
        ("chat", {"input": ["a", ""]}, "input[1]: expected a text that is not empty"),
        ("chat", {"input": 5}, "input: "),
        ("chat", {}, "body: object missing required field `input`"),
        ("chat", {"input": "a", "dimensions": 0}, "dimensions: expected a whole number from 1"),
        ("chat", {"input": "a", "dimensions": "x"}, "dimensions: expected `int"),
        ("chat", {"input": "a", "encoding_format": "int8"}, "encoding_format: expected float or"),
        ("one", {}, "content: expected a text that is not empty"),
        ("one", {"content": {"parts": [{"inlineData": {}}]}}, "content.parts[0]: expected a text"),
        ("one", item("a", outputDimensionality=0), "outputDimensionality: expected a whole number"),
        ("batch", {}, "requests: expected at least one request"),
        ("batch", {"requests": [item("a"), item("")]}, "requests[1].content: expected a text"),
        (
            "batch",
            {"requests": [item("a"), item("b", taskType="CLUSTERING")]},
            "requests[1]: expected the task and the dimensions of requests[0]",
        ),
    ],
)
def test_what_cannot_be_embedded_is_refused(
    foreign: Any, form: str, body: dict[str, Any], message: str
) -> None:
    response = asked(foreign[form == "chat"], form, body)
    assert response.status_code == 400
    assert message_of("chat" if form == "chat" else "gemini", response).startswith(message)


@pytest.fixture
def foreign() -> Any:
    """Gateways to models of the other vendor, by whether the client is one of OpenAI."""
    with gateway_to(OPENAI) as openai, gateway_to(GEMINI) as gemini:
        yield openai, gemini


def test_a_backend_without_embeddings_is_404() -> None:
    with gateway_to("anthropic") as server:
        words = "The backend anthropic:claude-sonnet-5 does not embed: "
        for form, body in (("chat", {"input": "a"}), ("one", item("a"))):
            response = asked(server, form, body)
            assert response.status_code == 404
            message = message_of("chat" if form == "chat" else "gemini", response)
            assert message.startswith(words)


def test_errors_of_the_backend_have_the_form_of_the_client() -> None:
    with gateway_to("gemini") as server:  # which generates, and does not embed
        response = asked(server, "chat", {"input": "a"})
    assert response.status_code == 404
    assert "gemini-3.8-flash" in response.json()["error"]["message"]


def test_embeddings_of_several_backends_by_name() -> None:
    named = {"small": backend(OPENAI), "gemini-*": backend(GEMINI)}
    with serve(Gateway(named)) as server:
        for model, size in (("small", 1536), ("gemini-x", 3072)):
            [data] = asked(server, "chat", {"model": model, "input": "a"}).json()["data"]
            assert len(data["embedding"]) == size
            path = f"/v1beta/models/{model}:embedContent"
            sent = json.dumps(item("a")).encode()
            values = posted(server, "gemini", path=path, content=sent).json()["embedding"]["values"]
            assert len(values) == size
        unknown = asked(server, "chat", {"model": "other", "input": "a"})
        assert (unknown.status_code, "there are small" in unknown.text) == (404, True)


@joined("provider", ["openai", "openai@chat", "gemini"])
def test_this_library_as_the_client(provider: str) -> None:
    texts = [f"text {number}" for number in range(3)]
    with gateway_to(GEMINI) as server:
        url = server.url + ("/v1" if provider.startswith("openai") else "")
        with Client(provider, base_url=url, api_key="any", retry=None) as client:
            found = client.embed(texts, "any", dimensions=4)
    assert list(found) == [vector(text, 4) for text in texts]
    assert found.usage is not None
    assert found.usage.input == 6
