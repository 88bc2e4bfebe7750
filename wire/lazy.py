"""Names of a package that are loaded when they are first used, so that importing the package costs nothing of what it offers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def loading(package: str, homes: Mapping[str, str], *, modules: tuple[str, ...] = ()) -> Callable[[str], Any]:
    """The `__getattr__` of a package: each name out of the module of the package that is its home, each of `modules` as it is."""

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load
