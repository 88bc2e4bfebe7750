"""Lowers JSON Schema to Gemini's Schema, the dialect of `parameters` and `responseSchema` on the
Gemini API and on Vertex.

Rules of this file:

- A mapping is a schema or data, depending on its position: names under `properties` and values of
  enum, default, example and const are data. A property may be called `type` or `$ref`.
- A change that weakens or alters the schema adds a note. An equivalent rewriting adds none: `$ref`
  inlined, allOf merged, const as enum, null as `nullable`.
- Keywords beside a union move into its members: Vertex refuses them beside anyOf (G49), and the
  Gemini API treats both forms alike.
- No recursion: a work list holds the open nodes, so that a deeply nested source ends in
  `SchemaError` instead of `RecursionError`.

Each node is lowered in two steps. `merge` reads the schemas that must all hold at its position into
one `_Node` of canonical keywords, and leaves inner schemas unread. `write` turns the `_Node` into
keywords of the proto, and its inner schemas into new tasks of the work list.
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.decoders import convert
from wire.core.memory import Note, with_notes
from wire.core.secret import quoted
from wire.gemini.schema_values import (
    MAX_LEVELS,
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

MAX_DEPTH = MAX_LEVELS - 1
"""Levels below the root (G52), so that `check` accepts the depth of every result."""
RAW_FIELDS = "parameters_json_schema or response_json_schema"
"""Remedies name these fields, which take JSON Schema as it is."""


# Keyword -> the types that it applies to. A node of another type does not need it.
TYPES_OF_KEYWORD: dict[str, tuple[str, ...]] = {
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
# Format -> the types that it applies to; all other formats apply to STRING.
TYPES_OF_FORMAT: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("int32", "int64"), ("INTEGER", "NUMBER")),
    **dict.fromkeys(("float", "double"), ("NUMBER", "INTEGER")),
}
COUNT_KEYWORDS = frozenset(
    {"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}
)
TEXT_KEYWORDS = frozenset({"title", "description", "format", "pattern"})
ANNOTATIONS = ("title", "description", "default", "example")
# Keywords of the proto that are written as they were read, in this order.
COPIED_KEYWORDS = (
    *ANNOTATIONS,
    "format",
    "pattern",
    "minimum",
    "maximum",
    *sorted(COUNT_KEYWORDS),
    "propertyOrdering",
)
# Keyword in snake_case, as some libraries write it -> in camelCase.
ALIASES = {
    re.sub("[A-Z]", lambda capital: "_" + capital[0].lower(), name): name
    for name in ("anyOf", "propertyOrdering", "additionalProperties", *COUNT_KEYWORDS)
}
# Keywords of JSON Schema that restrict values and have no equivalent in the proto (G38), with the
# type that they apply to.
UNSUPPORTED_KEYWORDS = {
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
# Keywords that the members of a union at the root may have if it is written without the union.
KEYWORDS_OF_OBJECT_BRANCH = frozenset(
    {"types", "required", "minProperties", "maxProperties", "hints", "title", "description"}
)

# A schema in canonical keywords: those of the proto, and for the merge
# - `types`: the allowed types as a tuple, in place of `type`
# - `hints`: types that other keywords imply, for a schema without a type
# - `exclusiveMinimum`, `exclusiveMaximum`: numbers, as in draft 6 and later
# - `properties`, `items` and the members of `anyOf`: unread inner schemas (`_Schemas`)
_Node = dict[str, Any]


class _At(NamedTuple):
    """An unread schema of the source, its path, and the references that were followed to it."""

    source: Any
    path: str
    refs: tuple[str, ...]


# Schemas that must all hold at one position of the result. Annotations of the first one win.
_Schemas = tuple[_At | _Node, ...]


class _Task(NamedTuple):
    """A position of the result to write: the schemas that must hold there, and `into[key]`, where
    the written node goes.
    """

    schemas: _Schemas
    path: str
    depth: int
    into: Any
    key: Any


class _Conflict(Exception):
    """Two schemas that must both hold contradict each other; the argument is the keyword."""


@checked_arguments()
def schema(source: Mapping[str, Any] | bool, *, path: str = "") -> Schema:
    """Convert JSON Schema, as Pydantic, msgspec and OpenAI tools write it, to Gemini's Schema.

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
        # The depth is limited, but msgspec's converter recurses, and the caller's own stack may
        # have left it too little room.
        fail(
            path,
            "is nested too deep",
            "G52",
            f"flatten it, or use {RAW_FIELDS}, with its references kept",
        )


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


class _Walk:
    """The lowering of one source: its work list, and the notes."""

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
                remedy = f"flatten it, or use {RAW_FIELDS}, with its references kept"
                fail(task.path, f"is nested more than {MAX_LEVELS} levels deep", "G52", remedy)
            try:
                node = self.merge(task.schemas)
                task.into[task.key], inner = self.write(node, task)
            except _Conflict as conflict:
                fail(
                    _join(task.path, str(conflict)),
                    "contradicts another one that must hold here too, or cannot be merged with it",
                )
            todo.extend(reversed(inner))
        return dict(out["root"])

    def note(self, path: str, message: str) -> None:
        self.notes.append(Note(path, message))

    def count_nodes(self, path: str, many: int = 1) -> None:
        # Several references to the next schema at each level multiply the result with each level: a
        # few kilobytes would expand to gigabytes. Only this counter prevents that.
        self.nodes += many
        if self.nodes > BOUNDS.inlined:
            fail(
                path,
                f"expands to more than {BOUNDS.inlined} schemas",
                "G53",
                f"use {RAW_FIELDS}, with its references kept",
            )

    # --- reading: one schema of the source in canonical keywords, inner schemas left unread -------

    def merge(self, schemas: _Schemas) -> _Node:
        """Merge the given schemas into one node."""
        node: _Node = {}
        queue = deque(schemas)
        while queue:
            item = queue.popleft()
            self.count_nodes(item.path if isinstance(item, _At) else self.path)
            if isinstance(item, _At):
                part, more = self.read(item)
                queue.extendleft(reversed(more))
            else:
                part = item
            node = _merged(node, part)
        return node

    def read(self, at: _At) -> tuple[_Node, list[_At]]:
        """Read one schema; return its node, and the schemas that must hold too: the target of
        `$ref`, and members of allOf.
        """
        if at.source is True:
            return {}, []
        if at.source is False:
            fail(at.path, "false allows no value", remedy="leave the schema out")
        if not isinstance(at.source, Mapping):
            fail(at.path, f"a schema must be an object, not {type(at.source).__name__}")
        node: _Node = {}
        more: list[_At] = []
        hints: list[str] = []
        raw: dict[str, Any] = {}
        for key, value in at.source.items():
            if not isinstance(key, str):
                fail(at.path, f"keyword {quoted(key)} is not a string")
            name = ALIASES.get(key, key)
            if name in raw:
                fail(_join(at.path, key), f"is a duplicate of {name}")
            # Null is a value of const, default and example. Elsewhere the server reads it as an
            # absent keyword, and so does this reader.
            if value is not None or name in ("const", "default", "example"):
                raw[name] = value
        for name, value in raw.items():
            path = _join(at.path, name)
            hints += self.keyword(node, name, value, path, at, more)
        # These keywords depend on each other, so they are read after all keywords.
        self.items(node, raw, at)
        self.exclusive(node, raw, at.path)
        if "types" in node and node.get("nullable") and "NULL" not in node["types"]:
            node["types"] = (*node["types"], "NULL")
        if hints:
            node["hints"] = tuple(dict.fromkeys(hints))
        return node, more

    def keyword(
        self, node: _Node, name: str, value: Any, path: str, at: _At, more: list[_At]
    ) -> Iterator[str]:
        """Add one keyword to `node`, or note that it is dropped.

        Yields the type that the keyword applies to.
        """
        if name in TYPES_OF_KEYWORD and not (name == "required" and isinstance(value, bool)):
            yield TYPES_OF_KEYWORD[name][0]
        if name == "type":
            node["types"] = types_in(value, path)
        elif name in ("enum", "const"):
            values = [value] if name == "const" else sequence(value, path)
            if not values:
                fail(path, "an empty enum allows no value")
            as_json(values, path)
            node["enum"] = _common_values(node["enum"], values) if "enum" in node else values
        elif name == "properties":
            if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
                fail(path, "must be an object of schemas by name")
            node["properties"] = {
                key: (_At(inner, f"{path}.{key}", at.refs),) for key, inner in value.items()
            }
        elif name in ("anyOf", "oneOf", "allOf"):
            members = [
                _At(inner, f"{path}[{index}]", at.refs)
                for index, inner in enumerate(sequence(value, path))
            ]
            if not members:
                fail(path, "has no members")
            if name == "oneOf":
                self.note(path, "written as anyOf: a value that several members allow is valid too")
            if name == "allOf":
                more += members
            else:
                self.count_nodes(path, len(members) * len(node.get("anyOf", ())))
                node["anyOf"] = (
                    _product(node["anyOf"], [(at,) for at in members])
                    if "anyOf" in node
                    else [(at,) for at in members]
                )
        elif name == "$ref":
            more.insert(0, self.target(value, path, at))
        elif name == "required" and isinstance(value, bool):
            self.note(path, "dropped, required is a list of names in the enclosing object")
        elif name in ("required", "propertyOrdering"):
            names = sequence(value, path)
            if not all(isinstance(item, str) for item in names):
                fail(path, "must be a list of property names")
            node[name] = list(dict.fromkeys(names))
        elif name in COUNT_KEYWORDS:
            node[name] = count(value, path)
        elif name in ("minimum", "maximum"):
            node[name] = number(value, path)
        elif name in TEXT_KEYWORDS or name == "nullable":
            if not isinstance(value, bool if name == "nullable" else str):
                fail(
                    path,
                    f"must be a {'boolean' if name == 'nullable' else 'string'}, not "
                    f"{type(value).__name__}",
                )
            node[name] = value
            if name == "format":
                yield TYPES_OF_FORMAT.get(str(value), ("STRING",))[0]
        elif name in ("default", "example"):
            as_json(value, path)
            node[name] = value
        elif name == "examples":
            values = list(value.values()) if isinstance(value, Mapping) else sequence(value, path)
            if at.path == self.path and values and "example" not in at.source:
                as_json(values, path)
                node["example"] = values[0]
                values = values[1:]
            if values:
                self.note(path, "dropped, the Schema proto has one example, at the root")
        elif name == "additionalProperties":
            yield "OBJECT"
            lost = (
                ": the type of the values is lost" if isinstance(value, Mapping) and value else ""
            )
            self.note(path, f"dropped, the Schema proto has no such keyword{lost}")
        elif name in UNSUPPORTED_KEYWORDS:
            if UNSUPPORTED_KEYWORDS[name]:
                yield UNSUPPORTED_KEYWORDS[name]
            self.note(path, "dropped, the Schema proto has no equivalent: validation is weaker")
        elif name in ("items", "prefixItems", "additionalItems"):
            yield "ARRAY"
        elif name in ("exclusiveMinimum", "exclusiveMaximum"):
            yield "NUMBER"
        elif name not in (
            "$defs",
            "definitions",
        ):  # used definitions are inlined, so that nothing is lost
            self.note(path, "dropped, the Schema proto has no such keyword")

    def target(self, ref: Any, path: str, at: _At) -> _At:
        """Resolve a `$ref` to the schema that it refers to (RFC 6901).

        The followed references are kept with it: a reference that occurs among them is recursive,
        and the proto cannot express it (G55).
        """
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
                f"use {RAW_FIELDS}",
            )
        target = self.source
        for step in unquote(ref[1:]).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, Mapping) and step in target:
                target = target[step]
            elif (
                isinstance(target, (list, tuple))
                and re.fullmatch("0|[1-9][0-9]{0,8}", step)
                and int(step) < len(target)
            ):
                target = target[int(step)]
            else:
                fail(
                    path, f"{ref!r} refers to nothing", "G51", "define it under $defs, or inline it"
                )
        return _At(target, at.path, (*at.refs, ref))

    def items(self, node: _Node, raw: _Node, at: _At) -> None:
        """Lower all forms of `items` to one schema for all elements, the only form of the proto.

        A tuple has a schema for each position and `rest` for the elements after them: `items` and
        `additionalItems` until draft 2019-09, `prefixItems` and `items` since 2020-12.
        """
        old_draft = isinstance(raw.get("items"), (list, tuple))
        name = "items" if old_draft else "prefixItems"
        rest, rest_name = (
            (raw.get("additionalItems"), "additionalItems")
            if old_draft
            else (raw.get("items"), "items")
        )
        if "additionalItems" in raw and not old_draft:
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
            path = _join(at.path, name)
            first = sequence(raw[name], path)
            members = [_At(inner, f"{path}[{index}]", at.refs) for index, inner in enumerate(first)]
            if isinstance(rest, Mapping):
                members.append(_At(rest, _join(at.path, rest_name), at.refs))
            distinct = list(
                {
                    as_json(member.source, member.path): member for member in reversed(members)
                }.values()
            )[::-1]
            node["items"] = ({"anyOf": [(member,) for member in distinct]} if distinct else {},)
            self.note(path, "written as items: which schema belongs to which position is lost")
            if closed:
                node["maxItems"] = min(node.get("maxItems", len(first)), len(first))
                node.setdefault("minItems", min(len(first), node["maxItems"]))

    def exclusive(self, node: _Node, raw: _Node, path: str) -> None:
        """Read both forms of exclusive bounds as numbers; until draft 4 they were flags."""
        for name, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            value = raw.get(name)
            if isinstance(value, bool):
                if value and bound in node:
                    node[name] = node.pop(bound)
            elif value is not None:
                node[name] = number(value, _join(path, name))

    # --- writing: one node; its inner schemas become tasks ----------------------------------------

    def set_types(self, node: _Node, path: str, root: bool) -> None:
        """Give `node` one type and `nullable`, or a union of members that have one type each."""
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
            name
            for name in node
            if name in TYPES_OF_KEYWORD and not set(TYPES_OF_KEYWORD[name]) & set(types)
        ]:
            if node.pop(name) not in ([], {}):
                self.note(
                    _join(path, name), f"dropped, it does not apply to {' or '.join(node['types'])}"
                )
        if len(node["types"]) > 1:
            node["anyOf"] = [({"types": (kind,)},) for kind in node.pop("types")]

    def write(self, node: _Node, task: _Task) -> tuple[dict[str, Any], list[_Task]]:
        """Write the node in keywords of the proto; return it, and tasks for its inner schemas."""
        path = task.path
        self.set_types(node, path, task.depth == 0)
        if "anyOf" in node:
            return self.union(node, task)
        types = node["types"]
        out: dict[str, Any] = {"type": types[0]}
        if "nullable" in node and types != ("NULL",):
            out["nullable"] = node["nullable"]
        self.bounds(node, types[0], path)
        self.enum(node, types[0], path, out)
        out.update((name, node[name]) for name in COPIED_KEYWORDS if name in node)
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
            for name, schemas in node["properties"].items():
                inner.append(
                    _Task(
                        schemas,
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
                self.note(
                    _join(path, "required"), f"{name!r} was dropped: there is no such property"
                )
        if required:
            out["required"] = required
        return out, inner

    def union(self, node: _Node, task: _Task) -> tuple[dict[str, Any], list[_Task]]:
        """Write the members of anyOf, each merged with the keywords beside anyOf.

        Unions inside a union are flattened.

        A member that is null alone becomes `nullable` of all others. A member that contradicts the
        keywords beside anyOf is dropped: no value matches both. A union with one member left is
        written as this member.
        """
        path = _join(task.path, "anyOf")
        outer_siblings = {
            name: value
            for name, value in node.items()
            if name not in ("anyOf", "nullable", *ANNOTATIONS)
        }
        outer = {name: node[name] for name in ANNOTATIONS if name in node}
        nullable = node.get("nullable") is True
        branches: list[tuple[_Node, str, _Node]] = []
        conflicts: list[_Conflict] = []
        queue = deque(
            (schemas, _path(schemas, f"{path}[{index}]"), outer, outer_siblings)
            for index, schemas in enumerate(node["anyOf"])
        )
        while queue:
            schemas, branch_path, annotations, siblings = queue.popleft()
            try:
                branch = self.merge(schemas)
                if branch.get("types") == ("NULL",) or branch.get("enum") == [None]:
                    if "NULL" not in siblings.get("types", ("NULL",)):
                        self.note(
                            branch_path,
                            "kept as nullable, although the type beside anyOf excludes null",
                        )
                    nullable = True
                    continue
                branch = _merged(branch, _applicable(siblings, branch.get("types")))
                self.set_types(branch, branch_path, root=False)
            except _Conflict as conflict:
                conflicts.append(conflict)
                # A pair made by the product of two unions gets no note: the source lacks it.
                if len(schemas) == 1 and isinstance(schemas[0], _At):
                    self.note(
                        branch_path,
                        f"dropped, no value can match: {conflict} contradicts another schema that "
                        "must hold",
                    )
                continue
            if branch.get("types") == ("NULL",):
                nullable = True
            elif "anyOf" in branch:
                inside = _with_annotations_of(
                    annotations, {name: branch[name] for name in ANNOTATIONS if name in branch}
                )
                inner_siblings = {
                    name: value
                    for name, value in branch.items()
                    if name not in ("anyOf", *ANNOTATIONS)
                }
                queue.extendleft(
                    [
                        (member, _path(member, branch_path), inside, inner_siblings)
                        for member in reversed(branch["anyOf"])
                    ]
                )
            else:
                branches.append((branch, branch_path, annotations))
        if not branches and not nullable:
            raise conflicts[0]
        if nullable:
            for branch, _, _ in branches:
                branch |= {"types": (*branch["types"], "NULL"), "nullable": True}
        one_object = (
            task.depth == 0
            and outer_siblings.get("types") == ("OBJECT",)
            and outer_siblings.get("properties")
        )
        if (
            one_object
            and len(branches) > 1
            and all(_adds_no_property(branch, outer_siblings) for branch, _, _ in branches)
        ):
            # A function's parameters must be one OBJECT (G50). Losing "at least one of these" is
            # better than a request that is refused.
            self.note(
                path,
                "dropped, the root must be one object, and the members add no properties: "
                "validation is weaker",
            )
            return self.write(
                {name: value for name, value in node.items() if name != "anyOf"}, task
            )
        if len(branches) < 2:
            only = (
                _merged(branches[0][2], branches[0][0])
                if branches
                else {**outer, "types": ("NULL",)}
            )
            return {}, [task._replace(schemas=(only,))]
        # Vertex refuses annotations beside anyOf as well (G49): they move into the members.
        if "default" in outer and not any(
            fits(outer["default"], branch["types"]) for branch, _, _ in branches
        ):
            self.note(_join(task.path, "default"), "dropped, no member of anyOf has its type")
        if "example" in outer:
            self.note(_join(task.path, "example"), "dropped, Vertex accepts nothing beside anyOf")
        members: list[Any] = [None] * len(branches)
        inner = [
            _Task(
                (_with_annotations_of(annotations, branch),),
                branch_path,
                task.depth + 1,
                members,
                index,
            )
            for index, (branch, branch_path, annotations) in enumerate(branches)
        ]
        return {"anyOf": members}, inner

    def bounds(self, node: _Node, kind: str, path: str) -> None:
        """Replace exclusive bounds, which the proto lacks: exactly for INTEGER, where the next
        integer is the bound; for NUMBER by the inclusive bound, with a note.
        """
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
        """Write an enum as strings, or into the description if the type is not STRING (G41)."""
        values = node.get("enum")
        if values is None:
            return
        enum_path = _join(path, "enum")
        texts = [
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for value in values
        ]
        if kind != "STRING":  # G41
            self.note(
                enum_path,
                "dropped, only STRING may have one: the description lists the values "
                f"of this {kind}",
            )
            allowed = f"Allowed values: {', '.join(texts)}."
            node["description"] = (
                f"{node['description']}\n{allowed}" if node.get("description") else allowed
            )
            return
        if texts != values:
            self.note(enum_path, "members that are not strings were written as strings")
        if "" in texts:  # G42
            self.note(enum_path, "the empty string was dropped: Gemini refuses it")
        texts = list(dict.fromkeys(text for text in texts if text))
        if texts:
            out["enum"] = texts


# --- merging --------------------------------------------------------------------------------------


def _merged(first: _Node, second: _Node) -> _Node:
    """Return the node that holds if and only if both nodes hold. Annotations of `first` win."""
    out = {**second, **first}
    for name in sorted(first.keys() & second.keys()):
        one, two = first[name], second[name]
        if name == "types":
            out[name] = _common_types(one, two)
        elif name == "enum":
            out[name] = _common_values(one, two)
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


def _with_annotations_of(outer: _Node, node: _Node) -> _Node:
    """Return `node` with the annotations of the enclosing union."""
    out = {**node}
    if "title" in outer:
        out.setdefault("title", outer["title"])
    if "description" in outer:
        texts: list[str] = [outer["description"], node.get("description", "")]
        out["description"] = "\n".join(dict.fromkeys(filter(None, texts)))
    if "default" in outer and fits(outer["default"], node.get("types")):
        out.setdefault("default", outer["default"])
    return out


def _product(first: list[_Schemas], second: list[_Schemas]) -> list[_Schemas]:
    """Return the union that holds if and only if both unions hold: each member of one with each of
    the other.
    """
    if len(first) * len(second) > BOUNDS.inlined:
        raise _Conflict("anyOf")
    return [one + two for one in first for two in second]


def _common_types(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    """Return the types that both nodes allow. NUMBER includes INTEGER."""
    both = [kind for kind in first if kind in second or (kind == "INTEGER" and "NUMBER" in second)]
    if "NUMBER" in first and "INTEGER" in second:
        both.append("INTEGER")
    if not both:
        raise _Conflict("type")
    return tuple(dict.fromkeys(both))


def _common_values(first: list[Any], second: list[Any]) -> list[Any]:
    """Return the values that are in both enums, in the order of the first."""
    known = {as_json(value, "") for value in second}
    both = [value for value in first if as_json(value, "") in known]
    if not both:
        raise _Conflict("enum")
    return both


def _applicable(node: _Node, types: Sequence[str] | None) -> _Node:
    """Return the keywords of `node` that apply to values of `types`; the others do not restrict
    them.
    """
    if types is None:
        return node
    out = {
        name: value
        for name, value in node.items()
        if name not in TYPES_OF_KEYWORD or set(TYPES_OF_KEYWORD[name]) & set(types)
    }
    if "format" in out and not set(TYPES_OF_FORMAT.get(out["format"], ("STRING",))) & set(types):
        del out["format"]
    if "enum" in out:
        out["enum"] = [value for value in out["enum"] if fits(value, types)]
        if not out["enum"]:
            raise _Conflict("enum")
    return out


def _adds_no_property(branch: _Node, siblings: _Node) -> bool:
    """Return whether a member of a union only restricts the object that the keywords beside anyOf
    describe: it requires properties or limits their number.
    """
    return branch.keys() - siblings.keys() <= KEYWORDS_OF_OBJECT_BRANCH and all(
        branch[name] == value
        for name, value in siblings.items()
        if name in branch and name not in KEYWORDS_OF_OBJECT_BRANCH
    )


def _path(schemas: _Schemas | None, otherwise: str) -> str:
    """Return the path of the first schema in the source; `otherwise` for a node made by a merge."""
    first = schemas[0] if schemas else None
    return first.path if isinstance(first, _At) else otherwise
