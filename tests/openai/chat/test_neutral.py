"""Responses of chat completions as neutral replies, and received messages that are sent back."""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Generator
from typing import Any, cast

import anyio
import msgspec
import pytest

from tests.conformance.quirks import Served, dialect_of_case, read
from tests.conformance.test_quirks import CASES
from tests.joined import joined
from wire import AsyncClient, Chat, Client, notes, openai, retry
from wire.catalogue.usage import Usage
from wire.core.memory import PARTIAL, encode
from wire.errors import BlockedError, StreamIncomplete, StreamInvalid, WireError
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Origin,
    Reply,
    Stop,
    TextDelta,
    ThoughtDelta,
    ToolCallEnd,
    with_origin,
)
from wire.neutral.request import Request
from wire.openai import Dialect, EventReader, parse_reply, render_request
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.testing import AsyncReplay, Replay

from .bodies import DONE, chunk, piece, sse
from .neutral import HI, TIDE, A, asked, dialect_of, received, reply_of, results, row_of, sent
from .test_provider_fixtures import FOLDER, KEY, NAMES, PORTS, expected

# --- every provider, every stream -----------------------------------------------------------------


def conversation(
    name: str, dialect: Dialect, stored: bool
) -> Generator[Any, tuple[list[Event], Reply], list[Reply]]:
    """Both steps of a fixture: yields calls, takes their events and replies."""
    wanted = expected(name)
    said = [
        Message.user(f"When is high tide in {' and in '.join(call.port for call in wanted.calls)}?")
    ]
    replies: list[Reply] = []
    while True:
        request = Request(messages=tuple(said), tools=(TIDE,), options={name: wanted.options})
        call = openai.stream_call(request, wanted.model, row_of(dialect, name))
        events, reply = yield call
        assert events[-1] == Done(reply)
        assert (
            openai.call(request, wanted.model, row_of(dialect, name)).parse(reply.answer.raw)
            == reply
        )
        assert [event.call for event in events if isinstance(event, ToolCallEnd)] == list(
            reply.tool_calls
        )
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == reply.text
        assert (
            "".join(event.text for event in events if isinstance(event, ThoughtDelta))
            == reply.thought
        )
        replies.append(reply)
        if not reply.tool_calls:
            return replies
        message = pickle.loads(pickle.dumps(reply.message)) if stored else reply.message
        said += [
            message,
            *(
                Message.tool_result(each, {"high_tide": PORTS[each.arguments["port"]]})
                for each in reply.tool_calls
            ),
        ]


def talk(name: str, style: str, stored: bool) -> list[Reply]:
    """The recordings have the requests of the raw door, and match no other request."""
    path, url = FOLDER / f"{name}.cassette.json", expected(name).base_url
    url_option: Any = {"base_url": url} if url else {}

    async def main() -> list[Reply]:
        async with AsyncClient(name, api_key=KEY, http=AsyncReplay(path), **url_option) as client:
            steps = conversation(name, dialect_of(name), stored)
            call = next(steps)
            while True:
                async with client.stream(call) as stream:
                    events = [event async for event in stream]
                try:
                    call = steps.send((events, await stream.result()))
                except StopIteration as end:
                    return list(end.value)

    if style != "sync":
        return anyio.run(main, backend=style)
    with Client(name, api_key=KEY, http=Replay(path), **url_option) as client:
        steps = conversation(name, dialect_of(name), stored)
        call = next(steps)
        while True:
            with client.stream(call) as stream:
                events = list(stream)
            try:
                call = steps.send((events, stream.result()))
            except StopIteration as end:
                return list(end.value)


@pytest.mark.row("S0-05", "S1-22", "S1-34", "S1-52")
@joined(("style", "stored"), [("sync", False), ("sync", True), ("asyncio", False), ("trio", False)])
@joined("name", NAMES)
def test_a_conversation_with_every_provider(name: str, style: str, stored: bool):
    """A received message is sent back as by the raw door, also after pickling."""
    wanted = expected(name)
    first, last = talk(name, style, stored)
    assert ([first.text, last.text], [first.thought, last.thought]) == (
        wanted.texts,
        wanted.thoughts,
    )
    assert [first.usage, last.usage] == wanted.usage
    assert [(call.id, call.arguments) for call in first.tool_calls] == [
        (call.id, {"port": call.port}) for call in wanted.calls
    ]
    assert (first.notes, list(map(str, last.notes))) == ((), wanted.notes)
    assert last.message.origin == Origin(name, wanted.model, "openai", encode(last.answer.message))
    assert (bool(last.id), bool(last.model)) == (True, True)


@pytest.mark.row("S1-25", "S1-27", "S1-52", "U-78")
@joined("name", CASES)
def test_every_odd_stream(name: str):
    """The neutral door reports the same as the raw one; the folded reply equals that of a complete
    response.
    """
    case = CASES[name]
    body, seen = case["sse"].encode(), read(case, [case["sse"].encode()])
    call = openai.stream_call(asked(), "m", row_of(dialect_of_case(case)))
    events: list[Event] = []
    failure: WireError | None = None
    with Client("openai", api_key=KEY, http=Served(case, [body]), retry=retry.NONE) as client:
        try:
            with client.stream(call) as stream:
                for event in stream:
                    events.append(event)
        except WireError as error:
            failure = error
    wanted = seen.replies[0]
    if failure is not None:
        assert type(failure) is type(seen.error)
        assert failure.partial is None or failure.partial.text == wanted.text
        return
    reply = stream.result()
    assert (seen.error, events[-1]) == (None, Done(reply))
    assert (reply.message, reply.stop, reply.usage) == (wanted.message, wanted.stop, wanted.usage)
    if reply.answer.choices:
        again = parse_reply(
            parse_completion(reply.answer.raw),
            dialect_of_case(case),
            body=call.body,
            model="m",
        )
        assert msgspec.structs.replace(again, notes=reply.notes) == reply


ARGUMENTS: list[tuple[Any, dict[str, Any] | None, str]] = [
    ('{"n": 1, "m": null}', {"n": 1, "m": None}, '{"n": 1, "m": null}'),
    ({"n": 1}, {"n": 1}, '{"n":1}'),
    ("", {}, ""),
    (None, {}, ""),
    ("null", {}, "null"),
    ("[1]", None, "[1]"),
    ("5", None, "5"),
    ("{'n': 1}", None, "{'n': 1}"),
    ('{"n": 1', None, '{"n": 1'),
    ('```json\n{"n": 1}\n```', None, '```json\n{"n": 1}\n```'),
    ("<n>1</n>", None, "<n>1</n>"),
]


@pytest.mark.row("S1-25")
@joined(("sent", "arguments", "text"), ARGUMENTS)
def test_arguments_are_an_object_nothing_or_invalid(
    sent: Any, arguments: dict[str, Any] | None, text: str
):
    """What is no object is kept as it came, and never becomes `{}`."""
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": sent}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    body = {"choices": [{"message": message, "finish_reason": "tool_calls"}]}
    whole = parse_reply(parse_completion(json.dumps(body).encode()))
    delta = {"delta": {"tool_calls": [{"index": 0, **call}]}, "finish_reason": "tool_calls"}
    events = EventReader()
    [said] = ChunkReader().feed(f"data: {json.dumps({'choices': [delta]})}\n\n".encode())
    events.feed(said)
    events.close()
    for reply in (whole, events.reply()):
        [made] = reply.tool_calls
        assert (made.arguments, made.text) == (arguments, text)
    absent = {"id": "c", "type": "function", "function": {"name": "f"}}
    body = {"choices": [{"message": {"role": "assistant", "tool_calls": [absent]}}]}
    assert parse_reply(parse_completion(json.dumps(body).encode())).tool_calls[0].arguments == {}


@pytest.mark.row("S1-27")
@joined(
    ("pieces", "text"),
    [
        (['{"n":1', "1}"], '{"n":11}'),  # one that looks for overlaps makes {"n":1} of it
        (['{"a":', '{"a":', "1}}"], '{"a":{"a":1}}'),
        (['{"s":"', "ab", "ab", '"}'], '{"s":"abab"}'),
        ([{"n": 1}, {"n": 1, "m": 2}], '{"n":1,"m":2}'),
        ([{}, '{"n":', "1}"], '{"n":1}'),
    ],
)
def test_pieces_are_joined_as_they_come_and_values_replace(pieces: list[Any], text: str):
    events = EventReader()
    for number, fragment in enumerate(pieces):
        named: dict[str, Any] = {"id": "c", "function": {"name": "f", "arguments": fragment}}
        further: dict[str, Any] = {"function": {"arguments": fragment}}
        call = {"index": 0, **(further if number else named)}
        data = json.dumps({"choices": [{"delta": {"tool_calls": [call]}}]})
        [said] = ChunkReader().feed(f"data: {data}\n\n".encode())
        events.feed(said)
    events.close()
    [made] = events.reply().tool_calls
    assert (made.text, made.arguments) == (text, json.loads(text))


# --- what is read ---------------------------------------------------------------------------------


def streamed(body: bytes, call: Any) -> tuple[list[Event], WireError | None, Any]:
    events: list[Event] = []
    with Client("openai", api_key=KEY, http=Served({}, [body]), retry=retry.NONE) as client:
        try:
            with client.stream(call) as stream:
                for event in stream:
                    events.append(event)
        except WireError as error:
            return events, error, None
    return events, None, stream


@pytest.mark.row("S1-26")
def test_ids_that_nobody_gave_are_made_of_the_request():
    call = openai.stream_call(asked(), "m")
    _, _, stream = streamed(
        sse(chunk(piece('{"a":1}', name="f")), chunk(piece("{}", name="g", index=1), "stop"), DONE),
        call,
    )
    message = stream.result().message
    first, second = message.tool_calls
    assert (first.id[:-1], second.id) == (
        second.id[:-1],
        f"call_{hashlib.sha256(call.body).hexdigest()[:12]}_1",
    )
    answers = [Message.tool_result(second, "2"), Message.tool_result(first, "1")]
    back = sent(HI, message, *answers)
    assert (
        [each["id"] for each in back[1]["tool_calls"]]
        == [first.id, second.id]
        == [each["tool_call_id"] for each in back[2:]]
    )
    assert [each["content"] for each in back[2:]] == ["1", "2"]


@pytest.mark.row("S1-21")
def test_an_answer_without_choices():
    with pytest.raises(StreamInvalid, match="the response has no choices") as caught:
        openai.call(asked(), "m").parse(b'{"id":"c1","choices":[]}')
    assert (caught.value.raw, caught.value.partial.id) == (b'{"id":"c1","choices":[]}', "c1")


@pytest.mark.row("S1-21")
def test_content_may_be_null_a_text_or_parts():
    texts = [
        reply_of({"content": content}).text
        for content in (None, "Hi", [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}])
    ]
    assert texts == ["", "Hi", "Hi"]


@pytest.mark.row("U-61")
@pytest.mark.parametrize("message", [{"content": None}, {"reasoning": "Hm"}, {"content": ""}])
def test_a_filtered_answer_of_which_nothing_is_left_is_an_error(message: Any):
    with pytest.raises(BlockedError) as caught:
        openai.call(asked(), "m").parse(
            json.dumps(
                {"choices": [{"message": message, "finish_reason": "content_filter"}]}
            ).encode()
        )
    assert (caught.value.code, caught.value.partial.stop.reason) == ("content_filter", "filter")
    _, error, _ = streamed(
        sse(chunk(message, "content_filter"), DONE), openai.stream_call(asked(), "m")
    )
    assert isinstance(error, BlockedError)
    assert (error.code, error.partial) == ("content_filter", caught.value.partial)


@pytest.mark.row("U-61")
def test_a_filtered_answer_of_which_something_is_left_is_none():
    events, error, stream = streamed(
        sse(chunk({"content": "Hi"}, "content_filter"), DONE), openai.stream_call(asked(), "m")
    )
    reply = stream.result()
    assert (error, events, reply.stop.reason) == (None, [TextDelta("Hi"), Done(reply)], "filter")


@pytest.mark.row("U-61", "U-65", "S1-22")
@joined(
    ("finish", "reason"),
    [
        ("stop", "end"),
        ("length", "length"),
        ("tool_calls", "tool_calls"),
        ("content_filter", "filter"),
        ("odd", "other"),
    ],
)
def test_stop_and_usage(finish: str, reason: str):
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "total_tokens": 14,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    body = {"choices": [{"message": {"content": "Hi"}, "finish_reason": finish}], "usage": usage}
    whole = openai.call(asked(), "m").parse(json.dumps(body).encode())
    _, _, stream = streamed(
        sse(chunk({"content": "Hi"}, finish), {"choices": [], "usage": usage}, DONE),
        openai.stream_call(asked(), "m"),
    )
    assert whole == stream.result()
    assert whole.usage == Usage(input=9, output=5, cached=4, reasoning=3, total=14)
    assert whole.stop == Stop(reason=cast(Any, reason), raw=finish)


def test_what_had_arrived_is_a_reply():
    events, error, _ = streamed(
        sse(chunk({"content": "Hel"}), chunk({"content": "lo"})),
        openai.stream_call(asked(search_grounding=True), "m"),
    )
    assert isinstance(error, StreamIncomplete)
    searching, *cut = error.partial.notes
    assert (error.partial.text, searching.path, cut, len(events)) == (
        "Hello",
        "search_grounding",
        [PARTIAL],
        2,
    )
    with pytest.raises(StreamIncomplete) as caught:
        openai.call(asked(), "m").parse(
            b'{"choices":[{"message":{"content":"Hel"},"finish_reason":"network_error"}]}'
        )
    partial = caught.value.partial
    assert (partial.text, partial.stop.reason, partial.notes) == ("Hel", "error", (PARTIAL,))


def test_notes_of_the_request_come_before_those_of_the_answer():
    call = openai.stream_call(asked(search_grounding=True), "m")
    _, _, stream = streamed(
        b"data: not json\n\n" + sse(chunk({"content": "Hi"}, "stop"), DONE), call
    )
    assert [note.path for note in stream.result().notes] == ["search_grounding", "event 1"]
    whole = openai.call(asked(search_grounding=True), "m").parse(
        b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'
    )
    assert (whole.notes, whole.answer.message.content) == (call.notes, "Hi")
    odd = openai.call(asked(search_grounding=True), "m").parse(
        b"data: not json\n\n" + sse(chunk({"content": "Hi"}, "stop"), DONE)
    )
    assert odd.notes == stream.result().notes


def test_the_dialect_reads_the_answer():
    """MiniMax repeats the earlier text of a thought in each chunk."""
    details = [
        {"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text}]}
        for text in ("H", "Hm")
    ]
    _, _, stream = streamed(
        sse(*map(chunk, details), chunk({"content": "Hi"}, "stop"), DONE),
        openai.stream_call(asked(), "m", row_of(dialect_of("minimax"))),
    )
    reply = stream.result()
    assert (reply.thought, reply.message.parts[0].details[0]["text"]) == ("Hm", "Hm")


# --- what goes back of what a model said ----------------------------------------------------------

ODD: dict[str, Any] = {
    "role": "assistant",
    "content": "Let me see.",
    "reasoning_content": "Hm",
    "mood": {"b": 1.0},
    "tool_calls": [
        {
            "id": "call_1",
            "index": 0,
            "type": "function",
            "shore": True,
            "function": {"name": "get_tide", "arguments": '{ "port" : "Brest" }'},
        },
        {
            "id": "call_2",
            "type": "function",
            "function": {"name": "get_tide", "arguments": "[broken"},
        },
    ],
}
OPEN = Dialect(verbatim=True, reasoning_slots=("reasoning_content",))
DIALECTS = [
    openai.PLAIN,
    OPEN,
    *(
        dialect_of(name)
        for name in ("openai", "deepseek", "mistral", "minimax", "kimi", "gemini@openai")
    ),
]


@pytest.mark.row("S1-23")
@joined("dialect", DIALECTS)
@joined("stored", [False, True])
def test_a_message_goes_back_as_messages_sends_it(dialect: Dialect, stored: bool):
    answer = received(ODD, "tool_calls")
    reply = parse_reply(answer, dialect, provider="p", model="m")
    wanted = openai.messages(
        "Hi",
        answer,
        [openai.tool_message(call, "17:42") for call in reply.tool_calls],
        dialect=dialect,
    )
    message = pickle.loads(pickle.dumps(reply.message)) if stored else reply.message
    made = render_request(asked(HI, message, *results(reply)), "m", row_of(dialect, "p"))
    assert encode(made.messages) == encode(list(wanted))
    assert notes(made) == notes(wanted)


@pytest.mark.row("S1-23")
def test_bytes_are_kept_and_so_are_those_of_a_call_in_a_changed_message():
    reply = reply_of(ODD)
    raw = json.dumps(ODD["tool_calls"][1]).encode()
    assert (
        encode(
            render_request(asked(HI, reply.message, *results(reply)), "m", row_of(OPEN)).messages[1]
        )
        == reply.answer.message.raw
    )
    changed = msgspec.structs.replace(reply.message, parts=reply.message.parts[2:])
    back = encode(
        render_request(asked(HI, changed, *results(reply)), "m", row_of(OPEN)).messages[1]
    )
    assert raw in back
    assert json.loads(back) == {"role": "assistant", "tool_calls": ODD["tool_calls"]}


@pytest.mark.row("S0-03")
@pytest.mark.parametrize(("provider", "model"), [("other", "m"), ("openai", "m2")])
def test_another_model_is_told_no_more_than_text_and_calls(provider: str, model: str):
    reply = reply_of({**ODD, "extra_content": {"a": 1}})
    made = render_request(asked(HI, reply.message, *results(reply)), model, row_of(OPEN, provider))
    function = {"name": "get_tide", "arguments": '{ "port" : "Brest" }'}
    said = json.loads(encode(made.messages[1]))
    assert said["tool_calls"][0] == {"id": "call_1", "type": "function", "function": function}
    assert said["tool_calls"][1]["function"]["arguments"] == "[broken"
    assert (set(said), said["content"]) == ({"role", "content", "tool_calls"}, "Let me see.")
    assert list(map(str, notes(made))) == [
        "messages[1].parts[0]: withheld: a thought of another model"
    ]


@pytest.mark.row("S1-34")
def test_deepseek_gets_its_reasoning_back_and_others_an_empty_one():
    deepseek = dialect_of("deepseek")
    own = reply_of(ODD, "deepseek", "deepseek-v4-pro", deepseek)
    for message in (own.message, msgspec.structs.replace(own.message)):
        made = render_request(asked(HI, message, *results(own)), "deepseek-v4-pro", "deepseek")
        assert made.messages[1].reasoning_content == "Hm"
        assert [note.path for note in notes(made)][-1:] == ["messages[1].tool_calls[0].shore"]
    foreign = reply_of(ODD, "kimi", "kimi-k2.6")
    made = render_request(
        asked(HI, foreign.message, *results(foreign)),
        "deepseek-v4-pro",
        "deepseek",
    )
    assert json.loads(encode(made.messages[1]))["reasoning_content"] == ""
    assert "messages[1].reasoning_content: added: this host refuses calls without it" in list(
        map(str, notes(made))
    )


@pytest.mark.row("S0-03")
def test_mistral_gets_ids_of_its_own_form():
    mistral = dialect_of("mistral")
    foreign = reply_of(ODD, "deepseek", "deepseek-v4-pro")
    made = sent(HI, foreign.message, *reversed(results(foreign)), dialect=mistral)
    ids = [call["id"] for call in made[1]["tool_calls"]]
    assert ids == [each["tool_call_id"] for each in made[2:]]
    assert all(len(id) == 9 and id.isalnum() for id in ids)
    again = sent(HI, foreign.message, *results(foreign), dialect=mistral)
    assert again == made


MISTRAL_SAID = {
    "role": "assistant",
    "content": [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]},
        {"type": "text", "text": "Hi"},
    ],
}
DETAILS = [{"type": "reasoning.text", "index": 0, "text": "Hm", "signature": "c2ln"}]


@joined(
    ("name", "said", "key", "value"),
    [
        ("mistral", MISTRAL_SAID, "content", MISTRAL_SAID["content"]),
        ("minimax", {"content": "<think>Hm</think>Hi"}, "content", "<think>Hm</think>Hi"),
        ("minimax", {"content": "Hi", "reasoning_details": DETAILS}, "reasoning_details", DETAILS),
        (
            "openrouter",
            {"content": "Hi", "reasoning": "Hm", "reasoning_details": DETAILS},
            "reasoning_details",
            DETAILS,
        ),
        ("vllm", {"content": "Hi", "reasoning": "Hm"}, "reasoning", "Hm"),
        ("vllm", {"content": "Hi", "reasoning_content": "Hm"}, "reasoning_content", "Hm"),
        ("fireworks", {"content": "Hi", "reasoning_content": "Hm"}, "reasoning_content", None),
        ("openai", {"content": "Hi", "reasoning_text": "Hm"}, "reasoning_text", None),
        ("gemini@openai", MISTRAL_SAID, "content", "Hi"),
    ],
)
def test_thoughts_of_a_changed_message_go_to_the_slot_they_came_in(
    name: str, said: Any, key: str, value: Any
):
    reply = reply_of(said, name, "m", dialect_of(name))
    changed = msgspec.structs.replace(reply.message)
    assert (changed.origin, changed.thought, changed.text) == (None, "Hm", "Hi")
    made = render_request(asked(HI, changed, HI), "m", name)
    assert json.loads(encode(made.messages[1])).get(key) == value
    kept = value is not None and value != "Hi"
    assert [note.message.partition(":")[0] for note in notes(made)] == (
        [] if kept else ["withheld" if key != "content" else "reasoning withheld"]
    )


def test_the_old_call_without_an_id_goes_back_as_a_new_one():
    reply = reply_of(
        {"content": None, "function_call": {"name": "get_tide", "arguments": '{"port":"Brest"}'}}
    )
    [call] = reply.tool_calls
    made = sent(HI, reply.message, *results(reply))
    assert (made[1]["tool_calls"][0]["id"], made[2]["tool_call_id"], made[2]["role"]) == (
        call.id,
        call.id,
        "tool",
    )


def test_what_is_remembered_and_cannot_be_read_is_written_anew():
    call = msgspec.structs.replace(A)
    said = with_origin(
        Message.assistant("Hi", with_origin(call, Origin("openai", "m", "openai", b"[]"))),
        Origin("openai", "m", "openai", b"{"),
    )
    made = render_request(asked(HI, said, Message.tool_result(call, "1")), "m")
    assert (made.messages[1].content, made.messages[1].tool_calls[0].id) == ("Hi", "call_A")
    assert [note.path for note in notes(made)] == ["messages[1]", "messages[1].parts[1]"]


def test_bytes_of_another_wire_are_not_sent():
    said = with_origin(
        Message.assistant("Hi"),
        Origin("openai", "m", "gemini", b'{"role":"model","parts":[{"text":"Hi"}]}'),
    )
    assert sent(HI, said, HI)[1] == {"role": "assistant", "content": "Hi"}


def test_an_empty_old_call_is_none():
    reply = reply_of(
        {
            "role": "assistant",
            "content": "Hi",
            "function_call": {"name": "", "arguments": ""},
            "mood": 1,
        }
    )
    assert (
        reply.tool_calls,
        encode(render_request(asked(HI, reply.message, HI), "m", row_of(OPEN)).messages[1]),
    ) == ((), reply.message.origin.raw)


def test_extras_go_to_who_takes_them():
    extra = {"google": {"thought_signature": "c2ln"}}
    wire_call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": extra,
    }
    for name, beside in (("gemini@openai", extra), ("deepseek", None)):
        own = reply_of({"content": None, "tool_calls": [wire_call]}, name, "m")
        bare = with_origin(
            msgspec.structs.replace(own.tool_calls[0]), Origin(name, "m", "openai")
        )  # of an event, without bytes
        for call in (own.tool_calls[0], bare):
            made = render_request(
                asked(HI, Message.assistant(call), *results(own)),
                "m",
                name,
            )
            assert (
                json.loads(encode(made.messages[1]))["tool_calls"][0].get("extra_content") == beside
            )
    by_hand = Message.assistant(msgspec.structs.replace(own.tool_calls[0]))
    assert sent(HI, by_hand, *results(own))[1]["tool_calls"][0]["extra_content"] == extra


def test_a_message_of_another_role_goes_back_with_half_a_surrogate_pair_replaced() -> None:
    """Half a pair in a field other than a text was an error of Python when the role was mended."""
    detail = {"type": "a\ud83dA", "index": 0, "text": "Noon.", "signature": "c2ln"}
    message = {"role": ["assistant"], "content": "High.", "reasoning_details": [detail]}
    reply = parse_reply(received(message), provider="openrouter", model="m")
    with Chat("openrouter:m", api_key="fake-key") as chat:
        call = chat.call(messages=[HI, reply.message, HI])
    said = json.loads(call.body)["messages"][1]
    assert said == {
        "role": "assistant",
        "content": "High.",
        "reasoning_details": [{**detail, "type": "a\ufffdA"}],
    }
