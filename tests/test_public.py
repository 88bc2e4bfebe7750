"""What is promised: docs/public.md names each public module and what it offers; docs/api describes
it.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import wire
from tests import faces
from tests.faces import PACKAGES, ROOT, SECTIONS, module_of, names_of
from tests.joined import joined


def loaded(name: str) -> Any:
    """A listed module; `wire.retry` and `wire.openai.types` are names of a package."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        package, _, last = name.rpartition(".")
        return getattr(importlib.import_module(package), last)


@joined("name", SECTIONS)
def test_the_page_names_what_the_module_offers(name: str):
    module = loaded(name)
    listed = names_of(SECTIONS[name])
    assert listed == sorted(module.__all__, key=str.lower)
    assert all(getattr(module, each) is not None for each in listed)


def test_every_package_with_public_names_is_on_the_page():
    public = {home: f"wire.{name}" for name, home in wire._PUBLIC_MODULES.items()}
    public["wire.openai.chat.types"] = "wire.openai.types"
    assert {public.get(each, each) for each in map(module_of, PACKAGES)} <= set(SECTIONS)


def test_a_public_name_of_a_module_is_that_module():
    for name, home in wire._PUBLIC_MODULES.items():
        public, own = importlib.import_module(f"wire.{name}"), importlib.import_module(home)
        assert public is own
        assert own.__spec__.name == home
    assert importlib.import_module("wire.otel.names") is importlib.import_module(
        "wire.around.otel.names"
    )


@joined("path", PACKAGES)
def test_no_module_of_a_package_hides_a_public_name(path: Path):
    """The import of a module makes it an attribute of its package, in place of a function that is
    loaded on first use.
    """
    package = importlib.import_module(module_of(path))
    modules = {each.name for each in pkgutil.iter_modules(package.__path__)}
    shared = modules.intersection(package.__all__)
    assert [each for each in shared if not isinstance(getattr(package, each), ModuleType)] == []


def test_type_checkers_see_the_names_that_are_loaded():
    """`python -m tests.faces` writes the stubs."""
    written = faces.stubs()
    assert {path: path.read_text("utf-8") for path in written} == written
    assert set((ROOT / "wire").rglob("*.pyi")) <= set(written)


def test_a_name_that_is_missing_is_told_with_the_module_that_has_it() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'RateLimitError'; wire.errors has it$"):
        getattr(wire, "RateLimitError")  # noqa: B009
    with pytest.raises(AttributeError, match=r"no attribute 'Any'$"):
        getattr(wire, "Any")  # noqa: B009


@pytest.mark.parametrize("name", ["wire.anthropic.batches", "wire.openai.responses.conversations"])
def test_a_module_of_the_types_is_not_taken_for_one_of_the_package(name: str) -> None:
    """`from PACKAGE import MODULE` imports the module only if the package has no such name."""
    package, _, module = name.rpartition(".")
    importlib.import_module(f"{package}.types.{module}")
    with pytest.raises(AttributeError):
        importlib.import_module(package).__getattr__(module)


DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+):: ([\w.]+)$", re.MULTILINE)
API = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "docs/api").glob("*.md"))}


def described(page: str) -> list[tuple[str, Any]]:
    """What autodoc describes on a page: the full names and their values."""
    found: list[tuple[str, Any]] = []
    module = ""
    for directive, name in DIRECTIVE.findall(page):
        if directive == "currentmodule":
            module = name
        elif directive != "automodule":
            found.append((f"{module}.{name}", getattr(loaded(module), name)))
    return found


def test_each_public_name_is_described_on_one_page_of_the_api():
    entries = [each for page in API.values() for each in described(page)]
    assert sorted({name for name, _ in entries}) == sorted(name for name, _ in entries)
    values = {id(value) for _, value in entries}
    words = set(re.findall(r"\w+", " ".join(API.values())))
    missing = [
        f"{module}.{name}"
        for module, section in SECTIONS.items()
        for name in names_of(section)
        if not isinstance(value := getattr(loaded(module), name), ModuleType)
        and (id(value) not in values or name not in words)
    ]
    assert missing == []
