"""Tool definitions in every accepted form, as the one Tool that is sent."""

from __future__ import annotations

import copy
import json

import pytest

from tests.joined import joined
from wire.core.memory import encode, notes
from wire.errors import RuleError, SchemaError
from wire.gemini import (
    CodeExecution,
    FunctionDeclaration,
    GoogleSearch,
    Schema,
    Tool,
    UrlContext,
    function_declaration,
    schema,
    tools,
)

PORT = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
WIRE_PORT = Schema(type="OBJECT", properties={"port": Schema(type="STRING")}, required=["port"])
TIDE = FunctionDeclaration(name="tide", description="Height.", parameters=WIRE_PORT)


@joined(
    "definition",
    [
        {"name": "tide", "description": "Height.", "parameters": PORT},
        {"type": "function", "name": "tide", "description": "Height.", "parameters": PORT},
        {
            "type": "function",
            "function": {"name": "tide", "description": "Height.", "parameters": PORT},
        },
        {"function": {"name": "tide", "description": "Height.", "parameters": WIRE_PORT}},
        TIDE,
        Tool(function_declarations=[TIDE]),
    ],
    ids=["bare", "flat", "wrapped", "native-schema", "declaration", "tool"],
)
def test_every_form_gives_the_same(definition):
    built = tools(definition)
    assert built == [Tool(function_declarations=[TIDE])]
    assert notes(built) == ()


@pytest.mark.row("S1-12", "S3-06")
def test_one_tool_holds_all_declarations_and_builtins_follow():
    """F-10: one Tool with all declarations, in order. A Tool with declarations and a built-in tool
    is split.
    """
    names = [FunctionDeclaration(name=name) for name in "abcd"]
    both = Tool(function_declarations=[names[1], names[2]], code_execution=CodeExecution())
    built = tools(
        Tool(google_search=GoogleSearch()),
        names[0],
        both,
        Tool(),
        {"name": "d"},
        Tool(url_context=UrlContext()),
    )
    assert built == [
        Tool(function_declarations=names),
        Tool(google_search=GoogleSearch()),
        Tool(code_execution=CodeExecution()),
        Tool(url_context=UrlContext()),
    ]


def test_no_tools():
    assert tools() == []


@joined(
    "parameters",
    [
        None,
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"properties": {}},
        Schema(type="OBJECT"),
    ],
    ids=["none", "empty", "object", "no-properties", "no-type", "native"],
)
def test_a_function_without_parameters_has_none_on_the_wire(parameters):
    """S0-01, G44: parameters without properties are left out."""
    assert (
        encode(function_declaration("now", "The time.", parameters))
        == b'{"name":"now","description":"The time."}'
    )


def test_parameters_without_a_type_are_an_object():
    """S0-02: parameters without a type become an OBJECT."""
    assert (
        function_declaration(
            "tide", parameters={"properties": {"port": {"type": "string"}}}
        ).parameters.type
        == "OBJECT"
    )


@pytest.mark.row("S2-03")
def test_keywords_go_and_names_of_properties_stay():
    """A property called `strict` or `additionalProperties` stays, and so do these words in
    `required` and among values.
    """
    values, text = ["strict", "additionalProperties"], {"type": "string"}
    source = {
        "type": "object",
        "properties": {
            "strict": {"type": "string", "enum": values, "default": "strict"},
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "deep": {
                        "type": "array",
                        "items": {"type": "object", "strict": True, "properties": {"strict": text}},
                    }
                },
                "additionalProperties": True,
            },
        },
        "required": ["strict", "additionalProperties"],
        "example": {"strict": "additionalProperties"},
        "additionalProperties": False,
        "strict": True,
    }
    before = copy.deepcopy(source)
    declared = function_declaration("f", "strict additionalProperties", source)
    assert source == before
    strict, other = declared.parameters.properties.values()
    assert (strict.enum, strict.default) == (values, "strict")
    assert declared.parameters.example == {"strict": "additionalProperties"}
    assert list(other.properties["deep"].items.properties) == ["strict"]
    assert (
        list(declared.parameters.properties)
        == declared.parameters.required
        == ["strict", "additionalProperties"]
    )
    assert declared.description == "strict additionalProperties"
    assert json.loads(encode(declared)).keys() == {"name", "description", "parameters"}
    assert {note.path for note in notes(declared)} == {
        "parameters.additionalProperties",
        "parameters.strict",
        "parameters.properties.additionalProperties.additionalProperties",
        "parameters.properties.additionalProperties.properties.deep.items.strict",
    }
    [tool] = tools(
        {"type": "function", "function": {"name": "f", "strict": True, "parameters": source}}
    )
    assert json.loads(encode(tool))["functionDeclarations"] == [
        {key: value for key, value in json.loads(encode(declared)).items() if key != "description"}
    ]


@pytest.mark.row("S3-06")
def test_json_schema_is_sent_as_it_is():
    raw = {**PORT, "additionalProperties": False, "title": None}
    declared = FunctionDeclaration(
        name="f", parameters_json_schema=raw, response_json_schema={"type": "object", "$id": "x"}
    )
    [tool] = tools(declared, {"name": "d", "parameters": PORT})
    assert json.loads(encode(tool)) == {
        "functionDeclarations": [
            {
                "name": "f",
                "parametersJsonSchema": raw,
                "responseJsonSchema": {"type": "object", "$id": "x"},
            },
            {"name": "d", "parameters": json.loads(encode(WIRE_PORT))},
        ]
    }


def test_response_schema():
    declared = function_declaration(
        "tide", response={"type": "object", "properties": {"m": {"type": "number"}}, "$schema": "x"}
    )
    assert declared.response == Schema(type="OBJECT", properties={"m": Schema(type="NUMBER")})
    assert [note.path for note in notes(declared)] == ["response.$schema"]


@joined(
    ("definition", "paths"),
    [
        ({"name": "f", "strict": True}, ["tools[1].strict"]),
        (
            {"type": "function", "function": {"name": "f", "strict": False, "cache": 1}},
            ["tools[1].strict", "tools[1].cache"],
        ),
        ({"type": "function", "name": "f"}, []),
        (
            {"name": "f", "parameters": {**PORT, "additionalProperties": False}},
            ["tools[1].parameters.additionalProperties"],
        ),
        (function_declaration("f", parameters={**PORT, "$id": "x"}), ["tools[1].parameters.$id"]),
    ],
    ids=["strict", "two", "type", "schema", "declaration"],
)
def test_notes_say_where(definition, paths):
    assert [note.path for note in notes(tools({"name": "first"}, definition))] == paths


def test_definitions_are_not_changed():
    """S0-01: the definition of the caller stays unchanged."""
    wrapped = {
        "type": "function",
        "function": {
            "name": "f",
            "strict": True,
            "parameters": {**PORT, "additionalProperties": False},
        },
    }
    native = Tool(function_declarations=[TIDE], google_search=GoogleSearch())
    before = copy.deepcopy((wrapped, native))
    assert tools(wrapped, native) == tools(wrapped, native)
    assert (wrapped, native) == before


@joined("name", ["f", "_f", "F9_-", "a" * 64])
def test_good_name(name):
    assert function_declaration(name).name == name


@joined("name", ["", "9f", "-f", "a.b", "a:b", "a b", "é", "f\n", "a" * 65, None, 3])
def test_bad_name(name):
    with pytest.raises(RuleError) as caught:
        function_declaration(name)
    assert [(violation.path, violation.rule) for violation in caught.value.violations] == [
        ("name", "G28")
    ]


@joined(
    ("definitions", "path", "rule"),
    [
        ([{"name": "f"}, {"name": "f"}], "tools", "G29"),
        (
            [{"name": "f"}, Tool(function_declarations=[FunctionDeclaration(name="f")])],
            "tools",
            "G29",
        ),
        ([{"name": "f"}, {"name": "a b"}], "tools[1].name", "G28"),
        ([{"type": "web_search"}], "tools[0]", "G1"),
        ([{"type": "function", "function": None}], "tools[0]", "G1"),
        ([{"name": "f"}, "f"], "tools[1]", ""),
        ([None], "tools[0]", ""),
    ],
    ids=[
        "twice",
        "twice-over-tools",
        "name",
        "other-builtin",
        "no-function",
        "text",
        "none",
    ],
)
def test_refused(definitions, path, rule):
    with pytest.raises(RuleError) as caught:
        tools(*definitions)
    assert [(violation.path, violation.rule) for violation in caught.value.violations] == [
        (path, rule)
    ]


def test_a_schema_that_cannot_be_written_names_its_place():
    recursive = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    with pytest.raises(SchemaError) as caught:
        tools({"name": "first"}, {"name": "f", "parameters": recursive})
    assert caught.value.violations[0].path.startswith("tools[1].parameters.properties.next")
    assert caught.value.message.startswith("tools[1].parameters.properties.next")


def test_schema_with_notes_keeps_them():
    lowered = schema({**PORT, "$id": "x"})
    assert notes(function_declaration("f", parameters=lowered)) == notes(lowered)


@pytest.mark.row("S2-15")
@joined(
    ("definition", "built"),
    [
        ({"google_search": {}}, Tool(google_search=GoogleSearch())),
        ({"googleSearch": {}}, Tool(google_search=GoogleSearch())),
        ({"type": "google_search"}, Tool(google_search=GoogleSearch())),
        ({"type": "codeExecution"}, Tool(code_execution=CodeExecution())),
        (
            {"code_execution": {}, "urlContext": {}},
            Tool(code_execution=CodeExecution(), url_context=UrlContext()),
        ),
    ],
)
def test_built_in_tools_are_mapped(definition, built):
    before = copy.deepcopy(definition)
    assert tools(definition, {"name": "d"}) == [
        Tool(function_declarations=[FunctionDeclaration(name="d")]),
        built,
    ]
    assert definition == before


@pytest.mark.row("S2-15")
@joined(
    ("definition", "said"),
    [
        ({"type": "custom", "name": "d"}, "tools[1]: Gemini has no tool of type 'custom' [G1]"),
        (
            {"type": "web_search_20250305", "name": "web_search"},
            "tools[1]: Gemini has no tool of type 'web_search_20250305' [G1]",
        ),
        ({"type": ["custom"]}, "tools[1]: Gemini has no tool of type ['custom'] [G1]"),
        ({"type": "google_search", "mood": 1}, "tools[1].googleSearch.mood: a built-in tool"),
        ({"google_search": 5}, "tools[1].googleSearch: Expected `object | null`"),
        ({"google_search": {"x": float("nan")}}, "tools[1].googleSearch.x: nan is not a JSON"),
        ({"parameters": PORT}, "tools[1]: a function must have a name [G1]"),
        ("google_search", "tools[1]: expected a FunctionDeclaration, a Tool or a mapping, not str"),
    ],
)
def test_what_is_no_tool_is_refused(definition, said):
    """And not dropped, nor sent as a function without parameters."""
    with pytest.raises(RuleError) as refused:
        tools({"name": "f"}, definition)
    assert str(refused.value).startswith(said)


@pytest.mark.row("S4-14")
@joined(
    ("kind", "sent"),
    [
        ("object", "OBJECT"),
        ("string", "STRING"),
        ("integer", "INTEGER"),
        ("number", "NUMBER"),
        ("boolean", "BOOLEAN"),
        ("array", "ARRAY"),
    ],
)
def test_every_type_at_every_depth(kind, sent):
    items = {"items": {"type": "string", "enum": ["a", "b"]}} if kind == "array" else {}
    member = {"type": kind, "description": f"One {kind}.", **items}
    declared = function_declaration(
        "f",
        "Does it.",
        {
            "type": "object",
            "properties": {
                "one": member,
                "in": {"type": "object", "properties": {"deep": member}},
                "list": {"type": "array", "items": member},
            },
            "required": ["one"],
        },
    )
    inner = {"type": sent, "description": f"One {kind}."}
    if kind == "array":
        inner["items"] = {"type": "STRING", "enum": ["a", "b"]}
    assert json.loads(encode(declared)) == {
        "name": "f",
        "description": "Does it.",
        "parameters": {
            "type": "OBJECT",
            "properties": {
                "one": inner,
                "in": {"type": "OBJECT", "properties": {"deep": inner}},
                "list": {"type": "ARRAY", "items": inner},
            },
            "required": ["one"],
        },
    }


@pytest.mark.row("S4-14", "S3-06")
@pytest.mark.parametrize(
    ("parameters", "place"),
    [
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "parameters.properties.a.type"),
        ({"type": "object", "properties": {"a": "string"}}, "parameters.properties.a"),
        ({"type": "object", "properties": []}, "parameters.properties"),
        ('{"type": "object"', "parameters"),
        (["a"], "parameters"),
    ],
)
def test_a_schema_that_cannot_be_sent_is_an_error(parameters, place):
    """Its tool is neither skipped nor sent without parameters."""
    for define in (
        lambda: function_declaration("f", "", parameters),
        lambda: tools({"name": "d"}, {"name": "f", "parameters": parameters}),
    ):
        with pytest.raises(SchemaError) as refused:
            define()
        assert refused.value.violations[0].path.removeprefix("tools[1].") == place
