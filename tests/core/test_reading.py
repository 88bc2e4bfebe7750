"""The reader of bodies on all three wires: one odd field costs nothing but itself, and whatever
bytes come, they end in chunks or in one typed error."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wire
import wire.anthropic.fold
import wire.anthropic.reader
import wire.gemini.fold
import wire.gemini.reader
import wire.openai.chat.fold
import wire.openai.chat.reader
from tests.joined import joined
from tests.property import examples, sample
from wire import anthropic, gemini, openai
from wire.core.lenient import strict_json
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.core.reading import FramedReader
from wire.errors import (
    APIError,
    LimitError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)


class OneWire(NamedTuple):
    reader: type[FramedReader[Any]]
    parse: Callable[[bytes], Any]
    fold: Callable[[Sequence[Any]], Any]
    parse_reply: Callable[..., Any]
    whole: dict[str, Any]
    """A response in one piece."""
    chunks: list[dict[str, Any]]
    """The same in a stream."""
    sent_back: Callable[[Any], list[Any]]
    """What of a response goes into the next request."""
    odd: list[tuple[str, Any]]
    """Path in `whole`, and a value that its field cannot have."""
    odd_in_stream: list[tuple[int, str, Any]]
    """The same in `chunks`."""


GEMINI = OneWire(
    wire.gemini.reader.ChunkReader,
    wire.gemini.reader.parse_response,
    wire.gemini.fold.fold,
    gemini.parse_reply,
    {
        "candidates": [
            {
                "content": {"parts": [{"text": "High tide."}], "role": "model"},
                "finishReason": "STOP",
                "index": 0,
            }
        ],
        "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 5},
        "modelVersion": "m",
    },
    [
        {"candidates": [{"content": {"parts": [{"text": "High "}], "role": "model"}}]},
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": "tide."}], "role": "model"},
                    "finishReason": "STOP",
                }
            ],
            "usageMetadata": {"promptTokenCount": 3, "totalTokenCount": 5},
        },
    ],
    lambda response: [each.content for each in response.candidates or () if each.content],
    [
        ("usageMetadata.promptTokenCount", "many"),
        ("usageMetadata.promptTokensDetails", [{"tokenCount": []}]),
        ("usageMetadata", [3]),
        ("promptFeedback", "fine"),
        ("modelVersion", 3),
        ("responseId", {}),
        ("candidates[0].index", "0"),
        ("candidates[0].finishReason", {}),
        ("candidates[0].finishMessage", 5),
        ("candidates[0].avgLogprobs", [1]),
        ("candidates[0].safetyRatings", [None]),
        ("candidates[0].groundingMetadata", "none"),
        ("candidates[0].content.role", 1),
        ("candidates[0].content.parts[0].thoughtSignature", 7),
        ("candidates[0].content.parts[0].thought", "no"),
        ("candidates[0].content.parts[0].videoMetadata", []),
    ],
    [
        (1, "usageMetadata.promptTokenCount", "many"),
        (0, "usageMetadata", "none"),
        (0, "candidates[0].index", "0"),
        (0, "candidates[0].finishReason", {}),
        (0, "candidates[0].safetyRatings", {"blocked": False}),
        (1, "candidates[0].avgLogprobs", [1]),
        (1, "candidates[0].content.role", 1),
        (1, "promptFeedback", 5),
    ],
)
CHAT = OneWire(
    wire.openai.chat.reader.ChunkReader,
    wire.openai.chat.reader.parse_completion,
    wire.openai.chat.fold.fold,
    openai.parse_reply,
    {
        "id": "x",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "High tide."},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    },
    [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "High "}}]},
        {
            "choices": [{"index": 0, "delta": {"content": "tide."}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
        },
    ],
    lambda response: [each.message for each in response.choices or () if each.message],
    [
        ("usage.prompt_tokens", "many"),
        ("usage.prompt_tokens_details", {"cached_tokens": []}),
        ("usage", [3]),
        ("id", 5),
        ("created", "now"),
        ("model", {}),
        ("choices[0].index", "0"),
        ("choices[0].finish_reason", {}),
        ("choices[0].logprobs", "none"),
        ("choices[0].message.role", 1),
        ("choices[0].message.refusal", False),
        ("choices[0].message.tool_calls", "none"),
        ("choices[0].message.annotations", [None]),
    ],
    [
        (1, "usage.prompt_tokens", "many"),
        (0, "usage", "none"),
        (0, "choices[0].index", "0"),
        (0, "choices[0].finish_reason", {}),
        (0, "choices[0].delta.role", 1),
        (1, "choices[0].logprobs", "none"),
        (1, "created", "now"),
    ],
)
MESSAGES = OneWire(
    wire.anthropic.reader.ChunkReader,
    wire.anthropic.reader.parse_message,
    wire.anthropic.fold.fold,
    anthropic.parse_reply,
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [{"type": "text", "text": "High tide."}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    [
        {
            "type": "message_start",
            "message": {"id": "msg_1", "content": [], "usage": {"input_tokens": 3}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "text_delta", "text": "High tide."},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 2},
        },
        {"type": "message_stop"},
    ],
    lambda response: response.content or [],
    [
        ("usage.input_tokens", "many"),
        ("usage.server_tool_use", "none"),
        ("usage", [3]),
        ("id", 5),
        ("role", 1),
        ("stop_reason", {}),
        ("stop_sequence", 5),
        ("content[0].citations", "none"),
    ],
    [
        (0, "message.id", 5),
        (0, "message.usage.input_tokens", "many"),
        (0, "message.usage", "none"),
        (1, "content_block.citations", "none"),
        (4, "delta.stop_reason", {}),
        (4, "usage.output_tokens", "many"),
    ],
)
WIRES = {"gemini": GEMINI, "chat": CHAT, "messages": MESSAGES}


def changed(value: dict[str, Any], path: str, odd: Any) -> dict[str, Any]:
    """A copy of `value`, with `odd` at the path."""
    value = copy.deepcopy(value)
    steps = [
        int(step) if step.isdigit() else step
        for step in path.replace("[", ".").replace("]", "").split(".")
    ]
    owner: Any = value
    for step in steps[:-1]:
        owner = owner.setdefault(step, {}) if isinstance(step, str) else owner[step]
    owner[steps[-1]] = odd
    return value


def sse(*values: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(value).encode() + b"\n\n" for value in values)


def read(one: OneWire, *pieces: bytes) -> tuple[FramedReader[Any], list[Any]]:
    reader = one.reader()
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    return reader, [*chunks, *reader.close()]


def outcome(one: OneWire, *pieces: bytes) -> tuple[Any, ...]:
    """All that one can see of a stream."""
    reader, chunks = read(one, *pieces)
    return [chunk.raw for chunk in chunks], repr(reader.error), reader.notes, reader.finished


def text_of(one: OneWire, response: Any) -> str:
    text = one.parse_reply(response).text
    assert isinstance(text, str)
    return text


def cases(name: str) -> list[Any]:
    return [
        pytest.param(one, *case, id=f"{key}-{case[-2]}")
        for key, one in WIRES.items()
        for case in getattr(one, name)
    ]


# --- one odd field --------------------------------------------------------------------------------


@joined(("one", "path", "odd"), cases("odd"))
def test_an_odd_field_of_a_whole_response_costs_nothing_else(
    one: OneWire, path: str, odd: Any
) -> None:
    body = json.dumps(changed(one.whole, path, odd)).encode()
    response = one.parse(body)
    assert text_of(one, response) == "High tide."
    assert response.raw == body
    [(told, value)] = wire.unknown(response)
    # A list with an odd item is left out as a whole, and of an object only its odd field.
    assert path.startswith(told) or told.startswith(path)
    assert value is not None


@pytest.mark.sampled
@joined(("one", "at", "path", "odd"), cases("odd_in_stream"))
def test_an_odd_field_of_a_stream_costs_nothing_else_wherever_it_is_cut(
    one: OneWire, at: int, path: str, odd: Any
) -> None:
    values = [*one.chunks]
    values[at] = changed(values[at], path, odd)
    body = sse(*values)
    reader, chunks = read(one, body)
    assert reader.error is None
    assert [told for told, _ in wire.unknown(chunks[at])] == [path]
    assert chunks[at].raw == json.dumps(values[at]).encode()
    assert text_of(one, one.fold(chunks)) == text_of(one, one.parse(body)) == "High tide."
    expected = outcome(one, body)
    assert [
        cut for cut in sample(range(len(body))) if outcome(one, body[:cut], body[cut:]) != expected
    ] == []


@pytest.mark.parametrize("name", WIRES)
def test_nan_costs_no_text(name: str) -> None:
    """Python's own encoder writes it, and so do servers in Python."""
    one = WIRES[name]
    odd = {"score": float("nan"), "best": float("-inf"), "huge": 10**400}
    whole = json.dumps({**one.whole, **odd}).encode()
    assert text_of(one, one.parse(whole)) == "High tide."
    body = sse(*({**each, **odd} for each in one.chunks))
    reader, chunks = read(one, body)
    assert (reader.error, text_of(one, one.fold(chunks))) == (None, "High tide.")


def test_a_number_that_json_has_not_is_sent_back_as_null() -> None:
    call = b'{"functionCall":{"name":"tide","args":{"height":NaN}}}'
    candidate = b'{"content":{"parts":[%s],"role":"model"},"finishReason":"STOP"}' % call
    content = (
        wire.gemini.reader.parse_response(b'{"candidates":[%s]}' % candidate).candidates[0].content
    )
    sent = {"functionCall": {"name": "tide", "args": {"height": None}}}
    assert json.loads(encode(content)) == {"parts": [sent], "role": "model"}
    message = b'{"content":"Hi","score":NaN}'
    completion = wire.openai.chat.reader.parse_completion(
        b'{"choices":[{"message":%s,"finish_reason":"stop"}]}' % message
    )
    assert json.loads(encode(completion.message)) == {"content": "Hi", "score": None}


@joined("name", WIRES)
@joined("odd", [b"High \xff.", b"High \\ud83c."], ids=["bytes", "half"])
def test_text_that_utf8_has_not_is_marked(name: str, odd: bytes) -> None:
    one = WIRES[name]
    body = json.dumps(one.whole).encode().replace(b"High tide.", odd)
    assert text_of(one, one.parse(body)) == "High \ufffd."


def test_gemini_keeps_the_texts_beside_an_odd_part() -> None:
    parts = [{"text": "High "}, {"text": 5, "mood": 1}, {"text": "tide."}]
    body = changed(GEMINI.whole, "candidates[0].content.parts", parts)
    response = GEMINI.parse(json.dumps(body).encode())
    assert text_of(GEMINI, response) == "High tide."
    assert json.loads(encode(response.candidates[0].content))["parts"] == parts
    assert [path for path, _ in wire.unknown(response)] == [
        "candidates[0].content.parts[1].text",
        "candidates[0].content.parts[1].mood",
    ]
    streamed = read(GEMINI, sse(body))[1]
    assert wire.unknown(GEMINI.fold(streamed)) == wire.unknown(response)


def test_gemini_without_a_readable_finish_is_not_whole_and_keeps_its_text() -> None:
    odd = changed(GEMINI.chunks[1], "candidates[0].finishReason", {})
    body = sse(GEMINI.chunks[0], odd)
    reader, chunks = read(GEMINI, body)
    assert type(reader.error) is StreamIncomplete
    assert text_of(GEMINI, GEMINI.fold(chunks)) == "High tide."
    with pytest.raises(StreamIncomplete) as caught:
        GEMINI.parse(body)
    assert text_of(GEMINI, caught.value.partial) == "High tide."


# --- framing --------------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"


@joined("name", WIRES)
@joined("before", [b"", BOM, b"\r\n \n", BOM + b"\n", b" " * 5000])
def test_what_stands_before_the_body(name: str, before: bytes) -> None:
    one = WIRES[name]
    for body in (sse(*one.chunks), json.dumps(one.whole).encode()):
        expected = outcome(one, body)
        assert expected[1] == "None"
        for cut in range(min(len(before), 8) + 1):
            assert outcome(one, (before + body)[:cut], (before + body)[cut:]) == expected
        assert text_of(one, one.parse(before + body)) == "High tide."


@pytest.mark.parametrize("name", WIRES)
def test_a_list_in_an_event_is_opened(name: str) -> None:
    one = WIRES[name]
    reader, chunks = read(one, sse(one.chunks))
    assert (reader.error, text_of(one, one.fold(chunks))) == (None, "High tide.")
    error, _ = read(one, sse([{"error": {"message": "Slow down.", "code": 429}}]))
    assert (type(error.error), error.error and error.error.message) == (
        wire.errors.RateLimitError,
        "Slow down.",
    )


@pytest.mark.parametrize("name", WIRES)
def test_an_event_named_error_is_one_whatever_it_says(name: str) -> None:
    one = WIRES[name]
    for data, message in ((b"no luck", "no luck"), (b'{"mood":"low"}', '{"mood":"low"}')):
        reader, _ = read(one, sse(one.chunks[0]) + b"event: error\ndata: " + data + b"\n\n")
        assert isinstance(reader.error, APIError)
        assert (reader.error.status, reader.error.message) == (200, message)


@pytest.mark.parametrize("name", WIRES)
def test_lines_outside_of_events_are_reported(name: str) -> None:
    one = WIRES[name]
    body = sse(one.chunks[0]) + b'<!-- relay -->\n{"relay":\n"a"}\n' + sse(*one.chunks[1:])
    reader, chunks = read(one, body)
    assert (reader.error, text_of(one, one.fold(chunks))) == (None, "High tide.")
    dropped = "event 1: outside: dropped, not a value of the wire: "
    assert [str(note) for note in reader.notes] == [
        f"{dropped}<!-- relay -->",
        f'{dropped}{{"relay": "a"}}',
    ]
    assert wire.notes(one.parse(body)) == tuple(reader.notes)


@pytest.mark.parametrize("name", WIRES)
def test_a_line_outside_of_events_may_be_too_deep(name: str) -> None:
    deep = b'{"a":' * 5_000 + b"1" + b"}" * 5_000
    with pytest.raises(LimitError, match=r"limits\.depth"):
        WIRES[name].parse(sse(WIRES[name].chunks[0]) + deep + b"\n")


def test_gemini_reads_a_chunk_outside_of_events() -> None:
    body = sse(GEMINI.chunks[0]) + json.dumps(GEMINI.chunks[1], indent=1).encode() + b"\n"
    reader, chunks = read(GEMINI, body)
    assert (reader.error, reader.notes) == (None, [])
    assert text_of(GEMINI, GEMINI.fold(chunks)) == "High tide."


@pytest.mark.parametrize("name", ["gemini", "chat"])  # reading ends with a whole message
def test_words_after_a_document_are_reported(name: str) -> None:
    reader, _ = read(WIRES[name], json.dumps(WIRES[name].whole).encode() + b" no more")
    assert reader.error is None
    assert [note.message.rpartition(": ")[2] for note in reader.notes] == ["no more"]


@joined("name", WIRES)
@joined("body", [b"null", b"5", b' "Hi"', b"true\n"])
def test_a_scalar_is_no_response(name: str, body: bytes) -> None:
    with pytest.raises(StreamInvalid, match=body.strip().decode()):
        WIRES[name].parse(body)


@pytest.mark.parametrize("name", WIRES)
def test_an_event_over_the_limit_comes_after_those_before_it(name: str) -> None:
    one = WIRES[name]
    reader = one.reader(Limits(event=400))
    assert len(reader.feed(sse(one.chunks[0]) + b"data: " + b"x" * 500)) == 1
    assert (reader.close(), type(reader.error)) == ([], LimitError)


# --- any bytes ------------------------------------------------------------------------------------

FIXTURES = Path(__file__).parent.parent / "fixtures"
BODIES: dict[str, list[bytes]] = {
    name: [
        json.dumps(one.whole).encode(),
        sse(*one.chunks, {"error": {"message": "No.", "code": 429, "details": [{"a": 1}]}}),
        sse(*one.chunks) + b"data: [DONE]\n\n",
        json.dumps(one.chunks, indent=1).encode(),
        *(path.read_bytes() for path in sorted((FIXTURES / name / "streams").glob("*.sse"))),
    ]
    for name, one in WIRES.items()
}
ODD = (
    b"null",
    b"[]",
    b"{}",
    b"1",
    b"9" * 5000,
    b"1.0",
    b'"x"',
    b"-1e400",
    b"NaN",
    b"\xff",
    b"\\ud800",
    b"\x00",
    b"[[[[",
    b"[" * 1100,
    b'{"a":' * 960,
    b"true",
    b"\n\n",
    b'{"error":{"\\ud800":"\\udc00","message":{"\\ud83c":NaN}}}',
    b'"error":{},',
)


def garbled(data: bytes, dice: random.Random) -> bytes:
    """A body with some of its bytes lost, doubled, or replaced by what is no value there."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 6)):
        at = dice.randrange(len(changed) + 1)
        kind = dice.randrange(4)
        if kind == 0:
            changed[at : at + dice.randint(0, 6)] = dice.choice(ODD)
        elif kind == 1:
            del changed[at : at + dice.randint(1, 30)]
        elif kind == 2:
            changed[at:at] = changed[dice.randrange(at + 1) :][: dice.randint(1, 200)]
        else:
            begin = changed.find(b":", at)
            end = changed.find(b",", begin)
            changed[begin + 1 : end if end > begin else begin + 1] = dice.choice(ODD)
    return bytes(changed)


@settings(max_examples=examples(500), deadline=None)
@given(st.sampled_from(sorted(WIRES)), st.integers(0, 1 << 32))
def test_any_bytes_end_in_chunks_or_in_a_typed_error(name: str, seed: int) -> None:
    one, dice = WIRES[name], random.Random(seed)
    body = garbled(dice.choice(BODIES[name]), dice)
    reader, chunks = read(one, body)
    assert reader.error is None or isinstance(reader.error, WireError)
    response = one.fold(chunks)
    one.parse_reply(response, error=reader.error)
    for part in one.sent_back(response):
        assert strict_json(encode(part)) == encode(part)
    wire.unknown(response)
    cut = dice.randrange(len(body) + 1)
    assert outcome(one, body[:cut], body[cut:]) == outcome(one, body)
    try:
        one.parse(body)
    except WireError:
        pass


@pytest.mark.parametrize("name", WIRES)
@given(body=st.binary(max_size=80))
def test_any_few_bytes_end_in_a_typed_error(name: str, body: bytes) -> None:
    reader, chunks = read(WIRES[name], body)
    # An object without a key that is known is a chunk that says nothing, and no answer.
    assert [set(json.loads(chunk.raw)) for chunk in chunks] in ([], [set()], [{""}])
    assert isinstance(reader.error, WireError)
    with pytest.raises(WireError):
        WIRES[name].parse(body)
