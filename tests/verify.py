"""`make verify`: run all that this project claims, on one commit, and write what came of it.

It goes on after a failure. A suite that has passed on this commit is not run again, so that an
interrupted run continues; `--only docs,test` names suites. After each suite the table is written to
docs/project/verified.md, and its figures to README. The tree has to be that of the commit: only
pages that suites write may differ from it. These pages are committed after a run, so a later commit
with no other change counts as the commit that was verified.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import figures

ROOT = figures.ROOT
PAGE = ROOT / "docs" / "project" / "verified.md"
README = ROOT / "README.md"
LONGEST = 3 * 3600.0
"""Seconds that a suite may take."""
PAGES_OF_SUITES = re.compile(
    r"docs/(project/(verified|conformance)|reliability|performance)\.md"
    r"|docs/_static/speed-[\w-]+\.svg|bench/measured\.json"
)
"""What this command, `make conformance`, `make faults` and `make bench` write."""


@dataclass(frozen=True)
class Suite:
    """One target of make; `missing` says why it cannot be run on this machine."""

    name: str
    target: str
    python: str = ""
    """Path of the Python that the target gets."""
    missing: str = ""

    @property
    def command(self) -> str:
        """What a reader of the page types."""
        return f"make {self.target}" + (f" PYTHON={Path(self.python).name}" if self.python else "")


@dataclass(frozen=True)
class Row:
    """What came of one suite."""

    suite: str
    command: str
    result: str
    """`passed`, `failed`, or `skipped: ` and `not run` with the reason."""
    figures: str = ""
    seconds: int = 0
    commit: str = ""
    date: str = ""


# --- suites ---------------------------------------------------------------------------------------

TARGETS = (
    *(
        "docs",
        "check",
        "test",
        "test-processes",
        "test-slow",
        "test-transports",
        "test-lowest",
        "test-python",
    ),
    *("test-integrations", "test-sdks", "test-clis", "test-real", "test-browser", "test-otlp"),
    *("facts", "conformance", "test-bulk", "test-dask"),
    *("faults", "fuzz", "soak", "release-check", "bench"),
)
"""Targets of make in the order of the runs: what is quick first, and last what needs the machine
for itself. `test-` is no part of the name of a suite whose target is named after what it needs."""
_LONG_NAMES = ("test-slow", "test-transports", "test-lowest", "test-python")


def suites(pythons: Mapping[str, str]) -> list[Suite]:
    """All suites; `test-python` once for each version, whose path is empty if it is not there."""
    found = []
    for target in TARGETS:
        if target != "test-python":
            name = target if target in _LONG_NAMES else target.removeprefix("test-")
            found.append(Suite(name, target))
            continue
        for version, path in pythons.items():
            python = f"python{version}"
            missing = "" if path else f"{python} is not installed"
            found.append(Suite(f"test-{python}", target, path or python, missing))
    return found


def other_pythons() -> dict[str, str]:
    """Each other version that pyproject.toml names or this machine has -> a Python that starts."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {int(each) for each in re.findall(r"Python :: 3\.(\d+)", str(project["classifiers"]))}
    found: dict[str, str] = {}
    for minor in range(min(named), max(named) + 4):
        paths = [shutil.which(f"python3.{minor}")]
        paths += map(
            str, (Path.home() / ".pyenv" / "versions").glob(f"3.{minor}.*/bin/python3.{minor}")
        )
        path = next(filter(_starts, filter(None, paths)), "")
        if minor != sys.version_info.minor and (path or minor in named):
            found[f"3.{minor}"] = path
    return found


def _starts(python: str) -> bool:
    """pyenv has a command for each version that it knows, also where it does not start."""
    return subprocess.run([python, "-c", ""], capture_output=True, check=False).returncode == 0


def todo(all_suites: Sequence[Suite], only: Sequence[str], done: Mapping[str, Row]) -> list[Suite]:
    """The suites that are named and have not passed. Raises `ValueError` for an unknown name."""
    names = {each.name for each in all_suites} | {"test-python"}
    if unknown := sorted(set(only) - names):
        raise ValueError(f"no suite {', '.join(unknown)}; there are {', '.join(sorted(names))}")
    return [
        each
        for each in all_suites
        if (not only or each.name in only or ("test-python" in only and each.python))
        and not (each.name in done and done[each.name].result == "passed")
    ]


# --- what a suite printed -------------------------------------------------------------------------

_COUNT = r"\d+ (?:passed|failed|skipped|deselected|xfailed|xpassed|errors?|warnings?)"
_CLOSING = re.compile(rf"^(?:=+ )?({_COUNT}(?:, {_COUNT})*) in [\d.]+s\b", re.MULTILINE)
_SKIPPED = re.compile(r"^SKIPPED \[\d+\] [^\s:]+(?::\d+)?: (.*)$", re.MULTILINE)
_OTHERS: tuple[tuple[str, str], ...] = (
    (r"^\| all \| (\d+) \| (\d+) \|", "{0} runs against the hostile server, {1} as they should be"),
    (
        r"^\| all \| (\d+) \| \d+\.\d+ \| (\d+) \| (\d+) \|",
        "{0} random inputs, {1} read and {2} refused with a WireError",
    ),
    (
        r"(?:^\d+ calls, \d+ as they should.*\n)*^(\d+) calls, (\d+) as they should.*",
        "{0} calls, {1} as they should be",
    ),
    (r"^(memory x [\d.]+) since the first tenth, (.*)$", "{0}, {1}"),
    (r"^house: .*?(\d+ files), .*?(\d+ code lines)$", "{0}, {1}"),
    (r"^Success: (no issues found in \d+ source files)$", "mypy: {0}"),
    (r"^(0 errors, \d+ warnings?, .*)$", "pyright: {0}"),
    (r"^(\w+ [\d.]+): \d+ lists compared$", "{0}"),
    (r"^(\d+ clients: \d+ of \d+ cases kept)$", "{0}"),
)
"""What is printed by suites that are not, or not only, a run of pytest -> the figure."""


def printed(output: str) -> str:
    """The figures of a suite's output."""
    found = [
        form.format(*match.groups())
        for pattern, form in _OTHERS
        for match in re.finditer(pattern, output, re.MULTILINE)
    ]
    for word, name in (("ok: ", "checks"), ("met ", "goals met"), ("missed ", "missed")):
        if count := sum(line.startswith(word) for line in output.splitlines()):
            found.append(f"{count} {name}")
    closings = [re.sub(r", \d+ deselected", "", each) for each in _CLOSING.findall(output)]
    return "; ".join([*found, *closings])


def outcome(status: int, output: str) -> tuple[str, str]:
    """Result and figures of a suite; the reasons of skipped tests, where the runner names them."""
    counts, reasons = printed(output), "; ".join(dict.fromkeys(_SKIPPED.findall(output)))
    if status:
        return "failed", counts
    if "skipped" in counts and "passed" not in counts:
        return f"skipped: {reasons}", counts
    return "passed", f"{counts} ({reasons})" if reasons else counts


# --- the page -------------------------------------------------------------------------------------

_ABOUT = """\
# What was verified

`make verify` runs each suite below on one commit and writes this page. A suite that is not run says
so. Counts of README are those of this page, or of the code.

Commit {commit}, {date}, Python {python} on {cores} cores: {passed} of {count} suites passed.

{table}
"""
_COLUMNS = ("suite", "command", "result", "figures", "seconds", "commit", "date")


def page(rows: Iterable[Row], commit: str, date: str, python: str, cores: int) -> str:
    """The page with one row for each suite."""
    cells = [tuple(str(each) for each in dataclasses.astuple(row)) for row in rows]
    lines = ["| " + " | ".join(_COLUMNS) + " |", "|---" * len(_COLUMNS) + "|"]
    lines += ["| " + " | ".join(each.replace("|", "\\|") for each in line) + " |" for line in cells]
    return _ABOUT.format(
        commit=commit,
        date=date,
        python=python,
        cores=cores,
        passed=sum(line[2] == "passed" for line in cells),
        count=len(cells),
        table="\n".join(lines),
    )


def rows_of(text: str) -> dict[str, Row]:
    """The rows of a page, by suite."""
    table = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return {
        suite: Row(suite, command, result, figures, int(seconds), commit, date)
        for suite, command, result, figures, seconds, commit, date in table[1:]
    }


def shown(row: Row | None, suite: Suite) -> Row:
    """The row of a suite, also if it was not run."""
    result = f"skipped: {suite.missing}" if suite.missing else "not run"
    return row or Row(suite.name, suite.command, result)


# --- running --------------------------------------------------------------------------------------


def kept(rows: Mapping[str, Row], is_same: Callable[[str], bool]) -> tuple[str, dict[str, Row]]:
    """The commit that an earlier run verified, and its rows; empty if it was another tree."""
    commits = {each.commit for each in rows.values() if each.commit}
    same = next(filter(is_same, sorted(commits)), "")
    return same, {suite: row for suite, row in rows.items() if same and row.commit == same}


def dirty(status: str, is_readme_derived: bool) -> list[str]:
    """Files of `git status --porcelain -z` that are not as in the commit, without written pages."""
    paths = [each[3:] for each in status.split("\0") if each]
    return [
        each
        for each in paths
        if not PAGES_OF_SUITES.fullmatch(each) and not (each == "README.md" and is_readme_derived)
    ]


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, capture_output=True, encoding="utf-8"
    )
    return done.stdout


def figured(text: str) -> str:
    """README with the figures as they are; those of `make test` by its row on the page."""
    row = rows_of(PAGE.read_text("utf-8")).get("test") if PAGE.exists() else None
    wanted = figures.derived()
    if row is not None and row.result == "passed":
        wanted |= figures.tested(row.date, row.figures)
    return figures.written(text, wanted)


def _is_same(commit: str) -> bool:
    """Whether HEAD differs from a commit in nothing but what suites have written."""
    try:
        names = _git("diff", "--name-only", "-z", commit, "HEAD").split("\0")
        before, now = _git("show", f"{commit}:README.md"), _git("show", "HEAD:README.md")
    except subprocess.CalledProcessError:  # the commit is not in this clone
        return False
    # Both as they would be now: a suite of this run may have changed what figures derive from.
    is_readme_derived = figured(before) == figured(now)
    return not dirty("\0".join(f"   {each}" for each in names if each), is_readme_derived)


def _unexpected() -> list[str]:
    readme = figured(_git("show", "HEAD:README.md"))
    return dirty(_git("status", "--porcelain", "-z"), readme == README.read_text("utf-8"))


def run(suite: Suite, commit: str) -> Row:
    """Run one suite in a group of processes of its own, and show what it prints."""
    words = ["make", suite.target, *([f"PYTHON={suite.python}"] if suite.python else [])]
    # Variables on the command line of this make, such as ONLY, are not for the suite's make.
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))
    }
    began, lines = time.monotonic(), [f"== {suite.command}\n"]
    print(lines[0], end="", flush=True)
    with subprocess.Popen(
        words,
        cwd=ROOT,
        env=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    ) as process:
        end = threading.Timer(LONGEST, os.killpg, (process.pid, signal.SIGKILL))
        end.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                lines.append(line)
            status = process.wait()
        finally:
            end.cancel()
            if process.poll() is None:  # an interrupt reaches this process alone
                os.killpg(process.pid, signal.SIGKILL)
    result, counts = outcome(status, "".join(lines))
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    seconds = round(time.monotonic() - began)
    return Row(suite.name, suite.command, result, counts, seconds, commit, today)


def _write(all_suites: Sequence[Suite], rows: Mapping[str, Row], commit: str) -> None:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    listed = [shown(rows.get(each.name), each) for each in all_suites]
    python = ".".join(map(str, sys.version_info[:3]))
    PAGE.write_text(page(listed, commit, today, python, os.cpu_count() or 1), "utf-8")
    README.write_text(figured(README.read_text("utf-8")), "utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if a suite failed, 2 if none could be run."""
    options = argparse.ArgumentParser(prog="python -m tests.verify", description=__doc__)
    options.add_argument("--only", default="", help="suites, with commas between them")
    options.add_argument("--page", action="store_true", help="only write the figures of README")
    given = options.parse_args(arguments)
    if given.page:
        README.write_text(figured(README.read_text("utf-8")), "utf-8")
        return 0
    only = [each for each in given.only.split(",") if each]
    head = _git("rev-parse", "HEAD")
    known = rows_of(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    verified, rows = kept(known, _is_same)
    commit = verified or head[:12]
    all_suites = suites(other_pythons())
    try:
        chosen = todo(all_suites, only, rows)
    except ValueError as error:
        options.error(str(error))
    for suite in chosen:
        if unexpected := _unexpected():
            print(f"not the tree of commit {commit}: {', '.join(unexpected)}", file=sys.stderr)
            return 2
        if suite.missing:
            continue
        row = run(suite, commit)
        # `make faults` and `make bench` change what figures of README are derived from.
        README.write_text(figured(README.read_text("utf-8")), "utf-8")
        if _git("rev-parse", "HEAD") != head or _unexpected():
            print(f"the tree has changed during {suite.command}", file=sys.stderr)
            return 2
        rows[suite.name] = row
        _write(all_suites, rows, commit)
    results = [shown(rows.get(each.name), each) for each in all_suites]
    for row in results:
        print(f"{row.suite:18} {row.result}  {row.figures}".rstrip())
    return any(rows[each.name].result == "failed" for each in chosen if each.name in rows)


if __name__ == "__main__":
    sys.exit(main())
