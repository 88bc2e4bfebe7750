"""Jobs of several calls: uploads over a real connection that is lost, waiting, a cache that is
lost, and flows that go wrong.
"""

from __future__ import annotations

import asyncio
import io
import json
import re
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import pytest

from tests.http.drive import CALL, QUICK, Drive, of_one_loop
from tests.http.loopback import ANSWER, Loopback, Step, loopback, whole
from tests.joined import joined
from wire import AsyncClient, Client, errors, gemini
from wire.core.exchange import Pause
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.testing import AsyncRecord, AsyncReplay, Record, Replay

DATA = b"0123456789"
KEY = "fake-canary-3f9c1e7b5a"
SESSION = "upload_id=fake-session-77"


class Storage:
    """Google's side of an upload: what has arrived, and what is to go wrong with which piece.

    `trouble` maps the number of a piece (from 1 on) to how many of its bytes arrive and what is
    played in place of an answer.
    """

    def __init__(
        self, trouble: dict[int, tuple[int, Sequence[Step]]] | None = None, url: str = ""
    ) -> None:
        self.arrived = b""
        self.pieces = 0
        self.commands: list[str] = []
        self.trouble = trouble or {}
        self.url = url
        self.server: Loopback | None = None
        self.states = ["PROCESSING", "PROCESSING", "ACTIVE"]

    def __call__(self, number: int, request: bytes) -> Sequence[Step]:
        top, _, body = request.partition(b"\r\n\r\n")
        heads = dict(line.split(": ", 1) for line in top.decode().lower().split("\r\n")[1:])
        path = top.split(b" ")[1].decode()
        assert self.server is not None
        if path == "/upload/v1beta/files":
            url = self.url or f"{self.server.url}/session?{SESSION}"
            head = {
                "x_goog_upload_url": url,
                "x_goog_upload_status": "active",
                "x_goog_upload_chunk_granularity": "4",
            }
            return [whole(b"", kind="text/plain", **head)]
        if path == "/v1beta/files/abc":
            return [whole({"name": "files/abc", "state": self.states.pop(0)})]
        assert path == f"/session?{SESSION}"
        command = heads["x-goog-upload-command"]
        self.commands.append(command)
        if command == "query":
            return [self.state(final="finalize" in self.commands[-2] and self.arrived == DATA)]
        self.pieces += 1
        assert int(heads["x-goog-upload-offset"]) == len(self.arrived)
        if self.pieces in self.trouble:
            taken, steps = self.trouble[self.pieces]
            self.arrived += body[:taken]
            return steps
        self.arrived += body
        return [self.state(final="finalize" in command)]

    def state(self, *, final: bool) -> bytes:
        if final:
            return whole(
                {"file": {"name": "files/abc", "state": "PROCESSING"}}, x_goog_upload_status="final"
            )
        return whole(
            b"", x_goog_upload_status="active", x_goog_upload_size_received=str(len(self.arrived))
        )


def serve(storage: Storage) -> Any:
    made = loopback(storage)

    class Serving:
        def __enter__(self) -> Loopback:
            storage.server = made.__enter__()
            return storage.server

        def __exit__(self, *error: Any) -> None:
            made.__exit__(*error)

    return Serving()


def uploading(data: Any = DATA, **options: Any) -> Any:
    return gemini.upload_file(
        data, **{"mime_type": "text/plain", "chunk": 4, "retry": QUICK, **options}
    )


# --- uploads --------------------------------------------------------------------------------------


def test_a_path_is_uploaded(drive: Drive, tmp_path: Path) -> None:
    path, storage = tmp_path / "digits.txt", Storage()
    path.write_bytes(DATA)
    with serve(storage) as server:
        file = drive.run(gemini.upload_file(path, chunk=4), base_url=server.url, api_key=KEY)
    assert (file.name, storage.arrived) == ("files/abc", DATA)
    assert server.requests[0].endswith(b'\r\n\r\n{"file":{"displayName":"digits.txt"}}')
    assert b"x-goog-upload-header-content-type: text/plain\r\n" in server.requests[0]


def test_upload_in_pieces(drive: Drive) -> None:
    storage, seen = Storage(), []
    with serve(storage) as server:
        flow = uploading(
            io.BytesIO(DATA), display_name="digits", progress=lambda *numbers: seen.append(numbers)
        )
        file = drive.run(
            flow, base_url=server.url, api_key=KEY, headers={"x-team": "a", "x-other-token": KEY}
        )
    assert (file.name, storage.arrived, storage.commands) == (
        "files/abc",
        DATA,
        ["upload", "upload", "upload, finalize"],
    )
    assert seen == [(4, 10), (8, 10), (10, 10)]
    start, *pieces = server.requests
    assert start.startswith(b"POST /upload/v1beta/files HTTP/1.1\r\n")
    assert f"x-goog-api-key: {KEY}".encode() in start
    assert start.endswith(b'\r\n\r\n{"file":{"displayName":"digits"}}')
    assert [piece.rpartition(b"\r\n\r\n")[2] for piece in pieces] == [b"0123", b"4567", b"89"]
    for piece in pieces:
        assert KEY.encode() not in piece
        assert b"x-team" not in piece
        names = {
            line.split(b":")[0].lower()
            for line in piece.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:]
        }
        assert names == {
            b"host",
            b"user-agent",
            b"accept-encoding",
            b"content-length",
            b"x-goog-upload-command",
            b"x-goog-upload-offset",
        }
    assert server.connections == 1


@joined("taken", [0, 2, 4])
@joined("step", ["reset", "close"])
def test_a_lost_connection_is_resumed_where_it_broke(drive: Drive, step: str, taken: int) -> None:
    storage, seen = Storage({2: (taken, [step])}), []
    with serve(storage) as server:
        file = drive.run(
            uploading(progress=lambda *numbers: seen.append(numbers)), base_url=server.url
        )
    assert (file.name, storage.arrived) == ("files/abc", DATA)
    again = [] if taken == 4 else ["upload"]
    assert storage.commands == ["upload", "upload", "query", *again, "upload, finalize"]
    assert seen == sorted({(4, 10), (4 + taken, 10), (8, 10), (10, 10)})


def test_a_lost_last_answer(drive: Drive) -> None:
    storage = Storage({3: (2, ["reset"])})
    with serve(storage) as server:
        assert drive.run(uploading(), base_url=server.url).name == "files/abc"
    assert storage.commands == ["upload", "upload", "upload, finalize", "query"]


def test_a_server_in_trouble(drive: Drive) -> None:
    busy = whole({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}, 503)
    storage = Storage({1: (0, [busy]), 2: (3, [busy])})
    with serve(storage) as server:
        assert drive.run(uploading(), base_url=server.url).name == "files/abc"
    assert storage.arrived == DATA
    assert storage.commands[:5] == ["upload", "query", "upload", "query", "upload"]


def test_it_gives_up(drive: Drive) -> None:
    """A piece is sent once each time: repeating it without asking would be something else."""
    storage = Storage({number: (0, ["reset"]) for number in range(1, 9)})
    with serve(storage) as server, pytest.raises(errors.ConnectionLost) as caught:
        drive.run(uploading(), base_url=server.url)
    assert storage.commands == ["upload", "query", "upload", "query", "upload"]
    assert (caught.value.provider, caught.value.attempts) == ("gemini", 1)


@joined(
    "url",
    [
        "http://upload.example/s",
        "http://10.0.0.1/s?upload_id=fake",
        "ftp://127.0.0.1/s",
        "//127.0.0.1/s",
    ],
)
def test_a_foreign_place_without_tls_is_refused(drive: Drive, url: str) -> None:
    with (
        serve(Storage(url=url)) as server,
        pytest.raises(errors.StreamInvalid, match="of an upload is refused") as caught,
    ):
        drive.run(uploading(), base_url=server.url, api_key=KEY)
    assert len(server.requests) == 1
    assert "upload_id" not in str(caught.value)


@pytest.mark.row("R-31")
def test_an_upload_into_a_private_network_is_refused(drive: Drive) -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, headers={"x-goog-upload-url": "https://169.254.169.254/latest"})

    with pytest.raises(errors.ConfigurationError, match=r"169\.254\.169\.254 is in a private"):
        drive.run(uploading(), http=httpx.MockTransport(answer))
    assert [request.url.host for request in requests] == ["generativelanguage.googleapis.com"]


def test_a_foreign_place_with_tls_gets_the_bytes_and_no_key(drive: Drive) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if request.url.host == "elsewhere.example":
            return httpx.Response(
                200, json={"file": {"name": "files/abc"}}, headers={"x-goog-upload-status": "final"}
            )
        return httpx.Response(
            200, headers={"x-goog-upload-url": "https://elsewhere.example/s?upload_id=a%2Fb%20c"}
        )

    file = drive.run(
        uploading(b"0123"),
        http=httpx.MockTransport(answer),
        api_key=KEY,
        headers={"authorization": f"Bearer {KEY}"},
    )
    assert file.name == "files/abc"
    assert [str(request.url) for request in asked] == [
        "https://generativelanguage.googleapis.com/upload/v1beta/files",
        "https://elsewhere.example/s?upload_id=a%2Fb%20c",
    ]
    assert [KEY in str(request.headers.raw) for request in asked] == [True, False]


def test_a_redirect_is_not_followed(drive: Drive) -> None:
    storage = Storage({1: (0, [whole(b"", 302, location="http://127.0.0.1:1/other")])})
    with (
        serve(storage) as server,
        pytest.raises(errors.APIError, match="redirects are not followed"),
    ):
        drive.run(uploading(), base_url=server.url)
    assert len(server.requests) == 2


def test_progress_that_raises_ends_the_upload(drive: Drive) -> None:
    def stop(arrived: int, whole: int) -> None:
        raise KeyError("enough")

    storage = Storage()
    with serve(storage) as server, pytest.raises(KeyError, match="enough"):
        drive.run(uploading(progress=stop), base_url=server.url)
    assert storage.arrived == b"0123"


def test_wait_until_it_is_active(drive: Drive) -> None:
    storage = Storage()

    def work(door: Any) -> Any:
        return door.run(gemini.wait_for_file(door.run(uploading()), every=0.001))

    with serve(storage) as server:
        assert drive.session(work, base_url=server.url) == gemini.File(
            name="files/abc", state="ACTIVE"
        )
    assert storage.states == []


# --- cancelling -----------------------------------------------------------------------------------


@joined("backend", ["asyncio", "trio"])
@joined("native", [False, True], ids=["scope", "task"])
def test_a_cancelled_upload_leaves_no_lane_open(backend: str, native: bool) -> None:
    if native and backend == "trio":
        return
    lanes, closed = AsyncLanes(limit=1), []
    storage = Storage({2: (0, ["hold"])})

    def watched() -> Generator[Any, Any, Any]:
        try:
            return (yield from uploading())
        finally:
            closed.append(True)

    async def main(server: Loopback) -> None:
        async with AsyncClient("gemini", api_key=KEY, base_url=server.url, http=lanes) as client:
            arrived = anyio.Event()
            storage.trouble[2] = (0, _Telling(arrived, anyio.lowlevel.current_token()))  # type: ignore[assignment]
            if native:
                task = asyncio.ensure_future(client.run(watched()))
                await arrived.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(client.run, watched())
                    await arrived.wait()
                    tasks.cancel_scope.cancel()
            used = of_one_loop(lanes)
            assert (used.limiter.value, len(used.busy), closed) == (1, 0, [True])
            storage.trouble, storage.arrived = {}, b""
            with anyio.fail_after(10):
                assert (await client.run(uploading())).name == "files/abc"

    with serve(storage) as server:
        anyio.run(main, server, backend=backend)


class _Telling(list[Step]):
    """Steps that tell an event loop when they begin to be played: then the request has been
    read.
    """

    def __init__(self, event: anyio.Event, token: Any) -> None:
        super().__init__(["hold"])
        self._event, self._token = event, token

    def __iter__(self) -> Any:
        anyio.from_thread.run_sync(self._event.set, token=self._token)
        return super().__iter__()


def test_an_interrupted_flow_is_closed() -> None:
    """As Ctrl-C does it on threads."""
    closed: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        raise KeyboardInterrupt

    def flow() -> Generator[Any, Any, None]:
        try:
            yield CALL
        finally:
            closed.append("closed")

    lanes = Lanes(limit=1)
    with (
        Client("gemini", api_key=KEY, http=httpx.MockTransport(answer)) as client,
        pytest.raises(KeyboardInterrupt),
    ):
        client.run(flow())
    assert closed == ["closed"]
    lanes.close()


# --- flows of one's own ---------------------------------------------------------------------------


def test_answers_errors_and_pauses_go_into_the_flow(drive: Drive) -> None:
    def flow() -> Generator[Any, Any, list[Any]]:
        told: list[Any] = [(yield CALL).text, (yield Pause(0.001))]
        try:
            yield CALL
        except errors.NotFoundError as error:
            told.append(error.provider)
        return told

    def script(number: int, request: bytes) -> list[bytes]:
        gone = {"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}
        return [whole(ANSWER) if number == 0 else whole(gone, 404)]

    with loopback(script) as server:
        assert drive.run(flow(), base_url=server.url) == ["Hello.", None, "gemini"]


def test_what_a_flow_does_not_catch_is_raised(drive: Drive) -> None:
    def flow() -> Generator[Any, Any, None]:
        yield CALL

    with loopback(
        [whole({"error": {"code": 404, "message": "no", "status": "NOT_FOUND"}}, 404)]
    ) as server:
        with pytest.raises(errors.NotFoundError):
            drive.run(flow(), base_url=server.url)


def empty() -> Generator[Any, Any, int]:
    return 5
    yield


def used() -> Any:
    flow = gemini.wait_for_file("abc")
    next(flow)
    return flow


def odd() -> Generator[Any, Any, None]:
    yield "GET /files"


@joined(
    ("flow", "message"),
    [
        (lambda: CALL, "flow: expected a generator of calls, not Call; use send() for a call"),
        (lambda: None, "flow: expected a generator of calls, not NoneType"),
        (used, "flow: it was run already"),
        (odd, "flow: expected it to yield calls and pauses, not str"),
    ],
    ids=["call", "none", "used", "odd"],
)
def test_what_is_no_flow(drive: Drive, flow: Any, message: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=re.escape(message)):
        drive.run(flow())


def test_a_flow_that_asks_nothing(drive: Drive) -> None:
    assert drive.run(empty()) == 5


def test_vertex_is_told_before_anything_is_sent(drive: Drive) -> None:
    with pytest.raises(
        errors.ConfigurationError, match="this host has no endpoint POST /upload/files"
    ):
        drive.run(uploading(), provider="gemini@vertex", project="p", location="global")


# --- the context cache ----------------------------------------------------------------------------


def test_a_context_cache_over_its_whole_life(drive: Drive) -> None:
    """Counted, made, used, lost, the request sent again whole, made anew, deleted."""
    gone = {
        "error": {
            "code": 403,
            "message": "CachedContent not found (or permission denied)",
            "status": "PERMISSION_DENIED",
        }
    }
    lost = [False]

    def script(number: int, request: bytes) -> list[bytes]:
        line, body = request.split(b"\r\n")[0].decode(), request.partition(b"\r\n\r\n")[2]
        if "countTokens" in line:
            return [whole({"totalTokens": 4096})]
        if line.startswith("POST /v1beta/cachedContents "):
            return [whole({"name": f"cachedContents/c{number}"})]
        if line.startswith("DELETE"):
            return [whole({})]
        if b"cachedContent" in body and not lost[0]:
            lost[0] = True
            return [whole(gone, 403)]
        return [whole(ANSWER)]

    cache = gemini.ContextCache(
        "m",
        gemini.GenerateContentRequest(system_instruction=gemini.contents("Be brief.")[0]),
        ttl=600,
    )
    ask = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))

    def work(door: Any) -> list[str]:
        door.run(cache.tick(0))
        texts = [door.run(cache.generate(ask)).text]
        door.run(cache.tick(1))
        texts.append(door.run(cache.generate(ask)).text)
        door.run(cache.close())
        return texts

    with loopback(script) as server:
        assert drive.session(work, base_url=server.url) == ["Hello.", "Hello."]
    lines = [
        request.split(b" HTTP")[0].decode().replace("/v1beta", "") for request in server.requests
    ]
    assert lines == [
        "POST /models/m:countTokens",
        "POST /cachedContents",
        "POST /models/m:generateContent",
        "POST /models/m:generateContent",
        "POST /cachedContents",
        "POST /models/m:generateContent",
        "DELETE /cachedContents/c4",
    ]
    bodies = [
        json.loads(request.partition(b"\r\n\r\n")[2])
        for request in server.requests
        if b"generateContent" in request[:60]
    ]
    assert [sorted(set(body) - {"contents"}) for body in bodies] == [
        ["cachedContent"],
        ["systemInstruction"],
        ["cachedContent"],
    ]


def test_an_upload_is_replayed_and_its_url_is_not_written(
    drive: Drive, tmp_path: Path
) -> None:  # C-11
    path = tmp_path / "x.cassette.json"
    sync = drive.name == "sync"
    with serve(Storage()) as server:
        recorded = drive.run(
            uploading(),
            base_url=server.url,
            http=Record(Lanes(), path) if sync else AsyncRecord(AsyncLanes(), path),
        )
        replayed = drive.run(
            uploading(), base_url=server.url, http=Replay(path) if sync else AsyncReplay(path)
        )
    assert replayed == recorded
    text = path.read_text("utf-8")
    assert SESSION.partition("=")[2] not in text
    assert (
        text.count("upload_id=***") == 4
    )  # in the answer that gave it, and where the three pieces went
