"""What jedi shows, with which IPython, Jupyter and many editors complete names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import wire
from tests import options
from tests.joined import joined
from wire import errors

jedi = pytest.importorskip("jedi", reason="jedi is in the extra `dev`")

PROJECT = jedi.Project(Path(__file__).parents[1])
HERE = jedi.InterpreterEnvironment()
"""Without it, jedi starts a process, and a thread that is never joined."""
OPENED = {
    "Chat": "Chat('gemini:m')",
    "AsyncChat": "AsyncChat('gemini:m')",
    "Chats": "Chats({})",
    "AsyncChats": "AsyncChats({})",
    "FallbackChat": "FallbackChat(['gemini:m'])",
    "AsyncFallbackChat": "AsyncFallbackChat(['gemini:m'])",
}
WANTED = {name: texts for _, name, texts in options.texts()}


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Else processes share a folder, where one reads a file that another has not written yet."""
    before = jedi.settings.cache_directory
    jedi.settings.cache_directory = str(tmp_path_factory.mktemp("jedi"))
    yield
    jedi.settings.cache_directory = before


@joined("method", ["ask", "stream"])
@joined("kind", OPENED)
def test_each_option_is_completed_and_has_its_sentence(kind: str, method: str) -> None:
    wanted = WANTED[f"{kind}.{method}"]
    line = f"chat.{method}("
    source = f"from wire import {kind}\nchat = {OPENED[kind]}\n{line}"
    script = jedi.Script(source, project=PROJECT, environment=HERE)
    offered = {each.name.removesuffix("=") for each in script.complete(3, len(line))}
    assert wanted.keys() - offered == set()
    assert "self" not in offered
    (signature,) = script.get_signatures(3, len(line))
    shown = " ".join(signature.docstring().split())
    assert [name for name, text in wanted.items() if f"{name}: {text}" not in shown] == []
    assert [each.name for each in signature.params] == list(wanted)


@joined("kind", ["Client", "Chat", "FallbackChat", "Agent", "LLMAgent"])
def test_each_option_of_a_constructor_is_completed(kind: str) -> None:
    wanted = WANTED[kind]
    script = jedi.Script(f"from wire import {kind}\n{kind}(", project=PROJECT, environment=HERE)
    offered = {each.name.removesuffix("=") for each in script.complete(2, len(kind) + 1)}
    assert wanted.keys() - offered == set()


@joined(
    ("line", "module"),
    [("from wire import errors\nerrors.", errors), ("import wire\nwire.errors.", errors)],
)
def test_only_public_names_are_completed(line: str, module: ModuleType) -> None:
    assert completed(line) == set(module.__all__)


def test_of_the_package_only_public_names_and_modules_are_completed() -> None:
    offered = completed("import wire\nwire.")
    assert set(wire.__all__) <= offered
    folders = {each.name for each in Path(wire.__path__[0]).iterdir() if each.is_dir()}
    assert offered - set(wire.__all__) <= folders
    assert {name for name in dir(wire) if name[0] != "_"} == set(wire.__all__)


def completed(source: str) -> set[str]:
    lines = source.split("\n")
    script = jedi.Script(source, project=PROJECT, environment=HERE)
    found = script.complete(len(lines), len(lines[-1]))
    return {each.name for each in found if not each.name.startswith("_")}
