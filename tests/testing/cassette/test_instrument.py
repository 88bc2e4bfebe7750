"""Replay as an instrument: other chunks, faults on chosen attempts, and no waiting."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from tests.http.drive import STREAM_CALL, Drive
from tests.joined import joined
from tests.testing.cassette.ways import READS, Way
from wire import Retry, errors
from wire.errors import ConfigurationError
from wire.testing import AsyncReplay, Record, Replay
from wire.testing.cassette.chunking import chunking_of
from wire.testing.cassette.faults import KINDS, broken, fault_of
from wire.testing.cassette.pieces import Cut, Pause, Reset

URL = "https://llm.example/stream"
EVENTS = [f'data: {{"n":{number},"text":"潮"}}\r\n\r\n'.encode() for number in range(4)]
STREAM = b"".join(EVENTS)
WHOLE = json.dumps({"candidates": []}).encode()


def recorded(path: Path, *bodies: bytes, kind: str = "text/event-stream", url: str = URL) -> Path:
    """A cassette with an interaction for each body."""
    left = list(bodies)
    answer = httpx.MockTransport(
        lambda request: httpx.Response(200, headers={"content-type": kind}, content=left.pop(0))
    )
    with httpx.Client(transport=Record(answer, path)) as client:
        for number in range(len(bodies)):
            client.post(url, json={"number": number})
    return path


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return recorded(tmp_path / "x.cassette.json", STREAM)


def with_times(path: Path, times: list[int]) -> None:
    text = path.read_text("utf-8")
    assert len(EVENTS) == len(times)
    text = re.sub(r'("times": .*, )?"end": ', f'"times": {times}, "end": ', text)
    path.write_text(text, "utf-8")


def got(way: Way, path: Path, reads: str = "iter_raw", attempts: int = 1, **options: Any) -> Any:
    """What each attempt at the first interaction gives."""
    transport = way.replay(path, **options)
    each = way.gets(transport, [{"url": URL, "json": {"number": 0}}] * attempts, reads)
    return each[0] if attempts == 1 else each


# --- chunks ---------------------------------------------------------------------------------------


@pytest.mark.row("C-32")
@pytest.mark.parametrize(
    ("chunks", "lengths"),
    [
        ("recorded", [len(each) for each in EVENTS]),
        ("one", [len(STREAM)]),
        ("bytes:1", [1] * len(STREAM)),
        ("bytes:50", [50, 50, len(STREAM) - 100]),
        ("split:7", [7, len(STREAM) - 7]),
        ("split:9999", [len(STREAM)]),
    ],
)
def test_a_body_comes_in_the_chunks_asked_for(
    way: Way, cassette: Path, chunks: str, lengths: list[int]
) -> None:
    read = got(way, cassette, chunks=chunks)
    assert (read.body, [len(part) for part in read.parts]) == (STREAM, lengths)


@pytest.mark.row("C-32")
def test_a_seed_gives_the_same_chunks_each_time(way: Way, cassette: Path) -> None:
    first, again, other = (got(way, cassette, chunks=f"seed:{seed}").parts for seed in (1, 1, 2))
    assert first == again != other
    assert b"".join(first) == b"".join(other) == STREAM
    assert {1 <= len(part) <= 32 for part in first} == {True}


@pytest.mark.row("C-32")
@given(
    pieces=st.lists(st.binary(max_size=20) | st.just(Pause(1.0)), max_size=8),
    chunks=st.sampled_from(["recorded", "one"])
    | st.builds("{}:{}".format, st.sampled_from(["bytes", "split", "seed"]), st.integers(1, 100)),
)
def test_no_byte_and_no_pause_moves(pieces: list[Any], chunks: str) -> None:
    def flat(items: list[Any]) -> list[Any]:
        return [each for item in items for each in (item if isinstance(item, bytes) else [item])]

    assert flat(chunking_of(chunks).cut(pieces)) == flat(pieces)


@pytest.mark.row("C-32")
@pytest.mark.parametrize(
    "chunks", ["", "every", "two", "bytes:0", "bytes:-1", "split:0", "bytes:x", "seed:", "one:1"]
)
def test_other_chunks_are_refused(way: Way, cassette: Path, chunks: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^chunks: expected one of recorded, one, by"):
        way.replay(cassette, chunks=chunks)


@pytest.mark.row("C-10")
@pytest.mark.parametrize("reads", READS)
def test_every_way_of_reading_gives_the_same(way: Way, cassette: Path, reads: str) -> None:
    for chunks in ("recorded", "one", "bytes:1", "split:30", "seed:3"):
        parts = got(way, cassette, reads, chunks=chunks).parts
        if reads == "iter_lines":
            assert parts == STREAM.decode().splitlines()
        elif reads == "iter_text":
            assert "".join(parts) == STREAM.decode()
        else:
            assert b"".join(parts) == STREAM


# --- faults ---------------------------------------------------------------------------------------

GARBAGE = b"data: {not json\r\n\r\n"
LIKE = EVENTS[0]
FAULTS: dict[str, tuple[bytes, str]] = {
    "cut; after=2": (b"".join(EVENTS[:2]), "RemoteProtocolError"),
    "cut; bytes=5": (STREAM[:5], "RemoteProtocolError"),
    "cut; after=1; bytes=5": (STREAM[: len(EVENTS[0]) + 5], "RemoteProtocolError"),
    "cut; after=0": (b"", "RemoteProtocolError"),
    f"cut; after={len(EVENTS)}": (STREAM, "RemoteProtocolError"),
    "reset; after=3": (b"".join(EVENTS[:3]), "ReadError"),
    "stall; after=3": (b"".join(EVENTS[:3]), "ReadTimeout"),
    "stall; after=3; seconds=0.01": (STREAM, ""),
    "end; after=1": (EVENTS[0], ""),
    "garbage; after=1": (EVENTS[0] + GARBAGE + b"".join(EVENTS[1:]), ""),
    "garbage; after=0": (GARBAGE + STREAM, ""),
    "repeat; after=2": (b"".join([*EVENTS[:2], *EVENTS[1:]]), ""),
    "drop; after=1": (b"".join([EVENTS[0], *EVENTS[2:]]), ""),
    "slow; seconds=1": (STREAM, ""),
}


@pytest.mark.row("C-33")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("chunks", ["recorded", "bytes:7"])
def test_a_fault_breaks_the_recorded_stream(
    way: Way, cassette: Path, fault: str, chunks: str
) -> None:
    read = got(way, cassette, faults=fault, chunks=chunks)
    body, error = FAULTS[fault]
    assert (read.status, read.body) == (200, body)
    assert (type(read.error).__name__ if read.error else "") == error


@pytest.mark.row("C-33")
def test_a_slow_server_is_a_read_timeout(way: Way, cassette: Path) -> None:
    read = got(way, cassette, faults="slow")
    assert (read.status, type(read.error)) == (0, httpx.ReadTimeout)


@pytest.mark.row("C-33")
def test_a_status_with_headers_and_body(way: Way, cassette: Path) -> None:
    fault = {
        "fault": "429",
        "retry_after": 2,
        "headers": {"X-Reason": "quota"},
        "body": {"error": {"message": "Slow."}},
    }
    read = got(way, cassette, faults=fault)
    assert (read.status, json.loads(read.body)) == (429, {"error": {"message": "Slow."}})
    assert read.headers == {
        "content-type": "application/json",
        "retry-after": "2",
        "x-reason": "quota",
    }
    plain = got(way, cassette, faults="503; message=Busy.")
    assert json.loads(plain.body) == {"error": {"code": 503, "message": "Busy."}}


@pytest.mark.row("C-33")
def test_faults_on_chosen_attempts(way: Way, cassette: Path) -> None:
    """A retry gets the recorded response that the fault has kept."""
    statuses = [each.status for each in got(way, cassette, attempts=2, faults="503; attempt=1")]
    assert statuses == [503, 200]
    faults = ["503; times=2", {"fault": "cut", "after": 1, "attempt": 3}]
    each = got(way, cassette, attempts=5, faults=faults)
    assert [attempt.status for attempt in each] == [503, 503, 200, 200, 0]
    assert [attempt.body for attempt in each[2:4]] == [EVENTS[0], STREAM]
    assert "each was played once" in str(each[4].error)


@pytest.mark.row("C-33")
def test_a_fault_of_one_interaction(way: Way, tmp_path: Path) -> None:
    path = recorded(tmp_path / "x.cassette.json", STREAM, STREAM)
    transport = way.replay(path, faults="500; interaction=1")
    requests = [{"url": URL, "json": {"number": number}} for number in range(2)]
    assert [each.status for each in way.gets(transport, requests)] == [200, 500]
    with pytest.raises(ConfigurationError, match=r"interaction=2: .*json has 2, counted from 0"):
        way.replay(path, faults="500; interaction=2")


@pytest.mark.row("C-33")
def test_a_body_that_is_no_stream_has_two_halves(way: Way, tmp_path: Path) -> None:
    path = recorded(tmp_path / "x.cassette.json", WHOLE, kind="application/json")
    cut = got(way, path, faults="cut")
    assert (cut.body, type(cut.error)) == (WHOLE[: len(WHOLE) // 2], httpx.RemoteProtocolError)


@pytest.mark.row("C-33")
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("explode", "fault: 'explode' is unknown; there are a status, cut, end"),
        ("error", "fault: 'error' is unknown"),
        ("cut; at=1", "fault: 'at' is not a setting; there are status, after, bytes"),
        ("cut; after=-1", "fault: after: expected 0 or more"),
        ("cut; attempt=0", "fault: attempt: expected 1 or more"),
        ("99", "fault: status: expected 200 to 599"),
        ({"fault": "503", "headers": {"a": 1}}, "fault: headers: expected an object of texts"),
        ({"fault": "503", "body": {1, 2}}, "fault: body: expected JSON or a text, not set"),
        (5, "faults: expected"),
    ],
)
def test_other_faults_are_refused(way: Way, cassette: Path, fault: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        way.replay(cassette, faults=fault)
    assert raised.value.message.startswith(message)


@pytest.mark.row("C-33")
@pytest.mark.parametrize("fault", ["drop; after=4", "repeat; after=5", "repeat; after=0"])
def test_a_fault_that_would_change_nothing_is_refused(way: Way, cassette: Path, fault: str) -> None:
    error = got(way, cassette, faults=fault).error
    assert isinstance(error, ConfigurationError)
    assert "the response has 4 events" in error.message


FINISHES: dict[str, list[bytes]] = {
    "gemini": [
        b'data: {"candidates":[{"content":{"parts":[{"text":"a"}]}}]}\n\n',
        b'data: {"candidates":[{"finishReason":"STOP"}]}\n\n',
    ],
    "openai": [
        b'data: {"choices":[{"delta":{"content":"a"},"finish_reason":null}]}\n\n',
        b'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n',
        b"data: [DONE]\n\n",
    ],
    "anthropic": [
        b'event: message_start\ndata: {"type":"message_start","message":{"stop_reason":null}}\n\n',
        b'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n',
        b'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    ],
    "responses": [
        b'data: {"type":"response.output_text.delta","delta":"a"}\n\n',
        b'data: {"type":"response.completed","response":{}}\n\n',
    ],
}


@pytest.mark.row("C-33")
@joined("wire", FINISHES)
def test_the_finish_of_each_wire_is_dropped(wire: str) -> None:
    assert broken(FINISHES[wire], fault_of("drop-finish")) == FINISHES[wire][:1]
    with pytest.raises(ConfigurationError, match="no event finishes the response"):
        broken(FINISHES[wire][:1], fault_of("drop-finish"))


@pytest.mark.row("C-33")
def test_garbage_keeps_the_name_of_an_event() -> None:
    first, *_ = FINISHES["anthropic"]
    assert broken([first], fault_of("garbage")) == [
        first,
        b"event: message_start\ndata: {not json\n\n",
    ]


@pytest.mark.row("C-33")
def test_the_words_of_the_emulator_are_the_same() -> None:
    """Each word is parsed by one function, whoever plays it."""
    from wire.testing.emulator.faults import KINDS as EMULATED
    from wire.testing.emulator.faults import fault_of as emulated

    assert set(KINDS) <= set(EMULATED)
    for kind in ("503", *KINDS):
        assert emulated(f"{kind}; after=2") == fault_of(f"{kind}; after=2")
    with pytest.raises(ConfigurationError, match="only a replayed cassette has interactions"):
        emulated("cut; interaction=1")


# --- what the clients make of them ----------------------------------------------------------------

CHUNKS = [
    {"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}, **more}]}
    for text, more in (("Hel", {}), ("lo.", {}), ("", {"finishReason": "STOP"}))
]
GOOGLE = "https://generativelanguage.googleapis.com"
OUTCOMES: dict[str, tuple[list[str], type[Exception] | None]] = {
    "cut; after=2": (["Hel", "lo."], errors.ConnectionLost),
    "reset; after=1": (["Hel"], errors.ConnectionLost),
    "stall; after=1": (["Hel"], errors.IdleClock),
    "end; after=2": (["Hel", "lo."], errors.StreamIncomplete),
    "drop-finish": (["Hel", "lo."], errors.StreamIncomplete),
    "garbage; after=1": (["Hel"], errors.StreamInvalid),
    "cut; after=0; attempt=1": (["Hel", "lo.", ""], None),
    "503; attempt=1": (["Hel", "lo.", ""], None),
    "429; times=2; retry-after=0": (["Hel", "lo.", ""], None),
    "repeat; after=1": (["Hel", "Hel", "lo.", ""], None),
}


@pytest.fixture
def streamed(tmp_path: Path) -> Path:
    """A stream of Gemini, recorded with the client."""
    from wire import Client

    body = b"".join(f"data: {json.dumps(each)}\r\n\r\n".encode() for each in CHUNKS)
    answer = httpx.MockTransport(
        lambda request: httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=body
        )
    )
    path = tmp_path / "streamed.cassette.json"
    with Client("gemini", api_key="fake-key", http=Record(answer, path)) as client:
        with client.stream(STREAM_CALL) as chunks:
            assert [chunk.text for chunk in chunks] == ["Hel", "lo.", ""]
    return path


@pytest.mark.row("C-33")
@pytest.mark.parametrize("fault", OUTCOMES)
def test_each_fault_ends_as_the_reliability_contract_says(
    drive: Drive, streamed: Path, fault: str
) -> None:
    http = Way(drive.name).replay(streamed, faults=fault)
    result = drive.read(http=http, retry=Retry(base=0))
    texts, error = OUTCOMES[fault]
    assert result.texts == texts
    assert (type(result.error) if result.error else None) is error


@pytest.mark.row("C-33")
def test_a_status_of_each_attempt_ends_in_its_error(drive: Drive, streamed: Path) -> None:
    http = Way(drive.name).replay(streamed, faults="503; retry-after=0")
    with pytest.raises(errors.OverloadedError) as raised:
        drive.read(http=http, retry=Retry(base=0))
    assert (raised.value.status, raised.value.retry_after) == (503, 0)


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.row("C-35")
def test_a_stall_is_over_at_once(way: Way, cassette: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: pytest.fail("it sleeps"))
    error = got(way, cassette, faults="stall; after=1").error
    assert isinstance(error, httpx.ReadTimeout)


@pytest.mark.row("C-35")
def test_with_sleep_a_virtual_clock_plays_a_minute() -> None:
    """60 s of pauses pass on the clock of the event loop, and on no other."""
    clock = trio.testing.MockClock(autojump_threshold=0)

    async def main(path: Path) -> float:
        begun = trio.current_time()
        faults = "stall; after=1; seconds=60"
        transport = AsyncReplay(path, faults=faults, sleep=True)
        async with httpx.AsyncClient(transport=transport, timeout=90) as client:
            response = await client.post(URL, json={"number": 0})
        assert response.content == STREAM
        return trio.current_time() - begun

    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = recorded(Path(folder, "x.cassette.json"), STREAM)
        assert trio.run(main, path, clock=clock) == pytest.approx(60)


@pytest.mark.row("C-35")
@pytest.mark.parametrize(("sleep", "seconds"), [(True, 60), (False, 0)])
def test_a_recording_of_a_minute_is_played_on_a_virtual_clock(
    cassette: Path, sleep: bool, seconds: int
) -> None:
    with_times(cassette, [20_000, 39_000, 0, 1_000])
    clock = trio.testing.MockClock(autojump_threshold=0)
    arrived: list[float] = []

    async def main() -> None:
        begun = trio.current_time()
        http = AsyncReplay(cassette, sleep=sleep)
        async with httpx.AsyncClient(transport=http, timeout=90) as client:
            async with client.stream("POST", URL, json={"number": 0}) as response:
                async for _ in response.aiter_raw():
                    arrived.append(trio.current_time() - begun)

    trio.run(main, clock=clock)
    assert arrived == pytest.approx([20, 59, 59, 60] if seconds else [0] * 4)


@pytest.mark.row("C-35")
def test_recorded_times_are_those_of_the_chunks(
    cassette: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    monkeypatch.setattr("wire.testing.cassette.playing.time.sleep", slept.append)
    sync = Way("sync")
    with_times(cassette, [100, 200, 300, 400])
    assert got(sync, cassette, sleep=True).body == STREAM
    assert slept == [0.1, 0.2, 0.3, 0.4]
    # A fault has its own pauses, and a longer one than the read timeout is one in a recording too.
    slept.clear()
    got(sync, cassette, sleep=True, faults="stall; after=1; seconds=1")
    assert slept == [1]
    with_times(cassette, [100, 9000, 1, 1])
    assert isinstance(got(sync, cassette, sleep=True).error, httpx.ReadTimeout)
    assert got(sync, cassette).body == STREAM


@pytest.mark.row("C-35")
def test_threads_sleep_as_long_as_asked(cassette: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("wire.testing.cassette.playing.time.sleep", slept.append)
    faults = ["slow; seconds=3; attempt=1", "stall; after=1; seconds=9"]
    one, two = got(Way("sync"), cassette, attempts=2, faults=faults, sleep=True)
    # httpx waits 5 s for each read unless it is told otherwise.
    assert (one.error, type(two.error), slept) == (None, httpx.ReadTimeout, [3, 5])


@pytest.mark.row("C-35")
def test_an_endless_stall_ends_without_a_read_timeout_too() -> None:
    assert broken([b"a"], fault_of("stall")) == [b"a", Pause(math.inf)]


def test_pieces_of_breaks() -> None:
    assert broken([b"a", b"b"], fault_of("cut")) == [b"a", Cut()]
    assert broken([b"a", b"b"], fault_of("reset; after=0; bytes=1")) == [b"a", Reset()]


@pytest.mark.row("C-05")
def test_reading_on_after_a_break_raises_again(cassette: Path) -> None:
    """It never looks like the end of the body, however often it is tried."""
    body = json.dumps({"number": 0}).encode()
    request = httpx.Request("POST", URL, content=body)
    stream = Replay(cassette, faults="cut; after=1").handle_request(request).stream
    assert isinstance(stream, httpx.SyncByteStream)
    assert next(iter(stream)) == EVENTS[0]
    for _ in range(3):
        with pytest.raises(httpx.RemoteProtocolError, match="the fault cut ends here: cut"):
            next(iter(stream))
