"""The figures of README that are derived: counts of the code, and what suites printed.

`python -m tests.verify --page` writes them, a test compares them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.families import FAULTS
from tests.faults.page import last_measured
from wire.providers import PROVIDERS

ROOT = Path(__file__).parent.parent
RULE = re.compile(r"^\| [GOPQAH]\d+b? \|", re.MULTILINE)
"""A row of docs/rules.md that is a rule or a quirk; the rows of C describe record and replay."""
TOTAL = re.compile(r"^Measured on ([\d-]+) .*\| all \| (\d+) \| (\d+) \|", re.DOTALL | re.MULTILINE)


def rules() -> int:
    """How many rules and quirks docs/rules.md has."""
    return len(RULE.findall((ROOT / "docs" / "rules.md").read_text("utf-8")))


def faults() -> int:
    """How many faults the hostile server has."""
    return sum(each.family != "none" for each in FAULTS.values())


def fault_runs() -> tuple[str, int, int]:
    """Date of the last `make faults`, its runs, and how many of them were as they should be."""
    found = TOTAL.search(last_measured())
    assert found is not None
    return found[1], int(found[2]), int(found[3])


def sizes() -> str:
    """What `make bench` measured on disk: this library, then the SDKs of the three vendors."""
    measured: dict[str, Any] = json.loads((ROOT / "bench" / "measured.json").read_text("utf-8"))
    size = measured["suites"]["size"]
    disk = {name: values[0] / 1e6 for name, values in size["figures"][""]["disk"].items()}
    sdks = ", ".join(
        f"{name} {measured['versions'][name]} {disk[name]:.0f} MB"
        for name in ("google-genai", "openai", "anthropic")
    )
    return f"{disk['wire']:.1f} MB installed; {sdks} ({size['date']})"


def derived() -> dict[str, str]:
    """Pattern of a figure in README -> the figure as it is."""
    date, runs, _ = fault_runs()
    return {
        r"\d+(?= rules and quirks)": str(rules()),
        r"\d+(?= \[providers, regions and endpoints\])": str(len(PROVIDERS)),
        r"\d+ faults, [\d,]+(?= runs)": f"{faults()} faults, {runs:,}",
        r"(?<=\[promised\]\(docs/reliability\.md\) \()[\d-]+": date,
        r"[\d.]+ MB installed; .*(?= \|$)": sizes(),
    }


def tested(date: str, figures: str) -> dict[str, str]:
    """As `derived`, of a run of `make test`."""
    return {
        r"(?<=printed on )[\d-]+(?=:$)": date,
        r"\d+ passed.*(?= in \[\.\.\.\]$)": figures,
    }


def written(text: str, figures: Mapping[str, str]) -> str:
    """README with these figures. Raises `ValueError` if it does not have each of them once."""
    for pattern, figure in figures.items():
        text, count = re.subn(pattern, figure, text, flags=re.MULTILINE)
        if count != 1:
            raise ValueError(f"README has {count} figures for {pattern}")
    return text
