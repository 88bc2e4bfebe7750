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
from wire.core.memory import FrozenList, WireStruct, encode, freeze, remember
from wire.openai.chat import types
from wire.openai.chat.types import (
    Annotation,
    BatchCreateRequest,
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionRequest,
    Choice,
    ChunkChoice,
    CompletionUsage,
    ContentPart,
    CustomTool,
    DecisionRequest,
    Delta,
    Embedding,
    EmbeddingRequest,
    ErrorBody,
    ErrorObject,
    ExpiresAfter,
    FunctionCall,
    FunctionDefinition,
    ImageUrl,
    JsonSchema,
    Logprobs,
    Message,
    Model,
    NamedFunction,
    OpenAIStruct,
    ReasoningDetail,
    ResponseFormat,
    StreamOptions,
    SystemOneRequest,
    Thinking,
    TokenLogprob,
    Tool,
    ToolCall,
    ToolChoice,
    TopLogprob,
    UrlCitation,
)
from wire.openai.common import types as common_types

STRUCTS = sorted(
    {
        value
        for value in (getattr(types, name) for name in types.__all__)
        if isinstance(value, type) and issubclass(value, OpenAIStruct)
    }
    - {OpenAIStruct},
    key=lambda cls: cls.__name__,
)
NEEDED = {
    ChatCompletionRequest: {"messages": []},
    EmbeddingRequest: {"input": ""},
    DecisionRequest: {"model": "m", "input": "", "questions": []},
    SystemOneRequest: {"model": "m", "state": "", "questions": {}},
    BatchCreateRequest: {"input_file_id": "f", "endpoint": "/v1/e", "completion_window": "24h"},
    ExpiresAfter: {"anchor": "created_at", "seconds": 3600},
}
FIELDS = [
    (cls, name, wire_name, hints[name])
    for cls, hints in ((cls, typing.get_type_hints(cls)) for cls in STRUCTS)
    for name, wire_name in zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
    if name not in NEEDED.get(cls, {})
]


def read(body: bytes | str, cls: type[Any]) -> Any:
    return remember(
        msgspec.json.decode(body, type=cls), body.encode() if isinstance(body, str) else body
    )


# --- every struct ---------------------------------------------------------------------------------


def test_all_is_exported_and_nothing_is_missing():
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}")
        for package in (types, common_types)
        for each in pkgutil.iter_modules(package.__path__)
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
    assert len(STRUCTS) > 60


@joined("cls", STRUCTS, ids=lambda cls: cls.__name__)
def test_every_struct(cls):
    config, needed = cls.__struct_config__, NEEDED.get(cls, {})
    assert (config.frozen, config.omit_defaults, config.forbid_unknown_fields) == (
        True,
        True,
        False,
    )
    assert issubclass(cls, WireStruct)
    assert json.loads(encode(cls(**needed))) == needed
    assert msgspec.json.decode(json.dumps({"noSuchKey": {"a": [1]}, **needed}), type=cls) == cls(
        **needed
    )
    with pytest.raises(TypeError):
        cls(*[None] * len(cls.__struct_fields__))
    with pytest.raises((AttributeError, TypeError)):
        setattr(cls(**needed), cls.__struct_fields__[0], 1)


def test_every_name_is_the_one_on_the_wire():
    renamed = {(cls, name): wire_name for cls, name, wire_name, _ in FIELDS if name != wire_name}
    assert renamed == {
        (Choice, "finish_reason_camel"): "finishReason",
        (ChunkChoice, "finish_reason_camel"): "finishReason",
    }


@joined("cls", NEEDED, ids=lambda cls: cls.__name__)
def test_what_a_request_needs(cls):
    for name in NEEDED[cls]:
        with pytest.raises(TypeError):
            cls(**{key: value for key, value in NEEDED[cls].items() if key != name})


def test_every_other_field_is_optional_and_null_reads_as_absent():
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


@joined(
    ("cls", "body"),
    [
        (
            Message,
            b'{"role":"oracle","content":[{"type":"hologram"}],"tool_calls":[{"type":"spell"}]}',
        ),
        (ChatCompletion, b'{"object":"x","service_tier":"y","choices":[{"finish_reason":"z"}]}'),
        (ChatCompletionChunk, b'{"choices":[{"delta":{"role":"x"},"finish_reason":""}]}'),
        (ReasoningDetail, b'{"type":"reasoning.new","format":"v-9"}'),
        (Thinking, b'{"type":"perhaps","keep":"some"}'),
        (ErrorObject, b'{"type":"x","code":"y"}'),
    ],
)
def test_values_that_no_list_has(cls, body):
    struct = msgspec.json.decode(body, type=cls)
    assert json.loads(encode(struct)) == json.loads(body)


# --- absent, null, zero ---------------------------------------------------------------------------


@joined(
    ("struct", "body"),
    [
        (ChatCompletionRequest(model="m", messages=[]), b'{"model":"m","messages":[]}'),
        (ChatCompletionRequest(model="", messages=[Message()]), b'{"model":"","messages":[{}]}'),
        (
            ChatCompletionRequest(
                model="m",
                messages=[],
                stream=False,
                temperature=0,
                n=0,
                seed=0,
                max_tokens=0,
                store=False,
            ),
            b'{"model":"m","messages":[],"stream":false,"max_tokens":0,"temperature":0,'
            b'"n":0,"seed":0,"store":false}',
        ),
        (
            ChatCompletionRequest(
                model="m",
                messages=[],
                stop=[],
                tools=[],
                logit_bias={},
                metadata={},
                thinking=Thinking(),
            ),
            b'{"model":"m","messages":[],"stop":[],"logit_bias":{},"tools":[],'
            b'"metadata":{},"thinking":{}}',
        ),
        (
            ChatCompletionRequest(model="m", messages=[], stop="", user=""),
            b'{"model":"m","messages":[],"stop":"","user":""}',
        ),
        (StreamOptions(include_usage=False), b'{"include_usage":false}'),
        (Message(role="assistant", content=""), b'{"role":"assistant","content":""}'),
        (Message(content=[], tool_calls=[]), b'{"content":[],"tool_calls":[]}'),
        (
            Message(role="tool", content="7", tool_call_id="c"),
            b'{"role":"tool","content":"7","tool_call_id":"c"}',
        ),
        (Message(reasoning_content="", prefix=False), b'{"reasoning_content":"","prefix":false}'),
        (ContentPart(type="text", text=""), b'{"type":"text","text":""}'),
        (
            ContentPart(type="image_url", image_url=ImageUrl(url="u", detail="low")),
            b'{"type":"image_url","image_url":{"url":"u","detail":"low"}}',
        ),
        (ContentPart(type="image_url", image_url="u"), b'{"type":"image_url","image_url":"u"}'),
        (
            ContentPart(
                type="thinking", thinking=[ContentPart(type="text", text="t")], closed=False
            ),
            b'{"type":"thinking","thinking":[{"type":"text","text":"t"}],"closed":false}',
        ),
        (ToolCall(id="", index=0), b'{"id":"","index":0}'),
        (FunctionCall(name="f", arguments=""), b'{"name":"f","arguments":""}'),
        (FunctionCall(arguments={"a": None}), b'{"arguments":{"a":null}}'),
        (
            Tool(
                type="function", function=FunctionDefinition(name="f", parameters={}, strict=False)
            ),
            b'{"type":"function","function":{"name":"f","parameters":{},"strict":false}}',
        ),
        (
            Tool(type="custom", custom=CustomTool(name="c")),
            b'{"type":"custom","custom":{"name":"c"}}',
        ),
        (
            ToolChoice(type="function", function=NamedFunction(name="f")),
            b'{"type":"function","function":{"name":"f"}}',
        ),
        (
            ResponseFormat(
                type="json_schema", json_schema=JsonSchema(name="n", schema={}, strict=True)
            ),
            b'{"type":"json_schema","json_schema":{"name":"n","schema":{},"strict":true}}',
        ),
        (Choice(finish_reason_camel="STOP"), b'{"finishReason":"STOP"}'),
    ],
    ids=lambda value: value.decode() if isinstance(value, bytes) else "",
)
def test_zero_is_sent_and_absent_is_not(struct, body):
    """Absent fields are not sent as null, and zeros are not omitted."""
    assert encode(struct) == body
    assert msgspec.json.decode(body, type=type(struct)) == struct


@pytest.mark.parametrize(
    "choice",
    ["none", "any", ToolChoice(type="allowed_tools", allowed_tools=types.AllowedTools(tools=[{}]))],
)
def test_tool_choice_is_text_or_an_object(choice):
    request = ChatCompletionRequest(model="m", messages=[], tool_choice=choice)
    assert msgspec.json.decode(encode(request), type=ChatCompletionRequest) == request


@joined("given", ["a", ["a", "b"], [1, 2], [[1], [2, 3]]])
def test_input_of_embeddings(given):
    request = EmbeddingRequest(model="m", input=given)
    assert json.loads(encode(request)) == {"model": "m", "input": given}
    assert msgspec.json.decode(encode(request), type=EmbeddingRequest) == request


@joined(
    ("cls", "body", "expected"),
    [
        (
            CompletionUsage,
            b'{"prompt_tokens":1,"total_tokens":null}',
            CompletionUsage(prompt_tokens=1),
        ),
        (CompletionUsage, b'{"cost":0}', CompletionUsage(cost=0.0)),
        (
            CompletionUsage,
            b'{"cost":{"total_cost":0.5}}',
            CompletionUsage(cost={"total_cost": 0.5}),
        ),
        (
            ChatCompletionChunk,
            b'{"choices":null,"error":"text"}',
            ChatCompletionChunk(error="text"),
        ),
        (
            ChatCompletionChunk,
            b'{"choices":[],"error":{"code":429}}',
            ChatCompletionChunk(choices=[], error=ErrorObject(code=429)),
        ),
        (
            ChatCompletionChunk,
            b'{"choices":[{"index":0,"delta":{"content":"b"},"message":{"content":"ab"}}]}',
            ChatCompletionChunk(
                choices=[
                    ChunkChoice(index=0, delta=Delta(content="b"), message=Message(content="ab"))
                ]
            ),
        ),
        (
            ChatCompletionChunk,
            b'{"choices":[{"delta":{"content":[{"type":"thinking",'
            b'"thinking":[{"type":"text","text":"t"}]}]}}]}',
            ChatCompletionChunk(
                choices=[
                    ChunkChoice(
                        delta=Delta(
                            content=[
                                ContentPart(
                                    type="thinking", thinking=[ContentPart(type="text", text="t")]
                                )
                            ]
                        ),
                    )
                ]
            ),
        ),
        (
            Delta,
            b'{"tool_calls":[{"index":-1,"id":null,"function":{"name":null,"arguments":{"a":1}}}]}',
            Delta(tool_calls=[ToolCall(index=-1, function=FunctionCall(arguments={"a": 1}))]),
        ),
        (
            Message,
            b'{"annotations":[{"type":"url_citation","url_citation":{"url":"u","start_index":0}}]}',
            Message(
                annotations=[
                    Annotation(
                        type="url_citation", url_citation=UrlCitation(url="u", start_index=0)
                    )
                ]
            ),
        ),
        (
            Logprobs,
            b'{"content":[{"token":"a","logprob":-1,"bytes":[97],'
            b'"top_logprobs":[{"token":"a","bytes":"YQ=="}]}],"refusal":null}',
            Logprobs(
                content=[
                    TokenLogprob(
                        token="a",
                        logprob=-1.0,
                        bytes=[97],
                        top_logprobs=[TopLogprob(token="a", bytes="YQ==")],
                    )
                ]
            ),
        ),
        (Embedding, b'{"embedding":"AACAPw=="}', Embedding(embedding="AACAPw==")),
        (Embedding, b'{"embedding":[1,0.5]}', Embedding(embedding=[1.0, 0.5])),
        (ErrorBody, b'{"error":"text","code":"c"}', ErrorBody(error="text", code="c")),
        (ErrorBody, b'{"detail":"Unauthorized"}', ErrorBody(detail="Unauthorized")),
        (ErrorBody, b'{"detail":[{"loc":["body"]}]}', ErrorBody(detail=[{"loc": ["body"]}])),
        (
            ErrorBody,
            b'{"error":{"message":"m","details":[{}]}}',
            ErrorBody(error=ErrorObject(message="m", details=[{}])),
        ),
        (ErrorObject, b'{"code":"401"}', ErrorObject(code="401")),
        (ErrorObject, b'{"http_code":"400"}', ErrorObject(http_code="400")),
    ],
)
def test_odd_values_are_read(cls, body, expected):
    assert msgspec.json.decode(body, type=cls) == expected


# --- what came is kept ----------------------------------------------------------------------------


def test_unknown_keys_are_told_at_every_level():
    body = (
        '{"id":"a","p":"pad","choices":[{"index":0,"seed":7,'
        '"message":{"role":"assistant","padding":"x","content":[{"type":"new",'
        '"new":[1]}],'
        '"tool_calls":[{"id":"c","fine":true,"function":{"name":"f","weight":1}}],'
        '"reasoning_details":[{"type":"t","zeal":1}]}}],'
        '"usage":{"prompt_tokens":1,"rate":2,"prompt_tokens_details":{"odour_tokens":3}},'
        '"x_groq":{"debug":{}}}'
    )
    answer = read(body, ChatCompletion)
    assert wire.unknown(answer) == [
        ("p", "pad"),
        ("choices[0].seed", 7),
        ("choices[0].message.padding", "x"),
        ("choices[0].message.content[0].new", [1]),
        ("choices[0].message.tool_calls[0].fine", True),
        ("choices[0].message.tool_calls[0].function.weight", 1),
        ("choices[0].message.reasoning_details[0].zeal", 1),
        ("usage.rate", 2),
        ("usage.prompt_tokens_details.odour_tokens", 3),
        ("x_groq.debug", {}),
    ]
    assert answer.raw == body.encode()
    assert wire.unknown(
        read('{"choices":[{"delta":{"token_id":1,"tool_calls":[{"x":1}]}}]}', ChatCompletionChunk)
    ) == [
        ("choices[0].delta.token_id", 1),
        ("choices[0].delta.tool_calls[0].x", 1),
    ]
    assert wire.unknown(read('{"error":{"message":"m","innererror":{}},"trace":1}', ErrorBody)) == [
        ("error.innererror", {}),
        ("trace", 1),
    ]
    assert wire.unknown(read('{"id":"m","context_length":8}', Model)) == [("context_length", 8)]


def test_finish_reason_of_the_other_spelling_is_known():
    chunk = read('{"choices":[{"finishReason":"stop"}]}', ChatCompletionChunk)
    assert (
        chunk.choices[0].finish_reason_camel,
        chunk.choices[0].finish_reason,
        wire.unknown(chunk),
    ) == ("stop", None, [])


def test_a_message_that_came_goes_back_in_its_bytes():
    """Including the order of keys, spacing, unknown keys and nulls."""
    body = (
        '{ "tool_calls":[{"function":{"arguments":"{\\"a\\": 1}"},"id":"c"}], '
        '"content":null, "padding":"x", "role":"assistant" }'
    )
    came = read(body, Message)
    asked = Message(role="user", content="a")
    request = ChatCompletionRequest(
        model="m", messages=[asked, came, Message(role="tool", tool_call_id="c", content="1")]
    )
    assert encode(request) == (
        b'{"model":"m","messages":[{"role":"user","content":"a"},'
        + body.encode()
        + b',{"role":"tool","content":"1","tool_call_id":"c"}]}'
    )
    call = read('{ "id":"c","type":"function" }', ToolCall)
    assert (
        encode(Message(role="assistant", tool_calls=[call]))
        == b'{"role":"assistant","tool_calls":[{ "id":"c","type":"function" }]}'
    )
    assert encode(msgspec.structs.replace(came, content="b")).startswith(
        b'{"role":"assistant","content":"b",'
    )


def test_only_messages_and_calls_remember_inside_others():
    assert {cls for cls in STRUCTS if cls.remembers} == {Message, ToolCall}


def test_what_came_is_read_only():
    came = freeze(
        read(
            '{"content":[{"type":"thinking","thinking":[{"text":"t"}]}],'
            '"tool_calls":[{"function":{"arguments":{"a":[1]}}}]}',
            Message,
        )
    )
    assert isinstance(came.content, FrozenList)
    for change in (
        lambda: came.content.append(ContentPart()),
        lambda: came.content[0].thinking.clear(),
        lambda: came.tool_calls[0].function.arguments.update(b=1),
    ):
        with pytest.raises(TypeError, match="read-only"):
            change()
    assert came == Message(
        content=[ContentPart(type="thinking", thinking=[ContentPart(text="t")])],
        tool_calls=[ToolCall(function=FunctionCall(arguments={"a": [1]}))],
    )


# --- equality, repr -------------------------------------------------------------------------------


def test_equality_sees_fields_and_not_the_bytes():
    assert read('{"role":"user","content":"a"}', Message) == Message(role="user", content="a")
    assert read('{"role":"user","content":"a","x":1}', Message) == read(
        '{"content":"a","role":"user"}', Message
    )
    assert Message(content="") != Message()
    assert Message(content="a") != Delta(content="a")
    assert ToolCall(index=0) != ToolCall()


def test_repr_says_what_is_there():
    assert repr(Message(role="user", content=[ContentPart(type="text", text="a")])) == (
        "Message(role='user', content=[ContentPart(type='text', text='a')])"
    )
    assert (
        repr(ChatCompletionRequest(model="m", messages=[], temperature=0))
        == "ChatCompletionRequest(model='m', messages=[], temperature=0)"
    )
    assert (
        repr(ChunkChoice(index=0, finish_reason_camel="stop"))
        == "ChunkChoice(index=0, finish_reason_camel='stop')"
    )
    assert repr(Delta()) == "Delta()"
