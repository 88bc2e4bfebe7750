"""Frames of a stream: read at every cut, with every broken byte, and to an exception."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.converse.samples import NOVA, PLACE, asked, exception, framed, streams
from wire import AsyncClient, Client, converse
from wire.converse.reader import ChunkReader, without_padding
from wire.core.event_stream import Decoder, frame_bytes
from wire.errors import (
    APIError,
    RateLimitError,
    ServerError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)

STREAMS = pytest.mark.parametrize("name", streams())
START = ("messageStart", {"role": "assistant"})
TEXT = ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "High."}})
STOP = ("messageStop", {"stopReason": "end_turn"})
USAGE = ("metadata", {"usage": {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}})


def read(*pieces: bytes) -> tuple[list[bytes], WireError | None]:
    """The events as they were read, and the error at the end."""
    reader = ChunkReader()
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    chunks += reader.close()
    return [bytes(chunk.raw or b"") for chunk in chunks], reader.error


@STREAMS
def test_a_stream_reads_the_same_at_every_cut(name: str) -> None:
    body = streams()[name]
    whole = read(body)
    assert whole[1] is None
    assert read(*(body[at : at + 1] for at in range(len(body)))) == whole
    for at in range(len(body) + 1):
        assert read(body[:at], body[at:]) == whole


@STREAMS
def test_a_stream_that_ends_too_early_is_incomplete(name: str) -> None:
    body = streams()[name]
    events, _ = read(body)
    for at in range(len(body)):
        got, error = read(body[:at])
        assert type(error) is StreamIncomplete, at
        assert got == events[: len(got)]


@STREAMS
def test_each_broken_byte_is_a_typed_error(name: str) -> None:
    body = streams()[name]
    events, _ = read(body)
    for at in range(len(body)):
        broken = body[:at] + bytes([body[at] ^ 0x55]) + body[at + 1 :]
        got, error = read(broken)
        assert isinstance(error, StreamInvalid | StreamIncomplete), at
        assert got == events[: len(got)]


@STREAMS
def test_both_checksums_of_each_frame_are_checked(name: str) -> None:
    body, at = streams()[name], 0
    while at < len(body):
        size = int.from_bytes(body[at : at + 4], "big")
        for checksum in (at + 8, at + size - 4):
            broken = bytearray(body)
            broken[checksum] ^= 1
            error = read(bytes(broken))[1]
            assert type(error) is StreamInvalid
            assert "checksum" in error.message
        at += size


@STREAMS
def test_each_frame_is_written_again_byte_for_byte(name: str) -> None:
    body = streams()[name]
    frames = Decoder().feed(body)
    assert b"".join(frame_bytes(each.headers, each.payload) for each in frames) == body


def test_padding_is_no_drift() -> None:
    padded, error = read(streams()["stream"])
    assert error is None
    assert all("p" not in next(iter(json.loads(each).values())) for each in padded)
    assert without_padding(b'{"p":"a","role":"b"}') == b'{"role":"b"}'
    assert without_padding(b'{"text":"a \\"p\\" b"}') == b'{"text":"a \\"p\\" b"}'


def test_an_event_without_a_type_is_invalid() -> None:
    events, error = read(frame_bytes({":message-type": "event"}, b"{}"))
    assert (events, type(error)) == ([], StreamInvalid)


@pytest.mark.parametrize(
    ("kind", "expected", "retryable"),
    [
        ("throttlingException", RateLimitError, True),
        ("internalServerException", ServerError, True),
        ("serviceUnavailableException", ServerError, True),
        ("modelStreamErrorException", ServerError, True),
        ("validationException", APIError, False),
    ],
)
def test_an_exception_in_a_stream_is_typed(
    kind: str, expected: type[APIError], retryable: bool
) -> None:
    for before in ((), (START,), (START, TEXT), (START, TEXT, STOP)):
        _, error = read(framed(*before) + exception(kind, "Not now."))
        assert isinstance(error, expected)
        assert (error.code, error.retryable) == (kind[0].upper() + kind[1:], retryable)
        assert "Not now." in error.message


def played(body: bytes) -> httpx.MockTransport:
    headers = {"content-type": "application/vnd.amazon.eventstream"}
    return httpx.MockTransport(lambda _: httpx.Response(200, content=body, headers=headers))


def test_an_error_has_the_answer_so_far() -> None:
    for body, kind in (
        (framed(START, TEXT, STOP), StreamIncomplete),
        (framed(START, TEXT) + exception("throttlingException", "Slow down."), RateLimitError),
    ):
        with Client("bedrock", http=played(body), **PLACE) as client:
            with pytest.raises(kind) as caught:
                with client.stream(converse.converse_stream(NOVA, asked())) as stream:
                    stream.result()
        partial: Any = caught.value.partial
        assert partial.text == "High."


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_a_stream_of_the_server(anyio_backend: str) -> None:
    http = played(framed(START, TEXT, STOP, USAGE))
    async with AsyncClient("bedrock", http=http, **PLACE) as client:
        async with client.stream(converse.converse_stream(NOVA, asked())) as stream:
            names = [next(iter(json.loads(event.raw or b"{}"))) async for event in stream]
            answer = await stream.result()
    assert names == ["messageStart", "contentBlockDelta", "messageStop", "metadata"]
    assert (answer.text, answer.stop_reason) == ("High.", "end_turn")
