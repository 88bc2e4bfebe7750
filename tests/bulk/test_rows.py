"""A row is read, refused by name, or converted to the request that it means."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire import Message, Note, Output, Request, Text, Tool, ToolCall, ToolResult, web_search
from wire.bulk.rows import question_of, read_row, request_json
from wire.errors import WireError

CHAT = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 20}
RESPONSES = {"input": "Hi", "max_output_tokens": 20}


def asked(value: Any) -> Request:
    return question_of(read_row(1, json.dumps(value).encode())).request


@joined(
    ("line", "id"),
    [
        (b'"Hi"', "7"),
        (b'{"prompt": "Hi"}', "7"),
        (b'{"id": "a", "prompt": "Hi"}', "a"),
        (b'{"id": 12, "prompt": "Hi"}', "12"),
        (b'{"custom_id": "b", "body": {}}', "b"),
        (b'{"key": "c", "request": {}}', "c"),
        (b'\xef\xbb\xbf{"id": "d"}\r\n', "d"),
        ({"id": "e", "prompt": "Hi"}, "e"),
        ('{"id": "f"}', "7"),
        (Request(messages=(Message.user("Hi"),)), "7"),
    ],
)
def test_a_row_has_the_id_of_its_line_or_its_number(line: Any, id: str) -> None:
    row = read_row(7, line)
    assert (row.number, row.id, row.problem) == (7, id, "")


@joined(
    ("line", "problem"),
    [
        (b"", "Input data was truncated"),
        (b"{", "Input data was truncated"),
        (b"12", "expected an object, or a prompt as a text"),
        (b"[]", "expected an object, or a prompt as a text"),
        (b'{"id": 1.5}', "id: expected a printable text of up to 512 characters, not 1.5"),
        (b'{"id": "a\\nb"}', "id: expected a printable text of up to 512 characters"),
        (b'{"id": true}', "id: expected a printable text"),
        (b"\xff", "JSON is malformed"),
        (b"[" * 5000, ""),
        (7, "expected a prompt, a dict or a Request, not int"),
        ({"prompt": float("nan")}, "row.prompt: "),
        ({"prompt": object()}, "row.prompt: "),
    ],
)
def test_a_line_that_is_no_row_has_a_problem(line: Any, problem: str) -> None:
    row = read_row(3, line)
    assert row.id == "3"
    assert row.problem.startswith(problem)
    assert row.problem
    with pytest.raises(WireError):
        question_of(row)


@joined(
    ("value", "problem"),
    [
        ({}, "messages: expected either a prompt or messages"),
        ({"prompt": "a", "messages": []}, "messages: expected either a prompt or messages"),
        ({"promt": "a"}, "promt: no such key (did you mean 'prompt'?)"),
        ({"prompt": 5}, "prompt: expected a text, or a list of texts and parts"),
        ({"prompt": [{"type": "txt"}]}, "prompt[0].type: invalid value"),
        ({"messages": {}}, "messages: expected a list, not dict"),
        ({"messages": ["Hi"]}, 'messages[0]: expected an object with "role"'),
        ({"messages": [{"role": "user"}]}, "messages[0]"),
        ({"messages": [{"role": "user", "content": 1}]}, "messages[0].content: expected a text"),
        ({"messages": [{"role": "usr", "content": ""}]}, "messages[0].role: "),
        ({"prompt": "a", "tools": "now"}, "tools: expected a list, not str"),
        ({"prompt": "a", "tools": [1]}, "tools[0]: expected an object"),
        ({"prompt": "a", "tools": [{"name": "now", "parms": {}}]}, "tools[0].parms: no such key"),
        ({"prompt": "a", "tools": [{}]}, 'tools[0]: expected "name" for a function, or "kind"'),
        ({"prompt": "a", "tools": [{"kind": "web"}]}, "server tool: expected one of"),
        ({"prompt": "a", "output": "City"}, "output: expected a JSON Schema, not str"),
        ({"custom_id": "a", "url": "/v1/embeddings", "body": {"input": "a"}}, "url: expected /v1/"),
        ({"custom_id": "a", "params": {"messages": 1}}, "messages"),
    ],
)
def test_what_cannot_be_asked_is_named(value: Any, problem: str) -> None:
    with pytest.raises(WireError) as refused:
        asked({"id": "a", **value})
    assert refused.value.message.startswith(problem)


@joined(
    "value",
    [
        {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": CHAT},
        {"custom_id": "a", "body": CHAT},
        {
            "custom_id": "a",
            "url": "/v1/responses",
            "body": {"input": "Hi", "max_output_tokens": 20},
        },
        {"custom_id": "a", "body": {"input": "Hi", "max_output_tokens": 20}},
        {"custom_id": "a", "params": {"model": "claude-sonnet-5", **CHAT}},
        {
            "key": "a",
            "request": {
                "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
                "generationConfig": {"maxOutputTokens": 20},
            },
        },
        {"id": "a", **CHAT},
        {"id": "a", "prompt": "Hi", "max_tokens": 20},
        {"id": "a", "prompt": [{"type": "text", "text": "Hi"}], "max_tokens": 20},
    ],
)
def test_lines_of_all_vendors_mean_the_same(value: Any) -> None:
    request = asked(value)
    assert [(each.role, each.text) for each in request.messages] == [("user", "Hi")]
    assert request.max_tokens == 20


def test_the_model_of_a_vendors_line_is_reported() -> None:
    line = {"custom_id": "a", "params": {"model": "claude-opus-4-8", **CHAT}}
    question = question_of(read_row(1, line))
    assert Note("model", "claude-opus-4-8: the model of the run is asked") in question.notes


def test_metadata_is_kept() -> None:
    assert question_of(read_row(1, {"prompt": "Hi", "metadata": {"n": [1]}})).metadata == {"n": [1]}


def test_settings_are_those_of_the_row() -> None:
    tools = [{"name": "now", "description": "The time."}, {"kind": "web_search"}]
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    row = {"prompt": "Hi", "tools": tools, "output": schema, "stop": "x", "tool_choice": ["now"]}
    assert question_of(read_row(1, row)).settings == {
        "tools": (Tool("now", "The time."), web_search()),
        "output": Output(schema),
        "stop": ("x",),
        "tool_choice": ("now",),
    }


TEXTS = st.text(st.characters(codec="utf-8"), max_size=20)
MESSAGES = st.lists(st.builds(Message.user, TEXTS), min_size=1, max_size=3)
REQUESTS = st.builds(
    Request,
    messages=st.builds(tuple, MESSAGES),
    system=TEXTS,
    max_tokens=st.none() | st.integers(1, 10**6),
    temperature=st.none() | st.floats(0, 2),
    stop=st.builds(tuple, st.lists(TEXTS.filter(bool), max_size=3)),
    tools=st.sampled_from([(), (Tool("now", "The time."),), (web_search(max_uses=2),)]),
    options=st.sampled_from([{}, {"gemini": {"safetySettings": []}}]),
)


@given(REQUESTS)
def test_a_request_is_read_back_from_its_line(request: Request) -> None:
    row = read_row(1, request)
    assert question_of(row).request == request
    assert read_row(1, msgspec.json.encode(request_json(request))).digest == row.digest


def test_a_conversation_with_calls_is_read_back() -> None:
    call = ToolCall(id="c1", name="now", arguments={"zone": "UTC"})
    turns = (
        Message.user("Now?"),
        Message("assistant", (Text("I look."), call)),
        Message("tool", (ToolResult(id="c1", name="now", content={"time": "05:12"}),)),
    )
    request = Request(messages=turns, tools=(Tool("now"),))
    assert question_of(read_row(1, request)).request == request
