"""`python -m tests.fuzz --seconds 300 --seed 7`: random inputs for each reader of foreign bytes.

It prints a table, and each input that was answered with a foreign exception, too slowly or with too
much memory; then it returns 1. `--number` runs one input again. `--grow` adds those inputs to the
corpus that reach new lines of the library.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from itertools import count

from tests.fuzz.readers import READERS
from tests.fuzz.run import Found, bound_memory, drawn, grown, keep, run

_AT_ONCE = 100
"""Inputs of one task of a process."""
_LONGEST_KEPT = 2_000
"""Bytes of an input that is kept."""
_MEMORY_GIGABYTES = 4


def main() -> int:
    """Return 1 if any input had another end than a result or a `WireError`."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz")
    options.add_argument("--seconds", type=float, default=300, help="how long it goes on")
    options.add_argument("--inputs", type=int, default=sys.maxsize, help="it ends after so many")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--only", default="", help="readers whose name contains this text")
    options.add_argument("--number", type=int, help="run the input of this number alone")
    options.add_argument("--grow", type=int, default=0, help="look at so many of each reader")
    given = options.parse_args()
    names = [name for name in READERS if given.only in name]
    if given.number is not None:
        for name in names:
            data, seed, _ = drawn(name, given.seed, given.number)
            print(f"{name}, made from {seed!r}: {data!r}")
            print(run(name, given.seed, range(given.number, given.number + 1)))
        return 0
    if given.grow:
        for name in names:
            new = grown(name, given.seed, given.grow, _LONGEST_KEPT)
            keep(name, new)
            print(f"{name}: {len(new)} inputs reach new lines")
        return 0
    found = _fuzzed(names, given.seed, given.seconds, given.inputs)
    print(_table(found))
    for each in found.values():
        for kind, problems in each.by_kind().items():
            print(f"{len(problems)} times {kind}, first {problems[0]}")
    return any(each.problems for each in found.values())


def _fuzzed(names: list[str], seed: int, seconds: float, inputs: int) -> dict[str, Found]:
    found = {name: Found() for name in names}
    ends, workers = time.monotonic() + seconds, os.cpu_count() or 1
    tasks = _tasks(names)
    asked = 0
    with ProcessPoolExecutor(
        workers, initializer=bound_memory, initargs=(_MEMORY_GIGABYTES,)
    ) as pool:
        running: dict[Future[Found], str] = {}
        while True:
            while len(running) < 2 * workers and time.monotonic() < ends and asked < inputs:
                name, numbers = next(tasks)
                running[pool.submit(run, name, seed, numbers)] = name
                asked += len(numbers)
            if not running:
                return found
            for done in wait(running, return_when=FIRST_COMPLETED).done:
                found[running.pop(done)].add(done.result())


def _tasks(names: list[str]) -> Iterator[tuple[str, range]]:
    for turn in count():
        for name in names:
            yield name, range(turn * _AT_ONCE, (turn + 1) * _AT_ONCE)


def _table(found: dict[str, Found]) -> str:
    lines = ["| reader | inputs | MB | results | refused | longest, s | s a MB | most memory, MB |"]
    lines += ["|---" * 8 + "|"]
    total = Found()
    for name, each in (*found.items(), ("all", total)):
        results = each.ends["result"]
        cells = (
            *(name, each.inputs, f"{each.bytes / 1e6:.1f}", results, each.ends.total() - results),
            *(f"{each.longest:.2f}", f"{each.slowest:.2f}", f"{each.largest / 1e6:.1f}"),
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
        total.add(each)
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
