"""Journeys through the library cost no more calls of its functions than they did."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.joined import joined

SOURCE = Path(__file__).parent.parent / "bench" / "frames.py"

CEILINGS = {
    "raw event of chat completions": 15,
    "raw event of Gemini": 15,
    "neutral event of chat completions": 17,
    "neutral event of Gemini": 17,
    "neutral event of Responses": 18,
    "raw signature to the next call": 148,
    "neutral signature to the next call": 218,
    "neutral signature and a tool": 249,
    "neutral result, chat completions": 229,
    "neutral result, Messages": 266,
    "neutral result, Responses": 270,
    "one text, raw, Gemini": 73,
    "one text, raw, chat completions": 68,
    "one text, raw, Responses": 206,
    "one text, raw, Messages": 60,
    "one text, Gemini": 136,
    "one text, chat completions": 110,
    "one text, Responses": 214,
    "one text, Messages": 117,
    "ten more messages, raw, Gemini": 22,
    "ten more messages, raw, chat completions": 22,
    "ten more messages, raw, Responses": 42,
    "ten more messages, raw, Messages": 22,
    "ten more messages, Gemini": 88,
    "ten more messages, chat completions": 52,
    "ten more messages, Responses": 124,
    "ten more messages, Messages": 84,
    "ten more tools, Gemini": 10,
    "ten more tools, chat completions": 10,
    "ten more tools, Messages": 40,
    "ten more tools, Responses": 40,
    "function to Gemini's schema": 73,
    "one pipeline node": 89,
}
"""Name of a journey to a number of calls a little above what it takes. One for each struct of a
request is `Fields.__call__`, the guard of its fields."""

spec = importlib.util.spec_from_file_location("frames", SOURCE)
assert spec is not None
assert spec.loader is not None
frames = importlib.util.module_from_spec(spec)
spec.loader.exec_module(frames)


def test_each_journey_has_a_ceiling() -> None:
    assert CEILINGS.keys() == frames.JOURNEYS.keys()


@pytest.fixture
def uncollected() -> Iterator[None]:
    """One garbage collection before all journeys, which takes longer than a journey."""
    with frames.uncollected():
        yield


@pytest.mark.usefixtures("uncollected")
@joined("name", CEILINGS)
def test_no_more_calls_than_before(name: str) -> None:
    counted = frames.JOURNEYS[name]()
    assert 5 < counted.calls <= CEILINGS[name], sorted(counted.items())
