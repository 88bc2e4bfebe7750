"""The schema of an answer as `output_config.format` takes it: objects closed, limits said
in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.anthropic.rules.rule_input import an_object
from wire.anthropic.rules.settings import circular, nodes
from wire.core.memory import Note

_LIMITS = (
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
"""Keywords that the server's compiler refuses; what was answered is held to them here all
the same.
"""


def unsayable(schema: Mapping[str, Any]) -> str:
    """Why the server cannot hold an answer to this schema; empty if it can."""
    circle = circular(schema)
    if circle:
        return f"a definition refers to itself ({circle})"
    for node in nodes(schema):
        if isinstance(node.get("additionalProperties"), Mapping) or node.get("patternProperties"):
            return "an object may have keys that are not named"
    return ""


def closed(schema: Mapping[str, Any], path: str, found: list[Note]) -> dict[str, Any]:
    """A copy of the schema that the server takes; what is changed is told.

    >>> closed(
    ...     {"type": "object", "properties": {"metres": {"type": "number", "minimum": 0}}},
    ...     "output.schema",
    ...     [],
    ... )["properties"]
    {'metres': {'type': 'number', 'description': 'minimum: 0'}}
    """
    copy = dict(schema)
    limits = {key: copy.pop(key) for key in _LIMITS if key in copy}
    if copy.get("minItems") not in (None, 0, 1):
        limits["minItems"] = copy.pop("minItems")
    if limits and isinstance(schema.get("type"), (str, list)):
        words = ", ".join(f"{key}: {value}" for key, value in limits.items())
        said = copy.get("description")
        copy["description"] = f"{said} ({words})" if said else words
        found.append(
            Note(
                path,
                f"{', '.join(limits)} moved into the description: this wire has no such keywords",
            )
        )
    elif limits:
        copy |= limits
    if _is_object(copy) and copy.get("additionalProperties") is not False:
        copy["additionalProperties"] = False
        found.append(
            Note(
                path,
                "additionalProperties: false was added, without which this wire refuses an object",
            )
        )
    for key in ("properties", "$defs", "definitions"):
        inner = an_object(copy.get(key))
        if inner:
            copy[key] = {
                name: _closed(each, f"{path}.{key}.{name}", found) for name, each in inner.items()
            }
    if "items" in copy:
        copy["items"] = _closed(copy["items"], f"{path}.items", found)
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        several = copy.get(key)
        if isinstance(several, (list, tuple)):
            copy[key] = [
                _closed(each, f"{path}.{key}[{at}]", found) for at, each in enumerate(several)
            ]
    return copy


def _closed(schema: Any, path: str, found: list[Note]) -> Any:
    return closed(schema, path, found) if isinstance(schema, Mapping) else schema


def _is_object(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return (
        kind == "object"
        or (isinstance(kind, (list, tuple)) and "object" in kind)
        or (kind is None and "properties" in schema)
    )
