"""Neutral requests rendered as requests of Messages, and the requests that are refused."""

from __future__ import annotations

import copy
import json
import pickle
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from tests.history.histories import conversation
from tests.joined import joined
from tests.property import sample
from wire import anthropic, notes
from wire.anthropic import check, parse_reply, render_request
from wire.anthropic.effort import THINKING_BUDGET_TOKENS
from wire.anthropic.reader import parse_message
from wire.core.memory import encode
from wire.errors import HistoryError, RuleError
from wire.history import repair
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
from wire.providers import PROVIDERS

from .neutral import (
    BUDGETS,
    HI,
    MODEL,
    NO_TOOLS,
    PNG,
    PORT,
    SIGNED,
    TIDE,
    A,
    B,
    asked,
    body_of,
    refused,
    reply_of,
    sent,
    text,
    thinking,
    told,
    tool_use,
)

IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
}

# --- turns ----------------------------------------------------------------------------------------


@pytest.mark.row("S4-07", "S4-08")
def test_texts():
    """Several texts remain several blocks."""
    assert sent(Message.user("a", "b"), Message.assistant("c"), Message.user("d")) == [
        {"role": "user", "content": [text("a"), text("b")]},
        {"role": "assistant", "content": "c"},
        {"role": "user", "content": "d"},
    ]


def test_turns_of_one_role_are_one_turn():
    assert sent(HI, Message.user("there"), Message.assistant("a"), Message.assistant("b"), HI) == [
        {"role": "user", "content": [text("Hi"), text("there")]},
        {"role": "assistant", "content": [text("a"), text("b")]},
        {"role": "user", "content": "Hi"},
    ]


@pytest.mark.row("S4-06", "S4-12")
def test_what_the_system_says():
    messages = (
        Message.system("b", "c"),
        HI,
        Message.system(" "),
        Message.assistant("x"),
        Message.system("d"),
        Message.user("y"),
    )
    made = body_of(asked(*messages, system="a"))
    assert made["system"] == [text(each) for each in "abcd"]
    assert [each["role"] for each in made["messages"]] == ["user", "assistant", "user"]
    assert told(*messages) == [
        "messages[2]: left out: an empty system message",
        "messages[4]: moved to the top: the wire has one system text, before the conversation",
    ]
    assert body_of(asked(system="a"))["system"] == "a"
    assert "system" not in body_of(asked(Message.system(" "), HI, system=" "))


@pytest.mark.row("S4-09", "S4-10", "S4-11")
def test_calls_and_results():
    messages = (
        HI,
        Message.assistant("Let me see.", A, ToolCall(id="call_N", name="now"), B),
        Message.tool_response(
            ToolResult("call_B", "get_tide", ["ebb"]),
            ToolResult("call_N", "now", "no clock", error=True),
        ),
        Message.system("Be brief."),
        Message.tool_response(ToolResult("call_A", "get_tide", {"höhe": 2})),
        Message.user("Well?", PNG),
    )
    assert sent(*messages)[1:] == [
        {
            "role": "assistant",
            "content": [
                text("Let me see."),
                tool_use("call_A", input={"port": "Brest"}),
                tool_use("call_N", "now"),
                tool_use("call_B", input={"port": "Łódź"}),
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_A", "content": '{"höhe":2}'},
                {
                    "type": "tool_result",
                    "tool_use_id": "call_N",
                    "content": "no clock",
                    "is_error": True,
                },
                {"type": "tool_result", "tool_use_id": "call_B", "content": '["ebb"]'},
                text("Well?"),
                IMAGE,
            ],
        },
    ]
    assert told(*messages) == [
        "messages[3]: moved to the top: the wire has one system text, before the conversation",
        "messages[2]: the results were sorted into the order of their calls",
        NO_TOOLS,
    ]


@pytest.mark.row("S4-10")
@joined(
    ("content", "wanted"),
    [("", ""), ("grün", "grün"), (3, "3"), (None, "null"), ({"error": "x"}, '{"error":"x"}')],
)
def test_contents_of_results(content: Any, wanted: str):
    made = sent(HI, Message.assistant(A), Message.tool_result(A, content))[2]["content"]
    assert made == [{"type": "tool_result", "tool_use_id": "call_A", "content": wanted}]


def test_media_stand_in_results_and_behind_errors():
    def made(**fields: Any) -> Any:
        return sent(
            HI,
            Message.assistant(A),
            Message.tool_response(ToolResult("call_A", "get_tide", media=(PNG,), **fields)),
        )[2]["content"]

    assert made(content="see") == [
        {"type": "tool_result", "tool_use_id": "call_A", "content": [text("see"), IMAGE]}
    ]
    assert made() == [{"type": "tool_result", "tool_use_id": "call_A", "content": [IMAGE]}]
    assert made(content="dark", error=True) == [
        {"type": "tool_result", "tool_use_id": "call_A", "content": "dark", "is_error": True},
        IMAGE,
    ]
    failed = Message.tool_response(ToolResult("call_A", "get_tide", "dark", True, (PNG,)))
    assert told(HI, Message.assistant(A), failed) == [
        "messages[2].parts[0].media: sent after the results: an error result has text only (A15)",
        NO_TOOLS,
    ]


@pytest.mark.row("S4-09")
def test_arguments_that_are_no_object_are_an_error_that_names_the_tool():
    cut = ToolCall(id="c", name="get_tide", arguments=None, text='{"port": "Br')
    with pytest.raises(HistoryError, match="the call of get_tide are not a JSON object") as caught:
        anthropic.stream_call(
            asked(HI, Message.assistant("So", cut), Message.tool_result(cut, "1")), MODEL
        )
    assert [each.path for each in caught.value.violations] == ["messages[1].parts[1]"]


@pytest.mark.row("S4-13")
@joined(
    ("messages", "path"),
    [
        ((Message.system("S"),), "messages"),
        ((HI, Message.assistant(A), HI), "messages[1].parts[0]"),
        ((HI, Message.tool_result(A, "1")), "messages[1].parts[0]"),
        ((HI, Message.assistant("Ho"), Message.user(" ")), "messages[2]"),
        ((Message.user(""),), "messages[0]"),
        ((Message.user(Other("x")),), "messages[0]"),
    ],
)
def test_a_request_ends_with_the_user_or_is_refused(messages: Any, path: str):
    assert [each for each, _ in refused(*messages, kind=HistoryError)] == [path]


def test_texts_that_say_nothing_are_left_out():
    messages = (
        Message.user("", "Hi", " "),
        Message.assistant(" ", A),
        Message.tool_result(A, "1"),
        Message.user("\n"),
        HI,
    )
    assert sent(*messages) == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [tool_use("call_A", input={"port": "Brest"})]},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_A", "content": "1"},
                text("Hi"),
            ],
        },
    ]
    assert told(*messages) == [
        *(
            f"{path}: left out: a blank text, which the server refuses (A6)"
            for path in (
                "messages[0].parts[0]",
                "messages[0].parts[2]",
                "messages[1].parts[0]",
                "messages[3].parts[0]",
            )
        ),
        NO_TOOLS,
    ]


def test_what_this_wire_has_no_words_for_is_told():
    said = Message.assistant(
        "A", Thought("Hm"), PNG, Other("executableCode", {}), Text("C", signature="c2ln")
    )
    messages = (
        Message.user(
            "Hi", Other("x"), Media(data=b"a", media_type="image/gif", name="a.gif", detail="low")
        ),
        said,
        HI,
    )
    assert sent(*messages)[1] == {"role": "assistant", "content": [text("A"), text("C")]}
    assert told(*messages, search_grounding=True) == [
        "search_grounding: not sent: only Gemini searches with Google",
        "messages[0].parts[1]: withheld: only its own vendor accepts x",
        "messages[0].parts[2].detail: left out: the wire has no field for it",
        "messages[0].parts[2].name: left out: images have no name on this wire",
        "messages[1].parts[1]: withheld: a thought without a signature",
        "messages[1].parts[2]: withheld: the wire has no field for image/png of the assistant",
        "messages[1].parts[3]: withheld: only its own vendor accepts executableCode",
        "messages[1].parts[4]: withheld: the signature, which the wire has no field for",
    ]


# --- ids and names --------------------------------------------------------------------------------


def test_ids_are_made_legal_on_both_sides():
    calls = [ToolCall(id=id, name="f") for id in ("functions.f:0", "functions.f:1", "", "ok-1_A")]
    messages = (
        HI,
        Message.assistant(calls),
        Message.tool_response(ToolResult(call.id, "f", "1") for call in reversed(calls)),
    )
    made = sent(*messages)
    ids = [block["id"] for block in made[1]["content"]]
    assert [block["tool_use_id"] for block in made[2]["content"]] == ids
    assert len(set(ids)) == 4
    assert ids[3] == "ok-1_A"
    assert sent(*messages) == made
    assert (
        told(*messages)[0]
        == "messages[1].parts[0]: the id 'functions.f:0' of the call and its result was changed to "
        f"{ids[0]}: the wire refuses it"
    )
    assert len(told(*messages)) == 5  # three ids, the order, and no tools


def test_an_id_that_comes_again_gets_a_new_one():
    turn = (Message.assistant(A), Message.tool_result(A, "1"))
    made = sent(HI, *turn, *turn)
    ids = [
        block["id"]
        for message in made
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_use"
    ]
    answers = [
        block["tool_use_id"]
        for message in made[1:]
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert ids == answers
    assert ids[0] == "call_A"
    assert ids[1] not in ("call_A", "")
    assert told(HI, *turn, *turn) == [
        "messages[3].parts[0]: the id 'call_A' of the call and its result was changed to "
        f"{ids[1]}: an earlier call has it",
        NO_TOOLS,
    ]


def test_names_of_other_vendors_calls_are_made_legal():
    call = ToolCall(id="c", name="fs.read")
    messages = (HI, Message.assistant(call), Message.tool_result(call, "1"))
    assert sent(*messages, tools=(Tool("fs_read"),))[1]["content"] == [tool_use("c", "fs_read_2")]
    assert told(*messages) == [
        "messages[1]: calls of 'fs.read' are sent as fs_read: the wire refuses the original name",
        NO_TOOLS,
    ]


# --- media ----------------------------------------------------------------------------------------

URL = "https://x.test/a?b=1"


@joined(
    ("media", "block"),
    [
        (PNG, IMAGE),
        (Media(url="data:image/png;base64,iVBORw=="), IMAGE),
        (Media(url=URL), {"type": "image", "source": {"type": "url", "url": URL}}),
        (
            Media(url=URL, media_type="application/pdf"),
            {"type": "document", "source": {"type": "url", "url": URL}},
        ),
        (
            Media(url="https://x.test/a.PDF"),
            {"type": "document", "source": {"type": "url", "url": "https://x.test/a.PDF"}},
        ),
        (
            Media(data=b"abc", media_type="application/pdf", name="Tides"),
            {
                "type": "document",
                "title": "Tides",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "YWJj"},
            },
        ),
        (
            Media(data="été".encode(), media_type="text/markdown; charset=utf-8"),
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "été"},
            },
        ),
        (
            Media(url="file_011C", media_type="image/png"),
            {"type": "image", "source": {"type": "file", "file_id": "file_011C"}},
        ),
        (
            Media(url="file_011C"),
            {"type": "document", "source": {"type": "file", "file_id": "file_011C"}},
        ),
    ],
)
def test_media(media: Media, block: Any):
    assert sent(Message.user("What is this?", media)) == [
        {"role": "user", "content": [text("What is this?"), block]}
    ]
    assert sent(Message.user(media))[0]["content"] == [block]


def test_files_ask_for_their_beta():
    file = Media(url="file_011C")
    assert (
        anthropic.stream_call(asked(Message.user(file)), MODEL).preview().headers["anthropic-beta"]
        == "files-api-2025-04-14"
    )
    inside = Message.tool_response(ToolResult("call_A", "f", media=(file,)))
    assert (
        "anthropic-beta"
        in anthropic.stream_call(asked(HI, Message.assistant(A), inside), MODEL).preview().headers
    )
    assert (
        "anthropic-beta"
        not in anthropic.stream_call(asked(Message.user(PNG)), MODEL).preview().headers
    )


@joined(
    "media",
    [
        Media(data=b"a", media_type="image/svg+xml"),
        Media(data=b"a", media_type="audio/wav"),
        Media(data=b"\xff", media_type="text/plain"),
        Media(data=b" ", media_type="text/plain"),
        Media(url="gs://bucket/a.png", media_type="image/png"),
        Media(url="files/abc"),
        Media(url="https://x.test/a.MP4?b=1"),
        Media(url=URL, media_type="audio/wav"),
    ],
)
def test_other_media_are_refused(media: Media):
    assert refused(HI, Message.assistant("Ho"), Message.user("This", media)) == [
        ("messages[2].parts[1]", "")
    ]
    result = Message.tool_response(ToolResult("call_A", "f", media=(PNG, media)))
    lowered = told(HI, Message.assistant(A), result)
    [note] = [each for each in lowered if each.startswith("messages[2].parts[0].media[1]: ")]
    assert "left out, with a line in words: " in note or "sent as text: " in note


# --- tools ----------------------------------------------------------------------------------------


@pytest.mark.row("S4-14")
def test_tools_keep_their_schemas():
    parameters = {
        "required": ["b"],
        "properties": {"b": {"$ref": "#/$defs/x"}},
        "type": "object",
        "$defs": {"x": {"minimum": 1}},
    }
    tools = (Tool("f", "Does it.", parameters), Tool("now"), Tool("empty", parameters={}))
    before = copy.deepcopy(parameters)
    call = anthropic.call(asked(tools=tools), MODEL)
    assert parameters == before
    assert json.dumps(parameters, separators=(",", ":")).encode() in call.body
    assert json.loads(call.body)["tools"] == [
        {"name": "f", "description": "Does it.", "input_schema": parameters},
        {"name": "now", "input_schema": {"type": "object", "properties": {}}},
        {"name": "empty", "input_schema": {"type": "object"}},
    ]
    assert list(map(str, notes(call))) == [
        "tools[2].parameters: added: type object, which the schema did not name"
    ]
    assert refused(tools=(Tool("f", parameters={"type": "object", "x": {1j}}),)) == [
        ("tools[0].parameters.x", "")
    ]


@joined(
    ("choice", "wanted", "note"),
    [
        (None, None, []),
        ((), None, []),
        ("auto", {"type": "auto"}, []),
        ("none", {"type": "none"}, []),
        ("required", {"type": "any"}, []),
        (("f",), {"type": "tool", "name": "f"}, []),
        (
            ("f", "g"),
            {"type": "any"},
            ["tool_choice: changed to any tool: the wire cannot limit the choice to f, g"],
        ),
    ],
)
def test_tool_choice(choice: Any, wanted: Any, note: list[str]):
    settings = {"tools": (Tool("f"), Tool("g"), Tool("h")), "tool_choice": choice}
    assert (body_of(asked(**settings)).get("tool_choice"), told(**settings)) == (wanted, note)


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({}, {}),
        ({"stop": ("a", "b")}, {"stop_sequences": ["a", "b"]}),
        ({"raw_schemas": True}, {}),
    ],
)
def test_fields(settings: Any, wanted: Any):
    plain = {"model": BUDGETS, "max_tokens": 100, "messages": [{"role": "user", "content": "Hi"}]}
    assert body_of(asked(**settings), BUDGETS) == plain | wanted
    assert json.loads(encode(render_request(asked(**settings), BUDGETS))) == plain | wanted
    assert (
        json.loads(anthropic.stream_call(asked(**settings), BUDGETS).body)
        == plain | {"stream": True} | wanted
    )
    assert told(model=BUDGETS, **settings) == []


def test_sampling_parameters_are_sent_where_the_version_has_them():
    hot = {"temperature": 0.0, "top_p": 0.5}
    row = PROVIDERS["anthropic"]
    for provider in ("minimax@anthropic", msgspec.structs.replace(row, version="2023-06-01")):
        body = body_of(asked(**hot), BUDGETS, provider=provider)
        assert {name: body[name] for name in hot} == hot
    assert not hot.keys() & body_of(asked(**hot), BUDGETS, provider=row).keys()
    assert told(model=BUDGETS, **hot) == [
        f"{name}: not sent: version 2026-10-21 of the API has no such parameter; "
        'version="2023-06-01" has'
        for name in hot
    ]


def test_what_the_vendor_alone_refuses_is_refused_of_its_own_requests():
    older = msgspec.structs.replace(PROVIDERS["anthropic"], version="2023-06-01")
    assert refused(model="claude-next", temperature=2.5, provider=older) == [("temperature", "A38")]
    assert (
        body_of(asked(temperature=2.5), "kimi-k2.6", provider="kimi@anthropic")["temperature"]
        == 2.5
    )


@joined("temperature", [1.01, 2])
def test_a_temperature_of_another_vendor_ends_at_one(temperature: float):
    older = msgspec.structs.replace(PROVIDERS["anthropic"], version="2023-06-01")
    for provider, model in ((older, "claude-next"), (PROVIDERS["kimi@anthropic"], "kimi-k2.6")):
        body = body_of(asked(temperature=temperature), model, provider=provider)
        assert body["temperature"] == 1.0
        assert told(model=model, provider=provider, temperature=temperature) == [
            "temperature: changed to 1: this wire takes 0 to 1"
        ]


def test_what_the_model_refuses_is_refused_before_it_is_sent():
    assert refused(temperature=0.5) == [("temperature", "A37")]
    assert refused(
        model=BUDGETS, tools=(TIDE,), tool_choice="required", effort="low", max_tokens=9000
    ) == [("tool_choice", "A28")]
    assert refused(max_tokens="many") == [("max_tokens", "")]
    assert refused(HI, Message.assistant(A), Message.tool_result(A, {1j})) == [
        ("messages[2].parts[0].content", "")
    ]


@joined(
    ("model", "effort", "most"),
    [
        ("claude-3-nano", None, 4096),
        ("claude-sonnet-4-5", None, 8192),
        ("claude-opus-4-8", None, 16000),
        ("claude-opus-4-8", "high", 16000),
        ("claude-sonnet-4-5", "medium", 8192 + 8192),
        ("kimi-k2.6", None, 4096),
    ],
)
def test_max_tokens_has_a_default_that_is_told(model: str, effort: str | None, most: int):
    settings = {"max_tokens": None, "effort": effort}
    assert body_of(asked(**settings), model)["max_tokens"] == most
    assert told(model=model, **settings) == [f"max_tokens: this API requires it; {most} was sent"]


ADAPTIVE, SHOWN = {"type": "adaptive"}, {"type": "adaptive", "display": "summarized"}


@joined(
    ("model", "effort", "thinks", "word", "note"),
    [
        ("claude-sonnet-4-6", "medium", ADAPTIVE, "medium", []),
        ("claude-opus-4-8", "xhigh", SHOWN, "xhigh", []),
        ("claude-sonnet-5", "high", SHOWN, "high", []),
        ("claude-sonnet-5", "none", {"type": "disabled"}, None, []),
        (
            "claude-opus-4-6",
            "xhigh",
            ADAPTIVE,
            "high",
            ["effort: changed to high: this model has no effort xhigh"],
        ),
        (
            "claude-opus-4-8",
            "minimal",
            SHOWN,
            "low",
            ["effort: changed to low: the wire has no lower effort"],
        ),
        (
            "claude-fable-5",
            "none",
            ADAPTIVE,
            "low",
            ["effort: changed to low: thinking cannot be disabled for this model"],
        ),
        (
            "claude-sonnet-4-5",
            "low",
            {"type": "enabled", "budget_tokens": THINKING_BUDGET_TOKENS["low"]},
            None,
            [],
        ),
        (
            "claude-opus-4-5",
            "high",
            {"type": "enabled", "budget_tokens": THINKING_BUDGET_TOKENS["high"]},
            None,
            [],
        ),
        ("claude-haiku-4-5", "none", {"type": "disabled"}, None, []),
        (
            "claude-haiku-4-5",
            "max",
            {"type": "enabled", "budget_tokens": THINKING_BUDGET_TOKENS["high"]},
            None,
            ["effort: changed to high (16384 tokens): no token budget is defined for max"],
        ),
        (
            "claude-haiku-4-5",
            "auto",
            None,
            None,
            ["effort: not sent: no token budget is defined for auto"],
        ),
        (
            "claude-3-5-haiku-latest",
            "high",
            None,
            None,
            ["effort: not sent: models before 3.7 do not think"],
        ),
        ("claude-3-5-haiku-latest", "none", None, None, []),
        ("claude-next", "high", ADAPTIVE, "high", []),
    ],
)
def test_effort(model: str, effort: str, thinks: Any, word: Any, note: list[str]):
    body = body_of(asked(effort=effort, max_tokens=20000), model)
    assert (body.get("thinking"), body.get("output_config", {}).get("effort")) == (thinks, word)
    assert told(model=model, effort=effort, max_tokens=20000) == note


@pytest.mark.parametrize(
    ("provider", "thinks", "word"),
    [
        ("deepseek@anthropic", {"type": "enabled", "budget_tokens": 8192}, "medium"),
        ("kimi@anthropic", {"type": "enabled", "budget_tokens": 8192}, None),
        ("minimax@anthropic", ADAPTIVE, None),
    ],
)
def test_effort_at_other_hosts(provider: str, thinks: Any, word: Any):
    body = body_of(asked(effort="medium", max_tokens=9000), "m", provider=provider)
    assert (body.get("thinking"), body.get("output_config", {}).get("effort")) == (thinks, word)


@joined(
    ("most", "budget"), [(1024, None), (1025, 1024), (4000, 2000), (16384, 8192), (16385, 16384)]
)
def test_a_budget_leaves_tokens_for_the_answer(most: int, budget: int | None):
    body = body_of(asked(effort="high", max_tokens=most), BUDGETS)
    assert body.get("thinking") == (
        None if budget is None else {"type": "enabled", "budget_tokens": budget}
    )
    assert len(told(model=BUDGETS, effort="high", max_tokens=most)) == (budget != 16384)


def test_calls_that_were_made_without_thinking_are_gone_on_with_without():
    messages = (HI, Message.assistant(A), Message.tool_result(A, "1"))
    assert "thinking" not in body_of(asked(*messages, effort="low", max_tokens=9000), BUDGETS)
    assert told(*messages, effort="low", model=BUDGETS, max_tokens=9000) == [
        "effort: not sent: the calls that this request answers were made without thinking",
        NO_TOOLS,
    ]
    own = reply_of(thinking(), tool_use("call_A"), model=BUDGETS).message
    assert "thinking" in body_of(
        asked(HI, own, Message.tool_result(A, "1"), effort="low", max_tokens=9000), BUDGETS
    )
    assert body_of(asked(*messages, effort="low", max_tokens=9000))["thinking"] == SHOWN


SCHEMA = {
    "type": "object",
    "properties": {"höhe": {"type": "number", "minimum": 0}, "at": {"$ref": "#/$defs/At"}},
    "$defs": {"At": PORT},
}


def test_output_is_a_schema_with_closed_objects():
    before = copy.deepcopy(SCHEMA)
    body = body_of(asked(output=Output(SCHEMA), effort="low"))
    assert before == SCHEMA
    assert body["output_config"] == {
        "effort": "low",
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {
                    "höhe": {"type": "number", "description": "minimum: 0"},
                    "at": {"$ref": "#/$defs/At"},
                },
                "$defs": {"At": {**PORT, "additionalProperties": False}},
                "additionalProperties": False,
            },
        },
    }
    assert told(output=Output(SCHEMA)) == [
        "output.schema: added additionalProperties: false, which the server requires for objects",
        "output.schema.properties.höhe: minimum moved into the description: the server "
        "refuses such keywords",
        "output.schema.$defs.At: added additionalProperties: false, which the "
        "server requires for objects",
    ]
    closed = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"minimum": {"type": "string"}},
    }
    assert body_of(asked(output=Output(closed)))["output_config"]["format"]["schema"] == closed
    assert told(output=Output(closed)) == []


@joined(
    ("schema", "model", "provider", "why"),
    [
        (
            {"type": "object"},
            "claude-3-5-haiku@20241022",
            "anthropic",
            "this model accepts no schema",
        ),
        (
            {"type": "object"},
            "deepseek-v4-pro",
            "deepseek@anthropic",
            "this model accepts no schema",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            MODEL,
            "anthropic",
            "an object may have keys that the schema does not name",
        ),
        (
            {
                "$ref": "#/$defs/N",
                "$defs": {"N": {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}}},
            },
            MODEL,
            "anthropic",
            "a definition refers to itself (N -> N)",
        ),
    ],
)
def test_output_in_words_where_the_schema_cannot_be_said(
    schema: Any, model: str, provider: str, why: str
):
    settings = {"output": Output(schema), "system": "Be brief."}
    body = body_of(asked(**settings), model, provider=provider)
    assert body["system"] == [
        text("Be brief."),
        text(
            "Answer with JSON that fits this schema: " + json.dumps(schema, separators=(",", ":"))
        ),
    ]
    assert "output_config" not in body
    assert told(model=model, provider=provider, **settings) == [
        f"output: not sent as a schema, but as an instruction in the system text: {why}"
    ]


# --- options --------------------------------------------------------------------------------------


def test_options_of_the_provider_stand_at_the_top_of_the_body():
    options = {
        "anthropic": {
            "cache_control": {"type": "ephemeral"},
            "output_config": {"task_budget": {"type": "tokens", "total": 9}},
        },
        "kimi": {"x": 1},
        "kimi@anthropic": {"y": None},
    }
    request = asked(options=options, effort="low")
    body = body_of(request)
    assert (body["cache_control"], body["output_config"]) == (
        {"type": "ephemeral"},
        {"effort": "low", "task_budget": {"type": "tokens", "total": 9}},
    )
    assert "x" not in body
    other = body_of(request, "kimi-k2.6", provider="kimi@anthropic")
    assert (other["x"], other["y"], "cache_control" in other) == (1, None, False)


def test_the_rules_look_at_the_options_too():
    assert refused(
        options={"anthropic": {"thinking": {"type": "enabled", "budget_tokens": 5000}}}
    ) == [
        ("thinking.budget_tokens", "A32"),
        ("thinking.type", "A33"),
    ]


@pytest.mark.parametrize(
    ("options", "path", "problem"),
    [
        ({"x": object()}, "options.anthropic.x", "expected a JSON value, not object"),
        ({"x": float("nan")}, "options.anthropic.x", "nan is not a JSON number"),
        (5, "options.anthropic", "expected a mapping"),
    ],
)
def test_options_that_are_none(options: Any, path: str, problem: str):
    with pytest.raises(RuleError, match=problem) as caught:
        anthropic.stream_call(asked(options={"anthropic": options}), MODEL)
    assert [each.path for each in caught.value.violations] == [path]


# --- what the model said goes back ----------------------------------------------------------------

SAID = [
    b'{"type": "thinking", "thinking": "Wo ist das?", "signature": "EqQBCkYIBxgCKkBz"}',
    b'{"type":"redacted_thinking","data":"EmwK"}',
    b'{"text":"Let me see.","type":"text","citations":null,"new_key":[1.0,"\\u00e9"]}',
    b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tide"}}',
    b'{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1",'
    b'"content":[{"type":"web_search_result","encrypted_content":"Eo=="}]}',
    b'{"type":"tool_use","id":"toolu_1","name":"get_tide",'
    b'"input":{"a":"\\u0141\xc3\xb3d\xc5\xba", "n":1.50},"caller":{"type":"direct"}}',
]
"""Blocks in bytes that no encoder here would write."""


def said_so(*blocks: bytes, model: str = MODEL) -> Message:
    body = b'{"role":"assistant","content":[' + b" , ".join(blocks) + b'],"stop_reason":"tool_use"}'
    return parse_reply(parse_message(body), model=model).message


def test_the_models_own_message_goes_back_byte_for_byte():
    said = said_so(*SAID)
    messages = (HI, said, Message.tool_result(said.tool_calls[0], "17:42"))
    for each in (messages, pickle.loads(pickle.dumps(messages))):
        body = anthropic.stream_call(asked(*each), MODEL).body
        assert b'{"role":"assistant","content":[' + b",".join(SAID) + b"]}" in body
        assert told(*each) == [NO_TOOLS]


def test_an_own_message_out_of_a_file_goes_back_byte_for_byte():
    said = said_so(*SAID)
    assert said.origin is not None
    loaded = Message("assistant", said.parts)
    with_origin(loaded, Origin("anthropic", MODEL, "anthropic", said.origin.raw))
    answer = Message.tool_result(said.tool_calls[0], "17:42")
    assert (
        anthropic.stream_call(asked(HI, loaded, answer), MODEL).body
        == anthropic.stream_call(asked(HI, said, answer), MODEL).body
    )
    broken = with_origin(
        Message("assistant", said.parts), Origin("anthropic", MODEL, "anthropic", b"[1")
    )
    assert (
        told(HI, broken, answer)[0]
        == "messages[1]: rebuilt: the bytes that it was received with are not valid"
    )


def test_a_part_of_an_own_message_goes_back_byte_for_byte():
    said = said_so(*SAID)
    shorter = Message("assistant", (said.parts[0], *said.parts[2:3], said.parts[5]))
    body = anthropic.stream_call(
        asked(HI, shorter, Message.tool_result(said.tool_calls[0], "1")), MODEL
    ).body
    assert (
        b'{"role":"assistant","content":[' + b",".join(SAID[at] for at in (0, 2, 5)) + b"]}" in body
    )


def test_empty_texts_of_the_model_itself_are_left_out_and_blank_ones_stay():
    said = reply_of(text(""), text(" "), tool_use()).message
    messages = (HI, said, Message.tool_result(said.tool_calls[0], "1"))
    assert sent(*messages)[1]["content"] == [text(" "), tool_use()]
    assert told(*messages) == [
        "messages[1].parts[0]: left out: a blank text, which the server refuses (A6)",
        "messages[1].content[0]: warning: messages: text content blocks must contain "
        "non-whitespace text",
        NO_TOOLS,
    ]


def test_another_models_thoughts_stay_here_and_unsigned_ones_go_back_to_their_host():
    said = said_so(SAID[0], *SAID[2:], model="claude-sonnet-4-5")
    messages = (HI, said, Message.tool_result(said.tool_calls[0], "1"))
    assert sent(*messages)[1]["content"] == [
        text("Let me see."),
        tool_use(input={"a": "Łódź", "n": 1.5}),
    ]
    assert [each.partition(":")[0] for each in told(*messages)] == [
        *(f"messages[1].parts[{at}]" for at in (0, 2, 3)),
        "tools",
    ]
    kimi = reply_of(
        {"type": "thinking", "thinking": "Hm."},
        text("Ho"),
        provider="kimi@anthropic",
        model="kimi-k2.6",
    ).message
    made = sent(HI, kimi, HI, model="kimi-k2.6", provider="kimi@anthropic")
    assert made[1]["content"] == [{"type": "thinking", "thinking": "Hm."}, text("Ho")]


def test_thoughts_without_an_origin_go_if_they_are_signed():
    said = Message.assistant(
        Thought("a", signature=SIGNED),
        Thought(slot="redacted_thinking", details=({"data": "Em"},)),
        Thought("b"),
        "c",
    )
    assert sent(HI, said, HI)[1]["content"] == [
        thinking("a"),
        {"type": "redacted_thinking", "data": "Em"},
        text("c"),
    ]


# --- laws -----------------------------------------------------------------------------------------


def errors(request: Request, model: str, provider: str = "anthropic") -> list[str]:
    return [
        str(each)
        for each in check(render_request(request, model, provider=provider), model, provider)
        if each.severity == "error"
    ]


@pytest.mark.sampled
@joined("seed", sample(range(150), 6))
def test_any_history_is_sent_in_order(seed: int):
    messages = tuple(conversation(random.Random(seed)))
    if seed % 3 == 0:
        messages = tuple(repair(messages))
    for model in (MODEL, BUDGETS):
        request = asked(*messages, effort="low", max_tokens=None)
        assert errors(request, model) == []
        made = render_request(request, model)
        blocks = [
            block
            for message in made.messages
            for block in (message.content if isinstance(message.content, list) else [])
        ]
        calls = [
            part for message in messages for part in message.parts if isinstance(part, ToolCall)
        ]
        answers = {
            part.id: part
            for message in messages
            for part in message.parts
            if isinstance(part, ToolResult)
        }
        assert [(block.name, block.input) for block in blocks if block.type == "tool_use"] == [
            (call.name, call.arguments) for call in calls
        ]
        assert [block.is_error for block in blocks if block.type == "tool_result"] == [
            answers[call.id].error or None for call in calls
        ]
        roles = [message.role for message in made.messages]
        assert roles == ["user" if at % 2 == 0 else "assistant" for at in range(len(roles))]


_texts = st.text(st.characters(codec="utf-8"), max_size=8)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Generates conversations: turns of the user, of this model and of other models, with parts and
    results in any order, and repeated ids.
    """
    said: list[Message] = []
    for _ in range(draw(st.integers(1, 4))):
        said.append(
            Message.user(draw(_texts), *draw(st.lists(st.one_of(_texts, st.just(PNG)), max_size=2)))
        )
        if draw(st.booleans()):
            said.append(Message.system(draw(_texts)))
        ids = draw(
            st.lists(
                st.sampled_from(["call_0", "call_1", "f.x:0", "", "ü"]), max_size=3, unique=True
            )
        )
        calls = [
            ToolCall(
                id=id,
                name=draw(st.sampled_from(["f", "fs.read", "g h"])),
                arguments={"a": draw(_texts)},
            )
            for id in ids
        ]
        beside: list[Part] = [
            Text(draw(_texts)),
            Thought(draw(_texts), signature=draw(st.sampled_from(["", SIGNED]))),
            Other("x"),
        ]
        parts = [*beside, *calls]
        if draw(st.booleans()):
            parts = [
                with_origin(part, Origin("p", draw(st.sampled_from([MODEL, "m2"])), "openai"))
                for part in parts
            ]
        said.append(Message.assistant(draw(st.permutations(parts))))
        said += [Message.tool_result(call, draw(_texts)) for call in draw(st.permutations(calls))]
        if calls and draw(st.booleans()):
            said.insert(
                draw(st.integers(len(said) - len(calls), len(said))), Message.system(draw(_texts))
            )
    return (*said, Message.user("Well?"))


@given(
    histories(),
    st.sampled_from([MODEL, BUDGETS, "claude-sonnet-5"]),
    st.sampled_from([None, "low", "none"]),
)
def test_what_is_made_of_any_history_breaks_no_rule(
    said: tuple[Message, ...], model: str, effort: str | None
):
    request = asked(*said, effort=effort, max_tokens=None)
    before = repr(said)
    call = anthropic.call(request, model)
    assert call.body == anthropic.call(pickle.loads(pickle.dumps(request)), model).body
    assert repr(said) == before
    assert errors(request, model) == []
    neutral = [part for message in said for part in message.parts if isinstance(part, ToolCall)]
    messages = json.loads(call.body)["messages"]
    blocks = [
        block
        for message in messages
        for block in (message["content"] if isinstance(message["content"], list) else [])
    ]
    assert [block["input"] for block in blocks if block["type"] == "tool_use"] == [
        part.arguments for part in neutral
    ]
    ids = [block["id"] for block in blocks if block["type"] == "tool_use"]
    assert [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"] == ids
    assert len(set(ids)) == len(ids)


# --- snapshots ------------------------------------------------------------------------------------


@pytest.mark.row("S0-03")
@pytest.mark.parametrize(
    "model", ["claude-3-5-haiku-latest", "claude-sonnet-4-5", "claude-sonnet-5"]
)
def test_snapshot_of_one_conversation(model: str, snapshot: SnapshotAssertion):
    request = Request(
        messages=(
            Message.system("Dates in ISO 8601."),
            Message.user(
                "Where is this, and when is high tide there?",
                Media(data=b"\x89PNG", media_type="image/png", detail="low"),
            ),
            Message.assistant(Thought("A pier.", signature=SIGNED), "Let me see.", A, B),
            Message.tool_response(
                ToolResult("call_B", "get_tide", "no such port", error=True),
                ToolResult("call_A", "get_tide", {"um": "17:42"}),
            ),
            Message.assistant("High tide in Brest is at 17:42."),
            Message.user("Thanks. ", "And tomorrow?"),
        ),
        system="Be brief.",
        tools=(TIDE, Tool("now", "The time.")),
        tool_choice="auto",
        stop=("END",),
        effort="medium",
        output=Output(SCHEMA),
    )
    call = anthropic.stream_call(request, model)
    assert {"body": call.body.decode(), "notes": list(map(str, notes(call)))} == snapshot


def test_a_request_is_wanted():
    with pytest.raises(RuleError, match="expected a Request"):
        anthropic.stream_call("Hi", MODEL)  # type: ignore[arg-type]


@joined(
    ("model", "provider", "parameters", "strict", "changed"),
    [
        (MODEL, "anthropic", {}, True, ["tools[0].parameters"]),
        ("claude-new-name", "anthropic", {}, True, ["tools[0].parameters"]),
        (MODEL, "anthropic", {"additionalProperties": False}, True, []),
        (
            MODEL,
            "anthropic",
            {"additionalProperties": {"type": "string"}},
            None,
            ["tools[0].strict"],
        ),
        ("claude-3-5-haiku-20241022", "anthropic", {}, None, ["tools[0].strict"]),
        ("kimi-k2.6", "kimi@anthropic", {}, None, ["tools[0].strict"]),
    ],
)
def test_strict_tools(
    model: str, provider: str, parameters: Any, strict: bool | None, changed: list[str]
):
    schema = {"type": "object", "properties": {}, **parameters}
    request = Request(
        messages=(HI,),
        tools=(Tool("f", "F.", schema, strict=True), Tool("g", "", schema)),
        max_tokens=9,
    )
    rendered = render_request(request, model, provider)
    first, second = rendered.tools or ()
    assert (first.strict, second.strict) == (strict, None)
    assert first.input_schema == ({**schema, "additionalProperties": False} if strict else schema)
    assert second.input_schema == schema == request.tools[0].parameters
    assert [each.path for each in notes(rendered)] == changed
