"""S2-32: round trips of every kind, whole and streamed, with the payloads that are sent.

What is answered is written out here, and what is sent is compared whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import anyio
import httpx
import pytest

from wire import AsyncChat, Chat
from wire.core.retry import NONE
from wire.errors import ServerError
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Reply,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.neutral.request import Tool

MODEL = "gemini-3-flash-preview"
SIGNED = "CkkBdGlkZXBvb2wvc2lnbmVk+A=="
SHELL = Tool(
    "shell",
    "Runs a command.",
    {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
STYLES = ["threads", "asyncio", "trio"]


class Server:
    """Gives the answers one by one, and keeps what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.targets: list[str] = []
        self.headers: list[httpx.Headers] = []
        self.bodies: list[Any] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.targets.append(request.url.raw_path.decode())
        self.headers.append(request.headers)
        self.bodies.append(json.loads(request.content))
        answer = self.answers.pop(0)
        if isinstance(answer, list):
            body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in answer)
            return httpx.Response(200, text=body, headers={"content-type": "text/event-stream"})
        return httpx.Response(200, json=answer)


def asked(style: str, server: Server, *messages: Message, **settings: Any) -> Reply:
    options: Any = {"api_key": "fake-key", "http": httpx.MockTransport(server), "retry": NONE}
    if style == "threads":
        with Chat(f"gemini:{MODEL}", **options) as chat:
            return chat.ask(messages=messages, **settings)

    async def main() -> Reply:
        async with AsyncChat(f"gemini:{MODEL}", **options) as chat:
            return await chat.ask(messages=messages, **settings)

    return anyio.run(main, backend=style)


def streamed(
    style: str, server: Server, *messages: Message, **settings: Any
) -> tuple[list[Event], Reply]:
    options: Any = {"api_key": "fake-key", "http": httpx.MockTransport(server), "retry": NONE}
    if style == "threads":
        with Chat(f"gemini:{MODEL}", **options) as chat:
            with chat.stream(messages=messages, **settings) as stream:
                return list(stream), stream.reply()

    async def main() -> tuple[list[Event], Reply]:
        async with AsyncChat(f"gemini:{MODEL}", **options) as chat:
            async with chat.stream(messages=messages, **settings) as stream:
                return [event async for event in stream], await stream.reply()

    return anyio.run(main, backend=style)


def said(*parts: Any, finish: str | None = "STOP", **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **fields}


def call(command: str, signature: str | None = None, id: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {"name": "shell", "args": {"command": command}}
    part = {"functionCall": found if id is None else {"id": id, **found}}
    return part if signature is None else {**part, "thoughtSignature": signature}


def commands(reply: Reply) -> list[Any]:
    return [(made.name, made.arguments) for made in reply.tool_calls]


HI = Message.user("Hi")
USAGE = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_non_streaming_round_trip_and_payload_shape(style: str) -> None:
    server = Server(said({"text": "Hello."}, usageMetadata=USAGE))
    reply = asked(style, server, HI, system="Be brief.", max_tokens=9, temperature=0, tools=[SHELL])
    assert (reply.text, reply.stop.reason, reply.stop.raw) == ("Hello.", "end", "STOP")
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.total) == (3, 2, 5)
    assert server.targets == [f"/v1beta/models/{MODEL}:generateContent"]
    assert server.headers[0]["x-goog-api-key"] == "fake-key"
    assert "authorization" not in server.headers[0]
    assert server.bodies == [
        {
            "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "generationConfig": {"maxOutputTokens": 9, "temperature": 0},
            "store": False,
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "name": "shell",
                            "description": "Runs a command.",
                            "parameters": {
                                "type": "OBJECT",
                                "properties": {"command": {"type": "STRING"}},
                                "required": ["command"],
                            },
                        }
                    ]
                }
            ],
        }
    ]


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_non_streaming_includes_output_schema_and_thinking_level(style: str) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    server = Server(said({"text": '{"ok": true}'}))
    reply = asked(style, server, HI, output=schema, effort="low")
    assert reply.text == '{"ok": true}'
    config = server.bodies[0]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"] == {
        "type": "OBJECT",
        "properties": {"ok": {"type": "BOOLEAN"}},
        "required": ["ok"],
    }
    assert config["thinkingConfig"]["thinkingLevel"].upper() == "LOW"


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_streaming_sse_round_trip(style: str) -> None:
    chunks = [
        said({"text": "Let me see.", "thought": True}, finish=None),
        said({"text": "Hel"}, finish=None),
        said({"text": "lo."}, usageMetadata=USAGE),
    ]
    server = Server(chunks, said({"text": "Let me see.", "thought": True}, {"text": "Hello."}))
    events, reply = streamed(style, server, HI)
    assert events == [ThoughtDelta("Let me see."), TextDelta("Hel"), TextDelta("lo."), Done(reply)]
    whole = asked(style, server, HI)
    assert (whole.message, whole.stop) == (reply.message, reply.stop)
    assert server.targets == [
        f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse",
        f"/v1beta/models/{MODEL}:generateContent",
    ]
    assert server.bodies[0] == server.bodies[1]


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_non_streaming_emits_function_call(style: str) -> None:
    reply = asked(style, Server(said(call("ls", SIGNED, "fc-1"))), HI, tools=[SHELL])
    [made] = reply.tool_calls
    assert (made.id, made.name, made.arguments, made.signature) == (
        "fc-1",
        "shell",
        {"command": "ls"},
        SIGNED,
    )
    assert reply.stop.reason == "tool_calls"


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_streaming_flushes_text_before_tool_call(style: str) -> None:
    chunks = [
        said({"text": "I "}, finish=None),
        said({"text": "look."}, finish=None),
        said(call("ls", SIGNED)),
    ]
    events, reply = streamed(style, Server(chunks), HI, tools=[SHELL])
    [made] = reply.tool_calls
    assert events == [
        TextDelta("I "),
        TextDelta("look."),
        ToolCallStart(0, "shell", made.id),
        ToolCallDelta(0, '{"command":"ls"}'),
        ToolCallEnd(0, made),
        Done(reply),
    ]
    assert reply.text == "I look."


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_streaming_handles_text_and_function_call_in_same_chunk(style: str) -> None:
    chunks = [said({"text": "I look."}, call("ls", SIGNED), {"text": "Wait."})]
    events, reply = streamed(style, Server(chunks), HI, tools=[SHELL])
    [made] = reply.tool_calls
    assert events == [
        TextDelta("I look."),
        ToolCallStart(0, "shell", made.id),
        ToolCallDelta(0, '{"command":"ls"}'),
        ToolCallEnd(0, made),
        TextDelta("Wait."),
        Done(reply),
    ]


RICH = {
    "name": "shell",
    "args": {
        "command": '東京 "quoted" \\ \n🌊',
        "list": [1, 2.5, None, True, {"deep": []}],
        "strict": {"additionalProperties": None},
    },
}


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_non_streaming_emits_multiple_function_calls_with_rich_arguments(style: str) -> None:
    answer = said({"functionCall": RICH, "thoughtSignature": SIGNED}, call("ls"), call("ls"))
    reply = asked(style, Server(answer), HI, tools=[SHELL])
    assert commands(reply) == [
        ("shell", RICH["args"]),
        ("shell", {"command": "ls"}),
        ("shell", {"command": "ls"}),
    ]
    assert len({made.id for made in reply.tool_calls}) == 3
    assert [made.signature for made in reply.tool_calls] == [SIGNED, "", ""]


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_streaming_emits_exec_function_call_with_error_details(style: str) -> None:
    """A call, then an error object in the stream: the call is in the partial, the error typed."""
    error = {"error": {"code": 500, "message": "exec failed", "status": "INTERNAL"}}
    server = Server([said({"text": "I look."}, call("ls", SIGNED), finish=None), error])
    with pytest.raises(ServerError) as failed:
        streamed(style, server, HI, tools=[SHELL])
    assert (failed.value.status, failed.value.code) == (500, "INTERNAL")
    assert "exec failed" in str(failed.value)
    partial = failed.value.partial
    assert (partial.text, commands(partial)) == ("I look.", [("shell", {"command": "ls"})])


def results(reply: Reply, *contents: Any, errors: Sequence[bool] = ()) -> Message:
    made = [
        Message.tool_result(one, content, is_error=index < len(errors) and errors[index])
        for index, (one, content) in enumerate(zip(reply.tool_calls, contents, strict=True))
    ]
    return Message.tool_response(*(message.tool_results for message in made))


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_payload_includes_tool_outputs_in_followup_turn(style: str) -> None:
    first = said(call("ls", SIGNED, "fc-1"))
    server = Server(first, said({"text": "Done."}))
    reply = asked(style, server, HI, tools=[SHELL])
    last = asked(style, server, HI, reply.message, results(reply, "a.txt"), tools=[SHELL])
    assert last.text == "Done."
    assert server.bodies[1]["contents"] == [
        {"role": "user", "parts": [{"text": "Hi"}]},
        first["candidates"][0]["content"],
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "id": "fc-1",
                        "name": "shell",
                        "response": {"result": "a.txt"},
                    }
                }
            ],
        },
    ]


@pytest.mark.row("S2-32")
@pytest.mark.parametrize("style", STYLES)
def test_history_mapping_parallel_calls_and_outputs(style: str) -> None:
    first = said({"text": "I look."}, call("ls", SIGNED), call("pwd"))
    server = Server(first, said(call("cat", SIGNED)), said({"text": "Done."}))
    one = asked(style, server, HI, tools=[SHELL])
    history = [HI, one.message, results(one, {"files": []}, "denied", errors=[False, True])]
    two = asked(style, server, *history, tools=[SHELL])
    history += [two.message, results(two, "text")]
    assert asked(style, server, *history, tools=[SHELL]).text == "Done."
    contents = server.bodies[2]["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user", "model", "user"]
    assert contents[1] == first["candidates"][0]["content"]
    assert contents[2]["parts"] == [
        {"functionResponse": {"name": "shell", "response": {"files": []}}},
        {"functionResponse": {"name": "shell", "response": {"error": "denied"}}},
    ]
    assert contents[3]["parts"] == [call("cat", SIGNED)]
    assert all(isinstance(made, ToolCall) for made in (*one.tool_calls, *two.tool_calls))
