"""`python -m bench`: measure, print each ratio beside its goal, write `docs/performance.md`.

`make bench` runs everything, which takes less than half an hour. `--only` and `--impl` choose
suites and clients by name or pattern (`make bench ONLY=burst,1kb IMPL='raw,wire*'`) and write
nothing; with `--write` the suites that ran replace those of the last run. `--rest` runs and writes
the suites that have no figures of this commit, so that an interrupted run goes on. `--page` runs
nothing, and writes the page anew.

A client that fails is left out of its suite, and the others are measured and kept.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from bench.figures import Measured, median, quantity, ratio
from bench.implementations import (
    IMPLEMENTATIONS,
    LIMIT,
    REQUIREMENTS,
    ROOT,
    NotInstalled,
    chosen,
    python_of,
)
from bench.measuring import Figures, Report
from bench.page import last_measured, verdicts, write
from bench.suites import SUITES, TITLES

_VERSION = "import sys; from importlib.metadata import version; print(version(sys.argv[1]))"
_DISTRIBUTIONS = {"wire": ("wire-llm", "httpx", "msgspec", "anyio", "httptools", "httpx-sse")}


def main() -> int:
    """Return 1 if a client failed, or did other work than the others."""
    options = argparse.ArgumentParser(
        prog="python -m bench",
        description="Measures what `wire` and other clients cost.",
        epilog=_names(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--only", type=_split, default=[], help="suites, with commas between them")
    options.add_argument(
        "--impl", type=_split, default=[], help="clients, with commas between them"
    )
    options.add_argument("--rounds", type=int, help="at most so many rounds")
    options.add_argument("--write", action="store_true", help="keep the figures of some suites")
    options.add_argument("--rest", action="store_true", help="what this commit has no figures of")
    options.add_argument("--page", action="store_true", help="only write the page anew")
    given = options.parse_args()
    if given.page:
        write(last_measured())
        return 0
    if (given.write or given.rest) and given.impl:
        options.error("--write and --rest keep whole suites: leave out --impl")
    names = chosen(list(SUITES), given.only)
    if given.rest:
        names = rest(names, last_measured(), commit())
    clients = chosen(list(IMPLEMENTATIONS), given.impl)
    bases = {SUITES[name].base for name in names} | {LIMIT}
    clients = [each for each in IMPLEMENTATIONS if each in clients or each in bases]
    report = Report()
    clients = [each for each in clients if _is_installed(each, report)]
    keep = given.write or given.rest or not (given.only or given.impl or given.rounds)
    found: dict[str, Any] = {}
    for name in names:
        began = time.monotonic()
        try:
            figures = _rounded(SUITES[name].run(clients, given.rounds, report))
        except Exception as error:  # of one suite, such as a server that does not start
            report.fail(f"{name}: {type(error).__name__}: {error}")
            continue
        print(f"\n{SUITES[name].about} ({name}, {time.monotonic() - began:.0f} s)\n")
        print(shown(name, figures))
        found[name] = {"date": _today(), "commit": commit(), "figures": figures}
        # Kept at once, so that an interrupt costs one suite.
        if keep:
            write(_merged(last_measured(), {name: found[name]}, report.refused))
    print("\n" + goals({"suites": found}))
    if report.failed:
        print("\n".join(["", "Without these figures, since a client failed:", *report.failed]))
    return 1 if report.failed else 0


def _merged(earlier: Measured, suites: dict[str, Any], refused: dict[str, str]) -> Measured:
    """The figures of the last runs with those of other suites, and of these now."""
    kept = {**earlier["suites"], **suites}
    reasons = {**earlier["refused"], **refused}
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": versions(),
        "refused": {name: why for name, why in reasons.items() if name not in _clients(kept)},
        "suites": {name: kept[name] for name in SUITES if name in kept},
    }


def _split(value: str) -> list[str]:
    return [each for each in value.split(",") if each]


def _names() -> str:
    suites = [f"  {name:14} {suite.about}" for name, suite in SUITES.items()]
    clients = [f"  {name:28} {each.about}" for name, each in IMPLEMENTATIONS.items()]
    return "\n".join(["suites:", *suites, "", "clients:", *clients])


def _is_installed(client: str, report: Report) -> bool:
    try:
        python_of(IMPLEMENTATIONS[client].environment)
    except NotInstalled as error:
        report.refuse(client, str(error))
    return client not in report.refused


def rest(names: Sequence[str], measured: Measured, now: str) -> list[str]:
    """The suites without figures of a commit."""
    suites = measured["suites"]
    return [name for name in names if suites.get(name, {}).get("commit") != now]


@functools.cache
def commit() -> str:
    """What is measured, with a plus sign if it differs from the commit."""
    changed = ["status", "--porcelain", "--", "wire", "bench", ":!bench/measured.json"]
    head, status = (
        subprocess.run(["git", *each], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for each in (["rev-parse", "--short=8", "HEAD"], changed)
    )
    return head.strip() + ("+" if status else "")


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def _rounded(figures: Figures) -> Any:
    """With four digits, and without clients that took no part."""
    return {
        case: {
            measure: {
                client: [each if each is None else float(f"{each:.4g}") for each in values]
                for client, values in clients.items()
                if median(values) is not None
            }
            for measure, clients in measures.items()
        }
        for case, measures in figures.items()
    }


def shown(name: str, figures: Figures) -> str:
    """The figures of one suite for a terminal: median, the ratio and its range over the rounds."""
    base = SUITES[name].base
    if not base:
        return "\n".join(_shares(figures))
    lines = []
    for case, measures in figures.items():
        for measure, clients in measures.items():
            lines.append(f"  {TITLES.get(case, case)} {measure}".rstrip())
            for client, values in clients.items():
                pairs = zip(values, clients.get(base, []), strict=False)
                ratios = [one / of for one, of in pairs if one is not None and of]
                spread = f"({min(ratios):.2f} to {max(ratios):.2f})" if ratios else ""
                of = ratio(values, clients.get(base, []))
                times = f"x {of:7.2f}" if of is not None else ""
                value = quantity(measure, median(values))
                lines.append(f"    {client:28} {value:>9} {times} {spread}".rstrip())
    return "\n".join(lines)


def _shares(figures: Figures) -> Iterator[str]:
    for case, groups in figures.items():
        yield f"  {case}"
        for client in dict.fromkeys(client for each in groups.values() for client in each):
            each = (f"{group} {median(values[client]):.0%}" for group, values in groups.items())
            yield f"    {client:28} {', '.join(each)}"


def goals(measured: Measured) -> str:
    """Each goal of the suites that ran."""
    rows = [
        (each.word, each.goal.suite, each.goal.measure, each.goal.client, each.goal.text, each.text)
        for each in verdicts(measured)
        if each.goal.suite in measured["suites"] and each.found
    ]
    widths = [max(map(len, column), default=0) for column in zip(*rows, strict=True)]
    return "\n".join(_padded(row, widths) for row in rows)


def _padded(row: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _clients(suites: dict[str, Any]) -> set[str]:
    """All that have a figure."""
    cases = (case for suite in suites.values() for case in suite["figures"].values())
    return {client for case in cases for clients in case.values() for client in clients}


@functools.cache
def versions() -> dict[str, str]:
    """Distribution to its version, of the environments."""
    found = {}
    for environment in REQUIREMENTS:
        try:
            python = python_of(environment)
        except NotInstalled:  # what is not measured has no version
            continue
        for name in _DISTRIBUTIONS.get(environment, (environment,)):
            distribution = "pydantic-ai-slim" if name == "pydantic-ai" else name
            command = [python, "-c", _VERSION, distribution]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                found[name] = done.stdout.strip()
    return found


if __name__ == "__main__":
    sys.exit(main())
