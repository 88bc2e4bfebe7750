"""C-01, C-02: bytes that went through a cassette are the bytes that were received, and people can
read them.
"""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET

from tests.joined import joined
from tests.property import examples
from tests.testing.cassette.samples import BODIES, ODD, STREAMS, compact, google, pretty, spaced
from wire.testing.cassette.format.bodies import body_bytes, body_chunks, read_body
from wire.testing.cassette.format.file import dump, load
from wire.testing.cassette.format.structs import Body, Event, Interaction, Request, Response

SSE = "text/event-stream"


def through_a_file(data: bytes, content_type: str = "") -> Any:
    """The body of `data` after it was written to a cassette and read again; the bytes must be the
    same.
    """
    answer = Response(status=200, body=read_body(data, content_type), end="eof")
    text = dump(
        [Interaction(request=Request(method="POST", url="https://llm.example"), response=answer)]
    )
    loaded = load(text.encode(), "x.cassette.json")
    assert dump(loaded.interactions) == text
    body = loaded.interactions[0].response.body
    assert body_bytes(body) == data
    assert b"".join(body_chunks(body)) == data
    return body


def events(data: bytes, content_type: str = SSE) -> list[Event]:
    body = through_a_file(data, content_type)
    return body.events


def value(part: Event | Body) -> Any:
    assert isinstance(part.json, msgspec.Raw)
    return msgspec.json.decode(part.json)


@pytest.mark.row("C-01")
@joined("data", [*STREAMS.values(), *BODIES.values(), *ODD.values()], ids=[*STREAMS, *BODIES, *ODD])
@joined("content_type", ["", SSE])
def test_bytes_survive(data, content_type):
    through_a_file(data, content_type)


@pytest.mark.row("C-01")
def test_no_bytes_are_no_body():
    assert through_a_file(b"") is UNSET


@pytest.mark.row("C-02")
@joined("name", STREAMS)
def test_every_event_of_a_provider_is_readable(name):
    found = events(STREAMS[name])
    unreadable = [event for event in found if event.text or event.base64]
    assert unreadable == []
    styles = [event for event in found if event.layout or event.escapes]
    assert styles == [], "the style is said once, by the body"


@pytest.mark.row("C-02")
@joined("name", BODIES)
def test_every_json_body_of_a_provider_is_readable(name):
    body = through_a_file(BODIES[name])
    assert value(body) == json.loads(BODIES[name])


@pytest.mark.row("C-02")
def test_what_the_styles_are_called():
    named = {name: through_a_file(data, SSE) for name, data in STREAMS.items()}
    assert {name: (body.framing, body.layout, body.escapes) for name, body in named.items()} == {
        "gemini": ("crlf", "google", "google"),
        "openai": ("lf", "compact", UNSET),
        "anthropic": ("lf", "compact", UNSET),
        "responses": ("lf", "compact", UNSET),
        "openrouter": ("lf", "compact", UNSET),
        "perplexity": ("crlf", "spaced", "ascii"),
        "tight": ("lf tight", "compact", UNSET),
        "resumable": ("lf", "compact", UNSET),
    }
    plain = {name: through_a_file(data) for name, data in BODIES.items()}
    assert {
        name: (body.layout, body.escapes, body.before, body.after) for name, body in plain.items()
    } == {
        "gemini": ("indent 2", "google", UNSET, "\n"),
        "gemini list": ("google list", UNSET, UNSET, UNSET),
        "openai": ("indent 2", UNSET, UNSET, UNSET),
        "anthropic": ("compact", UNSET, UNSET, UNSET),
        "openrouter": ("compact", UNSET, "\n         \n", UNSET),
        "groq": ("compact", "html", UNSET, UNSET),
        "baseten": ("tabs", UNSET, UNSET, UNSET),
        "error": ("indent 2", UNSET, UNSET, "\n"),
        "fastapi": ("spaced", UNSET, UNSET, UNSET),
    }


@pytest.mark.row("C-02")
def test_fields_of_an_event():
    assert events(b'event: a\nid: 7\nretry: 3000\ndata: {"b":1}\n\n: note\n\ndata: [DONE]\n\n') == [
        Event(
            event="a",
            id="7",
            retry=3000,
            json=msgspec.Raw(b'{\n                "b": 1\n              }'),
        ),
        Event(comment="note"),
        Event(data="[DONE]"),
    ]


@pytest.mark.row("C-02")
def test_padding_is_a_number():
    found = events(STREAMS["anthropic"])
    assert [event.pad for event in found] == [7, UNSET, 3, 12]
    assert value(found[2])["delta"]["text"] == "Olá"


@pytest.mark.row("C-02")
def test_one_bad_event_does_not_spoil_the_others():
    found = events(ODD["an event that is not UTF-8"])
    assert [value(found[0]), found[1].base64, value(found[2])] == [
        {"a": 1},
        ["ZGF0YTog//4KCg=="],
        {"b": 2},
    ]


@pytest.mark.row("C-02")
@joined(
    ("last", "kept"),
    [
        ('data: {"x":1}\n', Event(end="\n", json=msgspec.Raw(b'{"x":1}'))),
        ('data: {"x":1}', Event(end="", json=msgspec.Raw(b'{"x":1}'))),
        ("data: [DONE]", Event(end="", data="[DONE]")),
        (": ping\n", Event(end="\n", comment="ping")),
        ('data: {"x":1}\n\n\n', Event(end="\n\n\n", json=msgspec.Raw(b'{"x":1}'))),
        (' data: {"x":1}\n\n', Event(before=" ", json=msgspec.Raw(b'{"x":1}'))),
        ('data: {"x":', Event(end="", data='{"x":')),
        (
            '{\n  "error": {\n    "code": 499\n  }\n}\n',
            Event(
                outside=True,
                end="\n",
                layout="indent 2",
                escapes="raw",
                json=msgspec.Raw(b'{"error":{"code":499}}'),
            ),
        ),
    ],
)
def test_an_event_with_other_line_ends_or_without_its_name_is_readable(last, kept):
    found = events(f'data: {{"a":1}}\n\n{last}'.encode())
    [first, second] = [
        each if each.json is UNSET else msgspec.structs.replace(each, json=_compact(each.json))
        for each in found
    ]
    assert (first, second) == (Event(json=msgspec.Raw(b'{"a":1}')), kept)


def _compact(json: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.format(bytes(json), indent=-1))


@pytest.mark.row("C-02")
@pytest.mark.parametrize("odd", ['data: {"x":1}\nid: 4\n\n', 'retry: 007\ndata: {"x":1}\n\n'])
def test_one_odd_event_stands_as_text_among_the_others(odd):
    found = events(f'data: {{"a":1}}\n\n{odd}data: {{"b":2}}\n\n'.encode())
    assert [value(found[0]), "".join(found[1].text), value(found[2])] == [{"a": 1}, odd, {"b": 2}]


@pytest.mark.row("C-02")
def test_an_event_in_another_style_says_so():
    stream = (
        "".join(f"data: {compact({'a': [index, 2]})}\n\n" for index in range(3))
        + f"data: {spaced({'a': [1, 2], 'é': 1}, True)}\n\n"
    )
    assert [(event.layout, event.escapes) for event in events(stream.encode())] == [
        (UNSET, UNSET)
    ] * 3 + [("spaced", "ascii")]


@pytest.mark.row("C-02")
def test_the_common_style_is_that_of_most_events():
    stream = "data: {}\n\n" * 2 + "".join(
        f"data: {spaced({'ü': [1, 2]}, True)}\n\n" for _ in range(3)
    )
    body = through_a_file(stream.encode(), SSE)
    assert (body.layout, body.escapes) == ("spaced", "ascii")
    assert {(event.layout, event.escapes) for event in body.events} == {(UNSET, UNSET)}


@pytest.mark.row("C-02")
def test_letters_that_nobody_sees_are_escaped_in_the_file():
    data = '{"a":"x\u2028\u202e\u200b\ufeffé"}'.encode()
    body = read_body(data)
    assert isinstance(body, Body)
    assert bytes(body.json) == b'{"a":"x\\u2028\\u202e\\u200b\\ufeff\xc3\xa9"}'
    through_a_file(data)


@pytest.mark.row("C-02")
def test_escaped_letters_are_readable_in_the_file():
    body = through_a_file(rb'{"a": "\u00fc\ud83c\udf0d"}')
    assert "ü🌍".encode() in bytes(body.json)


@pytest.mark.row("C-02")
def test_escapes_of_no_named_style_stay_as_they_came():
    body = through_a_file(rb'{"a":"\u00E9\/","n":1.50e+07}')
    assert (body.layout, body.escapes) == ("compact", "as received")
    assert rb"\u00E9\/" in bytes(body.json)
    assert b"1.50e+07" in bytes(body.json)


def test_an_error_body_labelled_as_events_is_json():
    body = through_a_file(BODIES["error"], SSE)
    assert value(body)["error"]["code"] == 429


# --- whatever the bytes are -----------------------------------------------------------------------

_TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
_NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, _TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)),
    max_leaves=8,
)
_WRITERS = st.sampled_from(
    [
        compact,
        google,
        spaced,
        lambda value: spaced(value, ascii=True),
        lambda value: f"{compact(value)[:-1]}  }}",
    ]
)


@st.composite
def _pieces(draw: st.DrawFn) -> bytes:
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    gap = draw(st.sampled_from([": ", ":"]))
    payload = draw(_WRITERS)(draw(_VALUES)) if draw(st.booleans()) else draw(_TEXT)
    name = draw(
        st.sampled_from(
            [
                "",
                f"event{gap}x{end}",
                f"id{gap}{draw(_TEXT)}{end}",
                f"retry{gap}12{end}",
                f":{draw(_TEXT)}{end}",
                " ",
                "\ufeff",
            ]
        )
    )
    field = draw(st.sampled_from(["data", "data", "data", "", "json", "text", "pad"]))
    field = "" if draw(st.integers(0, 9)) == 0 else f"{field}{gap}"  # JSON outside of events
    whole = f"{name}{field}{payload}{draw(st.sampled_from([end * 2, end * 2, end * 3, end, '']))}".encode()  # noqa: E501
    cut = draw(st.integers(0, 30))
    return (
        whole[:cut] + draw(st.binary(max_size=3)) + whole[cut:]
        if draw(st.integers(0, 9)) == 0
        else whole
    )


@pytest.mark.row("C-02")
@settings(max_examples=examples(400))
@given(st.lists(_pieces(), max_size=6).map(b"".join))
def test_any_stream_survives(data):
    through_a_file(data, SSE)


@pytest.mark.row("C-01")
@settings(max_examples=examples(400))
@given(
    _VALUES,
    st.sampled_from([compact, google, spaced, pretty, lambda value: spaced(value, True)]),
    _TEXT,
    st.booleans(),
)
def test_any_json_body_survives(item, write, around, cut):
    data = write(item).encode()
    through_a_file(data[: len(data) // 2] if cut else data)
    through_a_file(around.encode() + data)


@pytest.mark.row("C-01")
@settings(max_examples=examples(200))
@given(st.binary(max_size=200))
def test_any_bytes_survive(data):
    through_a_file(data)
    through_a_file(data, SSE)


@pytest.mark.row("C-02")
@pytest.mark.sampled
def test_random_streams():
    dice = random.Random(7)
    alphabet = [
        b"data: ",
        b"data:",
        b"event: x",
        b"id",
        b":",
        b" ",
        b"\n",
        b"\r\n",
        b"\r",
        b"\n\n",
        b'{"a":1}',
        b'{"a": "\\u00e9"}',
        b"[1, 2]",
    ]
    alphabet += [
        b"{}",
        b"}",
        b'"',
        b"\\",
        "é".encode(),
        b"\xff",
        b"\0",
        b"\xef\xbb\xbf",
        "\u2028".encode(),
        b'{"b":1.0   }',
        b"[DONE]",
    ]
    for _ in range(examples(10_000)):
        through_a_file(b"".join(dice.choices(alphabet, k=dice.randrange(12))), SSE)
