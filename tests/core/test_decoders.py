"""Decoders of msgspec: built by one thread at a time, wherever the library meets a type first."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.first_calls import CALLS, DOORS, FORMS, MODELS, SHIP, Harbour, Ship
from tests.joined import joined

ROOT = Path(__file__).parents[2]
SEEN = {
    "struct": "{'a': 1, 'inner': 0, 'b': 2}",
    "dataclass": "{'a': 1, 'b': 2}",
    "TypedDict": "{'a': 1, 'b': 2}",
}


def started(*words: str) -> subprocess.Popen[str]:
    """A fresh process in a scene of `first_calls.py`."""
    command = [sys.executable, "-m", "tests.core.first_calls", *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def outcome(process: subprocess.Popen[str]) -> tuple[int, str]:
    printed, errors = process.communicate(timeout=60)
    return process.returncode, printed.strip() or errors


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.parametrize(
    "wire",
    [pytest.param(each, marks=[pytest.mark.slow] * (at > 0)) for at, each in enumerate(MODELS)],
)
def test_the_first_calls_of_eight_threads(wire: str) -> None:
    """Without the lock, nine of ten of these children end with a segmentation fault (R-41)."""
    expected = {
        "built": ["hi"],
        "asked": [SHIP],
        "fitted": [Ship("Ada", Harbour("Brest"))],
        "with a tool": [["berth", "tide", "report"]],
    }
    lines = [f"{name} {expected[name]}" for name in CALLS]
    assert outcome(started(wire)) == (0, "\n".join(lines))


@pytest.mark.processes
def test_each_struct_met_by_eight_threads_at_once() -> None:
    code, count = outcome(started("every"))
    assert code == 0, count
    assert int(count) > 300


@pytest.mark.processes
@pytest.mark.parametrize(
    "form",
    [pytest.param(form, marks=[pytest.mark.slow] if at else []) for at, form in enumerate(FORMS)],
)
def test_a_thread_waits_for_a_table_that_is_half_built(form: str) -> None:
    code, printed = outcome(started("second", form))
    assert (code, printed.splitlines()) == (0, [f"{door} {SEEN[form]}" for door in DOORS])


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_child_that_was_forked_while_a_table_was_built() -> None:
    assert outcome(started("forked")) == (0, "{'a': 1, 'inner': 0, 'b': 2} 0")


@pytest.mark.processes
def test_no_import_builds_a_table() -> None:
    """An import that waits for the lock holds a module's lock, which the builder may wait for."""
    assert outcome(started("imported")) == (0, "[]")


# --- one place ------------------------------------------------------------------------------------

BUILD_NOTHING = {
    *("UNSET", "UnsetType", "Meta", "Raw", "Struct", "field", "defstruct", "NODEFAULT"),
    "StructMeta",
    *("DecodeError", "ValidationError", "to_builtins", "structs", "json"),
    *("json.decode", "json.encode", "json.Encoder", "json.format"),
}
"""Names of msgspec that build no tables; `json.decode` builds them if it is given a type."""


def root(node: ast.expr) -> str:
    """The name that an expression like `a.b.c` begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def building(source: str) -> Iterator[str]:
    """What a module uses of msgspec that builds tables."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and root(node) == "msgspec":
            name = re.fullmatch(r"msgspec\.((?:json\.)?\w+)", ast.unparse(node))
            if name and name[1] not in BUILD_NOTHING:
                yield name[0]
        elif isinstance(node, ast.Call) and root(node.func) == "msgspec":
            is_typed = len(node.args) != 1 or node.keywords
            if is_typed and ast.unparse(node.func) == "msgspec.json.decode":
                yield ast.unparse(node)
        elif isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] == "msgspec":
            for each in node.names:
                if f"{node.module}.{each.name}".partition(".")[2] not in BUILD_NOTHING - {"json"}:
                    yield f"from {node.module} import {each.name}"
        elif isinstance(node, ast.Import):
            for each in node.names:
                if each.name.startswith("msgspec.") or (each.name == "msgspec" and each.asname):
                    yield f"import {each.name}"


def may_build(source: str) -> bool:
    """Whether reading its syntax tree, which takes seconds for all modules, may find anything."""
    used = set(re.findall(r"\bmsgspec\.((?:json\.)?\w+)", source))
    imported = re.search(r"from msgspec|import .*\bmsgspec(\.| as )", source)
    return bool(used - BUILD_NOTHING) or "json.decode" in used or imported is not None


@joined(
    ("source", "found"),
    [
        ("msgspec.json.decode(data)", []),
        ("msgspec.structs.replace(value); msgspec.json.Encoder().encode(1)", []),
        ("msgspec.json.decode(data, type=int)", ["msgspec.json.decode(data, type=int)"]),
        ("msgspec.json.Decoder(int)", ["msgspec.json.Decoder"]),
        ("msgspec.convert(1, int)", ["msgspec.convert"]),
        ("msgspec.msgpack.decode(data)", ["msgspec.msgpack"]),
        ("msgspec.inspect.type_info(int)", ["msgspec.inspect"]),
        ("from msgspec import UNSET, convert", ["from msgspec import convert"]),
        ("from msgspec import json", ["from msgspec import json"]),
        ("from msgspec.json import Decoder", ["from msgspec.json import Decoder"]),
        ("import msgspec as m, msgspec.json", ["import msgspec", "import msgspec.json"]),
    ],
)
def test_what_builds_tables(source: str, found: list[str]) -> None:
    assert list(building(source)) == found
    assert may_build(source) or not found


def test_tables_are_built_in_one_module() -> None:
    """A decoder that is made elsewhere is not under the lock (R-41)."""
    texts = {path: path.read_text("utf-8") for path in sorted((ROOT / "wire").rglob("*.py"))}
    places = {
        path.relative_to(ROOT).as_posix(): found
        for path, text in texts.items()
        if may_build(text) and (found := list(building(text)))
    }
    assert list(places) == ["wire/core/decoders.py"], places
