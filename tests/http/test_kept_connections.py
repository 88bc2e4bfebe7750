"""A kept connection is used again only if nothing has arrived on it since its last response.

R-25: bytes after a response are never read as the next one. R-26: a connection that the server has
closed is replaced without an error and without costing an attempt.
"""

from __future__ import annotations

import collections
import contextlib
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive, not_on_httpx2
from tests.http.interrupting_each_point import Interrupt
from tests.http.loopback import (
    ANSWER,
    GOOD_STREAM,
    LAST,
    STREAM,
    chunked,
    event,
    loopback,
    text,
    whole,
)
from tests.joined import joined
from wire import answer_account, errors
from wire.http import httpx_lane, lanes
from wire.http.async_lanes import AsyncLanes
from wire.http.watchdog import await_signal

pytestmark = not_on_httpx2("tests the pool of this library")

FORGED = whole(text("forged", "STOP"))


def twice(door: Any) -> list[str]:
    return [door.send().text, door.send().text]


class Once:
    """Plays `first` to the first request and an ordinary response to each other."""

    def __init__(self, first: list[Any]) -> None:
        self.first = first

    def __call__(self, number: int, request: bytes) -> list[Any]:
        return self.first if number == 0 else [whole(ANSWER)]


def big(after: bytes) -> bytes:
    """A response that ends where asyncio's first read of 64 KiB ends, with `after` behind it."""
    filler = 65536 - len(whole({"a": "", **text("x", "STOP")}))
    for size in range(filler - 5, filler + 6):
        body = whole({"a": "x" * size, **text("x", "STOP")})
        if len(body) == 65536:
            return body + after
    raise AssertionError("no response of this size")


FORGERIES = {
    "in the same piece": [whole(ANSWER) + FORGED],
    "a piece later": [whole(ANSWER), FORGED],
    "a part of a head": [whole(ANSWER) + b"HTTP/1.1 200 OK\r\nx-a: "],
    "a blank line": [whole(ANSWER) + b"\r\n"],
    "after chunks": [
        STREAM.replace(b"text/event-stream", b"application/json"),
        chunked(whole(ANSWER).partition(b"\r\n\r\n")[2]) + LAST + FORGED,
    ],
    "after 204": [b"HTTP/1.1 204 No Content\r\n\r\n" + FORGED],
    "at the edge of a read": [big(FORGED)],
}


@joined("name", FORGERIES)
def test_a_forged_response_is_never_the_next_one(drive: Drive, name: str) -> None:
    arrived = threading.Event()
    with loopback(Once(FORGERIES[name])) as server:

        def work(door: Any) -> list[str]:
            texts = []
            for _ in range(3):
                try:
                    texts.append(door.send().text)
                except errors.StreamIncomplete:
                    texts.append("nothing")  # of 204
                arrived.wait(0.05)  # so that what is sent later is there
            return texts

        texts = drive.session(work, base_url=server.url, retry=None)
    assert "forged" not in texts
    assert texts[1:] == ["Hello.", "Hello."]
    assert (server.connections, len(server.requests)) == (2, 3)


def test_a_forged_response_after_a_stream(drive: Drive) -> None:
    stream = [STREAM, event(text("Hello.", "STOP")), LAST + FORGED]

    def work(door: Any) -> list[str]:
        return [door.read(STREAM_CALL).reply.text, door.send().text]

    with loopback(Once(stream)) as server:
        assert drive.session(work, base_url=server.url, retry=None) == ["Hello.", "Hello."]
    assert server.connections == 2


@pytest.mark.parametrize("name", ["in the same piece", "a piece later"])
def test_a_forged_response_over_tls(drive: Drive, name: str, trusted: Path) -> None:
    """Each piece is a TLS record. One read of the socket may take both, and decrypt the first."""
    pause = threading.Event()

    def work(door: Any) -> list[str]:
        texts = []
        for _ in range(3):
            texts.append(door.send().text)
            pause.wait(0.05)
        return texts

    with loopback(Once(FORGERIES[name]), trusted) as server:
        assert drive.session(work, base_url=server.url, retry=None) == ["Hello."] * 3
    assert (server.connections, len(server.requests)) == (2, 3)


def test_a_connection_of_tls_is_used_again(drive: Drive, trusted: Path) -> None:
    """Session tickets, which TLS 1.3 sends at any time, are no bytes of a response."""
    with loopback([whole(ANSWER)], trusted) as server:
        texts = drive.session(
            lambda door: [door.send().text for _ in range(10)], base_url=server.url
        )
    assert (texts, server.connections) == (["Hello."] * 10, 1)


def test_a_lane_whose_parser_is_not_found_is_not_used_again(
    drive: Drive, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without httpcore's parser nobody knows of bytes after a response."""
    monkeypatch.setattr(httpx_lane, "_parser", lambda transport: None)
    with loopback([whole(ANSWER)]) as server:
        assert drive.session(twice, base_url=server.url, http="httpx") == ["Hello.", "Hello."]
    assert server.connections == 2


# --- connections that the server has closed -------------------------------------------------------


@pytest.mark.parametrize("rounds", [100, pytest.param(1000, marks=pytest.mark.faults)])
def test_stale_connections_cost_no_attempt(drive: Drive, rounds: int) -> None:
    """A server that closes each connection after its response, without saying so."""

    def work(door: Any) -> int:
        attempts = 0
        for _ in range(rounds):
            account = answer_account(door.send())
            assert account is not None
            attempts += account.attempts
            assert server.closed.acquire(timeout=5)
        return attempts

    with loopback([whole(ANSWER), "close"]) as server:
        assert drive.session(work, base_url=server.url, retry=None) == rounds
    assert (server.connections, len(server.requests)) == (rounds, rounds)


@joined("end", ["close", "reset"])
@joined("stream", [False, True], ids=["send", "read"])
def test_a_connection_that_closes_while_the_request_is_sent(
    drive: Drive, end: str, stream: bool
) -> None:
    """It is sent once more, at once and on a new connection, and counts as one attempt."""

    def work(door: Any) -> Any:
        door.send()
        return door.read(STREAM_CALL).account if stream else answer_account(door.send())

    with loopback(lambda n, request: [end] if n == 1 else whichever(n, request)) as server:
        account = drive.session(work, base_url=server.url, retry=None)
    assert (account.attempts, account.waits) == (1, [])
    assert (server.connections, len(server.requests)) == (2, 3)
    assert server.requests[1] == server.requests[2]


@pytest.mark.parametrize(
    ("call", "end"),
    [
        (msgspec.structs.replace(CALL, idempotent=False), ["close"]),
        (CALL, [b"HTTP/1.", "close"]),
        (CALL, [b"garbage\r\n\r\n", "close"]),
    ],
    ids=["not idempotent", "a part of a head", "no HTTP"],
)
def test_what_is_not_sent_once_more(drive: Drive, call: Any, end: list[Any]) -> None:
    def work(door: Any) -> None:
        door.send()
        door.send(call)

    with loopback(lambda number, _: [whole(ANSWER)] if number != 1 else end) as server:
        with pytest.raises(errors.ConnectionLost):
            drive.session(work, base_url=server.url, retry=None)
    assert (server.connections, len(server.requests)) == (1, 2)


def test_a_new_connection_that_closes_is_an_attempt(drive: Drive) -> None:
    with loopback(["close"]) as server:
        with pytest.raises(errors.ConnectionLost):
            drive.send(base_url=server.url, retry=None)
    assert len(server.requests) == 1


# --- the limiter of threads -----------------------------------------------------------------------


def test_a_slot_comes_back_when_nothing_refers_to_it() -> None:
    slots = lanes._Slots(2)
    first, second = slots.take(0), slots.take(0)
    assert first is not None
    assert second is not None
    assert slots.take(0.01) is None
    waiting: list[Any] = []
    thread = threading.Thread(target=lambda: waiting.append(slots.take(20)))
    thread.start()
    del first
    thread.join(10)
    assert len(waiting) == 1
    assert slots.take(0) is None
    waiting.clear()
    assert slots.take(0) is not None


def test_releases_that_nobody_waits_for_are_not_collected() -> None:
    slots = lanes._Slots(3)
    for _ in range(100):
        assert slots.take(0) is not None
    assert slots._released.qsize() <= 3
    assert slots._taken == {}


class Waiters:
    """Threads that wait for the only slot, in the order in which they were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(lanes, "await_signal", self._await)
        self.slots = lanes._Slots(1)
        self.served: list[str] = []
        self.leave = threading.Event()
        self._threads: list[threading.Thread] = []

    def _await(self, signals: queue.SimpleQueue[Any], _: float) -> None:
        if threading.current_thread().name == "leaves":
            assert self.leave.wait(20)
            raise TimeoutError
        # A thread looks again each second, which would hide that nobody wakes it.
        await_signal(signals, 20)

    def start(self, name: str) -> threading.Thread:
        """Start a thread that takes the slot and gives it back; return when it is in the queue."""
        before = len(self.slots._queue)

        def work() -> None:
            with contextlib.suppress(TimeoutError):
                slot = self.slots.take(None)
                self.served.append(name)
                del slot

        thread = threading.Thread(target=work, name=name)
        self._threads.append(thread)
        thread.start()
        end = time.monotonic() + 10
        while len(self.slots._queue) == before:
            assert time.monotonic() < end
            time.sleep(0.001)
        return thread

    def end(self) -> list[str]:
        """Who was served, in order."""
        for thread in self._threads:
            thread.join(10)
        assert (self.slots._queue, self.slots._taken) == ({}, {})
        return self.served


def test_slots_are_given_in_the_order_of_the_queue(monkeypatch: pytest.MonkeyPatch) -> None:
    waiters = Waiters(monkeypatch)
    slot = waiters.slots.take(0)
    assert slot is not None
    for name in "abcdef":
        waiters.start(name)
    assert waiters.slots.take(0) is None
    del slot
    assert waiters.end() == list("abcdef")


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_thread_that_leaves_the_queue_passes_its_turn_on(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiters = Waiters(monkeypatch)
    slot = waiters.slots.take(0)
    assert slot is not None
    threads = [waiters.start(name) for name in [*"abc"[:place], "leaves", *"abc"[place:]]]
    waiters.leave.set()
    threads[place].join(10)
    del slot
    assert waiters.end() == ["a", "b", "c"]


def test_an_interrupt_at_each_point_of_a_wait_passes_the_turn_on() -> None:
    """Also while the exception, and with it the frames of the wait, is still there."""
    slots, number, kept = lanes._Slots(1), 0, []
    points: set[str] = set()
    while True:
        number += 1
        slot, interrupt = slots.take(0), Interrupt(number)
        assert slot is not None, points
        held, over = [slot], threading.Event()
        del slot

        def release(held: list[Any] = held, over: threading.Event = over) -> None:
            while not slots._queue and not over.is_set():
                time.sleep(0.0005)
            held.clear()

        thread = threading.Thread(target=release)
        thread.start()
        try:
            sys.settrace(interrupt)
            slot = slots.take(20)
        except KeyboardInterrupt as error:
            kept.append(error)
        finally:
            sys.settrace(None)
            over.set()
            thread.join(10)
        assert slots._queue == {}, interrupt.place
        if not interrupt.place:
            break
        points.add(interrupt.place)
    assert number > 20


def test_a_wait_ends_whose_time_is_over_when_it_begins() -> None:
    """`SimpleQueue.get` alone waits for ever then, before Python 3.13."""
    ended = []

    def work() -> None:
        for number in range(8_000):
            await_signal(queue.SimpleQueue(), number % 4 * 1e-6)
        ended.append(True)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(30)
    assert ended == [True]


def test_calls_that_wait_for_a_lane_take_turns(drive: Drive) -> None:
    """Eight callers on two lanes."""
    counts = collections.Counter[int]()
    begun = threading.Barrier(8)

    def threads(door: Any) -> None:
        def ask(caller: int) -> None:
            begun.wait(20)
            while counts.total() < 400:
                door.send()
                counts[caller] += 1

        callers = [threading.Thread(target=ask, args=(caller,)) for caller in range(8)]
        for each in callers:
            each.start()
        for each in callers:
            each.join(60)

    def tasks(door: Any) -> None:
        async def ask(caller: int) -> None:
            while counts.total() < 400:
                await door.client.send(CALL)
                counts[caller] += 1

        async def all_ask() -> None:
            async with anyio.create_task_group() as group:
                for caller in range(8):
                    group.start_soon(ask, caller)

        anyio.from_thread.run(all_ask)

    is_sync = drive.name == "sync"
    http = lanes.Lanes(limit=2) if is_sync else AsyncLanes(limit=2)
    with loopback([whole(ANSWER)]) as server:
        drive.session(threads if is_sync else tasks, base_url=server.url, http=http, retry=None)
    assert len(counts) == 8
    assert max(counts.values()) <= 2 * min(counts.values()), counts


INTERRUPTED = """
import signal, sys, time
from tests.http.drive import CALL, STREAM_CALL
from wire import Client, Lanes, Timeouts, WireError

dice = __import__("random").Random(7)
interrupted = done = 0
signal.signal(signal.SIGALRM, signal.default_int_handler)
with Client("gemini", api_key="fake-key", base_url=sys.argv[1], http=Lanes(limit=2), retry=None,
            timeouts=Timeouts(first_byte=20, idle=20)) as client:
    client.send(CALL)
    while interrupted < int(sys.argv[2]):
        try:
            signal.setitimer(signal.ITIMER_REAL, dice.random() * 0.003 + 1e-6)
            if dice.random() < 0.5:
                client.send(CALL)
            else:
                with client.stream(STREAM_CALL) as chunks:
                    chunks.result()
            signal.setitimer(signal.ITIMER_REAL, 0)
            done += 1
        except KeyboardInterrupt:
            interrupted += 1
        except WireError:
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    texts = [client.send(CALL).text for _ in range(3)]
    with client.stream(STREAM_CALL) as first, client.stream(STREAM_CALL) as second:
        texts += [first.result().text, second.result().text]
print(texts, len(client._http._busy))
"""


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
def test_an_interrupt_at_any_moment_loses_no_slot() -> None:
    """With a pool of two: five calls afterwards, two of them at once."""
    with loopback(whichever) as server:
        command = [sys.executable, "-c", INTERRUPTED, server.url, "300"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert result.stdout.split("\n")[0] == f"{['Hello.'] * 5} 0", result.stderr


def whichever(number: int, request: bytes) -> list[Any]:
    return GOOD_STREAM if b":stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]
