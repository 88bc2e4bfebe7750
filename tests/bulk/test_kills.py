"""A bulk run that is killed at any point goes on where it was: nothing is lost or double."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest

from tests.bulk.killing import check_lines, command, driver, kill_and_go_on, points, write_rows
from tests.bulk.quota_server import counts, quota_server
from tests.property import sample
from wire import bulk
from wire.testing.emulator import Emulator, Outage, Quota, serve

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


@pytest.mark.processes
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


# --- outages and quotas of all wires --------------------------------------------------------------


@dataclass
class Starts:
    """What happened to the processes of a run."""

    kills: int = 0
    ended: int = 0
    """Processes that had ended before they could be killed."""
    outages: int = 0
    """Processes that began in an outage."""
    more: int = 0
    """Starts after the last kill, until all rows were done."""


def start(emulator: Emulator, command: Sequence[str], dice: random.Random, starts: Starts) -> None:
    """Start a process, and kill it after so many requests; an outage may end before that."""
    point = dice.randrange(20)
    over = dice.randrange(point + 1)
    if dice.random() < 0.4:
        starts.outages += 1
        share = dice.choice([0.3, 1.0])
        emulator.outage = Outage(share=share, faults=["503"], seed=point)
    before = len(emulator.requests)
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while process.poll() is None and (asked := len(emulator.requests) - before) < point:
            if asked >= over:
                emulator.outage = None
            time.sleep(0.001)
        time.sleep(dice.random() * 0.02)  # any place of the program, and not only its reads
        is_running = process.poll() is None
    finally:
        process.kill()
        process.wait()
    emulator.outage = None
    starts.kills += is_running
    starts.ended += not is_running
    assert is_running or process.returncode in (0, 1)


WIRES = {
    "gemini:gemini-3.8-flash": "",
    "openai@chat:gpt-5.4": "/v1",
    "openai@responses:gpt-5.4": "/v1",
    "anthropic:claude-sonnet-5": "",
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("model", WIRES)
def test_thirty_kills_in_outages_and_at_a_quota(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for vendor in ("GEMINI", "OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{vendor}_API_KEY", "fake-key")
    rows, given, to = 400, tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    write_rows(given, rows)
    dice, starts = random.Random(model), Starts()
    emulator = Emulator(quota=Quota(requests=40, window=2.0))
    with serve(emulator) as server:
        program = [sys.executable, "-m", "wire", "bulk", str(given), str(to), "--json"]
        program += [f"--model={model}", f"--base-url={server.url}{WIRES[model]}"]
        program += ["--concurrent=8", "--max-tokens=100"]
        while starts.kills < 30:
            start(emulator, program, dice, starts)
        status = 1
        while status:
            ended = subprocess.run(program, capture_output=True, text=True, check=False)
            status, starts.more = ended.returncode, starts.more + 1
            assert status in (0, 1), ended.stderr
            assert starts.more < 10, ended.stderr
    summary = json.loads(ended.stdout)
    assert (summary["rows"], summary["done"], summary["left"]) == (rows, rows, 0)
    _, *lines = map(json.loads, to.read_bytes().splitlines())
    assert sorted(each["row"] for each in lines) == list(range(1, rows + 1))
    for each in lines:
        assert each["id"] == f"id-{each['row']}"
        assert each["text"].endswith(f"Question of row {each['row']}.")
    dead = Path(f"{to}.dead.jsonl")
    assert not dead.exists() or dead.read_bytes() == b""
    statuses = Counter(each["status"] for each in emulator.requests)
    assert statuses[200] - rows <= starts.kills * 8
    print(model, starts, dict(statuses))
    assert statuses[503] > 0
    # The other wires report what remains, so that a run is hardly ever refused.
    assert statuses[429] > 0 or "gemini" not in model


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
