"""Neutral requests as bodies of Responses: settings, and the items of each kind of message."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.joined import joined
from tests.openai.responses.bodies import (
    custom_call,
    function_call,
    message,
    reasoning,
    reasoning_text,
    refusal,
    reply_of,
)
from wire import notes
from wire.errors import RuleError
from wire.neutral.messages import Media, Message, Reply, Text, Thought, ToolCall, ToolResult
from wire.neutral.request import NO_STOPS, Output, Request, Tool
from wire.openai import responses

HI = Message.user("Hi")
PORT = {"type": "object", "properties": {"port": {"type": "string"}}}
TIDE = Tool("get_tide", "When the tide is high", PORT)
PNG = Media(data=b"\x89PNG", media_type="image/png")
PNG_URL = "data:image/png;base64," + base64.b64encode(b"\x89PNG").decode()


def call_of(request: Request, provider: str = "openai@responses", model: str = "gpt-5.6") -> Any:
    return responses.call(request, model, provider)


def body_of(*messages: Message, provider: str = "openai@responses", **settings: Any) -> Any:
    model = settings.pop("model", "gpt-5.6")
    request = Request(messages=messages or (HI,), **settings)
    return json.loads(call_of(request, provider, model).body)


def items(*messages: Message, provider: str = "openai@responses", **settings: Any) -> Any:
    return body_of(*messages, provider=provider, **settings)["input"]


def noted(*messages: Message, provider: str = "openai@responses", **settings: Any) -> list[str]:
    request = Request(messages=messages, **settings)
    return [str(note) for note in notes(call_of(request, provider))]


def turn(reply: Reply, *, provider: str = "openai@responses") -> Any:
    """The items that a reply goes back as, with a result for each call."""
    results = [ToolResult(call.id, call.name, "17:42") for call in reply.tool_calls]
    answered = [Message.tool_response(results)] if results else []
    sent = items(HI, reply.message, *answered, Message.user("Go on."), provider=provider)
    return sent[1:-1]


# --- settings -------------------------------------------------------------------------------------


def test_a_host_that_ignores_schemas_gets_them_in_words() -> None:
    """llama.cpp answers a schema on Responses with any text (recorded on 2026-11-28)."""
    schema = Output({"type": "object", "properties": {"n": {"type": "integer"}}})
    for output, words in (
        (schema, 'Answer with JSON that fits this schema: {"type":"object","properties":'),
        (Output({}), "Answer with one JSON object, and nothing else."),
    ):
        body = body_of(provider="llama.cpp@responses", output=output, system="Be brief.")
        assert "text" not in body
        assert body["instructions"].startswith(f"Be brief.\n\n{words}")
    assert noted(HI, provider="llama.cpp@responses", output=schema) == [
        "output: sent as words in the instructions: there is no schema here"
    ]


def test_arguments_that_are_no_object_are_wrapped_for_a_host_that_parses_them() -> None:
    """llama.cpp answers 500 to others (recorded on 2026-11-28)."""
    cut = function_call(1, "get_tide", '{"port":')
    empty = function_call(2, "get_tide", "")
    whole = function_call(3, "get_tide", '{"port": "Brest"}')
    kept = '{"port": "Brest"}'
    for provider, wanted in (
        ("llama.cpp@responses", ['{"invalid_json":"{\\"port\\":"}', "{}", kept]),
        ("openai@responses", ['{"port":', "", kept]),
    ):
        reply = reply_of(cut, empty, whole, provider=provider)
        sent = turn(reply, provider=provider)[:3]
        assert [each["arguments"] for each in sent] == wanted
    foreign = ToolCall(id="a", name="get_tide", arguments=None, text="{no")
    asked = (HI, Message("assistant", (foreign,)), Message.tool_result(foreign, "17:42"))
    assert items(*asked, provider="llama.cpp@responses")[1]["arguments"] == (
        '{"invalid_json":"{no"}'
    )
    assert noted(*asked, provider="llama.cpp@responses") == [
        "messages[1].parts[0].arguments: wrapped: this host refuses arguments that are not a JSON "
        "object"
    ]


def test_a_request_stores_nothing_and_asks_for_reasoning_that_comes_back() -> None:
    body = body_of()
    assert body == {
        "model": "gpt-5.6",
        "input": [{"type": "message", "role": "user", "content": "Hi"}],
        "store": False,
        "include": ["reasoning.encrypted_content"],
    }
    assert "include" not in body_of(model="gpt-4.1")
    assert "store" not in body_of(provider="deepseek@responses", model="deepseek-chat")


def test_each_setting_has_its_field() -> None:
    body = body_of(
        system="Be brief.",
        max_tokens=99,
        effort="low",
        tools=(TIDE, Tool("now", strict=True)),
        tool_choice=("get_tide",),
        output=Output({"type": "object", "properties": {}}, name="port", strict=True),
    )
    assert (body["instructions"], body["max_output_tokens"]) == ("Be brief.", 99)
    assert body["reasoning"] == {"effort": "low"}
    described = {"type": "function", "name": "get_tide", "description": "When the tide is high"}
    assert body["tools"][0] == {**described, "parameters": PORT, "strict": False}
    assert body["tools"][1]["strict"] is True
    assert body["tools"][1]["parameters"]["additionalProperties"] is False
    assert body["tool_choice"] == {"type": "function", "name": "get_tide"}
    assert body["text"]["format"] == {
        "type": "json_schema",
        "name": "port",
        "schema": {
            "type": "object",
            "properties": {},
            "additionalProperties": False,
        },
        "strict": True,
    }


def test_a_stop_text_is_not_sent() -> None:
    assert "stop" not in body_of(stop=("END",))
    assert noted(HI, stop=("END",)) == [str(NO_STOPS)]


# --- instructions and users -----------------------------------------------------------------------


def test_the_first_instruction_is_the_field_and_a_later_one_a_message() -> None:
    alone = body_of(Message.system("Be brief."), HI)
    assert (alone["instructions"], len(alone["input"])) == ("Be brief.", 1)
    talk = (Message.system("Be brief."), HI, Message.system("In feet."), Message.user("So?"))
    body = body_of(*talk)
    assert "instructions" not in body
    assert [(each["role"], each["content"]) for each in body["input"]] == [
        ("developer", "Be brief."),
        ("user", "Hi"),
        ("developer", "In feet."),
        ("user", "So?"),
    ]
    local = items(*talk, provider="vllm@responses", model="m")
    assert [each["role"] for each in local] == ["system", "user", "system", "user"]


def test_media_of_a_user() -> None:
    [sent] = items(Message.user("See:", PNG, Media(url="https://example.com/a.pdf")))
    assert sent["content"] == [
        {"type": "input_text", "text": "See:"},
        {"type": "input_image", "image_url": PNG_URL},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
    ]
    [named] = items(Message.user(Media(data=b"%PDF", media_type="application/pdf", name="a.pdf")))
    assert named["content"] == [
        {
            "type": "input_file",
            "filename": "a.pdf",
            "file_data": "data:application/pdf;base64,JVBERg==",
        }
    ]


@joined(
    "media",
    [
        Media(data=b"a", media_type="audio/wav"),
        Media(data=b"a", media_type="video/mp4"),
        Media(data=b"a", media_type="application/x-tide"),
        Media(url="gs://bucket/a.png", media_type="image/png"),
    ],
    ids=["sound", "video", "file without a name", "URL"],
)
def test_media_that_the_wire_cannot_express_are_refused_with_their_path(media: Media) -> None:
    with pytest.raises(RuleError) as caught:
        body_of(Message.user("Hear:", media))
    assert [each.path for each in caught.value.violations] == ["messages[0].parts[1]"]


# --- what came from this host ---------------------------------------------------------------------

RECEIVED = {
    "text": ([message("Hi", phase="commentary"), message("Ho", id="msg_2")], None),
    "two texts in one message": ([message("Hi", " there")], None),
    "refusal": ([message(refusal("No."))], None),
    "call": ([reasoning(), function_call(1, "tide", '{ "port" : 1.0 }', namespace="sea")], None),
    "custom call": ([custom_call("line\n")], None),
    "text between calls": (
        [function_call(1, "a", "{}"), message("Hm."), function_call(2, "b", "")],
        None,
    ),
    "unknown": ([{"id": "so_1", "type": "sounding", "depth": [1, 2.50]}, message("Hi")], None),
    "reasoning without a secret": ([reasoning(secret=None), message("Hi")], [message("Hi")]),
    "null": ([message("Hi", phase=None)], [message("Hi")]),
}


@joined("name", RECEIVED)
def test_received_items_go_back_in_their_order_without_id_and_status(name: str) -> None:
    output, kept = RECEIVED[name]
    reply = reply_of(*output)
    wanted = [
        {key: value for key, value in item.items() if key not in ("id", "status")}
        for item in (output if kept is None else kept)
    ]
    outputs = [
        {
            "type": f"{item['type']}_output",
            "call_id": item["call_id"],
            "output": "17:42",
        }
        for item in output
        if "call_id" in item
    ]
    assert turn(reply) == [*wanted, *outputs]


def test_received_items_go_back_in_their_bytes() -> None:
    body = (
        b'{"status":"completed","output":[{"type":"message","moon" : 1.0,"role":"assistant",'
        b'"content":[{"type":"output_text","text":"caf\\u00e9"}],"id":"msg_1"}]}'
    )
    reply = responses.parse_reply(responses.parse_response(body), model="gpt-5.6")
    sent = call_of(Request(messages=(HI, reply.message, HI))).body
    assert (
        b'{"type":"message","moon":1.0,"role":"assistant",'
        b'"content":[{"type":"output_text","text":"caf\\u00e9"}]}'
    ) in sent


def test_a_message_of_which_a_part_was_removed_is_rebuilt_of_the_others() -> None:
    reply = reply_of(reasoning(), message("Hi", " there"), function_call(1, "tide", "{}"))
    text = reply.message.parts[1]
    assert items(HI, Message("assistant", (text,)), HI)[1:-1] == [
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "annotations": [], "text": "Hi"}],
        }
    ]


@pytest.mark.parametrize(
    ("provider", "kept"),
    [
        ("openai@responses", ["message"]),
        ("deepseek@responses", ["reasoning", "message"]),
        ("llama.cpp@responses", ["reasoning", "message"]),
    ],
)
def test_the_host_decides_which_reasoning_goes_back(provider: str, kept: list[str]) -> None:
    reply = reply_of(reasoning_text("Hm."), message("Hi"), provider=provider)
    assert [item["type"] for item in turn(reply, provider=provider)] == kept


def test_openrouter_gets_the_id_and_the_status_of_messages() -> None:
    provider = "openrouter@responses"
    reply = reply_of(message("Hi"), function_call(1, "tide", "{}"), provider=provider)
    said, called, _ = turn(reply, provider=provider)
    assert (said["id"], said["status"]) == ("msg_t1", "completed")
    assert called.keys().isdisjoint({"id", "status"})


def test_deepseek_gets_calls_and_results_side_by_side() -> None:
    provider = "deepseek@responses"
    reply = reply_of(function_call(1, "a", "{}"), message("Hm."), provider=provider)
    assert [item["type"] for item in turn(reply, provider=provider)] == [
        "message",
        "function_call",
        "function_call_output",
    ]


# --- what came from elsewhere ---------------------------------------------------------------------


def test_a_turn_of_another_vendor_is_items_without_its_thoughts() -> None:
    call = ToolCall(id="toolu_" + "x" * 80, name="get_tide", arguments={"port": "Brest"})
    said = Message(
        "assistant", (Thought("Hm.", signature="c2ln"), Text("I look."), Text("Now."), call)
    )
    talk = (HI, said, Message.tool_result(call, {"m": 2}), Message.user("So?"))
    _, told, called, result, _ = items(*talk, tools=(TIDE,))
    assert told == {
        "type": "message",
        "role": "assistant",
        "content": [
            {"type": "output_text", "text": "I look."},
            {"type": "output_text", "text": "Now."},
        ],
    }
    assert len(called["call_id"]) <= 64
    assert called == {
        "type": "function_call",
        "call_id": called["call_id"],
        "name": "get_tide",
        "arguments": '{"port":"Brest"}',
    }
    assert result == {
        "type": "function_call_output",
        "call_id": called["call_id"],
        "output": '{"m":2}',
    }
    found = noted(*talk, tools=(TIDE,))
    assert any(each.startswith("messages[1].parts[0]: withheld: a thought") for each in found)
    assert any("of the call and its result was changed to" in each for each in found)


def test_a_text_before_a_call_stays_before_it() -> None:
    call = ToolCall(id="call_1", name="get_tide", arguments={})
    said = Message("assistant", (Text("A"), call, Text("B")))
    sent = items(HI, said, Message.tool_result(call, "x"), HI, tools=(TIDE,))
    assert [item["type"] for item in sent[1:-1]] == [
        "message",
        "function_call",
        "message",
        "function_call_output",
    ]


def test_a_refusal_of_another_vendor_is_a_refusal() -> None:
    said = Message("assistant", (Text("No.", refusal=True),))
    assert items(HI, said, HI)[1]["content"] == [{"type": "refusal", "refusal": "No."}]


# --- results --------------------------------------------------------------------------------------


@joined(
    ("result", "output"),
    [
        ({"content": ""}, ""),
        ({"content": {"m": 2}}, '{"m":2}'),
        ({"content": [1, None]}, "[1,null]"),
        (
            {"content": "See:", "media": (PNG,)},
            [
                {"type": "input_text", "text": "See:"},
                {"type": "input_image", "image_url": PNG_URL},
            ],
        ),
        ({"content": "", "media": (PNG,)}, [{"type": "input_image", "image_url": PNG_URL}]),
    ],
)
def test_the_output_of_a_result(result: dict[str, Any], output: Any) -> None:
    call = ToolCall(id="call_1", name="get_tide", arguments={})
    answer = Message.tool_response([ToolResult("call_1", "get_tide", **result)])
    sent = items(HI, Message("assistant", (call,)), answer, tools=(TIDE,))
    assert sent[-1] == {"type": "function_call_output", "call_id": "call_1", "output": output}


def test_an_error_of_a_tool_is_its_output() -> None:
    call = ToolCall(id="call_1", name="get_tide", arguments={})
    failed = Message.tool_response([ToolResult("call_1", "get_tide", "no such port", error=True)])
    [*_, sent] = items(HI, Message("assistant", (call,)), failed, tools=(TIDE,))
    assert sent["output"] == '{"error":"no such port"}'


def test_fewer_tokens_than_the_host_takes_are_changed_with_a_note() -> None:
    call = responses.call(Request(messages=(Message.user("Hi"),), max_tokens=5), "gpt-5.6")
    assert json.loads(call.body)["max_output_tokens"] == 16
    note = "max_tokens: changed from 5 to 16, the least that openai@responses takes"
    assert list(map(str, notes(call))) == [note]
    elsewhere = responses.call(
        Request(messages=(Message.user("Hi"),), max_tokens=5), "m", "lmstudio@responses"
    )
    assert json.loads(elsewhere.body)["max_output_tokens"] == 5
