"""Direct connections, in threads and on asyncio: large bodies, addresses, TLS, and when they serve.

What holds for every kind of connection is tested elsewhere in this folder, on direct connections.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import respx

from tests.http.drive import CALL, EVERY, Drive, not_on_httpx2, not_on_pools
from tests.http.loopback import ANSWER, LAST, Serve, loopback, serving, whole
from wire import AsyncClient, Client, Timeouts, errors, gemini
from wire.http import async_direct, direct, network
from wire.http.async_lanes import AsyncLanes
from wire.http.http11 import ResponseReader
from wire.http.lanes import Lanes

STYLES = ("threads", "asyncio")
DRIVES = EVERY[:2]
MiB = 1024 * 1024

both_styles = pytest.mark.parametrize("style", STYLES)
both_drives = pytest.mark.parametrize("drive", DRIVES)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


@contextlib.contextmanager
def no_descriptor_left() -> Iterator[None]:
    before = descriptors()
    yield
    end = time.monotonic() + 5  # the server closes its side a little later
    while descriptors() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert descriptors() <= before


def ask(style: str, url: str, **options: Any) -> httpx.Response:
    """The response to one request of httpx's own client, with direct lanes below.

    `content` may be a function that returns an iterator of the pieces of a body.
    """
    timeout = httpx.Timeout(**{"timeout": 10, **options.pop("timeout", {})})
    content = options.pop("content", b"")

    async def pieces() -> AsyncIterator[bytes]:
        for each in content():
            yield each

    async def main() -> httpx.Response:
        lanes = AsyncLanes(connections="direct")
        body = pieces() if callable(content) else content
        async with httpx.AsyncClient(transport=lanes, timeout=timeout) as client:
            response = await client.post(url, content=body, **options)
        await asyncio.sleep(0)
        return response

    if style == "asyncio":
        return asyncio.run(main())
    with httpx.Client(transport=Lanes(connections="direct"), timeout=timeout) as client:
        body = content() if callable(content) else content
        return client.post(url, content=body, **options)


def head_of(peer: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = peer.recv(65536)
        assert piece
        data += piece
    return data


def then(*steps: bytes | threading.Event | None) -> Serve:
    """Read a head, then send, or wait for an event; `None` reads until the client closes."""

    def serve(peer: socket.socket) -> None:
        head_of(peer)
        for step in steps:
            if step is None:
                while peer.recv(65536):
                    pass
            elif isinstance(step, bytes):
                peer.sendall(step)
            else:
                step.wait(20)
        peer.close()

    return serve


# --- large requests -------------------------------------------------------------------------------

LARGE = gemini.generate_content(
    "m", gemini.GenerateContentRequest(contents=gemini.contents("x" * 20 * MiB))
)
TOO_LARGE = whole({"error": {"message": "too large"}}, 413)
PIECE = b"x" * 32 * 1024
"""Smaller than what is sent without looking for a response."""


def many_pieces() -> Iterator[bytes]:
    for _ in range(20 * MiB // len(PIECE)):
        yield PIECE


@both_drives
def test_an_early_answer_to_a_large_body(drive: Drive) -> None:
    """The server reads no further. The answer is returned, and the rest is not sent."""
    over = threading.Event()
    with serving(then(TOO_LARGE, over)) as (port, _):
        with pytest.raises(errors.APIError, match="too large") as caught:
            url = f"http://127.0.0.1:{port}"
            drive.send(LARGE, base_url=url, http="direct", retry=None)
        over.set()
    assert caught.value.status == 413


@both_drives
def test_an_early_answer_over_tls(drive: Drive, trusted: Path) -> None:
    over = threading.Event()
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(str(trusted))
    serve = then(TOO_LARGE, over)

    def secured(peer: socket.socket) -> None:
        with tls.wrap_socket(peer, server_side=True, suppress_ragged_eofs=True) as talk:
            serve(talk)

    with serving(secured) as (port, _):
        with pytest.raises(errors.APIError, match="too large"):
            url = f"https://127.0.0.1:{port}"
            drive.send(LARGE, base_url=url, http="direct", retry=None)
        over.set()


@both_styles
def test_an_early_answer_to_a_body_in_pieces(style: str) -> None:
    over, sent = threading.Event(), []

    def pieces() -> Iterator[bytes]:
        for each in many_pieces():
            sent.append(len(each))
            yield each

    with serving(then(TOO_LARGE, over)) as (port, _):
        response = ask(style, f"http://127.0.0.1:{port}", content=pieces)
        over.set()
    assert response.status_code == 413
    assert sum(sent) < 20 * MiB


@both_drives
def test_a_connection_that_closes_while_the_body_is_sent(drive: Drive) -> None:
    with serving(then()) as (port, connections):
        with pytest.raises(errors.ConnectionLost) as caught:
            url = f"http://127.0.0.1:{port}"
            drive.send(LARGE, base_url=url, http="direct", retry=None)
    assert (caught.value.attempts, len(connections)) == (1, 1)


@both_drives
def test_a_large_body_arrives(drive: Drive) -> None:
    with loopback([whole(ANSWER)]) as server:
        answer = drive.send(LARGE, base_url=server.url, http="direct")
    assert answer.text == "Hello."
    assert server.requests[0].endswith(b"\r\n\r\n" + LARGE.body)


@both_styles
def test_a_body_in_chunks(style: str) -> None:
    received: list[bytes] = []

    def serve(peer: socket.socket) -> None:
        data = head_of(peer)
        while not data.endswith(LAST):
            data += peer.recv(65536)
        received.append(data)
        peer.sendall(whole({}))

    with serving(serve) as (port, _):
        content = lambda: iter([b"Hel", b"", b"lo", PIECE * 4])  # noqa: E731
        assert ask(style, f"http://127.0.0.1:{port}", content=content).status_code == 200
    head, _, body = received[0].partition(b"\r\n\r\n")
    assert b"transfer-encoding: chunked" in head.lower()
    assert body == b"3\r\nHel\r\n2\r\nlo\r\n20000\r\n" + PIECE * 4 + b"\r\n" + LAST


# --- Expect: 100-continue -------------------------------------------------------------------------

EXPECT = {"headers": {"expect": "100-continue"}, "content": b"Hello."}


@both_styles
def test_the_body_follows_100_continue(style: str) -> None:
    seen: list[bytes] = []

    def serve(peer: socket.socket) -> None:
        seen.append(head_of(peer))
        peer.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        seen.append(peer.recv(100))
        peer.sendall(whole({}))

    with serving(serve) as (port, _):
        assert ask(style, f"http://127.0.0.1:{port}", **EXPECT).status_code == 200
    assert seen[0].endswith(b"\r\n\r\n")
    assert seen[1] == b"Hello."


@both_styles
def test_a_server_that_does_not_know_expect(style: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (direct, async_direct):
        monkeypatch.setattr(module, "CONTINUE_SECONDS", 0.05)
    with loopback([whole({})]) as server:
        assert ask(style, server.url, **EXPECT).status_code == 200
    assert server.requests[0].endswith(b"\r\n\r\nHello.")


@both_styles
def test_a_refused_expectation(style: str) -> None:
    """The body is not sent."""
    after: list[bytes] = []

    def serve(peer: socket.socket) -> None:
        head_of(peer)
        peer.sendall(whole({}, 417))
        after.append(peer.recv(100))

    with serving(serve) as (port, _):
        assert ask(style, f"http://127.0.0.1:{port}", **EXPECT).status_code == 417
    assert after == [b""]


@both_styles
@pytest.mark.parametrize("sent", [b"", b"garbage\r\n\r\n"])
def test_no_answer_to_expect_but_the_end(style: str, sent: bytes) -> None:
    with serving(then(*([sent] if sent else []))) as (port, _):
        with pytest.raises(httpx.RemoteProtocolError):
            ask(style, f"http://127.0.0.1:{port}", **EXPECT)


# --- the timeouts of httpx ------------------------------------------------------------------------

NEVER: dict[str, float | None] = {"timeout": None}


@contextlib.contextmanager
def hanging() -> Iterator[int]:
    """A port whose connections are neither accepted nor refused: its queue is full."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@both_styles
def test_the_connect_timeout(style: str) -> None:
    with hanging() as port, no_descriptor_left(), pytest.raises(httpx.ConnectTimeout):
        ask(style, f"http://127.0.0.1:{port}", timeout={**NEVER, "connect": 0.1})


@both_styles
def test_the_connect_timeout_of_tls(style: str) -> None:
    over = threading.Event()
    with no_descriptor_left(), serving(lambda peer: over.wait(20)) as (port, _):  # type: ignore[arg-type, return-value]
        with pytest.raises(httpx.ConnectTimeout):
            ask(style, f"https://127.0.0.1:{port}", timeout={**NEVER, "connect": 0.1})
        over.set()


@both_styles
@pytest.mark.parametrize("sent", [b"", whole(b"x" * 9)[:-4]], ids=["head", "body"])
def test_the_read_timeout(style: str, sent: bytes) -> None:
    with serving(then(sent, None)) as (port, _), pytest.raises(httpx.ReadTimeout):
        ask(style, f"http://127.0.0.1:{port}", timeout={**NEVER, "read": 0.1})


@both_styles
@pytest.mark.parametrize("content", [b"x" * 20 * MiB, many_pieces], ids=["whole", "pieces"])
def test_the_write_timeout(style: str, content: Any) -> None:
    """A body in pieces is not buffered while the server reads none of it."""
    over, sent = threading.Event(), []

    def pieces() -> Iterator[bytes]:
        for each in content():
            sent.append(len(each))
            yield each

    with serving(then(over)) as (port, _):
        body = pieces if callable(content) else content
        with pytest.raises(httpx.WriteTimeout):
            ask(style, f"http://127.0.0.1:{port}", content=body, timeout={**NEVER, "write": 0.2})
        over.set()
    assert sum(sent) < 20 * MiB


@both_styles
def test_the_pool_timeout(style: str) -> None:
    over = threading.Event()
    timeout = httpx.Timeout(10, pool=0.05)

    async def main(url: str) -> str:
        lanes = AsyncLanes(limit=1, connections="direct")
        async with httpx.AsyncClient(transport=lanes, timeout=timeout) as client:
            async with client.stream("GET", url) as response:
                with pytest.raises(httpx.PoolTimeout):
                    await client.get(url)
                over.set()
                await response.aread()
            return (await client.get(url)).text

    with loopback(lambda n, _: [whole(b"Hi")[:-1], *([] if n else [over]), b"i"]) as server:
        if style == "asyncio":
            assert asyncio.run(main(server.url)) == "Hi"
        else:
            lanes = Lanes(limit=1, connections="direct")
            with httpx.Client(transport=lanes, timeout=timeout) as client:
                with client.stream("GET", server.url) as response:
                    with pytest.raises(httpx.PoolTimeout):
                        client.get(server.url)
                    over.set()
                    response.read()
                assert client.get(server.url).text == "Hi"
    assert server.connections == 1


# --- connections that are opened at the same time -------------------------------------------------


class Openings:
    """Counts connections that are being opened, each of which waits for `go`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.open, self.now, self.most = async_direct._async_opened, 0, 0
        self.began: list[int] = []
        self.go = asyncio.Event()
        monkeypatch.setattr(async_direct, "_async_opened", self)

    async def __call__(self, address: tuple[str, int]) -> socket.socket:
        self.began.append(address[1])
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await self.go.wait()
            return await self.open(address)
        finally:
            self.now -= 1


async def _passes(until: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not until():  # noqa: ASYNC110  # what it waits for has no event
            await asyncio.sleep(0)


async def _texts(client: httpx.AsyncClient, url: str, count: int) -> list[str]:
    async def text() -> str:
        return (await client.get(url)).text

    return await asyncio.gather(*(text() for _ in range(count)))


def test_connections_to_one_origin_are_opened_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The queue of a server has room for so many; the system would drop the others for seconds."""
    monkeypatch.setattr(async_direct, "_OPENED_AT_ONCE", 3)
    monkeypatch.setattr(async_direct, "_SLOW_SECONDS", 60)

    async def main(url: str, other: str) -> tuple[list[str], int]:
        opened = Openings(monkeypatch)
        async with httpx.AsyncClient(transport=AsyncLanes(connections="direct")) as client:
            task = asyncio.create_task(_texts(client, url, 10))
            await _passes(lambda: opened.now == 3)
            elsewhere = asyncio.create_task(_texts(client, other, 1))
            await _passes(lambda: opened.now == 4)  # another origin does not wait
            cancelled = asyncio.create_task(_texts(client, url, 5))
            for _ in range(10):
                await asyncio.sleep(0)
            cancelled.cancel()
            opened.go.set()
            return await task + await elsewhere, opened.most

    with loopback([whole(b"Hi")]) as server, loopback([whole(b"Hi")]) as other:
        assert asyncio.run(main(server.url, other.url)) == (["Hi"] * 11, 4)
    assert server.connections == 10


def test_a_slow_opening_does_not_hold_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a host is down, each request fails by its own connect time, not by those before it."""
    monkeypatch.setattr(async_direct, "_OPENED_AT_ONCE", 1)
    monkeypatch.setattr(async_direct, "_SLOW_SECONDS", 0.001)

    async def main(url: str) -> list[str]:
        opened = Openings(monkeypatch)
        async with httpx.AsyncClient(transport=AsyncLanes(connections="direct")) as client:
            task = asyncio.create_task(_texts(client, url, 5))
            await _passes(lambda: opened.now == 5)
            opened.go.set()
            await task
            # The five have given back one turn each, and no more.
            opened.go.clear()
            monkeypatch.setattr(async_direct, "_SLOW_SECONDS", 60)
            task = asyncio.create_task(_texts(client, url, 9))  # five of them on open connections
            await _passes(lambda: len(opened.began) == 6)
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(opened.began) == 6
            opened.go.set()
            return await task

    with loopback([whole(b"Hi")]) as server:
        assert asyncio.run(main(server.url)) == ["Hi"] * 9


def test_a_turn_to_open_within_the_pool_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(async_direct, "_OPENED_AT_ONCE", 1)
    monkeypatch.setattr(async_direct, "_SLOW_SECONDS", 60)

    async def main(url: str) -> list[str]:
        opened = Openings(monkeypatch)
        lanes, timeout = AsyncLanes(connections="direct"), httpx.Timeout(10, pool=0.01)
        async with httpx.AsyncClient(transport=lanes, timeout=timeout) as client:
            task = asyncio.create_task(_texts(client, url, 1))
            await _passes(lambda: opened.now == 1)
            with pytest.raises(httpx.PoolTimeout, match="too many connections are being opened"):
                await client.get(url)
            opened.go.set()
            return await task

    with loopback([whole(b"Hi")]) as server:
        assert asyncio.run(main(server.url)) == ["Hi"]


# --- flow control ---------------------------------------------------------------------------------


class Torrent:
    """Sends 50 MB, and counts what it had sent when the client stopped reading."""

    size = 50 * MiB

    def __init__(self) -> None:
        self.full = threading.Event()
        self.sent_when_full = 0

    def __call__(self, peer: socket.socket) -> None:
        head_of(peer)
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
        peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % self.size)
        data, sent = memoryview(bytes(64 * 1024)), 0
        while sent < self.size:
            peer.settimeout(10 if self.full.is_set() else 0.3)
            try:
                sent += peer.send(data[: self.size - sent])
            except TimeoutError:
                assert not self.full.is_set()
                self.sent_when_full = sent
                self.full.set()
        self.full.set()


@both_styles
def test_a_caller_that_reads_slowly(style: str) -> None:
    """The socket is not read while nobody takes the body: the server has to wait."""
    server = Torrent()

    async def main(url: str) -> int:
        transport = AsyncLanes(connections="direct")
        async with httpx.AsyncClient(transport=transport, timeout=20) as client:
            async with client.stream("GET", url) as response:
                body = response.aiter_raw()
                size = len(await anext(body))
                assert await asyncio.to_thread(server.full.wait, 20)
                return size + sum([len(each) async for each in body])

    with serving(server) as (port, _):
        url = f"http://127.0.0.1:{port}"
        if style == "asyncio":
            received = asyncio.run(main(url))
        else:
            transport = Lanes(connections="direct")
            with httpx.Client(transport=transport, timeout=20) as client:
                with client.stream("GET", url) as response:
                    body = response.iter_raw()
                    received = len(next(body))
                    assert server.full.wait(20)
                    received += sum(len(each) for each in body)
    assert 0 < server.sent_when_full < 25 * MiB
    assert received == server.size


# --- addresses ------------------------------------------------------------------------------------


@contextlib.contextmanager
def refusing() -> Iterator[int]:
    """A port that nobody listens to."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[int]], str]:
    """Gives the URL of a host whose addresses are these ports of loopback."""
    found = socket.getaddrinfo

    def named(ports: list[int]) -> str:
        def addresses(name: Any, *arguments: Any, **options: Any) -> Any:
            if name not in ("localhost", b"localhost"):
                return found(name, *arguments, **options)
            kind = socket.AF_INET, socket.SOCK_STREAM, 6, ""
            return [(*kind, ("127.0.0.1", port)) for port in ports]

        monkeypatch.setattr(socket, "getaddrinfo", addresses)
        return "http://localhost:1"

    return named


@not_on_pools("in threads, their lookups have no clock")
@both_drives
def test_a_lookup_that_does_not_end(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    """The connect clock ends the wait for a resolver that answers nothing (R-13)."""
    over, asked = threading.Event(), threading.Event()

    def addresses(*arguments: Any, **options: Any) -> Any:
        asked.set()
        assert over.wait(30)
        return []

    def send(door: Any) -> None:
        try:
            door.send()
        finally:
            over.set()  # asyncio waits for the thread of its lookup when the loop ends

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    with pytest.raises(errors.ConnectClock):
        drive.session(
            send, base_url="http://localhost:1", timeouts=Timeouts(connect=0.2), retry=None
        )
    assert asked.is_set()


@both_drives
@pytest.mark.parametrize("first", [refusing, hanging])
def test_the_next_address(drive: Drive, first: Any, host: Any) -> None:
    clocks = Timeouts(connect=1)
    with loopback([whole(ANSWER)]) as server, first() as port, no_descriptor_left():
        url = host([port, port, int(server.url.rpartition(":")[2])])
        answer = drive.send(base_url=url, http="direct", retry=None, timeouts=clocks)
    assert answer.text == "Hello."


@both_drives
def test_no_address_accepts(drive: Drive, host: Any) -> None:
    with refusing() as port, no_descriptor_left():
        with pytest.raises(errors.ConnectionLost, match="ConnectError"):
            drive.send(base_url=host([port, port]), http="direct", retry=None)
        with pytest.raises(errors.ConnectionLost, match="ConnectError"):
            drive.send(base_url=host([]), http="direct", retry=None)


@both_drives
def test_no_address_answers(drive: Drive, host: Any) -> None:
    with hanging() as port, refusing() as other, no_descriptor_left():
        with pytest.raises(errors.ConnectClock):
            url = host([port, other, port])
            drive.send(base_url=url, http="direct", retry=None, timeouts=Timeouts(connect=0.3))


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_a_connection_that_is_cancelled_at_any_moment(
    secure: bool, trusted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each pass of the event loop; no socket is left, and the next call works."""
    monkeypatch.setattr(async_direct, "_NEXT_ADDRESS_SECONDS", 0)
    kind = socket.AF_INET, socket.SOCK_STREAM, 6, ""
    cancelled = 0

    async def main(url: str, ports: list[int]) -> str:
        nonlocal cancelled

        async def addresses(*_: Any, **__: Any) -> Any:
            return [(*kind, ("127.0.0.1", port)) for port in ports]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", addresses)
        lanes = AsyncLanes(connections="direct")
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": url, "retry": None}
        async with AsyncClient("gemini", http=lanes, **options) as client:
            for passes in range(70):
                task = asyncio.create_task(client.send(CALL))
                for number in range(passes):
                    # Beyond 30 passes, time for the server.
                    await asyncio.sleep(0 if number < 30 else 0.0002)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
                cancelled += task.cancelled()
            return (await client.send(CALL)).text

    certificate = trusted if secure else None
    with loopback([whole(ANSWER)], certificate) as server, hanging() as port, refusing() as other:
        own = int(server.url.rpartition(":")[2])
        with no_descriptor_left():
            assert asyncio.run(main(server.url, [port, other, own, own])) == "Hello."
    assert cancelled > 5


# --- TLS ------------------------------------------------------------------------------------------


Cancel = Callable[[asyncio.Task[Any]], Any]
"""Cancels a task that asks, at some moment."""


def cancels_of_handshakes(url: str, count: int, cancel: Cancel) -> list[dict[str, Any]]:
    """Cancel as many calls; after each, new connections of others work, and one that was open.

    Returns what reached the exception handler of the loop.
    """
    problems: list[dict[str, Any]] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    async def check(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x")
        async with asyncio.timeout(20):
            assert await reader.readexactly(1) == b"x"

    async def main() -> str:
        cancelled = 0
        asyncio.get_running_loop().set_exception_handler(lambda _, each: problems.append(each))
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": url, "retry": None}
        http = AsyncLanes(connections="direct", keep=0)  # so that each call has a handshake
        async with (
            await asyncio.start_server(echo, "127.0.0.1", 0) as others,
            AsyncClient("gemini", http=http, **options) as client,
        ):
            address = others.sockets[0].getsockname()
            open_before = await asyncio.open_connection(*address)
            while cancelled < count:
                task = asyncio.create_task(client.send(CALL))
                await cancel(task)
                with contextlib.suppress(asyncio.CancelledError):
                    assert (await task).text == "Hello."
                cancelled += task.cancelled()
                new = [await asyncio.open_connection(*address) for _ in range(3)]
                for each in (open_before, *new):
                    await check(*each)
                for _, writer in new:
                    writer.close()
            open_before[1].close()
            return (await client.send(CALL)).text

    with no_descriptor_left():
        assert asyncio.run(main()) == "Hello."
    return problems


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_a_handshake_that_is_cancelled_at_each_pass_of_the_loop(count: int, trusted: Path) -> None:
    passes = 0

    async def cancel(task: asyncio.Task[Any]) -> None:
        nonlocal passes
        for _ in range(passes):
            await asyncio.sleep(0)
        passes = 0 if task.done() else passes + 1
        task.cancel()

    with loopback([whole(ANSWER)], trusted) as server:
        assert cancels_of_handshakes(server.url, count, cancel) == []


@pytest.mark.parametrize("moment", ["made", "begun", "done"])
def test_a_handshake_that_is_cancelled_at_its_edges(
    moment: str, trusted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When TLS was made but has not begun, when it has, and when the caller has yet to learn."""
    tasks: list[asyncio.Task[Any]] = []
    made, handshake = ssl.SSLContext.wrap_bio, ssl.SSLObject.do_handshake

    def wrap_bio(*args: Any, **options: Any) -> Any:
        if moment == "made":
            tasks[-1].cancel()
        return made(*args, **options)

    def do_handshake(secured: ssl.SSLObject) -> None:
        if moment == "begun":
            tasks[-1].cancel()
        handshake(secured)
        if moment == "done":
            tasks[-1].cancel()

    async def cancel(task: asyncio.Task[Any]) -> None:
        tasks.append(task)

    monkeypatch.setattr(ssl.SSLContext, "wrap_bio", wrap_bio)
    monkeypatch.setattr(ssl.SSLObject, "do_handshake", do_handshake)
    with loopback([whole(ANSWER)], trusted) as server:
        assert cancels_of_handshakes(server.url, 5, cancel) == []
    assert len(tasks) == 5


@both_drives
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_session_of_tls_is_resumed(drive: Drive, version: Any, trusted: Path) -> None:
    """By each further connection to the same origin."""
    network.tls("https").maximum_version = version
    closing = [whole(ANSWER, connection="close"), "close"]
    with loopback(closing, trusted) as server:
        texts = drive.session(
            lambda door: [door.send().text for _ in range(4)], base_url=server.url, http="direct"
        )
    assert texts == ["Hello."] * 4
    assert (server.connections, server.resumed) == (4, 3)


def test_the_end_right_after_the_handshake(trusted: Path) -> None:
    """The server ends TLS before it has read a request."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(str(trusted))

    def serve(peer: socket.socket) -> None:
        with tls.wrap_socket(peer, server_side=True) as talk:
            talk.unwrap()

    for drive in (each.values[0] for each in DRIVES):
        with serving(serve) as (port, _), pytest.raises(errors.ConnectionLost):
            drive.send(base_url=f"https://127.0.0.1:{port}", http="direct", retry=None)


def test_a_connection_that_is_lost_before_the_request() -> None:
    async def main() -> None:
        connection = async_direct._Connection()
        connection.connection_made(asyncio.Transport())
        connection.connection_lost(None)
        connection.begin(ResponseReader("POST"), {})
        with pytest.raises(httpx.RemoteProtocolError, match="the server closed the connection"):
            connection.arrival()

    asyncio.run(main())


# --- when they serve ------------------------------------------------------------------------------


def described(drive: Drive, **options: Any) -> str:
    """How a client would connect."""
    if drive.name == "sync":
        with Client("gemini", api_key="fake-key", **options) as client:
            return client.describe()["connections"]

    async def main() -> str:
        async with AsyncClient("gemini", api_key="fake-key", **options) as client:
            return client.describe()["connections"]

    return anyio.run(main, backend=drive.name)


def test_direct_by_itself(drive: Drive) -> None:
    assert described(drive) == ("httpx" if drive.name == "trio" else "direct")
    assert described(drive, http="httpx") == "httpx"


def test_without_httptools() -> None:
    """Direct connections parse with h11, which httpx brings along."""
    code = """
import sys
sys.modules["httptools"] = None
from wire import Client, gemini
from wire.http import http11
request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
call = gemini.generate_content("gemini-3.5-flash", request)
with Client("gemini", api_key="fake-key", base_url=sys.argv[1]) as client:
    print(client.describe()["connections"])
    print(client.send(call).text)
print(http11.parser_of.__module__)
"""
    with loopback([whole(ANSWER)]) as server:
        done = subprocess.run(
            [sys.executable, "-c", code, server.url], capture_output=True, text=True, timeout=60
        )
    assert (done.stdout, done.stderr) == ("direct\nHello.\nwire.http.h11_parser\n", "")


def test_on_trio() -> None:
    drive = Drive("trio")
    with loopback([whole(ANSWER)]) as server:
        with pytest.raises(errors.ConfigurationError, match=r"in threads, not on trio$") as caught:
            drive.send(base_url=server.url, http="direct")
        assert drive.send(base_url=server.url).text == "Hello."
    assert caught.value.message.count(".") == 0
    assert len(server.requests) == 1


@not_on_httpx2("a transport of the caller's decides on proxies itself")
@both_drives
def test_with_a_proxy(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    assert described(drive) == "direct"
    with serving(then(b"HTTP/1.1 403 No\r\n\r\n")) as (port, connections):
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
        assert described(drive) == "httpx"
        with pytest.raises(errors.ConfigurationError, match="it uses no proxy, and the env"):
            drive.send(http="direct")
        assert connections == []
        with pytest.raises(errors.WireError):
            drive.send(retry=None)
        assert connections == [1]
    assert described(drive, trust_env=False) == "direct"


def respx_answers(stack: contextlib.ExitStack) -> None:
    router = stack.enter_context(respx.mock(assert_all_called=False))
    router.route().respond(json={"candidates": [{"content": {"parts": [{"text": "mocked"}]}}]})


def patched_transports(stack: contextlib.ExitStack) -> None:
    """As pytest-httpx does it."""
    patch = stack.enter_context(pytest.MonkeyPatch.context())
    body = {"candidates": [{"content": {"parts": [{"text": "mocked"}]}}]}

    def handle(self: Any, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=body)

    async def handle_async(self: Any, request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=body)

    patch.setattr(httpx.HTTPTransport, "handle_request", handle)
    patch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", handle_async)


@not_on_httpx2("httpx is patched, not httpx2")
@both_drives
@pytest.mark.parametrize("mock", [respx_answers, patched_transports])
def test_while_httpx_is_patched(drive: Drive, mock: Any) -> None:
    """A direct connection that is kept from before is not used, nor one that would be new."""
    with loopback([whole(ANSWER)]) as server:

        def work(door: Any) -> list[str]:
            texts = [door.send().text]
            with contextlib.ExitStack() as stack:
                mock(stack)
                assert described(drive) == "httpx"
                texts += [door.send().text, door.send().text]
            return [*texts, door.send().text]

        texts = drive.session(work, base_url=server.url)
    assert texts == ["Hello.", "mocked", "mocked", "Hello."]
    assert len(server.requests) == 2
    assert described(drive) == "direct"


@not_on_httpx2("httpx is patched, not httpx2")
@both_drives
@pytest.mark.parametrize("mock", [respx_answers, patched_transports])
def test_a_kept_connection_of_httpx_while_it_is_patched(drive: Drive, mock: Any) -> None:
    """The answers of a mock tell of no connection; the next real call opens one."""
    with loopback([whole(ANSWER)]) as server:

        def work(door: Any) -> list[str]:
            texts = [door.send().text]
            with contextlib.ExitStack() as stack:
                mock(stack)
                texts += [door.send().text, door.send().text]
            return [*texts, door.send().text]

        texts = drive.session(work, base_url=server.url, http="httpx")
    assert texts == ["Hello.", "mocked", "mocked", "Hello."]


# --- uvloop ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
def test_uvloop(secure: bool, trusted: Path) -> None:
    uvloop = pytest.importorskip("uvloop", reason="uvloop is not installed")

    async def main(url: str) -> list[str]:
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": url, "retry": None}
        texts = []
        async with AsyncClient("gemini", http="direct", **options) as client:
            for number in range(60):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(number * 0.0001):
                        await client.send(CALL)
            for call in (CALL, LARGE, CALL):
                texts.append((await client.send(call)).text)
        return texts

    certificate = trusted if secure else None
    with loopback([whole(ANSWER)], certificate) as server:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            assert runner.run(main(server.url)) == ["Hello."] * 3
        count = server.connections
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            closing = runner.run(main(server.url))
    assert closing == ["Hello."] * 3
    assert server.connections > count
