"""Tools out of JSON Schema: checked when they are defined, sent as they are given, and held to by
arguments and results.
"""

from __future__ import annotations

import copy
import importlib.resources
import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.joined import joined
from tests.tools.test_definition import Place, bound
from wire.core.memory import FrozenDict, freeze
from wire.errors import ConfigurationError, RuleError, ToolError
from wire.neutral.messages import ToolCall, ToolResult
from wire.neutral.request import Tool
from wire.tools import Ready, Toolbox, ToolContext, tool

PARAMETERS = {
    "type": "object",
    "properties": {
        "location": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^@:/]*$"},
        "days": {"type": "integer"},
    },
    "required": ["location"],
    "additionalProperties": False,
}
RESPONSE = {
    "type": "object",
    "properties": {"location": {"type": "string"}, "temperature": {"type": "string"}},
    "required": ["temperature"],
}


def finished(made: Tool, arguments: Any) -> ToolResult:
    toolbox = Toolbox([made])
    ready = toolbox.prepare(ToolCall(id="c", name=made.name, arguments=arguments))
    assert isinstance(ready, Ready)
    return toolbox.finish(ready, ready.run()).result


@pytest.mark.row("S3-04", "S3-32")
@pytest.mark.parametrize(
    "form", [dict, json.dumps, lambda schema: json.dumps(schema).encode(), FrozenDict]
)
def test_forms_of_a_schema(form: Any, tmp_path: Path) -> None:
    made = tool(
        lambda arguments: arguments,
        name="get_weather",
        parameters=form(PARAMETERS),
        response=form(RESPONSE),
    )
    assert (made.parameters, made.response) == (PARAMETERS, RESPONSE)
    assert bound(made, {"location": "Oslo"}) == {"location": "Oslo"}


@pytest.mark.row("S3-32")
def test_schemas_in_files(tmp_path: Path) -> None:
    (tmp_path / "parameters.json").write_text(json.dumps(PARAMETERS), "utf-8")
    made = tool(
        lambda arguments: arguments, name="get_weather", parameters=tmp_path / "parameters.json"
    )
    assert made.parameters == PARAMETERS
    packaged = importlib.resources.files("tests") / "tools" / "absent.json"
    with pytest.raises(
        ToolError, match=r"tool f: invalid response schema: it cannot be read: .*absent\.json"
    ):
        tool(lambda a: a, name="f", parameters=PARAMETERS, response=packaged)
    (tmp_path / "odd.json").write_bytes(b"\xff{}")
    with pytest.raises(ToolError, match="tool f: invalid parameters schema: it cannot be read: "):
        tool(lambda a: a, name="f", parameters=tmp_path / "odd.json")


BAD: list[Any] = [
    {"type": "strnig"},
    {"type": "object", "properties": {"a": {"type": "int"}}},
    {"type": "object", "required": "a"},
    {"type": "object", "properties": {"a": {"pattern": "("}}},
    {"type": "object", "properties": {"a": {"minLength": -1}}},
    {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": [1]},
    {"$schema": "https://schemas.example/nowhere", "type": "object"},
    {"$ref": "#/$defs/nothing"},
    {"type": "object", "properties": 5},
    '{"type": "object"',
    b"[]",
    "",
]


@pytest.mark.row("S3-02")
@joined("schema", BAD)
def test_a_bad_schema_is_an_error_when_it_is_defined(schema: Any) -> None:
    with pytest.raises(ToolError) as caught:
        tool(lambda arguments: 1, name="get_weather", parameters=schema)
    assert caught.value.message.startswith("tool get_weather: invalid parameters schema: ")
    with pytest.raises(ToolError) as caught:
        tool(lambda: 1, name="get_weather", response=schema)
    assert caught.value.message.startswith("tool get_weather: invalid response schema: ")


@pytest.mark.row("S3-02")
def test_the_reason_names_the_place() -> None:
    with pytest.raises(
        ToolError,
        match=r'invalid parameters schema: \$\.properties\.a\.type: "int" is not valid under any',
    ):
        tool(lambda arguments: 1, name="f", parameters=BAD[1])


@pytest.mark.row("U-102")
def test_parameters_are_an_object() -> None:
    with pytest.raises(RuleError, match="expected the type object, not 'array'"):
        tool(lambda arguments: 1, name="f", parameters={"type": "array"})
    assert bound(lambda arguments: arguments, {"a": 1}, name="f", parameters={}) == {"a": 1}


def test_a_schema_is_never_fetched() -> None:
    """A server that would answer is asked nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        url = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        with pytest.raises(ToolError, match="is not in the schema"):
            tool(
                lambda arguments: 1,
                name="f",
                parameters={"type": "object", "properties": {"a": {"$ref": url}}},
            )
        with pytest.raises(BlockingIOError):
            server.accept()


@pytest.mark.row("S0-01")
def test_the_schema_stays_as_it_is() -> None:
    schema = copy.deepcopy(PARAMETERS)
    made = tool(lambda arguments: arguments, name="f", parameters=schema)
    assert made.parameters is schema
    assert bound(made, {"location": "Oslo"}) == {"location": "Oslo"}
    assert schema == PARAMETERS


@pytest.mark.row("S3-03", "S3-12")
@joined(
    ("arguments", "told"),
    [
        ({}, '$: "location" is a required property'),
        ({"location": ""}, '$.location: "" is shorter than 1 character'),
        ({"location": "a/b"}, '$.location: "a/b" does not match "^[^@:/]*$"'),
        ({"location": "Oslo", "days": "2"}, '$.days: "2" is not of type "integer"'),
        (
            {"location": "Oslo", "colour": 1},
            "$: Additional properties are not allowed ('colour' was unexpected)",
        ),
    ],
)
def test_the_function_is_not_run_on_invalid_arguments(arguments: Any, told: str) -> None:
    ran: list[Any] = []
    assert bound(ran.append, arguments, name="f", parameters=PARAMETERS) == {
        "error": f"invalid parameters: {told}"
    }
    assert ran == []


def test_a_long_reason_is_cut() -> None:
    told = bound(lambda arguments: 1, {"location": "x" * 100_000}, name="f", parameters=PARAMETERS)[
        "error"
    ]
    assert len(told) < 600


@pytest.mark.row("S3-04")
def test_drafts() -> None:
    """Of `items` as a list draft-07 says what 2020-12 says by `prefixItems`."""
    items = {"type": "object", "properties": {"a": {"items": [{"type": "integer"}]}}}
    old = {"$schema": "http://json-schema.org/draft-07/schema#", **items}
    new = {"type": "object", "properties": {"a": {"prefixItems": [{"type": "integer"}]}}}
    for schema in (old, new):
        assert bound(lambda a: a, {"a": [1]}, name="f", parameters=schema) == [1]
        assert bound(lambda a: a, {"a": ["x"]}, name="f", parameters=schema) == {
            "error": 'invalid parameters: $.a[0]: "x" is not of type "integer"'
        }
    with pytest.raises(ToolError, match="invalid parameters schema"):
        tool(lambda a: a, name="f", parameters=items)


@pytest.mark.row("S3-04")
@joined(
    ("schema", "good", "bad"),
    [
        ({"type": ["string", "null"]}, [None, "a"], [1, [], True]),
        ({"type": "integer"}, [1, 1.0, -(2**70)], [1.5, "1", True]),
        ({"type": "number"}, [1, 1.5], ["1", None, False]),
        ({"enum": ["a", 1, None]}, ["a", 1, None], ["b", True]),
        ({"const": {"a": [1]}}, [{"a": [1]}], [{"a": [2]}, None]),
        (
            {"minLength": 2, "maxLength": 3, "pattern": "^[ä-ü]+$"},
            ["äö", "äöü"],
            ["ä", "äöüä", "ab"],
        ),
        ({"minimum": 1, "maximum": 2}, [1, 2, 1.5], [0, 2.1]),
        (
            {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": 2,
                "uniqueItems": True,
            },
            [["a"]],
            [[], ["a", "a"], [1]],
        ),
        ({"oneOf": [{"type": "integer"}, {"minimum": 5}]}, [1, 5.5], [5, 1.5]),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, [1, "a"], [None]),
        ({"allOf": [{"minimum": 1}, {"maximum": 2}]}, [1], [0, 3]),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "required": ["a"]},
            [{"a": "b"}],
            [{}, {"a": 1}],
        ),
        ({"$ref": "#/$defs/tree"}, [{"down": {"down": {}}}], [{"down": {"down": 1}}]),
    ],
)
@joined(
    "draft",
    ["https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"],
)
def test_keywords(schema: dict[str, Any], good: list[Any], bad: list[Any], draft: str) -> None:
    whole = {
        "$schema": draft,
        "type": "object",
        "properties": {"it": schema},
        "$defs": {"tree": {"type": "object", "properties": {"down": {"$ref": "#/$defs/tree"}}}},
    }
    made = tool(lambda it: [it], name="f", parameters=whole)
    assert [bound(made, {"it": value}) for value in good] == [[value] for value in good]
    for value in bad:
        assert bound(made, {"it": value})["error"].startswith("invalid parameters: $.it")  # type: ignore[index]


@pytest.mark.row("S3-04")
def test_a_default_is_not_put_in() -> None:
    schema = {"type": "object", "properties": {"a": {"default": 5}, "b": {}}}
    assert bound(lambda arguments: arguments, {}, name="f", parameters=schema) == {}
    assert bound(lambda a=1, b=2: (a, b), {"b": 3}, name="f", parameters=schema) == (1, 3)


@pytest.mark.row("S3-03")
def test_absent_arguments_are_none() -> None:
    toolbox = Toolbox([tool(lambda arguments: arguments, name="f", parameters={"type": "object"})])
    for call in (
        ToolCall(name="f"),
        ToolCall(name="f", arguments=None),
        ToolCall(name="f", arguments=None, text=" "),
    ):
        ready = toolbox.prepare(call)
        assert isinstance(ready, Ready)
        assert ready.run() == {}


@pytest.mark.row("S3-03")
@pytest.mark.parametrize("freezing", [False, True])
def test_a_function_cannot_change_what_the_history_has(freezing: bool) -> None:
    def spoil(arguments: Any, context: ToolContext) -> Any:
        arguments["a"]["b"].append(1)
        context.call.arguments["a"]["b"].append(2)  # type: ignore[index]
        return arguments

    def spoil_it(a: dict[str, Any]) -> Any:
        a["b"].append(1)
        return a

    arguments: Any = {"a": {"b": []}}
    given = freeze(arguments) if freezing else arguments
    schema = {"type": "object", "properties": {"a": {"type": "object"}}}
    tools = [
        tool(spoil, parameters=schema),
        tool(spoil_it, parameters=schema),
        tool(spoil_it, name="typed"),
    ]
    results = [finished(made, given).content for made in tools]
    assert results == [{"a": {"b": [1]}}, {"b": [1]}, {"b": [1]}]
    assert given == {"a": {"b": []}}


# --- how a function is called ---------------------------------------------------------------------


def of_names(location, days=1):
    return location, days


def of_nothing():
    return None


def of_any(**given):
    return given


def of_some(location, secret="s", **given):
    return location, secret, given


def of_keywords(*, location, days=None):
    return location, days


def of_dict(arguments):
    return arguments


def of_place_only(location, /):
    return location


def of_dict_and_more(arguments, retries=3):
    return arguments, retries


@pytest.mark.row("U-103")
@joined(
    ("function", "result"),
    [
        (of_names, ("Oslo", 2)),
        (of_any, {"location": "Oslo", "days": 2}),
        (of_some, ("Oslo", "s", {"days": 2})),
        (of_keywords, ("Oslo", 2)),
        (of_dict, {"location": "Oslo", "days": 2}),
        (of_dict_and_more, ({"location": "Oslo", "days": 2}, 3)),
        (dict, None),
    ],
)
def test_keywords_or_one_dict(function: Any, result: Any) -> None:
    if function is dict:
        with pytest.raises(ToolError, match="tool dict: parameters: only a tool with a function"):
            tool(dict, parameters=PARAMETERS)  # type: ignore[call-overload]
    else:
        assert bound(function, {"location": "Oslo", "days": 2}, parameters=PARAMETERS) == result


def test_what_a_model_adds_reaches_no_parameter_that_it_was_not_told_of() -> None:
    loose = {name: value for name, value in PARAMETERS.items() if name != "additionalProperties"}
    given = {"location": "Oslo", "secret": "mine"}
    assert bound(of_names, given, parameters=loose) == {
        "error": "invalid parameters: $: there is no parameter 'secret'"
    }
    assert bound(of_some, given, parameters=loose) == {
        "error": "invalid parameters: $: there is no parameter 'secret'"
    }
    assert bound(of_some, {"location": "Oslo", "more": 1}, parameters=loose) == (
        "Oslo",
        "s",
        {"more": 1},
    )
    assert bound(of_dict, given, parameters=loose) == given


def test_a_parameter_that_only_the_function_needs() -> None:
    made = tool(lambda location, days: (location, days), name="f", parameters=PARAMETERS)
    assert bound(made, {"location": "Oslo", "days": 1}) == ("Oslo", 1)
    assert bound(made, {"location": "Oslo"}) == {
        "error": "invalid parameters: $: the parameter 'days' is missing"
    }


@joined(
    ("function", "told"),
    [
        (
            lambda: 1,
            "its function must take the schema's properties by name (location, days), or "
            "the object as its only argument",
        ),
        (lambda location: 1, "its function must take the schema's properties by name"),
        (lambda a, b: 1, "its function must take the schema's properties by name"),
        (of_place_only, "its function must take the schema's properties by name"),
    ],
)
def test_a_function_that_does_not_fit_its_schema(function: Any, told: str) -> None:
    with pytest.raises(ToolError) as caught:
        tool(function, name="f", parameters=PARAMETERS)
    assert caught.value.message.startswith(f"tool f: {told}")


def test_a_parameter_for_the_context_that_is_a_property_as_well() -> None:
    def both(a: int, context: ToolContext) -> None: ...

    with pytest.raises(ToolError) as caught:
        tool(both, parameters={"properties": {"a": {}, "context": {}}, "required": ["a"]})
    assert (
        caught.value.message
        == "tool both: its function must take the schema's properties by name (a, context), "
        + ("or the object as its only argument")
    )


# --- results --------------------------------------------------------------------------------------


@pytest.mark.row("S3-01", "S3-03")
@pytest.mark.parametrize("response", [RESPONSE, json.dumps(RESPONSE)])
def test_a_result_is_held_to_the_response(response: Any) -> None:
    def made(value: Any) -> Tool:
        return tool(lambda: value, name="f", response=response)

    assert finished(made({"temperature": "15"}), {}).answer == {"temperature": "15"}
    assert finished(made({"temperature": 15}), {}).answer == {
        "error": 'invalid response: $.temperature: 15 is not of type "string"'
    }
    assert finished(made("15"), {}).answer == {
        "error": 'invalid response: $: "15" is not of type "object"'
    }
    assert finished(made(ToolResult("", "", "no such place", error=True)), {}).answer == {
        "error": "no such place"
    }


def test_a_type_as_the_response() -> None:
    made = tool(lambda: {"city": 5}, name="f", response=Place)
    assert made.response is not None
    assert made.response["required"] == ["city"]
    assert finished(made, {}).answer == {
        "error": "invalid response: $.city: Expected `str`, got `int`"
    }
    assert finished(tool(lambda: Place("Oslo"), name="f", response=Place), {}).answer == {
        "city": "Oslo",
        "country": "NO",
    }


# --- the extra ------------------------------------------------------------------------------------


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    for options in ({"parameters": PARAMETERS}, {"response": RESPONSE}):
        with pytest.raises(ConfigurationError, match=r"wire-llm\[tools\]"):
            tool(of_nothing, **options)
    assert bound(lambda it: it, {"city": "Oslo"}, name="f", parameters=Place) == Place("Oslo")
    assert Toolbox([Tool("f", parameters=PARAMETERS)]).definitions[0].parameters == PARAMETERS


def test_importing_loads_neither_validator_nor_http() -> None:
    code = (
        "import sys, wire.tools, wire.neutral.output; print(*[n for n in ('jsonschema_rs', "
        "'pydantic', 'httpx', 'anyio') if n in sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()
        == ""
    )


@pytest.mark.row("S3-01")
def test_one_tool_in_many_threads() -> None:
    toolbox = Toolbox(
        [
            tool(
                lambda location, days=0: f"{location} {days}",
                name="f",
                parameters=PARAMETERS,
                response={"type": "string"},
            )
        ]
    )

    def call(number: int) -> Any:
        arguments = {"location": "Oslo", "days": number if number % 3 else "x"}
        ready = toolbox.prepare(ToolCall(id=str(number), name="f", arguments=arguments))
        return toolbox.finish(ready, ready.run()).result if isinstance(ready, Ready) else ready

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(call, range(300)))
    assert [result.id for result in results] == [str(number) for number in range(300)]
    assert [result.error for result in results] == [number % 3 == 0 for number in range(300)]
    assert results[4].answer == {"result": "Oslo 4"}


def test_what_is_nested_without_end_is_refused() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    for made in (
        tool(lambda arguments: 1, name="f", parameters={"type": "object"}),
        tool(lambda it: 1, name="f", parameters=dict[str, Any]),
    ):
        assert bound(made, deep)["error"].startswith("invalid parameters: $: nested too deep")  # type: ignore[index]
    shallow: Any = {}
    for _ in range(200):
        shallow = {"a": shallow}
    schema = {
        "type": "object",
        "$defs": {"t": {"properties": {"a": {"$ref": "#/$defs/t"}}}},
        "properties": {"a": {"$ref": "#/$defs/t"}},
    }
    assert bound(lambda arguments: arguments, shallow, name="f", parameters=schema) == shallow
    assert (
        finished(tool(lambda: deep, name="f", response=schema), {})
        .answer["error"]
        .startswith("invalid response: $: ")
    )
