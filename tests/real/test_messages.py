"""llama.cpp by Anthropic's Messages, raw and neutral.

What the model says is not looked at; what is sent is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.real.doors import Door
from tests.real.test_llama import ENDLESS, MODEL, QUESTION
from tests.real.test_neutral import ask, get_forecast, stream
from wire import Message, ToolResult, anthropic, errors
from wire.neutral.messages import Done, TextDelta, ToolCallEnd

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

LONG = {"llama.cpp": {**ENDLESS, "seed": 1}}


def request(**fields: Any) -> anthropic.MessageRequest:
    said = [anthropic.Message(role="user", content="Hi")]
    return anthropic.MessageRequest(
        **{"model": MODEL, "max_tokens": 8, "messages": said, "temperature": 0.0, **fields}
    )


@contextmanager
def chunks_of(door: Door, call: Any) -> Iterator[tuple[list[Any], Any]]:
    """The events of a stream, and the answer that they fold to."""
    if hasattr(door, "portal"):

        async def read() -> tuple[list[Any], Any]:
            async with door.client.stream(call) as chunks:  # type: ignore[union-attr]
                return [chunk async for chunk in chunks], await chunks.result()

        yield door.portal.call(read)
    else:
        with door.client.stream(call) as chunks:  # type: ignore[union-attr]
            yield list(chunks), chunks.result()


def test_an_answer_and_its_tokens(messages_door: Door) -> None:
    answer = messages_door.send(anthropic.create_message(request()).replace(body_extra=ENDLESS))
    assert (answer.type, answer.role, answer.model, answer.stop_reason) == (
        "message",
        "assistant",
        MODEL,
        "max_tokens",
    )
    assert [block.type for block in answer.content] == ["text"]
    assert answer.usage.output_tokens == 8
    counted = messages_door.send(anthropic.count_tokens(request()))
    assert counted.input_tokens == answer.usage.input_tokens + (
        answer.usage.cache_read_input_tokens or 0
    )


def test_a_stream_comes_to_what_the_plain_call_gives(messages_door: Door) -> None:
    whole = messages_door.send(anthropic.create_message(request()).replace(body_extra=ENDLESS))
    with chunks_of(
        messages_door, anthropic.stream_message(request()).replace(body_extra=ENDLESS)
    ) as (events, folded):
        assert [event.type for event in events][:2] == ["message_start", "content_block_start"]
        assert [event.type for event in events][-2:] == ["message_delta", "message_stop"]
        assert (folded.content, folded.stop_reason, folded.usage.output_tokens) == (
            whole.content,
            "max_tokens",
            8,
        )


def test_a_reply_whole_and_in_pieces(messages_door: Door) -> None:
    whole = ask(messages_door, "Hi", options=LONG)
    events, streamed = stream(messages_door, "Hi", options=LONG)
    assert (whole.stop.reason, whole.model) == ("length", MODEL)
    assert (streamed.text, streamed.stop) == (whole.text, whole.stop)
    assert whole.usage is not None
    assert whole.usage.output == 8
    assert (
        "".join(event.text for event in events if isinstance(event, TextDelta)) == whole.text != ""
    )
    assert events[-1] == Done(streamed)


def test_a_call_and_its_result_go_back(messages_door: Door) -> None:
    asked = Message.user(QUESTION)
    settings: dict[str, Any] = {
        "tools": [get_forecast],
        "tool_choice": "required",
        "stop": "</tool_call>",
        "max_tokens": 64,
    }
    events, reply = stream(messages_door, messages=[asked], **settings)
    assert reply.tool_calls
    assert {call.name for call in reply.tool_calls} == {"get_forecast"}
    assert (
        tuple(event.call for event in events if isinstance(event, ToolCallEnd)) == reply.tool_calls
    )
    results = Message.tool_response(
        ToolResult(each.id, each.name, {"sky": "clear"}) for each in reply.tool_calls
    )
    answer = ask(
        messages_door, messages=[asked, reply.message, results], options=LONG, tools=[get_forecast]
    )
    assert answer.text


def test_an_error_has_its_class(messages_door: Door) -> None:
    """More than its context holds."""
    with pytest.raises(errors.APIError) as refused:
        messages_door.send(
            anthropic.create_message(
                request(messages=[anthropic.Message(role="user", content="word " * 3000)])
            )
        )
    assert (refused.value.provider, refused.value.status) == ("llama.cpp@anthropic", 400)
    assert refused.value.message
