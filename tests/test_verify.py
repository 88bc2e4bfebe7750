"""What `make verify` makes of the outputs of suites, what it runs again, and what it writes."""

from __future__ import annotations

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import folders, verify
from tests.joined import joined
from tests.verify import Row, Suite, dirty, kept, outcome, page, rows_of, suites, todo

COMMIT = "0123456789ab"
PASSED = Row("test", "make test", "passed", "11156 passed, 35 skipped", 228, COMMIT, "2026-11-27")
FAILED = dataclasses.replace(PASSED, suite="docs", result="failed", figures="")

PYTEST = """\
python -m pytest -q -n 4 --random-order-seed=7
........s.. [100%]
wire: 25 live tests were replayed from cassettes (25 recorded from the emulator)
11156 passed, 35 skipped in 228.30s (0:03:48)
"""
TWICE = "5 passed in 0.31s\n== 1 failed, 4 passed, 2 warnings in 3.10s ==\n"
SKIPPED = """\
SKIPPED [4] tests/clis/test_clis.py:293: node is not there
SKIPPED [2] tests/clis/test_gateway.py:63: node is not there
SKIPPED [1] tests/clis/test_gateway.py:75: npm has no such version: 1.0
7 skipped, 1565 deselected in 0.20s
"""
FAULTS = """\
| family | runs | as it should | silent | wrong | foreign | hang |
|---|---|---|---|---|---|---|
| cut | 160 | 160 | 0 | 0 | 0 | 0 |
| all | 18598 | 18597 | 1 | 0 | 0 | 0 |
16 passed, 1 skipped in 900.00s (0:15:00)
"""
FUZZ = """| reader | inputs | MB | results | refused | longest, s | s a MB | most memory, MB |
|---|---|---|---|---|---|---|---|
| all | 99700 | 812.4 | 38533 | 61167 | 0.31 | 0.90 | 12.5 |
"""
SOAK = """\
100000 calls, 100000 as they should, 92.1 MiB, 31 descriptors, 900 calls/s
200000 calls, 199999 as they should, 92.2 MiB, 31 descriptors, 900 calls/s
memory x 1.001 since the first tenth, +0 descriptors
"""
CHECK = """\
Success: no issues found in 543 source files
Success: no issues found in 9 source files
0 errors, 0 warnings, 0 informations
house: 22 rooms, 12 floors, 0 back, 0 circles, 543 files, 800 largest file, 72900 code lines
"""
BENCH = """\
  burst cpu
    raw                             10 µs
met     burst   cpu     wire  2.9 x raw   2.1
met     burst   memory  wire  45 kB       40 kB
missed  length  cpu     wire  1.02        1.10
"""


@joined(
    ("status", "output", "result", "figures"),
    [
        (0, PYTEST, "passed", "11156 passed, 35 skipped"),
        (2, TWICE, "failed", "5 passed; 1 failed, 4 passed, 2 warnings"),
        (0, SKIPPED, "skipped: node is not there; npm has no such version: 1.0", "7 skipped"),
        (0, "3 passed\n" + SKIPPED.replace("7 skipped,", "3 passed, 4 skipped,"), "passed",
         "3 passed, 4 skipped (node is not there; npm has no such version: 1.0)"),
        (1, FAULTS, "failed",
         "18598 runs against the hostile server, 18597 as they should be; 16 passed, 1 skipped"),
        (0, FUZZ, "passed",
         "99700 random inputs, 38533 read and 61167 refused with a WireError"),
        (1, SOAK, "failed",
         "200000 calls, 199999 as they should be; memory x 1.001, +0 descriptors"),
        (0, CHECK, "passed",
         "543 files, 72900 code lines; mypy: no issues found in 543 source files; "
         "mypy: no issues found in 9 source files; pyright: 0 errors, 0 warnings, 0 informations"),
        (0, "wire 1.0 (Python): 95 of 95 kept\n2 clients: 129 of 134 cases kept\n", "passed",
         "2 clients: 129 of 134 cases kept"),
        (0, BENCH, "passed", "2 goals met; 1 missed"),
        (0, "ok: twine reads the metadata\nok: 34 examples of README, 0 failed\n", "passed",
         "2 checks"),
        (2, "make: *** [docs] Error 1\n", "failed", ""),
    ],
)  # fmt: skip
def test_a_suite_is_told_by_its_status_and_closing_lines(
    status: int, output: str, result: str, figures: str
) -> None:
    assert outcome(status, output) == (result, figures)


def test_only_what_has_passed_on_this_commit_is_not_run_again() -> None:
    other = dataclasses.replace(PASSED, suite="fuzz", commit="ba9876543210")
    known = {"test": PASSED, "docs": FAILED, "fuzz": other, "soak": Row("soak", "", "not run")}
    commit, rows = kept(known, lambda each: each == COMMIT)
    assert (commit, rows) == (COMMIT, {"test": PASSED, "docs": FAILED})
    assert kept(known, lambda _: False) == kept({}, lambda _: True) == ("", {})
    every = suites({"3.12": "/opt/bin/python3.12", "3.13": ""})
    left = [each.name for each in todo(every, [], rows)]
    assert left == [each.name for each in every if each.name != "test"]
    assert [each.name for each in todo(every, ["test", "docs"], rows)] == ["docs"]
    pythons = todo(every, ["test-python"], rows)
    assert [each.name for each in pythons] == ["test-python3.12", "test-python3.13"]
    with pytest.raises(ValueError, match=r"^no suite tests; there are bench, "):
        todo(every, ["tests", "docs"], rows)


def test_each_suite_is_a_target_of_the_makefile() -> None:
    makefile = (verify.ROOT / "Makefile").read_text("utf-8")
    every = suites({"3.12": "/opt/bin/python3.12", "3.13": ""})
    assert [each.target for each in every if f"\n{each.target}:" not in makefile] == []
    by_name = {each.name: each for each in every}
    assert len(by_name) == len(every)
    assert by_name["integrations"].command == "make test-integrations"
    assert by_name["test-python3.12"].command == "make test-python PYTHON=python3.12"
    assert by_name["test-python3.13"].missing == "python3.13 is not installed"


def test_the_page_shows_what_was_not_run_and_is_read_back() -> None:
    missing = Suite("test-python3.13", "test-python", "python3.13", "python3.13 is not installed")
    odd = dataclasses.replace(FAILED, figures="a | b")
    rows = [PASSED, odd, verify.shown(None, missing), verify.shown(None, Suite("soak", "soak"))]
    text = page(rows, COMMIT, "2026-11-27", "3.11.7", 2)
    assert f"Commit {COMMIT}, 2026-11-27, Python 3.11.7 on 2 cores: 1 of 4 suites passed." in text
    assert [line for line in text.splitlines() if line.startswith("| test-python3.13 ")] == [
        "| test-python3.13 | make test-python PYTHON=python3.13 "
        "| skipped: python3.13 is not installed |  | 0 |  |  |"
    ]
    assert "| soak | make soak | not run |  | 0 |  |  |" in text
    assert list(rows_of(text).values()) == rows


def test_a_tree_is_that_of_the_commit_but_for_what_suites_write() -> None:
    written = " M docs/reliability.md\0 M docs/_static/speed-1kb.svg\0?? docs/project/verified.md\0"
    assert dirty(written + " M bench/measured.json\0 M README.md\0", True) == []
    assert dirty(written + " M README.md\0", False) == ["README.md"]
    assert dirty("?? tests/a b.py\0 M docs/rules.md\0", True) == ["tests/a b.py", "docs/rules.md"]


def test_what_ran_in_a_clone_was_the_clone(tmp_path: Path) -> None:
    """Else `make test-folders` would test this folder twice."""
    elsewhere = {**os.environ, "PYTHONPATH": str(folders.ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", folders.PROGRAM, "--version"],
        cwd=tmp_path,
        env=elsewhere,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"AssertionError: tests was imported from {folders.ROOT}" in done.stderr


class Repository:
    """A repository in the place of this one."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setattr(verify, "ROOT", folder)
        monkeypatch.setattr(verify, "README", folder / "README.md")
        monkeypatch.setattr(verify, "PAGE", folder / "docs" / "project" / "verified.md")
        self.git("init", "--quiet")

    def git(self, *words: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        command = ["git", *who, *words]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        return done.stdout.decode()

    def committed(self, name: str, text: str) -> str:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")
        self.git("add", name)
        self.git("commit", "--quiet", "--message", name)
        return self.git("rev-parse", "--short=12", "HEAD").strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    return Repository(tmp_path, monkeypatch)


def test_a_commit_of_written_pages_counts_as_the_commit_before(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "figured", lambda text: text.replace("8 passed", "9 passed"))
    committed = repository.committed
    committed("wire.py", "a = 1")
    verified = committed("README.md", "8 passed")
    committed("docs/project/verified.md", "")
    committed("README.md", "9 passed")
    assert verify._is_same(verified)
    assert not verify._is_same("0123456789ab")
    monkeypatch.setattr(verify, "figured", lambda text: re.sub(r"\d+ passed", "10 passed", text))
    assert verify._is_same(verified)  # a later suite has changed a page, which is not committed yet
    committed("README.md", "9 passed, and more")
    assert not verify._is_same(verified)
    committed("README.md", "9 passed")
    committed("wire.py", "a = 2")
    assert not verify._is_same(verified)


def test_a_suite_may_change_what_readme_is_derived_from(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = repository.folder / "bench" / "measured.json"

    def run(suite: Suite, commit: str) -> Row:
        measured.write_text(f"{int(measured.read_text('utf-8')) + 1}", "utf-8")
        return Row(suite.name, suite.command, "passed", "", 1, commit, "2026-11-29")

    monkeypatch.setattr(verify, "run", run)
    monkeypatch.setattr(verify, "other_pythons", dict)
    monkeypatch.setattr(verify, "figured", lambda _: f"{measured.read_text('utf-8')} ms")
    repository.committed("bench/measured.json", "8")
    repository.committed("docs/project/verified.md", "")
    repository.committed("README.md", "8 ms")
    assert verify.main(["--only", "faults,bench"]) == 0
    assert verify.README.read_text("utf-8") == "10 ms"
    rows = rows_of(verify.PAGE.read_text("utf-8"))
    assert (rows["faults"].result, rows["bench"].result) == ("passed", "passed")
