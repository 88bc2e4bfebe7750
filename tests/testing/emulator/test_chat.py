"""Chat completions: OpenAI's, and those that Google serves beside Gemini."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import post, said
from wire.testing.emulator import Emulator
from wire.testing.emulator.embeddings import vector

OPENAI, GOOGLE = "/v1/chat/completions", "/v1beta/openai/chat/completions"
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}
TEXT = "This is an emulator, and no model. You said: hi"


def chat(
    emulator: Emulator, content: str = "hi", target: str = OPENAI, messages: Any = None, **more: Any
) -> Any:
    model = "gpt-5.4" if target == OPENAI else "gemini-3.1-pro-preview"
    body = {"model": model, "messages": messages or [{"role": "user", "content": content}], **more}
    return emulator.answer("POST", target, {"authorization": "Bearer k"}, json.dumps(body).encode())


def events(answer: Any) -> list[Any]:
    lines = answer.body.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]


def test_a_whole_answer() -> None:
    found = said(chat(Emulator()))
    assert found["object"] == "chat.completion"
    assert found["choices"] == [
        {
            "index": 0,
            "message": {"role": "assistant", "content": TEXT, "refusal": None},
            "logprobs": None,
            "finish_reason": "stop",
        }
    ]
    assert (
        found["usage"]["prompt_tokens"],
        found["usage"]["completion_tokens"],
        found["usage"]["total_tokens"],
    ) == (1, 15, 16)


def test_a_stream_with_usage() -> None:
    answer = chat(Emulator(), stream=True, stream_options={"include_usage": True})
    assert answer.headers[0] == ("content-type", "text/event-stream; charset=utf-8")
    assert b"\r" not in answer.body
    found = events(answer)
    assert found[0]["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
    assert "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in found[:-1]) == TEXT
    assert found[-2]["choices"][0] == {
        "index": 0,
        "delta": {},
        "logprobs": None,
        "finish_reason": "stop",
    }
    assert (found[-1]["choices"], found[-1]["usage"]["completion_tokens"]) == ([], 15)
    assert all(chunk["usage"] is None for chunk in found[:-1])
    assert all("usage" not in chunk for chunk in events(chat(Emulator(), stream=True)))


def test_calls_whole_and_in_pieces() -> None:
    emulator = Emulator()
    message = said(chat(emulator, "Weather in Paris and Oslo?", tools=[TOOL]))["choices"][0]
    calls = message["message"]["tool_calls"]
    assert (message["finish_reason"], message["message"]["content"]) == ("tool_calls", None)
    assert [call["function"] for call in calls] == [
        {"name": "get_weather", "arguments": f'{{"city":"{city}"}}'} for city in ("Paris", "Oslo")
    ]
    assert all(call["id"].startswith("call_") and "extra_content" not in call for call in calls)
    arguments: dict[int, str] = {}
    for chunk in events(chat(emulator, "Weather in Paris and Oslo?", tools=[TOOL], stream=True)):
        for call in chunk["choices"][0]["delta"].get("tool_calls", ()):
            arguments[call["index"]] = (
                arguments.get(call["index"], "") + call["function"]["arguments"]
            )
    assert arguments == {0: '{"city":"Paris"}', 1: '{"city":"Oslo"}'}
    one = said(
        chat(emulator, "Weather in Paris and Oslo?", tools=[TOOL], parallel_tool_calls=False)
    )
    assert len(one["choices"][0]["message"]["tool_calls"]) == 1


def conversation(target: str, change: Any = None) -> Any:
    emulator = Emulator()
    asked = {"role": "user", "content": "Weather in Oslo?"}
    message = said(chat(emulator, target=target, messages=[asked], tools=[TOOL]))["choices"][0][
        "message"
    ]
    if change is not None:
        change(message["tool_calls"][0])
    result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "sunny"}
    return chat(emulator, target=target, messages=[asked, message, result], tools=[TOOL])


@pytest.mark.parametrize("target", [OPENAI, GOOGLE])
def test_results(target: str) -> None:
    text = said(conversation(target))["choices"][0]["message"]["content"]
    assert text == 'Your tool get_weather says {"result": "sunny"}.'


def test_google_wants_its_signature_back() -> None:
    missing = conversation(GOOGLE, lambda call: call.pop("extra_content"))
    assert (missing.status, json.loads(missing.body)[0]["error"]["message"][:49]) == (
        400,
        "Function call is missing a thought_signature in f",
    )
    wrong = conversation(
        GOOGLE, lambda call: call["extra_content"]["google"].update(thought_signature="AAAA")
    )
    assert json.loads(wrong.body)[0]["error"]["message"] == "Corrupted thought signature."


def test_forms_and_limits() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    form = {"type": "json_schema", "json_schema": {"name": "p", "schema": schema}}
    assert json.loads(
        said(chat(Emulator(), "Where is Oslo?", response_format=form))["choices"][0]["message"][
            "content"
        ]
    ) == {"city": "Oslo"}
    cut = said(chat(Emulator(), max_completion_tokens=5))["choices"][0]
    assert (cut["message"]["content"], cut["finish_reason"]) == ("This is an emulator", "length")
    assert (
        said(chat(Emulator(), stop="You"))["choices"][0]["message"]["content"]
        == "This is an emulator, and no model. "
    )
    assert (
        said(chat(Emulator(), tools=[TOOL], tool_choice="none"))["choices"][0]["finish_reason"]
        == "stop"
    )
    forced = {"type": "function", "function": {"name": "get_weather"}}
    assert (
        said(chat(Emulator(), tools=[TOOL], tool_choice=forced))["choices"][0]["finish_reason"]
        == "tool_calls"
    )


@joined(
    ("headers", "body", "status", "words"),
    [
        ({}, {"model": "m", "messages": []}, 401, "You didn't provide an API key."),
        (
            {"authorization": "Bearer bad"},
            {"model": "m", "messages": []},
            401,
            "Incorrect API key provided",
        ),
        (
            {"authorization": "Bearer k"},
            {"model": "gpt-5.4", "messages": []},
            400,
            "Invalid 'messages': empty array.",
        ),
        (
            {"authorization": "Bearer k"},
            {"messages": [{"role": "user", "content": "hi"}]},
            400,
            "you must provide a model parameter",
        ),
        ({"authorization": "Bearer k"}, {"model": 5, "messages": []}, 400, "Invalid type: "),
        ({"authorization": "Bearer k"}, [], 400, "Invalid type: "),
    ],
)
def test_refusals(headers: dict[str, str], body: Any, status: int, words: str) -> None:
    answer = Emulator().answer("POST", OPENAI, headers, json.dumps(body).encode())
    assert answer.status == status
    assert json.loads(answer.body)["error"]["message"].startswith(words)


def test_a_type_that_json_schema_lacks() -> None:
    function = {"name": "f", "parameters": {"type": "list"}}
    tools = [{"type": "function", "function": function}]
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], "tools": tools}
    key = {"authorization": "Bearer fake-key"}
    target, sent = "/v1/chat/completions", json.dumps(body).encode()
    answer = Emulator().answer("POST", target, key, sent)
    error = json.loads(answer.body)["error"]
    assert (answer.status, error["param"]) == (400, "tools[0].function.parameters.type")
    assert error["message"] == "'list' is no type of JSON Schema"
    assert Emulator(provider="vllm").answer("POST", target, key, sent).status == 200


def test_google_wraps_its_refusals_into_a_list() -> None:
    body = json.dumps(
        {"model": "nothing", "messages": [{"role": "user", "content": "hi"}]}
    ).encode()
    answer = Emulator().answer("POST", GOOGLE, {"authorization": "Bearer k"}, body)
    assert (answer.status, json.loads(answer.body)[0]["error"]["status"]) == (404, "NOT_FOUND")


def test_embeddings_of_openai() -> None:
    body = {"model": "text-embedding-3-small", "input": ["a", "b"], "dimensions": 4}
    found = said(post(Emulator(), "/v1/embeddings", body, authorization="Bearer k"))
    assert [each["embedding"] for each in found["data"]] == [vector("a", 4), vector("b", 4)]


def test_models_at_google() -> None:
    found = said(
        Emulator().answer("GET", "/v1beta/openai/models", {"authorization": "Bearer k"}, b"")
    )
    assert {each["owned_by"] for each in found["data"]} == {"google"}


# --- reasoning that must come back ----------------------------------------------------------------

THINKERS = pytest.mark.parametrize("model", ["deepseek-v4-flash", "kimi-k2.6"])
ASKED = {"role": "user", "content": "Weather in Oslo?"}


def joined(answer: Any) -> dict[str, Any]:
    """The message of a stream, joined as plain clients do."""
    message: dict[str, Any] = {"role": "assistant", "content": "", "reasoning_content": ""}
    for chunk in events(answer):
        delta = chunk["choices"][0]["delta"]
        for key in ("content", "reasoning_content"):
            message[key] += delta.get(key) or ""
        for call in delta.get("tool_calls", ()):
            if "id" in call:
                message.setdefault("tool_calls", []).append(call)
            else:
                function = message["tool_calls"][call["index"]]["function"]
                function["arguments"] += call["function"]["arguments"]
    return message


@THINKERS
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("thoughts", [None, "", "Oslo first."])
def test_a_verbatim_echo_passes_two_tool_turns(
    model: str, stream: bool, thoughts: str | None
) -> None:
    say = {"thoughts": thoughts, "calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]}
    emulator = Emulator(None if thoughts is None else [{"say": say}, {"say": say}])
    messages: list[Any] = []
    for _ in range(2):
        messages.append(ASKED if thoughts is None or not messages else {**ASKED, "content": "On?"})
        more = {"model": model, "messages": messages, "tools": [TOOL], "stream": stream}
        answer = chat(emulator, **more)
        message = joined(answer) if stream else said(answer)["choices"][0]["message"]
        expected = thoughts
        if thoughts is None:
            expected = "**Reading the question**\n\nThe user said: Weather in Oslo?\n\n"
        assert message["reasoning_content"] == expected
        result = {
            "role": "tool",
            "tool_call_id": message["tool_calls"][0]["id"],
            "content": "sunny",
        }
        messages += [message, result]
    assert chat(emulator, model=model, messages=messages, tools=[TOOL]).status == 200
    del messages[1]["reasoning_content"]
    dropped = chat(emulator, model=model, messages=messages, tools=[TOOL])
    assert (dropped.status, json.loads(dropped.body)["error"]["message"]) == (
        400,
        "thinking is enabled but reasoning_content is missing in assistant tool call message at "
        "index 1",
    )


@THINKERS
def test_reasoning_tokens_are_those_of_the_reasoning(model: str) -> None:
    emulator = Emulator([{"say": {"text": "Ok", "thoughts": "One two."}}])
    usage = said(chat(emulator, model=model))["usage"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 3
    assert usage["completion_tokens"] == 4


def test_no_reasoning_where_thinking_is_disabled() -> None:
    answer = chat(Emulator(), model="deepseek-v4-flash", thinking={"type": "disabled"})
    assert "reasoning_content" not in said(answer)["choices"][0]["message"]
