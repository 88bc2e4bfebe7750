"""The pages made of the structs, and that an installed package has those it needs."""

from __future__ import annotations

import importlib.resources
import json
import tomllib
from pathlib import Path

import pytest

from tests.pages import ROOT, TYPES, pages, structs
from wire.gemini.rules.fields import known_to
from wire.gemini.types import GenerationConfig


def test_pages_are_those_of_the_structs() -> None:
    """`python -m tests.pages` writes them; read the diff, it is a change of the wire."""
    made = pages()
    assert {path: (ROOT / path).read_text("utf-8") for path in made} == made


def test_each_message_stands_in_the_schema_of_its_wire() -> None:
    for wire in TYPES:
        page = json.loads((ROOT / "wire" / "schemas" / f"{wire}.json").read_text("utf-8"))
        assert set(page["$defs"]) >= {struct.__name__ for struct in structs(wire)}


def test_no_other_page_lies_beside_them() -> None:
    folder = ROOT / "wire" / "schemas"
    found = {path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert found - set(pages()) == {
        "wire/schemas/session.schema.json",
        "wire/schemas/tools/get_weather/parameters.json",
        "wire/schemas/tools/get_weather/response.json",
    }


def test_the_table_of_hosts_says_what_the_rules_enforce() -> None:
    rows = (ROOT / "docs" / "fields.md").read_text("utf-8").splitlines()
    assert "| `GenerationConfig.audioTimestamp` | vertex | SDK only |  |" in rows
    assert "audioTimestamp" in known_to("vertex", GenerationConfig)
    assert "audioTimestamp" not in known_to("gemini", GenerationConfig)


@pytest.mark.row("S3-32")
def test_an_installed_package_has_the_schemas() -> None:
    """The wheel is the folder `wire` as it is, but for what git ignores."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    assert wheel["targets"]["wheel"]["packages"] == ["wire"]
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    assert not any("json" in line or "schemas" in line for line in ignored)
    schemas = importlib.resources.files("wire") / "schemas"
    for name in ("gemini.json", "session.schema.json", "tools/get_weather/parameters.json"):
        assert json.loads((schemas / name).read_text("utf-8"))["$schema"].startswith("https://")
    example = (ROOT / "examples" / "weather.py").read_text("utf-8")
    assert 'files("wire") / "schemas" / "tools" / "get_weather"' in example
    assert not (Path(ROOT) / "schemas").exists()
