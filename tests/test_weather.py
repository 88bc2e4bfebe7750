"""The bot of examples/weather.py: its tool, its schemas, its conversation."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import anyio
import httpx
import jsonschema_rs
import pytest

from wire import LLMAgent, ToolCall, create_provider
from wire.agent import run_calls
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
from wire.tools import Toolbox

ROOT = Path(__file__).parent.parent
SCHEMAS = ROOT / "schemas" / "tools" / "get_weather"
NOW = {"current_condition": [{"temp_C": "15", "weatherDesc": [{"value": "Sunny"}]}]}


@pytest.fixture(scope="module")
def weather() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "weather_example", ROOT / "examples" / "weather.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def asked(
    weather: ModuleType, answer: Callable[[httpx.Request], httpx.Response], **arguments: Any
) -> dict[str, Any]:
    """What the model is told of a call."""

    async def main() -> dict[str, Any]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
            call = ToolCall(id="c0", name="get_weather", arguments=arguments)
            return (await run_calls(Toolbox([weather.weather_tool(http)]), [call]))[0].result.answer

    return anyio.run(main)


@pytest.mark.row("S3-13", "S3-14")
@pytest.mark.parametrize(
    ("location", "path"),
    [
        ("東京", "/%E6%9D%B1%E4%BA%AC?format=j1"),
        ("New York", "/New%20York?format=j1"),
        ("a?b#c%", "/a%3Fb%23c%25?format=j1"),
    ],
)
def test_wttr_is_asked_with_an_encoded_path(weather: ModuleType, location: str, path: str) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(f"{request.method} {request.url.host} {request.url.raw_path.decode()}")
        assert request.extensions["timeout"]["read"] == 3.0
        return httpx.Response(200, json=NOW)

    assert asked(weather, answer, location=location) == {
        "location": location,
        "current_temp_c": "15",
        "condition": "Sunny",
    }
    assert seen == [f"GET wttr.in {path}"]


@pytest.mark.row("S3-14")
@pytest.mark.parametrize(
    ("response", "said"),
    [
        (httpx.Response(503), {"error": "API returned error status 503"}),
        (
            httpx.Response(200, json={"current_condition": []}),
            {"error": "no weather data available"},
        ),
        (httpx.Response(200, json={}), {"error": "no weather data available"}),
        (httpx.Response(200, text="<html>"), {"error": "API response is not readable"}),
        (httpx.Response(200, json=[1]), {"error": "API response is not readable"}),
        (
            httpx.Response(200, content=b" " * (1024 * 1024 + 1)),
            {"error": "API response is too large"},
        ),
        (
            httpx.Response(200, json={"current_condition": [{"temp_C": 15}]}),
            {"location": "Oslo", "current_temp_c": "15", "condition": "unknown"},
        ),
    ],
)
def test_what_wttr_says_beside_the_weather(
    weather: ModuleType, response: httpx.Response, said: dict[str, Any]
) -> None:
    assert asked(weather, lambda request: response, location="Oslo") == said


@pytest.mark.row("S3-15", "S3-16")
@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (httpx.ReadTimeout("slow"), "API request failed: timeout"),
        (httpx.ConnectTimeout("slow"), "API request failed: timeout"),
        (httpx.ConnectError("nobody"), "API request failed: ConnectError"),
    ],
)
def test_a_failure_is_told_and_the_details_are_not(
    weather: ModuleType, problem: Exception, said: str
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise problem

    assert asked(weather, answer, location="Oslo") == {"error": said}


class Slow(httpx.AsyncByteStream):
    """A body of which each piece comes in time, and the whole does not."""

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for _ in range(500):
            yield b" "
            await anyio.sleep(0.001)


@pytest.mark.row("S3-15", "S3-16")
def test_the_time_is_that_of_the_whole_request(
    weather: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert weather.TIMEOUT == 3
    monkeypatch.setattr(weather, "TIMEOUT", 0.05)
    response = httpx.Response(200, stream=Slow())
    said = asked(weather, lambda request: response, location="Oslo")
    assert said == {"error": "API request failed: timeout"}


@pytest.mark.row("S3-13", "S3-03")
@pytest.mark.parametrize("location", ["", "x" * 101, "a@b", "http://x", "a/b", 5])
def test_what_is_no_city_is_not_asked_about(weather: ModuleType, location: Any) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise AssertionError("it was asked")

    assert asked(weather, answer, location=location)["error"].startswith(
        "invalid parameters: $.location: "
    )
    assert asked(weather, answer, location="Oslo", unit="F")["error"].startswith(
        "invalid parameters: "
    )


@pytest.mark.row("S3-32", "S3-13")
def test_the_schemas_are_files() -> None:
    parameters, response = (
        json.loads((SCHEMAS / f"{name}.json").read_text("utf-8"))
        for name in ("parameters", "response")
    )
    jsonschema_rs.meta.validate(parameters)
    jsonschema_rs.meta.validate(response)
    assert (parameters["required"], parameters["additionalProperties"]) == (["location"], False)
    assert set(response["properties"]) == {"location", "current_temp_c", "condition"}


@pytest.mark.row("S3-19", "S3-27")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_bot_keeps_its_instructions_in_a_cache(
    weather: ModuleType, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    emulator = Emulator(weather.SCRIPT)
    monkeypatch.setattr(weather, "Emulator", lambda script: emulator)
    anyio.run(weather.main, weather.QUESTION, False, backend=backend)
    lines = [f"{each['method']} {each['target'].split('/', 2)[2]}" for each in emulator.requests]
    assert lines == [
        "POST models/gemini-3.8-flash:countTokens",
        "POST cachedContents",
        "POST models/gemini-3.8-flash:generateContent",
        "POST models/gemini-3.8-flash:generateContent",
        f"DELETE {emulator.requests[2]['body']['cachedContent']}",
    ]
    cached = emulator.requests[1]["body"]
    assert cached["systemInstruction"] == {"parts": [{"text": weather.SYSTEM}]}
    assert [each["name"] for each in cached["tools"][0]["functionDeclarations"]] == ["get_weather"]
    for request in emulator.requests[2:4]:
        assert set(request["body"]) == {"contents", "cachedContent", "store"}


@pytest.mark.row("S3-17")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_the_whole_conversation_in_two_requests(weather: ModuleType, backend: str) -> None:
    emulator = Emulator(weather.SCRIPT)

    async def main() -> Any:
        async with httpx.AsyncClient(transport=httpx.MockTransport(weather.wttr)) as http:
            provider = create_provider(
                "gemini", "fake-key", "gemini-3.8-flash", http=AsyncEmulatorTransport(emulator)
            )
            async with LLMAgent(
                provider, weather.SYSTEM, tools=[weather.weather_tool(http)]
            ) as agent:
                return await agent.run(weather.QUESTION)

    result = anyio.run(main, backend=backend)
    assert result.text == "東京は晴れ、気温は15度です。"
    assert len(emulator.requests) == 2
    first, second = (each["body"] for each in emulator.requests)
    assert first["contents"] == [{"parts": [{"text": "東京の天気は？"}], "role": "user"}]
    assert second["contents"][1]["parts"][0]["functionCall"]["args"] == {"location": "東京"}
    assert second["contents"][2]["parts"][0]["functionResponse"]["response"] == {
        "location": "東京",
        "current_temp_c": "15",
        "condition": "Sunny",
    }
    assert result.usage.total == sum(step.reply.usage.total for step in result.steps) > 0
