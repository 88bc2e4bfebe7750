"""Streams of recorded shapes with invented texts, from `fixtures/gemini/streams`: their chunks,
their end, the folded response. None of it depends on where the bytes are cut.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
from tests.joined import joined
from tests.property import examples, sample
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.errors import (
    BadRequestError,
    LimitError,
    NotFoundError,
    OverloadedError,
    RateLimitError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)
from wire.gemini import (
    GenerateContentResponse,
    function_response,
    generate_content,
    stream_generate_content,
)
from wire.gemini.fold import fold
from wire.gemini.reader import ChunkReader, parse_response, read_chunk

from .conversations import SECOND, SIGNATURE, ask

FOLDER = Path(__file__).parent.parent / "fixtures" / "gemini" / "streams"
STREAMS = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.sse"))}


def read(*pieces: bytes) -> tuple[ChunkReader, list[GenerateContentResponse]]:
    reader = ChunkReader()
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    return reader, [*chunks, *reader.close()]


def outcome(*pieces: bytes) -> dict[str, Any]:
    """Everything that is observable of a read stream."""
    reader, chunks = read(*pieces)
    error = reader.error
    answer = fold(chunks)
    return {
        "chunks": chunks,
        "bytes": [chunk.raw for chunk in chunks],
        "error": error
        and (
            type(error),
            str(error),
            error.status,
            error.code,
            error.retryable,
            error.retry_after,
            error.raw,
        ),
        "done": reader.done,
        "finished": reader.finished,
        "fold": answer,
        "sent back": encode(answer),
    }


def answer(
    *parts: Any, finish: Any = "STOP", usage: tuple[int | None, ...] = (), **candidate: Any
) -> dict[str, Any]:
    """The response body of the plain call with the same content."""
    names = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount")
    counts = {name: count for name, count in zip(names, usage, strict=False) if count is not None}
    return {
        "candidates": [
            {
                "content": {"parts": list(parts), "role": "model"},
                "finishReason": finish,
                **candidate,
            }
        ],
        **({"usageMetadata": counts} if counts else {}),
        **ENDS,
    }


ENDS = {"modelVersion": "gemini-3-pro-preview", "responseId": "r3Ef1d"}


def call(name: str, args: Any = None, **beside: Any) -> dict[str, Any]:
    return {
        "functionCall": {"name": name} if args is None else {"name": name, "args": args},
        **beside,
    }


class Stream(NamedTuple):
    texts: list[str]
    finish: list[Any]
    """Finish reason of each chunk."""
    calls: list[str] = []  # noqa: RUF012
    error: tuple[type[WireError], int | None, str | None] | None = None
    unary: dict[str, Any] | None = None


INCOMPLETE, INVALID = (StreamIncomplete, None, None), (StreamInvalid, None, None)
TIDE_CALL = call("tide", {"port": "Brest"}, thoughtSignature=SIGNATURE)
TOKEN_A_LINE = {
    "candidates": answer({"text": "High."}, index=0)["candidates"],
    "responseId": "r3Ef1d",
    "usageMetadata": {"promptTokenCount": 9},
}

EXPECTED: dict[str, Stream] = {
    # 3.x ends a text with an empty part that holds the signature (G26): it stays a part of its own
    "text-signed-tail": Stream(
        ["The tide is ", "high at noon.", ""],
        [None, None, "STOP"],
        unary=answer(
            {"text": "The tide is high at noon."},
            {"text": "", "thoughtSignature": SIGNATURE},
            usage=(9, 8, 20, 37),
        ),
    ),
    "call-empty-tail": Stream(
        ["", ""],
        [None, "STOP"],
        ["tide"],
        unary=answer(
            TIDE_CALL,
            {"text": ""},
            usage=(30, 6, None, 36),
            finishMessage="Model generated function call(s).",
        ),
    ),
    # a chunk for each call, the signature on the first alone
    "parallel-calls": Stream(
        ["", "", "", ""],
        [None, None, None, "STOP"],
        ["weather", "tide", "moon"],
        unary=answer(
            call("weather", {"port": "Brest"}, thoughtSignature=SIGNATURE),
            call("tide", {"port": "Brest", "days": [1, 2], "fine": True}),
            call("moon"),
            {"text": ""},
            usage=(30, 15, None, 45),
        ),
    ),
    "thought-then-text": Stream(
        ["", "", "High at ", "twelve."],
        [None, None, None, "STOP"],
        unary=answer(
            {"text": "Noon means twelve.", "thought": True},
            {"text": "High at "},
            {"text": "twelve.", "thoughtSignature": SIGNATURE},
            usage=(9, 4, 11, 24),
        ),
    ),
    # S2-07
    "text-and-call": Stream(
        ["Let me ", "see."],
        [None, "STOP"],
        ["tide"],
        unary=answer(
            {"text": "Let me see."},
            call("tide", {}, thoughtSignature=SIGNATURE),
            usage=(9, 4, None, 13),
        ),
    ),
    "two-candidates": Stream(
        # text and finish of a chunk are those of the first candidate; a chunk of the second has
        # none
        ["One", "", " two.", ""],
        [None, None, "STOP", None],
        unary={
            "candidates": [
                {
                    "content": {"parts": [{"text": "One two."}], "role": "model"},
                    "finishReason": "STOP",
                    "index": 0,
                },
                {
                    "content": {"parts": [{"text": "Un deux."}], "role": "model"},
                    "finishReason": "MAX_TOKENS",
                    "index": 1,
                },
            ],
            "usageMetadata": {
                "promptTokenCount": 3,
                "candidatesTokenCount": 6,
                "totalTokenCount": 9,
            },
            **ENDS,
        },
    ),
    # usage: the last one counts, never a sum (S2-14)
    "usage-goes-down": Stream(
        ["A", "B", "C"],
        [None, None, "STOP"],
        unary=answer({"text": "ABC"}, usage=(257, 9, None, 266)),
    ),
    "usage-only": Stream(
        ["", "Hi", ""], [None, "STOP", None], unary=answer({"text": "Hi"}, usage=(9, 2, None, 11))
    ),
    # the end: a finish somewhere, for every candidate, and the end of the body
    "finish-repeated": Stream(
        ["A", "B", "C"], ["STOP"] * 3, unary=answer({"text": "ABC"}, usage=(2, 3, None, 5))
    ),
    "finish-early": Stream(
        ["", "", "Two."],
        ["STOP", None, None],
        unary=answer(
            {
                "executableCode": {"code": "print(2)", "language": "PYTHON"},
                "thoughtSignature": SIGNATURE,
            },
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2\n"}},
            {"text": "Two."},
        ),
    ),
    "no-finish": Stream(["The tide", " is"], [None, None], error=INCOMPLETE),
    "one-of-two-unfinished": Stream(["A"], ["STOP"], error=INCOMPLETE),
    "empty": Stream([], [], error=INCOMPLETE),
    "only-keepalive": Stream([], [], error=INCOMPLETE),
    "cut": Stream(["The tide"], [None], error=INCOMPLETE),
    # a finish does not make whole what was cut in the middle of an event
    "cut-after-finish": Stream(["The tide"], ["STOP"], error=INCOMPLETE),
    "array-cut": Stream(["The tide [is] {"], [None], error=INCOMPLETE),
    "array-cut-after-finish": Stream(["The tide"], ["STOP"], error=INCOMPLETE),
    "no-last-blank-line": Stream(["High", "."], [None, "STOP"], unary=answer({"text": "High."})),
    "prompt-blocked": Stream(
        [""],
        [None],
        unary={
            "usageMetadata": {"promptTokenCount": 9, "totalTokenCount": 9},
            "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
            **ENDS,
        },
    ),
    # holes: content without parts, without role, no content at all (S2-12)
    "no-parts": Stream(
        ["", "Hi", "", ""], [None, None, None, "STOP"], unary=answer({"text": "Hi"})
    ),
    "only-thinking": Stream(
        [""],
        ["MAX_TOKENS"],
        unary={
            "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS"}],
            "usageMetadata": {
                "promptTokenCount": 9,
                "totalTokenCount": 73,
                "thoughtsTokenCount": 64,
            },
            **ENDS,
        },
    ),
    "empty-part": Stream(
        ["AB", ""], [None, "STOP"], unary=answer({"text": "A"}, {}, {"text": "B"}, {})
    ),
    "malformed-call": Stream(
        [""],
        ["MALFORMED_FUNCTION_CALL"],
        unary={
            "candidates": [
                {
                    "finishReason": "MALFORMED_FUNCTION_CALL",
                    "finishMessage": "Malformed function call: tide(port=",
                }
            ],
            "usageMetadata": {"promptTokenCount": 30, "totalTokenCount": 30},
            **ENDS,
        },
    ),
    # what no list has
    "unknown-finish": Stream(["Hi"], ["TIRED"], unary=answer({"text": "Hi"}, finish="TIRED")),
    "integer-enums": Stream(
        ["Hi"],
        [1],
        unary=answer({"text": "Hi"}, finish=1)
        | {
            "usageMetadata": {
                "promptTokenCount": 1,
                "promptTokensDetails": [{"modality": 1, "tokenCount": 1}],
                "trafficType": 1,
            }
        },
    ),
    "unknown-keys": Stream(
        ["AB", "C"],
        [None, "STOP"],
        ["tide"],
        unary=answer(
            {"text": "A"},
            {"text": "B", "mood": 1},
            {"song": {}},
            {"text": "C"},
            call("tide", {"any": {"thing": 1}}),
            usage=(1,),
        ),
    ),
    "streamed-arguments": Stream([""] * 5, [None, None, None, None, "STOP"], ["tide"]),
    "signatures-everywhere": Stream(
        ["", "", "ABC", "", ""],
        [None, None, None, "STOP", "STOP"],
        unary=answer(
            {
                "toolCall": {
                    "toolType": "GOOGLE_SEARCH_WEB",
                    "args": {"queries": ["tide"]},
                    "id": "s1",
                },
                "thoughtSignature": SIGNATURE,
            },
            {
                "toolResponse": {
                    "toolType": "GOOGLE_SEARCH_WEB",
                    "response": {"hits": 1},
                    "id": "s1",
                },
                "thoughtSignature": SECOND,
            },
            {"text": "A", "thoughtSignature": SIGNATURE},
            {"text": "B", "thoughtSignature": SECOND},
            {"text": "C"},
            {"thoughtSignature": SECOND},
            groundingMetadata={"webSearchQueries": ["tide"]},
        ),
    ),
    # errors where they stand (S2-24, S2-25, G76)
    "error-bare": Stream(["The tide"], [None], error=(OverloadedError, 503, "UNAVAILABLE")),
    "error-event": Stream(["The tide"], [None], error=(RateLimitError, 429, "RESOURCE_EXHAUSTED")),
    "error-first": Stream([], [], error=(ServerError, 500, "INTERNAL")),
    "error-listed": Stream([], [], error=(BadRequestError, 400, "INVALID_ARGUMENT")),
    "error-text": Stream(["A"], [None], error=(ServerError, 200, None)),
    "error-array": Stream([], [], error=(NotFoundError, 404, "NOT_FOUND")),
    "html": Stream([], [], error=INVALID),
    "html-after-text": Stream(["High"], [None], error=INCOMPLETE),
    "not-json": Stream(["High", "."], [None, "STOP"], unary=answer({"text": "High."})),
    "damaged-json": Stream(["High"], [None], error=INVALID),
    "wrong-shape": Stream([""], [None], error=INVALID),
    # framings
    "array": Stream(
        ["The tide [is] {", '"high"}.\\'],
        [None, "STOP"],
        unary=answer({"text": 'The tide [is] {"high"}.\\'}, usage=(9, 4, None, 13)),
    ),
    # a line `9` would be a field to a reader of events
    "array-token-a-line": Stream(["High."], ["STOP"], unary=TOKEN_A_LINE),
    "object-token-a-line": Stream(["High."], ["STOP"], unary=TOKEN_A_LINE),
    "array-error": Stream(["The tide [is] {"], [None], error=(OverloadedError, 503, "UNAVAILABLE")),
    "object": Stream(["High."], ["STOP"], unary=answer({"text": "High."}, usage=(9, 2, None, 11))),
    "objects": Stream(
        ["The tide [is] {", '"high"}.\\'],
        [None, "STOP"],
        unary=answer({"text": 'The tide [is] {"high"}.\\'}, usage=(9, 4, None, 13)),
    ),
    "wrapped": Stream(["High ", "tide."], [None, "STOP"], unary=answer({"text": "High tide."})),
    "done": Stream(["High."], ["STOP"], unary=answer({"text": "High."})),
    "done-unfinished": Stream(["High"], [None], error=INCOMPLETE),
    "keepalive": Stream(["High", "."], [None, "STOP"], unary=answer({"text": "High."})),
    "fields": Stream(["High."], ["STOP"], unary=answer({"text": "High."})),
    "multi-line": Stream(
        ["High."], ["STOP"], unary={"candidates": answer({"text": "High."})["candidates"]}
    ),
    "line-ends": Stream(["A", "B", "C"], [None, None, "STOP"], unary=answer({"text": "ABC"})),
    "separators": Stream(
        ["a\u2028b\x85c\u2029 é🌊"], ["STOP"], unary=answer({"text": "a\u2028b\x85c\u2029 é🌊"})
    ),
}


def test_every_fixture_is_expected():
    assert sorted(EXPECTED) == sorted(STREAMS)


def test_fixtures_kept_their_line_ends():
    """Git must not change their line ends: `-text` in .gitattributes."""
    assert [
        name for name, body in STREAMS.items() if body.startswith(b"data: ") and b"\r\n" not in body
    ] == []


@joined("name", EXPECTED)
def test_chunks_and_end(name):
    expected = EXPECTED[name]
    reader, chunks = read(STREAMS[name])
    error = reader.error
    assert [chunk.text for chunk in chunks] == expected.texts
    assert [chunk.finish_reason for chunk in chunks] == expected.finish
    assert [made.name for chunk in chunks for made in chunk.function_calls] == expected.calls
    assert (error and (type(error), error.status, error.code)) == expected.error


@joined("name", [name for name, expected in EXPECTED.items() if expected.unary])
def test_fold_equals_the_plain_answer(name):
    """S2-06: the final response is equal for equal content, whatever the framing."""
    assert fold(read(STREAMS[name])[1]) == parse_response(json.dumps(EXPECTED[name].unary).encode())


@joined("name", EXPECTED)
def test_body_of_events_read_as_a_whole_answer(name):
    """A stream in response to a plain call is read as well."""
    reader, chunks = read(STREAMS[name])
    if reader.error is None:
        assert parse_response(STREAMS[name]) == fold(chunks)
    else:
        with pytest.raises(type(reader.error)) as caught:
            parse_response(STREAMS[name])
        assert caught.value.status == reader.error.status


# --- where the bytes are cut ----------------------------------------------------------------------


@pytest.mark.sampled
@joined("name", STREAMS)
def test_every_split_in_two(name):
    body = STREAMS[name]
    whole = outcome(body)
    cuts = sample(range(len(body) + 1))
    assert [at for at in cuts if outcome(body[:at], body[at:]) != whole] == []


@joined("name", STREAMS)
def test_byte_by_byte(name):
    body = STREAMS[name]
    assert outcome(*(body[at : at + 1] for at in range(len(body)))) == outcome(body)


@given(st.sampled_from(sorted(STREAMS)), st.data())
def test_random_cuts(name, data):
    body = STREAMS[name]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=12)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    assert outcome(*pieces) == outcome(body)


@pytest.mark.sampled
@joined("name", [name for name, expected in EXPECTED.items() if expected.unary])
def test_every_prefix_is_a_prefix(name):
    """A body that breaks off gives its first chunks and an incomplete result, unless the finish
    came before.
    """
    body = STREAMS[name]
    _, whole = read(body)
    for at in sample(range(3, len(body))):  # a BOM cut in two is no text at all
        reader, chunks = read(body[:at])
        assert chunks == whole[: len(chunks)]
        ended = any(chunk.finish_reason or chunk.prompt_feedback for chunk in chunks)
        assert isinstance(reader.error, StreamIncomplete) or (reader.error is None and ended)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.row("S2-24")
def test_error_in_a_stream_says_all_that_it_knows():
    error = read(STREAMS["error-event"])[0].error
    assert (error.message, error.retryable, error.retry_after) == ("Slow down.", True, 7.0)
    assert error.details[0].retry_delay == "7s"
    assert b'"RESOURCE_EXHAUSTED"' in error.raw


@pytest.mark.row("S2-26")
@joined(
    ("name", "message", "retryable"),
    [
        ("no-finish", "the stream ended without a finish reason after 2 events", False),
        ("empty", "the answer ended before its first event", True),  # nothing was delivered (S2-26)
        ("only-keepalive", "the answer ended before its first event", True),
        ("error-bare", "The model is overloaded. Please try again later.", True),
    ],
)
def test_message(name, message, retryable):
    error = read(STREAMS[name])[0].error
    assert (error.message, error.retryable) == (message, retryable)


@pytest.mark.row("S2-25")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("html", "<title>502 Bad Gateway</title>"),
        ("damaged-json", '{"candidates":[{"content"'),
        ("wrong-shape", '"candidates":"none"'),
    ],
)
def test_what_cannot_be_read_is_shown(name, shown):
    error = read(STREAMS[name])[0].error
    assert shown in error.message
    assert "\n" not in error.message


def test_nothing_is_read_after_an_error_or_the_end():
    good = STREAMS["object"]
    for name in ("error-event", "done"):
        reader = ChunkReader()
        reader.feed(STREAMS[name])
        error = reader.error
        assert (reader.feed(good), reader.close(), reader.error) == ([], [], error)


def test_done_and_finished():
    assert [
        (reader.done, reader.finished)
        for reader, _ in (read(STREAMS[name]) for name in ("done", "done-unfinished", "no-finish"))
    ] == [
        (True, True),
        (True, False),
        (False, False),
    ]


def test_finished_is_of_the_last_chunk():
    reader = ChunkReader()
    seen = []
    for line in STREAMS["two-candidates"].split(b"\r\n\r\n"):
        reader.feed(line + b"\r\n\r\n")
        seen.append(reader.finished)
    assert seen == [False, False, True, True, True]


@pytest.mark.parametrize(
    "body",
    [b"data: " + b"x" * 200, b"[{" + b" " * 200, b"{" + b" " * 200],
    ids=["event", "array", "object"],
)
def test_event_over_the_limit(body):
    reader = ChunkReader(Limits(event=100))
    assert (reader.feed(body), type(reader.error)) == ([], LimitError)


# --- bytes and keys -------------------------------------------------------------------------------


def test_chunks_and_parts_keep_their_bytes():
    payloads = [
        line.removeprefix(b"data: ") for line in STREAMS["unknown-keys"].split(b"\r\n") if line
    ]
    _, chunks = read(STREAMS["unknown-keys"])
    assert [chunk.raw for chunk in chunks] == payloads
    content = fold(chunks).candidates[0].content
    assert [part.raw for part in content.parts] == [
        b'{"text":"A"}',
        b'{"text":"B","mood":{"calm":[1]}}',
        b'{"song":{"bars":4}}',
        b'{"text":"C"}',
        b'{"functionCall":{"name":"tide","args":{"any":{"thing":1}},"why":"?"}}',
    ]
    assert (
        encode(content)
        == b'{"parts":['
        + b",".join(part.raw for part in content.parts)
        + b'],"role":"model","tone":"low"}'
    )


def test_a_fold_keeps_unknown_keys_at_every_level():
    """The folded response has the last value of each unknown key, and all parts in order."""
    _, chunks = read(STREAMS["unknown-keys"])
    assert wire.unknown(fold(chunks)) == [
        ("candidates[0].content.parts[1].mood", {"calm": [1]}),
        ("candidates[0].content.parts[2].song", {"bars": 4}),
        ("candidates[0].content.parts[4].functionCall.why", "?"),
        ("candidates[0].content.tone", "low"),
        ("candidates[0].shade", 2.0),
        ("usageMetadata.wetTokenCount", 2),
        ("depth", {"m": 3}),
    ]


@joined(
    ("texts", "folded"),
    [
        (["a \\ud83d", "\\ude00 b"], "a \U0001f600 b"),
        (["a \\ud83d", " b"], "a \ufffd b"),
        (["\\ude00\\ud83d", "\\ude00"], "\ufffd\U0001f600"),
        (["\\ud83d"], "\ufffd"),
    ],
    ids=["pair-over-two-events", "half", "wrong-way-round", "one-event"],
)
def test_halves_of_a_surrogate_pair(texts, folded):
    body = b"".join(
        b'data: {"candidates":[{"content":{"parts":[{"text":"%s"}]}}]}\n\n' % text.encode()
        for text in texts
    )
    body += b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n'
    reader, chunks = read(body)
    assert reader.error is None
    assert [chunk.raw for chunk in chunks] == body.replace(b"data: ", b"").split(b"\n\n")[:-1]
    answer = fold(chunks)
    assert answer.text == folded
    assert json.loads(encode(answer.candidates[0].content))["parts"] == [{"text": folded}]


def test_unknown_keys_are_found_at_every_level():
    _, chunks = read(STREAMS["unknown-keys"])
    assert [wire.unknown(chunk) for chunk in chunks] == [
        [
            ("candidates[0].content.parts[1].mood", {"calm": [1]}),
            ("candidates[0].content.parts[2].song", {"bars": 4}),
            ("candidates[0].content.tone", "low"),
            ("candidates[0].shade", 2.0),
            ("usageMetadata.wetTokenCount", 2),
            ("depth", {"m": 3}),
        ],
        [("candidates[0].content.parts[1].functionCall.why", "?")],
    ]


def test_an_unknown_kind_of_part_goes_back_from_a_stream():
    """The folded Content is a new one; its parts are the received ones."""
    answer = fold(read(STREAMS["unknown-keys"])[1])
    request = ask("Hi", answer, function_response(answer.function_calls[0], {}))
    assert (
        b'{"text":"B","mood":{"calm":[1]}},{"song":{"bars":4}},{"text":"C"}'
        in generate_content("gemini-2.5-flash", request).body
    )


def test_giant_signature():
    """Signatures of over 100,000 characters were recorded."""
    signature = "QUJD" * 34_835
    body = STREAMS["text-signed-tail"].replace(SIGNATURE.encode(), signature.encode())
    whole = outcome(body)
    assert whole["fold"].candidates[0].content.parts[-1].thought_signature == signature
    assert outcome(*(body[at : at + 1009] for at in range(0, len(body), 1009))) == whole


# --- fold -----------------------------------------------------------------------------------------

PLAIN = st.builds(
    lambda text, thought: {"text": text, **({"thought": True} if thought else {})},
    st.text("ab", max_size=2),
    st.booleans(),
)
SIGNED = st.builds(
    lambda part, sign: {**part, "thoughtSignature": sign},
    PLAIN,
    st.sampled_from([SIGNATURE, SECOND]),
)
ODD = st.sampled_from(
    [
        {},
        call("tide", {"n": 1}),
        {"thoughtSignature": SIGNATURE},
        {"song": 1},
        {"text": "x", "mood": 1},
        {"thought": True},
    ]
)
PARTS = st.lists(st.one_of(PLAIN, PLAIN, SIGNED, ODD), max_size=5)


def is_plain(part: dict[str, Any]) -> bool:
    return "text" in part and part.keys() <= {"text", "thought"}


def merged(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Joins adjacent plain texts of one kind to one part."""
    result: list[dict[str, Any]] = []
    for part in parts:
        last = result[-1] if result else {}
        if is_plain(part) and is_plain(last) and part.get("thought") == last.get("thought"):
            result[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            result.append(part)
    return result


def chunk_of(parts: list[dict[str, Any]], **candidate: Any) -> GenerateContentResponse:
    return read_chunk(
        json.dumps(
            {"candidates": [{"content": {"parts": parts, "role": "model"}, **candidate}]}
        ).encode()
    )


@settings(max_examples=examples(300))
@given(st.lists(PARTS, min_size=2, max_size=5))
def test_fold_merges_plain_texts_alone(chunks):
    """Texts are never joined across a signature or an unknown key (G26). All other parts stay in
    order and in their bytes, empty ones included.
    """
    folded = fold([chunk_of(parts) for parts in chunks]).candidates[0].content.parts
    expected = merged([part for parts in chunks for part in parts])
    assert [json.loads(encode(part)) for part in folded] == expected
    assert [
        part.raw for part, plan in zip(folded, expected, strict=True) if not is_plain(plan)
    ] == [json.dumps(plan).encode() for plan in expected if not is_plain(plan)]


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_fold_leaves_the_chunks_as_they_were(chunks):
    read_chunks = [chunk_of(parts) for parts in chunks]
    before = [encode(chunk) for chunk in read_chunks]
    assert fold(read_chunks) == fold(read_chunks)
    assert [encode(chunk) for chunk in read_chunks] == before


def test_fold_of_one_chunk_is_what_its_plain_twin_is():
    chunk = chunk_of([{"text": "A"}, {"text": "B"}])
    assert fold([chunk]) == chunk_of([{"text": "AB"}])
    assert [part.raw for part in fold([chunk]).candidates[0].content.parts] == [b'{"text":"AB"}']


def test_fold_of_nothing_is_an_empty_answer():
    assert fold([]) == GenerateContentResponse()


def test_the_call_carries_reader_and_fold():
    made = stream_generate_content("gemini-3-pro-preview", ask("Hi"))
    reader = made.reader(Limits(event=1 << 20))
    chunks = [*reader.feed(STREAMS["text-and-call"]), *reader.close()]
    assert made.fold(chunks).text == "Let me see."
