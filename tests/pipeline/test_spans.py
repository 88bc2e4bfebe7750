"""The spans of pipelines and their nodes are the parents of those of agents and calls."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.trace import StatusCode

from tests.pipeline.pipelines import BACKENDS, connecting, run
from tests.telemetry import Telemetry
from wire.errors import PipelineError
from wire.pipeline import Engine, NodeError, parse
from wire.testing.emulator import Emulator

MODEL = "gemini:gemini-3.8-flash"
AGENTS = """digraph tides {
    start; both [type=fan_out]; all [type=fan_in]; exit
    north [prompt="Bergen?"]; south [prompt="Brest?"]
    start -> both; both -> north; both -> south; north -> all; south -> all; all -> exit
}"""


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


@pytest.mark.parametrize("backend", BACKENDS)
def test_nodes_of_parallel_branches_are_parents(backend: str, telemetry: Telemetry) -> None:
    spans = telemetry.tracing()
    emulator = Emulator([{"say": "17:40"}] * 2, lenient=True)
    run(backend, AGENTS, model=MODEL, connect=connecting(emulator, around=spans), tracing=spans)
    work = "invoke_workflow tides"
    call = "generate_content gemini-3.8-flash"

    def agent(node: str) -> list[str]:
        path = f"{work} / node both / node {node}"
        below = f"{path} / invoke_agent {node}"
        return [path, below, f"{below} / {call}"]

    assert telemetry.tree == [
        work,
        f"{work} / node all",
        f"{work} / node both",
        *agent("north"),
        *agent("south"),
        f"{work} / node exit",
        f"{work} / node start",
    ]
    assert dict(telemetry.named("node north").attributes) == {
        "wire.node.id": "north",
        "wire.node.type": "codergen",
    }
    assert dict(telemetry.named(work).attributes) == {
        "gen_ai.operation.name": "invoke_workflow",
        "gen_ai.workflow.name": "tides",
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_agent_that_streams_has_the_same_spans(backend: str, telemetry: Telemetry) -> None:
    spans = telemetry.tracing()
    text = 'digraph one { start; ask [prompt="Hi"]; exit; start -> ask -> exit }'
    script = [{"say": {"calls": [{"name": "list_dir", "args": {"path": "."}}]}}, {"say": "17:40"}]
    connect = connecting(Emulator(script, lenient=True), around=spans)
    run(backend, text, connect=connect, tracing=spans, model=MODEL, report=lambda _: None)
    below = "invoke_workflow one / node ask / invoke_agent ask"
    call = f"{below} / generate_content gemini-3.8-flash"
    inside = [each for each in telemetry.tree if each.startswith(f"{below} / ")]
    assert inside == [f"{below} / execute_tool list_dir", call, call]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_node_that_fails_sets_status_and_type(backend: str, telemetry: Telemetry) -> None:
    def broken(visit: Any) -> None:
        raise LookupError("no such port")

    text = "digraph one { start; ask [type=broken]; exit; start -> ask -> exit }"
    with pytest.raises(NodeError):
        run(backend, text, types={"broken": broken}, tracing=telemetry.tracing())
    node, work = telemetry.named("node ask"), telemetry.named("invoke_workflow one")
    assert node.attributes["error.type"] == "LookupError"
    assert work.attributes["error.type"] == "NodeError"
    assert work.status.status_code is StatusCode.ERROR
    assert "no such port" not in telemetry.text


def test_older_conventions_have_no_workflows(telemetry: Telemetry) -> None:
    text = "digraph one { start; exit; start -> exit }"
    run("asyncio", text, tracing=telemetry.tracing(conventions="1.36"))
    assert dict(telemetry.named("pipeline one").attributes) == {"wire.pipeline": "one"}


def test_models_of_the_environment_are_traced(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    spans = telemetry.tracing()
    chat: Any = Engine(parse(AGENTS), model=MODEL, tracing=spans)._connect(MODEL)
    assert chat.client._around == (spans,)


def test_what_makes_no_spans_is_refused() -> None:
    with pytest.raises(PipelineError, match="tracing: expected what wire"):
        Engine(parse(AGENTS), model=MODEL, tracing=5)  # type: ignore[arg-type]
