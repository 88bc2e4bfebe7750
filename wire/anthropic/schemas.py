"""Output schemas in the subset of JSON Schema that `output_config.format` accepts.

Objects are closed, and limits such as `minimum` move into the descriptions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.anthropic.rules import as_object, nodes, reference_cycle
from wire.core.memory import Note

_UNSUPPORTED_KEYWORDS = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
)
"""Keywords that the server's schema compiler refuses. The answer is validated against the original
schema, so these limits still hold.
"""


def schema_problem(schema: Mapping[str, Any]) -> str:
    """Return the reason why the server cannot enforce this schema; `""` if it can.

    >>> schema_problem({"type": "object", "additionalProperties": {"type": "string"}})
    'an object may have keys that the schema does not name'
    """
    cycle = reference_cycle(schema)
    if cycle:
        return f"a definition refers to itself ({cycle})"
    for node in nodes(schema):
        if isinstance(node.get("additionalProperties"), Mapping) or node.get("patternProperties"):
            return "an object may have keys that the schema does not name"
    return ""


def closed(schema: Mapping[str, Any], path: str, notes: list[Note]) -> dict[str, Any]:
    """Copy the schema in the form that the server accepts. Each change is added to `notes`.

    >>> closed(
    ...     {"type": "object", "properties": {"metres": {"type": "number", "minimum": 0}}},
    ...     "output.schema",
    ...     [],
    ... )["properties"]
    {'metres': {'type': 'number', 'description': 'minimum: 0'}}
    """
    copy = dict(schema)
    limits = {key: copy.pop(key) for key in _UNSUPPORTED_KEYWORDS if key in copy}
    if copy.get("minItems") not in (None, 0, 1):
        limits["minItems"] = copy.pop("minItems")
    if limits and isinstance(schema.get("type"), (str, list)):
        words = ", ".join(f"{key}: {value}" for key, value in limits.items())
        description = copy.get("description")
        copy["description"] = f"{description} ({words})" if description else words
        notes.append(
            Note(
                path,
                f"{', '.join(limits)} moved into the description: the server refuses such keywords",
            )
        )
    elif limits:
        copy |= limits
    if _is_object(copy) and copy.get("additionalProperties") is not False:
        copy["additionalProperties"] = False
        notes.append(
            Note(
                path,
                "added additionalProperties: false, which the server requires for objects",
            )
        )
    for key in ("properties", "$defs", "definitions"):
        inner = as_object(copy.get(key))
        if inner:
            copy[key] = {
                name: _closed(each, f"{path}.{key}.{name}", notes) for name, each in inner.items()
            }
    if "items" in copy:
        copy["items"] = _closed(copy["items"], f"{path}.items", notes)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        alternatives = copy.get(key)
        if isinstance(alternatives, (list, tuple)):
            copy[key] = [
                _closed(each, f"{path}.{key}[{index}]", notes)
                for index, each in enumerate(alternatives)
            ]
    return copy


def _closed(schema: Any, path: str, notes: list[Note]) -> Any:
    return closed(schema, path, notes) if isinstance(schema, Mapping) else schema


def _is_object(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return (
        kind == "object"
        or (isinstance(kind, (list, tuple)) and "object" in kind)
        or (kind is None and "properties" in schema)
    )
