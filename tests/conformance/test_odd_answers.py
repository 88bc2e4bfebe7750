"""Answers that say nothing, or say it in another shape: the runner judges what is there."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance import anthropic, gemini, openai, responses
from tests.conformance.corpus import scope
from tests.conformance.records import Record
from tests.conformance.result import APART, Result
from tests.joined import joined
from wire.anthropic import MessageResponse
from wire.gemini.types import GenerateContentResponse
from wire.openai import ChatCompletion
from wire.openai.responses.types import Response

USER = [{"role": "user", "content": "Hi"}]
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-flash:"
WIRES: dict[str, tuple[str, str, Any]] = {
    "gemini": ("gemini", f"{GEMINI}generateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}),
    "chat": (
        "openai-chat",
        "https://api.openai.com/v1/chat/completions",
        {"model": "gpt-4o", "messages": USER},
    ),
    "responses": (
        "openai-responses",
        "https://api.openai.com/v1/responses",
        {"model": "gpt-5.4", "input": "Hi"},
    ),
    "messages": (
        "anthropic",
        "https://api.anthropic.com/v1/messages",
        {"model": "claude-sonnet-4-6", "max_tokens": 9, "messages": USER},
    ),
}
COMPLETION = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "Hi"},
            "finish_reason": "stop",
        }
    ],
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "gpt-5.4",
    "output": [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
        }
    ],
}


def recorded(wire: str, answer: Any, *, streamed: bool = False, path: str = "") -> Record:
    """An exchange with this body, or the events of a stream as texts."""
    vendor, url, body = WIRES[wire]
    if streamed and wire == "gemini":
        url = f"{GEMINI}streamGenerateContent?alt=sse"
    elif streamed:
        body = {**body, "stream": True}
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return {
        **{"id": "a", "vendor": vendor, "endpoint": "", "model": "gemini-2.5-flash"},
        **{"method": "POST", "url": f"{url}{path}", "status": 200, "response_headers": {}},
        **{"request_body": None if path else body, "response_body": text},
        "framing": "sse" if streamed else "none",
    }


def judged(record: Record) -> list[str]:
    """Hold a record to its checks; returns what it was judged in part for."""
    checks = scope(record)
    assert not isinstance(checks, str), checks
    APART.clear()
    result = Result()
    result.hold(record, checks)
    assert result.failed == []
    return list(APART)


def changed(answer: Any, path: tuple[Any, ...], value: Any) -> Any:
    answer = copy.deepcopy(answer)
    inner = answer
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return answer


def chunks(*choices: Any, **beside: Any) -> str:
    """A stream of chat completions with these choices, its end and `[DONE]`."""
    head = {key: COMPLETION[key] for key in ("id", "created", "model")}
    events = [
        {**head, "object": "chat.completion.chunk", "choices": [{"index": 0, **each}], **beside}
        for each in (*choices, {"delta": {}, "finish_reason": "stop"})
    ]
    return "".join(f"data: {json.dumps(each)}\n\n" for each in events) + "data: [DONE]\n\n"


@joined("wire", WIRES)
def test_an_answer_without_anything_is_counted_apart(wire: str) -> None:
    nothing = ["nothing of the wire in a 200"]
    for streamed in (False, True):
        for body in ("", " \n"):
            assert judged(recorded(wire, body, streamed=streamed)) == ["empty body"]
    assert judged(recorded(wire, "null")) == judged(recorded(wire, "{}")) == nothing
    alone = recorded(wire, "data: [DONE]\n\n", streamed=True)
    assert len(judged(alone)) == 1


EMPTY: dict[str, tuple[Any, str, Callable[[], Any]]] = {
    "gemini": (gemini, "parse_response", GenerateContentResponse),
    "chat": (openai, "parse_completion", ChatCompletion),
    "responses": (responses, "parse_response", Response),
    "messages": (anthropic, "parse_message", MessageResponse),
}


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("body", ["", "{}", "null"])
def test_a_library_that_takes_nothing_for_an_answer_fails(
    wire: str, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, empty = EMPTY[wire]
    monkeypatch.setattr(module, name, lambda body: empty())
    with pytest.raises(AssertionError):
        judged(recorded(wire, body))


CHOICE, ITEM = ("choices", 0), ("output", 0)
OTHER_SHAPES = {
    "an object as content": (
        "chat",
        changed(COMPLETION, (*CHOICE, "message", "content"), {"a": 1}),
    ),
    "an object as content of an item": (
        "responses",
        changed(RESPONSE, (*ITEM, "content"), {"a": 1}),
    ),
    "a text as content of an item": ("responses", changed(RESPONSE, (*ITEM, "content"), "Hi")),
    "an object as parts": (
        "gemini",
        {"candidates": [{"content": {"parts": {"text": "Hi"}}, "finishReason": "STOP"}]},
    ),
    "a text as content": ("gemini", {"candidates": [{"content": "Hi", "finishReason": "STOP"}]}),
    "a number as logprobs": ("chat", changed(COMPLETION, (*CHOICE, "logprobs"), -0.25)),
    "numbers as logprobs": ("chat", changed(COMPLETION, (*CHOICE, "logprobs"), [-0.25, -1.0])),
    "numbers as logprobs of a text": (
        "responses",
        changed(RESPONSE, (*ITEM, "content", 0, "logprobs"), [-0.25]),
    ),
    "a text as usage": ("chat", changed(COMPLETION, ("usage",), "none")),
}
STREAMS = {
    "an object as content": chunks({"delta": {"role": "assistant", "content": {"a": 1}}}),
    "a number as logprobs": chunks(
        {"delta": {"content": "H"}, "logprobs": -0.25}, {"delta": {"content": "i"}, "logprobs": -1}
    ),
    "numbers as logprobs": chunks(
        {"delta": {"content": "H"}, "logprobs": [-0.25]},
        {"delta": {"content": "i"}, "logprobs": [-1.0]},
    ),
    "numbers in logprobs": chunks({"delta": {"content": "H"}, "logprobs": {"content": [-0.25]}}),
    "a text as usage, which is noted": chunks({"delta": {"content": "Hi"}}, usage="none"),
}


@joined("name", OTHER_SHAPES)
def test_values_of_another_shape_are_judged(name: str) -> None:
    wire, answer = OTHER_SHAPES[name]
    assert judged(recorded(wire, answer)) == []


@joined("name", STREAMS)
def test_streams_with_values_of_another_shape_are_judged(name: str) -> None:
    assert judged(recorded("chat", STREAMS[name], streamed=True)) == []


def test_cancelled_responses() -> None:
    cancelled = {**RESPONSE, "status": "cancelled", "output": []}
    assert judged(recorded("responses", cancelled, path="/resp_1/cancel")) == []
    assert judged(recorded("responses", "", path="/resp_1/cancel")) == ["empty body"]
    batch = {"id": "batch_1", "object": "batch", "status": "cancelling"}
    record = recorded("chat", batch)
    url = "https://api.openai.com/v1/batches/batch_1/cancel"
    assert judged({**record, "url": url, "request_body": {}}) == []


@joined(
    "path",
    [
        "containers/cntr_1/files",
        "containers/cntr_1/files/cfile_1",
        "containers/cntr_1/files/cfile_1/content",
        "vector_stores/vs_1/files",
    ],
)
def test_files_of_other_things_are_out_of_scope(path: str) -> None:
    record = {**recorded("chat", "a,b\n1,2\n"), "url": f"https://api.openai.com/v1/{path}"}
    assert isinstance(scope({**record, "method": "GET", "request_body": None}), str)
