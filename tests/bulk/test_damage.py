"""Damaged lines of results and dead letters: told with their place, set aside, asked again."""

from __future__ import annotations

import codecs
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.bulk.test_run import ROWS, finished, lines, made
from wire import bulk
from wire.bulk.output_files import Header, OutputFiles
from wire.cli import main
from wire.core import appended
from wire.errors import ConfigurationError
from wire.testing.emulator import Emulator, serve

TEN = ROWS[:10]
REFUSED = {"match": {"text": "Question 1?9$"}, "fault": "400", "times": 0}
"""Rows 9 and 19 are dead letters."""


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The results of eight rows in their order; the ninth is a dead letter."""
    path = tmp_path / "out.jsonl"
    finished("asyncio", ROWS[:9], Emulator([REFUSED]), to=path, concurrent=1)
    return path


def dead(out: Path) -> Path:
    return Path(f"{out}.dead.jsonl")


def aside(out: Path) -> Path:
    return Path(f"{out}.damaged")


def at(line: int, change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    """Change a line, numbered from 1."""
    return lambda all: [*all[: line - 1], change(all[line - 1]), *all[line:]]


def merged(all: list[bytes]) -> list[bytes]:
    return [*all[:2], all[2][:-1], *all[3:]]


def cut_and_merged(all: list[bytes]) -> list[bytes]:
    return [*all[:2], all[2][:30], *all[3:]]


def headed_again(all: list[bytes]) -> list[bytes]:
    return [*all[:4], all[0], *all[4:]]


def doubled(all: list[bytes]) -> list[bytes]:
    return [*all, all[2]]


def contradicted(all: list[bytes]) -> list[bytes]:
    other = json.loads(all[2])
    other["digest"], other["text"] = "0" * 16, "another"
    return [*all, json.dumps(other).encode() + b"\n"]


DAMAGE: dict[str, tuple[Any, str, set[int]]] = {
    "cut": (at(3, lambda line: line[:50] + b"\n"), "line 3: it was cut", {2}),
    "merged": (merged, "line 3: it is not JSON: ", {2, 3}),
    "cut and merged": (cut_and_merged, "line 3: it is not JSON: ", {2, 3}),
    "a hole": (
        at(4, lambda line: b"\0" * len(line) + b"\n"),
        "line 4: it has NUL bytes",
        {3},
    ),
    "a hole in a line": (
        at(4, lambda line: line[:40] + b"\0" * 5000 + line[40:]),
        "line 4: it has NUL bytes",
        {3},
    ),
    "no UTF-8": (at(5, lambda line: line[:9] + b"\xff" + line[9:]), "line 5: it is no", {4}),
    "another object": (
        at(5, lambda line: b'{"a": 1}\n'),
        "line 5: it is no row of a run: Object missing required field `id`",
        {4},
    ),
    "no number of a row": (
        at(5, lambda line: line.replace(b'"row":4', b'"row":0')),
        "line 5: it is no row of a run: Expected `int` >= 1",
        {4},
    ),
    "blank": (at(5, lambda line: b"\r\n" + line), "line 5: it is blank", set()),
    "a header in the middle": (headed_again, "line 5: it is no row of a run", set()),
    "a row twice": (doubled, "line 10: row 2 has a line before it", set()),
    "a row twice, of other bytes": (contradicted, "line 10: row 2 has a line before it", set()),
    "the header cut": (
        at(1, lambda line: line[:30] + b"\n"),
        "line 1: it was cut, and would name the run; the others are taken for rows of this run",
        set(),
    ),
    "the header merged": (
        lambda all: [all[0][:-1] + all[1], *all[2:]],
        "line 1: it is not JSON: ",
        {1},
    ),
    "a hole in the header": (at(1, lambda line: b"\0" * 9 + line), "line 1: it has NUL", set()),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_line_is_told_set_aside_and_its_row_asked_again(name: str, out: Path) -> None:
    damage, problem, asked = DAMAGE[name]
    whole = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(damage(whole)))
    before = out.read_bytes()

    emulator = Emulator()
    for look in (
        lambda: finished("asyncio", TEN, emulator, to=out),
        lambda: made(TEN, emulator, to=out).plan(),
    ):
        with pytest.raises(ConfigurationError) as refused:
            look()
        assert refused.value.message.startswith(f"set_aside: {out}: {problem}")
        assert refused.value.message.endswith(
            f": give set_aside=True to move damaged lines to {aside(out)}, and to ask rows without "
            "a line again"
        )
    plan = made(TEN, emulator, to=out, set_aside=True).plan()
    assert (plan.set_aside, plan.rows, plan.earlier) == (1, len(asked) + 1, 9 - len(asked))
    assert "1 damaged lines to set aside" in str(plan)
    assert emulator.requests == []
    assert (out.read_bytes(), aside(out).exists()) == (before, False)

    style = ("asyncio", "trio")[len(name) % 2]
    progress = finished(style, TEN, emulator, to=out, set_aside=True)
    assert (progress.set_aside, progress.summary()["set_aside"]) == (1, 1)
    assert (progress.earlier, progress.answered) == (9 - len(asked), len(asked) + 1)
    assert len(emulator.requests) == len(asked) + 1
    [number] = {each for each in range(len(whole) + 2) if f"line {each}:" in problem}
    kept = before.splitlines(keepends=True)
    damaged = kept.pop(number - 1)
    kept = whole[:1] + kept if number == 1 else kept
    assert aside(out).read_bytes() == damaged
    assert os.stat(aside(out)).st_mode & 0o777 == 0o600
    rows = lines(out)
    assert rows[0]["format"] == "wire-bulk"
    assert sorted(each["row"] for each in rows[1:]) == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert out.read_bytes().splitlines(keepends=True)[: len(kept)] == kept

    progress = finished("asyncio", TEN, emulator, to=out)
    assert (progress.set_aside, progress.earlier, progress.answered) == (0, 10, 0)


def test_the_first_line_of_a_row_counts(out: Path) -> None:
    all = contradicted(out.read_bytes().splitlines(keepends=True))
    out.write_bytes(b"".join([all[0], all[-1], *all[1:-1]]))
    with pytest.raises(ConfigurationError, match="row 2 was another one, with the id 'r2'"):
        finished("asyncio", iter(TEN), to=out, set_aside=True)


def test_damaged_dead_letters_are_set_aside_in_the_same_file(out: Path) -> None:
    finished("asyncio", ROWS[:19], Emulator([REFUSED]), to=out, concurrent=1)
    first, second = dead(out).read_bytes().splitlines(keepends=True)
    dead(out).write_bytes(b"\0\0\n" + second[:40] + b"\n" + first)
    all = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(at(3, lambda line: line[:50] + b"\n")(all)))
    with pytest.raises(ConfigurationError, match=r"^set_aside: .*out.jsonl: line 3: it was cut"):
        finished("asyncio", ROWS, to=out)
    progress = finished("asyncio", ROWS, to=out, set_aside=True)
    assert (progress.set_aside, progress.earlier, progress.done) == (3, 17, 30)
    assert aside(out).read_bytes() == all[2][:50] + b"\n\0\0\n" + second[:40] + b"\n"
    assert dead(out).read_bytes() == first
    assert sorted(each["row"] for each in lines(out)[1:]) == [*range(1, 9), *range(10, 31)]


def test_dead_letters_alone_may_be_damaged(out: Path) -> None:
    before = out.read_bytes()
    dead(out).write_bytes(b"[1]\n" + dead(out).read_bytes())
    name = r"out.jsonl.dead.jsonl: line 1: it is no row of a run: Expected `object`, got `array`"
    with pytest.raises(ConfigurationError, match=name):
        finished("asyncio", ROWS[:9], to=out)
    assert finished("asyncio", ROWS[:9], to=out, set_aside=True).set_aside == 1
    assert (out.read_bytes(), aside(out).read_bytes()) == (before, b"[1]\n")
    assert [each["row"] for each in lines(dead(out))] == [9]


def test_lines_are_set_aside_after_those_of_earlier_starts(out: Path) -> None:
    for text in (b"one\n", b"two\n"):
        out.write_bytes(out.read_bytes() + text)
        assert finished("asyncio", ROWS[:9], to=out, set_aside=True).set_aside == 1
    assert aside(out).read_bytes() == b"one\ntwo\n"


def test_a_start_that_dies_while_it_sets_lines_aside_loses_none(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out.write_bytes(out.read_bytes() + b"one\n")
    before = out.read_bytes()

    def dies(*paths: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            finished("asyncio", TEN, to=out, set_aside=True)
    assert (out.read_bytes(), aside(out).read_bytes()) == (before, b"one\n")
    assert finished("asyncio", TEN, to=out, set_aside=True).set_aside == 1
    assert aside(out).read_bytes() == b"one\none\n"


def test_a_hole_stays_a_hole(out: Path) -> None:
    """80 MB of NULs take neither memory nor disk."""
    first, *rest = out.read_bytes().splitlines(keepends=True)
    with out.open("wb") as file:
        file.write(first + rest[0])
        file.seek(80_000_000, os.SEEK_CUR)
        file.write(b"\n" + b"".join(rest[1:]))
    files = OutputFiles(str(out), str(dead(out)), set_aside=True)
    header = Header(models=["gemini:gemini-3.8-flash"], settings={})
    tracemalloc.start()
    try:
        assert files.read(header, lambda done: True) == 1
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        files.close()
    assert most < 8_000_000
    assert out.read_bytes() == first + b"".join(rest)
    assert aside(out).stat().st_size == 80_000_001
    assert aside(out).stat().st_blocks * 512 < 8_000_000


def test_a_line_that_is_too_long_is_damaged(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended, "_PIECE_BYTES", 256)
    monkeypatch.setattr(appended, "MAX_LINE_BYTES", 10_000)
    monkeypatch.setattr("wire.bulk.output_files.MAX_LINE_BYTES", 10_000)
    with out.open("ab") as file:
        file.write(b'{"id": "' + b"x" * 10_000 + b'"}\n')
    with pytest.raises(ConfigurationError, match=r"line 10: it has more than 10,000 bytes"):
        finished("asyncio", TEN, to=out)
    assert finished("asyncio", TEN, to=out, set_aside=True).answered == 1
    assert aside(out).stat().st_size == 10_011


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_what_an_editor_leaves_is_no_damage(mark: bytes, out: Path) -> None:
    """A mark of UTF-8, and line ends of Windows."""
    for path in (out, dead(out)):
        path.write_bytes(mark + path.read_bytes().replace(b"\n", b"\r\n"))
    progress = finished("asyncio", TEN, to=out)
    assert (progress.set_aside, progress.earlier, progress.answered) == (0, 9, 1)
    assert [each["row"] for each in bulk.read(out)] == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert [each["row"] for each in bulk.read(dead(out))] == [9]
    assert finished("asyncio", TEN, to=out, in_order=True).earlier == 10
    assert [each.get("row") for each in lines(out)] == [None, 1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_a_damaged_header_of_no_row_is_a_file_of_something_else(out: Path) -> None:
    out.write_bytes(b"Shopping list\nmilk\n")
    with pytest.raises(ConfigurationError, match="exists, and was not written by a bulk run"):
        finished("asyncio", TEN, to=out, set_aside=True)
    assert out.read_bytes() == b"Shopping list\nmilk\n"


def test_whoever_reads_results_is_told_of_damage(out: Path) -> None:
    with out.open("ab") as file:
        file.write(b"\0\0\n")
    with pytest.raises(ConfigurationError, match=r"out.jsonl: line 10: it has NUL bytes"):
        list(bulk.read(out))


def test_the_command_tells_and_sets_aside(
    out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "fake-key")
    given = out.with_name("in.jsonl")
    given.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in TEN))
    out.write_bytes(out.read_bytes() + b"\0\n")
    with serve(Emulator()) as server:
        command = ["bulk", str(given), str(out), "--model=gemini:gemini-3.8-flash"]
        command.append(f"--base-url={server.url}")
        assert main(command) == 2
        assert capsys.readouterr().err == (
            f"wire bulk: --set-aside: {out}: line 10: it has NUL bytes: give --set-aside to move "
            f"damaged lines to {aside(out)}, and to ask rows without a line again\n"
        )
        assert main([*command, "--plan", "--set-aside"]) == 0
        assert "9 done before, 1 damaged lines to set aside, " in capsys.readouterr().out
        assert main([*command, "--set-aside"]) == 0
    assert f"1 damaged lines were set aside: see {aside(out)}\n" in capsys.readouterr().err


def test_set_aside_is_true_or_false(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="set_aside: expected True or False, not str"):
        made(TEN, to=tmp_path / "out.jsonl", set_aside="yes")


def test_whoever_reads_results_gets_the_first_line_of_a_row(out: Path) -> None:
    out.write_bytes(b"".join(contradicted(out.read_bytes().splitlines(keepends=True))))
    texts = [each["text"] for each in bulk.read(out)]
    assert len(texts) == 8
    assert texts[1].endswith("Question 2")
