"""The schema that a model is told, and what msgspec takes: whatever the signature, they accept the
same JSON.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import jsonschema_rs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import examples
from wire.neutral.messages import ToolCall
from wire.neutral.output import OutputType
from wire.neutral.validation import Mismatch, TypeShape
from wire.tools import Ready, Toolbox, tool

Meta = msgspec.Meta


class Unit(enum.Enum):
    CELSIUS = "C"
    KELVIN = "K"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Cat(msgspec.Struct, tag=True):
    lives: int = 9


class Dog(msgspec.Struct, tag=True, forbid_unknown_fields=True):
    name: str


class Bag(TypedDict):
    size: float
    label: NotRequired[str]


class Keyed(msgspec.Struct):
    a: dict[int, str]


class Tree(msgspec.Struct):
    value: int | None
    down: list[Tree] = []


_made: dict[str, Any] = {}


def _struct(kinds: list[Any]) -> Any:
    """One struct for each list of types, each with a name of its own."""
    name = f"Struct{len(_made)}"
    return _made.setdefault(
        repr(kinds),
        msgspec.defstruct(name, [(f"f{index}", kind) for index, kind in enumerate(kinds)]),
    )


# A set is left out: msgspec takes `[1, 1]` for one, and the schema says that items are unique. So
# are dates: they have a form that the schema does not hold values to.
LEAVES: list[Any] = [
    *(int, str, float, bool, None, Unit, Level, Bag, Tree, Cat | Dog, Any),
    *(Literal["a", "b"], Literal[1, 2], int | str, str | bool | None),
    *(
        Annotated[int, Meta(ge=0, lt=3)],
        Annotated[str, Meta(min_length=1, max_length=2)],
        Annotated[str, Meta(pattern="^a+$")],
    ),
    *(
        Annotated[list[int], Meta(min_length=1, max_length=2)],
        Annotated[float, Meta(gt=0, multiple_of=0.5)],
    ),
]
FORMS: dict[str, Callable[[st.SearchStrategy[Any]], st.SearchStrategy[Any]]] = {
    "leaf": lambda inner: st.sampled_from(LEAVES),
    "list": lambda inner: inner.map(lambda kind: list[kind]),
    "dict": lambda inner: inner.map(lambda kind: dict[str, kind]),
    "tuple": lambda inner: st.tuples(inner, inner).map(lambda kinds: tuple[kinds]),
    "optional": lambda inner: inner.filter(lambda kind: kind not in (None, Any)).map(
        lambda kind: kind | None
    ),
    "struct": lambda inner: st.lists(inner, min_size=1, max_size=2).map(_struct),
}
TYPES = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(form(inner) for name, form in FORMS.items() if name != "leaf"),
    max_leaves=4,
)

JSON = st.recursive(
    st.one_of(
        st.sampled_from(
            [
                None,
                True,
                False,
                0,
                1,
                2,
                3,
                -1,
                1.0,
                0.5,
                1.5,
                2**60,
                "",
                "a",
                "b",
                "aa",
                "abc",
                "C",
                "K",
                "é",
            ]
        ),
        st.just({"type": "Cat"}),
        st.just({"type": "Dog", "name": "a"}),
        st.just({"size": 1, "label": "a"}),
        st.just({"value": 1, "down": [{"value": None}]}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["a", "f0", "f1", "type", "name", "value", "down", "size"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=6,
)


def signature(kinds: list[tuple[Any, bool]]) -> Any:
    """A function of these types, of which some have a default."""

    def made(**given: Any) -> Any:
        return given

    parameters = [
        inspect.Parameter(
            f"p{index}",
            inspect.Parameter.KEYWORD_ONLY,
            default=None if optional else inspect.Parameter.empty,
            annotation=kind,
        )
        for index, (kind, optional) in enumerate(kinds)
    ]
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    made.__annotations__ = {each.name: each.annotation for each in parameters}
    return made


def fitting(kind: Any, schema: dict[str, Any], drawn: Any) -> Any:
    """A value that fits more often than chance: what fits is kept out of several that were
    drawn.
    """
    check = jsonschema_rs.validator_for(schema)
    return next((value for value in drawn if check.is_valid(value)), drawn[0])


@pytest.mark.row("S3-02", "S3-04")
@pytest.mark.parametrize("count", [0, 1, 2, 3])
@given(data=st.data())
@settings(max_examples=examples(150))
def test_a_function_takes_what_its_schema_accepts(count: int, data: st.DataObject) -> None:
    parameter = st.tuples(TYPES, st.booleans())
    kinds = data.draw(st.lists(parameter, min_size=count, max_size=count))
    made = tool(signature(kinds), name="f")
    check = jsonschema_rs.validator_for(made.parameters)
    arguments: dict[str, Any] = {}
    for index, (kind, _) in enumerate(kinds):
        if data.draw(st.integers(0, 9)):
            drawn = data.draw(st.lists(JSON, min_size=1, max_size=8))
            arguments[f"p{index}"] = fitting(kind, TypeShape(kind).schema, drawn)
    if not data.draw(st.integers(0, 9)):
        arguments["other"] = 1
    ready = Toolbox([made]).prepare(ToolCall(name="f", arguments=arguments))
    assert isinstance(ready, Ready) is check.is_valid(arguments), (
        made.parameters,
        arguments,
        ready,
    )
    if isinstance(ready, Ready):
        assert ready.run().keys() == arguments.keys()  # a default is the function's to fill in


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data(), drawn=st.lists(JSON, min_size=1, max_size=8))
@settings(max_examples=examples(100))
def test_what_was_read_says_what_was_sent(form: str, data: st.DataObject, drawn: list[Any]) -> None:
    """Read, told again and read again, a value is the same; so it is as an answer."""
    kind = data.draw(FORMS[form](TYPES))
    shape = TypeShape(kind)
    value = fitting(kind, shape.schema, drawn)
    try:
        read = shape.read(value)
    except Mismatch:
        return
    again = msgspec.to_builtins(read)
    assert shape.read(again) == read
    wanted = OutputType(kind)
    wrapped = (
        {"value": again}
        if "value" in wanted.output.schema.get("properties", {}) and wanted.output.name == "answer"
        else again
    )
    assert wanted.read(msgspec.json.encode(wrapped).decode()) == read
    assert jsonschema_rs.is_valid(wanted.output.schema, wrapped)
    assert wanted.output.schema["type"] == "object"


@joined(
    ("kind", "good", "bad"),
    [
        (int, [0, -1, 2.0, 2**70], [0.5, "0", True, None, []]),
        (float, [0, 0.5], ["0.5", False, None]),
        (str, ["", "é"], [0, None, ["a"]]),
        (bool, [True, False], [0, 1, "true", None]),
        (None, [None], [0, False, ""]),
        (Unit, ["C"], ["c", "KELVIN", 1, None]),
        (Level, [1, 2.0], [3, "1", True]),
        (Literal[1, 2], [1, 2.0], [True, "1", 3]),
        (int | str, [1, "1"], [0.5, None]),
        (list[int], [[], [1]], [[None], {}, "a", None]),
        (dict[str, int], [{}, {"a": 1}], [{"a": "1"}, []]),
        (tuple[int, str], [[1, "a"]], [[1], [1, "a", 2], ["a", 1]]),
        (Annotated[int, Meta(ge=0, lt=3)], [0, 2], [-1, 3, 3.0]),
        (Annotated[str, Meta(min_length=1, max_length=2)], ["a", "😀😀"], ["", "abc"]),
        (Annotated[str, Meta(pattern="^a+$")], ["aa"], ["", "ab"]),
        (
            Cat | Dog,
            [{"type": "Cat", "x": 1}, {"type": "Dog", "name": "a"}],
            [{"name": "a"}, {"type": "Dog", "name": "a", "x": 1}, {"type": "Cow"}],
        ),
        (Bag, [{"size": 1}, {"size": 1, "x": 1}], [{"label": "a"}, {"size": 1, "label": None}]),
        (
            Tree,
            [{"value": None, "down": [{"value": 1}]}],
            [{"value": 1, "down": [{}]}, {"value": 1, "down": None}],
        ),
        (set[str], [["a", "b"]], [[1]]),
        (dict[int, str], [{"1": "a"}], [{"1": 1}]),
    ],
)
def test_a_table_of_what_fits(kind: Any, good: list[Any], bad: list[Any]) -> None:
    """So that the two above do not agree on nothing but refusals."""
    shape = TypeShape(kind)
    check = jsonschema_rs.validator_for(shape.schema)
    assert [check.is_valid(value) for value in (*good, *bad)] == [True] * len(good) + [False] * len(
        bad
    )
    assert [msgspec.to_builtins(shape.read(value)) is not None for value in good] == [
        value is not None for value in good
    ]
    for value in bad:
        with pytest.raises(Mismatch, match=r"^\$"):
            shape.read(value)


def test_the_place_of_a_key() -> None:
    with pytest.raises(Mismatch, match=r"^key in \$\.a: Expected `int`, got `str`$"):
        TypeShape(Keyed).read({"a": {"b": "c"}})
