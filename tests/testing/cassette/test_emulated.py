"""Cassettes say which responses the emulator sent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from wire import AsyncChat, Chat
from wire.testing import AsyncCassette, Cassette
from wire.testing.cassette.convert.conversion import convert
from wire.testing.cassette.format.file import load
from wire.testing.cassette.views.conversation import conversation
from wire.testing.cassette.views.text import conversation_text
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport, serve

GEMINI = "gemini:gemini-3.8-flash"
ANSWER: dict[str, Any] = {"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}


def asked(http: Cassette, prompt: str = "Hi", **options: Any) -> None:
    with Chat(GEMINI, api_key="fake-key", http=http, **options) as chat:
        chat.ask(prompt)


def marks(path: Path) -> list[Any]:
    interactions = json.loads(path.read_text("utf-8"))["interactions"]
    return [each["response"].get("emulated") for each in interactions]


def vendor() -> httpx.MockTransport:
    headers = {"server": "scaffolding"}
    finished = {"candidates": [{**ANSWER["candidates"][0], "finishReason": "STOP"}]}
    return httpx.MockTransport(lambda _: httpx.Response(200, json=finished, headers=headers))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "x.cassette.json"


def test_a_recording_of_the_emulator_is_marked(path: Path) -> None:
    asked(Cassette(path, "rewrite", inner=EmulatorTransport()))
    assert marks(path) == [True]
    assert Cassette(path).is_emulated


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_recording_of_the_emulator_is_marked(path: Path, backend: str) -> None:
    async def main() -> None:
        http = AsyncCassette(path, "rewrite", inner=AsyncEmulatorTransport())
        async with AsyncChat(GEMINI, api_key="fake-key", http=http) as chat:
            async with chat.stream("Hi") as events:
                await events.reply()

    anyio.run(main, backend=backend)
    assert marks(path) == [True]


def test_a_recording_of_the_served_emulator_is_marked(path: Path) -> None:
    with serve(Emulator()) as server:
        asked(Cassette(path, "rewrite"), base_url=server.url)
    assert marks(path) == [True]


def test_a_recording_of_a_vendor_is_not_marked(path: Path) -> None:
    asked(Cassette(path, "rewrite", inner=vendor()))
    assert marks(path) == [None]
    assert not Cassette(path).is_emulated


def test_each_response_has_a_mark_of_its_own_which_views_show(path: Path) -> None:
    asked(Cassette(path, "rewrite", inner=vendor()))
    asked(Cassette(path, "new_episodes", inner=EmulatorTransport()), "Bye")
    assert marks(path) == [None, True]
    assert Cassette(path).is_emulated
    shown = conversation(load(path.read_bytes(), "x").interactions, "x")
    assert [each.emulated for each in shown.exchanges] == [False, True]
    assert conversation_text(shown).count("200, from the emulator") == 1


@pytest.mark.parametrize("other", ["vcr", "har"])
def test_a_format_without_the_mark_reports_that_it_is_dropped(path: Path, other: str) -> None:
    asked(Cassette(path, "rewrite", inner=EmulatorTransport()))
    converted = convert(path.read_bytes(), "x", other)
    assert "emulated" in " ".join(map(str, converted.notes))
