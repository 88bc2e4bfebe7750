"""Bulk runs in batches, at three vendors, on asyncio and trio."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from wire import bulk
from wire.core.retry import Retry
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "anthropic": "anthropic:claude-sonnet-5",
    "chat": "openai@chat:gpt-5.4",
    "responses": "openai@responses:gpt-5.4",
}
TEXT = "This is an emulator, and no model. You said: "
EACH = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
STYLES = pytest.mark.parametrize("style", ["asyncio", "trio"])


def run(
    rows: Any, model: str, to: Path, emulator: Emulator, style: str = "asyncio", **options: Any
) -> list[bulk.Result]:
    """The results of a run with batches."""

    async def main() -> list[bulk.Result]:
        given: dict[str, Any] = {"every": 0.001, "retry": Retry(base=0), **options}
        http = AsyncEmulatorTransport(emulator)
        made = bulk.run(rows, model, to=to, batch=True, api_key="fake-key", http=http, **given)
        return [result async for result in made]

    return anyio.run(main, backend=style)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@STYLES
@EACH
def test_rows_are_asked_in_a_batch(model: str, style: str, tmp_path: Path) -> None:
    emulator = Emulator([{"match": {"text": "two"}, "fault": "500"}])
    rows = [
        {"id": "a", "prompt": "one", "metadata": {"n": 1}},
        {"id": "b", "prompt": "two"},
        {"id": "no blanks?", "prompt": "three", "max_tokens": 99},
        {"id": "d", "promt": "four"},
    ]
    results = run(rows, model, tmp_path / "out", emulator, style)
    print(results)
    for path in sorted(tmp_path.iterdir()):
        print(path, path.read_text())
    print([(r["method"], r["path"]) for r in emulator.requests])
    assert 0
