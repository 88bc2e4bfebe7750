"""From neutral requests to bodies, and from answers back to the next request."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gemini.interactions.samples import (
    CALL,
    FOUND,
    MODEL,
    NAME,
    OUTPUT,
    SEARCH,
    TEXT,
    THOUGHT,
    Player,
    chat,
    whole,
)
from wire import Media, Message, ToolResult, notes
from wire.errors import RuleError
from wire.gemini.interactions.rules import SKIP
from wire.neutral.messages import Reply, Text, ToolCall
from wire.neutral.request import Output, Request, Tool
from wire.sessions import dump_session, load_session
from wire.testing.emulator import Emulator, EmulatorTransport
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS

TIDE = Tool("high_tide", "The time of high tide.", {"type": "object", "properties": {"port": {}}})


def body(request: Request, model: str = MODEL) -> dict[str, Any]:
    row = PROVIDERS["gemini@interactions"]
    call = WIRES["gemini.interactions"].call(request, model, row)
    sent: dict[str, Any] = json.loads(call.body)
    return sent


def ask(*messages: Message, **more: Any) -> dict[str, Any]:
    return body(Request(messages=messages, **more))


def test_the_steps_of_the_model_go_back_byte_for_byte() -> None:
    spaced = json.dumps(whole(THOUGHT, SEARCH, FOUND, OUTPUT, CALL), indent=1).encode()
    http = Player(spaced, whole(OUTPUT))
    with chat(http) as asking:
        reply = asking.ask("When?")
        result = Message.tool_response([ToolResult("c1", "high_tide", {"at": "05:12"})])
        for message in (reply.message, load_session(dump_session([reply.message])).messages[0]):
            call = asking.call(messages=[Message.user("When?"), message, result])
            for step in reply.answer.steps:
                assert step.raw in call.body
            steps = json.loads(call.body)["input"]
            assert steps[1:-1] == [THOUGHT, SEARCH, FOUND, OUTPUT, CALL]
            assert steps[-1] == {
                "type": "function_result",
                "call_id": "c1",
                "name": "high_tide",
                "result": {"at": "05:12"},
            }


def test_a_thought_stands_for_one_of_another_model() -> None:
    call = Message.assistant(Text("I look."), ToolCall(id="a", name="high_tide"))
    result = Message.tool_response([ToolResult("a", "high_tide", "05:12", error=True)])
    steps = ask(Message.user("When?"), call, result)["input"]
    assert [step["type"] for step in steps] == [
        "user_input", "thought", "model_output", "function_call", "function_result"
    ]  # fmt: skip
    assert (steps[1]["signature"], steps[-1]["is_error"]) == (SKIP, True)
    older = Request(messages=(Message.user("When?"), call, result))
    kinds = [step["type"] for step in body(older, "gemini-2.5-flash")["input"]]
    assert "thought" not in kinds


def test_settings() -> None:
    sent = ask(
        Message.user("Hi"),
        system="Be brief.",
        max_tokens=9,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        effort="high",
        seed=7,
        tier="flex",
        tools=(TIDE,),
        tool_choice=("high_tide",),
        output=Output({"type": "object", "properties": {"at": {"type": "string"}}}),
    )
    assert sent["system_instruction"] == "Be brief."
    assert sent["generation_config"] == {
        "max_output_tokens": 9,
        "temperature": 0.5,
        "top_p": 0.9,
        "stop_sequences": ["END"],
        "seed": 7,
        "thinking_level": "high",
        "thinking_summaries": "auto",
        "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["high_tide"]}},
    }
    assert (sent["service_tier"], sent["store"]) == ("flex", False)
    assert sent["response_format"]["mime_type"] == "application/json"
    assert sent["tools"][0]["type"] == "function"


def test_media() -> None:
    message = Message.user(
        Media(data=b"\x89PNG", media_type="image/png", detail="low"),
        Media(url="https://example.com/a.pdf"),
        Media(url="https://www.youtube.com/watch?v=a", start="1s", fps=1.0),
        "What is this?",
    )
    [step] = ask(message)["input"]
    image, document, video, text = step["content"]
    assert image == {
        "type": "image", "data": "iVBORw==", "mime_type": "image/png", "resolution": "low"
    }  # fmt: skip
    assert (document["type"], document["uri"]) == ("document", "https://example.com/a.pdf")
    assert video["processing"] == {"type": "static", "start_offset": "1s", "fps": 1.0}
    assert text == {"type": "text", "text": "What is this?"}
    with pytest.raises(RuleError, match=r"messages\[0\].parts\[0\]"):
        ask(Message.user(Media(url="https://example.com/a")))


def test_what_the_wire_lacks_is_told() -> None:
    asked = Request(
        messages=(Message.user("Hi"),), settings={"presence_penalty": 1.0}, tool_choice="required"
    )
    row = PROVIDERS["gemini@interactions"]
    call = WIRES["gemini.interactions"].call(asked, MODEL, row)
    told = " ".join(each.path for each in notes(call))
    assert "presence_penalty" in told
    assert "tool_choice" in told
    assert "generation_config" not in json.loads(call.body)


def test_a_long_answer_goes_on_by_its_token() -> None:
    hop = {"status": "requires_continuation"}
    first = whole(OUTPUT, **hop, continuation_token="t1")
    second = whole(OUTPUT, **hop, continuation_token="t2")
    http = Player(first, second, whole(OUTPUT))
    with chat(http) as asking:
        reply: Reply = asking.ask("When?")
    assert (reply.text, reply.stop.reason) == (TEXT * 3, "end")
    assert reply.usage is not None
    assert reply.usage.total == 120
    assert [json.loads(each.content).get("continuation_token") for each in http.requests] == [
        None, "t1", "t2"
    ]  # fmt: skip
    assert http.sent["input"] == json.loads(http.requests[0].content)["input"]


def test_a_stored_answer_goes_on_without_its_input() -> None:
    first = whole(OUTPUT, status="requires_continuation", continuation_token="t1")
    http = Player(first, whole(OUTPUT))
    with chat(http) as asking:
        asking.ask("When?", store=True)
    assert "input" not in http.sent
    assert (http.sent["previous_interaction_id"], http.sent["continuation_token"]) == ("v1_1", "t1")


def test_a_stored_conversation_is_continued_by_options() -> None:
    http = Player(whole(OUTPUT))
    own = {"gemini@interactions": {"previous_interaction_id": "v1_0"}}
    with chat(http) as asking:
        asking.ask("And?", store=True, options=own)
        assert http.sent["previous_interaction_id"] == "v1_0"
        with pytest.raises(RuleError, match="I3"):
            asking.ask("And?", options=own)


def test_gemini_keeps_to_generate_content() -> None:
    assert PROVIDERS["gemini"].wire == "gemini"
    assert NAME.partition(":")[0] in PROVIDERS


def test_a_changed_thought_is_refused_by_the_emulator() -> None:
    emulator = Emulator([{"say": {"text": "High.", "thoughts": "Hm."}}])
    with chat(EmulatorTransport(emulator), effort="low") as asking:
        reply = asking.ask("When?")
        again = [Message.user("When?"), reply.message, Message.user("And?")]
        assert asking.ask(messages=again).text
        steps = json.loads(asking.call(messages=again).body)["input"]
        steps[1]["summary"][0]["text"] = "Other."
        answer = emulator.answer(
            "POST",
            "/v1beta/interactions",
            {"x-goog-api-key": "fake-key"},
            json.dumps({"model": MODEL, "input": steps}).encode(),
        )
    assert answer.status == 400
    assert b"thought signature" in answer.body
