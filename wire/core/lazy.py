"""Loads modules, patterns and tables at their first use, so that an import is fast (PEP 562)."""

from __future__ import annotations

import functools
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, AnyStr

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType


def lazy_names(
    package: str,
    names: Mapping[str, str],
    *,
    modules: Mapping[str, str] | None = None,
    types: str = "",
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package, set its `__all__`, and list its
    names in its docstring, which `help` and notebooks show.

    `names` maps a module to the names that the package takes from it, with blanks between them.
    `python -m tests.faces` writes them to a stub for type checkers. `modules` maps a name of the
    package to a module. `types` is a module whose `__all__` the package offers as well; those names
    are not in the `__all__` of the package, since listing them would import the module.
    """
    homes = {name: module for module, those in names.items() for name in those.split()}
    modules = modules or {}

    def load(name: str) -> Any:
        if name in modules:
            return importlib.import_module(modules[name])
        home = homes.get(name, "")
        # Submodules of `types` are not names of the package, which may have a module of that name.
        if not home and types and not name.startswith("__") and name in _public_names(types):
            home = types
        value = getattr(importlib.import_module(home), name, None) if home else None
        if value is None:
            names = [*homes, *modules, *(_public_names(types) if types and name[:1] != "_" else ())]
            raise no_attribute(package, name, names, homes.values())
        setattr(sys.modules[package], name, value)
        return value

    def listed() -> list[str]:
        of_types = _public_names(types) if types else ()
        own = [name for name in vars(sys.modules[package]) if name.startswith("__")]
        return sorted({*homes, *modules, *of_types, *own})

    package_vars = vars(sys.modules[package])
    package_vars["__all__"] = sorted({*homes, *modules})
    listing = [f"{module}: {', '.join(those.split())}" for module, those in names.items()]
    listing += [f"modules: {', '.join(modules)}"] if modules else []
    listing += [f"and every name of {types}"] if types else []
    package_vars["__doc__"] = (
        f"{package_vars['__doc__']}\nNames:\n    " + "\n    ".join(listing) + "\n"
    )
    return load, listed


def _public_names(module: str) -> Sequence[str]:
    names: Sequence[str] = importlib.import_module(module).__all__
    return names


def no_attribute(
    module: str, name: str, names: Iterable[str], homes: Iterable[str] = ()
) -> AttributeError:
    """Build the error for a name that a module does not have; it leads to a public name.

    `homes` are the modules in which it may be, as an error class may that moved.
    """
    owner = next(filter(None, (_owner(each, name) for each in sorted({*homes}))), "")
    own = foreign_words()["names"].get(module, {}).get(name, "") if name[:1] != "_" else ""
    hint = f"; {owner} has it" if owner else f"; {led_to(own)}" if own else ""
    if not hint and name[:1] != "_":
        import difflib  # for errors only

        near = difflib.get_close_matches(name, [*names], n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
    return AttributeError(f"module {module!r} has no attribute {name!r}{hint}", name=name)


def _owner(module: str, name: str) -> str:
    """Return the public module of a name, such as an error class, from an imported module."""
    value = vars(sys.modules[module]).get(name) if module in sys.modules else None
    owner: str = getattr(value, "__module__", "")
    same = owner in sys.modules and sys.modules[owner] is sys.modules[module]
    public = same and name in getattr(sys.modules[owner], "__all__", ())
    return owner if public else ""


def public_modules(package: str, modules: Mapping[str, str]) -> None:
    """Make modules importable by public names, so that a module can move without breaking programs.

    `modules` maps the last part of a public name to the module: with `{"sse": "wire.core.sse"}` for
    the package `wire`, `import wire.sse` imports `wire.core.sse`. Both names are one module. Type
    checkers do not run this; for them a stub such as `wire/sse/__init__.pyi` has the names.
    """
    homes = {f"{package}.{name}": home for name, home in modules.items()}
    # First, since the finder of files would find the modules inside such a package a second time.
    sys.meta_path.insert(0, _PublicModules(f"{package}.", homes))


class _PublicModules:
    """Finds and loads the modules of `public_modules`, and their submodules."""

    def __init__(self, prefix: str, homes: Mapping[str, str]) -> None:
        self._prefix = prefix
        self._homes = homes

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith(self._prefix):  # nearly every import of a program ends here
            return None
        for public, home in self._homes.items():
            if name == public or name.startswith(f"{public}."):
                from importlib.machinery import ModuleSpec

                return ModuleSpec(name, self, loader_state=home + name[len(public) :])  # type: ignore[arg-type]
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(str(spec.loader_state))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just set the spec of the public name.
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """Return a function that compiles a regular expression at its first call and keeps it.

    >>> digits = lazy_pattern("[0-9]+")
    >>> digits().findall("10:45")
    ['10', '45']

    For a long pattern that many programs never need: `re` takes up to a millisecond to compile one.
    """
    return functools.cache(lambda: re.compile(pattern, flags))


def file_beside(module: str, name: str) -> bytes:
    """Return the bytes of a file in the folder of a module: `file_beside(__file__, "a.json")`."""
    # pathlib would be an eighth of the time that an import of types and rules takes.
    with open(os.path.join(os.path.dirname(module), name), "rb") as file:
        return file.read()


@functools.cache
def foreign_words() -> dict[str, Any]:
    """Return the words of other libraries, keywords and attributes: the file `foreign_words.json`,
    which is read for an error only.
    """
    import json

    words: dict[str, Any] = json.loads(file_beside(__file__, "foreign_words.json"))
    return words


def here_it_is(keyword: str, known: Iterable[str] = ()) -> str:
    """Return what a keyword of another library is called here; empty if it is not known.

    `known` are the keywords of the function, which come first.

    >>> here_it_is("max_retries")
    "here it is 'retry': Retry(attempts=3), or None for one attempt"
    """
    words = foreign_words()
    if keyword in words["phrases"]:
        return led_to(words["phrases"][keyword])
    own, *others = group_of(keyword) or ("",)
    if not own or keyword == own:
        return ""
    value = words["values"].get(own)
    own = next((each for each in (own, *others) if each in known), own)
    return led_to(own) + (f": {value}" if value else "")


def group_of(keyword: str) -> tuple[str, ...]:
    """Return all words for what a keyword means, ours first; empty if it is not known.

    >>> group_of("max_output_tokens")[:2]
    ('max_tokens', 'max_completion_tokens')
    """
    for own, others in foreign_words()["keywords"].items():
        if keyword == own or keyword in others:
            return own, *others
    return ()


def led_to(own: str) -> str:
    """Return the hint that leads to a name of ours, or to the words of a row of the table."""
    return own if " " in own else f"here it is {own!r}"


class Foreign:
    """Base of classes whose attributes other libraries call by other names: the error says ours."""

    __slots__ = ()
    if not TYPE_CHECKING:  # or any attribute would be of a known type

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            own = _own_attribute(kind, name)
            hint = f"; {led_to(own)}" if own else ""
            problem = f"{kind.__name__!r} object has no attribute {name!r}{hint}"
            raise AttributeError(problem, name=name, obj=self)

        def __getitem__(self, key: Any) -> Any:
            kind = type(self)
            name = key if isinstance(key, str) else ""
            own = name if hasattr(kind, name) else _own_attribute(kind, name)
            hint = led_to(own) if " " in own else f"write .{own}" if own else "it has attributes"
            raise TypeError(f"{kind.__name__!r} object is not subscriptable; {hint}")

        __iter__ = __contains__ = None  # otherwise Python calls `__getitem__` in their place


def _own_attribute(kind: type, name: str) -> str:
    """Return what an attribute of another library is called in a class; empty if unknown."""
    words = {} if name.startswith("_") else foreign_words()["attributes"]
    names = [words.get(each.__name__.removeprefix("Async"), {}) for each in kind.__mro__]
    return str(next((each[name] for each in names if name in each), ""))
