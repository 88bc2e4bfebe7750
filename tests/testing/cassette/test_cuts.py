"""A stream that was cut anywhere, or came in any pieces, is recorded as it was and replayed as it
was.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.property import sample
from wire.testing import Record, Replay

STREAM = (
    'data: {"candidates":[{"content":{"parts":[{"text":"Grüße, '
    '東京"}],"role":"model"}}],"usageMetadata":{"promptTokenCount":3}}\r\n\r\n'
    ': still here\r\n\r\ndata: {"candidates": [{"content": {"parts": [{"text": '
    '"",\\u0020"thoughtSignature": "c2ln"}]}}]}\r\n\r\n'
    'data: {"candidates":[{"finishReason":"STOP"}]}\r\n\r\n'
).encode()


class Pieces(httpx.SyncByteStream):
    """A body in the given pieces, that ends well or breaks off."""

    def __init__(self, pieces: list[bytes], broken: bool) -> None:
        self._pieces, self._broken = pieces, broken

    def __iter__(self) -> Iterator[bytes]:
        yield from self._pieces
        if self._broken:
            raise httpx.ReadError("reset")


def through(transport: httpx.BaseTransport) -> tuple[bytes, str]:
    """What a client reads: the bytes, and the exception that ended them."""
    got = b""
    with (
        httpx.Client(transport=transport) as client,
        client.stream("POST", "https://llm.example/stream", json={"say": "hi"}) as response,
    ):
        try:
            for data in response.iter_raw():
                got += data
        except httpx.TransportError as error:
            return got, type(error).__name__
    return got, ""


def recorded(path: Path, pieces: list[bytes], broken: bool) -> tuple[bytes, str]:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(
            200, headers={"content-type": "text/event-stream"}, stream=Pieces(pieces, broken)
        )

    return through(Record(httpx.MockTransport(answer), path))


@pytest.mark.sampled
@pytest.mark.parametrize("begin", range(0, len(STREAM) + 1, 50))
@pytest.mark.parametrize("broken", [False, True], ids=["ended", "broke off"])
def test_cut_at_every_byte(tmp_path: Path, broken: bool, begin: int) -> None:  # C-01, C-04
    path = tmp_path / "cut.cassette.json"
    for cut in sample(range(begin, min(begin + 50, len(STREAM) + 1))):
        live = recorded(path, [STREAM[:cut]], broken)
        assert live == (STREAM[:cut], "ReadError" if broken else "")
        assert through(Replay(path)) == live, cut


def test_pieces_make_no_difference(tmp_path: Path) -> None:
    """The same bytes give the same file, wherever the network cut them."""
    whole, cut = tmp_path / "whole.cassette.json", tmp_path / "cut.cassette.json"
    recorded(whole, [STREAM], broken=False)
    for size in (1, 2, 7, 100):
        recorded(cut, [STREAM[at : at + size] for at in range(0, len(STREAM), size)], broken=False)
        assert cut.read_bytes() == whole.read_bytes()
