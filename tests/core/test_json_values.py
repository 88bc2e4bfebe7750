"""The pass over many values finds what the walk over each of them finds."""

from __future__ import annotations

import datetime
import enum
import math
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core import json_values
from wire.core.json_values import MAX_DEPTH, _Search, are_sound, checked, is_flat
from wire.errors import RuleError


class Kind(enum.Enum):
    LAST = "last"


class Place(msgspec.Struct):
    name: str


TEXTS = st.text(max_size=4)
HALVES = st.text(st.sampled_from("a\ud83d\udf0a\U0001f30a"), max_size=3)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
ODD = (
    st.sampled_from([math.nan, math.inf, -math.inf, 2**63, -(2**64), 10**400, -0.0])
    | HALVES
    | st.builds(bytes)
    | st.builds(bytearray)
    | st.builds(set)
    | st.just(frozenset({1}))
    | st.builds(object)
    | st.sampled_from([Kind.LAST, Place("a"), datetime.date(2026, 1, 2), int, Kind])
)
KEYS = TEXTS | HALVES | st.sampled_from([1, True, None, 1.5, b"a", ("a",), Kind.LAST])
ANY = st.recursive(
    JSON | ODD,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


def walk_finds(value: Any, *, plain: bool = False) -> bool:
    search = _Search("", plain, MAX_DEPTH)
    search.visit(value, ())
    return bool(search.violations)


def nested(levels: int, inner: Any = None) -> list[Any]:
    value = [] if inner is None else [inner]
    for _ in range(levels - 1):
        value = [value]
    return value


def cyclic() -> list[Any]:
    loop: list[Any] = [1]
    loop.append({"again": loop})
    return loop


@given(st.lists(ANY, max_size=4), st.booleans())
def test_the_walk_finds_nothing_in_sound_values(values: list[Any], plain: bool) -> None:
    if are_sound(values):
        assert not any(walk_finds(value, plain=plain) for value in values)


@given(st.lists(JSON, max_size=4))
def test_json_is_sound_without_a_walk(values: list[Any]) -> None:
    assert are_sound(values)
    assert are_sound([tuple(values), {"all": values}])


@given(st.lists(JSON, max_size=3), ODD | HALVES, st.lists(JSON, max_size=3))
def test_one_value_spoils_the_others(before: list[Any], odd: Any, after: list[Any]) -> None:
    for value in (odd, [odd], {"a": [odd]}):
        if walk_finds(value):
            assert not are_sound([*before, value, *after])
            with pytest.raises(RuleError):
                checked(value)
        else:
            assert checked(value) is value


@joined("levels", [1, 400, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, 10_000])
@joined("inner", [None, "text", math.nan], ids=str)
def test_depth(levels: int, inner: Any) -> None:
    value = nested(levels, inner)
    if are_sound([value]):
        assert not walk_finds(value)
        assert levels <= MAX_DEPTH
    wrong = levels > MAX_DEPTH or inner is math.nan
    if wrong:
        with pytest.raises(RuleError):
            checked(value)
    else:
        assert checked(value) is value


def test_values_that_hold_themselves_are_not_sound() -> None:
    assert not are_sound([cyclic()])
    one: list[Any] = []
    assert are_sound([one, [one], {"a": one, "b": one}])


def test_two_keys_of_one_text_are_not_sound() -> None:
    assert not are_sound([{1: "a", "1": "a"}])
    assert not are_sound([{"a": {1: 2}}])


NOT_FLAT = [math.nan, -math.inf, b"x", {"a": 1}, [1], {1}, Decimal(1)]


@joined("value", NOT_FLAT, ids=str)
def test_objects_with_more_than_scalars_are_not_flat(value: Any) -> None:
    assert not is_flat({"a": "Hi", "b": value})


@joined("value", [*NOT_FLAT, 2**20_000, "\ud800", 1.5, 2**70, None], ids=type)
def test_flat_objects_are_judged_as_any_others(value: Any) -> None:
    assert are_sound(({"a": "Hi", "b": value},)) == are_sound(([{"a": "Hi", "b": value}],))


def test_a_key_of_a_flat_object_is_a_text() -> None:
    assert is_flat({"a": 1, "é": None})
    assert not is_flat({1: 1})
    assert not are_sound(({1: 1}, {"\ud800": 1}))
    assert not are_sound(({"\ud800": 1},))


def test_values_of_flat_objects_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [{"a": 1, "b": 2}] * 3
    assert are_sound(values)
    monkeypatch.setattr(json_values, "MAX_VALUES", 5)
    assert not are_sound(values)
