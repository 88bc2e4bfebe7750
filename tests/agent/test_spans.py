"""The spans of runs and tools, and that they are the parents of the spans of calls."""

from __future__ import annotations

import json
import threading
from typing import Any

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

from tests.agent.agents import MODEL, on, talk
from tests.telemetry import Telemetry
from wire import (
    Agent,
    AsyncChat,
    Chat,
    FallbackChat,
    LLMAgent,
    TextDelta,
    Tool,
    ToolResult,
    errors,
)
from wire.agent.config import LLMConfig
from wire.otel import tracing
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import tool

STYLES = ["threads", "asyncio", "trio"]
KEY = "AIza" + "-fake-key-of-spans-012345678901"  # in two: no file holds a key
CHAT = "generate_content gemini-3.1-pro-preview"
INNER = "generate_content gemini-3.8-flash"


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def calls(*ports: str, name: str = "high_tide") -> dict[str, Any]:
    return {"say": {"calls": [{"name": name, "args": {"port": port}} for port in ports]}}


def traced(style: str, telemetry: Telemetry, script: Any, **options: Any) -> Any:
    """A run of an agent whose chat is traced too."""
    spans = telemetry.tracing(content=options.pop("content", False))
    return talk(style, script, "When?", chat={"around": spans}, tracing=spans, **options)


class Ports:
    """A tool that asks a model of its own, when as many of its calls run as it is told."""

    def __init__(self, telemetry: Telemetry, count: int, style: str) -> None:
        answers = [{"say": "17:40"}] * count
        self._options = {"api_key": KEY, "around": telemetry.tracing()}
        self._emulator = Emulator(answers, lenient=True)
        self._count, self._all_run = count, threading.Barrier(count)
        self._running, self._event = 0, None if style == "threads" else anyio.Event()

    def plain(self, port: str) -> str:
        """When the tide is high in a port."""
        self._all_run.wait(10)
        http = EmulatorTransport(self._emulator)
        with Chat("gemini:gemini-3.8-flash", http=http, **self._options) as chat:
            return chat.ask(port).text

    async def asynchronous(self, port: str) -> str:
        """When the tide is high in a port."""
        if self._event is not None:
            self._running += 1
            if self._running == self._count:
                self._event.set()
            await self._event.wait()
        http = AsyncEmulatorTransport(self._emulator)
        async with AsyncChat("gemini:gemini-3.8-flash", http=http, **self._options) as chat:
            return (await chat.ask(port)).text


@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("style", STYLES)
def test_spans_of_runs_and_of_parallel_tools_are_parents(
    style: str, stream: bool, kind: str, telemetry: Telemetry
) -> None:
    ports = Ports(telemetry, 3, style)
    high_tide = tool(getattr(ports, kind), name="high_tide")
    script = [calls("Brest", "Bergen", "Dover"), {"say": "At 17:40."}]
    said = traced(style, telemetry, script, tools=[high_tide], name="tides", run={"stream": stream})
    assert said.result.text == "At 17:40."
    run = "invoke_agent tides"
    assert telemetry.tree == [
        run,
        *[f"{run} / execute_tool high_tide"] * 3,
        *[f"{run} / execute_tool high_tide / {INNER}"] * 3,
        *[f"{run} / {CHAT}"] * 2,
    ]
    parents = [each.parent.span_id for each in telemetry.spans if each.name == INNER]
    assert len({*parents}) == 3


@pytest.mark.parametrize("style", STYLES)
def test_what_the_spans_of_a_run_have(style: str, telemetry: Telemetry) -> None:
    def high_tide(port: str) -> str:
        """When the tide is high."""
        return "17:40"

    said = traced(style, telemetry, [calls("Brest"), {"say": "At 17:40."}], tools=[high_tide])
    run, tool_span = telemetry.named("invoke_agent"), telemetry.named("execute_tool high_tide")
    assert (run.kind, tool_span.kind) == (SpanKind.INTERNAL, SpanKind.INTERNAL)
    assert dict(run.attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.request.model": "gemini-3.1-pro-preview",
        "gen_ai.usage.input_tokens": said.result.usage.input,
        "gen_ai.usage.output_tokens": said.result.usage.output,
        **(
            {"gen_ai.usage.reasoning.output_tokens": said.result.usage.reasoning}
            if said.result.usage.reasoning
            else {}
        ),
        "wire.run.reason": "end",
    }
    (call,) = (run.call for run in said.result.runs)
    assert dict(tool_span.attributes) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "high_tide",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": call.id,
        "gen_ai.tool.description": "When the tide is high.",
    }
    assert {run.status.status_code, tool_span.status.status_code} == {StatusCode.UNSET}


def test_content_is_off_and_keys_are_never_there(telemetry: Telemetry) -> None:
    def high_tide(port: str) -> str:
        """When the tide is high."""
        if port == "nowhere":
            raise LookupError(f"a secret fault, {KEY}")
        return f"a secret tide, {KEY}"

    script = [calls("a secret port", "nowhere"), {"say": "At a secret time."}]
    traced("threads", telemetry, script, tools=[high_tide])
    assert len(telemetry.spans) == 5
    assert "secret" not in telemetry.text
    telemetry.exporter.clear()
    traced("threads", telemetry, script, tools=[high_tide], content=True)
    tools = [each for each in telemetry.spans if each.name == "execute_tool high_tide"]
    failed, answered = sorted(tools, key=lambda each: each.status.is_ok)
    assert json.loads(answered.attributes["gen_ai.tool.call.arguments"]) == {
        "port": "a secret port"
    }
    assert json.loads(answered.attributes["gen_ai.tool.call.result"]) == {
        "result": "a secret tide, ***"
    }
    assert failed.attributes["exception.message"] == "a secret fault, ***"
    assert KEY not in telemetry.text


@pytest.mark.parametrize("style", STYLES)
def test_a_tool_that_fails_sets_status_and_type(style: str, telemetry: Telemetry) -> None:
    def high_tide(port: str) -> str:
        """When the tide is high."""
        raise LookupError("no such port")

    traced(style, telemetry, [calls("Brest"), {"say": "I do not know."}], tools=[high_tide])
    span = telemetry.named("execute_tool high_tide")
    assert span.attributes["error.type"] == "LookupError"
    assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, "LookupError")
    assert span.events == ()
    assert telemetry.named("invoke_agent").status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("style", STYLES)
def test_a_tool_past_its_timeout_ends_its_span(style: str, telemetry: Telemetry) -> None:
    release = threading.Event()

    # In a thread of its own, the time may run before the function has the processor.
    @tool(name="high_tide", timeout=0.2)
    def plain(port: str) -> str:
        """When the tide is high."""
        release.wait(10)
        return "17:40"

    @tool(name="high_tide", timeout=0.01)
    async def asynchronous(port: str) -> str:
        """When the tide is high."""
        await anyio.sleep_forever()
        return "17:40"

    slow = plain if style == "threads" else asynchronous
    try:
        traced(style, telemetry, [calls("Brest"), {"say": "Too slow."}], tools=[slow])
    finally:
        release.set()
    span = telemetry.named("execute_tool high_tide")
    assert span.attributes["error.type"] == "ToolError"


@pytest.mark.parametrize("style", STYLES)
def test_a_run_that_fails_sets_status_and_type(style: str, telemetry: Telemetry) -> None:
    with pytest.raises(errors.BadRequestError):
        traced(style, telemetry, [{"fault": "400"}], name="tides")
    span = telemetry.named("invoke_agent tides")
    assert span.attributes["error.type"] == "BadRequestError"
    assert "wire.run.reason" not in span.attributes
    assert telemetry.tree == ["invoke_agent tides", f"invoke_agent tides / {CHAT}"]


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_a_run_that_is_cancelled_ends_all_spans(style: str, telemetry: Telemetry) -> None:
    async def main() -> None:
        async def high_tide(port: str) -> str:
            """When the tide is high."""
            scope.cancel()
            await anyio.sleep_forever()
            return ""

        http = AsyncEmulatorTransport(Emulator([calls("Brest")]))
        chat = AsyncChat(MODEL, api_key=KEY, http=http, around=telemetry.tracing())
        async with LLMAgent(chat, tools=[high_tide], tracing=telemetry.tracing()) as agent:
            with anyio.CancelScope() as scope:
                await agent.run("When?")

    on(style, main)
    assert telemetry.named("invoke_agent").attributes["error.type"] == "_OTHER"
    assert telemetry.named("execute_tool high_tide").attributes["error.type"] == "ToolError"
    assert len(telemetry.spans) == 3


def streamed(style: str, agent: Any, each: Any) -> None:
    """Call `each` with each event of a run; it ends the run if that returns true."""
    if style == "threads":
        with agent.stream("When?") as events:
            for event in events:
                if each(event):
                    return
        return

    async def main() -> None:
        async with agent.stream("When?") as events:
            async for event in events:
                if each(event):
                    return

    on(style, main)


def agent_on(style: str, script: Any, **options: Any) -> Any:
    if style == "threads":
        chat = Chat(
            MODEL, api_key=KEY, http=EmulatorTransport(Emulator(script)), around=options["tracing"]
        )
        return Agent(chat, **options)
    http = AsyncEmulatorTransport(Emulator(script))
    return LLMAgent(AsyncChat(MODEL, api_key=KEY, http=http, around=options["tracing"]), **options)


@pytest.mark.parametrize("style", STYLES)
def test_the_span_of_a_run_is_not_current_where_its_events_are_read(
    style: str, telemetry: Telemetry
) -> None:
    tracer = telemetry.tracers.get_tracer("test")

    def high_tide(port: str) -> str:
        """When the tide is high."""
        return "17:40"

    script = [calls("Brest"), {"say": "At 17:40."}]
    agent = agent_on(style, script, tools=[high_tide], tracing=telemetry.tracing())

    def checked(event: object) -> None:
        assert trace.get_current_span() is trace.INVALID_SPAN
        with tracer.start_as_current_span("shown"):
            pass

    streamed(style, agent, checked)
    assert set(telemetry.tree) == {
        "shown",
        "invoke_agent",
        f"invoke_agent / {CHAT}",
        "invoke_agent / execute_tool high_tide",
    }


@pytest.mark.parametrize("style", STYLES)
def test_a_run_whose_stream_is_left(style: str, telemetry: Telemetry) -> None:
    agent = agent_on(style, [{"say": "At 17:40."}], tracing=telemetry.tracing())
    streamed(style, agent, lambda event: True)
    span = telemetry.named("invoke_agent")
    assert span.attributes["wire.run.left"] is True
    assert span.status.status_code is StatusCode.UNSET
    assert telemetry.tree == ["invoke_agent", f"invoke_agent / {CHAT}"]


def test_a_message_that_joins_a_run_is_an_event_of_its_span(telemetry: Telemetry) -> None:
    http = EmulatorTransport(Emulator([{"say": "At 05:12."}, {"say": "At 11:20."}], lenient=True))
    chat = Chat(MODEL, api_key="fake-key", http=http)
    agent = Agent(chat, tracing=telemetry.tracing())
    with agent.stream("When?") as events:
        for event in events:
            if isinstance(event, TextDelta) and len(agent.history.messages) == 1:
                agent.send("And low tide?")
    run = telemetry.named("invoke_agent")
    assert [event.name for event in run.events] == ["wire.message_joined"]


def test_an_agent_that_is_a_tool_of_another(telemetry: Telemetry) -> None:
    inner = agent_on("threads", [{"say": "17:40"}], tracing=telemetry.tracing(), name="tides")

    def high_tide(port: str) -> str:
        """When the tide is high."""
        return inner.run(port).text

    outer = agent_on(
        "threads",
        [calls("Brest"), {"say": "At 17:40."}],
        tools=[high_tide],
        tracing=telemetry.tracing(),
        name="pilot",
    )
    outer.run("When?")
    below = "invoke_agent pilot / execute_tool high_tide"
    assert telemetry.tree == [
        "invoke_agent pilot",
        below,
        f"{below} / invoke_agent tides",
        f"{below} / invoke_agent tides / {CHAT}",
        *[f"invoke_agent pilot / {CHAT}"] * 2,
    ]


def test_a_run_of_several_models_that_stand_in_for_each_other(telemetry: Telemetry) -> None:
    spans = telemetry.tracing()
    down = Emulator([{"fault": "503"}])
    chats = [
        Chat(MODEL, api_key=KEY, http=EmulatorTransport(each), around=spans, retry=None)
        for each in (down, Emulator([{"say": "At 17:40."}]))
    ]
    with Agent(FallbackChat(chats), tracing=spans) as agent:
        agent.run("When?")
    assert telemetry.tree == ["invoke_agent", *[f"invoke_agent / {CHAT}"] * 2]


def test_a_resumed_run_counts_its_own_tokens(telemetry: Telemetry) -> None:
    spans = telemetry.tracing()
    schema = {"type": "object", "properties": {"port": {"type": "string"}}}
    passive = Tool("high_tide", "When the tide is high.", schema)
    script = [calls("Brest"), {"say": "At 17:40."}]
    agent = agent_on("threads", script, tools=[passive], tracing=spans)
    waiting = agent.run("When?")
    result = agent.resume(
        waiting.state, results=[ToolResult(waiting.waiting[0].id, "high_tide", "17:40")]
    )
    first, second = (each for each in telemetry.spans if each.name == "invoke_agent")
    assert first.attributes["wire.run.reason"] == "waiting"
    counted = [each.attributes["gen_ai.usage.input_tokens"] for each in (first, second)]
    assert counted == [waiting.usage.input, result.usage.input - waiting.usage.input]
    assert min(counted) > 0


def test_names_of_older_conventions(telemetry: Telemetry) -> None:
    def high_tide(port: str) -> str:
        """When the tide is high."""
        return "17:40"

    spans = telemetry.tracing(conventions="1.36", content=True)
    script = [calls("Brest"), {"say": "At 17:40."}]
    agent_on("threads", script, tools=[high_tide], tracing=spans).run("When?")
    assert telemetry.named("invoke_agent").attributes["gen_ai.system"] == "gcp.gemini"
    attributes = telemetry.named("execute_tool high_tide").attributes
    assert not {name for name in attributes if name.startswith("gen_ai.tool.call.r")}
    assert "gen_ai.tool.call.id" in attributes


def test_a_chat_that_an_agent_makes_from_a_name_is_traced(telemetry: Telemetry) -> None:
    spans = telemetry.tracing()
    config = LLMConfig("fake-key", provider="deepseek", model="deepseek-chat")
    agents: list[Any] = [
        Agent("ollama:qwen3:8b", tracing=spans),
        LLMAgent("ollama:qwen3:8b", tracing=spans),
        LLMAgent.from_config(config, tracing=spans),
    ]
    for agent in agents:
        assert agent.model.client._around == (spans,)


def test_what_makes_no_spans_is_refused() -> None:
    for given in (tracing, 5, object()):
        with pytest.raises(
            errors.ConfigurationError, match=r"tracing: expected what wire\.otel\.tr"
        ):
            Agent("ollama:qwen3:8b", tracing=given)  # type: ignore[arg-type]
