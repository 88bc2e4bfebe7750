from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import sample
from wire.core.jsonstream import Cutter
from wire.errors import LimitError


def read(*pieces: bytes) -> tuple[list[bytes], bytes, bytes]:
    """Values, stray bytes, what has not ended."""
    cutter = Cutter()
    values = [value for piece in pieces for value in cutter.feed(piece)]
    return values, bytes(cutter.stray), bytes(cutter.rest)


# (name, bytes, values, stray, rest)
STREAMS: list[tuple[str, bytes, list[bytes], bytes, bytes]] = [
    ("nothing", b"", [], b"", b""),
    ("white-space", b" \r\n\t", [], b"", b""),
    ("one-object", b'{"a": 1}', [b'{"a": 1}'], b"", b""),
    ("array", b'[{"a":1},{"b":2}]', [b'{"a":1}', b'{"b":2}'], b"", b""),
    ("array-over-lines", b'[{\n "a": 1\n}\r\n,\r\n{}\n]\n', [b'{\n "a": 1\n}', b"{}"], b"", b""),
    ("empty-array", b"[]", [], b"", b""),
    ("array-that-has-not-ended", b'[{"a":1},', [b'{"a":1}'], b"", b""),
    (
        "object-after-object",
        b'{"a":1}{"b":2}\n{"c":3}',
        [b'{"a":1}', b'{"b":2}', b'{"c":3}'],
        b"",
        b"",
    ),
    ("object-after-array", b'[{"a":1}]\n{"error":2}', [b'{"a":1}', b'{"error":2}'], b"", b""),
    ("array-after-array", b"[{}][{}]", [b"{}", b"{}"], b"", b""),
    ("nested", b'{"a":[{"b":[]},{}],"c":{}}', [b'{"a":[{"b":[]},{}],"c":{}}'], b"", b""),
    ("brackets-in-strings", b'{"}":"{[","]":"}"}{}', [b'{"}":"{[","]":"}"}', b"{}"], b"", b""),
    ("escaped-quote", rb'{"a":"\"}"}{}', [rb'{"a":"\"}"}', b"{}"], b"", b""),
    (
        "escaped-backslash",
        rb'{"a":"\\"}{"b":"\\\"}"}',
        [rb'{"a":"\\"}', rb'{"b":"\\\"}"}'],
        b"",
        b"",
    ),
    ("escaped-letter", rb'{"a":"\u007d\n"}', [rb'{"a":"\u007d\n"}'], b"", b""),
    ("not-ascii", '{"a":"é}\u2028"}'.encode(), ['{"a":"é}\u2028"}'.encode()], b"", b""),
    ("cut-in-object", b'{}{"a":', [b"{}"], b"", b'{"a":'),
    ("cut-in-string", b'[{"a":"}', [], b"", b'{"a":"}'),
    ("cut-after-backslash", b'{"a":"\\', [], b"", b'{"a":"\\'),
    ("stray-text", b"Bad Gateway", [], b"Bad Gateway", b""),
    ("stray-after-objects", b"{} oops: 1\n{}", [b"{}", b"{}"], b"oops: 1\n", b""),
    ("stray-bracket", b"{}]", [b"{}"], b"]", b""),
    ("scalars", b"[1, null]", [], b"1, null", b""),
]
table = joined(
    ("stream", "values", "stray", "rest"),
    [row[1:] for row in STREAMS],
    ids=[name for name, *_ in STREAMS],
)


@table
def test_values(stream: bytes, values: list[bytes], stray: bytes, rest: bytes):
    assert read(stream) == (values, stray, rest)


@pytest.mark.sampled
@table
def test_every_cut_gives_the_same(
    stream: bytes, values: list[bytes], stray: bytes, rest: bytes
):
    for at in sample(range(len(stream) + 1)):
        assert read(stream[:at], stream[at:]) == (values, stray, rest), at


@table
def test_byte_by_byte_gives_the_same(
    stream: bytes, values: list[bytes], stray: bytes, rest: bytes
):
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == (values, stray, rest)


_scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
_any = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
_objects = st.lists(st.dictionaries(st.text(), _any, max_size=4), max_size=5)
_space = st.text(" \t\r\n", max_size=3)


@given(_objects, st.booleans(), st.booleans(), st.data())
def test_any_objects_cut_anywhere(
    objects: list[dict[str, Any]], in_array: bool, ascii_only: bool, data: st.DataObject
):
    words = [
        json.dumps(each, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
        for each in objects
    ]
    between = (data.draw(_space) + ("," if in_array else "") + data.draw(_space)).encode()
    stream = between.join(words)
    stream = b"[" + stream + b"]" if in_array else stream
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [
        stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    ]
    assert read(*pieces) == (words, b"", b"")


def test_a_value_is_given_out_with_its_last_byte():
    cutter = Cutter()
    assert cutter.feed(b'[{"a":1') == []
    assert cutter.feed(b"}") == [b'{"a":1}']


def test_stray_bytes_are_kept_up_to_a_thousand():
    cutter = Cutter()
    for _ in range(100):
        cutter.feed(b"x" * 100)
    assert (bytes(cutter.stray), bytes(cutter.rest)) == (b"x" * 1000, b"")


def test_a_long_value_in_small_pieces():
    value = json.dumps({"a": "}{\\" * 300_000}).encode()
    assert read(*(value[at : at + 1024] for at in range(0, len(value), 1024))) == (
        [value],
        b"",
        b"",
    )


# --- limit (R-10) ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "pieces",
    [[b'{"a":"' + b"x" * 100], [b'{"a":"', *[b"x"] * 100], [b'{"a":['] + [b"{}, "] * 30],
    ids=["one-piece", "many-pieces", "many-inner-values"],
)
def test_more_than_the_limit_is_refused(pieces: list[bytes]):
    cutter = Cutter(limit=64)
    with pytest.raises(LimitError, match="larger than 64 bytes"):
        for piece in pieces:
            cutter.feed(piece)


def test_the_limit_is_that_of_one_value_not_of_the_stream():
    cutter = Cutter(limit=16)
    assert [value for _ in range(50) for value in cutter.feed(b'{"a":"01234"},')] == [
        b'{"a":"01234"}'
    ] * 50


def outcome(pieces: list[bytes], limit: int) -> tuple[list[bytes], bool]:
    """What came out, and whether it ended with `LimitError`."""
    cutter, values = Cutter(limit), []
    try:
        for piece in pieces:
            values += cutter.feed(piece)
        cutter.feed(b" ")  # as with events, the value before the limit may be given out first
    except LimitError:
        return values, True
    return values, False


def test_the_value_before_the_limit_is_given_out_wherever_the_cut_is():
    stream = b'{"a":1}{"b":"' + b"x" * 50 + b'"}{"c":2}'
    assert {
        at: outcome([stream[:at], stream[at:]], 20) for at in range(len(stream) + 1)
    } == dict.fromkeys(range(len(stream) + 1), ([b'{"a":1}'], True))
