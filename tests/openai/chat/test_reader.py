"""Bodies split into chunks: framing (Q1 to Q4), completeness (Q15), notes on dropped data (Q3)."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from tests.conformance.quirks import Served
from tests.joined import joined
from tests.property import examples, sample
from wire import Client, openai, retry
from wire.core.limits import Limits
from wire.core.memory import PARTIAL
from wire.errors import (
    APIError,
    LimitError,
    RateLimitError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)
from wire.openai import Dialect
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.providers import PROVIDERS

from .bodies import DONE, chunk, piece, sse, streamed, told

HI = chunk({"content": "Hi"}, "stop")
ANSWER = {
    "id": "x",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
    ],
}
BOM = b"\xef\xbb\xbf"


def texts(*pieces: bytes) -> list[str]:
    seen = told(*pieces)
    assert seen.error is None
    return [each.text for each in seen.chunks]


# --- Q1: what a body is ---------------------------------------------------------------------------

WHOLE = json.dumps(ANSWER, indent=1).encode()


@pytest.mark.row("Q1")
@joined(
    "before",
    [b"", BOM, b"\n\n \r\n", BOM + b"\n", b" " * 5000],
    ids=["plain", "bom", "blanks", "both", "many"],
)
@joined(
    "after",
    [b"", b"\n", b"\n\ndata: [DONE]\n\n", b" no more"],
    ids=["end", "line", "done", "words"],
)
def test_one_document(before, after):
    seen = told(before + WHOLE + after)
    assert (seen.error, seen.reply.text, seen.reply.stop.reason, len(seen.chunks)) == (
        None,
        "Hi",
        "end",
        1,
    )
    assert seen.answer.raw == WHOLE
    assert parse_completion(before + WHOLE + after).text == "Hi"


@pytest.mark.row("Q1")
def test_a_whole_answer_keeps_its_bytes():
    body = b"\n\n " + WHOLE + b"\n"
    assert parse_completion(body).raw == body


@pytest.mark.row("Q1")
@pytest.mark.parametrize("body", [WHOLE, sse(HI, DONE)], ids=["document", "events"])
def test_bom_cut_anywhere(body):
    for at in range(6):
        assert told((BOM + body)[:at], (BOM + body)[at:]).reply.text == "Hi"
    assert told(*((BOM + body)[at : at + 1] for at in range(len(BOM + body)))).reply.text == "Hi"


@pytest.mark.row("Q1")
@joined("body", [b"", BOM, BOM[:2], b"\n \n", b" " * 9000, b": ping\n\n: ping\n\n", b"data:\n\n"])
def test_an_empty_body_is_no_answer(body):
    seen = told(body)
    assert (type(seen.error), seen.error.retryable, seen.error.message) == (
        StreamIncomplete,
        True,
        "the answer ended before its first event",
    )
    with pytest.raises(StreamIncomplete):
        parse_completion(body)


@pytest.mark.row("Q1")
def test_a_list_of_chunks():
    seen = told(
        json.dumps(
            [
                chunk({"content": "H"}),
                chunk({"content": "i"}, "stop"),
                {"usage": {"prompt_tokens": 3}},
            ]
        ).encode()
    )
    assert (seen.error, seen.reply.text, seen.reply.usage.input) == (None, "Hi", 3)


@pytest.mark.row("Q1")
@joined(
    ("body", "text"),
    [
        (json.dumps([chunk({"content": "H"}), chunk({"content": "i"})]).encode(), "Hi"),
        (json.dumps([chunk({"content": "H"}), chunk({"content": "i"})]).encode()[:-30], "H"),
        (WHOLE[:60], ""),
        (b"[", ""),
    ],
    ids=["no finish", "cut", "document", "bracket"],
)
def test_documents_that_are_not_whole(body, text):
    seen = told(body)
    assert (type(seen.error), seen.reply.text, seen.error.retryable) == (
        StreamIncomplete,
        text,
        not seen.chunks,
    )


@pytest.mark.row("Q1")
@joined(
    "body",
    [
        b'{"mood": "low"}',
        b"{}",
        b'{"choices": null}',
        b'{"choices": 5}',
        b'{"usage": {"prompt_tokens": 1}}',
    ],
)
def test_a_document_without_choices_is_an_error(body):
    error = told(body).error
    assert (type(error), error.status, error.retryable) == (StreamInvalid, None, False)
    assert error.message.endswith(f"(no choices): {body.decode()}")


@pytest.mark.parametrize("body", [b'{\n"choices": [}\n}', b'{"a" "b"}', b"{\n\n}}"])
def test_a_document_that_is_no_json(body):
    with pytest.raises((StreamInvalid, APIError)) as caught:
        parse_completion(body)
    assert str(body.split(b"\n")[0], "ascii")[:5] in caught.value.message


def test_events_where_a_whole_answer_was_asked_for():
    answer = parse_completion(sse(chunk({"content": "H"}), chunk({"content": "i"}, "stop"), DONE))
    assert (answer.text, answer.object) == ("Hi", "chat.completion")


def test_documents_one_after_another():
    assert (
        parse_completion(
            json.dumps(chunk({"content": "H"})).encode()
            + b"\n"
            + json.dumps(chunk({"content": "i"}, "stop")).encode()
        ).text
        == "Hi"
    )


# --- Q2: lines ------------------------------------------------------------------------------------

FRAMES = [
    json.dumps(chunk({"content": text}, finish), ensure_ascii=False).encode()
    for text, finish in (("H\u2028\x85é", None), ("i", "stop"))
]


@pytest.mark.row("Q2")
@joined("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
@joined("colon", [b"data:", b"data: "])
@joined(
    "between", [b"", b": ping", b"id: 1", b"retry: 5", b"mood: low", b"event: chunk", b"event:"]
)
def test_lines(end, colon, between):
    lines = [line for frame in FRAMES for line in (between, colon + frame, b"")]
    assert texts(end.join(lines)) == ["H\u2028\x85é", "i"]


@pytest.mark.row("Q2")
@joined("cut", [b"", b"\n", b"\r", b"\r\n"])
def test_an_event_that_the_end_cuts_off_counts(cut):
    assert texts(sse(chunk({"content": "H"})) + b"data: " + FRAMES[1] + cut) == ["H", "i"]


@pytest.mark.row("Q2")
def test_several_data_lines_are_one_event():
    pretty = json.dumps(HI, indent=1).encode()
    assert texts(b"".join(b"data: " + line + b"\n" for line in pretty.split(b"\n")) + b"\n") == [
        "Hi"
    ]


@pytest.mark.row("Q2")
def test_lines_of_text_are_passed_over_and_told():
    seen = told(b"Hello there,\n" + sse(HI) + b"<html>\nbye\n")
    assert (seen.error, seen.reply.text) == (None, "Hi")
    assert [str(note) for note in seen.notes] == [
        "event 0: outside: dropped, not a value of the wire: Hello there,",
        "event 1: outside: dropped, not a value of the wire: <html>",
    ]


@pytest.mark.row("Q2")
def test_a_blank_before_the_first_event():
    assert texts(b" \n" + sse(chunk({"content": "H"}), chunk({"content": "i"}, "stop"))) == [
        "H",
        "i",
    ]


# --- Q3: data -------------------------------------------------------------------------------------


@pytest.mark.row("Q3")
@joined("data", [b"", b" ", b"\t", b": OPENROUTER PROCESSING", b":", b" : x"])
def test_data_that_is_no_event(data):
    seen = streamed(data, HI, data)
    assert (seen.reply.text, seen.notes, len(seen.chunks)) == ("Hi", [], 1)


@pytest.mark.row("Q3")
@pytest.mark.parametrize("done", [b"[DONE]", b" [DONE] ", b"\t[DONE]"])
def test_done(done):
    seen = told(sse(chunk({"content": "Hi"}), done, chunk({"content": "!"})))
    assert (seen.error, seen.reply.text, seen.reader.done, seen.reader.finished) == (
        None,
        "Hi",
        True,
        False,
    )


@pytest.mark.row("Q3")
@joined("other", [b"[done]", b"[DONE", b"DONE", b'"[DONE]"'])
def test_what_is_not_done(other):
    seen = told(sse(chunk({"content": "Hi"}), other))
    assert (type(seen.error), seen.reader.done, len(seen.notes)) == (StreamIncomplete, False, 1)


@pytest.mark.row("Q3")
def test_chunks_glued_together():
    glued = b"\ndata: ".join(json.dumps(chunk({"content": each})).encode() for each in "ABC")
    seen = told(sse(glued, chunk({}, "stop")))
    assert ([each.text for each in seen.chunks], seen.notes) == (["A", "B", "C", ""], [])


@pytest.mark.row("Q3")
def test_done_glued_to_a_chunk():
    seen = told(sse(json.dumps(HI).encode() + b"\ndata: [DONE]\ndata: x", chunk({"content": "!"})))
    assert (seen.reply.text, seen.reader.done, seen.notes) == ("Hi", True, [])


@pytest.mark.row("Q3")
@joined(
    "piece",
    [
        b"words",
        b"[done]",
        b"5",
        b"[]",
        b"[1]",
        b'"x"',
        b"null",
        b"[[{}]]",
    ],
)
def test_a_piece_that_cannot_be_read_is_told(piece):
    seen = streamed(chunk({"content": "H"}), piece, chunk({"content": "i"}, "stop"))
    assert (seen.error, seen.reply.text) == (None, "Hi")
    [note] = seen.notes
    assert (note.path, note.message.partition(":")[0]) == ("event 2", "bad_chunk")


GLUED = (
    json.dumps(chunk({"content": "A"})).encode()
    + b'\ndata: {"cho\ndata: '
    + json.dumps(chunk({"content": "B"}, "stop")).encode()
)


@pytest.mark.row("Q3")
def test_damaged_json_ends_the_stream_after_what_came_before():
    for damaged in (b'{"choices":[{"delta":{"content":"x', b'{"a":1} more', b'[{"a":1', b'["a"'):
        seen = streamed(chunk({"content": "H"}), damaged, chunk({"content": "i"}, "stop"))
        assert (type(seen.error), seen.error.retryable, seen.reply.text) == (
            StreamInvalid,
            False,
            "H",
        )
        assert damaged.decode()[:9] in seen.error.message
    seen = streamed(GLUED)
    assert (type(seen.error), seen.reply.text) == (StreamInvalid, "A")


@pytest.mark.row("Q3")
def test_a_host_that_sends_damaged_chunks_is_read_on():
    assert PROVIDERS["glm"].dialect.sends_damaged_chunks
    reader = ChunkReader(dialect=Dialect(sends_damaged_chunks=True))
    texts = [
        choice.delta.content
        for each in [*reader.feed(b"data: " + GLUED + b"\n\n"), *reader.close()]
        for choice in each.choices
    ]
    assert (texts, reader.error) == (["A", "B"], None)
    assert [str(note) for note in reader.notes] == [
        'event 1: bad_chunk: dropped, not a value of the wire: {"cho'
    ]


@pytest.mark.row("Q3")
@pytest.mark.parametrize(
    ("before", "piece"),
    [
        (chunk({"tool_calls": [{"index": 0, "function": {"name": "f"}}]}), b'{"choices":[{"del'),
        (chunk({"function_call": {"name": "f"}}), b'{"choices":[{"del'),
        (chunk({"content": "A"}), b'{"choices":[{"delta":{"tool_calls":[{"index":0,"func'),
    ],
)
def test_a_call_never_loses_a_piece_of_its_arguments(before, piece):
    reader = ChunkReader(dialect=Dialect(sends_damaged_chunks=True))
    end = chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}, "tool_calls")
    bodies = [json.dumps(before).encode(), piece, json.dumps(end).encode()]
    chunks = reader.feed(b"".join(b"data: " + body + b"\n\n" for body in bodies))
    assert (len(chunks), type(reader.error)) == (1, StreamInvalid)


def test_a_list_of_chunks_in_an_event():
    assert streamed([chunk({"content": "H"}), chunk({"content": "i"}, "stop")]).reply.text == "Hi"


def test_notes_have_an_end():
    assert len(streamed(*[b"x"] * 500, HI).notes) == 100


# --- Q4, Q15: when it is whole --------------------------------------------------------------------


@pytest.mark.row("Q4")
@joined(
    "odd",
    [
        {"choices": None},
        {"choices": []},
        {},
        chunk(),
        {"choices": [{"delta": None}]},
        {"usage": {"prompt_tokens": 1}},
    ],
)
def test_chunks_without_choices_or_delta_are_no_end(odd):
    seen = streamed({"id": "x"}, odd, chunk({"content": "Hi"}), odd, chunk({}, "stop"), odd)
    assert (seen.error, seen.reply.text, len(seen.chunks)) == (None, "Hi", 6)


@pytest.mark.row("Q4")
def test_neither_a_finish_nor_usage_is_an_end():
    seen = streamed(
        chunk({"content": "H"}, "stop"),
        {"choices": [], "usage": {"prompt_tokens": 1}},
        chunk({"content": "i"}),
    )
    assert (seen.reply.text, seen.reply.usage.input, seen.reply.stop.raw) == ("Hi", 1, "stop")


@pytest.mark.row("Q15")
@joined(
    ("datas", "whole"),
    [
        ([HI, DONE], True),
        ([HI], True),
        ([chunk({"content": "Hi"}), DONE], True),
        ([chunk({"content": "Hi"}, "length")], True),
        ([chunk({}, "content_filter")], True),
        ([chunk({}, "bored")], True),
        (
            [chunk(piece("{", id="c", name="f"), "tool_calls")],
            True,
        ),  # invalid arguments are a whole answer
        ([DONE], False),
        ([chunk({"content": "Hi"}, choice={"finishReason": "STOP"})], True),
        ([chunk({"content": "Hi"})], False),
        ([chunk({"content": "Hi"}, "")], False),
        ([chunk({"content": "Hi"}, "null")], False),
        ([{"usage": {"prompt_tokens": 1}}], False),
        ([chunk({}, "network_error"), DONE], False),
        ([chunk({}, "insufficient_system_resource")], False),
        ([chunk({}, "function_call_filter: no"), DONE], False),
        ([chunk({}, "error"), DONE], False),
        # of several choices each has to have a finish
        ([HI, chunk({"content": "Ho"}, choice={"index": 1})], False),
        ([HI, chunk({"content": "Ho"}, choice={"index": 1}), DONE], True),
        ([HI, chunk({"content": "Ho"}, "stop", choice={"index": 1})], True),
        ([HI, chunk({}, "")], True),  # an empty finish takes none away
    ],
)
def test_whole(datas, whole):
    seen = told(sse(*datas))
    assert (seen.error is None, type(seen.error)) == (
        whole,
        type(None) if whole else StreamIncomplete,
    )


@pytest.mark.row("Q15")
def test_what_is_said_of_an_answer_that_is_not_whole():
    assert (
        told(sse(chunk({"content": "H"}), chunk({"content": "i"}))).error.message
        == "the stream ended without a finish reason and without [DONE] after 2 events"
    )
    dropped = told(sse(b"<html>")).error
    assert (dropped.message, dropped.retryable) == (
        "the answer ended before its first event; dropped: event 1: bad_chunk: dropped, "
        "not a value of the wire: <html>",
        True,
    )
    failed = told(sse(chunk({"content": "H"}, "network_error"), DONE)).error
    assert (failed.message, failed.code, failed.retryable) == (
        "the server ended the response with 'network_error'",
        "network_error",
        False,
    )


def test_finished_is_told_while_it_comes():
    reader = ChunkReader()
    seen = []
    for data in (
        chunk({"content": "H"}),
        chunk({}, "stop"),
        chunk({}, choice={"index": 1}),
        chunk({}, "stop", choice={"index": 1}),
        DONE,
    ):
        reader.feed(sse(data))
        seen.append((reader.finished, reader.done))
    assert seen == [(False, False), (True, False), (False, False), (True, False), (True, True)]


def test_nothing_is_read_after_an_error_or_done():
    for last in ({"error": {"message": "No."}}, DONE):
        reader = ChunkReader()
        reader.feed(sse(chunk({"content": "H"}), last))
        error = reader.error
        assert (reader.feed(sse(HI)), reader.close(), reader.error) == ([], [], error)


# --- limits and odd values ------------------------------------------------------------------------


@joined(
    "body",
    [
        sse(HI) + b"data: " + b"x" * 200 + b"\n",
        b"[{" + b" " * 200,
        b"{" + b" " * 200,
        sse(HI) + b"{" + b" " * 98 + b"\n" + b" {" * 9,
    ],
    ids=["event", "list", "object", "outside"],
)
def test_event_over_the_limit(body):
    reader = ChunkReader(Limits(event=100))
    assert [each.text for each in reader.feed(body)] == ([] if body[:1] in b"[{" else ["Hi"])
    assert (reader.close(), type(reader.error)) == ([], LimitError)


@joined("depth", [3000, 100_000])
@joined("body", [b'{"choices":[],"a":%s%s}', b"%s%s"], ids=["inside", "list"])
def test_deep_nesting(body, depth):
    body %= (b"[" * depth, b"]" * depth)
    assert type(told(sse(body)).error) is LimitError
    # How deep a decoder may call itself depends on the Python.
    if body[:1] == b"{" and depth > 10_000:
        with pytest.raises(LimitError):
            parse_completion(body)


@joined("depth", [500, 900, 950, 970, 980, 990])
def test_lists_in_lists_are_not_opened(depth):
    seen = told(sse(b"[" * depth + b"]" * depth, HI, DONE))
    assert type(seen.error) in (type(None), LimitError)
    assert len(seen.notes) == (seen.error is None)


ODD = [
    (
        {"choices": [{"index": "0", "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
        [("choices[0].index", "0")],
    ),
    ({**HI, "usage": 7}, [("usage", 7)]),
    (
        {**HI, "usage": {"prompt_tokens": "9", "completion_tokens": 2}},
        [("usage.prompt_tokens", "9")],
    ),
    (
        {**HI, "created": 1.5, "id": 5, "model": ["m"]},
        [("created", 1.5), ("id", 5), ("model", ["m"])],
    ),
    (
        chunk({"content": "Hi", "role": 5, "annotations": {"a": 1}}, "stop"),
        [("choices[0].delta.role", 5), ("choices[0].delta.annotations", {"a": 1})],
    ),
    (
        chunk({"content": "Hi", "tool_calls": "none"}, "stop"),
        [("choices[0].delta.tool_calls", "none")],
    ),
    (chunk({"content": "Hi", "tool_calls": [7]}, "stop"), [("choices[0].delta.tool_calls", [7])]),
    (
        chunk({"content": "Hi", "reasoning": {"a": 1}}, "stop", choice={"logprobs": "x"}),
        [("choices[0].delta.reasoning", {"a": 1}), ("choices[0].logprobs", "x")],
    ),
    (
        chunk({"content": "Hi", "audio": "x", "refusal": 0}, "stop"),
        [("choices[0].delta.audio", "x"), ("choices[0].delta.refusal", 0)],
    ),
    (
        {**chunk({"content": "Hi"}, "stop"), "mood": {"low": 1}, "x.y": 2},
        [("mood", {"low": 1}), ('["x.y"]', 2)],
    ),
]


@joined(("odd", "unknown"), ODD)
def test_values_of_another_type_cost_nothing_else(odd, unknown):
    seen = streamed(odd)
    assert (seen.error, seen.reply.text, seen.reply.stop.reason) == (None, "Hi", "end")
    # Unknown keys are no misfits.
    misfits = [path for path, _ in unknown if not path.startswith(("mood", "["))]
    assert sorted(note.path for note in seen.notes) == sorted(misfits)
    assert all(note.message.startswith("not read: expected ") for note in seen.notes)
    assert wire.unknown(seen.chunks[0]) == unknown
    assert seen.chunks[0].raw == json.dumps(odd).encode()


def test_content_of_another_type():
    seen = streamed(
        chunk({"content": "H"}),
        chunk({"content": 5}),
        chunk({"content": {"type": "text", "text": "x"}}),
        chunk({"content": "i"}, "stop"),
    )
    assert (seen.reply.text, seen.answer.text) == ("Hi", "Hi")
    assert wire.unknown(seen.chunks[1]) == [("choices[0].delta.content", 5)]
    alone = streamed(chunk({"content": 5}, "stop"))
    assert (alone.reply.text, wire.unknown(alone.answer)) == (
        "5",
        [("choices[0].message.content", 5)],
    )


def test_counts_that_came_as_3_0():
    seen = streamed(
        chunk(
            {"content": "Hi"},
            "stop",
            usage={"prompt_tokens": 3.0, "completion_tokens": 2.5, "cost": 1.0},
        )
    )
    assert (seen.reply.usage.input, seen.reply.usage.output) == (3, 0)
    assert wire.unknown(seen.chunks[0]) == [("usage.completion_tokens", 2.5)]


def test_numbers_without_an_end():
    seen = streamed(
        b'{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}],"created":1e999,"big":1'
        + b"0" * 40
        + b"}"
    )
    assert (seen.reply.text, seen.answer.created) == ("Hi", None)


# --- what UTF-8 cannot say ------------------------------------------------------------------


@joined(
    ("pieces", "text"),
    [
        (["a\\ud83c", "\\udf0ab"], "a🌊b"),
        (["a\\ud83c", "b"], "a\ufffdb"),
        (["\\udf0a\\ud83c", "\\udf0a"], "\ufffd🌊"),
        (["a\\ud83c"], "a\ufffd"),
        (["\\ud83c", "\\ud83c", "\\udf0a"], "\ufffd🌊"),
        (["\\ud83c", "", "\\udf0a"], "🌊"),
        (["a\\u0000b\\u2028"], "a\x00b\u2028"),
    ],
)
@joined("name", ["content", "reasoning", "refusal"])
def test_halves_of_a_surrogate_pair(pieces, text, name):
    datas = [f'{{"choices":[{{"delta":{{"{name}":"{each}"}}}}]}}'.encode() for each in pieces]
    seen = streamed(*datas, chunk({}, "stop"))
    reply = seen.reply
    assert {
        "content": reply.text,
        "reasoning": reply.message.thought,
        "refusal": reply.stop.message,
    }[name] == text
    assert getattr(seen.answer.message, name) == text
    assert [each.raw for each in seen.chunks][:-1] == datas


def test_half_of_a_pair_before_another_kind_of_text():
    seen = streamed(
        b'{"choices":[{"delta":{"content":"a\\ud83c"}}]}', chunk({"reasoning": "b"}, "stop")
    )
    assert [type(event).__name__ for event in seen.events] == [
        "TextDelta",
        "ThoughtDelta",
        "TextDelta",
        "Done",
    ]
    assert (seen.reply.text, seen.reply.message.thought) == ("a\ufffd", "b")
    whole = streamed(
        b'{"choices":[{"delta":{"content":"a\\ud83c"}}]}',
        chunk({"reasoning": "b"}),
        b'{"choices":[{"delta":{"content":"\\udf0a"}}]}',
    )
    assert (whole.reply.text, whole.answer.text) == ("a🌊", "a🌊")


def test_bytes_that_are_no_utf8():
    seen = streamed(b'{"choices":[{"delta":{"content":"a\xff\xc3b"},"finish_reason":"stop"}]}')
    assert (seen.reply.text, seen.answer.text, seen.notes) == (
        "a\ufffd\ufffdb",
        "a\ufffd\ufffdb",
        [],
    )


@pytest.mark.parametrize("odd", [b"a\\ud83c", b"a\xff"], ids=["half", "bytes"])
def test_a_whole_answer_with_what_utf8_cannot_say(odd):
    body = (
        b'{"choices":[{"message":{"content":"%s","tool_calls":[{"id":"c",'
        b'"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"stop"}]}' % odd
    )
    answer = parse_completion(body)
    assert answer.raw == body
    assert (
        json.loads(answer.message.raw)["content"] == "a\ufffd"
    )  # what goes back is JSON that any server reads
    assert json.loads(answer.tool_calls[0].raw)["id"] == "c"


# --- where the bytes are cut (Q21) ----------------------------------------------------------------

LONG = (
    BOM
    + b": ping\r\n\r\n"
    + sse(chunk({"role": "assistant", "content": ""}), chunk({"reasoning": "Hm 🌊"}))
    + b'data: {"choices":[{"delta":{"content":"\xc3\xa9\\ud83c"}}]}\r\r'
    + b'event: x\ndata: {"choices":\ndata: [{"delta":{"content":"\\udf0a"}}]}\n\n'
    + sse(
        chunk(piece('{"a"', id="c1", name="f")),
        b"no json",
        chunk(piece(":1}")),
        chunk({}, "tool_calls", usage={"prompt_tokens": 3}),
        DONE,
    )
)


def outcome(*pieces: bytes):
    seen = told(*pieces)
    return (
        [each.raw for each in seen.chunks],
        repr(seen.error),
        seen.notes,
        seen.reply,
        seen.answer.raw,
    )


@pytest.mark.row("Q21")
@pytest.mark.sampled
@joined(
    "body",
    [LONG, LONG[:-40], WHOLE, LONG + b"x", sse(HI) + b'{"error":\n{"message":"No."}}'],
    ids=["events", "cut", "document", "more", "bare error"],
)
def test_cut_at_every_byte(body):
    expected = outcome(body)
    assert outcome(*(body[at : at + 1] for at in range(len(body)))) == expected
    cuts = sample(range(len(body)))
    assert [at for at in cuts if outcome(body[:at], body[at:]) != expected] == []


@pytest.mark.row("Q21")
def test_what_is_cut():
    seen = told(LONG)
    assert (seen.error, seen.reply.text, seen.reply.message.thought) == (None, "é🌊", "Hm 🌊")
    assert (seen.reply.message.tool_calls[0].arguments, seen.reply.usage.input) == ({"a": 1}, 3)


@pytest.mark.row("Q21")
@settings(max_examples=examples(120))
@given(st.lists(st.integers(0, len(LONG)), max_size=12))
def test_random_cuts(cuts):
    cuts = sorted(cuts)
    assert outcome(
        *(LONG[start:end] for start, end in zip([0, *cuts], [*cuts, len(LONG)], strict=True))
    ) == outcome(LONG)


def test_every_prefix_is_whole_or_says_that_it_is_not():
    whole = told(LONG).chunks
    for at in range(len(LONG)):
        seen = told(LONG[:at])
        if seen.error is None:
            assert b'"tool_calls"}' in LONG[:at].replace(
                b'"finish_reason": "tool_calls"', b'"tool_calls"}'
            )
        else:
            assert type(seen.error) is StreamIncomplete
            assert [each.raw for each in seen.chunks] == [
                each.raw for each in whole[: len(seen.chunks)]
            ]


# --- through a client -----------------------------------------------------------------------------


def client(body: bytes) -> Client:
    return Client("openai", api_key="fake-key-of-a-test", http=Served({}, [body]), retry=retry.NONE)


REQUEST = openai.ChatCompletionRequest(
    model="m", messages=[openai.Message(role="user", content="Hi")]
)


def test_dropped_pieces_are_told_of_the_reply():
    with client(
        sse(chunk({"content": "H"}), b"words", chunk({"content": "i"}, "stop"), DONE)
    ) as one:
        with one.stream(openai.stream_chat_completions(REQUEST)) as stream:
            assert [each.text for each in stream] == ["H", "i"]
            dropped = "event 2: bad_chunk: dropped, not a value of the wire: words"
            assert [str(note) for note in wire.notes(stream.result())] == [dropped]
    assert [note.path for note in openai.parse_reply(stream.result()).notes] == ["event 2"]


@pytest.mark.parametrize(
    "end", [sse({"error": {"message": "No.", "code": 429}}), b""], ids=["error", "cut"]
)
def test_dropped_pieces_are_told_of_an_error(end):
    body = sse(chunk({"content": "H"}), b"words") + end
    with client(body) as one, pytest.raises((RateLimitError, StreamIncomplete)) as caught:
        with one.stream(openai.stream_chat_completions(REQUEST)) as stream:
            list(stream)
    assert caught.value.partial.text == "H"
    assert [note.path for note in wire.notes(caught.value.partial)] == ["event 2", PARTIAL.path]
    with pytest.raises(WireError) as whole:
        parse_completion(body)
    assert (whole.value.partial.text, wire.notes(whole.value.partial)) == (
        "H",
        wire.notes(caught.value.partial),
    )


def test_dropped_pieces_are_told_of_a_whole_answer():
    answer = parse_completion(sse(b"words", HI, DONE))
    assert [note.path for note in openai.parse_reply(answer).notes] == ["event 1"]


def test_a_number_that_json_has_not_costs_no_text():
    """Python's json writes NaN, and so do servers written in Python."""
    odd = (
        b'{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop",'
        b'"logprobs":{"content":[{"token":"Hi","logprob":-Infinity}]}}]}'
    )
    seen = streamed(odd)
    assert (seen.error, seen.reply.text, seen.notes) == (None, "Hi", [])
