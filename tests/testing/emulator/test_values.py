"""Values that fit a schema, in either dialect."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.joined import joined
from wire.testing.emulator.values import Hints, example

TREE = {
    "type": "object",
    "properties": {"value": {"type": "integer"}, "left": {"$ref": "#/$defs/tree"}},
    "required": ["value"],
}


@joined(
    ("schema", "value"),
    [
        ({"type": "STRING"}, "value"),
        ({"type": "INTEGER"}, 1),
        ({"type": 6, "properties": {"a": {"type": 4}}}, {"a": True}),
        ({"type": ["null", "integer"], "minimum": 3}, 3),
        ({"type": "number", "exclusiveMinimum": 0, "multipleOf": 0.5}, 0.5),
        ({"type": "integer", "exclusiveMaximum": 0}, -1),
        ({"type": "integer", "minimum": 7, "multipleOf": 5}, 10),
        ({"type": "string", "minLength": 8, "maxLength": 9}, "value..."),
        ({"type": "string", "maxLength": 2}, "va"),
        ({"type": "string", "format": "date"}, "2026-11-21"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-4000-8000-000000000000"),
        ({"type": "array", "items": {"type": "boolean"}, "minItems": 2}, [True, True]),
        ({"type": "array", "items": {"type": "boolean"}, "maxItems": 0}, []),
        (
            {"type": "array", "prefixItems": [{"const": 1}, {"const": "b"}], "items": False},
            [1, "b"],
        ),
        ({"anyOf": [{"type": "null"}, {"type": "boolean"}]}, True),
        ({"oneOf": [{"const": "x"}]}, "x"),
        (
            {
                "allOf": [
                    {"properties": {"a": {"const": 1}}},
                    {"properties": {"b": {"const": 2}}, "required": ["b"]},
                ]
            },
            {"a": 1, "b": 2},
        ),
        ({"enum": ["", "b"]}, ""),
        ({"type": "null"}, None),
        ({}, "value"),
        (True, "value"),
        (
            {"properties": {"b": {"const": 1}, "a": {"const": 2}}, "propertyOrdering": ["a", "b"]},
            {"a": 2, "b": 1},
        ),
    ],
)
def test_values(schema: Any, value: Any) -> None:
    assert example(schema) == value


def test_a_schema_that_holds_itself_ends() -> None:
    value = example({"$ref": "#/$defs/tree", "$defs": {"tree": TREE}})
    depth = 0
    while "left" in value:
        assert value["value"] == 1
        value, depth = value["left"], depth + 1
    assert (value, depth) == ({"value": 1}, 6)


def test_only_what_is_required() -> None:
    assert example(TREE, every=False) == {"value": 1}


def test_hints_are_taken_in_turn() -> None:
    two = {
        "properties": {
            "start": {"type": "string", "format": "date"},
            "days": {"type": "integer"},
            "city": {"type": "string"},
        }
    }
    hints = Hints(["Oslo"], ["2026-03-01"], [2.5, 4.0])
    assert example(two, hints) == {"start": "2026-03-01", "days": 4, "city": "Oslo"}
    assert example({"enum": ["red", "blue"]}, Hints(question="Is it BLUE?")) == "blue"


@joined(
    "pattern", [r"^[A-Z]{2}-\d{3}$", r"(a|b)+c?", r"^\w+@x\.com$", r"[^a]b", "x.y", r"^\s\d{2,4}$"]
)
def test_patterns(pattern: str) -> None:
    assert re.search(pattern, example({"type": "string", "pattern": pattern}))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": 5},
        {"type": "integer", "minimum": "a"},
        {"required": True, "properties": {"a": {}}},
    ],
)
def test_what_is_no_schema(schema: Any) -> None:
    with pytest.raises(ValueError, match="invalid schema"):
        example(schema, every=False)
