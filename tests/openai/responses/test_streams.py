"""Streams of `fixtures/responses/streams`, whose texts are invented: the folded response, the
neutral events, the end of the stream, and that none depends on how the bytes are split.

Each stream has a quirk of some host, which its name tells.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

import wire
from tests.joined import joined
from tests.openai.responses.bodies import (
    CREATED,
    Outcome,
    completed,
    custom_call,
    delta,
    function_call,
    message,
    read,
    reasoning,
    reasoning_text,
    refusal,
    response,
    sse,
    text,
)
from tests.property import sample
from wire.errors import (
    BadRequestError,
    QuotaError,
    RateLimitError,
    ServerError,
    StreamIncomplete,
)
from wire.neutral.messages import (
    Event,
    ProviderEvent,
    Restart,
    TextDelta,
    ThoughtDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.openai.responses.fold import fold
from wire.openai.responses.reader import ChunkReader, parse_response

FOLDER = Path(__file__).parents[2] / "fixtures" / "responses" / "streams"
STREAMS = {path.stem: path.read_bytes() for path in sorted(FOLDER.glob("*.sse"))}

CITATION = {
    "type": "url_citation",
    "start_index": 0,
    "end_index": 4,
    "title": "Tides",
    "url": "https://example.com/tides",
}
HI = message("Hi")
TIDE = function_call(1, "tide", '{"a":1}')
MOON = function_call(2, "moon", "{}")
SEARCH = {
    "id": "ws_t1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "tide"},
}
SHELL = {"id": "sh_t1", "type": "shell_call", "call_id": "call_t1", "action": {"commands": ["ls"]}}
SHELL_OUTPUT = {
    "id": "sho_t1",
    "type": "shell_call_output",
    "call_id": "call_t1",
    "output": [{"stdout": "ok\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}],
}
SOUNDING = {"id": "so_t1", "type": "sounding", "depth": [1, 2.5], "status": "generating"}


def tools(number: int, *names: str) -> dict[str, Any]:
    listed = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    label = f"s{number}"
    return {
        "id": f"mcpl_t{number}",
        "type": "mcp_list_tools",
        "server_label": label,
        "tools": listed,
    }


WHOLE: dict[str, dict[str, Any]] = {
    "text": response(
        message(text("High tide: 潮🌊.", annotations=[CITATION]), phase="final_answer")
    ),
    "two-parts": response(message("One.", " Two.")),
    "two-messages": response(
        message("Wait.", phase="commentary"),
        message("High.", id="msg_t2", phase="final_answer"),
    ),
    "rotating-ids": response(
        message("Hello", id="f6"), function_call(1, "tide", '{"a":1}', id="i9"), id="r2"
    ),
    "overlap": response(message("High tide."), reasoning(id="rs_tmp_1", format="google-gemini-v1")),
    "three-open-items": response(tools(0, "a"), tools(1, "b"), tools(2, "c")),
    "empty-end": response(HI, function_call(1, "tide", "{}")),
    "item-of-the-end": response(tools(0, "a"), HI, TIDE),
    "end-at-other-positions": response(HI),
    "done-without-deltas": response(HI, message(" there", id="msg_t2"), TIDE),
    "added-complete": response(HI, TIDE),
    "unknown": response(SOUNDING, HI),
    "second-created": response(message("Right", id="msg_b"), id="resp_b"),
    "surrogates": response(
        message({"type": "output_text", "text": "Tide 🌊!"}),
        function_call(1, "tide", '{"w":"🌊"}'),
    ),
    "lone-surrogate": response(message({"type": "output_text", "text": "Tide \ufffd."})),
    "vllm": response(
        reasoning_text("Look it up.", id="0a", encrypted_content=None, status=None),
        message("High tide.", id="0b"),
    ),
    "no-positions": response(
        reasoning_text("Hm.", encrypted_content=""),
        HI,
        function_call(1, "tide", '{"port":"Brest"}'),
        MOON,
    ),
    "summary": response(
        reasoning("First the port.", "Then the hour.", secret="long secret"), message("High.")
    ),
    "parallel-calls": response(function_call(1, "tide", '{"port":"Brest"}'), MOON),
    "custom-call": response(custom_call("line {a}\n")),
    "refusal": response(message(refusal("I cannot help with that."))),
    "call-cut-by-the-limit": response(
        function_call(1, "tide", '{"port":"Br', status="incomplete"),
        status="incomplete",
        incomplete_details={"reason": "max_output_tokens"},
    ),
    "web-search": response(SEARCH, message("High.")),
    "shell": response(SHELL, SHELL_OUTPUT),
    "queued": response(HI, background=True),
    "again-from-the-middle": response(message("High tide.")),
}

BROKEN: dict[str, tuple[Any, str]] = {
    # Class, status, code, retryable, message; then the text before the error.
    "error-nested": ((ServerError, 500, "server_error", True, "The tide is out."), ""),
    "error-nested-then-failed": (
        (RateLimitError, 429, "rate_limit_exceeded", True, "Slow down. Try again in 1.3s."),
        "Hi",
    ),
    "error-flat": ((BadRequestError, 400, "invalid_prompt", False, "No such prompt."), "Hi"),
    "error-flat-then-failed": ((ServerError, 500, "server_error", True, "The tide is out."), ""),
    "failed": (
        (QuotaError, 429, "insufficient_quota", False, "You have no tides left."),
        "Hi",
    ),
    "failed-without-words": (
        (
            ServerError,
            200,
            None,
            True,
            '{"type":"response.failed","sequence_number":1,"response":{"id":"resp_t1",'
            '"object":"response","status":"failed","model":"gpt-5.6","output":[],"usage":null}}',
        ),
        "",
    ),
    "no-end": (
        (
            StreamIncomplete,
            None,
            None,
            False,
            "the stream ended without response.completed after 6 events",
        ),
        "Hi the",
    ),
    "done-marker-without-end": (
        (
            StreamIncomplete,
            None,
            None,
            False,
            "the stream ended without response.completed after 4 events",
        ),
        "Hi",
    ),
}


def call(position: int, item: dict[str, Any], arguments: Any, first: str = "") -> list[Event]:
    """The start and the end of a call, and its arguments in one piece; `first` is the id of the
    first call, if it is another one.
    """
    text = item.get("arguments", item.get("input"))
    kind = "custom" if item["type"] == "custom_tool_call" else "function"
    ended = wire.ToolCall(
        id=item["call_id"],
        name=item["name"],
        arguments=arguments,
        text=text,
        kind=kind,
        response=first or item["call_id"],
    )
    return [
        ToolCallStart(position, item["name"], item["call_id"]),
        ToolCallDelta(position, text),
        ToolCallEnd(position, ended),
    ]


def texts(*pieces: str) -> list[Event]:
    return [TextDelta(piece) for piece in pieces]


TIDE_EVENTS = call(0, TIDE, {"a": 1})
EVENTS: dict[str, list[Event]] = {
    "text": texts("High ", "tide: 潮", "🌊."),
    # Parts that overlap are shown as they come, and the reply has one after the other.
    "two-parts": [*texts("One", " Tw", ".", "o."), Restart(), *texts("One.", " Two.")],
    "two-messages": texts("Wait.", "High."),
    "rotating-ids": [*texts("Hel", "lo"), *TIDE_EVENTS],
    "overlap": texts("High ", "tide."),
    "empty-end": [*texts("Hi"), *call(0, function_call(1, "tide", "{}"), {})],
    "end-at-other-positions": texts("Hi"),
    "done-without-deltas": [*texts("Hi", " there"), *TIDE_EVENTS],
    "added-complete": [*texts("Hi"), *TIDE_EVENTS],
    "second-created": [
        *texts("Wrong"),
        ToolCallStart(0, "moon", "call_t9"),
        Restart(),
        *texts("Right"),
    ],
    "surrogates": [
        *texts("Tide ", "🌊!"),
        ToolCallStart(0, "tide", "call_t1"),
        ToolCallDelta(0, '{"w":"'),
        ToolCallDelta(0, '🌊"}'),
        call(0, function_call(1, "tide", '{"w":"🌊"}'), {"w": "🌊"})[-1],
    ],
    "lone-surrogate": texts("Tide ", "\ufffd."),
    "vllm": [
        ThoughtDelta("Look "),
        ThoughtDelta("it "),
        ThoughtDelta("up."),
        *texts("High ", "ti", "de."),
    ],
    "no-positions": [
        ThoughtDelta("Hm."),
        *texts("Hi"),
        ToolCallStart(0, "tide", "call_t1"),
        ToolCallDelta(0, '{"port"'),
        ToolCallDelta(0, ':"Brest"}'),
        ToolCallStart(1, "moon", "call_t2"),
        ToolCallDelta(1, "{}"),
        call(0, function_call(1, "tide", '{"port":"Brest"}'), {"port": "Brest"})[-1],
        call(1, MOON, {}, "call_t1")[-1],
    ],
    "summary": [
        ThoughtDelta("First "),
        ThoughtDelta("the port."),
        ThoughtDelta("\n\nThen "),
        ThoughtDelta("the hour."),
        *texts("High."),
    ],
    "parallel-calls": [
        ToolCallStart(0, "tide", "call_t1"),
        ToolCallStart(1, "moon", "call_t2"),
        ToolCallDelta(1, "{"),
        ToolCallDelta(0, '{"port"'),
        ToolCallDelta(0, ':"Brest"}'),
        ToolCallDelta(1, "}"),
        call(1, MOON, {}, "call_t1")[-1],
        call(0, function_call(1, "tide", '{"port":"Brest"}'), {"port": "Brest"})[-1],
    ],
    "custom-call": [
        ToolCallStart(0, "plot", "call_t1"),
        ToolCallDelta(0, "line "),
        ToolCallDelta(0, "{a}\n"),
        call(0, custom_call("line {a}\n"), {"input": "line {a}\n"})[-1],
    ],
    "refusal": texts("I cannot ", "help with that."),
    "call-cut-by-the-limit": call(0, function_call(1, "tide", '{"port":"Br'), None),
    "queued": texts("Hi"),
}
"""Events without those of a single host."""
NAMED: dict[str, tuple[list[str], list[Event]]] = {
    "three-open-items": (["response.mcp_list_tools.in_progress"] * 3, []),
    "item-of-the-end": (
        ["response.mcp_list_tools.completed"],
        [*texts("Hi"), *TIDE_EVENTS],
    ),
    "unknown": (["response.moon.rising", "response.sounding.depth"], texts("Hi")),
    "web-search": (
        [f"response.web_search_call.{step}" for step in ("in_progress", "searching", "completed")],
        texts("High."),
    ),
    "shell": (
        [
            "response.shell_call_command.added",
            "response.shell_call_command.delta",
            "response.shell_call_output_content.delta",
        ],
        [],
    ),
}
"""Names of the events of a single host, and the other events."""


def test_every_stream_is_looked_at():
    assert sorted([*WHOLE, *BROKEN]) == sorted(STREAMS)
    # An answer that is read again from its middle has no neutral events of its beginning.
    assert sorted([*EVENTS, *NAMED, "again-from-the-middle"]) == sorted(WHOLE)


@joined("name", WHOLE)
def test_a_complete_stream_folds_into_what_the_plain_call_gives(name: str):
    outcome = read(STREAMS[name])
    assert outcome.error is None
    assert json.loads(outcome.response.raw or b"") == WHOLE[name]
    assert outcome.response == parse_response(json.dumps(WHOLE[name]).encode())
    assert outcome.response == parse_response(STREAMS[name])  # events where JSON was requested


@joined("name", EVENTS)
def test_the_neutral_events(name: str):
    assert read(STREAMS[name]).neutral == EVENTS[name]


@joined("name", NAMED)
def test_events_of_a_single_host_are_handed_out(name: str):
    neutral = read(STREAMS[name]).neutral
    own = [each for each in neutral if isinstance(each, ProviderEvent)]
    assert ([each.name for each in own], [each for each in neutral if each not in own]) == NAMED[
        name
    ]
    assert all(each.data["type"] == each.name for each in own)


@joined("name", BROKEN)
def test_a_broken_stream_ends_in_a_typed_error_after_what_arrived(name: str):
    (kind, status, code, retryable, words), text = BROKEN[name]
    outcome = read(STREAMS[name])
    error = outcome.error
    assert error is not None
    assert (type(error), error.status, error.code, error.retryable, error.message) == (
        kind,
        status,
        code,
        retryable,
        words,
    )
    assert outcome.reply.text == text
    with pytest.raises(kind) as caught:
        parse_response(STREAMS[name])
    assert caught.value.message == words


def visible(outcome: Outcome) -> Any:
    error = outcome.error
    return (
        [event.raw for event in outcome.events],
        error and (type(error), str(error), error.raw),
        outcome.response.raw,
        outcome.neutral,
    )


@joined("name", STREAMS)
def test_nothing_depends_on_where_the_bytes_are_split(name: str):
    data = STREAMS[name]
    assert visible(read(*(data[at : at + 1] for at in range(len(data))))) == visible(read(data))


@pytest.mark.sampled
@joined("name", ["two-messages", "error-flat", "failed", "surrogates"])
def test_nothing_depends_on_any_one_split(name: str):
    data = STREAMS[name]
    expected = visible(read(data))
    for cut in sample(range(len(data) + 1)):
        assert visible(read(data[:cut], data[cut:])) == expected, cut


@joined("name", WHOLE)
def test_a_stream_that_is_cut_is_never_taken_for_complete(name: str):
    """Cut before each event, and in the middle of it."""
    data = STREAMS[name]
    complete = [event.raw for event in read(data).events]
    *starts, last = [at for at in range(len(data)) if data.startswith(b"data: {", at)]
    for start in [*starts, last]:
        for cut in (start, start + 9):
            outcome = read(data[:cut])
            raws = [event.raw for event in outcome.events]
            assert raws == complete[: len(raws)]
            assert len(raws) < len(complete)
            assert type(outcome.error) is StreamIncomplete


@joined("name", WHOLE)
def test_the_text_of_a_cut_stream_is_what_arrived(name: str):
    """The beginning of the text, however the host counts its parts."""
    data = STREAMS[name]
    whole = read(data).reply
    for end in [at for at in range(len(data)) if data.startswith(b"\n\n", at)]:
        reply = read(data[: end + 2]).reply
        if name not in ("two-parts", "second-created", "again-from-the-middle"):
            assert whole.text.startswith(reply.text.rstrip("\ufffd"))
        assert whole.thought.startswith(reply.thought)


def test_an_end_that_differs_from_the_deltas_starts_the_reply_anew():
    """The final text is not spliced to what was shown, whether it is longer or shorter."""
    said = [delta(0, "Ebb at "), delta(0, "nine.")]
    for final in ("Ebb at ten, flood at four.", "Ebb", "Flood at nine."):
        whole = message(final)
        ended = {"type": "response.output_item.done", "output_index": 0, "item": whole}
        for events in ([*said, ended, completed(whole)], [*said, completed(whole)]):
            outcome = read(sse(CREATED, *events))
            assert outcome.reply.text == final
            assert outcome.neutral == [*texts("Ebb at ", "nine."), Restart(), *texts(final)]
    longer = message("Ebb at nine. Flood at three.")
    outcome = read(sse(CREATED, *said, completed(longer)))
    assert outcome.neutral == texts("Ebb at ", "nine.", " Flood at three.")


def test_arguments_that_differ_from_their_deltas_start_the_reply_anew():
    made = function_call(0, "tide", '{"port":"Brest"}')
    begins = {**made, "arguments": ""}
    shown = [
        {"type": "response.output_item.added", "output_index": 0, "item": begins},
        delta(0, '{"port":"Br', "function_call_arguments"),
        delta(0, "est", "function_call_arguments"),
    ]
    other = {**made, "arguments": '{"port":"Dover"}'}
    outcome = read(sse(CREATED, *shown, completed(other)))
    begun = [ToolCallStart(0, "tide", made["call_id"]), ToolCallDelta(0, '{"port":"Br')]
    anew = call(0, other, {"port": "Dover"})
    assert [*outcome.neutral[:2], *outcome.neutral[-4:]] == [*begun, Restart(), *anew]
    assert outcome.reply.tool_calls[0].arguments == {"port": "Dover"}


@joined("name", STREAMS)
def test_of_an_event_its_bytes_are_enough(name: str):
    events = read(STREAMS[name]).events
    assert fold([msgspec.Raw(event.raw or b"") for event in events]).raw == fold(events).raw


@joined("name", WHOLE)
def test_what_no_field_holds_is_reported(name: str):
    unknown = {path for path, _ in wire.unknown(read(STREAMS[name]).response)}
    assert unknown == ({"output[0].depth"} if name == "unknown" else set())


def test_a_complete_item_keeps_its_bytes():
    first, _ = read(STREAMS["unknown"]).response.output or []
    assert first.raw == (b'{"id":"so_t1","type":"sounding","depth":[1,2.5],"status":"generating"}')


def test_reading_ends_at_the_last_event():
    reader = ChunkReader()
    data = STREAMS["text"]
    assert [event.type for event in reader.feed(data)][-1] == "response.completed"
    assert (reader.done, reader.finished) == (True, True)
    assert (reader.feed(data), reader.close(), reader.error) == ([], [], None)


def test_usage_and_stop_of_a_stream():
    reply = read(STREAMS["text"]).reply
    assert (reply.stop.reason, reply.stop.raw) == ("end", "completed")
    assert reply.usage == wire.Usage(input=9, output=7, cached=4, reasoning=3, total=16)
    cut = read(STREAMS["call-cut-by-the-limit"]).reply
    assert (cut.stop.reason, cut.stop.raw, cut.usage) == ("length", "max_output_tokens", None)
