"""Many rows from a file to a file: `wire.bulk`, and a loop as people write it with httpx.

Each runs in a process of its own: `python -m bench.bulk NAME IN OUT URL` asks all rows
and prints what it measured. `ROWS=1000000` in the environment sets the number of rows of the suite
`bulk`.

What a second worker brings is measured with answers that wait, as those of models do. A worker that
never waits takes a core, and two of them, the driver, the scheduler and the server would need five.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from bench.implementations import IMPLEMENTATIONS, LIMIT, ROOT, NotInstalled, python_of
from bench.measuring import Figures, Report, Worker, environment, server, workers

CONCURRENT = 32
ROW_BYTES = 1000
MODEL = "gpt-5.4"

BASE = "httpx loop"
OURS, DASK = "wire.bulk", "wire.bulk on Dask"
PROGRAMS = {BASE: "httpx", OURS: "wire-neutral-fast", DASK: "wire-neutral-fast"}
"""What is measured -> the client that it belongs to."""
RAW_CALLS = 1000
"""Calls of 1 kB that the limit makes in each round, one after the other."""
MEASURES = ("cpu", "rate", "memory")

LATE = "late-100"
"""What the server plays where answers wait: 100 ms."""
LATE_ROWS = 3000
LATE_CONCURRENT = 16
"""Rows that each worker has in flight."""
ONE, TWO = "1 worker", "2 workers"
WORKERS = {ONE: 1, TWO: 2}


def rows_wanted() -> int:
    """The number of rows of a run."""
    return int(os.environ.get("ROWS") or "10000")


def rows_of(name: str, count: int) -> int:
    """The rows of a program: the others than `wire.bulk` would take hours for a million."""
    return count if name == OURS else min(count, max(4000, count // 10))


def write_rows(path: Path, count: int, played: str = "answer-1kb") -> None:
    """Write rows of 1 kB, with what the server plays."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, count + 1):
            row = {"id": f"id-{number}", "prompt": f"{played} for row {number}: "}
            row["prompt"] += "x" * (ROW_BYTES - len(json.dumps(row)) - 1)
            file.write(json.dumps(row) + "\n")


# --- programs -------------------------------------------------------------------------------------


def httpx_loop(rows: str, to: str, url: str) -> float:
    """So many requests at the same time under a semaphore; no limits, no retries, no resume.

    Returns the seconds from the first row to the last, as the other programs do.
    """
    began = time.perf_counter()
    with Path(rows).open(encoding="utf-8") as given, Path(to).open("w", encoding="utf-8") as file:
        asyncio.run(_httpx_loop(given, file, url))
    return time.perf_counter() - began


async def _httpx_loop(given: TextIO, file: TextIO, url: str) -> None:
    import httpx

    semaphore = asyncio.Semaphore(CONCURRENT)
    tasks: set[asyncio.Task[None]] = set()
    headers = {"authorization": "Bearer fake-key"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as client:

        async def ask(number: int, line: str) -> None:
            try:
                row = json.loads(line)
                messages = [{"role": "user", "content": row["prompt"]}]
                body = {"model": MODEL, "messages": messages}
                response = await client.post("/chat/completions", json=body)
                response.raise_for_status()
                said = response.json()
                result = {
                    "id": row["id"],
                    "row": number,
                    "text": said["choices"][0]["message"]["content"],
                    "stop": said["choices"][0]["finish_reason"],
                    "model": said["model"],
                    "usage": said["usage"],
                    "response": said,
                }
                file.write(json.dumps(result) + "\n")
            finally:
                semaphore.release()

        for number, line in enumerate(given, 1):
            await semaphore.acquire()
            task = asyncio.create_task(ask(number, line))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)


def wire_bulk(
    rows: str, to: str, url: str, on: str | None = None, concurrent: int = CONCURRENT
) -> float:
    """`wire.bulk.run`, in this process or on the cluster of a scheduler."""
    from wire import bulk

    began = time.perf_counter()
    options: dict[str, Any] = {} if on is None else {"on": on}

    async def ask() -> None:
        run = bulk.run(
            rows,
            f"openai@chat:{MODEL}",
            to=to,
            concurrent=concurrent,
            base_url=url,
            api_key="fake-key",
            **options,
        )
        await run.finish()

    asyncio.run(ask())
    return time.perf_counter() - began


def on_dask(rows: str, to: str, url: str, count: int = 2, concurrent: int = CONCURRENT) -> float:
    """`wire.bulk.run` on a cluster of so many workers on this machine, started before."""
    from tests.bulk.cluster import Cluster

    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder), count) as cluster:
        return wire_bulk(rows, to, url, cluster.address, concurrent)


_FUNCTIONS: dict[str, Callable[..., float]] = {
    BASE: httpx_loop,
    OURS: wire_bulk,
    DASK: on_dask,
    **{
        name: functools.partial(on_dask, count=count, concurrent=count * LATE_CONCURRENT)
        for name, count in WORKERS.items()
    },
}


def main() -> None:
    name, rows, to, url = sys.argv[1:]
    wall = _FUNCTIONS[name](rows, to, url)
    used = resource.getrusage(resource.RUSAGE_SELF)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    found = {
        "cpu": used.ru_utime + used.ru_stime + workers.ru_utime + workers.ru_stime,
        "wall": wall,
        "memory": used.ru_maxrss * 1024,
    }
    print(json.dumps(found))


# --- the suite ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bulk:
    """All rows by each program, and calls of the limit, in rounds."""

    rounds: int = 3

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of these clients. CPU is that of the program for a row, with its start, and
        with the processes of a cluster; memory is that of the driver."""
        taking = [name for name, client in PROGRAMS.items() if client in clients]
        figures: Figures = {"": {measure: {} for measure in MEASURES}}
        limit = [IMPLEMENTATIONS[LIMIT]] if LIMIT in clients else []
        with server() as url, workers(limit, url, report) as started:
            counts = {name: rows_of(name, rows_wanted()) for name in taking}
            times = min(self.rounds, most_rounds or self.rounds)
            for found in _rounds(times, counts, "answer-1kb", url, report):
                for each in started:
                    figures[""]["cpu"].setdefault(each.name, []).append(_of_the_limit(each))
                for name, values in found.items():
                    for measure in MEASURES:
                        figures[""][measure].setdefault(name, []).append(values.get(measure))
        return figures


@dataclass(frozen=True, slots=True)
class Scale:
    """Rows whose answers wait, on one worker and on two with twice as many rows in flight."""

    rounds: int = 2

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures, if the client is measured that they belong to."""
        figures: Figures = {"": {"cpu": {}, "rate": {}}}
        if PROGRAMS[DASK] not in clients:
            return figures
        with server() as url:
            counts = dict.fromkeys(WORKERS, LATE_ROWS)
            times = min(self.rounds, most_rounds or self.rounds)
            for found in _rounds(times, counts, LATE, url, report):
                for name, values in found.items():
                    for measure, of in figures[""].items():
                        of.setdefault(name, []).append(values.get(measure))
        return figures


def _of_the_limit(worker: Worker) -> float | None:
    """CPU of one call."""
    asked = {"do": "ask", "model": "answer-1kb", "wire": "chat", "times": RAW_CALLS}
    cpu = worker.told(asked).get("cpu")
    return None if cpu is None else cpu / RAW_CALLS


def _rounds(
    times: int, counts: dict[str, int], played: str, url: str, report: Report
) -> Iterator[dict[str, dict[str, float]]]:
    """What each program measured, round by round: nothing if it did not answer all its rows."""
    with tempfile.TemporaryDirectory() as folder:
        rows = {count: Path(folder, f"{count}.jsonl") for count in set(counts.values())}
        for count, path in rows.items():
            write_rows(path, count, played)
        for _ in range(times):
            round_of: dict[str, dict[str, float]] = {}
            for name, count in counts.items():
                to = Path(folder, f"{name}.out.jsonl")
                found = _measured(name, rows[count], to, f"{url}/v1", report)
                if found and (lines := answered(to)) != count:
                    report.fail(f"{name}: {lines} lines of {count} rows")
                    found = {}
                if found:
                    found |= {"cpu": found["cpu"] / count, "rate": count / found["wall"]}
                round_of[name] = found
                for each in Path(folder).glob(f"{name}.out.jsonl*"):
                    each.unlink()
            yield round_of


def _measured(name: str, rows: Path, to: Path, url: str, report: Report) -> dict[str, float]:
    try:
        python = python_of("wire" if name in (BASE, OURS) else "dask")
    except NotInstalled as error:
        report.fail(f"{name}: {error}")
        return {}
    command = [python, "-m", "bench.bulk", name, str(rows), str(to), url]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        report.fail(f"{name}: {' '.join(done.stderr.strip().splitlines()[-1:])}")
        return {}
    found: dict[str, float] = json.loads(done.stdout)
    return found


def answered(path: Path) -> int:
    """The lines with the text of an answer."""
    if not path.exists():
        return 0
    with path.open("rb") as file:
        return sum(b'"text":' in line[:200] for line in file)


if __name__ == "__main__":
    main()
