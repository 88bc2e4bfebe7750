"""Streams: wherever they are cut, they end in a whole interaction or in a typed error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gemini.interactions.samples import (
    CALL,
    FOUND,
    OUTPUT,
    SEARCH,
    TEXT,
    THOUGHT,
    Player,
    chat,
    client,
    delta,
    event,
    events,
    framed,
    whole,
)
from tests.joined import joined
from wire import Retry
from wire.core.memory import PARTIAL, with_notes
from wire.errors import APIError, ServerError, StreamIncomplete, StreamInvalid, WireError
from wire.gemini import interactions
from wire.gemini.interactions.fold import fold
from wire.gemini.interactions.parse import EventReader, parse_reply
from wire.gemini.interactions.reader import ChunkReader
from wire.neutral.messages import Done, TextDelta, ThoughtDelta, ToolCallEnd

STREAM = framed(events())
STEPS = [THOUGHT, SEARCH, FOUND, OUTPUT, CALL]


def read(*pieces: bytes) -> tuple[list[Any], WireError | None]:
    reader = ChunkReader()
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    return [*chunks, *reader.close()], reader.error


def steps_of(interaction: Any) -> Any:
    return [json.loads(step.raw) for step in interaction.steps]


def test_a_stream_folds_to_what_the_whole_call_returns() -> None:
    chunks, error = read(STREAM)
    assert error is None
    folded = fold(chunks)
    same = interactions.parse_interaction(json.dumps(whole(*STEPS)).encode())
    assert sorted(map(json.dumps, map(sorted, steps_of(folded)))) == sorted(
        map(json.dumps, map(sorted, steps_of(same)))
    )
    assert steps_of(folded) == STEPS
    assert (folded.status, folded.usage, folded.text) == ("completed", same.usage, TEXT)
    assert interactions.parse_interaction(STREAM) == folded


def test_the_bytes_of_a_stream_may_be_cut_anywhere() -> None:
    whole_chunks = [each.raw for each in read(STREAM)[0]]
    assert [each.raw for each in read(*(STREAM[at : at + 1] for at in range(len(STREAM))))[0]] == (
        whole_chunks
    )
    for at in range(0, len(STREAM), 7):
        assert [each.raw for each in read(STREAM[:at], STREAM[at:])[0]] == whole_chunks


def test_each_cut_is_an_incomplete_stream() -> None:
    end = STREAM.index(b"event: interaction.completed")
    last = end + STREAM[end:].index(b"\n\n")
    for at in range(last):
        chunks, error = read(STREAM[:at])
        assert isinstance(error, StreamIncomplete), at
        if chunks:
            reply = parse_reply(with_notes(fold(chunks), [PARTIAL]), error=error)
            assert not reply.stop.complete
            assert TEXT.startswith(reply.text)


def test_done_completes_nothing() -> None:
    _, error = read(framed(events()[:-1]))
    assert isinstance(error, StreamIncomplete)
    assert "interaction.completed" in error.message


def test_an_error_event_ends_the_stream() -> None:
    failure = event("error", error={"code": "unavailable", "message": "Overloaded."})
    chunks, error = read(framed([*events()[:5], failure], done=False))
    assert isinstance(error, ServerError)
    assert (error.code, error.status, error.retryable) == ("unavailable", 503, True)
    assert len(chunks) == 5


@joined(
    ("body", "code"),
    [
        (whole(status="failed", errors=[{"code": "safety", "message": "No."}]), "safety"),
        ({"error": {"code": "not_found", "message": "Result not found."}}, "not_found"),
    ],
)
def test_an_interaction_that_failed_is_an_error(body: Any, code: str) -> None:
    data = json.dumps(body).encode()
    with pytest.raises(APIError) as caught:
        interactions.parse_interaction(data)
    assert caught.value.code == code
    if "status" in body:
        stored = client(Player(body)).send(interactions.get_interaction("v1_1"))
        assert stored.errors[0].code == code


def test_a_failed_end_of_a_stream_is_an_error() -> None:
    listed = events()
    listed[-1]["interaction"] |= {
        "status": "failed",
        "errors": [{"code": "quota_exceeded", "message": "Used up."}],
    }
    _, error = read(framed(listed))
    assert isinstance(error, APIError)
    assert (error.code, error.status) == ("quota_exceeded", 429)


def test_a_body_that_is_no_interaction() -> None:
    for body in (b"<html>", b"[]", b'{"candidates": []}', b"null"):
        with pytest.raises((StreamInvalid, StreamIncomplete)):
            interactions.parse_interaction(body)


def test_events_become_neutral_ones() -> None:
    chunks, _ = read(STREAM)
    reader = EventReader()
    told = [each for chunk in chunks for each in reader.feed(chunk)]
    reply = parse_reply(fold(chunks))
    told += reader.close(reply)
    texts = [each.text for each in told if isinstance(each, TextDelta)]
    thoughts = [each.text for each in told if isinstance(each, ThoughtDelta)]
    [end] = [each for each in told if isinstance(each, ToolCallEnd)]
    assert (texts, "".join(thoughts)) == (["At 05:", "12 –", " high."], reply.thought)
    assert (end.call, told[-1]) == (reply.tool_calls[0], Done(reply))
    assert (reply.stop.reason, reply.stop.raw) == ("tool_calls", "completed")
    [cited] = reply.citations
    assert reply.text[cited.start : cited.end] == "05:12 –"
    assert [type(part).__name__ for part in reply.message.parts] == [
        "Thought", "ServerToolCall", "ServerToolResult", "Text", "ToolCall"
    ]  # fmt: skip


def test_half_of_a_surrogate_pair_becomes_a_sign_that_can_be_sent() -> None:
    """In a stream, and in a whole answer that was asked for as a stream."""
    call, odd = {**CALL, "id": "\ud83d"}, {"type": "a\ud83d", "x": 1}
    listed = events()
    for each in listed:
        if each.get("step", {}).get("type") == "function_call":
            each["step"] = {**each["step"], "id": "\ud83d"}
    output = {"type": "model_output", "content": [odd]}
    for body in (framed(listed), json.dumps(whole(output, call)).encode()):
        with chat(Player(body)).stream("Hi") as told:
            last = list(told)[-1]
        [found] = last.reply.tool_calls
        assert found.arguments == CALL["arguments"]
        found.id.encode()
        for part in last.reply.message.parts:
            assert json.loads(part.origin.raw)["type"]


def test_sounds_in_pieces_are_one() -> None:
    listed = [
        *events()[:2],
        event("step.start", index=0, step={"type": "model_output"}),
        delta(0, "audio", data="AAE=", mime_type="audio/l16", sample_rate=24000),
        delta(0, "audio", data="Ag==", mime_type="audio/l16"),
        event("step.stop", index=0),
        events()[-1],
    ]
    chunks, error = read(framed(listed))
    assert error is None
    [media] = parse_reply(fold(chunks)).media
    assert (media.data, media.media_type) == (b"\x00\x01\x02", "audio/l16")


def test_arguments_that_are_no_json_are_kept_as_text() -> None:
    listed = [*events()[:2], event("step.start", index=0, step={**CALL, "arguments": {}})]
    listed += [delta(0, "arguments_delta", arguments='{"port": '), events()[-1]]
    [call] = parse_reply(fold(read(framed(listed))[0])).tool_calls
    assert (call.arguments, call.text) == (None, '{"port": ')


def test_a_stream_with_ids_of_events_is_resumed_behind_the_last() -> None:
    listed = events(ids=True)
    http = Player(framed(listed[:9], done=False), framed(listed[9:]))
    with chat(http, retry=Retry()).stream("When?") as stream:
        text = "".join(each.text for each in stream if isinstance(each, TextDelta))
        assert text == stream.reply().text == TEXT
    assert str(http.requests[1].url).endswith(
        "/v1beta/interactions/v1_1?stream=true&last_event_id=e8"
    )


def test_a_whole_interaction_in_place_of_a_stream() -> None:
    http = Player(whole(*STEPS))
    with chat(http).stream("When?") as stream:
        assert "".join(each.text for each in stream if isinstance(each, TextDelta)) == TEXT
        assert stream.reply().tool_calls[0].arguments == {"port": "Brest"}


def test_a_delta_of_an_unknown_kind_between_two_texts_loses_neither() -> None:
    start = event("step.start", index=0, step={"type": "model_output"})
    for between in (
        event("step.delta", index=0, delta=5),
        event("step.delta", index="a", delta={}),
        delta(0, "mood", mood="calm"),
    ):
        said = delta(0, "text", text="Hel"), between, delta(0, "text", text="lo.")
        listed = [*events()[:2], start, *said, event("step.stop", index=0), events()[-1]]
        assert fold(read(framed(listed))[0]).text.replace("\n", "") == "Hello."
