"""OpenAI's requirements for the schemas of tools and outputs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wire.core.secret import quoted

_Context = tuple[str | int, ...]


def open_object(schema: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return the first object of a schema that is not closed, or does not require a property.

    Returns its path below the schema, the server's words, and a remedy. The server reports only
    the first one too.

    >>> open_object({"type": "object", "properties": {}})[1]
    "In context=(), 'additionalProperties' is required to be supplied and to be false."
    """
    for context, node in nodes(schema, ()):
        properties = node.get("properties")
        if node.get("type") != "object" and not isinstance(properties, Mapping):
            continue
        at = _json_path(context)
        if node.get("additionalProperties") is not False:
            return (
                at,
                f"In context={context!r}, 'additionalProperties' is required to be supplied and "
                "to be false.",
                'set "additionalProperties": false in every object, or strict: false',
            )
        required = node.get("required")
        names = properties if isinstance(properties, Mapping) else {}
        listed = required if isinstance(required, (list, tuple)) else ()
        present = {each for each in listed if isinstance(each, str)}
        missing = [name for name in names if name not in present]
        if missing:
            return (
                at,
                f"In context={context!r}, 'required' is required to be supplied and to be an array "
                f"including every key in properties. Missing '{missing[0]}'.",
                "require each property, and let optional ones be null; or strict: false",
            )
    return None


def nodes(schema: Any, context: _Context) -> Iterator[tuple[_Context, Mapping[str, Any]]]:
    """Yield the schema and its subschemas, each with its keys from the root.

    `$ref` is not followed.
    """
    if not isinstance(schema, Mapping):
        return
    yield context, schema
    for key in ("properties", "$defs", "definitions"):
        inner = schema.get(key)
        for name, each in inner.items() if isinstance(inner, Mapping) else ():
            yield from nodes(each, (*context, key, name))
    yield from nodes(schema.get("items"), (*context, "items"))
    for key in ("anyOf", "allOf", "oneOf"):
        alternatives = schema.get(key)
        for index, each in enumerate(alternatives if isinstance(alternatives, list) else ()):
            yield from nodes(each, (*context, key, index))


_TYPES = ("array", "boolean", "integer", "null", "number", "object", "string")
_OTHER_TYPES = {
    "list": "array",
    "tuple": "array",
    "bool": "boolean",
    "int": "integer",
    "none": "null",
    "float": "number",
    "dict": "object",
    "map": "object",
    "str": "string",
    "text": "string",
}
"""Name of a type in programming languages -> the type of JSON Schema."""

MAY_BE_UNKNOWN = re.compile(
    r'"type":(?:"(?!(?:{0}|function)")|\[(?!(?:"(?:{0})",?)*\]))'.format("|".join(_TYPES)).encode()
)
"""Finds a `type` in JSON that JSON Schema lacks: in a schema, or in data such as an example."""


def unknown_types(schema: Any) -> Iterator[tuple[str, str, str]]:
    """Yield each `type` in a schema that JSON Schema lacks.

    An item is its path below the schema, the problem and a remedy.

    >>> list(unknown_types({"type": "list"}))
    [('.type', "'list' is no type of JSON Schema", 'use "array"')]
    """
    for context, node in nodes(schema, ()):
        types = node.get("type")
        for each in types if isinstance(types, (list, tuple)) else (types,):
            if isinstance(each, str) and each not in _TYPES:
                near = _OTHER_TYPES.get(each.lower(), each.lower())
                remedy = f'use "{near}"' if near in _TYPES else f"use one of {', '.join(_TYPES)}"
                problem = f"{quoted(each, 40)} is no type of JSON Schema"
                yield f"{_json_path(context)}.type", problem, remedy


def _json_path(context: _Context) -> str:
    """Return the JSON path of the keys from the root of a schema."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in context)
