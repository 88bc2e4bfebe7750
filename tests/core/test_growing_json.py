"""`GrowingJSON`: fields of one JSON value as its text arrives, wherever the text is cut."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.test_linear import is_linear, work
from tests.joined import joined
from tests.property import examples
from wire.core.growing_json import DEPTH_LIMIT, Field, GrowingJSON


def value_of(growing: GrowingJSON, field: Field) -> Any:
    return growing.growth.value(field.steps, field.length)


def read(*pieces: str) -> list[tuple[Any, bool, Any]]:
    """Path, growing, value of each field, in order."""
    growing = GrowingJSON()
    fields = [field for piece in pieces for field in growing.feed(piece)]
    return [
        (field.path, field.growing, growing.growth.value(field.steps, field.length))
        for field in fields
    ]


def whole(*pieces: str) -> list[tuple[Any, Any]]:
    return [(path, value) for path, growing, value in read(*pieces) if not growing]


def test_each_field_is_whole_once_with_the_value_so_far() -> None:
    text = '{"cities": [{"name": "Oslo", "size": 7}, {"name": "Bergen"}], "done": true}'
    oslo: dict[str, Any] = {"name": "Oslo", "size": 7}
    both = [oslo, {"name": "Bergen"}]
    assert whole(text) == [
        (("cities", 0, "name"), {"cities": [{"name": "Oslo"}]}),
        (("cities", 0, "size"), {"cities": [oslo]}),
        (("cities", 0), {"cities": [oslo]}),
        (("cities", 1, "name"), {"cities": both}),
        (("cities", 1), {"cities": both}),
        (("cities",), {"cities": both}),
        (("done",), {"cities": both, "done": True}),
        ((), {"cities": both, "done": True}),
    ]


def test_a_text_that_has_not_ended_grows() -> None:
    assert read('{"at": 5, "name": "Ber', "", "g", 'en", "x', '": ', '"', '"') == [
        (("at",), False, {"at": 5}),
        (("name",), True, {"at": 5, "name": "Ber"}),
        (("name",), True, {"at": 5, "name": "Berg"}),
        (("name",), False, {"at": 5, "name": "Bergen"}),
        (("x",), True, {"at": 5, "name": "Bergen", "x": ""}),
        (("x",), False, {"at": 5, "name": "Bergen", "x": ""}),
    ]


@joined(
    ("pieces", "last"),
    [
        (['{"a": 1', "2", "}"], {"a": 12}),
        (['{"a": tr', "ue}"], {"a": True}),
        (['{"a": -1.5e', "3}"], {"a": -1500.0}),
        (['["\\u00', 'e9"]'], ["é"]),
        (['["\\', 'n"]'], ["\n"]),
        (['["\\\\', 'n"]'], ["\\n"]),
        (['["\\ud83d', '\\ude00"]'], ["😀"]),
        (['["\\ud83d\\u', 'de00"]'], ["😀"]),
        (['{"\\u00', 'e9": nul', "l}"], {"é": None}),
        (["``", "`JS", 'ON\n{"a": 1}\n```'], {"a": 1}),
        (['```{"a": 1}```'], {"a": 1}),
        ([" \n", '"no object"'], "no object"),
        (['{"a": [1, 2], "a": [3]}'], {"a": [3]}),
        (['{"a": "x", "b": 1, "a": "y', 'z"}'], {"b": 1, "a": "yz"}),
        (["12", " "], 12),
        (["{}"], {}),
        (['{"a": 1} and more {"b": 2}'], {"a": 1}),
    ],
)
def test_pieces_are_read_as_their_whole_is(pieces: list[str], last: Any) -> None:
    path, growing, value = read(*pieces)[-1]
    assert (path, growing, value) == ((), False, last)


@joined(
    ("text", "fields"),
    [
        ("I cannot do that.", []),
        ("{'a': 1}", []),
        ('{"a": 1,}', [("a",)]),
        ('{"a" 1}', []),
        ('{"a": 1 "b": 2}', [("a",)]),
        ("[1, 2}", [(0,), (1,)]),
        ("[1, tru]", [(0,)]),
        ("[01]", []),
        ('[1, "\\x"]', [(0,)]),
        ('[1, "\\ud83dx"]', [(0,)]),
        ('[1, "\\udc00"]', [(0,)]),
        ('[1, "a\nb"]', [(0,)]),
        ("[1, {2: 3}]", [(0,)]),
        ("[" * (DEPTH_LIMIT + 1) + "]" * (DEPTH_LIMIT + 1), []),
    ],
)
def test_the_reader_stops_at_the_first_error(text: str, fields: list[Any]) -> None:
    assert [path for path, _ in whole(text)] == fields
    assert [path for path, _ in whole(*text)] == fields
    assert whole(text + ' {"a": 1}') == whole(text)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.text() | st.floats(-1e9, 1e9),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of a value and its parts, in the order in which their texts end."""
    items = enumerate(value) if isinstance(value, list) else ()
    items = value.items() if isinstance(value, dict) else items
    return [*(each for key, item in items for each in paths_of(item, (*path, key))), path]


@settings(max_examples=examples(160))
@given(VALUES, st.booleans(), st.integers(0, 2**32))
def test_what_is_whole_does_not_depend_on_the_cuts(value: Any, ascii_only: bool, seed: int) -> None:
    dice = random.Random(seed)
    text = json.dumps(value, ensure_ascii=ascii_only) + " "
    cuts = sorted(dice.sample(range(len(text) + 1), dice.randint(0, len(text))))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    found = whole(*pieces)
    assert [path for path, _ in found] == paths_of(value)
    assert found == whole(text)
    assert found[-1][1] == msgspec.json.decode(text)


def test_values_are_the_same_in_whatever_order_they_are_read() -> None:
    text = json.dumps({"a": [{"b": "word " * 3, "c": [1, [2]]}, {}], "d": "end"})
    growing = GrowingJSON()
    fields = [field for letter in text for field in growing.feed(letter)]
    in_order = [json.dumps(value_of(growing, field)) for field in fields]
    for seed in range(20):
        order = list(range(len(fields)))
        random.Random(seed).shuffle(order)
        values = {at: value_of(growing, fields[at]) for at in order}
        assert [json.dumps(values[at]) for at in range(len(fields))] == in_order


def items(n: int) -> list[str]:
    """The pieces of a list of n objects, three characters each."""
    text = json.dumps([{"name": f"city {i}", "size": i} for i in range(n)])
    return [text[at : at + 3] for at in range(0, len(text), 3)]


def fed(pieces: list[str]) -> list[Field]:
    growing = GrowingJSON()
    return [field for piece in pieces for field in growing.feed(piece)]


@joined(
    "pieces",
    [
        items,
        lambda n: ['["', *["word "] * n, '"]'],
        lambda n: ["[", *["1"] * n, "]"],
        lambda n: ['{"', *["k"] * n, '": 1}'],
        lambda n: ['["', *["\\", "n"] * n, '"]'],
        lambda n: [" "] * n + ["1 "],
    ],
    ids=["items", "one-text", "one-number", "one-key", "escapes", "space"],
)
def test_reading_takes_linear_work(pieces: Any) -> None:
    def run(n: int) -> Any:
        made = pieces(n)
        return lambda: fed(made)

    is_linear(run)


def test_a_reader_keeps_nothing_that_it_has_read() -> None:
    """What was kept would be read again with each piece."""
    growing = GrowingJSON()
    for piece in [
        '```json\n{"',
        *["k"] * 50,
        '": "',
        *["word \\u00", "e9"] * 50,
        '", "n": ',
        *"12345",
    ]:
        growing.feed(piece)
        assert len(growing._rest) < 12


def test_the_value_of_each_event_is_built_from_what_is_new() -> None:
    def run(n: int) -> int:
        growing = GrowingJSON()
        fields = [field for piece in items(n) for field in growing.feed(piece)]
        return work(lambda: [value_of(growing, field) for field in fields])

    assert run(400) < 4.6 * run(100)
