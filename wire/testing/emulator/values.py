"""A value that fits a schema, Gemini's or JSON Schema; the same schema gives the same value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wire.testing.emulator.patterns import matching

_MAX_DEPTH = 6
"""Levels with optional properties; deeper there are only required ones."""
_MAX_NODES = 10_000
"""Schemas that one value may follow: references can double at each level."""
_MAX_CHARACTERS = 100_000
"""Of all texts that a schema asks for."""
_MAX_HINTS = 1_000
_FORMATS = {
    "date-time": "2026-11-21T12:00:00Z",
    "date": "2026-11-21",
    "time": "12:00:00Z",
    "duration": "P1D",
    "email": "user@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_TYPES = {1: "string", 2: "number", 3: "integer", 4: "boolean", 5: "array", 6: "object", 7: "null"}


@dataclass(frozen=True, slots=True)
class Hints:
    """Names, dates and numbers of the question; a value uses the first that fits each field."""

    names: Sequence[str] = ()
    dates: Sequence[str] = ()
    numbers: Sequence[float] = ()
    question: str = ""


@dataclass(slots=True)
class _Unused:
    names: list[str]
    dates: list[str]
    numbers: list[float]
    question: str
    nodes: int = _MAX_NODES
    characters: int = _MAX_CHARACTERS

    def follow(self) -> None:
        """Count one schema. Raises `ValueError` if there are too many."""
        self.nodes -= 1
        if self.nodes < 0:
            raise ValueError(f"the schema asks for more than {_MAX_NODES} values")

    def write(self, length: int) -> None:
        """Count characters before they are made. Raises `ValueError` if there are too many."""
        self.characters -= length
        if self.characters < 0:
            raise ValueError(f"the schema asks for more than {_MAX_CHARACTERS} characters")


def example(schema: Any, hints: Hints | None = None, *, every: bool = True) -> Any:
    """Build a value that a schema allows, with `every` property or with the required ones alone.

    >>> days = {"type": "integer", "minimum": 2}
    >>> example({"type": "OBJECT", "properties": {"city": {"type": "STRING"}, "days": days}})
    {'city': 'city', 'days': 2}

    Raises `ValueError` for an invalid schema, and for one that only a very large value fits.
    """
    hints = hints or Hints()
    left = _Unused(
        list(hints.names[:_MAX_HINTS]),
        list(hints.dates[:_MAX_HINTS]),
        list(hints.numbers[:_MAX_HINTS]),
        hints.question.lower(),
    )
    try:
        return _value(schema, schema, "value", left, every, 0)
    except (
        TypeError,
        AttributeError,
        KeyError,
        IndexError,
        ArithmeticError,
        RecursionError,
    ) as cause:
        raise ValueError(f"invalid schema: {cause}") from None


def _value(node: Any, root: Any, name: str, left: _Unused, every: bool, depth: int) -> Any:
    if not isinstance(node, Mapping):
        return name  # `true` allows anything
    left.follow()
    node = _resolved(node, root, left)
    if "const" in node:
        return node["const"]
    options = node.get("enum")
    if options:
        return next(
            (each for each in options if isinstance(each, str) and each.lower() in left.question),
            options[0],
        )
    for key in ("anyOf", "oneOf"):
        branches = [each for each in node.get(key) or () if isinstance(each, Mapping)]
        if branches:
            chosen = next(
                (each for each in branches if _type(_resolved(each, root, left)) != "null"),
                branches[0],
            )
            rest = {name: value for name, value in node.items() if name != key}
            return _value(
                {**rest, **_resolved(chosen, root, left)}, root, name, left, every, depth + 1
            )
    kind = _type(node)
    if kind == "object":
        return _object(node, root, left, every, depth)
    if kind == "array":
        return _array(node, root, name, left, every, depth)
    if kind in ("integer", "number"):
        return _number(node, kind, left)
    if kind == "boolean":
        return True
    return None if kind == "null" else _string(node, name, left)


def _resolved(node: Mapping[str, Any], root: Any, left: _Unused) -> Mapping[str, Any]:
    """Follow the reference of a node, and merge its `allOf`."""
    left.follow()
    seen = 0
    while "$ref" in node or "ref" in node:
        at: Any = root
        for step in str(node.get("$ref") or node.get("ref")).lstrip("#/").split("/"):
            at = (
                at.get(step.replace("~1", "/").replace("~0", "~"), {})
                if isinstance(at, Mapping) and step
                else at
            )
        node, seen = ({} if seen > _MAX_DEPTH or not isinstance(at, Mapping) else at), seen + 1
    if "allOf" in node:
        merged: dict[str, Any] = {}
        for each in (node, *(_resolved(each, root, left) for each in node["allOf"])):
            for key, value in each.items():
                both = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
                merged[key] = (
                    {**merged[key], **value}
                    if both
                    else [*merged[key], *value]
                    if key == "required" and key in merged
                    else value
                )
        merged.pop("allOf", None)
        return merged
    return node


def _type(node: Mapping[str, Any]) -> str:
    kind = node.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if isinstance(kind, int):
        kind = _TYPES.get(kind, "")
    if not kind:
        kind = (
            "object"
            if "properties" in node
            else "array"
            if "items" in node or "prefixItems" in node
            else "string"
        )
    return str(kind).lower()


def _object(
    node: Mapping[str, Any], root: Any, left: _Unused, every: bool, depth: int
) -> dict[str, Any]:
    properties = node.get("properties") or {}
    required = node.get("required")
    if required is not None:  # a set, since a schema can have a hundred thousand names
        required = {each for each in required if isinstance(each, str)}
    requested = list(node.get("propertyOrdering") or properties)
    if required is not None and (not every or depth >= _MAX_DEPTH):
        requested = [name for name in requested if name in required]
    elif depth >= _MAX_DEPTH:
        requested = []
    return {
        name: _value(properties[name], root, name, left, every, depth + 1)
        for name in requested
        if name in properties
    }


def _array(
    node: Mapping[str, Any], root: Any, name: str, left: _Unused, every: bool, depth: int
) -> list[Any]:
    first = [
        _value(each, root, name, left, every, depth + 1) for each in node.get("prefixItems") or ()
    ]
    least, most = int(node.get("minItems") or 0), node.get("maxItems")
    requested = max(least, 0 if depth >= _MAX_DEPTH or "items" not in node else 1)
    if most is not None:
        requested = min(requested, int(most))
    rest = [
        _value(node.get("items", True), root, name, left, every, depth + 1)
        for _ in range(len(first), requested)
    ]
    return first + rest


def _number(node: Mapping[str, Any], kind: str, left: _Unused) -> int | float:
    low, high = node.get("minimum"), node.get("maximum")
    step = node.get("multipleOf") or 1
    over, under = node.get("exclusiveMinimum"), node.get("exclusiveMaximum")
    low = over + step if isinstance(over, (int, float)) and not isinstance(over, bool) else low
    high = under - step if isinstance(under, (int, float)) and not isinstance(under, bool) else high
    for index, hint in enumerate(left.numbers):
        fits = (low is None or hint >= low) and (high is None or hint <= high) and not hint % step
        if fits and (kind == "number" or hint == int(hint)):
            return int(left.numbers.pop(index)) if hint == int(hint) else left.numbers.pop(index)
    value = low if low is not None else min(step, high) if high is not None else step
    value = -(-value // step) * step
    return int(value) if kind == "integer" or value == int(value) else value


def _string(node: Mapping[str, Any], name: str, left: _Unused) -> str:
    form = node.get("format")
    if form in ("date", "date-time") and left.dates:
        date = left.dates.pop(0)
        return date if form == "date" else f"{date}T00:00:00Z"
    if form in _FORMATS:
        return _FORMATS[form]
    pattern = node.get("pattern")
    if pattern:
        text = matching(pattern)
        left.write(len(text))
        return text
    text = left.names.pop(0) if left.names else name
    least, most = int(node.get("minLength") or 0), node.get("maxLength")
    left.write(max(least, len(text)))
    text = text + "." * (least - len(text))
    return text if most is None else text[: int(most)]
