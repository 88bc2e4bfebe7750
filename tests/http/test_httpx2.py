"""Transports and clients of httpx2 under both clients: as those of httpx."""

from __future__ import annotations

import functools
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import httpx2
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, STREAM, chunked, event, loopback, text, whole
from wire import AsyncClient, Client, Timeouts, answer_account, errors
from wire.testing import AsyncRecord, AsyncReplay, Record, Replay

SHORT = Timeouts(connect=5, first_byte=0.2, idle=0.2)


@pytest.fixture(params=["transport", "client"])
def http(drive: Drive, request: pytest.FixtureRequest) -> Any:
    """A new one for each client, which closes it. Certificates would take 30 ms to read."""
    kinds = {
        ("sync", "transport"): httpx2.HTTPTransport,
        ("sync", "client"): httpx2.Client,
        ("async", "transport"): httpx2.AsyncHTTPTransport,
        ("async", "client"): httpx2.AsyncClient,
    }
    kind = kinds["sync" if drive.name == "sync" else "async", request.param]
    return functools.partial(kind, verify=False)


def whichever(number: int, request: bytes) -> list[Any]:
    return GOOD_STREAM if b":stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]


def test_whole_and_streamed(drive: Drive, http: Any) -> None:
    def work(door: Any) -> list[str]:
        return [door.send().text, *door.read().texts, door.send().text]

    with loopback(whichever) as server:
        texts = drive.session(work, base_url=server.url, http=http())
    assert texts == ["Hello.", "Hel", "lo.", "Hello."]
    assert server.connections == 1
    assert server.requests[0].endswith(b"\r\n\r\n" + CALL.body)
    assert b"\r\nx-goog-api-key: fake-key\r\n" in server.requests[0]


def test_left_early(drive: Drive, http: Any) -> None:
    script = [STREAM, event(text("Hel")), "hold"]
    with loopback(lambda n, request: script if n == 0 else whichever(n, request)) as server:

        def work(door: Any) -> list[str]:
            return [*door.read(most=1).texts, door.send().text]

        assert drive.session(work, base_url=server.url, http=http()) == ["Hel", "Hello."]


@pytest.mark.parametrize(
    ("steps", "kind", "cause"),
    [
        (["close"], errors.ConnectionLost, httpx.RemoteProtocolError),
        (["reset"], errors.ConnectionLost, httpx.ReadError),
        ([b"garbage\r\n\r\n"], errors.ConnectionLost, httpx.RemoteProtocolError),
        ([whole({"error": {"message": "no"}}, 404)], errors.NotFoundError, None),
        ([whole(b"", 302, location="https://elsewhere.example/")], errors.APIError, None),
        (["hold"], errors.FirstByteClock, None),
    ],
    ids=["closed", "reset", "garbage", "404", "redirect", "no head"],
)
def test_errors(drive: Drive, http: Any, steps: list[Any], kind: type, cause: Any) -> None:
    clocks = SHORT if kind is errors.FirstByteClock else Timeouts()
    with loopback(steps) as server, pytest.raises(errors.WireError) as caught:
        drive.send(base_url=server.url, http=http(), timeouts=clocks, retry=None)
    assert type(caught.value) is kind
    if cause is not None:
        assert type(caught.value.__cause__) is cause
        assert "httpx2" in type(caught.value.__cause__.__cause__).__module__


def test_a_stream_that_breaks(drive: Drive, http: Any) -> None:
    with loopback([STREAM, event(text("Hel")), b"zz\r\n"]) as server:
        result = drive.read(base_url=server.url, http=http())
    assert type(result.error) is errors.ConnectionLost
    assert result.error.partial.text == "Hel"


@pytest.mark.parametrize("piece", [chunked(b": x\r\n"), b"a"], ids=["comments", "chunk size"])
def test_the_idle_clock(drive: Drive, http: Any, piece: bytes) -> None:
    over = threading.Event()
    sent = 0

    def script(number: int, request: bytes) -> Iterator[bytes]:
        nonlocal sent
        yield STREAM + event(text("Hel")) + (b"5;" if piece == b"a" else b"")
        while sent < 300 and not over.wait(0.01):
            yield piece
            sent += 1

    with loopback(script) as server:
        result = drive.read(base_url=server.url, http=http(), timeouts=SHORT)
        over.set()
    assert type(result.error) is errors.IdleClock
    assert sent < 150


def test_no_connection(drive: Drive, http: Any) -> None:
    with pytest.raises(errors.ConnectionLost, match="ConnectError"):
        drive.send(base_url="http://127.0.0.1:1", http=http(), retry=None)


def test_retried(drive: Drive, http: Any) -> None:
    with loopback(lambda n, _: [whole({}, 503) if n == 0 else whole(ANSWER)]) as server:
        account = answer_account(drive.send(base_url=server.url, http=http()))
    assert account is not None
    assert account.attempts == 2


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_calls_leave_it_usable(backend: str) -> None:
    """With a pool of one: each cancelled call gives its connection back."""
    limits = httpx2.Limits(max_connections=1)

    async def main(url: str) -> str:
        http = httpx2.AsyncHTTPTransport(verify=False, limits=limits)
        async with AsyncClient(
            "gemini", api_key="fake-key", base_url=url, http=http, retry=None
        ) as client:
            for number in range(60):
                with anyio.move_on_after(number * 0.0001):
                    if number % 2:
                        await client.send(CALL)
                    else:
                        async with client.stream(STREAM_CALL) as chunks:
                            await chunks.result()
            return (await client.send(CALL)).text

    with loopback(whichever) as server:
        assert anyio.run(main, server.url, backend=backend) == "Hello."


def test_sync_and_async_are_not_mixed_up() -> None:
    for client, wrong in (
        (Client, httpx2.AsyncHTTPTransport(verify=False)),
        (Client, httpx2.AsyncClient(verify=False)),
        (AsyncClient, httpx2.HTTPTransport(verify=False)),
        (AsyncClient, httpx2.Client(verify=False)),
    ):
        with pytest.raises(errors.ConfigurationError, match="http: expected an httpx"):
            client("gemini", api_key="fake-key", http=wrong)  # type: ignore[operator]


def test_a_recording(drive: Drive, tmp_path: Path) -> None:  # C-09
    path = tmp_path / "x.cassette.json"
    if drive.name == "sync":
        http: Any = Record(httpx2.HTTPTransport(verify=False), path)
    else:
        http = AsyncRecord(httpx2.AsyncHTTPTransport(verify=False), path)
    with loopback(whichever) as server:
        drive.read(base_url=server.url, http=http)
        replay = Replay(path) if drive.name == "sync" else AsyncReplay(path)
        assert drive.read(base_url=server.url, http=replay).texts == ["Hel", "lo."]
    assert len(server.requests) == 1


def test_it_is_never_imported() -> None:
    code = "import sys, wire; wire.Client('gemini'); print('httpx2' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "False"
