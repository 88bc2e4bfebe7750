"""Agents that are killed at any moment, and the results of their tools after that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import msgspec
import pytest

from tests.agent import killed_agent
from wire.agent.steps import INTERRUPTED

STYLES = ["asyncio", "trio", "threads"]
ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.processes
MANY = 13
"""Kills from which on a test bounds how many of them may hit a result in flight."""
IN_FLIGHT = 1.0
"""Seconds in which a result may be lost: after its last act a tool returns, and its line is
written. It takes 0.3 ms, unless the machine is busy."""


class Killed:
    """A run in a folder, process by process, by a program that gets the folder and arguments."""

    def __init__(self, folder: Path, *arguments: object, program: str = "") -> None:
        self._folder = folder
        self._program = program or killed_agent.__file__
        self.arguments = arguments

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """A process that is ready; it is killed at the end, also where the test fails."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, self._program, str(self._folder), *map(str, self.arguments)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            try:
                assert process.stdout is not None
                assert process.stdout.readline() == b"ready\n"
                yield process
            finally:
                process.kill()

    def kill(self, file: str, lines: int, seconds: float = 0) -> float:
        """Start a process, and kill it some seconds after a file has got so many more lines.

        Returns the time of the machine just after the process ended: what it logged was before.
        """
        lines += len(self.log(file))
        with self.started() as process:
            while len(self.log(file)) < lines:
                assert process.poll() is None
                time.sleep(0.001)
            time.sleep(seconds)
            assert process.poll() is None
            process.kill()
        return time.monotonic()

    def end(self, said: bytes = b"Done.\n") -> None:
        with self.started() as process:
            assert process.stdout is not None
            assert (process.wait(60), process.stdout.read()) == (0, said)

    def log(self, name: str) -> list[str]:
        file = self._folder / name
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def sent(self) -> dict[str, dict[str, str]]:
        """The results in the first request of the last process that sent one."""
        sent: dict[str, dict[str, str]] = msgspec.json.decode(self.log("requests")[-1])
        return sent

    def temporary(self) -> list[str]:
        return [name for name in os.listdir(self._folder) if name.endswith(".tmp")]


def killed_often(folder: Path, style: str, kills: int, seed: int) -> dict[str, int]:
    """Kill a run at random moments; returns what became of the results of its tools.

    Each process tells the results in its first request, so it is the judge of the kills before.
    """
    dice, run = Random(seed), Killed(folder, style, 1_000_000)
    moments: list[float] = []
    in_flight: set[str] = set()
    temporary = 0
    for number in range(kills + 1):
        ended = {id: float(at) for id, at in (line.split() for line in run.log("ended"))}
        requests = len(run.log("requests"))
        if number < kills:
            moments.append(run.kill("ended", dice.randrange(6), dice.uniform(0.0, 0.1)))
        else:
            moments.append(run.kill("requests", 1))
        temporary += len(run.temporary()) if number < kills else 0
        if len(run.log("requests")) == requests:
            continue
        sent = run.sent() if requests else {}
        for id, at in ended.items():
            if sent.get(id) != {"result": f"the answer of {id}"}:
                assert sent[id] == {"error": INTERRUPTED}
                assert min(each for each in moments if each > at) - at < IN_FLIGHT, id
                in_flight.add(id)
    began = run.log("began")
    assert len(began) == len(set(began))  # no tool ran twice
    cancelled = {id for id, answer in sent.items() if answer == {"error": INTERRUPTED}}
    return {
        "ended before a kill": len(ended),
        "of these in the next request": len(ended.keys() & sent.keys() - cancelled),
        "of these in flight": len(in_flight),
        "told as cancelled": len(cancelled),
        "temporary files after kills": temporary,
        "temporary files at the end": len(run.temporary()),
    }


@pytest.mark.parametrize(
    ("style", "kills"),
    [
        ("threads", 3),
        *(pytest.param(style, 17, marks=pytest.mark.slow) for style in STYLES),
    ],
)
def test_results_that_ended_before_a_kill_are_in_the_next_request(
    tmp_path: Path, style: str, kills: int
) -> None:
    figures = killed_often(tmp_path, style, kills, seed=kills)
    print(style, figures)
    assert figures["ended before a kill"] > kills
    # When each result waited for whole runs to be saved, every third kill lost one. A few kills
    # say nothing: on a busy machine each may come between a tool's last act and its line.
    assert kills < MANY or figures["of these in flight"] <= kills // 4
    assert figures["temporary files at the end"] == 0


def test_calls_that_never_started_are_run_after_a_kill(tmp_path: Path) -> None:
    """The last tool ends the process once the run on disk has the results of the others."""
    run = Killed(tmp_path, "one by one", 1)
    with run.started() as process:
        assert process.wait(60) == -signal.SIGKILL
    assert run.log("began") == ["0-0", "0-1"]
    run.end()
    assert run.log("began") == ["0-0", "0-1", "0-2"]
    assert run.sent() == {
        "0-0": {"result": "the answer of 0-0"},
        "0-1": {"error": INTERRUPTED},
        "0-2": {"result": "the answer of 0-2"},
    }
    assert run.temporary() == []
    assert not (tmp_path / "run.json.journal").exists()
