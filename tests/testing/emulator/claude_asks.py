"""Requests of Messages for the emulator's core, and what came of them."""

from __future__ import annotations

import json
from typing import Any

from wire.testing.emulator import Answer, Emulator

KEY = {"x-api-key": "fake-key", "anthropic-version": "2023-06-01"}
MODEL = "claude-sonnet-4-5"
TEXT = "This is an emulator, and no model. You said: hi"
TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}
QUESTION = "What is the weather in Paris and in Oslo?"
THINKING = {"type": "enabled", "budget_tokens": 1024}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content}


def post(
    emulator: Emulator,
    content: Any = "hi",
    *turns: Any,
    path: str = "/v1/messages",
    fault: str = "",
    **more: Any,
) -> Answer:
    body = {"model": MODEL, "max_tokens": 2000, "messages": [user(content), *turns], **more}
    headers = KEY | ({"x-wire-fault": fault} if fault else {})
    return emulator.answer(
        "POST",
        path,
        headers,
        json.dumps({key: value for key, value in body.items() if value is not None}).encode(),
    )


def said(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def events(answer: Answer) -> list[Any]:
    """The data of the events; every event's name is its type."""
    assert (answer.status, answer.headers[0]) == (
        200,
        ("content-type", "text/event-stream; charset=utf-8"),
    )
    found = []
    for event in answer.body.decode().removesuffix("\n\n").split("\n\n"):
        name, data = event.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def blocks(told: list[Any]) -> list[Any]:
    """The content that a client makes of events."""
    found: list[Any] = []
    for event in told:
        if event["type"] == "content_block_start":
            assert event["index"] == len(found)
            found.append(
                {
                    **event["content_block"],
                    **({"input": ""} if event["content_block"]["type"] == "tool_use" else {}),
                }
            )
        elif event["type"] == "content_block_delta":
            assert event["index"] == len(found) - 1
            for key, value in event["delta"].items():
                name = {"partial_json": "input"}.get(key, key)
                if key != "type":
                    found[-1][name] += value
    for block in found:
        if block["type"] == "tool_use":
            block["input"] = json.loads(block["input"] or "{}")
    return found


def refused(answer: Answer) -> tuple[int, str, str]:
    told = json.loads(answer.body)
    assert told["type"] == "error"
    assert told["request_id"] == dict(answer.headers)["request-id"]
    return answer.status, told["error"]["type"], told["error"]["message"]


def conversation(
    change: Any = None, seed: int = 0, model: str = MODEL, path: str = "/v1/messages"
) -> Answer:
    emulator = Emulator()
    more = {"tools": [TOOL], "thinking": THINKING, "path": path}
    content = said(post(emulator, "Weather in Oslo?", **more))["content"]
    if change is not None:
        change(content)
    result = {"type": "tool_result", "tool_use_id": content[-1]["id"], "content": "sunny"}
    return post(
        emulator if seed == 0 else Emulator(seed=seed),
        "Weather in Oslo?",
        assistant(content),
        user([result]),
        model=model,
        **more,
    )
