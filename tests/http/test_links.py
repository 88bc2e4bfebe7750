"""WebSocket sessions of clients, on threads, asyncio and trio."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.http.drive import EVERY, Drive, not_on_httpx2
from tests.http.frames import Peer, accepted, close, frame, served, text
from tests.http.loopback import Loopback, loopback, whole
from wire import AsyncClient, Client, Limits, Timeouts, errors
from wire.openai import responses

CALL = responses.socket()


def asked(words: str) -> responses.ResponseRequest:
    return responses.ResponseRequest(model="m", input=words, store=False)


def options(server: Loopback, **more: Any) -> dict[str, Any]:
    return {"provider": "openai", "base_url": f"{server.url}/v1", **more}


def echo(peer: Peer) -> None:
    """Answers each request by its own input."""
    while (message := peer.message()) is not None:
        peer.send(text({"type": "response.output_text.delta", "delta": message["input"]}))


@pytest.mark.parametrize("drive", EVERY)
def test_events_go_out_and_come_in(drive: Drive) -> None:
    with loopback(served(echo)) as server:

        def work(door: Any) -> None:
            with door.connect(CALL) as socket:
                for words in ("Hi", "x" * 300_000, "\N{WATER WAVE}"):
                    socket.send(asked(words))
                    assert socket.next().delta == words
                account = socket.account
                assert (account.attempts, account.status, account.events) == (1, 101, 3)
                assert account.sent > 300_000 < account.received

        drive.session(work, **options(server))
    head = server.requests[0].decode()
    assert head.startswith("GET /v1/responses HTTP/1.1\r\n")
    assert head.lower().count("authorization: bearer fake-key\r\n") == 1
    assert "Sec-WebSocket-Version: 13\r\n" in head
    assert "content-length" not in head.lower()


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_leaves_the_session_to_its_parent() -> None:
    with loopback(served(echo)) as server:
        client = Client("openai", api_key="fake-key", base_url=f"{server.url}/v1")
        with client, client.connect(CALL) as socket:
            socket.send(asked("before"))
            with socket._link._lock:  # as another thread of the parent may hold it
                pid = os.fork()
                if not pid:
                    found = 1
                    try:
                        socket.send(asked("of the child"))
                    except errors.ConnectionLost:
                        socket.close()
                        found = 0
                    os._exit(found)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            socket.send(asked("after"))
            events = socket.events()
            assert [next(events).delta, next(events).delta] == ["before", "after"]


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_runs_over_tls(drive: Drive, trusted: Path) -> None:
    with loopback(served(echo), trusted) as server:

        def work(door: Any) -> str:
            with door.connect(CALL) as socket:
                socket.send(asked("x" * 200_000))
                return str(socket.next().delta)

        assert len(drive.session(work, **options(server))) == 200_000
        assert server.url.startswith("https:")


@pytest.mark.parametrize("drive", EVERY)
def test_messages_that_come_with_the_head_are_read(drive: Drive) -> None:
    first = text({"type": "first"}) + frame("binary", b'{"type":"second"}')
    with loopback(lambda _, request: [accepted(request) + first, "hold"]) as server:

        def work(door: Any) -> list[str]:
            with door.connect(CALL) as socket:
                return [socket.next().type, socket.next().type]

        assert drive.session(work, **options(server)) == ["first", "second"]


@pytest.mark.parametrize("drive", EVERY)
def test_pings_are_answered_while_the_program_waits(drive: Drive) -> None:
    seen: list[Any] = []

    def script(peer: Peer) -> None:
        peer.send(frame("ping", b"one"), frame("ping", b"two"))
        seen.extend([peer.frame(), peer.frame()])
        peer.send(text({"type": "done"}), close(1000))
        seen.append(peer.frame())

    with loopback(served(script)) as server:

        def work(door: Any) -> None:
            with door.connect(CALL) as socket:
                assert socket.next().type == "done"
                assert socket.next() is None
                assert socket.next() is None
                with pytest.raises(errors.ConnectionLost, match="1000, the server ended it"):
                    socket.send(asked("Hi"))

        drive.session(work, **options(server))
    assert seen == [("pong", b"one"), ("pong", b"two"), ("close", b"\x03\xe8")]


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize(
    ("end", "kind", "words"),
    [
        (close(1007, "Bad fake-key"), "BadRequestError", "1007: Bad ***"),
        (close(4000), "APIError", "4000: the socket was closed: the server's own code"),
        (b"", "ConnectionLost", "the socket was closed: 1006, the connection broke off"),
        (text(1)[:1], "ConnectionLost", "the socket was closed: 1006, the connection broke off"),
        (b"\xc1\x00", "StreamInvalid", "not WebSocket"),
        (frame("text", b"[]"), "StreamInvalid", "not an event of Responses"),
        (frame("text", b"x" * 2000), "LimitError", "limits.event sets the limit"),
    ],
    ids=["refused", "own code", "cut", "cut in a frame", "compressed", "no object", "too large"],
)
def test_an_end_is_typed_after_the_messages_before_it(
    drive: Drive, end: bytes, kind: str, words: str
) -> None:
    with loopback(served(lambda peer: peer.send(text({"type": "first"}), end))) as server:

        def work(door: Any) -> errors.WireError:
            with door.connect(CALL) as socket:
                assert socket.next().type == "first"
                with pytest.raises(errors.WireError) as caught:
                    socket.next()
                return caught.value

        error = drive.session(work, **options(server, limits=Limits(event=1000)))
    assert type(error).__name__ == kind
    assert words in str(error)
    assert (error.provider, error.status, error.attempts) == ("openai", 101, 1)
    assert error.preview is not None
    assert error.preview.headers["authorization"] == "Bearer ***"
    assert "fake-key" not in str(error)


@pytest.mark.parametrize("drive", EVERY)
def test_a_refused_handshake_is_the_error_of_its_status(drive: Drive) -> None:
    body = {"error": {"message": "Incorrect key fake-key", "code": "invalid_api_key"}}
    with (
        loopback([whole(body, 401)]) as server,
        pytest.raises(errors.AuthenticationError) as caught,
    ):
        drive.session(lambda door: door.connect(CALL).__enter__(), **options(server))
    assert str(caught.value) == "openai: 401 invalid_api_key: Incorrect key ***"
    assert len(server.requests) == 1


@pytest.mark.parametrize("drive", EVERY)
def test_an_overloaded_server_is_asked_again(drive: Drive) -> None:
    def script(number: int, request: bytes) -> list[Any]:
        return [whole({}, 503)] if number < 2 else [accepted(request), text({"type": "x"}), "hold"]

    with loopback(script) as server:

        def work(door: Any) -> Any:
            with door.connect(CALL) as socket:
                return socket.next().type, socket.account.attempts

        assert drive.session(work, **options(server)) == ("x", 3)


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda _: whole({}), "the server answered with status 200 in place of 101"),
        (lambda request: accepted(request, "Sec-WebSocket-Extensions: permessage-deflate"),
         "an extension or a protocol that it was not offered"),
        (lambda request: accepted(request).replace(b"Accept: ", b"Accept: x"), "does not belong"),
    ],
    ids=["no upgrade", "extension", "wrong accept"],
)  # fmt: skip
def test_what_opens_no_websocket_is_told(
    drive: Drive, answer: Callable[[bytes], bytes], words: str
) -> None:
    with loopback(lambda _, request: [answer(request), "hold"]) as server:
        with pytest.raises(errors.StreamInvalid, match=words):
            drive.session(lambda door: door.connect(CALL).__enter__(), **options(server))


@pytest.mark.parametrize("drive", EVERY)
def test_a_transport_without_connections_is_told(drive: Drive) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        _, _, head = accepted(
            b"Sec-WebSocket-Key: " + request.headers["sec-websocket-key"].encode()
        ).partition(b"\r\n")
        pairs = [line.split(b": ") for line in head.strip().split(b"\r\n")]
        return httpx.Response(101, headers=[(name, value) for name, value in pairs])

    with pytest.raises(errors.ConfigurationError, match="cannot open a WebSocket"):
        drive.session(
            lambda door: door.connect(CALL).__enter__(),
            provider="openai",
            http=httpx.MockTransport(answer),
        )


@pytest.mark.parametrize("drive", EVERY)
def test_a_silent_server_is_given_up_and_one_that_answers_pings_is_not(drive: Drive) -> None:
    pings: list[Any] = []

    def patient(peer: Peer) -> None:
        for _ in range(3):
            pings.append(peer.frame())
            peer.send(frame("pong"))
        peer.send(text({"type": "late"}))
        pings.append(peer.frame())
        peer.frame()  # and no answer

    with loopback(served(patient)) as server:

        def work(door: Any) -> errors.WireError:
            with door.connect(CALL) as socket:
                assert socket.next().type == "late"
                with pytest.raises(errors.IdleClock) as caught:
                    socket.next()
                return caught.value

        # A busy machine has half of the time, 0.4 s, for each answer to a ping.
        error = drive.session(work, **options(server, timeouts=Timeouts(idle=0.8)))
    assert str(error).startswith(
        "openai: timeouts.idle of 0.8 s is over: nothing came from 127.0.0.1:"
    )
    assert (pings, error.retryable) == ([("ping", b"")] * 4, True)


@pytest.mark.parametrize("drive", EVERY)
def test_a_server_that_does_not_read_is_given_up(drive: Drive) -> None:
    held = threading.Event()
    with loopback(lambda _, request: [accepted(request), held]) as server:

        def work(door: Any) -> None:
            try:
                with door.connect(CALL) as socket:
                    with pytest.raises(errors.IdleClock):
                        socket.send(asked("x" * 50_000_000))
            finally:
                held.set()

        drive.session(work, **options(server, timeouts=Timeouts(idle=0.2)))


def test_a_server_that_sends_before_it_reads_is_read_meanwhile() -> None:
    def script(peer: Peer) -> None:
        for _ in range(400):
            peer.send(text({"type": "x", "delta": "y" * 50_000}))
        echo(peer)

    with loopback(served(script)) as server:
        with Client("openai", api_key="fake-key", base_url=f"{server.url}/v1") as client:
            with client.connect(CALL) as socket:
                socket.send(asked("x" * 8_000_000))
                deltas = [
                    len(str(event.delta))
                    for _, event in zip(range(401), socket.events(), strict=False)
                ]
    assert deltas == [50_000] * 400 + [8_000_000]


@pytest.mark.parametrize("drive", EVERY)
def test_events_that_cannot_be_sent_are_refused_and_the_session_goes_on(drive: Drive) -> None:
    with loopback(served(echo)) as server:

        def work(door: Any) -> Any:
            with door.connect(CALL) as socket:
                for wrong, words in (
                    ({"type": "x"}, "expected a ResponseRequest or a ResponseSteer, not dict"),
                    (
                        responses.ResponseRequest(model="m", input="Hi", background=True),
                        "background",
                    ),
                    (responses.ResponseRequest(model="m", input=5), "input"),  # type: ignore[arg-type]
                ):
                    with pytest.raises(errors.RuleError, match=words):
                        socket.send(wrong)
                socket.send(responses.ResponseSteer(previous_response_id="r1", input="Wait."))
                return socket.next().delta

        assert drive.session(work, **options(server)) == "Wait."


@pytest.mark.parametrize("drive", EVERY)
def test_the_wrong_use_of_a_call_is_told(drive: Drive) -> None:
    request = responses.stream_response(asked("Hi"))
    for use, call, words in (
        ("connect", request, r"expected a SocketCall, not StreamCall; use stream\(\) for it"),
        ("send", CALL, r"expected a Call, not SocketCall; use connect\(\) for it"),
    ):
        with pytest.raises(errors.ConfigurationError, match=words):
            drive.session(
                lambda door: getattr(door, use)(call).__enter__(),  # noqa: B023
                provider="openai",
            )


def test_a_thread_that_asks_for_events_while_another_closes_gets_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    received: list[Any] = []
    with loopback(served(echo)) as server:
        with Client("openai", api_key="fake-key", base_url=f"{server.url}/v1") as client:
            with client.connect(CALL) as socket:
                end = type(socket._link).end

                def read_and_end(self: Any) -> None:
                    thread = threading.Thread(target=lambda: received.append([*socket.events()]))
                    thread.start()
                    thread.join(10)
                    end(self)

                with monkeypatch.context() as patch:
                    patch.setattr(type(socket._link), "end", read_and_end)
                    socket.close()
    assert received == [[]]


def test_a_thread_that_waits_gets_the_end_when_another_closes() -> None:
    waits, got = threading.Event(), []

    def script(peer: Peer) -> None:
        peer.send(text({"type": "first"}))
        waits.set()
        got.append(peer.frame())

    with loopback(served(script)) as server:
        with Client("openai", api_key="fake-key", base_url=f"{server.url}/v1") as client:
            with client.connect(CALL) as socket:
                received: list[Any] = []
                thread = threading.Thread(target=lambda: received.extend(socket.events()))
                thread.start()
                assert waits.wait(10)
                while not received:
                    thread.join(0.001)
                with pytest.raises(errors.ConfigurationError, match="another thread or task waits"):
                    next(socket.events())
                socket.close()
                thread.join(10)
                assert not thread.is_alive()
                with pytest.raises(errors.StreamIncomplete, match="closed by this program"):
                    socket.send(asked("Hi"))
    assert [event.type for event in received] == ["first"]
    assert got == [("close", b"\x03\xe8")]


def test_a_thread_sends_while_another_waits(trusted: Path) -> None:
    """Over TLS, where both use one object of OpenSSL."""
    with loopback(served(echo), trusted) as server:
        with Client("openai", api_key="fake-key", base_url=f"{server.url}/v1") as client:
            with client.connect(CALL) as socket:
                sizes: list[int] = []

                def listen() -> None:
                    for event in socket.events():
                        sizes.append(len(str(event.delta)))
                        if len(sizes) == 40:
                            return

                thread = threading.Thread(target=listen)
                thread.start()
                for number in range(40):
                    socket.send(asked("x" * (number * 5000 + 1)))
                thread.join(30)
    assert sizes == [number * 5000 + 1 for number in range(40)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_task_sends_while_another_waits_and_closing_wakes_it(backend: str) -> None:
    async def main(url: str) -> list[int]:
        sizes: list[int] = []
        async with AsyncClient("openai", api_key="fake-key", base_url=f"{url}/v1") as client:
            async with client.connect(CALL) as socket, anyio.create_task_group() as tasks:
                done = anyio.Event()

                async def listen() -> None:
                    async for event in socket.events():
                        sizes.append(len(str(event.delta)))
                        if len(sizes) == 20:
                            done.set()

                tasks.start_soon(listen)
                for number in range(20):
                    await socket.send(asked("x" * (number * 10_000 + 1)))
                await done.wait()
                await socket.aclose()
        return sizes

    with loopback(served(echo)) as server:
        assert anyio.run(main, server.url, backend=backend) == [n * 10_000 + 1 for n in range(20)]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_cancelled_wait_loses_no_event(backend: str) -> None:
    async def main(url: str) -> Any:
        async with AsyncClient("openai", api_key="fake-key", base_url=f"{url}/v1") as client:
            async with client.connect(CALL) as socket:
                with anyio.move_on_after(0.05) as scope:
                    await anext(socket.events())
                await socket.send(asked("Hi"))
                return scope.cancelled_caught, (await anext(socket.events())).delta

    with loopback(served(echo)) as server:
        assert anyio.run(main, server.url, backend=backend) == (True, "Hi")


@pytest.mark.parametrize("drive", EVERY)
@not_on_httpx2("the lanes are ours")
def test_a_session_is_one_of_the_connections_and_ends_with_the_client(drive: Drive) -> None:
    with loopback(served(echo)) as server:

        def work(door: Any) -> None:
            with pytest.raises(ZeroDivisionError):
                with door.connect(CALL) as socket:
                    socket.send(asked("Hi"))
                    assert socket.next().delta == "Hi"
                    raise ZeroDivisionError
            with door.connect(CALL) as socket:
                socket.send(asked("Ho"))
                assert socket.next().delta == "Ho"

        drive.session(work, **options(server))
        assert server.connections == 2
        for _ in range(2):
            assert server.closed.acquire(timeout=10)


def test_a_block_is_needed() -> None:
    with Client("openai", api_key="fake-key") as client:
        with pytest.raises(
            errors.ConfigurationError, match=r"with client.connect\(call\) as socket"
        ):
            iter(client.connect(CALL))  # type: ignore[call-overload]
