"""A bulk run that is killed at any point goes on where it was: nothing is lost or double."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import anyio
import httpx
import pytest

from tests.bulk.killing import check_lines, command, driver, kill_and_go_on, points, write_rows
from tests.bulk.quota_server import counts, quota_server
from tests.property import sample
from wire import bulk

CONCURRENT = 32
Program = Callable[..., list[str]]


def killed_run(program: Program, folder: Path, rows: int, kills: int, seed: int) -> None:
    """Kill a run at random points, and compare its file with its rows and with the server."""
    given, to = folder / "in.jsonl", folder / "out.jsonl"
    write_rows(given, rows)
    with quota_server(requests=60_000, latency=0.01) as url:
        started = program(given, to, f"{url}/v1", concurrent=CONCURRENT, requests=60_000)
        killed = kill_and_go_on(started, to, points(seed, kills, rows))
        received = counts(url)
    check_lines(to, rows)
    assert killed.kills == kills
    assert (killed.summary["done"], killed.summary["left"]) == (rows, 0)
    assert received["rows"] == rows
    # A row whose answer was not yet written when its process was killed is asked again.
    assert received["answered"] - rows <= kills * CONCURRENT
    assert received["most_at_once"] <= CONCURRENT
    assert received["refused"] <= 0.005 * received["answered"]


def test_a_run_that_is_killed_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "fake-key")
    killed_run(command, tmp_path, 150, 1, seed=3)


@pytest.mark.bulk
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("program", "seed"), [(driver, 0), (command, 1)])
def test_fifty_kills(
    program: Program, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "fake-key")
    killed_run(program, tmp_path, 20_000, 50, seed)


# --- each byte ------------------------------------------------------------------------------------


def answer(request: httpx.Request) -> httpx.Response:
    """A short answer; one prompt is refused."""
    prompt = json.loads(request.content)["messages"][0]["content"]
    if "refuse" in prompt:
        return httpx.Response(400, json={"error": {"message": "no", "code": "x"}})
    message = {"role": "assistant", "content": f"{prompt}!"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": f"r-{prompt}", "model": "m", "object": "chat.completion", "created": 1}
    return httpx.Response(200, json={**body, "choices": [choice]})


def runner(folder: Path) -> Callable[[int], None]:
    """Runs the same four rows again, on asyncio or trio."""
    rows = [{"id": f"{n}", "prompt": "refuse" if n == 2 else f"prompt {n}"} for n in range(4)]

    async def ask() -> None:
        transport = httpx.MockTransport(answer)
        run = bulk.run(
            rows,
            "openai@chat:gpt-5.4",
            to=folder / "out.jsonl",
            concurrent=1,
            api_key="fake-key",
            http=transport,
        )
        progress = await run.finish()
        assert (progress.total, progress.done) == (4, 4)

    return lambda number: anyio.run(ask, backend=("asyncio", "trio")[number % 2])


@pytest.mark.sampled
def test_a_file_may_end_at_any_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one row at a time, the next run writes the same bytes again."""
    monkeypatch.setattr(os, "fsync", lambda _: None)  # a disk takes longer than the run
    run = runner(tmp_path)
    run(0)
    results, dead = tmp_path / "out.jsonl", tmp_path / "out.jsonl.dead.jsonl"
    whole = {path: path.read_bytes() for path in (results, dead)}
    assert [each.count(b"\n") for each in whole.values()] == [4, 1]
    for path, data in whole.items():
        for size in sample(range(len(data)), one_in=20):
            path.write_bytes(data[:size])
            run(size)
            assert {each: each.read_bytes() for each in whole} == whole, (path.name, size)


@pytest.mark.sampled
def test_both_files_may_end_at_any_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    run = runner(tmp_path)
    run(0)
    results, dead = tmp_path / "out.jsonl", tmp_path / "out.jsonl.dead.jsonl"
    kept, letters = results.read_bytes(), dead.read_bytes()
    for size in sample(range(len(kept)), one_in=40):
        results.write_bytes(kept[:size])
        dead.write_bytes(letters[: size % len(letters)])
        run(size)
        assert (results.read_bytes(), dead.read_bytes()) == (kept, letters), size
