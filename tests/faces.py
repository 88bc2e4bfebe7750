"""Stubs that show type checkers and editors the names of packages and modules loaded by name.

A package lists its names once, in `_NAMES`; the public names of modules stand in
`wire._PUBLIC_MODULES` and in `docs/public.md`. `python -m tests.faces` writes the stubs from them,
a test compares.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "public.md").read_text("utf-8")
SECTIONS = dict(re.findall(r"^## `([\w.]+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
"""Public module to its section of the page."""
PACKAGES = sorted(
    path.parent
    for path in (ROOT / "wire").rglob("__init__.py")
    if "lazy_names(" in path.read_text("utf-8")
)
_HEAD = "# Written by `python -m tests.faces`.\n"
_FACE = '''"""The public name of `{home}`: `import wire.{name}` imports that module.

`_PUBLIC_MODULES` in `wire/__init__.py` says so, hence this file is never run. Editors need it as
the source of the stub beside it. `python -m tests.faces` writes both.
"""
'''


def names_of(section: str) -> list[str]:
    """The names of a section: all that stands in backquotes in the list below its text."""
    listed = section.partition("\n- ")[2]
    return re.findall(r"`([A-Za-z_]\w*)`", listed)


def module_of(folder: Path) -> str:
    """The name of a package for an import."""
    return ".".join(folder.relative_to(ROOT).parts)


def stubs() -> dict[Path, str]:
    """Each stub, and each file beside one, with its text."""
    import wire

    written = {folder / "__init__.pyi": _of_package(module_of(folder)) for folder in PACKAGES}
    for name, home in wire._PUBLIC_MODULES.items():
        public = sorted(importlib.import_module(home).__all__)
        lines = [f"from {home} import {each} as {each}\n" for each in public]
        written[ROOT / "wire" / name / "__init__.pyi"] = _HEAD + "".join(lines)
        # Without a source beside the stub, editors warn at each import of the module.
        written[ROOT / "wire" / name / "__init__.py"] = _FACE.format(name=name, home=home)
    return written


def _of_package(name: str) -> str:
    package = importlib.import_module(name)
    pairs = [(home, each) for home, those in package._NAMES.items() for each in those.split()]
    modules = getattr(package, "_MODULES", {})
    pairs += [(home.rpartition(".")[0], home.rpartition(".")[2]) for home in modules.values()]
    lines = [f"from {home} import {each} as {each}\n" for home, each in sorted(pairs)]
    absent = (each for each, value in vars(package).items() if value is None)
    lines += [f"{each}: None\n" for each in absent if not each.startswith("_")]
    if "types" in modules:
        lines.append(f"from {modules['types']} import *\n")
    return _HEAD + "".join(lines)


if __name__ == "__main__":
    for path, text in stubs().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
