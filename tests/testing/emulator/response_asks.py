"""Requests for Responses, and what came of them."""

from __future__ import annotations

import json
from typing import Any

from wire.testing.emulator import Answer, Emulator

RESPONSES = "/v1/responses"
KEY = {"authorization": "Bearer fake-key"}
ENCRYPTED = "reasoning.encrypted_content"
TEXT = "This is an emulator, and no model. You said: hi"
WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
    "strict": False,
}
QUESTION = {"role": "user", "content": "What is the weather in Paris and in Oslo?"}


def send(
    emulator: Emulator,
    method: str,
    target: str,
    body: dict[str, Any] | None = None,
    **headers: str,
) -> Answer:
    data = b"" if body is None else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return emulator.answer(method, target, {**KEY, **named}, data)


def ask(
    emulator: Emulator, input: Any = "hi", target: str = RESPONSES, headers: Any = None, **more: Any
) -> Answer:
    body = {"model": "gpt-5.4", "input": input, **more}
    return send(emulator, "POST", target, body, **(headers or {}))


def error(answer: Answer) -> tuple[Any, ...]:
    """Status, message, param and code of a refusal."""
    found = json.loads(answer.body)["error"]
    return answer.status, found["message"], found["param"], found["code"]


def events(answer: Answer) -> list[Any]:
    """The events of a stream, each named by its type."""
    found = []
    for block in answer.body.decode().removesuffix("\n\n").split("\n\n"):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def kinds(found: list[Any]) -> list[str]:
    """The types of events without their beginning, repeated ones once."""
    names = [each["type"].removeprefix("response.") for each in found]
    return [name for before, name in zip(["", *names], names, strict=False) if name != before]


def answered(output: list[Any], result: str = "sunny") -> list[Any]:
    """The items of an output as they go back, each call with its result."""
    calls = [item for item in output if item["type"].endswith("_call")]
    return [
        *output,
        *(
            {"type": f"{call['type']}_output", "call_id": call["call_id"], "output": result}
            for call in calls
        ),
    ]
