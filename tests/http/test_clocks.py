"""Each clock of `Timeouts` runs in each phase of a call, whatever the server sends (R-13).

A server that sends one byte at a time resets the timeout of the socket with each byte. It could go
on for much longer than the clock, so that it counts what it could send before the client left.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive, not_on_httpx2
from tests.http.loopback import (
    ANSWER,
    LAST,
    STREAM,
    chunked,
    event,
    head,
    loopback,
    text,
    whole,
)
from tests.joined import joined
from tests.threads import running
from wire import Limits, Timeouts, errors
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.http.sockets import shut_down
from wire.http.watchdog import ATTEMPT, Watch, _Watchdog, _watchdog

PACE = 0.01
"""Seconds between two pieces of a server that drips."""
PIECES = 300
"""What it would send in all: three seconds."""
HEAD = Timeouts(connect=5, first_byte=0.12, idle=5)
BODY = Timeouts(connect=5, first_byte=5, idle=0.12)
CONNECT = Timeouts(connect=0.12, first_byte=5, idle=5)
TOTAL = Timeouts(connect=5, first_byte=5, idle=5, total=0.12)

SHORT_HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED_JSON = head(kind="application/json", transfer_encoding="chunked")


class Drip:
    """The script of a server that sends some bytes at once and then one piece at a time."""

    def __init__(self, at_once: bytes, piece: bytes = b"x", before: list[bytes] | None = None):
        self.at_once, self.piece, self.before = at_once, piece, before
        self.sent = 0
        self.over = threading.Event()

    def __call__(self, number: int, request: bytes) -> Iterator[bytes]:
        if self.before is not None and number == 0:
            yield from self.before
            return
        yield self.at_once
        while self.sent < PIECES and not self.over.wait(PACE):
            yield self.piece
            self.sent += 1


@contextlib.contextmanager
def dripping(script: Drip) -> Iterator[Any]:
    with loopback(script) as server:
        yield server
        script.over.set()
    assert script.sent < PIECES // 2, "the client was held until the server had enough"


PHASES = {
    "head": (SHORT_HEAD + b"x-a: ", b"a", HEAD, errors.FirstByteClock),
    "lines of the head": (SHORT_HEAD, b"x-a: b\r\n", HEAD, errors.FirstByteClock),
    "status line": (b"HTTP/1.1 200 ", b"O", HEAD, errors.FirstByteClock),
    "1xx": (b"", b"HTTP/1.1 102 Processing\r\n\r\n", HEAD, errors.FirstByteClock),
    "100": (b"", b"HTTP/1.1 100 Continue\r\n\r\n", HEAD, errors.FirstByteClock),
    "103": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n", HEAD, errors.FirstByteClock),
    "total, head": (SHORT_HEAD, b"x-a: b\r\n", TOTAL, errors.TotalClock),
}
BODIES = {
    "chunk size": (CHUNKED_JSON + b"5;", b"a", BODY, errors.IdleClock),
    "end of chunk": (CHUNKED_JSON + chunked(b"{}") + b"1;", b"a", BODY, errors.IdleClock),
    "trailers": (CHUNKED_JSON + chunked(b"{}") + b"0\r\nx-a: ", b"a", BODY, errors.IdleClock),
    "total, body": (CHUNKED_JSON, chunked(b" "), TOTAL, errors.TotalClock),
    "total, chunk size": (CHUNKED_JSON + b"5;", b"a", TOTAL, errors.TotalClock),
    "total, until closed": (head(kind="application/json"), b" ", TOTAL, errors.TotalClock),
}
STREAMS = {
    "comments": (STREAM + event(text("Hel")), chunked(b": x\r\n"), BODY, errors.IdleClock),
    "blank lines": (STREAM + event(text("Hel")), chunked(b"\r\n"), BODY, errors.IdleClock),
    "one line": (STREAM + event(text("Hel")), chunked(b"x"), BODY, errors.IdleClock),
    "chunk size": (STREAM + event(text("Hel")) + b"5;", b"a", BODY, errors.IdleClock),
    "trailers": (STREAM + event(text("Hel")) + b"0\r\nx-a: ", b"a", BODY, errors.IdleClock),
    "until closed": (head() + b"data: ", b"x", BODY, errors.IdleClock),
    "total, events": (STREAM, event(text("x")), TOTAL, errors.TotalClock),
    "total, chunk size": (STREAM + event(text("x")) + b"5;", b"a", TOTAL, errors.TotalClock),
}


def check(error: BaseException | None, kind: type[errors.ClockError], timeouts: Timeouts) -> None:
    """The class says which clock, and the text its name and limit (R-14)."""
    assert type(error) is kind, repr(error)
    clock = {
        errors.ConnectClock: "connect",
        errors.FirstByteClock: "first_byte",
        errors.IdleClock: "idle",
        errors.TotalClock: "total",
    }[kind]
    assert f"timeouts.{clock} of {getattr(timeouts, clock):g} s is over" in str(error)


@pytest.mark.parametrize("style", ["send", "read"])
@pytest.mark.parametrize("phase", PHASES)
def test_before_the_body(drive: Drive, phase: str, style: str) -> None:
    at_once, piece, timeouts, kind = PHASES[phase]
    with dripping(Drip(at_once, piece)) as server, pytest.raises(errors.ClockError) as caught:
        getattr(drive, style)(base_url=server.url, timeouts=timeouts, retry=None)
    check(caught.value, kind, timeouts)
    assert str(caught.value).endswith("nothing was received")


@joined("phase", BODIES)
def test_in_a_whole_body(drive: Drive, phase: str) -> None:
    at_once, piece, timeouts, kind = BODIES[phase]
    with dripping(Drip(at_once, piece)) as server, pytest.raises(errors.ClockError) as caught:
        drive.send(base_url=server.url, timeouts=timeouts, retry=None)
    check(caught.value, kind, timeouts)
    assert "bytes of the body" in str(caught.value)


@not_on_httpx2("the socket that its pool has kept is not known before the response")
@pytest.mark.parametrize("phase", ["head", "body"])
def test_on_a_connection_that_was_kept(drive: Drive, phase: str) -> None:
    """Its socket is known before the response."""
    timeouts = Timeouts(connect=5, first_byte=0.3, idle=5) if phase == "head" else BODY
    at_once, piece = PHASES["head"][:2] if phase == "head" else BODIES["chunk size"][:2]
    script = Drip(at_once, piece, [whole(ANSWER)])

    def twice(door: Any) -> None:
        assert door.send().text == "Hello."
        door.send()

    with dripping(script) as server, pytest.raises(errors.ClockError) as caught:
        drive.session(twice, base_url=server.url, timeouts=timeouts, retry=None)
    assert server.connections == 1
    check(caught.value, errors.FirstByteClock if phase == "head" else errors.IdleClock, timeouts)


@joined("phase", STREAMS)
def test_in_a_stream(drive: Drive, phase: str) -> None:
    at_once, piece, timeouts, kind = STREAMS[phase]
    with dripping(Drip(at_once, piece)) as server:
        try:
            result = drive.read(base_url=server.url, timeouts=timeouts, retry=None)
            error: errors.WireError | None = result.error
            texts = result.texts
        except errors.ClockError as caught:
            error, texts = caught, []
    check(error, kind, timeouts)
    assert error is not None
    if texts:
        assert error.partial.text == "".join(texts)
        assert f"received {len(texts)} events in " in str(error)


def test_a_flood_that_completes_no_event(drive: Drive) -> None:
    """At full speed no time passes in reads, only in the client itself."""
    flood = chunked(b": still here\r\n\r\n" * 500)
    over = threading.Event()
    sent = 0

    def script(number: int, request: bytes) -> Iterator[bytes]:
        nonlocal sent
        yield STREAM + event(text("Hel"))
        while sent < 1_000_000 and not over.is_set():
            yield flood
            sent += 1

    with loopback(script) as server:
        limits = Limits(unused=10**12, stream=10**12)  # they would end it before the clock
        result = drive.read(base_url=server.url, timeouts=BODY, retry=None, limits=limits)
        over.set()
    check(result.error, errors.IdleClock, BODY)
    assert result.texts == ["Hel"]
    assert sent < 1_000_000


def test_the_time_of_the_caller_is_not_idle(drive: Drive) -> None:
    """Events that are read late count from the read, not from the event before."""
    pause = threading.Event()

    def slow(door: Any) -> list[str]:
        texts: list[str] = []
        if drive.name == "sync":
            with door.client.stream(STREAM_CALL) as chunks:
                for chunk in chunks:
                    texts.append(chunk.text)
                    pause.wait(0.4)
            return texts

        async def read() -> list[str]:
            async with door.client.stream(STREAM_CALL) as chunks:
                async for chunk in chunks:
                    texts.append(chunk.text)
                    pause.wait(0.4)
            return texts

        import anyio

        return anyio.from_thread.run(read)

    def script(number: int, request: bytes) -> Iterator[bytes]:
        yield STREAM + event(text("a"))
        pause.wait(0.1)
        yield event(text("b"))
        pause.wait(0.5)
        yield event(text("c", "STOP"))
        yield LAST

    with loopback(script) as server:
        texts = drive.session(slow, base_url=server.url, timeouts=BODY)
    assert texts == ["a", "b", "c"]


@pytest.mark.parametrize("piece", [(b"", b"x"), (b"5;", b"a")], ids=["until closed", "chunk size"])
def test_an_error_body_that_drips_is_still_the_error(
    drive: Drive, piece: tuple[bytes, bytes]
) -> None:
    body = b'{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}'
    framed = head(404, "application/json")
    at_once = framed + body
    if piece[0]:
        at_once = head(404, "application/json", transfer_encoding="chunked") + chunked(body)
    timeouts = BODY if piece[0] else TOTAL
    with dripping(Drip(at_once + piece[0], piece[1])) as server:
        with pytest.raises(errors.NotFoundError):
            drive.send(base_url=server.url, timeouts=timeouts, retry=None)


def test_waiting_for_a_connection_is_part_of_the_first_byte_time(drive: Drive) -> None:
    import anyio

    with loopback([STREAM, event(text("Hel")), "hold"]) as server:
        lanes = Lanes(limit=1) if drive.name == "sync" else AsyncLanes(limit=1)

        def work(door: Any) -> None:
            if drive.name == "sync":
                with door.client.stream(STREAM_CALL):
                    door.send()

            async def both() -> None:
                async with door.client.stream(STREAM_CALL):
                    await door.client.send(CALL)

            anyio.from_thread.run(both)

        with pytest.raises(errors.ClockError) as caught:
            drive.session(work, base_url=server.url, http=lanes, timeouts=HEAD, retry=None)
        check(caught.value, errors.FirstByteClock, HEAD)
        assert len(server.requests) == 1


# --- before there is a request --------------------------------------------------------------------


@contextlib.contextmanager
def raw_server(serve: Callable[[socket.socket, threading.Event], None]) -> Iterator[int]:
    """The port of a server that treats each connection with `serve`."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()
    threads: list[threading.Thread] = []
    peers: list[socket.socket] = []

    def one(peer: socket.socket) -> None:
        with peer, contextlib.suppress(OSError):
            serve(peer, over)

    def accept() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peers.append(peer)
            threads.append(threading.Thread(target=one, args=(peer,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        accepting.join(5)
        listener.close()
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)
        assert running([accepting, *threads], within=5) == []


def drips(at_once: bytes, piece: bytes, sent: list[int]) -> Any:
    def serve(peer: socket.socket, over: threading.Event) -> None:
        peer.recv(65536)
        peer.sendall(at_once)
        while len(sent) < PIECES and not over.wait(PACE):
            peer.sendall(piece)
            sent.append(1)

    return serve


def test_a_tls_handshake_that_drips(drive: Drive) -> None:
    sent: list[int] = []
    record = b"\x16\x03\x03\x40\x00"
    with raw_server(drips(record, b"\x00", sent)) as port:
        with pytest.raises(errors.ClockError) as caught:
            drive.send(base_url=f"https://127.0.0.1:{port}", timeouts=CONNECT, retry=None)
    check(caught.value, errors.ConnectClock, CONNECT)
    assert len(sent) < PIECES // 2


def test_the_first_byte_clock_may_end_a_connect(drive: Drive) -> None:
    clocks = Timeouts(connect=30, first_byte=1.0)
    with raw_server(drips(b"\x16\x03\x03\x40\x00", b"\x00", [])) as port:
        with pytest.raises(errors.FirstByteClock, match=r"1 s is over: no connection"):
            drive.send(base_url=f"https://127.0.0.1:{port}", timeouts=clocks, retry=None)


@not_on_httpx2("proxies of the environment are those of the default transport")
def test_a_proxy_that_drips(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    with raw_server(drips(SHORT_HEAD, b"x-a: b\r\n", sent)) as port:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        with pytest.raises(errors.ClockError) as caught:
            drive.send(base_url="https://host.example", timeouts=CONNECT, retry=None)
    check(caught.value, errors.ConnectClock, CONNECT)
    assert len(sent) < PIECES // 2


@pytest.mark.parametrize("reads", [0, 1], ids=["reads nothing", "reads a byte at a time"])
def test_a_server_that_does_not_read_the_request(drive: Drive, reads: int) -> None:
    def serve(peer: socket.socket, over: threading.Event) -> None:
        while not over.wait(PACE):
            if reads:
                peer.recv(65536)

    call = CALL.replace(body_extra={"labels": {"filler": "x" * 16_000_000}})
    with raw_server(serve) as port, pytest.raises(errors.ClockError) as caught:
        drive.send(call, base_url=f"http://127.0.0.1:{port}", timeouts=HEAD, retry=None)
    check(caught.value, errors.FirstByteClock, HEAD)


# --- a transport of one's own ---------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["head", "1xx"])
def test_before_the_body_on_a_given_transport(drive: Drive, phase: str) -> None:
    at_once, piece, timeouts, kind = PHASES[phase]
    transport = httpx.HTTPTransport if drive.name == "sync" else httpx.AsyncHTTPTransport
    http = transport(verify=False)
    with dripping(Drip(at_once, piece)) as server, pytest.raises(errors.ClockError) as caught:
        drive.send(base_url=server.url, timeouts=timeouts, retry=None, http=http)
    check(caught.value, kind, timeouts)


# httpcore leaves its async generators to the collector when a read of them is cancelled, and trio
# warns about that.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("phase", ["comments", "chunk size", "total, chunk size"])
def test_in_a_stream_on_a_given_transport(drive: Drive, phase: str) -> None:
    at_once, piece, timeouts, kind = STREAMS[phase]
    transport = httpx.HTTPTransport if drive.name == "sync" else httpx.AsyncHTTPTransport
    http = transport(verify=False)
    with dripping(Drip(at_once, piece)) as server:
        result = drive.read(base_url=server.url, timeouts=timeouts, retry=None, http=http)
    check(result.error, kind, timeouts)


# --- the watchdog ---------------------------------------------------------------------------------


def test_a_socket_that_tls_takes_over_is_shut_down_after_its_handshake() -> None:
    # During a handshake, the socket of the connection has no descriptor, and that of TLS is not
    # known. A deadline that passed then had no effect: what came afterwards was read for ever.
    ours, theirs = socket.socketpair()
    watch, watchdog, now = Watch(0.05, 1e12), _Watchdog(), time.monotonic()
    watch.connection, watch.deadline = ours, now
    with theirs, socket.socket(fileno=ours.detach()) as secured:
        watchdog._new.append(watch)
        watchdog._check(now)
        watchdog._check(now + 1)
        assert (watch.fired, watch.over) == (True, False)
        watch.connection = secured
        watchdog._check(now + 2)
        assert (watch.fired, watch.over) == (True, True)
        theirs.settimeout(5)
        assert theirs.recv(1) == b""


def test_a_flood_of_interim_responses_after_a_slow_handshake(
    drive: Drive, trusted: Path
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(str(trusted))
    sent: list[int] = []
    floods = drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100, sent)

    def serve(peer: socket.socket, over: threading.Event) -> None:
        over.wait(2 * PACE + 0.1)
        with tls.wrap_socket(peer, server_side=True) as talk:
            floods(talk, over)

    with raw_server(serve) as port, pytest.raises(errors.FirstByteClock):
        drive.send(base_url=f"https://127.0.0.1:{port}", timeouts=HEAD, retry=None)
    assert len(sent) < PIECES // 2


def test_a_socket_that_was_closed_is_not_mistaken_for_one_with_its_descriptor() -> None:
    ours, theirs = socket.socketpair()

    class Closed:
        """A socket of an event loop that is closed after the first call of `fileno`."""

        descriptors = iter((ours.fileno(), -1))

        def fileno(self) -> int:
            return next(self.descriptors)

    with ours, theirs:
        assert not shut_down(Closed())
        theirs.sendall(b"x")
        assert ours.recv(1) == b"x"
        assert shut_down(ours)
    assert not shut_down(ours)
    assert not shut_down(None)


def test_the_end_of_a_watch_ends_its_effect() -> None:
    """The connection may belong to another call by then."""
    ours, peer = socket.socketpair()
    with ours, peer:
        first, second = Watch(0.05, 1e12), Watch(0.05, 1e12)
        first.connection = ours
        first.deadline = second.deadline = time.monotonic() + 0.1
        second.connection = peer.dup()
        first.start()
        second.start()
        first.end()
        assert second.connection.recv(1) == b"", "the second watch shut its own connection down"
        second.connection.close()
        assert (first.fired, second.fired) == (False, True)


def test_a_head_that_comes_as_its_time_ends_is_the_error_of_its_own_clock() -> None:
    """R-14: the watchdog has shut the connection down between the head's bytes and their reader."""

    class Late(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            request.extensions[ATTEMPT].watch.fired = True
            return httpx.Response(200, json=ANSWER)

    with pytest.raises(errors.FirstByteClock) as caught:
        Drive("sync").send(http=Late(), timeouts=Timeouts(first_byte=0.4), retry=None)
    assert caught.value.message.startswith("timeouts.first_byte of 0.4 s is over")


def test_a_read_that_the_watchdog_ends_early_is_never_a_whole_body() -> None:
    """A body without framing ends where the connection ends."""
    with dripping(Drip(head(kind="application/json") + b'{"candidates":[]}', b" ")) as server:
        with pytest.raises(errors.IdleClock):
            Drive("sync").send(base_url=server.url, timeouts=Timeouts(idle=0.01), retry=None)


CHILD = """
import os, sys
from tests.http.drive import CALL
from wire import Client, Timeouts, errors

def clock(url):
    with Client("gemini", api_key="fake-key", base_url=url, retry=None) as client:
        try:
            client.send(CALL.replace(timeouts=Timeouts(first_byte=0.2)))
        except errors.WireError as error:
            return type(error).__name__

before = clock(sys.argv[1])
pid = os.fork()
if pid == 0:
    print(clock(sys.argv[1]), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(before, clock(sys.argv[1]))
"""


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_a_watchdog_of_its_own() -> None:
    script = Drip(SHORT_HEAD, b"x-a: b\r\n")
    with loopback(script) as server:
        result = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", CHILD, server.url],
            capture_output=True,
            text=True,
            timeout=30,
        )
        script.over.set()
    assert result.stderr == ""
    assert result.stdout.split() == ["FirstByteClock"] * 3


def test_the_watchdog_ends_when_there_is_nothing_to_watch() -> None:
    with loopback([whole(ANSWER)]) as server:
        Drive("sync").send(base_url=server.url)
    thread = _watchdog._thread
    if thread is not None:
        assert thread.daemon
        thread.join(10)
        assert not thread.is_alive()
    with loopback([whole(ANSWER)]) as server:
        assert Drive("sync").send(base_url=server.url).text == "Hello."
