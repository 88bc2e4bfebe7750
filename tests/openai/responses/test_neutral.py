"""Responses as neutral replies: parts, calls, stop, usage, and what a call without an id gets."""

from __future__ import annotations

from typing import Any

import pytest

import wire
from tests.joined import joined
from tests.openai.responses.bodies import (
    CREATED,
    added,
    completed,
    custom_call,
    done,
    function_call,
    message,
    parsed,
    read,
    reasoning,
    reasoning_text,
    refusal,
    reply_of,
    sse,
    text,
)
from wire.core.memory import PARTIAL, with_notes
from wire.errors import BlockedError, ServerError
from wire.neutral.messages import (
    Done,
    Other,
    ServerToolCall,
    Text,
    Thought,
    ToolCall,
    ToolCallEnd,
    ToolCallStart,
)
from wire.openai.responses import EventReader, parse_reply

SEARCH = {"id": "ws_1", "type": "web_search_call", "action": {"type": "search", "query": "tide"}}


def test_the_parts_stand_in_the_order_of_the_output() -> None:
    reply = reply_of(
        reasoning("First.", "Then."),
        message("Wait.", " Now.", phase="commentary"),
        function_call(1, "tide", '{"port":"Brest"}'),
        SEARCH,
        custom_call("line", call_id="call_t3"),
        message("High.", id="msg_t2"),
    )
    assert reply.message.parts == (
        Thought("First.\n\nThen.", slot="summary", signature="Z2F0ZQ=="),
        Text("Wait.", extra={"phase": "commentary"}),
        Text(" Now.", extra={"phase": "commentary"}),
        ToolCall(
            id="call_t1",
            name="tide",
            arguments={"port": "Brest"},
            text='{"port":"Brest"}',
            response="call_t1",
        ),
        ServerToolCall(
            id="ws_1",
            name="web_search",
            kind="web_search",
            arguments={"type": "search", "query": "tide"},
        ),
        ToolCall(
            id="call_t3",
            name="plot",
            arguments={"input": "line"},
            text="line",
            kind="custom",
            response="call_t1",
        ),
        Text("High."),
    )
    assert (reply.text, reply.thought) == ("Wait. Now.High.", "First.\n\nThen.")
    assert (reply.id, reply.model) == ("resp_t1", "gpt-5.6")


@joined(
    ("item", "part"),
    [
        (reasoning(), Thought("", slot="summary", signature="Z2F0ZQ==")),
        (reasoning_text("Hm."), Thought("Hm.", slot="content")),
        (message(refusal("No.")), Text("No.", refusal=True)),
        ({"type": "message", "role": "assistant", "content": "Hi"}, Text("Hi")),
        ({"role": "assistant", "content": [text("Hi")]}, Text("Hi")),
        ({"type": "sounding", "depth": 1}, Other("sounding", {"type": "sounding", "depth": 1})),
        (
            message({"type": "output_song", "notes": [1]}),
            Other("message", message({"type": "output_song", "notes": [1]})),
        ),
        (
            {"type": "message", "role": "user", "content": "Hi"},
            Other("message", {"type": "message", "role": "user", "content": "Hi"}),
        ),
    ],
    ids=["secret", "content", "refusal", "string", "no type", "unknown", "unknown part", "user"],
)
def test_one_item_is_one_part(item: dict[str, Any], part: Any) -> None:
    assert reply_of(item).message.parts == (part,)


@joined(
    ("text", "more", "arguments"),
    [
        ('{"a":1}', {}, {"a": 1}),
        ("", {}, {}),
        ("null", {}, {}),
        ("[1]", {}, None),
        ('{"a":', {}, None),
        ('{"a":', {"status": "incomplete"}, None),
        ("", {"status": "incomplete"}, None),
        ('{"a":1}', {"status": "incomplete"}, {"a": 1}),
        ('{"a":1}', {"status": "in_progress"}, {"a": 1}),
    ],
)
def test_arguments_are_kept_as_text_and_parsed_beside_it(
    text: str, more: dict[str, Any], arguments: Any
) -> None:
    [call] = reply_of(function_call(1, "tide", text, **more)).tool_calls
    assert (call.text, call.arguments) == (text, arguments)


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_arguments_that_came_as_an_object_are_its_text(status: str) -> None:
    item = function_call(1, "tide", "", status=status) | {"arguments": {"port": "Brest"}}
    [call] = reply_of(item).tool_calls
    [end] = [
        each
        for each in read(sse(CREATED, done(0, item), completed())).neutral
        if isinstance(each, ToolCallEnd)
    ]
    for each in (call, end.call):
        assert (each.text, each.arguments) == ('{"port":"Brest"}', {"port": "Brest"})


def test_the_input_of_a_cut_custom_call_is_its_text_alone() -> None:
    [call] = reply_of(custom_call("li", status="incomplete")).tool_calls
    assert (call.text, call.arguments, call.kind) == ("li", None, "custom")


def test_a_call_without_an_id_gets_the_same_one_from_the_same_request() -> None:
    items = [function_call(1, "tide", "{}", call_id=None), function_call(1, "moon", "{}")]
    answer = parsed(*items)
    ids = [[call.id for call in parse_reply(answer, body=body).tool_calls] for body in (b"a", b"a")]
    other = [call.id for call in parse_reply(answer, body=b"b").tool_calls]
    assert ids[0] == ids[1]
    assert ids[0][0] != other[0]
    assert ids[0][1] == other[1] == "call_t1"


@joined(
    ("output", "more", "stop"),
    [
        ([message("Hi")], {}, ("end", "completed", "")),
        ([function_call(1, "a", "{}")], {}, ("tool_calls", "completed", "")),
        ([custom_call("a")], {}, ("tool_calls", "completed", "")),
        ([SEARCH], {}, ("end", "completed", "")),
        (
            [message("Hi")],
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            ("length", "max_output_tokens", ""),
        ),
        (
            [message("Hi")],
            {"status": "incomplete", "incomplete_details": {"reason": "steered"}},
            ("pause", "steered", ""),
        ),
        ([], {"status": "queued"}, ("pause", "queued", "")),
        ([message(refusal("No."))], {}, ("end", "completed", "No.")),
    ],
)
def test_the_stop(output: list[Any], more: dict[str, Any], stop: tuple[str, str, str]) -> None:
    found = reply_of(*output, **more).stop
    assert (found.reason, found.raw, found.message) == stop


def test_a_call_of_a_cut_response_is_no_reason_to_go_on() -> None:
    reply = reply_of(
        function_call(1, "a", '{"', status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    )
    assert (reply.stop.reason, reply.tool_calls[0].arguments) == ("length", None)


def test_usage_counts_cached_in_input_and_reasoning_in_output() -> None:
    usage = {"input_tokens": 9, "output_tokens": 7, "input_tokens_details": {"cached_tokens": 4}}
    assert reply_of(message("Hi"), usage=usage).usage == wire.Usage(
        input=9, output=7, cached=4, total=16
    )
    assert reply_of(message("Hi"), usage=None).usage is None
    written = {"cached_tokens": 1, "cache_write_tokens": 3}
    found = reply_of(message("Hi"), usage={**usage, "input_tokens_details": written}).usage
    assert found is not None
    assert (found.cached, found.cache_written) == (1, 3)


def test_what_filters_removed_is_an_error_unless_something_is_left() -> None:
    cut = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    with pytest.raises(BlockedError):
        EventReader().close(reply_of(**cut))
    left = reply_of(message("Hi"), **cut)
    assert (left.stop.reason, EventReader().close(left)) == ("filter", [Done(left)])


def test_a_partial_reply_has_no_regular_stop() -> None:
    outcome = read(sse(CREATED, added(0, message()), done(0, message("Hi"))))
    partial = with_notes(outcome.response, [PARTIAL])
    reply = parse_reply(partial, error=ServerError("gone", status=500))
    assert reply.text == "Hi"
    assert reply.stop.reason not in ("end", "tool_calls")


def test_calls_start_once_and_end_with_the_call_of_the_reply() -> None:
    item = function_call(1, "tide", '{"a":1}')
    outcome = read(sse(CREATED, added(0, item), done(0, item), done(0, item), completed(item)))
    starts = [each for each in outcome.neutral if isinstance(each, ToolCallStart)]
    ends = [each for each in outcome.neutral if isinstance(each, ToolCallEnd)]
    assert starts == [ToolCallStart(0, "tide", "call_t1")]
    assert [each.call for each in ends] == list(outcome.reply.tool_calls)
