"""Encoding and decoding of the structs, and rules that hold for every struct."""

from __future__ import annotations

import copy
import importlib
import json
import pickle
import pkgutil
import types as python_types
import typing
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from wire import anthropic
from wire.anthropic import types
from wire.anthropic.reader import parse_message
from wire.anthropic.types import (
    BatchCreateRequest,
    BatchRequest,
    CacheControl,
    Citation,
    CitationsConfig,
    ContentBlock,
    CountTokensRequest,
    ErrorObject,
    Message,
    MessageRequest,
    MessageResponse,
    MessageStreamEvent,
    OutputConfig,
    OutputFormat,
    Source,
    Thinking,
    Tool,
    ToolChoice,
    ToolOutput,
    Usage,
)
from wire.anthropic.types.base import AnthropicStruct
from wire.core.memory import WireStruct, encode

STRUCTS = sorted(
    {
        value
        for value in (getattr(types, name) for name in types.__all__)
        if isinstance(value, type) and issubclass(value, AnthropicStruct)
    }
    - {AnthropicStruct},
    key=lambda cls: cls.__name__,
)
PROMPT: dict[str, Any] = {"model": "m", "messages": []}
NEEDED: dict[type[AnthropicStruct], dict[str, Any]] = {
    MessageRequest: {**PROMPT, "max_tokens": 1},
    CountTokensRequest: PROMPT,
    BatchCreateRequest: {"requests": []},
    BatchRequest: {
        "custom_id": "a",
        "params": MessageRequest(model="m", messages=[], max_tokens=1),
    },
}
FIELDS = [
    (cls, name, wire_name, hints[name])
    for cls, hints in ((cls, typing.get_type_hints(cls)) for cls in STRUCTS)
    for name, wire_name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    if name not in NEEDED.get(cls, {})
]


def plain(cls: type[AnthropicStruct]) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(NEEDED.get(cls, {}))
    return found


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
    assert defined == set(types.__all__)
    assert len(STRUCTS) > 50
    assert set(types.__all__) <= set(dir(anthropic))


@joined("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_every_struct(cls: Any):
    config, needed = cls.__struct_config__, NEEDED.get(cls, {})
    assert (config.frozen, config.omit_defaults, config.forbid_unknown_fields) == (
        True,
        True,
        False,
    )
    assert issubclass(cls, WireStruct)
    assert json.loads(encode(cls(**needed))) == plain(cls)
    assert msgspec.json.decode(
        json.dumps({"no_such_key": {"a": [1]}, **plain(cls)}), type=cls
    ) == cls(**needed)
    with pytest.raises(TypeError):
        cls(*[None] * len(cls.__struct_fields__))
    with pytest.raises((AttributeError, TypeError)):
        setattr(cls(**needed), cls.__struct_fields__[0], 1)


def test_every_name_is_the_one_on_the_wire():
    assert {(cls, name): wire_name for cls, name, wire_name, _ in FIELDS if name != wire_name} == {
        (ContentBlock, "from_"): "from",
        (MessageResponse, "invocation_metrics"): "amazon-bedrock-invocationMetrics",
        (MessageStreamEvent, "invocation_metrics"): "amazon-bedrock-invocationMetrics",
    }


@joined("cls", NEEDED, ids=lambda cls: cls.__name__)
def test_what_a_request_needs(cls: Any):
    for name in NEEDED[cls]:
        with pytest.raises(TypeError):
            cls(**{key: value for key, value in NEEDED[cls].items() if key != name})


def test_every_other_field_is_optional_and_null_reads_as_absent():
    for cls, name, wire_name, _ in FIELDS:
        needed = NEEDED.get(cls, {})
        assert getattr(cls(**needed), name) is None, (cls, name)
        assert msgspec.json.decode(json.dumps({wire_name: None, **plain(cls)}), type=cls) == cls(
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
                leaf, AnthropicStruct
            ), (cls, name)


@joined(
    ("cls", "body"),
    [
        (Message, b'{"role":"oracle","content":[{"type":"hologram"}]}'),
        (MessageResponse, b'{"type":"x","stop_reason":"y","usage":{"service_tier":"z"}}'),
        (MessageStreamEvent, b'{"type":"moonrise","delta":{"type":"moon_delta"}}'),
        (ToolChoice, b'{"type":"perhaps"}'),
        (Thinking, b'{"type":"deep","display":"some"}'),
        (ErrorObject, b'{"type":"x","code":"y"}'),
    ],
)
def test_values_that_no_list_has(cls: Any, body: bytes):
    assert json.loads(encode(msgspec.json.decode(body, type=cls))) == json.loads(body)


# --- what is sent of them -------------------------------------------------------------------------


@joined(
    ("struct", "body"),
    [
        (Message(role="user", content=""), {"role": "user", "content": ""}),
        (Message(role="user", content=[]), {"role": "user", "content": []}),
        (
            ContentBlock(type="tool_use", id="a", name="b", input={}),
            {"type": "tool_use", "id": "a", "name": "b", "input": {}},
        ),
        (
            ContentBlock(
                type="tool_result",
                tool_use_id="a",
                content=[ContentBlock(type="text", text="no")],
                is_error=True,
            ),
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [{"type": "text", "text": "no"}],
                "is_error": True,
            },
        ),
        (
            ContentBlock(type="image", source=Source(type="url", url="https://tide.example/a.png")),
            {"type": "image", "source": {"type": "url", "url": "https://tide.example/a.png"}},
        ),
        (
            ContentBlock(
                type="search_result",
                source="tide.example",
                title="Tides",
                citations=CitationsConfig(enabled=False),
            ),
            {
                "type": "search_result",
                "source": "tide.example",
                "title": "Tides",
                "citations": {"enabled": False},
            },
        ),
        (
            ContentBlock(
                type="text", text="High.", cache_control=CacheControl(type="ephemeral", ttl="1h")
            ),
            {"type": "text", "text": "High.", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        ),
        (Thinking(type="enabled", budget_tokens=1024), {"type": "enabled", "budget_tokens": 1024}),
        (
            OutputConfig(
                effort="low",
                format=OutputFormat(
                    type="json_schema", schema={"type": "object", "additionalProperties": False}
                ),
            ),
            {
                "effort": "low",
                "format": {
                    "type": "json_schema",
                    "schema": {"type": "object", "additionalProperties": False},
                },
            },
        ),
        (
            Tool(name="tide", input_schema={"type": "object"}),
            {"name": "tide", "input_schema": {"type": "object"}},
        ),
        (
            MessageRequest(
                model="m",
                max_tokens=1,
                messages=[],
                temperature=0.0,
                stop_sequences=[],
                container="c",
            ),
            {
                "model": "m",
                "max_tokens": 1,
                "messages": [],
                "temperature": 0.0,
                "stop_sequences": [],
                "container": "c",
            },
        ),
    ],
)
def test_what_is_sent(struct: Any, body: Any):
    assert json.loads(encode(struct)) == body


# --- what is read into them -----------------------------------------------------------------------


def test_contents_of_every_shape():
    body = json.dumps(
        [
            {"type": "tool_result", "content": "text"},
            {"type": "tool_result", "content": [{"type": "tool_reference", "tool_name": "tide"}]},
            {
                "type": "code_execution_tool_result",
                "content": {"type": "x", "return_code": 0, "content": [{"file_id": "f"}]},
            },
            {
                "type": "web_fetch_tool_result",
                "content": {"url": "u", "content": {"type": "document", "source": {"data": "d"}}},
            },
            {
                "type": "web_search_tool_result",
                "content": {"type": "web_search_tool_result_error", "error_code": "unavailable"},
            },
            {"type": "text", "citations": [{"type": "page_location", "start_page_number": 1}]},
            {"type": "fallback", "from": {"model": "a"}, "to": {"model": "b"}},
        ]
    )
    text, blocks, code, fetched, failed, cited, fallback = msgspec.json.decode(
        body, type=list[ContentBlock]
    )
    assert (text.content, blocks.content) == (
        "text",
        [ContentBlock(type="tool_reference", tool_name="tide")],
    )
    assert code.content == ToolOutput(type="x", return_code=0, content=[ContentBlock(file_id="f")])
    assert fetched.content == ToolOutput(
        url="u", content=ContentBlock(type="document", source=Source(data="d"))
    )
    assert failed.content == ToolOutput(
        type="web_search_tool_result_error", error_code="unavailable"
    )
    assert cited.citations == [Citation(type="page_location", start_page_number=1)]
    assert (fallback.from_.model, fallback.to.model) == ("a", "b")


BODY = (
    b'{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[ '
    b'{"signature":"c2ln","type":"thinking","thinking":""},'
    b'{"type":"text","text":"Hi","grain":1.0}, {"type":"shell","id":"s", "sound":[1,  2]},'
    b'{"type":"tool_use","id":"t","name":"tide","input":{"b":1.50,"a":1e2}}],'
    b'"stop_reason":"tool_use","usage":{"output_tokens":3}}'
)
BLOCKS = [
    b'{"signature":"c2ln","type":"thinking","thinking":""}',
    b'{"type":"text","text":"Hi","grain":1.0}',
    b'{"type":"shell","id":"s", "sound":[1,  2]}',
    b'{"type":"tool_use","id":"t","name":"tide","input":{"b":1.50,"a":1e2}}',
]


def test_a_received_block_remembers_its_bytes():
    answer = parse_message(BODY)
    assert ([block.raw for block in answer.content or ()], answer.raw) == (BLOCKS, BODY)
    assert wire.unknown(answer) == [("content[1].grain", 1.0), ("content[2].sound", [1, 2])]
    assert (answer.text, [block.name for block in answer.tool_uses]) == ("Hi", ["tide"])


@pytest.mark.parametrize(
    "kept",
    [lambda answer: answer, copy.deepcopy, lambda answer: pickle.loads(pickle.dumps(answer))],
)
def test_an_answer_goes_back_byte_for_byte(kept: Any):
    answer = kept(parse_message(BODY))
    whole = b'{"role":"assistant","content":[' + b",".join(BLOCKS) + b"]}"
    assert (
        encode(answer.message) == encode(Message(role="assistant", content=answer.content)) == whole
    )
    result = Message(
        role="user", content=[ContentBlock(type="tool_result", tool_use_id="t", content="2 m")]
    )
    asked = [Message(role="user", content="?"), answer.message, result]
    assert (
        whole
        in anthropic.create_message(MessageRequest(model="m", max_tokens=9, messages=asked)).body
    )


def test_one_block_may_be_left_out_and_one_put_in():
    blocks = parse_message(BODY).content or []
    assert (
        encode([blocks[1], ContentBlock(type="text", text="Ho")])
        == b"[" + BLOCKS[1] + b',{"type":"text","text":"Ho"}]'
    )
    assert encode(msgspec.structs.replace(blocks[1], text="Ho")) == b'{"type":"text","text":"Ho"}'


def test_what_was_received_is_read_only():
    answer = parse_message(BODY)
    assert answer.content is not None
    for change in (
        lambda: answer.content.append(ContentBlock()),
        lambda: answer.content[3].input.update(a=1),
        lambda: setattr(answer.content[0], "thinking", "x"),
    ):
        with pytest.raises((TypeError, AttributeError)):
            change()
    assert encode(answer.content[3]) == BLOCKS[3]


def test_one_odd_value_does_not_cost_the_answer():
    answer = parse_message(
        b'{"id":7,"content":[{"type":"text","text":"Hi"}],"stop_reason":["x"],'
        b'"usage":{"input_tokens":3.0,"output_tokens":"3"}}'
    )
    assert (answer.id, answer.stop_reason, answer.text, answer.usage) == (
        None,
        None,
        "Hi",
        Usage(input_tokens=3),
    )
    assert wire.unknown(answer) == [("id", 7), ("stop_reason", ["x"]), ("usage.output_tokens", "3")]
