"""A run asks each row once, writes each result once, and goes on where it was."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import msgspec
import pytest

from wire import Message, Request, Retry, bulk
from wire.bulk import Progress, Result, row_files, running
from wire.bulk.start import BulkOptions, RunOptions
from wire.errors import (
    AuthenticationError,
    ConfigurationError,
    OutputError,
    RuleError,
    ServerError,
    WireError,
)
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

MODEL = "gemini:gemini-3.8-flash"
STYLES = pytest.mark.parametrize("style", ["asyncio", "trio"])
ROWS = [{"id": f"r{number}", "prompt": f"Question {number}"} for number in range(1, 31)]


def made(rows: Any, emulator: Emulator | None = None, **options: Any) -> bulk.Run:
    http = AsyncEmulatorTransport(emulator or Emulator())
    given = {"api_key": "fake-key", "retry": Retry(attempts=1), "http": http, **options}
    return bulk.run(rows, given.pop("model", MODEL), **given)


def finished(style: str, rows: Any, emulator: Emulator | None = None, **options: Any) -> Progress:
    async def main() -> Progress:
        return await made(rows, emulator, **options).finish()

    return anyio.run(main, backend=style)


def results(
    style: str, rows: Any, emulator: Emulator | None = None, **options: Any
) -> list[Result]:
    async def main() -> list[Result]:
        return [each async for each in made(rows, emulator, **options)]

    return anyio.run(main, backend=style)


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


# --- results --------------------------------------------------------------------------------------


@STYLES
def test_each_row_has_one_result_with_its_id(style: str) -> None:
    found = results(style, ROWS)
    assert sorted((each.row, each.id) for each in found) == [(n, f"r{n}") for n in range(1, 31)]
    assert all(each.reply.text.endswith(f"Question {each.row}") for each in found if each.reply)
    assert all(each.error is None for each in found)


@STYLES
def test_a_long_answer_of_a_row_is_whole(style: str) -> None:
    text = "one two three four five six seven eight nine ten eleven twelve"
    emulator = Emulator([{"say": {"text": text, "hops": 3}}])
    (found,) = results(style, ROWS[:1], emulator)
    assert found.reply is not None
    assert (found.reply.text, len(found.reply.hops)) == (text, 3)
    assert found.reply.stop.complete


@STYLES
def test_rows_may_be_a_file_requests_lines_or_async(style: str, tmp_path: Path) -> None:
    async def later() -> AsyncIterator[Any]:
        for row in ROWS[:3]:
            await anyio.lowlevel.checkpoint()
            yield row

    path = tmp_path / "in.jsonl"
    path.write_text("\n\n".join(map(json.dumps, ROWS[:3])), "utf-8")
    asked = [Request(messages=(Message.user(row["prompt"]),)) for row in ROWS[:3]]
    texts = []
    with path.open("rb") as file:
        for rows in (str(path), path, ROWS[:3], iter(ROWS[:3]), later(), asked, file):
            found = results(style, rows, concurrent=2)
            texts.append(sorted(each.reply.text for each in found if each.reply is not None))
    assert texts == [texts[0]] * 7
    assert len(texts[0]) == 3


def test_a_line_that_is_too_long_is_a_dead_letter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "MAX_LINE_BYTES", 100)
    path = tmp_path / "in.jsonl"
    path.write_text(f'"a"\n"{"b" * 500}"\n\n"{"c" * 97}"\n"{"d" * 300}"', "utf-8")
    found = {each.row: each for each in results("asyncio", path)}
    assert sorted(found) == [1, 2, 4, 5]
    assert [row for row, each in found.items() if each.error is None] == [1, 4]
    assert str(found[2].error) == "the line has more than 100 bytes"


@STYLES
def test_a_row_that_fails_has_a_typed_error_and_the_others_go_on(style: str) -> None:
    emulator = Emulator([{"match": {"text": "Question 7$"}, "fault": "500", "times": 0}])
    rows = [*ROWS, {"id": "r3", "prompt": "again"}, b"oops", {"promt": "a"}, {"prompt": ""}]
    found = {each.row: each for each in results(style, rows, emulator)}
    assert len(found) == 34
    failed = {row: each.error for row, each in found.items() if each.error is not None}
    assert {row: type(error) for row, error in failed.items()} == {
        7: ServerError,
        31: RuleError,
        32: RuleError,
        33: RuleError,
    }
    assert failed[31].message == "id: row 3 has the same: r3"
    assert len(emulator.requests) == 31


@STYLES
def test_settings_of_a_row_replace_those_of_the_run(style: str) -> None:
    emulator = Emulator()
    rows = [{"prompt": "a"}, {"prompt": "b", "temperature": 0.5, "system": "Be brief."}]
    results(style, rows, emulator, temperature=0, concurrent=1, system="Be kind.")
    sent = [each["body"] for each in emulator.requests]
    assert [body["generationConfig"]["temperature"] for body in sent] == [0, 0.5]
    assert [body["systemInstruction"]["parts"][0]["text"] for body in sent] == [
        "Be kind.",
        "Be brief.",
    ]


class Tide(msgspec.Struct):
    time: str


@STYLES
def test_output_is_read_and_asked_again(style: str, tmp_path: Path) -> None:
    script = [{"say": "no JSON"}, {"say": '{"time": "05:12"}'}, {"say": "no"}, {"say": "no"}]
    rows = [{"id": "a", "prompt": "a"}, {"id": "b", "prompt": "b"}]
    path = tmp_path / "out.jsonl"
    first, second = results(style, rows, Emulator(script), output=Tide, concurrent=1, to=path)
    assert first.reply is not None
    assert first.reply.output == Tide("05:12")
    assert isinstance(second.error, OutputError)
    assert lines(path)[1]["output"] == {"time": "05:12"}
    assert lines(path)[0]["settings"]["output"]["schema"]["required"] == ["time"]


@STYLES
def test_the_figures(style: str) -> None:
    progress = finished(style, [*ROWS, b"oops"])
    assert (progress.total, progress.done, progress.answered, progress.failed) == (31, 31, 30, 1)
    assert (progress.running, progress.earlier, progress.unpriced) == (0, 0, 0)
    assert progress.input_tokens == 30 * 3
    assert progress.cost > Decimal("0.001")


def test_the_cost_is_that_of_all_starts(tmp_path: Path) -> None:
    whole = finished("asyncio", ROWS)
    path = tmp_path / "out.jsonl"
    first = finished("asyncio", ROWS[:10], to=path)
    second = finished("asyncio", ROWS, to=path)
    assert (second.earlier, second.answered) == (10, 20)
    assert Decimal(0) < first.cost < second.cost == whole.cost


# --- files ----------------------------------------------------------------------------------------


@STYLES
def test_a_run_goes_on_where_it_was(style: str, tmp_path: Path) -> None:
    source, path = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    assert finished(style, source, to=path).answered == 30
    whole = path.read_bytes()
    cut = whole[: len(whole) // 2]
    path.write_bytes(cut)
    left = 30 - (cut.count(b"\n") - 1)
    emulator = Emulator()
    progress = finished(style, source, emulator, to=path)
    assert (progress.earlier, progress.answered) == (30 - left, left)
    assert len(emulator.requests) == left
    assert sorted(each["id"] for each in lines(path)[1:]) == sorted(row["id"] for row in ROWS)
    with source.open("a") as file:
        file.write('{"id": "new", "prompt": "more"}\n')
    assert finished(style, source, to=path).answered == 1


def test_errors_that_may_pass_are_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    dead = tmp_path / "out.jsonl.dead.jsonl"
    script = [
        {"match": {"text": "Question 7$"}, "fault": "500"},
        {"match": {"text": "Question 8$"}, "fault": "400"},
    ]
    assert finished("asyncio", ROWS, Emulator(script), to=path).failed == 2
    assert [(x["id"], x["error"]["type"], x["line"]["id"]) for x in bulk.read(dead)] == [
        ("r7", "ServerError", "r7"),
        ("r8", "BadRequestError", "r8"),
    ]
    progress = finished("asyncio", ROWS, to=path)
    assert (progress.earlier, progress.answered) == (29, 1)
    assert [each["id"] for each in bulk.read(dead)] == ["r8"]
    assert len(list(bulk.read(path))) == 29


def test_other_rows_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    source, path = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text('"a"\n"b"\n"c"\n', "utf-8")
    assert finished("asyncio", source, to=path).answered == 3
    for text, problem in (
        ('"a"\n"x"\n"c"\n"d"\n', "row 2 was another one"),
        ('"a"\n"b"\n', "row 3, and the input ends with row 2"),
    ):
        source.write_text(text, "utf-8")
        emulator = Emulator()
        with pytest.raises(ConfigurationError, match=problem):
            finished("asyncio", source, emulator, to=path)
        assert emulator.requests == []
    assert len(lines(path)) == 4


def test_a_line_has_all_of_the_reply(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    finished("asyncio", [{"id": "a", "prompt": "Hi", "metadata": {"n": 1}}], to=path)
    header, line = lines(path)
    assert header == {"format": "wire-bulk", "version": 1, "models": [MODEL], "settings": {}}
    response = line.pop("response")
    assert line.pop("digest")
    assert Decimal(line.pop("cost")) > 0
    assert line.pop("response_id") == response["responseId"]
    text = response["candidates"][0]["content"]["parts"][0]["text"]
    usage = line.pop("usage")
    assert usage["total"] == response["usageMetadata"]["totalTokenCount"]
    assert line == {
        "id": "a",
        "row": 1,
        "metadata": {"n": 1},
        "text": text,
        "output": None,
        "tool_calls": [],
        "stop": "end",
        "model": "gemini-3.8-flash",
        "notes": [],
    }


def test_the_file_is_put_in_order(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    left, last = [1] * 29, anyio.Event()

    class LastFirst(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if b'Question 2"' in request.content:
                await last.wait()
            elif not left.pop() or not left:
                last.set()
            return await AsyncEmulatorTransport().handle_async_request(request)

    orders = []
    for in_order in (False, True):
        path.unlink(missing_ok=True)
        left, last = [1] * 29, anyio.Event()
        finished("asyncio", ROWS, http=LastFirst(), to=path, in_order=in_order)
        orders.append([each["row"] for each in lines(path)[1:]])
    assert orders[0] != orders[1] == list(range(1, 31))
    assert [each["row"] for each in lines(path)[1:]] == list(range(1, 31))


# --- the end of a run -----------------------------------------------------------------------------


@STYLES
def test_a_key_that_is_refused_ends_the_run(style: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    for run in (finished, results):
        with pytest.raises(AuthenticationError) as caught:
            run(style, ROWS, to=path, api_key="wrong-key")
        told = " (the run ended because of it, and a new start goes on where it ended)"
        assert caught.value.message.count(told) == 1
        assert str(caught.value).endswith(told)
    assert len(lines(path)) == 1
    assert not (tmp_path / "out.jsonl.dead.jsonl").exists()
    with pytest.raises(AuthenticationError) as caught:
        finished(style, ROWS, api_key="wrong-key")
    assert caught.value.message.endswith(" (the run ended because of it)")


def test_dead_letters_of_a_run_without_any_are_none(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    run = made(ROWS, to=path)
    assert run.dead == f"{path}.dead.jsonl"
    with pytest.raises(ConfigurationError, match="cannot be read"):
        list(bulk.read(run.dead))  # nor are there results
    anyio.run(run.finish)
    assert list(bulk.read(run.dead)) == []
    with pytest.raises(ConfigurationError, match="cannot be read"):
        list(bulk.read(tmp_path / "other.jsonl.dead.jsonl"))


@STYLES
def test_rows_that_fail_one_after_the_other_end_the_run(style: str, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    emulator = Emulator([{"fault": "500", "times": 0}])
    with pytest.raises(WireError, match="stopped, because 5 rows in a row have failed; the last"):
        finished(style, ROWS, emulator, to=path, stop_after=5, concurrent=1)
    assert len(emulator.requests) == 5
    assert finished(style, ROWS, to=path).answered == 30


def test_broken_rows_do_not_end_the_run() -> None:
    progress = finished("asyncio", ["Hi", *[b"oops"] * 20], stop_after=3, concurrent=1)
    assert (progress.answered, progress.failed) == (1, 20)


@STYLES
def test_who_leaves_the_block_cancels_what_is_in_flight(style: str, tmp_path: Path) -> None:
    closed = []

    class Slow(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            if b'Question 1"' not in request.content:
                try:
                    await anyio.sleep_forever()
                finally:
                    closed.append(request)
            return await AsyncEmulatorTransport().handle_async_request(request)

    async def main() -> None:
        path = tmp_path / "out.jsonl"
        async with made(ROWS, http=Slow(), concurrent=4, to=path) as run:
            async for result in run:
                first = result.id
                break
        assert (first, len(closed)) == ("r1", 4)
        assert (await made(ROWS, to=path).finish()).answered == 29

    anyio.run(main, backend=style)


@STYLES
def test_a_slow_caller_holds_up_the_run(style: str) -> None:
    emulator = Emulator()

    async def main() -> None:
        rows = [{"prompt": "Hi"}] * 600
        stream = made(rows, emulator, concurrent=4).__aiter__()
        await anext(stream)
        for _ in range(600):
            await anyio.lowlevel.checkpoint()
        assert len(emulator.requests) < 300
        await stream.aclose()  # type: ignore[attr-defined]

    anyio.run(main, backend=style)


def test_a_run_is_used_once() -> None:
    async def main() -> None:
        run = made(ROWS[:1])
        await run.finish()
        with pytest.raises(ConfigurationError, match="used already"):
            await run.finish()

    anyio.run(main)


# --- cache, fallback, limits ----------------------------------------------------------------------


@STYLES
def test_equal_requests_are_asked_once(style: str, tmp_path: Path) -> None:
    rows = [{"id": f"r{number}", "prompt": f"Question {number % 3}"} for number in range(30)]
    emulator = Emulator()
    progress = finished(style, rows, emulator, cache=tmp_path / "cache")
    assert (progress.answered, progress.cached, len(emulator.requests)) == (30, 27, 3)
    once = finished(style, rows[:3], Emulator())
    assert (progress.cost, progress.input_tokens) == (once.cost, once.input_tokens)
    progress = finished(style, rows, emulator, cache=tmp_path / "cache")
    assert (progress.answered, progress.cached, len(emulator.requests)) == (30, 30, 3)
    assert progress.cost == 0


@STYLES
def test_another_model_is_asked_where_the_first_fails(style: str) -> None:
    emulator = Emulator([{"match": {"model": "gemini-3.8-flash"}, "fault": "503", "times": 0}])
    models = [MODEL, "anthropic:claude-sonnet-5"]
    found = results(style, ROWS, emulator, model=models)
    assert {each.reply.message.origin.provider for each in found if each.reply} == {"anthropic"}
    assert len(found) == 30


def test_no_more_rows_than_concurrent_run_at_the_same_time() -> None:
    running: list[int] = []
    most = 0

    class Counted(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            nonlocal most
            running.append(1)
            most = max(most, len(running))
            # Others begin meanwhile. How many depends on the machine, for a run begins with one.
            await anyio.sleep(0.01)
            running.pop()
            return await AsyncEmulatorTransport().handle_async_request(request)

    finished("asyncio", ROWS, http=Counted(), concurrent=3)
    assert 2 <= most <= 3


# --- plans and bad input --------------------------------------------------------------------------


def test_a_plan_sends_nothing_and_writes_nothing(tmp_path: Path) -> None:
    emulator, path = Emulator(), tmp_path / "out.jsonl"
    rows = [*ROWS, b"oops", {"id": "r1", "prompt": "again"}]
    plan = made(rows, emulator, to=path, max_tokens=100, requests=15).plan()
    assert (plan.rows, plan.broken, plan.output_tokens) == (30, 2, 3000)
    assert plan.problems == (
        "row 31: JSON is malformed: invalid character (byte 0)",
        "row 32: id: row 1 has the same: r1",
    )
    assert plan.seconds == 120
    assert plan.cost is not None
    assert plan.input_cost is not None
    assert plan.cost > plan.input_cost > 0
    assert emulator.requests == []
    assert list(tmp_path.iterdir()) == []


def test_type_checkers_see_the_options_that_there_are() -> None:
    own = {*inspect.signature(bulk.run).parameters} - {"rows", "model", "output", "options"}
    assert own == RunOptions.__annotations__.keys() - BulkOptions.__annotations__.keys()


@pytest.mark.parametrize("kind", ["list", "file", "open file", "iterator", "lines"])
def test_a_plan_does_not_use_the_run_up(kind: str, tmp_path: Path) -> None:
    source, path, emulator = tmp_path / "in.jsonl", tmp_path / "out.jsonl", Emulator()
    given = [*ROWS, b"oops", {"id": "r1", "prompt": "again"}]
    data = [each if isinstance(each, bytes) else msgspec.json.encode(each) for each in given]
    source.write_bytes(b"\n".join(data))
    finished("asyncio", ROWS[:4], to=path)
    with source.open("rb") as opened:
        rows: dict[str, Any] = {
            "list": given,
            "file": source,
            "open file": opened,
            "iterator": iter(given),
            "lines": bulk.from_file(data),
        }
        run = made(rows[kind], emulator, to=path)
        plan = run.plan()
        assert (plan.rows, plan.earlier, plan.broken) == (26, 4, 2)
        assert run.plan() == plan
        assert emulator.requests == []
        progress = anyio.run(run.finish)
    assert (progress.earlier, progress.answered, progress.failed) == (4, 26, 2)
    assert sorted(each["row"] for each in lines(path)[1:]) == list(range(1, 31))
    with pytest.raises(ConfigurationError, match="used already"):
        run.plan()


def test_a_plan_that_fails_uses_the_run_up() -> None:
    def rows() -> Iterator[str]:
        yield "a"
        raise OSError("gone")

    run = made(rows())
    with pytest.raises(OSError, match="gone"):
        run.plan()
    with pytest.raises(ConfigurationError, match="used already"):
        anyio.run(run.finish)


def test_a_plan_leaves_out_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    finished("asyncio", ROWS[:10], to=path)
    before = path.read_bytes()
    plan = made(ROWS, to=path).plan()
    assert (plan.rows, plan.earlier, plan.cost, plan.reason) == (
        20,
        10,
        None,
        "max_tokens is not set",
    )
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"rows": 5}, "rows: expected the path of a file or an iterable of rows, not int"),
        ({"rows": b"[]"}, "rows: expected the path"),
        ({"rows": {"prompt": "a"}}, "rows: expected the path"),
        ({"rows": "missing.jsonl"}, "missing.jsonl: cannot be read: No such file"),
        ({"model": []}, "model: expected at least one"),
        ({"model": [MODEL, 5]}, r"model\[1\]: expected a name"),
        ({"model": "gemini"}, "model"),
        ({"concurrent": 0}, "concurrent: "),
        ({"stop_after": 1.5}, "stop_after: "),
        ({"requests": -1}, "requests: "),
        ({"dead": "d.jsonl"}, "dead: there is none without to"),
        ({"to": 5}, "to: expected a path, not int"),
        ({"cache": ""}, "cache: expected a path, not an empty text"),
        ({"temprature": 1}, "temprature: no such option; did you mean 'temperature'"),
        ({"api_key": None}, "no API key: give api_key= or set GEMINI_API_KEY"),
        ({"output": 5}, "output: 5 cannot be the type of output"),
    ],
)
def test_bad_input_is_named_before_a_row_is_read(
    options: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def never() -> Any:
        raise AssertionError
        yield

    with pytest.raises(WireError, match=problem):
        made(**{"rows": never(), **options})


# --- files that change while a run writes to them -------------------------------------------------


class Changing(AsyncEmulatorTransport):
    """Changes a file after so many answers."""

    def __init__(self, at: int, change: Callable[[], None]) -> None:
        super().__init__(Emulator())
        self.asked, self._at, self._change = 0, at, change

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        answer = await super().handle_async_request(request)
        if self.asked == self._at:
            self._change()
        return answer


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def cut_in_a_line(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(len(path.read_bytes()) - 9)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def appended(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{")


CHANGES = {
    removed: "was removed",
    replaced: "was replaced by another file",
    cut_in_a_line: "was cut from ",
    emptied: "to 0 bytes",
    appended: "has 1 bytes that another program wrote",
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", [5, 30], ids=["in the middle", "at the end"])
def test_a_file_that_changes_ends_the_run_and_a_new_start_completes_it(
    change: Any, at: int, tmp_path: Path
) -> None:
    style = "trio" if at == 5 else "asyncio"
    path = tmp_path / "out.jsonl"
    options: dict[str, Any] = {"to": str(path), "concurrent": 1}
    with pytest.raises(WireError, match=CHANGES[change]) as caught:
        finished(style, ROWS, http=Changing(at, lambda: change(path)), **options)
    assert f"stopped, because {path} " in caught.value.message
    left = lines(path)[1:] if path.exists() and change is replaced else []
    progress = finished(style, ROWS, **options)
    assert (progress.done, progress.failed) == (30, 0)
    assert progress.earlier >= len(left)
    assert sorted(each["row"] for each in lines(path)[1:]) == list(range(1, 31))


def test_the_end_of_a_run_looks_at_its_file_again(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"

    async def main() -> None:
        run = made(ROWS[:2], to=str(path))
        with pytest.raises(WireError, match="was removed"):
            async for result in run:
                if result.row == 2:
                    path.unlink()

    anyio.run(main)


@STYLES
@pytest.mark.parametrize("end", [finished, results])
def test_a_run_looks_at_its_file_while_it_waits(
    end: Any, style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_LOOK_EVERY", 0.01)
    path = tmp_path / "out.jsonl"

    class Silent(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            path.unlink()
            await anyio.sleep_forever()
            raise AssertionError

    with pytest.raises(WireError, match="was removed while this process wrote to it"):
        end(style, ROWS[:1], http=Silent(), to=path)


def test_dead_letters_of_an_earlier_start_are_looked_at(tmp_path: Path) -> None:
    path, dead = tmp_path / "out.jsonl", tmp_path / "out.jsonl.dead.jsonl"
    finished("asyncio", [*ROWS[:3], b"oops"], to=path)
    http = Changing(3, dead.unlink)
    rows = [*ROWS[:3], b"oops", *ROWS[4:]]
    with pytest.raises(WireError, match=r"out.jsonl.dead.jsonl was removed"):
        finished("asyncio", rows, http=http, to=path, concurrent=1)
    assert finished("asyncio", rows, to=path).done == 30
    assert [each["row"] for each in lines(dead)] == [4]


@pytest.mark.parametrize("change", [removed, replaced, cut_in_a_line, emptied, appended])
def test_an_input_that_changes_ends_the_run(change: Any, tmp_path: Path) -> None:
    rows, path = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text("".join(json.dumps(each) + "\n" for each in ROWS))
    http = Changing(5, lambda: change(rows))
    with pytest.raises(WireError, match=f"stopped, because {rows} was changed while"):
        finished("asyncio", str(rows), http=http, to=path, concurrent=1)
    assert http.asked < 10
    rows.write_text("".join(json.dumps(each) + "\n" for each in ROWS))
    progress = finished("asyncio", str(rows), to=path)
    assert (progress.total, progress.done, progress.failed) == (30, 30, 0)
