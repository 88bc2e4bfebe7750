"""Neutral requests as bodies of /api/chat: settings, messages, tools, and what is told of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.ollama.samples import CALLS, LAST_CALLS, MODEL, NAME, STREAM, chat
from wire import Media, Message, Tool, ToolCall, ToolResult, errors, notes
from wire.neutral.messages import Reply, Text, Thought
from wire.neutral.request import Output, Request, ServerTool
from wire.ollama import call, parse_message, render_request, stream_call
from wire.ollama.replies import call_of

HI = Message.user("Hi")
PNG = b"\x89PNG\r\n\x1a\n"
TIDE = Tool("tide", "The tide.", {"type": "object", "properties": {"port": {"type": "string"}}})


def body(model: str = MODEL, **fields: Any) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(call(Request(**{"messages": (HI,), **fields}), model).body)
    return made


def told(model: str = MODEL, **fields: Any) -> dict[str, str]:
    made = call(Request(**{"messages": (HI,), **fields}), model)
    return {note.path: note.message for note in notes(made)}


def received(raw: bytes, model: str = MODEL) -> Reply:
    return call(Request(messages=(HI,)), model).parse(raw)


def test_nothing_is_cut_in_silence():
    sent = body()
    assert (sent["truncate"], sent["shift"], sent["stream"]) == (False, False, False)
    assert json.loads(stream_call(Request(messages=(HI,)), MODEL).body)["stream"] is True
    own = body(options={"ollama": {"truncate": True, "shift": True}})
    assert (own["truncate"], own["shift"]) == (True, True)


def test_settings():
    sent = body(
        max_tokens=9,
        temperature=0.5,
        top_p=0.9,
        stop=("a",),
        seed=3,
        settings={"top_k": 4, "presence_penalty": 1.0, "logprobs": True, "top_logprobs": 2},
        options={"ollama": {"options": {"num_ctx": 8192}, "keep_alive": "10m"}},
    )
    assert sent["options"] == {
        "num_predict": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop": ["a"],
        "seed": 3,
        "top_k": 4,
        "presence_penalty": 1.0,
        "num_ctx": 8192,
    }
    assert (sent["keep_alive"], sent["logprobs"], sent["top_logprobs"]) == ("10m", True, 2)


@pytest.mark.parametrize(
    ("model", "effort", "think", "changed"),
    [
        (MODEL, "none", False, False),
        (MODEL, "minimal", "low", True),
        (MODEL, "high", "high", False),
        (MODEL, "xhigh", "max", True),
        ("gpt-oss:20b", "none", "low", True),
        ("gpt-oss:20b", "max", "high", True),
        ("gpt-oss:20b", "medium", "medium", False),
    ],
)
def test_effort(model: str, effort: str, think: Any, changed: bool):
    assert body(model, effort=effort)["think"] == think
    assert ("effort" in told(model, effort=effort)) == changed


def test_output():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    assert body(output=Output(schema))["format"] == schema
    assert body(output=Output({}))["format"] == "json"


def test_messages_of_all_roles():
    said = Message.assistant("Hello.")
    sent = body(system="Be brief.", messages=(HI, said, Message.system("Now."), Message.user("?")))
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello."},
        {"role": "system", "content": "Now."},
        {"role": "user", "content": "?"},
    ]


def test_images_and_documents():
    image = Media(data=PNG, media_type="image/png")
    page = Media(data=b"Ebb at 5.", media_type="text/plain")
    asked = Message("user", (Text("Look:"), image, page))
    [message] = body(messages=(asked,))["messages"]
    assert message == {
        "role": "user",
        "content": "Look:\n\nEbb at 5.",
        "images": ["iVBORw0KGgo="],
    }
    assert list(told(messages=(asked,))) == ["messages[0].parts[2]"]
    for media, words in (
        (
            Media(url="https://a.example/b.png", media_type="image/png"),
            "expected bytes, not the URL",
        ),
        (Media(data=b"%PDF", media_type="application/pdf"), "expected an image or a text, not app"),
    ):
        with pytest.raises(errors.RuleError, match=words) as caught:
            call(Request(messages=(Message("user", (media,)),)), MODEL)
        assert caught.value.violations[0].path == "messages[0].parts[0]"


@pytest.mark.parametrize("raw", [STREAM, CALLS, LAST_CALLS])
def test_a_received_message_goes_back_with_its_bytes(raw: bytes):
    reply = received(raw)
    results = [ToolResult(each.id, each.name, "High.") for each in reply.tool_calls]
    after = Message.tool_response(results) if results else Message.user("?")
    sent = call(Request(messages=(HI, reply.message, after)), MODEL)
    assert reply.message.origin is not None
    assert reply.message.origin.raw in sent.body
    assert [each.path for each in notes(sent)] == []


def test_another_model_gets_no_thoughts():
    message = received(STREAM).message
    sent = call(Request(messages=(HI, message, HI)), "llama3.2:3b")
    assert json.loads(sent.body)["messages"][1] == {"role": "assistant", "content": "At 05:12 🌊."}
    assert [each.path for each in notes(sent)] == ["messages[1].parts[0]"]


def test_results_have_name_and_id():
    message = received(CALLS).message
    one, two = message.tool_calls
    results = (ToolResult(two.id, "tide", {"at": 5}), ToolResult(one.id, "tide", "no", error=True))
    sent = body(messages=(HI, message, Message.tool_response(results)), tools=(TIDE,))
    assert sent["messages"][2:] == [
        {
            "role": "tool",
            "content": '{"error":"no"}',
            "tool_name": "tide",
            "tool_call_id": "call_a1",
        },
        {"role": "tool", "content": '{"at":5}', "tool_name": "tide", "tool_call_id": "call_a2"},
    ]


def test_a_call_of_another_vendor():
    asked = ToolCall(id="toolu_1", name="tide", arguments={"port": "Brest"})
    result = Message.tool_response([ToolResult("toolu_1", "tide", "High.")])
    sent = body(messages=(HI, Message("assistant", (asked,)), result))
    assert sent["messages"][1] == {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "toolu_1",
                "function": {"index": 0, "name": "tide", "arguments": {"port": "Brest"}},
            }
        ],
    }


def test_what_the_server_drops_of_a_schema_is_told():
    hour = {"type": "integer", "maximum": 23, "description": "0 to 23"}
    many = {"type": "array", "items": {"type": "string", "pattern": "a+"}}
    schema = {"type": "object", "properties": {"hour": hour, "many": many}}
    tool = Tool("tide", "The tide.", schema)
    assert body(tools=(tool,))["tools"][0]["function"]["parameters"] == schema
    words = "sent, and dropped by the server: maximum, pattern"
    assert told(tools=(tool,)) == {"tools[0].parameters": words}
    assert told(tools=(TIDE,)) == {}


def test_there_is_no_choice_of_tools():
    other = Tool("ebb", "The ebb.", {"type": "object"})
    for choice, sent in (
        ("auto", ["tide", "ebb"]),
        ("required", ["tide", "ebb"]),
        ("none", []),
        (("ebb",), ["ebb"]),
    ):
        made = body(tools=(TIDE, other), tool_choice=choice)
        assert [each["function"]["name"] for each in made.get("tools", ())] == sent
        assert ("tool_choice" in told(tools=(TIDE, other), tool_choice=choice)) == (
            choice != "auto"
        )


def test_a_tool_of_a_server_is_refused():
    with pytest.raises(errors.RuleError, match=NAME):
        call(Request(messages=(HI,), tools=(ServerTool(kind="web_search"),)), MODEL)


def test_a_saved_message_is_read_again():
    for raw in (STREAM, CALLS):
        message = received(raw).message
        assert message.origin is not None
        [again] = parse_message(message.origin.raw)
        assert again.parts == message.parts
        for each in message.tool_calls:
            assert each.origin is not None
            [one] = parse_message(each.origin.raw, part=True)
            [call_again] = one.tool_calls
            assert (call_again.id, call_again.arguments) == (each.id, each.arguments)


def test_a_changed_message_is_rebuilt():
    message = received(STREAM).message
    changed = Message("assistant", (*message.parts, Text("!")))
    built = render_request(Request(messages=(HI, changed, HI)), MODEL, NAME)
    assert built.messages is not None
    assert built.messages[1].content == "At 05:12 🌊.!"
    assert built.messages[1].thinking == "Brest, I think."


def test_an_unknown_option_has_a_remedy():
    for options, words in (
        ({"num_ctx": 9}, "here it is 'options.num_ctx'"),
        ({"options": {"num_cxt": 9}}, "did you mean 'num_ctx'"),
        ({"tool_choice": "auto"}, "chat completions take it"),
    ):
        with pytest.raises(errors.ConfigurationError, match=words):
            chat(options={"ollama": options}).ask("Hi")


def test_a_thought_of_this_wire_alone_is_sent():
    thought = Thought("Hm.")
    sent = call(Request(messages=(HI, Message("assistant", (thought, Text("A"))), HI)), MODEL)
    assert "thinking" not in json.loads(sent.body)["messages"][1]
    assert [each.path for each in notes(sent)] == ["messages[1].parts[0]"]


def test_a_cut_call_goes_back_in_an_object():
    """Its arguments are a text, which the server refuses; the conversation goes on."""
    cut = {"function": {"name": "tide", "arguments": '{"port": "Br'}}
    whole = {"function": {"name": "tide", "arguments": {"port": "Brest"}}}
    message = {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [whole, cut]}
    reply = received(
        json.dumps({"message": message, "done": True, "done_reason": "length"}).encode()
    )
    assert [each.arguments for each in reply.tool_calls] == [{"port": "Brest"}, None]
    results = [ToolResult(each.id, each.name, "05:12") for each in reply.tool_calls]
    messages = (HI, reply.message, Message.tool_response(results))
    sent = call(Request(messages=messages, tools=(TIDE,)), MODEL)
    _, back, *_ = json.loads(sent.body)["messages"]
    assert [each["function"]["arguments"] for each in back["tool_calls"]] == [
        {"port": "Brest"},
        {"invalid_json": '{"port": "Br'},
    ]
    assert back["thinking"] == "Hm."
    assert "wrapped: the arguments of the call of tide are not a JSON object" in {
        each.message for each in notes(sent)
    }


def test_a_cut_call_is_served_as_an_object():
    """Clients of Ollama read the arguments as an object."""
    call = ToolCall(name="tide", arguments=None, text='{"port": "Br')
    assert call_of(0, call)["function"]["arguments"] == {"invalid_json": '{"port": "Br'}
