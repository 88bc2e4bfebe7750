"""Encoding and decoding of the structs, and rules that hold for every struct."""

from __future__ import annotations

import importlib
import json
import pkgutil
import types as python_types
import typing
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.responses import types
from wire.openai.responses.types import (
    Action,
    Annotation,
    Caller,
    Compaction,
    ContentPart,
    CustomFormat,
    ErrorObject,
    Filter,
    IncompleteDetails,
    Item,
    ItemError,
    ItemsRequest,
    Outcome,
    Prompt,
    Response,
    ResponseRequest,
    ResponseUsage,
    StreamEvent,
    TextFormat,
    TextOptions,
    Tool,
    ToolChoice,
)

STRUCTS = sorted(
    {
        value
        for value in (getattr(types, name) for name in types.__all__)
        if isinstance(value, type) and issubclass(value, OpenAIStruct)
    }
    - {OpenAIStruct},
    key=lambda cls: cls.__name__,
)
NEEDED: dict[type[OpenAIStruct], dict[str, Any]] = {ItemsRequest: {"items": []}}
FIELDS = [
    (cls, name, wire_name, hints[name])
    for cls, hints in ((cls, typing.get_type_hints(cls)) for cls in STRUCTS)
    for name, wire_name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    if name not in NEEDED.get(cls, {})
]


# --- every struct ---------------------------------------------------------------------------------


def test_all_is_exported_and_nothing_is_missing():
    modules = [
        importlib.import_module(f"{types.__name__}.{each.name}")
        for each in pkgutil.iter_modules(types.__path__)
    ]
    defined = {
        name
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, type)
        and value.__module__ == module.__name__
        and not name.startswith("_")
        and not name.endswith("RequestStruct")  # a base for this package alone
    }
    of_all_families = {"ErrorObject", "OpenAIStruct"}
    assert defined | of_all_families == set(types.__all__)
    assert len(STRUCTS) > 70


@joined("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_every_struct(cls: Any):
    config, needed = cls.__struct_config__, NEEDED.get(cls, {})
    assert (config.frozen, config.omit_defaults, config.forbid_unknown_fields) == (
        True,
        True,
        False,
    )
    assert issubclass(cls, WireStruct)
    assert json.loads(encode(cls(**needed))) == needed
    assert msgspec.json.decode(json.dumps({"no_such_key": {"a": [1]}, **needed}), type=cls) == cls(
        **needed
    )
    with pytest.raises(TypeError):
        cls(*[None] * len(cls.__struct_fields__))
    with pytest.raises((AttributeError, TypeError)):
        setattr(cls(**needed), cls.__struct_fields__[0], 1)


def test_every_name_is_the_one_on_the_wire():
    assert {(cls, name): wire_name for cls, name, wire_name, _ in FIELDS if name != wire_name} == {
        (Item, "async_"): "async",
        (Item, "text_options"): "text",
        (Response, "text_options"): "text",
        (Tool, "async_"): "async",
    }


def test_every_field_is_optional_and_null_reads_as_absent():
    for cls, name, wire_name, _ in FIELDS:
        needed = NEEDED.get(cls, {})
        assert getattr(cls(**needed), name) is None, (cls, name)
        assert msgspec.json.decode(json.dumps({wire_name: None, **needed}), type=cls) == cls(
            **needed
        ), (cls, name)


def test_enums_are_open():
    """An unknown value must not make a response unreadable, so no field is an enum."""

    def leaves(hint: Any) -> set[Any]:
        if typing.get_origin(hint) in (typing.Union, python_types.UnionType, list, dict):
            return {leaf for inner in typing.get_args(hint) for leaf in leaves(inner)}
        return {hint}

    for cls, name, _, hint in FIELDS:
        for leaf in leaves(hint):
            assert leaf in (str, int, float, bool, type(None), Any) or issubclass(
                leaf, OpenAIStruct
            ), (cls, name)


# --- one struct for each concept ------------------------------------------------------------------

ITEMS: list[tuple[dict[str, Any], Item]] = [
    (
        {"role": "user", "content": "Hi"},
        Item(role="user", content="Hi"),
    ),
    (
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [
                {
                    "type": "output_text",
                    "text": "a",
                    "annotations": [{"type": "url_citation", "url": "https://example.com"}],
                },
                {"type": "refusal", "refusal": "no"},
            ],
            "phase": "final_answer",
        },
        Item(
            type="message",
            id="msg_1",
            status="completed",
            role="assistant",
            content=[
                ContentPart(
                    type="output_text",
                    text="a",
                    annotations=[Annotation(type="url_citation", url="https://example.com")],
                ),
                ContentPart(type="refusal", refusal="no"),
            ],
            phase="final_answer",
        ),
    ),
    (
        {"type": "reasoning", "summary": [], "encrypted_content": "gAAA"},
        Item(type="reasoning", summary=[], encrypted_content="gAAA"),
    ),
    (
        {
            "type": "function_call",
            "call_id": "call_1",
            "name": "f",
            "arguments": '{"a":',
            "caller": {"type": "program", "caller_id": "call_0"},
            "async": True,
        },
        Item(
            type="function_call",
            call_id="call_1",
            name="f",
            arguments='{"a":',
            caller=Caller(type="program", caller_id="call_0"),
            async_=True,
        ),
    ),
    (
        {"type": "tool_search_call", "arguments": {"goal": "mail"}, "execution": "client"},
        Item(type="tool_search_call", arguments={"goal": "mail"}, execution="client"),
    ),
    (
        {"type": "function_call_output", "call_id": "call_1", "output": ""},
        Item(type="function_call_output", call_id="call_1", output=""),
    ),
    (
        {"type": "custom_tool_call_output", "output": [{"type": "input_text", "text": "a"}]},
        Item(type="custom_tool_call_output", output=[ContentPart(type="input_text", text="a")]),
    ),
    (
        {"type": "computer_call_output", "output": {"type": "computer_screenshot"}},
        Item(type="computer_call_output", output={"type": "computer_screenshot"}),
    ),
    (
        {
            "type": "shell_call_output",
            "output": [{"stdout": "a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
        },
        Item(
            type="shell_call_output",
            output=[ContentPart(stdout="a", stderr="", outcome=Outcome(type="exit", exit_code=0))],
        ),
    ),
    (
        {"type": "web_search_call", "action": {"type": "search", "query": "a", "sources": []}},
        Item(type="web_search_call", action=Action(type="search", query="a", sources=[])),
    ),
    (
        {"type": "image_generation_call", "action": "edit", "error": {"code": "moderated"}},
        Item(type="image_generation_call", action="edit", error=ItemError(code="moderated")),
    ),
    (
        {
            "type": "mcp_call",
            "error": {"type": "mcp_tool_execution_error", "content": [{"type": "text"}]},
        },
        Item(
            type="mcp_call",
            error=ItemError(type="mcp_tool_execution_error", content=[{"type": "text"}]),
        ),
    ),
    (
        {
            "type": "mcp_list_tools",
            "error": "timeout",
            "tools": [{"name": "t", "input_schema": {}}],
        },
        Item(type="mcp_list_tools", error="timeout", tools=[Tool(name="t", input_schema={})]),
    ),
    (
        {"type": "configuration_update", "text": {"verbosity": "low"}},
        Item(type="configuration_update", text_options=TextOptions(verbosity="low")),
    ),
    (
        {"type": "hologram", "content": [{"type": "beam"}], "status": "glowing"},
        Item(type="hologram", content=[ContentPart(type="beam")], status="glowing"),
    ),
]


@joined(
    ("body", "item"),
    ITEMS,
    ids=lambda value: value.get("type", "message") if isinstance(value, dict) else "",
)
def test_items(body: dict[str, Any], item: Item):
    assert json.loads(encode(item)) == body
    received = decoded(json.dumps(body).encode(), Item)
    assert received == item
    assert wire.unknown(received) == []


@joined(
    ("body", "struct"),
    [
        (
            {"model": "m", "input": "Hi", "store": False, "stream": False, "temperature": 0},
            ResponseRequest(model="m", input="Hi", store=False, stream=False, temperature=0),
        ),
        (
            {"input": [], "include": [], "tools": [], "metadata": {}, "text": {}, "reasoning": {}},
            ResponseRequest(
                input=[],
                include=[],
                tools=[],
                metadata={},
                text=TextOptions(),
                reasoning=types.Reasoning(),
            ),
        ),
        (
            {"conversation": "conv_1", "tool_choice": "auto"},
            ResponseRequest(conversation="conv_1", tool_choice="auto"),
        ),
        (
            {"conversation": {"id": "conv_1"}, "tool_choice": {"type": "function", "name": "f"}},
            ResponseRequest(
                conversation=types.ConversationId(id="conv_1"),
                tool_choice=ToolChoice(type="function", name="f"),
            ),
        ),
        (
            {"prompt": {"id": "p", "variables": {"a": "b", "c": {"type": "input_text"}}}},
            ResponseRequest(
                prompt=Prompt(id="p", variables={"a": "b", "c": ContentPart(type="input_text")})
            ),
        ),
        (
            {"text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}},
            ResponseRequest(
                text=TextOptions(format=TextFormat(type="json_schema", name="n", schema={}))
            ),
        ),
        (
            {"type": "function", "name": "f", "parameters": {}, "strict": False, "async": True},
            Tool(type="function", name="f", parameters={}, strict=False, async_=True),
        ),
        (
            {"type": "custom", "format": {"type": "grammar", "syntax": "lark", "definition": "a"}},
            Tool(type="custom", format=CustomFormat(type="grammar", syntax="lark", definition="a")),
        ),
        (
            {"type": "code_interpreter", "container": "cntr_1"},
            Tool(type="code_interpreter", container="cntr_1"),
        ),
        (
            {"type": "code_interpreter", "container": {"type": "auto", "file_ids": []}},
            Tool(type="code_interpreter", container=types.Environment(type="auto", file_ids=[])),
        ),
        (
            {"type": "computer_use_preview", "environment": "browser", "display_width": 0},
            Tool(type="computer_use_preview", environment="browser", display_width=0),
        ),
        (
            {"type": "mcp", "allowed_tools": ["a"], "require_approval": "never"},
            Tool(type="mcp", allowed_tools=["a"], require_approval="never"),
        ),
        (
            {
                "type": "mcp",
                "allowed_tools": {"read_only": True},
                "require_approval": {"always": {"tool_names": ["a"]}},
            },
            Tool(
                type="mcp",
                allowed_tools=types.ToolFilter(read_only=True),
                require_approval=types.RequiredApproval(always=types.ToolFilter(tool_names=["a"])),
            ),
        ),
        (
            {
                "type": "and",
                "filters": [
                    {"type": "in", "key": "a", "value": ["b", 1.5]},
                    {"type": "eq", "key": "c", "value": False},
                ],
            },
            Filter(
                type="and",
                filters=[
                    Filter(type="in", key="a", value=["b", 1.5]),
                    Filter(type="eq", key="c", value=False),
                ],
            ),
        ),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else "",
)
def test_what_is_sent(body: dict[str, Any], struct: WireStruct):
    """Absent fields are not sent as null, and zeros are not omitted."""
    assert json.loads(encode(struct)) == body
    received = decoded(json.dumps(body).encode(), type(struct))
    assert received == struct
    assert wire.unknown(received) == []


def test_the_input_follows_the_model():
    """People read a body from its start."""
    request = ResponseRequest(model="m", input="Hi", max_output_tokens=16, store=False)
    assert encode(request) == b'{"model":"m","input":"Hi","max_output_tokens":16,"store":false}'


@joined(
    ("body", "struct"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "steered"}, "usage": None},
            Response(status="incomplete", incomplete_details=IncompleteDetails(reason="steered")),
        ),
        (
            {"instructions": [{"role": "developer", "content": "a"}], "reasoning": "I think"},
            Response(instructions=[Item(role="developer", content="a")], reasoning="I think"),
        ),
        (
            {"usage": {"input_tokens": 1, "cost": 0, "input_tokens_details": None}},
            Response(usage=ResponseUsage(input_tokens=1, cost=0.0)),
        ),
        (
            {"object": "response.compaction", "output": [{"type": "compaction", "id": "cmp_1"}]},
            Compaction(object="response.compaction", output=[Item(type="compaction", id="cmp_1")]),
        ),
        (
            {"type": "response.output_text.delta", "delta": "a", "output_index": 0},
            StreamEvent(type="response.output_text.delta", delta="a", output_index=0),
        ),
        (
            {"type": "response.shell_call_output_content.delta", "delta": {"stdout": "a"}},
            StreamEvent(type="response.shell_call_output_content.delta", delta={"stdout": "a"}),
        ),
        (
            {"type": "error", "code": "server_error", "message": "m", "param": None},
            StreamEvent(type="error", code="server_error", message="m"),
        ),
        (
            {"type": "error", "error": {"type": "t", "code": "c", "message": "m"}},
            StreamEvent(type="error", error=ErrorObject(type="t", code="c", message="m")),
        ),
    ],
    ids=lambda value: json.dumps(value)[:40] if isinstance(value, dict) else "",
)
def test_what_is_received(body: dict[str, Any], struct: WireStruct):
    received = decoded(json.dumps(body).encode(), type(struct))
    assert received == struct
    assert wire.unknown(received) == []


def test_a_received_item_is_sent_with_its_bytes():
    raw = b'{"type":"hologram","beam":[1,{"colour":"red"}],"id":null}'
    request = ResponseRequest(model="m", input=[decoded(raw, Item)])
    assert encode(request) == b'{"model":"m","input":[' + raw + b"]}"


# --- properties -----------------------------------------------------------------------------------


def test_the_text_of_an_item():
    assert Item(content="a").text == "a"
    assert Item().text == ""
    parts = [ContentPart(text="a"), ContentPart(refusal="no"), ContentPart(text="b")]
    assert Item(content=parts).text == "ab"


def test_the_text_and_the_calls_of_a_response():
    response = Response(
        text_options=TextOptions(verbosity="low"),
        output=[
            Item(type="reasoning", content=[ContentPart(type="reasoning_text", text="hm")]),
            Item(type="message", content=[ContentPart(type="output_text", text="a")]),
            Item(type="function_call", call_id="call_1"),
            Item(type="web_search_call", id="ws_1"),
            Item(type="custom_tool_call", call_id="call_2"),
            Item(type="message", content=[ContentPart(type="output_text", text="b")]),
        ],
    )
    assert response.text == "ab"
    assert [item.call_id for item in response.tool_calls] == ["call_1", "call_2"]
    assert (Response().text, Response().tool_calls) == ("", [])
    assert json.loads(encode(Response(text_options=TextOptions()))) == {"text": {}}
