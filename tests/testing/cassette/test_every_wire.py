"""C-09: answers, streams, tools, uploads and batches of every wire are recorded and replayed, in
threads, asyncio and trio: the replay gives the same values without a server.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.http.drive import Drive
from wire import Chat, Message, ToolResult, anthropic, converse, gemini, ollama, openai
from wire.gemini import interactions
from wire.openai import responses
from wire.testing import AsyncCassette, Cassette
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport


def of_gemini(door: Any) -> list[Any]:
    def request(text: str) -> Any:
        return gemini.GenerateContentRequest(contents=gemini.contents(text))

    model = "gemini-3.8-flash"
    answer = door.send(gemini.generate_content(model, request("Hi")))
    stream = door.read(gemini.stream_generate_content(model, request("Count")))
    lines = gemini.batch_lines({"k1": request("a")})
    file = door.run(gemini.upload_file(lines, mime_type="application/jsonl", chunk=256 * 1024))
    name = door.send(gemini.create_batch(model, file.name or "")).name
    states = [door.send(gemini.get_batch(name)) for _ in range(2)]
    results = door.send(gemini.download_file(states[-1].response.responses_file))
    return [answer, stream.reply, file, *states, gemini.batch_results(results)]


def of_chat_completions(door: Any) -> list[Any]:
    def request(text: str) -> Any:
        message = openai.Message(role="user", content=text)
        return openai.ChatCompletionRequest(model="gpt-4.1", messages=[message])

    answer = door.send(openai.chat_completions(request("Hi")))
    stream = door.read(openai.stream_chat_completions(request("Count")))
    return [answer, stream.reply]


def of_messages(door: Any) -> list[Any]:
    def request(text: str) -> Any:
        message = anthropic.Message(role="user", content=text)
        return anthropic.MessageRequest(model="claude-sonnet-5", max_tokens=100, messages=[message])

    answer = door.send(anthropic.create_message(request("Hi")))
    stream = door.read(anthropic.stream_message(request("Count")))
    item = anthropic.BatchRequest(custom_id="a", params=request("a"))
    made = door.send(anthropic.create_batch([item]))
    states = [door.send(anthropic.get_batch(made.id)) for _ in range(2)]
    return [answer, stream.reply, *states, *door.send(anthropic.batch_results(made.id))]


def of_responses(door: Any) -> list[Any]:
    request = responses.ResponseRequest(model="gpt-5.6", input="Hi", store=False)
    answer = door.send(responses.create_response(request))
    stream = door.read(responses.stream_response(request))
    return [answer, stream.reply]


def of_converse(door: Any) -> list[Any]:
    def request(text: str) -> Any:
        block = converse.ContentBlock(text=text)
        return converse.ConverseRequest(messages=[converse.Message(role="user", content=[block])])

    model = "amazon.nova-2-lite-v1:0"
    answer = door.send(converse.converse(model, request("Hi")))
    stream = door.read(converse.converse_stream(model, request("Count")))
    return [answer, stream.reply]


def of_interactions(door: Any) -> list[Any]:
    request = interactions.InteractionRequest(model="gemini-3.8-flash", input="Hi")
    answer = door.send(interactions.create_interaction(request))
    stored = door.send(interactions.get_interaction(answer.id))
    stream = door.read(interactions.stream_interaction(request))
    return [answer, stored, stream.reply]


def of_ollama(door: Any) -> list[Any]:
    def request(text: str) -> Any:
        message = ollama.Message(role="user", content=text)
        return ollama.ChatRequest(model="qwen3:8b", messages=[message])

    answer = door.send(ollama.chat(request("Hi")))
    stream = door.read(ollama.stream_chat(request("Count")))
    generated = ollama.GenerateRequest(model="qwen3:8b", prompt="Once")
    more = [
        door.send(ollama.generate(generated)),
        door.read(ollama.stream_generate(generated)).reply,
        door.send(ollama.embed(ollama.EmbedRequest(model="nomic-embed-text", input="Ebb."))),
        door.send(ollama.show_model(ollama.ShowRequest(model="qwen3:8b"))),
        door.send(ollama.pull_model(ollama.PullRequest(model="llama9"))),
        door.send(ollama.list_models()),
    ]
    return [answer, stream.reply, *more]


WORK: dict[str, tuple[str, Callable[[Any], list[Any]]]] = {
    "Gemini": ("gemini", of_gemini),
    "chat completions": ("openai", of_chat_completions),
    "Messages": ("anthropic", of_messages),
    "Responses": ("openai@responses", of_responses),
    "Converse": ("bedrock", of_converse),
    "Interactions": ("gemini@interactions", of_interactions),
    "Ollama": ("ollama", of_ollama),
}


@pytest.mark.row("C-09")
@pytest.mark.parametrize("wire_name", WORK)
def test_calls_of_a_wire(drive: Drive, tmp_path: Path, wire_name: str):
    path = tmp_path / "x.cassette.json"
    provider, work = WORK[wire_name]
    is_sync = drive.name == "sync"
    kind: Any = Cassette if is_sync else AsyncCassette
    inner: Any = EmulatorTransport() if is_sync else AsyncEmulatorTransport()
    place = {"region": "us-east-1"} if provider == "bedrock" else {}
    live = drive.session(work, provider, http=kind(path, "once", inner=inner), **place)
    http = kind(path)
    assert drive.session(work, provider, http=http, **place) == live
    http.check_all_played()
    assert all(each is not None for each in live)


@pytest.mark.row("C-09")
@pytest.mark.parametrize(
    "model",
    [
        "gemini:gemini-3.8-flash",
        "openai@chat:gpt-4.1",
        "anthropic:claude-sonnet-5",
        "openai:gpt-5.6",
        "bedrock:amazon.nova-2-lite-v1:0",
        "gemini@interactions:gemini-3.8-flash",
        "ollama:qwen3:8b",
    ],
)
def test_a_conversation_with_a_tool(tmp_path: Path, model: str):
    """Ids and signatures that the server made come back, so the second turn matches too."""
    path = tmp_path / "x.cassette.json"

    def high_tide(port: str) -> str:
        """When the tide is high in a port."""
        return "05:12"

    def turn(http: Any) -> list[Any]:
        place = {"region": "us-east-1"} if model.startswith("bedrock:") else {}
        with Chat(model, api_key="fake-key", http=http, tools=[high_tide], **place) as chat:
            first = chat.ask("When is high tide in Brest?")
            assert first.tool_calls
            results = [ToolResult(each.id, each.name, "05:12") for each in first.tool_calls]
            asked = Message.user("When is high tide in Brest?")
            answered = Message.tool_response(*results)
            second = chat.ask(messages=[asked, first.message, answered])
        return [msgspec.json.encode(each.message) for each in (first, second)]

    live = turn(Cassette(path, "once", inner=EmulatorTransport(Emulator())))
    http = Cassette(path)
    assert turn(http) == live
    http.check_all_played()
