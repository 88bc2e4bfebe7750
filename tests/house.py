"""The walls of the house: reads the imports and the sizes of `wire/`, and compares them with
`house.toml`.

`python -m tests.house` prints the figures, then one line for each broken wall, which says what to
do; it ends with 1 if there is one. `make check` runs it. HOUSE.md explains rooms and floors.

An arrow is one module that needs another: by an import at the top, by one under `TYPE_CHECKING`,
by one inside a function, or by a text that is the name of a module, as the tables of lazy packages
have it. A name that a package only hands on counts as an arrow to the module that defines it.
"""

from __future__ import annotations

import ast
import functools
import itertools
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeGuard

ROOT = Path(__file__).parents[1]
PACKAGE = "wire"
_MODULE_NAME = re.compile(rf"({PACKAGE}(?:\.\w+)+)(?::\w+)?")
_EQUAL_LINES = 12


class Arrow(NamedTuple):
    """One module that needs another."""

    source: str
    target: str
    line: int
    kind: str
    """`plain`, `type-only`, `late` (inside a function), `string`, or `outside`: another package."""


Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_LEAVES = (ast.expr_context, ast.Name, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)
"""Nodes in which nothing is looked for: more than half of all."""


class File:
    """One file of the library, as its source says. The syntax tree is read in one pass."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        self.is_package = path.endswith("/__init__.py")
        self.tree = ast.parse(text, path)
        self.imports: list[tuple[ast.Import | ast.ImportFrom, str]] = []
        """Each import, and its kind."""
        self.texts: list[ast.Constant] = []
        """The texts in the code, without docstrings and names of loggers."""
        self.repeated_decorators: list[tuple[int, str]] = []
        """Line and name of each decorator that a definition has twice."""
        self.computed_imports: list[int] = []
        """Lines that import a module whose name is computed, or run a text as code."""
        self.compared: list[tuple[int, str]] = []
        """Line and value of each text that the code compares with something."""
        self._functions: list[tuple[str, Function]] = []
        self._docs: set[int] = set()
        self._inside: set[int] = set()
        self._read(self.tree, "", "plain")

    def _read(self, node: ast.AST, owner: str, kind: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, _LEAVES):
                continue
            name, inner = owner, kind
            if isinstance(child, Function | ast.ClassDef):
                name = f"{owner}.{child.name}".strip(".")
                self._read_decorators(child)
                if not isinstance(child, ast.ClassDef):
                    self._functions.append((name, child))
                    inner = "late"
            elif isinstance(child, ast.Lambda):
                inner = "late"
            elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                inner = "type-only"
            elif isinstance(child, ast.Import | ast.ImportFrom):
                self.imports.append((child, kind))
                if any(each.asname and each.name in _IMPORTERS for each in child.names):
                    self.computed_imports.append(child.lineno)  # the calls would not be seen
            elif isinstance(child, ast.Call) and _last(child.func).endswith("ogger"):
                continue  # the name of a logger may be that of a module
            elif isinstance(child, ast.Call) and _last(child.func) in _IMPORTERS:
                self._read_import_call(child)
            elif isinstance(child, ast.Compare | ast.MatchValue):
                inside = (each for each in ast.walk(child) if _is_text(each))
                self.compared += [(each.lineno, str(each.value)) for each in inside]
            elif isinstance(child, ast.Expr) and _is_text(child.value):
                self._docs.update(_lines_of(child))
                continue
            elif isinstance(child, ast.Constant | ast.JoinedStr):
                self._inside.update(_lines_of(child))
                if _is_text(child):
                    self.texts.append(child)
            self._read(child, name, inner)

    def _read_decorators(self, node: Function | ast.ClassDef) -> None:
        seen: set[str] = set()
        for each in node.decorator_list:
            name = ast.unparse(each.func if isinstance(each, ast.Call) else each)
            if name in seen:
                self.repeated_decorators.append((each.lineno, name))
            seen.add(name)

    def _read_import_call(self, node: ast.Call) -> None:
        if not node.args or not _is_text(node.args[0]):
            self.computed_imports.append(node.lineno)
        elif not str(node.args[0].value).startswith(PACKAGE):  # ours are seen as texts
            alias = ast.alias(str(node.args[0].value))
            self.imports.append((ast.Import([alias], lineno=node.lineno), "late"))

    @cached_property
    def code_lines(self) -> set[int]:
        """Numbers of the lines that are neither blank, nor a comment, nor part of a docstring."""
        return {
            number
            for number, line in enumerate(self.text.splitlines(), 1)
            if number not in self._docs
            and (number in self._inside or (line.strip() and not line.lstrip().startswith("#")))
        }

    def functions(self) -> Iterator[tuple[str, int]]:
        """Name and code lines of the body of each function; a function inside counts for both."""
        for owner, node in self._functions:
            lines = range(node.body[0].lineno, (node.end_lineno or 0) + 1)
            yield f"{self.path}:{owner}", len(self.code_lines.intersection(lines))

    def imported(self) -> Iterator[tuple[str, int, str]]:
        """The dotted names that the file imports, each with its line and its kind."""
        for node, kind in self.imports:
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            else:
                package = self.module.split(".")
                package = package if self.is_package else package[:-1]
                base = package[: len(package) - node.level + 1] if node.level else []
                home = ".".join([*base, *filter(None, [node.module])])
                names = [f"{home}.{each.name}".removesuffix(".*") for each in node.names]
            yield from ((name, node.lineno, kind) for name in names)


_IMPORTERS = ("import_module", "__import__", "run_module", "find_spec", "exec", "eval")


def _last(node: ast.expr) -> str:
    """The last name of `a.b.c`."""
    return getattr(node, "attr", "") or getattr(node, "id", "")


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _lines_of(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


# --- arrows ---------------------------------------------------------------------------------------


@dataclass
class House:
    """All files of the library, and the arrows between them."""

    files: Sequence[File]
    modules: dict[str, File] = field(init=False)

    def __post_init__(self) -> None:
        self.modules = {each.module: each for each in self.files}

    @cached_property
    def arrows(self) -> list[Arrow]:
        """All arrows between two modules of the library, and from one to another package."""
        return [arrow for each in self.files for arrow in self._arrows_of(each)]

    @cached_property
    def inside(self) -> list[Arrow]:
        """The arrows between two modules of the library."""
        return [each for each in self.arrows if each.kind != "outside"]

    @cached_property
    def faces(self) -> dict[str, dict[str, str]]:
        """Package to the names that it hands on, each with the module that defines it."""
        return {
            each.module: dict(_handed_on(each.tree))
            for each in self.files
            if each.is_package and each.module != PACKAGE
        }

    def _arrows_of(self, file: File) -> Iterator[Arrow]:
        for name, line, kind in file.imported():
            if name.partition(".")[0] != PACKAGE:
                yield Arrow(file.module, name, line, "outside")
            elif (target := self._defining(name)) != file.module:
                yield Arrow(file.module, target, line, kind)
        for text in file.texts:
            match = _MODULE_NAME.fullmatch(str(text.value))
            if match is not None and match[1] in self.modules and match[1] != file.module:
                yield Arrow(file.module, match[1], text.lineno, "string")

    def _defining(self, name: str) -> str:
        """The module that a dotted name is, or that defines it."""
        module, rest = name, ""
        while module and module not in self.modules:
            module, _, rest = module.rpartition(".")
        home = self.faces.get(module, {}).get(rest)
        return self._defining(f"{home}.{rest}") if home else module


def _handed_on(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and module of what a package takes from a module, by the table of `lazy_names`."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_NAMES":
            for module, names in ast.literal_eval(node.value).items():
                yield from ((name, module) for name in names.split())
        if isinstance(node, ast.ImportFrom):
            yield from ((alias.asname or alias.name, node.module or "") for alias in node.names)


# --- floors and circles ---------------------------------------------------------------------------


def entry_in(folder: str, module: str) -> str:
    """The file or folder inside `folder` that holds a module; empty if none does."""
    if module == folder:
        return "__init__"
    return module.removeprefix(f"{folder}.").partition(".")[0] if is_in(folder, module) else ""


def common_folder(one: str, other: str) -> str:
    """The innermost folder that holds both modules."""
    parts = zip(one.split("."), other.split("."), strict=False)
    return ".".join(a for a, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], parts))


def is_in(folder: str, module: str) -> bool:
    """Whether a module is a folder, or stands in it."""
    return module == folder or module.startswith(f"{folder}.")


def circles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The groups of nodes that reach each other (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            group = [stack.pop()]
            while group[-1] != node:
                group.append(stack.pop())
            if len(group) > 1:
                groups.append(sorted(group))

    for node in sorted(edges):
        if node not in index:
            visit(node)
    return groups


def height(edges: Mapping[str, Iterable[str]]) -> int:
    """The number of floors that a graph without circles needs."""
    known: dict[str, int] = {}

    def floor(node: str) -> int:
        if node not in known:
            known[node] = 0  # of a node in a circle, which is reported elsewhere
            known[node] = 1 + max(map(floor, edges.get(node, ())), default=0)
        return known[node]

    return max(map(floor, edges), default=0)


# --- the plan -------------------------------------------------------------------------------------


@dataclass
class Plan:
    """What `house.toml` declares."""

    table: Mapping[str, Any]

    def floors(self, folder: str) -> dict[str, int] | None:
        """Entry of a folder to its floor, the ground floor first; `None` for an undeclared one."""
        return self._floors.get(folder)

    @cached_property
    def _floors(self) -> dict[str, dict[str, int]]:
        return {
            folder: {entry: at for at, line in enumerate(floors) for entry in line.split(" | ")}
            for folder, floors in self.table["floors"].items()
        }


@dataclass
class Walls:
    """Holds a house against a plan."""

    house: House
    plan: Plan

    @cached_property
    def arrows(self) -> list[Arrow]:
        """The arrows inside the library, without texts that import nothing."""
        texts = set(self.plan.table["not_imports"])
        return [
            each
            for each in self.house.inside
            if each.kind != "string" or f"{each.source}: {each.target}" not in texts
        ]

    def broken(self) -> list[str]:
        """One sentence for each wall that is broken, with what to do."""
        return sorted({
            *self._floors(), *self._circles(), *self._vendors(), *self._packages(),
            *self._budgets(), *self._twins(), *self._decorators(), *self._dynamic(),
        })  # fmt: skip

    def _over(
        self, wall: str, found: Mapping[str, int], sentence: Callable[[str], str]
    ) -> Iterator[str]:
        """A sentence for each key that is worse than today's list, or no longer as bad as it."""
        allowed: Mapping[str, int] = self.plan.table["standing"].get(wall, {})
        yield from (sentence(key) for key, count in found.items() if count > allowed.get(key, 0))
        for key in allowed.keys() - found.keys():
            yield f"house.toml, standing.{wall}: {key} breaks nothing any more; remove the line"

    def _floors(self) -> Iterator[str]:
        folders: defaultdict[str, set[str]] = defaultdict(set)
        for module in self.house.modules:
            parts = module.split(".")
            for at in range(1, len(parts)):
                folders[".".join(parts[:at])].add(parts[at])
        for package in self.house.faces.keys() | {PACKAGE}:
            folders[package].add("__init__")
        for folder, entries in folders.items():
            floors = self.plan.floors(folder)
            if floors is None:
                if entries - {"__init__"}:
                    yield f"{folder}: a folder without floors; list its files in house.toml, floors"
                continue
            for entry in entries - floors.keys():
                yield (
                    f"{folder}.{entry}: it stands on no floor; put it into a room that exists, or "
                    f'add it to floors."{folder}" of house.toml'
                )
            for entry in floors.keys() - entries:
                yield f'{folder}.{entry}: no such file; remove it from floors."{folder}"'
        yield from self._back()

    def _back(self) -> Iterator[str]:
        for arrow in self.arrows:
            folder = common_folder(arrow.source, arrow.target)
            floors = self.plan.floors(folder) or {}
            above = floors.get(entry_in(folder, arrow.source))
            below = floors.get(entry_in(folder, arrow.target), -1)
            if above is not None and above <= below:
                yield (
                    f"{_place(arrow)} names {arrow.target}, which stands "
                    f"{'above' if above < below else 'beside'} it in {folder}: move what both need "
                    "to a floor below, or pass it in as an argument"
                )

    def _circles(self) -> Iterator[str]:
        for group in circles(self.file_edges):
            yield f"circle: {', '.join(group)}: move what they share into a file below them"

    @cached_property
    def file_edges(self) -> dict[str, set[str]]:
        """Module to the modules that it needs."""
        edges: dict[str, set[str]] = {module: set() for module in self.house.modules}
        for arrow in self.arrows:
            edges[arrow.source].add(arrow.target)
        return edges

    def _vendors(self) -> Iterator[str]:
        vendors = [f"{PACKAGE}.{each}" for each in self.plan.table["vendors"]["rooms"]]
        homes = [PACKAGE, *self.plan.table["vendors"]["homes"]]
        found = [
            arrow
            for arrow in self.arrows
            if any(is_in(each, arrow.target) for each in vendors)
            and not any(is_in(each, arrow.source) for each in vendors)
            and arrow.source not in homes
            and not any(is_in(each, arrow.source) for each in homes[1:])
        ]
        places = {arrow.source: arrow for arrow in reversed(found)}
        yield from self._over(
            "vendors",
            Counter(arrow.source for arrow in found),
            lambda key: (
                f"{_place(places[key])} names {places[key].target}: only wire.wires and the rooms "
                "of a vendor know it; ask the wire of `wire.wires.contract.WIRES` instead"
            ),
        )
        named = {
            (each.module, line): value
            for each in self.house.files
            if not any(is_in(home, each.module) for home in [*vendors, *homes[1:]])
            for line, value in each.compared
            if re.split("[@:.]", value)[0] in self.plan.table["vendors"]["names"]
        }
        lines = dict(reversed(named))
        yield from self._over(
            "vendor_names",
            Counter(module for module, _ in named),
            lambda key: (
                f"{key}:{lines[key]} compares with the name {named[key, lines[key]]!r}: make what "
                "differs a field of the provider's row or of its dialect, and read that"
            ),
        )

    def _packages(self) -> Iterator[str]:
        """Sockets and event loops stay where they are declared; every other room is without."""
        for rule in self.plan.table["packages"]:
            for arrow in self.house.arrows:
                is_home = any(is_in(each, arrow.source) for each in rule["homes"])
                named = any(is_in(each, arrow.target) for each in rule["names"])
                if arrow.kind == "outside" and named and not is_home:
                    yield f"{_place(arrow)} imports {arrow.target}: {rule['remedy']}"
        rooms = set(self.plan.table["ring"]["rooms"])
        outer = set(self.plan.table["ring"]["outside"])
        for arrow in self.arrows:
            source, target = entry_in(PACKAGE, arrow.source), entry_in(PACKAGE, arrow.target)
            if source in rooms and target in outer:
                yield f"{_place(arrow)} names {arrow.target}: a client does without wire.{target}"

    def _budgets(self) -> Iterator[str]:
        budgets, figures = self.plan.table["budgets"], {**self.figures}
        figures["standing"] = sum(map(len, self.plan.table["standing"].values()))
        for name in ("rooms", "floors", "top_level_modules", "code_lines", "standing"):
            if figures[name] > budgets[name]:
                yield (
                    f"{name}: {figures[name]}, the budget is {budgets[name]}: find a room that "
                    "exists, or write less; house.toml has the budgets, and each higher number its "
                    "reason"
                )
        lines = {each.path: len(each.code_lines) for each in self.house.files}
        rooms: Counter[str] = Counter()
        for each in self.house.files:
            rooms[entry_in(PACKAGE, each.module)] += lines[each.path]
        for room, count in rooms.items():
            budget = budgets["room"].get(room, budgets["room"]["*"])
            if count > budget:
                yield f"wire/{room}: {count} code lines, its budget is {budget}: write less"
        bodies: Counter[str] = Counter()
        for each in self.house.files:
            for name, count in each.functions():
                bodies[name] = max(count, bodies[name])
        for wall, counts, remedy in (
            ("file", lines, "split it by job"),
            ("function", bodies, "give its steps names of their own"),
        ):
            over = {key: count for key, count in counts.items() if count > budgets[wall]}
            tail = f"the budget is {budgets[wall]}: {remedy}"
            yield from self._over(wall, over, functools.partial(_too_long, over, tail))

    def _twins(self) -> Iterator[str]:
        yield from self._over(
            "twins",
            equal_runs(self.house.files),
            lambda pair: (
                f"{pair}: both have the same {_EQUAL_LINES} lines of code: write them once, in a "
                "file below"
            ),
        )

    def _decorators(self) -> Iterator[str]:
        for each in self.house.files:
            for line, name in each.repeated_decorators:
                yield f"{each.path}:{line} has the decorator {name} twice: remove one"

    def _dynamic(self) -> Iterator[str]:
        """Imports whose module no reading of the source can tell."""
        homes = self.plan.table["imports_by_name"]
        for each in self.house.files:
            for line in each.computed_imports if each.path not in homes else ():
                yield (
                    f"{each.path}:{line} imports a module whose name is computed: write the name "
                    "as a text, or the import as a statement, so that its arrow is seen"
                )

    @cached_property
    def figures(self) -> dict[str, int]:
        """The figures that `make check` prints."""
        house = self.house
        rooms: dict[str, set[str]] = {}
        for module, targets in self.file_edges.items():
            room = entry_in(PACKAGE, module)
            others = {entry_in(PACKAGE, each) for each in targets} - {room}
            rooms.setdefault(room, set()).update(others)
        floors = self.plan.floors(PACKAGE) or {}
        largest = max(house.files, key=lambda each: len(each.code_lines))
        return {
            "rooms": len(rooms),
            "floors": height(rooms),
            "arrows": sum(map(len, rooms.values())),
            "back": sum(
                floors.get(room, 0) <= floors.get(other, 0)
                for room, others in rooms.items()
                for other in others
            ),
            "circles": len(circles(self.file_edges)),
            "top_level_modules": sum(each.path.count("/") == 1 for each in house.files),
            "files": len(house.files),
            "largest_file": len(largest.code_lines),
            "code_lines": sum(len(each.code_lines) for each in house.files),
        }


def _too_long(counts: Mapping[str, int], tail: str, key: str) -> str:
    return f"{key}: {counts[key]} code lines, {tail}"


def _place(arrow: Arrow) -> str:
    kind = "" if arrow.kind in ("plain", "outside") else f" ({arrow.kind})"
    return f"{arrow.source}:{arrow.line}{kind}"


def equal_runs(files: Iterable[File]) -> dict[str, int]:
    """Pairs of files to the number of runs of twelve equal lines of code that both have.

    Lines of imports and lines without a letter do not count.
    """
    seen: defaultdict[tuple[str, ...], dict[str, int]] = defaultdict(dict)
    for each in files:
        imports = {line for node, _ in each.imports for line in _lines_of(node)}
        text = each.text.splitlines()
        code = [text[at - 1].strip() for at in sorted(each.code_lines - imports)]
        code = [line for line in code if re.search("[A-Za-z]", line)]
        for at in range(len(code) - _EQUAL_LINES + 1):
            seen[tuple(code[at : at + _EQUAL_LINES])].setdefault(each.path, at)
    pairs: Counter[str] = Counter()
    for places in seen.values():
        pairs.update(f"{a} ~ {b}" for a, b in itertools.combinations(sorted(places), 2))
    return dict(pairs)


@functools.cache
def read(root: Path = ROOT) -> list[File]:
    """Return the files of the library, without those that are only the public name of another."""
    files = [
        File(path.relative_to(root).as_posix(), path.read_text("utf-8"))
        for path in sorted((root / PACKAGE).rglob("*.py"))
    ]
    folders = Counter(each.path.rpartition("/")[0] for each in files)
    return [
        each
        for each in files
        if each.code_lines or not each.is_package or folders[each.path.rpartition("/")[0]] > 1
    ]


def plan(root: Path = ROOT) -> Plan:
    """The declarations of `house.toml`."""
    return Plan(tomllib.loads((root / "house.toml").read_text("utf-8")))


def strangers(names: Iterable[str], declared: Plan) -> list[str]:
    """A sentence for each entry at the top of the repository that `house.toml` does not list."""
    return [
        f"{name!r}: no entry of the top level; remove it, or add it to top_level of house.toml"
        for name in sorted({*names} - {*declared.table["top_level"]})
    ]


def tracked(root: Path = ROOT) -> set[str]:
    """The entries at the top of the repository; none where the files are not in git."""
    if not (root / ".git").exists():
        return set()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True)
    return {name.partition("/")[0] for name in listed.stdout.decode().split("\0") if name}


def main() -> int:
    """Print the figures and the broken walls; return the exit status."""
    walls = Walls(House(read()), plan())
    print("house:", ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in walls.figures.items()))
    broken = walls.broken() + strangers(tracked(), walls.plan)
    for sentence in broken:
        print(sentence)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
