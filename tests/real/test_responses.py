"""llama.cpp by OpenAI's Responses, raw and neutral.

What the model says is not looked at; what is sent is.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.real.doors import Door
from tests.real.test_llama import ENDLESS, MODEL, QUESTION
from tests.real.test_messages import chunks_of
from tests.real.test_neutral import ask, get_forecast, stream
from wire import Message, ToolResult, errors
from wire.neutral.messages import Done, TextDelta, ToolCallEnd
from wire.openai import responses

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

LONG = {"llama.cpp": {**ENDLESS, "seed": 1}}
ONE_CALL = {"llama.cpp": {"stop": ["</tool_call>"]}}
"""The endpoint has no field for it, but the server below reads it."""


def request(**fields: Any) -> responses.ResponseRequest:
    fixed = {"model": MODEL, "input": "Hi", "max_output_tokens": 8, "temperature": 0.0}
    return responses.ResponseRequest(**{**fixed, **fields})


def test_a_response_and_its_stream(responses_door: Door) -> None:
    whole = responses_door.send(responses.create_response(request()).replace(body_extra=ENDLESS))
    # The server says so also of a response that the limit ended.
    assert (whole.object, whole.model, whole.status) == ("response", MODEL, "completed")
    assert [item.type for item in whole.output] == ["message"]
    assert whole.usage.output_tokens == 8
    with chunks_of(
        responses_door, responses.stream_response(request()).replace(body_extra=ENDLESS)
    ) as (events, folded):
        assert [event.type for event in events][:3] == [
            "response.created",
            "response.in_progress",
            "response.output_item.added",
        ]
        assert events[-1].type == "response.completed"
        assert folded.output[0].content == whole.output[0].content
        assert folded.usage.output_tokens == 8


def test_a_reply_whole_and_in_pieces(responses_door: Door) -> None:
    whole = ask(responses_door, "Hi", options=LONG)
    events, streamed = stream(responses_door, "Hi", options=LONG)
    assert (streamed.text, streamed.stop, whole.model) == (whole.text, whole.stop, MODEL)
    assert whole.usage is not None
    assert whole.usage.output == 8
    assert (
        "".join(event.text for event in events if isinstance(event, TextDelta)) == whole.text != ""
    )
    assert events[-1] == Done(streamed)


def test_a_call_and_its_result_go_back(responses_door: Door) -> None:
    asked = Message.user(QUESTION)
    events, reply = stream(
        responses_door,
        messages=[asked],
        tools=[get_forecast],
        tool_choice="required",
        max_tokens=64,
        options=ONE_CALL,
    )
    assert {call.name for call in reply.tool_calls} == {"get_forecast"}
    assert (
        tuple(event.call for event in events if isinstance(event, ToolCallEnd)) == reply.tool_calls
    )
    # The limit may cut a further call, and the server fails on arguments that are cut.
    calls = tuple(call for call in reply.tool_calls if call.arguments is not None)
    assert calls
    results = Message.tool_response(
        ToolResult(each.id, each.name, {"sky": "clear"}) for each in calls
    )
    answer = ask(
        responses_door,
        messages=[asked, Message("assistant", calls), results],
        options=LONG,
        tools=[get_forecast],
    )
    assert answer.message.parts


def test_an_error_has_its_class(responses_door: Door) -> None:
    """More than its context holds."""
    with pytest.raises(errors.ContextLengthError) as refused:
        responses_door.send(responses.create_response(request(input="word " * 3000)))
    assert (refused.value.provider, refused.value.status) == ("llama.cpp@responses", 400)
