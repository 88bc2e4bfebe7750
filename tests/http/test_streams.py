"""Streams over a real socket: cut, stalled, closed, cancelled."""

from __future__ import annotations

import threading

import anyio
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.loopback import (
    ANSWER,
    GOOD_STREAM,
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
from wire import AsyncClient, Client, Timeouts, errors

SHORT = Timeouts(first_byte=10, idle=0.3)


@joined(
    ("steps", "kind"),
    [
        ([STREAM, event(text("Hel")), event(text("lo.")), LAST], errors.StreamIncomplete),
        ([STREAM, event(text("Hel")), chunked(b'data: {"candid'), LAST], errors.StreamIncomplete),
        ([STREAM, event(text("Hel")), "close"], errors.ConnectionLost),
        ([STREAM, event(text("Hel")), "reset"], errors.ConnectionLost),
        ([STREAM, event(text("Hel")), chunked(b'data: {"candid'), "close"], errors.ConnectionLost),
        ([STREAM, event(text("Hel")), b"zz\r\n"], errors.ConnectionLost),
        (
            [
                head(content_length="9999"),
                b'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\n\n',
                "close",
            ],
            errors.ConnectionLost,
        ),
        (
            [
                head(connection="close"),
                b'data: {"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]}\n\n',
                "close",
            ],
            errors.StreamIncomplete,
        ),
        ([STREAM, event(text("Hel")), chunked(b"data: {]}\r\n\r\n"), LAST], errors.StreamInvalid),
    ],
    ids=[
        "no finish",
        "cut event",
        "fin",
        "rst",
        "fin in event",
        "bad chunk",
        "short length",
        "no framing",
        "garbage",
    ],
)
def test_never_silently_short(
    drive: Drive, steps: list[bytes | str], kind: type[errors.WireError]
) -> None:
    with loopback(steps) as server:
        read = drive.read(base_url=server.url)
    assert read.texts[0] == "Hel"
    assert type(read.error) is kind
    assert read.error.partial.text == "".join(read.texts)
    assert len(server.requests) == 1, "a part of the answer was seen, so nothing is sent again"


def test_finish_in_the_last_event_is_whole_though_the_connection_breaks(drive: Drive) -> None:
    with loopback([STREAM, event(text("Hel")), event(text("lo.", "STOP")), "reset"]) as server:
        read = drive.read(base_url=server.url)
    assert (read.texts, read.error, read.reply.text) == (["Hel", "lo."], None, "Hello.")


def test_stall_between_events(drive: Drive) -> None:
    with loopback([STREAM, event(text("Hel")), "hold"]) as server:
        read = drive.read(base_url=server.url, timeouts=SHORT)
    assert type(read.error) is errors.IdleClock
    assert read.error.partial.text == "Hel"


def test_comments_do_not_reset_the_idle_clock(drive: Drive) -> None:
    """A socket that is fed a comment every 50 ms never times out by itself (R-13)."""
    stop = threading.Event()

    def script(number: int, request: bytes) -> object:
        yield STREAM
        yield event(text("Hel"))
        while not stop.wait(0.05):
            yield chunked(b": still here\r\n")

    with loopback(script) as server:
        read = drive.read(base_url=server.url, timeouts=SHORT)
        stop.set()
    assert type(read.error) is errors.IdleClock


def test_total_clock(drive: Drive) -> None:
    stop = threading.Event()

    def script(number: int, request: bytes) -> object:
        yield STREAM
        while not stop.wait(0.05):
            yield event(text("x"))

    with loopback(script) as server:
        read = drive.read(base_url=server.url, timeouts=Timeouts(total=0.5))
        stop.set()
    assert type(read.error) is errors.TotalClock
    assert set(read.texts) == {"x"}


def test_no_head_in_time(drive: Drive) -> None:
    with loopback(["hold"]) as server:
        for read in (drive.send, drive.read):
            with pytest.raises(errors.FirstByteClock) as caught:
                read(base_url=server.url, timeouts=Timeouts(first_byte=0.2), retry=None)
            assert caught.value.retryable


def test_silence_after_comments_counts_from_the_last_event(drive: Drive) -> None:
    """Not from the last comment: the time-out of the socket would let the late event pass."""
    pace = threading.Event()

    def script(number: int, request: bytes) -> object:
        yield STREAM
        yield event(text("Hel"))
        for _ in range(5):
            pace.wait(0.15)
            yield chunked(b": still here\r\n")
        pace.wait(1.35)
        yield event(text("lo.", "STOP"))
        yield LAST

    with loopback(script) as server:
        read = drive.read(base_url=server.url, timeouts=Timeouts(idle=1.5))
    assert type(read.error) is errors.IdleClock
    assert read.texts == ["Hel"]


def test_stall_in_a_whole_answer(drive: Drive) -> None:
    with (
        loopback([head(kind="application/json", content_length="99"), b'{"cand', "hold"]) as server,
        pytest.raises(errors.IdleClock),
    ):
        drive.send(base_url=server.url, timeouts=SHORT, retry=None)


def test_stalled_error_body_is_still_the_error(drive: Drive) -> None:
    body = b'{"error":{"code":404,"message":"no such model","status":"NOT_FOUND"}}'
    with loopback([head(404, "application/json", content_length="999"), body, "hold"]) as server:
        with pytest.raises(errors.NotFoundError, match="no such model"):
            drive.send(base_url=server.url, timeouts=SHORT)


def test_closed_before_any_answer_is_tried_again(drive: Drive) -> None:
    with loopback(lambda number, request: ["close"] if number == 0 else [whole(ANSWER)]) as server:
        assert drive.send(base_url=server.url).text == "Hello."
        assert len(server.requests) == 2


@pytest.mark.row("S4-05")
def test_break_closes_the_connection_and_the_next_call_works(drive: Drive) -> None:
    with loopback(
        lambda number, request: [STREAM, event(text("Hel")), "hold"] if number == 0 else GOOD_STREAM
    ) as server:

        def work(door: object) -> None:
            assert door.read(most=1).texts == ["Hel"]  # type: ignore[attr-defined]
            assert server.closed.acquire(timeout=5), (
                "the connection is closed when the block is left, not at some later time"
            )
            assert door.read().texts == ["Hel", "lo."]  # type: ignore[attr-defined]

        drive.session(work, base_url=server.url)
        assert server.connections == 2


def test_whole_stream_gives_its_connection_back(drive: Drive) -> None:
    with loopback(GOOD_STREAM) as server:

        def work(door: object) -> None:
            for _ in range(5):
                assert door.read().reply.text == "Hello."  # type: ignore[attr-defined]

        drive.session(work, base_url=server.url)
        assert (server.connections, len(server.requests)) == (1, 5)


def test_events_arrive_as_they_are_sent(drive: Drive) -> None:
    """The second event is sent only after the first was read."""
    read_first = threading.Event()

    def script(number: int, request: bytes) -> object:
        yield STREAM
        yield event(text("Hel"))
        assert read_first.wait(5)
        yield event(text("lo.", "STOP"))
        yield LAST

    with loopback(script) as server:
        if drive.name == "sync":
            with (
                Client("gemini", api_key="fake-key", base_url=server.url) as client,
                client.stream(STREAM_CALL) as chunks,
            ):
                assert next(chunks).text == "Hel"
                read_first.set()
                assert [chunk.text for chunk in chunks] == ["lo."]
            return

        async def main() -> None:
            async with (
                AsyncClient("gemini", api_key="fake-key", base_url=server.url) as client,
                client.stream(STREAM_CALL) as chunks,
            ):
                assert (await anext(chunks)).text == "Hel"
                read_first.set()
                assert [chunk.text async for chunk in chunks] == ["lo."]

        anyio.run(main, backend=drive.name)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closing_from_another_task(backend: str) -> None:
    with loopback([STREAM, event(text("Hel")), "hold"]) as server:

        async def main() -> None:
            client = AsyncClient("gemini", api_key="fake-key", base_url=server.url)
            reading = anyio.Event()
            ended: list[errors.WireError] = []

            async def read() -> None:
                async with client.stream(STREAM_CALL) as chunks:
                    with pytest.raises(errors.WireError) as caught:
                        async for _ in chunks:
                            reading.set()
                ended.append(caught.value)

            with anyio.fail_after(5):
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(read)
                    await reading.wait()
                    await anyio.wait_all_tasks_blocked()
                    await client.aclose()
            assert type(ended[0]) is errors.ConnectionLost
            assert ended[0].partial.text == "Hel"
            with pytest.raises(errors.ConfigurationError, match="closed"):
                await client.send(CALL)
            await client.aclose()

        anyio.run(main, backend=backend)


def test_closing_from_another_thread() -> None:
    with loopback([STREAM, event(text("Hel")), "hold"]) as server:
        client = Client("gemini", api_key="fake-key", base_url=server.url)
        reading = threading.Event()
        ended: list[errors.WireError] = []

        def read() -> None:
            with client.stream(STREAM_CALL) as chunks:
                try:
                    for _ in chunks:
                        reading.set()
                except errors.WireError as error:
                    ended.append(error)

        thread = threading.Thread(target=read)
        thread.start()
        assert reading.wait(5)
        client.close()
        thread.join(5)
        assert type(ended[0]) is errors.ConnectionLost
        with pytest.raises(errors.ConfigurationError, match="closed"):
            client.send(CALL)
        client.close()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelling_closes(backend: str) -> None:
    with loopback(
        lambda number, request: [STREAM, event(text("Hel")), "hold"] if number == 0 else GOOD_STREAM
    ) as server:

        async def main() -> None:
            async with AsyncClient("gemini", api_key="fake-key", base_url=server.url) as client:
                with anyio.CancelScope() as scope:
                    async with client.stream(STREAM_CALL) as chunks:
                        async for _ in chunks:
                            scope.cancel()
                assert scope.cancelled_caught
                assert await anyio.to_thread.run_sync(server.closed.acquire, True, 5)
                async with client.stream(STREAM_CALL) as chunks:
                    assert [chunk.text async for chunk in chunks] == ["Hel", "lo."]

        anyio.run(main, backend=backend)


def test_a_stream_is_read_inside_its_block(drive: Drive) -> None:
    with loopback(GOOD_STREAM) as server:
        if drive.name == "sync":
            with Client("gemini", api_key="fake-key", base_url=server.url) as client:
                with client.stream(STREAM_CALL) as chunks:
                    next(chunks)
                with pytest.raises(errors.StreamIncomplete, match="left before its end"):
                    next(chunks)
            return

        async def main() -> None:
            async with AsyncClient("gemini", api_key="fake-key", base_url=server.url) as client:
                async with client.stream(STREAM_CALL) as chunks:
                    await anext(chunks)
                with pytest.raises(errors.StreamIncomplete, match="left before its end"):
                    await anext(chunks)

        anyio.run(main, backend=drive.name)


def test_an_exception_of_the_caller_passes_through_and_closes(drive: Drive) -> None:
    class Mine(Exception):
        pass

    with loopback([STREAM, event(text("Hel")), "hold"]) as server:
        if drive.name == "sync":
            with (
                Client("gemini", api_key="fake-key", base_url=server.url) as client,
                pytest.raises(Mine),
            ):
                with client.stream(STREAM_CALL):
                    raise Mine
        else:

            async def main() -> None:
                async with AsyncClient("gemini", api_key="fake-key", base_url=server.url) as client:
                    with pytest.raises(Mine):
                        async with client.stream(STREAM_CALL):
                            raise Mine

            anyio.run(main, backend=drive.name)
        assert server.closed.acquire(timeout=5)
