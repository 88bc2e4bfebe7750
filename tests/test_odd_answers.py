"""Answers that do not fit: values of another shape are told with their path, further choices are
joined or told, and an answer without any content is an error of one kind.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.joined import joined
from wire import Message, Request, Tool, anthropic, gemini, notes, openai
from wire.anthropic import reader as messages_reader
from wire.errors import StreamInvalid
from wire.gemini import reader as gemini_reader
from wire.openai import responses
from wire.openai.chat import reader as chat_reader
from wire.openai.responses import reader as responses_reader

HI = Request(messages=(Message.user("Hi"),))
TEXT = [{"type": "text", "text": "Ebb."}]
SAID = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "output_text", "text": "Ebb."}],
}
CALL = {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": "{}"}}

DOORS: dict[str, Callable[[], Any]] = {
    "chat": lambda: openai.call(HI, "gpt-4.1"),
    "responses": lambda: responses.call(HI, "gpt-5.6"),
    "anthropic": lambda: anthropic.call(HI, "claude-opus-5-5"),
    "gemini": lambda: gemini.call(HI, "gemini-3.8-flash"),
}
RAW: dict[str, Callable[[bytes], Any]] = {
    "chat": chat_reader.parse_completion,
    "responses": responses_reader.parse_response,
    "anthropic": messages_reader.parse_message,
    "gemini": gemini_reader.parse_response,
}


def choice(index: int, **message: Any) -> dict[str, Any]:
    fields = {"role": "assistant", **message}
    return {"index": index, "message": fields, "finish_reason": "stop"}


def of_chat(**fields: Any) -> Any:
    return {"choices": [choice(0, content="Ebb.")], **fields}


def of_responses(**fields: Any) -> Any:
    return {"id": "r", "object": "response", "status": "completed", "output": [SAID], **fields}


def of_messages(**fields: Any) -> Any:
    return {
        "type": "message",
        "role": "assistant",
        "content": TEXT,
        "stop_reason": "end_turn",
        **fields,
    }


def of_gemini(**fields: Any) -> Any:
    candidate = {"content": {"parts": [{"text": "Ebb."}]}, "finishReason": "STOP"}
    return {"candidates": [candidate], **fields}


@joined(
    ("wire", "answer", "path", "why"),
    [
        ("chat", of_chat(usage="oops"), "usage", "expected `object | null`, got `str`"),
        ("chat", of_chat(usage={"prompt_tokens": "x"}), "usage.prompt_tokens", "got `str`"),
        ("chat", {"choices": [choice(0, content="Ebb.", tool_calls="x")]},
         "choices[0].message.tool_calls", "expected `array | null`, got `str`"),
        ("responses", of_responses(usage=5), "usage", "expected `object | null`, got `int`"),
        ("anthropic", of_messages(usage=[]), "usage", "expected `object | null`, got `array`"),
        ("anthropic", of_messages(container={"id": 5}), "container.id", "got `int`"),
        ("gemini", of_gemini(usageMetadata="x"), "usageMetadata", "got `str`"),
        ("gemini", of_gemini(usageMetadata={"totalTokenCount": {}}),
         "usageMetadata.totalTokenCount", "got `object`"),
    ],
)  # fmt: skip
def test_a_value_of_another_shape_is_told_with_its_path(
    wire: str, answer: Any, path: str, why: str
) -> None:
    data = json.dumps(answer).encode()
    reply = DOORS[wire]().parse(data)
    assert reply.text == "Ebb."
    for built in (reply, RAW[wire](data)):
        [note] = [each for each in notes(built) if each.message.startswith("not read: ")]
        assert note.path == path
        assert why in note.message


def test_a_stream_tells_it_once() -> None:
    odd = {"usage": "oops", "choices": [{"index": 0, "delta": {"content": "Ebb."}}]}
    last = {"usage": "oops", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    data = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in (odd, odd, last))
    reply = openai.call(HI, "gpt-4.1").parse(data + b"data: [DONE]\n\n")
    assert reply.text == "Ebb.Ebb."
    assert [str(each) for each in reply.notes] == [
        "usage: not read: expected `object | null`, got `str`"
    ]


def test_an_answer_that_fits_has_no_such_note() -> None:
    for wire, answer in (
        ("chat", of_chat()),
        ("responses", of_responses()),
        ("anthropic", of_messages()),
        ("gemini", of_gemini()),
    ):
        assert notes(RAW[wire](json.dumps(answer).encode())) == ()


@joined(
    ("wire", "answer"),
    [
        ("chat", {"choices": "oops"}),
        ("chat", {"choices": []}),
        ("chat", {}),
        ("chat", None),
        ("responses", of_responses(output="oops")),
        ("responses", {}),
        ("responses", None),
        ("anthropic", of_messages(content="oops")),
        ("anthropic", {}),
        ("anthropic", None),
        ("gemini", {"candidates": "oops"}),
        ("gemini", {"candidates": []}),
        ("gemini", {}),
        ("gemini", None),
    ],
)
def test_an_answer_without_content_is_an_error_of_one_kind(wire: str, answer: Any) -> None:
    with pytest.raises(StreamInvalid):
        DOORS[wire]().parse(json.dumps(answer).encode())


# --- further choices ------------------------------------------------------------------------------


def streamed(*deltas: tuple[int, dict[str, Any], str | None]) -> bytes:
    chunks = [
        {"choices": [{"index": index, "delta": delta, "finish_reason": finish}]}
        for index, delta, finish in deltas
    ]
    data = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in chunks)
    return data + b"data: [DONE]\n\n"


SPLIT = (
    {"choices": [choice(0, content="I look."), choice(1, content=None, tool_calls=[CALL])]},
    streamed(
        (0, {"role": "assistant", "content": "I look."}, None),
        (1, {"tool_calls": [{"index": 0, **CALL, "function": {"name": "tide"}}]}, None),
        (1, {"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}, None),
        (0, {}, "stop"),
        (1, {}, "tool_calls"),
    ),
)


@pytest.mark.parametrize("answer", SPLIT, ids=["whole", "streamed"])
def test_one_answer_that_a_host_splits_over_two_choices_is_one_reply(answer: Any) -> None:
    data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    counted = Tool(
        "tide", "The tide.", {"type": "object", "properties": {"n": {"type": "integer"}}}
    )
    asked = Request(messages=HI.messages, tools=(counted,))  # its `n` is no number of answers
    reply = openai.call(asked, "gpt-4.1").parse(data)
    assert reply.text == "I look."
    [call] = reply.tool_calls
    assert (call.name, call.arguments, call.text) == ("tide", {}, "{}")
    assert [str(each) for each in reply.notes] == ["choices[1]: its calls are part of the reply"]
    again = openai.call(
        Request(messages=(*HI.messages, reply.message, Message.tool_result(call, "noon"))),
        "gpt-4.1",
    )
    assert json.loads(again.body)["messages"][1]["tool_calls"][0]["id"] == "c1"


def test_other_answers_are_told() -> None:
    data = json.dumps({"choices": [choice(0, content="a"), choice(1, content="b")]}).encode()
    reply = openai.call(HI, "gpt-4.1").parse(data)
    assert (reply.text, [str(each) for each in reply.notes]) == (
        "a",
        ["choices[1]: left out: the reply is another choice"],
    )
    several = Request(messages=HI.messages, options={"openai": {"n": 2}})
    reply = openai.call(several, "gpt-4.1").parse(json.dumps(SPLIT[0]).encode())
    assert (len(reply.tool_calls), [str(each) for each in reply.notes]) == (
        0,
        ["choices[1]: left out: the reply is another choice"],
    )
    one = json.dumps({"choices": [choice(0, tool_calls=[CALL]), choice(1, tool_calls=[CALL])]})
    for number in (0, 1):  # without the request nobody knows how many were asked for
        answer = chat_reader.parse_completion(one.encode())
        assert len(openai.parse_reply(answer, choice=number).tool_calls) == 1
    candidates = [
        {"content": {"parts": [{"text": text}]}, "finishReason": "STOP", "index": index}
        for index, text in enumerate("ab")
    ]
    reply = gemini.call(HI, "gemini-3.8-flash").parse(
        json.dumps({"candidates": candidates}).encode()
    )
    assert (reply.text, [str(each) for each in reply.notes]) == (
        "a",
        ["candidates[1]: left out: the reply is another candidate"],
    )
