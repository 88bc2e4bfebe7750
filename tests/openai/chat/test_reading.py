"""Chunks and responses as neutral events and replies: finish reasons (Q13), errors (Q14), usage
(Q16), order of events.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import wire
from tests.joined import joined
from wire.catalogue.stops import stop_word, stopped
from wire.catalogue.usage import Usage
from wire.core.memory import PARTIAL, with_notes
from wire.errors import BlockedError, ConnectionLost, ServerError, StreamIncomplete
from wire.neutral.messages import (
    Done,
    Message,
    Origin,
    Reply,
    Stop,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.openai import (
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    Delta,
    Dialect,
    EventReader,
    FunctionCall,
    parse_reply,
)
from wire.openai import Message as WireMessage
from wire.openai import ToolCall as WireToolCall
from wire.openai.chat.finish import finish_of, meaning_of
from wire.openai.chat.fold import fold
from wire.openai.chat.reader import parse_completion

from .bodies import DONE, REQUEST, chunk, piece, sse, streamed, told

CALL = piece('{"a":1}', id="c1", name="f")


def reply_of(*choices, **beside) -> Reply:
    return parse_reply(parse_completion(json.dumps({"choices": list(choices), **beside}).encode()))


# --- Q13: why it stopped --------------------------------------------------------------------------

TABLE = {
    "stop": "end",
    "end": "end",
    "eos": "end",
    "end_turn": "end",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "filter",
    "sensitive": "filter",
    "error": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}


@pytest.mark.row("Q13")
def test_table():
    assert {word: meaning_of(word).reason for word in TABLE} == TABLE
    assert meaning_of("function_call_filter: MALFORMED").reason == "error"
    assert [meaning_of(word).reason for word in (None, "bored", "STOP")] == ["other"] * 3


@pytest.mark.row("Q13")
@joined(
    ("raw", "reason"), [item for item in TABLE.items() if item[1] != "error"] + [("bored", "other")]
)
def test_stop(raw, reason):
    row = stop_word("chat", raw)
    assert row.reason == reason
    assert streamed(chunk({"content": "Hi"}, raw)).reply.stop == stopped(row, raw)[0]
    whole = reply_of({"message": {"content": "Hi"}, "finish_reason": raw})
    assert whole.stop == stopped(row, raw)[0]
    # with a call an end is a call
    assert (
        streamed(chunk(CALL, raw)).reply.stop == stopped(stop_word("chat", raw, calls=True), raw)[0]
    )


@pytest.mark.row("Q13")
@joined(
    ("finish", "native", "reason"),
    [
        ("tool_calls", "length", "length"),
        ("tool_calls", "MAX_TOKENS", "length"),
        ("stop", "max_output_tokens", "length"),
        ("stop", "STOP", "end"),
        ("tool_calls", "tool_use", "tool_calls"),
        ("content_filter", "length", "filter"),
        ("bored", "length", "other"),
        ("length", "stop", "length"),
    ],
)
def test_native_finish(finish, native, reason):
    seen = streamed(
        chunk({"content": "Hi"}, finish, choice={"native_finish_reason": native}),
        chunk({}, choice={"native_finish_reason": None}),
    )
    assert (
        seen.reply.stop.reason,
        seen.reply.stop.raw,
        seen.answer.choices[0].native_finish_reason,
    ) == (reason, finish, native)


@pytest.mark.row("Q13")
@joined(
    ("finishes", "raw"),
    [
        (["stop", None], "stop"),
        (["stop", "", "null"], "stop"),
        (["tool_calls", "stop"], "stop"),
        (["", "null", None], None),
        ([None, "length", "length"], "length"),
    ],
)
def test_the_last_one_that_says_something(finishes, raw):
    seen = streamed(
        chunk({"content": "Hi"}),
        *({"choices": [{"delta": {}, "finish_reason": each}]} for each in finishes),
    )
    assert (seen.reply.stop.raw, seen.answer.choices[0].finish_reason) == (raw, raw)


@pytest.mark.row("Q13")
def test_camel_case():
    odd = chunk({"content": "Hi"}, choice={"finish_reason": None, "finishReason": "stop"})
    seen = streamed(odd)
    assert (seen.reply.stop.raw, seen.answer.choices[0].finish_reason, seen.reader.finished) == (
        "stop",
        "stop",
        True,
    )
    both = streamed(chunk({"content": "Hi"}, "length", choice={"finishReason": "stop"}))
    assert (
        finish_of(both.chunks[0].choices[0]),
        both.reply.stop.raw,
        both.answer.choices[0].finish_reason,
    ) == (
        "length",
        "length",
        "length",
    )


@pytest.mark.row("Q13")
@joined(
    ("datas", "stop"),
    [
        ([chunk(CALL), DONE], Stop(reason="tool_calls")),
        ([chunk(CALL)], Stop(reason="other")),  # a bare end of the body
        ([chunk({"content": "Hi"}), DONE], Stop(reason="other")),
        ([chunk(CALL, ""), DONE], Stop(reason="tool_calls")),
        (
            [chunk({"content": "Hi"}, "network_error"), DONE],
            Stop(reason="error", raw="network_error"),
        ),
        (
            [chunk(CALL, "stop"), {"error": {"message": "No."}}],
            Stop(reason="error", raw="stop", message="No."),
        ),
        ([{"error": {"message": "No."}}], Stop(reason="error", message="No.")),
    ],
)
def test_without_a_finish_and_with_an_error(datas, stop):
    assert told(sse(*datas)).reply.stop == stop


@pytest.mark.row("Q13")
def test_a_whole_answer_without_a_finish():
    calls = [{"id": "c1", "function": {"name": "f", "arguments": "{}"}}]
    assert reply_of({"message": {"content": None, "tool_calls": calls}}).stop == Stop(
        reason="tool_calls"
    )
    assert reply_of({"message": {"content": "Hi"}, "finish_reason": ""}).stop == Stop(
        reason="other"
    )


def test_refusal():
    seen = streamed(chunk({"refusal": "I can"}), chunk({"refusal": "not."}), chunk({}, "stop"))
    assert (seen.reply.stop, seen.reply.message.parts) == (
        Stop(reason="end", raw="stop", message="I cannot."),
        (Text("I cannot.", refusal=True),),
    )
    assert [event for event in seen.events if isinstance(event, TextDelta)] == [
        TextDelta("I can"),
        TextDelta("not."),
    ]


# --- Q16: usage -----------------------------------------------------------------------------------


def usage(prompt: int | None, completion: int | None = None, **beside):
    return {"prompt_tokens": prompt, "completion_tokens": completion, **beside}


@pytest.mark.row("Q16")
@joined(
    ("datas", "expected"),
    [
        ([chunk({}, usage=usage(3, 1)), chunk({}, usage=usage(3, 2))], (3, 2)),  # never a sum
        (
            [chunk({}, usage=usage(9, 9)), {"choices": [], "usage": usage(3, 2)}],
            (3, 2),
        ),  # it may go down
        ([chunk({}, usage=usage(3, 2)), {"choices": [], "usage": None}], (3, 2)),
        ([chunk({}, usage=usage(3, 2)), {"choices": [], "usage": {}}], (3, 2)),
        ([chunk({}, usage=usage(3, 2)), {"choices": [], "usage": usage(None)}], (3, 2)),
        ([chunk({}, usage=usage(3, 2)), {"choices": [], "usage": {"mood": 1}}], (3, 2)),
        ([chunk({}, usage=usage(3, 2)), {"choices": [], "usage": 7}], (3, 2)),
        ([chunk({}, choice={"usage": usage(3, 2)})], (3, 2)),
        ([chunk({}, x_groq={"usage": usage(3, 2)})], (3, 2)),
        (
            [chunk({}, usage=usage(3, 2), choice={"usage": usage(8)}, x_groq={"usage": usage(9)})],
            (3, 2),
        ),
        ([chunk({}, choice={"usage": usage(3, 2)}, x_groq={"usage": usage(9)})], (3, 2)),
        ([chunk({}, usage=usage(9)), chunk({}, x_groq={"usage": usage(3, 2)})], (3, 2)),
        ([{"usage": usage(3, 2)}], (3, 2)),
        (
            [{"choices": [{"index": 0, "usage": usage(8)}, {"index": 1, "usage": usage(3, 2)}]}],
            (3, 2),
        ),
        ([chunk({}, usage=usage(0, 0, total_tokens=0))], (0, 0)),
    ],
)
def test_the_last_usage_counts(datas, expected):
    seen = streamed(*datas, chunk({}, "stop"))
    assert (seen.reply.usage.input, seen.reply.usage.output) == expected
    assert (seen.answer.usage.prompt_tokens, seen.answer.usage.completion_tokens) == expected


@pytest.mark.row("Q16")
@joined(
    "datas",
    [
        [],
        [{"choices": [], "usage": None}],
        [{"choices": [], "usage": {}}],
        [chunk({}, usage=usage(None))],
        [chunk({}, x_groq={"id": "r"})],
    ],
)
def test_no_usage(datas):
    seen = streamed(chunk({"content": "Hi"}, "stop"), *datas)
    assert (seen.reply.usage, seen.answer.usage) == (None, None)


@pytest.mark.row("Q16")
@joined(
    ("beside", "expected"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 5}}, {"cached": 5}),
        ({"prompt_cache_hit_tokens": 5, "prompt_cache_miss_tokens": 2}, {"cached": 5}),
        ({"cached_tokens": 5}, {"cached": 5}),
        ({"num_cached_tokens": 5}, {"cached": 5}),
        ({"cache_read_input_tokens": 5}, {"cached": 5}),
        (
            {
                "prompt_tokens_details": {"cached_tokens": 5},
                "prompt_cache_hit_tokens": 4,
                "cached_tokens": 3,
            },
            {"cached": 5},
        ),
        (
            {"prompt_tokens_details": {"cached_tokens": 0}, "prompt_cache_hit_tokens": 4},
            {"cached": 4},
        ),
        ({"prompt_tokens_details": {"cache_write_tokens": 5}}, {"cache_written": 5}),
        ({"prompt_tokens_details": {"cache_creation_input_tokens": 5}}, {"cache_written": 5}),
        ({"cache_creation_input_tokens": 5}, {"cache_written": 5}),
        ({"completion_tokens_details": {"reasoning_tokens": 5}}, {"reasoning": 5}),
        ({"reasoning_tokens": 5}, {"reasoning": 5}),
        (
            {"completion_tokens_details": {"reasoning_tokens": 5}, "reasoning_tokens": 4},
            {"reasoning": 5},
        ),
        ({"total_tokens": 99}, {"total": 99}),
        (
            {
                "prompt_tokens_details": {"audio_tokens": 5, "image_tokens": 0, "text_tokens": 2},
                "completion_tokens_details": {"audio_tokens": 1},
            },
            {"by_modality": {"input_text": 2, "input_audio": 5, "output_audio": 1}},
        ),
        ({"prompt_tokens_details": None, "completion_tokens_details": None}, {}),
        ({"prompt_tokens_details": {"cached_tokens": "5"}}, {}),
    ],
)
def test_fields(beside, expected):
    assert streamed(chunk({}, "stop", usage=usage(7, 6, **beside))).reply.usage == Usage(
        **{"input": 7, "output": 6, "total": 13} | expected
    )


@pytest.mark.row("Q16")
def test_reasoning_outside_the_output():
    """xAI counts reasoning tokens apart from the output tokens."""
    counts = usage(7, 6, completion_tokens_details={"reasoning_tokens": 100}, total_tokens=113)
    outside = Dialect(reasoning_outside_output=True)
    assert streamed(chunk({}, "stop", usage=counts), dialect=outside).reply.usage == Usage(
        input=7, output=106, reasoning=100, total=113
    )
    assert streamed(chunk({}, "stop", usage=counts)).reply.usage.output == 6
    del counts["total_tokens"]
    assert streamed(chunk({}, "stop", usage=counts), dialect=outside).reply.usage.total == 113


# --- events ---------------------------------------------------------------------------------------


def test_events_in_the_order_of_their_coming():
    seen = streamed(
        chunk({"role": "assistant", "content": ""}),
        chunk({"reasoning_content": "Hm"}),
        chunk({"content": "Yes"}),
        chunk({"content": ", "}),
        chunk(piece("", id="c1", name="f")),
        chunk(piece("{}")),
        chunk({}, "tool_calls"),
        {"choices": [], "usage": usage(3, 2)},
    )
    call = ToolCall(id="c1", name="f", arguments={}, text="{}", response="c1")
    reply = Reply(
        message=Message(
            role="assistant",
            parts=(Thought(text="Hm", slot="reasoning_content"), Text(text="Yes, "), call),
        ),
        stop=Stop(reason="tool_calls", raw="tool_calls"),
        usage=Usage(input=3, output=2, total=5),
    )
    assert seen.events == [
        ThoughtDelta("Hm"),
        TextDelta("Yes"),
        TextDelta(", "),
        ToolCallStart(0, "f", "c1"),
        ToolCallDelta(0, "{}"),
        ToolCallEnd(0, call),
        Done(reply),
    ]
    assert seen.reply == reply


def test_a_reply_on_its_way():
    reading = EventReader()
    first, second = told(sse(chunk({"content": "Hi"}), chunk(CALL))).chunks
    reading.feed(first)
    partial = reading.reply()
    assert (partial.text, partial.stop, partial.notes) == ("Hi", Stop(reason="other"), (PARTIAL,))
    reading.feed(second)
    assert (reading.reply().message.tool_calls[0].name, reading.reply().stop.reason) == (
        "f",
        "other",
    )
    whole = reading.close()[-1].reply
    assert (whole.stop.reason, whole.notes) == ("tool_calls", ())
    assert reading.close() == []


@joined(
    ("finish", "reason"),
    [
        ("stop", "other"),
        ("tool_calls", "other"),
        ("length", "length"),
        ("content_filter", "filter"),
    ],
)
def test_a_reply_so_far_claims_no_end(finish: str, reason: str):
    """The usage may still follow, so a finish reason alone does not end the stream."""
    reading = EventReader()
    for each in told(sse(chunk({"content": "Hi"}), chunk(piece("{}", name="f"), finish))).chunks:
        reading.feed(each)
    assert reading.reply().stop == Stop(reason, finish)


def test_a_call_of_a_custom_tool_in_the_middle_has_no_input_yet():
    """The input is a plain text: no property of it shows whether it is complete."""
    custom = {"index": 0, "id": "c", "type": "custom", "custom": {"name": "f", "input": "SELECT"}}
    chunks = told(sse(chunk({"tool_calls": [custom]}))).chunks
    reading = EventReader()
    reading.feed(chunks[0])
    (call,) = reading.reply().tool_calls
    assert (call.kind, call.arguments, call.text) == ("custom", None, "SELECT")
    (call,) = reading.close()[-1].reply.tool_calls
    assert (call.arguments, call.text) == ({"input": "SELECT"}, "SELECT")


@joined(
    ("arguments", "read"),
    [(None, None), ("", None), ('{"a', None), ('{"a":1}', {"a": 1}), ("{}", {})],
)
def test_a_call_in_the_middle_has_the_arguments_that_are_known(arguments: str | None, read: Any):
    """A partial response of the raw door gives the same reply, with a note that it is partial."""
    chunks = told(sse(chunk(piece(arguments, id="c", name="f")))).chunks
    reading = EventReader()
    reading.feed(chunks[0])
    reply = parse_reply(with_notes(fold(chunks), [PARTIAL]))
    for each in (reply, reading.reply()):
        assert (each.stop, each.notes) == (Stop("other"), (PARTIAL,))
        assert [(call.name, call.arguments) for call in each.tool_calls] == [("f", read)]
    failed = parse_reply(with_notes(fold(chunks), [PARTIAL]), error=ServerError("It broke."))
    assert failed.stop == Stop("error", message="It broke.")


@pytest.mark.parametrize(
    ("error", "stop"),
    [
        (ServerError("It broke.", status=500), Stop(reason="error", message="It broke.")),
        (ConnectionLost("gone"), Stop(reason="other")),
        (StreamIncomplete("cut"), Stop(reason="other")),
    ],
)
def test_closed_with_an_error(error, stop):
    """The parts received before the error are still reported (Q14)."""
    reading = EventReader()
    reading.feed(told(sse(chunk(piece('{"a"', id="c1", name="f")))).chunks[0])
    *_, end, done = reading.close(error=error)
    assert (end.call.text, end.call.arguments, done.reply.stop) == ('{"a"', None, stop)


def test_a_whole_answer():
    reply = reply_of(
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Yes",
                "refusal": None,
                "reasoning": "Hm",
                "tool_calls": [
                    {"id": "c1", "index": 0, "function": {"name": "f", "arguments": '{"a":1}'}},
                    {"id": "c2", "function": {"name": "g"}},
                ],
            },
            "finish_reason": "stop",
        },
        usage=usage(3, 2),
    )
    assert reply == Reply(
        message=Message(
            role="assistant",
            parts=(
                Thought(text="Hm", slot="reasoning"),
                Text(text="Yes"),
                ToolCall(id="c1", name="f", arguments={"a": 1}, text='{"a":1}', response="c1"),
                ToolCall(id="c2", name="g", arguments={}, response="c1"),
            ),
        ),
        stop=Stop(reason="tool_calls", raw="stop"),
        usage=Usage(input=3, output=2, total=5),
    )
    assert (reply.text, reply.message.thought, reply.notes) == ("Yes", "Hm", ())


def test_a_whole_answer_of_several_choices():
    answer = parse_completion(
        json.dumps(
            {
                "choices": [
                    {"index": 1, "message": {"content": "B"}},
                    {"index": 0, "message": {"content": "A"}, "finish_reason": "stop"},
                ]
            }
        ).encode()
    )
    assert [parse_reply(answer, choice=at).text for at in (0, 1, 2)] == ["A", "B", ""]


def test_the_old_call_in_a_whole_answer():
    [call] = reply_of(
        {
            "message": {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
            "finish_reason": "function_call",
        }
    ).message.tool_calls
    assert (call.name, call.arguments, call.id[:5]) == ("f", {}, "call_")


@joined(
    "choice",
    [
        {"message": None, "finish_reason": "stop"},
        {"finish_reason": "stop"},
        {"message": {}, "finish_reason": "stop"},
        {"message": {"content": ""}, "finish_reason": "stop"},
    ],
)
def test_an_answer_that_says_nothing_is_one(choice):  # Q15
    reply = reply_of(choice)
    assert (reply.message.parts, reply.stop.reason) == ((), "end")


def test_chunks_are_left_as_they_are():
    [one, *_] = told(
        sse(chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "A"}]}))
    ).chunks
    before = one.raw, repr(one)
    for _ in range(2):
        reading = EventReader()
        reading.feed(one)
        reading.feed(one)
        assert reading.reply().message.parts[0].details[0]["text"] == "AA"
    assert (one.raw, repr(one), wire.unknown(one)) == (*before, [])


def test_a_chunk_that_was_built_here():
    reading = EventReader()
    assert reading.feed(ChatCompletionChunk(choices=None)) == []
    assert reading.close() == [
        Done(Reply(message=Message(role="assistant"), stop=Stop(reason="other")))
    ]


# --- where it came from ---------------------------------------------------------------------------

SAID = {
    "role": "assistant",
    "content": "Yes",
    "reasoning": "Hm",
    "tool_calls": [
        {"id": "c1", "function": {"name": "f", "arguments": "{}"}, "shore": 1},
        {"id": "c2", "function": {"name": "g"}},
    ],
}


def asked(answer: ChatCompletion, **beside) -> Reply:
    return parse_reply(answer, provider="deepseek", model="deepseek-chat", **beside)


@pytest.mark.row("S1-52")
def test_a_reply_remembers_who_said_it_and_in_which_bytes():
    body = json.dumps(
        {
            "id": "a1",
            "model": "deepseek-chat-2",
            "choices": [{"index": 0, "message": SAID, "finish_reason": "stop"}],
        }
    ).encode()
    answer = parse_completion(body)
    reply = asked(answer)
    thought, text, first, second = reply.message.parts
    calls = [json.dumps(call).encode() for call in SAID["tool_calls"]]
    assert (reply.id, reply.model, reply.answer) == ("a1", "deepseek-chat-2", answer)
    assert reply.message.origin == Origin(
        "deepseek", "deepseek-chat", "openai", json.dumps(SAID).encode()
    )
    assert [part.origin for part in (first, second)] == [
        Origin("deepseek", "deepseek-chat", "openai", raw) for raw in calls
    ]
    assert [part.origin for part in (thought, text)] == [
        Origin("deepseek", "deepseek-chat", "openai")
    ] * 2
    again = pickle.loads(pickle.dumps(reply))
    assert (again, again.message.origin, again.message.parts[2].origin) == (
        reply,
        reply.message.origin,
        first.origin,
    )
    assert again.answer.raw == body


def test_a_call_starts_when_it_has_a_name():
    reader = EventReader(body=REQUEST)

    def fed(*deltas):
        calls = [
            WireToolCall(index=index, id=id, function=FunctionCall(name=name, arguments=arguments))
            for index, id, name, arguments in deltas
        ]
        return reader.feed(ChatCompletionChunk(choices=[Choice(delta=Delta(tool_calls=calls))]))

    assert fed((0, "c1", None, '{"a"')) == []
    assert fed((1, "c2", "g", "{}")) == []  # calls start in their order
    assert fed((0, None, "f", ":1}")) == [
        ToolCallStart(0, "f", "c1"),
        ToolCallDelta(0, '{"a":1}'),
    ]
    assert fed((1, None, None, " ")) == [ToolCallStart(1, "g", "c2"), ToolCallDelta(1, "{} ")]
    assert [type(each) for each in reader.close()] == [ToolCallEnd, ToolCallEnd, Done]


def test_a_call_that_never_gets_a_name_is_not_lost():
    reader = EventReader(body=REQUEST)
    call = WireToolCall(index=0, id="c1", function=FunctionCall(arguments="{}"))
    reader.feed(ChatCompletionChunk(choices=[Choice(delta=Delta(tool_calls=[call]))]))
    events = reader.close()
    assert events[:2] == [ToolCallStart(0, "", "c1"), ToolCallDelta(0, "{}")]
    assert [type(each) for each in events] == [ToolCallStart, ToolCallDelta, ToolCallEnd, Done]


def test_a_message_without_bytes_is_known_by_its_parts():
    reply = asked(ChatCompletion(choices=[Choice(message=WireMessage(content="Hi"))]))
    assert (reply.message.origin, reply.message.parts[0].origin) == (
        None,
        Origin("deepseek", "deepseek-chat", "openai"),
    )
    assert (reply.id, reply.model) == ("", "")


@pytest.mark.parametrize(
    "message",
    [
        {"content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {
            "content": None,
            "function_call": {"name": "f"},
            "tool_calls": [{"id": "c1", "function": {"name": "g"}}],
        },
    ],
)
def test_a_call_that_is_not_one_of_the_list_has_no_bytes(message):
    reply = asked(
        parse_completion(
            json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode()
        )
    )
    assert reply.message.origin.raw == json.dumps(message).encode()
    assert {call.origin for call in reply.tool_calls} == {
        Origin("deepseek", "deepseek-chat", "openai")
    }


def test_two_choices_of_one_number_are_nobodys_bytes():
    choices = [{"index": 0, "message": {"content": text}} for text in ("A", "B")]
    assert asked(parse_completion(json.dumps({"choices": choices}).encode())).message.origin is None


@pytest.mark.row("S1-52")
def test_the_last_event_is_the_folded_reply():
    datas = [
        chunk({"content": "Hi"}, id="", model=""),
        chunk(CALL, id="a1", model="m-1"),
        chunk({}, "stop", id="", model=""),
    ]
    seen = streamed(*datas)
    assert (seen.reply.id, seen.reply.model) == ("a1", "m-1") == (seen.answer.id, seen.answer.model)
    folded = asked(seen.answer, body=REQUEST)
    reading = EventReader(body=REQUEST, provider="deepseek", model="deepseek-chat")
    for each in seen.chunks:
        reading.feed(each)
    assert reading.reply().message.parts[0].origin == Origin("deepseek", "deepseek-chat", "openai")
    *_, end, done = reading.close(folded)
    assert (end.call is folded.tool_calls[0], done.reply is folded) == (True, True)
    assert folded == seen.reply
    assert reading.close(folded) == []


@pytest.mark.row("U-61")
def test_a_filtered_reply_is_an_error_at_the_end():
    reading = EventReader()
    for each in told(sse(chunk({"reasoning": "Hm"}), chunk({}, "content_filter"), DONE)).chunks:
        reading.feed(each)
    with pytest.raises(BlockedError) as caught:
        reading.close(reading.reply())
    assert (caught.value.code, caught.value.partial.thought) == ("content_filter", "Hm")
