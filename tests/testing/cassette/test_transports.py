"""Recording and replay over real sockets, on threads, asyncio and trio: nothing is delayed, nothing
is changed, ends are kept.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import json
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import httpx
import pytest

from tests.http.drive import CALL, Drive
from tests.http.loopback import GOOD_STREAM, LAST, STREAM, chunked, event, head, text, whole
from tests.testing.cassette.samples import BODIES, ODD, STREAMS
from tests.testing.cassette.ways import READS, Way, serving
from wire import Client
from wire.errors import CassetteError, ConfigurationError, ConnectionLost
from wire.http.async_lanes import AsyncLanes
from wire.testing import AsyncCassette, AsyncRecord, Cassette, Record, Replay
from wire.testing.cassette.format import content_coding
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    return tmp_path / "x.cassette.json"


def responses(path: Path) -> list[dict[str, Any]]:
    load(path.read_bytes(), path.name)
    return [each["response"] for each in json.loads(path.read_text("utf-8"))["interactions"]]


HTTPX_LEAVES_ITS_GENERATORS = pytest.mark.filterwarnings(
    "ignore:Async generator 'httpx._client:ResourceWarning"
)
"""On trio, whenever a body is not read to its end; wire's own clients read the transport's stream
without them.
"""

ALL = {**STREAMS, **{f"json {name}": data for name, data in BODIES.items()}, **ODD}


@pytest.mark.row("C-01")
def test_every_body_comes_back(way: Way, cassette: Path):
    """N bodies, 0 differing bytes: the digest of what was served, seen while recording, seen on
    replay.
    """
    served = list(ALL.values())
    with serving(
        lambda number, request: [whole(served[number], kind="text/event-stream")]
    ) as server:
        requests = [{"url": f"{server.url}/{number}"} for number in range(len(served))]
        recorded = way.gets(way.record(cassette), requests)
    replayed = way.gets(way.replay(cassette), requests)
    assert [got.error for got in (*recorded, *replayed)] == [None] * 2 * len(served)
    digests = [hashlib.sha256(data).hexdigest() for data in served]
    assert [hashlib.sha256(got.body).hexdigest() for got in recorded] == digests
    assert [hashlib.sha256(got.body).hexdigest() for got in replayed] == digests
    assert [got.headers["content-type"] for got in replayed] == ["text/event-stream"] * len(served)


@pytest.mark.row("C-03")
def test_each_chunk_is_there_before_the_server_sends_the_next(way: Way, cassette: Path):
    """The server sends an event only after the one before it was read: a recorder that waits for
    the end would wait for ever.
    """
    sent = [f"data: {number}\n\n".encode() for number in range(24)]
    gate = threading.Semaphore(1)

    def script(number: int, request: bytes) -> Iterator[bytes]:
        yield STREAM
        for data in sent:
            assert gate.acquire(timeout=10)
            yield chunked(data)
        assert gate.acquire(timeout=10)
        yield LAST

    written: list[bool] = []

    def seen(part: bytes) -> None:
        written.append(cassette.exists())
        gate.release()

    with serving(script) as server:  # type: ignore[arg-type]
        got = way.get(way.record(cassette), server.url, seen=seen)
    assert (got.error, got.parts) == (None, sent)
    assert written == [False] * len(sent), "the file is written when the body is closed"
    assert cassette.exists()


@pytest.mark.row("C-03")
def test_the_clients_get_chunks_as_they_come(drive: Drive, cassette: Path):
    with serving([STREAM, event(text("Hel")), event(text("lo.")), "hold"]) as server:
        result = drive.session(
            lambda door: door.read(most=2), http=_recorder(drive, cassette), base_url=server.url
        )
    assert result.texts == ["Hel", "lo."]


def _recorder(drive: Drive, path: Path, **options: Any) -> Any:
    return Way(drive.name).record(path, **options)


def _player(drive: Drive, path: Path) -> Any:
    return Way(drive.name).replay(path)


# --- how it ended ---------------------------------------------------------------------------------

FAULTS: dict[str, tuple[list[Any], str, type[httpx.TransportError]]] = {
    "reset": (
        [STREAM, chunked(b'data: {"a":1}\n\n'), chunked(b"data: {"), "wait", "reset"],
        "reset",
        httpx.ReadError,
    ),
    "closed before the end": (
        [STREAM, chunked(b'data: {"a":1}\n\ndata: {'), "close"],
        "cut",
        httpx.RemoteProtocolError,
    ),
}


@pytest.mark.row("C-04")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_stream_that_fails_is_recorded_and_fails_again(way: Way, cassette: Path, fault: str):
    steps, end, kind = FAULTS[fault]
    gate = threading.Semaphore(0)

    def script(number: int, request: bytes) -> Iterator[Any]:
        for step in steps:
            if step == "wait":  # a reset throws away what the other side has not read yet
                assert gate.acquire(timeout=10)
            else:
                yield step

    def seen(part: bytes) -> None:
        if b"".join(parts := [*seen_parts, part]).endswith(b"{"):
            gate.release()
        seen_parts[:] = parts

    seen_parts: list[bytes] = []
    with serving(script) as server:  # type: ignore[arg-type]
        recorded = way.get(way.record(cassette), server.url, seen=seen)
    replayed = way.get(way.replay(cassette), server.url)
    for got in (recorded, replayed):
        assert got.body == b'data: {"a":1}\n\ndata: {'
        assert type(got.error) is kind
    [response] = responses(cassette)
    assert response["end"] == end
    assert response["body"]["events"] == [{"json": {"a": 1}}, {"end": "", "data": "{"}]


class Stalled(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body of which the second read takes too long."""

    def __init__(self) -> None:
        self.pieces = [b"data: 1\n\n"]

    def __iter__(self) -> Iterator[bytes]:
        yield self.pieces.pop()
        raise httpx.ReadTimeout("no byte in time")

    def __aiter__(self) -> Stalled:
        return self

    async def __anext__(self) -> bytes:
        if self.pieces:
            return self.pieces.pop()
        raise httpx.ReadTimeout("no byte in time")


@pytest.mark.row("C-04")
def test_a_stream_that_stalls_is_recorded_and_replayed_without_waiting(way: Way, cassette: Path):
    recorded = way.get(
        way.record(
            cassette, httpx.MockTransport(lambda request: httpx.Response(200, stream=Stalled()))
        ),
        "https://h",
    )
    replayed = way.get(way.replay(cassette), "https://h")
    assert responses(cassette)[0]["end"] == "timeout"
    for got in (recorded, replayed):
        assert (got.body, type(got.error)) == (b"data: 1\n\n", httpx.ReadTimeout)


@pytest.mark.row("C-05")
@HTTPX_LEAVES_ITS_GENERATORS
def test_a_stream_that_the_caller_left_has_no_clean_end(way: Way, cassette: Path):
    with serving([STREAM, chunked(b"data: 1\n\n"), "hold"]) as server:
        recorded = way.get(way.record(cassette), server.url, most=1)
    assert (recorded.error, recorded.body) == (None, b"data: 1\n\n")
    assert responses(cassette)[0]["end"] == "closed by the caller"
    replayed = way.get(way.replay(cassette), server.url)
    assert replayed.body == b"data: 1\n\n"
    assert type(replayed.error) is httpx.ReadError
    assert str(replayed.error) == "the recording ends here: closed by the caller"


@pytest.mark.row("C-05")
@HTTPX_LEAVES_ITS_GENERATORS
def test_a_caller_that_leaves_again_sees_no_error(way: Way, cassette: Path):
    with serving([STREAM, chunked(b"data: 1\n\n"), "hold"]) as server:
        way.get(way.record(cassette), server.url, most=1)
    assert way.get(way.replay(cassette), server.url, most=1).error is None


@pytest.mark.row("C-05")
def test_a_cancelled_call_leaves_a_valid_cassette(cassette: Path):
    async def main() -> None:
        async with httpx.AsyncClient(transport=AsyncRecord(AsyncLanes(), cassette)) as client:
            with anyio.CancelScope() as scope:
                async with client.stream("GET", server.url) as response:
                    async for _ in response.aiter_raw():
                        scope.cancel()
        assert scope.cancelled_caught

    for backend in ("asyncio", "trio"):
        with serving([STREAM, chunked(b"data: 1\n\n"), "hold"]) as server:
            anyio.run(main, backend=backend)
        [response] = responses(cassette)
        assert (response["end"], response["body"]["events"]) == (
            "closed by the caller",
            [{"data": "1"}],
        )
        cassette.unlink()


@pytest.mark.row("C-05")
def test_the_clients_see_the_recorded_end(drive: Drive, cassette: Path):
    with serving([STREAM, event(text("Hel")), event(text("lo.")), "hold"]) as server:
        drive.session(
            lambda door: door.read(most=2), http=_recorder(drive, cassette), base_url=server.url
        )
        result = drive.read(http=_player(drive, cassette), base_url=server.url)
    assert result.texts == ["Hel", "lo."]
    assert type(result.error) is ConnectionLost


# --- compression ----------------------------------------------------------------------------------

CODED = {
    "gzip": gzip.compress(STREAMS["openai"]),
    "deflate": zlib.compress(STREAMS["openai"]),
    "identity": STREAMS["openai"],
}


@pytest.mark.row("C-07")
@pytest.mark.parametrize("coding", CODED)
def test_compressed_bodies_are_stored_decoded(way: Way, cassette: Path, coding: str):
    with serving(
        [whole(CODED[coding], kind="text/event-stream", content_encoding=coding)]
    ) as server:
        raw = way.get(way.record(cassette), server.url)
        recorded = way.get(way.record(cassette), server.url, "iter_bytes")
    replayed = way.get(way.replay(cassette), server.url, "iter_bytes")
    assert raw.body == CODED[coding], "what is passed on is passed on as it came"
    assert recorded.body == replayed.body == STREAMS["openai"]
    [response] = responses(cassette)
    assert response.get("decoded") == (None if coding == "identity" else coding)
    assert "content-encoding" not in response["headers"]
    assert len(response["body"]["events"]) == 4
    assert "content-encoding" not in replayed.headers


@pytest.mark.row("C-07")
def test_a_cut_gzip_stream_keeps_what_came_out(way: Way, cassette: Path):
    half = CODED["gzip"][:-20]
    with serving(
        [head(transfer_encoding="chunked", content_encoding="gzip"), chunked(half), "close"]
    ) as server:
        recorded = way.get(way.record(cassette), server.url, "iter_bytes")
    replayed = way.get(way.replay(cassette), server.url, "iter_bytes")
    assert recorded.body
    assert STREAMS["openai"].startswith(recorded.body)
    assert replayed.body == recorded.body
    assert type(recorded.error) is type(replayed.error) is httpx.RemoteProtocolError


@pytest.mark.row("C-07")
@pytest.mark.parametrize(
    "data", [CODED["gzip"][:-20], b"no gzip at all"], ids=["too short", "no gzip"]
)
def test_a_broken_gzip_body_is_kept_as_it_came(way: Way, cassette: Path, data: bytes):
    """It ended well and does not decode: the client must find that on replay too."""
    with serving([whole(data, content_encoding="gzip")]) as server:
        way.get(way.record(cassette), server.url)
    replayed = way.get(way.replay(cassette), server.url)
    assert replayed.body == data
    assert replayed.headers["content-encoding"] == "gzip"
    assert "decoded" not in responses(cassette)[0]


@pytest.mark.row("C-07")
@pytest.mark.parametrize(
    ("coding", "instead"),
    [
        ("br", ", or install brotli"),
        ("zstd", ", or install zstandard"),
        ("compress", ""),
        ("gzip, br", ""),
    ],
)
def test_other_codings_are_refused(
    way: Way, cassette: Path, coding: str, instead: str, monkeypatch: pytest.MonkeyPatch
):
    for names in content_coding._PACKAGES.values():
        for name in names:
            monkeypatch.setitem(sys.modules, name, None)
    with serving([whole(b"data", content_encoding=coding)]) as server:
        got = way.get(way.record(cassette), server.url)
    assert (got.body, type(got.error)) == (b"data", CassetteError)
    assert str(got.error) == (
        f"content-encoding: '{coding}' cannot be recorded; request identity, gzip or deflate"
        f"{instead}"
    )
    assert not cassette.exists()


# --- whoever reads, however -----------------------------------------------------------------------


@pytest.mark.row("C-10")
@pytest.mark.parametrize("reads", READS)
def test_every_way_to_read(way: Way, cassette: Path, reads: str):
    with serving([whole(STREAMS["gemini"], kind="text/event-stream; charset=utf-8")]) as server:
        plain = way.get(
            httpx.HTTPTransport(verify=False)
            if way.name == "sync"
            else httpx.AsyncHTTPTransport(verify=False),
            server.url,
            reads,
        )
        recorded = way.get(way.record(cassette), server.url, reads)
    replayed = way.get(way.replay(cassette), server.url, reads)
    assert (plain.error, recorded.error, replayed.error) == (None, None, None)
    kind = type(plain.parts[0])
    assert kind().join(recorded.parts) == kind().join(replayed.parts) == kind().join(plain.parts)
    if reads in ("read", "iter_lines"):
        assert recorded.parts == replayed.parts == plain.parts


@pytest.mark.row("C-10")
def test_a_response_that_was_made_whole(way: Way, cassette: Path):
    """Mock transports make responses that would never ask their stream; they are recorded all the
    same.
    """
    mock = httpx.MockTransport(lambda request: httpx.Response(201, json={"a": 1}))
    recorded = way.get(way.record(cassette, mock), "https://llm.example/v1", "read", json={"b": 2})
    replayed = way.get(way.replay(cassette), "https://llm.example/v1", "read", json={"b": 2})
    assert (recorded.error, replayed.error) == (None, None)
    assert (replayed.status, replayed.body) == (recorded.status, recorded.body) == (201, b'{"a":1}')


@pytest.mark.row("C-10")
@pytest.mark.parametrize(
    "request_",
    [
        {"content": b"a\xffb"},
        {"data": {"a": "1"}},
        {"files": {"f": b"xy"}, "headers": {"content-type": "multipart/form-data; boundary=b"}},
    ],
)
def test_bodies_of_requests(way: Way, cassette: Path, request_: dict[str, Any]):
    with serving([whole({})]) as server:
        recorded = way.get(way.record(cassette), server.url, **request_)
        [seen] = server.requests
    replayed = way.get(way.replay(cassette), server.url, **request_)
    assert (recorded.error, replayed.error, replayed.body) == (None, None, b"{}")
    [interaction] = load(cassette.read_bytes(), "x").interactions
    assert body_bytes(interaction.request.body) == seen.partition(b"\r\n\r\n")[2]


@pytest.mark.row("C-09")
def test_the_clients_record_and_replay(drive: Drive, cassette: Path):
    """A plain call and a stream; on replay no server is there any more."""
    with serving(
        lambda number, request: (
            GOOD_STREAM
            if b"stream" in request.split(b"\r\n")[0]
            else [whole(text("Hello.", "STOP"))]
        )
    ) as server:
        recorded = drive.session(
            lambda door: (door.send(CALL), door.read()),
            http=_recorder(drive, cassette),
            base_url=server.url,
        )
    replayed = drive.session(
        lambda door: (door.send(CALL), door.read()),
        http=_player(drive, cassette),
        base_url=server.url,
    )
    for answer, streamed in (recorded, replayed):
        assert answer.text == "Hello."
        assert streamed.texts == ["Hel", "lo."]
        assert streamed.error is None
    assert replayed[0] == recorded[0]
    assert replayed[0].raw == recorded[0].raw
    assert "fake-key" not in cassette.read_text("utf-8")


@pytest.mark.row("C-09")
def test_errors_of_the_provider_are_replayed(drive: Drive, cassette: Path):
    """Two attempts that fail, one that succeeds: three interactions, played in the order in which
    they were sent.
    """
    busy = whole(
        {"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, 503, retry_after="0"
    )
    with serving(
        lambda number, request: [busy if number < 2 else whole(text("Hello.", "STOP"))]
    ) as server:
        recorded = drive.send(http=_recorder(drive, cassette), base_url=server.url)
    replayed = drive.send(http=_player(drive, cassette), base_url=server.url)
    assert recorded.text == replayed.text == "Hello."
    assert [
        (each["status"], each["headers"].get("retry-after")) for each in responses(cassette)
    ] == [(503, "0"), (503, "0"), (200, None)]


@pytest.mark.row("C-09")
def test_no_module_is_patched():
    """But for the option `--block-network` of the pytest plugin."""
    source = "".join(
        path.read_text("utf-8")
        for path in (Path(__file__).parents[3] / "wire" / "testing").glob("**/*.py")
        if path.name != "blocking.py" and "emulator" not in path.parts
    )
    assert "setattr(" not in source
    assert "patch(" not in source
    assert "import mock" not in source


@pytest.mark.row("C-09")
def test_wire_does_not_load_it():
    code = (
        "import sys, wire, wire.gemini; print([name for name in sys.modules if 'testing' in "
        "name and 'wire' in name])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


# --- the file -------------------------------------------------------------------------------------


def test_interactions_stand_in_the_order_of_sending(tmp_path: Path):
    """The first call is closed last."""
    path = tmp_path / "new" / "folder" / "x.cassette.json"
    with serving(lambda number, request: [whole({"n": number})]) as server:
        with httpx.Client(transport=Record(httpx.HTTPTransport(verify=False), path)) as client:
            with client.stream("GET", f"{server.url}/first") as first:
                with client.stream("GET", f"{server.url}/second") as second:
                    second.read()
                first.read()
    assert [each["body"]["json"] for each in responses(path)] == [{"n": 0}, {"n": 1}]
    assert [each.name for each in path.parent.iterdir()] == ["x.cassette.json"], (
        "no temporary file is left"
    )


def test_an_earlier_file_is_replaced(cassette: Path, way: Way):
    cassette.write_text("anything")
    with serving([whole({})]) as server:
        way.get(way.record(cassette), server.url)
    assert len(responses(cassette)) == 1


def test_a_second_recording_of_the_same_traffic_is_the_same_file(cassette: Path, way: Way):
    texts = []
    with serving(
        [
            whole(
                BODIES["gemini"].encode() if isinstance(BODIES["gemini"], str) else BODIES["gemini"]
            )
        ]
    ) as server:
        for _ in range(2):
            way.get(way.record(cassette), server.url, json={"a": 1})
            texts.append(cassette.read_bytes())
    assert texts[0] == texts[1]


def test_a_file_that_cannot_be_written_is_told_after_the_body(way: Way, tmp_path: Path):
    (tmp_path / "x").write_text("")
    with serving([whole({"a": 1})]) as server:
        got = way.get(way.record(tmp_path / "x" / "y.json"), server.url)
    assert got.body == b'{"a": 1}'
    assert type(got.error) is CassetteError
    assert str(got.error).endswith(
        ("y.json: cannot be written: File exists", "y.json: cannot be written: Not a directory")
    )


def test_a_write_that_fails_leaves_no_temporary_file(way: Way, tmp_path: Path):
    (tmp_path / "x.cassette.json").mkdir()
    with serving([whole({"a": 1})]) as server:
        got = way.get(way.record(tmp_path / "x.cassette.json"), server.url)
    assert str(got.error).endswith("x.cassette.json: cannot be written: Is a directory")
    assert [path.name for path in tmp_path.iterdir()] == ["x.cassette.json"]


def test_the_clients_tell_that_a_file_cannot_be_written(drive: Drive, tmp_path: Path):
    """An OSError would be a lost connection, and be tried again."""
    (tmp_path / "x").write_text("")
    with serving([whole(text("Hello.", "STOP"))]) as server:
        with pytest.raises(CassetteError, match="cannot be written") as caught:
            drive.send(http=_recorder(drive, tmp_path / "x" / "y.json"), base_url=server.url)
        assert len(server.requests) == 1
    assert json.loads(caught.value.raw) == text("Hello.", "STOP")


def test_a_request_without_a_response_is_not_recorded(way: Way, cassette: Path):
    with serving(
        lambda number, request: ["close"] if number == 0 else [whole({"n": number})]
    ) as server:
        lost, good = way.gets(way.record(cassette), [{"url": server.url}] * 2)
    assert type(lost.error) is httpx.RemoteProtocolError
    assert good.error is None
    assert len(responses(cassette)) == 1


def test_threads_share_a_recorder_and_a_player(cassette: Path):
    def run(client: httpx.Client) -> list[Any]:
        found: list[Any] = [None] * 40

        def one(number: int) -> None:
            found[number] = client.post(
                f"{server.url}/{number % 20}", json={"n": number % 20}
            ).json()

        threads = [threading.Thread(target=one, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        return found

    with serving(lambda number, request: [whole({"path": request.split()[1].decode()})]) as server:
        with httpx.Client(transport=Record(httpx.HTTPTransport(verify=False), cassette)) as client:
            recorded = run(client)
    with httpx.Client(transport=Replay(cassette)) as client:
        assert run(client) == recorded == [{"path": f"/{number % 20}"} for number in range(40)]


def test_what_is_no_transport_is_refused(tmp_path: Path):
    with pytest.raises(
        ConfigurationError, match="inner: expected an httpx transport with handle_request"
    ):
        Record(httpx.AsyncHTTPTransport(verify=False), tmp_path / "x")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="handle_async_request"):
        AsyncRecord(httpx.HTTPTransport(verify=False), tmp_path / "x")  # type: ignore[arg-type]


def test_a_missing_cassette_says_how_to_make_it(way: Way, cassette: Path):
    with pytest.raises(CassetteError) as caught:
        way.replay(cassette)
    prefix = "" if way.name == "sync" else "Async"
    assert str(caught.value) == (
        f"{cassette}: cannot be read: No such file or directory; to record it again, "
        f"call it once with http={prefix}Record({prefix}Lanes(), '{cassette}')"
    )


def test_a_client_says_what_it_sends_through(cassette: Path):
    with Client(
        "gemini", api_key="fake-key", http=Record(httpx.HTTPTransport(verify=False), cassette)
    ) as client:
        assert client.describe()["http"] == "Record"
    assert not cassette.exists(), "nothing was sent, nothing is written"


@pytest.mark.row("C-06")
def test_times_of_chunks_are_recorded_when_asked_for(
    way: Way, cassette: Path, monkeypatch: pytest.MonkeyPatch
):
    clock = itertools.count(start=100.0, step=0.04)
    monkeypatch.setattr(
        "wire.testing.cassette.copying.time", SimpleNamespace(monotonic=lambda: next(clock))
    )
    make: Any = Cassette if way.name == "sync" else AsyncCassette
    chunks = [b"data: 1\n\n", b"data: 2\n\n", b"data: 3\n\n"]

    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(chunks)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for each in chunks:
                yield each

    def inner(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    texts = []
    for timing in (True, False, False):
        transport: Any = httpx.MockTransport(inner)
        way.get(make(cassette, "rewrite", inner=transport, timing=timing), "https://llm.example/")
        texts.append(cassette.read_text("utf-8"))
    assert '"times": [40, 40, 40],\n' in texts[0]
    assert '"started": 0,\n' in texts[0]
    assert texts[1] == texts[2]
    assert "times" not in texts[1]
    assert "started" not in texts[1]


@pytest.mark.row("C-06")
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_chunks_that_are_no_events_are_recorded_and_replayed(way: Way, cassette: Path, coding: str):
    text = b"data: 1\n\ndata: 2\n\n"
    data = gzip.compress(text) if coding == "gzip" else text
    chunks = [data[:3], data[3:]]

    class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(chunks)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for each in chunks:
                yield each

    headers = {"content-type": "text/event-stream", "content-encoding": coding}
    inner: Any = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=Body()))
    make: Any = Cassette if way.name == "sync" else AsyncCassette
    url = "https://llm.example/"
    way.get(make(cassette, "rewrite", inner=inner, timing=True), url)
    stored = cassette.read_text("utf-8")
    assert ('"chunks": [3, 15],\n' in stored) is (coding == "identity")
    events = [b"data: 1\n\n", b"data: 2\n\n"]
    expected = [text[:3], text[3:]] if coding == "identity" else events
    assert way.get(way.replay(cassette), url).parts == expected
    # An edited body has other lengths: then its events are the chunks.
    cassette.write_text(stored.replace('"data": "1"', '"data": "12"'), "utf-8")
    assert way.get(way.replay(cassette), url).parts == [b"data: 12\n\n", events[1]]


@pytest.mark.row("C-06")
def test_a_request_has_its_time_since_the_first_one(
    way: Way, cassette: Path, monkeypatch: pytest.MonkeyPatch
):
    now = 100.0
    monkeypatch.setattr(
        "wire.testing.cassette.copying.time", SimpleNamespace(monotonic=lambda: now)
    )
    make: Any = Cassette if way.name == "sync" else AsyncCassette

    def respond(request: httpx.Request) -> httpx.Response:
        nonlocal now
        now += 0.5
        return httpx.Response(200, text="[1]")

    inner: Any = httpx.MockTransport(respond)
    url = "https://llm.example/"
    http = make(cassette, "rewrite", inner=inner, timing=True)
    way.get(http, f"{url}1")
    now += 2
    way.get(http, f"{url}2")

    def timed() -> list[tuple[Any, Any]]:
        loaded = load(cassette.read_bytes(), "x").interactions
        return [(each.started, each.response.times) for each in loaded]

    assert timed() == [(0, [500]), (2500, [500])]
    # What is added later follows the time of what is there.
    way.get(make(cassette, "new", inner=inner, timing=True), f"{url}3")
    assert timed() == [(0, [500]), (2500, [500]), (3000, [500])]
