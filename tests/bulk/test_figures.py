"""The figures of a run never exceed its total, and add up over all of its starts."""

from __future__ import annotations

import json
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bulk.test_run import ROWS, STYLES, finished, lines, made
from tests.property import examples
from wire import bulk
from wire.bulk import row_files
from wire.errors import ConfigurationError
from wire.testing.emulator import Emulator

T = TypeVar("T")
MOST = 8


@dataclass(frozen=True)
class Start:
    """One start of a run."""

    rows: int
    """The first so many rows of the input."""
    kind: str
    """How they are given: a file, a list, or an async iterable, whose length is not known."""
    refused: frozenset[int]
    """Rows that fail for good."""
    busy: frozenset[int]
    """Rows that fail for a while."""
    damaged: int | None
    """The line of the results that is cut before it."""
    style: str


NUMBERS = st.frozensets(st.integers(1, MOST), max_size=3)
STARTS = st.lists(
    st.builds(
        Start,
        rows=st.integers(0, MOST),
        kind=st.sampled_from(["file", "list", "async"]),
        refused=NUMBERS,
        busy=NUMBERS,
        damaged=st.none() | st.integers(1, MOST),
        style=st.sampled_from(["asyncio", "trio"]),
    ),
    min_size=2,
    max_size=5,
)
IDS = st.lists(st.integers(1, MOST), min_size=MOST, max_size=MOST)


def input_of(start: Start, rows: list[dict[str, Any]], folder: Path) -> Any:
    rows = rows[: start.rows]
    if start.kind == "list":
        return rows
    if start.kind == "file":
        path = folder / "in.jsonl"
        path.write_text("".join(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows))
        return path

    async def later() -> AsyncIterator[Any]:
        for row in rows:
            await anyio.lowlevel.checkpoint()
            yield row

    return later()


def check(progress: bulk.Progress) -> None:
    summary = progress.summary()
    assert progress.done == progress.earlier + progress.answered + progress.failed
    assert 0 <= progress.cached <= progress.answered
    assert min(progress.running, progress.earlier, progress.unpriced) >= 0
    if progress.total is not None:
        assert progress.done + progress.running <= progress.total
        assert summary["left"] == progress.total - progress.done
        assert progress.eta is None or progress.eta >= 0


def damage(path: Path, line: int) -> bool:
    """Cut a line, but keep its end; return whether there is one."""
    all = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if line < len(all):
        all[line] = all[line][:20] + b"\n"
        path.write_bytes(b"".join(all))
    return line < len(all)


def faults(start: Start) -> list[dict[str, Any]]:
    by_row = dict.fromkeys(start.busy, "500") | dict.fromkeys(start.refused, "400")
    return [
        {"match": {"text": f"Question {row}$"}, "fault": fault, "times": 0}
        for row, fault in by_row.items()
    ]


def attempt(look: Callable[[], T]) -> T | str:
    """What it returns; the message if it is refused."""
    try:
        return look()
    except ConfigurationError as error:
        return error.message


def begun(start: Start, rows: list[dict[str, Any]], to: Path) -> bulk.Progress | str:
    """Make one start, and look at its figures after each result."""
    is_damaged = start.damaged is not None and damage(to, start.damaged)
    options: dict[str, Any] = {"to": to, "set_aside": True, "concurrent": 3}

    async def main() -> bulk.Progress:
        emulator = Emulator(faults(start))
        async with made(input_of(start, rows, to.parent), emulator, **options) as run:
            async for _ in run:
                check(run.progress)
            check(run.progress)
            return run.progress

    plan = None
    if start.kind != "async":
        plan = attempt(lambda: made(input_of(start, rows, to.parent), **options).plan())
    progress = attempt(lambda: anyio.run(main, backend=start.style))
    if isinstance(plan, str) or isinstance(progress, str):
        assert progress == plan
        return progress
    assert progress.set_aside == is_damaged
    if plan is not None:
        assert plan.rows + plan.broken + plan.earlier == progress.total == start.rows
        assert (plan.earlier, plan.set_aside) == (progress.earlier, progress.set_aside)
    return progress


@settings(max_examples=examples(240))
@given(starts=STARTS, ids=IDS)
def test_figures_never_exceed_the_total(starts: list[Start], ids: list[int]) -> None:
    """Rows have ids that earlier ones have, inputs get shorter and longer, lines are damaged."""
    rows = [{"id": f"r{id}", "prompt": f"Question {n}"} for n, id in enumerate(ids, 1)]
    with tempfile.TemporaryDirectory() as folder:
        to = Path(folder) / "out.jsonl"
        for start in starts:
            before = {row_of(each) for each in (*lines_of(to), *lines_of(dead(to)))}
            progress = begun(start, rows, to)
            if isinstance(progress, str):
                assert "has the results of other rows: row " in progress
                assert start.rows < max(before)
                continue
            results, letters = lines_of(to), lines_of(dead(to))
            done = [row_of(each) for each in (*results, *letters)]
            assert len(done) == len(set(done)) == progress.done
            assert set(done) >= set(range(1, start.rows + 1))
            assert progress.cost == sum(Decimal(each["cost"]) for each in results)


def row_of(line: Any) -> int:
    number: int = line["row"]
    return number


def dead(to: Path) -> Path:
    return Path(f"{to}.dead.jsonl")


def lines_of(path: Path) -> list[Any]:
    return [each for each in lines(path) if "row" in each] if path.exists() else []


def test_a_list_that_lost_rows_is_refused(tmp_path: Path) -> None:
    to = tmp_path / "out.jsonl"
    assert finished("asyncio", ROWS[:6], to=to).done == 6
    emulator = Emulator()
    for look in (
        lambda: finished("asyncio", ROWS[:4], emulator, to=to),
        lambda: made(ROWS[:4], emulator, to=to).plan(),
        lambda: made(iter(ROWS[:4]), emulator, to=to).plan(),
    ):
        with pytest.raises(ConfigurationError, match="row 5, and the input ends with row 4"):
            look()
    assert emulator.requests == []


class Growing(list[Any]):
    """Rows to which others come while they are read."""

    def __iter__(self) -> Iterator[Any]:
        yield from ROWS[:2]
        self.extend(ROWS[2:5])
        yield from ROWS[2:5]


def test_rows_that_grow_have_a_total_that_grows() -> None:
    async def main() -> list[bulk.Progress]:
        async with made(Growing(ROWS[:2]), concurrent=1) as run:
            return [run.progress async for _ in run]

    found = anyio.run(main)
    for progress in found:
        check(progress)
    assert (found[-1].total, found[-1].done) == (5, 5)


def test_blank_and_long_lines_count_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "MAX_LINE_BYTES", 100)
    path = tmp_path / "in.jsonl"
    path.write_text(f'"a"\n{" " * 500}\n\r\n"{"b" * 500}"\n{" " * 101}"c"\n"d"')
    progress = finished("asyncio", path)
    assert (progress.total, progress.done, progress.failed) == (3, 3, 1)


def test_answers_from_the_cache_cost_nothing_in_later_starts(tmp_path: Path) -> None:
    rows = [{"id": f"r{number}", "prompt": f"Question {number % 3}"} for number in range(9)]
    options = {"to": tmp_path / "out.jsonl", "cache": tmp_path / "cache"}
    first = finished("asyncio", rows, **options)
    assert (first.cached, first.cost) == (6, finished("asyncio", rows[:3]).cost)
    assert finished("asyncio", rows, **options).cost == first.cost


def test_answers_of_unknown_cost_are_those_of_all_starts(tmp_path: Path) -> None:
    to, model = tmp_path / "out.jsonl", "groq:acme-1"
    options = {"to": to, "model": model, "concurrent": 1}
    first = finished("asyncio", ROWS[:3], **options)
    second = finished("asyncio", ROWS[:5], **options)
    assert (first.unpriced, second.unpriced, second.cost) == (3, 5, 0)


@STYLES
def test_rows_that_wait_for_a_limit_are_told(style: str) -> None:
    async def main() -> None:
        with anyio.fail_after(30):
            async with made(ROWS[:4], requests=1, concurrent=3) as run:
                assert run.progress.waiting == 0
                await anext(aiter(run))
                while run.progress.waiting < 3:
                    await anyio.lowlevel.checkpoint()
                assert (run.progress.running, run.progress.done) == (3, 1)
                assert ", 3 wait for rate limits" in str(run.progress)
        assert run.progress.waiting == 0

    anyio.run(main, backend=style)
    assert "wait" not in str(finished(style, ROWS[:4]))
