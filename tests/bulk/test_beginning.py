"""A run whose first rows fail alike ends with the reason, and its rows are asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.bulk.test_run import MODEL, ROWS, STYLES, finished, lines, made, results
from wire.bulk.beginning import Beginning
from wire.bulk.results import Outcome, Result
from wire.bulk.rows import Row
from wire.errors import BadRequestError, RuleError, ServerError, WireError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

BROKEN: list[Any] = [{"promt": f"Question {number}"} for number in range(1, 502)]


def outcome(number: int, error: WireError | None, *, is_settled: bool = False) -> Outcome:
    row = Row(number, str(number), b"{}")
    result = Result(id=row.id, row=number, error=error)
    return Outcome(row=row, result=result, line=b"{}\n", counts={}, is_settled=is_settled)


@STYLES
def test_rows_that_cannot_be_sent_end_the_run_with_the_reason(style: str, tmp_path: Path) -> None:
    path, emulator = tmp_path / "out.jsonl", Emulator()
    for _ in range(2):
        with pytest.raises(WireError) as caught:
            finished(style, BROKEN, emulator, to=path)
        assert caught.value.code == "first_rows_failed"
        assert caught.value.message == (
            "stopped, because the first 10 rows failed alike, row 10 with: promt: no such key (did "
            "you mean 'prompt'?). A new start asks them again"
        )
        assert isinstance(caught.value.__cause__, RuleError)
    assert emulator.requests == []
    assert not (tmp_path / "out.jsonl.dead.jsonl").exists()
    mended = [{"prompt": each["promt"]} for each in BROKEN]
    assert finished(style, mended[:30], to=path).answered == 30


@STYLES
@pytest.mark.parametrize("concurrent", [1, 32])
def test_requests_that_are_refused_alike_end_the_run(
    style: str, concurrent: int, tmp_path: Path
) -> None:
    path = tmp_path / "out.jsonl"
    options: dict[str, Any] = {"to": path, "concurrent": concurrent}
    emulator = Emulator([{"fault": "400", "times": 0}])
    run = made(ROWS, emulator, **options)
    with pytest.raises(WireError, match="the first 10 rows failed alike") as caught:
        anyio.run(run.finish, backend=style)
    assert isinstance(caught.value.__cause__, BadRequestError)
    assert 10 <= len(emulator.requests) < 9 + concurrent + 1
    assert (run.progress.done, run.progress.failed) == (0, 0)
    assert len(lines(path)) == 1
    progress = finished(style, ROWS, **options)
    assert (progress.earlier, progress.answered, progress.failed) == (0, 30, 0)


@STYLES
def test_the_caller_gets_the_rows_before_the_end(style: str) -> None:
    async def main() -> None:
        found = []
        with pytest.raises(WireError, match="the first 10 rows failed alike"):
            async for each in made(BROKEN, concurrent=1):
                found.append((each.row, type(each.error)))
        assert found == [(row, RuleError) for row in range(1, 10)]

    anyio.run(main, backend=style)


@pytest.mark.parametrize(
    "rows",
    [
        BROKEN[:9],
        ["Hi", *BROKEN[:20]],
        [*BROKEN[:9], "Hi", *BROKEN[9:20]],
    ],
    ids=["nine", "an answer before", "an answer among ten"],
)
def test_rows_go_to_the_dead_letters_if_they_are_few_or_one_is_answered(
    rows: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "out.jsonl"
    progress = finished("asyncio", rows, to=path, concurrent=1)
    broken = sum(1 for each in rows if each != "Hi")
    assert (progress.answered, progress.failed, progress.done) == (
        len(rows) - broken,
        broken,
        len(rows),
    )
    assert len(lines(tmp_path / "out.jsonl.dead.jsonl")) == broken


def test_a_row_that_an_earlier_start_has_answered_counts(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    finished("asyncio", ["Hi"], to=path)
    assert finished("asyncio", ["Hi", *BROKEN[:20]], to=path).failed == 20


def test_dead_letters_of_an_earlier_start_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    finished("asyncio", BROKEN[:5], to=path)
    with pytest.raises(WireError, match="the first 10 rows failed alike, row 15 with: "):
        finished("asyncio", BROKEN, to=path)
    assert len(lines(tmp_path / "out.jsonl.dead.jsonl")) == 5


@STYLES
def test_rows_that_fail_at_once_do_not_overtake_the_first_answer(
    style: str, tmp_path: Path
) -> None:
    """The broken rows have ended long before the first one is answered."""
    path = tmp_path / "out.jsonl"

    class Slow(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await anyio.wait_all_tasks_blocked()
            return await AsyncEmulatorTransport().handle_async_request(request)

    progress = finished(style, ["Hi", *BROKEN[:40]], http=Slow(), to=path)
    assert (progress.answered, progress.failed) == (1, 40)


def test_who_leaves_early_keeps_the_dead_letters_that_are_known(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            await anyio.sleep_forever()
            raise AssertionError

    async def main() -> None:
        async with made([*BROKEN[:4], "Hi"], http=Silent(), to=path, concurrent=1) as run:
            async for each in run:
                if each.row == 4:
                    break

    anyio.run(main)
    assert [each["row"] for each in lines(tmp_path / "out.jsonl.dead.jsonl")] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "other",
    [
        outcome(5, None),
        outcome(5, ServerError("busy", retryable=True)),
        outcome(5, BadRequestError("no", code="size")),
        outcome(5, RuleError("no")),
        outcome(5, BadRequestError("no"), is_settled=True),
    ],
    ids=["a reply", "may pass", "another code", "another class", "of a batch"],
)
def test_one_that_ends_otherwise_opens_the_run(other: Outcome) -> None:
    beginning = Beginning()
    for number in range(1, 5):
        assert beginning.add(outcome(number, BadRequestError("no"))) == ()
    assert [each.row.number for each in beginning.add(other)] == [1, 2, 3, 4, 5]
    for number in range(6, 30):
        assert len(beginning.add(outcome(number, BadRequestError("no")))) == 1
    assert beginning.rest() == []


def test_rows_are_not_kept_without_end() -> None:
    beginning = Beginning()
    beginning.take(Row(1, "1", b"{}"))
    for number in range(2, 101):
        assert beginning.add(outcome(number, RuleError("no"))) == ()
    for number in (101, 102):
        with pytest.raises(WireError, match="the first 100 rows failed alike"):
            beginning.add(outcome(number, RuleError("no")))
    assert beginning.rest() == []


def test_a_batch_that_refused_its_rows_is_not_asked_again(tmp_path: Path) -> None:
    """Its rows are paid for, and a new start would get the same results."""
    options: dict[str, Any] = {"to": tmp_path / "out.jsonl", "batch": True, "every": 0.01}
    emulator = Emulator([{"fault": "400", "times": 0, "match": {"text": "Question"}}])
    model = "anthropic:claude-sonnet-5"
    progress = finished("asyncio", ROWS, emulator, model=model, max_tokens=5, **options)
    assert (progress.done, progress.failed) == (30, 30)
    with pytest.raises(WireError, match="the first 10 rows failed alike"):
        finished("asyncio", BROKEN, model=MODEL, **{**options, "to": tmp_path / "b.jsonl"})
    assert results("asyncio", ["Hi"])[0].error is None
