"""Schemas and types of the caller that are deep, large or refer to themselves: each wire gives a
bounded answer, which is a call or an error that names the place (R-38).
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union

import msgspec
import pytest

from tests.joined import joined
from wire import Message, Output, Request, Tool, anthropic, gemini, openai, tool
from wire.core.bounds import BOUNDS
from wire.core.json_values import expands
from wire.errors import RuleError, ToolError, WireError
from wire.neutral.output import OutputType
from wire.openai import responses

MODELS: dict[str, tuple[Any, str]] = {
    "gemini": (gemini, "gemini-3.8-flash"),
    "openai": (openai, "gpt-5.4"),
    "anthropic": (anthropic, "claude-opus-4-8"),
    "openai.responses": (responses, "gpt-5.6"),
}


def prop(schema: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": schema}}


def deep(levels: int, key: str) -> Any:
    schema: Any = {"type": "string"}
    for _ in range(levels):
        inner = {"x": schema} if key == "properties" else [schema] if key.endswith("Of") else schema
        schema = {"type": "object", key: inner} if key == "properties" else {key: inner}
    return schema


def doubled(levels: int, key: str) -> dict[str, Any]:
    """Each definition refers to the one before twice: 2**levels strings."""
    defs: dict[str, Any] = {"d0": {"type": "string"}}
    for level in range(levels):
        ref = {"$ref": f"#/$defs/d{level}"}
        defs[f"d{level + 1}"] = prop(ref) | {key: [ref, ref]}
    return prop({"$ref": f"#/$defs/d{levels}"}) | {"$defs": defs}


def shared(levels: int) -> dict[str, Any]:
    """Each dict contains the one before twice: few objects, 2**levels values as JSON."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"anyOf": [schema, schema]}
    return prop(schema)


def cyclic() -> dict[str, Any]:
    schema = prop(None)
    schema["properties"] = {"a": schema, "b": schema}
    return schema


def chain(length: int) -> dict[str, Any]:
    defs: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(length)}
    return prop({"$ref": "#/$defs/d0"}) | {"$defs": {**defs, f"d{length}": {"type": "string"}}}


def recursive(*names: str) -> dict[str, Any]:
    after = (*names[1:], names[0])
    pairs = zip(names, after, strict=True)
    defs = {name: prop({"$ref": f"#/$defs/{other}"}) for name, other in pairs}
    return prop({"$ref": f"#/$defs/{names[0]}"}) | {"$defs": defs}


SCHEMAS: dict[str, Callable[[], Any]] = {
    **{
        f"5,000 {key}": lambda key=key: prop(deep(5000, key))
        for key in ("properties", "items", "anyOf", "allOf", "oneOf", "not", "if", "x-unknown")
    },
    "5,000 in $defs": lambda: prop({}) | {"$defs": {"a": deep(5000, "properties")}},
    **{f"doubled {key}": lambda key=key: doubled(40, key) for key in ("anyOf", "allOf", "oneOf")},
    "shared": lambda: shared(60),
    "cyclic": cyclic,
    "refers to itself": lambda: recursive("a"),
    "refer to each other": lambda: recursive("a", "b", "c"),
    "a definition that is itself": lambda: (
        prop({"$ref": "#/$defs/a"}) | {"$defs": {"a": {"$ref": "#/$defs/a"}}}
    ),
    "the root": lambda: prop({"$ref": "#"}),
    "chain of 5,000": lambda: chain(5000),
    "4,000 properties": lambda: {
        "type": "object",
        "properties": {f"p{i}": {"type": "string"} for i in range(4_000)},
    },
    "4,000 required": lambda: {
        "type": "object",
        "properties": {f"p{i}": {"type": "string"} for i in range(4_000)},
        "required": [f"p{i}" for i in range(4_000)],
    },
    "enum of 100,000": lambda: prop({"enum": list(map(str, range(100_000)))}),
    "anyOf of 4,000": lambda: prop({"anyOf": [{"const": i} for i in range(4_000)]}),
    "pattern": lambda: prop({"type": "string", "pattern": "(a+)+$"}),
    "pattern of brackets": lambda: prop({"type": "string", "pattern": "(" * 50_000}),
    "a key that is no text": lambda: prop({1: 2}),
    "NaN": lambda: prop({"type": "number", "default": math.nan}),
    "5,000 digits": lambda: prop({"type": "integer", "maximum": 10**5000}),
    "a long reference": lambda: prop({"$ref": "#/" + "a/" * 50_000}),
    "properties as list": lambda: {"type": "object", "properties": [1]},
    "a reference that is no text": lambda: prop({"$ref": [1]}),
}


def raised(work: Callable[[], Any]) -> Any:
    """The error of `work`, whose message is short; `None` if it raised none."""
    try:
        work()
    except (RuleError, ToolError) as error:
        if "\n" in str(error) or len(str(error).encode()) > 2048:
            pytest.fail("the message is not one line of at most 2 KiB")
        return error
    return None


def asked(wire: Any, model: str, schema: Any, *, strict: bool) -> Any:
    messages = (Message.user("Hi"),)
    tools = (Tool("f", parameters=schema, strict=strict),)
    output = Output(schema, strict=strict)
    wire.call(Request(messages=messages, tools=tools), model)
    return wire.call(Request(messages=messages, output=output), model)


@pytest.mark.row("R-38")
@pytest.mark.parametrize(
    ("kind", "strict", "wire"),
    [
        # Every fourth kind, strict in turns, on every second wire; the builders below get others.
        pytest.param(
            each,
            strict,
            wire,
            marks=[pytest.mark.slow] * (place % 8 != 4 * strict or (place // 8 + at) % 2 == 1),
        )
        for place, each in enumerate(SCHEMAS)
        for strict in (False, True)
        for at, wire in enumerate(MODELS)
    ],
)
def test_each_wire_gives_a_bounded_answer_to_a_schema(kind: str, strict: bool, wire: str) -> None:
    module, model = MODELS[wire]
    error = raised(functools.partial(asked, module, model, SCHEMAS[kind](), strict=strict))
    assert error is None or error.violations[0].path


@pytest.mark.row("R-38")
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(each, marks=() if place % 4 == 1 else pytest.mark.slow)
        for place, each in enumerate(SCHEMAS)
    ],
)
def test_each_builder_gives_a_bounded_answer_to_a_schema(kind: str) -> None:
    made = SCHEMAS[kind]()
    for build in (
        gemini.schema,
        lambda schema: gemini.function_declaration("f", parameters=schema),
        OutputType,
        lambda schema: tool(lambda **_: 1, name="f", parameters=schema),
    ):
        raised(functools.partial(build, made))  # type: ignore[arg-type]


def calls_of(work: Callable[[], Any]) -> int:
    """The number of Python functions that `work` calls."""
    counted = 0

    def count(frame: Any, event: str, arg: Any) -> None:
        nonlocal counted
        counted += event == "call"

    sys.setprofile(count)
    try:
        work()
    except WireError:
        pass
    finally:
        sys.setprofile(None)
    return counted


LARGE: dict[str, Callable[[int], Any]] = {
    "properties": lambda n: prop({"properties": {f"p{i}": {"type": "string"} for i in range(n)}}),
    "required": lambda n: {
        "type": "object",
        "additionalProperties": False,
        "properties": {f"p{i}": {"type": "string"} for i in range(n)},
        "required": [f"p{i}" for i in range(n)],
    },
    "enum": lambda n: prop({"enum": list(map(str, range(n)))}),
    "anyOf": lambda n: prop({"anyOf": [{"const": i} for i in range(n)]}),
    "chain": lambda n: chain(n // 4),
}


@pytest.mark.row("R-38")
@joined("wire", MODELS)
@joined("kind", LARGE)
def test_the_work_is_linear_in_the_size_of_a_schema(kind: str, wire: str) -> None:
    module, model = MODELS[wire]
    one, two = (
        calls_of(lambda size=size: asked(module, model, LARGE[kind](size), strict=True))  # type: ignore[misc]
        for size in (200, 400)
    )
    assert two < 2.2 * one + 100


@pytest.mark.row("R-38")
def test_a_schema_that_is_too_large_names_the_limit() -> None:
    remedy = "a list or object that occurs several times counts each time"
    with pytest.raises(RuleError) as caught:
        Tool("f", parameters=shared(40))
    assert str(caught.value) == (
        f"tool f: parameters.properties.x.anyOf: more than {BOUNDS.schema_values:,} values "
        f"({remedy})"
    )
    with pytest.raises(
        RuleError, match=r"^output\.schema\.properties\.x\.anyOf: more than 250,000 values"
    ):
        Output(shared(40))


def test_values_are_counted_where_they_occur() -> None:
    numbers = list(range(1000))
    assert not expands([[numbers] * 10], 10_500)
    assert expands([[numbers] * 11], 10_500)
    loop: list[Any] = []
    loop.append(loop)
    assert not expands([loop])  # `checked` says that it contains itself
    loop.append(loop)
    assert expands([loop])


def test_a_value_that_expands_is_refused_in_every_body() -> None:
    value: list[Any] = ["a"]
    for _ in range(60):
        value = [value, value]
    model, types = "gemini-3.8-flash", gemini.types
    response = types.FunctionResponse(name="f", response={"a": value})
    contents = [types.Content(parts=[types.Part(function_response=response)])]
    raw = gemini.GenerateContentRequest(contents=contents)
    hi = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    call = gemini.generate_content(model, hi)
    asked = Request(messages=(Message.user("Hi"),), options={"gemini": {"labels": value}})
    at = "contents[0].parts[0].functionResponse.response.a"
    for path, build in (
        (at, lambda: gemini.generate_content(model, raw)),
        ("body_extra.labels", lambda: call.replace(body_extra={"labels": value})),
        ("options.gemini.labels", lambda: gemini.call(asked, model)),
    ):
        with pytest.raises(RuleError) as caught:
            build()
        assert [each.path for each in caught.value.violations] == [path]
        assert caught.value.violations[0].message == "more than 5,000,000 values"
    assert [each.path for each in gemini.check(raw, model)] == [at]


# --- types of Python ------------------------------------------------------------------------------


@dataclasses.dataclass
class Tree:
    children: list[Tree] | None = None


@dataclasses.dataclass
class Left:
    right: Right


@dataclasses.dataclass
class Right:
    left: list[Left]


class Moody(type):
    def __getattr__(cls, name: str) -> Any:
        raise RuntimeError(name)


class Model:
    """Has the methods of a pydantic model; its schema is none."""

    @classmethod
    def model_json_schema(cls, **_: Any) -> Any:
        return 5

    @classmethod
    def model_validate_json(cls, _: bytes) -> Any: ...


def nested(levels: int, wrap: Callable[[Any], Any]) -> Any:
    kind: Any = str
    for _ in range(levels):
        kind = wrap(kind)
    return kind


TYPES: dict[str, Callable[[], Any]] = {
    "a tree": lambda: Tree,
    "two that need each other": lambda: Left,
    "2,000 lists": lambda: nested(2000, lambda kind: list[kind]),
    "200 annotated": lambda: nested(
        200, lambda kind: Annotated[list[kind], msgspec.Meta(description="a")]
    ),
    "2**60 tuples": lambda: nested(60, lambda kind: tuple[kind, kind]),
    "5,000 literals": lambda: Literal[tuple(map(str, range(5000)))],
    "300 dataclasses": lambda: Union[  # noqa: UP007
        tuple(dataclasses.make_dataclass(f"C{i}", [("x", int)]) for i in range(300))
    ],
    "a class that raises": lambda: Moody("Odd", (), {}),
    "a model without a schema": lambda: Model,
    "a number": lambda: 5,
    "a list that contains itself": lambda: shared(60),
}


# Python 3.13 warns of an exception of `__getattr__` that is no AttributeError where C asks for one.
@pytest.mark.row("R-38")
@pytest.mark.filterwarnings("ignore:Exception ignored in PyObject_HasAttr")
@pytest.mark.parametrize("kind", TYPES)
def test_a_type_of_tools_and_outputs_gets_a_bounded_answer(kind: str) -> None:
    made = TYPES[kind]()

    def function(x: Any) -> int:
        return 1

    function.__annotations__["x"] = made
    for build in (
        lambda: OutputType(made),
        lambda: tool(function),
        lambda: tool(function, response=made),
        lambda: tool(lambda value: 1, name="f", parameters=made),
    ):
        raised(build)
