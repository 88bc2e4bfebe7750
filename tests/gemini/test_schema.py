from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import examples
from wire.core.memory import encode, notes
from wire.errors import SchemaError
from wire.gemini.schemas import MAX_DEPTH, schema

NO_KEYWORD = "dropped, the Schema proto has no such keyword"
WEAKER = "dropped, the Schema proto has no equivalent: validation is weaker"
UNTYPED = (
    "has no type, which the Schema proto requires: narrowed to a string, a number or a boolean"
)
ONE_OF = "written as anyOf: a value that several members allow is valid too"
MAP = f"{NO_KEYWORD}: the type of the values is lost"
POSITIONS = "written as items: which schema belongs to which position is lost"
STR, INT, NUM, BOOL, NULL = (
    {"type": kind} for kind in ("STRING", "INTEGER", "NUMBER", "BOOLEAN", "NULL")
)
ANY = {"anyOf": [STR, NUM, BOOL]}


def described(kind: str) -> str:
    return f"dropped, only STRING may have one: the description lists the values of this {kind}"


def prop(inner: Any, **root: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"m": inner}, **root}


def wire_prop(inner: Any, **root: Any) -> dict[str, Any]:
    return {"type": "OBJECT", "properties": {"m": inner}, **root}


def wire(source: Any, **options: Any) -> Any:
    return json.loads(encode(schema(source, **options)))


PERSON = {
    "type": "object",
    "title": "Person",
    "description": "A person.",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
WIRE_PERSON = {**PERSON, "type": "OBJECT", "properties": {"name": STR}}

# (name, source, expected on the wire, expected notes)
CASES: list[tuple[str, Any, dict[str, Any], list[str]]] = [
    # references
    ("ref", prop({"$ref": "#/$defs/P"}, **{"$defs": {"P": PERSON}}), wire_prop(WIRE_PERSON), []),
    (
        "ref-definitions",
        prop({"$ref": "#/definitions/P"}, definitions={"P": PERSON}),
        wire_prop(WIRE_PERSON),
        [],
    ),
    (
        "ref-siblings-win",
        prop(
            {
                "$ref": "#/$defs/P",
                "description": "The owner.",
                "title": "Owner",
                "default": {"name": "x"},
            },
            **{"$defs": {"P": PERSON}},
        ),
        wire_prop(
            {**WIRE_PERSON, "description": "The owner.", "title": "Owner", "default": {"name": "x"}}
        ),
        [],
    ),
    (
        "ref-type-sibling",
        prop({"$ref": "#/$defs/P", "type": "object"}, **{"$defs": {"P": PERSON}}),
        wire_prop(WIRE_PERSON),
        [],
    ),
    (
        "ref-nullable-sibling",
        prop({"$ref": "#/$defs/P", "nullable": True}, **{"$defs": {"P": STR}}),
        wire_prop({**STR, "nullable": True}),
        [],
    ),
    (
        "ref-escapes",
        prop({"$ref": "#/$defs/a~1b~0c%20d"}, **{"$defs": {"a/b~c d": {"type": "boolean"}}}),
        wire_prop(BOOL),
        [],
    ),
    (
        "ref-pointer",
        {"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}},
        {"type": "OBJECT", "properties": {"a": STR, "b": STR}},
        [],
    ),
    (
        "ref-into-list",
        prop(
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            properties={"a": {"$ref": "#/x/1"}},
            x=[0, STR],
        ),
        {"type": "OBJECT", "properties": {"a": STR}},
        [f"x: {NO_KEYWORD}"],
    ),
    (
        "ref-of-ref",
        prop(
            {"$ref": "#/$defs/A"},
            **{
                "$defs": {
                    "A": {"$ref": "#/$defs/B", "title": "A"},
                    "B": {"type": "integer", "title": "B"},
                }
            },
        ),
        wire_prop({**INT, "title": "A"}),
        [],
    ),
    ("ref-at-root", {"$ref": "#/$defs/P", "$defs": {"P": PERSON}}, WIRE_PERSON, []),
    (
        "ref-twice",
        {
            "type": "object",
            "properties": {k: {"$ref": "#/$defs/P"} for k in "ab"},
            "$defs": {"P": STR},
        },
        {"type": "OBJECT", "properties": {"a": STR, "b": STR}},
        [],
    ),
    # allOf
    (
        "all-of-objects",
        {
            "allOf": [
                {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
                {"properties": {"b": {"type": "integer"}}, "required": ["b", "a"]},
            ]
        },
        {"type": "OBJECT", "properties": {"a": STR, "b": INT}, "required": ["a", "b"]},
        [],
    ),
    (
        "all-of-bounds",
        {
            "type": "integer",
            "minimum": 1,
            "maximum": 9,
            "allOf": [{"minimum": 3}, {"maximum": 7, "minimum": 2}],
        },
        {**INT, "minimum": 3, "maximum": 7},
        [],
    ),
    (
        "all-of-counts",
        {"type": "string", "minLength": 1, "allOf": [{"minLength": 2}, {"maxLength": 7}]},
        {**STR, "minLength": 2, "maxLength": 7},
        [],
    ),
    (
        "all-of-enum",
        {"allOf": [{"enum": ["a", "b", "c"]}, {"type": "string", "enum": ["c", "b"]}]},
        {**STR, "enum": ["b", "c"]},
        [],
    ),
    ("all-of-number", {"allOf": [{"type": "number"}, {"type": "integer"}]}, INT, []),
    (
        "all-of-description-first",
        prop(
            {"description": "outer", "allOf": [{"$ref": "#/$defs/P"}]}, **{"$defs": {"P": PERSON}}
        ),
        wire_prop({**WIRE_PERSON, "description": "outer"}),
        [],
    ),
    (
        "all-of-same-property",
        {"allOf": [prop({"type": "string", "minLength": 2}), prop({"maxLength": 3})]},
        wire_prop({**STR, "minLength": 2, "maxLength": 3}),
        [],
    ),
    (
        "all-of-one-any-of",
        prop({"allOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"maxLength": 3}]}),
        wire_prop({"anyOf": [{**STR, "maxLength": 3}, INT]}),
        [],
    ),
    (
        "all-of-two-any-of",
        prop(
            {
                "allOf": [
                    {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    {"anyOf": [{"type": "integer"}, {"type": "boolean"}]},
                ]
            }
        ),
        wire_prop(INT),
        [],
    ),
    (
        "all-of-keeps-note-paths",
        {"allOf": [{"type": "object", "strict": True}]},
        {"type": "OBJECT"},
        [f"allOf[0].strict: {NO_KEYWORD}"],
    ),
    (
        "all-of-openapi-nullable",
        prop({"nullable": True, "allOf": [{"type": "string"}]}),
        wire_prop({**STR, "nullable": True}),
        [],
    ),
    # what the proto has no word for
    (
        "not",
        prop({"type": "string", "not": {"enum": ["x"]}}),
        wire_prop(STR),
        [f"properties.m.not: {WEAKER}"],
    ),
    (
        "if-then-else",
        prop(
            {"type": "string"},
            **{
                "if": {"properties": {"m": {"const": "x"}}},
                "then": {"required": ["b"]},
                "else": {},
            },
        ),
        wire_prop(STR),
        [f"{k}: {WEAKER}" for k in ("if", "then", "else")],
    ),
    (
        "dependent",
        prop(
            {"type": "string"},
            dependentRequired={"m": ["b"]},
            dependentSchemas={},
            patternProperties={"^x": {}},
            unevaluatedProperties=False,
        ),
        wire_prop(STR),
        [
            f"{k}: {WEAKER}"
            for k in (
                "dependentRequired",
                "dependentSchemas",
                "patternProperties",
                "unevaluatedProperties",
            )
        ],
    ),
    (
        "unique-items",
        prop({"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        wire_prop({"type": "ARRAY", "items": STR}),
        [f"properties.m.uniqueItems: {WEAKER}"],
    ),
    (
        "contains",
        prop({"items": {"type": "string"}, "contains": {"const": "x"}}),
        wire_prop({"type": "ARRAY", "items": STR}),
        [f"properties.m.contains: {WEAKER}"],
    ),
    (
        "multiple-of",
        prop({"type": "number", "multipleOf": 0.5}),
        wire_prop(NUM),
        [f"properties.m.multipleOf: {WEAKER}"],
    ),
    (
        "additional-false",
        prop({"type": "string"}, additionalProperties=False),
        wire_prop(STR),
        [f"additionalProperties: {NO_KEYWORD}"],
    ),
    (
        "additional-snake",
        prop({"type": "string"}, additional_properties=False),
        wire_prop(STR),
        [f"additionalProperties: {NO_KEYWORD}"],
    ),
    (
        "map",
        prop(
            {
                "type": "object",
                "propertyNames": {"type": "string"},
                "additionalProperties": {"type": "string"},
            }
        ),
        wire_prop({"type": "OBJECT"}),
        [f"properties.m.propertyNames: {WEAKER}", f"properties.m.additionalProperties: {MAP}"],
    ),
    (
        "vendor-keys",
        prop(
            {"type": "string", "prefill": "x", "enumTitles": ["A"]}, **{"$id": "t", "$schema": "s"}
        ),
        wire_prop(STR),
        [
            f"$id: {NO_KEYWORD}",
            f"$schema: {NO_KEYWORD}",
            f"properties.m.prefill: {NO_KEYWORD}",
            f"properties.m.enumTitles: {NO_KEYWORD}",
        ],
    ),
    (
        "optional-deprecated",
        prop({"type": "string", "optional": True, "deprecated": True, "readOnly": True}),
        wire_prop(STR),
        [f"properties.m.{k}: {NO_KEYWORD}" for k in ("optional", "deprecated", "readOnly")],
    ),
    ("strict", prop({"type": "string"}, strict=True), wire_prop(STR), [f"strict: {NO_KEYWORD}"]),
    (
        "ref-annotation",
        prop({"type": "array", "items": {"ref": "Row", **prop({"type": "string"})}}),
        wire_prop({"type": "ARRAY", "items": wire_prop(STR)}),
        [f"properties.m.items.ref: {NO_KEYWORD}"],
    ),
    (
        "examples-inside",
        prop({"type": "string", "examples": ["x"]}),
        wire_prop(STR),
        ["properties.m.examples: dropped, the Schema proto has one example, at the root"],
    ),
    (
        "example-inside",
        prop({"type": "string", "example": "x"}),
        wire_prop(STR),
        ["properties.m.example: dropped, the Schema proto has an example at the root only"],
    ),
    ("example-at-root", {"type": "string", "example": "x"}, {**STR, "example": "x"}, []),
    ("examples-at-root", {"type": "string", "examples": ["x"]}, {**STR, "example": "x"}, []),
    (
        "examples-at-root-more",
        {"type": "string", "examples": ["x", "y"]},
        {**STR, "example": "x"},
        ["examples: dropped, the Schema proto has one example, at the root"],
    ),
    # tuples
    (
        "tuple",
        {
            "type": "array",
            "prefixItems": [{"type": "string"}, {"type": "integer"}],
            "minItems": 2,
            "maxItems": 2,
        },
        {"type": "ARRAY", "items": {"anyOf": [STR, INT]}, "minItems": 2, "maxItems": 2},
        [f"prefixItems: {POSITIONS}"],
    ),
    (
        "tuple-closed",
        {"prefixItems": [{"type": "string"}, {"type": "string"}], "items": False},
        {"type": "ARRAY", "items": STR, "minItems": 2, "maxItems": 2},
        [f"prefixItems: {POSITIONS}"],
    ),
    (
        "tuple-open",
        {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        {"type": "ARRAY", "items": {"anyOf": [STR, INT]}},
        [f"prefixItems: {POSITIONS}"],
    ),
    (
        "tuple-draft-4",
        {
            "type": "array",
            "items": [{"type": "string"}, {"type": "integer"}],
            "additionalItems": False,
            "maxItems": 1,
        },
        {"type": "ARRAY", "items": {"anyOf": [STR, INT]}, "minItems": 1, "maxItems": 1},
        [f"items: {POSITIONS}"],
    ),
    (
        "items-false",
        {"type": "array", "items": False},
        {"type": "ARRAY", "items": ANY, "maxItems": 0},
        [f"items: {UNTYPED}"],
    ),
    # unions and null
    (
        "one-of",
        prop({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        wire_prop({"anyOf": [STR, INT]}),
        [f"properties.m.oneOf: {ONE_OF}"],
    ),
    (
        "optional",
        prop(
            {
                "anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}],
                "default": None,
                "title": "M",
                "description": "d",
            }
        ),
        wire_prop(
            {
                **INT,
                "minimum": 1,
                "nullable": True,
                "default": None,
                "title": "M",
                "description": "d",
            }
        ),
        [],
    ),
    (
        "optional-ref-to-null",
        prop(
            {"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/N"}]},
            **{"$defs": {"N": {"type": "null"}}},
        ),
        wire_prop({**INT, "nullable": True}),
        [],
    ),
    (
        "optional-union",
        prop({"anyOf": [{"type": "integer"}, {"type": "string"}, {"const": None}]}),
        wire_prop({"anyOf": [{**INT, "nullable": True}, {**STR, "nullable": True}]}),
        [],
    ),
    ("only-null", prop({"anyOf": [{"type": "null"}]}), wire_prop(NULL), []),
    ("null", prop({"type": "null"}), wire_prop(NULL), []),
    (
        "annotations-beside-union",
        prop(
            {
                "anyOf": [{"type": "integer"}, {"type": "string", "description": "in words"}],
                "title": "M",
                "description": "d",
                "default": 3,
            }
        ),
        wire_prop(
            {
                "anyOf": [
                    {**INT, "title": "M", "description": "d", "default": 3},
                    {**STR, "title": "M", "description": "d\nin words"},
                ]
            }
        ),
        [],
    ),
    (
        "default-fits-no-member",
        prop({"anyOf": [{"type": "integer"}, {"type": "string"}], "default": []}),
        wire_prop({"anyOf": [INT, STR]}),
        ["properties.m.default: dropped, no member of anyOf has its type"],
    ),
    (
        "siblings-into-members",
        prop(
            {
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
                "type": "object",
                "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            }
        ),
        wire_prop(
            {
                "anyOf": [
                    {"type": "OBJECT", "properties": {"a": STR, "b": STR}, "required": [k]}
                    for k in "ab"
                ]
            }
        ),
        [],
    ),
    (
        "required-lists-at-root",
        {
            "type": "object",
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        },
        {"type": "OBJECT", "properties": {"a": STR, "b": STR}},
        [
            "anyOf: dropped, the root must be one object, and the members add no "
            "properties: validation is weaker"
        ],
    ),
    (
        "union-at-root",
        {"anyOf": [prop({"type": "string"}), prop({"type": "integer"})]},
        {"anyOf": [wire_prop(STR), wire_prop(INT)]},
        [],
    ),
    (
        "impossible-member",
        prop({"anyOf": [{"type": "integer"}, {"type": "string"}], "type": "string"}),
        wire_prop(STR),
        [
            "properties.m.anyOf[0]: dropped, no value can match: type contradicts another schema that must hold"  # noqa: E501
        ],
    ),
    (
        "type-beside-optional",
        prop(
            {
                "anyOf": [{"type": "integer"}, {"type": "null"}],
                "description": "n",
                "type": "integer",
            }
        ),
        wire_prop({**INT, "description": "n", "nullable": True}),
        ["properties.m.anyOf[1]: kept as nullable, although the type beside anyOf excludes null"],
    ),
    (
        "items-beside-any-of",
        prop(
            {
                "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                "items": {"type": "string"},
            }
        ),
        wire_prop({"type": "ARRAY", "items": STR, "nullable": True}),
        [],
    ),
    (
        "any-of-and-one-of",
        prop({"anyOf": [{"type": "string"}, {"type": "integer"}], "oneOf": [{"maxLength": 3}]}),
        wire_prop({"anyOf": [{**STR, "maxLength": 3}, INT]}),
        [
            f"properties.m.oneOf: {ONE_OF}",
            "properties.m.anyOf[1].maxLength: dropped, it does not apply to INTEGER",
        ],
    ),
    (
        "const-members",
        prop({"anyOf": [{"const": "web"}, {"const": "news"}]}),
        wire_prop({"anyOf": [{**STR, "enum": ["web"]}, {**STR, "enum": ["news"]}]}),
        [],
    ),
    # types
    (
        "type-list-null",
        prop({"type": ["string", "null"]}),
        wire_prop({**STR, "nullable": True}),
        [],
    ),
    (
        "type-list",
        prop(
            {
                "type": ["string", "number"],
                "minLength": 1,
                "minimum": 2,
                "format": "uri",
                "description": "d",
            }
        ),
        wire_prop(
            {
                "anyOf": [
                    {**STR, "minLength": 1, "format": "uri", "description": "d"},
                    {**NUM, "minimum": 2, "description": "d"},
                ]
            }
        ),
        [],
    ),
    (
        "type-list-three",
        prop({"type": ["string", "boolean", "null"]}),
        wire_prop({"anyOf": [{**STR, "nullable": True}, {**BOOL, "nullable": True}]}),
        [],
    ),
    ("type-list-integer-in-number", prop({"type": ["integer", "number"]}), wire_prop(NUM), []),
    (
        "type-list-object",
        prop({"type": ["string", "object"], "properties": {"a": {"type": "string"}}}),
        wire_prop({"anyOf": [STR, {"type": "OBJECT", "properties": {"a": STR}}]}),
        [],
    ),
    (
        "type-list-enum",
        prop({"type": ["string", "integer"], "enum": ["a", 1]}),
        wire_prop(
            {"anyOf": [{**STR, "enum": ["a"]}, {**INT, "description": "Allowed values: 1."}]}
        ),
        [f"properties.m.anyOf[1].enum: {described('INTEGER')}"],
    ),
    ("type-number-of-the-proto", {"type": 6, "properties": {"m": {"type": 1}}}, wire_prop(STR), []),
    (
        "infer-object",
        {"properties": {"m": {"required": ["a"], "properties": {"a": {"type": "string"}}}}},
        wire_prop({"type": "OBJECT", "properties": {"a": STR}, "required": ["a"]}),
        [],
    ),
    (
        "infer-array",
        prop({"items": {"type": "string"}}),
        wire_prop({"type": "ARRAY", "items": STR}),
        [],
    ),
    ("infer-enum", prop({"enum": ["a"]}), wire_prop({**STR, "enum": ["a"]}), []),
    ("infer-string", prop({"minLength": 1}), wire_prop({**STR, "minLength": 1}), []),
    ("infer-number", prop({"minimum": 1}), wire_prop({**NUM, "minimum": 1}), []),
    ("infer-format", prop({"format": "int32"}), wire_prop({**INT, "format": "int32"}), []),
    (
        "infer-from-dropped",
        prop({"additionalProperties": True}),
        wire_prop({"type": "OBJECT"}),
        [f"properties.m.additionalProperties: {NO_KEYWORD}"],
    ),
    (
        "infer-two",
        prop({"minLength": 1, "minimum": 2}),
        wire_prop({"anyOf": [{**STR, "minLength": 1}, {**NUM, "minimum": 2}]}),
        [],
    ),
    (
        "untyped",
        prop({"description": "d"}),
        wire_prop({"anyOf": [{**kind, "description": "d"} for kind in (STR, NUM, BOOL)]}),
        [f"properties.m: {UNTYPED}"],
    ),
    ("true", prop(True), wire_prop(ANY), [f"properties.m: {UNTYPED}"]),
    ("root-empty", {}, {"type": "OBJECT"}, []),
    ("root-true", True, {"type": "OBJECT"}, []),
    ("root-untyped", {"description": "d"}, {"type": "OBJECT", "description": "d"}, []),
    (
        "root-array",
        {"type": "array", "items": {"type": "string"}},
        {"type": "ARRAY", "items": STR},
        [],
    ),
    # enum and const
    ("const", prop({"const": "a", "type": "string"}), wire_prop({**STR, "enum": ["a"]}), []),
    ("const-null", prop({"const": None}), wire_prop(NULL), []),
    (
        "const-number",
        prop({"const": 1}),
        wire_prop({**INT, "description": "Allowed values: 1."}),
        [f"properties.m.enum: {described('INTEGER')}"],
    ),
    (
        "enum-integers",
        prop({"type": "integer", "enum": [0, 1, 2], "description": "priority"}),
        wire_prop({**INT, "description": "priority\nAllowed values: 0, 1, 2."}),
        [f"properties.m.enum: {described('INTEGER')}"],
    ),
    (
        "enum-booleans",
        prop({"enum": [True]}),
        wire_prop({**BOOL, "description": "Allowed values: true."}),
        [f"properties.m.enum: {described('BOOLEAN')}"],
    ),
    (
        "enum-strings-on-integer",
        prop({"type": "integer", "enum": ["0", "1"]}),
        wire_prop({**INT, "description": "Allowed values: 0, 1."}),
        [f"properties.m.enum: {described('INTEGER')}"],
    ),
    (
        "enum-stringified",
        prop({"type": "string", "enum": [1, True, "x", "1"]}),
        wire_prop({**STR, "enum": ["1", "true", "x"]}),
        ["properties.m.enum: members that are not strings were written as strings"],
    ),
    (
        "enum-null",
        prop({"type": "string", "enum": ["a", None]}),
        wire_prop({**STR, "enum": ["a"], "nullable": True}),
        [],
    ),
    ("enum-only-null", prop({"enum": [None]}), wire_prop(NULL), []),
    (
        "enum-mixed",
        prop({"enum": ["a", 1.5]}),
        wire_prop(
            {"anyOf": [{**STR, "enum": ["a"]}, {**NUM, "description": "Allowed values: 1.5."}]}
        ),
        [f"properties.m.anyOf[1].enum: {described('NUMBER')}"],
    ),
    (
        "enum-empty-member",
        prop({"type": "string", "enum": ["a", ""]}),
        wire_prop({**STR, "enum": ["a"]}),
        ["properties.m.enum: the empty string was dropped: Gemini refuses it"],
    ),
    (
        "enum-only-empty-member",
        prop({"type": "string", "enum": [""]}),
        wire_prop(STR),
        ["properties.m.enum: the empty string was dropped: Gemini refuses it"],
    ),
    # bounds
    (
        "exclusive-integer",
        prop({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 9.5}),
        wire_prop({**INT, "minimum": 1, "maximum": 9}),
        [],
    ),
    (
        "exclusive-draft-4",
        prop(
            {
                "type": "integer",
                "minimum": 0,
                "exclusiveMinimum": True,
                "maximum": 9,
                "exclusiveMaximum": False,
            }
        ),
        wire_prop({**INT, "minimum": 1, "maximum": 9}),
        [],
    ),
    (
        "exclusive-number",
        prop({"type": "number", "exclusiveMinimum": 0}),
        wire_prop({**NUM, "minimum": 0}),
        ["properties.m.exclusiveMinimum: written as minimum: the bound itself is valid too"],
    ),
    (
        "exclusive-looser",
        prop({"type": "number", "exclusiveMinimum": 0, "minimum": 2}),
        wire_prop({**NUM, "minimum": 2}),
        [],
    ),
    (
        "counts",
        prop({"type": "string", "min_length": 1, "maxLength": "7", "pattern": "^a"}),
        wire_prop({**STR, "minLength": 1, "maxLength": 7, "pattern": "^a"}),
        [],
    ),
    (
        "snake",
        {
            "type": "object",
            "property_ordering": ["a"],
            "min_properties": 1,
            "properties": {
                "a": {
                    "any_of": [
                        {"type": "string"},
                        {"type": "array", "items": {"type": "string"}, "max_items": 2.0},
                    ]
                }
            },
        },
        {
            "type": "OBJECT",
            "minProperties": 1,
            "propertyOrdering": ["a"],
            "properties": {"a": {"anyOf": [STR, {"type": "ARRAY", "items": STR, "maxItems": 2}]}},
        },
        [],
    ),
    (
        "format",
        prop({"type": "string", "format": "uuid"}),
        wire_prop({**STR, "format": "uuid"}),
        [],
    ),
    (
        "null-is-absent",
        prop({"type": "string", "format": None, "items": None, "enum": None, "anyOf": None}),
        wire_prop(STR),
        [],
    ),
    # repair
    (
        "required-missing",
        prop({"type": "string"}, required=["m", "gone"]),
        wire_prop(STR, required=["m"]),
        ["required: 'gone' was dropped: there is no such property"],
    ),
    (
        "required-boolean",
        prop({"type": "string", "required": True}),
        wire_prop(STR),
        ["properties.m.required: dropped, required is a list of names in the enclosing object"],
    ),
    (
        "shape-of-another-type",
        prop(
            {
                "type": "string",
                "properties": {"a": {}},
                "required": ["a"],
                "minimum": 0,
                "items": {"type": "string"},
            }
        ),
        wire_prop(STR),
        [
            f"properties.m.{k}: dropped, it does not apply to STRING"
            for k in ("properties", "required", "minimum", "items")
        ],
    ),
    (
        "array-without-items",
        prop({"type": "array"}),
        wire_prop({"type": "ARRAY", "items": ANY}),
        [f"properties.m.items: {UNTYPED}"],
    ),
    ("empty-properties", {"type": "object", "properties": {}}, {"type": "OBJECT"}, []),
    (
        "empty-properties-inside",
        prop({"type": "object", "properties": {}, "required": []}),
        wire_prop({"type": "OBJECT"}),
        [],
    ),
]


@pytest.mark.row("S2-21")
@joined(
    ("source", "expected", "expected_notes"),
    [pytest.param(*case[1:], id=case[0]) for case in CASES],
)
def test_table(source: Any, expected: dict[str, Any], expected_notes: list[str]) -> None:
    before = copy.deepcopy(source)
    built = schema(source)
    assert json.loads(encode(built)) == expected
    assert [str(note) for note in notes(built)] == expected_notes
    assert source == before
    check_fixpoint(built)


KEYWORDS = [
    "strict",
    "additionalProperties",
    "$ref",
    "$defs",
    "type",
    "format",
    "default",
    "title",
    "const",
    "properties",
    "required",
    "enum",
    "items",
    "anyOf",
    "oneOf",
    "allOf",
    "not",
    "if",
    "nullable",
    "example",
]


def test_names_of_properties_are_data() -> None:
    source = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in KEYWORDS},
        "required": KEYWORDS,
        "propertyOrdering": KEYWORDS,
    }
    built = schema(source)
    assert json.loads(encode(built)) == {
        **source,
        "type": "OBJECT",
        "properties": dict.fromkeys(KEYWORDS, STR),
    }
    assert not notes(built)
    assert list(built.properties) == KEYWORDS


def test_values_are_data() -> None:
    value = {
        "$ref": "#/nowhere",
        "strict": True,
        "additionalProperties": False,
        "type": ["x"],
        "default": {"const": None},
    }
    source = {
        "type": "object",
        "default": value,
        "example": [value],
        "properties": {"m": {"type": "string", "enum": ["strict", "$ref"]}},
    }
    assert wire(source) == {
        "type": "OBJECT",
        "default": value,
        "example": [value],
        "properties": {"m": {**STR, "enum": ["strict", "$ref"]}},
    }


def test_own_dialect_passes_unchanged() -> None:
    source = {
        "type": "OBJECT", "title": "T", "description": "d", "nullable": False,
        "minProperties": 1, "maxProperties": 3, "default": {}, "example": {},
        "properties": {
            "s": {"type": "STRING", "format": "enum", "enum": ["a"], "nullable": True, "default": None},  # noqa: E501
            "p": {"type": "STRING", "pattern": "^a", "minLength": 1, "maxLength": 2},
            "a": {"type": "ARRAY", "minItems": 0, "maxItems": 2,
                  "items": {"type": "INTEGER", "format": "int64", "minimum": 1, "maximum": 2}},
            "u": {"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]},
            "n": {"type": "NULL"},
        },
        "required": ["s"], "propertyOrdering": ["s", "p", "a", "u", "n"],
    }  # fmt: skip
    built = schema(source)
    assert json.loads(encode(built)) == source
    assert not notes(built)


def test_prefix_of_paths() -> None:
    built = schema(
        {"type": "object", "strict": True, "properties": {"a": {"type": "string", "x": 1}}},
        path="tools[0].parameters",
    )
    assert [note.path for note in notes(built)] == [
        "tools[0].parameters.strict",
        "tools[0].parameters.properties.a.x",
    ]
    with pytest.raises(SchemaError) as caught:
        schema({"type": "nothing"}, path="response")
    assert caught.value.violations[0].path == "response.type"
    assert schema({"type": "string", "examples": [1]}, path="response").example == 1


NODE = {
    "type": "object",
    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
}
DIAMOND = {
    f"d{i}": {"type": "object", "properties": {k: {"$ref": f"#/$defs/d{i + 1}"} for k in "abcdef"}}
    for i in range(8)
}

# (name, source, path of the violation, part of the message)
ERRORS: list[tuple[str, Any, str, str]] = [
    (
        "recursive",
        prop({"$ref": "#/$defs/Node"}, **{"$defs": {"Node": NODE}}),
        "properties.m.properties.children.items.$ref",
        "#/$defs/Node -> #/$defs/Node",
    ),
    (
        "recursive-mutual",
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        "$ref",
        "#/$defs/a -> #/$defs/b -> #/$defs/a",
    ),
    ("recursive-root", prop({"$ref": "#"}), "properties.m.$ref", "parameters_json_schema"),
    (
        "recursive-all-of",
        {"$ref": "#/$defs/a", "$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}},
        "allOf[0].$ref",
        "recursive",
    ),
    ("dangling", prop({"$ref": "#/$defs/Gone"}), "properties.m.$ref", "refers to nothing"),
    ("dangling-index", prop({"$ref": "#/x/7"}, x=[]), "properties.m.$ref", "refers to nothing"),
    (
        "remote",
        prop({"$ref": "https://example.com/x.json"}),
        "properties.m.$ref",
        "not a JSON pointer",
    ),
    ("ref-shape", prop({"$ref": 1}), "properties.m.$ref", "not a JSON pointer"),
    (
        "diamond",
        {"$ref": "#/$defs/d0", "$defs": {**DIAMOND, "d8": STR}},
        "",
        "expands to more than",
    ),
    (
        "all-of-types",
        prop({"allOf": [{"type": "string"}, {"type": "object"}]}),
        "properties.m.type",
        "contradicts",
    ),
    (
        "all-of-patterns",
        prop({"allOf": [{"pattern": "a"}, {"pattern": "b"}]}),
        "properties.m.pattern",
        "cannot be merged",
    ),
    (
        "all-of-enums",
        prop({"allOf": [{"enum": ["a"]}, {"enum": ["b"]}]}),
        "properties.m.enum",
        "contradicts",
    ),
    ("const-outside-enum", prop({"const": 1, "enum": [True]}), "properties.m.enum", "contradicts"),
    (
        "no-member-left",
        prop({"type": "object", "anyOf": [{"type": "string"}]}),
        "properties.m.type",
        "contradicts",
    ),
    ("false", prop(False), "properties.m", "no value"),
    ("false-root", False, "", "no value"),
    ("empty-enum", prop({"enum": []}), "properties.m.enum", "empty"),
    ("empty-any-of", prop({"anyOf": []}), "properties.m.anyOf", "no members"),
    ("type-any", prop({"type": "any"}), "properties.m.type", "'any'"),
    ("type-empty", prop({"type": ""}), "properties.m.type", "not a type"),
    ("type-shape", prop({"type": {}}), "properties.m.type", "not a type"),
    ("type-number", prop({"type": 8}), "properties.m.type", "not a type"),
    ("type-true", prop({"type": True}), "properties.m.type", "not a type"),
    ("type-empty-list", prop({"type": []}), "properties.m.type", "empty list"),
    ("type-enum-values", prop({"type": "enum", "values": ["a"]}), "properties.m.type", "'enum'"),
    ("schema-shape", prop("string"), "properties.m", "a schema must be an object"),
    ("properties-shape", {"properties": ["a"]}, "properties", "by name"),
    ("properties-keys", {"properties": {1: {}}}, "properties", "by name"),
    ("keyword-shape", {1: 2}, "", "not a string"),
    ("enum-shape", prop({"enum": "a"}), "properties.m.enum", "must be a list"),
    ("required-shape", {"required": [1]}, "required", "names"),
    ("description-shape", {"description": 1}, "description", "must be a string"),
    ("nullable-shape", {"nullable": "yes"}, "nullable", "must be a boolean"),
    ("count-fraction", {"minItems": 1.5}, "minItems", "an integer"),
    ("count-negative", {"minItems": -1}, "minItems", "an integer"),
    ("count-true", {"minItems": True}, "minItems", "an integer"),
    ("bound-nan", {"minimum": math.nan}, "minimum", "finite"),
    ("bound-infinite", {"exclusiveMaximum": math.inf}, "exclusiveMaximum", "finite"),
    ("bound-huge", {"maximum": 10**400}, "maximum", "finite"),
    ("bound-text", {"minimum": "1"}, "minimum", "finite"),
    ("default-nan", {"default": [math.nan]}, "default[0]", "not a JSON number"),
    ("default-object", {"default": object()}, "default", "not object"),
    ("twice", {"minItems": 1, "min_items": 2}, "min_items", "duplicate"),
]


@pytest.mark.row("S2-21")
@joined(("source", "path", "message"), [pytest.param(*case[1:], id=case[0]) for case in ERRORS])
def test_errors(source: Any, path: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        schema(source)
    (violation,) = caught.value.violations
    assert message in str(caught.value)
    if path:
        assert violation.path == path


def nested(levels: int, wrap: Any) -> Any:
    source: Any = {"type": "string"}
    for _ in range(levels):
        source = wrap(source)
    return source


WRAPS = {
    "properties": prop,
    "items": lambda inner: {"type": "array", "items": inner},
    "members": lambda inner: {"anyOf": [{"type": "array", "items": inner}, {"type": "integer"}]},
}


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
def test_depth(wrap: Any) -> None:
    levels = MAX_DEPTH if wrap is prop else MAX_DEPTH // 2
    encode(schema(nested(levels, wrap)))
    for levels in (MAX_DEPTH + 1, 513, 20_000):
        with pytest.raises(SchemaError, match="G52"):
            schema(nested(levels, wrap))


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_depth_that_adds_no_level(keyword: str) -> None:
    assert schema(nested(2000, lambda inner: {keyword: [inner]})).type == "STRING"


def test_unions_inside_a_union_are_one() -> None:
    inside = {
        "anyOf": [{"type": "integer"}, {"type": ["array", "null"], "items": {"type": "string"}}],
        "description": "inner",
    }
    source = {"anyOf": [inside, {"type": "string", "title": "S"}], "description": "outer"}
    array = {"type": "ARRAY", "items": STR, "nullable": True, "description": "outer\ninner"}
    assert wire(prop(source)) == wire_prop(
        {
            "anyOf": [
                {**INT, "description": "outer\ninner"},
                array,
                {**STR, "title": "S", "description": "outer"},
            ]
        }
    )
    assert (
        len(
            schema(nested(2000, lambda inner: {"anyOf": [inner, {"type": "integer"}]})).any_of or ()
        )
        == 2001
    )


def test_depth_on_a_deep_stack() -> None:
    def down(levels: int) -> Any:
        return down(levels - 1) if levels else schema(nested(MAX_DEPTH, prop))

    for levels in (400, 700, 800):
        try:
            down(levels)
        except SchemaError as error:
            assert "nested too deep" in str(error)  # noqa: PT017


@joined("keyword", ["properties", "items", "anyOf", "allOf", "default"])
def test_source_that_holds_itself(keyword: str) -> None:
    source: dict[str, Any] = {"type": "object"} if keyword == "properties" else {}
    source[keyword] = (
        {"a": source}
        if keyword == "properties"
        else source
        if keyword in ("items", "default")
        else [source]
    )
    with pytest.raises(SchemaError):
        schema(source)


# --- any schema at all ----------------------------------------------------------------------------

PROTO = {
    "anyOf",
    "default",
    "description",
    "enum",
    "example",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "propertyOrdering",
    "required",
    "title",
    "type",
}
names = st.sampled_from(["a", "b", "$ref", "type", "strict", "properties", "required", "const"])
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([0.5, 1.0])
    | st.sampled_from(["", "a", "b", "1"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(names, inner, max_size=2),
    max_leaves=3,
)
kinds = st.sampled_from(
    ["string", "number", "integer", "boolean", "array", "object", "null", "STRING", "OBJECT", 3]
)
texts = st.sampled_from(["", "x", "date-time", "int32", "^a"])
wholes = st.integers(0, 3)
flags = st.booleans()
bounds = st.integers(-3, 3) | st.sampled_from([0.5, 2.5])
refs = st.sampled_from(
    ["#/$defs/a", "#/$defs/b", "#/definitions/c", "#/properties/a", "#", "#/nowhere", "x"]
)


def keywords(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    some = st.lists(inner, min_size=1, max_size=3)
    table = {
        "type": kinds | st.lists(kinds, min_size=1, max_size=3),
        **dict.fromkeys(("title", "description", "format", "pattern"), texts),
        **dict.fromkeys(("default", "const", "example", "strict", "x-vendor", "if", "not"), values),
        **dict.fromkeys(("enum", "examples"), st.lists(values, min_size=1, max_size=3)),
        **dict.fromkeys(
            ("minItems", "maxItems", "min_length", "maxLength", "minProperties"), wholes
        ),
        **dict.fromkeys(("minimum", "maximum"), bounds),
        **dict.fromkeys(("exclusiveMinimum", "exclusiveMaximum"), bounds | flags),
        **dict.fromkeys(("nullable", "uniqueItems", "deprecated"), flags),
        "properties": st.dictionaries(names, inner, max_size=3),
        "required": st.lists(names, max_size=3),
        "items": inner | some,
        "prefixItems": some,
        "additionalItems": flags,
        "additionalProperties": inner,
        "patternProperties": st.dictionaries(names, inner, max_size=1),
        **dict.fromkeys(("anyOf", "any_of", "oneOf", "allOf"), some),
        "$ref": refs,
    }
    # With all of them at once hardly any schema would be satisfiable: a few at a time.
    some_names = st.lists(st.sampled_from(list(table)), min_size=2, max_size=7, unique=True)
    return some_names.flatmap(
        lambda chosen: st.fixed_dictionaries({name: table[name] for name in chosen})
    )


schemas = st.recursive(
    st.just(True) | st.builds(lambda kind: {"type": kind}, kinds), keywords, max_leaves=20
)
hostile = st.recursive(
    values,
    lambda inner: keywords(inner) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
roots = st.builds(
    lambda root, defs: (
        {**root, "$defs": defs, "definitions": {"c": {"type": "string"}}}
        if isinstance(root, dict)
        else root
    ),
    schemas | hostile,
    st.fixed_dictionaries({"a": schemas, "b": st.just({"type": ["integer", "null"]})}),
)


def check(node: dict[str, Any], root: bool = True) -> None:
    assert set(node) <= PROTO
    assert root or "example" not in node
    if "anyOf" in node:
        assert set(node) == {"anyOf"}
        assert len(node["anyOf"]) > 1
        for member in node["anyOf"]:
            check(member, root=False)
        return
    kind = node["type"]
    assert kind in {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"}
    assert ("items" in node) == (kind == "ARRAY")
    assert kind == "OBJECT" or not {"properties", "required", "propertyOrdering"} & set(node)
    assert node.get("properties") != {}
    assert set(node.get("required", ())) <= set(node.get("properties", ()))
    if "enum" in node:
        assert kind == "STRING"
        assert node["enum"]
        assert all(isinstance(member, str) and member for member in node["enum"])
    for inner in node.get("properties", {}).values():
        check(inner, root=False)
    if "items" in node:
        check(node["items"], root=False)


def check_fixpoint(built: Any) -> None:
    once = json.loads(encode(built))
    again = schema(once)
    assert json.loads(encode(again)) == once
    assert not notes(again)


@pytest.mark.parametrize("part", range(6))  # Hypothesis takes other examples for each test id
@settings(max_examples=examples(100))
@given(roots)
def test_any_schema(part: int, source: Any) -> None:
    before = copy.deepcopy(source)
    try:
        built = schema(source)
    except SchemaError as error:
        assert error.violations  # noqa: PT017
        return
    finally:
        assert json.dumps(source) == json.dumps(before)
    check(json.loads(encode(built)))
    check_fixpoint(built)
