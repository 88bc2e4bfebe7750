"""Spans and metrics as OpenTelemetry's own exporter sends them. `make test-otlp`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.otlp.phoenix import COMMAND, phoenix, spans_at
from tests.otlp.receiver import Received, receiver
from wire import Agent, AsyncChat, Chat, LLMAgent, Retry
from wire.otel import tracing
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

pytestmark = pytest.mark.otlp

MODEL = "gemini:gemini-3.8-flash"
CALLS = {"calls": [{"name": "high_tide", "args": {"port": port}} for port in ("Brest", "Dover")]}
SCRIPT = [{"fault": "503"}, {"say": CALLS}, {"say": "At 17:40."}]


def high_tide(port: str) -> str:
    """When the tide is high."""
    return "17:40"


def run(backend: str, url: str, *, metrics: bool = True, **options: Any) -> None:
    """A run of an agent whose spans and metrics are sent to `url`."""
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{url}/v1/traces")))
    exporter = OTLPMetricExporter(f"{url}/v1/metrics")
    readers = [PeriodicExportingMetricReader(exporter)] if metrics else []
    meters = MeterProvider(metric_readers=readers)
    spans = tracing(tracer_provider=tracers, meter_provider=meters, **options)
    emulator = Emulator(SCRIPT)
    of_chat: dict[str, Any] = {"api_key": "fake-key", "retry": Retry(base=0), "around": spans}
    of_agent: dict[str, Any] = {"tools": [high_tide], "tracing": spans, "name": "tides"}

    async def main() -> None:
        chat = AsyncChat(MODEL, http=AsyncEmulatorTransport(emulator), **of_chat)
        async with LLMAgent(chat, **of_agent) as agent:
            await agent.run("When?")

    if backend == "sync":
        with Agent(Chat(MODEL, http=EmulatorTransport(emulator), **of_chat), **of_agent) as agent:
            agent.run("When?")
    else:
        anyio.run(main, backend=backend)
    tracers.shutdown()  # sends what is left
    meters.shutdown()


TREE = [
    "invoke_agent tides",
    *["invoke_agent tides / execute_tool high_tide"] * 2,
    *["invoke_agent tides / generate_content gemini-3.8-flash"] * 2,
]


def values(attributes: Any) -> dict[str, Any]:
    """Attributes of OTLP as plain values."""
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


def first_call(received: Received) -> Any:
    calls = [each for each in received.spans if each.name.startswith("generate_content")]
    return min(calls, key=lambda each: each.start_time_unix_nano)


@pytest.mark.parametrize("backend", ["sync", "asyncio", "trio"])
def test_the_tree_arrives(backend: str) -> None:
    with receiver() as received:
        run(backend, received.url)
    assert received.tree == TREE
    assert len({span.trace_id for span in received.spans}) == 1
    call = first_call(received)
    assert (call.kind, call.status.code) == (call.SPAN_KIND_CLIENT, 0)
    assert [each.name for each in call.events] == [
        "wire.attempt",
        "wire.head",
        "wire.attempt.failed",
        "wire.attempt",
        "wire.head",
    ]
    attributes = values(call.attributes)
    assert attributes["gen_ai.provider.name"] == "gcp.gemini"
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert isinstance(attributes["gen_ai.usage.cost"], float)
    (resource,) = received.traces[0].resource_spans
    assert resource.scope_spans[0].scope.name == "wire"
    assert resource.scope_spans[0].schema_url == "https://opentelemetry.io/schemas/1.41.0"
    text = str(received.traces)
    assert "fake-key" not in text
    assert "When?" not in text
    assert "17:40" not in text


def test_metrics_arrive() -> None:
    with receiver() as received:
        run("sync", received.url)
    metrics = {
        metric.name: metric.histogram.data_points
        for request in received.metrics
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.HasField("histogram")
    }
    (seconds,) = metrics["gen_ai.client.operation.duration"]
    assert seconds.count == 2
    tokens = metrics["gen_ai.client.token.usage"]
    kinds = {values(each.attributes)["gen_ai.token.type"]: each.count for each in tokens}
    assert kinds == {"input": 2, "output": 2}


def test_content_arrives_if_it_is_asked_for() -> None:
    with receiver() as received:
        run("sync", received.url, content=True)
    tool = next(each for each in received.spans if each.name == "execute_tool high_tide")
    assert values(tool.attributes)["gen_ai.tool.call.result"] == '{"result":"17:40"}'
    assert "When?" in values(first_call(received).attributes)["gen_ai.input.messages"]
    assert "fake-key" not in str(received.traces)


@pytest.mark.skipif(not COMMAND.exists(), reason="no .venv-phoenix: make test-otlp")
@pytest.mark.timeout(300)
def test_a_server_of_another_project_keeps_the_tree(tmp_path: Path) -> None:
    """Phoenix takes spans, and no metrics."""
    with phoenix(tmp_path) as url:
        for backend in ("sync", "asyncio", "trio"):
            run(backend, url, metrics=False)
        spans = spans_at(url, 15)
    assert len({each["context"]["trace_id"] for each in spans}) == 3
    names = {each["context"]["span_id"]: each["name"] for each in spans}
    found = [f"{names.get(each['parent_id'])} / {each['name']}" for each in spans]
    inside = [path for path in TREE if " / " in path]
    assert sorted(found) == sorted([*inside, "None / invoke_agent tides"] * 3)
    calls = [each for each in spans if each["name"].startswith("generate_content")]
    assert {each["attributes"]["gen_ai.provider.name"] for each in calls} == {"gcp.gemini"}
    assert {each["status_code"] for each in spans} == {"UNSET"}
