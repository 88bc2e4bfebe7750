"""Every row of docs/seeds.md is held by a test or says why not, and the page has all rows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conformance.seeds import ROOT, Row, carried_by, held, rows, run

PAGE = rows((ROOT / "docs" / "seeds.md").read_text("utf-8"))
OTHER, TRANSPORT_ERRORS = (
    f"S{0}-99",
    f"S{9}-01",
)  # no rows; put together here, since the docs are asked about every id that the code names
SOURCE = ROOT.parent / "shared" / "mission" / "seeds.md"


def test_every_row_has_a_test_or_a_reason() -> None:
    result = run([])
    assert result.failed == []
    assert result.records == len(PAGE) == result.passed + result.out_of_scope


def test_a_row_with_neither_and_a_test_of_no_row_fail(capsys: pytest.CaptureFixture[str]) -> None:
    page = [
        Row("S0-01", "one", ""),
        Row("S0-02", "two", "not built"),
        Row("S0-03", "three", ""),
        Row(TRANSPORT_ERRORS, "other", ""),
    ]
    carried = [("S0-01", "a.py::test_x"), (OTHER, "a.py::test_y"), ("R-01", "a.py::test_z")]
    result = held(page, carried, ["S0"])
    assert (result.records, result.passed, result.out_of_scope, result.failed) == (
        4,
        1,
        1,
        ["S0-03", OTHER],
    )
    assert capsys.readouterr().out == (
        "S0-01\n    a.py::test_x\n"
        "S0-02\n    no test: not built\n"
        "S0-03\n    NEITHER A TEST NOR A REASON\n"
        f"{OTHER}\n    a.py::test_y\n    NO ROW OF docs/seeds.md\n"
    )


def test_ids_are_read_from_the_marker(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_a.py").write_text(
        "class A:\n"
        "    @joined('x', [1])\n"
        "    @pytest.mark.row('S0-01', 'S0-02')\n"
        "    async def test_b(self): ...\n"
        "@pytest.mark.slow\n"
        "def test_s0_03_c(): ...\n"
    )
    assert list(carried_by(folder)) == [
        ("S0-01", "tests/test_a.py::test_b"),
        ("S0-02", "tests/test_a.py::test_b"),
    ]


@pytest.mark.skipif(
    not SOURCE.exists(), reason="the list of rows lies beside the checkout, and is not there"
)
def test_the_page_has_every_row() -> None:
    asked = re.findall(r"^\| (S\d-\d\d) \|", SOURCE.read_text("utf-8"), re.MULTILINE)
    asked += re.findall(
        r"^\| (P-\d+) \|.*\| core[^|]*\|$",
        (SOURCE.parent / "pipeline-checklist.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert sorted(set(asked) - {row.id for row in PAGE}) == []
