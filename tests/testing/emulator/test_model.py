"""The small model: what it calls, and what it writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.emulator import claude_asks
from tests.testing.emulator.asks import GEMINI_3, ask, model, parts, post, said, user
from wire.neutral.messages import Message
from wire.neutral.request import Output, Request, Tool
from wire.testing.emulator import Emulator
from wire.testing.emulator.model import Prompt, complete

CITY = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Lyon", "Oslo", "Paris"]},
        "unit": {"type": "string", "enum": ["C", "F"]},
    },
    "required": ["city"],
}
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "stars": {"type": "integer", "minimum": 3}},
    "required": ["title", "stars"],
}


def asked(question: str, *functions: Tool, **fields: Any) -> Prompt:
    return Prompt(Request(messages=(Message.user(question),), tools=functions, **fields))


def calls(question: str, schema: Any) -> Any:
    weather = Tool("get_weather", "Weather of a city", schema)
    found = complete(asked(question, weather)).tool_calls
    return [(each.name, each.arguments) for each in found]


def test_each_value_of_an_enum_is_called_for() -> None:
    assert calls("What is the weather in Paris and in Oslo?", CITY) == [
        ("get_weather", {"city": "Paris"}),
        ("get_weather", {"city": "Oslo"}),
    ]
    assert calls("What is the weather in Oslo?", CITY) == [("get_weather", {"city": "Oslo"})]


def test_enums_are_called_for_in_parallel_at_a_server() -> None:
    tool = {"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": CITY}]}
    found = parts(ask(Emulator(), "get_weather of Lyon, Oslo and Paris", tools=[tool]))
    cities = [each["functionCall"]["args"]["city"] for each in found]
    assert cities == ["Lyon", "Oslo", "Paris"]


def test_a_schema_in_words_is_followed() -> None:
    words = f"Rate this book. Answer in JSON of this schema:\n```json\n{json.dumps(SCHEMA)}\n```"
    for prompt in (
        asked(words),
        asked("Rate it.", system=words),
        asked(words, output=Output({})),
    ):
        found = json.loads(complete(prompt).text)
        assert (list(found), found["stars"]) == (["title", "stars"], 3)
    assert complete(asked('What is {x} in {"a": 1}?')).text.startswith("This is an")


def test_a_schema_in_the_system_instruction_of_each_vendor() -> None:
    words = f"Answer as JSON: {json.dumps(SCHEMA)}"
    gemini = ask(Emulator(), "rate it", systemInstruction={"parts": [{"text": words}]})
    claude = said(claude_asks.post(Emulator(), "rate it", system=words))
    body = {
        "model": "gpt-5.4",
        "messages": [{"role": "system", "content": words}, {"role": "user", "content": "rate it"}],
    }
    answer = Emulator().answer(
        "POST", "/v1/chat/completions", {"authorization": "Bearer k"}, json.dumps(body).encode()
    )
    texts = [
        parts(gemini)[0]["text"],
        claude["content"][0]["text"],
        said(answer)["choices"][0]["message"]["content"],
    ]
    assert [json.loads(text) for text in texts] == [{"title": "title", "stars": 3}] * 3


def test_results_that_are_spread_over_contents_are_all_read() -> None:
    emulator = Emulator()
    tool = {"functionDeclarations": [{"name": "get_weather", "parametersJsonSchema": CITY}]}
    question = user("get_weather of Oslo and Paris")
    found = parts(ask(emulator, "get_weather of Oslo and Paris", tools=[tool]))
    results = [
        {
            "role": "user",
            "parts": [
                {
                    "functionResponse": {
                        "name": "get_weather",
                        "id": each["functionCall"]["id"],
                        "response": {"sky": sky},
                    }
                }
            ],
        }
        for each, sky in zip(found, ("snow", "rain"), strict=True)
    ]
    body = {"contents": [question, model(*found), *results], "tools": [tool]}
    answer = post(Emulator(lenient=True), f"{GEMINI_3}:generateContent", body)
    text = parts(said(answer))[0]["text"]
    assert "snow" in text
    assert "rain" in text


@pytest.mark.parametrize(
    "more",
    [
        {"properties": ["city"]},
        {"properties": 7, "required": ["city"]},
        {"properties": CITY["properties"], "required": 7},
    ],
)
def test_a_malformed_schema_of_a_function_is_no_traceback(more: dict[str, Any]) -> None:
    schema = {"type": "object", **more}
    prompt = asked("Weather in Paris and in Oslo?", Tool("f", "", schema))
    with pytest.raises(ValueError, match="invalid schema"):
        complete(prompt)
