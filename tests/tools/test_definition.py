"""Tools out of functions and types: the schema that a model is told, and what the function is given
of the arguments.
"""

from __future__ import annotations

import copy
import datetime
import enum
import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar

import jsonschema_rs
import msgspec
import pydantic
import pytest

from tests.joined import joined
from wire import gemini
from wire.errors import RuleError, ToolError
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.neutral.request import Request, Tool
from wire.tools import FunctionTool, Ready, Toolbox, ToolContext, tool

T = TypeVar("T")


class Unit(enum.Enum):
    CELSIUS = "C"
    FAHRENHEIT = "F"


class Place(msgspec.Struct):
    """Somewhere on earth.

    More of it.
    """

    city: str
    country: str = "NO"


class Tree(msgspec.Struct):
    name: str
    children: list[Tree] = []


class Trip(msgspec.Struct, forbid_unknown_fields=True):
    stops: list[Place]
    forest: Tree | None = None


@dataclass
class Span:
    start: int
    end: int = 5


class Filter(TypedDict, total=False):
    words: list[str]


class Box(msgspec.Struct, Generic[T]):
    value: T


class Person(pydantic.BaseModel):
    name: str
    born: datetime.date
    friends: list[Person] = []


class Desk(pydantic.BaseModel):
    owner: Person


class Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    day: datetime.date


def get_weather(
    city: Annotated[str, msgspec.Meta(min_length=1, description="Where.")],
    unit: Unit = Unit.CELSIUS,
    days: Annotated[int, "How many."] = 1,
    place: Place | None = None,
    *,
    verbose: bool = False,
) -> str:
    """Tell the weather
    of a city.

    Args:
        city: not this one, since the type says it
        days: nor this one
        verbose (bool, optional): Say more,
            much more.

    Returns:
        days: no parameter of that kind
    """
    return f"{city} {unit} {days} {place} {verbose}"


def bound(function: Any, arguments: dict[str, Any], **options: Any) -> Any:
    """What the function gives when it is called with the arguments, or the error that the model is
    told.
    """
    made = function if isinstance(function, Tool) else tool(function, **options)
    ready = Toolbox([made]).prepare(ToolCall(name=made.name, arguments=arguments))
    return ready.run() if isinstance(ready, Ready) else ready.answer


@pytest.mark.row("S1-06", "S3-01")
def test_a_typed_function() -> None:
    made = tool(get_weather)
    assert isinstance(made, Tool)
    assert (made.name, made.description, made.response, made.function) == (
        "get_weather",
        "Tell the weather of a city.",
        None,
        get_weather,
    )
    assert made.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "minLength": 1, "description": "Where."},
            "unit": {"$ref": "#/$defs/Unit", "default": "C"},
            "days": {"type": "integer", "description": "How many.", "default": 1},
            "place": {"anyOf": [{"$ref": "#/$defs/Place"}, {"type": "null"}], "default": None},
            "verbose": {"type": "boolean", "description": "Say more, much more.", "default": False},
        },
        "required": ["city"],
        "additionalProperties": False,
        "$defs": {
            "Unit": {"title": "Unit", "enum": ["C", "F"]},
            "Place": {
                "title": "Place",
                "description": "Somewhere on earth.\n\nMore of it.",
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "country": {"type": "string", "default": "NO"},
                },
                "required": ["city"],
            },
        },
    }


def test_arguments_are_converted_to_the_types() -> None:
    got: list[Any] = []

    def take(
        place: Place,
        spans: list[Span],
        unit: Unit,
        when: datetime.datetime,
        score: float,
        only: Filter,
        box: Box[int],
    ) -> None:
        got.extend([place, spans, unit, when, score, only, box])

    arguments = {
        "place": {"city": "Oslo"},
        "spans": [{"start": 1}, {"start": 2, "end": 3}],
        "unit": "F",
        "when": "2026-11-22T04:00:00Z",
        "score": 2,
        "only": {"words": ["a"]},
        "box": {"value": 3.0},
    }
    bound(take, arguments)
    assert got == [
        Place("Oslo"),
        [Span(1), Span(2, 3)],
        Unit.FAHRENHEIT,
        datetime.datetime(2026, 11, 22, 4, tzinfo=datetime.UTC),
        2.0,
        {"words": ["a"]},
        Box(3),
    ]
    assert [type(got[4]), type(got[6].value)] == [float, int]


@pytest.mark.row("S3-12")
@joined(
    ("arguments", "told"),
    [
        ({}, "$: Object missing required field `city`"),
        ({"city": 5}, "$.city: Expected `str`, got `int`"),
        ({"city": ""}, "$.city: Expected `str` of length >= 1"),
        ({"city": "Oslo", "days": "2"}, "$.days: Expected `int`, got `str`"),
        ({"city": "Oslo", "days": True}, "$.days: Expected `int`, got `bool`"),
        ({"city": "Oslo", "days": 1.5}, "$.days: Expected `int`, got `float`"),
        ({"city": "Oslo", "unit": "K"}, "$.unit: Invalid enum value 'K'"),
        ({"city": "Oslo", "place": {"city": None}}, "$.place.city: Expected `str`, got `null`"),
        ({"city": "Oslo", "colour": "red"}, "$: Object contains unknown field `colour`"),
    ],
)
def test_wrong_arguments_are_told_with_their_path(arguments: dict[str, Any], told: str) -> None:
    assert bound(get_weather, arguments) == {"error": f"invalid parameters: {told}"}


@pytest.mark.row("S3-04")
def test_a_default_is_the_functions_own_object() -> None:
    marker = [1]

    def count(items: list[int] = marker, limit: int = None, kind: Place = Place("Oslo")) -> Any:  # type: ignore[assignment]  # noqa: B008, RUF013
        return items, limit, kind

    made = tool(count)
    assert made.parameters["properties"]["items"]["default"] == [1]
    assert made.parameters["properties"]["kind"]["default"] == {"city": "Oslo", "country": "NO"}
    assert (
        "default" not in made.parameters["properties"]["limit"]
    )  # None is no int, so the model is not told
    items, limit, kind = bound(made, {})
    assert items is marker
    assert (limit, kind) == (None, Place("Oslo"))


@pytest.mark.row("S0-01")
def test_a_function_without_parameters() -> None:
    made = tool(lambda: 5, name="five")
    assert made.parameters == {"type": "object", "properties": {}, "additionalProperties": False}
    assert (
        gemini.function_declaration(made.name, made.description, made.parameters).parameters is None
    )
    assert bound(made, {}) == 5


def test_types_that_contain_themselves_and_others_stand_in_one_schema() -> None:
    def plan(trip: Trip, people: list[Person], desk: Desk | None = None) -> Any:
        return trip, people, desk

    made = tool(plan)
    assert sorted(made.parameters["$defs"]) == ["Person", "Place", "Tree", "Trip"]
    check = jsonschema_rs.validator_for(made.parameters)
    ada = {"name": "Ada", "born": "1815-12-10", "friends": []}
    tree = {"name": "a", "children": [{"name": "b"}]}
    good = {
        "trip": {"stops": [], "forest": tree},
        "people": [ada | {"friends": [ada]}],
        "desk": {"owner": ada},
    }
    assert check.is_valid(good)
    trip, people, desk = bound(made, good)
    assert trip == Trip([], Tree("a", [Tree("b")]))
    assert people[0].friends == [Person(name="Ada", born=datetime.date(1815, 12, 10))]
    assert desk.owner == Person(**ada)
    wrong = copy.deepcopy(good)
    wrong["people"][0]["friends"][0]["name"] = 5
    assert not check.is_valid(wrong)
    assert bound(made, wrong) == {
        "error": "invalid parameters: $.people[0].friends[0].name: Input should be a valid string"
    }
    assert bound(made, {**good, "trip": {"stops": [], "way": 1}}) == {
        "error": "invalid parameters: $.trip: Object contains unknown field `way`"
    }


def test_a_function_called_as_one_of_its_types() -> None:
    def use(place: Place, _hidden: int = 1) -> Any:
        return place, _hidden

    made = tool(use, name="Place")
    assert sorted(made.parameters["properties"]) == ["_hidden", "place"]
    assert bound(made, {"place": {"city": "Oslo"}, "_hidden": 2}) == (Place("Oslo"), 2)
    assert jsonschema_rs.is_valid(made.parameters, {"place": {"city": "Oslo"}})
    assert not jsonschema_rs.is_valid(made.parameters, {"place": {}})


def test_two_models_of_one_name_are_no_schema() -> None:
    def made(kind: Any) -> Any:
        inner = pydantic.create_model("Inner", a=(kind, ...))
        return pydantic.create_model("Outer", inner=(inner, ...))

    def both(one, two):
        return one, two

    both.__annotations__ = {"one": made(int), "two": made(str)}
    with pytest.raises(ToolError, match="tool both: two types are called Inner"):
        tool(both)


def test_a_decorator_with_and_without_arguments() -> None:
    @tool
    def one(a: int) -> int:
        """First."""
        return a

    @tool(
        name="deux",
        description="Second.",
        timeout=3,
        final=True,
        needs_approval=True,
        read_only=True,
    )
    async def two(a: int) -> int:
        return a

    assert [one.name, one.description, one(4), one.timeout, one.final] == [
        "one",
        "First.",
        4,
        None,
        False,
    ]
    assert [
        two.name,
        two.description,
        two.timeout,
        two.final,
        two.needs_approval,
        two.read_only,
    ] == [
        "deux",
        "Second.",
        3,
        True,
        True,
        True,
    ]
    assert isinstance(two, FunctionTool)
    assert Request(messages=(), tools=(one, two)).tools == (one, two)
    assert msgspec.structs.replace(one, timeout=1.0).signature is one.signature


def test_docstrings() -> None:
    def bare(a: int, b: int) -> None:
        """
        Args:
            a: First.
            b:
                Second,
                more: of it.
        """

    def prose(query: Annotated[str, msgspec.Meta(ge=None)], other: int = 0) -> None:
        """Find things. Args: none of this.

        Parameters:
          query: What.

          other: cut off by the empty line
        """

    class Search:
        """Looks."""

        def __call__(self, a: int) -> int:
            """Not this.

            Args:
                a: Number.
            """
            return a

    made = tool(bare)
    assert made.description == ""
    assert [made.parameters["properties"][name]["description"] for name in "ab"] == [
        "First.",
        "Second, more: of it.",
    ]
    made = tool(prose)
    assert made.description == "Find things. Args: none of this."
    assert made.parameters["properties"]["query"]["description"] == "What."
    assert "description" not in made.parameters["properties"]["other"]

    def close(query: str) -> None:
        """Find
        things.
        Args:
            query: What.
        """

    made = tool(close)
    assert (made.description, made.parameters["properties"]["query"]["description"]) == (
        "Find things.",
        "What.",
    )
    made = tool(Search())
    assert (made.name, made.description) == ("Search", "Looks.")
    assert bound(made, {"a": 3}) == 3
    assert tool(get_weather, description="").description == ""


class Meter:
    def read(self, times: int) -> int:
        """Read it."""
        return times * 2

    async def later(self, times: int) -> int:
        return times


class Later:
    async def __call__(self, a: int) -> int:
        return a


@functools.lru_cache
def cached(a: int) -> int:
    """Kept."""
    return a


@functools.wraps(cached)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return cached(*args, **kwargs)


@pytest.mark.row("S1-54", "U-103")
@joined(
    ("function", "name", "is_async"),
    [
        (Meter().read, "read", False),
        (Meter().later, "later", True),
        (functools.partial(Meter().later), "later", True),
        (Later(), "Later", True),
        (functools.partial(Later()), "Later", True),
        (cached, "cached", False),
        (wrapped, "cached", False),
    ],
)
def test_whatever_can_be_called(function: Any, name: str, is_async: bool) -> None:
    made = tool(function)
    assert made.name == name
    (parameter,) = made.parameters["required"]
    ready = Toolbox([made]).prepare(ToolCall(name=name, arguments={parameter: 2}))
    assert isinstance(ready, Ready)
    assert ready.is_async is is_async
    result = ready.run()
    if is_async:
        with pytest.raises(StopIteration) as stopped:
            result.send(None)
        assert stopped.value.value == 2
    else:
        assert result == (4 if name == "read" else 2)


def test_what_a_partial_has_filled_in_is_neither_told_nor_taken() -> None:
    def search(query: str, key: str, limit: int = 3) -> Any:
        return query, key, limit

    def loose(query: str, **more: Any) -> Any:
        return query, more

    made = tool(functools.partial(search, key="secret"))
    assert made.name == "search"
    assert "secret" not in repr(made.parameters)
    assert sorted(made.parameters["properties"]) == ["limit", "query"]
    assert bound(made, {"query": "a"}) == ("a", "secret", 3)
    assert bound(made, {"query": "a", "key": "b"}) == {
        "error": "invalid parameters: $: Object contains unknown field `key`"
    }
    schema = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
    made = tool(functools.partial(loose, key="secret"), parameters=schema)
    assert bound(made, {"query": "a", "more": 1}) == ("a", {"key": "secret", "more": 1})
    assert bound(made, {"query": "a", "key": "b"}) == {
        "error": "invalid parameters: $: there is no parameter 'key'"
    }
    with pytest.raises(ToolError, match="parameter query: the schema has a property of this name"):
        tool(functools.partial(loose, query="a"), parameters=schema, name="loose")


@pytest.mark.row("S3-25")
def test_the_context_is_given_and_not_told() -> None:
    seen: list[ToolContext] = []

    def late(city: str, context: ToolContext) -> None:
        seen.append(context)
        context.call.arguments["city"] = "changed"

    def early(context: ToolContext | None, place: Place) -> None:
        seen.append(context)  # type: ignore[arg-type]

    def raw(context: ToolContext, arguments: dict[str, Any]) -> None:
        seen.append(context)
        assert arguments == {"city": "Oslo"}

    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [tool(late), tool(early, parameters=Place), tool(raw, parameters=schema)]
    assert [sorted(each.parameters["properties"]) for each in tools] == [
        ["city"],
        ["city", "country"],
        ["city"],
    ]
    call = ToolCall(id="c1", name="late", arguments={"city": "Oslo"})
    context = ToolContext(call, "gemini-3-pro-preview", (Message.user("Hi"),))
    for each in tools:
        ready = Toolbox(tools).prepare(msgspec.structs.replace(call, name=each.name), context)
        assert isinstance(ready, Ready)
        ready.run()
    assert [each.model for each in seen] == ["gemini-3-pro-preview"] * 3
    assert [each.call.id for each in seen] == ["c1"] * 3
    assert seen[0].messages == (Message.user("Hi"),)
    assert call.arguments == {"city": "Oslo"}
    assert bound(
        tool(lambda a: a, parameters=schema, name="whole"), {"city": "Oslo", "context": 1}
    ) == {"city": "Oslo", "context": 1}


def test_without_a_context_the_call_is_known() -> None:
    def who(context: ToolContext) -> Any:
        return context.call.id, context.model, context.messages

    ready = Toolbox([who]).prepare(ToolCall(id="c9", name="who"))
    assert isinstance(ready, Ready)
    assert ready.run() == ("c9", "", ())


@pytest.mark.row("S3-01")
@joined(
    ("kind", "arguments", "value"),
    [
        (Place, {"city": "Oslo", "extra": 1}, Place("Oslo")),
        (Span, {"start": 1}, Span(1)),
        (Filter, {"words": ["a"]}, {"words": ["a"]}),
        (Box[int], {"value": 1}, Box(1)),
        (
            Person,
            {"name": "Ada", "born": "1815-12-10"},
            Person(name="Ada", born=datetime.date(1815, 12, 10)),
        ),
        (Strict, {"day": "2026-11-22"}, Strict(day=datetime.date(2026, 11, 22))),
        (dict[str, int], {"a": 1}, {"a": 1}),
    ],
)
def test_a_type_as_the_parameters(kind: Any, arguments: dict[str, Any], value: Any) -> None:
    made = tool(lambda it: it, name="take", parameters=kind)
    assert made.parameters["type"] == "object"
    assert "$ref" not in made.parameters
    assert jsonschema_rs.is_valid(made.parameters, arguments)
    assert bound(made, arguments) == value


def test_a_type_alone_is_a_passive_tool() -> None:
    made = tool(Place)
    assert type(made) is Tool
    assert (made.name, made.description) == ("Place", "Somewhere on earth.")
    assert made.parameters["properties"] == {
        "city": {"type": "string"},
        "country": {"type": "string", "default": "NO"},
    }
    assert [tool(kind).description for kind in (Span, Filter, Person)] == ["", "", ""]
    assert tool(Box[int], name="box").parameters["properties"] == {"value": {"type": "integer"}}
    assert tool(Span, response=Place).response == made.parameters
    with pytest.raises(
        ToolError, match="tool Span: timeout: only a tool with a function has this option"
    ):
        tool(Span, timeout=3)  # type: ignore[call-overload]
    with pytest.raises(ToolError, match="tool Path: invalid parameters schema: "):
        tool(Path)
    with pytest.raises(ToolError, match="expected a type of JSON objects, not Unit"):
        tool(Unit)


def positional(a: int, /) -> None: ...
def starred(*a: int) -> None: ...
def keywords(**a: int) -> None: ...
def untyped(a: int, b) -> None: ...
def unknown(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821
def of_path(a: int, b: Path) -> None: ...
def of_two(a: Place | Trip) -> None: ...
def of_pattern(a: Annotated[str, msgspec.Meta(pattern="(")]) -> None: ...
def context_by_place(context: ToolContext, /, a: int) -> None: ...
def pieces(a: int) -> Any:
    yield a


@pytest.mark.row("S3-02")
@joined(
    ("define", "told"),
    [
        (
            lambda: tool(positional),
            "tool positional: parameter a: a model can pass arguments only by the names",
        ),
        (lambda: tool(starred), "tool starred: parameter *a: "),
        (lambda: tool(keywords), "tool keywords: parameter **a: "),
        (lambda: tool(untyped), "tool untyped: parameter b: it has no type"),
        (
            lambda: tool(unknown),
            "tool unknown: an annotation of its function cannot be resolved: name 'Nowhere'",
        ),
        (lambda: tool(of_path), "tool of_path: parameter b: "),
        (lambda: tool(of_two), "tool of_two: parameter a: "),
        (
            lambda: tool(of_pattern),
            "tool of_pattern: an annotation of its function cannot be resolved: missing )",
        ),
        (
            lambda: tool(context_by_place),
            "tool context_by_place: parameter context: the context is passed by name",
        ),
        (lambda: tool(pieces), "tool pieces: a generator function has no single result"),
        (lambda: tool(dict.fromkeys), "tool fromkeys: "),
        (lambda: tool(5), "expected a function, not int"),
        (lambda: tool(tool(get_weather)), "expected a function, not FunctionTool"),
        (lambda: tool(get_weather, timeout=0), "tool get_weather: timeout: "),
        (lambda: tool(get_weather, timeout=True), "tool get_weather: timeout: "),
        (lambda: tool(get_weather, timeout=float("nan")), "tool get_weather: timeout: "),
        (lambda: tool(get_weather, timeout=float("inf")), "tool get_weather: timeout: "),
        (lambda: tool(get_weather, timeout="3"), "tool get_weather: timeout: "),
        (lambda: tool(get_weather, final="yes"), "tool get_weather: final: "),
        (
            lambda: tool(lambda: 1, name="f", parameters=Place),
            "tool f: its function must take the Place as its only positional argument",
        ),
        (
            lambda: tool(lambda a, b: 1, name="f", parameters=Place),
            "tool f: its function must take the Place",
        ),
        (
            lambda: tool(lambda a: 1, name="f", parameters=list[int]),
            "tool f: invalid parameters schema: expected a type of JSON objects",
        ),
        (
            lambda: tool(lambda a: 1, name="f", parameters=Path),
            "tool f: invalid parameters schema: Path has no JSON form",
        ),
        (lambda: tool(get_weather, response=Path), "tool get_weather: invalid response schema: "),
    ],
)
def test_what_cannot_be_a_tool(define: Any, told: str) -> None:
    with pytest.raises(ToolError) as caught:
        define()
    assert caught.value.message.startswith(told)
    assert caught.value.__cause__ is None


@pytest.mark.row("S1-06", "U-101")
@joined("name", ["", "two words", "a" * 65, "1st", "tâche", "a.b", None])
def test_names(name: str | None) -> None:
    """`None` is the name of a lambda."""
    with pytest.raises(RuleError) as caught:
        tool(lambda: 1, name=name)
    assert caught.value.violations[0].path == "tool.name"
    assert tool(lambda: 1, name="a-b_C9").name == "a-b_C9"
    assert tool(lambda: 1, name="a" * 64).name == "a" * 64


@pytest.mark.row("U-109", "U-110")
def test_literals_and_a_call_with_text() -> None:
    def pick(kind: Literal["a", 1]) -> Any:
        return kind

    call = ToolCall(id="x", name="pick", arguments={"kind": 1.0}, text='{"kind": 1.0}')
    toolbox = Toolbox([pick])
    ready = toolbox.prepare(call)
    assert isinstance(ready, Ready)
    assert ready.call.text == '{"kind": 1.0}'
    assert toolbox.finish(ready, ready.run()).result == ToolResult("x", "pick", 1)


def test_a_tool_can_be_strict() -> None:
    def add(a: int) -> int:
        return a

    class Port(TypedDict):
        name: str

    assert tool(add, strict=True).strict is True
    assert tool(strict=True)(add).strict is True
    assert tool(Port, strict=True).strict is True
    assert tool(add).strict is False
    with pytest.raises(RuleError, match="tool add: strict: expected a bool, not str"):
        tool(add, strict="yes")  # type: ignore[call-overload]
