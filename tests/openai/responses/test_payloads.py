"""Snapshots of the bodies of neutral requests at each host of Responses, or of their refusals."""

from __future__ import annotations

import json
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from wire import Media, Message, Text, ToolResult, notes, tool
from wire.errors import RuleError
from wire.neutral.request import Output, Request, Tool
from wire.openai import responses
from wire.openai.responses.types import Response

PNG = b"\x89PNG\r\n\x1a\n"
HOSTS = ("openai", "deepseek", "openrouter", "llama.cpp", "xai")
TURN = [
    {
        "id": "rs_1",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Two ports."}],
        "content": [{"type": "reasoning_text", "text": "Both."}],
        "encrypted_content": "gAAA",
        "status": None,
    },
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "phase": "commentary",
        "content": [{"type": "output_text", "text": "I look.", "annotations": [], "new": 1.0}],
    },
    {
        "id": "fc_1",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_1",
        "name": "high_tide",
        "arguments": '{ "port": "Brest" }',
    },
    {
        "id": "fc_2",
        "type": "function_call",
        "status": "completed",
        "call_id": "call_2",
        "name": "high_tide",
        "arguments": '{"port":"サンマロ"}',
    },
    {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search"}},
]


@tool
def high_tide(port: str, day: int = 1) -> str:
    """When the tide is high."""
    return "05:12"


def turn(host: str) -> Message:
    """What the model said, as this host sent it."""
    body = json.dumps({"object": "response", "status": "completed", "output": TURN})
    read: Response = responses.parse_response(body.encode())
    return responses.parse_reply(read, provider=f"{host}@responses", model="gpt-5.6").message


def results() -> Message:
    return Message.tool_response(
        ToolResult("call_2", "high_tide", {"at": "06:30"}),
        ToolResult("call_1", "high_tide", "no such port", error=True),
    )


ASKED = Message.user("When is high tide in Brest and Saint-Malo?")
REQUESTS: dict[str, Any] = {
    "a question": lambda host: Request(messages=(Message.user("Hi"),), system="Be brief."),
    "instructions at their places": lambda host: Request(
        messages=(
            Message.system("Be brief."),
            Message.user("Hi"),
            Message.assistant("Ho", Text("I will not.", refusal=True)),
            Message.developer("In French."),
            Message.user("And?"),
        ),
        max_tokens=100,
    ),
    "pictures and files": lambda host: Request(
        messages=(
            Message.user(
                "Compare.",
                Media(data=PNG, media_type="image/png", detail="low"),
                Media(url="https://example.com/a.png"),
                Media(data=b"%PDF", media_type="application/pdf", name="tides.pdf"),
            ),
        )
    ),
    "tools": lambda host: Request(
        messages=(ASKED,),
        tools=(high_tide, Tool("run_sql", "A query.", kind="custom", grammar="SELECT .+")),
        tool_choice="required",
        effort="low",
    ),
    "a turn of the model goes back": lambda host: Request(
        messages=(ASKED, turn(host), results(), Message.user("Thanks.")), tools=(high_tide,)
    ),
    "a turn of another model": lambda host: Request(
        messages=(ASKED, turn("elsewhere"), results(), Message.user("Thanks."))
    ),
    "a picture as a result": lambda host: Request(
        messages=(
            ASKED,
            turn(host),
            Message.tool_response(
                ToolResult("call_1", "high_tide", "See."),
                ToolResult(
                    "call_2", "high_tide", "", media=(Media(data=PNG, media_type="image/png"),)
                ),
            ),
        )
    ),
    "an output": lambda host: Request(
        messages=(ASKED,),
        output=Output(
            {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]},
            "tide",
            strict=True,
        ),
    ),
}


def rendered(request: Request, host: str) -> Any:
    """The body with its notes, or the message of the error."""
    try:
        call = responses.call(request, "gpt-5.6", f"{host}@responses")
    except RuleError as error:
        return str(error)
    return {"body": call.body.decode(), "notes": [str(note) for note in notes(call)]}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("name", REQUESTS)
def test_the_body(name: str, host: str, snapshot: SnapshotAssertion) -> None:
    assert rendered(REQUESTS[name](host), host) == snapshot
