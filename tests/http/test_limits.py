"""Everything that a server may send without end has a limit, in each client (R-10)."""

from __future__ import annotations

import functools
import gzip
import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.http.drive import Drive
from tests.http.loopback import LAST, STREAM, chunked, event, head, loopback, text, whole
from tests.joined import joined
from wire import Limits, errors
from wire.core.retry import NONE

HELLO = event(text("Hel"))
MIB = 1024 * 1024
SMALL_VALUES = b'{"new":[' + b"{}," * 500_000 + b"{}]}"
DEEP = b'{"new":' + b"[" * 600 + b"]" * 600 + b"}"


def deep_event(data: bytes) -> bytes:
    return chunked(b"data: " + data + b"\n\n")


# Name of the limit: what is sent, and the limits of the client.
STREAMS: dict[str, tuple[list[bytes], Limits]] = {
    "depth": ([HELLO, deep_event(DEEP)], Limits()),
    "containers": ([HELLO, deep_event(SMALL_VALUES)], Limits()),
    "values": ([HELLO, deep_event(b'{"new":[' + b"0," * 9_000 + b"0]}")], Limits(values=1_000)),
    "events": ([HELLO] * 12, Limits(events=10)),
    "stream": ([HELLO] * 100, Limits(stream=2_000)),
    "line": ([HELLO, deep_event(b'"' + b"x" * 3_000 + b'"')], Limits(line=2_000)),
    "event": ([HELLO, chunked(b"data: xxxxxxxxx\n" * 300)], Limits(event=2_000)),
    # More than one read takes: what comes in one read with an event is not counted.
    "unused": ([HELLO, *[chunked(b": no event\n\n" * 10_000)] * 10], Limits(unused=2_000)),
}


def failed(work: Callable[[], Any]) -> errors.LimitError:
    with pytest.raises(errors.LimitError) as caught:
        work()
    return caught.value


def streamed(drive: Drive, sent: Sequence[Any], limits: Limits) -> Any:
    with loopback(lambda *_: [STREAM, *sent, "hold"]) as server:
        return drive.read(base_url=server.url, limits=limits, retry=NONE)


@joined("name", STREAMS)
def test_a_stream_over_a_limit(drive: Drive, name: str) -> None:
    """R-10, R-02: what arrived before is handed out; the error names the field."""
    sent, limits = STREAMS[name]
    got = streamed(drive, sent, limits)
    assert isinstance(got.error, errors.LimitError)
    assert f"limits.{name} sets the limit" in got.error.message
    assert got.texts[0] == "Hel"
    assert got.error.partial.text.startswith("Hel")


@joined(
    "noise",
    [b": comment\n", b"\n", b"data:\n\n", b"data: : ping\n\n", b"retry: 5\n", b"id: 5\n\n"],
)
def test_a_flood_that_completes_no_event(drive: Drive, noise: bytes) -> None:
    """R-10, R-13: also in place of the first event, so that the clocks are not the only end."""
    sent = [chunked(noise * (MIB // len(noise) // 4 + 1))] * 8
    error = failed(lambda: streamed(drive, sent, Limits()))
    assert (
        error.message == "more than 1048576 bytes complete no event; limits.unused sets the limit"
    )


def test_an_event_of_many_pieces_is_no_flood(drive: Drive) -> None:
    """R-10: an image of 4 MiB arrives in a hundred pieces."""
    image = {"inlineData": {"mimeType": "image/png", "data": "AAAA" * MIB}}
    candidate = {"content": {"parts": [image]}, "finishReason": "STOP"}
    sent = event({"candidates": [candidate]})
    with loopback(lambda *_: [STREAM, sent, LAST]) as server:
        got = drive.read(base_url=server.url)
    assert got.error is None
    assert got.reply.candidates[0].content.parts[0].inline_data.data == "AAAA" * MIB


@pytest.mark.parametrize(
    ("name", "body"), [("depth", DEEP), ("containers", SMALL_VALUES)], ids=["depth", "containers"]
)
def test_a_body_over_a_limit(drive: Drive, name: str, body: bytes) -> None:
    """R-10: 1.5 MB of small values would decode to 470 MB."""
    with loopback(lambda *_: [whole(body)]) as server:
        tracemalloc.start()
        try:
            error = failed(lambda: drive.send(base_url=server.url))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert f"limits.{name} sets the limit" in error.message
    assert peak < 16 * MIB


@pytest.mark.parametrize("body", [DEEP, SMALL_VALUES], ids=["depth", "containers"])
def test_an_error_body_over_a_limit(drive: Drive, body: bytes) -> None:
    """R-10, R-12: the status decides, and the message quotes the beginning of the text."""
    with (
        loopback(lambda *_: [whole(body, 400)]) as server,
        pytest.raises(errors.BadRequestError) as caught,
    ):
        drive.send(base_url=server.url)
    assert caught.value.message.startswith('{"new":')
    assert len(str(caught.value).encode()) <= 2048
    assert caught.value.raw == body[:MIB]


@functools.cache
def bomb() -> bytes:
    return gzip.compress(bytes(64 * MIB)) * 3


@pytest.mark.parametrize(("status", "peak_mib"), [(200, 40), (500, 20)])
def test_a_gzip_bomb(drive: Drive, status: int, peak_mib: int) -> None:
    """R-10: 192 MiB in 190 KiB, as a response and as an error body."""
    sent = whole(bomb(), status, content_encoding="gzip")
    with loopback(lambda *_: [sent]) as server:
        tracemalloc.start()
        try:
            error = failed(lambda: drive.send(base_url=server.url))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert "limits.ratio sets the limit" in error.message
    assert error.attempts == 1  # a second bomb would be no better
    assert peak < peak_mib * MIB


@pytest.mark.parametrize("status", [200, 500])
def test_header_bombs(drive: Drive, status: int) -> None:
    """R-10: a head that never ends, and one of many headers."""
    with loopback(lambda *_: [head(status, x="a" * 300_000)]) as server:
        error = failed(lambda: drive.send(base_url=server.url, retry=NONE))
    assert error.message == "the response head is larger than the 102400 bytes that are buffered"
    many = whole(text("Hello.", "STOP"), status, **{f"x-{each}": "a" for each in range(1100)})
    with loopback(lambda *_: [many]) as server:
        error = failed(lambda: drive.send(base_url=server.url, retry=NONE))
        assert "limits.header_count sets the limit" in error.message
        limits = Limits(header_count=2000)
        if status == 200:
            answer = drive.send(base_url=server.url, limits=limits)
            assert answer.text == "Hello."
