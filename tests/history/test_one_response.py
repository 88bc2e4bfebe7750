"""Calls of one response that stand in messages of their own (S2-02): grouped by the response that
they name, which a received reply has set.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire import anthropic, gemini, notes, openai
from wire.errors import HistoryError
from wire.history import check, repair
from wire.neutral.messages import Message, Text, ToolCall, ToolResult
from wire.neutral.request import Request
from wire.sessions import dump_session, load_session
from wire.wires.contract import WIRES

HI = Message.user("Hi")
BODIES: dict[str, tuple[Any, str]] = {
    "gemini": (gemini.call, "gemini-3.5-flash"),
    "openai": (openai.call, "gpt-5.4"),
    "anthropic": (anthropic.call, "claude-opus-4-8"),
}


def call(id: str, response: str = "r1", signature: str = "") -> ToolCall:
    return ToolCall(id=id, name=f"f_{id}", arguments={}, response=response, signature=signature)


def asks(*calls: ToolCall) -> Message:
    return Message.assistant(*calls)


def gives(*ids: str) -> Message:
    return Message.tool_response(ToolResult(id, f"f_{id}", id) for id in ids)


def body(wire: str, messages: list[Message]) -> Any:
    make, model = BODIES[wire]
    return json.loads(make(Request(messages=tuple(messages), max_tokens=9), model).body)


SIGNATURE = "c2lnbmVk"
A, B, C = call("a"), call("b"), call("c")
TOGETHER = [HI, asks(A, B), gives("a", "b")]
LINEAR = [HI, asks(A), gives("a"), asks(B), gives("b")]


@pytest.mark.row("S2-02")
@joined("wire", BODIES)
@joined(
    "messages",
    [
        LINEAR,
        [HI, asks(A), asks(B), gives("a"), gives("b")],
        [HI, asks(A), asks(B), gives("b"), gives("a")],
        [HI, asks(A), asks(B), gives("a", "b")],
        [HI, asks(A), gives("a"), asks(B), gives("b")],
    ],
)
def test_calls_of_one_response_are_one_message(wire: str, messages: list[Message]) -> None:
    assert check(messages) == []
    assert body(wire, messages) == body(wire, TOGETHER)


GEMINI = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": SIGNATURE},
                    {"functionCall": {"name": "g", "args": {}}},
                ],
            },
            "finishReason": "STOP",
        }
    ]
}
CHAT_CALLS = [
    {"id": f"f:{index}", "type": "function", "function": {"name": name, "arguments": "{}"}}
    for index, name in enumerate("fg")
]
CHAT_MESSAGE = {"role": "assistant", "tool_calls": CHAT_CALLS}
RESPONSES_CALLS = [
    {"type": "function_call", "id": f"fc_{name}", "call_id": name, "name": name, "arguments": "{}"}
    for name in "fg"
]
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": SIGNATURE}
USES = [{"type": "tool_use", "id": f"toolu_{name}", "name": name, "input": {}} for name in "fg"]
RECEIVED: dict[str, tuple[str, dict[str, Any]]] = {
    "gemini": ("gemini-3.5-flash", GEMINI),
    "openai": (
        "gpt-5.4",
        {"choices": [{"index": 0, "message": CHAT_MESSAGE, "finish_reason": "tool_calls"}]},
    ),
    "openai.responses": (
        "gpt-5.4",
        {"id": "resp_1", "status": "completed", "output": [THOUGHT, *RESPONSES_CALLS]},
    ),
    "anthropic": (
        "claude-opus-4-8",
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE}, *USES],
            "stop_reason": "tool_use",
        },
    ),
}


def linear(message: Message) -> list[Message]:
    """The calls of a message in messages of their own, each followed by its result."""
    first, *others = message.tool_calls
    before = message.parts[: message.parts.index(first) + 1]
    steps = [Message("assistant", before), *(Message("assistant", (each,)) for each in others)]
    results = [ToolResult(each.id, each.name, "1") for each in message.tool_calls]
    pairs = zip(steps, map(Message.tool_response, results), strict=True)
    return [message for pair in pairs for message in pair]


@joined("wire", RECEIVED)
def test_a_received_reply_may_be_sent_call_by_call(wire: str) -> None:
    """Two steps of an agent have equal replies: some hosts number the calls of each from 0."""
    model, body = RECEIVED[wire]
    call = WIRES[wire].call(Request(messages=(HI,), max_tokens=9), model)
    message = call.parse(json.dumps(body).encode()).message
    assert {each.response for each in message.tool_calls} == {message.tool_calls[0].id}
    results = [ToolResult(each.id, each.name, "1") for each in message.tool_calls]
    whole, split = [message, Message.tool_response(results)], linear(message)
    assert [len(each.tool_calls) for each in split] == [1, 0, 1, 0]
    assert check([HI, *split, *split]) == []
    sent = [
        WIRES[wire].call(Request(messages=(HI, *step, *step), max_tokens=9), model).body
        for step in (whole, split)
    ]
    assert json.loads(sent[0]) == json.loads(sent[1])
    assert SIGNATURE in sent[1].decode() or wire == "openai"
    repaired = repair([HI, *split, *split])
    assert [each.role[0] for each in repaired] == list("uatat")


@pytest.mark.row("S2-02")
def test_the_signature_of_the_response_stands_on_its_first_call() -> None:
    signed = msgspec.structs.replace(A, signature=gemini.PLACEHOLDER)
    contents = body("gemini", [HI, asks(signed), gives("a"), asks(B), gives("b")])["contents"]
    assert [content["role"] for content in contents] == ["user", "model", "user"]
    assert [part.get("thoughtSignature") for part in contents[1]["parts"]] == [
        gemini.PLACEHOLDER,
        None,
    ]


@joined(
    ("messages", "roles"),
    [
        # calls that name no response, or two, are steps of their own
        ([HI, asks(call("a", "")), gives("a"), asks(call("b", "")), gives("b")], "umumu"),
        ([HI, asks(A), gives("a"), asks(call("b", "r2")), gives("b")], "umumu"),
        ([HI, asks(A), gives("a"), asks(call("b", "")), gives("b")], "umumu"),
        # a user message or a text of the model between them ends the response
        ([HI, asks(A), gives("a"), HI, asks(B), gives("b")], "umuumu"),
        ([HI, asks(A), gives("a"), Message.assistant("So."), asks(B), gives("b")], "umumu"),
        # what stands beside a call comes along; a system message does not end the response
        ([HI, asks(A), gives("a"), Message.assistant(Text("And:"), B), gives("b")], "umu"),
        ([HI, asks(A), gives("a"), Message.system("Brief."), asks(B), gives("b")], "umu"),
        ([HI, asks(A), gives("a"), asks(B), gives("b"), asks(C), gives("c"), HI], "umuu"),
    ],
)
def test_neighbours(messages: list[Message], roles: str) -> None:
    assert check(messages) == []
    contents = body("gemini", messages)["contents"]
    assert "".join(content["role"][0] for content in contents) == roles


def test_what_is_joined_is_reported() -> None:
    request = Request(messages=(*LINEAR, asks(C), gives("c")))
    found = [str(note) for note in notes(gemini.call(request, "gemini-2.5-flash"))]
    assert found == [
        "messages[3]: joined to messages[1]: calls of one response",
        "messages[5]: joined to messages[1]: calls of one response",
    ]


def test_violations_name_the_message_of_their_call() -> None:
    messages = [HI, asks(A), gives("a"), asks(B, B), gives("z"), HI]
    assert [(each.path, each.rule) for each in check(messages)] == [
        ("messages[3].parts[0]", "H3"),
        ("messages[3].parts[1]", "H6"),
        ("messages[3].parts[1]", "H3"),
        ("messages[4].parts[0]", "H4"),
    ]
    with pytest.raises(HistoryError, match=r"messages\[3\]\.parts\[0\]"):
        body("gemini", messages)


def test_repair_joins_and_answers_them() -> None:
    repaired = repair([HI, asks(A), gives("a"), asks(B), HI])
    assert [message.role for message in repaired] == ["user", "assistant", "tool", "user"]
    assert [each.id for each in repaired[1].tool_calls] == ["a", "b"]
    assert [each.id for each in repaired[2].tool_results] == ["a", "b"]
    assert [note.path for note in repaired.notes] == ["messages[3]", "messages[3].parts[0]"]
    assert check(repaired) == []


def test_the_response_is_saved() -> None:
    assert load_session(dump_session(LINEAR)).messages == tuple(LINEAR)


@pytest.mark.row("S2-02")
@given(st.data(), st.integers(1, 4), st.sampled_from(sorted(BODIES)))
def test_any_order_of_calls_and_results_gives_the_same_body(
    data: st.DataObject, count: int, wire: str
) -> None:
    """Every result stands somewhere after its call; calls keep their order."""
    calls = [call(f"c{number}") for number in range(count)]
    waiting, messages = list(calls), [HI]
    open_calls: list[ToolCall] = []
    while waiting or open_calls:
        if waiting and (not open_calls or data.draw(st.booleans())):
            open_calls.append(waiting.pop(0))
            messages.append(asks(open_calls[-1]))
        else:
            answered = open_calls.pop(data.draw(st.integers(0, len(open_calls) - 1)))
            messages.append(gives(answered.id))
    grouped = [HI, asks(*calls), gives(*(each.id for each in calls))]
    assert check(messages) == []
    assert body(wire, messages) == body(wire, grouped)
