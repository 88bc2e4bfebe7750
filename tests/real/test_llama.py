"""llama.cpp with a real model. What it says is nobody's promise and is not looked at; what it sends
is.

Where a test needs a certain length, the server is told not to end (`ignore_eos`); where it needs a
certain form, the server's grammar holds the model to it. That the model calls at all is the doing
of `chat_template.jinja`.
"""

from __future__ import annotations

import base64
import http.client
import json
import struct
import subprocess
import sys
import time
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.real.doors import Door
from tests.real.server import ROOT
from wire import errors, openai, unknown
from wire.neutral import messages as chat

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

MODEL, CONTEXT = "gemma-3-270m", 1024  # as llama.py has them
ENDLESS = {"ignore_eos": True}


class Trip(msgspec.Struct, forbid_unknown_fields=True):
    """What the schema below allows, as a type."""

    city: Literal["Paris", "Oslo"]
    days: Literal[1, 2, 3]


TRIP = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Paris", "Oslo"]},
        "days": {"type": "integer", "enum": [1, 2, 3]},
    },
    "required": ["city", "days"],
    "additionalProperties": False,
}
TOOLS = [
    openai.Tool(
        type="function",
        function=openai.FunctionDefinition(
            name="get_forecast", description="Weather of the next days", parameters=TRIP
        ),
    )
]
QUESTION = "What will the weather be in Paris and in Oslo?"
ONE_CALL: dict[str, Any] = {"tools": TOOLS, "stop": ["</tool_call>"], "max_tokens": 64}


def request(*turns: openai.Turn, **fields: Any) -> openai.ChatCompletionRequest:
    fields = {
        "model": MODEL,
        "messages": openai.messages(*turns or ("Hi",)),
        "max_tokens": 8,
        "temperature": 0,
        "seed": 1,
        **fields,
    }
    return openai.ChatCompletionRequest(**fields)


def plain(*turns: openai.Turn, **fields: Any) -> Any:
    return openai.chat_completions(request(*turns, **fields))


def streamed(*turns: openai.Turn, **fields: Any) -> Any:
    return openai.stream_chat_completions(request(*turns, **fields))


def endless(call: Any) -> Any:
    return call.replace(body_extra=ENDLESS)


def works(door: Door) -> bool:
    """Whether this client gets an answer, in one piece and streamed."""
    return bool(door.send(plain(max_tokens=1)).id) and bool(
        door.read(streamed(max_tokens=1)).answer.id
    )


# --- answers --------------------------------------------------------------------------------------


def test_an_answer(door: Door) -> None:
    answer = door.send(endless(plain()))
    assert (answer.object, answer.model) == ("chat.completion", MODEL)
    assert (answer.message.role, answer.choices[0].finish_reason) == ("assistant", "length")
    assert answer.usage.completion_tokens == answer.timings["predicted_n"] == 8
    assert answer.text == json.loads(answer.raw)["choices"][0]["message"]["content"]
    assert unknown(answer) == []
    reply = openai.parse_reply(answer, door.client.dialect)
    assert (reply.text, reply.stop, reply.notes) == (
        answer.text,
        chat.Stop(reason="length", raw="length"),
        (),
    )
    assert reply.usage is not None
    assert (reply.usage.output, reply.usage.total) == (8, reply.usage.input + 8)
    account = door.client.account(answer)
    assert account is not None
    assert (account.attempts, account.status, account.received) == (1, 200, len(answer.raw))


def test_a_stream(door: Door) -> None:
    heard = door.read(endless(streamed()))
    first, last = heard.chunks[0], heard.chunks[-1]
    assert json.loads(first.raw)["choices"][0]["delta"] == {"role": "assistant", "content": None}
    assert (last.choices, last.usage.completion_tokens, last.timings["predicted_n"]) == ([], 8, 8)
    assert [chunk.choices[0].finish_reason for chunk in heard.chunks[:-1]][-1] == "length"
    answer = heard.answer
    assert answer.text == "".join(chunk.text for chunk in heard.chunks) != ""
    assert (answer.usage, answer.timings) == (last.usage, last.timings)
    assert unknown(answer) == []
    *deltas, done = heard.events
    assert [type(event) for event in deltas] == [chat.TextDelta] * len(deltas)
    assert isinstance(done, chat.Done)
    assert done.reply == openai.parse_reply(answer, door.client.dialect)
    assert heard.account is not None
    assert (heard.account.attempts, heard.account.events) == (1, len(heard.chunks))


@pytest.mark.parametrize(
    "fields",
    [{}, {"logprobs": True, "top_logprobs": 2}, {**ONE_CALL, "tool_choice": "auto"}],
    ids=["text", "logprobs", "call"],
)
def test_a_stream_comes_to_what_the_plain_call_gives(door: Door, fields: dict[str, Any]) -> None:
    """The same keys at every depth, and the same numbers of tokens where the server counts the same
    prompt.
    """
    whole, read = (
        door.send(plain(QUESTION, **fields)),
        door.read(streamed(QUESTION, **fields)).answer,
    )
    assert shape(json.loads(read.raw)) == shape(json.loads(whole.raw))
    assert read.usage.prompt_tokens == whole.usage.prompt_tokens
    assert read.message.role == whole.message.role
    # What was sampled after a cached prompt may differ from what was sampled without; the kind of
    # end does not.
    assert read.choices[0].finish_reason == whole.choices[0].finish_reason


def shape(value: Any) -> Any:
    """Keys and types, at every depth; a list is as its first item.

    Content of nothing but calls is null in a stream, and else empty.
    """
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items() if key != "index"}
    if isinstance(value, list):
        return [shape(item) for item in value[:1]]
    return (
        "nothing"
        if value in (None, "")
        else "number"
        if isinstance(value, int | float)
        else type(value).__name__
    )


def test_what_no_struct_knows_is_kept(door: Door) -> None:
    heard = door.read(
        streamed(QUESTION, max_tokens=2).replace(body_extra={"return_progress": True})
    )
    told = [dict(unknown(chunk)) for chunk in heard.chunks]
    assert set(told[0]["prompt_progress"]) == {"total", "cache", "processed", "time_ms"}
    last = [each for each in told if each][-1]
    assert unknown(heard.answer) == list(last.items())
    assert last["prompt_progress"]["processed"] == heard.answer.usage.prompt_tokens


def test_log_probabilities(door: Door) -> None:
    heard = door.read(endless(streamed(max_tokens=3, logprobs=True, top_logprobs=2)))
    tokens = heard.answer.choices[0].logprobs.content
    assert len(tokens) == 3
    assert all(token.logprob <= 0 and len(token.top_logprobs) == 2 for token in tokens)


def test_structured_output(door: Door) -> None:
    """Whatever the model would rather say, the server's grammar makes it this."""
    form = openai.ResponseFormat(
        type="json_schema", json_schema=openai.JsonSchema(name="trip", schema=TRIP)
    )
    shown = openai.Message(role="assistant", content='{"city":"Oslo","days":3}')
    turns = ("A trip, as JSON.", shown, "Another one.")
    answer = door.send(plain(*turns, response_format=form, max_tokens=48))
    assert msgspec.json.decode(answer.text, type=Trip)
    heard = door.read(streamed(*turns, response_format=form, max_tokens=48))
    assert msgspec.json.decode(heard.answer.text, type=Trip)


# --- tools ----------------------------------------------------------------------------------------


def test_a_call_is_held_to_its_schema(door: Door) -> None:
    answer = door.send(plain(QUESTION, **ONE_CALL))
    assert answer.choices[0].finish_reason == "tool_calls"
    (call,) = answer.tool_calls
    assert (call.type, call.function.name) == ("function", "get_forecast")
    assert msgspec.json.decode(call.function.arguments, type=Trip)
    (read,) = openai.parse_reply(answer, door.client.dialect).message.tool_calls
    assert (read.id, read.name, read.text) == (call.id, "get_forecast", call.function.arguments)
    assert msgspec.convert(read.arguments, Trip)


def test_a_call_in_fragments(door: Door) -> None:
    heard = door.read(streamed(QUESTION, **ONE_CALL))
    deltas = [
        delta
        for chunk in heard.chunks
        for choice in chunk.choices or ()
        for delta in choice.delta.tool_calls or ()
    ]
    assert len(deltas) > 2
    assert [(delta.id is None, delta.function.name) for delta in deltas] == [
        (False, "get_forecast")
    ] + [(True, None)] * (len(deltas) - 1)
    (call,) = heard.answer.tool_calls
    assert call.id == deltas[0].id
    assert call.function.arguments == "".join(delta.function.arguments for delta in deltas)
    (read,) = openai.parse_reply(heard.answer, door.client.dialect).message.tool_calls
    assert msgspec.convert(read.arguments, Trip)
    start, *pieces, end, done = (
        event for event in heard.events if not isinstance(event, chat.TextDelta)
    )
    assert start == chat.ToolCallStart(0, "get_forecast", read.id)
    assert (
        "".join(piece.text for piece in pieces if isinstance(piece, chat.ToolCallDelta))
        == read.text
    )
    assert (end, isinstance(done, chat.Done)) == (chat.ToolCallEnd(0, read), True)


def test_a_result_goes_back_and_is_answered(door: Door) -> None:
    asked = door.read(streamed(QUESTION, **ONE_CALL)).answer
    result = openai.tool_message(asked.tool_calls[0], {"sky": "light rain", "temp_c": 15})
    turns = openai.messages(QUESTION, asked, result, dialect=door.client.dialect)
    assert turns[1].tool_calls[0].id == turns[2].tool_call_id == asked.tool_calls[0].id
    call = endless(plain(messages=turns, tools=TOOLS, tool_choice="none"))
    assert asked.message.raw in call.body, "what it said goes back as it came"
    answer = door.send(call)
    assert (answer.tool_calls, answer.choices[0].finish_reason, answer.usage.completion_tokens) == (
        [],
        "length",
        8,
    )
    assert answer.usage.prompt_tokens > asked.usage.prompt_tokens


def test_several_calls(door: Door) -> None:
    """As many as fit, since it may not end; the last one may be cut off."""
    heard = door.read(endless(streamed(QUESTION, tools=TOOLS, max_tokens=128)))
    calls = heard.answer.tool_calls
    assert len(calls) >= 2
    assert len({call.id for call in calls}) == len(calls)
    *whole, last = openai.parse_reply(heard.answer, door.client.dialect).message.tool_calls
    assert all(msgspec.convert(call.arguments, Trip) for call in whole)
    assert last.arguments is None or msgspec.convert(last.arguments, Trip)
    starts = [event for event in heard.events if isinstance(event, chat.ToolCallStart)]
    assert starts == [
        chat.ToolCallStart(place, "get_forecast", call.id)
        for place, call in enumerate([*whole, last])
    ]
    ends = [event.call for event in heard.events if isinstance(event, chat.ToolCallEnd)]
    assert ends == [*whole, last]


# --- errors ---------------------------------------------------------------------------------------


def test_more_than_the_context_holds(door: Door) -> None:
    for run, make in ((door.send, plain), (door.read, streamed)):
        with pytest.raises(errors.ContextLengthError) as caught:
            run(make("word " * 2 * CONTEXT))
        error = caught.value
        assert (error.status, error.code, error.retryable, error.attempts) == (400, "400", False, 1)
        (said,) = error.details
        assert (said.type, said.n_ctx) == ("exceed_context_size_error", CONTEXT)
        assert said.n_prompt_tokens > CONTEXT
    assert works(door)


def test_a_body_that_is_no_json(door: Door) -> None:
    for run, make in ((door.send, plain), (door.read, streamed)):
        with pytest.raises(errors.BadRequestError, match="parse error") as caught:
            run(msgspec.structs.replace(make(), body=b"{"))
        assert type(caught.value) is errors.BadRequestError
        assert caught.value.details[0].type == "invalid_request_error"
    assert works(door)


def test_a_schema_that_is_none(door: Door) -> None:
    form = openai.ResponseFormat(
        type="json_schema", json_schema=openai.JsonSchema(name="x", schema={"type": "nonsense"})
    )
    with pytest.raises(errors.BadRequestError, match="nonsense"):
        door.send(plain(response_format=form))


def test_no_such_path(door: Door) -> None:
    with pytest.raises(errors.NotFoundError) as caught:
        door.send(openai.get_model(MODEL))
    assert caught.value.details[0].type == "not_found_error"


# --- leaving --------------------------------------------------------------------------------------

MUCH = 900
"""Tokens that nobody waits for."""


def test_leaving_early_stops_the_server(door: Door, server: str) -> None:
    heard = door.read(endless(streamed(max_tokens=MUCH)), most=3)
    assert len(heard.chunks) == 3
    assert heard.answer.text == "".join(chunk.text for chunk in heard.chunks)
    assert written(server) < MUCH
    assert works(door)


def test_cancelling_stops_the_server(door: Door, server: str) -> None:
    heard = door.cancel(endless(streamed(max_tokens=MUCH)), after=3)
    assert len(heard.chunks) == 3
    assert heard.answer.text == "".join(chunk.text for chunk in heard.chunks)
    assert written(server) < MUCH
    assert works(door)


def written(server: str) -> int:
    """Tokens in the server's one slot when it has stopped working."""
    connection = http.client.HTTPConnection(urlsplit(server).netloc, timeout=60)
    try:
        while True:
            connection.request("GET", "/slots")
            (slot,) = json.loads(connection.getresponse().read())
            if not slot["is_processing"]:
                return int(slot["n_prompt_tokens"])
            time.sleep(0.05)
    finally:
        connection.close()


# --- the rest -------------------------------------------------------------------------------------


def test_models(door: Door) -> None:
    models = door.send(openai.list_models())
    (model,) = models.data
    assert (model.id, model.object, model.aliases) == (MODEL, "model", [MODEL])
    beside = dict(unknown(models))
    assert beside["data[0].meta"]["n_ctx"] == CONTEXT
    assert beside["models"][0]["name"] == MODEL


def test_embeddings(door: Door) -> None:
    texts = ["light rain", "snow"]
    answer = door.send(openai.embeddings(openai.EmbeddingRequest(model=MODEL, input=texts)))
    assert [each.index for each in answer.data] == [0, 1]
    assert answer.usage.total_tokens == answer.usage.prompt_tokens > 1
    packed = door.send(
        openai.embeddings(
            openai.EmbeddingRequest(model=MODEL, input=texts, encoding_format="base64")
        )
    )
    for one, other in zip(answer.data, packed.data, strict=True):
        data = base64.b64decode(other.embedding)
        assert struct.unpack(f"<{len(data) // 4}f", data) == pytest.approx(
            one.embedding, rel=1e-3, abs=1e-3
        )


def test_no_key_is_needed_and_none_is_sent(door: Door) -> None:
    assert "authorization" not in {name.lower() for name in door.client.preview(plain()).headers}
    assert works(door)


def test_the_local_demo(server: str) -> None:
    command = [sys.executable, "-W", "error", ROOT / "examples" / "local.py", f"{server}/v1"]
    found = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=300)
    assert (found.returncode, found.stderr) == (0, "")
    assert "\ncall get_weather({" in found.stdout
    assert "--- usage    Usage(input=" in found.stdout
    second = found.stdout.split("--- the second request: POST /v1/chat/completions\n")[1]
    roles = [message["role"] for message in json.loads(second.splitlines()[0])["messages"]]
    assert roles == ["user", "assistant", "tool"]
