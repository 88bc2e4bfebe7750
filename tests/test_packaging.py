"""What an installation brings, and what a wheel contains (R-35)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
NAME = re.compile(r"[A-Za-z0-9_.-]+")


def project() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return table


def required(names: set[str]) -> set[str]:
    """The distributions and all that they require on this machine, extras left out."""
    found: set[str] = set()
    todo = set(names)
    while todo:
        name = todo.pop()
        found.add(name)
        for line in distribution(name).requires or []:
            match = NAME.match(line)
            if match and ";" not in line:
                todo |= {match[0].lower().replace("_", "-")} - found
    return found


def test_few_distributions() -> None:
    """R-35: three are required, and nine come with them at most."""
    table = project()["project"]
    assert isinstance(table, dict)
    names = {match[0] for each in table["dependencies"] if (match := NAME.match(each))}
    assert names == {"httpx", "msgspec", "anyio"}
    assert len(required(names)) <= 9


def test_the_lowest_versions_are_those_that_are_tested() -> None:
    """`make test-lowest` installs what pyproject allows at least."""
    table: Any = project()["project"]
    extras = table["optional-dependencies"]
    ours = ("tools", "yaml", "fast", "otel", "emulator", "completion", "cloud", "live")
    bounds = [*table["dependencies"], *(each for name in ours for each in extras[name])]
    lines = (ROOT / "tests" / "lowest.txt").read_text("utf-8").splitlines()
    lowest = [line for line in lines if not line.startswith("#")]
    assert lowest == sorted(each.replace(">=", "==") for each in bounds)
    tested = extras["tools"] + extras["yaml"] + extras["fast"] + extras["otel"] + extras["live"]
    assert set(tested) <= set(extras["dev"])


@pytest.mark.processes
@pytest.mark.row("R-35", "S3-32")
def test_a_wheel_is_the_same_each_time_and_runs_nothing_at_install(tmp_path: Path) -> None:
    """R-35: built twice in two folders; it contains the package and its metadata alone."""
    wheels = []
    for name in ("first", "second"):
        copy = tmp_path / name
        shutil.copytree(ROOT / "wire", copy / "wire", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "schemas", copy / "schemas")
        for file in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, copy)
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel"]
        subprocess.run(command, cwd=copy, check=True, capture_output=True, timeout=60)
        (wheel,) = (copy / "dist").glob("*.whl")
        wheels.append(wheel)
    assert wheels[0].read_bytes() == wheels[1].read_bytes()
    packed = zipfile.ZipFile(wheels[0]).namelist()
    sources = [
        path
        for path in (ROOT / "wire").rglob("*")
        if path.suffix in (".css", ".js", ".json", ".pyi")
    ]
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= set(packed)
    with zipfile.ZipFile(wheels[0]) as archive:  # S3-32: programs read them from the package
        for path in (ROOT / "schemas").rglob("*.json"):
            inside = f"wire/{path.relative_to(ROOT).as_posix()}"
            assert archive.read(inside) == path.read_bytes()
    tops = {path.partition("/")[0] for path in packed}
    names = {re.sub(r"-.*\.", ".", top) for top in tops}
    assert names == {"wire", "wire_llm.dist-info", "wire_llm_pytest.py"}


@pytest.mark.processes
def test_the_sdist_has_the_sources_of_the_docs(tmp_path: Path) -> None:
    """And no page that was built from them."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=60)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    docs = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "docs").rglob("*")
        if path.is_file() and not {"_build", "__pycache__"} & set(path.parts)
    }
    assert {name for name in files if name.startswith("docs/")} == docs
    assert files >= {"CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "README.md"}
