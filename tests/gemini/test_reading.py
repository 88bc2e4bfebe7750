"""Parsing of Gemini's responses as neutral replies: parts, stop, usage, and events of streams."""

from __future__ import annotations

import base64
import hashlib
import json
import pickle
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conformance.records import body_of, lines
from tests.joined import joined
from tests.property import sample
from wire.catalogue.stops import stop_word, stopped
from wire.catalogue.usage import Usage
from wire.core.memory import Note, kept_bytes, unknown, with_notes
from wire.errors import BlockedError, WireError
from wire.gemini import (
    EventReader,
    FinishReason,
    GenerateContentResponse,
    UsageMetadata,
    parse_reply,
)
from wire.gemini.finish import meaning_of
from wire.gemini.fold import fold
from wire.gemini.parse import usage_of
from wire.gemini.reader import ChunkReader, parse_response
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    Other,
    Reply,
    ServerToolCall,
    ServerToolResult,
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

from .conversations import SECOND, SIGNATURE
from .test_streams import STREAMS

MODEL = "gemini-3-pro-preview"
BODY = b'{"contents":[]}'
HASH = hashlib.sha256(BODY).hexdigest()[:12]


def answered(*parts: Any, finish: Any = "STOP", **beside: Any) -> GenerateContentResponse:
    candidate = {
        "content": {"parts": list(parts), "role": "model"},
        "finishReason": finish,
        **beside.pop("candidate", {}),
    }
    return parse_response(json.dumps({"candidates": [candidate], **beside}).encode())


def reply_of(*parts: Any, **beside: Any) -> Reply:
    return parse_reply(answered(*parts, **beside), body=BODY, model=MODEL)


def parts_of(*parts: Any) -> tuple[Any, ...]:
    return reply_of(*parts).message.parts


def sse(*chunks: Any) -> bytes:
    return b"".join(
        b"data: " + (each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\r\n\r\n"
        for each in chunks
    )


def said(*parts: Any, **beside: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": list(parts), "role": "model"}, **beside}]}


def call(name: str, args: Any = None, **beside: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, **({} if args is None else {"args": args}), **beside}}


def read(stream: bytes, body: bytes = BODY) -> tuple[list[Event], Reply, ChunkReader]:
    """Events without `Done`, the folded response, and the reader of a stream."""
    reader = ChunkReader()
    chunks = [*reader.feed(stream), *reader.close()]
    reading = EventReader(body=body, model=MODEL)
    events = [event for chunk in chunks for event in reading.feed(chunk)]
    response = with_notes(fold([kept_bytes(chunk) for chunk in chunks]), reader.notes)
    reply = parse_reply(response, body=body, model=MODEL)
    if reply.stop.reason == "filter" and reply.empty:
        with pytest.raises(BlockedError) as blocked:
            reading.close(reply)
        assert blocked.value.partial is reply
    else:
        *last, done = reading.close(reply)
        assert (type(done), done.reply) == (Done, reply)
        events += last
    return events, reply, reader


def events_of(*chunks: Any, body: bytes = BODY) -> list[Event]:
    return read(sse(*chunks), body)[0]


def assert_events_say(events: Iterable[Event], reply: Reply) -> None:
    """The events contain what the reply contains, once."""
    told = list(events)
    assert "".join(event.text for event in told if isinstance(event, TextDelta)) == reply.text
    assert "".join(event.text for event in told if isinstance(event, ThoughtDelta)) == reply.thought
    assert not [
        event for event in told if isinstance(event, (TextDelta, ThoughtDelta)) and not event.text
    ]
    ended = [event for event in told if isinstance(event, ToolCallEnd)]
    assert [event.call for event in ended] == list(reply.tool_calls)
    assert [event.position for event in ended] == list(range(len(ended)))
    steps = [
        event for event in told if isinstance(event, (ToolCallStart, ToolCallDelta, ToolCallEnd))
    ]
    assert [type(event) for event in steps] == [ToolCallStart, ToolCallDelta, ToolCallEnd] * len(
        ended
    )
    assert [event.name for event in told if isinstance(event, ToolCallStart)] == [
        event.call.name for event in ended
    ]
    assert [json.loads(event.text) for event in told if isinstance(event, ToolCallDelta)] == [
        event.call.arguments for event in ended
    ]


def assert_every_part_is_kept(reply: Reply) -> None:
    if reply.message.origin is not None:
        raw = json.loads(reply.message.origin.raw)
        assert [json.loads(part.origin.raw) for part in reply.message.parts] == raw.get("parts", [])
        assert {
            (part.origin.provider, part.origin.model, part.origin.wire)
            for part in reply.message.parts
        } <= {("gemini", MODEL, "gemini")}


# --- parts ----------------------------------------------------------------------------------------


@pytest.mark.row("S2-01", "S2-12", "S4-15")
@joined(
    ("wire", "part"),
    [
        ({"text": "Hi"}, Text("Hi")),
        ({"text": "Hi", "thoughtSignature": SIGNATURE}, Text("Hi", SIGNATURE)),
        ({"text": "", "thoughtSignature": SIGNATURE}, Text("", SIGNATURE)),
        ({"thoughtSignature": SIGNATURE}, Text("", SIGNATURE)),
        ({}, Text("")),
        ({"text": "Hm.", "thought": True}, Thought("Hm.", slot="thought")),
        (
            {"text": "Hm.", "thought": True, "thoughtSignature": SIGNATURE},
            Thought("Hm.", slot="thought", signature=SIGNATURE),
        ),
        (
            {"thought": True, "thoughtSignature": SIGNATURE},
            Thought("", slot="thought", signature=SIGNATURE),
        ),
        # a picture that it thought of is no picture that it made
        (
            {"inlineData": {"mimeType": "image/png", "data": "AAE="}, "thought": True},
            Thought(
                slot="thought", details=({"inlineData": {"mimeType": "image/png", "data": "AAE="}},)
            ),
        ),
        (
            call("tide", {"port": "Łódź"}, id="a1"),
            ToolCall(id="a1", name="tide", arguments={"port": "Łódź"}, response="a1"),
        ),
        (
            {**call("tide"), "thoughtSignature": SIGNATURE},
            ToolCall(
                id=f"call_{HASH}_0",
                name="tide",
                arguments={},
                signature=SIGNATURE,
                response=f"call_{HASH}_0",
            ),
        ),
        (
            {**call("tide", {}), "thought": True},
            ToolCall(id=f"call_{HASH}_0", name="tide", arguments={}, response=f"call_{HASH}_0"),
        ),
        (
            {"inlineData": {"mimeType": "image/png", "data": "AAH-/w==", "displayName": "a.png"}},
            Media(data=b"\0\1\xfe\xff", media_type="image/png", name="a.png"),
        ),
        (
            {"inlineData": {"data": "AAH-_w"}},
            Media(data=b"\0\1\xfe\xff", media_type="application/octet-stream"),
        ),
        (
            {
                "fileData": {
                    "mimeType": "video/mp4",
                    "fileUri": "gs://a/b.mp4",
                    "displayName": "b",
                },
                "videoMetadata": {"startOffset": "1.5s", "endOffset": "9s", "fps": 2},
            },
            Media(
                url="gs://a/b.mp4",
                media_type="video/mp4",
                name="b",
                start="1.5s",
                end="9s",
                fps=2.0,
            ),
        ),
        ({"inlineData": {"data": "&&&"}}, Other("inlineData", {"data": "&&&"})),
        (
            {"executableCode": {"code": "1", "language": "PYTHON"}},
            ServerToolCall(
                name="codeExecution",
                kind="code",
                arguments={"code": "1", "language": "PYTHON"},
            ),
        ),
        (
            {"codeExecutionResult": {"outcome": "OUTCOME_OK"}},
            ServerToolResult(name="codeExecution", kind="code", content={"outcome": "OUTCOME_OK"}),
        ),
        (
            {
                "toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "id": "s1", "extra": 1},
                "thoughtSignature": SIGNATURE,
            },
            ServerToolCall(id="s1", name="GOOGLE_SEARCH_WEB", kind="web_search"),
        ),
        (
            {"toolResponse": {"id": "s1", "response": {}}},
            ServerToolResult(id="s1", name="", content={}),
        ),
        ({"functionResponse": {"name": "tide"}}, ServerToolResult(name="tide", kind="mcp")),
        ({"thought": False, "song": {"bars": [4, None]}}, Other("song", {"bars": [4, None]})),
        ({"text": "B", "mood": {"calm": [1]}}, Text("B")),
    ],
)
def test_every_part_has_its_neutral_one(wire, part):
    reply = reply_of(wire)
    assert reply.message.parts == (part,)
    assert_every_part_is_kept(reply)


@pytest.mark.row("S1-14")
def test_texts_are_joined_without_a_space_and_calls_keep_their_order():
    reply = reply_of({"text": "hello"}, call("b"), {"text": "world"}, call("a"))
    assert reply.text == "helloworld"
    assert [(each.name, each.id) for each in reply.tool_calls] == [
        ("b", f"call_{HASH}_0"),
        ("a", f"call_{HASH}_1"),
    ]


@pytest.mark.row("S2-08", "S4-15")
def test_ids_are_the_same_on_replay_and_differ_between_requests():
    answer = answered(call("read"), call("read"), call("read", id="own"))
    one, again, other = (parse_reply(answer, body=body).tool_calls for body in (b"1", b"1", b"2"))
    assert [each.id for each in one] == [each.id for each in again]
    assert len({each.id for each in (*one, *other)}) == 5  # those that Gemini gave stay as they are


@pytest.mark.row("S1-14")
def test_only_the_first_candidate_counts():
    answer = parse_response(
        b'{"candidates":[{"index":1,"content":{"parts":[{"text":"Un."}]},'
        b'"finishReason":"MAX_TOKENS"},'
        b'{"content":{"parts":[{"text":"One."}]},"finishReason":"STOP"}]}'
    )
    assert (parse_reply(answer).text, parse_reply(answer).stop.reason) == ("One.", "end")


def test_what_was_said_remembers_the_bytes_it_came_in():
    raw = (
        b'{ "parts" : [{"text":"caf\\u00e9", "mood":1.0}, {"thoughtSignature":"QQ=="}] , '
        b'"role":"model"}'
    )
    answer = parse_response(
        b'{"candidates":[{"content":'
        + raw
        + b',"finishReason":"STOP"}],"responseId":"r","modelVersion":"m-001"}'
    )
    reply = parse_reply(answer, provider="gemini@vertex", model="models/m")
    origin = reply.message.origin
    assert (origin.provider, origin.model, origin.wire, origin.raw) == (
        "gemini@vertex",
        "m",
        "gemini",
        raw,
    )
    assert [part.origin.raw for part in reply.message.parts] == [
        b'{"text":"caf\\u00e9", "mood":1.0}',
        b'{"thoughtSignature":"QQ=="}',
    ]
    assert (reply.id, reply.model, reply.answer) == ("r", "m-001", answer)
    assert unknown(reply.answer.candidates[0].content.parts[0]) == [("mood", 1.0)]


def test_arguments_that_came_from_the_wire_are_not_to_be_changed():
    [made] = reply_of(call("tide", {"days": [1]})).tool_calls
    with pytest.raises(TypeError, match="read-only"):
        made.arguments["days"].append(2)


def test_a_candidate_without_content_or_parts_is_an_empty_message():
    """F-07: such a candidate is a message without parts."""
    for body in (
        b'{"finishReason":"STOP"}',
        b'{"finishReason":"STOP","content":{}}',
        b'{"finishReason":"STOP","content":{"parts":[]}}',
    ):
        reply = parse_reply(parse_response(b'{"candidates":[' + body + b"]}"))
        assert (reply.message.parts, reply.stop, reply.empty) == ((), Stop("end", "STOP"), True)


def test_a_call_in_pieces_is_told_and_is_no_end():
    reply = read(STREAMS["streamed-arguments"])[1]
    assert [part.kind for part in reply.message.parts[:-1]] == ["functionCall"] * 4
    assert reply.message.parts[0].data == {"name": "tide", "id": "t1", "willContinue": True}
    assert reply.notes == (
        Note("message.parts[0]", "the call of tide was sent in fragments, which are not assembled"),
    )
    assert reply.stop == Stop("other", "STOP")


@pytest.mark.parametrize(
    "piece",
    [
        {"partialArgs": [{"jsonPath": "$.port", "stringValue": "Brest"}]},
        {"willContinue": True},
        {"name": ""},
    ],
)
def test_pieces_are_no_calls(piece):
    wire = {"functionCall": {"name": "tide", **piece}}
    events, reply, _ = read(sse(said(wire, finishReason="STOP")))
    assert (events, reply.message.parts) == ([], (Other("functionCall", wire["functionCall"]),))


def test_notes_of_the_answer_are_notes_of_the_reply():
    answer = with_notes(answered({"text": "Hi"}), [Note("event 1", "dropped")])
    assert parse_reply(answer).notes == (Note("event 1", "dropped"),)


# --- calls of server-side tools -------------------------------------------------------------------

SERVED = b'{"contents":[],"tools":[{"mcpServers":[{"name":"weather"}]}]}'


def test_calls_of_mcp_servers_are_nobodys_to_make():
    parts = (
        call("weather", {"day": 1}),
        call("tide", id="t"),
        {"functionResponse": {"name": "weather", "response": {"c": 9}}},
        {"text": "Nine."},
    )
    for stream in (
        sse(*map(said, parts), said(finishReason="STOP")),
        sse(said(*parts, finishReason="STOP")),
    ):
        events, reply, _ = read(stream, SERVED)
        assert [each.name for each in reply.tool_calls] == ["tide"]
        assert [type(part) for part in reply.message.parts] == [
            ServerToolCall,
            ToolCall,
            ServerToolResult,
            Text,
        ]
        assert_events_say(events, reply)
    assert [each.name for each in parse_reply(answered(*parts), body=BODY).tool_calls] == [
        "weather",
        "tide",
    ]


def test_a_result_of_mcp_servers_stands_directly_behind_its_call():
    parts = (call("weather"), {"text": "Let me see."}, {"functionResponse": {"name": "weather"}})
    events, reply, _ = read(sse(*map(said, parts), said(finishReason="STOP")), SERVED)
    assert [type(part) for part in reply.message.parts] == [ToolCall, Text, ServerToolResult]
    assert [type(event) for event in events] == [
        ToolCallStart,
        ToolCallDelta,
        ToolCallEnd,
        TextDelta,
    ]
    assert_events_say(events, reply)


def test_a_call_beside_mcp_servers_that_they_do_not_answer_is_told():
    events, reply, _ = read(
        sse(said({"text": "Let me see."}), said(call("tide"), finishReason="STOP")), SERVED
    )
    assert (reply.stop.reason, [type(event) for event in events]) == (
        "tool_calls",
        [TextDelta, ToolCallStart, ToolCallDelta, ToolCallEnd],
    )
    assert_events_say(events, reply)


# --- stop reasons ---------------------------------------------------------------------------------

STOPS = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "IMAGE_SAFETY": "filter",
    "IMAGE_PROHIBITED_CONTENT": "filter",
    "IMAGE_RECITATION": "filter",
    "MODEL_ARMOR": "filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "other",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "MALFORMED_RESPONSE": "error",
    "NO_IMAGE": "error",
    "LANGUAGE": "filter",
    "OTHER": "other",
    "IMAGE_OTHER": "error",
    "ESCALATION": "filter",
    "PUP_LIMITED_DISABLED": "error",
    "CONTINUATION": "pause",
}


@pytest.mark.row("S2-27")
def test_the_table_has_every_reason():
    assert sorted(STOPS) == sorted(each.value for each in FinishReason)


@pytest.mark.row("S2-27", "S4-16", "U-60")
@joined(
    ("raw", "reason"), [*STOPS.items(), ("TIRED", "other"), ("FINISH_REASON_UNSPECIFIED", "other")]
)
def test_reasons(raw, reason):
    reply = reply_of({"text": "Hi"}, finish=raw, candidate={"finishMessage": "why"})
    assert reply.stop == stopped(stop_word("gemini", raw), raw, "why")[0]
    assert reply.stop.reason == reason
    with_call = reply_of(call("tide"), finish=raw).stop.reason
    assert with_call == ("tool_calls" if raw == "STOP" else reason)


@joined(
    ("number", "reason"),
    [
        (0, "other"),
        (1, "end"),
        (2, "length"),
        (3, "filter"),
        (4, "filter"),
        (5, "other"),
        (6, "other"),
    ],
)
def test_numbers_that_come_in_place_of_words(number, reason):
    assert reply_of({"text": "Hi"}, finish=number).stop == Stop(reason, str(number))


def test_no_finish_is_never_an_end():
    assert parse_reply(
        parse_response(b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}')
    ).stop == Stop("other")
    assert parse_reply(parse_response(b'{"usageMetadata":{}}')).stop == Stop("other")
    assert meaning_of(None, calls=True).reason == "other"


@pytest.mark.row("S1-14")
def test_a_blocked_prompt():
    body = (
        b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT","blockReasonMessage":"no"},'
        b'"usageMetadata":{"promptTokenCount":9}}'
    )
    reply = parse_reply(parse_response(body))
    assert (reply.stop, reply.message.parts, reply.usage) == (
        Stop("filter", "PROHIBITED_CONTENT", "no"),
        (),
        Usage(input=9, total=9),
    )
    with pytest.raises(BlockedError) as blocked:
        EventReader().close(reply)
    assert (blocked.value.code, blocked.value.partial) == ("PROHIBITED_CONTENT", reply)


def test_a_block_in_the_middle_of_an_answer():
    reply = read(sse(said({"text": "Well, "}), {"promptFeedback": {"blockReason": "SAFETY"}}))[1]
    assert (reply.text, reply.stop) == ("Well, ", Stop("filter", "SAFETY"))


def test_a_finish_says_more_than_a_block():
    feedback = {"blockReason": "SAFETY"}
    assert reply_of({"text": "Hi"}, finish="MAX_TOKENS", promptFeedback=feedback).stop == Stop(
        "length", "MAX_TOKENS"
    )


def test_a_filter_that_left_some_text_is_no_error():
    events, reply, _ = read(sse(said({"text": "Well, "}), said(finishReason="SAFETY")))
    assert (events, reply.stop.reason) == ([TextDelta("Well, ")], "filter")


# --- usage ----------------------------------------------------------------------------------------


@pytest.mark.row("S2-13", "S2-14", "S4-17", "U-64")
@joined(
    ("usage", "counted"),
    [
        ({}, Usage()),
        (
            {"promptTokenCount": 30, "candidatesTokenCount": 6, "totalTokenCount": 36},
            Usage(input=30, output=6, total=36),
        ),
        # input holds what is cached and what tools brought in, output holds thoughts
        (
            {
                "promptTokenCount": 30,
                "cachedContentTokenCount": 20,
                "toolUsePromptTokenCount": 5,
                "candidatesTokenCount": 6,
                "thoughtsTokenCount": 7,
                "totalTokenCount": 48,
            },
            Usage(input=35, cached=20, output=13, reasoning=7, total=48),
        ),
        # what is missing takes nothing else with it
        (
            {"candidatesTokenCount": 6, "thoughtsTokenCount": 7},
            Usage(output=13, reasoning=7, total=13),
        ),
        (
            {"promptTokenCount": 9, "totalTokenCount": 73, "thoughtsTokenCount": 64},
            Usage(input=9, output=64, reasoning=64, total=73),
        ),
        ({"promptTokenCount": 3, "responseTokenCount": 4}, Usage(input=3, output=4, total=7)),
        (
            {
                "promptTokenCount": 10,
                "toolUsePromptTokenCount": 2,
                "candidatesTokenCount": 4,
                "promptTokensDetails": [
                    {"modality": "TEXT", "tokenCount": 3},
                    {"modality": "AUDIO", "tokenCount": 7},
                    {"modality": "IMAGE"},
                ],
                "toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 2}],
                "candidatesTokensDetails": [{"modality": 2, "tokenCount": 4}],
            },
            Usage(
                input=12,
                output=4,
                total=16,
                by_modality={"input_text": 5, "input_audio": 7, "output_image": 4},
            ),
        ),
    ],
)
def test_usage(usage, counted):
    assert reply_of({"text": "Hi"}, usageMetadata=usage).usage == counted


@pytest.mark.row("S2-14")
def test_the_last_usage_counts():
    assert read(STREAMS["usage-goes-down"])[1].usage == Usage(input=257, output=9, total=266)
    assert reply_of({"text": "Hi"}).usage is None
    assert usage_of(UsageMetadata(total_token_count=4)) == Usage(total=4)


# --- events ---------------------------------------------------------------------------------------


@pytest.mark.row("S2-06", "U-77")
@joined("name", STREAMS)
def test_events_say_what_the_fold_and_the_plain_call_say(name):
    events, reply, reader = read(STREAMS[name])
    assert_events_say(events, reply)
    assert_every_part_is_kept(reply)
    if reader.error is None:
        assert parse_reply(parse_response(STREAMS[name]), body=BODY, model=MODEL) == reply
    assert pickle.loads(pickle.dumps(reply)) == reply


SAMPLE = Path(__file__).parents[1] / "fixtures" / "corpus" / "sample.jsonl"
SHARED = Path(__file__).parents[3] / "shared" / "corpus" / "gemini.jsonl.gz"


@pytest.mark.row("S2-06")
@pytest.mark.sampled
@pytest.mark.parametrize("path", [SAMPLE, SHARED], ids=["sample", "corpus"])
def test_recorded_answers(path):
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    seen = 0
    records = list(lines(path, ["endpoint", "status", "response_body"]))
    for record in records if path == SAMPLE else sample(records):
        if (
            record["status"] != 200
            or "enerateContent" not in record["endpoint"]
            or "atch" in record["endpoint"]
        ):
            continue
        for body in (BODY, json.dumps(record["request_body"]).encode()):
            events, reply, reader = read(body_of(record), body)
            assert_events_say(events, reply)
            assert_every_part_is_kept(reply)
            if reader.error is None and record["endpoint"] == "streamGenerateContent":
                assert parse_reply(parse_response(body_of(record)), body=body, model=MODEL) == reply
        seen += 1
    assert seen >= 5


@pytest.mark.row("S2-07", "U-77")
def test_a_text_and_a_call_in_one_chunk_are_both_told_at_once():
    reader = ChunkReader()
    [chunk] = reader.feed(
        sse(
            said(
                {"text": "Hm.", "thought": True},
                {"text": "Let me see. "},
                call("tide", {"port": "Łódź"}),
                {"text": ""},
            )
        )
    )
    made = ToolCall(
        id=f"call_{HASH}_0", name="tide", arguments={"port": "Łódź"}, response=f"call_{HASH}_0"
    )
    assert EventReader(body=BODY).feed(chunk) == [
        ThoughtDelta("Hm."),
        TextDelta("Let me see. "),
        ToolCallStart(0, "tide", made.id),
        ToolCallDelta(0, '{"port":"Łódź"}'),
        ToolCallEnd(0, made),
    ]


@pytest.mark.row("S2-08")
def test_positions_count_over_the_whole_reply():
    events = events_of(
        said(call("a"), call("b", id="b1")),
        said({"text": "x"}),
        said(call("a"), finishReason="STOP"),
    )
    assert [
        (event.position, event.call.id) for event in events if isinstance(event, ToolCallEnd)
    ] == [
        (0, f"call_{HASH}_0"),
        (1, "b1"),
        (2, f"call_{HASH}_2"),
    ]


@pytest.mark.row("S2-13", "U-150")
def test_thoughts_are_no_text():
    reply = read(STREAMS["thought-then-text"])[1]
    assert (reply.thought, reply.text) == ("Noon means twelve.", "High at twelve.")
    assert reply.message.parts == (
        Thought("Noon means twelve.", slot="thought"),
        Text("High at "),
        Text("twelve.", SIGNATURE),
    )


@pytest.mark.row("S2-01")
def test_signatures_stay_with_their_parts():
    reply = read(STREAMS["signatures-everywhere"])[1]
    assert [getattr(part, "signature", None) for part in reply.message.parts] == [
        None,
        None,
        SIGNATURE,
        SECOND,
        "",
        SECOND,
    ]
    assert read(STREAMS["text-signed-tail"])[1].message.parts == (
        Text("The tide is high at noon."),
        Text("", SIGNATURE),
    )


def test_the_second_candidate_tells_nothing():
    events, reply, _ = read(STREAMS["two-candidates"])
    assert (events, reply.text) == ([TextDelta("One"), TextDelta(" two.")], "One two.")


PIECES = st.lists(
    st.tuples(
        st.sampled_from([None, True]),
        st.sampled_from(["", SIGNATURE, "call"]),
        st.lists(st.sampled_from(["a", "\\ud83d", "\\ude00", "é", "\\u00e9"]), max_size=3).map(
            "".join
        ),
    ),
    min_size=1,
    max_size=6,
)


@given(PIECES, st.booleans())
def test_halves_of_surrogate_pairs_over_chunks(pieces, whole):
    """R-08: a surrogate pair that is split over two chunks is joined."""
    parts = []
    for thought, beside, text in pieces:
        if beside == "call":
            parts.append('{"functionCall":{"name":"f","args":{"a":"%s"}}}' % text)  # noqa: UP031
        else:
            more = (',"thought":true' if thought else "") + (
                f',"thoughtSignature":"{beside}"' if beside else ""
            )
            parts.append(f'{{"text":"{text}"{more}}}')
    groups = [",".join(parts)] if whole else parts
    chunks = [
        f'{{"candidates":[{{"content":{{"parts":[{group}],"role":"model"}}}}]}}'.encode()
        for group in groups
    ]
    events, reply, _ = read(sse(*chunks, said(finishReason="STOP")))
    assert_events_say(events, reply)
    assert_every_part_is_kept(reply)


def test_half_a_pair_waits_for_the_other():
    chunks = (
        rb'{"candidates":[{"content":{"parts":[{"text":"a\ud83d"}]}}]}',
        rb'{"candidates":[{"content":{"parts":[{"text":"\ude00b"}]}}]}',
    )
    assert events_of(*chunks, said(finishReason="STOP")) == [TextDelta("a"), TextDelta("😀b")]
    assert events_of(chunks[0], said(finishReason="STOP")) == [TextDelta("a"), TextDelta("\ufffd")]


def test_base64_of_media_is_bytes():
    data = bytes(range(256))
    [media] = parts_of(
        {
            "inlineData": {
                "mimeType": "audio/wav",
                "data": base64.urlsafe_b64encode(data).decode().rstrip("="),
            }
        }
    )
    assert media == Media(data=data, media_type="audio/wav")


def test_errors_are_not_told_as_events():
    events, _, reader = read(STREAMS["error-event"])
    assert isinstance(reader.error, WireError)
    assert all(isinstance(event, TextDelta) for event in events)
