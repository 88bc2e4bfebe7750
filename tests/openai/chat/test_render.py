"""Neutral requests rendered as requests of chat completions in each dialect, and the requests that
are refused.
"""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.quirks import Served
from tests.joined import joined
from wire import Client, notes, openai
from wire.core.memory import encode
from wire.errors import HistoryError, RuleError
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Part,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    with_origin,
)
from wire.neutral.request import Output, Request, Tool
from wire.openai import Dialect, Refusal, render_request
from wire.providers import PROVIDERS

from .neutral import HI, PNG, TIDE, A, B, asked, body_of, dialect_of, row_of, sent, told
from .test_provider_fixtures import KEY

# --- what is written ------------------------------------------------------------------------------


@pytest.mark.row("S1-23", "U-122")
def test_the_order_of_things():
    made = sent(
        HI,
        Message.assistant("Let me ", "see.", A, B),
        Message.tool_response(ToolResult("call_B", "get_tide", {"höhe": 2.5})),
        Message.tool_response(ToolResult("call_A", "get_tide", "17:42 – ebb")),
        system="Be brief.",
    )
    functions = [
        {"name": "get_tide", "arguments": '{"port":"Brest"}'},
        {"name": "get_tide", "arguments": '{"port":"Łódź"}'},
    ]
    assert made == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [
                {"id": id, "type": "function", "function": each}
                for id, each in zip(("call_A", "call_B"), functions, strict=True)
            ],
        },
        {"role": "tool", "content": "17:42 – ebb", "tool_call_id": "call_A"},
        {"role": "tool", "content": '{"höhe":2.5}', "tool_call_id": "call_B"},
    ]


@pytest.mark.row("S1-23")
@joined(
    ("result", "content"),
    [
        (ToolResult("call_A", "f", ""), ""),
        (ToolResult("call_A", "f", "grün"), "grün"),
        (ToolResult("call_A", "f", {"ö": [1, 2.5, None]}), '{"ö":[1,2.5,null]}'),
        (ToolResult("call_A", "f", ["ö"]), '["ö"]'),
        (ToolResult("call_A", "f", 3), "3"),
        (ToolResult("call_A", "f", None), "null"),
        (ToolResult("call_A", "f", "no such port", error=True), '{"error":"no such port"}'),
        (
            ToolResult("call_A", "f", {"error": "gone", "code": 4}, error=True),
            '{"error":"gone","code":4}',
        ),
    ],
)
def test_results(result: ToolResult, content: str):
    assert sent(HI, Message.assistant(A), Message.tool_response(result))[2] == {
        "role": "tool",
        "content": content,
        "tool_call_id": "call_A",
    }


@pytest.mark.row("S1-23")
@pytest.mark.parametrize(
    ("no_text", "wanted"), [("omit", {}), ("null", {"content": None}), ("empty", {"content": ""})]
)
def test_calls_without_text(no_text: Any, wanted: Any):
    said = sent(
        HI, Message.assistant(A), Message.tool_result(A, "1"), dialect=Dialect(no_text=no_text)
    )[1]
    assert {key: value for key, value in said.items() if key == "content"} == wanted


@pytest.mark.row("S1-25")
@joined(
    ("call", "arguments"),
    [
        (ToolCall(id="c", name="f", arguments={"a": "ö"}), '{"a":"ö"}'),
        (ToolCall(id="c", name="f", arguments={"a": 1}, text='{ "a": 1 }'), '{ "a": 1 }'),
        (
            ToolCall(id="c", name="f", arguments={"a": 2}, text='{ "a": 1 }'),
            '{"a":2}',
        ),  # changed since it came
        (ToolCall(id="c", name="f", arguments=None, text='{"a": 1'), '{"a": 1'),
        (ToolCall(id="c", name="f", arguments={}), "{}"),
        (ToolCall(id="c", name="f", arguments={}, text=""), "{}"),
    ],
)
def test_arguments_go_out_as_they_came(call: ToolCall, arguments: str):
    assert (
        sent(HI, Message.assistant(call), Message.tool_result(call, "1"))[1]["tool_calls"][0][
            "function"
        ]["arguments"]
        == arguments
    )


@pytest.mark.parametrize(
    "call",
    [
        ToolCall(id="c", name="sql", kind="custom", arguments={"input": "x"}),
        ToolCall(id="c", name="sql", kind="custom", arguments=None, text="x"),
    ],
)
def test_custom_calls(call: ToolCall):
    history = (HI, Message.assistant(call), Message.tool_result(call, "1"))
    assert sent(*history, dialect=dialect_of("openai"))[1]["tool_calls"] == [
        {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "x"}}
    ]
    function = {"name": "sql", "arguments": '{"input":"x"}'}
    assert sent(*history, dialect=Dialect())[1]["tool_calls"] == [
        {"id": "c", "type": "function", "function": function}
    ]


def test_system_messages_stand_in_their_place():
    made = sent(
        Message.system("A"), HI, Message.system("B"), Message.assistant("Ho"), HI, system="S"
    )
    assert [(each["role"], each["content"]) for each in made if each["role"] == "system"] == [
        ("system", "S"),
        ("system", "A"),
        ("system", "B"),
    ]
    assert [each["role"] for each in made] == [
        "system",
        "system",
        "user",
        "system",
        "assistant",
        "user",
    ]
    assert told(asked(Message.system(" "), HI)) == [
        "messages[0]: left out: an empty system message"
    ]
    assert [each["role"] for each in sent(Message.system(" "), HI, system=" ")] == ["user"]


def test_system_messages_become_one_where_the_host_takes_one():
    minimax = dialect_of("minimax")
    request = asked(Message.system("A", "B"), HI, Message.system("C"), system="S")
    assert body_of(request, dialect=minimax)["messages"] == [
        {"role": "system", "content": "S\n\nA\n\nB\n\nC"},
        {"role": "user", "content": "Hi"},
    ]
    assert told(request, dialect=minimax) == [
        "messages: 3 system messages were merged: this host accepts at most 1"
    ]
    one = asked(HI, Message.system("C"))
    assert (
        [each["role"] for each in body_of(one, dialect=minimax)["messages"]],
        told(one, dialect=minimax),
    ) == (["user", "system"], [])


def test_a_system_message_among_results_stands_behind_them():
    request = asked(
        HI,
        Message.assistant(A, B),
        Message.system("S"),
        Message.tool_result(B, "2"),
        Message.tool_result(A, "1"),
        Message.system("T"),
    )
    assert [each["content"] for each in body_of(request)["messages"][2:]] == ["1", "2", "S", "T"]
    assert told(request) == [
        "messages[2]: moved after the results, which must directly follow their calls"
    ]


# --- U-42: media ----------------------------------------------------------------------------------


@pytest.mark.row("U-42")
@joined(
    ("media", "part"),
    [
        (PNG, {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}),
        (
            Media(url="data:image/png;base64,iVBORw=="),
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}},
        ),
        (
            Media(url="https://x.test/a?b=1", detail="low"),
            {"type": "image_url", "image_url": {"url": "https://x.test/a?b=1", "detail": "low"}},
        ),
        (
            Media(data=b"abc", media_type="audio/wav"),
            {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "wav"}},
        ),
        (
            Media(data=b"abc", media_type="audio/mpeg"),
            {"type": "input_audio", "input_audio": {"data": "YWJj", "format": "mp3"}},
        ),
        (
            Media(data=b"abc", media_type="application/pdf", name="a.pdf"),
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,YWJj"},
            },
        ),
        (
            Media(data=b"abc", media_type="application/pdf"),
            {
                "type": "file",
                "file": {
                    "filename": "document.pdf",
                    "file_data": "data:application/pdf;base64,YWJj",
                },
            },
        ),
        (Media(url="file-abc123"), {"type": "file", "file": {"file_id": "file-abc123"}}),
    ],
)
def test_media(media: Media, part: Any):
    assert sent(Message.user("What is this?", media)) == [
        {"role": "user", "content": [{"type": "text", "text": "What is this?"}, part]}
    ]
    assert sent(Message.user(media))[0]["content"] == [part]


@pytest.mark.row("U-42")
@joined(
    "media",
    [
        Media(data=b"a", media_type="video/mp4"),
        Media(data=b"a", media_type="audio/ogg"),
        Media(data=b"a", media_type="text/plain"),
        Media(url="gs://bucket/a.png", media_type="image/png"),
        Media(url="files/abc"),
        Media(url="https://x.test/a.pdf"),
        Media(url="https://x.test/a.MP4?b=1"),
        Media(url="https://x.test/a", media_type="audio/wav"),
    ],
)
def test_other_media_are_refused(media: Media):
    with pytest.raises(RuleError) as caught:
        openai.stream_call(
            asked(Message.user("Hi"), Message.assistant("Ho"), Message.user("This", media)), "m"
        )
    assert [each.path for each in caught.value.violations] == ["messages[2].parts[1]"]
    # Of the results of tools they are left out, so that no run ends because of them.
    result = Message.tool_response(ToolResult("call_A", "f", "", media=(PNG, media)))
    call = openai.stream_call(asked(HI, Message.assistant(A), result), "m")
    [note] = [each for each in call.notes if each.path == "messages[2].parts[0].media[1]"]
    assert note.message.startswith(("sent as text: ", "left out, with a line in words: "))


def test_media_of_results_come_from_the_user():
    request = asked(
        HI,
        Message.assistant(A, B),
        Message.tool_response(
            ToolResult("call_A", "f", "see", media=(PNG,)), ToolResult("call_B", "f", "2")
        ),
        Message.user("Well?"),
    )
    made = body_of(request)["messages"]
    assert [each["role"] for each in made] == ["user", "assistant", "tool", "tool", "user", "user"]
    assert made[4]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw=="}}
    ]
    assert told(request) == [
        "messages[2].parts[0].media: sent as a user message after the results, which have text only"
    ]


def test_what_chat_completions_have_no_words_for_is_told():
    said = Message.assistant(
        "A",
        A,
        "B",
        Thought("Hm"),
        PNG,
        Other("executableCode", {}),
        Text("C", signature="c2ln"),
        "",
    )
    request = asked(
        Message.user("Hi", Other("x")), said, Message.tool_result(A, "1"), search_grounding=True
    )
    assert body_of(request)["messages"][:2] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "ABC",
            "tool_calls": [
                {
                    "id": "call_A",
                    "type": "function",
                    "function": {"name": "get_tide", "arguments": '{"port":"Brest"}'},
                }
            ],
        },
    ]
    assert told(request) == [
        "search_grounding: not sent: only Gemini searches with Google",
        "messages[0].parts[1]: withheld: only its own vendor accepts x",
        "messages[1].parts[2]: moved before the calls: this wire has the text first",
        "messages[1].parts[3]: withheld: the thought belongs to no reasoning field of this wire",
        "messages[1].parts[4]: withheld: the wire has no field for image/png of the assistant",
        "messages[1].parts[5]: withheld: only its own vendor accepts executableCode",
        "messages[1].parts[6]: moved before the calls: this wire has the text first",
        "messages[1].parts[6]: withheld: the signature, which the wire has no field for",
    ]


def test_paths_stay_those_of_the_request_where_nothing_is_left_of_a_message():
    gone = with_origin(
        Message.assistant(with_origin(Thought("Hm"), Origin("x", "y", "openai"))),
        Origin("x", "y", "openai"),
    )
    request = asked(HI, gone, HI, Message.assistant(Other("z")), HI)
    assert [note.path for note in notes(render_request(request, "m"))] == [
        "messages[1].parts[0]",
        "messages[1]",
        "messages[3].parts[0]",
        "messages[2]",  # of the body
    ]


# --- tools ----------------------------------------------------------------------------------------


@pytest.mark.row("S0-01", "S1-24", "U-124")
def test_tools():
    parameters = {
        "required": ["b"],
        "properties": {"b": {"type": "string"}, "a": {"$ref": "#/$defs/x"}},
        "type": "object",
        "$defs": {"x": {}},
    }
    tools = (
        Tool("f", "Does it.", parameters, response={"type": "string"}),
        Tool("now"),
        Tool("empty", parameters={}),
    )
    before = copy.deepcopy(parameters)
    call = openai.call(asked(tools=tools), "m")
    assert parameters == before
    assert json.dumps(parameters, separators=(",", ":")).encode() in call.body
    assert json.loads(call.body)["tools"] == [
        {
            "type": "function",
            "function": {"name": "f", "description": "Does it.", "parameters": parameters},
        },
        {
            "type": "function",
            "function": {"name": "now", "parameters": {"type": "object", "properties": {}}},
        },
        {
            "type": "function",
            "function": {"name": "empty", "parameters": {"type": "object", "properties": {}}},
        },
    ]
    assert "tool_choice" not in json.loads(call.body)


ALLOWED = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]


@pytest.mark.row("S1-24", "U-106", "U-107")
@joined(
    ("choice", "wanted"),
    [
        (None, None),
        ((), None),
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        (("f",), {"type": "function", "function": {"name": "f"}}),
        (
            ("f", "g"),
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": ALLOWED}},
        ),
    ],
)
def test_tool_choice(choice: Any, wanted: Any):
    request = asked(tools=(Tool("f"), Tool("g"), Tool("h")), tool_choice=choice)
    assert (body_of(request).get("tool_choice"), told(request)) == (wanted, [])


@pytest.mark.row("U-107")
def test_a_host_that_does_not_choose_among_several():
    dialect = Dialect(refuses=(Refusal("tool_choice.allowed_tools", "unknown"),))
    request = asked(tools=(Tool("f"), Tool("g")), tool_choice=("f", "g"))
    assert body_of(request, dialect=dialect)["tool_choice"] == "required"
    assert told(request, dialect=dialect) == [
        "tool_choice: changed to required: this host cannot limit the choice to f, g"
    ]


# --- settings -------------------------------------------------------------------------------------


@joined(
    ("provider", "model", "settings", "wanted", "noted"),
    [
        ("kimi", "kimi-k2.6", {"effort": "none"}, {"thinking": {"type": "disabled"}}, []),
        ("glm", "glm-5.1", {"effort": "none"}, {"thinking": {"type": "disabled"}}, []),
        ("deepseek", "deepseek-v4-pro", {"effort": "None"}, {"thinking": {"type": "disabled"}}, []),
        ("qwen", "qwen3.8-max", {"effort": "none"}, {"enable_thinking": False}, []),
        ("glm", "glm-5.1", {"effort": "low"}, {}, ["effort: not sent: this model has no efforts"]),
        ("kimi", "kimi-k2.7-code", {"effort": "none"}, {}, [
            "effort: not sent: this model cannot turn thinking off"
        ]),
        ("kimi", "kimi-k3", {"effort": "none"}, {"reasoning_effort": "low"}, [
            "effort: changed to low for kimi-k3: it cannot turn thinking off"
        ]),
        ("glm", "glm-5.2", {"temperature": 1.5}, {"temperature": 1.0}, [
            "temperature: changed to 1: this host takes 0 to 1"
        ]),
        ("minimax", "MiniMax-M3", {"temperature": 1.5}, {"temperature": 1.0}, [
            "temperature: changed to 1: this host takes 0 to 1"
        ]),
        ("glm", "glm-5.2", {"temperature": 0.5}, {"temperature": 0.5}, []),
    ],
)  # fmt: skip
def test_an_effort_and_a_temperature_become_what_the_host_has(
    provider: str, model: str, settings: dict[str, Any], wanted: dict[str, Any], noted: list[str]
):
    call = openai.stream_call(asked(**settings), model, provider)
    body = json.loads(call.body)
    plain = {"model", "messages", "stream", "stream_options"}
    assert {key: value for key, value in body.items() if key not in plain} == wanted
    assert [str(each) for each in call.notes] == noted


@pytest.mark.row("U-54", "U-55", "U-149")
@joined(
    ("settings", "wanted"),
    [
        ({}, {}),
        ({"max_tokens": 9}, {"max_tokens": 9}),
        ({"temperature": 0.0}, {"temperature": 0.0}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        ({"stop": ("a", "b")}, {"stop": ["a", "b"]}),
        ({"effort": "xhigh"}, {"reasoning_effort": "xhigh"}),
        ({"raw_schemas": True}, {}),
        (
            {"output": Output({"type": "object"})},
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": {"type": "object"}},
                }
            },
        ),
        (
            {
                "output": Output(
                    {"type": "object", "additionalProperties": False}, "tide", strict=True
                )
            },
            {
                "response_format": {
                    "type": "json_schema",
                    "json_schema": {
                        "name": "tide",
                        "schema": {"type": "object", "additionalProperties": False},
                        "strict": True,
                    },
                }
            },
        ),
    ],
)
def test_fields(settings: Any, wanted: Any):
    plain = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    assert body_of(asked(**settings)) == plain | wanted
    assert json.loads(openai.call(asked(**settings), "m", "").body) == plain | wanted
    assert json.loads(encode(render_request(asked(**settings), "m", ""))) == plain | wanted
    # OpenAI stores a request unless it says that it must not.
    streaming = {"stream": True, "stream_options": {"include_usage": True}, "store": False}
    assert json.loads(openai.stream_call(asked(**settings), "m").body) == plain | streaming | wanted
    assert told(asked(**settings)) == []


@joined(
    ("provider", "strict", "closed", "changed"),
    [
        ("openai", True, True, ["tools[0].parameters", "tools[0].parameters.properties.at"]),
        ("deepseek", True, False, []),
        ("llama.cpp", True, False, []),
        ("kimi", None, False, ["tools[0].strict"]),
    ],
)
def test_strict_tools(provider: str, strict: bool | None, closed: bool, changed: list[str]):
    at = {"type": "object", "properties": {}}
    parameters = {"type": "object", "properties": {"at": at}, "required": ["at"]}
    request = asked(tools=(Tool("f", "F.", parameters, strict=True), Tool("g", "", parameters)))
    rendered = render_request(request, "m", provider)
    first, second = (tool.function for tool in rendered.tools or ())
    assert first is not None
    assert second is not None
    assert (first.strict, second.strict) == (strict, None)
    shut = {"additionalProperties": False}
    assert first.parameters == (
        {**parameters, "properties": {"at": {**at, **shut}}, **shut} if closed else parameters
    )
    assert second.parameters == parameters == request.tools[0].parameters
    assert [each.path for each in notes(rendered)] == changed
    assert openai.check(rendered, "m", provider) == []


def test_a_strict_schema_that_the_host_refuses():
    optional = {"type": "object", "properties": {"day": {"type": "string"}}}
    for settings, path in (
        ({"tools": (Tool("f", "", optional, strict=True),)}, "tools[0].function.parameters"),
        ({"output": Output(optional, strict=True)}, "response_format.json_schema.schema"),
    ):
        with pytest.raises(RuleError, match="Missing 'day'") as caught:
            openai.call(asked(**settings), "gpt-5.4", "openai")
        assert [(each.path, each.rule) for each in caught.value.violations] == [(path, "O19")]
        assert openai.call(asked(**settings), "m", "mistral").body


@joined(
    ("name", "model", "field"),
    [
        ("openai", "gpt-5.6", "max_completion_tokens"),
        ("openai", "o3", "max_completion_tokens"),
        ("openai", "gpt-4.1", "max_tokens"),
        ("deepseek", "deepseek-v4-pro", "max_tokens"),
        ("mistral", "mistral-medium-latest", "max_tokens"),
    ],
)
def test_the_field_for_the_most_tokens_is_one_that_the_model_takes(
    name: str, model: str, field: str
):
    body = body_of(asked(max_tokens=9), model, dialect_of(name), provider=name)
    assert {key: value for key, value in body.items() if key.startswith("max_")} == {field: 9}
    turned = Dialect(
        refuses=(
            Refusal("max_tokens", "no", models="a"),
            Refusal("max_completion_tokens", "no", models="b", ignored=True),
        )
    )
    assert [
        set(body_of(asked(max_tokens=9), each, turned)) & {"max_tokens", "max_completion_tokens"}
        for each in "ab"
    ] == [
        {"max_completion_tokens"},
        {"max_tokens"},
    ]


SCHEMA = {"type": "object", "properties": {"höhe": {"type": "number"}}}
WORDS = (
    "Answer with JSON that fits this schema: "
    '{"type":"object","properties":{"höhe":{"type":"number"}}}'
)


@pytest.mark.row("U-54", "U-55")
@joined(
    ("name", "model", "form", "note"),
    [
        ("mistral", "mistral-medium-latest", "json_schema", []),
        ("openai", "gpt-5.4", "json_schema", []),
        ("groq", "llama-4", "json_schema", []),
        ("groq", "groq/compound", "json_object", ["sent as json_object"]),
        ("deepseek", "deepseek-v4-pro", "json_object", ["sent as json_object"]),
        ("openai", "gpt-audio", None, ["sent without a format"]),
    ],
)
def test_output_in_the_best_form_that_the_host_takes(
    name: str, model: str, form: str | None, note: list[str]
):
    request, dialect = asked(output=Output(SCHEMA), system="Be brief."), dialect_of(name)
    body = body_of(request, model, dialect, provider=name)
    assert body.get("response_format", {}).get("type") == form
    assert body["messages"][0]["content"] == (
        "Be brief." if form == "json_schema" else f"Be brief.\n\n{WORDS}"
    )
    assert [each.partition(",")[0] for each in told(request, model, dialect)] == [
        f"output: {each}" for each in note
    ]
    call = openai.stream_call(request, model, name)
    assert call.judge(PROVIDERS[name]) is call


@pytest.mark.row("U-55")
def test_words_of_the_schema_stand_in_the_first_system_message():
    deepseek = dialect_of("deepseek")
    for first, content in (
        (Message.system("A"), f"A\n\n{WORDS}"),
        (Message.system("A", "B"), ["A", "B", WORDS]),
        (None, WORDS),
    ):
        made = sent(
            *filter(None, [first]), HI, Message.system("Z"), output=Output(SCHEMA), dialect=deepseek
        )
        wanted = (
            content
            if isinstance(content, str)
            else [{"type": "text", "text": text} for text in content]
        )
        assert (made[0], made[1]["role"], len(made)) == (
            {"role": "system", "content": wanted},
            "user",
            3,
        )


@pytest.mark.row("S1-20")
def test_where_it_goes():
    for base_url in ("https://host.test/v1", "https://host.test/v1/"):
        with Client("openai", api_key=KEY, base_url=base_url) as client:
            shown = client.preview(openai.stream_call(asked(), "m", client.row))
        assert (shown.method, shown.url) == ("POST", "https://host.test/v1/chat/completions")
        assert shown.headers["authorization"] == "Bearer ***"


@pytest.mark.row("S1-22")
def test_usage_may_not_be_asked_for():
    call = openai.stream_call(
        asked(options={"openai": {"stream_options": {"include_usage": False}}}), "m"
    )
    assert json.loads(call.body)["stream_options"] == {"include_usage": False}


# --- S1-29: options -------------------------------------------------------------------------------


@pytest.mark.row("S1-29")
def test_options_of_the_provider_stand_at_the_top_of_the_body():
    options = {
        "kimi": {"thinking": {"type": "disabled", "x": 1}, "prompt_cache_key": "a"},
        "kimi@cn": {"prompt_cache_key": "b", "new": None},
        "glm": {"y": 1},
    }
    request, kimi = asked(options=options, temperature=1.0), dialect_of("kimi")
    for name, wanted in (
        ("kimi", {"thinking": {"type": "disabled", "x": 1}, "prompt_cache_key": "a"}),
        (
            "kimi@cn",
            {"thinking": {"type": "disabled", "x": 1}, "prompt_cache_key": "b", "new": None},
        ),
        ("openai", {}),
    ):
        body = body_of(request, "kimi-k2.6", kimi, provider=name)
        assert body == {
            "model": "kimi-k2.6",
            "messages": [{"role": "user", "content": "Hi"}],
            "temperature": 1.0,
            **wanted,
        }
    assert options["kimi"] == {"thinking": {"type": "disabled", "x": 1}, "prompt_cache_key": "a"}


@pytest.mark.row("S1-29")
def test_an_option_may_say_what_no_field_allows():
    body = body_of(asked(options={"openai": {"max_tokens": "many", "stop": 5}}, temperature=0.5))
    assert {key: body[key] for key in ("max_tokens", "stop", "temperature")} == {
        "max_tokens": "many",
        "stop": 5,
        "temperature": 0.5,
    }


@pytest.mark.row("S1-29")
def test_the_rules_look_at_the_options_too():
    free = asked(
        tools=(TIDE,), tool_choice="required", options={"kimi": {"thinking": {"type": "disabled"}}}
    )
    call = openai.stream_call(free, "kimi-k2.6", "kimi")
    assert call.judge(PROVIDERS["kimi"]) is call
    with pytest.raises(RuleError) as caught:
        openai.stream_call(msgspec.structs.replace(free, options={}), "kimi-k2.6", "kimi")
    assert [each.rule for each in caught.value.violations] == ["O12"]


@pytest.mark.row("S1-29")
@pytest.mark.parametrize(
    ("options", "path", "problem"),
    [
        ({"x": object()}, "options.openai.x", "expected a JSON value, not object"),
        ({"x": float("nan")}, "options.openai.x", "nan is not a JSON number"),
        (5, "options.openai", "expected a mapping"),
    ],
)
def test_options_that_are_none(options: Any, path: str, problem: str):
    with pytest.raises(RuleError, match=problem) as caught:
        openai.stream_call(asked(options={"openai": options}), "m")
    assert [each.path for each in caught.value.violations] == [path]


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("messages", "paths"),
    [
        ((Message.system("S"),), ["messages"]),
        ((HI, Message.assistant(A), HI), ["messages[1].parts[0]"]),
        ((HI, Message.tool_result(A, "1")), ["messages[1].parts[0]"]),
    ],
)
def test_turns_out_of_order_are_refused(messages: Any, paths: list[str]):
    with pytest.raises(HistoryError) as caught:
        openai.stream_call(asked(*messages), "m")
    assert [each.path for each in caught.value.violations] == paths


@joined(
    ("request_", "path"),
    [
        (
            asked(
                HI,
                Message.assistant(ToolCall(id="c", name="f", arguments={"a": object()})),
                Message.tool_result(ToolCall(id="c", name="f"), "1"),
            ),
            "messages[1].parts[0].arguments.a",
        ),
        (
            asked(HI, Message.assistant(A), Message.tool_result(A, {1j})),
            "messages[2].parts[0].content",
        ),
        (
            asked(
                HI,
                Message.assistant(Thought("Hm", "reasoning_details", details=({"type": 5},))),
                HI,
            ),
            "messages[1].parts[0].details",
        ),
        (asked(max_tokens="many"), "max_tokens"),
        (
            asked(tools=(Tool("f", parameters={"type": "object", "x": {1j}}),)),
            "tools[0].parameters.x",
        ),
        ("Hi", "request"),
    ],
)
def test_what_cannot_be_said_is_refused_where_it_stands(request_: Any, path: str):
    with pytest.raises(RuleError) as caught:
        openai.call(request_, "m")
    assert [each.path for each in caught.value.violations] == [path]


def test_what_the_provider_refuses_is_an_error_of_the_client():
    """DeepSeek's rules refuse the image before anything is sent."""
    request = asked(Message.user("What is this?", PNG))
    with (
        Client("deepseek", api_key=KEY, http=Served({}, [])) as client,
        pytest.raises(RuleError) as caught,
    ):
        client.send(openai.call(request, "deepseek-v4-pro", client.row))
    assert [(each.path, each.rule) for each in caught.value.violations] == [
        ("messages[0].content[1].image_url", "O23")
    ]


def test_what_the_host_ignores_is_told():
    request = asked(tools=(TIDE,), tool_choice="required")
    assert told(request, dialect=dialect_of("ollama@openai")) == [
        "tool_choice: warning: ignored by Ollama"
    ]


# --- laws -----------------------------------------------------------------------------------------

_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_calls = st.lists(st.builds(lambda a: {"a": a}, _texts), max_size=3)
_slots = st.sampled_from(
    ["", "reasoning", "reasoning_content", "reasoning_text", "reasoning_details", "content"]
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Generates conversations: turns of the user, of this model and of other models, with parts and
    results in any order.
    """
    said: list[Message] = []
    for turn in range(draw(st.integers(1, 4))):
        said.append(
            Message.user(draw(_texts), *draw(st.lists(st.one_of(_texts, st.just(PNG)), max_size=2)))
        )
        if draw(st.booleans()):
            said.append(Message.system(draw(_texts)))
        calls = [
            ToolCall(
                id=draw(st.sampled_from([f"call_{turn}_{at}", f"{turn}{at}" * 25])),
                name="f",
                arguments=arguments,
            )
            for at, arguments in enumerate(draw(_calls))
        ]
        beside: list[Part] = [Text(draw(_texts)), Thought(draw(_texts), draw(_slots)), Other("x")]
        if draw(st.booleans()):
            origin = Origin("p", draw(st.sampled_from(["m", "m2"])), "openai")
            parts = [with_origin(part, origin) for part in (*beside, *calls)]
        else:
            parts = [*beside, *calls]
        said.append(Message.assistant(draw(st.permutations(parts))))
        said += [Message.tool_result(call, draw(_texts)) for call in draw(st.permutations(calls))]
        if calls and draw(st.booleans()):
            said.insert(
                draw(st.integers(len(said) - len(calls), len(said))), Message.system(draw(_texts))
            )
    return (*said, Message.user("Well?"))


@given(
    histories(),
    st.sampled_from(["openai", "deepseek", "mistral", "minimax", "kimi", "gemini@openai", "vllm"]),
)
def test_any_history_is_sent_in_order(said: tuple[Message, ...], name: str):
    row = row_of(dialect_of(name), "p")
    request = Request(messages=said)
    before = repr(said)
    made = render_request(request, "m", row)
    # DeepSeek takes no image and Kimi no empty text among parts.
    refused = openai.check(made, "", row)
    assert [each for each in refused if not each.path.endswith(("].text", "].image_url"))] == []
    if refused:
        with pytest.raises(RuleError) as caught:
            openai.call(request, "m", row)
        assert list(caught.value.violations) == refused
    else:
        body = openai.call(request, "m", row).body
        assert body == openai.call(request, "m", row).body
        assert body == openai.call(pickle.loads(pickle.dumps(request)), "m", row).body
    assert repr(said) == before
    sent_calls = [each for message in made.messages for each in message.tool_calls or ()]
    neutral = [part for message in said for part in message.parts if isinstance(part, ToolCall)]
    answers = {
        part.id: part.content
        for message in said
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    assert [json.loads(each.function.arguments) for each in sent_calls if each.function] == [
        each.arguments for each in neutral
    ]
    assert [each.content for each in made.messages if each.role == "tool"] == [
        answers[each.id] for each in neutral
    ]
    assert [each.tool_call_id for each in made.messages if each.role == "tool"] == [
        each.id for each in sent_calls
    ]
    texts = [message.text for message in said if message.role == "user"]
    assert [message.text for message in made.messages if message.role == "user"] == texts


# --- snapshots ------------------------------------------------------------------------------------

MODELS = {
    "": "m",
    "deepseek": "deepseek-chat",
    "mistral": "mistral-medium-latest",
    "minimax": "MiniMax-M3",
}


@pytest.mark.row("S0-03", "S1-23", "U-122")
@pytest.mark.parametrize("name", MODELS)
def test_snapshot_of_one_conversation(name: str, snapshot: Any):
    request = asked(
        Message.system("Dates in ISO 8601."),
        Message.user(
            "Where is this, and when is high tide there?",
            Media(data=b"\x89PNG", media_type="image/png", detail="low"),
        ),
        Message.assistant(Thought("A pier.", "reasoning_content"), "Let me see.", A, B),
        Message.tool_response(
            ToolResult("call_B", "get_tide", "no such port", error=True),
            ToolResult("call_A", "get_tide", {"um": "17:42"}),
        ),
        Message.assistant("High tide in Brest is at 17:42."),
        Message.user("Thanks. ", "And tomorrow?"),
        system="Be brief.",
        tools=(TIDE, Tool("now", "The time.")),
        tool_choice="auto",
        max_tokens=100,
        temperature=0.5,
        stop=("END",),
        output=Output(SCHEMA),
    )
    row = PROVIDERS[name] if name else row_of()
    if name == "deepseek":  # it takes no images; what becomes of all else is shown
        with pytest.raises(RuleError, match="unknown variant `image_url`"):
            openai.stream_call(request, MODELS[name], row)
        row = row_of(msgspec.structs.replace(row.dialect, media_words=()), name)
    call = openai.stream_call(request, MODELS[name], row)
    assert {"body": call.body.decode(), "notes": list(map(str, notes(call)))} == snapshot
