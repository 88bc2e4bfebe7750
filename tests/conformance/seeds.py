"""Which test holds which row of docs/seeds.md: a test carries the ids of its rows in a marker,
`@pytest.mark.row("S1-42", "S1-43")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.result import Result

ROOT = Path(__file__).parent.parent.parent
TOLD = ("S0", "S1", "S2", "S3", "S4", "P", "U")

_ROW = re.compile(r"^\| ((?:S\d|P|U)-\d+) \| (.+?) \| ?(.*?) ?\|$", re.MULTILINE)
# The markers of a test stand above it, one below the other: the next `def` is that of the test.
_MARKED = re.compile(
    r"^ *@pytest\.mark\.row\(([^)]*)\)\n(?:.*\n)*? *(?:async )?def (\w+)", re.MULTILINE
)


@dataclass(frozen=True)
class Row:
    """One row of the page."""

    id: str
    what: str
    reason: str
    """Why no test carries its id; empty if one has to."""


def rows(page: str) -> list[Row]:
    """The rows of the page, in their order."""
    return [Row(*found) for found in _ROW.findall(page)]


def carried_by(folder: Path) -> Iterator[tuple[str, str]]:
    """Row and test, for every test below a folder whose marker carries an id."""
    for path in sorted(folder.rglob("test_*.py")):
        for ids, name in _MARKED.findall(path.read_text("utf-8")):
            for id in re.findall("[\"'](.+?)[\"']", ids):
                yield id, f"{path.relative_to(folder.parent).as_posix()}::{name}"


def held(page: Iterable[Row], carried: Iterable[tuple[str, str]], systems: Sequence[str]) -> Result:
    """Print the rows of these systems with what holds them; a row with neither a test nor a reason
    fails, and so does a test of no row.
    """
    by_id: dict[str, list[str]] = {}
    for id, test in carried:
        by_id.setdefault(id, []).append(test)
    result = Result()
    known = set()
    for row in page:
        known.add(row.id)
        if row.id.partition("-")[0] not in systems:
            continue
        result.records += 1
        found = by_id.get(row.id, [])
        if found:
            result.passed += 1
        elif row.reason:
            result.out_of_scope += 1
        else:
            result.failed.append(row.id)
        print(
            row.id,
            *(found or [f"no test: {row.reason}" if row.reason else "NEITHER A TEST NOR A REASON"]),
            sep="\n    ",
        )
    of_the_page = {id for id in by_id if id.partition("-")[0] in TOLD}
    for id in sorted(of_the_page - known):
        result.records += 1
        result.failed.append(id)
        print(id, *by_id[id], "NO ROW OF docs/seeds.md", sep="\n    ")
    return result


def run(arguments: Sequence[str]) -> Result:
    """The command `seeds [S0 S1 ...]`."""
    return held(
        rows((ROOT / "docs" / "seeds.md").read_text("utf-8")),
        carried_by(ROOT / "tests"),
        arguments or TOLD,
    )
