"""Kills a bulk run again and again, starts it again, and compares its files with its rows."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bulk.quota_server import text_of


def write_rows(path: Path, count: int, *, size: int = 0) -> None:
    """Write so many rows; with `size` each has about so many bytes."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, count + 1):
            row = {"id": f"id-{number}", "prompt": f"Question of row {number}."}
            missing = size - len(json.dumps(row)) - 2
            row["prompt"] += " " + "." * missing if missing > 0 else ""
            file.write(json.dumps(row) + "\n")


def driver(rows: Path, to: Path, url: str, **options: Any) -> list[str]:
    """The command of one process of a run, with keyword arguments of `wire.bulk.run`."""
    program = [sys.executable, "-m", "tests.bulk.driver"]
    return [*program, str(rows), str(to), url, json.dumps(options)]


def command(rows: Path, to: Path, url: str, **options: Any) -> list[str]:
    """The same with the command `wire bulk`; the key is in the environment."""
    program = [sys.executable, "-m", "wire", "bulk", str(rows), str(to), "--json"]
    given = [f"--{name}={value}" for name, value in options.items()]
    return [*program, "--model=openai@chat:gpt-5.4", f"--base-url={url}", *given]


@dataclass(frozen=True)
class Killed:
    """What happened to a run."""

    kills: int
    """Processes that were killed, not those that had ended before."""
    summary: dict[str, Any]
    """What the last process printed."""


def kill_and_go_on(command: Sequence[str], to: Path, points: Sequence[int]) -> Killed:
    """Run the command; kill it when `to` has so many bytes more than before, and start it again.

    `points` are the places of the kills, in bytes after the size at the start of the process: from
    0 on, where the process may still read its files. The last process is not killed.
    """
    kills = 0
    for point in points:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            before = _size(to)
            while process.poll() is None and _size(to) < before + point:
                time.sleep(0.001)
            kills += process.poll() is None
        finally:
            process.kill()
            _, errors = process.communicate()
        assert process.returncode in (0, -9), errors.decode()
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return Killed(kills, json.loads(ended.stdout))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def points(seed: int, count: int, rows: int, line: int = 1500) -> list[int]:
    """Random places of kills that lie in the lines of so many rows together."""
    dice = random.Random(seed)
    return [dice.randrange(2 * rows * line // count) for _ in range(count)]


def check_lines(to: Path, count: int) -> None:
    """Assert that each row of `write_rows` has one line, which is whole, with its answer."""
    data = to.read_bytes()
    assert data.endswith(b"\n")
    header, *lines = data.splitlines()
    assert json.loads(header)["format"] == "wire-bulk"
    seen: Counter[str] = Counter()
    for line in lines:
        found = json.loads(line)
        number = found["row"]
        assert found["id"] == f"id-{number}"
        assert found["text"] == text_of(number), found
        seen[found["id"]] += 1
    assert [id for id, times in seen.items() if times > 1] == []
    assert {f"id-{number}" for number in range(1, count + 1)} - seen.keys() == set()
    assert len(seen) == count
    assert not Path(f"{to}.dead.jsonl").exists()
