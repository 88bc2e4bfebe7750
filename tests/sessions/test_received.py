"""Issue class 6: a session whose text and received bytes differ is reported, on every wire."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from wire import anthropic, gemini, notes, openai
from wire.agent import dump_run, load_run
from wire.agent.run_state import begin_run
from wire.anthropic.reader import parse_message as parse_anthropic
from wire.errors import ConfigurationError
from wire.gemini.reader import parse_response
from wire.neutral.messages import Message, ServerToolCall, ToolResult
from wire.neutral.request import Request
from wire.openai.chat.reader import parse_completion
from wire.sessions import (
    deserialize_message,
    dump_session,
    load_session,
    serialize_message,
)

MODELS = {
    "gemini": "gemini-3-flash-preview",
    "openai": "gpt-5.4",
    "deepseek": "deepseek-chat",
    "anthropic": "claude-sonnet-4-5",
}
TEXT, CITY = "It is sunny.", "Bergen"


def received(provider: str) -> Message:
    """A message with a text and a call, as a vendor sends it, with a key that nobody knows."""
    model = MODELS[provider]
    if provider == "gemini":
        parts = [
            {"text": TEXT, "thoughtSignature": "c2ln", "odd": 1},
            {"functionCall": {"name": "look", "args": {"city": CITY}}},
        ]
        content = {"role": "model", "parts": parts}
        body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
        answer = parse_response(json.dumps(body).encode())
        return gemini.parse_reply(answer, provider=provider, model=model).message
    if provider == "anthropic":
        blocks = [
            {"type": "text", "text": TEXT, "odd": 1},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"city": CITY}},
        ]
        answer = parse_anthropic(
            json.dumps({"content": blocks, "stop_reason": "tool_use"}).encode()
        )
        return anthropic.parse_reply(answer, provider=provider, model=model).message
    call = {"name": "look", "arguments": json.dumps({"city": CITY})}
    message = {
        "role": "assistant",
        "content": TEXT,
        "odd": 1,
        "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
    }
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    answer = parse_completion(json.dumps({"choices": [choice]}).encode())
    return openai.parse_reply(answer, provider=provider, model=model).message


def sent(message: Message, provider: str) -> str:
    """The body of the next request to the same model."""
    result = ToolResult(message.tool_calls[0].id, "look", "rain")
    request = Request(
        messages=(Message.user("Hi"), message, Message.tool_response(result)), max_tokens=99
    )
    wire = {"gemini": gemini, "anthropic": anthropic}.get(provider, openai)
    return wire.call(request, MODELS[provider], provider).body.decode()


def edited(message: Message, change: Callable[[Any], None]) -> Message:
    data = serialize_message(message)
    change(data)
    return deserialize_message(data)


def _text(data: Any) -> None:
    data["parts"][0]["text"] = "It rains."


def _arguments(data: Any) -> None:
    data["parts"][1]["arguments"] = {"city": "Oslo"}


def _name(data: Any) -> None:
    data["parts"][1]["name"] = "find"


def _bytes(data: Any) -> None:
    """Of the same length, so that the ranges of the parts fit."""
    raw = data["origin"]["raw"]
    assert TEXT in raw
    data["origin"]["raw"] = raw.replace(TEXT, TEXT.replace("sunny", "rainy"))


def _one_more(data: Any) -> None:
    data["parts"].insert(1, {"type": "text", "text": "Or not."})


def _one_less(data: Any) -> None:
    del data["parts"][0]


REPORTED = "differs from the bytes that it was received with: they were dropped"
provider_of = pytest.mark.parametrize("provider", MODELS)


@provider_of
def test_a_message_that_was_not_edited_has_no_note_and_goes_back_as_it_came(provider: str):
    message = received(provider)
    loaded = edited(message, lambda data: None)
    assert (loaded, notes(loaded)) == (message, ())
    assert loaded.origin == message.origin
    assert '"odd":' in sent(loaded, provider) or provider in ("openai", "deepseek")
    assert sent(loaded, provider) == sent(message, provider)


@provider_of
@pytest.mark.parametrize(
    ("change", "path", "now"),
    [
        (_text, "parts[0].text", "It rains."),
        (_arguments, "parts[1].arguments", "Oslo"),
        (_name, "parts[1].name", "find"),
        (_bytes, "parts[0].text", TEXT),
        (_one_more, "parts", "Or not."),
        (_one_less, "parts", "look"),
    ],
)
def test_what_stands_in_the_file_is_sent_and_the_note_names_it(
    provider: str, change: Callable[[Any], None], path: str, now: str
):
    loaded = edited(received(provider), change)
    told = [str(note) for note in notes(loaded)]
    assert any(note.startswith(f"message.{path}") and note.endswith(REPORTED) for note in told)
    assert all(note.endswith(REPORTED) for note in told)
    assert loaded.origin is not None
    assert loaded.origin.raw == b""
    body = sent(loaded, provider)
    assert now in body
    for gone in (TEXT if change in (_text, _one_less) else "", "rainy"):
        assert not gone or gone not in body
    again = edited(loaded, lambda data: None)
    assert (again, notes(again)) == (loaded, ())


def served_by_mcp() -> Message:
    """A call that Gemini's server made: alone, its bytes are those of a call for the client."""
    call = {"functionCall": {"name": "look", "args": {"city": CITY}}}
    result = {"functionResponse": {"name": "look", "response": {"sky": "clear"}}}
    content = {"role": "model", "parts": [call, result, {"text": TEXT}]}
    body = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    asked = b'{"tools":[{"mcpServers":[{"name":"s"}]}]}'
    answer = parse_response(json.dumps(body).encode())
    return gemini.parse_reply(answer, body=asked, model=MODELS["gemini"]).message


def test_a_call_that_the_server_answered_itself_has_no_note() -> None:
    message = served_by_mcp()
    loaded = edited(message, lambda data: None)
    assert isinstance(loaded.parts[0], ServerToolCall)
    assert (loaded, notes(loaded)) == (message, ())


def test_an_edited_call_that_the_server_answered_itself_is_reported() -> None:
    def change(data: Any) -> None:
        data["parts"][0]["arguments"] = {"city": "Oslo"}

    loaded = edited(served_by_mcp(), change)
    assert f"message.parts[0]: {REPORTED}" in [str(note) for note in notes(loaded)]


@provider_of
def test_parts_that_were_not_edited_keep_their_bytes(provider: str):
    loaded = edited(received(provider), _arguments)
    text, call = loaded.parts
    assert call.origin is not None
    assert call.origin.raw == b""
    if provider in ("gemini", "anthropic"):
        assert text.origin is not None
        assert json.loads(text.origin.raw)["odd"] == 1
        assert '"odd":1' in sent(loaded, provider).replace(" ", "")


@provider_of
def test_bytes_that_no_host_sent_are_reported_and_kept(provider: str):
    data = serialize_message(received(provider))
    for part in data["parts"]:
        part.pop("at", None)
        part.pop("origin", None)
    data["origin"]["raw"] = '{"parts": '
    loaded = deserialize_message(data)
    assert [str(note) for note in notes(loaded)] == [
        f"message: the bytes that it was received with are not of {loaded.origin.wire}"  # type: ignore[union-attr]
    ]
    assert loaded.origin is not None
    assert loaded.origin.raw == b'{"parts": '
    assert TEXT in sent(loaded, provider)


@provider_of
def test_sessions_and_saved_runs_report_it_with_the_position_of_the_message(provider: str):
    history = [Message.user("Hi"), received(provider)]
    for dump, load in (
        (dump_session, load_session),
        (lambda messages: dump_run(begin_run(messages)), load_run),
    ):
        document = json.loads(dump(history))
        assert notes(load(json.dumps(document))) == ()
        _text(document["messages"][1])
        told = [str(note) for note in notes(load(json.dumps(document)))]
        assert f"messages[1].parts[0].text: {REPORTED}" in told


def test_bytes_of_an_unknown_wire_are_left_alone():
    data = serialize_message(received("gemini"))
    data["origin"]["wire"] = "later"
    for part in data["parts"]:
        part.pop("at", None)
    before = copy.deepcopy(data)
    loaded = deserialize_message(data)
    assert (notes(loaded), serialize_message(loaded)) == ((), before)


def test_a_text_of_another_type_is_the_same_in_the_bytes():
    """R-44: some hosts send a list or an object in place of a text."""
    for content in ([["a"]], {"text": "b"}, 5):
        message = {"role": "assistant", "content": content}
        body = {"choices": [{"message": message, "finish_reason": "stop"}]}
        reply = openai.parse_reply(parse_completion(json.dumps(body).encode()))
        [loaded] = load_session(dump_session([reply.message])).messages
        assert (loaded, loaded.origin) == (reply.message, reply.message.origin)


# --- broken files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["session", "run"])
def test_a_file_cut_at_any_byte_is_one_typed_error(kind: str):
    history = [Message.user("Hä"), received("gemini"), received("openai")]
    data = dump_session(history) if kind == "session" else dump_run(begin_run(history))
    load: Callable[..., Any] = load_session if kind == "session" else load_run
    end = len(data.rstrip())
    for position in range(end):
        with pytest.raises(ConfigurationError) as caught:
            load(data[:position], "talk.json")
        assert caught.value.message.startswith("talk.json: ")
        assert caught.value.message == (
            f"talk.json: byte {position - 1} is not UTF-8"
            if position == data.index("ä".encode()) + 1
            else f"talk.json: not JSON: it ends after {position:,} bytes, inside a value"
        )
    assert load(data[:end], "talk.json") == load(data, "talk.json")


NASTY: list[Any] = [None, True, -1, 1.5, 10**30, "", "\0", "é", [], [[]], {}, {"": None}]


def replaced(value: Any) -> Iterator[Any]:
    """The document with each of its values, one after the other, replaced by a nasty one."""
    if not isinstance(value, (dict, list)):
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in [*items]:
        for other in NASTY:
            value[key] = other
            yield value
        value[key] = item
        for _ in replaced(item):
            yield value


MEDIA = {"inline_data": {"mime_type": "image/png", "data": "AP8="}}
OLD = {
    "schema_version": "1.0",
    "conversation": {
        "messages": [
            {"role": "user", "parts": [{"text": "Hi"}, MEDIA]},
            {"role": "model", "parts": [{"function_call": {"name": "f", "args": {"a": 1}}}]},
            {"role": "user", "parts": [{"type": "function_response", "name": "f", "response": 1}]},
        ]
    },
}


@pytest.mark.parametrize("kind", ["session", "run", "old"])
def test_a_file_with_a_value_of_another_kind_is_loaded_or_one_typed_error(kind: str):
    history = [Message.user("Hi"), received("gemini"), received("anthropic"), received("openai")]
    data = dump_session(history) if kind == "session" else dump_run(begin_run(history))
    load: Callable[..., Any] = load_run if kind == "run" else load_session
    loaded, refused = 0, []
    for document in replaced(OLD if kind == "old" else json.loads(data)):
        try:
            messages = load(json.dumps(document), "talk.json").messages
        except ConfigurationError as error:
            refused.append(error.message)
        else:
            dump_session(messages)
            loaded += 1
    named = re.compile(r"talk\.json: ([\w.\[\]]+: |not a session: |expected an object or a list )")
    assert [each for each in refused if not named.match(each)] == []
    assert loaded > 40
    assert len(refused) > 100
