"""Counting, embeddings and lists of models, through chats and clients of each style."""

from __future__ import annotations

import base64
import functools
import json
import struct
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

import wire
from tests.joined import joined
from wire import AsyncChat, AsyncClient, Chat, Client, TokenCount, anthropic, gemini, openai
from wire.catalogue.usage import Usage
from wire.errors import (
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    RuleError,
    StreamInvalid,
    WireError,
)
from wire.neutral.embeddings import TASKS, batches
from wire.neutral.messages import Message
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

KEY = "fake-key"
STYLES = ["threads", "asyncio", "trio"]
style_of = pytest.mark.parametrize("style", STYLES)


def sends(style: str, provider: str, work: Callable[[Any], Any], emulator: Any, **more: Any) -> Any:
    """What `work` returns, which calls a method of a client in this style.

    `emulator` is an `Emulator`, or a function that answers requests.
    """
    options = {"api_key": KEY, "retry": None, **more}
    if style == "threads":
        http: Any = (
            EmulatorTransport(emulator)
            if isinstance(emulator, Emulator)
            else httpx.MockTransport(emulator)
        )
        with Client(provider, http=http, **options) as client:
            found = work(client)
            return list(found) if hasattr(found, "__next__") else found

    async def main() -> Any:
        http: Any = (
            AsyncEmulatorTransport(emulator)
            if isinstance(emulator, Emulator)
            else httpx.MockTransport(emulator)
        )
        async with AsyncClient(provider, http=http, **options) as client:
            found = work(client)
            if hasattr(found, "__anext__"):
                return [each async for each in found]
            return await found

    return anyio.run(main, backend=style)


class Server:
    """Answers requests in order, and keeps them."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self.answers.pop(0)
        if callable(answer):
            answer = answer(json.loads(request.content))
        status, body = answer if isinstance(answer, tuple) else (200, answer)
        return httpx.Response(status, json=body)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]


# --- counting -------------------------------------------------------------------------------------


def count(style: str, model: str, *args: Any, http: Any = None, **request: Any) -> TokenCount:
    settings = {"api_key": KEY, "retry": None}
    if style == "threads":
        with Chat(model, http=http or EmulatorTransport(Emulator()), **settings) as chat:  # type: ignore[arg-type]
            return chat.count(*args, **request)

    async def main() -> TokenCount:
        over = http or AsyncEmulatorTransport(Emulator())
        async with AsyncChat(model, http=over, **settings) as chat:  # type: ignore[arg-type]
            return await chat.count(*args, **request)

    return anyio.run(main, backend=style)


COUNTED = {
    "gemini:gemini-3.8-flash": "countTokens",
    "anthropic:claude-opus-4-8": "count_tokens",
    "openai:gpt-5.6": "input_tokens",
}


@style_of
def test_the_vendor_counts_where_it_can(style: str) -> None:
    def now(zone: str) -> str:
        """The time in a zone."""
        return zone

    for model, source in COUNTED.items():
        plain = count(style, model, "How high is the tide in Brest?")
        assert (plain.exact, plain.source) == (True, source)
        assert 5 <= plain.total <= 20
        with_tool = count(style, model, "How high is the tide in Brest?", tools=[now])
        with_system = count(style, model, "How high is the tide in Brest?", system="Be brief.")
        messages = [Message.user("How high"), Message.assistant("Yes?"), Message.user("is it?")]
        turns = count(style, model, messages=messages)
        assert with_system.total > plain.total, model
        assert with_tool.total > plain.total, model
        assert turns.exact


@style_of
def test_elsewhere_it_is_estimated_and_nothing_is_sent(style: str) -> None:
    server = Server()
    http = httpx.MockTransport(server)
    schema = {"type": "object", "properties": {"metres": {"type": "number"}}}
    question = "How high is the tide?"
    counts = [
        count(style, "deepseek:deepseek-v4-flash", question, http=http, **more)
        for more in (
            {},
            {"system": "Be brief."},
            {"tools": [wire.Tool("tide")]},
            {"output": schema},
        )
    ]
    assert {(each.exact, each.source) for each in counts} == {(False, "estimate")}
    assert [each.total for each in counts] == [5, 7, 14, 19]
    assert server.requests == []


@style_of
def test_a_count_has_the_timeouts_headers_and_errors_of_a_request(style: str) -> None:
    server = Server({"totalTokens": 7}, (400, {"error": {"message": "no", "code": 400}}), {})
    ask = functools.partial(
        count, style, "gemini:gemini-3.8-flash", http=httpx.MockTransport(server)
    )
    assert ask("Hi", headers={"x-trace": "a"}, timeouts=3.0) == TokenCount(7, True, "countTokens")
    assert server.requests[0].headers["x-trace"] == "a"
    assert server.requests[0].url.path == "/v1beta/models/gemini-3.8-flash:countTokens"
    with pytest.raises(BadRequestError, match="no"):
        ask("Hi")
    with pytest.raises(StreamInvalid):
        ask("Hi")
    with pytest.raises(RuleError, match="either a prompt or messages"):
        ask()
    with pytest.raises(RuleError, match="temperature"):
        ask("Hi", temperature="hot")


@joined("model", [*COUNTED, "deepseek:deepseek-v4-flash"])
def test_what_cannot_be_sent_is_not_counted(model: str) -> None:
    server = Server()
    http = httpx.MockTransport(server)
    odd: Any = wire.Tool("tide", parameters={"type": "object", "x": {1, 2}})
    turns = [Message.user("Hi"), Message.assistant(wire.ToolCall(name="tide")), Message.user("So?")]
    with pytest.raises(RuleError):
        count("threads", model, "Hi", tools=[odd], http=http)
    with pytest.raises(RuleError):
        count("threads", model, messages=turns, http=http)
    assert server.requests == []


def test_what_is_counted_is_what_is_sent() -> None:
    server = Server({"input_tokens": 9}, {"input_tokens": 9})
    options: dict[str, Any] = {"http": httpx.MockTransport(server), "system": "Be brief."}
    count("threads", "openai:gpt-5.6", "Hi", output={"type": "object"}, **options)
    count("threads", "anthropic:claude-opus-4-8", "Hi", max_tokens=9, **options)
    first, second = server.bodies
    assert first["instructions"] == "Be brief."
    assert first["text"]["format"]["type"] == "json_schema"
    assert second == {
        "model": "claude-opus-4-8",
        "messages": [{"role": "user", "content": "Hi"}],
        "system": "Be brief.",
    }


# --- models ---------------------------------------------------------------------------------------


def models(client: Any) -> Any:
    return client.models()


@style_of
def test_models_of_all_vendors(style: str) -> None:
    for provider in ("gemini", "anthropic", "openai", "openai@responses", "mistral"):
        found = sends(style, provider, models, Emulator())
        assert found, provider
        assert all(each.id and "/" not in each.id for each in found)
    (flash,) = (
        each for each in sends(style, "gemini", models, Emulator()) if each.id == "gemini-3.8-flash"
    )
    assert (flash.context_window, flash.longest_output) == (1048576, 65536)
    assert isinstance(flash.source, gemini.Model)
    claude = sends(style, "anthropic", models, Emulator())[0]
    assert isinstance(claude.source, anthropic.ModelInfo)
    assert claude.created is not None
    assert claude.created.tzinfo is not None
    assert claude.name
    assert isinstance(sends(style, "openai", models, Emulator())[0].source, openai.Model)


def in_pages(emulator: Emulator, size: int, paths: list[str]) -> Callable[[httpx.Request], Any]:
    """A server with pages of `size` models, which notes the paths."""
    inner = EmulatorTransport(emulator)

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path.decode())
        name = "pageSize" if "v1beta" in request.url.path else "limit"
        changed = httpx.Request(
            request.method,
            request.url.copy_merge_params({name: str(size)}),
            headers=request.headers,
        )
        response = inner.handle_request(changed)
        response.read()
        return httpx.Response(response.status_code, content=response.content)

    return answer


@style_of
def test_models_of_all_pages(style: str) -> None:
    for provider in ("gemini", "anthropic"):
        whole = sends(style, provider, models, Emulator())
        paths: list[str] = []
        assert sends(style, provider, models, in_pages(Emulator(), 2, paths)) == whole
        assert len(paths) == (len(whole) + 1) // 2 > 1
        assert len({*paths}) == len(paths)


def test_a_page_is_read_when_it_is_needed() -> None:
    server = Server(
        {"models": [{"name": "models/a"}, {"name": "models/b"}], "nextPageToken": "2"},
        {"models": [{"name": "models/c"}]},
    )
    with Client("gemini", api_key=KEY, http=httpx.MockTransport(server)) as client:
        found = client.models()
        assert server.requests == []
        assert [next(found).id, next(found).id, len(server.requests)] == ["a", "b", 1]
        assert [each.id for each in found] == ["c"]
    assert [str(each.url.query, "ascii") for each in server.requests] == ["", "pageToken=2"]


@style_of
def test_a_list_without_end_and_a_host_without_a_list(style: str) -> None:
    page = {"models": [{"name": "models/a"}], "nextPageToken": "2"}
    server = Server(page, page, page)
    with pytest.raises(StreamInvalid, match="repeats the cursor '2'"):
        sends(style, "gemini", models, server)
    assert len(server.requests) == 2
    more = {"api_key": None, "token": lambda: "t", "project": "p", "location": "global"}
    with pytest.raises(ConfigurationError, match="this host has no endpoint GET /models"):
        sends(style, "gemini@vertex", models, server, **more)
    with pytest.raises(NotFoundError):
        sends(style, "openai", models, Server((404, {"error": {"message": "gone"}})))


def test_odd_models_keep_what_they_have() -> None:
    data = [
        {"created": "soon"},
        {"id": "a", "created": 1_700_000_000},
        {"id": "b", "created": 1e30},
    ]
    found = sends("threads", "openai", models, Server({"data": data}))
    assert [(each.id, str(each.created)) for each in found] == [
        ("", "None"),
        ("a", "2023-11-14 22:13:20+00:00"),
        ("b", "None"),
    ]


# --- embeddings -----------------------------------------------------------------------------------


def embed(*args: Any, **options: Any) -> Callable[[Any], Any]:
    return lambda client: client.embed(*args, **options)


EMBEDDING_MODELS = {
    "gemini": "gemini-embedding-001",
    "openai": "text-embedding-3-small",
    "openai@responses": "text-embedding-3-small",
    "mistral": "mistral-embed",
}


@style_of
def test_vectors_in_order(style: str) -> None:
    for provider, model in EMBEDDING_MODELS.items():
        texts = [f"Port {number}" for number in range(5)]
        work = embed(texts, model, dimensions=8)
        found = sends(style, provider, work, Emulator(lenient=True))
        assert [len(vector) for vector in found] == [8] * 5
        alone = [
            sends(style, provider, embed(text, model, dimensions=8), Emulator(lenient=True))[0]
            for text in texts
        ]
        assert list(found) == alone
        assert found.usage == Usage(input=found.usage.input, total=found.usage.input)
        assert found.usage.input > 4


@style_of
def test_batches_of_the_vendors_limit(style: str) -> None:
    emulator = Emulator()
    texts = [f"Port {number}" for number in range(205)]
    found = sends(style, "gemini", embed(texts, "gemini-embedding-001", dimensions=3), emulator)
    assert [len(each["body"]["requests"]) for each in emulator.requests] == [100, 100, 5]
    assert len(found) == 205
    last = sends(style, "gemini", embed(texts[-1], "gemini-embedding-001", dimensions=3), emulator)
    assert found[204] == last[0]


def packed(*values: float) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


def vectors(body: Any) -> Any:
    """One vector for each text, last first: its length."""
    data = [{"index": n, "embedding": [float(len(t))]} for n, t in enumerate(body["input"])]
    return {"data": data[::-1], "usage": {"prompt_tokens": len(data)}, "model": "m-1"}


@style_of
def test_limits_of_texts_and_of_tokens(style: str) -> None:
    server = Server(*[vectors] * 9)
    found = sends(style, "qwen", embed(["a" * n for n in range(1, 24)], "e"), server)
    assert [len(body["input"]) for body in server.bodies] == [10, 10, 3]
    assert [vector[0] for vector in found] == [float(n) for n in range(1, 24)]
    assert (found.usage, found.model) == (Usage(input=23, total=23), "m-1")
    server = Server(*[vectors] * 9)
    sends(style, "mistral", embed(["word " * 2000] * 5, "e", dimensions=64), server)
    assert [len(body["input"]) for body in server.bodies] == [3, 2]
    assert server.bodies[0]["output_dimension"] == 64
    assert "dimensions" not in server.bodies[0]


@style_of
def test_an_error_has_the_vectors_before_it(style: str) -> None:
    server = Server(vectors, (400, {"error": {"message": "too long"}}))
    with pytest.raises(BadRequestError, match="too long") as caught:
        sends(style, "qwen", embed(["a"] * 11, "e"), server)
    assert list(caught.value.partial) == [[1.0]] * 10
    server = Server((400, {"error": {"message": "too long"}}))
    with pytest.raises(BadRequestError) as caught:
        sends(style, "qwen", embed(["a"] * 11, "e"), server)
    assert caught.value.partial is None


@joined(
    ("answer", "message"),
    [
        ({"data": [{"embedding": [1.0]}]}, "expected 2 vectors, not 1"),
        ({"data": []}, "expected 2 vectors, not 0"),
        ({"data": [{"embedding": [1.0]}, {"embedding": []}]}, "vector 1 has no numbers"),
        ({"data": [{}, {"embedding": [1.0]}]}, "vector 0 has no numbers"),
        ({"data": [{"embedding": [1.0]}] * 3}, "expected 2 vectors, not 3"),
        ({"data": [{"embedding": "AAA"}] * 2}, "a vector is not base64 of 32-bit floats"),
        ({"data": [{"embedding": "AAAA"}] * 2}, "a vector is not base64 of 32-bit floats"),
    ],
)
def test_responses_that_are_no_vectors(answer: Any, message: str) -> None:
    with pytest.raises(StreamInvalid) as caught:
        sends("threads", "openai", embed(["a", "b"], "e"), Server(answer))
    assert message in str(caught.value)
    assert json.loads(caught.value.raw) == answer


def test_vectors_in_base64_and_without_an_index() -> None:
    data = [{"embedding": packed(0.5, -2.0)}, {"embedding": [1, 2]}]
    found = sends("threads", "vllm", embed(["a", "b"], "e"), Server({"data": data}))
    assert list(found) == [[0.5, -2.0], [1.0, 2.0]]
    assert found.usage is None


# --- tasks ----------------------------------------------------------------------------------------

TASK_TYPES = [
    "RETRIEVAL_QUERY",
    "RETRIEVAL_DOCUMENT",
    "SEMANTIC_SIMILARITY",
    "CLASSIFICATION",
    "CLUSTERING",
    "QUESTION_ANSWERING",
    "FACT_VERIFICATION",
    "CODE_RETRIEVAL_QUERY",
]


def one_vector(body: Any) -> Any:
    return {"embeddings": [{"values": [1.0]} for _ in body["requests"]]}


def test_tasks_of_gemini() -> None:
    server = Server(*[one_vector] * 8)
    for task in TASKS:
        found = sends("threads", "gemini", embed("a", "gemini-embedding-001", task=task), server)
        assert found.notes == ()
    assert [body["requests"][0]["taskType"] for body in server.bodies] == TASK_TYPES
    assert list(gemini.types.TaskType) == TASK_TYPES


def test_tasks_that_are_read_in_the_text() -> None:
    server = Server(*[one_vector] * 8)
    notes = []
    for task in TASKS:
        work = embed("a", "gemini-embedding-2", task=task, dimensions=768)
        notes += sends("threads", "gemini", work, server).notes
    parts = [body["requests"][0]["content"]["parts"] for body in server.bodies]
    assert [each[0]["text"] for each in parts] == [
        "task: search result | query: a",
        "title: none | text: a",
        "task: sentence similarity | query: a",
        "task: classification | query: a",
        "task: clustering | query: a",
        "task: question answering | query: a",
        "task: fact checking | query: a",
        "task: code retrieval | query: a",
    ]
    assert "taskType" not in server.bodies[0]["requests"][0]
    config = server.bodies[0]["requests"][0]["embedContentConfig"]
    assert config == {"outputDimensionality": 768}
    assert str(notes[1]) == (
        "task: gemini-embedding-2 reads the task in the text: 'title: none | text: ' precedes each "
        "text"
    )


def test_a_task_that_a_host_has_no_field_for_is_a_note() -> None:
    found = sends("threads", "openai", embed("a", "e", task="query"), Server(vectors))
    assert [str(note) for note in found.notes] == [
        "task: not sent: embeddings of this API have no field for it"
    ]


# --- Vertex ---------------------------------------------------------------------------------------

VERTEX = {"api_key": None, "token": lambda: "t", "project": "p", "location": "us-central1"}


@style_of
def test_vertex_has_predict_for_older_models(style: str) -> None:
    for model, sizes in (("text-embedding-005", [5, 2]), ("gemini-embedding-001", [1] * 7)):
        emulator = Emulator()
        texts = [f"Port {number}" for number in range(7)]
        work = embed(texts, model, task="document", dimensions=4)
        found = sends(style, "gemini@vertex", work, emulator, **VERTEX)
        bodies = [each["body"] for each in emulator.requests]
        assert [len(body["instances"]) for body in bodies] == sizes
        assert bodies[0]["instances"][0] == {"content": "Port 0", "task_type": "RETRIEVAL_DOCUMENT"}
        assert bodies[0]["parameters"] == {"outputDimensionality": 4}
        assert [len(vector) for vector in found] == [4] * 7
        assert found.usage == Usage(input=14, total=14)


@style_of
def test_vertex_has_embed_content_for_the_newest(style: str) -> None:
    emulator = Emulator()
    work = embed(["a", "b"], "gemini-embedding-2", dimensions=4)
    found = sends(style, "gemini@vertex", work, emulator, **VERTEX)
    assert [each["target"].rpartition(":")[2] for each in emulator.requests] == ["embedContent"] * 2
    assert [len(vector) for vector in found] == [4, 4]
    assert found[0] != found[1]


def test_predictions_that_are_no_vectors() -> None:
    for predictions in ([{"bytesBase64Encoded": "AA"}], [5], []):
        server = Server({"predictions": predictions})
        with pytest.raises(StreamInvalid):
            sends("threads", "gemini@vertex", embed("a", "text-embedding-005"), server, **VERTEX)


# --- refused --------------------------------------------------------------------------------------


@joined("provider", ["deepseek", "groq", "kimi@cn", "minimax", "anthropic", "kimi@anthropic"])
def test_hosts_without_embeddings_get_no_request(provider: str) -> None:
    server = Server()
    for style in STYLES:
        with pytest.raises(ConfigurationError, match="has no embeddings") as caught:
            sends(style, provider, embed("a", "e"), server)
        assert caught.value.provider == provider
    assert server.requests == []


@joined(
    ("texts", "options", "message"),
    [
        ([], {}, "texts: expected at least one text"),
        ("", {}, "texts[0]: expected a text that is not empty"),
        (["a", ""], {}, "texts[1]: expected a text that is not empty"),
        (["a", 5], {}, "texts[1]: expected a text, not int"),
        (["a"] * 150 + ["\ud800"], {}, "texts[150]"),
        (5, {}, "texts: expected a list"),
        ("a", {"dimensions": 0}, "dimensions: expected"),
        ("a", {"dimensions": True}, "dimensions: expected"),
        ("a", {"task": "guess"}, "task: expected one of query, document"),
        ("a", {"task": ["query"]}, "task: expected one of query, document"),
    ],
)
def test_what_cannot_be_embedded_is_not_sent(texts: Any, options: Any, message: str) -> None:
    for provider in ("gemini", "openai", "gemini@vertex"):
        server = Server()
        more = VERTEX if provider == "gemini@vertex" else {}
        with pytest.raises(RuleError) as caught:
            sends("threads", provider, embed(texts, "m", **options), server, **more)
        assert message in str(caught.value)
        assert server.requests == []


@joined("model", ["", " ", 5, None])
def test_what_is_no_model(model: Any) -> None:
    for provider in ("gemini", "openai"):
        with pytest.raises(ConfigurationError, match="model: expected a name"):
            sends("threads", provider, embed("a", model), Server())


def test_wire_embed_has_a_client_of_its_own() -> None:
    emulator = Emulator()
    http = EmulatorTransport(emulator)
    found = wire.embed(
        ["a", "b"], "openai:text-embedding-3-small", api_key=KEY, http=http, dimensions=3
    )
    assert [len(vector) for vector in found] == [3, 3]
    server = Server(vectors)
    mock = httpx.MockTransport(server)
    wire.embed("a", "ollama@openai:nomic-embed-text:latest", http=mock)
    assert server.bodies[0]["model"] == "nomic-embed-text:latest"
    with pytest.raises(ConfigurationError, match="missing 'provider:model-name'"):
        wire.embed("a", "gemini-embedding-001", http=mock)
    with pytest.raises(ConfigurationError, match="api_kye"):
        wire.embed("a", "gemini:e", api_kye="x")  # type: ignore[call-arg]
    with pytest.raises(WireError, match="GEMINI_API_KEY"):
        wire.embed("a", "gemini:gemini-embedding-001", http=mock)


def test_batches_keep_the_order_and_the_limits() -> None:
    texts = ["a" * (number * 7 % 11 + 1) for number in range(60)]
    for most in (1, 2, 7, 100):
        for most_tokens in (0, 1, 12, 500):
            found = list(batches(texts, most, most_tokens))
            assert [text for batch in found for text in batch] == texts
            assert all(0 < len(batch) <= most for batch in found)
            assert not most_tokens or all(
                len(batch) == 1 or sum(map(len, batch)) <= most_tokens for batch in found
            )
