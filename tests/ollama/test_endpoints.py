"""Each endpoint of the server, with an emulator behind it; the window, which it cuts in silence."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest

from tests.ollama.samples import MODEL, NAME, chat, client, request
from wire import Agent, AsyncChat, Client, embed, errors, ollama, tool
from wire.ollama.types import (
    DeleteRequest,
    EmbedRequest,
    GenerateRequest,
    Options,
    PullRequest,
    ShowRequest,
)
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport


@tool
def tide(port: str) -> str:
    """The tide.

    Args:
        port: The port.
    """
    return f"05:12 in {port}"


def test_a_chat_with_tools_whole_and_streamed():
    script: list[dict[str, Any]] = [
        {"say": {"text": "I look.", "calls": [{"name": "tide", "args": {"port": "Brest"}}]}},
        {"say": "At 05:12."},
    ]
    emulator = Emulator(script * 2)
    first = Agent(chat(emulator), tools=[tide]).run("When is high tide in Brest?")
    assert first.text == "At 05:12."
    result = emulator.requests[1]["body"]["messages"][-1]
    assert (result["content"], result["tool_name"]) == ("05:12 in Brest", "tide")
    with Agent(chat(emulator), tools=[tide]).stream("And in Ré?") as events:
        assert list(events)
    assert emulator.requests[3]["body"]["stream"] is True


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_chat_in_an_event_loop(backend: str):
    async def ask() -> str:
        http = AsyncEmulatorTransport(Emulator([{"say": "At 05:12."}]))
        async with AsyncChat(f"{NAME}:{MODEL}", http=http) as asked:
            async with asked.stream("Hi") as events:
                return "".join([event.text async for event in events if hasattr(event, "text")])

    assert "At 05:12." in anyio.run(ask, backend=backend)


def test_the_models_of_the_server():
    with client() as there:
        names = [model.id for model in there.models()]
        assert MODEL in names
        shown = there.send(ollama.show_model(ShowRequest(model=MODEL)))
        known = ollama.model_facts(shown)
        assert known.context_window == 40_960
        assert known.capabilities == {"completion", "tools", "thinking"}
        with pytest.raises(errors.NotFoundError, match="`ollama pull llama9` gets it"):
            there.send(ollama.show_model(ShowRequest(model="llama9")))
        with there.stream(ollama.stream_pull(PullRequest(model="llama9"))) as progress:
            assert [line.status for line in progress][-1] == "success"
        assert there.send(ollama.pull_model(PullRequest(model="llama9"))).status == "success"
        assert "llama9:latest" in [model.id for model in there.models()]
        there.send(ollama.delete_model(DeleteRequest(model="llama9")))
        assert [model.id for model in there.models()] == names
        there.send(ollama.chat(request(options=Options(num_ctx=8192))))
        [loaded] = there.send(ollama.list_running()).models or ()
        assert (loaded.name, loaded.context_length) == (MODEL, 8192)
        assert there.send(ollama.version()).version


def test_the_client_for_javascript_sends_the_model_as_name():
    with httpx.Client(transport=EmulatorTransport(Emulator()), base_url="http://local") as there:

        def send(method: str, path: str, **body: Any) -> httpx.Response:
            return there.request(method, f"/api/{path}", json=body)

        pulled = send("POST", "pull", name="llama9", stream=False)
        assert (pulled.status_code, pulled.json()) == (200, {"status": "success"})
        shown = send("POST", "show", name="llama9").json()
        assert "completion" in shown["capabilities"]
        assert send("DELETE", "delete", name="llama9").status_code == 200
        assert send("POST", "show", name="llama9").status_code == 404
        assert send("POST", "chat", name=MODEL, messages=[]).status_code == 400


def test_a_model_is_loaded_and_unloaded():
    agent = {"user-agent": "ollama/0.12.0"}
    with httpx.Client(
        transport=EmulatorTransport(Emulator()), base_url="http://local", headers=agent
    ) as there:
        assert there.head("/").status_code == 200
        assert there.get("/").text == "Ollama is running"

        def send(path: str, **body: Any) -> Any:
            return there.post(f"/api/{path}", json={"model": MODEL, **body}).json()

        def names() -> list[str]:
            return [each["name"] for each in there.get("/api/ps").json()["models"]]

        loaded = send("chat", messages=[])
        assert (loaded["done_reason"], loaded["message"]["content"], names()) == (
            "load",
            "",
            [MODEL],
        )
        assert (send("generate", keep_alive="0s")["done_reason"], names()) == ("unload", [])
        loaded = send("generate", prompt="", keep_alive=-1)
        assert (loaded["done_reason"], loaded["response"], names()) == ("load", "", [MODEL])


def test_the_text_between_two_texts():
    given = GenerateRequest(model="qwen2.5-coder:1.5b", prompt="def add(", suffix="return a")
    with client(Emulator([{"say": "a, b):"}] * 2)) as there:
        whole = there.send(ollama.generate(given))
        with there.stream(ollama.stream_generate(given)) as lines:
            streamed = "".join(line.response or "" for line in lines)
    assert (whole.text, streamed) == ("a, b):", "a, b):")


def test_embeddings():
    http = EmulatorTransport(Emulator())
    vectors = embed(["Ebb.", "Flood."], f"{NAME}:nomic-embed-text", dimensions=8, http=http)
    assert [len(vector) for vector in vectors] == [8, 8]
    assert vectors.usage is not None
    assert vectors.usage.input > 0
    with pytest.raises(errors.ContextLengthError):
        embed(["ebb " * 9000], f"{NAME}:nomic-embed-text", http=http)
    with client() as there:
        cut = EmbedRequest(model="nomic-embed-text", input="ebb " * 9000, truncate=True)
        assert len(there.send(ollama.embed(cut)).embeddings or ()) == 1


@pytest.mark.parametrize(
    ("asked", "made"),
    [(1, 1), (767, 767), (768, 768), (769, 768), (0, 768), (-1, 768), (10**300, 768)],
)
def test_the_size_of_a_vector_is_at_most_that_of_the_model(asked: int, made: int):
    """Ollama cuts a vector to `dimensions`, and ignores what it cannot cut to."""
    body = json.dumps({"model": "nomic-embed-text", "input": "Ebb.", "dimensions": asked})
    with httpx.Client(transport=EmulatorTransport(Emulator())) as http:
        answer = http.post("http://localhost:11434/api/embed", content=body)
    assert [len(vector) for vector in answer.json()["embeddings"]] == [made]


def told_of_loading(reply: Any) -> list[str]:
    return [str(note) for note in reply.notes if "anew" in note.message]


def test_options_that_load_the_model_anew_are_told():
    def options(**loading: Any) -> Any:
        return {"ollama": {"options": {"temperature": 0.5, **loading}}}

    with chat() as asked:
        small = options(num_ctx=8192)
        assert told_of_loading(asked.ask("Hi", options=small)) == []
        assert told_of_loading(asked.ask("Hi", temperature=0.2, options=small)) == []
        asked.call("Hi", options=options(num_ctx=4096))  # which is not sent
        with asked.stream("Hi", options=options(num_ctx=16_384)) as events:
            told = told_of_loading(events.reply())
        assert told == [
            "options.num_ctx: changed from 8192 to 16384 since the last request: the server loads "
            "the model anew, which takes seconds to minutes"
        ]
        [told_default, more] = told_of_loading(asked.ask("Hi", options=options(use_mmap=False)))
        assert told_default.startswith("options.num_ctx: changed from 16384 to the default since")
        assert more.startswith("options.use_mmap: changed from the default to False since")
    with chat() as first, chat() as second:  # each has a client of its own
        first.ask("Hi", options=options(num_ctx=8192))
        assert told_of_loading(second.ask("Hi")) == []


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_options_of_an_agent_in_an_event_loop_load_the_model_once(backend: str):
    async def ask() -> list[list[str]]:
        http = AsyncEmulatorTransport(Emulator())
        async with AsyncChat(f"{NAME}:{MODEL}", http=http) as asked:
            window = {"ollama": {"options": {"num_ctx": 8192}}}
            replies = [await asked.ask("Hi", options=given) for given in (window, window, {})]
            return [told_of_loading(each) for each in replies]

    first, same, other = anyio.run(ask, backend=backend)
    assert (first, same, len(other)) == ([], [], 1)


def test_a_long_prompt_is_refused_and_not_cut():
    long = "tide " * 6000
    with pytest.raises(errors.ContextLengthError, match="exceeds the context length"):
        chat().ask(long)
    wider = {"ollama": {"options": {"num_ctx": 16_384}}}
    assert chat(options=wider).ask(long).text
    # What the server does by itself: the first message is gone, and nobody is told.
    forgets = chat(options={"ollama": {"truncate": True}})
    forgets.ask("My name is Ada. " + "tide " * 4000)
    reply = forgets.ask("What is my name?")
    assert reply.usage is not None
    assert reply.usage.input < 100


@pytest.mark.parametrize("fault", ["cut", "reset", "drop-finish", "error", "garbage"])
def test_faults_of_a_stream(fault: str):
    emulator = Emulator([{"say": "At 05:12 in Brest.", "fault": fault}])
    with pytest.raises(errors.WireError) as caught:
        with chat(emulator).stream("Hi") as events:
            list(events)
    assert type(caught.value) in (
        errors.StreamIncomplete,
        errors.ConnectionLost,
        errors.ServerError,
        errors.StreamInvalid,
    )


def test_a_fault_at_any_byte():
    size = len(Emulator([{"say": "At 05:12."}]).answer(*_post()).body)
    for at in range(1, size, 7):
        emulator = Emulator([{"say": "At 05:12.", "fault": f"cut; bytes={at}"}])
        with pytest.raises((errors.StreamIncomplete, errors.ConnectionLost)):
            with chat(emulator).stream("Hi") as events:
                list(events)


def _post() -> tuple[str, str, dict[str, str], bytes]:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    return "POST", "/api/chat", {}, json.dumps(body).encode()


def test_the_variable_of_the_vendors_clients(monkeypatch: pytest.MonkeyPatch):
    for value, url in (
        ("10.0.0.7", "http://10.0.0.7:11434"),
        (":8000", "http://localhost:8000"),
        ("https://llm.example", "https://llm.example"),
        ("http://10.0.0.7:11434/v1", "http://10.0.0.7:11434"),
    ):
        monkeypatch.setenv("OLLAMA_HOST", value)
        with Client(NAME) as there:
            assert there.describe()["base_url"] == url
    monkeypatch.delenv("OLLAMA_HOST")
    with Client(f"{NAME}@cloud", api_key="fake-key") as there:
        assert there.preview(ollama.version()).url == "https://ollama.com/api/version"
