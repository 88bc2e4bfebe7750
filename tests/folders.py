"""`python -m tests.folders`: tests that look at paths and frames pass in any folder.

It clones the commit of this checkout into folders whose names have misled such tests, and runs
them there. Changes that are not committed take no part.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
NAMES = ("wire", "a b")
"""The name of the package, and one that a shell splits."""
MODULES = (
    *("test_request_headers.py", "test_promises.py", "test_secret.py", "test_chat.py"),
    *("test_config.py", "test_without_around.py"),
)
"""Files that look at paths and frames, or start programs that do, in whichever folder of tests."""
PROGRAM = """
import sys
from pathlib import Path
import pytest
status = pytest.main(sys.argv[1:])
import tests, wire
for each in (tests, wire):
    home = Path(each.__file__).parents[1]
    assert home == Path.cwd(), f"{each.__name__} was imported from {home}"
sys.exit(status)
"""
"""Runs pytest, then shows that what ran was that of the clone: `pip install -e` names this one."""


def passes(name: str, parent: Path) -> bool:
    """Whether the tests pass in a clone of that name."""
    folder = parent.resolve() / name
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    print(f"== in a folder named {name!r}", flush=True)
    paths = [path for each in MODULES for path in sorted((folder / "tests").rglob(each))]
    assert {path.name for path in paths} == set(MODULES)
    command = [sys.executable, "-c", PROGRAM, "-q", "-p", "no:cacheprovider", *map(str, paths)]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode == 0


def main() -> int:
    """Return 1 if the tests of a folder fail."""
    with tempfile.TemporaryDirectory() as parent:
        failed = [name for name in NAMES if not passes(name, Path(parent))]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
