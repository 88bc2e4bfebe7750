"""Rows of lists of prompts, of lines, and of tables; what cannot be read is refused by name."""

from __future__ import annotations

import csv
import enum
import gzip
import io
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.bulk.test_run import finished, lines, made, results
from tests.joined import joined
from tests.property import examples
from wire import bulk
from wire.bulk import row_files
from wire.errors import ConfigurationError, WireError
from wire.testing.emulator import Emulator

TABLE = "id,question,text\nbrest,When?,Low tide.\noslo,Where?,High tide.\n"


def asked(rows: Any, **options: Any) -> list[tuple[int, str, str]]:
    """Run the rows one after the other; return the row, the id, and the prompt or the error."""
    emulator = Emulator()
    found = results("asyncio", rows, emulator, concurrent=1, **options)
    said = "This is an emulator, and no model. You said: "
    return [
        (each.row, each.id, each.reply.text.removeprefix(said) if each.reply else str(each.error))
        for each in found
    ]


def at(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


# --- prompts --------------------------------------------------------------------------------------


class Word(enum.StrEnum):
    HI = "Hi"


async def later() -> AsyncIterator[str]:
    for each in ("a", '{"prompt": "b"}'):
        await anyio.lowlevel.checkpoint()
        yield each


@pytest.mark.parametrize(
    ("rows", "prompts"),
    [
        (["What is 2+2?", "Where?"], ["What is 2+2?", "Where?"]),
        (("a", "a"), ["a", "a"]),
        ((each for each in ("a", "b")), ["a", "b"]),
        (later(), ["a", '{"prompt": "b"}']),
        (['"quoted"', "7", '{"id": "a"}'], ['"quoted"', "7", '{"id": "a"}']),
        (["a\nb", b'"a line"', {"prompt": "Hi"}, Word.HI], ["a\nb", "a line", "Hi", "Hi"]),
    ],
)  # fmt: skip
def test_a_text_is_a_prompt(rows: Any, prompts: list[str]) -> None:
    assert asked(rows) == [(n, str(n), each) for n, each in enumerate(prompts, 1)]


def test_half_a_surrogate_pair_is_a_problem_of_its_row() -> None:
    (_, _, first), (_, _, second) = asked(["\ud800", "ok"])
    assert first.startswith("prompt: this text contains half of a surrogate pair")
    assert second == "ok"


def test_lines_of_an_open_file_are_lines_of_json(tmp_path: Path) -> None:
    path = at(tmp_path, "in.jsonl", '"Hi"\n\n{"id": "b", "prompt": "Ho"}\n')
    expected = [(1, "1", "Hi"), (3, "b", "Ho")]
    with path.open() as text, path.open("rb") as data:
        assert asked(text) == asked(data) == asked(path) == expected
    assert asked(bulk.from_file(path.read_text().splitlines())) == expected
    packed = at(tmp_path, "in.jsonl.gz", gzip.compress(path.read_bytes()))
    with gzip.open(packed) as file:
        assert asked(bulk.from_file(file, format="jsonl")) == expected


def test_a_line_of_an_open_file_that_is_too_long_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(row_files, "MAX_LINE_BYTES", 20)
    file = io.StringIO(f'"a"\n"{"b" * 90}"\n"c"')
    problem = "the line has more than 20 bytes"
    assert asked(file) == [(1, "1", "a"), (2, "2", problem), (3, "3", "c")]


def test_lines_of_text_are_prompts_if_that_is_said(tmp_path: Path) -> None:
    path = at(tmp_path, "in.txt", b'\xef\xbb\xbfWhat?\r\n\n{"a": 1}\n\xff\n')
    found = asked(path, format="txt")
    assert found[:2] == [(1, "1", "What?"), (3, "3", '{"a": 1}')]
    assert found[2][2].startswith("'utf-8' codec can't decode byte 0xff")


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_csv_of_other_delimiters_is_told_by_its_header(tmp_path: Path, delimiter: str) -> None:
    """As spreadsheets write it where a comma is the decimal point."""
    path = tmp_path / "in.csv"
    path.write_text(delimiter.join(["id", "prompt"]) + f'\na{delimiter}"1,5; 2,5\t"\n', "utf-8")
    assert [row.line for row in bulk.from_file(path).read()] == [
        b'{"id":"a","prompt":"1,5; 2,5\\t"}'
    ]


@pytest.mark.parametrize("name", ["in.csv", "in.CSV", "in.tsv"])
def test_a_table_has_its_prompts_in_a_column_or_a_template(name: str, tmp_path: Path) -> None:
    text = TABLE.replace(",", "\t") if name.endswith("tsv") else TABLE
    path = at(tmp_path, name, text)
    assert asked(path, column="question") == [(2, "brest", "When?"), (3, "oslo", "Where?")]
    template = "{question} {{In}} one word: {text}"
    assert asked(path, template=template) == [
        (2, "brest", "When? {In} one word: Low tide."),
        (3, "oslo", "Where? {In} one word: High tide."),
    ]
    with path.open() as file:
        assert asked(file, column="id") == [(2, "brest", "brest"), (3, "oslo", "oslo")]
    assert asked(bulk.from_file(path, column="text"))[0] == (2, "brest", "Low tide.")


def test_a_column_prompt_needs_no_name_and_rows_without_an_id_have_their_line(
    tmp_path: Path,
) -> None:
    path = at(tmp_path, "in.csv", "prompt,n\nHi,1\n\nHo,2\n")
    assert asked(path) == [(2, "2", "Hi"), (4, "4", "Ho")]


def test_what_excel_writes_is_read(tmp_path: Path) -> None:
    """A mark of UTF-8, line ends of Windows, and both in quotes."""
    text = '\ufeffid,prompt\r\na,"two\r\nlines, ""quoted"""\r\n007,é\r\n,last'
    path = at(tmp_path, "in.csv", text)
    assert asked(path) == [
        (2, "a", 'two\r\nlines, "quoted"'),
        (4, "007", "é"),
        (5, "5", "last"),
    ]


def test_a_record_without_its_prompt_is_a_dead_letter_with_its_cells(tmp_path: Path) -> None:
    path = at(tmp_path, "in.csv", "id,prompt,n\na,Hi\nb, ,2\nc\nd,x,1,2\na,again\ne,ok,1\n")
    to = tmp_path / "out.jsonl"
    assert asked(path, to=to) == [
        (2, "a", "Hi"),
        (3, "b", "nothing in the column 'prompt'"),
        (4, "c", "nothing in the column 'prompt'"),
        (5, "d", "4 cells, and the header has 3"),
        (6, "a", "id: row 2 has the same: a"),
        (7, "e", "ok"),
    ]
    dead = lines(tmp_path / "out.jsonl.dead.jsonl")
    assert [each["line"] for each in dead][:3] == [["b", " ", "2"], ["c"], ["d", "x", "1", "2"]]


def test_a_cell_may_be_longer_than_the_limit_of_the_standard_library(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    path = at(tmp_path, "in.csv", f"prompt\n{'x' * 200_000}\n")
    [row] = bulk.from_file(path).read()
    assert row.line == b'{"prompt":"' + b"x" * 200_000 + b'"}'
    assert csv.field_size_limit() == limit == 131072


CELLS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).filter(str.strip)


@settings(max_examples=examples(100))
@given(st.lists(CELLS, min_size=1, max_size=5))
def test_what_the_standard_library_writes_is_read_back(cells: list[str]) -> None:
    file = io.StringIO(newline="")
    csv.writer(file).writerows([["prompt", "n"], *([each, "1"] for each in cells)])
    data = file.getvalue().encode()
    read = bulk.from_file(data.splitlines(keepends=True), format="csv").read()
    assert [json.loads(row.line)["prompt"] for row in read] == cells


@joined(
    ("name", "data", "options", "problem"),
    [
        ("a.csv", TABLE, {}, "column: {}: there is no column 'prompt': there are 'id', 'question', "
            "'text'; name one with column, or several with template"),
        ("a.csv", TABLE, {"column": "Question"}, "column: {}: there is no column 'Question': did "
            "you mean 'question'? There are 'id', 'question', 'text'; name one "),
        ("a.csv", "id,a,a\n", {"column": "a"}, "column: {}: there are several columns 'a': "),
        ("a.csv", "id,id,prompt\n", {}, "id: {}: there are several columns 'id': "),
        ("a.csv", TABLE, {"template": "{txt}"}, "template: {}: there is no column 'txt': did you "
            "mean 'text'?"),
        ("a.csv", TABLE, {"template": '{"a": 1} {text}'}, "template: {}: there is no column "
            "'\"a\": 1': there are 'id', 'question', 'text'; braces of the text are written "
            "{{ and }}"),
        ("a.csv", TABLE, {"template": "Hi"}, "template: expected at least one column in braces"),
        ("a.csv", TABLE, {"template": "{text"}, "template: expected '}' before end of string: "),
        ("a.csv", TABLE, {"template": "{text.upper}"}, "template: {}: there is no column "
            "'text.upper'"),
        ("a.csv", TABLE, {"template": "{text}", "column": "text"}, "template: is given in place of "
            "a column"),
        ("a.csv", TABLE, {"column": 5}, "column: expected a text, not int"),
        ("a.csv", "", {}, "rows: {}: is empty: expected a line with the names of the columns"),
        ("a.csv", b"\xff\xfeid\n", {}, "rows: {}: line 1: it is not UTF-8: save the file as CSV"),
        ("a.jsonl", '"Hi"', {"column": "a"}, "column: is for CSV and TSV, and {} is read as jsonl"),
        ("a.xlsx", "", {}, "format: {}: .xlsx is not read: save it as .csv"),
        ("a.parquet", "", {}, "format: {}: .parquet is not read: write it as .csv, or give a "),
        ("a.csv.gz", "", {}, "format: {}: .gz is not read: unpack it, or give an open file "),
        ("a.json", "", {}, "format: {}: .json is not read: a file of one value is given as rows: "),
        ("a.txt", "", {}, "format: {}: .txt is not read: give format='txt' if each line is a "),
        ("a.old", "", {}, "format: {}: .old is not read: give format= with one of jsonl, txt, csv"),
        ("a.csv", TABLE, {"format": "xml"}, "format: expected one of jsonl, txt, csv, tsv, not "),
        ("a.csv", TABLE, {"format": 5}, "format: expected one of jsonl, txt, csv, tsv, not int"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_refused_before_anything_else(
    name: str, data: str | bytes, options: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    path = at(tmp_path, name, data)
    with pytest.raises(ConfigurationError) as refused:
        made(path, to=tmp_path / "out.jsonl", **options)
    assert refused.value.message.startswith(problem.replace("{}", str(path)))
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("rows", "options", "problem"),
    [
        ("What is 2+2?", {}, "rows: What is 2+2?: cannot be read: No such file or directory; a "
            "text is the path of a file: give prompts as a list"),
        (["a"], {"column": "a"}, "column: is for a file, and not for list"),
        (bulk.from_file(["{}"]), {"format": "csv"}, "format: give it to from_file"),
        (type("DataFrame", (list,), {"columns": ["a"]})(), {}, "rows: a DataFrame is no list of "
            'rows: give one column, such as rows["prompt"]'),
    ],
)  # fmt: skip
def test_rows_that_are_no_rows_are_refused(
    rows: Any, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        made(rows, **options)
    assert refused.value.message == problem


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ('prompt\na\n"open\nb\n', "line 3: it is no record: unexpected end of data"),
        ('prompt\na\n"b"c\n', "line 3: it is no record: ',' expected after '\"'"),
        (b"prompt\na\n\xe9\n", "line 3: it is not UTF-8: save the file as CSV UTF-8"),
        (
            'prompt\na\n"' + "b\n" * 60 + '"\n',
            "line 3: the record has more than 100 bytes: ",
        ),
    ],
)
def test_a_table_that_is_damaged_is_refused_before_anything_is_sent(
    data: str | bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "MAX_LINE_BYTES", 100)
    path, emulator = at(tmp_path, "in.csv", data), Emulator()
    for run in (finished, results):
        with pytest.raises(ConfigurationError) as refused:
            run("asyncio", path, emulator)
        assert refused.value.message.startswith(f"rows: {path}: {problem}")
    with pytest.raises(ConfigurationError, match="line 3: "):
        made(path).plan()
    assert emulator.requests == []


def test_a_table_goes_on_at_any_cut_and_its_rows_are_compared(tmp_path: Path) -> None:
    rows = "".join(f'r{n},"Question\n{n}"\n' for n in range(1, 6))
    path, to = at(tmp_path, "in.csv", f"id,prompt\n{rows}"), tmp_path / "out.jsonl"
    assert finished("asyncio", path, to=to).total == 5
    whole = to.read_bytes()
    for size in range(0, len(whole), 97):
        to.write_bytes(whole[:size])
        left = 5 - max(0, whole[:size].count(b"\n") - 1)
        emulator = Emulator()
        progress = finished("asyncio", path, emulator, to=to)
        assert (progress.total, progress.earlier, progress.answered) == (5, 5 - left, left)
        assert len(emulator.requests) == left
    assert sorted(each["id"] for each in lines(to)[1:]) == ["r1", "r2", "r3", "r4", "r5"]
    emulator = Emulator()
    at(tmp_path, "in.csv", f"id,prompt\n{rows}".replace("\n3", "\n33"))
    with pytest.raises(ConfigurationError, match="row 6 was another one, with the id 'r3'"):
        finished("asyncio", path, emulator, to=to)
    at(tmp_path, "in.csv", f"id,prompt\n{rows}")
    with pytest.raises(ConfigurationError, match="row 2 was another one, with the id 'r1'"):
        finished("asyncio", path, emulator, to=to, template="Say: {prompt}")
    assert emulator.requests == []


@pytest.mark.parametrize(("added", "at_row"), [("x\n", 5), ('"', 5), ('"', 1000)])
def test_a_table_that_changes_ends_the_run(added: str, at_row: int, tmp_path: Path) -> None:
    path = at(tmp_path, "in.csv", "prompt\n" + "".join(f"Question {n}\n" for n in range(1000)))
    told = []

    def script(request: object) -> None:
        told.append(request)
        if len(told) == at_row:
            with path.open("a") as file:
                file.write(added)

    with pytest.raises(WireError, match=f"stopped, because {path} was changed while the run read"):
        finished("asyncio", path, Emulator(script), to=tmp_path / "out.jsonl", concurrent=1)
    assert len(told) == at_row
