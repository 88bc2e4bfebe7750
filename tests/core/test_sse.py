from __future__ import annotations

import httpx
import httpx_sse
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.sse import EVENT_LIMIT, Decoder, Event
from wire.errors import LimitError

BOM = b"\xef\xbb\xbf"


def read(*pieces: bytes, limit: int = EVENT_LIMIT) -> list[Event]:
    decoder = Decoder(limit)
    return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.close()]


def ev(data: bytes, **fields: object) -> Event:
    return Event(data, **fields)


def outside(line: bytes) -> Event:
    return Event(line, outside=True)


def cut(data: bytes, **fields: object) -> Event:
    return Event(data, cut=True, **fields)


# (name, bytes, events)
STREAMS: list[tuple[str, bytes, list[Event]]] = [
    # line ends (R-06)
    ("lf", b"data: a\n\ndata: b\n\n", [ev(b"a"), ev(b"b")]),
    ("crlf", b"data: a\r\n\r\ndata: b\r\n\r\n", [ev(b"a"), ev(b"b")]),
    ("cr", b"data: a\r\rdata: b\r\r", [ev(b"a"), ev(b"b")]),
    (
        "mixed",
        b"data: a\r\n\ndata: b\r\r\ndata: c\n\rdata: d\n\r\n",
        [ev(b"a"), ev(b"b"), ev(b"c"), ev(b"d")],
    ),
    ("crlf-is-one-end", b"data: a\r\ndata: b\r\n\r\n", [ev(b"a\nb")]),
    ("cr-then-lf-lf", b"data: a\r\n\n", [ev(b"a")]),
    ("blank-lines-before", b"\r\n\n\r\rdata: a\n\n", [ev(b"a")]),
    # the mark at the beginning, and nowhere else
    ("bom", BOM + b"data: a\n\n", [ev(b"a")]),
    ("bom-then-cr", BOM + b"\rdata: a\r\r", [ev(b"a")]),
    ("bom-only", BOM, []),
    ("bom-without-end", BOM + b"data: a", [cut(b"a")]),
    ("bom-twice", BOM + BOM + b"data: a\n\n", [outside(BOM + b"data: a")]),
    ("bom-later", b"data: a\n\n" + BOM + b"data: b\n\n", [ev(b"a"), outside(BOM + b"data: b")]),
    ("bom-in-data", b"data: " + BOM + b"a\n\n", [ev(BOM + b"a")]),
    # fields
    ("comments", b": hello\ndata: a\n:\n: x\ndata: b\n\n", [ev(b"a\nb")]),
    ("comment-alone", b": keepalive\n\n", []),
    ("several-data", b"data: a\ndata:\ndata: c\n\n", [ev(b"a\n\nc")]),
    ("no-space", b"data:a\n\n", [ev(b"a")]),
    ("two-spaces", b"data:  a \n\n", [ev(b" a ")]),
    ("tab-is-data", b"data:\ta\n\n", [ev(b"\ta")]),
    ("colon-in-data", b"data: a: b:c\n\n", [ev(b"a: b:c")]),
    ("empty-data", b"data:\n\ndata: \n\ndata\n\ndata: a\n\n", [ev(b"a")]),
    ("two-empty-lines-are-data", b"data\ndata\n\n", [ev(b"\n")]),
    ("no-data", b"event: ping\n\nid: 1\n\n", []),
    ("unknown-fields", b"foo: 1\nbar\nx-y.z_1: 2\ndata2: 3\ndata: a\n\n", [ev(b"a")]),
    ("event", b"event: ping\ndata: a\n\ndata: b\n\n", [ev(b"a", event="ping"), ev(b"b")]),
    ("event-of-empty-data-is-dropped", b"event: ping\ndata:\n\ndata: a\n\n", [ev(b"a")]),
    ("event-empty", b"event:\ndata: a\n\n", [ev(b"a", event="message")]),
    ("event-last-one-counts", b"event: x\nevent:y\ndata: a\n\n", [ev(b"a", event="y")]),
    (
        "id-stays",
        b"id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n",
        [ev(b"a", id="1"), ev(b"b", id="1"), ev(b"c")],
    ),
    ("id-with-nul-is-ignored", b"id: 1\nid: 2\x003\ndata: a\n\n", [ev(b"a", id="1")]),
    ("retry", b"retry: 1500\ndata: a\n\ndata: b\n\n", [ev(b"a", retry=1500), ev(b"b")]),
    ("retry-no-digits", b"retry: 1.5\nretry: -1\nretry:\nretry: x\ndata: a\n\n", [ev(b"a")]),
    ("case-matters", b"DATA: x\nData: y\ndata: a\n\n", [ev(b"a")]),
    # what only str.splitlines takes for a line end
    ("u2028", "data: a\u2028b\u2029c\n\n".encode(), [ev("a\u2028b\u2029c".encode())]),
    ("u0085", "data: a\u0085b\n\n".encode(), [ev("a\u0085b".encode())]),
    ("byte-85", b"data: a\x85b\n\n", [ev(b"a\x85b")]),
    ("vt-ff-fs", b"data: a\x0bb\x0cc\x1cd\x1de\x1ef\n\n", [ev(b"a\x0bb\x0cc\x1cd\x1de\x1ef")]),
    ("u2028-in-event", "event: a\u2028b\ndata: c\n\n".encode(), [ev(b"c", event="a\u2028b")]),
    # bytes that are no text
    ("invalid-utf8-data", b"data: \xff\xfe{\n\n", [ev(b"\xff\xfe{")]),
    (
        "invalid-utf8-names",
        b"event: \xff\nid: \xc3\ndata: a\n\n",
        [ev(b"a", event="\ufffd", id="\ufffd")],
    ),
    ("nul-in-data", b"data: \x00\n\n", [ev(b"\x00")]),
    # the end
    ("nothing", b"", []),
    ("no-blank-line", b"data: a\n\ndata: b\n", [ev(b"a"), cut(b"b")]),
    ("no-line-end", b"data: a\n\nevent: x\ndata: b", [ev(b"a"), cut(b"b", event="x")]),
    ("ends-after-cr", b"data: a\r", [cut(b"a")]),
    ("ends-in-field-name", b"data: a\ndat", [cut(b"a")]),
    ("whole", b"data: a\n\n", [ev(b"a")]),
    # what is no event at all
    (
        "bare-json",
        b'data: a\n\n{"error": {"code": 500}}',
        [ev(b"a"), outside(b'{"error": {"code": 500}}')],
    ),
    (
        "bare-json-lines",
        b'[{\r\n  "a": 1\r\n}]\r\n',
        [outside(b"[{"), outside(b'  "a": 1'), outside(b"}]")],
    ),
    (
        "html",
        b"<html>\n<body>Bad Gateway: 502</body>",
        [outside(b"<html>"), outside(b"<body>Bad Gateway: 502</body>")],
    ),
    ("sentence", b"upstream connect error\n", [outside(b"upstream connect error")]),
    ("outside-before-its-event", b"data: a\n{}\n\n", [outside(b"{}"), ev(b"a")]),
    ("space-before-name", b" data: a\n\n", [outside(b" data: a")]),
    ("wrapped-keepalive", b"data: : keepalive\n\n", [ev(b": keepalive")]),
]
table = joined(("stream", "events"), [row[1:] for row in STREAMS], ids=[row[0] for row in STREAMS])
ALL = b"".join(
    stream if stream.endswith((b"\n\n", b"\r\r", b"\r\n\r\n")) else stream + b"\n\n"
    for _, stream, _ in STREAMS
)


@table
def test_events(stream: bytes, events: list[Event]):
    assert read(stream) == events


@table
def test_every_cut_gives_the_same_events(stream: bytes, events: list[Event]):
    for at in range(len(stream) + 1):
        assert read(stream[:at], stream[at:]) == events, at


@table
def test_byte_by_byte_gives_the_same_events(stream: bytes, events: list[Event]):
    assert read(*(stream[at : at + 1] for at in range(len(stream)))) == events


@given(st.data())
def test_random_cuts_give_the_same_events(data: st.DataObject):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ALL)), max_size=30)))
    assert read(
        *(ALL[start:end] for start, end in zip([0, *cuts], [*cuts, len(ALL)], strict=True))
    ) == read(ALL)


@given(
    st.lists(
        st.sampled_from(
            [
                b"\r",
                b"\n",
                b"data:",
                b"data",
                b" ",
                b":",
                b"id",
                b"event",
                b"{",
                b"\xef\xbb\xbf",
                b"\0",
                b"a",
            ]
        )
    )
)
def test_any_soup_gives_the_same_events_byte_by_byte(words: list[bytes]):
    soup = b"".join(words)
    assert read(*(soup[at : at + 1] for at in range(len(soup)))) == read(soup)


def test_an_empty_piece_between_cr_and_lf_changes_nothing():
    assert read(b"data: a\r", b"", b"\ndata: b\r\n\r\n") == [ev(b"a\nb")]


def test_an_event_is_given_out_as_soon_as_its_blank_line_is_there():
    decoder = Decoder()
    assert decoder.feed(b"data: a\r\n") == []
    assert decoder.feed(b"\r") == [
        ev(b"a")
    ]  # waiting for the LF would hold the event back until the next one
    assert decoder.feed(b"\n") == []
    assert decoder.close() == []


@joined(
    ("data", "blank"),
    [
        (b": keepalive", True),
        (b" ", True),
        (b"\n", True),
        (b"\t\r", True),
        (b"{}", False),
        (b"[DONE]", False),
        (b" :", False),
    ],
    ids=repr,
)
def test_blank(data: bytes, blank: bool):
    assert Event(data).blank is blank


# --- against another reader -----------------------------------------------------------------------

_text = st.text(st.characters(exclude_characters="\r\n\0", exclude_categories=["Cs"]), max_size=12)
_filled = _text.filter(lambda text: text.strip(" "))
_lines = st.one_of(
    st.tuples(st.sampled_from(["event", "id"]), _text),
    st.tuples(st.just("data"), _text),
    st.tuples(st.just("retry"), st.integers(0, 10**9).map(str)),
    st.tuples(st.sampled_from(["", "foo", "x-y"]), _text),
)
# One data line at least has something in it: what the other reader does with empty events is not
# the standard.
_blocks = st.tuples(st.lists(_lines, max_size=5), _filled, st.lists(_lines, max_size=2)).map(
    lambda parts: [*parts[0], ("data", parts[1]), *parts[2]]
)
_ends = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def standard_streams(draw: st.DrawFn) -> bytes:
    lines: list[str] = []
    for block in draw(st.lists(_blocks, max_size=5)):
        lines += [name + draw(st.sampled_from([":", ": "])) + value for name, value in block]
        lines.append("")
    end = draw(_ends)
    return "".join(line + end for line in lines).encode()


@given(standard_streams(), st.integers(1, 40))
def test_httpx_sse_reads_the_same(stream: bytes, size: int):
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    response = httpx.Response(
        200, headers={"content-type": "text/event-stream"}, content=iter(pieces)
    )
    theirs = [
        (event.data, event.event, event.id, event.retry)
        for event in httpx_sse.EventSource(response).iter_sse()
    ]
    ours = [(event.data.decode(), event.event, event.id, event.retry) for event in read(*pieces)]
    assert ours == theirs


# --- limit (R-10) ---------------------------------------------------------------------------------


def test_the_limit_is_32_mib():
    assert EVENT_LIMIT == 32 * 1024 * 1024


@joined(
    "pieces",
    [
        [b"data: " + b"x" * 100],
        [b"data: ", *[b"x"] * 100],
        [b"data: x\n"] * 20,
        [b"data:\n"] * 20,
        [b"data\r\n"] * 30,
        [b": " + b"x" * 100],
    ],
    ids=[
        "one-piece",
        "many-pieces",
        "many-lines",
        "many-empty-lines",
        "many-bare-lines",
        "comment",
    ],
)
def test_more_than_the_limit_is_refused(pieces: list[bytes]):
    with pytest.raises(LimitError, match="larger than 64 bytes"):
        read(*pieces, limit=64)


def test_an_event_within_the_limit_passes():
    data = b"x" * 64
    assert read(b"data:" + data + b"\n\n", b"data:" + data + b"\n\n", limit=70) == [
        ev(data),
        ev(data),
    ]


def test_the_limit_is_that_of_one_event_not_of_the_stream():
    assert read(*[b"data: 0123456789\n\n"] * 20, limit=20) == [ev(b"0123456789")] * 20


def test_the_event_before_the_limit_is_given_out():
    decoder = Decoder(limit=20)
    assert decoder.feed(b"data: a\n\ndata: " + b"x" * 50) == [ev(b"a")]
    with pytest.raises(LimitError):
        decoder.feed(b"x")


def test_the_end_of_the_stream_is_no_way_around_the_limit():
    decoder = Decoder(limit=20)
    assert decoder.feed(b"data: a\n\ndata: " + b"x" * 50) == [ev(b"a")]
    with pytest.raises(LimitError):
        decoder.close()


def outcome(pieces: list[bytes], limit: int) -> tuple[list[Event], bool]:
    """What came out, and whether it ended with `LimitError`."""
    decoder, events = Decoder(limit), []
    try:
        for piece in pieces:
            events += decoder.feed(piece)
        events += decoder.close()
    except LimitError:
        return events, True
    return events, False


def test_the_limit_does_not_depend_on_the_cuts():
    stream = b"data: a\n\ndata: " + b"x" * 50 + b"\n\ndata: b\n\n"
    assert {
        at: outcome([stream[:at], stream[at:]], 20) for at in range(len(stream) + 1)
    } == dict.fromkeys(range(len(stream) + 1), ([ev(b"a")], True))


def test_a_long_line_in_small_pieces():
    # That this is linear in time is for a benchmark to show; here only that nothing is lost
    # on the way.
    data = bytes(range(32, 127)) * 22_000
    stream = b"data: " + data + b"\n\n"
    assert len(stream) > 2_000_000
    assert read(*(stream[at : at + 1024] for at in range(0, len(stream), 1024))) == [ev(data)]
