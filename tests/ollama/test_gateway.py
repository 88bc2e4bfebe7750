"""Clients of Ollama's API on models of other vendors, behind a gateway."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.serving.running import MODELS, backend
from wire import Agent, Chat, Client, errors, ollama, tool
from wire.ollama.types import ShowRequest
from wire.serving import Gateway, serve
from wire.testing.emulator import Emulator

OTHERS = pytest.mark.parametrize("api", MODELS)
CALLS = {"text": "I look.", "calls": [{"name": "tide", "args": {"port": "Brest"}}]}


@tool
def tide(port: str) -> str:
    """The tide.

    Args:
        port: The port.
    """
    return f"05:12 in {port}"


def asked(url: str, **body: Any) -> httpx.Response:
    given = {"model": "any", "messages": [{"role": "user", "content": "Hi"}], **body}
    return httpx.post(f"{url}/api/chat", json=given, trust_env=False)


@OTHERS
def test_a_client_whole_and_streamed(api: str):
    emulator = Emulator([{"say": "At 05:12."}] * 3)
    with serve(Gateway(backend(api, emulator))) as server:
        with Chat("ollama:any", base_url=server.url) as chat:
            assert chat.ask("When?").text == "At 05:12."
            with chat.stream("And now?") as events:
                assert events.reply().text == "At 05:12."
        response = asked(server.url)  # which streams, as the body does not say
        assert response.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(each) for each in response.text.splitlines()]
        assert [each["done"] for each in lines] == [False] * (len(lines) - 1) + [True]
        assert "".join(each["message"]["content"] for each in lines) == "At 05:12."
        assert lines[-1]["eval_count"] > 0


@OTHERS
def test_a_loop_of_tools(api: str):
    for streams in (False, True):
        emulator = Emulator([{"say": CALLS}, {"say": "At 05:12."}])
        with serve(Gateway(backend(api, emulator))) as server:
            with Chat("ollama:any", base_url=server.url) as chat:
                agent = Agent(chat, tools=[tide])
                if streams:
                    with agent.stream("When is high tide in Brest?") as events:
                        list(events)
                    text = events.result.text
                else:
                    text = agent.run("When is high tide in Brest?").text
        assert text == "At 05:12."


def test_calls_without_ids_find_their_results():
    emulator = Emulator([{"say": "At 05:12."}])
    call = {"function": {"name": "tide", "arguments": {"port": "Brest"}}}
    tools = [{"type": "function", "function": {"name": "tide", "parameters": {"type": "object"}}}]
    messages = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "", "tool_calls": [call, call]},
        {"role": "tool", "content": "05:12", "tool_name": "tide"},
        {"role": "tool", "content": "05:13"},
    ]
    with serve(Gateway(backend("anthropic", emulator))) as server:
        response = asked(server.url, messages=messages, tools=tools, stream=False)
    assert response.json()["message"]["content"] == "At 05:12."
    _, said, results = emulator.requests[0]["body"]["messages"]
    ids = [each["id"] for each in said["content"]]
    assert [each["tool_use_id"] for each in results["content"]] == ids
    assert [each["content"] for each in results["content"]] == ["05:12", "05:13"]


def test_settings_reach_the_other_model():
    emulator = Emulator([{"say": "{}"}])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    options = {"temperature": 0.5, "num_predict": 99, "seed": 4, "stop": ["x"], "num_ctx": 9000}
    with serve(Gateway(backend("gemini", emulator))) as server:
        response = asked(
            server.url, stream=False, options=options, format=schema, think="low", keep_alive=5
        )
    sent = emulator.requests[0]["body"]["generationConfig"]
    assert (sent["temperature"], sent["maxOutputTokens"], sent["seed"]) == (0.5, 99, 4)
    assert (sent["stopSequences"], sent["thinkingConfig"]["thinkingLevel"]) == (["x"], "LOW")
    assert response.status_code == 200
    told = " ".join(value for name, value in response.headers.items() if "note" in name)
    assert "num_ctx" in told
    assert "keep_alive" in told


def test_a_model_of_the_same_api_gets_everything():
    emulator = Emulator([{"say": "At 05:12."}])
    with serve(Gateway(backend("ollama:qwen3:8b", emulator))) as server:
        asked(server.url, stream=False, keep_alive="5m", think=False, options={"num_ctx": 9000})
    body = emulator.requests[0]["body"]
    assert (body["keep_alive"], body["think"], body["options"]) == ("5m", False, {"num_ctx": 9000})
    # The client has not said it, and its server's default holds.
    assert not {"truncate", "shift"} & body.keys()


def test_models_and_embeddings():
    named = {"fast": backend("gemini"), "vectors": backend("openai:text-embedding-3-small")}
    with serve(Gateway(named)) as server:
        with Client("ollama", base_url=server.url, retry=None) as client:
            assert [model.id for model in client.models()] == ["fast", "vectors"]
            shown = client.send(ollama.show_model(ShowRequest(model="fast")))
            assert ollama.model_facts(shown).context_window == 1_000_000
            vectors = client.send(ollama.embed(ollama.EmbedRequest(model="vectors", input="Hi")))
            assert len((vectors.embeddings or [[]])[0]) == 1536
            with pytest.raises(errors.NotFoundError):
                client.send(ollama.show_model(ShowRequest(model="none")))


def test_an_error_of_the_other_vendor():
    emulator = Emulator([{"fault": "429"}, {"say": "At 05:12 in Brest.", "fault": "cut"}])
    with serve(Gateway(backend("anthropic", emulator))) as server:
        response = asked(server.url, stream=False)
        assert (response.status_code, list(response.json())) == (429, ["error"])
        last = asked(server.url).text.splitlines()[-1]
        assert list(json.loads(last)) == ["error"]


def generated(url: str, **body: Any) -> httpx.Response:
    return httpx.post(f"{url}/api/generate", json={"model": "any", **body}, trust_env=False)


@OTHERS
def test_a_prompt_is_continued_whole_and_streamed(api: str):
    emulator = Emulator([{"say": {"text": "At 05:12.", "thoughts": "Tides."}}] * 2)
    with serve(Gateway(backend(api, emulator))) as server:
        asked = {"prompt": "When is high tide?", "system": "Be brief."}
        response = generated(server.url, **asked, stream=False)
        body = response.json()
        assert (body["response"], body["done"], body["done_reason"]) == ("At 05:12.", True, "stop")
        assert body["eval_count"] > 0
        assert "message" not in body
        response = generated(server.url, **asked)
        assert response.headers["content-type"] == "application/x-ndjson"
        lines = [json.loads(each) for each in response.text.splitlines()]
    assert "".join(each["response"] for each in lines) == "At 05:12."
    assert [each["done"] for each in lines] == [False] * (len(lines) - 1) + [True]
    assert (lines[-1]["done_reason"], lines[-1]["eval_count"] > 0) == ("stop", True)
    sent = json.dumps(emulator.requests[0]["body"])
    assert ("When is high tide?" in sent, "Be brief." in sent) == (True, True)


def test_a_continuation_has_settings_pictures_and_thoughts():
    emulator = Emulator([{"say": {"text": "{}", "thoughts": "Tides."}}])
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    png = "iVBORw0KGgoAAAANSUhEUg=="
    with serve(Gateway(backend("gemini", emulator))) as server:
        body = generated(
            server.url,
            prompt="What is it?",
            images=[png],
            think=True,
            format=schema,
            options={"num_predict": 99, "num_ctx": 9000},
            stream=False,
        ).json()
        assert (body["response"], body["thinking"]) == ("{}", "Tides.")
    sent = emulator.requests[0]["body"]
    assert sent["contents"][0]["parts"][1]["inlineData"]["data"] == png
    assert sent["generationConfig"]["maxOutputTokens"] == 99
    assert sent["generationConfig"]["responseMimeType"] == "application/json"


def test_a_continuation_by_a_model_of_the_same_server():
    emulator = Emulator([{"say": "At 05:12."}])
    with serve(Gateway(backend("ollama:qwen3:8b", emulator))) as server:
        generated(server.url, prompt="Hi", keep_alive="5m", think=False, options={"num_ctx": 9000})
    body = emulator.requests[0]["body"]
    assert body["messages"] == [{"role": "user", "content": "Hi"}]
    assert (body["keep_alive"], body["think"], body["options"]) == ("5m", False, {"num_ctx": 9000})
    assert not {"truncate", "shift"} & body.keys()


@pytest.mark.parametrize("api", ["gemini", "ollama:qwen3:8b"])
@pytest.mark.parametrize(
    ("key", "value"),
    [("suffix", "return a"), ("raw", True), ("template", "{{ .Prompt }}"), ("context", [1, 2])],
)
def test_what_only_ollamas_server_can_do_with_a_prompt_is_refused(api: str, key: str, value: Any):
    emulator = Emulator()
    with serve(Gateway(backend(api, emulator))) as server:
        response = generated(server.url, prompt="Hi", **{key: value})
    assert (response.status_code, emulator.requests) == (400, [])
    assert response.json()["error"].startswith(f"{key}: ")
    assert "/api/chat" in response.json()["error"]


def test_a_model_is_loaded_and_unloaded_without_a_request():
    emulator = Emulator()
    with serve(Gateway(backend("anthropic", emulator))) as server:
        loaded = generated(server.url).json()
        assert (loaded["response"], loaded["done"], loaded["done_reason"]) == ("", True, "load")
        assert generated(server.url, keep_alive="0s").json()["done_reason"] == "unload"
        loaded = asked(server.url, messages=[], keep_alive=0).json()
        assert (loaded["message"]["content"], loaded["done_reason"]) == ("", "unload")
        assert asked(server.url, messages=[], keep_alive="10m").json()["done_reason"] == "load"
    assert emulator.requests == []


def test_what_the_command_of_ollama_asks_before_a_chat():
    with serve(Gateway({"fast": backend("gemini"), "old": backend("chat")})) as server:
        own = httpx.Client(
            base_url=server.url, trust_env=False, headers={"user-agent": "ollama/0.12.0"}
        )
        with own as client:
            assert (client.head("/").status_code, client.get("/").text) == (
                200,
                "Ollama is running",
            )
            assert client.get("/api/version").json() == {"version": "0.12.0"}
            [fast, old] = client.get("/api/ps").json()["models"]
            assert (fast["name"], fast["context_length"]) == ("fast", 1_000_000)
            assert len(old["digest"]) == 64
            assert [each["name"] for each in client.get("/api/tags").json()["models"]] == [
                "fast",
                "old",
            ]
            can = [
                client.post("/api/show", json={"model": name}).json()["capabilities"]
                for name in ("fast", "old")
            ]
            assert can == [
                ["completion", "tools", "vision", "thinking"],
                ["completion", "tools", "vision"],
            ]
            for method, path in (("POST", "/api/pull"), ("DELETE", "/api/delete")):
                refused = client.request(method, path, json={"model": "fast"})
                assert refused.status_code == 404
                assert refused.json()["error"].startswith("The gateway has no models on a disk")
        # The root is that of no vendor for other clients.
        assert httpx.get(server.url, trust_env=False).status_code == 404
