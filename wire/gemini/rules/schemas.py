"""Rules about schemas: the Schema proto (G41 to G50), JSON Schema (G51), both (G52 to G54).

A mapping inside a schema is a schema or data, depending on its position: the keys under
`properties` are names of properties, not keywords. Google does not publish its limits; the limits
here lie between recorded schemas that were accepted and that were refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wire.core.errors import Violation
from wire.gemini.rules.fields import snake
from wire.gemini.rules.rule_input import RuleInput
from wire.gemini.schema_values import MAX_LEVELS, TYPES

Violations = Iterator[Violation]

MAX_SUM_OF_MAX_ITEMS = 960
"""Maximum sum of `maxItems` over a schema (G54)."""
MAX_GRAMMAR_STATES = 30_000
"""Maximum number of states of a grammar, by the rough count of `_measure` (G53)."""

_STRING_FORMATS = ("enum", "date-time")  # G43


class Node(msgspec.Struct, frozen=True):
    """A node of a schema in the Schema proto."""

    plain: Mapping[str, Any]
    """The keywords of the node."""
    kind: str
    """Name of the type; empty if the node has none."""
    position: Any
    """The position of the enclosing node (`None` at the root), and one step in three spellings. The
    steps are joined to a path only for a violation, which is rare.
    """

    @property
    def path(self) -> str:
        """The JSON path."""
        return self._joined(1)

    @property
    def field(self) -> str:
        """The path in the spelling of the server's validator."""
        return self._joined(2)

    @property
    def dotted(self) -> str:
        """The path in the spelling of Vertex, below the declaration."""
        return self._joined(3)

    def _joined(self, spelling: int) -> str:
        steps, position = [], self.position
        while position is not None:
            steps.append(position[spelling])
            position = position[0]
        return "".join(reversed(steps))


class RootSchema(msgspec.Struct, frozen=True):
    """A schema of the request."""

    plain: Any
    path: str
    json: bool
    """True for JSON Schema, false for the proto."""
    name: str
    """Name of the function; empty for the schema of the response."""

    def owner(self, dotted: str) -> str:
        """Return the position of a node in error texts of Vertex."""
        return f"`{self.name}` functionDeclaration `{dotted}`" if self.name else f"`{dotted}`"


def schemas_are_sound(request: RuleInput) -> Violations:
    """G41 to G54, for each schema of the request."""
    for root in _roots(request):
        if root.json:
            yield from _references(request, root)
        else:
            for node in _nodes(root):
                # Most nodes are typed leaves with keywords that no rule is about; they are skipped.
                if (
                    not node.kind
                    or node.position[0] is None
                    or not _KEYWORDS_WITHOUT_RULE.issuperset(node.plain)
                    or node.kind == "ARRAY"
                ):
                    yield from _node(request, root, node)
        yield from _limits(request, root)


def _roots(request: RuleInput) -> Iterator[RootSchema]:
    for each in request.unchecked_functions:
        for key in ("parameters", "response", "parametersJsonSchema", "responseJsonSchema"):
            plain = each.plain.get(key)
            if plain is not None:
                yield RootSchema(plain, f"{each.path}.{key}", key.endswith("JsonSchema"), each.name)
    for key in ("responseSchema", "responseJsonSchema"):
        plain = request.config.get(key)
        if plain is not None:
            yield RootSchema(plain, f"generationConfig.{key}", key.endswith("JsonSchema"), "")


def _nodes(root: RootSchema) -> Iterator[Node]:
    """Yield the nodes of a proto schema, each before its inner nodes.

    A work list and no recursion: the depth of a schema is checked later (G52), and a deeply nested
    one must not end in RecursionError.
    """
    todo: list[tuple[Any, Any]] = [
        (root.plain, (None, root.path, snake(root.path), root.path.rpartition(".")[2]))
    ]
    while todo:
        plain, position = todo.pop()
        if not isinstance(plain, dict):
            continue
        kind = plain.get("type")
        if isinstance(kind, int):
            kind = TYPES[kind - 1] if 0 < kind <= len(TYPES) else ""
        name = str(kind or "").upper()
        yield Node(plain, name if name in TYPES else "", position)
        if _INNER_SCHEMA_KEYWORDS.isdisjoint(plain):
            continue
        inner = [
            (item, (position, f".anyOf[{index}]", f".any_of[{index}]", f".any_of[{index}]"))
            for index, item in enumerate(plain.get("anyOf") or ())
        ]
        if plain.get("items"):  # empty `items` were accepted in recorded traffic (G45)
            inner.append((plain["items"], (position, ".items", ".items", ".items")))
        for key, item in (plain.get("properties") or {}).items():
            inner.append((item, (position, f".properties.{key}", f".properties[{key}]", f".{key}")))
        todo += reversed(inner)


_INNER_SCHEMA_KEYWORDS = frozenset({"properties", "items", "anyOf"})
_KEYWORDS_WITHOUT_RULE = frozenset(
    {
        "type",
        "description",
        "title",
        "nullable",
        "default",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
    }
)


# --- one node of the proto (G41 to G50) -----------------------------------------------------------


def _node(request: RuleInput, root: RootSchema, node: Node) -> Violations:
    """G41 to G50 for one node.

    Each mistake is reported once, as on the server: a node that breaks G48 or G49 is not checked
    further.
    """
    plain = node.plain
    breaks_g49 = request.vertex and "anyOf" in plain and len(plain) > 1
    if breaks_g49:
        others = ", ".join(key for key in plain if key != "anyOf")
        message = f"{others} beside anyOf, which Vertex refuses"
        yield request.violation(
            "G49", node.path, message, field=node.field, owner=root.owner(node.dotted)
        )
    must_be_object = request.vertex or (request.gemini and request.mode == "ANY")
    if (
        must_be_object
        and node.position[0] is None
        and node.kind != "OBJECT"
        and root.path.endswith(".parameters")
    ):
        yield request.violation(
            "G50", node.path, "the parameters of a function must be an OBJECT", name=root.name
        )
    if not node.kind and "anyOf" not in plain and "ref" not in plain:
        yield request.violation(
            "G48",
            f"{node.path}.type",
            "a type is required",
            field=f"{node.field}.type",
            owner=root.owner(node.dotted),
        )
        return
    if breaks_g49:
        return
    yield from _enum(request, node)
    yield from _object(request, node)
    yield from _array(request, node)
    if node.kind == "STRING" and plain.get("format") and plain["format"] not in _STRING_FORMATS:
        yield request.violation(
            "G43", f"{node.path}.format", severity="warning", field=f"{node.field}.format"
        )


def _enum(request: RuleInput, node: Node) -> Violations:
    """G41, G42."""
    members = node.plain.get("enum")
    if not members:
        return
    if node.kind != "STRING":
        yield request.violation("G41", f"{node.path}.enum", field=f"{node.field}.enum")
    for index, member in enumerate(members):
        if member == "":
            yield request.violation(
                "G42", f"{node.path}.enum[{index}]", field=f"{node.field}.enum[{index}]"
            )


def _object(request: RuleInput, node: Node) -> Violations:
    """G44, G46, G47 for keywords of objects."""
    properties, required = node.plain.get("properties"), node.plain.get("required") or ()
    if properties and node.kind != "OBJECT":
        yield request.violation(
            "G47", f"{node.path}.properties", field=f"{node.field}.properties", type="OBJECT"
        )
    if properties == {} and node.kind == "OBJECT":
        yield request.violation(
            "G44", f"{node.path}.properties", severity="warning", field=f"{node.field}.properties"
        )
    if required and node.kind != "OBJECT":
        yield request.violation("G46 type", f"{node.path}.required", field=f"{node.field}.required")
        return
    for index, name in enumerate(required):
        if name not in (properties or ()):
            message = f"{name!r} is required, but it is not in properties"
            yield request.violation(
                "G46",
                f"{node.path}.required[{index}]",
                message,
                field=f"{node.field}.required[{index}]",
            )


def _array(request: RuleInput, node: Node) -> Violations:
    """G45, G47 for keywords of arrays."""
    if node.kind == "ARRAY" and "items" not in node.plain:
        yield request.violation("G45", f"{node.path}.items", field=f"{node.field}.items")
    if "items" in node.plain and node.kind != "ARRAY":
        yield request.violation(
            "G47", f"{node.path}.items", field=f"{node.field}.items", type="ARRAY"
        )


# --- JSON Schema (G51) ----------------------------------------------------------------------------

_ALLOWED_BESIDE_REF = frozenset({"$ref", "description", "default"})
_ALLOWED_BESIDE_ROOT_REF = _ALLOWED_BESIDE_REF | {"$defs", "title"}
# Keywords whose value is a mapping of names to schemas, and keywords whose value is data.
_SCHEMA_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_DATA_KEYWORDS = frozenset({"enum", "const", "default", "example", "examples"})


def _json_nodes(root: Any, path: str) -> Iterator[tuple[Mapping[str, Any], str, str]]:
    """Yield the schemas inside a JSON Schema: node, path, and path below the root.

    The third item of an entry of the work list is whether a mapping at that position is a schema.
    Under `properties` a mapping is not one, but its values are.
    """
    todo: list[tuple[Any, str, bool]] = [(root, "", True)]
    while todo:
        value, below, is_schema = todo.pop()
        if isinstance(value, dict):
            if is_schema:
                yield value, f"{path}{below}", below.lstrip(".")
            for key, item in value.items():
                if isinstance(item, (dict, list)) and not (is_schema and key in _DATA_KEYWORDS):
                    todo.append((item, f"{below}.{key}", not (is_schema and key in _SCHEMA_MAPS)))
        elif isinstance(value, list):
            todo += [(item, f"{below}[{index}]", True) for index, item in enumerate(value)]


def _references(request: RuleInput, root: RootSchema) -> Violations:
    """G51: each `$ref` refers to a schema, and has no other keywords beside it."""
    if not isinstance(root.plain, dict):
        return
    nodes = [
        (node, path, below)
        for node, path, below in _json_nodes(root.plain, root.path)
        if isinstance(node.get("$ref"), str)
    ]
    if not nodes:
        return
    named = {
        f"{sign}{node[key]}"
        for node, _, _ in _json_nodes(root.plain, "")
        for key, sign in (("$anchor", "#"), ("$id", ""))
        if isinstance(node.get(key), str)
    }
    for node, path, below in nodes:
        ref = node["$ref"]
        if not _exists(root.plain, ref) and ref not in named:
            # The server's error text has dots in place of brackets.
            dotted = below.replace("[", ".").replace("]", "")
            yield request.violation(
                "G51", f"{path}.$ref", f"{ref!r} refers to nothing", node=dotted
            )
        if set(node) - (_ALLOWED_BESIDE_REF if below else _ALLOWED_BESIDE_ROOT_REF):
            message = f"{', '.join(sorted(set(node) - _ALLOWED_BESIDE_REF))} beside $ref"
            yield request.violation("G51 beside", path, message, name=ref.rpartition("/")[2])


def _exists(root: Any, ref: str) -> bool:
    """Return whether a JSON pointer (RFC 6901) refers to a value in `root`."""
    if ref != "#" and not ref.startswith("#/"):
        return False
    target = root
    for step in ref[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(target, dict) and step in target:
            target = target[step]
        elif isinstance(target, list) and step.isdecimal() and int(step) < len(target):
            target = target[int(step)]
        else:
            return False
    return True


# --- limits of both (G52 to G54) ------------------------------------------------------------------


def _limits(request: RuleInput, root: RootSchema) -> Violations:
    """G52, G53, G54."""
    depth, items, count = _measure(root.plain)
    if depth > MAX_LEVELS:
        message = f"nested {depth} levels deep; the limit is {MAX_LEVELS}"
        yield request.violation("G52" if root.name else "G52 response", root.path, message)
        return  # too many states (G53) would be a second violation for the same mistake
    if items > MAX_SUM_OF_MAX_ITEMS:
        # The server compiles the schema of a function to a grammar in modes ANY and VALIDATED only.
        compiled = not root.name or request.mode in ("ANY", "VALIDATED")
        message = f"the sum of maxItems is {items}; the limit is about {MAX_SUM_OF_MAX_ITEMS}"
        yield request.violation("G54", root.path, message, "error" if compiled else "warning")
    # Without a model, a violation means that every model refuses; the count is too rough for that.
    if count > MAX_GRAMMAR_STATES and request.model:
        message = f"about {count:,} states; more than about {MAX_GRAMMAR_STATES:,} may be refused"
        yield request.violation("G53", root.path, message)


def _measure(root: Any) -> tuple[int, int, int]:
    """Return the depth in levels of schemas, the sum of `maxItems`, and a rough count of grammar
    states.

    A node counts as one state, or as the characters of its enum. Each array around it multiplies
    the count by its `maxItems`, since a grammar repeats the items that often.
    """
    depth = items = states = 0
    todo: list[tuple[Any, int, int]] = [(root, 1, 1)]
    while todo:
        node, level, times = todo.pop()
        if not isinstance(node, dict):
            continue
        if level > depth:
            depth = level
        members = node.get("enum")
        states += times * (
            sum(len(str(member)) for member in members) if isinstance(members, list) else 1
        )
        if _MEASURED_KEYWORDS.isdisjoint(node):
            continue
        bound = _number(node.get("maxItems"))
        items += bound
        for key in _MEASURED_KEYWORDS.intersection(node):
            value = node[key]
            step = 0 if key in _DEFINITIONS else 1  # definitions do not nest
            inside = times * max(bound, 1) if key == "items" else times
            if key in _SCHEMA_MAPS or key == "defs":
                todo += (
                    [(item, level + step, times) for item in value.values()]
                    if isinstance(value, dict)
                    else []
                )
            elif isinstance(value, list):
                todo += [(item, level + step, inside) for item in value]
            else:
                todo.append((value, level + step, inside))
    return depth, items, states


_DEFINITIONS = frozenset({"$defs", "definitions", "defs"})
_MEASURED_KEYWORDS = _DEFINITIONS | {
    "properties",
    "items",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "allOf",
    "prefixItems",
    "maxItems",
}


def _number(value: Any) -> int:
    """Convert the value of `maxItems`, which may be text, to a number; 0 for a malformed one."""
    try:
        return 0 if value is None or isinstance(value, bool) else max(int(value), 0)
    except (TypeError, ValueError, OverflowError):
        return 0
