"""Reads and compares the values of schema keywords. Raises `SchemaError` with the path of a
malformed one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from wire.core.errors import RuleError, SchemaError, Violation
from wire.core.json_values import checked
from wire.core.secret import quoted

MAX_LEVELS = 16
"""Maximum number of levels of a schema, root included (G52). Google does not publish the limit: 5
levels were accepted, 24 refused.
"""

# In the order of the proto's enum, whose numbers 1 to 7 the server accepts too (G40).
TYPES = ("STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL")


def fail(path: str, message: str, rule: str = "", remedy: str = "") -> NoReturn:
    """Raise `SchemaError` for the schema at `path`."""
    violation = Violation(path=path, message=message, rule=rule, remedy=remedy)
    raise SchemaError(str(violation), violations=(violation,)) from None


def inferred(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the types that the enum or other keywords of an untyped node imply."""
    if "enum" in node:
        return distinct(kind_of(value) for value in node["enum"])
    return distinct(node.get("hints", ()))


def distinct(types: Iterable[str]) -> tuple[str, ...]:
    """Return the types without duplicates, in order. NUMBER includes INTEGER."""
    unique = tuple(dict.fromkeys(types))
    return tuple(kind for kind in unique if kind != "INTEGER" or "NUMBER" not in unique)


def kind_of(value: Any) -> str:
    """Return the type of a JSON value."""
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
    """Return whether a value has one of the types; `None` stands for all types."""
    kind = kind_of(value)
    return types is None or kind in types or (kind == "INTEGER" and "NUMBER" in types)


def types_in(value: Any, path: str) -> tuple[str, ...]:
    """Return `type` as names of the proto: its value, or the members of a list of types."""
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
            fail(
                path,
                f"{quoted(name)} is not a type",
                "G40",
                f"use one of {', '.join(TYPES).lower()}",
            )
        types.append(known)
    if not types:
        fail(path, "an empty list of types allows no value")
    return distinct(types)


def sequence(value: Any, path: str) -> list[Any]:
    """Return the value as a list. Raises `SchemaError` for another type."""
    if not isinstance(value, (list, tuple)):
        fail(path, f"must be a list, not {type(value).__name__}")
    return list(value)


def count(value: Any, path: str) -> int:
    """Return the value as an integer from 0 to 2**63 - 1.

    An int64 may be text, as in the proto's JSON.

    Raises `SchemaError` for other values.
    """
    if isinstance(value, str) and re.fullmatch("[0-9]{1,19}", value):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        fail(path, f"must be an integer from 0, not {quoted(value, 50)}")
    return value


def number(value: Any, path: str) -> int | float:
    """Return the value as a finite number. Raises `SchemaError` for other values."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e308:
        return value
    fail(path, f"must be a finite number, not {quoted(value, 50)}")


def as_json(value: Any, path: str) -> str:
    """Encode the value as JSON, to compare values: in Python, 1, 1.0 and True are equal."""
    try:
        return json.dumps(checked(value, path, plain=True), sort_keys=True)
    except RuleError as error:
        raise SchemaError(violations=error.violations) from None
