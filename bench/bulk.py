"""Many rows from a file to a file: `wire.bulk`, and a loop as people write it with httpx.

Each runs in a process of its own: `python -m bench.bulk NAME IN OUT URL` asks all rows
and prints what it measured. `ROWS=1000000` in the environment sets the number of rows.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from bench.implementations import ROOT, python_of
from bench.measuring import Figures, Report, environment, server

CONCURRENT = 32
ROW_BYTES = 1000
MODEL = "gpt-5.4"

BASE = "httpx loop"
OURS, DASK = "wire.bulk", "wire.bulk on Dask"
PROGRAMS = {BASE: "httpx", OURS: "wire-neutral-fast", DASK: "wire-neutral-fast"}
"""What is measured -> the client that it belongs to."""
MOST_ROWS = 100_000
"""Of the programs beside `wire.bulk`, which would take hours for a million."""
MEASURES = ("cpu", "rate", "memory")


def rows_wanted() -> int:
    """The number of rows of a run."""
    return int(os.environ.get("ROWS") or "10000")


def write_rows(path: Path, count: int) -> None:
    """Write rows of 1 kB. `answer-1kb` tells the server what to play."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(1, count + 1):
            row = {"id": f"id-{number}", "prompt": f"answer-1kb for row {number}: "}
            row["prompt"] += "x" * (ROW_BYTES - len(json.dumps(row)) - 1)
            file.write(json.dumps(row) + "\n")


# --- programs -------------------------------------------------------------------------------------


def httpx_loop(rows: str, to: str, url: str) -> None:
    """So many requests at the same time under a semaphore; no limits, no retries, no resume."""
    with Path(rows).open(encoding="utf-8") as given, Path(to).open("w", encoding="utf-8") as file:
        asyncio.run(_httpx_loop(given, file, url))


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


def wire_bulk(rows: str, to: str, url: str, on: str | None = None) -> None:
    """`wire.bulk.run`, in this process or on the cluster of a scheduler."""
    from wire import bulk

    options: dict[str, Any] = {} if on is None else {"on": on}

    async def ask() -> None:
        run = bulk.run(
            rows,
            f"openai@chat:{MODEL}",
            to=to,
            concurrent=CONCURRENT,
            base_url=url,
            api_key="fake-key",
            **options,
        )
        await run.finish()

    asyncio.run(ask())


def on_dask(rows: str, to: str, url: str) -> None:
    """`wire.bulk.run` on a cluster of two workers on this machine."""
    from tests.bulk.cluster import Cluster

    with tempfile.TemporaryDirectory() as folder, Cluster(Path(folder)) as cluster:
        wire_bulk(rows, to, url, on=cluster.address)


_FUNCTIONS: dict[str, Callable[..., None]] = {BASE: httpx_loop, OURS: wire_bulk, DASK: on_dask}


def main() -> None:
    name, rows, to, url = sys.argv[1:]
    began = time.perf_counter()
    _FUNCTIONS[name](rows, to, url)
    wall = time.perf_counter() - began
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
    """All rows by each program, in rounds."""

    rounds: int = 3

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of these clients. CPU is that of the program for a row, with its start, and
        with the processes of a cluster; memory is that of the driver."""
        taking = [name for name, client in PROGRAMS.items() if client in clients]
        count = rows_wanted()
        figures: Figures = {"": {measure: {} for measure in MEASURES}}
        with tempfile.TemporaryDirectory() as folder, server() as url:
            files = {name: Path(folder, f"{name}.in.jsonl") for name in taking}
            counts = {name: count if name == OURS else min(count, MOST_ROWS) for name in taking}
            for name, rows in files.items():
                write_rows(rows, counts[name])
            for number in range(min(self.rounds, most_rounds or self.rounds)):
                for name in taking:
                    to = Path(folder, f"{number} {name}.jsonl")
                    found = _measured(name, files[name], to, f"{url}/v1", report)
                    lines, own = answered(to), counts[name]
                    if found and lines != own:
                        report.fail(f"{name}: {lines} of {own} rows are answered")
                    values = {
                        "cpu": found["cpu"] / own if found else None,
                        "rate": own / found["wall"] if found else None,
                        "memory": found.get("memory"),
                    }
                    for measure, value in values.items():
                        figures[""][measure].setdefault(name, []).append(value)
                    to.unlink(missing_ok=True)
        return figures


def _measured(name: str, rows: Path, to: Path, url: str, report: Report) -> dict[str, float]:
    python = python_of("dask" if name == DASK else "wire")
    command = [python, "-m", "bench.bulk", name, str(rows), str(to), url]
    done = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        report.fail(f"{name}: {done.stderr[-300:]}")
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
