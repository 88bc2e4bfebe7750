"""The build of `wire`, which tells commits with one version apart."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import wire
from wire.bulk.build import _digest, build
from wire.core.version import VERSION

ROOT = Path(wire.__file__).parent


def test_it_has_the_version_and_the_digest() -> None:
    assert build() == f"{VERSION}, build {_digest(ROOT)}"


def test_each_change_of_a_file_is_another_build(tmp_path: Path) -> None:
    root = tmp_path / "wire"
    shutil.copytree(ROOT / "bulk", root / "bulk", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "facts.json").write_text("{}")
    found = [_digest(root)]
    for path in (root / "bulk/leases.py", root / "facts.json"):
        path.write_bytes(path.read_bytes() + b" ")
        found.append(_digest(root))
    (root / "bulk/leases.py").rename(root / "bulk/other.py")
    found.append(_digest(root))
    (root / "bulk/empty.py").touch()
    found.append(_digest(root))
    assert len(set(found)) == 5


def test_what_python_and_the_wheel_add_is_the_same_build(tmp_path: Path) -> None:
    root = tmp_path / "wire"
    for name in ("a.py", "__pycache__/a.cpython-311.pyc", "schemas/run.json", "a.py.orig"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")
        if name == "a.py":
            alone = _digest(root)
    assert _digest(root) == alone


def test_nothing_is_read_on_import() -> None:
    program = "import wire.bulk, sys; print('wire.bulk.build' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "False\n"
