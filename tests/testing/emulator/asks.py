"""Requests for the emulator's core, and what came of them."""

from __future__ import annotations

import json
from typing import Any

from wire.testing.emulator import Answer, Emulator

KEY = {"x-goog-api-key": "fake-key"}
GEMINI_3 = "/v1beta/models/gemini-3.1-pro-preview"
GEMINI_25 = "/v1beta/models/gemini-2.5-flash"
VERTEX = "/v1beta1/projects/p/locations/global/publishers/google/models/gemini-3-flash-preview"
WEATHER = {
    "functionDeclarations": [
        {
            "name": "get_weather",
            "description": "Weather of a city",
            "parameters": {
                "type": "OBJECT",
                "properties": {"city": {"type": "STRING"}},
                "required": ["city"],
            },
        }
    ]
}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "parts": [{"text": text}]}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def results(*names: str) -> dict[str, Any]:
    return {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": name, "response": {"result": "ok"}}} for name in names
        ],
    }


def post(emulator: Emulator, target: str, body: Any, **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return emulator.answer("POST", target, {**KEY, "host": "127.0.0.1:8910", **named}, data)


def get(emulator: Emulator, target: str, method: str = "GET") -> Answer:
    return emulator.answer(method, target, KEY, b"")


def said(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


def chunks(answer: Answer) -> list[Any]:
    assert answer.status == 200, answer.body
    return [
        json.loads(event.removeprefix(b"data: "))
        for event in answer.body.split(b"\r\n\r\n")
        if event
    ]


def parts(answer: Any) -> list[Any]:
    """The parts of a whole answer, or of all chunks."""
    listed = answer if isinstance(answer, list) else [answer]
    return [part for chunk in listed for part in chunk["candidates"][0]["content"].get("parts", ())]


def error(answer: Answer) -> tuple[int, str, str]:
    found = json.loads(answer.body)["error"]
    assert found["code"] == answer.status
    return answer.status, found["status"], found["message"]


def ask(emulator: Emulator, text: str = "hi", target: str = GEMINI_3, **more: Any) -> Any:
    return said(post(emulator, f"{target}:generateContent", {"contents": [user(text)], **more}))


def stream(emulator: Emulator, text: str = "hi", target: str = GEMINI_3, **more: Any) -> list[Any]:
    return chunks(
        post(
            emulator, f"{target}:streamGenerateContent?alt=sse", {"contents": [user(text)], **more}
        )
    )
