"""Anthropic's own client for Python, case by case, against the emulator: run in `.venv-sdks` with
its URL; a line of JSON a case.
"""

from __future__ import annotations

import asyncio
import json
import sys
import urllib.request
from collections.abc import Callable, Iterable
from typing import Any

import anthropic

URL = sys.argv[1]
MODEL = "claude-sonnet-4-5"
TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
THINKING = {"type": "enabled", "budget_tokens": 1024}
QUESTION = "What is the weather in Paris and in Oslo?"
CASES: dict[str, Callable[[], Any]] = {}


def client(
    key: str = "fake-key", fault: str = "", path: str = "", retries: int = 0
) -> anthropic.Anthropic:
    headers = {"x-wire-fault": fault} if fault else None
    return anthropic.Anthropic(
        api_key=key, base_url=URL + path, default_headers=headers, max_retries=retries
    )


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    CASES[function.__name__] = function
    return function


def ask(door: anthropic.Anthropic, messages: Any = None, **options: Any) -> Any:
    options = {"model": MODEL, "max_tokens": 2000, **options}
    return door.messages.create(messages=messages or [{"role": "user", "content": "hi"}], **options)


@case
def plain() -> Any:
    answer = ask(client())
    return (
        answer.content[0].text,
        answer.stop_reason,
        answer.usage.output_tokens,
        answer._request_id.startswith("req_01"),
    )


@case
def bearer() -> Any:
    door = anthropic.Anthropic(auth_token="fake-token", base_url=URL, max_retries=0)
    return ask(door).stop_reason


@case
def stream() -> Any:
    kinds = [event.type for event in ask(client(), stream=True)]
    return kinds[0], kinds[-2:]


@case
def stream_helper() -> Any:
    """The helper that folds a stream; what it gives is sent back as it is, thoughts with their
    signatures.
    """
    more = {"model": MODEL, "max_tokens": 2000, "tools": [TOOL], "thinking": THINKING}
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    with client().messages.stream(messages=messages, **more) as events:
        message = events.get_final_message()
    calls = [block for block in message.content if block.type == "tool_use"]
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps({"sky": "sunny"})}
        for call in calls
    ]
    messages += [
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": results},
    ]
    with client().messages.stream(messages=messages, **more) as events:
        text = "".join(events.text_stream)
    return [block.type for block in message.content], [call.input["city"] for call in calls], text


@case
def tools() -> Any:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    message = ask(client(), messages, tools=[TOOL])
    results = [
        {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}
        for call in message.content
    ]
    messages += [
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": results},
    ]
    return message.stop_reason, ask(client(), messages, tools=[TOOL]).content[0].text


@anthropic.beta_tool
def get_weather(city: str) -> str:
    """Weather of a city."""
    return f"sunny in {city}"


@anthropic.beta_async_tool
async def get_weather_of_paris(city: str) -> str:
    """Weather of a city."""
    if city != "Paris":
        raise LookupError(city)
    return "sunny"


RUN: dict[str, Any] = {
    "model": MODEL,
    "max_tokens": 2000,
    "messages": [{"role": "user", "content": QUESTION}],
}


def control(method: str, name: str) -> Any:
    """What the emulator's own endpoint answers."""
    request = urllib.request.Request(f"{URL}/_wire/{name}", method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.load(answer)


def run_of(work: Callable[[], Iterable[Any]]) -> Any:
    """The blocks of each answer of a tool runner, the last text, and the status of each request:
    that of November asks for a thread first, which is refused.
    """
    control("DELETE", "requests")
    found = list(work())
    statuses = [each["status"] for each in control("GET", "requests")["requests"]]
    kinds = [[block.type for block in message.content] for message in found]
    return kinds, found[-1].content[-1].text, statuses


@case
def tool_runner() -> Any:
    """The SDK's own tool loop."""
    return run_of(lambda: client().beta.messages.tool_runner(tools=[get_weather], **RUN))


@case
def tool_runner_streamed() -> Any:
    """Thoughts go back with their signatures."""
    more = {"stream": True, "thinking": THINKING, **RUN}
    runner = client().beta.messages.tool_runner(tools=[get_weather], **more)
    return run_of(lambda: (stream.get_final_message() for stream in runner))


@case
def tool_runner_async() -> Any:
    """One of the two calls fails."""

    async def messages() -> list[Any]:
        async with anthropic.AsyncAnthropic(
            api_key="fake-key", base_url=URL, max_retries=0
        ) as door:
            runner = door.beta.messages.tool_runner(tools=[get_weather_of_paris], **RUN)
            return [message async for message in runner]

    return run_of(lambda: asyncio.run(messages()))


@case
def cache() -> Any:
    door = client()
    system = [{"type": "text", "text": "word " * 1500, "cache_control": {"type": "ephemeral"}}]
    usages = [ask(door, system=system).usage for _ in range(2)]
    return [
        [usage.cache_creation_input_tokens > 0, usage.cache_read_input_tokens > 0]
        for usage in usages
    ]


@case
def count_tokens() -> Any:
    return (
        client()
        .messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hi there"}])
        .input_tokens
    )


@case
def models() -> Any:
    door = client()
    names = [each.id for each in door.models.list(limit=3)]  # page by page
    return (
        len(names) == len(set(names)) > 3,
        MODEL in names,
        door.models.retrieve(MODEL).display_name,
    )


@case
def other_host() -> Any:
    answer = ask(client(path="/anthropic"), model="kimi-k2-thinking", thinking=THINKING)
    return [block.type for block in answer.content]


def _raises(work: Callable[[], Any]) -> Any:
    try:
        return "ok", work()
    except Exception as error:
        body = getattr(error, "body", None)
        told = body.get("error", {}) if isinstance(body, dict) else {}
        return (
            type(error).__name__,
            getattr(error, "status_code", None),
            told.get("type"),
            told.get("message"),
        )


@case
def error_400() -> Any:
    return _raises(lambda: ask(client(), extra_body={"temperature": 1.5}))


@case
def error_key() -> Any:
    return _raises(lambda: ask(client("bad-key")))


@case
def error_404() -> Any:
    return _raises(lambda: ask(client(), model="claude-nothing"))


@case
def error_429() -> Any:
    return _raises(lambda: ask(client(fault="429; retry-after=0")))[:3]


@case
def error_529() -> Any:
    return _raises(lambda: ask(client(fault="529")))


@case
def retried() -> Any:
    return _raises(
        lambda: ask(client(fault="529; retry-after=0.01; times=2", retries=2)).stop_reason
    )


@case
def stream_error() -> Any:
    return _raises(lambda: list(ask(client(fault="error; after=3"), stream=True)))


@case
def stream_cut() -> Any:
    return _raises(lambda: list(ask(client(fault="cut; after=3"), stream=True)))


if __name__ == "__main__":
    for name in sys.argv[2:] or CASES:
        print(json.dumps([name, *_raises(CASES[name])], default=str), flush=True)
