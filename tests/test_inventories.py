"""The lists of fields in `tests/fixtures/inventories`, and the facts beside the fields."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path
from typing import Any

import pytest

from tests.inventories import FULL, inventory, reduced

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("wire", FULL)
def test_the_lists_are_those_of_the_references(wire: str) -> None:
    """`python -m tests.inventories` writes them; a diff is a change of a reference."""
    if not FULL[wire].exists():
        pytest.skip("the full lists of the references are not beside this checkout")
    assert reduced(wire) == inventory(wire)


def _documented() -> list[tuple[str, str]]:
    """Each docstring of a field, and where it stands."""
    found = []
    for path in sorted(ROOT.glob("wire/**/types/*.py")):
        for struct in ast.parse(path.read_text("utf-8")).body:
            body: list[Any] = struct.body if isinstance(struct, ast.ClassDef) else []
            for field, text in itertools.pairwise(body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    place = f"{path.parts[-3]}.{struct.name}.{ast.unparse(field.target)}"
                    found.append((place, ast.literal_eval(text.value)))
    return found


FACT = re.compile(
    r"(?i)\b(not on vertex|vertex only|only on vertex|gemini api only|since 20\d\d-\d\d-\d\d"
    r"|google-genai \d|seen on the wire|no inventory)"
)


def test_docstrings_do_not_repeat_the_facts() -> None:
    """Hosts, sources and dates of a field stand in its `Facts` alone: two places drift apart."""
    documented = _documented()
    assert len(documented) > 500
    assert [place for place, text in documented if FACT.search(text)] == []
