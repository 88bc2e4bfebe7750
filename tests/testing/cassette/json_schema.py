"""As much of JSON Schema as the cassette's schema uses, so that a test can hold file, schema and
structs against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "boolean": bool,
}
_SAID = {"$schema", "$defs", "title", "description", "default"}
_KEYWORDS = _SAID | {
    "$ref",
    "type",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "anyOf",
    "oneOf",
    "items",
}
_KEYWORDS |= {"properties", "required", "additionalProperties"}


def faults(
    value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "$"
) -> Iterator[str]:
    """What is wrong with `value`: the paths at which a keyword of the schema is not kept."""
    assert schema.keys() <= _KEYWORDS, "a keyword that is not looked at here"
    if "$ref" in schema:
        yield from faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, path)
    wanted = schema.get("type")
    if wanted is not None and (
        not isinstance(value, _TYPES[wanted])
        or isinstance(value, bool) is not (wanted == "boolean")
    ):
        yield f"{path}: {wanted}"
        return
    if "enum" in schema and not any(
        type(each) is type(value) and each == value for each in schema["enum"]
    ):
        yield f"{path}: enum"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{path}: pattern"
    if wanted == "integer" and not schema.get("minimum", value) <= value <= schema.get(
        "maximum", value
    ):
        yield f"{path}: range"
    for keyword, enough in (("anyOf", range(1, 100)), ("oneOf", range(1, 2))):
        if (
            keyword in schema
            and sum(not list(faults(value, each, root)) for each in schema[keyword]) not in enough
        ):
            yield f"{path}: {keyword}"
    if isinstance(value, list) and "items" in schema:
        for index, item in enumerate(value):
            yield from faults(item, schema["items"], root, f"{path}[{index}]")
    if isinstance(value, dict):
        yield from (
            f"{path}.{name}: required" for name in schema.get("required", ()) if name not in value
        )
        other = schema.get("additionalProperties", True)
        for name, item in value.items():
            inner = schema.get("properties", {}).get(name, other)
            if inner is False:
                yield f"{path}.{name}: unknown"
            elif inner is not True:
                yield from faults(item, inner, root, f"{path}.{name}")
