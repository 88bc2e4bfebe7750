"""The pages made of the structs, and that an installed package has those it needs."""

from __future__ import annotations

import json

from tests.pages import ROOT, TYPES, pages, structs
from wire.gemini.rules.fields import known_to
from wire.gemini.types import GenerationConfig


def test_pages_are_those_of_the_structs() -> None:
    """`python -m tests.pages` writes them; read the diff, it is a change of the wire."""
    made = pages()
    assert {path: (ROOT / path).read_text("utf-8") for path in made} == made


def test_each_message_stands_in_the_schema_of_its_wire() -> None:
    for wire in TYPES:
        page = json.loads((ROOT / "schemas" / f"{wire}.json").read_text("utf-8"))
        assert set(page["$defs"]) >= {struct.__name__ for struct in structs(wire)}


def test_no_other_page_lies_beside_them() -> None:
    folder = ROOT / "schemas"
    found = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found - set(pages()) == {
        "schemas/session.schema.json",
        "schemas/tools/get_weather/parameters.json",
        "schemas/tools/get_weather/response.json",
    }


def test_the_table_of_hosts_says_what_the_rules_enforce() -> None:
    rows = (ROOT / "docs" / "fields.md").read_text("utf-8").splitlines()
    assert "| `GenerationConfig.audioTimestamp` | vertex | SDK only |  |" in rows
    assert "audioTimestamp" in known_to("vertex", GenerationConfig)
    assert "audioTimestamp" not in known_to("gemini", GenerationConfig)
