"""HOUSE.md shows the tree and the rooms as they are, CONTRIBUTING.md names files that exist, and
tests lie where their rooms do.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ACROSS = {"clis", "conformance", "faults", "fuzz", "live", "otlp", "peers", "real", "sdks"}
"""Folders of tests of the whole library: against recordings, faults, random inputs and other
programs."""
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
HOUSE = (ROOT / "HOUSE.md").read_text("utf-8")


def block(heading: str) -> list[str]:
    """Lines of the first code block below a heading of HOUSE.md."""
    below = HOUSE.partition(f"\n## {heading}\n")[2]
    return below.partition("```\n")[2].partition("\n```")[0].split("\n")


def test_the_tree_has_one_line_for_each_file():
    listed: list[str] = []
    folders: list[str] = []
    for line in block("Files"):
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        folders[depth:] = [name]
        if name.endswith(".py") or name == "types/":
            listed.append("".join(folders))
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "wire").rglob("*.py")
        if path.name != "__init__.py" and path.parent.name != "types"
    }
    types = {
        path.parent.relative_to(ROOT).as_posix() + "/"
        for path in (ROOT / "wire").rglob("types/__init__.py")
    }
    assert sorted(listed) == sorted(files | types)


def test_the_rooms_are_those_of_the_walls():
    floors = tomllib.loads((ROOT / "house.toml").read_text("utf-8"))["floors"]["wire"]
    shown = [line.removeprefix("__init__ | ") for line in reversed(floors)]
    assert block("Rooms") == shown


def test_each_file_of_a_recipe_exists():
    recipes = PAGE.partition("## How to add")[2].partition("\n## ")[0]
    named = {
        name
        for name in re.findall(r"`([\w/.]+\.(?:py|toml))`", recipes)
        if "/" in name and "WIRE" not in name
    }
    missing = [
        name
        for name in sorted(named)
        if not (ROOT / name).exists() and not (ROOT / "wire" / name).exists()
    ]
    assert missing == []


def test_the_tests_of_a_room_lie_in_its_folder():
    folders = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/**/test_*.py")}
    strays = {each.as_posix() for each in folders if not (ROOT / "wire" / each).is_dir()}
    assert strays == ACROSS
