"""Bulk runs of agents that are killed at any moment: no tool twice, no row lost, no line double."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.bulk.row_agents import MODELS, asks_for_tools
from tests.bulk.test_agents import lines, runs
from tests.bulk.test_batch import created
from wire.testing.emulator import Emulator, serve

pytestmark = pytest.mark.processes
ROUNDS, AT_ONCE = 2, 2
URLS = {"gemini": "", "anthropic": "", "chat": "/v1", "responses": "/v1"}


class Killed:
    """A run of a vendor, process by process."""

    def __init__(self, name: str, way: str, to: Path, rows: int) -> None:
        self.emulator = Emulator(asks_for_tools(ROUNDS, AT_ONCE))
        self._name, self._way, self._to, self._rows = name, way, to, rows
        self.kills = 0

    def often(self, kills: int, dice: random.Random) -> dict[str, object]:
        """Kill up to so many processes at random moments, and let the last one end.

        Returns its figures. Fewer are killed if one ends before.
        """
        with serve(self.emulator) as server:
            program = [sys.executable, "-m", "tests.bulk.agents_driver", MODELS[self._name]]
            program += [f"{server.url}{URLS[self._name]}", str(self._to), str(self._rows)]
            program.append(self._way)
            while self.kills < kills and self._kill(program, dice):
                self.kills += 1
            ended = subprocess.run(program, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        figures: dict[str, object] = json.loads(ended.stdout)
        return figures

    def _kill(self, program: list[str], dice: random.Random) -> bool:
        """Start a process, and kill it after some requests or calls of tools.

        Returns whether it had not ended before.
        """
        log = Path(f"{self._to}.log")
        what = dice.choice(["requests", "calls"])

        def done() -> int:
            if what == "requests":
                return len(self.emulator.requests)
            return log.read_bytes().count(b"\n") if log.exists() else 0

        point = done() + dice.randrange(1, 8)
        process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            deadline = time.monotonic() + 60
            while process.poll() is None and done() < point:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            time.sleep(dice.random() * 0.02)
            is_running = process.poll() is None
        finally:
            process.kill()
            _, errors = process.communicate()
        assert is_running or process.returncode == 0, errors.decode()
        return is_running


def check(to: Path, rows: int) -> int:
    """Compare the files with the rows; returns the number of calls that were told as cancelled."""
    calls = Path(f"{to}.log").read_text().split()
    assert len(calls) == len(set(calls))
    read = lines(to)[1:]
    assert sorted(each["row"] for each in read) == list(range(1, rows + 1))
    assert lines(Path(f"{to}.dead.jsonl")) == []
    assert runs(to) == []
    cancelled = 0
    for each in read:
        assert each["id"] == f"id-{each['row']}"
        assert each["text"] == f"Row {each['row']} has {ROUNDS * AT_ONCE} results."
        assert (each["finish"], each["steps"]) == ("end", ROUNDS + 1)
        results = [part for message in each["messages"] for part in message["parts"]]
        results = [part for part in results if part["type"] == "tool_result"]
        assert len(results) == ROUNDS * AT_ONCE
        for result in results:
            id = str(result["content"]).removeprefix("done:")
            if result.get("error"):
                cancelled += 1
            else:
                assert id in calls
    return cancelled


CASES = [("gemini", "batch", 12, 3), ("chat", "at once", 12, 3)]
SLOW = [(name, way, 40, kills) for way, kills in (("batch", 13), ("at once", 7)) for name in URLS]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("name", "way", "rows", "kills"),
    [*CASES, *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOW)],
)
def test_agents_that_are_killed_go_on(
    name: str, way: str, rows: int, kills: int, tmp_path: Path
) -> None:
    dice, left, cancelled, number = random.Random(f"{name} {way}"), kills, 0, 0
    while left:
        number += 1
        to = tmp_path / f"{number}.jsonl"
        killed = Killed(name, way, to, rows)
        figures = killed.often(left, dice)
        left -= killed.kills
        assert (figures["rows"], figures["done"], figures["left"]) == (rows, rows, 0)
        cancelled += check(to, rows)
        if way == "batch":
            # Each job that the vendor has created is in the journal, and merged.
            events = [each["event"] for each in lines(Path(f"{to}.jobs.jsonl"))[1:]]
            assert events.count("created") == created(killed.emulator)
            assert events.count("submitting") == events.count("merged") + events.count("dropped")
    print(name, way, f"{kills} kills of {number} runs, {cancelled} calls told as cancelled")
