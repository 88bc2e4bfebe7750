"""Replies as bytes: `dump_reply` and `load_reply` lose nothing."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from wire import Chat, Message, Reply, Stop, Usage
from wire.core.memory import PARTIAL, Note
from wire.errors import ConfigurationError, OutputError, RuleError
from wire.neutral.messages import Media, Text, Thought, ToolCall, ToolResult
from wire.sessions import dump_reply, load_reply
from wire.testing.emulator import Emulator, EmulatorTransport

MODELS = (
    "gemini:gemini-3.8-flash",
    "anthropic:claude-opus-5",
    "openai@responses:gpt-5.6",
    "openai@chat:gpt-4.1",
)
SAID = {
    "say": {
        "text": "Let me see: 潮.",
        "thoughts": "Which port?",
        "calls": [{"name": "high_tide", "args": {"port": "Brest"}}],
    }
}


class City(msgspec.Struct):
    name: str


def chat_of(model: str, *script: Any, **settings: Any) -> Chat:
    http = EmulatorTransport(Emulator(script))
    return Chat(model, api_key="fake-key", http=http, **settings)


def high_tide(port: str) -> str:
    """When the tide is high."""
    return port


def received(reply: Reply) -> list[Any]:
    """All of a reply that is no field: origins, bytes, the response and the cost."""
    origins = [reply.message.origin, *(part.origin for part in reply.message.parts)]
    return [
        [
            None if each is None else (each.provider, each.model, each.wire, each.raw)
            for each in origins
        ],
        type(reply.answer),
        reply.answer,
        None if reply.answer is None else reply.answer.raw,
        reply.cost,
        reply.output,
        *map(received, (*reply.reasks, *reply.hops)),
    ]


def again(reply: Reply, **options: Any) -> Reply:
    loaded = load_reply(dump_reply(reply), **options)
    assert loaded == reply
    assert received(loaded) == received(reply)
    assert dump_reply(loaded) == dump_reply(reply)
    return loaded


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_received_reply_is_the_same_again(model: str, streamed: bool) -> None:
    chat = chat_of(model, SAID, tools=[high_tide])
    if streamed:
        with chat.stream("High tide in Brest?") as events:
            reply = events.reply()
    else:
        reply = chat.ask("High tide in Brest?")
    assert reply.answer.raw
    assert reply.message.origin is not None
    assert reply.cost.total
    assert again(reply).tool_calls[0].arguments == {"port": "Brest"}


@pytest.mark.parametrize("model", MODELS)
def test_the_next_request_is_the_same(model: str) -> None:
    bodies = []
    for load in (lambda reply: reply, lambda reply: load_reply(dump_reply(reply))):
        emulator = Emulator([SAID, {"say": "Fine."}])
        with Chat(
            model, api_key="fake-key", http=EmulatorTransport(emulator), tools=[high_tide]
        ) as chat:
            message = load(chat.ask("High tide?")).message
            result = Message("tool", (ToolResult(message.tool_calls[0].id, "high_tide", "05:12"),))
            chat.ask(messages=[Message.user("High tide?"), message, result])
        bodies.append(emulator.requests[-1]["body"])
    assert bodies[0] == bodies[1]


def test_an_output_is_read_again_with_the_replies_before_it() -> None:
    chat = chat_of("anthropic:claude-opus-5", {"say": "Brest"}, {"say": '{"name": "Brest"}'})
    reply = chat.ask("Which city?", output=City)
    assert len(reply.reasks) == 1
    loaded = again(reply, output=City)
    assert loaded.output == City("Brest")
    assert load_reply(dump_reply(reply)).output is None
    with pytest.raises(OutputError, match="does not match int"):
        load_reply(dump_reply(reply), output=int)


def test_a_partial_reply_keeps_its_note() -> None:
    chat = chat_of("openai@chat:gpt-5.6", {"say": "At twelve past five."})
    with chat.stream("When?") as events:
        next(events)
        partial = events.partial()
    assert PARTIAL in again(partial, output=City).notes


def test_all_fields_of_a_reply_of_your_own_are_kept() -> None:
    parts = (
        Thought("Hm.", signature="s"),
        Text("Hi", refusal=True),
        ToolCall(id="1", name="f", arguments=None, text="{"),
        Media(data=b"\xff\x00", media_type="image/png"),
    )
    usage = Usage(input=3, output=2, total=5, by_modality={"input_audio": 1})
    stop = Stop("length", raw="max_tokens", message="cut", sequence=";")
    notes = (Note("tools[0]", "dropped"),)
    hop = Reply(Message.assistant("Hi"), Stop("end"))
    again(Reply(Message("assistant", parts), stop, usage, notes, "id", "model", hops=(hop,)))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "wire-session"}, "reply: format: expected 'wire-reply', version 1"),
        ({"version": 2}, "reply: format: expected 'wire-reply', version 1"),
        ({"more": 1}, "reply: object contains unknown field `more`"),
        ({"reply.stop": None}, "reply: reply.stop: expected `object`, got `null`"),
        ({"reply.message": {"role": "x", "parts": []}}, "reply: reply.message.role: invalid enum"),
        ({"reply.answer.kind": "Call"}, "reply: reply.answer: this release has no 'Call' of the"),
        ({"reply.answer.wire": "smoke"}, "reply: reply.answer: this release has no"),
        ({"reply.answer.raw": "[]"}, "reply: reply.answer.raw: "),
    ],
)
def test_bytes_that_are_no_reply_are_refused(change: dict[str, Any], problem: str) -> None:
    document = json.loads(dump_reply(chat_of(MODELS[1], {"say": "Hi"}).ask("Hi")))
    [(path, value)] = change.items()
    *steps, last = path.split(".")
    target = document
    for step in steps:
        target = target[step]
    target[last] = value
    with pytest.raises(ConfigurationError) as raised:
        load_reply(json.dumps(document))
    assert raised.value.message.startswith(problem)


def test_what_has_no_json_form_is_refused() -> None:
    call = ToolCall(id="1", name="f", arguments={"x": object()})
    with pytest.raises(RuleError, match=r"reply\.message\.parts\[0\]\.arguments\.x"):
        dump_reply(Reply(Message.assistant(call), Stop("tool_calls")))
    with pytest.raises(ConfigurationError, match="not JSON"):
        load_reply(b"{")
