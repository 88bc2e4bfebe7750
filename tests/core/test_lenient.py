"""JSON as structs, however odd its values are."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

import wire
from tests.history.test_work import Work
from tests.joined import joined
from wire.core.lenient import Unreadable, decoded, plain, portable_fields, well_formed
from wire.core.memory import WireStruct
from wire.errors import LimitError


class Tide(WireStruct, frozen=True, kw_only=True):
    port: str | None = None
    days: list[int] | None = None
    next: Tide | None = None


class Tides(WireStruct, frozen=True, kw_only=True):
    every: list[Tide] | None = None
    by_name: dict[str, Tide] | None = None


@joined(
    ("body", "expected", "unknown"),
    [
        (b'{"port":"Brest","days":[1,2]}', Tide(port="Brest", days=[1, 2]), []),
        (b'{"port":7,"days":[1]}', Tide(days=[1]), [("port", 7)]),
        (b'{"port":"Brest","days":[1,"two"]}', Tide(port="Brest"), [("days", [1, "two"])]),
        (b'{"next":{"port":[],"days":[3.0]}}', Tide(next=Tide(days=[3])), [("next.port", [])]),
        (b'{"port":"\\ud83c"}', Tide(port="\ud83c"), []),
        (b'{"port":"\xff"}', Tide(port="\ufffd"), []),
        (b'{"port":"Brest","\\ud83c":1}', Tide(port="Brest"), [("\ud83c", 1)]),
    ],
)
def test_one_odd_value_does_not_cost_the_rest(body: bytes, expected: Any, unknown: Any):
    struct = decoded(body, Tide)
    assert (struct, struct.raw, wire.unknown(struct)) == (expected, body, unknown)


def test_an_object_that_is_too_deep_stays_an_object():
    deep = "[" * 300 + "]" * 300
    tide = decoded(b'{"port":"Brest","deep":' + deep.encode() + b',"odd\\ud83c":1}', Tide)
    assert portable_fields(tide) == {"port": "Brest", "deep": deep, "odd\ufffd": 1}


@pytest.mark.row("R-11")
def test_odd_fields_of_many_structs_cost_linear_work():
    """R-11: each odd field is dropped, however many there are."""

    def work(count: int) -> int:
        tides = [{"port": 7, "days": [index]} for index in range(count)]
        body = msgspec.json.encode({"every": tides, "by_name": {"a": tides[0], "b": {"port": "B"}}})
        with Work() as counted:
            struct = decoded(body, Tides)
        assert struct.every == [Tide(days=[index]) for index in range(count)]
        assert struct.by_name == {"a": Tide(days=[0]), "b": Tide(port="B")}
        return counted.count

    work(1)  # builds the tables of the types
    assert work(800) <= 5 * work(200)


@joined("body", [b"", b"[1]", b'"x"', b'{"port":', b'{"port":"\x00"}', b"<html>"])
def test_what_is_no_object(body: bytes):
    with pytest.raises(Unreadable):
        decoded(body, Tide)


def test_what_is_nested_too_deeply():
    with pytest.raises(LimitError):
        decoded(b'{"moon":' + b"[" * 100_000 + b"]" * 100_000 + b"}", Tide)


@joined(
    ("body", "expected"),
    [
        (b'{"a":1}', {"a": 1}),
        (b"\xef\xbb\xbf[1]", [1]),
        (b'"\\ud83c"', "\ud83c"),
        (b'"\xff"', "\ufffd"),
        (b"{", None),
        (b"[" * 100_000, None),
    ],
)
def test_plain(body: bytes, expected: Any):
    assert plain(body) == expected


def test_lone_surrogates_are_replaced_so_that_utf_8_can_encode_the_text():
    assert (well_formed("a\ud83c\udf0a"), well_formed("a\ud83c"), well_formed("a")) == (
        "a🌊",
        "a\ufffd",
        "a",
    )
    assert msgspec.json.encode(well_formed("\udf0a")) == b'"\xef\xbf\xbd"'
