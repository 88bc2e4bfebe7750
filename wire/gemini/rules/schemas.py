"""Rules about schemas: the Schema proto (G41 to G50), JSON Schema (G51), both (G52 to G54).

The walk distinguishes schemas of the proto from data by position: names under `properties` are
data. Google does not publish its limits; the ones here lie between what was accepted and what was
refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from wire.errors import Violation
from wire.gemini.rules.fields import snake
from wire.gemini.rules.rule_input import RuleInput
from wire.gemini.schema_values import DEEPEST, TYPES

Violations = Iterator[Violation]

MOST_ITEMS = 960
"""Maximum sum of `maxItems` over a schema (G54)."""
MOST_STATES = 30_000
"""Maximum number of states of a grammar, by the rough count of `_measure` (G53)."""

_FORMATS = ("enum", "date-time")


class Node(NamedTuple):
    """A node of a proto schema, the name of its type, and its way: the enclosing node's way, and
    one step in three spellings.
    """

    plain: Mapping[str, Any]
    kind: str
    """Empty if the node has no type."""
    way: Any

    @property
    def path(self) -> str:
        """The JSON path."""
        return self._written(1)

    @property
    def field(self) -> str:
        """The path in the spelling of the server's validator."""
        return self._written(2)

    @property
    def dotted(self) -> str:
        """The path in the spelling of Vertex, below the declaration."""
        return self._written(3)

    def _written(self, spelling: int) -> str:
        steps, way = [], self.way
        while way is not None:
            steps.append(way[spelling])
            way = way[0]
        return "".join(reversed(steps))


class Rooted(NamedTuple):
    """A schema of the request."""

    plain: Any
    path: str
    json: bool
    """True for JSON Schema, false for the proto."""
    name: str
    """Name of the function; empty for the schema of the answer."""

    def owner(self, dotted: str) -> str:
        """The position of a node in the words of Vertex."""
        return f"`{self.name}` functionDeclaration `{dotted}`" if self.name else f"`{dotted}`"


def schemas_are_sound(request: RuleInput) -> Violations:
    """G41 to G54, schema by schema."""
    for root in _roots(request):
        if root.json:
            yield from _references(request, root)
        else:
            for node in _nodes(root):
                # Most nodes are typed leaves with harmless keywords, which no rule refuses.
                if (
                    not node.kind
                    or node.way[0] is None
                    or not _HARMLESS.issuperset(node.plain)
                    or node.kind == "ARRAY"
                ):
                    yield from _node(request, root, node)
        yield from _limits(request, root)


def _roots(request: RuleInput) -> Iterator[Rooted]:
    for each in request.unjudged:
        for key in ("parameters", "response", "parametersJsonSchema", "responseJsonSchema"):
            plain = each.plain.get(key)
            if plain is not None:
                yield Rooted(plain, f"{each.path}.{key}", key.endswith("JsonSchema"), each.name)
    for key in ("responseSchema", "responseJsonSchema"):
        plain = request.config.get(key)
        if plain is not None:
            yield Rooted(plain, f"generationConfig.{key}", key.endswith("JsonSchema"), "")


def _nodes(root: Rooted) -> Iterator[Node]:
    todo: list[tuple[Any, Any]] = [
        (root.plain, (None, root.path, snake(root.path), root.path.rpartition(".")[2]))
    ]
    while todo:
        plain, way = todo.pop()
        if not isinstance(plain, dict):
            continue
        kind = plain.get("type")
        if isinstance(kind, int):
            kind = TYPES[kind - 1] if 0 < kind <= len(TYPES) else ""
        name = str(kind or "").upper()
        yield Node(plain, name if name in TYPES else "", way)
        if _LEAF.isdisjoint(plain):
            continue
        inner = [
            (item, (way, f".anyOf[{index}]", f".any_of[{index}]", f".any_of[{index}]"))
            for index, item in enumerate(plain.get("anyOf") or ())
        ]
        if plain.get("items"):  # the server was seen to accept an empty one (G45)
            inner.append((plain["items"], (way, ".items", ".items", ".items")))
        for key, item in (plain.get("properties") or {}).items():
            inner.append((item, (way, f".properties.{key}", f".properties[{key}]", f".{key}")))
        todo += reversed(inner)


_LEAF = frozenset({"properties", "items", "anyOf"})
_HARMLESS = frozenset(
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


def _node(request: RuleInput, root: Rooted, node: Node) -> Violations:
    plain = node.plain
    alone = request.vertex and "anyOf" in plain and len(plain) > 1
    if alone:
        beside = ", ".join(key for key in plain if key != "anyOf")
        message = f"{beside} beside anyOf, which Vertex refuses"
        yield request.violation(
            "G49", node.path, message, field=node.field, owner=root.owner(node.dotted)
        )
    bound = request.vertex or (request.gemini and request.mode == "ANY")
    if (
        bound
        and node.way[0] is None
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
    if alone:
        return
    yield from _enum(request, node)
    yield from _object(request, node)
    yield from _array(request, node)
    if node.kind == "STRING" and plain.get("format") and plain["format"] not in _FORMATS:
        yield request.violation(
            "G43", f"{node.path}.format", severity="warning", field=f"{node.field}.format"
        )


def _enum(request: RuleInput, node: Node) -> Violations:
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
    if node.kind == "ARRAY" and "items" not in node.plain:
        yield request.violation("G45", f"{node.path}.items", field=f"{node.field}.items")
    if "items" in node.plain and node.kind != "ARRAY":
        yield request.violation(
            "G47", f"{node.path}.items", field=f"{node.field}.items", type="ARRAY"
        )


# --- JSON Schema (G51) ----------------------------------------------------------------------------

_BESIDE_REF = frozenset({"$ref", "description", "default"})
_BESIDE_REF_AT_THE_ROOT = _BESIDE_REF | {"$defs", "title"}
_OF_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_OF_DATA = frozenset({"enum", "const", "default", "example", "examples"})


def _json_nodes(root: Any, path: str) -> Iterator[tuple[Mapping[str, Any], str, str]]:
    """The schemas inside a JSON Schema, by position: node, path, and path below the root."""
    todo: list[tuple[Any, str, bool]] = [(root, "", True)]
    while todo:
        value, here, is_schema = todo.pop()
        if isinstance(value, dict):
            if is_schema:
                yield value, f"{path}{here}", here.lstrip(".")
            for key, item in value.items():
                if isinstance(item, (dict, list)) and not (is_schema and key in _OF_DATA):
                    todo.append((item, f"{here}.{key}", not (is_schema and key in _OF_SCHEMAS)))
        elif isinstance(value, list):
            todo += [(item, f"{here}[{index}]", True) for index, item in enumerate(value)]


def _references(request: RuleInput, root: Rooted) -> Violations:
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
        if not _leads_somewhere(root.plain, ref) and ref not in named:
            # The server writes the path with dots alone.
            dotted = below.replace("[", ".").replace("]", "")
            yield request.violation(
                "G51", f"{path}.$ref", f"{ref!r} refers to nothing", node=dotted
            )
        if set(node) - (_BESIDE_REF if below else _BESIDE_REF_AT_THE_ROOT):
            message = f"{', '.join(sorted(set(node) - _BESIDE_REF))} beside $ref"
            yield request.violation("G51 beside", path, message, name=ref.rpartition("/")[2])


def _leads_somewhere(root: Any, ref: str) -> bool:
    if ref != "#" and not ref.startswith("#/"):
        return False
    found = root
    for step in ref[1:].split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, list) and step.isdecimal() and int(step) < len(found):
            found = found[int(step)]
        else:
            return False
    return True


# --- limits of both (G52 to G54) ------------------------------------------------------------------


def _limits(request: RuleInput, root: Rooted) -> Violations:
    depth, items, count = _measure(root.plain)
    if depth > DEEPEST:
        message = f"nested {depth} levels deep; the limit is {DEEPEST}"
        yield request.violation("G52" if root.name else "G52 response", root.path, message)
        return  # such a schema has many states too; one violation is enough
    if items > MOST_ITEMS:
        # The modes ANY and VALIDATED alone compile the schema of a function to a grammar.
        bound = not root.name or request.mode in ("ANY", "VALIDATED")
        message = f"the sum of maxItems is {items}; the limit is about {MOST_ITEMS}"
        yield request.violation("G54", root.path, message, "error" if bound else "warning")
    if count > MOST_STATES and request.model:  # too rough to refuse what has no model yet
        yield request.violation(
            "G53", root.path, f"about {count:,} states, and some {MOST_STATES:,} may be too many"
        )


def _measure(root: Any) -> tuple[int, int, int]:
    """Depth in levels of schemas, sum of maxItems, and a rough count of states: the characters of
    enums, times the bounds of the arrays around them.
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
        if _OF_NODES.isdisjoint(node):
            continue
        bound = _number(node.get("maxItems"))
        items += bound
        for key in _OF_NODES.intersection(node):
            value = node[key]
            step = 0 if key in _ASIDE else 1
            inside = times * max(bound, 1) if key == "items" else times
            if key in _OF_SCHEMAS or key == "defs":
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


_ASIDE = frozenset({"$defs", "definitions", "defs"})
_OF_NODES = _ASIDE | {
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
    try:
        return 0 if value is None or isinstance(value, bool) else max(int(value), 0)
    except (TypeError, ValueError, OverflowError):
        return 0
