"""The server on loopback under attack: every client gets a bounded answer or is disconnected, no
traceback is written, and others are served meanwhile.
"""

from __future__ import annotations

import contextlib
import gc
import http.client
import json
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import GEMINI_3, user
from wire.errors import ConfigurationError
from wire.testing.emulator import Answer, Emulator, EmulatorLimits, Server, serve
from wire.testing.emulator.crowd import Phase

PATH = f"{GEMINI_3}:generateContent"
BODY = json.dumps({"contents": [user("hi")]}).encode()
HEAD = b"host: localhost\r\nx-goog-api-key: k\r\n"
ASK = b"POST %s HTTP/1.1\r\n%scontent-length: %d\r\n\r\n%s" % (PATH.encode(), HEAD, len(BODY), BODY)
HEALTH = b"GET /_wire/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
SMALL = EmulatorLimits(
    max_target_bytes=1_000,
    max_head_bytes=4_000,
    max_headers=20,
    max_body_bytes=100_000,
    max_chunks=50,
    head_seconds=0.3,
    body_seconds=0.3,
    idle_seconds=0.3,
    write_seconds=0.3,
    linger_seconds=2.0,
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


@pytest.fixture(scope="module")
def small() -> Iterator[Server]:
    with serve(Emulator(limits=SMALL)) as running:
        yield running


@contextlib.contextmanager
def connected(server: Server) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        yield connection


def rest(connection: socket.socket) -> bytes:
    """All bytes that still come."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(1 << 16):
            received += data
    return received


def exchange(server: Server, data: bytes, *, half_close: bool = True) -> bytes:
    """All bytes that the server answers until it closes the connection."""
    with connected(server) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
            if half_close:
                connection.shutdown(socket.SHUT_WR)
        return rest(connection)


def statuses(received: bytes) -> list[int]:
    """The statuses of the responses, one after the other."""
    return [int(each) for each in re.findall(rb"HTTP/1\.1 (\d{3}) ", received)]


def is_alive(server: Server) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", PATH, BODY, {"x-goog-api-key": "k"})
    status = connection.getresponse().status
    connection.close()
    return status == 200


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"\r\n\r\n" + ASK, 200),
        (ASK.replace(b"\r\n", b"\n"), 200),
        (ASK.replace(b"x-goog-api-key: k", b"x-goog-api-key:\r\n k"), 200),
        (ASK.replace(PATH.encode(), b"http://localhost" + PATH.encode()), 200),
        (ASK.replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
        (ASK.replace(b"HTTP/1.1", b"HTTP/1.0").replace(b"host: localhost\r\n", b""), 200),
        (ASK.replace(HEAD, HEAD + b"upgrade: websocket\r\nconnection: upgrade\r\n"), 200),
        (b"garbage\r\n\r\n", 400),
        (b"GET /\r\n", 400),  # HTTP/0.9
        (b"GET / HTTP/1.1\r\n\r\n", 400),  # no Host
        (b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost : a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\n: b\r\n\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: a\r\nx: \x00\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nhost: a\r\n\r\n", 505),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 27, 505),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 60, 400),  # TLS
        (b"\x00" * 1000, 400),
        (ASK.replace(b"content-length: ", b"content-length: 1\r\ncontent-length: "), 400),
        (ASK.replace(b"content-length: ", b"content-length: -"), 400),
        (ASK.replace(b"content-length: ", b"content-length: 0x"), 400),
        (ASK.replace(b"content-length: ", b"content-length: " + b"9" * 30), 400),
        (ASK.replace(b"content-length", b"transfer-encoding: chunked\r\ncontent-length"), 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n-5\r\nabc\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n" + b"f" * 40, 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nabcd\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 100\r\n\r\ncut", 400),
        (b"OPTIONS * HTTP/1.1\r\nhost: a\r\n\r\n", 404),
        (b"TRACE / HTTP/1.1\r\nhost: a\r\nx-api-key: k\r\n\r\n", 404),
        (b"CONNECT example.com:443 HTTP/1.1\r\nhost: a\r\n\r\n", 404),
        (b"GET http://[::1 HTTP/1.1\r\nhost: a\r\n\r\n", 400),
        (b"GET /v1beta/files/%00 HTTP/1.1\r\n" + HEAD + b"\r\n", 403),
        (b"GET /v1beta/files/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
        (b"GET /../../etc/passwd HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
        (b"GET /%ff%fe HTTP/1.1\r\n" + HEAD + b"\r\n", 404),
    ],
    ids=lambda value: str(value[:40]) if isinstance(value, bytes) else str(value),
)
def test_odd_http(server: Server, data: bytes, status: int) -> None:
    assert statuses(exchange(server, data))[:1] == [status]


def test_a_client_that_closed_its_side_is_answered_and_pipelined_requests_in_order(
    server: Server,
) -> None:
    received = exchange(server, HEALTH + ASK + HEALTH + ASK)
    assert statuses(received) == [200, 200, 200, 200]
    bodies = [b'"status": "ok"' in each for each in received.split(b"HTTP/1.1 ")[1:]]
    assert bodies == [True, False, True, False]


def test_a_client_that_waits_for_100_gets_it_unless_the_body_is_refused(small: Server) -> None:
    ask = ASK.replace(b"content-length", b"expect: 100-continue\r\ncontent-length")
    head, _, body = ask.partition(b"\r\n\r\n")
    with connected(small) as connection:
        connection.sendall(head + b"\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        connection.shutdown(socket.SHUT_WR)
        assert statuses(rest(connection)) == [200]
    large = head.replace(b"length: %d" % len(BODY), b"length: 100001") + b"\r\n\r\n"
    assert statuses(exchange(small, large, half_close=False)) == [413]


CHUNKED = b"POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: k\r\ntransfer-encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("data", "status", "where", "word"),
    [
        (b"GET /v1beta/" + b"a" * 9_000, 414, "code", 414),
        (b"GET /v1beta/%s HTTP/1.1\r\n%s\r\n" % (b"a" * 2_000, HEAD), 414, "code", 414),
        (b"GET /v1beta/models HTTP/1.1\r\n%sx: %s" % (HEAD, b"a" * 9_000), 431, "code", 431),
        (b"GET /v1beta/models HTTP/1.1\r\n%s%s\r\n" % (HEAD, b"x: y\r\n" * 30), 431, "code", 431),
        (ASK.replace(b"length: ", b"length: 9999"), 413, "code", 413),
        (
            CHUNKED + b"\r\n" + b"2710\r\n" + (b"a" * 10_000 + b"\r\n2710\r\n") * 20,
            413,
            "type",
            "request_too_large",
        ),
        (CHUNKED + b"\r\n" + b"1\r\na\r\n" * 60, 413, "type", "request_too_large"),
        (CHUNKED + b"\r\n1\r\na", 408, "type", "invalid_request_error"),
        (CHUNKED, 408, "code", 408),
        (b"P", 408, "code", 408),
        (
            b"POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\nauthorization: Bearer k\r\n"
            b"content-length: 9\r\n\r\n",
            408,
            "type",
            "invalid_request_error",
        ),
    ],
    ids=lambda value: str(value[:40]) if isinstance(value, bytes) else str(value),
)
def test_over_a_limit_is_the_vendors_error(
    small: Server, data: bytes, status: int, where: str, word: object
) -> None:
    received = exchange(small, data, half_close=False)
    assert statuses(received) == [status]
    body = json.loads(received.partition(b"\r\n\r\n")[2])
    assert body["error"][where] == word
    assert is_alive(small)


def test_a_refused_body_is_discarded_so_that_the_client_reads_why(small: Server) -> None:
    """Without it the client gets a reset while it sends 20 MB, and never sees the 413."""
    connection = http.client.HTTPConnection("127.0.0.1", small.port, timeout=20)
    connection.request("POST", PATH, b"a" * 20_000_000, {"x-goog-api-key": "k"})
    assert connection.getresponse().status == 413
    connection.close()


def test_slow_clients_are_disconnected_and_others_are_served(small: Server) -> None:
    over = threading.Event()

    def drip(connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while not over.wait(0.05):
                connection.send(b"a")

    with contextlib.ExitStack() as opened:
        dripping = [opened.enter_context(connected(small)) for _ in range(20)]
        for index, each in enumerate(dripping):
            heads = (b"GET /v1beta/models HTTP/1.1\r\nx-", CHUNKED + b"\r\nfff\r\n")
            each.sendall(heads[index % 2])
        threads = [threading.Thread(target=drip, args=(each,)) for each in dripping]
        for thread in threads:
            thread.start()
        assert is_alive(small)
        assert [statuses(rest(each))[:1] for each in dripping] == [[408]] * 20
        over.set()
        for thread in threads:
            thread.join()


def test_an_idle_connection_is_closed_without_a_word(small: Server) -> None:
    assert exchange(small, b"", half_close=False) == b""
    assert statuses(exchange(small, HEALTH, half_close=False)) == [200]


def test_a_client_that_never_reads_is_disconnected() -> None:
    """Its socket takes a few megabytes; the answer has more."""
    limits = EmulatorLimits(write_seconds=0.3)
    script = {"answer": {"text": "a" * 20_000_000}, "times": 0}
    with serve(Emulator([script], limits=limits)) as server:
        with connected(server) as connection:
            connection.sendall(ASK)
            assert is_alive(server)
            deadline = time.monotonic() + 20
            # The client's side learns of the end only when it reads; the server's list has it.
            while server.open_connections and time.monotonic() < deadline:
                time.sleep(0.01)
            assert server.open_connections == 0
            with contextlib.suppress(ConnectionError):
                assert len(rest(connection)) < 20_000_000


def test_a_client_that_leaves_while_the_emulator_stalls_is_forgotten() -> None:
    with serve(Emulator([{"fault": "slow; seconds=3600"}])) as server:
        with connected(server) as connection:
            connection.sendall(ASK)
            while not server.requests:
                time.sleep(0.01)
        while server.open_connections:
            time.sleep(0.01)


def test_connections_over_the_limit_replace_those_that_wait_for_their_client() -> None:
    limits = EmulatorLimits(max_connections=3)
    with serve(Emulator(limits=limits)) as server, contextlib.ExitStack() as opened:
        for kind in (b"", b"GET /v1", CHUNKED + b"\r\n1\r\na"):
            waiting = [opened.enter_context(connected(server)) for _ in range(3)]
            for each in waiting:
                each.sendall(kind)
            assert is_alive(server)
            assert [rest(waiting[0]), statuses(exchange(server, ASK))] == [b"", [200]]


@pytest.mark.parametrize(
    ("limits", "status", "words"),
    [
        (EmulatorLimits(max_connections=3), 503, "Too many connections."),
        (EmulatorLimits(max_connections_per_peer=3), 429, "Too many connections of this address."),
    ],
    ids=["all", "of-one-address"],
)
def test_requests_under_way_do_not_give_way(
    limits: EmulatorLimits, status: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[str] = []
    emulator = Emulator([{"fault": "slow; seconds=3600"}] * 3, limits=limits)
    with serve(emulator, log=lines.append) as server, contextlib.ExitStack() as opened:  # type: ignore[arg-type]
        for each in [opened.enter_context(connected(server)) for _ in range(3)]:
            each.sendall(ASK)
        wait_until(lambda: server._crowd.count(Phase.ANSWER) == 3)
        for _ in range(20):
            received = exchange(server, b"", half_close=False)
            assert statuses(received) == [status]
            assert b"retry-after: 1\r\n" in received
            assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["message"] == words
    told = [each.getMessage() for each in caplog.records if each.name == "wire.server"]
    assert len(told) == 1
    assert told[0].startswith(f"too many connections: one of 127.0.0.1 was refused with {status}; ")
    assert [each for each in lines if not each.startswith("POST ")] == [*told, f"- - {status}"]


def wait_until(holds: object) -> None:
    deadline = time.monotonic() + 20
    assert callable(holds)
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_bodies_that_are_being_received_are_bounded_together() -> None:
    limits = EmulatorLimits(max_buffered_bytes=150_000)
    head = (
        b"POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: k\r\ncontent-length: 100001\r\n\r\n"
    )
    with serve(Emulator(limits=limits)) as server, connected(server) as first:
        first.sendall(head + b"a" * 100_000)
        wait_until(lambda: server.buffered_bytes == 100_000)
        received = exchange(server, head + b"a" * 100_000, half_close=False)
        assert statuses(received) == [503]
        assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["type"] == "overloaded_error"
        first.sendall(b"a")
        assert first.recv(12) == b"HTTP/1.1 400"  # it is no JSON, but it was read
        assert server.buffered_bytes == 0


def test_no_file_descriptor_is_left_for_a_while() -> None:
    """accept() fails with EMFILE: idle connections are closed, and the server goes on."""
    pytest.importorskip("resource")
    program = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))
from wire.testing.emulator import Emulator, serve
with serve(Emulator()) as server:
    print(server.port, flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        with contextlib.ExitStack() as opened:
            for _ in range(60):
                opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                connection.sendall(HEALTH)
                assert connection.recv(12) == b"HTTP/1.1 200"
        assert process.communicate("", timeout=20) == ("", "")
        assert process.returncode == 0


def test_a_thousand_connections_at_once(server: Server) -> None:
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if limit < 2_200:
        pytest.skip(f"both ends of 1,000 connections need 2,200 file descriptors, not {limit}")
    with contextlib.ExitStack() as opened:
        connections = [opened.enter_context(connected(server)) for _ in range(1_000)]
        for each in connections:
            each.sendall(HEALTH)
        answers = [each.recv(1 << 16) for each in connections]
        assert [statuses(each) for each in answers] == [[200]] * 1_000
    wait_until(lambda: server.open_connections == 0)


def sockets() -> set[str]:
    """The sockets of this process, where the system tells."""
    folder = Path("/proc/self/fd")
    found = set()
    for each in folder.iterdir() if folder.exists() else ():
        with contextlib.suppress(OSError):  # the descriptor of the listing itself
            found.add(os.readlink(each))
    return {each for each in found if each.startswith("socket:")}


def test_stopping_closes_everything(capfd: pytest.CaptureFixture[str]) -> None:
    before, earlier = set(threading.enumerate()), sockets()
    with contextlib.ExitStack() as opened:
        with serve(Emulator([{"fault": "stall; seconds=3600"}])) as server:
            connections = [opened.enter_context(connected(server)) for _ in range(10)]
            for each, data in zip(connections, (b"", b"GET", CHUNKED, ASK), strict=False):
                each.sendall(data)
            # Reset instead of closed: the server learns of it while it reads.
            connections[-1].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connections[-1].close()
            wait_until(lambda: server.requests)
        assert set(threading.enumerate()) == before
        for each in connections[:-1]:
            rest(each)
    assert sockets() <= earlier  # what other tests left may end meanwhile
    assert capfd.readouterr() == ("", "")


def test_connections_that_are_accepted_while_the_server_stops_are_closed() -> None:
    """An unclosed socket is a ResourceWarning once it is collected, which fails the run."""
    for _ in range(8):
        over = threading.Event()

        def ask(port: int, over: threading.Event) -> None:
            while not over.is_set():
                with contextlib.suppress(OSError):
                    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
                        connection.sendall(ASK)
                        connection.recv(12)

        with serve(Emulator()) as server:
            threads = [threading.Thread(target=ask, args=(server.port, over)) for _ in range(4)]
            for thread in threads:
                thread.start()
            wait_until(lambda: len(server.requests) > 3)
        over.set()
        for thread in threads:
            thread.join(20)
        assert not any(thread.is_alive() for thread in threads)
        assert server.open_connections == 0
    gc.collect()


def test_nothing_was_written(capfd: pytest.CaptureFixture[str], small: Server) -> None:
    for data in (b"\x16\x03", b"GET / HTTP/1.1\r\n\r\n", ASK[:-3], CHUNKED):
        exchange(small, data)
    with connected(small) as connection:
        connection.sendall(ASK)
    assert is_alive(small)
    assert capfd.readouterr() == ("", "")


@joined("value", [0, -1, float("nan"), True, "1", None])
def test_a_limit_is_a_positive_number(value: object) -> None:
    with pytest.raises(ConfigurationError, match="limits: body_seconds: expected a positive"):
        EmulatorLimits(body_seconds=value)  # type: ignore[arg-type]


def test_a_client_that_reads_nothing_gives_way_to_other_responses() -> None:
    """Responses in memory are bounded: three of 8 MB fit, and further ones close the oldest."""
    limits = EmulatorLimits(max_buffered_bytes=28_000_000)
    script = {"answer": ["a" * 8_000_000], "times": 0}
    with serve(Emulator([script], limits=limits)) as server, contextlib.ExitStack() as opened:
        for number in range(1, 7):
            opened.enter_context(connected(server)).sendall(ASK)
            wait_until(lambda: len(server.requests) == number)  # noqa: B023  called at once
            wait_until(lambda: server._crowd.count(Phase.READER) == min(number, 3))  # noqa: B023
        wait_until(lambda: server.open_connections == 3)
        assert statuses(exchange(server, HEALTH)) == [200]


def test_a_response_that_was_not_read_is_freed_with_its_connection() -> None:
    """The error of a connection had frames that kept its response until cycles were collected."""
    emulator = Emulator([{"answer": ["a" * 20_000_000], "times": 0}])
    held: list[weakref.ref[Answer]] = []
    answer = emulator.answer

    def answered(*arguments: Any) -> Answer:
        made = answer(*arguments)
        watched = Watched(made.status, made.headers, made.pieces)
        held.append(weakref.ref(watched))
        return watched

    emulator.answer = answered  # type: ignore[method-assign]
    gc.disable()
    try:
        with serve(emulator) as server:
            with connected(server) as connection:
                connection.sendall(ASK)
                wait_until(lambda: server._crowd.count(Phase.READER) == 1)
            wait_until(lambda: not server.open_connections)
            wait_until(lambda: held[0]() is None)
    finally:
        gc.enable()


class Watched(Answer):
    """An answer that can have weak references."""

    __slots__ = ("__weakref__",)


@pytest.mark.parametrize("number", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_pipelined_requests_on_one_connection(server: Server, number: int) -> None:
    with connected(server) as connection:
        sender = threading.Thread(target=connection.sendall, args=(HEALTH * number,))
        sender.start()
        received = b""
        while received.count(b"HTTP/1.1 200 ") < number:
            data = connection.recv(1 << 16)
            assert data
            received += data
        sender.join()
        assert is_alive(server)


@pytest.mark.parametrize("number", [100, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_requests_one_after_the_other_on_one_connection(server: Server, number: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    for _ in range(number):
        connection.request("GET", "/_wire/health")
        assert connection.getresponse().read()
    connection.close()


def test_a_head_of_thousands_of_headers_is_refused_while_others_are_served(server: Server) -> None:
    """The smallest headers that fit into a head: 64 KiB of them are parsed, then refused."""
    head = b"GET /v1beta/models HTTP/1.1\r\n" + HEAD + b"a:\r\n" * 16_000
    assert len(head) < 64 * 1024
    with contextlib.ExitStack() as opened:
        many = [opened.enter_context(connected(server)) for _ in range(10)]
        for each in many:
            each.sendall(head)  # not ended: it is parsed when the last line comes
        assert is_alive(server)
        for each in many:
            each.sendall(b"\r\n")
            assert each.recv(12) == b"HTTP/1.1 431"
        more = opened.enter_context(connected(server))
        with contextlib.suppress(ConnectionError):
            more.sendall(head + b"a:\r\n" * 100_000)
        assert more.recv(12) == b"HTTP/1.1 431"
    assert is_alive(server)


def test_the_system_asks_whether_a_silent_client_is_there() -> None:
    limits = EmulatorLimits(probe_seconds=7.0)
    with serve(Emulator(limits=limits)) as server, connected(server):
        wait_until(lambda: server.open_connections == 1)
        (connection,) = server._crowd
        sock = connection._writer.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 7
