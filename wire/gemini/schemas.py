"""Lowers JSON Schema to Gemini's Schema, the dialect of `parameters` and `responseSchema` on the
Gemini API and on Vertex.

Rules of this file:

- The walk distinguishes schemas from data by position: names under `properties` and values of
  enum, default, example and const are data.
- A change that weakens or alters the schema adds a note. An equivalent rewriting adds none: `$ref`
  inlined, allOf merged, const as enum, null as `nullable`.
- Keywords beside a union move into its members: Vertex refuses them beside anyOf (G49), and the
  Gemini API treats both forms alike.
- No recursion: a work list holds the open nodes, so that a deeply nested source ends in
  `SchemaError` instead of `RecursionError`.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from wire.core.decoders import convert
from wire.core.memory import Note, with_notes
from wire.gemini.schema_values import (
    DEEPEST,
    as_json,
    count,
    fail,
    fits,
    inferred,
    number,
    sequence,
    types_in,
)
from wire.gemini.types import Schema

MAX_DEPTH = DEEPEST - 1
"""Levels below the root (G52), so that `check` accepts the depth of every result."""
MAX_NODES = 10_000


OWNERS = {
    **dict.fromkeys(
        ("properties", "required", "propertyOrdering", "minProperties", "maxProperties"),
        ("OBJECT",),
    ),
    **dict.fromkeys(("items", "minItems", "maxItems"), ("ARRAY",)),
    **dict.fromkeys(("minLength", "maxLength", "pattern"), ("STRING",)),
    **dict.fromkeys(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), ("NUMBER", "INTEGER")
    ),
}
FORMATS = {
    **dict.fromkeys(("int32", "int64"), ("INTEGER", "NUMBER")),
    **dict.fromkeys(("float", "double"), ("NUMBER", "INTEGER")),
}
COUNTS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
TEXTS = frozenset({"title", "description", "format", "pattern"})
ANNOTATIONS = ("title", "description", "default", "example")
PASSED = (
    *ANNOTATIONS,
    "format",
    "pattern",
    "minimum",
    "maximum",
    *sorted(COUNTS),
    "propertyOrdering",
)
ALIASES = {
    re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name): name
    for name in ("anyOf", "propertyOrdering", "additionalProperties", *COUNTS)
}
# Keywords of JSON Schema that restrict values and have no equivalent in the proto (G38), with the
# type that they apply to.
WEAKENING = {
    **dict.fromkeys(
        ("patternProperties", "propertyNames", "unevaluatedProperties", "dependencies"), "OBJECT"
    ),
    **dict.fromkeys(("dependentRequired", "dependentSchemas"), "OBJECT"),
    **dict.fromkeys(
        ("uniqueItems", "contains", "minContains", "maxContains", "unevaluatedItems"), "ARRAY"
    ),
    **dict.fromkeys(("contentEncoding", "contentMediaType", "contentSchema"), "STRING"),
    **dict.fromkeys(("if", "then", "else", "not"), ""),
    "multipleOf": "NUMBER",
}
BRANCH_OF_ONE_OBJECT = frozenset(
    {"types", "required", "minProperties", "maxProperties", "hints", "title", "description"}
)

_Node = dict[str, Any]


class _At(NamedTuple):
    """A schema of the source, its path, and the references that were followed to it."""

    source: Any
    path: str
    refs: tuple[str, ...]


# Schemas that must all hold at one position of the result. Annotations of the first one win.
_Place = tuple[_At | _Node, ...]


class _Task(NamedTuple):
    place: _Place
    path: str
    depth: int
    into: Any
    key: Any


class _Conflict(Exception):
    """Two schemas that must both hold contradict each other; the argument is the keyword."""


def schema(source: Mapping[str, Any] | bool, *, path: str = "") -> Schema:
    """Converts JSON Schema, as Pydantic, msgspec and OpenAI tools write it, to Gemini's Schema.

    `wire.notes(result)` reports each change with its path in the source, below `path` if given.

    Raises `SchemaError` for malformed input and for schemas without an equivalent: a recursive or
    remote `$ref`, or an allOf that contradicts itself.

    >>> from wire import notes
    >>> n = {"type": ["integer", "null"], "exclusiveMinimum": 0, "multipleOf": 5}
    >>> built = schema({"type": "object", "properties": {"n": n}})
    >>> built.properties["n"].type, built.properties["n"].nullable
    ('INTEGER', True)
    >>> [str(note) for note in notes(built)]
    ['properties.n.multipleOf: dropped, the Schema proto has no equivalent: validation is weaker']
    """
    walk = _Walk(source, path)
    try:
        built: Schema = convert(walk.result(), Schema)
        return with_notes(built, dict.fromkeys(walk.notes))
    except RecursionError:
        # msgspec's converter recurses, and the caller's stack may be deep already.
        fail(
            path,
            "is nested too deep",
            "G52",
            "flatten it, or use parameters_json_schema, with its references kept",
        )


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


class _Walk:
    def __init__(self, source: Any, path: str) -> None:
        self.source = source
        self.path = path
        self.notes: list[Note] = []
        self.nodes = 0

    def result(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        todo = [_Task((_At(self.source, self.path, ("#",)),), self.path, 0, out, "root")]
        while todo:
            task = todo.pop()
            if task.depth > MAX_DEPTH:
                remedy = (
                    "flatten it, or use parameters_json_schema or response_json_schema, with "
                    "its references kept"
                )
                fail(task.path, f"is nested more than {DEEPEST} levels deep", "G52", remedy)
            try:
                node = self.settled(task.place)
                task.into[task.key], inner = self.emitted(node, task)
            except _Conflict as conflict:
                fail(
                    _join(task.path, str(conflict)),
                    "contradicts another one that must hold here too, or cannot be merged with it",
                )
            todo.extend(reversed(inner))
        return dict(out["root"])

    def note(self, path: str, message: str) -> None:
        self.notes.append(Note(path, message))

    def counted(self, path: str, many: int = 1) -> None:
        # Two references to one schema at each level double the size of the result at each level.
        # Only this counter bounds it.
        self.nodes += many
        if self.nodes > MAX_NODES:
            fail(
                path,
                f"expands to more than {MAX_NODES} schemas",
                "G53",
                "use parameters_json_schema, with its references kept",
            )

    # --- reading: one schema of the source in canonical keywords, inner schemas left unread -------

    def settled(self, place: _Place) -> _Node:
        """Merges the schemas of `place` into one node."""
        node: _Node = {}
        queue = deque(place)
        while queue:
            item = queue.popleft()
            self.counted(item.path if isinstance(item, _At) else self.path)
            if isinstance(item, _At):
                part, more = self.read(item)
                queue.extendleft(reversed(more))
            else:
                part = item
            node = _merged(node, part)
        return node

    def read(self, at: _At) -> tuple[_Node, list[_At]]:
        """The node of one schema, and the schemas that must hold besides: the target of `$ref`,
        members of allOf.
        """
        if at.source is True:
            return {}, []
        if at.source is False:
            fail(at.path, "false allows no value", remedy="leave the schema out")
        if not isinstance(at.source, Mapping):
            fail(at.path, f"a schema is an object, not {type(at.source).__name__}")
        node: _Node = {}
        more: list[_At] = []
        hints: list[str] = []
        raw: dict[str, Any] = {}
        for key, value in at.source.items():
            if not isinstance(key, str):
                fail(at.path, f"keyword {key!r} is not a string")
            name = ALIASES.get(key, key)
            if name in raw:
                fail(_join(at.path, key), f"is a duplicate of {name}")
            if value is not None or name in (
                "const",
                "default",
                "example",
            ):  # on this wire null counts as absent
                raw[name] = value
        for name, value in raw.items():
            here = _join(at.path, name)
            hints += self.keyword(node, name, value, here, at, more)
        self.tuples(node, raw, at)
        self.exclusive(node, raw, at.path)
        if "types" in node and node.get("nullable") and "NULL" not in node["types"]:
            node["types"] = (*node["types"], "NULL")
        if hints:
            node["hints"] = tuple(dict.fromkeys(hints))
        return node, more

    def keyword(
        self, node: _Node, name: str, value: Any, here: str, at: _At, more: list[_At]
    ) -> Iterator[str]:
        """Adds one keyword to `node`, or notes that it is dropped. Yields the type that the keyword
        applies to.
        """
        if name in OWNERS and not (name == "required" and isinstance(value, bool)):
            yield OWNERS[name][0]
        if name == "type":
            node["types"] = types_in(value, here)
        elif name in ("enum", "const"):
            values = [value] if name == "const" else sequence(value, here)
            if not values:
                fail(here, "an empty enum allows no value")
            as_json(values, here)
            node["enum"] = _common(node["enum"], values) if "enum" in node else values
        elif name == "properties":
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                fail(here, "is an object of schemas by name")
            node["properties"] = {
                key: (_At(inner, f"{here}.{key}", at.refs),) for key, inner in value.items()
            }
        elif name in ("anyOf", "oneOf", "allOf"):
            members = [
                _At(inner, f"{here}[{index}]", at.refs)
                for index, inner in enumerate(sequence(value, here))
            ]
            if not members:
                fail(here, "has no members")
            if name == "oneOf":
                self.note(here, "written as anyOf: a value that several members allow is valid too")
            if name == "allOf":
                more += members
            else:
                self.counted(here, len(members) * len(node.get("anyOf", ())))
                node["anyOf"] = (
                    _product(node["anyOf"], [(at,) for at in members])
                    if "anyOf" in node
                    else [(at,) for at in members]
                )
        elif name == "$ref":
            more.insert(0, self.target(value, here, at))
        elif name == "required" and isinstance(value, bool):
            self.note(here, "dropped, required is a list of names in the object around")
        elif name in ("required", "propertyOrdering"):
            names = sequence(value, here)
            if not all(isinstance(item, str) for item in names):
                fail(here, "is a list of property names")
            node[name] = list(dict.fromkeys(names))
        elif name in COUNTS:
            node[name] = count(value, here)
        elif name in ("minimum", "maximum"):
            node[name] = number(value, here)
        elif name in TEXTS or name == "nullable":
            if not isinstance(value, bool if name == "nullable" else str):
                fail(
                    here,
                    f"is a {'boolean' if name == 'nullable' else 'string'}, not "
                    f"{type(value).__name__}",
                )
            node[name] = value
            if name == "format":
                yield FORMATS.get(str(value), ("STRING",))[0]
        elif name in ("default", "example"):
            as_json(value, here)
            node[name] = value
        elif name == "examples":
            values = list(value.values()) if isinstance(value, Mapping) else sequence(value, here)
            if at.path == self.path and values and "example" not in at.source:
                as_json(values, here)
                node["example"] = values[0]
                values = values[1:]
            if values:
                self.note(here, "dropped, the Schema proto has one example, at the root")
        elif name == "additionalProperties":
            yield "OBJECT"
            lost = (
                ": the type of the values is lost" if isinstance(value, Mapping) and value else ""
            )
            self.note(here, f"dropped, the Schema proto has no such keyword{lost}")
        elif name in WEAKENING:
            if WEAKENING[name]:
                yield WEAKENING[name]
            self.note(here, "dropped, the Schema proto has no equivalent: validation is weaker")
        elif name in ("items", "prefixItems", "additionalItems"):
            yield "ARRAY"
        elif name in ("exclusiveMinimum", "exclusiveMaximum"):
            yield "NUMBER"
        elif name not in (
            "$defs",
            "definitions",
        ):  # used definitions are inlined, so that nothing is lost
            self.note(here, "dropped, the Schema proto has no such keyword")

    def target(self, ref: Any, path: str, at: _At) -> _At:
        if not isinstance(ref, str) or not (ref == "#" or ref.startswith("#/")):
            fail(
                path,
                f"{ref!r} is not a JSON pointer into this schema",
                "G38",
                "inline the referenced schema",
            )
        if ref in at.refs:
            cycle = " -> ".join((*at.refs[at.refs.index(ref) :], ref))
            fail(
                path,
                f"is recursive ({cycle}), the Schema proto has no references",
                "G55",
                "use parameters_json_schema or response_json_schema",
            )
        found = self.source
        for step in unquote(ref[1:]).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, Mapping) and step in found:
                found = found[step]
            elif (
                isinstance(found, (list, tuple))
                and re.fullmatch("0|[1-9][0-9]{0,8}", step)
                and int(step) < len(found)
            ):
                found = found[int(step)]
            else:
                fail(
                    path, f"{ref!r} refers to nothing", "G51", "define it under $defs, or inline it"
                )
        return _At(found, at.path, (*at.refs, ref))

    def tuples(self, node: _Node, raw: _Node, at: _At) -> None:
        """Lowers all forms of `items` to the one schema for all elements that the proto has."""
        old = isinstance(raw.get("items"), (list, tuple))
        name = "items" if old else "prefixItems"
        rest, rest_name = (
            (raw.get("additionalItems"), "additionalItems") if old else (raw.get("items"), "items")
        )
        if "additionalItems" in raw and not old:
            self.note(
                _join(at.path, "additionalItems"), "dropped, it applies only if items is a list"
            )
        closed = rest is False
        if closed and name not in raw:
            node["maxItems"] = 0
            node["items"] = ({},)
        elif name not in raw:
            if rest is not None:
                node["items"] = (_At(rest, _join(at.path, rest_name), at.refs),)
        else:
            here = _join(at.path, name)
            first = sequence(raw[name], here)
            members = [_At(inner, f"{here}[{index}]", at.refs) for index, inner in enumerate(first)]
            if isinstance(rest, Mapping):
                members.append(_At(rest, _join(at.path, rest_name), at.refs))
            distinct = list(
                {
                    as_json(member.source, member.path): member for member in reversed(members)
                }.values()
            )[::-1]
            node["items"] = ({"anyOf": [(member,) for member in distinct]} if distinct else {},)
            self.note(here, "written as items: which schema belongs to which position is lost")
            if closed:
                node["maxItems"] = min(node.get("maxItems", len(first)), len(first))
                node.setdefault("minItems", min(len(first), node["maxItems"]))

    def exclusive(self, node: _Node, raw: _Node, path: str) -> None:
        for name, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            value = raw.get(name)
            if isinstance(value, bool):  # draft 4: a flag that makes the other bound exclusive
                if value and bound in node:
                    node[name] = node.pop(bound)
            elif value is not None:
                node[name] = number(value, _join(path, name))

    # --- writing: one node; its inner schemas become tasks ----------------------------------------

    def typed(self, node: _Node, path: str, root: bool) -> None:
        """Gives `node` one type and `nullable`, or a union of members that have one type each."""
        if "example" in node and not root:
            del node["example"]
            self.note(
                _join(path, "example"),
                "dropped, the Schema proto has an example at the root only",
            )
        if None in node.get("enum", ()):
            node["enum"] = [value for value in node["enum"] if value is not None]
            node["nullable"] = True
            if not node["enum"]:
                node["types"] = ("NULL",)
                del node["enum"]
        if "anyOf" in node:
            return
        types: tuple[str, ...] = (
            node.get("types") or inferred(node) or (("OBJECT",) if root else ())
        )
        if not types:
            # The proto requires a type (G48). A union of all scalars excludes the least: objects
            # and arrays would need properties or items, which are unknown.
            types = ("STRING", "NUMBER", "BOOLEAN")
            self.note(
                path,
                "has no type, which the Schema proto requires: narrowed to a string, a "
                "number or a boolean",
            )
        node["types"] = tuple(kind for kind in types if kind != "NULL") or types
        if "NULL" in types and types != ("NULL",):
            node["nullable"] = True
        for name in [
            name for name in node if name in OWNERS and not set(OWNERS[name]) & set(types)
        ]:
            if node.pop(name) not in ([], {}):
                self.note(
                    _join(path, name), f"dropped, it does not apply to {' or '.join(node['types'])}"
                )
        if len(node["types"]) > 1:
            node["anyOf"] = [({"types": (kind,)},) for kind in node.pop("types")]

    def emitted(self, node: _Node, task: _Task) -> tuple[dict[str, Any], list[_Task]]:
        path = task.path
        self.typed(node, path, task.depth == 0)
        if "anyOf" in node:
            return self.union(node, task)
        types = node["types"]
        out: dict[str, Any] = {"type": types[0]}
        if "nullable" in node and types != ("NULL",):
            out["nullable"] = node["nullable"]
        self.bounds(node, types[0], path)
        self.enum(node, types[0], path, out)
        out.update((name, node[name]) for name in PASSED if name in node)
        inner: list[_Task] = []
        if types[0] == "ARRAY":
            inner.append(
                _Task(
                    node.get("items", ({},)),
                    _path(node.get("items"), _join(path, "items")),
                    task.depth + 1,
                    out,
                    "items",
                )
            )
        if node.get("properties"):  # older backends refuse an empty one (G44)
            out["properties"] = dict.fromkeys(node["properties"])
            for name, place in node["properties"].items():
                inner.append(
                    _Task(
                        place,
                        _join(path, f"properties.{name}"),
                        task.depth + 1,
                        out["properties"],
                        name,
                    )
                )
        required = []
        for name in node.get("required", ()):
            if name in node.get("properties", ()):
                required.append(name)
            else:
                self.note(_join(path, "required"), f"{name!r} dropped, there is no such property")
        if required:
            out["required"] = required
        return out, inner

    def union(self, node: _Node, task: _Task) -> tuple[dict[str, Any], list[_Task]]:
        """Writes the members of anyOf, each merged with the keywords beside anyOf. Unions inside a
        union are flattened.
        """
        path = _join(task.path, "anyOf")
        beside = {
            name: value
            for name, value in node.items()
            if name not in ("anyOf", "nullable", *ANNOTATIONS)
        }
        outer = {name: node[name] for name in ANNOTATIONS if name in node}
        nullable = node.get("nullable") is True
        branches: list[tuple[_Node, str, _Node]] = []
        conflicts: list[_Conflict] = []
        queue = deque(
            (place, _path(place, f"{path}[{index}]"), outer, beside)
            for index, place in enumerate(node["anyOf"])
        )
        while queue:
            place, here, over, rest = queue.popleft()
            try:
                branch = self.settled(place)
                if branch.get("types") == ("NULL",) or branch.get("enum") == [None]:
                    if "NULL" not in rest.get("types", ("NULL",)):
                        self.note(
                            here, "kept as nullable, although the type beside anyOf excludes null"
                        )
                    nullable = True
                    continue
                branch = _merged(branch, _speaking_of(rest, branch.get("types")))
                self.typed(branch, here, root=False)
            except _Conflict as conflict:
                conflicts.append(conflict)
                if len(place) == 1 and isinstance(
                    place[0], _At
                ):  # not for pairs that only the product of two unions makes
                    self.note(
                        here,
                        f"dropped, no value can match: {conflict} contradicts another schema that "
                        "must hold",
                    )
                continue
            if branch.get("types") == ("NULL",):
                nullable = True
            elif "anyOf" in branch:
                inside = _under(
                    over, {name: branch[name] for name in ANNOTATIONS if name in branch}
                )
                rest = {
                    name: value
                    for name, value in branch.items()
                    if name not in ("anyOf", *ANNOTATIONS)
                }
                queue.extendleft(
                    [
                        (member, _path(member, here), inside, rest)
                        for member in reversed(branch["anyOf"])
                    ]
                )
            else:
                branches.append((branch, here, over))
        if not branches and not nullable:
            raise conflicts[0]
        if nullable:
            for branch, _, _ in branches:
                branch |= {"types": (*branch["types"], "NULL"), "nullable": True}
        one_object = (
            task.depth == 0 and beside.get("types") == ("OBJECT",) and beside.get("properties")
        )
        if (
            one_object
            and len(branches) > 1
            and all(_only_one_object(branch, beside) for branch, _, _ in branches)
        ):
            # A function's parameters must be one OBJECT (G50). Losing "at least one of these" is
            # better than a request that is refused.
            self.note(
                path,
                "dropped, the root must be one object, and the members add no properties: "
                "validation is weaker",
            )
            return self.emitted(
                {name: value for name, value in node.items() if name != "anyOf"}, task
            )
        if len(branches) < 2:
            only = (
                _merged(branches[0][2], branches[0][0])
                if branches
                else {**outer, "types": ("NULL",)}
            )
            return {}, [task._replace(place=(only,))]
        # Vertex refuses annotations beside anyOf as well (G49): they move into the members.
        if "default" in outer and not any(
            fits(outer["default"], branch["types"]) for branch, _, _ in branches
        ):
            self.note(_join(task.path, "default"), "dropped, no member of anyOf has its type")
        if "example" in outer:
            self.note(_join(task.path, "example"), "dropped, Vertex accepts nothing beside anyOf")
        members: list[Any] = [None] * len(branches)
        inner = [
            _Task((_under(over, branch),), here, task.depth + 1, members, index)
            for index, (branch, here, over) in enumerate(branches)
        ]
        return {"anyOf": members}, inner

    def bounds(self, node: _Node, kind: str, path: str) -> None:
        for name, bound, side in (
            ("exclusiveMinimum", "minimum", 1),
            ("exclusiveMaximum", "maximum", -1),
        ):
            if name not in node:
                continue
            value = node[name]
            if kind == "INTEGER":
                value = math.floor(value) + 1 if side > 0 else math.ceil(value) - 1
            if bound in node and (node[bound] - value) * side > 0:
                continue  # the other bound is stricter
            if kind != "INTEGER":
                self.note(_join(path, name), f"written as {bound}: the bound itself is valid too")
            node[bound] = value

    def enum(self, node: _Node, kind: str, path: str, out: dict[str, Any]) -> None:
        values = node.get("enum")
        if values is None:
            return
        here = _join(path, "enum")
        texts = [
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
        ]
        if kind != "STRING":  # G41
            self.note(
                here,
                "dropped, only STRING may have one: the description lists the values "
                f"of this {kind}",
            )
            allowed = f"Allowed values: {', '.join(texts)}."
            node["description"] = (
                f"{node['description']}\n{allowed}" if node.get("description") else allowed
            )
            return
        if texts != values:
            self.note(here, "members that are not strings written as strings")
        if "" in texts:  # G42
            self.note(here, "the empty string dropped, which Gemini refuses")
        texts = list(dict.fromkeys(text for text in texts if text))
        if texts:
            out["enum"] = texts


# --- merging --------------------------------------------------------------------------------------


def _merged(first: _Node, second: _Node) -> _Node:
    """The node that holds if and only if both hold. Annotations of `first` win."""
    out = {**second, **first}
    for name in sorted(first.keys() & second.keys()):
        one, two = first[name], second[name]
        if name == "types":
            out[name] = _meet(one, two)
        elif name == "enum":
            out[name] = _common(one, two)
        elif name == "anyOf":
            out[name] = _product(one, two)
        elif name == "properties":
            out[name] = {key: one.get(key, ()) + two.get(key, ()) for key in (*one, *two)}
        elif name in ("required", "hints"):
            out[name] = type(one)(dict.fromkeys((*one, *two)))
        elif name == "items":
            out[name] = one + two
        elif name.startswith(("min", "exclusiveMin")):
            out[name] = max(one, two)
        elif name.startswith(("max", "exclusiveMax")):
            out[name] = min(one, two)
        elif name in ("pattern", "format") and one != two:
            raise _Conflict(name)
    return out


def _under(outer: _Node, node: _Node) -> _Node:
    """`node` with the annotations of the enclosing union."""
    out = {**node}
    if "title" in outer:
        out.setdefault("title", outer["title"])
    if "description" in outer:
        texts: list[str] = [outer["description"], node.get("description", "")]
        out["description"] = "\n".join(dict.fromkeys(filter(None, texts)))
    if "default" in outer and fits(outer["default"], node.get("types")):
        out.setdefault("default", outer["default"])
    return out


def _product(first: list[_Place], second: list[_Place]) -> list[_Place]:
    if len(first) * len(second) > MAX_NODES:
        raise _Conflict("anyOf")
    return [one + two for one in first for two in second]


def _meet(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    both = [kind for kind in first if kind in second or (kind == "INTEGER" and "NUMBER" in second)]
    if "NUMBER" in first and "INTEGER" in second:
        both.append("INTEGER")
    if not both:
        raise _Conflict("type")
    return tuple(dict.fromkeys(both))


def _common(first: list[Any], second: list[Any]) -> list[Any]:
    known = {as_json(value, "") for value in second}
    both = [value for value in first if as_json(value, "") in known]
    if not both:
        raise _Conflict("enum")
    return both


def _speaking_of(node: _Node, types: Sequence[str] | None) -> _Node:
    """The keywords of `node` that apply to values of `types`; the others do not restrict them."""
    if types is None:
        return node
    out = {
        name: value
        for name, value in node.items()
        if name not in OWNERS or set(OWNERS[name]) & set(types)
    }
    if "format" in out and not set(FORMATS.get(out["format"], ("STRING",))) & set(types):
        del out["format"]
    if "enum" in out:
        out["enum"] = [value for value in out["enum"] if fits(value, types)]
        if not out["enum"]:
            raise _Conflict("enum")
    return out


def _only_one_object(branch: _Node, beside: _Node) -> bool:
    return branch.keys() - beside.keys() <= BRANCH_OF_ONE_OBJECT and all(
        branch[name] == value
        for name, value in beside.items()
        if name in branch and name not in BRANCH_OF_ONE_OBJECT
    )


def _path(place: _Place | None, otherwise: str) -> str:
    first = place[0] if place else None
    return first.path if isinstance(first, _At) else otherwise
