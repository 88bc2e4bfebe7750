"""What an import leaves for the first use, so that it is fast: the modules of a package (PEP 562),
and regular expressions.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, AnyStr


def lazy_names(
    package: str,
    names: Mapping[str, Sequence[str]],
    *,
    modules: Mapping[str, str] | None = None,
    types: str = "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package, set its `__all__`, and list its
    names in its docstring, which `help` and notebooks show.

    `names` maps a module to the names that the package takes from it. `modules` maps a name of the
    package to a module. `types` is a module whose `__all__` the package offers as well; those names
    are not in the `__all__` of the package, since listing them would import the module.
    """
    homes = {name: module for module, those in names.items() for name in those}
    modules = modules or {}

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(modules[name])
        home = homes.get(name, "")
        # A submodule of `types` is none of its names: the package may have a module of that name.
        if not home and types and not name.startswith("__") and name in _public_names(types):
            home = types
        value = getattr(importlib.import_module(home), name, None) if home else None
        if value is None:
            home = next((each for each in sorted({*homes.values()}) if _defines(each, name)), "")
            hint = f"; {home} has it" if home else ""
            raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}", name=name)
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        of_types = _public_names(types) if types else ()
        return sorted({*homes, *modules, *of_types, *vars(sys.modules[package])})

    # Set here, not in the package: a type checker takes a computed `__all__` for an empty one, and
    # every name of the package for private.
    package_vars = vars(sys.modules[package])
    package_vars["__all__"] = sorted({*homes, *modules})
    listing = [f"{module}: {', '.join(those)}" for module, those in names.items()]
    listing += [f"modules: {', '.join(modules)}"] if modules else []
    listing += [f"and every name of {types}"] if types else []
    package_vars["__doc__"] = (
        f"{package_vars['__doc__']}\nNames:\n    " + "\n    ".join(listing) + "\n"
    )
    return load, listed


def _public_names(module: str) -> Sequence[str]:
    names: Sequence[str] = importlib.import_module(module).__all__
    return names


def _defines(module: str, name: str) -> bool:
    """Whether a module that is imported already defines a public name, such as an error class."""
    value = vars(sys.modules[module]).get(name) if module in sys.modules else None
    return not name.startswith("_") and getattr(value, "__module__", "") == module


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """Return a function that compiles a regular expression at its first call and keeps it.

    >>> digits = lazy_pattern("[0-9]+")
    >>> digits().findall("10:45")
    ['10', '45']

    For a long pattern that many programs never need: `re` takes up to a millisecond to compile one.
    """
    return functools.cache(lambda: re.compile(pattern, flags))
