"""OpenAI's own client for Python, case by case, against the emulator: run in `.venv-sdks` with its
URL; a line of JSON a case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import openai

URL = sys.argv[1]
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
QUESTION = "What is the weather in Paris and in Oslo?"
CASES: dict[str, Callable[[], Any]] = {}


def client(
    key: str = "fake-key", fault: str = "", path: str = "/v1", retries: int = 0
) -> openai.OpenAI:
    headers = {"x-wire-fault": fault} if fault else None
    return openai.OpenAI(
        api_key=key, base_url=URL + path, default_headers=headers, max_retries=retries
    )


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def ask(door: openai.OpenAI, model: str = "gpt-5.4", messages: Any = None, **options: Any) -> Any:
    return door.chat.completions.create(
        model=model, messages=messages or [{"role": "user", "content": "hi"}], **options
    )


@case
def plain() -> Any:
    answer = ask(client())
    return (
        answer.choices[0].message.content,
        answer.choices[0].finish_reason,
        answer.usage.total_tokens > 0,
    )


@case
def stream() -> Any:
    chunks = list(ask(client(), stream=True, stream_options={"include_usage": True}))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    return text, chunks[-1].choices, chunks[-1].usage.total_tokens > 0


@case
def stream_helper() -> Any:
    """The helper that folds a stream, with tools; what it sends back holds keys of its own."""
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with client().chat.completions.stream(
        model="gpt-5.4", messages=messages, tools=[TOOL]
    ) as events:
        message = events.get_final_completion().choices[0].message
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls
    ]
    return [call.function.arguments for call in message.tool_calls], ask(
        client(), messages=messages, tools=[TOOL]
    ).choices[0].message.content


def _tools(door: openai.OpenAI, model: str) -> Any:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    message = ask(door, model, messages, tools=[TOOL]).choices[0].message
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": call.id, "content": json.dumps({"sky": "sunny"})}
        for call in message.tool_calls
    ]
    return len(message.tool_calls), ask(door, model, messages, tools=[TOOL]).choices[
        0
    ].message.content


@case
def tools() -> Any:
    return _tools(client(), "gpt-5.4")


@case
def tools_at_google() -> Any:
    return _tools(client(path="/v1beta/openai/"), "gemini-3.1-pro-preview")


@case
def json_schema() -> Any:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    form = {
        "type": "json_schema",
        "json_schema": {"name": "place", "strict": True, "schema": schema},
    }
    return json.loads(
        ask(
            client(), messages=[{"role": "user", "content": "Where is Oslo?"}], response_format=form
        )
        .choices[0]
        .message.content
    )


@case
def models() -> Any:
    return "gpt-5.4" in [each.id for each in client().models.list()], client().models.retrieve(
        "gpt-5.4"
    ).id


@case
def embeddings() -> Any:
    return [
        len(each.embedding)
        for each in client()
        .embeddings.create(model="text-embedding-3-small", input=["a", "b"], dimensions=8)
        .data
    ]


def _raises(work: Callable[[], Any]) -> Any:
    try:
        return "ok", work()
    except Exception as error:
        return (
            type(error).__name__,
            getattr(error, "status_code", None),
            getattr(error, "code", None),
        )


@case
def error_400() -> Any:
    return _raises(lambda: client().chat.completions.create(model="gpt-5.4", messages=[]))


@case
def error_key() -> Any:
    return _raises(lambda: ask(client("bad-key")))


@case
def error_429() -> Any:
    return _raises(lambda: ask(client(fault="429; retry-after=0")))


@case
def retried() -> Any:
    return _raises(
        lambda: (
            ask(client(fault="503; retry-after=0.01; times=2", retries=2)).choices[0].finish_reason
        )
    )


@case
def stream_error() -> Any:
    return _raises(lambda: list(ask(client(fault="error; after=2"), stream=True)))


@case
def stream_cut() -> Any:
    return _raises(lambda: list(ask(client(fault="cut; after=2"), stream=True)))


if __name__ == "__main__":
    for name, work in CASES.items():
        print(json.dumps([name, *_raises(work)], default=str), flush=True)
