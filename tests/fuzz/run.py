"""Runs random inputs through readers, and finds foreign exceptions, slow answers and large ones."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import signal
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any

from tests.faults.mutations import mutated
from tests.faults.received import after_each
from tests.fuzz.readers import READERS
from wire.errors import WireError

CORPUS = Path(__file__).parent / "corpus"
_MEGABYTE = 1_000_000
LEAST_SECONDS = 1.0
"""Seconds of the processor that any input may take: for a full collection of garbage, and for the
deepest YAML, of which PyYAML reads each level again for each token."""
TIMES_IN_MEMORY = 10
LEAST_MEMORY = 30 * _MEGABYTE
"""Bytes that any input may cost: 50,000 lists and objects may come in a small body, and an item of
a reply that was `{}` is a line of 400 bytes in a session file."""
_HANG_SECONDS = 60
_ONE_IN, _LARGE = 50, 100_000
"""One of so many inputs, and each with so many bytes, is run again under `tracemalloc`, which makes
it several times slower."""


@dataclass
class Found:
    """What came of some inputs of a reader."""

    inputs: int = 0
    bytes: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    """Seconds for a megabyte, of the inputs that took longer than `LEAST_SECONDS`."""
    longest: float = 0.0
    """Seconds."""
    largest: int = 0
    """Bytes of memory at the same time."""
    problems: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        """Count the inputs of another process too."""
        self.inputs += other.inputs
        self.bytes += other.bytes
        self.ends += other.ends
        self.slowest = max(self.slowest, other.slowest)
        self.longest = max(self.longest, other.longest)
        self.largest = max(self.largest, other.largest)
        self.problems += other.problems

    def by_kind(self) -> dict[str, list[str]]:
        """The problems by what they say besides numbers."""
        kinds: dict[str, list[str]] = {}
        for each in self.problems:
            kinds.setdefault(re.sub(r"\d+", "N", each.partition("; ")[0])[:120], []).append(each)
        return kinds


# --- inputs ---------------------------------------------------------------------------------------


@cache
def seeds(name: str) -> Mapping[str, bytes]:
    """The valid inputs of a reader, and the interesting ones that are kept."""
    return {**READERS[name].seeds(), **kept(name)}


def kept(name: str) -> dict[str, bytes]:
    """The inputs of the corpus, by their number and the name of their seed."""
    path = CORPUS / f"{name}.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {f"{row['seed']}#{at}": row["data"].encode("latin-1") for at, row in enumerate(rows)}


def keep(name: str, found: Sequence[tuple[str, bytes]]) -> None:
    """Add inputs to the corpus, each with the name of its seed."""
    CORPUS.mkdir(exist_ok=True)
    with (CORPUS / f"{name}.jsonl").open("a", encoding="utf-8") as file:
        for seed, data in found:
            file.write(json.dumps({"seed": seed, "data": data.decode("latin-1")}) + "\n")


def drawn(name: str, seed: int, number: int) -> tuple[bytes, str, Random]:
    """An input: its bytes, the name of the seed that it was made from, and its dice."""
    dice = Random(f"{seed} {name} {number}")
    known = seeds(name)
    chosen = dice.choice(list(known))
    data = mutated(known[chosen], dice)
    what = dice.random()
    if what < 0.05:  # two inputs in one
        other = known[dice.choice(list(known))]
        data = data[: dice.randrange(len(data) + 1)] + other[dice.randrange(len(other) + 1) :]
    elif what < 0.06 and data:  # a piece many times, or many empty objects
        start = dice.randrange(len(data))
        piece = data[start : start + dice.choice((1, 2, 10, 100))]
        times = dice.choice((1000, 100_000)) // len(piece)
        data = data[:start] + piece * times + data[start:]
    elif what < 0.065:
        data = data.replace(b"null", b"[" + b"{}," * dice.choice((10_000, 60_000)) + b"{}]", 1)
    return data, chosen.rpartition("#")[0] if "#" in chosen else chosen, dice


# --- running --------------------------------------------------------------------------------------


class Hang(BaseException):
    """An input took a minute."""


@contextlib.contextmanager
def _within(seconds: float) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise Hang

    # Of the processor, since a machine may do other things too; ten times that for one that waits.
    clocks = {signal.SIGPROF: signal.ITIMER_PROF, signal.SIGALRM: signal.ITIMER_REAL}
    before = {each: signal.signal(each, ring) for each in clocks}
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, 10 * seconds)
    try:
        yield
    finally:
        for each, clock in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(each, before[each])


def run(name: str, seed: int, numbers: range) -> Found:
    """Run the inputs of these numbers."""
    found = Found()
    for number in numbers:
        data, chosen, dice = drawn(name, seed, number)
        found.inputs += 1
        found.bytes += len(data)
        state = dice.getstate()
        try:
            seconds, end = _once(name, data, chosen, dice)
            found.ends[end] += 1
            found.longest = max(found.longest, seconds)
            most = max(LEAST_SECONDS, READERS[name].seconds * len(data) / _MEGABYTE)
            # Again, since the machine does other things, too. Ten times as long is more than they
            # cost: that is a slow reader, whose second run may be fast since it has a cache.
            if most < seconds < 10 * most:
                dice.setstate(state)
                seconds = min(seconds, _once(name, data, chosen, dice)[0])
            if seconds > LEAST_SECONDS:
                found.slowest = max(found.slowest, seconds * _MEGABYTE / len(data))
            if seconds > most:
                found.problems.append(f"{name} {number}: {seconds:.2f} s for {len(data)} bytes")
            if number % _ONE_IN == 0 or len(data) > _LARGE:
                dice.setstate(state)
                peak = _peak(name, data, chosen, dice)
                found.largest = max(found.largest, peak)
                if peak > max(LEAST_MEMORY, TIMES_IN_MEMORY * len(data)):
                    found.problems.append(f"{name} {number}: {peak} bytes for {len(data)} bytes")
        except (Hang, Exception) as problem:
            found.problems.append(f"{name} {number}: {told(problem)}; {data[:300]!r}")
    return found


def told(problem: BaseException) -> str:
    """An exception with the line that raised it."""
    at, trace = "", problem.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if "fuzz" not in code.co_filename:
            at = f"{Path(code.co_filename).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(problem).__name__} at {at}: {problem!s:.300}"


def _once(name: str, data: bytes, seed: str, dice: Random) -> tuple[float, str]:
    """Read an input once: seconds of the processor of its longest operation, and how it ended."""
    end, clock = "result", _Laps(time.thread_time)
    with _within(_HANG_SECONDS), _after_each(clock.lap):
        try:
            READERS[name].read(data, seed, dice)
        except WireError as error:
            end = type(error).__name__
        clock.lap()
    return clock.most, end


class _Laps:
    """The most that was added to a figure between two calls of `lap`."""

    def __init__(self, figure: Callable[[], float]) -> None:
        self._figure, self._before, self.most = figure, figure(), 0.0

    def lap(self) -> None:
        now = self._figure()
        self.most, self._before = max(self.most, now - self._before), now


@contextlib.contextmanager
def _after_each(call: Callable[[], None]) -> Iterator[None]:
    """Make a call after each operation on what a reader returned (`received.use`)."""
    after_each.append(call)
    try:
        yield
    finally:
        after_each.remove(call)


def _peak(name: str, data: bytes, seed: str, dice: Random) -> int:
    """The most memory that one operation on an input takes at the same time, in bytes."""
    most = before = 0

    def lap() -> None:
        nonlocal most, before
        now, peak = tracemalloc.get_traced_memory()
        most, before = max(most, peak - before), now
        tracemalloc.reset_peak()

    tracemalloc.start()
    try:
        with _after_each(lap):
            _once(name, data, seed, dice)
        lap()
        return most
    finally:
        tracemalloc.stop()


# --- growing the corpus ---------------------------------------------------------------------------


def grown(name: str, seed: int, count: int, longest: int) -> list[tuple[str, bytes]]:
    """Inputs among `count` that reach lines of the library that no earlier one has reached.

    It needs `sys.monitoring` of Python 3.12. Each line is reported once, so that it costs little.
    """
    monitoring: Any = getattr(sys, "monitoring")  # noqa: B009  # mypy checks for 3.11
    lines: set[tuple[str, int]] = set()

    def reached(code: CodeType, line: int) -> Any:
        if "/wire/" in code.co_filename and "/tests/" not in code.co_filename:
            lines.add((code.co_filename, line))
        return monitoring.DISABLE

    tool = monitoring.COVERAGE_ID
    monitoring.use_tool_id(tool, "fuzz")
    monitoring.register_callback(tool, monitoring.events.LINE, reached)
    monitoring.set_events(tool, monitoring.events.LINE)
    found: list[tuple[str, bytes]] = []
    try:
        for chosen, data in seeds(name).items():
            for number in range(20):
                _tried(name, data, chosen, Random(number))
        for number in range(count):
            before = len(lines)
            data, chosen, dice = drawn(name, seed, number)
            _tried(name, data, chosen, dice)
            if len(lines) > before and len(data) <= longest:
                found.append((chosen, data))
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    return found


def _tried(name: str, data: bytes, seed: str, dice: Random) -> None:
    with contextlib.suppress(WireError):
        READERS[name].read(data, seed, dice)


def bound_memory(gigabytes: int) -> None:
    """End this process rather than the machine if an input takes all memory."""
    limit = gigabytes << 30
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
