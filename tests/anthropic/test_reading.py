"""Responses of Messages as neutral replies: parts, stop reason, usage, events of a stream."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterable
from typing import Any

import httpx
import pytest

from tests.joined import joined
from wire import AsyncChat, Chat
from wire.anthropic import EventReader, MessageResponse
from wire.anthropic.fold import fold
from wire.anthropic.parse import parse_reply, usage_of
from wire.anthropic.reader import ChunkReader, parse_message
from wire.anthropic.types import Usage as WireUsage
from wire.catalogue.stops import stop_word, stopped, words_of
from wire.catalogue.usage import Usage
from wire.core.memory import PARTIAL, with_notes
from wire.errors import BlockedError, StreamIncomplete
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Origin,
    Other,
    Reply,
    Restart,
    ServerToolCall,
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

from .neutral import HI, MODEL, SIGNED, TIDE, asked, received, reply_of, text, thinking, tool_use

BODY = b'{"model":"m"}'
HASH = hashlib.sha256(BODY).hexdigest()[:12]
SERVED = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "tide"},
}
SEARCHED = ServerToolCall(
    id="srvtoolu_1", name="web_search", kind="web_search", arguments={"query": "tide"}
)

# --- parts ----------------------------------------------------------------------------------------


@pytest.mark.row("S4-15")
def test_blocks_are_parts_in_their_order():
    reply = reply_of(
        thinking("Hm."),
        {"type": "redacted_thinking", "data": "EmwK"},
        text("Let me see.", citations=[{"type": "char_location", "cited_text": "ebb"}]),
        SERVED,
        tool_use("toolu_1", input={"port": "Brest"}),
        tool_use("toolu_2"),
        stop="tool_use",
        model=MODEL,
    )
    assert reply.message.parts == (
        Thought("Hm.", slot="thinking", signature=SIGNED),
        Thought(slot="redacted_thinking", details=({"data": "EmwK"},)),
        Text("Let me see."),
        SEARCHED,
        ToolCall(id="toolu_1", name="get_tide", arguments={"port": "Brest"}, response="toolu_1"),
        ToolCall(id="toolu_2", name="get_tide", arguments={}, response="toolu_1"),
    )
    assert (reply.id, reply.stop, reply.usage) == ("msg_1", Stop("tool_calls", "tool_use"), None)
    origins = [part.origin for part in reply.message.parts]
    assert all(origin is not None and origin.is_of("anthropic", MODEL) for origin in origins)
    assert [json.loads(origin.raw)["type"] for origin in origins if origin is not None][2:4] == [
        "text",
        "server_tool_use",
    ]
    assert isinstance(reply.answer, MessageResponse)
    assert reply.answer.content is not None
    assert pickle.loads(pickle.dumps(reply)) == reply


def test_an_origin_of_a_message_is_the_message_as_it_is_sent():
    origin = reply_of(text("Hi"), id="msg_2", usage={"input_tokens": 5}).message.origin
    assert isinstance(origin, Origin)
    assert json.loads(origin.raw) == {"role": "assistant", "content": [text("Hi")]}


def test_calls_without_ids_and_arguments_that_are_none():
    cut = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": '{"port": "Br'}
    reply = reply_of(
        cut,
        {"type": "tool_use", "name": "g"},
        {"type": "tool_use", "name": "h", "input": [1]},
        body=BODY,
    )
    assert reply.tool_calls == (
        ToolCall(id="toolu_1", name="f", arguments=None, text='{"port": "Br', response="toolu_1"),
        ToolCall(id=f"call_{HASH}_1", name="g", arguments={}, response="toolu_1"),
        ToolCall(id=f"call_{HASH}_2", name="h", arguments=None, text="[1]", response="toolu_1"),
    )


def test_what_is_not_known_is_kept():
    reply = reply_of({"type": "compaction", "content": "so far"}, {"new": 1})
    assert reply.message.parts == (
        Other("compaction", {"type": "compaction", "content": "so far"}),
        Other("", {"new": 1}),
    )
    assert reply_of().message.parts == ()


# --- why, and how much ----------------------------------------------------------------------------


@pytest.mark.row("S4-16")
@joined(
    ("raw", "reason"),
    [
        ("end_turn", "end"),
        ("stop_sequence", "end"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "filter"),
        ("pause_turn", "pause"),
        ("bored", "other"),
        (None, "other"),
    ],
)
def test_one_meaning_for_each_stop_reason(raw: str | None, reason: Any):
    assert stop_word("messages", raw).reason == reason
    assert reply_of(text("Hi"), stop=raw).stop == stopped(stop_word("messages", raw), raw)[0]
    with_call = stopped(stop_word("messages", raw, calls=True), raw)[0]
    assert reply_of(tool_use(), stop=raw).stop == with_call
    assert (reason == "other") == (raw not in words_of("messages"))


@pytest.mark.row("S4-16")
def test_a_refusal_says_why():
    details = {"type": "refusal", "category": "cyber", "explanation": "Not this."}
    assert reply_of(text("I"), stop="refusal", stop_details=details).stop == Stop(
        "filter", "refusal", "Not this."
    )
    assert (
        reply_of(
            text("I"), stop="refusal", stop_details={**details, "explanation": None}
        ).stop.message
        == "cyber"
    )


@pytest.mark.row("S4-17")
def test_usage_is_counted_as_everywhere():
    usage = {
        "input_tokens": 3,
        "cache_creation_input_tokens": 7,
        "cache_read_input_tokens": 20,
        "output_tokens": 9,
        "output_tokens_details": {"thinking_tokens": 4},
    }
    wanted = Usage(input=30, output=9, cached=20, cache_written=7, reasoning=4, total=39)
    assert reply_of(text("Hi"), usage=usage).usage == wanted
    assert usage_of(WireUsage()) == Usage()


# --- events ---------------------------------------------------------------------------------------


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (each["type"].encode(), json.dumps(each).encode())
        for each in events
    )


def begin(**message: Any) -> dict[str, Any]:
    given = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [],
        "usage": {"input_tokens": 5},
    }
    return {"type": "message_start", "message": {**given, **message}}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def said(*texts: str) -> list[dict[str, Any]]:
    return [{"type": "text_delta", "text": each} for each in texts]


def typed(*pieces: str) -> list[dict[str, Any]]:
    return [{"type": "input_json_delta", "partial_json": each} for each in pieces]


def end(reason: str = "end_turn", **usage: int) -> list[dict[str, Any]]:
    return [
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason},
            "usage": usage or {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ]


STREAM = [
    begin(),
    *block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "H"},
        {"type": "thinking_delta", "thinking": "m."},
        {"type": "signature_delta", "signature": SIGNED},
    ),
    {"type": "ping"},
    *block(1, text(""), *said("", "Let ", "me see.")),
    *block(2, SERVED, *typed('{"query":', '"tide"}')),
    *block(3, tool_use("toolu_1"), *typed("", '{"port":', ' "Brest"}')),
    *block(4, tool_use("toolu_2"), *typed("")),
    *block(5, tool_use("toolu_3", input={"port": "Łódź"})),
    *end("tool_use", output_tokens=9),
]


class Served:
    """A chat with a server that always sends the same response, and the requests that it got."""

    def __init__(
        self, content: bytes, model: str = f"anthropic:{MODEL}", stream: bool = True
    ) -> None:
        self.bodies: list[Any] = []
        self._kind = "text/event-stream" if stream else "application/json"
        self._content, self._model = content, model

    def _respond(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        return httpx.Response(200, headers={"content-type": self._kind}, content=self._content)

    def chat(self, **settings: Any) -> Chat:
        return Chat(
            self._model,
            api_key="fake-key",
            http=httpx.MockTransport(self._respond),
            **{"max_tokens": 100, **settings},
        )


def streamed(events: Iterable[dict[str, Any]]) -> tuple[list[Event], Reply]:
    with Served(sse(*events)).chat() as chat, chat.stream("Hi") as stream:
        told = list(stream)
        return told, stream.reply()


@pytest.mark.row("S4-15")
def test_what_a_stream_tells_is_what_the_reply_says():
    told, reply = streamed(STREAM)
    calls = reply.tool_calls
    assert told[:-1] == [
        ThoughtDelta("H"),
        ThoughtDelta("m."),
        TextDelta("Let "),
        TextDelta("me see."),
        ToolCallStart(0, "get_tide", "toolu_1"),
        ToolCallDelta(0, '{"port":'),
        ToolCallDelta(0, ' "Brest"}'),
        ToolCallEnd(0, calls[0]),
        ToolCallStart(1, "get_tide", "toolu_2"),
        ToolCallEnd(1, calls[1]),
        ToolCallStart(2, "get_tide", "toolu_3"),
        ToolCallDelta(2, '{"port":"Łódź"}'),
        ToolCallEnd(2, calls[2]),
    ]
    assert told[-1] == Done(reply)
    assert reply.message.parts == (
        Thought("Hm.", slot="thinking", signature=SIGNED),
        Text("Let me see."),
        SEARCHED,
        ToolCall(id="toolu_1", name="get_tide", arguments={"port": "Brest"}, response="toolu_1"),
        ToolCall(id="toolu_2", name="get_tide", arguments={}, response="toolu_1"),
        ToolCall(id="toolu_3", name="get_tide", arguments={"port": "Łódź"}, response="toolu_1"),
    )
    assert (reply.stop, reply.usage) == (
        Stop("tool_calls", "tool_use"),
        Usage(input=5, output=9, total=14),
    )
    ended = [each.call for each in told if isinstance(each, ToolCallEnd)]
    assert [call.origin and json.loads(call.origin.raw) for call in ended] == [
        call.origin and json.loads(call.origin.raw) for call in calls
    ]


def test_a_reply_is_the_same_whole_and_streamed():
    whole = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": MODEL,
        "content": [
            thinking("Hm."),
            text("Let me see."),
            SERVED,
            tool_use("toolu_1", input={"port": "Brest"}),
            tool_use("toolu_2"),
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 5, "output_tokens": 9},
    }
    whole["content"].append(tool_use("toolu_3", input={"port": "Łódź"}))
    with Served(json.dumps(whole).encode(), stream=False).chat() as chat:
        assert chat.ask("Hi") == streamed(STREAM)[1]
        with chat.stream("Hi") as stream:  # a server that does not stream
            told = [event for event in stream if not isinstance(event, (ToolCallDelta, Done))]
            assert stream.reply().message == chat.ask("Hi").message
    assert [type(event) for event in told] == [
        ThoughtDelta,
        TextDelta,
        *[ToolCallStart, ToolCallEnd] * 3,
    ]


@joined("size", [1, 2, 7, 50])
def test_events_do_not_depend_on_where_the_bytes_were_cut(size: int):
    data = sse(*STREAM)
    reader, reading = ChunkReader(), EventReader(model=MODEL)
    told = [
        event
        for at in range(0, len(data), size)
        for chunk in reader.feed(data[at : at + size])
        for event in reading.feed(chunk)
    ]
    assert told == streamed(STREAM)[0][:-1]


def test_a_block_that_is_not_at_its_end_has_no_arguments_yet():
    """A call begins with an empty input, and only the last block can be unfinished."""
    events = [begin(), *block(0, tool_use("toolu_1")), block(1, tool_use("toolu_2"))[0]]
    chunks = ChunkReader().feed(sse(*events))
    answer = fold(chunks)
    assert [call.arguments for call in parse_reply(answer).tool_calls] == [{}, {}]
    reply = parse_reply(with_notes(answer, [PARTIAL]))
    assert [call.arguments for call in reply.tool_calls] == [{}, None]
    assert (reply.stop, reply.notes) == (Stop("other"), (PARTIAL,))


@pytest.mark.parametrize(
    ("stop", "reason"),
    [("end_turn", "other"), ("tool_use", "other"), ("max_tokens", "length")],
)
def test_a_partial_answer_claims_no_end(stop: str, reason: str):
    """The stop reason arrives before the event that ends the stream."""
    answer = parse_message(json.dumps({"content": [text("Hi")], "stop_reason": stop}).encode())
    assert parse_reply(with_notes(answer, [PARTIAL])).stop == Stop(reason, stop)


def test_an_answer_that_begins_anew_is_told_anew():
    events = [begin(), *block(0, tool_use("toolu_9"), *typed("{}")), begin(id="msg_2"), *STREAM[1:]]
    told, reply = streamed(events)
    assert [each.call.id for each in told if isinstance(each, ToolCallEnd)] == [
        "toolu_9",
        "toolu_1",
        "toolu_2",
        "toolu_3",
    ]
    assert [each.position for each in told if isinstance(each, ToolCallEnd)] == [0, 0, 1, 2]
    assert [type(each) for each in told[:5]] == [
        ToolCallStart,
        ToolCallDelta,
        ToolCallEnd,
        Restart,
        ThoughtDelta,
    ]
    assert sum(isinstance(each, Restart) for each in told) == 1
    reader = ChunkReader()
    reader.feed(sse(*events))
    assert [str(note) for note in reader.notes] == [
        "event 5: restarted: the earlier events are not part of it"
    ]
    assert (reply.id, [call.id for call in reply.tool_calls]) == (
        "msg_2",
        ["toolu_1", "toolu_2", "toolu_3"],
    )


def test_a_second_beginning_before_any_event_is_no_restart():
    told, _ = streamed([begin(), begin(), *STREAM[1:]])
    assert not any(isinstance(each, Restart) for each in told)


def test_a_call_that_was_cut_off_ends_as_the_reply_has_it():
    events = [begin(), *block(0, tool_use("toolu_1"), *typed('{"port": "Br')), *end("max_tokens")]
    told, reply = streamed(events)
    wanted = ToolCall(
        id="toolu_1", name="get_tide", arguments=None, text='{"port": "Br', response="toolu_1"
    )
    assert told[1:3] == [ToolCallDelta(0, '{"port": "Br'), ToolCallEnd(0, wanted)]
    assert (reply.tool_calls, reply.stop.reason) == ((wanted,), "length")
    unended = [begin(), *block(0, tool_use("toolu_1"), *typed("{}"))[:-1], *end("tool_use")]
    assert [type(event) for event in streamed(unended)[0]] == [
        ToolCallStart,
        ToolCallDelta,
        ToolCallEnd,
        Done,
    ]


def test_blocks_that_a_host_forgot_to_begin():
    events = [
        begin(),
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm"},
        },
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
        *end(),
    ]
    told, reply = streamed(events)
    assert told[:-1] == [ThoughtDelta("Hm"), TextDelta("Hi")]
    assert reply.message.parts == (Thought("Hm", slot="thinking"), Text("Hi"))


def test_a_block_that_a_host_forgot_to_end():
    events = [
        begin(),
        *block(0, tool_use("toolu_1"), *typed("{}"))[:-1],
        *block(0, tool_use("toolu_2"), *typed("{}")),
        *end("tool_use"),
    ]
    told, reply = streamed(events)
    assert [each.call.id for each in told if isinstance(each, ToolCallEnd)] == [
        "toolu_1",
        "toolu_2",
    ]
    assert [call.id for call in reply.tool_calls] == ["toolu_1", "toolu_2"]


def test_halves_of_a_pair_in_two_deltas_are_one_letter():
    told, reply = streamed(
        [begin(), *block(0, text(""), *said("a\ud83d", "\ude00b", "\ud83d")), *end()]
    )
    assert told[:-1] == [TextDelta("a"), TextDelta("😀b"), TextDelta("\ufffd")]
    assert reply.text == "a😀b\ufffd"


def test_a_refusal_with_nothing_said_is_an_error():
    with pytest.raises(BlockedError) as caught:
        streamed([begin(), *end("refusal")])
    assert caught.value.code == "refusal"
    answer = {
        "type": "message",
        "content": [],
        "stop_reason": "refusal",
        "stop_details": {"type": "refusal", "explanation": "No."},
    }
    with (
        Served(json.dumps(answer).encode(), stream=False).chat() as chat,
        pytest.raises(BlockedError, match=r"refusal\): No\."),
    ):
        chat.ask("Hi")


def test_a_stream_that_breaks_off_leaves_a_reply():
    with Served(sse(*STREAM[:10])).chat() as chat, chat.stream("Hi") as stream:
        told = []
        with pytest.raises(StreamIncomplete) as caught:
            for event in stream:
                told.append(event)
    assert told[-1] == TextDelta("Let ")
    assert isinstance(caught.value.partial, Reply)
    assert caught.value.partial.text == "Let "


# --- through the chat -----------------------------------------------------------------------------


def test_a_turn_with_a_call_goes_out_and_back():
    server = Served(sse(*STREAM))
    with server.chat(tools=[TIDE]) as chat:
        with chat.stream("When is high tide?") as stream:
            list(stream)
            said = stream.reply().message
        results = [Message.tool_result(call, "17:42") for call in said.tool_calls]
        with chat.stream(messages=[Message.user("When is high tide?"), said, *results]) as stream:
            list(stream)
    sent = server.bodies[1]["messages"]
    assert sent[1]["content"] == [
        thinking("Hm."),
        text("Let me see."),
        SERVED,
        tool_use("toolu_1", input={"port": "Brest"}),
        tool_use("toolu_2"),
        tool_use("toolu_3", input={"port": "Łódź"}),
    ]
    assert [each["tool_use_id"] for each in sent[2]["content"]] == ["toolu_1", "toolu_2", "toolu_3"]


@pytest.mark.anyio
async def test_an_async_chat_reads_the_same():
    def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=sse(*STREAM)
        )

    async with AsyncChat(
        f"anthropic:{MODEL}", api_key="fake-key", http=httpx.MockTransport(respond), max_tokens=100
    ) as chat:
        async with chat.stream("Hi") as stream:
            told = [event async for event in stream]
    assert told == streamed(STREAM)[0]


def test_what_was_changed_is_told_in_the_reply():
    answer = json.dumps(
        {"type": "message", "content": [text("Hi")], "stop_reason": "end_turn"}
    ).encode()
    with Served(answer, stream=False).chat(max_tokens=None) as chat:
        assert list(map(str, chat.ask("Hi").notes)) == [
            "max_tokens: this API requires it; 16000 was sent"
        ]
    assert received(text("Hi")).text == "Hi"
    assert asked().messages == (HI,)


# --- from vendor to vendor ------------------------------------------------------------------------


def gemini(*parts: dict[str, Any]) -> bytes:
    return json.dumps(
        {
            "candidates": [
                {"content": {"parts": list(parts), "role": "model"}, "finishReason": "STOP"}
            ]
        }
    ).encode()


@pytest.mark.row("S0-03")
def test_from_gemini_to_claude_to_deepseek_and_back_to_claude():
    call = {
        "functionCall": {"name": "get_tide", "args": {"port": "Brest"}, "id": "g.1"},
        "thoughtSignature": "AA==",
    }
    messages = [Message.user("When is high tide?")]

    def ask(model: str, answer: bytes) -> Any:
        server = Served(answer, model, stream=False)
        with server.chat(tools=[TIDE], max_tokens=9000, effort="low") as chat:
            reply = chat.ask(messages=messages)
        messages.append(reply.message)
        messages.extend(Message.tool_result(call, "17:42") for call in reply.tool_calls)
        return server.bodies[0]

    def claude(*blocks: Any, stop: str) -> bytes:
        return json.dumps(
            {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop}
        ).encode()

    ask("gemini:gemini-3-pro-preview", gemini({"text": "Hm", "thought": True}, call))
    first = ask(
        "anthropic:claude-sonnet-4-5",
        claude(thinking("And Łódź?"), tool_use("toolu_1", input={"port": "Łódź"}), stop="tool_use"),
    )
    made = first["messages"][1]["content"][0]["id"]
    assert made.isalnum()
    assert first["messages"][1:] == [
        {"role": "assistant", "content": [tool_use(made, input={"port": "Brest"})]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": made, "content": "17:42"}],
        },
    ]
    assert (
        "thinking" not in first
    )  # the call in progress is one of Gemini's, made without thoughts of this model
    message = {"role": "assistant", "content": "17:42 in Brest.", "reasoning_content": "Easy."}
    there = ask(
        "deepseek:deepseek-reasoner",
        json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode(),
    )
    assert [each["role"] for each in there["messages"]] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert [each["tool_calls"][0]["id"] for each in there["messages"] if "tool_calls" in each] == [
        "g.1",
        "toolu_1",
    ]
    assert "And" not in json.dumps(there)
    messages.append(Message.user("Thanks."))
    back = ask("anthropic:claude-sonnet-4-5", claude(text("Bye."), stop="end_turn"))
    assert [each["role"] for each in back["messages"]] == [
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
        "assistant",
        "user",
    ]
    assert back["messages"][3]["content"] == [
        thinking("And Łódź?"),
        tool_use("toolu_1", input={"port": "Łódź"}),
    ]
    assert back["messages"][5]["content"] == "17:42 in Brest."
    assert back["thinking"] == {"type": "enabled", "budget_tokens": 2048}
