"""Every provider of chat completions in a conversation of two steps, as its servers send it.

The steps are a question, a tool call with its result, and the answer.

A provider has two files in `tests/fixtures/openai/providers`: `NAME.cassette.json` with the HTTP
exchanges, and `NAME.expect.json` with the expected values. `NAME` is the name of the row.
Texts, ids and numbers are invented.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import msgspec

from tests.joined import joined
from wire import AsyncClient, Client, notes, openai
from wire.catalogue.usage import Usage
from wire.neutral.messages import (
    Done,
    Event,
    Reply,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallEnd,
)
from wire.openai import (
    ChatCompletion,
    ChatCompletionChunk,
    ChatCompletionRequest,
    Dialect,
    FunctionDefinition,
    Tool,
)
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.providers import PROVIDERS
from wire.testing import AsyncReplay, Replay
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import dump, load
from wire.testing.cassette.format.structs import CassetteFile

FOLDER = Path(__file__).parents[2] / "fixtures" / "openai" / "providers"
REGIONS = {f"{row.name}@{region}" for row in PROVIDERS.values() for region in row.regions}
NAMES = sorted(
    name
    for name, row in PROVIDERS.items()
    # `openai@chat` is `openai` under another name.
    if row.wire == "openai" and name not in REGIONS and not name.endswith("@chat")
)
FIXTURES = sorted(
    path.name.removesuffix(".cassette.json") for path in FOLDER.glob("*.cassette.json")
)
KEY = "fake-key-0000"

PORTS = {"Brest": "17:42", "Whitby": "09:05"}
TOOL = Tool(
    type="function",
    function=FunctionDefinition(
        name="get_tide",
        description="When the tide is high",
        parameters={"type": "object", "properties": {"port": {"type": "string"}}},
    ),
)


# --- the conversation -----------------------------------------------------------------------------


@dataclass
class Step:
    """One request and its response."""

    messages: list[Any]
    notes: tuple[str, ...]
    """What `messages` changed of what the host had said."""
    answer: ChatCompletion
    reply: Reply
    events: list[Event]


def conversation(
    dialect: Dialect, model: str, ports: Sequence[str], options: dict[str, Any]
) -> Generator[Any, tuple[list[ChatCompletionChunk], ChatCompletion], list[Step]]:
    """Yields calls, takes responses; ends when the model makes no more tool calls."""
    turns: list[openai.Turn] = [f"When is high tide in {' and in '.join(ports)}?"]
    steps: list[Step] = []
    while True:
        made = openai.messages(*turns, dialect=dialect)
        request = msgspec.convert(
            {"model": model, "messages": [], **options}, ChatCompletionRequest
        )
        call = openai.stream_chat_completions(
            msgspec.structs.replace(request, messages=made, tools=[TOOL])
        )
        chunks, answer = yield call
        reading = openai.EventReader(dialect, body=call.body)
        events = [event for chunk in chunks for event in reading.feed(chunk)] + reading.close()
        sent = json.loads(call.body)["messages"]
        steps.append(
            Step(
                sent,
                tuple(map(str, notes(made))),
                answer,
                openai.parse_reply(answer, dialect, body=call.body),
                events,
            )
        )
        if not answer.tool_calls:
            return steps
        turns += [
            answer,
            [
                openai.tool_message(each, {"high_tide": PORTS[tide_of(each)]})
                for each in answer.tool_calls
            ],
        ]


def tide_of(call: openai.ToolCall) -> str:
    assert call.function is not None
    port: str = json.loads(call.function.arguments)["port"]
    return port


def talk(
    client: Client, model: str, ports: Sequence[str] = ("Brest", "Whitby"), **options: Any
) -> list[Step]:
    """Runs the conversation with the synchronous client, also against a real server."""
    assert client.dialect is not None
    steps = conversation(client.dialect, model, ports, options)
    call = next(steps)
    while True:
        with client.stream(call) as stream:
            chunks = list(stream)
        try:
            call = steps.send((chunks, stream.result()))
        except StopIteration as end:
            done: list[Step] = end.value
            return done


async def async_talk(
    client: AsyncClient, model: str, ports: Sequence[str], **options: Any
) -> list[Step]:
    assert client.dialect is not None
    steps = conversation(client.dialect, model, ports, options)
    call = next(steps)
    while True:
        async with client.stream(call) as stream:
            chunks = [chunk async for chunk in stream]
        try:
            call = steps.send((chunks, await stream.result()))
        except StopIteration as end:
            done: list[Step] = end.value
            return done


# --- what is expected -----------------------------------------------------------------------------


class Call(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    port: str
    arguments: str
    """As they came, and as they go back."""
    extra: dict[str, Any] | None = None
    """What came beside the call."""
    beside: dict[str, Any] = {}
    """What goes back beside the call."""


class Expected(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The content of one `.expect.json`. Most lists have one item for each of the two responses."""

    model: str
    calls: list[Call]
    texts: list[str]
    thoughts: list[str]
    slots: list[str]
    """Where the thoughts came; "" for none."""
    details: list[dict[str, Any]] = []
    """What came of the first thought beside its text."""
    stops: list[str]
    """The vendor's words."""
    usage: list[Usage]
    sent_back: dict[str, Any]
    """The keys of the assistant's message in the second request beside `role` and `tool_calls`."""
    notes: list[str] = []
    """Of the second request."""
    options: dict[str, Any] = {}
    """Further fields of the requests."""
    base_url: str = ""
    """Where the row has none."""


def expected(name: str) -> Expected:
    return msgspec.json.decode((FOLDER / f"{name}.expect.json").read_bytes(), type=Expected)


def cassette(name: str) -> CassetteFile:
    path = FOLDER / f"{name}.cassette.json"
    return load(path.read_bytes(), path.name)


def replayed(name: str, style: str = "sync") -> list[Step]:
    wanted, path = expected(name), FOLDER / f"{name}.cassette.json"
    ports = [call.port for call in wanted.calls]
    url: Any = {"base_url": wanted.base_url} if wanted.base_url else {}
    if style == "sync":
        with Client(name, api_key=KEY, http=Replay(path), **url) as client:
            return talk(client, wanted.model, ports, **wanted.options)

    async def main() -> list[Step]:
        async with AsyncClient(name, api_key=KEY, http=AsyncReplay(path), **url) as client:
            return await async_talk(client, wanted.model, ports, **wanted.options)

    return anyio.run(main, backend=style)


# --- one row, one fixture -------------------------------------------------------------------------


def test_every_row_has_a_fixture_and_every_fixture_a_row():
    files = [f"{name}.{kind}.json" for name in NAMES for kind in ("cassette", "expect")]
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(files)


@joined("name", NAMES)
def test_the_file_is_as_it_would_be_written(name: str):
    text = (FOLDER / f"{name}.cassette.json").read_text("utf-8")
    assert text == dump(cassette(name).interactions)
    assert KEY not in text


# --- what is read, and what goes back -------------------------------------------------------------


@joined("style", ["sync", "asyncio", "trio"])
@joined("name", NAMES)
def test_the_conversation(name: str, style: str):
    wanted = expected(name)
    steps = replayed(name, style)
    first, second = steps
    replies = [step.reply for step in steps]

    assert [reply.text for reply in replies] == wanted.texts
    assert [reply.message.thought for reply in replies] == wanted.thoughts
    assert [slots(reply) for reply in replies] == wanted.slots
    assert [detail for part in thoughts(replies[0]) for detail in part.details] == wanted.details
    assert [(reply.stop.reason, reply.stop.raw) for reply in replies] == list(
        zip(("tool_calls", "end"), wanted.stops, strict=True)
    )
    assert [reply.usage for reply in replies] == wanted.usage
    assert [reply.notes for reply in replies] == [(), ()]
    calls = [
        ToolCall(
            id=each.id,
            name="get_tide",
            arguments={"port": each.port},
            text=each.arguments,
            extra=each.extra,
            response=wanted.calls[0].id,
        )
        for each in wanted.calls
    ]
    assert [list(reply.message.tool_calls) for reply in replies] == [calls, []]

    functions = [{"name": "get_tide", "arguments": each.arguments} for each in wanted.calls]
    assert second.messages == [
        *first.messages,
        {
            "role": "assistant",
            **wanted.sent_back,
            "tool_calls": [
                {"id": each.id, "type": "function", "function": function, **each.beside}
                for each, function in zip(wanted.calls, functions, strict=True)
            ],
        },
        *(
            {
                "role": "tool",
                "content": json.dumps({"high_tide": PORTS[each.port]}, separators=(",", ":")),
                "tool_call_id": each.id,
            }
            for each in wanted.calls
        ),
    ]
    assert (first.notes, list(second.notes)) == ((), wanted.notes)


def thoughts(reply: Reply) -> list[Thought]:
    return [part for part in reply.message.parts if isinstance(part, Thought)]


def slots(reply: Reply) -> str:
    return ", ".join(part.slot for part in thoughts(reply))


@joined("name", NAMES)
def test_chunks_and_the_folded_answer_say_the_same(name: str):
    for step in replayed(name):
        *events, done = step.events
        assert done == Done(step.reply)
        assert (
            "".join(event.text for event in events if isinstance(event, TextDelta))
            == step.reply.text
        )
        assert (
            "".join(event.text for event in events if isinstance(event, ThoughtDelta))
            == step.reply.message.thought
        )
        assert [event.call for event in events if isinstance(event, ToolCallEnd)] == list(
            step.reply.message.tool_calls
        )


@joined("name", NAMES)
def test_the_body_may_be_cut_anywhere(name: str):
    for interaction, step in zip(cassette(name).interactions, replayed(name), strict=True):
        body = body_bytes(interaction.response.body)
        for size in (1, 7):
            reader = ChunkReader()
            chunks = [
                chunk
                for at in range(0, len(body), size)
                for chunk in reader.feed(body[at : at + size])
            ] + reader.close()
            reading = openai.EventReader(PROVIDERS[name].dialect or Dialect())
            for chunk in chunks:
                reading.feed(chunk)
            assert (reading.close()[-1], reader.error, reader.notes) == (step.events[-1], None, [])


# --- a conversation moves -------------------------------------------------------------------------

IDS = {"mistral": r"[a-zA-Z0-9]{9}", "openai": r".{1,40}", "azure": r".{1,40}"}
REQUIRED = {"deepseek": "reasoning_content", "kimi": "reasoning_content", "minimax": "content"}
"""What a message with calls must have, `""` at least."""


def first_answer(name: str) -> ChatCompletion:
    return parse_completion(body_bytes(cassette(name).interactions[0].response.body))


@joined("there", NAMES)
def test_a_conversation_goes_on_at_any_other_host(there: str):
    dialect, wanted = PROVIDERS[there].dialect, expected(there)
    assert dialect is not None
    for here in FIXTURES:
        answer = first_answer(here)
        results = [openai.tool_message(each, "17:42") for each in answer.tool_calls]
        made = openai.messages("When is high tide?", answer, results, dialect=dialect)
        request = msgspec.convert(
            {"model": wanted.model, "messages": [], **wanted.options}, ChatCompletionRequest
        )
        request = msgspec.structs.replace(request, messages=made, tools=[TOOL])
        assert openai.check(request, "", there) == [], here

        _, said, *answers = json.loads(openai.stream_chat_completions(request).body)["messages"]
        ids = [call["id"] for call in said["tool_calls"]]
        assert ids == [each["tool_call_id"] for each in answers], here
        assert all(re.fullmatch(IDS.get(there, ".+"), id) for id in ids), here
        assert said.get(REQUIRED.get(there, "role")) is not None, here
        assert (
            {"reasoning_content", "reasoning", "reasoning_details"} - set(dialect.reasoning_slots)
        ).isdisjoint(said), here
        assert there == "mistral" or not isinstance(said.get("content"), list), here
        if not dialect.verbatim:
            assert set(said) <= {
                "role",
                "content",
                "tool_calls",
                *dialect.reasoning_slots,
                *dialect.takes,
            }, here
