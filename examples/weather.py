"""A bot that looks up the weather: the model calls `get_weather`, which requests wttr.in.

Its instructions and its tool are kept in a context cache of Gemini, so that each request sends the
conversation alone. Gemini and wttr.in are emulated on this machine:

    python examples/weather.py

With the real Gemini and wttr.in; needs GEMINI_API_KEY:

    LIVE=1 python examples/weather.py "New York?"
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import httpx

from wire import LLMAgent, create_provider, printable
from wire.agent import CachePolicy
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
from wire.tools import FunctionTool, tool

SCHEMAS = Path(__file__).parents[1] / "schemas" / "tools" / "get_weather"
QUESTION = "東京の天気は？"
DAYS = {"today": "今日", "tomorrow": "明日", "at the weekend": "週末", "next week": "来週"}
TIMES = {
    "in the morning": "の朝",
    "at noon": "の昼",
    "in the evening": "の夕方",
    "at night": "の夜",
}
SKIES = {"sunny": "晴れ", "cloudy": "曇り", "rain": "雨", "snow": "雪", "fog": "霧", "storm": "嵐"}
PHRASES = "\n".join(
    f"- {sky} {day} {time} = {DAYS[day]}{TIMES[time]}は{SKIES[sky]}です。"
    for day in DAYS
    for time in TIMES
    for sky in SKIES
)
SYSTEM = (
    "You tell the weather. Answer in the language of the question, with one of these phrases:\n"
    + PHRASES
)
CACHE = CachePolicy(ttl=600, display_name="weather")
TIMEOUT = 3.0
MOST_BYTES = 1024 * 1024


class WeatherError(Exception):
    """The weather is unavailable; the message is sent to the model as the result."""


def weather_tool(http: httpx.AsyncClient) -> FunctionTool:
    """Returns the function `get_weather`, which sends its requests with this client."""

    async def get_weather(arguments: dict[str, Any]) -> dict[str, str]:
        location = arguments["location"]
        url = f"https://wttr.in/{quote(location, safe='')}?format=j1"
        try:
            # httpx's own timeout is one of each read, and a slow server may send many pieces.
            with anyio.fail_after(TIMEOUT):
                async with http.stream("GET", url, timeout=TIMEOUT) as response:
                    if response.status_code != 200:
                        raise WeatherError(f"API returned error status {response.status_code}")
                    body = b""
                    async for data in response.aiter_bytes():
                        body += data
                        if len(body) > MOST_BYTES:
                            raise WeatherError("API response is too large")
        except (httpx.TimeoutException, TimeoutError):
            raise WeatherError("API request failed: timeout") from None
        except httpx.HTTPError as error:
            raise WeatherError(f"API request failed: {type(error).__name__}") from error
        return {"location": location, **current(body)}

    return tool(
        get_weather,
        description="The weather of a city now. City names may be in English or Japanese.",
        parameters=SCHEMAS / "parameters.json",
        response=SCHEMAS / "response.json",
        read_only=True,
    )


def current(body: bytes) -> dict[str, str]:
    """Extracts the current conditions from wttr.in's response."""
    try:
        conditions = json.loads(body).get("current_condition") or []
    except (ValueError, AttributeError):
        raise WeatherError("API response is not readable") from None
    if not conditions:
        raise WeatherError("no weather data available")
    described = (conditions[0].get("weatherDesc") or [{}])[0].get("value")
    return {
        "current_temp_c": str(conditions[0].get("temp_C", "")),
        "condition": described or "unknown",
    }


# --- emulated on this machine ---------------------------------------------------------------------

SCRIPT = [
    {"say": {"calls": [{"name": "get_weather", "args": {"location": "東京"}}]}},
    {"say": "東京は晴れ、気温は15度です。"},
]


def wttr(request: httpx.Request) -> httpx.Response:
    """Emulates wttr.in."""
    now = {"temp_C": "15", "weatherDesc": [{"value": "Sunny"}]}
    return (
        httpx.Response(200, json={"current_condition": [now]})
        if request.url.raw_path.startswith(b"/%E6")
        else httpx.Response(404)
    )


async def main(question: str, live: bool) -> None:
    model = os.environ.get("GEMINI_MODEL", "gemini-3.8-flash")
    web = httpx.AsyncClient() if live else httpx.AsyncClient(transport=httpx.MockTransport(wttr))
    key = None if live else "fake-key"
    provider = create_provider(
        "gemini", key, model, http="auto" if live else AsyncEmulatorTransport(Emulator(SCRIPT))
    )
    async with web, LLMAgent(provider, SYSTEM, tools=[weather_tool(web)], cache=CACHE) as agent:
        print(f"you    {question}")
        result = await agent.run(question)
        for run in result.runs:
            print(f"call   {run.call.name}({json.dumps(run.call.arguments, ensure_ascii=False)})")
            print(f"       {json.dumps(run.result.answer, ensure_ascii=False)}")
        print(f"model  {printable(result.text)}")


if __name__ == "__main__":
    anyio.run(main, " ".join(sys.argv[1:]) or QUESTION, bool(os.environ.get("LIVE")))
