"""A pool of httpx or httpx2 that the caller brings loses no place (R-21).

Each pool here has one place. Once it is lost, every later call waits until its clocks end it.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import socket
import ssl
import threading
import time
import types
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import anyio
import anyio.lowlevel
import httpx
import httpx2
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import ANSWER, GOOD_STREAM, loopback, whole
from tests.joined import joined
from wire import AsyncClient, Timeouts, errors
from wire.http.pools import take_lost

LIBRARIES = {"httpx": httpx, "httpx2": httpx2}
CLOCKS = Timeouts(connect=3, first_byte=3, idle=3, total=3)
"""They end only a call that gets no place."""
LONGEST = 10
POINTS = 5
"""Fewer awaits than any call makes: more are not counted on."""


class Tunnels:
    """A proxy that opens tunnels; `script` returns bytes to send in place of one."""

    def __init__(self, script: Callable[[int], bytes | None]) -> None:
        self._script, self._numbers = script, itertools.count()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client:
            request = b""
            while b"\r\n\r\n" not in request:
                if not (data := client.recv(4096)):
                    return
                request += data
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            if (instead := self._script(next(self._numbers))) is not None:
                client.recv(4096)  # the beginning of TLS
                client.sendall(instead)
                return
            host, _, port = request.split()[1].decode().partition(":")
            with socket.create_connection((host, int(port))) as server:
                back = threading.Thread(target=_relay, args=(server, client), daemon=True)
                back.start()
                _relay(client, server)
                back.join()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _relay(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def tunnels(script: Callable[[int], bytes | None] = lambda number: None) -> Iterator[str]:
    proxy = Tunnels(script)
    try:
        yield proxy.url
    finally:
        proxy.close()


def transport(
    library: Any,
    style: str,
    certificate: Path | None = None,
    proxy: str | None = None,
    places: int = 1,
    kept: int = 1,
) -> Any:
    kind = library.HTTPTransport if style == "sync" else library.AsyncHTTPTransport
    limits = library.Limits(max_connections=places, max_keepalive_connections=kept)
    verify = ssl.create_default_context(cafile=certificate) if certificate else False
    return kind(verify=verify, limits=limits, proxy=proxy, trust_env=False)


def client(url: str, http: Any) -> AsyncClient:
    return AsyncClient(
        "gemini", api_key="fake-key", base_url=url, http=http, retry=None, timeouts=CLOCKS
    )


def client_around(library: Any, style: str, http: Any) -> Any:
    """The pool as that of a mount."""
    kind = library.Client if style == "sync" else library.AsyncClient
    return kind(mounts={"https://": http}, verify=False, trust_env=False)


# --- calls that fail ------------------------------------------------------------------------------


@joined("name, as_client", itertools.product(LIBRARIES, (False, True)))
def test_tls_that_fails_behind_a_proxy(
    drive: Drive, certificate: Path, name: str, as_client: bool
) -> None:
    def work(door: Any) -> str:
        for _ in range(2):
            with pytest.raises(errors.ConnectionLost):
                door.send()
        return str(door.send().text)

    with (
        tunnels(lambda number: b"no TLS" if number < 2 else None) as proxy,
        loopback(lambda *_: [whole(ANSWER)], certificate) as server,
    ):
        http = transport(LIBRARIES[name], drive.name, certificate, proxy)
        if as_client:
            http = client_around(LIBRARIES[name], drive.name, http)
        options = {"http": http, "retry": None, "timeouts": CLOCKS}
        assert drive.session(work, base_url=server.url, **options) == "Hello."


def two_calls(door: Any) -> list[str]:
    """What comes of two calls at once."""
    outcomes = []

    def call() -> None:
        with note_of(outcomes):
            door.client.send(CALL)

    async def call_in_a_loop() -> None:
        with note_of(outcomes):
            await door.client.send(CALL)

    async def call_in_tasks() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(call_in_a_loop)

    if isinstance(door.client, AsyncClient):
        anyio.from_thread.run(call_in_tasks)
    else:
        with ThreadPoolExecutor(2) as threads:
            for _ in range(2):
                threads.submit(call)
    return outcomes


@contextlib.contextmanager
def note_of(outcomes: list[str]) -> Iterator[None]:
    try:
        yield
    except errors.WireError as error:
        outcomes.append(type(error).__name__)
    else:
        outcomes.append("whole")


@joined("name", LIBRARIES)
def test_a_call_that_waits_gets_the_place(drive: Drive, certificate: Path, name: str) -> None:
    until = time.monotonic() + LONGEST

    def fails_when_both_have_come(number: int) -> bytes | None:
        while number == 0 and len(http._pool._requests) < 2 and time.monotonic() < until:
            time.sleep(0.001)
        return b"no TLS" if number == 0 else None

    with (
        tunnels(fails_when_both_have_come) as proxy,
        loopback(lambda *_: [whole(ANSWER)], certificate) as server,
    ):
        http = transport(LIBRARIES[name], drive.name, certificate, proxy)
        options = {"http": http, "retry": None, "timeouts": CLOCKS}
        outcomes = drive.session(two_calls, base_url=server.url, **options)
    assert outcomes == ["ConnectionLost", "whole"]


LOOPS = pytest.mark.parametrize("backend", ["asyncio", "trio"])


@LOOPS
@joined("name", LIBRARIES)
def test_a_stream_beside_it_goes_on(backend: str, certificate: Path, name: str) -> None:
    failed = threading.Event()

    async def main() -> tuple[list[str], str]:
        async with client(server.url, http) as calls:
            async with calls.stream(STREAM_CALL) as chunks:
                texts = [(await anext(chunks)).text]
                with pytest.raises(errors.ConnectionLost):
                    await calls.send(CALL)
                failed.set()
                texts += [chunk.text async for chunk in chunks]
            return texts, (await calls.send(CALL)).text

    def script(number: int, request: bytes) -> list[Any]:
        return [*GOOD_STREAM[:2], failed, *GOOD_STREAM[2:]] if number == 0 else [whole(ANSWER)]

    with (
        tunnels(lambda number: b"no TLS" if number == 1 else None) as proxy,
        loopback(script, certificate) as server,
    ):
        http = transport(LIBRARIES[name], backend, certificate, proxy, places=2)
        assert anyio.run(main, backend=backend) == (["Hel", "lo."], "Hello.")
    assert server.connections == 1


# --- calls that are cancelled ---------------------------------------------------------------------


async def cancelled_at(
    number: int, scope: anyio.CancelScope, work: Coroutine[Any, Any, Any]
) -> None:
    """Run `work`, and cancel the scope at its n-th wait."""
    await _steps(number, scope, work)


@types.coroutine
def _steps(number: int, scope: anyio.CancelScope, work: Coroutine[Any, Any, Any]) -> Any:
    resume: Callable[[], Any] = functools.partial(work.send, None)
    for count in itertools.count(1):
        try:
            waits_for = resume()
        except StopIteration:
            return
        if count == number:
            scope.cancel()
        try:
            resume = functools.partial(work.send, (yield waits_for))
        except BaseException as error:
            resume = functools.partial(work.throw, error)


@LOOPS
@joined("name, way", itertools.product(LIBRARIES, ("plain", "TLS", "tunnel")))
def test_cancelled_at_each_wait(backend: str, certificate: Path, name: str, way: str) -> None:
    async def main() -> int:
        async with client(server.url, http) as calls:
            for number in itertools.count(1):
                with anyio.CancelScope() as scope:
                    await cancelled_at(number, scope, calls.send(CALL))
                assert (await calls.send(CALL)).text == "Hello.", number
                if not scope.cancel_called:
                    return number
        raise AssertionError

    authority = None if way == "plain" else certificate
    with tunnels() as url, loopback(lambda *_: [whole(ANSWER)], authority) as server:
        proxy = url if way == "tunnel" else None
        http = transport(LIBRARIES[name], backend, authority, proxy, kept=0)
        assert anyio.run(main, backend=backend) > POINTS


@LOOPS
@joined("name", LIBRARIES)
def test_cancelled_when_a_place_comes(backend: str, name: str) -> None:
    """encode/httpcore#1093: one call ends, and at each of its waits another that waits for it."""
    both = threading.Event()

    async def waits(calls: AsyncClient, scope: anyio.CancelScope) -> None:
        with scope:
            await calls.send(CALL)

    async def main() -> int:
        async with client(server.url, http) as calls:
            for number in itertools.count(1):
                both.clear()
                scope = anyio.CancelScope()
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(cancelled_at, number, scope, calls.send(CALL))
                    while not http._pool._requests:
                        await anyio.lowlevel.checkpoint()
                    tasks.start_soon(waits, calls, scope)
                    while len(http._pool._requests) < 2 and not scope.cancel_called:
                        await anyio.lowlevel.checkpoint()
                    both.set()
                assert (await calls.send(CALL)).text == "Hello.", number
                if not scope.cancel_called:
                    return number
        raise AssertionError

    with loopback(lambda *_: [both, whole(ANSWER)]) as server:
        http = transport(LIBRARIES[name], backend, kept=0)
        assert anyio.run(main, backend=backend) > POINTS


# --- what is taken --------------------------------------------------------------------------------


def connection(**states: bool) -> Mock:
    names = ("is_closed", "is_idle", "is_available", "has_expired", "can_handle_request")
    return Mock(**{f"{name}.return_value": states.get(name, False) for name in names})


@pytest.mark.parametrize("name", ["httpcore", "httpcore2"])
def test_only_what_is_stuck_is_taken(name: str) -> None:
    library = importlib.import_module(name)
    pool = library.ConnectionPool(max_connections=9)
    stuck, in_use = connection(), connection()
    idle, shared = connection(is_idle=True, is_available=True), connection(is_available=True)
    pool._connections = [stuck, in_use, idle, shared]
    pool._requests = [Mock(connection=in_use, is_queued=lambda: False)]
    assert take_lost([pool]) == [stuck]
    assert pool.connections == [in_use, idle, shared]
    assert take_lost([pool]) == []


def test_what_is_no_such_pool_is_left() -> None:
    class Other(httpx.BaseTransport):
        """The pool of an older or a newer httpcore."""

        _assign_requests_to_connections = None

    assert take_lost([Mock(), Other(), ssl.create_default_context(), None]) == []
