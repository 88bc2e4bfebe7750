"""`wire.otel.tracing`: the spans and metrics of calls, on all clients."""

from __future__ import annotations

import json
import sys
from typing import Any

import anyio
import pytest
from opentelemetry.trace import SpanKind, StatusCode

from tests.http.drive import Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, loopback, whole
from tests.telemetry import Telemetry
from wire import (
    AsyncChat,
    Chat,
    Message,
    Reply,
    Retry,
    Stop,
    ToolCall,
    ToolResult,
    Usage,
    errors,
)
from wire.around import Around, Give, Outgoing, Signal, Wait
from wire.otel import tracing
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

KEY = "AIza" + "-fake-key-of-tracing-0123456789"  # in two: no file holds a key
UNAVAILABLE = whole({"error": {"code": 503, "message": "x", "status": "UNAVAILABLE"}}, 503)
BACKENDS = ["sync", "asyncio", "trio"]


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def ask(backend: str, script: Any, *, stream: bool = False, model: str = "", **options: Any) -> Any:
    """The reply of a chat on the emulator, with threads, asyncio or trio."""
    model = model or "gemini:gemini-3.8-flash"
    options = {"api_key": KEY, "retry": Retry(base=0), **options}
    emulator = Emulator(script)
    if backend == "sync":
        with Chat(model, http=EmulatorTransport(emulator), **options) as chat:
            if not stream:
                return chat.ask("A secret tide?")
            with chat.stream("A secret tide?") as events:
                return events.reply()

    async def main() -> Any:
        async with AsyncChat(model, http=AsyncEmulatorTransport(emulator), **options) as chat:
            if not stream:
                return await chat.ask("A secret tide?")
            async with chat.stream("A secret tide?") as events:
                return await events.reply()

    return anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_is_one_span_with_its_attempts(backend: str, telemetry: Telemetry) -> None:
    script = [{"fault": "503"}, {"say": "At 05:12."}]
    reply = ask(backend, script, around=telemetry.tracing())
    (span,) = telemetry.spans
    assert (span.name, span.kind) == ("generate_content gemini-3.8-flash", SpanKind.CLIENT)
    assert span.status.status_code is StatusCode.UNSET
    attributes = dict(span.attributes)
    cost = attributes.pop("gen_ai.usage.cost")
    assert cost == float(reply.cost.total)
    assert attributes == {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3.8-flash",
        "gen_ai.response.finish_reasons": ("STOP",),
        "gen_ai.response.id": reply.id,
        "gen_ai.response.model": "gemini-3.8-flash",
        "gen_ai.usage.input_tokens": reply.usage.input,
        "gen_ai.usage.output_tokens": reply.usage.output,
        "server.address": "generativelanguage.googleapis.com",
        "server.port": 443,
        "wire.attempts": 2,
        "wire.provider": "gemini",
    }
    assert [(each.name, dict(each.attributes)) for each in span.events] == [
        ("wire.attempt", {"wire.attempt": 1}),
        ("wire.head", {"http.response.status_code": 503}),
        (
            "wire.attempt.failed",
            {
                "wire.attempt": 1,
                "error.type": "OverloadedError",
                "http.response.status_code": 503,
                "wire.wait": 0.0,
            },
        ),
        ("wire.attempt", {"wire.attempt": 2}),
        ("wire.head", {"http.response.status_code": 200}),
    ]
    (duration,) = telemetry.points("gen_ai.client.operation.duration")
    assert duration.count == 1
    assert duration.attributes["gen_ai.response.model"] == "gemini-3.8-flash"
    assert "error.type" not in duration.attributes
    counted = {
        point.attributes["gen_ai.token.type"]: point.sum
        for point in telemetry.points("gen_ai.client.token.usage")
    }
    assert counted == {"input": reply.usage.input, "output": reply.usage.output}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_stream_has_the_time_to_its_first_chunk(backend: str, telemetry: Telemetry) -> None:
    reply = ask(backend, [{"say": "At 05:12."}], stream=True, around=telemetry.tracing())
    (span,) = telemetry.spans
    assert span.attributes["gen_ai.request.stream"] is True
    seconds = span.attributes["gen_ai.response.time_to_first_chunk"]
    assert 0 < seconds < (span.end_time - span.start_time) / 1e9
    assert span.attributes["gen_ai.usage.output_tokens"] == reply.usage.output
    assert [each.name for each in span.events] == ["wire.attempt", "wire.head", "wire.first_chunk"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_sets_status_and_type(backend: str, telemetry: Telemetry) -> None:
    script = [{"fault": "400"}]
    with pytest.raises(errors.BadRequestError):
        ask(backend, script, around=telemetry.tracing())
    (span,) = telemetry.spans
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description == "BadRequestError"
    assert span.attributes["error.type"] == "BadRequestError"
    assert span.attributes["http.response.status_code"] == 400
    (duration,) = telemetry.points("gen_ai.client.operation.duration")
    assert duration.attributes["error.type"] == "BadRequestError"
    assert telemetry.points("gen_ai.client.token.usage") == []


def test_a_stream_that_is_left(drive: Drive, telemetry: Telemetry) -> None:
    with loopback(lambda number, request: GOOD_STREAM) as server:
        drive.session(
            lambda door: door.read(most=1), base_url=server.url, around=telemetry.tracing()
        )
    (span,) = telemetry.spans
    assert span.attributes["wire.stream.left"] is True
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes["server.address"] == "127.0.0.1"


def test_a_client_has_spans_too(drive: Drive, telemetry: Telemetry) -> None:
    with loopback(lambda number, request: [whole(ANSWER)]) as server:
        drive.send(base_url=server.url, around=telemetry.tracing())
    (span,) = telemetry.spans
    assert span.name == "generate_content m"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_call_that_is_cancelled_ends_its_span(backend: str, telemetry: Telemetry) -> None:
    async def main() -> None:
        with anyio.CancelScope() as scope:

            def cancelled(outgoing: Outgoing) -> Around:
                yield
                scope.cancel()
                yield Wait(Signal())

            around = [telemetry.tracing(), cancelled]
            http = AsyncEmulatorTransport(Emulator([]))
            async with AsyncChat(
                "gemini:gemini-3.8-flash", api_key=KEY, http=http, around=around
            ) as chat:
                await chat.ask("Hi")
        assert scope.cancelled_caught

    anyio.run(main, backend=backend)
    (span,) = telemetry.spans
    assert span.attributes["error.type"] == "_OTHER"
    assert span.status.status_code is StatusCode.ERROR


def test_content_is_off_and_keys_are_never_there(telemetry: Telemetry) -> None:
    script = [{"fault": "400; message=the secret tide"}, {"say": f"A secret answer, {KEY}."}]
    with pytest.raises(errors.BadRequestError):
        ask("sync", script[:1], around=telemetry.tracing())
    ask("sync", script[1:], around=telemetry.tracing())
    assert "secret" not in telemetry.text
    telemetry.exporter.clear()
    ask("sync", script[1:], around=telemetry.tracing(content=True))
    with pytest.raises(errors.BadRequestError):
        ask("sync", script[:1], around=telemetry.tracing(content=True))
    answered, failed = telemetry.spans
    question = {"role": "user", "parts": [{"type": "text", "content": "A secret tide?"}]}
    assert json.loads(answered.attributes["gen_ai.input.messages"]) == [question]
    (message,) = json.loads(answered.attributes["gen_ai.output.messages"])
    assert message["parts"][0]["type"] == "text"
    assert message["parts"][0]["content"].startswith("A secret answer, ")
    assert "exception.message" in failed.attributes
    assert failed.status.description == failed.attributes["exception.message"]
    assert KEY not in telemetry.text


MODELS = [
    *("gemini:gemini-2.5-flash", "openai@chat:gpt-4.1", "openai@responses:gpt-4.1"),
    "anthropic:claude-sonnet-4-5",
]


def place(name: str) -> str:
    """Find a place."""
    return name


@pytest.mark.parametrize("model", MODELS)
def test_request_and_content_have_the_names_of_the_conventions(
    model: str, telemetry: Telemetry
) -> None:
    options = {"system": "Be brief.", "tools": [place], "max_tokens": 200}
    history = [
        Message.user("Where is Brest?"),
        Message.assistant(ToolCall(id="c1", name="place", arguments={"name": "Brest"})),
        Message.tool_response(ToolResult("c1", "place", "In the west.")),
    ]
    http = EmulatorTransport(Emulator([{"say": "In the west."}]))
    around = telemetry.tracing(content=True)
    with Chat(model, api_key=KEY, http=http, around=around, **options) as chat:
        chat.ask(messages=history)
    (span,) = telemetry.spans
    assert span.attributes["gen_ai.request.max_tokens"] == 200
    messages = json.loads(span.attributes["gen_ai.input.messages"])
    system = [{"type": "text", "content": "Be brief."}]
    if model.startswith("openai@chat"):  # whose system prompt is a message
        assert messages.pop(0) == {"role": "system", "parts": system}
        assert "gen_ai.system_instructions" not in span.attributes
    else:
        assert json.loads(span.attributes["gen_ai.system_instructions"]) == system
    asked, called, answered = messages
    assert asked == {"role": "user", "parts": [{"type": "text", "content": "Where is Brest?"}]}
    (call,), (answer,) = called["parts"], answered["parts"]
    assert (called["role"], call["type"], call["name"]) == ("assistant", "tool_call", "place")
    assert call["arguments"] == {"name": "Brest"}
    assert (answered["role"], answer["type"]) == ("tool", "tool_call_response")
    assert "In the west." in json.dumps(answer["response"])
    (tool,) = json.loads(span.attributes["gen_ai.tool.definitions"])
    assert (tool["type"], tool["name"], tool["description"]) == (
        "function",
        "place",
        "Find a place.",
    )
    assert tool["parameters"]["properties"] == {"name": {"type": "string"}}
    assert "wire.request.body" not in span.attributes


def test_settings_are_attributes_without_content(telemetry: Telemetry) -> None:
    http = EmulatorTransport(Emulator([{"say": "{}"}]))
    settings: Any = {
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["###"],
        "options": {"gemini": {"generationConfig": {"topK": 4}}},
    }
    schema = {"type": "object", "properties": {}}
    with Chat(
        "gemini:gemini-3.8-flash", api_key=KEY, http=http, around=telemetry.tracing()
    ) as chat:
        chat.ask("A secret tide?", output=schema, **settings)
    (span,) = telemetry.spans
    found = {name: value for name, value in span.attributes.items() if ".request." in name}
    assert found == {
        "gen_ai.request.model": "gemini-3.8-flash",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.top_p": 0.9,
        "gen_ai.request.top_k": 4,
        "gen_ai.request.stop_sequences": ("###",),
    }
    assert span.attributes["gen_ai.output.type"] == "json"
    assert "secret" not in telemetry.text


def test_a_key_that_a_server_echoes_is_hidden(telemetry: Telemetry) -> None:
    reply = Reply(Message.assistant(KEY), Stop("end", raw=KEY), id=KEY, model=KEY)

    def echo(outgoing: Outgoing) -> Around:
        yield Give(reply)

    ask("sync", [], around=[telemetry.tracing(content=True), echo])
    assert len(telemetry.spans) == 1
    assert KEY not in telemetry.text
    (duration,) = telemetry.points("gen_ai.client.operation.duration")
    assert KEY not in str(duration.attributes)


def test_names_of_older_conventions(telemetry: Telemetry) -> None:
    ask(
        "sync",
        [{"say": "At 05:12."}],
        model="xai:grok-4.3",
        around=telemetry.tracing(conventions="1.36", content=True),
    )
    (span,) = telemetry.spans
    assert span.attributes["gen_ai.system"] == "xai"
    assert "A secret tide?" in span.attributes["gen_ai.prompt"]
    assert "At 05:12." in span.attributes["gen_ai.completion"]
    assert not {"gen_ai.provider.name", "gen_ai.output.messages"} & set(span.attributes)
    assert span.instrumentation_scope.schema_url == "https://opentelemetry.io/schemas/1.36.0"


def test_a_result_that_no_server_sent_costs_nothing(telemetry: Telemetry) -> None:
    reply = Reply(Message.assistant("Hi."), Stop("end"), Usage(input=10, output=5))

    def cached(outgoing: Outgoing) -> Around:
        yield Give(reply)

    ask("sync", [], around=[telemetry.tracing(), cached])
    (span,) = telemetry.spans
    assert span.attributes["wire.attempts"] == 0
    assert not {"gen_ai.usage.input_tokens", "gen_ai.usage.cost"} & set(span.attributes)
    assert telemetry.points("gen_ai.client.token.usage") == []


def test_an_unknown_cost_has_its_reason(telemetry: Telemetry) -> None:
    ask("sync", [{"say": "Hi."}], model="ollama:qwen3:8b", around=telemetry.tracing())
    (span,) = telemetry.spans
    assert "gen_ai.usage.cost" not in span.attributes
    assert span.attributes["wire.cost.unknown"] == "the catalogue has no models of 'ollama'"


def test_bad_arguments_are_refused() -> None:
    for given, words in (
        ({"content": "yes"}, "content: expected a bool, not str"),
        ({"conventions": "1.0"}, "conventions: expected 1.41 or 1.36, not '1.0'"),
        ({"tracer_provider": 5}, "tracer_provider: expected an object with get_tracer, not int"),
        ({"meter_provider": 5}, "meter_provider: expected an object with get_meter, not int"),
    ):
        with pytest.raises(errors.ConfigurationError, match=words):
            tracing(**given)  # type: ignore[arg-type]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(errors.ConfigurationError, match=r"pip install 'wire-llm\[otel\]'"):
        tracing()
