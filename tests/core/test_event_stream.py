"""Frames of an event stream: sizes, checksums, headers, and where the network cuts them."""

from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.core import event_stream
from wire.core.event_stream import Decoder, Frame, Header, frame_bytes
from wire.core.limits import Limits
from wire.errors import LimitError, StreamInvalid, WireError

EVERY_TYPE = {
    "true": Header(event_stream.TRUE, True),
    "false": Header(event_stream.FALSE, False),
    "byte": Header(event_stream.BYTE, -49),
    "short": Header(event_stream.SHORT, 32767),
    "integer": Header(event_stream.INTEGER, -(2**31)),
    "long": Header(event_stream.LONG, 2**63 - 1),
    "bytes": Header(event_stream.BYTES, b"\x00\xff"),
    "string": Header(event_stream.STRING, "grüß"),
    "timestamp": Header(event_stream.TIMESTAMP, 8675309),
    "uuid": Header(event_stream.UUID, bytes(range(16))),
}


def prelude(size: int, headers: int) -> bytes:
    sizes = struct.pack(">II", size, headers)
    return sizes + struct.pack(">I", zlib.crc32(sizes))


def closed(data: bytes) -> bytes:
    """Add the checksum of a frame."""
    return data + struct.pack(">I", zlib.crc32(data))


def with_headers(headers: bytes) -> bytes:
    return closed(prelude(16 + len(headers), len(headers)) + headers)


def read(data: bytes, limits: Limits = Limits()) -> tuple[list[Frame], WireError | None]:  # noqa: B008
    decoder = Decoder(limits)
    return decoder.feed(data), decoder.error


def test_the_published_example_of_an_empty_frame() -> None:
    # 16 bytes: its size, no headers, the checksum of these, no payload, the checksum of all.
    assert frame_bytes({}).hex() == "000000100000000005c248eb7d98c8ff"
    assert read(bytes.fromhex("000000100000000005c248eb7d98c8ff")) == ([Frame({})], None)


def test_every_type_of_header_is_written_and_read() -> None:
    data = frame_bytes(EVERY_TYPE, b"payload")
    assert read(data) == ([Frame(EVERY_TYPE, b"payload")], None)
    assert frame_bytes(*_parts(read(data)[0][0])) == data


def _parts(frame: Frame) -> tuple[dict[str, Header | str], bytes]:
    return dict(frame.headers), frame.payload


def test_text_is_that_of_a_header_of_texts_only() -> None:
    frame = Frame({"a": Header(event_stream.STRING, "x"), "b": Header(event_stream.BYTE, 1)})
    assert (frame.text("a"), frame.text("b"), frame.text("c")) == ("x", "", "")


@given(st.lists(st.binary(max_size=40), max_size=5), st.data())
def test_the_frames_do_not_depend_on_where_the_bytes_are_cut(
    payloads: list[bytes], data: st.DataObject
) -> None:
    body = b"".join(frame_bytes({":event-type": "x"}, each) for each in payloads)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    decoder = Decoder()
    pieces = [body[a:b] for a, b in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    frames = [frame for piece in pieces for frame in decoder.feed(piece)]
    assert [frame.payload for frame in frames] == payloads
    assert (decoder.error, decoder.rest) == (None, b"")


def test_bytes_that_complete_no_frame_are_kept() -> None:
    data = frame_bytes(EVERY_TYPE, b"payload")
    for end in range(len(data)):
        decoder = Decoder()
        assert decoder.feed(data[:end]) == []
        assert (decoder.error, decoder.rest, decoder.held) == (None, data[:end], end)


GOOD = frame_bytes({":event-type": "a"}, b"{}")

# (name, bytes after a good frame, what the error says)
HOSTILE: list[tuple[str, bytes, str]] = [
    ("size-0", prelude(0, 0), "it has 0 bytes, 0 of them headers; 16 are others"),
    ("size-15", prelude(15, 0), "it has 15 bytes"),
    ("size-2^32-1", prelude(2**32 - 1, 0), "more than the format allows"),
    ("payload-over", prelude(16 + event_stream.MAX_PAYLOAD + 1, 0), "more than the format"),
    ("headers-over", prelude(2**20, event_stream.MAX_HEADERS + 1), "more than the format"),
    ("headers-beyond", prelude(20, 5), "it has 20 bytes, 5 of them headers"),
    ("prelude-crc", GOOD[:11] + bytes([GOOD[11] ^ 1]) + GOOD[12:], "of its prelude is wrong"),
    ("crc", GOOD[:-1] + bytes([GOOD[-1] ^ 1]), "its checksum is wrong"),
    ("payload-changed", GOOD.replace(b"{}", b"[]"), "its checksum is wrong"),
    ("name-beyond", with_headers(b"\x09a"), "malformed"),
    ("no-type", with_headers(b"\x01a"), "malformed"),
    ("unknown-type", with_headers(b"\x01a\x0a"), "'a' has the unknown type 10"),
    ("value-beyond", with_headers(b"\x01a\x07\x00\x05abc"), "'a' is longer than the headers"),
    ("number-beyond", with_headers(b"\x01a\x04\x00"), "malformed"),
    ("twice", with_headers(b"\x01a\x00\x01a\x00"), "'a' is there twice"),
    ("no-utf-8", with_headers(b"\x01\xff\x00"), "malformed"),
]


@pytest.mark.parametrize(
    ("data", "problem"), [row[1:] for row in HOSTILE], ids=[r[0] for r in HOSTILE]
)
def test_a_malformed_frame_is_an_error_behind_the_frames_before_it(
    data: bytes, problem: str
) -> None:
    for pieces in ([GOOD + data + GOOD], [bytes([each]) for each in GOOD + data + GOOD]):
        decoder = Decoder()
        frames = [frame for piece in pieces for frame in decoder.feed(piece)]
        assert [frame.payload for frame in frames] == [b"{}"]
        assert type(decoder.error) is StreamInvalid
        assert str(decoder.error).startswith("frame 1 of the event stream: ")
        assert problem in str(decoder.error)
        assert decoder.error.raw
        assert decoder.error.raw == (data + GOOD)[: len(decoder.error.raw)]


def test_a_frame_over_the_limit_of_events_is_refused_by_its_prelude() -> None:
    assert read(prelude(1000, 0), Limits(event=1000)) == ([], None)
    frames, error = read(prelude(1001, 0), Limits(event=1000))
    assert (frames, type(error)) == ([], LimitError)
    assert str(error) == "a frame is larger than 1000 bytes; limits.event sets the limit"


@pytest.mark.parametrize(
    "headers",
    [
        {"": "x"},
        {"x" * 256: "x"},
        {"a": Header(event_stream.BYTE, 128)},
        {"a": Header(event_stream.STRING, "x" * 65536)},
        {"a": Header(event_stream.LONG, "x")},
        {f"a{number}": "x" * 65535 for number in range(3)},
    ],
)
def test_a_header_that_no_frame_can_have_is_refused(headers: dict[str, Header | str]) -> None:
    with pytest.raises(ValueError, match=r"header|frame"):
        frame_bytes(headers)


# --- as the body of a call ------------------------------------------------------------------------


def event(kind: str, payload: bytes, message: str = "event") -> bytes:
    name = ":exception-type" if message == "exception" else ":event-type"
    return frame_bytes({":message-type": message, name: kind}, payload)


def chunk(data: bytes) -> bytes:
    encoded = base64.b64encode(data)
    return event("chunk", b'{"bytes":"' + encoded + b'","p":"abcd"}')


MESSAGE = [
    b'{"type":"message_start","message":{"type":"message","role":"assistant","content":[]}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"b"}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"c"}}',
    b'{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
    b'{"type":"message_stop"}',
]


def read_messages(*pieces: bytes) -> tuple[str, WireError | None]:
    from wire.anthropic.fold import fold
    from wire.anthropic.reader import ChunkReader

    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)] + reader.close()
    content = fold(events).content if events else None
    return (content[0].text or "" if content else ""), reader.error


def test_chunks_are_the_events_of_another_vendors_wire() -> None:
    body = b"".join(map(chunk, MESSAGE))
    assert read_messages(body) == ("abc", None)
    assert read_messages(*(bytes([each]) for each in body)) == ("abc", None)


def test_a_body_that_ends_in_a_frame_is_incomplete() -> None:
    body = b"".join(map(chunk, MESSAGE))
    for end in range(1, len(body)):
        _, error = read_messages(body[:end])
        assert error is not None
        assert type(error).__name__ == "StreamIncomplete"
    text, error = read_messages(body[:-1])
    assert (text, str(error)) == (
        "abc",
        "the answer ended in the middle of a frame, after 5 events",
    )
    assert error is not None
    assert error.raw == chunk(MESSAGE[-1])[:-1]


def test_a_wrong_checksum_is_an_error_with_what_came_before_it() -> None:
    broken = bytearray(chunk(MESSAGE[3]))
    broken[-1] ^= 1
    text, error = read_messages(*map(chunk, MESSAGE[:3]), bytes(broken), chunk(MESSAGE[4]))
    assert (text, type(error)) == ("ab", StreamInvalid)
    assert "frame 3 of the event stream: its checksum is wrong" in str(error)


def test_a_chunk_without_bytes_is_an_error() -> None:
    assert type(read_messages(event("chunk", b'{"p":"a"}'))[1]) is StreamInvalid
    assert type(read_messages(event("chunk", b'{"bytes":"?"}'))[1]) is StreamInvalid


@pytest.mark.parametrize(
    ("kind", "name", "status", "retryable"),
    [
        ("throttlingException", "RateLimitError", 429, True),
        ("validationException", "BadRequestError", 400, False),
        ("internalServerException", "ServerError", 500, True),
        ("serviceUnavailableException", "OverloadedError", 503, True),
        ("accessDeniedException", "AccessDeniedError", 403, False),
        ("expiredTokenException", "AuthenticationError", 403, False),
        ("modelTimeoutException", "RequestTimeoutError", 408, True),
    ],
)
def test_an_exception_in_a_frame_is_the_typed_error(
    kind: str, name: str, status: int, retryable: bool
) -> None:
    failure = event(kind, b'{"message":"Too many"}', "exception")
    text, error = read_messages(*map(chunk, MESSAGE[:2]), failure, chunk(MESSAGE[2]))
    assert error is not None
    assert (text, type(error).__name__, error.status) == ("a", name, status)
    assert (error.message, error.code, error.retryable) == ("Too many", kind, retryable)


def test_an_error_in_a_frame_is_the_typed_error() -> None:
    headers = {":message-type": "error", ":error-code": "internal_error", ":error-message": "Oh"}
    _, error = read_messages(chunk(MESSAGE[0]), frame_bytes(headers))
    assert error is not None
    assert (type(error).__name__, error.code, error.message) == (
        "ServerError",
        "internal_error",
        "Oh",
    )


def test_a_frame_of_an_unknown_type_is_an_error() -> None:
    _, error = read_messages(chunk(MESSAGE[0]), event("chunk", b"{}", "news"))
    assert type(error) is StreamInvalid


@pytest.mark.parametrize(
    "body",
    [
        b'{"message":"Too many","error":{"message":"Too many"}}',
        b'event: error\ndata: {"error":{"message":"Too many"}}\n\n',
    ],
)
def test_json_or_events_in_place_of_frames_are_read_as_the_error_of_a_gateway(body: bytes) -> None:
    _, error = read_messages(body)
    assert error is not None
    assert (type(error).__name__, error.message) == ("ServerError", "Too many")
