"""Figures on the pages are those of the code or of docs/project/verified.md, or have a date."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests import figures, verify
from tests.faults import soak, test_mutated, test_storms
from tests.faults.promises import PROMISES
from tests.verify import rows_of, suites
from wire.providers import PROVIDERS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
VERIFIED = (ROOT / "docs" / "project" / "verified.md").read_text("utf-8")
DATE = re.compile(r"\b20\d\d-\d\d(-\d\d)?\b")
MADE = {"verified.md", "conformance.md", "reliability.md", "performance.md"}
"""Pages that their own commands write, with a date."""
PAGES = [
    page
    for page in [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
    if page.name not in MADE | {"CHANGELOG.md"}
]
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
CLAIM = re.compile(
    r"\d[\d,]* (?:[\w-]+ )?(?:tests|passed|skipped|faults|runs|exchanges|rules|providers)\b"
    r"|\d[\d,.]* (?:rows|calls|events)\s+a\s+second|killed \d+ times"
)
"""What a suite has counted or measured."""


def undated(text: str) -> list[str]:
    """The claims of a text that are not derived, in paragraphs and rows without a date."""
    for pattern in figures.derived():
        text = re.sub(pattern, "", text, flags=re.MULTILINE)
    blocks = re.split(r"\n\n|\n(?=\|)", FENCE.sub("", text))
    return [found for each in blocks if not DATE.search(each) for found in CLAIM.findall(each)]


def test_the_figures_of_readme_are_those_of_the_code_and_of_the_last_runs() -> None:
    """`python -m tests.verify --page` writes them."""
    assert verify.figured(README) == README


@pytest.mark.parametrize(
    "wrong",
    [
        (r"\d+ rules and quirks", "1 rules and quirks"),
        (r"\d+ \[providers", "1 [providers"),
        ("155 faults", "154 faults"),
        (" MB installed", "0 MB installed"),
    ],
    ids=lambda wrong: wrong[1],
)
def test_another_figure_is_seen(wrong: tuple[str, str]) -> None:
    changed = re.sub(wrong[0], wrong[1], README)
    assert changed != README
    assert figures.written(changed, figures.derived()) != changed


def test_the_run_of_the_tests_in_readme_is_that_of_the_page_or_has_its_date() -> None:
    new = figures.written(README, figures.tested("2026-12-01", "12000 passed, 3 skipped"))
    assert "printed on 2026-12-01:" in new
    assert "12000 passed, 3 skipped in [...]" in new
    with pytest.raises(ValueError, match="README has 0 figures for"):
        figures.written(README.replace("printed on ", "printed "), figures.tested("", ""))


def test_each_row_of_the_tables_in_readme_has_derived_figures_or_a_date() -> None:
    rows = [line for line in README.splitlines() if re.match(r"\| \w", line)]
    assert len(rows) > 10
    for pattern in figures.derived():
        rows = [re.sub(pattern, "", row) for row in rows]
    assert [row for row in rows if re.search(r"\d", row) and not DATE.search(row)] == []


def test_each_claim_of_a_count_is_derived_or_has_a_date() -> None:
    assert {page.name: found for page in PAGES if (found := undated(page.read_text("utf-8")))} == {}


def test_a_claim_without_a_date_is_seen() -> None:
    assert undated("It ran 6,000 tests, all as promised.\n\nOn 2026-11-23: 10 runs.") == [
        "6,000 tests"
    ]
    assert undated("| 99 recorded exchanges |\n| 5 faults (2026-11-23) |") == [
        "99 recorded exchanges"
    ]


def test_all_runs_of_the_faults_were_as_they_should_be() -> None:
    _, runs, right = figures.fault_runs()
    assert right == runs > 10_000


def test_promises_name_the_numbers_of_their_tests() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for begin in (f"{soak.CALLS:,} calls ", f"{test_mutated.ALL:,} mutated answers "):
        assert len([each for each in PROMISES.values() if each.startswith(begin)]) == 1
    assert f"makes {soak.CALLS:,} calls" in contributing
    assert f"storms of {test_storms.STORM:,} cancellations" in contributing


def test_hosts_are_counted_in_words() -> None:
    words = {30: "thirty", 40: "forty", 50: "fifty", 60: "sixty"}
    rows = Counter(row.wire for row in PROVIDERS.values())
    count = words[round(rows["openai"] + rows["openai.responses"], -1)]
    for page in (README, (ROOT / "docs" / "index.md").read_text("utf-8")):
        assert f"some {count} other hosts" in page.replace("\n", " ")


def test_the_page_has_a_row_for_each_suite() -> None:
    rows = rows_of(VERIFIED)
    assert [each for each in rows if not each.startswith("test-python")] == [
        each.name for each in suites({})
    ]
    for row in rows.values():
        known = row.result in ("passed", "failed", "not run") or row.result.startswith("skipped: ")
        assert known, row
        assert bool(row.commit) == bool(DATE.fullmatch(row.date)), row
        assert row.commit or row.result not in ("passed", "failed"), row
    commits = {row.commit for row in rows.values() if row.commit}
    assert len(commits) <= 1
    assert all(f"Commit {commit}, " in VERIFIED for commit in commits)
