"""Each fast path gives what the slow path gives: encoding, counting and searching."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.bodies import texts_only
from wire.core.decoders import from_base64
from wire.core.json_values import expands
from wire.core.lenient import plain, plain_fields
from wire.core.limits import LARGE_JSON, count, depth_of, is_deeper
from wire.core.memory import encode, raw_of
from wire.errors import WireError
from wire.gemini.error_body import ERRORS
from wire.gemini.fold import content_in, part_in
from wire.gemini.reader import parse_response
from wire.gemini.types import Content, FunctionCall, GenerateContentRequest, Part

TEXTS = st.text(max_size=3)
RAW_PART = b'{ "text": "a", "later": [1, 2.50] }'
RAW_CONTENT = b'{"role":"model", "parts": [' + RAW_PART + b'], "more":null}'
RESPONSE = b'{"candidates": [{"content": ' + RAW_CONTENT + b', "finishReason": "STOP"}]}'


def of_a_response() -> Content:
    """A Content whose bytes are not cut out of the response yet."""
    content = parse_response(RESPONSE).candidates[0].content
    assert content is not None
    return content


PARTS = st.builds(Part, text=TEXTS) | st.builds(
    Part, function_call=st.builds(FunctionCall, name=TEXTS, args=st.dictionaries(TEXTS, TEXTS))
)
PARTS_SENT = PARTS | st.builds(part_in, st.just(RAW_PART))
CONTENTS = (
    st.builds(Content, role=TEXTS, parts=st.lists(PARTS_SENT, max_size=2))
    | st.builds(content_in, st.just(RAW_CONTENT))
    | st.builds(of_a_response)
)


def one_by_one(value: Any) -> Any:
    """JSON of contents, each piece encoded alone."""
    if isinstance(value, list):
        return b"[" + b",".join(map(one_by_one, value)) + b"]"
    if raw_of(value) is not None:
        return value.raw
    if isinstance(value, Content):
        parts = b'{"parts":' + one_by_one(value.parts)
        return parts + b',"role":' + msgspec.json.encode(value.role) + b"}"
    return msgspec.json.encode(value)


@given(st.lists(CONTENTS, max_size=4))
def test_a_list_is_encoded_as_its_items_are(contents: list[Content]) -> None:
    request = GenerateContentRequest(contents=contents)
    assert encode(request) == b'{"contents":' + one_by_one(contents) + b"}"


def test_received_structs_are_found_below_lists_and_dicts() -> None:
    part = part_in(RAW_PART)
    assert encode({"a": [[part], {"b": part}], "c": 1}) == (
        b'{"a":[[' + RAW_PART + b'],{"b":' + RAW_PART + b'}],"c":1}'
    )


NESTED = st.recursive(
    st.none() | TEXTS | st.builds(Part, text=TEXTS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(TEXTS, inner, max_size=3)
        | st.builds(FunctionCall, args=st.dictionaries(TEXTS, inner, max_size=2))
    ),
    max_leaves=10,
)


def values_in(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(values_in, value.values()))
    if isinstance(value, (list, tuple)):
        return len(value) + sum(map(values_in, value))
    return values_in(value.args) if isinstance(value, FunctionCall) else 0


@given(st.lists(NESTED, max_size=4), st.integers(0, 20))
def test_values_are_counted_level_by_level(values: list[Any], limit: int) -> None:
    assert expands(values, limit) == (sum(map(values_in, values)) > limit)


@joined("size", [0, 10, LARGE_JSON, 2 * LARGE_JSON])
@joined("found", [0, 1, 255, 256, 257, 3_000])
def test_bytes_are_counted(size: int, found: int) -> None:
    data = b"x" * size + b"[x" * found
    assert count(data, b"[") == found


@given(NESTED.map(lambda value: msgspec.json.encode(value)), st.integers(0, 6))
def test_depth_is_compared(data: bytes, levels: int) -> None:
    assert is_deeper(data, levels) == (depth_of(data) > levels)


BASE64 = st.binary(max_size=9).map(base64.b64encode).map(bytes.decode)


@given(BASE64 | st.text("AQgwz+/=-_ \n\u00e9\ud800", max_size=8))
def test_base64_is_decoded_as_the_standard_library_does(text: str) -> None:
    try:
        expected: bytes | None = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        expected = None
    if expected is None:
        with pytest.raises(ValueError):  # noqa: PT011  the words differ with the form of the text
            from_base64(text)
    else:
        assert from_base64(text) == expected


@given(st.lists(CONTENTS, max_size=4))
def test_fields_with_half_a_surrogate_pair_are_read_as_those_that_msgspec_encodes(
    contents: list[Content],
) -> None:
    fields = plain_fields([*contents, "a"])
    assert fields == plain(encode([*contents, "a"]))
    assert plain_fields([*contents, "\ud83d"]) == [*fields[:-1], "\ud83d"]


@given(
    st.none() | TEXTS | st.just(5),
    st.none() | TEXTS | st.just(["a"]),
    st.none() | TEXTS | st.just({}),
)
def test_texts_alone_are_recognised(name: Any, id: Any, args: Any) -> None:
    call = FunctionCall(name=name, id=id, args=args)
    expected = isinstance(name, str | None) and isinstance(id, str | None) and args is None
    assert texts_only(FunctionCall, "name", "id")(call) == expected


@joined("quotes", [0, 10, 999, 1_000, 1_001, 5_000])
@joined("large", [False, True])
def test_an_error_is_found_behind_any_number_of_quotes(quotes: int, large: bool) -> None:
    text = '\\"' * quotes + "x" * (LARGE_JSON if large else 0)
    error = '"error":{"code":503,"message":"Overloaded.","status":"UNAVAILABLE"}'
    for body in (f'{{"text":"{text}",{error}}}', f'{{{error},"text":"{text}"}}'):
        found = ERRORS.in_success(body.encode())
        assert isinstance(found, WireError)
        assert found.message == "Overloaded."
    assert ERRORS.in_success(f'{{"text":"{text} \\"error\\" "}}'.encode()) is None
