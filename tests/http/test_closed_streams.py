"""A stream that is closed from another thread or task ends alone, at any moment (R-22).

Nothing here waits for a clock: those of the clients are a minute away, and no test takes so long.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import ssl
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import httpx
import pytest

from tests.http.drive import CALL, STREAM_CALL, of_one_loop
from tests.http.loopback import ANSWER, LAST, STREAM, Loopback, event, head, loopback, text, whole
from tests.library import is_library
from tests.property import ALL
from wire import AsyncChat, AsyncClient, Chat, Client, Retry, Timeouts, errors, openai
from wire.http.async_lanes import AsyncLanes
from wire.http.client import Stream
from wire.http.lanes import Lanes
from wire.http.watchdog import _watchdog

FAR = Timeouts(connect=60, first_byte=60, idle=60, total=60)
WITHIN = 20.0
"""Seconds after which a test fails; nothing in it takes a tenth of a second."""
TRANSPORTS = [
    "direct",
    "httpx",
    "pool of httpx",
]


class Two:
    """A server whose first stream stops after an event until `go`, and whose second one for ever.

    Other requests get a whole answer.
    """

    def __init__(self) -> None:
        self.go = threading.Event()
        self.streams = 0

    def __call__(self, number: int, request: bytes) -> Iterator[Any]:
        if b"stream" not in request.split(b"\r\n")[0]:
            yield whole(ANSWER)
            return
        self.streams += 1
        last = self.go if self.streams == 1 else "hold"  # before another stream begins
        yield STREAM + event(text("Hel"))
        yield last
        yield event(text("lo.", "STOP")) + LAST


HOLD: list[Any] = [STREAM, event(text("Hel")), "hold"]


class Reader:
    """Reads the rest of a stream in a thread of its own."""

    def __init__(self, stream: Any, trace: Any = None) -> None:
        self.stream, self.trace = stream, trace
        self.ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        sys.settrace(self.trace)
        try:
            self.ended.put([chunk.text for chunk in self.stream])
        except BaseException as error:
            self.ended.put(error)
        finally:
            sys.settrace(None)

    def wait_until_it_waits(self) -> None:
        """Return when the thread waits in a read, or has ended.

        It waits if two looks at its stack see the same place.
        """
        until = time.monotonic() + WITHIN
        place, before = (), None
        while self.thread.is_alive():
            assert time.monotonic() < until, place
            time.sleep(0.01)
            before, place = place, self._place()
            if place == before and "_read" in [name for name, _ in place]:
                return

    def _place(self) -> tuple[tuple[str, int], ...]:
        names, frame = [], sys._current_frames().get(self.thread.ident or 0)
        while frame is not None:
            names.append((frame.f_code.co_name, frame.f_lasti))
            frame = frame.f_back
        return tuple(names)

    def error(self) -> Any:
        found = self.ended.get(timeout=WITHIN)
        self.thread.join(WITHIN)
        return found


def trusting(authority: Path | None) -> ssl.SSLContext | bool:
    return ssl.create_default_context(cafile=authority) if authority else False


def lanes(transport: str, authority: Path | None) -> Any:
    if transport == "pool of httpx":
        return httpx.HTTPTransport(verify=trusting(authority), trust_env=False)
    return Lanes(connections=transport)


@contextlib.contextmanager
def connected(server: Loopback, http: Any, **options: Any) -> Iterator[Client]:
    options = {"api_key": "fake-key", "timeouts": FAR, "retry": None, **options}
    with Client("gemini", base_url=server.url, http=http, **options) as client:
        yield client


def check(error: Any, partial: str = "Hel") -> None:
    assert type(error) is errors.StreamIncomplete, repr(error)
    assert "or closed" in str(error)
    assert error.partial.text == partial
    assert not error.retryable


@pytest.mark.parametrize("how", ["close", "leave"])
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_from_another_thread(transport: str, secure: bool, how: str, trusted: Path) -> None:
    authority = trusted if secure else None
    http, script = lanes(transport, authority), Two()
    with loopback(script, authority) as server, connected(server, http) as client:
        with client.stream(STREAM_CALL) as other:
            assert next(other).text == "Hel"
            with client.stream(STREAM_CALL) as stream:
                assert next(stream).text == "Hel"
                reader = Reader(stream)
                reader.wait_until_it_waits()
                if how == "close":
                    stream.close()
            error = reader.error()
            check(error)
            with pytest.raises(errors.StreamIncomplete) as again:
                stream.result()
            assert again.value is error
            assert stream.partial().text == "Hel"
            assert server.closed.acquire(timeout=WITHIN), "the connection is still open"
            script.go.set()
            assert other.result().text == "Hello."
        assert client.send(CALL).text == "Hello."
        assert server.connections == 2, "the other stream's connection is free for another call"
        if isinstance(http, Lanes):
            assert not http._slots._taken


def test_the_events_of_a_chat() -> None:
    with loopback(Two()) as server:
        script = server.script
        options: Any = {"api_key": "fake-key", "timeouts": FAR, "base_url": server.url}
        with Chat("gemini:m", **options) as chat, chat.stream("Hi") as first:
            with chat.stream("Hi") as events, chat.stream("Hi", output=str) as outputs:
                for each in (events, outputs):
                    next(iter(each))
                    reader = Reader(each)
                    reader.wait_until_it_waits()
                    each.close()
                    check(reader.error())
            script.go.set()  # type: ignore[attr-defined]
            assert first.reply().text == "Hello."


def test_a_stream_that_nobody_reads_ends_at_once() -> None:
    with loopback(HOLD) as server, connected(server, Lanes()) as client:
        with client.stream(STREAM_CALL) as stream:
            thread = threading.Thread(target=stream.close)
            thread.start()
            thread.join(WITHIN)
            assert server.closed.acquire(timeout=WITHIN)
            with pytest.raises(errors.StreamIncomplete) as caught:
                next(stream)
            check(caught.value)
            stream.close()


def test_a_read_that_begins_while_another_thread_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    leave = Stream._leave

    def read_and_leave(stream: Any) -> None:
        if not found:
            found.append(None)
            found[0] = Reader(stream).error()
        leave(stream)

    with loopback(HOLD) as server, connected(server, Lanes()) as client:
        with client.stream(STREAM_CALL) as stream:
            next(stream)
            monkeypatch.setattr(Stream, "_leave", read_and_leave)
            stream.close()
            check(found[0])
            with pytest.raises(errors.StreamIncomplete) as caught:
                next(stream)
            check(caught.value)


def test_a_stream_that_has_ended_keeps_its_result() -> None:
    script = Two()
    script.go.set()
    with loopback(script) as server, connected(server, Lanes()) as client:
        with client.stream(STREAM_CALL) as stream:
            assert [chunk.text for chunk in stream] == ["Hel", "lo."]
            stream.close()
            assert stream.result().text == "Hello."
            assert client.send(CALL).text == "Hello."
        assert server.connections == 1, "its connection was read to the end"


def test_a_transport_without_a_connection_ends_with_the_next_data() -> None:
    pieces: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    class Body(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            while True:
                yield pieces.get(timeout=WITHIN)

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    def line(words: str) -> bytes:
        return b"data: " + json.dumps(text(words)).encode() + b"\n\n"

    pieces.put(line("Hel"))
    options: Any = {"api_key": "fake-key", "http": httpx.MockTransport(answer), "timeouts": FAR}
    with Client("gemini", **options) as client, client.stream(STREAM_CALL) as stream:
        next(stream)
        reader = Reader(stream)
        reader.wait_until_it_waits()
        stream.close()
        pieces.put(line("lo."))
        check(reader.error(), "Hello.")


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="needs signals of POSIX")
@pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals need the main thread"
)
def test_from_a_handler_of_a_signal() -> None:
    """It runs inside the read that it is to end."""
    before = signal.getsignal(signal.SIGUSR1)
    with loopback(HOLD) as server, connected(server, Lanes()) as client:
        with client.stream(STREAM_CALL) as stream:
            signal.signal(signal.SIGUSR1, lambda *_: stream.close())
            try:
                next(stream)
                sender = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1))
                sender.start()
                with pytest.raises(errors.StreamIncomplete) as caught:
                    next(stream)
                sender.join(WITHIN)
            finally:
                signal.signal(signal.SIGUSR1, before)
            check(caught.value)
            assert server.closed.acquire(timeout=WITHIN)


# --- at each moment -------------------------------------------------------------------------------


class AtLine:
    """A trace function that does something at the n-th line of the library's reads."""

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self.left, self.act = number, act

    def __call__(self, frame: FrameType, kind: str, _: object) -> Any:
        code = frame.f_code
        # What holds the lock of the watchdog would not let another thread pass.
        if not is_library(code.co_filename, "http", "core") or "watchdog" in code.co_filename:
            return None
        if kind == "line" and not _watchdog.lock._is_owned():  # type: ignore[attr-defined]
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                self.act()
                return None
        return self


@pytest.mark.sampled
@pytest.mark.parametrize("where", ["another thread", "the same thread"])
@pytest.mark.parametrize("transport", TRANSPORTS[:2])
def test_at_each_line_of_a_read(transport: str, where: str) -> None:
    """The reader is stopped at each line in turn while the stream is closed.

    In the same thread, it is a handler of a signal or a `__del__` that closes it.
    """
    lanes = Lanes(limit=1, connections=transport)  # type: ignore[arg-type]
    reached, number, lines = True, 0, 1 if ALL else 15
    with loopback(HOLD) as server, connected(server, lanes) as client:
        while reached:
            number += lines
            with client.stream(STREAM_CALL) as stream:
                reached = _closed_at(number, stream, where)
                assert not lanes._slots._taken, f"line {number} keeps its place"
                assert server.closed.acquire(timeout=WITHIN), f"line {number} keeps its connection"
    assert number > 30


def _closed_at(number: int, stream: Any, where: str) -> bool:
    """Read a stream and close it at a line; return False if the reads have fewer lines."""
    reached = threading.Event()

    def act() -> None:
        reached.set()
        if where == "the same thread":
            stream.close()
            return
        closer = threading.Thread(target=stream.close)
        closer.start()
        closer.join(WITHIN)
        assert not closer.is_alive(), f"line {number} blocks the thread that closes"

    reader = Reader(stream, AtLine(number, act))
    reader.wait_until_it_waits()
    if not reached.is_set():
        stream.close()
    check(reader.error())
    return reached.is_set()


# --- asyncio and trio -----------------------------------------------------------------------------


def async_lanes(transport: str, authority: Path | None) -> Any:
    if transport == "pool of httpx":
        return httpx.AsyncHTTPTransport(verify=trusting(authority), trust_env=False)
    return AsyncLanes(connections=transport)  # type: ignore[arg-type]


ON_LOOPS = [
    pytest.param(backend, transport, id=f"{backend}, {transport}")
    for backend in ("asyncio", "trio")
    for transport in ("direct", "httpx", "pool of httpx")
    if transport != "direct" or backend == "asyncio"
]


@pytest.mark.parametrize("how", ["close", "leave"])
@pytest.mark.parametrize("secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize(("backend", "transport"), ON_LOOPS)
def test_from_another_task(
    backend: str, transport: str, secure: bool, how: str, trusted: Path
) -> None:
    authority = trusted if secure else None
    http, script = async_lanes(transport, authority), Two()
    ended: list[errors.WireError] = []

    async def main(server: Loopback) -> None:
        async def read() -> None:
            with pytest.raises(errors.WireError) as caught:
                await anext(stream)
            ended.append(caught.value)

        options: Any = {"api_key": "fake-key", "timeouts": FAR, "http": http, "retry": None}
        with anyio.fail_after(WITHIN):
            async with AsyncClient("gemini", base_url=server.url, **options) as client:
                async with client.stream(STREAM_CALL) as other:
                    assert (await anext(other)).text == "Hel"
                    async with (
                        anyio.create_task_group() as tasks,
                        client.stream(STREAM_CALL) as stream,
                    ):
                        await anext(stream)
                        tasks.start_soon(read)
                        await anyio.wait_all_tasks_blocked()
                        if how == "close":
                            await stream.aclose()
                    assert await anyio.to_thread.run_sync(server.closed.acquire, True, WITHIN)
                    with pytest.raises(errors.StreamIncomplete) as again:
                        await stream.result()
                    assert again.value is ended[0]
                    await stream.aclose()
                    script.go.set()
                    assert (await other.result()).text == "Hello."
                assert (await client.send(CALL)).text == "Hello."
                if isinstance(http, AsyncLanes):
                    assert not of_one_loop(http).busy

    with loopback(script, authority) as server:
        anyio.run(main, server, backend=backend)
        assert server.connections == 2
    check(ended[0])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_transport_without_a_connection_ends_at_once_in_a_task(backend: str) -> None:
    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b"data: " + json.dumps(text("Hel")).encode() + b"\n\n"
            await anyio.sleep_forever()

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    async def main() -> None:
        async def read() -> None:
            with pytest.raises(errors.WireError) as caught:
                await anext(aiter(events))
            check(caught.value)

        options: Any = {"api_key": "fake-key", "http": httpx.MockTransport(answer)}
        with anyio.fail_after(WITHIN):
            async with AsyncChat("gemini:m", timeouts=FAR, **options) as chat:
                async with anyio.create_task_group() as tasks, chat.stream("Hi") as events:
                    await anext(aiter(events))
                    tasks.start_soon(read)
                    await anyio.wait_all_tasks_blocked()
                    await events.aclose()

    anyio.run(main, backend=backend)


# --- a stream that is being continued -------------------------------------------------------------

STATE = {"id": "resp_1", "object": "response", "status": "in_progress", "background": True}
BACKGROUND = openai.responses.stream_response(
    openai.responses.ResponseRequest(model="gpt-5.6", input="Hi", background=True, store=True)
)


def continued(then: Any) -> Callable[[int, bytes], Any]:
    """A stream that breaks off and can be continued; `then` is played to its continuation."""
    created = {"type": "response.created", "sequence_number": 0, "response": STATE}

    def script(number: int, request: bytes) -> Any:
        return then if request.startswith(b"GET") else [STREAM, event(created), "close"]

    return script


LATER = [head(503, "application/json", retry_after="50", content_length="2") + b"{}"]


@pytest.mark.parametrize("then", [LATER, ["hold"]], ids=["in a pause", "before its head"])
@pytest.mark.parametrize("style", ["sync", "asyncio", "trio"])
def test_while_it_is_continued(style: str, then: Any) -> None:
    options: Any = {"api_key": "fake-key", "timeouts": FAR, "retry": Retry(attempts=3, base=0)}

    async def main(url: str) -> None:
        async def read() -> None:
            with pytest.raises(errors.StreamIncomplete, match="or closed"):
                await anext(stream)

        with anyio.fail_after(WITHIN):
            async with AsyncClient("openai", base_url=url, **options) as client:
                async with client.stream(BACKGROUND) as stream, anyio.create_task_group() as tasks:
                    await anext(stream)
                    tasks.start_soon(read)
                    with anyio.fail_after(WITHIN):
                        while len(server.requests) < 2:  # noqa: ASYNC110  a thread counts them
                            await anyio.sleep(0.01)
                    await anyio.wait_all_tasks_blocked()
                    await stream.aclose()

    with loopback(continued(then)) as server:
        if style != "sync":
            anyio.run(main, server.url, backend=style)
        else:
            with Client("openai", base_url=server.url, **options) as client:
                with client.stream(BACKGROUND) as stream:
                    next(stream)
                    reader = Reader(stream)
                    while len(server.requests) < 2:
                        reader.thread.join(0.01)
                    reader.wait_until_it_waits()
                    stream.close()
                    error = reader.error()
            assert type(error) is errors.StreamIncomplete
        assert len(server.requests) == 2, "nothing is sent after the stream was closed"
