"""`docs/performance.md` and its pictures, made of `bench/measured.json`. Only `write` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.bars import Bar, svg
from bench.figures import Measured, median, number, quantity, ratio
from bench.goals import GOALS, Goal, Verdict, verdict
from bench.implementations import IMPLEMENTATIONS, ROOT
from bench.parts import client_of
from bench.reasons import REASONS
from bench.suites import SUITES, TITLES

PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "_static"
DATA = ROOT / "bench" / "measured.json"

DRAWN = ("burst", "paced", "1kb", "history", "streams-1000")
"""Suites with a picture."""

_SECTION = re.compile(r"(<!-- measured: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
_WORDS = {
    "cpu": "CPU {of}",
    "wall": "time until all have ended",
    "lag_p50": "lag, median",
    "lag_p99": "lag, 99th percentile",
    "memory": "memory {above}",
    "errors": "streams that failed",
    "rate": "rows a second",
    "modules": "modules",
    "disk": "on disk",
    "distributions": "distributions",
}


def verdicts(measured: Measured) -> list[Verdict]:
    """All goals, in the order of the page."""
    return [verdict(goal, measured, SUITES[goal.suite].ideal) for goal in GOALS]


def written(page: str, measured: Measured) -> str:
    """The page with its generated sections made anew. Everything else stays as it is.

    A section begins with `<!-- measured: NAME -->` and ends with `<!-- end -->`. NAME is `run`,
    `goals`, `missed` or `figures`.
    """
    sections = {"run": _run, "goals": _goals, "missed": _missed, "figures": _figures}

    def section(found: re.Match[str]) -> str:
        return f"{found[1]}\n{sections[found[2]](measured)}\n\n{found[4]}"

    return _SECTION.sub(section, page)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown."""
    titles = list(head)
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(line)} |".replace("|  |", "| |") for line in lines)


def _run(measured: Measured) -> str:
    parts = _parts(measured)
    when = f"on {' and '.join(parts) or 'no day yet'}"
    when = f"in parts, {when}, as each suite says," if len(parts) > 1 else when
    refused = measured["refused"]
    libraries = ", ".join(f"{name} {version}" for name, version in measured["versions"].items())
    lines = [
        f"Measured {when} with Python {measured['python']} on {measured['cores']} cores, with "
        f"{libraries}.",
        *(
            f"Without {_names(name for name, other in refused.items() if other == why)}: {why}."
            for why in dict.fromkeys(refused.values())
        ),
    ]
    return "\n".join(lines)


def _parts(measured: Measured) -> list[str]:
    """The runs that the suites are of, the oldest first."""
    return sorted({_when(suite) for suite in measured["suites"].values()})


def _when(suite: dict[str, Any]) -> str:
    """The day of a suite, and the commit that it measured."""
    return f"{suite['date']} at {suite['commit']}" if "commit" in suite else str(suite["date"])


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _goals(measured: Measured) -> str:
    rows = [
        (
            _what(each.goal),
            f"`{each.goal.client}`",
            each.goal.text,
            each.text,
            each.word if each.word != "missed" else "**missed**",
        )
        for each in verdicts(measured)
    ]
    return table(("", "client", "goal", "measured", ""), rows)


def _what(goal: Goal) -> str:
    """The suite, its cases if they are not all, and what is measured if it is not CPU."""
    title = ", ".join([SUITES[goal.suite].title, *goal.cases])
    return title if goal.measure == "cpu" else f"{title}: {_word(goal.suite, goal.measure)}"


def _word(suite: str, measure: str) -> str:
    above = "a stream" if SUITES[suite].ideal else "above the start"
    return _WORDS[measure].format(of=SUITES[suite].of, above=above).strip()


def missed_suites(measured: Measured) -> list[str]:
    """Suites with a goal that is missed."""
    missed = [each.goal.suite for each in verdicts(measured) if each.word == "missed"]
    return list(dict.fromkeys(missed))


def _missed(measured: Measured) -> str:
    lines = [
        f"- **{SUITES[name].title}.** {REASONS.get(name, 'No profile yet.')}"
        for name in missed_suites(measured)
    ]
    return "\n".join(lines) or "Nothing."


def _figures(measured: Measured) -> str:
    blocks = []
    is_mixed = len(_parts(measured)) > 1
    for name, suite in SUITES.items():
        if name in measured["suites"]:
            figures = measured["suites"][name]["figures"]
            picture = f"![{suite.title}: {_caption(name)}](_static/speed-{name}.svg)"
            drawn = [picture] if name in DRAWN else []
            when = f" Measured on {_when(measured['suites'][name])}." if is_mixed else ""
            about = f"{suite.about}.{when}"
            parts = [f"### {suite.title}", about, *drawn, *_tables(name, figures)]
            blocks.append("\n\n".join(parts))
    return "\n\n".join(blocks)


def _caption(name: str) -> str:
    return f"CPU {SUITES[name].of} as a ratio to {SUITES[name].base}, logarithmic"


def _tables(name: str, figures: dict[str, Any]) -> list[str]:
    """A table for CPU with a column for each case; what else was measured in one of its own."""
    base = SUITES[name].base
    if not base:
        return [_shares(case, groups) for case, groups in figures.items()]
    cases = list(figures)
    measures = list(dict.fromkeys(each for case in figures.values() for each in case))
    clients = _clients(figures)
    if base in IMPLEMENTATIONS:
        order = list(IMPLEMENTATIONS)
        clients.sort(key=lambda client: order.index(client_of(client)))
    found = []
    if len(measures) <= 2:
        for measure in measures:
            head = [_word(name, measure), *(TITLES.get(case, case) for case in cases)]
            rows = [
                [f"`{client}`", *(_cell(figures[case], measure, client, base) for case in cases)]
                for client in clients
            ]
            found.append(table(head, rows))
        return found
    head = ["", *(_word(name, measure) for measure in measures)]
    rows = [
        [f"`{client}`", *(_cell(figures[case], measure, client, base) for measure in measures)]
        for case in cases
        for client in clients
        if client in figures[case]["cpu"] and (case == cases[0] or client != base)
    ]
    return [table(head, rows)]


def _shares(case: str, groups: dict[str, Any]) -> str:
    """A row for each client, with the share of each group."""
    rows = [
        [f"`{client}`", *(f"{median(values[client]) or 0:.0%}" for values in groups.values())]
        for client in dict.fromkeys(client for each in groups.values() for client in each)
    ]
    return table([SUITES[case].title, *groups], rows)


def _clients(figures: dict[str, Any]) -> list[str]:
    """Those with a figure, as they were measured."""
    found = [
        client
        for case in figures.values()
        for each in case.values()
        for client, values in each.items()
        if median(values) is not None
    ]
    return list(dict.fromkeys(found))


def _cell(case: dict[str, Any], measure: str, client: str, base: str) -> str:
    """A ratio, and the value that this machine took."""
    values = case.get(measure, {}).get(client, [])
    value = quantity(measure, median(values))
    of = ratio(values, case.get(measure, {}).get(base, []))
    if of is None or measure not in ("cpu", "memory"):
        return value
    return f"{number(of)} ({value})"


def pictures(measured: Measured) -> dict[str, str]:
    """Name of a file to its SVG."""
    found = {}
    for name in DRAWN:
        if name in measured["suites"]:
            figures = measured["suites"][name]["figures"]
            groups = {TITLES.get(case, case): _bars(name, figures[case]["cpu"]) for case in figures}
            found[f"speed-{name}.svg"] = svg(f"{SUITES[name].title}: {_caption(name)}", groups)
    return found


def _bars(name: str, clients: dict[str, Any]) -> list[Bar]:
    base = clients.get(SUITES[name].base, [])
    goals = {
        goal.client: goal.limit
        for goal in GOALS
        if (goal.suite, goal.measure, goal.base) == (name, "cpu", SUITES[name].base)
    }
    ratios = {
        client: ratio(clients[client], base)
        for client in IMPLEMENTATIONS
        if client in clients and client != SUITES[name].base
    }
    return [
        Bar(client, value, goals.get(client))
        for client, value in ratios.items()
        if value is not None and not IMPLEMENTATIONS[client].on_threads
    ]


def last_measured() -> Measured:
    """The figures of the last runs."""
    measured: Measured = json.loads(DATA.read_text("utf-8"))
    return measured


def write(measured: Measured, folder: Path = PICTURES) -> None:
    """Write the figures, the page and the pictures."""
    DATA.write_text(json.dumps(measured, indent=1) + "\n", "utf-8")
    PAGE.write_text(written(PAGE.read_text("utf-8"), measured), "utf-8")
    for name, picture in pictures(measured).items():
        (folder / name).write_text(picture, "utf-8")
