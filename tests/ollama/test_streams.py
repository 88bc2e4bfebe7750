"""How bodies are read: lines at any cut, the end, errors, and what folding makes of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ollama.samples import CALL, CALLS, END, LAST_CALLS, MODEL, OTHER, STREAM, STREAMS, line
from wire import errors
from wire.core.memory import PARTIAL, encode, notes
from wire.neutral.messages import (
    Done,
    Event,
    Reply,
    TextDelta,
    ThoughtDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.ollama import parse_error
from wire.ollama.fold import fold
from wire.ollama.parse import EventReader, parse_reply
from wire.ollama.reader import (
    ChunkReader,
    GeneratedReader,
    ProgressReader,
    parse_answer,
    parse_generated,
    parse_plain,
    parse_progress,
)
from wire.ollama.types import ChatResponse, DeleteResponse, TagsResponse


def read(*pieces: bytes) -> tuple[list[ChatResponse], errors.WireError | None]:
    reader = ChunkReader()
    lines = [each for piece in pieces for each in reader.feed(piece)]
    return [*lines, *reader.close()], reader.error


def events_of(body: bytes) -> tuple[list[Event], Reply]:
    lines, error = read(body)
    assert error is None
    reader, reply = EventReader(), parse_reply(fold(lines))
    return [*(event for each in lines for event in reader.feed(each)), *reader.close(reply)], reply


@pytest.mark.parametrize("body", STREAMS.values(), ids=STREAMS)
def test_a_stream_is_the_same_wherever_it_was_cut(body: bytes):
    whole = read(body)
    assert whole[1] is None
    for at in range(len(body)):
        assert read(body[:at], body[at:]) == whole
    assert read(*(body[at : at + 1] for at in range(len(body)))) == whole


@pytest.mark.parametrize("body", STREAMS.values(), ids=STREAMS)
def test_every_cut_of_a_stream_is_a_typed_error(body: bytes):
    for at in range(len(body) - 1):
        with pytest.raises(errors.StreamIncomplete) as caught:
            parse_answer(body[:at])
        complete = body[:at].count(b"\n") or body[at : at + 1] == b"\n"
        assert (caught.value.partial is not None) == bool(complete), at


def test_what_came_before_the_cut_is_partial():
    with pytest.raises(errors.StreamIncomplete) as caught:
        parse_answer(STREAM[: STREAM.index(b"05:12")])
    partial = caught.value.partial
    assert isinstance(partial, ChatResponse)
    assert (partial.text, partial.message and partial.message.thinking) == (
        "At ",
        "Brest, I think.",
    )
    assert PARTIAL in notes(partial)
    assert parse_reply(partial, error=caught.value).stop.reason == "other"


@pytest.mark.parametrize("reason", [{}, {"done_reason": ""}], ids=["absent", "empty"])
def test_a_stopped_runner_ends_no_answer(reason: dict[str, str]):
    end = {key: value for key, value in END.items() if key != "done_reason"}
    body = line({"content": "At"}) + line({}, **end, **reason)
    with pytest.raises(errors.StreamIncomplete, match="without done: true and its reason"):
        parse_answer(body)


def test_a_line_with_an_error_is_that_error():
    body = STREAM[: STREAM.index(b"\n") + 1]
    for error, kind in (
        ({"error": "an error was encountered while running the model"}, errors.ServerError),
        ({"error": "too busy", "status": 429}, errors.RateLimitError),
        ({"error": "the input length exceeds the context length"}, errors.ContextLengthError),
    ):
        with pytest.raises(kind) as caught:
            parse_answer(body + json.dumps(error).encode() + b"\n")
        assert str(error["error"]) in caught.value.message
        assert isinstance(caught.value.partial, ChatResponse)


def test_a_page_of_html_is_no_answer():
    with pytest.raises(errors.StreamInvalid, match="bytes outside the framing"):
        parse_answer(b"<html>502</html>")


def test_a_whole_answer_is_what_its_stream_folds_to():
    whole = parse_answer(STREAM)
    message = {"role": "assistant", "content": "At 05:12 🌊.", "thinking": "Brest, I think."}
    head = {"model": MODEL, "created_at": "2026-11-01T10:00:00.1Z", "message": message}
    body = json.dumps({**head, **END}).encode()
    assert parse_answer(body) == whole
    assert parse_answer(body).raw == body
    assert json.loads(encode(whole)) == json.loads(body)


def test_unknown_keys_are_kept():
    body = line({"content": "A", "mood": "calm"}) + line({"content": "b"}, **END, cloud={"a": 1})
    folded = json.loads(encode(parse_answer(body)))
    assert (folded["message"]["mood"], folded["cloud"]) == ("calm", {"a": 1})


def test_the_order_of_arguments_is_kept():
    call = {"function": {"name": "f", "arguments": {"b": 1, "a": 2.50, "c": 10**30}}}
    written = json.dumps({"tool_calls": [call]})[1:-1]
    answer = parse_answer(line({}).replace(b'"content": ""', written.encode()) + line({}, **END))
    assert answer.message is not None
    [kept] = answer.message.tool_calls or ()
    assert kept.raw == json.dumps(call).encode()


def test_events_of_a_text():
    events, reply = events_of(STREAM)
    assert events == [
        ThoughtDelta("Brest"),
        ThoughtDelta(", I think."),
        TextDelta("At "),
        TextDelta("05:12 🌊."),
        Done(reply),
    ]
    assert (reply.text, reply.thought, reply.stop.reason) == (
        "At 05:12 🌊.",
        "Brest, I think.",
        "end",
    )
    assert reply.usage is not None
    assert (reply.usage.input, reply.usage.output, reply.usage.total) == (11, 7, 18)


@pytest.mark.parametrize("function", ["tide", 7, ["tide"], True])
def test_a_call_whose_function_is_no_object(function: Any):
    """It has neither a name nor arguments; its bytes are kept, and a note tells of them."""
    calls = [{"id": "call_a1", "function": function}, CALL]
    events, reply = events_of(line({"tool_calls": calls}) + line({}, **END))
    [odd, whole] = reply.tool_calls
    assert (odd.id, odd.name, odd.arguments) == ("call_a1", "", {})
    assert whole.arguments == CALL["function"]["arguments"]
    assert [each.call for each in events if isinstance(each, ToolCallEnd)] == [odd, whole]
    assert [note.path for note in reply.notes] == ["message.tool_calls[0].function"]


@pytest.mark.parametrize(("body", "calls"), [(CALLS, [CALL, OTHER]), (LAST_CALLS, [CALL])])
def test_calls_arrive_whole(body: bytes, calls: list[dict[str, Any]]):
    events, reply = events_of(body)
    assert [each.name for each in events if isinstance(each, ToolCallStart)] == ["tide"] * len(
        calls
    )
    ended = [each.call for each in events if isinstance(each, ToolCallEnd)]
    assert ended == list(reply.tool_calls)
    assert [(call.id, call.arguments) for call in ended] == [
        (each["id"], each["function"]["arguments"]) for each in calls
    ]
    assert (reply.stop.reason, reply.stop.raw) == ("tool_calls", "stop")


def test_calls_without_ids_get_the_same_ones_each_time():
    bare = {"function": CALL["function"]}
    answer = parse_answer(line({"tool_calls": [bare, bare]}, **END))
    ids = [[call.id for call in parse_reply(answer, body=b"{}").tool_calls] for _ in "ab"]
    assert ids == [["call_44136fa355b3_0", "call_44136fa355b3_1"]] * 2


def test_a_prompt_that_was_cached_is_not_counted_as_none():
    end = {key: value for key, value in END.items() if key != "prompt_eval_count"}
    reply = parse_reply(parse_answer(line({"content": "A"}, **end)))
    assert reply.usage is not None
    assert (reply.usage.output, [note.path for note in notes(reply)]) == (7, ["usage.input"])


@given(st.text(max_size=30), st.text(max_size=30))
def test_halves_of_pairs_are_joined(one: str, two: str):
    body = line({"content": one + "\ud83d"}) + line({"content": "\ude00" + two}) + line({}, **END)
    events, reply = events_of(body)
    texts = "".join(each.text for each in events if isinstance(each, TextDelta))
    assert texts == reply.text
    assert reply.text.encode("utf-8", "replace").decode() == reply.text
    assert "😀" in reply.text


# --- other bodies ---------------------------------------------------------------------------------


def test_a_continuation():
    head = {"model": MODEL, "created_at": "2026-11-01T10:00:00Z"}
    pieces = ({"response": "Once "}, {"response": "more."}, {"response": "", **END, "context": [1]})
    lines = [{**head, "done": False, **each} for each in pieces]
    body = b"".join(json.dumps(each).encode() + b"\n" for each in lines)
    answer = parse_generated(body)
    assert (answer.text, answer.context, answer.done_reason) == ("Once more.", [1], "stop")
    for at in range(len(body) - 1):
        reader = GeneratedReader()
        reader.feed(body[:at])
        reader.close()
        assert isinstance(reader.error, errors.StreamIncomplete)


def test_a_download():
    body = b'{"status":"pulling a","total":9,"completed":4}\n{"status":"success"}\n'
    assert parse_progress(body).status == "success"
    reader = ProgressReader()
    assert [each.completed for each in reader.feed(body[:-12])] == [4]
    reader.close()
    assert isinstance(reader.error, errors.StreamIncomplete)
    with pytest.raises(errors.NotFoundError, match="file does not exist"):
        parse_progress(
            b'{"status":"pulling"}\n{"error":"pull model manifest: file does not exist"}'
        )


def test_plain_bodies():
    assert parse_plain(DeleteResponse, b"", may_be_empty=True) == DeleteResponse()
    with pytest.raises(errors.StreamInvalid):
        parse_plain(TagsResponse, b"[]", may_be_empty=True)


@pytest.mark.parametrize(
    ("status", "words", "kind", "retried"),
    [
        (404, "model 'a' not found", errors.NotFoundError, False),
        (400, '"a" does not support thinking', errors.BadRequestError, False),
        (400, "the input length exceeds the context length", errors.ContextLengthError, False),
        (401, "unauthorized", errors.AuthenticationError, False),
        (403, "cloud is disabled", errors.AccessDeniedError, False),
        (429, "you've reached your usage limit", errors.RateLimitError, True),
        (500, "failed to process inputs: image: unknown format", errors.BadRequestError, False),
        (500, "pull model manifest: file does not exist", errors.NotFoundError, False),
        (500, "llama runner process has terminated", errors.ServerError, True),
        (503, "server busy, please try again.", errors.ServerError, True),
    ],
)
def test_errors_by_their_words(status: int, words: str, kind: type[errors.APIError], retried: bool):
    error = parse_error(status, {}, json.dumps({"error": words}).encode())
    assert isinstance(error, kind)
    assert (error.status, error.retryable) == (status, retried)
    assert error.message.startswith(words)


def test_who_is_not_signed_in_gets_the_page():
    body = {"error": "unauthorized", "signin_url": "https://ollama.example/connect"}
    error = parse_error(401, {}, json.dumps(body).encode())
    assert error.message == "unauthorized; sign in at https://ollama.example/connect"
    assert error.details[0].signin_url == body["signin_url"]
