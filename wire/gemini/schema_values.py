"""Values that stand in a schema: read, compared, and refused with their path where they are not
what the keyword takes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from wire.errors import SchemaError, Violation

DEEPEST = 16
"""Levels of a schema (G52). The limit is published nowhere: 5 levels were accepted, 24 refused."""

# The numbers of the proto's enum are accepted on the wire like its names (G40).
TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")


def fail(path: str, message: str, rule: str = "", remedy: str = "") -> NoReturn:
    """Refuse the schema, naming the place."""
    violation = Violation(path=path, message=message, rule=rule, remedy=remedy)
    raise SchemaError(str(violation), violations=(violation,)) from None


def inferred(node: dict[str, Any]) -> tuple[str, ...]:
    """Types that a node without one must be meant to have."""
    if "enum" in node:
        return distinct(kind_of(value) for value in node["enum"])
    return distinct(node.get("hints", ()))


def distinct(types: Iterable[str]) -> tuple[str, ...]:
    """In order, each once; INTEGER is part of NUMBER."""
    found = tuple(dict.fromkeys(types))
    return tuple(kind for kind in found if kind != "INTEGER" or "NUMBER" not in found)


def kind_of(value: Any) -> str:
    """The type of a JSON value."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, (int, float)):
        return "INTEGER" if value == int(value) else "NUMBER"
    return (
        "STRING" if isinstance(value, str) else "OBJECT" if isinstance(value, Mapping) else "ARRAY"
    )


def fits(value: Any, types: Sequence[str] | None) -> bool:
    """Whether a value can be one of these types; `None` allows all."""
    kind = kind_of(value)
    return types is None or kind in types or (kind == "INTEGER" and "NUMBER" in types)


def types_in(value: Any, path: str) -> tuple[str, ...]:
    """What stands under `type`, in the names of the proto."""
    names = value if isinstance(value, (list, tuple)) else [value]
    types = []
    for name in names:
        number = isinstance(name, int) and not isinstance(name, bool)
        known = (
            TYPES[name - 1]
            if number and 0 < name <= len(TYPES)
            else name.upper()
            if isinstance(name, str)
            else ""
        )
        if known not in TYPES:
            fail(path, f"{name!r} is no type", "G40", f"one of {', '.join(TYPES).lower()}")
        types.append(known)
    if not types:
        fail(path, "an empty list of types allows no value")
    return distinct(types)


def sequence(value: Any, path: str) -> list[Any]:
    """A list, or a refusal."""
    if not isinstance(value, (list, tuple)):
        fail(path, f"is a list, not {type(value).__name__}")
    return list(value)


def count(value: Any, path: str) -> int:
    """A whole number from 0 up, also as the text that int64 is in JSON, or a refusal."""
    if isinstance(value, str) and re.fullmatch(
        "[0-9]{1,19}", value
    ):  # int64 travels as a string in the proto's own JSON
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        fail(path, f"is a whole number from 0, not {value!r:.50}")
    return value


def number(value: Any, path: str) -> int | float:
    """A finite number, or a refusal."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e308:
        return value
    fail(path, f"is a finite number, not {value!r:.50}")


def as_json(value: Any, path: str) -> str:
    """`value` as text to compare it by: to Python 1, 1.0 and True are one."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        fail(path, f"is no JSON: {error}")
