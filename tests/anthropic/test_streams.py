"""Streams of `fixtures/anthropic/streams`, whose texts are invented: the folded response, the end
of the stream, and that neither depends on how the bytes are split.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from tests.property import sample
from wire.anthropic.fold import fold
from wire.anthropic.reader import ChunkReader, parse_message
from wire.anthropic.types import MessageStreamEvent
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.errors import (
    AuthenticationError,
    LimitError,
    NotFoundError,
    OverloadedError,
    QuotaError,
    RateLimitError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)

FOLDER = Path(__file__).parent.parent / "fixtures" / "anthropic" / "streams"
STREAMS = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.sse"))}

HEAD = {"id": "msg_t1", "type": "message", "role": "assistant", "model": "claude-opus-4-8"}
USAGE = {
    "input_tokens": 9,
    "cache_read_input_tokens": 4,
    "output_tokens": 12,
    "service_tier": "standard",
}
HIGH = {"type": "text", "text": "High."}


def message(
    *blocks: Any, stop: str | None = "end_turn", usage: Any = (), **more: Any
) -> dict[str, Any]:
    """The response body of the same call without streaming."""
    return {
        **HEAD,
        "content": list(blocks),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {**USAGE, **dict(usage)},
        **more,
    }


def call(number: int, name: str, arguments: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": f"toolu_{number}",
        "name": name,
        "input": arguments or {},
        **more,
    }


def thought(text: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": text, "signature": signature}


WHOLE: dict[str, dict[str, Any]] = {
    "text": message({"type": "text", "text": "The tide is high: 潮🌊."}),
    "thinking-then-text": message(
        thought("Moon over Brest.", "c2lnLzE="),
        HIGH,
        usage={"output_tokens": 20, "output_tokens_details": {"thinking_tokens": 8}},
    ),
    "thinking-omitted": message(thought("", "c2lnLzI="), HIGH),
    "redacted-thinking": message({"type": "redacted_thinking", "data": "cmVk/Zz=="}, HIGH),
    "call": message(
        {"type": "text", "text": "I look."},
        call(1, "tide", {"port": "Brest", "days": [1, 2.5]}, caller={"type": "direct"}),
        stop="tool_use",
    ),
    "call-without-arguments": message(call(1, "moon"), stop="tool_use"),
    "call-without-deltas": message(call(1, "moon"), stop="tool_use"),
    "call-complete-at-its-start": message(
        call(1, "tide", {"port": "Brest", "height": 1.0}), stop="tool_use"
    ),
    "parallel-calls": message(
        call(1, "weather", {"port": "Brest"}), call(2, "tide"), call(3, "moon"), stop="tool_use"
    ),
    # what there is of the input stays, as text: it is no JSON
    "call-cut-by-max-tokens": message(call(1, "tide", '{"port": "Bre'), stop="max_tokens"),
    "server-tools": message(
        {
            "type": "server_tool_use",
            "id": "srvtoolu_1",
            "name": "web_search",
            "input": {"query": "tide"},
        },
        {
            "type": "web_search_tool_result",
            "tool_use_id": "srvtoolu_1",
            "content": [
                {
                    "type": "web_search_result",
                    "title": "Tides",
                    "url": "https://tide.example",
                    "encrypted_content": "ZW5j",
                    "page_age": None,
                    "score": 1.5,
                }
            ],
        },
        {
            **HIGH,
            "citations": [
                {
                    "type": "web_search_result_location",
                    "cited_text": "high",
                    "url": "https://tide.example",
                    "title": "Tides",
                    "encrypted_index": "aWR4",
                }
            ],
        },
        usage={
            "input_tokens": 40,
            "output_tokens": 20,
            "server_tool_use": {"web_search_requests": 1, "web_fetch_requests": 0},
        },
    ),
    "compaction": message(
        {"type": "compaction", "content": "They asked for the tide."},
        HIGH,
        usage={
            "output_tokens": 9,
            "iterations": [
                {"type": "compaction", "input_tokens": 900, "output_tokens": 5},
                {"type": "message", "input_tokens": 9, "output_tokens": 4},
            ],
        },
        context_management={"applied_edits": [{"type": "compact_20260112"}]},
    ),
    "refusal": message(
        stop="refusal",
        stop_details={"type": "refusal", "category": "bio", "explanation": "Not this."},
    ),
    "paused": message(
        {"type": "text", "text": "Wait"},
        stop="pause_turn",
        container={"id": "container_1", "expires_at": "2026-11-21T10:00:00Z"},
    ),
    "unknown": message(
        {"type": "shell", "sound": "Roar", "loud": True, "grains": [1, 2.0]},
        HIGH,
        moon={"phase": 0.5},
        mood="calm",
        shore=[1],
        metrics={"latency": 7},
    ),
    "begun-anew": {**message(HIGH, {"type": "text", "text": "So it is."}), "id": "msg_t2"},
    "block-not-begun": message(HIGH, {"type": "tool_use", "input": {"a": 1}}),
    "one-index-for-all": message(HIGH, call(1, "moon"), stop="tool_use"),
    "usage-null": {
        **message(HIGH),
        "usage": {"input_tokens": 9, "cache_read_input_tokens": 3, "output_tokens": 5},
    },
    "surrogates": message({"type": "text", "text": "high 🌊."}),
    "done": message(HIGH),
    "done-without-message-stop": message(HIGH),
    "after-message-stop": message(HIGH),
    "line-ends": message({"type": "text", "text": "High\u2028."}),
    "data-in-lines": message(HIGH),
    "no-event-names": message(HIGH),
    "stray-lines": message(HIGH),
    "lines-of-json": message(HIGH),
    "object": {
        **message(
            thought("Moon.", "c2ln"),
            {**HIGH, "grain": 1.0},
            call(1, "tide", {"port": "Brest"}),
            stop="tool_use",
            moon=1.5,
        ),
        "usage": {"input_tokens": 9, "output_tokens": 12},
    },
}
WHOLE["object-with-bom"] = WHOLE["object"]
"""Streams that are whole, and the answer that they fold into."""

INCOMPLETE = (StreamIncomplete, None, None, False, "")
NOTHING = (StreamIncomplete, None, None, True, "")
BROKEN: dict[str, tuple[tuple[type[WireError], int | None, str | None, bool, str], str]] = {
    "error": ((OverloadedError, 529, "overloaded_error", True, "req_7"), "Hi"),
    "error-first": ((RateLimitError, 429, "rate_limit_error", True, ""), ""),
    "error-spend-limit": ((QuotaError, 429, "enforced_spend_limit_reached", False, ""), ""),
    "error-then-end": ((ServerError, 500, "api_error", True, ""), "Hi"),
    "error-without-type": ((ServerError, 200, None, True, ""), ""),
    "error-text": ((ServerError, 200, None, True, ""), ""),
    "error-bare": ((OverloadedError, 529, "overloaded_error", True, ""), "Hi"),
    "error-object": ((AuthenticationError, 401, "authentication_error", False, "req_8"), ""),
    "error-list": ((NotFoundError, 404, "not_found_error", False, ""), ""),
    "error-base-resp": ((QuotaError, 429, "1008", False, ""), ""),
    "cut": (INCOMPLETE, "High."),
    "cut-in-an-event": (INCOMPLETE, "Hi"),
    "cut-in-a-call": (INCOMPLETE, "I look."),
    "done-unfinished": (INCOMPLETE, "Hi"),
    "empty": (NOTHING, ""),
    "only-pings": (NOTHING, ""),
    "only-the-end": (NOTHING, ""),
    "html": ((StreamInvalid, None, None, False, ""), ""),
    "object-cut": (NOTHING, ""),
    "not-json": ((StreamInvalid, None, None, False, ""), ""),
    "object-of-others": ((StreamInvalid, None, None, False, ""), ""),
}
"""Streams that are not: the error with status, code, whether it is worth another try and the
request's id; and the text before it.
"""


def read(*pieces: bytes) -> tuple[ChunkReader, list[MessageStreamEvent]]:
    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    return reader, [*events, *reader.close()]


def outcome(*pieces: bytes) -> Any:
    """All visible results of reading a stream. Events are compared by their bytes, since folding
    reads nothing else.
    """
    reader, events = read(*pieces)
    error = reader.error
    told = error and (
        type(error),
        str(error),
        error.status,
        error.code,
        error.retryable,
        error.request_id,
        error.raw,
    )
    return events, [event.raw for event in events], told, reader.done, reader.finished, reader.notes


def test_every_stream_is_looked_at():
    assert sorted([*WHOLE, *BROKEN]) == sorted(STREAMS)


@joined("name", WHOLE)
def test_a_whole_stream_folds_into_what_the_plain_call_gives(name: str):
    reader, events = read(STREAMS[name])
    answer = fold(events)
    assert (reader.error, reader.done, reader.finished) == (None, True, True)
    assert json.loads(answer.raw or b"") == WHOLE[name]
    assert answer == parse_message(json.dumps(WHOLE[name]).encode())
    assert answer == parse_message(STREAMS[name])  # events where JSON was asked for


@joined("name", BROKEN)
def test_a_broken_stream_ends_in_a_typed_error_after_what_had_come(name: str):
    (kind, status, code, retryable, request_id), text = BROKEN[name]
    reader, events = read(STREAMS[name])
    error = reader.error
    assert error is not None
    assert (type(error), error.status, error.code, error.retryable, error.request_id or "") == (
        kind,
        status,
        code,
        retryable,
        request_id,
    )
    assert (fold(events).text, reader.finished) == (text, False)
    with pytest.raises(kind) as caught:
        parse_message(STREAMS[name])
    assert (caught.value.partial.text if caught.value.partial else "") == text


@pytest.mark.sampled
@joined("name", STREAMS)
def test_nothing_depends_on_where_the_bytes_are_cut(name: str):
    data = STREAMS[name]
    expected = outcome(data)
    for cut in sample(range(len(data) + 1)):
        assert outcome(data[:cut], data[cut:]) == expected, cut
    assert outcome(*(data[place : place + 1] for place in range(len(data)))) == expected


@pytest.mark.sampled
@joined("name", WHOLE)
def test_a_stream_that_is_cut_anywhere_is_never_taken_for_whole(name: str):
    data = STREAMS[name]
    _, raws, *_ = outcome(data)
    for cut in sample(range(len(data))):
        reader, events = read(data[:cut])
        assert [event.raw for event in events] == raws[: len(events)]
        assert (
            (reader.error is None) == reader.done == (len(events) == len(raws) and reader.finished)
        )
        # Text before the first event may be a page of HTML.
        other = StreamInvalid if name == "stray-lines" and not events else StreamIncomplete
        assert type(reader.error) in (type(None), StreamIncomplete, other)


@joined("name", STREAMS)
def test_of_an_event_its_bytes_are_enough(name: str):
    _, events = read(STREAMS[name])
    assert fold([msgspec.Raw(event.raw or b"") for event in events]).raw == fold(events).raw


@joined("name", WHOLE)
def test_what_no_field_holds_is_told(name: str):
    answer = fold(read(STREAMS[name])[1])
    assert {path for path, _ in wire.unknown(answer)} == {
        "unknown": {
            "content[0].sound",
            "content[0].loud",
            "content[0].grains",
            "moon",
            "mood",
            "shore",
            "metrics",
        },
        "server-tools": {"content[1].content[0].score"},
        "object": {"content[1].grain", "moon"},
        "object-with-bom": {"content[1].grain", "moon"},
    }.get(name, set())


# --- bytes ----------------------------------------------------------------------------------------


def test_what_came_whole_keeps_its_bytes():
    blocks = fold(read(STREAMS["server-tools"])[1]).content or []
    assert (
        blocks[0].raw == b'{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search",'
        b'"input":{"query": "tide"}}'
    )
    assert blocks[1].raw == (
        b'{"type":"web_search_tool_result", "tool_use_id":"srvtoolu_1",'
        b'"content":[{"type":"web_search_result","title":"Tides",'
        b'"url":"https://tide.example","encrypted_content":"ZW5j","page_age":null, "score":1.50}]}'
    )
    assert (fold(read(STREAMS["unknown"])[1]).content or [])[0].raw == (
        b'{"type":"shell","sound":"Roar","grains":[1,  2.0],"loud":true}'
    )


def test_input_of_a_call_is_the_json_that_its_pieces_make():
    block = (fold(read(STREAMS["call"])[1]).content or [])[1]
    assert (block.raw or b"").endswith(
        b'"input":{"port": "Brest", "days": [1, 2.50]},"caller":{"type":"direct"}}'
    )


def test_a_compaction_keeps_all_that_its_delta_carries():
    events = [
        {"type": "message_start", "message": {"content": []}},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {
                "type": "compaction",
                "content": None,
                "encrypted_content": None,
                "signature": "c2ln",
                "tool_changes": [],
            },
        },
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {
                "type": "compaction_delta",
                "content": "They asked for the tide.",
                "encrypted_content": "b3BhcXVl",
            },
        },
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": {}},
        {"type": "message_stop"},
    ]
    answer = fold([msgspec.Raw(msgspec.json.encode(event)) for event in events])
    assert answer.stop_reason == "compaction"
    assert json.loads(encode(answer.message))["content"] == [
        {
            "type": "compaction",
            "content": "They asked for the tide.",
            "encrypted_content": "b3BhcXVl",
            "signature": "c2ln",
            "tool_changes": [],
        }
    ]


@joined("name", WHOLE)
def test_an_answer_goes_into_the_next_request_byte_for_byte(name: str):
    answer = fold(read(STREAMS[name])[1])
    body = encode(answer.message)
    assert (
        body
        == b'{"role":"assistant","content":['
        + b",".join(block.raw or b"" for block in answer.content or ())
        + b"]}"
    )
    assert json.loads(body)["content"] == WHOLE[name]["content"]


# --- what the fields of a reader say --------------------------------------------------------------


def test_a_ping_is_no_event_and_an_unknown_one_is():
    assert "ping" not in {event.type for event in read(STREAMS["text"])[1]}
    assert [event.type for event in read(STREAMS["unknown"])[1]].count("moonrise") == 1


def test_reading_ends_at_message_stop():
    reader = ChunkReader()
    head, _, tail = STREAMS["after-message-stop"].partition(b'{"type":"message_stop"}\n\n')
    assert [event.type for event in reader.feed(head + b'{"type":"message_stop"}\n\n')][
        -1
    ] == "message_stop"
    assert (reader.done, reader.finished, reader.feed(tail), reader.close(), reader.error) == (
        True,
        True,
        [],
        [],
        None,
    )


def test_what_is_outside_the_events_is_told():
    reader, _ = read(STREAMS["stray-lines"])
    assert [str(note) for note in reader.notes] == [
        "event 0: outside: dropped, not a value of the wire: <!-- relay -->",
        'event 1: outside: dropped, not a value of the wire: {"relay":"a"}',
    ]


def test_of_much_stray_text_the_first_lines_are_told():
    reader = ChunkReader()
    reader.feed(b"event: ping\n" + b"<p>\n" * 1000)
    assert len(reader.notes) == 100


def test_a_line_that_is_too_long_is_a_limit():
    reader = ChunkReader(Limits(event=100))
    reader.feed(b"data: " + b"x" * 200)
    assert isinstance(reader.error, LimitError)
    of_json = ChunkReader(Limits(event=100))
    of_json.feed(b'{"id": "' + b"x" * 200)
    assert isinstance(of_json.error, LimitError)


def test_deep_json_is_a_limit():
    reader, events = read(
        b'data: {"type":"message_start","message":{"moon":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}\n\n"
    )
    assert (events, type(reader.error)) == ([], LimitError)


def test_text_of_an_event_is_what_it_adds():
    _, events = read(STREAMS["data-in-lines"])
    assert "".join(event.text for event in events) == "High."
    assert "".join(event.text for event in read(STREAMS["call"])[1]) == "I look."


def test_a_whole_answer_in_place_of_events_is_told_as_events():
    _, events = read(STREAMS["object"])
    assert [event.type for event in events] == [
        "message_start",
        *["content_block_start", "content_block_stop"] * 3,
        "message_delta",
        "message_stop",
    ]
    assert [event.index for event in events] == [None, 0, 0, 1, 1, 2, 2, None, None]
