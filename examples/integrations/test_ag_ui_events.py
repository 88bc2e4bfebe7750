"""Runs as events of AG-UI, checked by its own models. `make test-integrations`."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("ag_ui", reason="ag-ui-protocol is not installed: make test-integrations")

from ag_ui import core
from ag_ui.encoder import EventEncoder
from ag_ui_events import events
from pydantic import TypeAdapter

from wire import Agent, Chat, retry
from wire.testing.emulator import Emulator, EmulatorTransport

MODELS = ("gemini:gemini-3.8-flash", "openai:gpt-5.4", "anthropic:claude-sonnet-5")
CALL = {"say": {"calls": [{"name": "high_tide", "args": {"port": "Brest"}}]}}
ANSWER = {"say": {"text": "At 05:12, and at 17:40.", "thoughts": "Which port?"}}
ANY: TypeAdapter[Any] = TypeAdapter(core.Event)


def high_tide(port: str) -> str:
    """When the tide is high in a port."""
    return "05:12"


def sent(model: str, script: list[Any]) -> list[Any]:
    """The events that a front end reads from the bytes of the stream."""
    body = core.RunAgentInput(
        thread_id="t",
        run_id="r",
        messages=[core.UserMessage(id="1", role="user", content="When is high tide?")],
    )
    http = EmulatorTransport(Emulator(script))
    chat = Chat(model, api_key="fake-key", http=http, retry=retry.NONE)
    with Agent(chat, tools=[high_tide]) as agent:
        lines = [EventEncoder().encode(each) for each in events(agent, body)]
    return [ANY.validate_python(json.loads(line.removeprefix("data: "))) for line in lines]


@pytest.mark.parametrize("model", MODELS)
def test_a_run_with_a_tool(model: str) -> None:
    found = sent(model, [CALL, ANSWER])
    assert (found[0].type, found[-1].type) == ("RUN_STARTED", "RUN_FINISHED")
    start, arguments, end, result = (each for each in found if each.type.startswith("TOOL_CALL"))
    assert (start.tool_call_name, json.loads(arguments.delta)) == ("high_tide", {"port": "Brest"})
    assert {start.tool_call_id} == {x.tool_call_id for x in (arguments, end, result)}
    assert json.loads(result.content) == {"result": "05:12"}
    text = [each for each in found if each.type.startswith("TEXT_MESSAGE")]
    assert (text[0].type, text[-1].type) == ("TEXT_MESSAGE_START", "TEXT_MESSAGE_END")
    assert "".join(each.delta for each in text[1:-1]) == "At 05:12, and at 17:40."
    assert len({each.message_id for each in text}) == 1


def test_a_run_that_fails_ends_what_it_began() -> None:
    cut = {"say": "At 05:12, and at 17:40.", "fault": "end; after=2"}
    found = sent("openai@chat:gpt-4.1", [cut])
    assert [each.type for each in found[-2:]] == ["TEXT_MESSAGE_END", "RUN_ERROR"]
    assert found[-1].code == "StreamIncomplete"
