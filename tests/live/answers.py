"""What the emulator says in place of a good model, by the name of the test or of the check."""

from __future__ import annotations

from typing import Any

_CITIES = [
    {"name": "get_weather", "args": {"city": city}} for city in ("San Francisco", "New York")
]
WEATHER: list[dict[str, Any]] = [{"say": {"calls": _CITIES}}, {"say": "17 degrees in both."}]

GOOD: dict[str, list[dict[str, Any]]] = {
    "text": [{"say": "Hello."}],
    "stream": [{"say": "An old silent pond"}],
    "parallel_tools": WEATHER,
    "image": [{"say": "Red."}],
    "structured_output": [{"say": '{"name":"Alice","age":30}'}],
    "unknown_model": [],
    "test_whole_answer": [{"say": "Yes."}],
    "test_stream": [{"say": " ".join(map(str, range(1, 21)))}],
    "test_tool_round_trip_with_parallel_calls": WEATHER,
}
