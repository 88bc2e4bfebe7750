"""HTTP/1.1 without a socket: what a response is, compared with h11, and what a request may hold."""

from __future__ import annotations

import gc
import importlib.util
import itertools
import weakref
from dataclasses import dataclass
from typing import Any

import h11
import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import examples
from wire.core.limits import MAX_FRAMING_BYTES
from wire.http import h11_parser, http11
from wire.http.http11 import ResponseReader, TooLong
from wire.http.prepared import chunk_of, head_of

HAS_HTTPTOOLS = importlib.util.find_spec("httptools") is not None


@pytest.fixture(
    params=[
        pytest.param("httptools", marks=pytest.mark.skipif(not HAS_HTTPTOOLS, reason="an extra")),
        "h11",
    ],
    autouse=True,
)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The parser: httptools, or that of the library on h11, where httptools is not installed."""
    if request.param == "h11":
        monkeypatch.setattr(http11, "parser_of", h11_parser.HttpResponseParser)
        for name in ("HttpParserError", "HttpParserUpgrade"):
            monkeypatch.setattr(http11, name, getattr(h11_parser, name))
    return request.param


@dataclass
class Read:
    """What came of a response."""

    status: int = 0
    reason: bytes = b""
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    complete: bool = False
    reusable: bool = False
    """Before the end of the connection."""
    problem: str = ""


def read(pieces: list[bytes], method: str = "POST", *, end: bool = True) -> Read:
    reader = ResponseReader(method)
    body = b""
    for piece in pieces:
        reader.feed(piece)
        body += reader.take()
    reusable = reader.is_reusable
    if end:
        reader.end()
    problem = "" if reader.problem is None or reader.is_complete else reader.problem[1]
    if not reader.has_head:
        return Read(body=body, reusable=reusable, problem=problem)
    headers = tuple((name.lower(), value) for name, value in reader.headers)
    return Read(reader.status, reader.reason, headers, body, reader.is_complete, reusable, problem)


def read_by_h11(data: bytes, method: str = "POST") -> Read:
    """The same by the parser of httpx."""
    connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_FRAMING_BYTES)
    connection.send(h11.Request(method=method, target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    result = Read()
    try:
        connection.receive_data(data)
        connection.receive_data(b"")
        while not result.complete:
            event = connection.next_event()
            if isinstance(event, h11.Response):
                result.status, result.reason = event.status_code, bytes(event.reason)
                result.headers = tuple((bytes(name), bytes(value)) for name, value in event.headers)
            elif isinstance(event, h11.Data):
                result.body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                result.complete = True
            elif not isinstance(event, h11.InformationalResponse):
                break
    except h11.RemoteProtocolError as error:
        result.problem = str(error)
    return result


OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"content-length: 2\r\n"
CHUNKS = OK + b"transfer-encoding: chunked\r\n\r\n"
LAST = b"0\r\n\r\n"

READ: dict[str, tuple[bytes, int, bytes, bool]] = {
    # name: (bytes, status, body, whether the connection is reusable)
    "length": (OK + TWO + b"\r\nHi", 200, b"Hi", True),
    "length 0": (OK + b"content-length: 0\r\n\r\n", 200, b"", True),
    "length with blanks": (OK + b"content-length:  2 \t\r\n\r\nHi", 200, b"Hi", True),
    "no length": (OK + b"\r\nHi", 200, b"Hi", False),
    "no length and no body": (OK + b"\r\n", 200, b"", False),
    "length and close": (OK + TWO + b"connection: close\r\n\r\nHi", 200, b"Hi", False),
    "chunks": (CHUNKS + b"2\r\nHi\r\n1\r\n!\r\n" + LAST, 200, b"Hi!", True),
    "no chunk": (CHUNKS + LAST, 200, b"", True),
    "CHUNKS": (CHUNKS.replace(b"chunked", b"CHUNKED") + LAST, 200, b"", True),
    "chunk sizes": (CHUNKS + b"A\r\n012345678\n\r\n00\r\n\r\n", 200, b"012345678\n", True),
    "chunk extensions": (CHUNKS + b'2;a;b=c;d="e"\r\nHi\r\n0;f\r\n\r\n', 200, b"Hi", True),
    "blanks after a chunk size": (CHUNKS + b"2 \t\r\nHi\r\n" + LAST, 200, b"Hi", True),
    "trailers": (CHUNKS + b"2\r\nHi\r\n0\r\nx-a: 1\r\nx-b: 2\r\n\r\n", 200, b"Hi", True),
    "a trailer of framing": (CHUNKS + b"0\r\ncontent-length: 9\r\n\r\n", 200, b"", True),
    "chunks, then a length": (
        OK + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n2\r\nHi\r\n" + LAST,
        200, b"Hi", False,
    ),
    "a length, then chunks": (
        OK + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n2\r\nHi\r\n" + LAST,
        200, b"Hi", False,
    ),
    "no reason": (b"HTTP/1.1 200\r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "a blank reason": (b"HTTP/1.1 200 \r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "a reason in Latin-1": (b"HTTP/1.1 200 \xe9\r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "an unknown status": (b"HTTP/1.1 599 X\r\n" + TWO + b"\r\nHi", 599, b"Hi", True),
    "a header in Latin-1": (OK + b"x-a: \xe9\xff\r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "an empty header": (OK + b"X-a:\r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "blanks around a value": (OK + b"x-a: \t b c \t\r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "the same header twice": (OK + b"x-a: 1\r\nX-A: 2\r\n" + TWO + b"\r\nHi", 200, b"Hi", True),
    "bare LF": (b"HTTP/1.1 200 OK\ncontent-length: 2\n\nHi", 200, b"Hi", True),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n" + TWO + b"\r\nHi", 200, b"Hi", False),
    "HTTP/1.0, no length": (b"HTTP/1.0 200 OK\r\n\r\nHi", 200, b"Hi", False),
    "HTTP/1.0, chunks": (b"HTTP/1.0" + CHUNKS[8:] + b"2\r\nHi\r\n" + LAST, 200, b"Hi", False),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    "304": (b"HTTP/1.1 304 Not Modified\r\n\r\n", 304, b"", True),
    "204 with a length": (b"HTTP/1.1 204 X\r\ncontent-length: 5\r\n\r\n", 204, b"", True),
    "304 with a length": (b"HTTP/1.1 304 X\r\ncontent-length: 5\r\n\r\n", 304, b"", True),
    "304 with chunks": (b"HTTP/1.1 304 X\r\ntransfer-encoding: chunked\r\n\r\n", 304, b"", True),
    "100": (b"HTTP/1.1 100 C\r\nx-a: 1\r\n\r\n" + OK + TWO + b"\r\nHi", 200, b"Hi", True),
    "100, 102, 103": (
        b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\nlink: a\r\n\r\n"
        + OK + TWO + b"\r\nHi",
        200, b"Hi", True,
    ),
    "103 with a length": (
        b"HTTP/1.1 103 E\r\ncontent-length: 5\r\n\r\n" + OK + TWO + b"\r\nHi", 200, b"Hi", True,
    ),
    "a second response": (OK + TWO + b"\r\nHi" + OK + TWO + b"\r\nNo", 200, b"Hi", False),
    "bytes after chunks": (CHUNKS + b"2\r\nHi\r\n" + LAST + b"No", 200, b"Hi", False),
    "bytes after 204": (b"HTTP/1.1 204 X\r\ncontent-length: 2\r\n\r\nNo", 204, b"", False),
    "a blank line after a length": (OK + TWO + b"\r\nHi\r\n", 200, b"Hi", False),
    "a blank line after a line": (OK + TWO + b"\r\n!\n\n", 200, b"!\n", False),
    "line breaks": (OK + b"content-length: 6\r\n\r\n!\r\n\r\n\n", 200, b"!\r\n\r\n\n", True),
    "a blank line after chunks": (CHUNKS + b"2\r\nHi\r\n" + LAST + b"\r\n", 200, b"Hi", False),
    "a line break after 204": (b"HTTP/1.1 204 X\r\n\r\n\n", 204, b"", False),
}  # fmt: skip
"""What both parsers read alike."""

REFUSED: dict[str, tuple[bytes, bytes, str]] = {
    # name: (bytes, body before the fault, what the message contains)
    "nothing": (b"", b"", "closed the connection"),
    "a part of a head": (OK + b"x-a: ", b"", "closed the connection"),
    "a short body": (OK + b"content-length: 5\r\n\r\nHi", b"Hi", "received 2 bytes, expected 5"),
    "no last chunk": (CHUNKS + b"2\r\nHi\r\n", b"Hi", "before the end of the body"),
    "a part of a chunk": (CHUNKS + b"5\r\nHi", b"Hi", "before the end of the body"),
    "a trailer that does not end": (CHUNKS + b"2\r\nHi\r\n0\r\nx", b"Hi", "before the end"),
    "no HTTP": (b"garbage\r\n\r\n", b"", "HTTP"),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x16", b"", "HTTP"),
    "HTTP/0.9": (b"<html>Hi</html>", b"", "HTTP"),
    "a request": (b"GET / HTTP/1.1\r\n\r\n", b"", "HTTP"),
    "ICY": (b"ICY 200 OK\r\n\r\n", b"", "HTTP"),
    "lower case": (b"http/1.1 200 OK\r\n\r\n", b"", "HTTP"),
    "a status of two digits": (b"HTTP/1.1 20 OK\r\n\r\n", b"", "status"),
    "a status of four digits": (b"HTTP/1.1 2000 OK\r\n\r\n", b"", "status"),
    "no status": (b"HTTP/1.1 OK\r\n\r\n", b"", "status"),
    "two blanks": (b"HTTP/1.1  200 OK\r\n\r\n", b"", "status"),
    "a blank before": (b" " + OK + b"\r\n", b"", "HTTP"),
    "101": (b"HTTP/1.1 101 S\r\nx-a: 1\r\n\r\n" + OK + TWO + b"\r\nHi", b"", ""),
    "101 to another protocol": (
        b"HTTP/1.1 101 S\r\nconnection: upgrade\r\nupgrade: x\r\n\r\nHi", b"", "protocol",
    ),
    "a status under 100": (b"HTTP/1.1 099 X\r\n\r\n" + OK + TWO + b"\r\nHi", b"", ""),
    "two lengths": (OK + TWO + b"content-length: 3\r\n\r\nHi!", b"", "Content-Length"),
    "a negative length": (OK + b"content-length: -1\r\n\r\nHi", b"", "Content-Length"),
    "a length with a sign": (OK + b"content-length: +2\r\n\r\nHi", b"", "Content-Length"),
    "a length in hex": (OK + b"content-length: 0x2\r\n\r\nHi", b"", "Content-Length"),
    "a length with a line": (OK + b"content-length: 2_0\r\n\r\nHi", b"", "Content-Length"),
    "an empty length": (OK + b"content-length:\r\n\r\nHi", b"", "Content-Length"),
    "an unknown coding": (OK + b"transfer-encoding: gzip\r\n\r\nHi", b"", "transfer encoding"),
    "identity": (OK + b"transfer-encoding: identity\r\n\r\nHi", b"", "transfer encoding"),
    "two codings": (OK + b"transfer-encoding: gzip, chunked\r\n\r\n" + LAST, b"", "encoding"),
    "chunked twice": (
        OK + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n" + LAST,
        b"", "transfer encoding",
    ),
    "almost chunked": (
        OK + b"transfer-encoding: xchunked\r\n\r\n2\r\nHi\r\n" + LAST, b"", "transfer encoding",
    ),
    "a fold at the start": (OK + b" x-a: 1\r\n" + TWO + b"\r\nHi", b"", "space"),
    "a blank before a colon": (OK + b"x-a : 1\r\n" + TWO + b"\r\nHi", b"", "header"),
    "a blank in a name": (OK + b"x a: 1\r\n" + TWO + b"\r\nHi", b"", "header"),
    "no name": (OK + b": 1\r\n" + TWO + b"\r\nHi", b"", "header"),
    "no colon": (OK + b"x-a\r\n" + TWO + b"\r\nHi", b"", "header"),
    "NUL in a value": (OK + b"x-a: \0\r\n" + TWO + b"\r\nHi", b"", "header"),
    "bare CR in a value": (OK + b"x-a: a\rb\r\n" + TWO + b"\r\nHi", b"", "header"),
    "a name in Latin-1": (OK + b"x-\xe9: a\r\n" + TWO + b"\r\nHi", b"", "header"),
    "no chunk size": (CHUNKS + b"\r\n2\r\nHi\r\n" + LAST, b"", "chunk size"),
    "an odd chunk size": (CHUNKS + b"zz\r\n", b"", "chunk size"),
    "a negative chunk size": (CHUNKS + b"-2\r\nHi\r\n" + LAST, b"", "chunk size"),
    "a prefix of a chunk size": (CHUNKS + b"0x2\r\nHi\r\n" + LAST, b"", "chunk size"),
    "a blank before a chunk size": (CHUNKS + b" 2\r\nHi\r\n" + LAST, b"", "chunk size"),
    "a bare LF after a chunk size": (CHUNKS + b"2\nHi\n0\n\n", b"", "chunk size"),
    "a chunk that is too long": (CHUNKS + b"2\r\nHi!\r\n" + LAST, b"Hi", "chunk data"),
    "a chunk without its end": (CHUNKS + b"2\r\nHi" + LAST, b"Hi", "chunk data"),
    "an odd trailer": (CHUNKS + b"2\r\nHi\r\n0\r\nx\r\n\r\n", b"Hi", "header"),
}  # fmt: skip
"""What both parsers refuse."""

STRICTER: dict[str, tuple[bytes, str]] = {
    "a fold": (OK + b"x-a: 1\r\n 2\r\n" + TWO + b"\r\nHi", "whitespace"),
    "the same length twice": (OK + TWO + TWO + b"\r\nHi", "Duplicate Content-Length"),
    "a list of lengths": (OK + b"content-length: 2, 2\r\n\r\nHi", "Content-Length"),
    "a control character": (OK + b"x-a: \x01\r\n" + TWO + b"\r\nHi", "header"),
    "HTTP/1.2": (b"HTTP/1.2" + OK[8:] + TWO + b"\r\nHi", "version"),
    "HTTP/3.0": (b"HTTP/3.0" + OK[8:] + TWO + b"\r\nHi", "version"),
    "CR in a chunk extension": (CHUNKS + b'2;a="\r"\r\nHi\r\n' + LAST, "chunk extension"),
    "NUL in a chunk extension": (CHUNKS + b"2;\0\r\nHi\r\n" + LAST, "chunk extension"),
}
"""What h11 takes and httptools refuses: RFC 9112 lets a client refuse each of them."""

LENIENT: dict[str, tuple[bytes, bytes]] = {
    "a blank line before": (b"\r\n" + OK + TWO + b"\r\nHi", b"Hi"),
    "NUL in a reason": (b"HTTP/1.1 200 \0\r\n" + TWO + b"\r\nHi", b"Hi"),
}
"""What httptools takes and h11 refuses."""


@joined("name", READ)
def test_what_is_read(name: str) -> None:
    data, status, body, reusable = READ[name]
    ours = read([data])
    assert (ours.status, ours.body, ours.complete) == (status, body, True)
    assert (ours.problem, ours.reusable) == ("", reusable)
    theirs = read_by_h11(data)
    assert (ours.status, ours.reason, ours.body) == (theirs.status, theirs.reason, theirs.body)
    # h11 writes the coding in lower case.
    assert [(name, value.lower()) for name, value in ours.headers] == [
        (name, value.lower()) for name, value in theirs.headers
    ]
    assert theirs.complete


@joined("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    data, body, words = REFUSED[name]
    ours = read([data])
    assert (ours.body, ours.complete, ours.reusable) == (body, False, False)
    assert words in ours.problem
    assert ours.problem
    theirs = read_by_h11(data)
    assert (theirs.body, theirs.complete) == (body, False)


@joined("name", STRICTER)
def test_what_h11_takes(name: str, parser: str) -> None:
    data, words = STRICTER[name]
    ours = read([data])
    if parser == "h11" and "extension" not in words:
        assert (ours.body, ours.complete, ours.problem) == (b"Hi", True, "")
        return
    assert (ours.body, ours.complete, ours.reusable) == (b"", False, False)
    assert words in ours.problem
    assert read_by_h11(data).body == b"Hi"


@pytest.mark.parametrize("name", LENIENT)
def test_what_h11_refuses(name: str, parser: str) -> None:
    data, body = LENIENT[name]
    ours = read([data])
    if parser == "h11":
        assert (ours.body, ours.complete) == (b"", False)
        assert "no HTTP/1.1" in ours.problem
    else:
        assert ours.body == body
    assert not read_by_h11(data).complete


@pytest.mark.parametrize("length", [b"", TWO, b"transfer-encoding: chunked\r\n"])
def test_head_has_no_body(length: bytes) -> None:
    found = read([OK + length + b"\r\n"], "HEAD")
    assert (found.status, found.body, found.complete, found.reusable) == (200, b"", True, False)
    assert read([OK + length + b"\r\nHi"], "HEAD").body == b""
    assert read_by_h11(OK + length + b"\r\n", "HEAD").complete


def test_100_is_seen() -> None:
    reader = ResponseReader("POST")
    assert (reader.begun, reader.can_continue) == (False, False)
    reader.feed(b"HTTP/1.1 102 P\r\n\r\n")
    assert (reader.begun, reader.can_continue, reader.has_head) == (True, False, False)
    reader.feed(b"HTTP/1.1 100 C\r\n\r\n")
    assert (reader.can_continue, reader.has_head, reader.is_complete) == (True, False, False)


# --- cuts -----------------------------------------------------------------------------------------

ALL = {
    **{name: row[0] for name, row in READ.items()},
    **{name: row[0] for name, row in REFUSED.items()},
    **{name: row[0] for name, row in STRICTER.items()},
}


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = itertools.pairwise([0, *sorted(places), len(data)])
    return [data[start:end] for start, end in edges if start != end]


def check_cuts(data: bytes, pieces: list[bytes]) -> None:
    """The pieces are read as the whole; they may only cost the connection."""
    whole, found = read([data]), read(pieces)
    assert found.reusable <= whole.reusable
    found.reusable = whole.reusable
    assert found == whole


@joined("name", ALL)
def test_no_cut_matters(name: str) -> None:
    """Each single cut, and byte by byte."""
    data = ALL[name]
    for place in range(1, len(data)):
        check_cuts(data, [data[:place], data[place:]])
    check_cuts(data, [data[place : place + 1] for place in range(len(data))])


def test_a_cut_in_the_end_costs_at_most_the_connection() -> None:
    """Of line breaks at the end it is not always certain that none came after the response."""
    data = CHUNKS + b"2\r\nHi\r\n" + LAST
    lost = [
        place
        for place in range(1, len(data))
        if not read([data[:place], data[place:]], end=False).reusable
    ]
    assert [data[place:] for place in lost] == [b"\r\n\r\n", b"\n\r\n"]
    assert read([data[at : at + 1] for at in range(len(data))], end=False).reusable


TOKENS = st.text("abcxyz-", min_size=1, max_size=8).map(lambda name: b"x-" + name.encode())
VALUES = st.binary(max_size=12).map(
    lambda value: bytes(each for each in value if each >= 32 and each != 127).strip()
)
HEADERS = st.lists(st.tuples(TOKENS, VALUES), max_size=5)
PIECES = st.lists(
    st.one_of(
        st.binary(min_size=1, max_size=30), st.sampled_from([b"\r\n", b"\n", b"0\r\n\r\n", OK])
    ),
    max_size=5,
)


def _written(
    framing: str, headers: list[tuple[bytes, bytes]], pieces: list[bytes], extra: bytes
) -> bytes:
    body = b"".join(pieces)
    lines = b"".join(b"%b: %b\r\n" % each for each in headers)
    if framing == "length":
        return OK + lines + b"Content-Length: %d\r\n\r\n" % len(body) + body
    if framing == "end":
        return OK + lines + b"\r\n" + body
    chunks = b"".join(b"%x%b\r\n%b\r\n" % (len(each), extra, each) for each in pieces)
    return OK + lines + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + LAST


@settings(max_examples=examples(150))
@given(
    framing=st.sampled_from(["length", "chunks", "end"]),
    headers=HEADERS,
    pieces=PIECES,
    extra=st.sampled_from([b"", b";a", b";a=b", b" "]),
    interim=st.sampled_from([b"", b"HTTP/1.1 103 E\r\nx-e: 1\r\n\r\n"]),
    after=st.sampled_from([b"", b"", b"\r\n", b"\n", b"\r", OK, b"x"]),
    data=st.data(),
)
def test_any_response_in_any_pieces(
    framing: str,
    headers: list[tuple[bytes, bytes]],
    pieces: list[bytes],
    extra: bytes,
    interim: bytes,
    after: bytes,
    data: Any,
) -> None:
    """Headers and body arrive as they were sent; h11 reads the same; no cut matters."""
    sent = interim + _written(framing, headers, pieces, extra)
    if framing != "end":
        sent += after
    places = data.draw(st.lists(st.integers(0, len(sent)), max_size=12))
    found = read(cut(sent, places))
    body = b"".join(pieces)
    assert (found.status, found.body, found.complete, found.problem) == (200, body, True, "")
    assert [each for each in found.headers if each[0].startswith(b"x-")] == headers
    if after or framing == "end":
        assert not found.reusable
    theirs = read_by_h11(sent)
    assert (theirs.status, theirs.body, theirs.complete) == (200, body, True)
    check_cuts(sent, cut(sent, places))


# --- limits ---------------------------------------------------------------------------------------


@joined(
    ("begin", "filler"),
    [
        (b"", b"HTTP/1.1 200 " + b"x" * 1000),
        (OK, b"x-a: " + b"a" * 1000 + b"\r\n"),
        (OK + b"x-a: ", b"a" * 1000),
        (b"", b"\r\n" * 500),
        (CHUNKS + b"2\r\nHi\r\n2;", b"a" * 1000),
        (CHUNKS + b"2\r\nHi\r\n", b"0" * 1000),
        (CHUNKS + b"2\r\nHi\r\n0\r\n", b"x-t: " + b"a" * 1000 + b"\r\n"),
    ],
    ids=["reason", "headers", "header", "line breaks", "chunk extension", "chunk size", "trailers"],
)
def test_what_does_not_end(begin: bytes, filler: bytes, parser: str) -> None:
    if parser == "h11" and not begin and filler.startswith(b"\r\n"):
        assert "no HTTP/1.1" in read([filler]).problem
        return
    reader = ResponseReader("POST")
    if begin:
        reader.feed(begin)
    fed = 0
    while reader.problem is None:
        reader.feed(filler)
        fed += len(filler)
        assert fed <= MAX_FRAMING_BYTES + len(filler)
    assert fed > MAX_FRAMING_BYTES - len(begin)
    with pytest.raises(TooLong, match="does not end"):
        reader.check()


def test_a_long_body_is_no_long_line() -> None:
    reader = ResponseReader("POST")
    reader.feed(CHUNKS)
    for _ in range(50):
        reader.feed(chunk_of(b"x" * 10_000))
    reader.feed(LAST)
    assert (reader.problem, reader.is_complete, reader.size) == (None, True, 500_000)


@pytest.mark.parametrize("is_cut", [False, True], ids=["complete", "cut"])
def test_a_reader_does_not_wait_for_the_garbage_collector(is_cut: bool) -> None:
    class Reader(ResponseReader):
        __slots__ = ("__weakref__",)

    reader = Reader("POST")
    reference = weakref.ref(reader)
    reader.feed(CHUNKS + b"2\r\nHi\r\n")
    if is_cut:
        reader.end()
    else:
        reader.feed(LAST)
    assert reader.take() == b"Hi"
    gc.disable()
    try:
        del reader
        assert reference() is None
    finally:
        gc.enable()


def test_each_check_raises_an_exception_of_its_own() -> None:
    reader = ResponseReader("POST")
    reader.feed(b"garbage")
    raised = []
    for _ in range(2):
        with pytest.raises(httpx.RemoteProtocolError) as caught:
            reader.check()
        raised.append(caught.value)
    assert raised[0] is not raised[1]


# --- requests -------------------------------------------------------------------------------------


def test_a_request_head() -> None:
    head = head_of("POST", "/v1?a=b", [("Host", "localhost"), ("X-A", "\xe9 b")])
    assert head == (
        b"POST /v1?a=b HTTP/1.1\r\nHost: localhost\r\nX-A: \xe9 b\r\n\r\n",
        False,
        False,
    )


@pytest.mark.parametrize("name", ["Transfer-Encoding", "transfer-encoding"])
def test_chunks_and_expect_are_seen(name: str) -> None:
    headers = [("Host", "x"), (name, "Chunked"), ("Expect", "100-Continue")]
    assert head_of("POST", "/", headers)[1:] == (True, True)
    near = [("x-transfer-encoding", "chunked"), ("x-expect", "100-continue")]
    assert head_of("POST", "/", near)[1:] == (False, False)


@joined("odd", ["\r\n", "\r", "\n", "\0", "\r\nx-b: 1", "\n\nGET / HTTP/1.1"])
@joined("where", ["method", "target", "name", "value"])
def test_line_breaks_in_a_request_are_refused(where: str, odd: str) -> None:
    parts = {"method": "GET", "target": "/", "name": "x-a", "value": "1"}
    parts[where] += odd
    with pytest.raises(httpx.LocalProtocolError, match="line break or a NUL"):
        head_of(parts["method"], parts["target"], [(parts["name"], parts["value"])])


@given(st.lists(st.binary(max_size=100), max_size=6))
def test_chunks_of_a_request(pieces: list[bytes]) -> None:
    """h11, as a server, reads the body that was sent."""
    sent = b"".join(pieces)
    server = h11.Connection(h11.SERVER)
    headers = [("Host", "x"), ("Transfer-Encoding", "chunked")]
    server.receive_data(head_of("POST", "/", headers).data)
    for piece in filter(None, pieces):
        server.receive_data(chunk_of(piece))
    server.receive_data(chunk_of(b""))
    assert isinstance(server.next_event(), h11.Request)
    received = b""
    while isinstance(event := server.next_event(), h11.Data):
        received += bytes(event.data)
    assert isinstance(event, h11.EndOfMessage)
    assert received == sent
