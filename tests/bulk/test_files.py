"""The files of a run, and what a run refuses to append to."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.joined import joined
from wire.bulk import read
from wire.bulk.index import Index
from wire.bulk.ordering import lines_in_order
from wire.bulk.output_files import Done, Header, OutputFiles, header_line
from wire.bulk.rows import Row
from wire.errors import ConfigurationError

HEADER = Header(models=["gemini:gemini-3.8-flash"], settings={"max_tokens": 5})


def line(row: int, **fields: Any) -> bytes:
    value = {"id": f"r{row}", "row": row, "digest": f"{row:016x}", **fields}
    return json.dumps(value).encode() + b"\n"


def done(folder: Path, header: Header = HEADER) -> list[int]:
    files = OutputFiles(f"{folder}/out", f"{folder}/dead")
    found: list[Done] = []
    try:
        assert files.read(header, lambda each: not found.append(each)) == 0  # type: ignore[func-returns-value]
    finally:
        files.close()
    return [each.row for each in found]


def test_a_new_file_begins_with_the_header(tmp_path: Path) -> None:
    assert done(tmp_path) == []
    assert (tmp_path / "out").read_bytes() == header_line(HEADER)
    assert not (tmp_path / "dead").exists()
    assert os.stat(tmp_path / "out").st_mode & 0o777 == 0o600


def test_a_file_cut_at_any_byte_keeps_its_whole_lines(tmp_path: Path) -> None:
    whole = header_line(HEADER) + line(1) + line(3, text="é") + line(2)
    ends = [index + 1 for index, byte in enumerate(whole) if byte == 10]
    for size in range(len(whole) + 1):
        (tmp_path / "out").write_bytes(whole[:size])
        rows = done(tmp_path)
        assert rows == [1, 3, 2][: max(0, sum(end <= size for end in ends) - 1)]
        kept = max((end for end in ends if end <= size), default=ends[0])
        assert (tmp_path / "out").read_bytes() == whole[:kept]


def test_dead_letters_cut_at_any_byte_keep_their_whole_lines(tmp_path: Path) -> None:
    whole = line(1, error={"type": "RuleError"}) + line(2, error={"type": "RuleError"})
    first = whole.index(b"\n") + 1
    for size in range(len(whole) + 1):
        (tmp_path / "dead").write_bytes(whole[:size])
        assert done(tmp_path) == [1, 2][: (size >= first) + (size == len(whole))]


def test_dead_letters_whose_error_may_pass_are_asked_again(tmp_path: Path) -> None:
    lines = [line(1, error={"retryable": True}), line(2, error={}), line(3, error={"a": 1})]
    (tmp_path / "dead").write_bytes(b"".join(lines))
    assert done(tmp_path) == [2, 3]
    assert (tmp_path / "dead").read_bytes() == lines[1] + lines[2]


@joined(
    ("data", "problem"),
    [
        (b"notes\n", "exists, and was not written by a bulk run"),
        (b"notes", "exists, and was not written by a bulk run"),
        (b'{"a": 1}\n', "exists, and was not written by a bulk run"),
        (line(1), "exists, and was not written by a bulk run"),
        (header_line(Header(version=2, models=[], settings={})), "has the version 2, not 1"),
        (
            header_line(Header(models=["openai:gpt-5.4"], settings={})),
            "has the results of openai:gpt-5.4, not of gemini:gemini-3.8-flash",
        ),
        (
            header_line(Header(models=HEADER.models, settings={"max_tokens": 6})),
            "has the results of another run: max_tokens was 6, and is 5",
        ),
        (
            header_line(Header(models=HEADER.models, settings={"max_tokens": 5, "system": "x"})),
            "has the results of another run: system was 'x', and is None",
        ),
        (header_line(HEADER)[:-5] + b"\n" + line(1)[:-5] + b"\n", "not written by a bulk run"),
    ],
)
def test_a_file_of_something_else_is_refused_and_unchanged(
    data: bytes, problem: str, tmp_path: Path
) -> None:
    (tmp_path / "out").write_bytes(data)
    files = OutputFiles(f"{tmp_path}/out", f"{tmp_path}/dead")
    try:
        with pytest.raises(ConfigurationError) as refused:
            files.read(HEADER, Index().add)
    finally:
        files.close()
    assert problem in refused.value.message
    assert refused.value.message.startswith("to: ")
    assert (tmp_path / "out").read_bytes() == data


def test_a_file_that_another_run_writes_is_refused(tmp_path: Path) -> None:
    files = OutputFiles(f"{tmp_path}/out", f"{tmp_path}/dead")
    with pytest.raises(ConfigurationError, match="another process writes to it"):
        OutputFiles(f"{tmp_path}/out", f"{tmp_path}/dead")
    files.close()
    OutputFiles(f"{tmp_path}/out", f"{tmp_path}/dead").close()


@joined("path", [".", "/dev/null"])
def test_a_path_that_is_no_file_is_refused(path: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^to: .*: cannot be written: "):
        OutputFiles(str(tmp_path / path), str(tmp_path / "dead"))


def test_the_index_knows_rows_and_ids() -> None:
    first, second = Row(1, "a", b'"x"'), Row(2, "a", b'"y"')
    index = Index([Done(1, "a", first.digest)])
    assert [index.is_done(first), index.is_done(second)] == [True, False]
    assert [index.taken_by(each) for each in (first, second, first)] == [None, 1, None]
    assert (index.beyond(0), index.beyond(1)) == (1, None)
    with pytest.raises(ConfigurationError, match="row 1 was another one, with the id 'a'"):
        index.is_done(Row(1, "a", b'"z"'))
    index.close()


def test_lines_are_read_in_the_order_of_their_rows(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(header_line(HEADER) + line(3) + line(1) + line(2) + line(4)[:-5])
    assert [each["row"] for each in read(path)] == [1, 2, 3]
    files = OutputFiles(str(path), f"{tmp_path}/dead")
    index = Index()
    files.read(HEADER, index.add)
    assert (index.count, index.beyond(2)) == (3, 3)
    files.rewrite(lines_in_order(str(path)))
    files.close()
    assert path.read_bytes() == header_line(HEADER) + line(1) + line(2) + line(3)
    path.write_bytes(b"notes\n")
    with pytest.raises(ConfigurationError, match="line 1"):
        list(read(path))
