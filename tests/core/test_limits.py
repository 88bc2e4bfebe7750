from __future__ import annotations

import functools
import gzip
import random
import tracemalloc
import zlib
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire.core.limits import BodyReader, Inflater, Limits, check_headers, check_json
from wire.errors import ConfigurationError, LimitError, StreamInvalid

MIB = 1024 * 1024
TEXT = b'{"text": "' + random.Random(0).randbytes(2000).hex().encode() + b'"}'
GZIP, ZLIB = gzip.compress(TEXT), zlib.compress(TEXT)


@functools.cache
def bomb() -> bytes:
    """1 byte becomes 1,000. Made for the first test, since every process imports this."""
    return gzip.compress(bytes(64 * MIB))


def test_defaults():
    assert msgspec.structs.asdict(Limits()) == {
        "event": 32 * MIB,
        "line": 32 * MIB,
        "events": 1_000_000,
        "unused": MIB,
        "stream": 256 * MIB,
        "body": 256 * MIB,
        "error_body": MIB,
        "ratio": 200,
        "headers": 100 * 1024,
        "header_count": 1000,
        "depth": 512,
        "containers": 50_000,
        "values": 1_000_000,
    }


@joined("name", msgspec.structs.asdict(Limits()))
@joined("value", [0, -1, 1.5, "9", None, True, float("nan")])
def test_a_limit_that_is_no_positive_integer(name: str, value: Any):
    with pytest.raises(ConfigurationError, match=rf"^limits\.{name}: expected a positive integer"):
        Limits(**{name: value})


# --- JSON -----------------------------------------------------------------------------------------

DEEP = {
    "lists": b"[" * 513 + b"]" * 513,
    "objects": b'{"a":' * 513 + b"1" + b"}" * 513,
    "cut": b"[" * 513,
    "siblings": b"[[]," * 512 + b"1" + b"]" * 512,
    "brackets in a text": b'["]]]]]]]]]]]]]]]]]]]]",' * 513 + b"1" + b"]" * 513,
    "an escaped quote": b'["\\"]]]]]]]]]]]]]]",' * 513 + b"1" + b"]" * 513,
}
SMALL = {
    "objects": (b"[" + b"{}," * 60_000 + b"{}]", "containers"),
    "lists": (b"[" + b"[]," * 60_000 + b"[]]", "containers"),
    "lists in lists": (b"[" + b"[[],[]]," * 20_000 + b"[]]", "containers"),
    "numbers": (b"[" + b"0," * 1_100_000 + b"0]", "values"),
    "keys": (b"{" + b'"":0,' * 1_100_000 + b'"":0}', ""),
}


@joined("name", DEEP)
def test_json_that_is_nested_too_deeply(name: str):
    with pytest.raises(LimitError, match=r"more than 512 levels deep; limits\.depth sets"):
        check_json(DEEP[name], Limits())
    check_json(DEEP[name], Limits(depth=513))


@joined("name", SMALL)
def test_json_of_many_small_values(name: str):
    data, field = SMALL[name]
    if not field:
        check_json(data, Limits())  # each has 5 bytes
        return
    with pytest.raises(LimitError, match=rf"limits\.{field} sets the limit"):
        check_json(data, Limits())
    check_json(data, Limits(**{field: 10_000_000}))


TOKEN = b'{"token":"a","logprob":-0.1,"bytes":[97]}'
HONEST = {
    "an image": b'{"data":"' + b"A" * 4 * MIB + b'"}',
    "a text of brackets": b'{"text":"' + b"[{" * MIB + b'"}',
    "embeddings": b"[" + b"0.0123," * 4_000_000 + b"0]",
    "log probabilities": b"[" + b",".join([TOKEN] * 200_000) + b"]",
    "512 levels": b"[" * 512 + b"]" * 512,
    "many levels, one after another": b"[" + b",".join([b"[" * 100 + b"]" * 100] * 400) + b"]",
}


@joined("name", HONEST)
def test_json_that_vendors_send(name: str):
    check_json(HONEST[name], Limits())


# --- headers --------------------------------------------------------------------------------------


def test_headers_over_the_limits():
    with pytest.raises(LimitError, match=r"more than 1000 headers; limits\.header_count sets"):
        check_headers([(b"x", b"")] * 1001, Limits())
    with pytest.raises(LimitError, match=r"larger than 102400 bytes; limits\.headers sets"):
        check_headers([(b"x", b"a" * 102400)], Limits())
    check_headers([(b"x-12", b"a" * 80)] * 1000, Limits())


# --- Inflater -------------------------------------------------------------------------------------

ENCODED = [
    ("", TEXT),
    ("identity", TEXT),
    ("gzip", GZIP),
    ("x-gzip", GZIP),
    (" GZip ", GZIP),
    ("deflate", ZLIB),
]
encoded = pytest.mark.parametrize(
    ("encoding", "sent"), ENCODED, ids=[repr(name) for name, _ in ENCODED]
)


@encoded
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_content(encoding: str, sent: bytes, size: int):
    inflater = Inflater(encoding, Limits())
    assert b"".join(inflater.feed(sent[at : at + size]) for at in range(0, len(sent), size)) == TEXT
    assert (inflater.taken, inflater.cut) == (len(sent), False)


@joined("encoding", ["br", "zstd", "compress", "gzip, br", "gzip\nx"])
def test_an_encoding_that_was_not_asked_for_is_refused_by_name(encoding: str):
    with pytest.raises(StreamInvalid) as caught:
        Inflater(encoding, Limits())
    assert repr(encoding) in str(caught.value)


@joined("encoding", ["gzip", "deflate"])
@joined(
    "sent",
    [b"plain text, whatever the header says", b"\x1f\x8b\x08\x00garbage" + b"\xff" * 50],
    ids=["plain", "broken"],
)
def test_a_body_that_is_not_compressed_is_a_typed_error(encoding: str, sent: bytes):
    with pytest.raises(StreamInvalid, match="compressed body is broken"):
        Inflater(encoding, Limits()).feed(sent)


def test_a_wrong_checksum_is_a_typed_error():
    with pytest.raises(StreamInvalid, match="compressed body is broken"):
        Inflater("gzip", Limits()).feed(GZIP[:-8] + b"\0" * 8)


@joined("kept", [1, 9, 10, 100, len(GZIP) - 8, len(GZIP) - 1])
def test_a_compressed_body_that_breaks_off_is_cut(kept: int):
    inflater = Inflater("gzip", Limits())
    assert TEXT.startswith(inflater.feed(GZIP[:kept]))
    assert inflater.cut is True


def test_no_body_at_all_is_not_cut():
    assert Inflater("gzip", Limits()).cut is False


def test_plain_bytes_are_never_cut():
    inflater = Inflater("", Limits())
    inflater.feed(b"{")
    assert inflater.cut is False


def test_several_gzip_members_are_one_body():
    """RFC 1952, 2.2: servers that flush by member send them one after another; the second was half
    of the answer.
    """
    inflater = Inflater("gzip", Limits())
    assert inflater.feed(gzip.compress(b"one ") + gzip.compress(b"two")) == b"one two"


@pytest.mark.parametrize("size", [1000, 65_536, None])
def test_a_bomb_is_refused_before_it_has_gone_off(size: int | None):
    sent = bomb()
    size = size or len(sent)
    inflater, came = Inflater("gzip", Limits()), 0

    def feed_all() -> None:
        nonlocal came
        for at in range(0, len(sent), size):
            came += len(inflater.feed(sent[at : at + size]))

    with pytest.raises(LimitError, match="more than 200 bytes"):
        feed_all()
    assert came <= max(MIB, 200 * inflater.taken)
    assert inflater.taken <= max(len(sent) // 2, size)


def test_a_bomb_in_one_piece_takes_no_more_memory_than_is_allowed():
    """64 MiB would come out; what is allowed for these bytes is 13 MiB, and zlib may hold it twice
    while it joins its blocks.
    """
    inflater, sent = Inflater("gzip", Limits()), bomb()
    tracemalloc.start()
    try:
        with pytest.raises(LimitError):
            inflater.feed(sent)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 2 * 200 * len(sent) + MIB


def test_a_small_body_may_compress_well():
    assert len(Inflater("gzip", Limits()).feed(gzip.compress(bytes(MIB)))) == MIB


def test_one_byte_more_than_is_free_is_counted():
    with pytest.raises(LimitError):
        Inflater("gzip", Limits()).feed(gzip.compress(bytes(MIB + 1)))


def test_the_ratio_can_be_set():
    content = bytes(4 * MIB)
    assert Inflater("gzip", Limits(ratio=2000)).feed(gzip.compress(content)) == content


# --- BodyReader ----------------------------------------------------------------------------------


def gathered(gathering: BodyReader, *pieces: bytes) -> tuple[list[bool], bytes]:
    return [gathering.feed(piece) for piece in pieces], gathering.content()


@encoded
def test_a_whole_body(encoding: str, sent: bytes):
    gathering = BodyReader(encoding, 10_000, Limits())
    assert gathered(gathering, sent[:10], sent[10:]) == ([True, True], TEXT)
    assert gathering.taken == len(sent)


def test_a_body_of_exactly_the_limit_is_taken():
    assert gathered(BodyReader("", 6, Limits()), b"abc", b"def") == ([True, True], b"abcdef")


def test_a_body_over_the_limit_is_refused():
    gathering = BodyReader("", 6, Limits())
    gathering.feed(b"abcdef")
    with pytest.raises(LimitError, match="larger than 6 bytes"):
        gathering.feed(b"g")


def test_the_limit_is_that_of_the_content_not_of_what_was_sent():
    with pytest.raises(LimitError, match="larger than 100 bytes"):
        BodyReader("gzip", 100, Limits()).feed(gzip.compress(bytes(101)))


def test_with_cut_the_beginning_is_enough():
    """Of an error body, which is shown and not parsed to its end."""
    assert gathered(BodyReader("", 6, Limits(), cut=True), b"abcd", b"efgh") == (
        [True, False],
        b"abcdef",
    )


def test_with_cut_a_compressed_body_may_break_off():
    assert TEXT.startswith(gathered(BodyReader("gzip", 10_000, Limits(), cut=True), GZIP[:500])[1])


def test_a_compressed_body_that_breaks_off_is_an_error():
    gathering = BodyReader("gzip", 10_000, Limits())
    gathering.feed(GZIP[:-1])
    with pytest.raises(StreamInvalid, match="broke off"):
        gathering.content()


def test_no_body():
    assert BodyReader("gzip", 10, Limits()).content() == b""


def test_what_follows_a_compressed_body_does_not_pile_up():
    """zlib keeps it in one growing buffer that no limit sees."""
    gathering = BodyReader("gzip", 1000, Limits())
    gathering.feed(gzip.compress(b"{}"))

    def feed_all() -> None:
        for _ in range(100):
            gathering.feed(b"\0" * 1000)

    with pytest.raises((StreamInvalid, LimitError)):
        feed_all()
