"""A run ends when it has cost as much as the user said, and a start with a higher limit goes on."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from tests.bulk.test_run import MODEL, ROWS, STYLES, Tide, finished, lines, made
from tests.joined import joined
from wire.errors import ConfigurationError, WireError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator


@pytest.fixture(scope="module")
def row_cost() -> Decimal:
    """USD of one row of one-digit `ROWS`; each costs the same."""
    return finished("asyncio", ROWS[:1]).cost


@STYLES
def test_a_run_ends_when_it_has_cost_its_limit_and_a_higher_one_goes_on(
    style: str, tmp_path: Path, row_cost: Decimal
) -> None:
    path = tmp_path / "out.jsonl"
    options: dict[str, Any] = {"to": path, "concurrent": 1, "in_order": True}
    for most, asked in ((3, 3), (3, 0), (Decimal("4.5"), 2)):
        emulator = Emulator()
        with pytest.raises(
            WireError, match="are spent; a start with a higher max_cost goes on"
        ) as e:
            finished(style, ROWS[:9], emulator, max_cost=row_cost * most, **options)
        assert (e.value.code, len(emulator.requests)) == ("max_cost", asked)
    assert [each["row"] for each in lines(path)[1:]] == [1, 2, 3, 4, 5]
    assert not path.with_name("out.jsonl.dead.jsonl").exists()
    progress = finished(style, ROWS[:9], max_cost=row_cost * 9, **options)
    assert (progress.earlier, progress.answered, progress.cost) == (5, 4, row_cost * 9)


@STYLES
@pytest.mark.parametrize(
    ("most", "together"),
    [("0.5", 1), ("3", 2), ("3.5", 3), ("5.5", 4), ("8", 4)],
)
def test_rows_in_flight_count_before_they_have_a_cost(
    style: str, most: str, together: int, row_cost: Decimal
) -> None:
    """The first row shows what one costs; the limit is passed by less than a row."""
    emulator, running = Emulator(), 0
    seen: list[int] = []

    class Later(AsyncEmulatorTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            nonlocal running
            running += 1
            for _ in range(20):
                await anyio.lowlevel.checkpoint()  # each task that may takes its row meanwhile
            seen.append(running)
            answer = await super().handle_async_request(request)
            running -= 1
            return answer

    async def main() -> None:
        http, limit = Later(emulator), row_cost * Decimal(most)
        run = made(iter(ROWS[:9]), http=http, concurrent=4, max_cost=limit)
        found = []
        with pytest.raises(WireError) as caught:
            async for each in run:
                found.append(each.row)
        count = len(found)
        assert sorted(found) == [*range(1, count + 1)]
        assert row_cost * (count - 1) < limit <= run.progress.cost == row_cost * count
        assert (run.progress.answered, run.progress.running) == (count, 0)
        # Not what was spent when the last row was sent.
        assert f"because {run.progress.cost:f} USD of " in caught.value.message

    anyio.run(main, backend=style)
    assert (seen[0], max(seen)) == (1, together)


def test_a_limit_that_the_last_row_reaches_is_no_error(row_cost: Decimal) -> None:
    assert finished("asyncio", ROWS[:3], concurrent=1, max_cost=row_cost * 3).answered == 3


def test_replies_that_do_not_fit_are_paid_too(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    options: dict[str, Any] = {"to": path, "output": Tide, "concurrent": 1}
    emulator = Emulator([{"say": "no JSON", "times": 0}])
    with pytest.raises(WireError, match="are spent") as caught:
        finished("asyncio", ROWS[:5], emulator, max_cost=0.000001, **options)
    assert (caught.value.code, len(emulator.requests)) == ("max_cost", 2)
    [dead] = lines(tmp_path / "out.jsonl.dead.jsonl")
    assert dead["error"]["type"] == "OutputError"
    again = finished("asyncio", ROWS[:1], **options)
    assert again.cost == Decimal(dead["cost"]) > 0


@STYLES
def test_a_reply_whose_cost_is_not_known_ends_the_run(style: str, tmp_path: Path) -> None:
    content = {"role": "model", "parts": [{"text": "Hi"}]}
    uncounted = {"candidates": [{"content": content, "finishReason": "STOP"}]}
    script = [{"say": "Hi"}, {"answer": uncounted}, {"say": "Hi", "times": 0}]
    options: dict[str, Any] = {"to": tmp_path / "out.jsonl", "concurrent": 1}
    problem = "the cost of 1 replies is not known, and max_cost is to be kept; a start without"
    with pytest.raises(WireError, match=problem):
        finished(style, ROWS[:5], Emulator(script), max_cost=9, **options)
    emulator = Emulator()
    with pytest.raises(WireError, match=problem):
        finished(style, ROWS[:5], emulator, max_cost=9, **options)
    assert emulator.requests == []
    assert finished(style, ROWS[:5], **options).answered == 3


def test_rows_that_were_not_sent_cost_nothing(tmp_path: Path, row_cost: Decimal) -> None:
    options: dict[str, Any] = {"to": tmp_path / "out.jsonl", "max_cost": row_cost * 9}
    finished("asyncio", [*ROWS[:2], b"oops"], **options)
    progress = finished("asyncio", [*ROWS[:2], b"oops", *ROWS[3:5]], **options)
    assert (progress.earlier, progress.answered, progress.unpriced) == (3, 2, 0)


def test_answers_of_the_cache_cost_nothing(tmp_path: Path, row_cost: Decimal) -> None:
    cache = tmp_path / "cache"
    finished("asyncio", ROWS[:5], cache=cache)
    assert finished("asyncio", ROWS[:5], cache=cache, max_cost=row_cost).cached == 5


@joined(
    ("options", "problem"),
    [
        ({"max_cost": 0}, "max_cost: expected a number above 0, not 0"),
        ({"max_cost": "5"}, "max_cost: expected a number above 0, not str"),
        ({"max_cost": True}, "max_cost: expected a number above 0, not True"),
        ({"max_cost": Decimal("NaN")}, "max_cost: expected a number above 0, not NaN"),
        ({"max_cost": Decimal(-1)}, "max_cost: expected a number above 0, not -1"),
        (
            {"max_cost": 1, "model": [MODEL, "openai:acme-1"]},
            "max_cost: the price of openai:acme-1 is not known, so its replies cannot be counted: ",
        ),
        ({"max_cost": 1, "batch": True, "to": "out.jsonl"}, "max_cost: does not apply to batch"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        made(ROWS, **options)
    assert refused.value.message.startswith(problem)
