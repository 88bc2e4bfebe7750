"""Answers as values: the schema that a model is told, and what its text is read as."""

from __future__ import annotations

import datetime
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypedDict, TypeVar, get_origin

import msgspec
import pydantic
import pytest

from tests.joined import joined
from wire.core.memory import FrozenDict
from wire.errors import ConfigurationError, OutputError, SchemaError
from wire.neutral.output import OutputType
from wire.neutral.request import Output

T = TypeVar("T")


class Person(msgspec.Struct):
    """Somebody."""

    name: str
    age: int
    friends: list[Person] = []


@dataclass
class Span:
    start: int
    end: int = 5


class Words(TypedDict):
    words: list[str]


class Box(msgspec.Struct, Generic[T]):
    value: T


class Cat(msgspec.Struct, tag=True):
    lives: int


class Dog(msgspec.Struct, tag=True):
    name: str


class Model(pydantic.BaseModel):
    day: datetime.date
    tags: list[str] = []

    @pydantic.field_validator("tags")
    @classmethod
    def few(cls, tags: list[str]) -> list[str]:
        if len(tags) > 2:
            raise ValueError("too many")
        if "crash" in tags:
            raise LookupError("no such tag")
        return tags


class Node(pydantic.BaseModel):
    down: Node | None = None


class Renamed(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(title="A day's weather", extra="forbid")
    high: int = pydantic.Field(alias="highest")


SCHEMA = {
    "title": "City",
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}


@pytest.mark.row("U-93")
@joined(
    ("kind", "name", "text", "value"),
    [
        (Person, "Person", '{"name": "Alice", "age": 30}', Person("Alice", 30)),
        (
            Person,
            "Person",
            '{"name": "A", "age": 30.0, "friends": [{"name": "B", "age": 1}]}',
            Person("A", 30, [Person("B", 1)]),
        ),
        (Span, "Span", '{"start": 1, "more": 2}', Span(1)),
        (Words, "Words", '{"words": ["a"]}', {"words": ["a"]}),
        (Box[int], "Box_int", '{"value": 1}', Box(1)),
        (dict[str, int], "answer", '{"a": 1}', {"a": 1}),
        (Model, "Model", '{"day": "2026-11-22"}', Model(day=datetime.date(2026, 11, 22))),
        (Node, "Node", '{"down": {"down": null}}', Node(down=Node())),
        (Renamed, "A_day_s_weather", '{"highest": 3}', Renamed(highest=3)),
        (SCHEMA, "City", '{"city": "Oslo", "more": [1]}', {"city": "Oslo", "more": [1]}),
        (json.dumps(SCHEMA), "City", '{"city": "Oslo"}', {"city": "Oslo"}),
        (FrozenDict(SCHEMA), "City", '{"city": "Oslo"}', {"city": "Oslo"}),
        ({"type": "array", "title": "天気"}, "answer", "[1]", [1]),
        ({"title": "x" * 70}, "x" * 64, "5", 5),
    ],
)
def test_what_is_asked_and_what_is_read(kind: Any, name: str, text: str, value: Any) -> None:
    wanted = OutputType(kind)
    assert wanted.output.name == name
    read = wanted.read(text)
    assert read == value
    assert type(read) is type(value)


@joined(
    ("kind", "inner", "text", "value"),
    [
        (list[int], {"type": "array", "items": {"type": "integer"}}, '{"value": [1, 2]}', [1, 2]),
        (str, {"type": "string"}, '{"value": "a"}', "a"),
        (bool, {"type": "boolean"}, '{"value": false}', False),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, '{"value": null}', None),
        (Literal["a", "b"], {"enum": ["a", "b"]}, '{"value": "b"}', "b"),
        (
            list[Model],
            None,
            '{"value": [{"day": "2026-11-22"}]}',
            [Model(day=datetime.date(2026, 11, 22))],
        ),
        (Cat | Dog, None, '{"value": {"type": "Dog", "name": "Rex"}}', Dog("Rex")),
        (Any, {}, '{"value": {"a": [1]}}', {"a": [1]}),
    ],
)
def test_what_is_no_object_is_wrapped_in_one(kind: Any, inner: Any, text: str, value: Any) -> None:
    wanted = OutputType(kind)
    assert {
        key: wanted.output.schema[key] for key in ("type", "required", "additionalProperties")
    } == {
        "type": "object",
        "required": ["value"],
        "additionalProperties": False,
    }
    if inner is not None:
        assert wanted.output.schema["properties"] == {"value": inner}
    assert wanted.output.name == "answer"
    assert wanted.read(text) == value
    with pytest.raises(OutputError):
        wanted.read(json.dumps(json.loads(text)["value"]))


def test_an_output_is_sent_as_it_is() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    given = Output(schema, "weather", strict=True)
    kind = OutputType(given)
    assert kind.output is given
    assert kind.read('{"city": "Oslo"}') == {"city": "Oslo"}
    with pytest.raises(OutputError, match="the answer does not match weather"):
        kind.read('{"city": 5}')


def test_schemas_are_whole_in_themselves() -> None:
    person = {
        "title": "Person",
        "description": "Somebody.",
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "age": {"type": "integer"},
            "friends": {"type": "array", "items": {"$ref": "#/$defs/Person"}, "default": []},
        },
        "required": ["name", "age"],
    }
    assert OutputType(Person).output == Output({**person, "$defs": {"Person": person}}, "Person")
    assert OutputType(Span).output.schema == {
        "title": "Span",
        "type": "object",
        "properties": {"start": {"type": "integer"}, "end": {"type": "integer", "default": 5}},
        "required": ["start"],
    }
    assert OutputType(Node).output.schema["type"] == "object"
    assert OutputType(Node).output.schema["$defs"]["Node"]["properties"]["down"]["anyOf"][0] == {
        "$ref": "#/$defs/Node"
    }
    assert OutputType(SCHEMA).output.schema is SCHEMA


@joined(
    ("kind", "text", "told"),
    [
        (
            Person,
            '{"name": "Alice", "age": "30"}',
            "the answer does not match Person: $.age: Expected `int`, got `str`",
        ),
        (
            Person,
            '{"name": "Alice"}',
            "the answer does not match Person: $: Object missing required field `age`",
        ),
        (Person, "[]", "the answer does not match Person: $: Expected `object`, got `array`"),
        (
            Person,
            '{"name": "A", "age": 1, "friends": [{"name": 1}]}',
            "the answer does not match Person: $.friends[0].name: Expected `str`, got `int`",
        ),
        (
            list[int],
            '{"value": [1, "2"]}',
            "the answer does not match list: $.value[1]: Expected `int`, got `str`",
        ),
        (
            Model,
            '{"day": "today"}',
            "the answer does not match Model: $.day: Input should be a valid date",
        ),
        (
            Model,
            '{"day": "2026-11-22", "tags": ["a", "b", "c"]}',
            "the answer does not match Model: $.tags: Value error, too many",
        ),
        (
            Model,
            '{"day": "2026-11-22", "tags": ["crash"]}',
            "the answer does not match Model: $: no such tag",
        ),
        (
            Renamed,
            '{"highest": 1, "a b": 2}',
            'the answer does not match A_day_s_weather: $["a b"]: Extra inputs are not permitted',
        ),
        (
            list[Model],
            '{"value": [{}]}',
            "the answer does not match list: $.value[0].day: Field required",
        ),
        (
            SCHEMA,
            '{"city": 5}',
            'the answer does not match City: $.city: 5 is not of type "string"',
        ),
        (SCHEMA, "{}", 'the answer does not match City: $: "city" is a required property'),
        (
            Person,
            "Here you are: {}",
            "the answer is not JSON: JSON is malformed: invalid character (byte 0): Here "
            "you are: {}",
        ),
        (Person, '{"name": "Al', "the answer is not JSON: Input data was truncated: "),
        (Person, '{"name": "A", "age": NaN}', "the answer is not JSON: "),
        (Person, "", "expected JSON, and the model's text is empty"),
        (Person, " \n", "expected JSON, and the model's text is empty"),
        (Person, "```json\n```", "expected JSON, and the model's text is empty"),
        (Person, "[" * 100_000, "the answer is not JSON: "),
        (Any, "caf\udce9", "the answer is not JSON: "),
    ],
)
def test_what_does_not_fit_is_named(kind: Any, text: str, told: str) -> None:
    with pytest.raises(OutputError) as caught:
        OutputType(kind).read(text)
    assert caught.value.message.startswith(told)
    assert caught.value.partial is None


@joined(
    "text",
    [
        '{"name": "A", "age": 1}',
        ' \n{"name": "A", "age": 1}\n',
        '```json\n{"name": "A", "age": 1}\n```',
        '```\n{"name": "A", "age": 1}\n```\n',
        '```JSON\r\n{"name": "A",\r\n "age": 1}\r\n```',
        '```json {"name": "A", "age": 1} ```',
        '```{"name": "A", "age": 1}```',
    ],
)
def test_a_single_fence_is_taken_off(text: str) -> None:
    assert OutputType(Person).read(text) == Person("A", 1)


def test_fences_inside_of_texts_stay() -> None:
    code = "```py\n1\n```"
    said = json.dumps({"value": code})
    assert OutputType(str).read(said) == code
    assert OutputType(str).read(f"```json\n{said}\n```") == code
    for text in (
        f"```json\n{said}\n```\nand\n```json\n{said}\n```",
        f"Here:\n```json\n{said}\n```",
        f"``````json\n{said}\n``````",
    ):
        with pytest.raises(OutputError):
            OutputType(str).read(text)


@joined(
    "kind",
    [5, Path, {"type": "strnig"}, "no schema", "[]", Person | Span, lambda: 1, list["Nowhere"]],  # type: ignore[name-defined]  # noqa: F821
)
def test_what_cannot_be_asked_for(kind: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        OutputType(kind)
    path = "output[*]" if get_origin(kind) is list else "output"
    assert caught.value.violations[0].path == path
    assert caught.value.__cause__ is None


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema_rs", None)
    with pytest.raises(ConfigurationError, match=r"wire-llm\[tools\]"):
        OutputType(SCHEMA)
    assert OutputType(Person).read('{"name": "A", "age": 1}') == Person("A", 1)


def test_it_shows_its_name() -> None:
    assert repr(OutputType(Person)) == "OutputType(Person)"
