"""Names of a package that are loaded when they are first used, so that importing the package costs nothing of what it offers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def loading(package: str, homes: Mapping[str, str], *, modules: tuple[str, ...] = (), rest: str = "") -> Callable[[str], Any]:
    """The `__getattr__` of a package: each name out of the module that is its home, each of `modules` as it is, others out of `rest`."""

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        home = homes.get(name, "" if name.startswith("__") else rest)
        found = getattr(importlib.import_module(f"{package}.{home}"), name, None) if home else None
        if found is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        setattr(sys.modules[package], name, found)
        return found

    return load
