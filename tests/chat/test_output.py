"""`output=`: values that grow in a stream, and answers that are asked for again."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

import anyio
import httpx
import msgspec
import pydantic
import pytest

from tests.chat.test_chat import GEMINI, Door
from tests.core.test_linear import is_linear
from tests.joined import joined
from wire import (
    AsyncChat,
    Chat,
    Client,
    Done,
    FallbackChat,
    Message,
    ObjectDelta,
    Restart,
    TextDelta,
    Usage,
    answer_account,
    cost,
)
from wire.around import Around, CallEnded, CallFailed
from wire.core.memory import PARTIAL
from wire.errors import (
    BlockedError,
    ConfigurationError,
    OutputError,
    RateLimitError,
    SchemaError,
    ServerError,
)
from wire.neutral.messages import Event, Reply
from wire.testing.emulator import Emulator, EmulatorTransport


@dataclass
class Port:
    name: str
    depth: int


@dataclass
class Coast:
    ports: list[Port]
    open: bool


class Strict(pydantic.BaseModel):
    name: str
    depth: int


WIRES = {
    "Gemini": "gemini:gemini-3.8-flash",
    "Messages": "anthropic:claude-sonnet-5",
    "Messages, schema in the system text": "anthropic:claude-3-haiku-20240307",
    "Responses": "openai@responses:gpt-5.5",
    "chat completions": "openai@chat:gpt-5.4",
    "chat completions, json_object": "deepseek:deepseek-v4-flash",
}
COAST = (
    '{"ports": [{"name": "Brest", "depth": 12}, {"name": "Le Havre", "depth": 15}], "open": true}'
)
PORT, WRONG, WORSE = (
    '{"name": "Brest", "depth": 12}',
    '{"name": "Brest", "depth": "12 m"}',
    '{"name": "Brest"}',
)
WHY = "the answer does not match Port: $.depth: Expected `int`, got `str`"
TOLD = f"{WHY}. Answer again, with JSON that matches the schema."


@pytest.fixture(params=["threads", "asyncio", "trio"])
def door(request: pytest.FixtureRequest) -> Door:
    return Door(request.param)


def saying(*texts: Any) -> Emulator:
    return Emulator([{"say": text} for text in texts], lenient=True)


def whole(events: list[Event]) -> list[tuple[Any, Any]]:
    return [
        (each.path, each.value)
        for each in events
        if isinstance(each, ObjectDelta) and not each.growing
    ]


# --- values that grow -----------------------------------------------------------------------------


@joined("model", WIRES.values(), ids=WIRES)
def test_a_stream_tells_each_field_when_it_is_whole(door: Door, model: str) -> None:
    events, reply = door.stream(saying(COAST), "Which ports?", output=Coast, model=model)
    brest, havre = {"name": "Brest", "depth": 12}, {"name": "Le Havre", "depth": 15}
    both = {"ports": [brest, havre]}
    assert whole(events) == [
        (("ports", 0, "name"), {"ports": [{"name": "Brest"}]}),
        (("ports", 0, "depth"), {"ports": [brest]}),
        (("ports", 0), {"ports": [brest]}),
        (("ports", 1, "name"), {"ports": [brest, {"name": "Le Havre"}]}),
        (("ports", 1, "depth"), both),
        (("ports", 1), both),
        (("ports",), both),
        (("open",), {**both, "open": True}),
        ((), {**both, "open": True}),
    ]
    assert reply.output == Coast([Port("Brest", 12), Port("Le Havre", 15)], True)
    assert isinstance(events[-1], Done)
    assert events[-1].reply is reply
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == COAST


def test_a_value_comes_after_the_text_that_it_is_made_of(door: Door) -> None:
    """And holds the text that has not ended, as far as it has come."""
    text = ""
    events, _ = door.stream(saying(COAST), "Which ports?", output=Coast)
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ObjectDelta):
            ports = event.value["ports"]
            assert all(json.dumps(port["name"])[:-1] in text for port in ports)
            assert "open" not in event.value or "true" in text
    long = '{"name": "Saint-Quay in the north of Brittany", "depth": 12}'
    events, _ = door.stream(saying(long), "Which port?", output=Port)
    growing = [each for each in events if isinstance(each, ObjectDelta) and each.growing]
    assert {each.path for each in growing} == {("name",)}
    names = [each.value["name"] for each in growing]
    assert names == sorted(set(names), key=len)
    assert all("Saint-Quay in the north of Brittany".startswith(name) for name in names)
    assert len(names) > 1


@joined(
    ("output", "text", "expected"),
    [
        (list[int], '{"value": [1, 2]}', [((0,), [1]), ((1,), [1, 2]), ((), [1, 2])]),
        (Literal["ebb", "flow"], '{"value": "ebb"}', [((), "ebb")]),
        ({"type": "object"}, '```json\n{"a": 1}\n```', [(("a",), {"a": 1}), ((), {"a": 1})]),
        (
            Strict,
            PORT,
            [
                (("name",), {"name": "Brest"}),
                (("depth",), {"name": "Brest", "depth": 12}),
                ((), {"name": "Brest", "depth": 12}),
            ],
        ),
    ],
)
def test_each_kind_of_output_grows(output: Any, text: str, expected: list[Any]) -> None:
    with Chat(WIRES["Gemini"], api_key="fake-key", http=EmulatorTransport(saying(text))) as chat:
        with chat.stream("Hi", output=output) as events:
            assert whole(list(events)) == expected


def test_events_of_values_are_values() -> None:
    event = ObjectDelta({"name": "Br"}, ("name",), growing=True)
    assert repr(event) == "ObjectDelta({'name': 'Br'}, ('name',), growing=True)"
    assert pickle.loads(pickle.dumps(event)) == event
    assert event != ObjectDelta({"name": "Br"}, ("name",))
    match event:
        case ObjectDelta(value, path, growing):
            assert (value, path, growing) == ({"name": "Br"}, ("name",), True)


def test_no_value_grows_without_output_and_none_of_what_is_no_json(door: Door) -> None:
    events, _ = door.stream(saying(PORT), "Hi")
    assert not [each for each in events if isinstance(each, ObjectDelta)]
    http = saying("I see one port.")
    with pytest.raises(OutputError):
        door.stream(http, "Hi", output=Port, output_retries=0)


def test_a_value_begins_anew_when_the_host_runs_the_model_again(door: Door) -> None:
    def event(kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, **fields}

    start = event("message_start", message={"id": "m", "type": "message", "role": "assistant"})

    def block(text: str) -> list[dict[str, Any]]:
        return [
            event("content_block_start", index=0, content_block={"type": "text", "text": ""}),
            event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}),
        ]

    end = [
        event("content_block_stop", index=0),
        event("message_delta", delta={"stop_reason": "end_turn"}),
        event("message_stop"),
    ]
    stream = [start, *block('{"name": "Bo'), start, *block(PORT), *end]
    emulator = Emulator([{"stream": stream}])
    events, reply = door.stream(emulator, "Hi", output=Port, model=WIRES["Messages"])
    kinds = [type(each) for each in events]
    assert kinds.count(Restart) == 1
    after = events[kinds.index(Restart) :]
    assert whole(after)[0] == (("name",), {"name": "Brest"})
    assert (after[0], reply.output, reply.reasks) == (Restart(), Port("Brest", 12), ())


def test_a_stream_of_values_takes_linear_work() -> None:
    """No delta parses what came before it."""

    def run(n: int) -> Callable[[], Any]:
        text = json.dumps({"value": list(range(n))})
        chunks: list[Any] = [
            {"candidates": [{"content": {"parts": [{"text": text[at : at + 3]}]}, "index": 0}]}
            for at in range(0, len(text), 3)
        ]
        chunks[-1]["candidates"][0]["finishReason"] = "STOP"
        http = EmulatorTransport(Emulator([{"stream": chunks}]))
        chat = Chat(WIRES["Gemini"], api_key="fake-key", http=http)

        def read() -> None:
            with chat.stream("Hi", output=list[int]) as events:
                assert sum(isinstance(each, ObjectDelta) for each in events) == n + 1

        return read

    is_linear(run)


# --- asking again ---------------------------------------------------------------------------------


def turns(emulator: Emulator, at: int = -1) -> list[tuple[str, str]]:
    """Role and text of each turn of a request, in the words of its wire."""
    body = emulator.requests[at]["body"]
    found = body.get("contents") or body.get("messages") or body.get("input")
    return [
        (each["role"], _text(each.get("parts") or each.get("content")))
        for each in found
        if each.get("role", "system") not in ("system", "developer")
    ]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(each["text"] for each in content)


@joined("model", WIRES.values(), ids=WIRES)
def test_an_answer_that_does_not_fit_goes_back_with_its_errors(door: Door, model: str) -> None:
    for streams in (False, True):
        emulator = saying(WRONG, PORT)
        if streams:
            _, reply = door.stream(emulator, "How deep?", output=Port, model=model)
        else:
            reply = door.ask(emulator, "How deep?", output=Port, model=model)
        its_own = "model" if model.startswith("gemini") else "assistant"
        question = ("user", "How deep?")
        assert turns(emulator) == [question, (its_own, WRONG), ("user", TOLD)]
        assert (reply.output, reply.text) == (Port("Brest", 12), PORT)
        assert [(each.text, each.output) for each in reply.reasks] == [(WRONG, None)]
        assert f"output: asked again (1 of 1): {WHY}" in map(str, reply.notes)
        assert len(reply.notes) == len(set(reply.notes))
        assert len(emulator.requests) == 2


def test_the_conversation_stays_before_the_answer(door: Door) -> None:
    history = (Message.user("Hi"), Message.assistant("Hello."), Message.user("How deep?"))
    emulator = saying(WRONG, WORSE, PORT)
    asked = {"messages": iter(history), "output": Port, "output_retries": 2}
    reply = door.ask(emulator, model=WIRES["chat completions"], chat={"system": "Brief."}, **asked)
    missing = "the answer does not match Port: $: Object missing required field `depth`"
    assert [text for _, text in turns(emulator)][2:] == [
        "How deep?",
        WRONG,
        TOLD,
        WORSE,
        TOLD.replace(WHY, missing),
    ]
    assert emulator.requests[2]["body"]["messages"][0]["content"] == "Brief."
    assert (len(reply.reasks), reply.output) == (2, Port("Brest", 12))


def test_a_restart_comes_between_two_answers_of_a_stream(door: Door) -> None:
    events, reply = door.stream(saying(WRONG, PORT), "How deep?", output=Port)
    kinds = [type(each) for each in events]
    at = kinds.index(Restart)
    assert kinds.count(Restart) == kinds.count(Done) == 1
    assert whole(events[:at])[-1] == ((), {"name": "Brest", "depth": "12 m"})
    assert events[at] == Restart(WHY, reply.reasks[0])
    assert whole(events[at:])[0] == (("name",), {"name": "Brest"})
    assert whole(events[at:])[-1] == ((), {"name": "Brest", "depth": 12})
    assert events[-1] == Done(reply)


def test_usage_and_cost_are_those_of_all_answers(door: Door) -> None:
    for ask in (door.ask, lambda *args, **asked: door.stream(*args, **asked)[1]):
        reply = ask(saying(WRONG, WORSE, PORT), "Hi", output=Port, output_retries=2)
        alone = door.ask(saying(PORT), "Hi", output=Port)
        first, second = reply.reasks
        assert None not in (first.usage, second.usage, reply.usage, alone.usage)
        assert first.usage == door.ask(saying(WRONG), "Hi").usage
        assert second.usage.input > first.usage.input
        own = reply.usage.input - first.usage.input - second.usage.input
        assert own > second.usage.input
        assert reply.usage.output == sum(each.usage.output for each in (first, second, alone))
        assert reply.cost.total == cost(reply.usage, GEMINI).total, "no answer counts twice"
        assert (first.cost + second.cost).known < reply.cost.known
        assert pickle.loads(pickle.dumps(reply)).cost == reply.cost
        assert reply.message.origin is not None
        assert answer_account(reply).attempts == 1  # type: ignore[union-attr]
        assert answer_account(first) is not answer_account(reply)


def test_the_vendors_own_cost_of_each_answer_counts(door: Door) -> None:
    def answer(text: str, cost: float) -> dict[str, Any]:
        message = {"role": "assistant", "content": text}
        counts = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "cost": cost}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return {"answer": {"id": "c", "model": "m", "choices": choices, "usage": counts}}

    emulator = Emulator([answer(WRONG, 0.25), answer(PORT, 0.5)])
    reply = door.ask(emulator, "Hi", output=Port, model="openrouter:acme/acme-1")
    assert (reply.cost.total, reply.usage) == (Decimal("0.75"), Usage(input=2, output=2, total=4))


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_the_last_error_has_all_answers(door: Door, retries: int) -> None:
    for ask in (door.ask, door.stream):
        emulator = saying(*[WRONG] * (retries + 1))
        with pytest.raises(OutputError, match=r"\$\.depth: Expected `int`") as failed:
            ask(emulator, "Hi", output=Port, output_retries=retries)
        partial = failed.value.partial
        assert (partial.text, len(partial.reasks)) == (WRONG, retries)
        assert [str(each) for each in partial.notes] == [
            f"output: asked again ({n} of {retries}): {WHY}" for n in range(1, retries + 1)
        ]
        assert partial.usage.output == (retries + 1) * door.ask(saying(WRONG), "Hi").usage.output
        assert len(emulator.requests) == retries + 1


@joined(
    ("said", "error"),
    [
        ({"text": '{"name": "Br', "finish": "MAX_TOKENS"}, OutputError),
        ({"text": '{"name": "Br', "finish": "SAFETY"}, OutputError),
        ({"text": "", "finish": "SAFETY"}, BlockedError),
    ],
)
def test_a_cut_or_blocked_answer_is_not_asked_for_again(said: Any, error: type) -> None:
    for style in ("threads", "asyncio", "trio"):
        for ask in (Door(style).ask, Door(style).stream):
            emulator = saying(said, PORT)
            with pytest.raises(error):
                ask(emulator, "Hi", output=Port)
            assert len(emulator.requests) == 1


def test_a_refusal_is_not_asked_for_again(door: Door) -> None:
    message = {"role": "assistant", "content": None, "refusal": "No."}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    refused = {"id": "c", "object": "chat.completion", "model": "m", "choices": choices}
    emulator = Emulator([{"answer": refused}, {"say": PORT}])
    with pytest.raises(OutputError, match=r"refused: No\.") as failed:
        door.ask(emulator, "Hi", output=Port, model=WIRES["chat completions"])
    assert (failed.value.code, len(emulator.requests)) == ("refusal", 1)


@joined("model", WIRES.values(), ids=WIRES)
def test_an_empty_answer_is_left_out_of_the_next_request(door: Door, model: str) -> None:
    emulator = saying("", PORT)
    events, reply = door.stream(emulator, "How deep?", output=Port, model=model)
    assert isinstance(events[0], Restart)
    assert reply.output == Port("Brest", 12)
    told = "expected JSON, and the model's text is empty. Answer again, with JSON that matches"
    assert {role for role, _ in turns(emulator)} == {"user"}
    assert told in turns(emulator)[-1][1]


def test_while_a_tool_is_called_nothing_is_asked_again(door: Door) -> None:
    def now() -> str:
        """The time."""
        return "noon"

    emulator = saying({"calls": [{"name": "now"}]})
    events, reply = door.stream(emulator, "Hi", output=Port, tools=[now])
    assert (len(reply.tool_calls), reply.output, reply.reasks) == (1, None, ())
    assert not [each for each in events if isinstance(each, (Restart, ObjectDelta))]


def test_an_error_of_the_second_call_has_the_first_as_its_cause(door: Door) -> None:
    script: list[Any] = [{"say": WRONG}, {"fault": "429"}]
    for ask in (door.ask, door.stream):
        emulator = Emulator(script)
        with pytest.raises(RateLimitError) as failed:
            ask(emulator, "Hi", output=Port)
        assert isinstance(failed.value.__cause__, OutputError)
        assert failed.value.__cause__.partial.text == WRONG
        assert len(emulator.requests) == 2


def test_a_stream_that_could_not_ask_again_stays_failed(door: Door) -> None:
    emulator = Emulator([{"say": WRONG}, {"fault": "500"}, {"say": PORT}])
    failed: list[Any] = []

    def plain(chat: Chat) -> None:
        with chat.stream("Hi", output=Port) as events:
            for again in (lambda: list(events), events.reply, lambda: next(events)):
                with pytest.raises(ServerError) as caught:
                    again()
                failed.append(caught.value)

    async def tasks(chat: AsyncChat) -> None:
        async with chat.stream("Hi", output=Port) as events:
            for again in (events.__anext__, events.reply, events.__anext__):
                with pytest.raises(ServerError) as caught:
                    while True:
                        if isinstance(await again(), Reply):
                            break
                failed.append(caught.value)

    door.use(emulator, plain, tasks)
    assert failed == [failed[0]] * 3
    assert len(emulator.requests) == 2


def test_a_reply_is_read_without_its_events_and_partly(door: Door) -> None:
    """`reply()` asks again as well; a partial reply has the replies before it."""
    partial: list[Reply] = []

    def plain(chat: Chat) -> Reply:
        with chat.stream("Hi", output=Port) as events:
            while not isinstance(next(events), Restart):
                pass
            partial.append(events.partial())
            assert events.account.attempts == 1
            assert events.reply() is events.reply()
            return events.reply()

    async def tasks(chat: AsyncChat) -> Reply:
        async with chat.stream("Hi", output=Port) as events:
            while not isinstance(await anext(events), Restart):
                pass
            partial.append(events.partial())
            assert events.account.attempts == 1
            assert await events.reply() is await events.reply()
            return await events.reply()

    reply = door.use(saying(WRONG, PORT), plain, tasks)
    assert (reply.output, len(reply.reasks)) == (Port("Brest", 12), 1)
    assert PARTIAL in partial[0].notes
    assert ([each.text for each in partial[0].reasks], partial[0].output) == ([WRONG], None)

    def at_once(chat: Chat) -> Reply:
        with chat.stream("Hi", output=Port) as events:
            return events.reply()

    async def at_once_in_a_task(chat: AsyncChat) -> Reply:
        async with chat.stream("Hi", output=Port) as events:
            return await events.reply()

    assert door.use(saying(WRONG, PORT), at_once, at_once_in_a_task).output == Port("Brest", 12)


@pytest.mark.parametrize("style", ["threads", "asyncio", "trio"])
def test_a_stream_that_was_left_is_not_asked_for_again(style: str) -> None:
    """Nothing would close the stream of another call, also if the whole answer had come."""
    delta = {"index": 0, "delta": {"content": WRONG}, "finish_reason": "stop"}
    body = f"data: {json.dumps({'choices': [delta]})}\n\ndata: [DONE]\n\n".encode()
    sent: list[httpx.Request] = []

    def respond(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)

    options: Any = {"api_key": "fake-key", "http": httpx.MockTransport(respond)}

    async def tasks() -> None:
        async with AsyncChat(WIRES["chat completions"], **options) as chat:
            async with chat.stream("Hi", output=Port) as events:
                assert await anext(events) == TextDelta(WRONG)
            with pytest.raises(OutputError):
                await events.reply()

    if style == "threads":
        with Chat(WIRES["chat completions"], **options) as chat:
            with chat.stream("Hi", output=Port) as events:
                assert next(events) == TextDelta(WRONG)
            with pytest.raises(OutputError):
                events.reply()
    else:
        anyio.run(tasks, backend=style)
    assert len(sent) == 1


def test_each_answer_is_a_call_for_those_around_it(door: Door) -> None:
    """Each counts its own tokens once."""
    ended: list[Any] = []

    def watch(outgoing: Any) -> Around:
        end = yield
        while not isinstance(end, (CallEnded, CallFailed)):
            end = yield
        ended.append(end)

    for ask in (door.ask, lambda *args, **asked: door.stream(*args, **asked)[1]):
        ended.clear()
        reply = ask(saying(WRONG, PORT), "Hi", output=Port, chat={"around": watch})
        first, second = ended
        assert isinstance(first, CallFailed)
        assert isinstance(first.error, OutputError)
        assert second.result.text == PORT
        counts = first.error.partial.usage + second.result.usage
        assert (reply.usage, counts.total > second.result.usage.total) == (counts, True)


def test_a_model_that_stands_in_asks_again(door: Door) -> None:
    down = EmulatorTransport(Emulator([{"fault": "503", "times": 0}]))
    for streams in (False, True):
        up = saying(WRONG, PORT)
        first = Chat(WIRES["Messages"], api_key="fake-key", http=down, retry=None)
        second = Chat(WIRES["Gemini"], api_key="fake-key", http=EmulatorTransport(up))
        with FallbackChat([first, second]) as chat:
            if streams:
                with chat.stream("Hi", output=Port) as events:
                    reply = events.reply()
            else:
                reply = chat.ask("Hi", output=Port)
        assert (reply.output, len(reply.reasks)) == (Port("Brest", 12), 1)
        told = [note.path for note in reply.notes]
        assert sorted(told) == ["model", "output"]


def test_a_call_that_is_sent_with_a_client_is_sent_once() -> None:
    emulator = saying(WRONG, PORT)
    chat = Chat(WIRES["Gemini"], api_key="fake-key", http=EmulatorTransport(emulator))
    with chat, pytest.raises(OutputError):
        chat.client.send(chat.call("Hi", output=Port, output_retries=5))
    assert isinstance(chat.client, Client)
    assert len(emulator.requests) == 1


# --- what the model is told -----------------------------------------------------------------------


def test_the_model_is_told_all_errors_that_the_validator_finds(door: Door) -> None:
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "depth": {"type": "integer"}},
    }
    said = '{"name": 1, "depth": "x"}'
    for output, paths in ((Strict, 2), (schema, 2), (Port, 1)):
        emulator = saying(said, PORT)
        door.ask(emulator, "Hi", output=output)
        told = turns(emulator)[-1][1]
        assert ("$.name: " in told) + ("$.depth: " in told) == paths


# --- bad input ------------------------------------------------------------------------------------


@joined("retries", [-1, True, None, 1.0, "2"])
def test_output_retries_that_is_no_number_is_refused(retries: Any) -> None:
    emulator = saying(PORT)
    chat = Chat(WIRES["Gemini"], api_key="fake-key", http=EmulatorTransport(emulator))
    for ask in (chat.ask, chat.stream, chat.call, chat.stream_call):
        with pytest.raises(ConfigurationError, match="output_retries: expected a whole"):
            ask("Hi", output=Port, output_retries=retries)  # type: ignore[operator]
        with pytest.raises(ConfigurationError, match="output_retries: expected a whole"):
            ask("Hi", output_retries=retries)  # type: ignore[operator]
    assert emulator.requests == []


@dataclass
class Sea:
    coasts: list[dict[str, Callable[[], int]]]


def test_a_type_without_a_json_form_is_refused_before_anything_is_sent(door: Door) -> None:
    emulator = saying(PORT)
    for ask in (door.ask, door.stream):
        with pytest.raises(SchemaError) as failed:
            ask(emulator, "Hi", output=Sea)
        assert failed.value.violations[0].path == "output.coasts[*].*"
    assert emulator.requests == []


class Node(msgspec.Struct):
    name: str
    below: list[Node] = []


def test_a_type_that_the_wire_cannot_express_is_refused_before_anything_is_sent(door: Door) -> None:
    """Gemini's schemas have no references."""
    emulator = saying(PORT)
    for ask in (door.ask, door.stream):
        with pytest.raises(SchemaError) as failed:
            ask(emulator, "Hi", output=Node)
        path = failed.value.violations[0].path
        assert path == "output.schema.properties.below.items.properties.below.items.$ref"
    assert emulator.requests == []
    said = '{"name": "a", "below": [{"name": "b"}]}'
    reply = door.ask(saying(said), "Hi", output=Node, model=WIRES["chat completions"])
    assert reply.output == Node("a", [Node("b")])
