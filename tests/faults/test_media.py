"""Images, speech and transcripts of a server that cuts or floods: each ends in a typed error, and
nothing that is cut looks whole (R-10, R-44)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import repeat
from typing import Any

import httpx
import pytest

from tests.faults.received import AnyCall, media_seeds, receive
from tests.property import sample
from wire import Client
from wire.core.call import StreamCall
from wire.core.limits import Limits
from wire.core.retry import NONE
from wire.errors import LimitError, WireError

SEEDS = {each.name: each for each in media_seeds()}
FRAMED = {name: each for name, each in SEEDS.items() if each.body[:2] != b"\xff\xf3"}
"""Bodies that know their end: the bytes of a sound have none but that of HTTP."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", FRAMED)
def test_what_is_cut_is_an_error(name: str) -> None:
    seed = FRAMED[name]
    for call in seed.calls:
        [*_, whole], error = receive(seed.wire, call, 200, [seed.body])
        assert error is None
        for at in sample(range(len(seed.body)), 20):
            got, error = receive(seed.wire, call, 200, [seed.body[:at]])
            # The last bytes may be a line break, or `[DONE]` after the last event.
            assert error is not None or repr(got[-1]) == repr(whole), at


# --- floods ---------------------------------------------------------------------------------------

LIMITS = Limits(
    event=4096, line=4096, events=50, unused=4096, stream=1 << 16, body=1 << 16, error_body=1 << 12
)
_PIECE = 1024


class Endless(httpx.SyncByteStream):
    """One piece without an end, or until the reader has had far too much."""

    def __init__(self, begin: bytes, piece: bytes) -> None:
        self.begin, self.piece, self.sent = begin, piece, 0

    def __iter__(self) -> Iterator[bytes]:
        yield self.begin
        for piece in repeat(self.piece, 100 + 4 * (1 << 16) // len(self.piece)):
            self.sent += len(piece)
            yield piece


@cache
def streams(kind: str) -> tuple[str, StreamCall[Any, Any]]:
    """The host and a stream of a kind: of speech, the one that asks for events if there is one."""
    host, _, what = kind.partition(" ")
    found = [each for each in media_seeds() if each.wire == host and f" {what} of" in each.name]
    made = [each for each in found[0].calls if isinstance(each, StreamCall)]
    return host, next((each for each in made if b'"stream' in each.body), made[-1])


def flooded(host: str, call: AnyCall, begin: bytes, piece: bytes) -> tuple[Any, int]:
    """The error of a call whose body does not end, and the bytes that were read."""
    endless = Endless(begin, piece)
    http = httpx.MockTransport(lambda request: httpx.Response(200, stream=endless))
    with Client(host, api_key="fake-key", http=http, retry=NONE, limits=LIMITS) as client:
        with pytest.raises(WireError) as caught:
            if isinstance(call, StreamCall):
                with client.stream(call) as stream:
                    for _ in stream:
                        pass
                    stream.result()
            else:
                client.send(call)
    return caught.value, endless.sent


PIECES: dict[str, bytes] = {
    "openai images": b'data: {"type":"image_generation.partial_image","b64_json":"aGk="}\n\n',
    "openai speech": b'data: {"type":"speech.audio.delta","audio":"aGk="}\n\n',
    "mistral speech": b'event: a\ndata: {"type":"speech.audio.delta","audio_data":"aGk="}\n\n',
    "together speech": b'data: {"object":"audio.tts.chunk","b64":"aGk="}\n\n',
    "openai transcripts": b'data: {"type":"transcript.text.delta","delta":"a"}\n\n',
    "mistral transcripts": b'data: {"type":"transcription.text.delta","text":"a"}\n\n',
    "gemini speech": b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n',
}
"""Host and kind -> an event that is not the last one."""


@pytest.mark.parametrize("kind", PIECES)
def test_events_without_an_end_are_a_limit(kind: str) -> None:
    host, call = streams(kind)
    error, sent = flooded(host, call, b"", PIECES[kind])
    assert isinstance(error, LimitError)
    assert sent < LIMITS.stream
    assert "events" in error.message


@pytest.mark.parametrize("kind", PIECES)
def test_an_event_without_an_end_is_a_limit(kind: str) -> None:
    host, call = streams(kind)
    error, sent = flooded(host, call, b'data: {"type":"', b"a" * _PIECE)
    assert isinstance(error, LimitError)
    assert sent < 4 * LIMITS.event


@pytest.mark.parametrize("kind", PIECES)
def test_comments_without_an_end_are_a_limit(kind: str) -> None:
    host, call = streams(kind)
    error, sent = flooded(host, call, b"", b": a\n" * 64)
    assert isinstance(error, LimitError)
    assert sent < 4 * LIMITS.unused


def test_sound_without_an_end_is_a_limit() -> None:
    calls = next(each for each in media_seeds() if "speech of openai" in each.name).calls
    for call in calls:
        if isinstance(call, StreamCall):
            error, sent = flooded("openai", call, b"\xff\xf3", bytes(_PIECE))
            assert isinstance(error, LimitError)
            assert sent <= LIMITS.stream + 2 * _PIECE


@pytest.mark.parametrize("name", SEEDS)
def test_a_whole_response_without_an_end_is_a_limit(name: str) -> None:
    seed = SEEDS[name]
    for call in seed.calls:
        if not isinstance(call, StreamCall):
            error, sent = flooded(seed.wire, call, seed.body, b" " * _PIECE)
            assert isinstance(error, LimitError)
            assert sent <= LIMITS.body + 2 * _PIECE
