"""What the clients promise about themselves: few frames, light imports, no key anywhere, no lane
lost.
"""

from __future__ import annotations

import asyncio
import collections
import copy
import gc
import json
import logging
import pickle
import random
import ssl
import subprocess
import sys
import threading
import traceback
from typing import Any

import anyio
import anyio.lowlevel
import httpx
import msgspec
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive, of_one_loop
from tests.http.loopback import ANSWER, GOOD_STREAM, STREAM, event, loopback, text, whole
from tests.joined import joined
from tests.library import is_library
from wire import AsyncClient, Client, Timeouts, WireError, errors
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes

CANARY = "fake-canary-3f9c1e7b5a"


# --- frames ---------------------------------------------------------------------------------------


def test_at_most_four_frames_to_the_transport(drive: Drive) -> None:
    """Ours between the user's call and the transport; fewer frames are less to step through and
    less to pay.
    """
    counts: list[int] = []

    def answer(request: httpx.Request) -> httpx.Response:
        frame, names = sys._getframe(), []
        while frame is not None:
            names.append(frame.f_code.co_filename)
            frame = frame.f_back  # type: ignore[assignment]
        counts.append(sum(is_library(name, "http", "core") for name in names))
        return httpx.Response(200, json=ANSWER)

    drive.send(http=httpx.MockTransport(answer))
    drive.read(http=httpx.MockTransport(answer))
    assert len(counts) == 2
    assert all(1 <= count <= 4 for count in counts), counts


# --- imports --------------------------------------------------------------------------------------


@joined(
    "module",
    ["wire", "wire.gemini", "wire.openai.chat.endpoints", "wire.errors", "wire.http.target"],
)
def test_light_imports(module: str) -> None:
    code = (
        f"import {module}, sys; print(sorted({{'httpx', 'anyio', 'h11', 'ssl', 'asyncio', "
        f"'httpcore'}} & set(sys.modules)))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_no_tls_context_before_it_is_needed() -> None:
    code = (
        "from wire import Client; Client('gemini', api_key='fake-key'); from "
        "wire.http.network import CONTEXTS; print(len(CONTEXTS))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "0"


# --- the key --------------------------------------------------------------------------------------


def sinks(error: BaseException) -> dict[str, str]:
    """Everything that people log, print or store of an error."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    chain: list[BaseException] = []
    each: BaseException | None = error
    while each is not None:
        chain.append(each)
        each = each.__cause__ or each.__context__
    return {
        "str": "".join(map(str, chain)),
        "repr": "".join(map(repr, chain)),
        "vars": "".join(repr(vars(link)) for link in chain),
        "args": "".join(repr(link.args) for link in chain),
        "traceback with locals": "".join(told.format()),
    }


def echo(status: int) -> Any:
    """A server that repeats the key in its error, as real ones do."""

    def script(number: int, request: bytes) -> list[bytes]:
        key = next(
            line.split(b": ")[1]
            for line in request.split(b"\r\n")
            if line.startswith(b"x-goog-api-key")
        )
        return [
            whole(
                {
                    "error": {
                        "code": status,
                        "message": f"bad key {key.decode()}",
                        "status": key.decode(),
                    }
                },
                status,
            )
        ]

    return script


SCENES = {
    "bad key echoed": echo(400),
    "401 echoed": echo(401),
    "500 echoed": echo(500),
    "not json": [whole(b"<html>no</html>", 502, "text/html")],
    "closed": ["close"],
    "reset": ["reset"],
    "cut stream": [STREAM, event(text("Hel")), "reset"],
    "bad chunk": [STREAM, event(text("Hel")), b"zz\r\n"],
    "incomplete": [STREAM, event(text("Hel")), b"0\r\n\r\n"],
    "redirect": [whole(b"", 302, location="https://elsewhere.example/")],
}


@pytest.mark.parametrize("scene", SCENES)
def test_no_key_in_errors_and_logs(
    drive: Drive, scene: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", CANARY)  # so that no frame of the test has it
    for name in ("wire", "httpx", "httpcore", "h11", "asyncio", "anyio", "trio"):
        caplog.set_level(logging.DEBUG, name)
    caught: list[WireError] = []
    with loopback(SCENES[scene]) as server:
        for read in (drive.send, drive.read):
            try:
                result = read(api_key=None, base_url=server.url)
            except WireError as error:
                caught.append(error)
            else:
                caught += [result.error] if result.error else []
    assert caught
    for error in caught:
        for sink, shown in {**sinks(error), "log": caplog.text}.items():
            assert CANARY not in shown, f"the key is in the {sink}"
        restored = pickle.loads(pickle.dumps(error))
        assert CANARY not in repr(restored)
        assert CANARY not in str(copy.copy(error))


@pytest.mark.parametrize("scene", ["send", "write", "connect"])
def test_no_key_when_the_transport_fails_while_it_holds_the_headers(
    drive: Drive, scene: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Frames of httpx and httpcore have the headers among their locals: they must not hang on our
    errors.
    """
    monkeypatch.setenv("GEMINI_API_KEY", CANARY)

    def fail(request: httpx.Request) -> httpx.Response:
        headers = dict(request.headers)
        assert headers["x-goog-api-key"] == CANARY
        raise {
            "send": httpx.WriteError,
            "write": httpx.WriteTimeout,
            "connect": httpx.ConnectError,
        }[scene]("broken")

    with pytest.raises(WireError) as caught:
        drive.send(api_key=None, http=httpx.MockTransport(fail), retry=None)
    for sink, shown in sinks(caught.value).items():
        assert CANARY not in shown, f"the key is in the {sink}"


def test_no_key_in_what_is_shown() -> None:
    client = Client("gemini", api_key=CANARY, headers={"x-other-token": CANARY})
    preview = client.preview(CALL)
    for shown in (
        repr(client),
        repr(vars(client)),
        repr(client._target),
        str(client.describe()),
        str(preview),
        repr(preview),
        preview.curl,
        str(CALL.preview()),
        repr(CALL),
    ):
        assert CANARY not in shown
    assert preview.headers["x-goog-api-key"] == "***"
    assert preview.headers["x-other-token"] == "***"


def test_the_raw_body_is_there_for_who_asks(drive: Drive) -> None:
    with (
        loopback(echo(401)) as server,
        pytest.raises(errors.AuthenticationError, match=r"bad key \*\*\*") as caught,
    ):
        drive.send(api_key=CANARY, base_url=server.url)
    assert CANARY in caught.value.raw.decode()


# --- lanes ----------------------------------------------------------------------------------------


def test_one_tls_context_for_all_lanes() -> None:
    from wire.http.network import tls

    assert tls("https") is tls("https")


def test_one_tls_context_for_threads_that_make_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A TLS session of one context cannot be resumed with another: `wrap_socket` raises."""
    from wire.http import network

    together, found = threading.Barrier(4), list[ssl.SSLContext]()

    def made(**options: Any) -> ssl.SSLContext:
        together.wait(10)
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    monkeypatch.setattr(network, "CONTEXTS", {})
    monkeypatch.setattr(httpx, "create_ssl_context", made)
    threads = [threading.Thread(target=lambda: found.append(network.tls("https"))) for _ in "1234"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4
    assert len(set(map(id, found))) == 1


def test_lanes_are_limited() -> None:
    lanes = Lanes(limit=1)
    with (
        loopback([STREAM, event(text("Hel")), "hold"]) as server,
        Client("gemini", api_key="fake-key", base_url=server.url, http=lanes) as client,
    ):
        with client.stream(STREAM_CALL), pytest.raises(errors.TotalClock):
            client.send(CALL.replace(timeouts=Timeouts(total=0.2)))


def test_only_a_lane_whose_body_was_read_to_its_end_is_kept(drive: Drive) -> None:
    """Another may hold bytes that would become the next answer (R-25)."""
    kind = Lanes if drive.name == "sync" else AsyncLanes
    for most, kept, sent in ((1, 0, [*GOOD_STREAM[:2], "hold"]), (1000, 1, GOOD_STREAM)):
        with loopback(sent) as server:
            lanes = kind()

            def work(door: Any, lanes: Any = lanes, most: int = most) -> int:
                door.read(most=most)
                idle = lanes._idle if kind is Lanes else of_one_loop(lanes).idle
                return sum(map(len, idle.values()))

            assert drive.session(work, base_url=server.url, http=lanes) == kept, most


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_calls_queue_for_a_lane(backend: str) -> None:
    with loopback(GOOD_STREAM) as server:

        async def main() -> None:
            async with AsyncClient(
                "gemini", api_key="fake-key", base_url=server.url, http=AsyncLanes(limit=2)
            ) as client:
                texts = []

                async def read() -> None:
                    async with client.stream(STREAM_CALL) as chunks:
                        async for _ in chunks:
                            await anyio.lowlevel.checkpoint()
                    texts.append((await chunks.result()).text)

                async with anyio.create_task_group() as tasks:
                    for _ in range(20):
                        tasks.start_soon(read)
                assert texts == ["Hello."] * 20

        anyio.run(main, backend=backend)
        assert server.connections == 2


def storm(backend: str, calls: int, seed: int) -> collections.Counter[str]:
    """Calls cancelled at random moments on two lanes; afterwards a call must work and both places
    must be free.
    """
    tally: collections.Counter[str] = collections.Counter()
    dice = random.Random(seed)
    lanes = AsyncLanes(limit=2)

    async def read(client: AsyncClient) -> None:
        if dice.random() < 0.5:
            await client.send(CALL)
        else:
            async with client.stream(STREAM_CALL) as chunks:
                async for _ in chunks:
                    if dice.random() < 0.2:
                        break

    async def scoped(client: AsyncClient) -> None:
        with anyio.move_on_after(dice.random() * 0.006) as scope:
            await read(client)
            tally["done"] += 1
        tally["cancelled"] += scope.cancelled_caught

    async def native(client: AsyncClient) -> None:
        """`task.cancel()` passes through anyio's shields, so that it is another thing than
        a scope.
        """
        task = asyncio.ensure_future(read(client))
        await asyncio.sleep(dice.random() * 0.006)
        task.cancel()
        try:
            await task
            tally["done"] += 1
        except asyncio.CancelledError:
            tally["cancelled"] += 1

    async def main(url: str) -> None:
        async with AsyncClient(
            "gemini", api_key="fake-key", base_url=url, http=lanes, retry=None
        ) as client:
            for _ in range(calls // 8):
                async with anyio.create_task_group() as tasks:
                    for _ in range(8):
                        tasks.start_soon(
                            native if backend == "asyncio" and dice.random() < 0.5 else scoped,
                            client,
                        )
            with anyio.fail_after(
                60
            ):  # a lost lane waits for ever; the server first sees thousands of dead connections
                assert (await client.send(CALL)).text == "Hello."
                async with client.stream(STREAM_CALL) as chunks:
                    assert [chunk.text async for chunk in chunks] == ["Hel", "lo."]
            assert (of_one_loop(lanes).limiter.value, len(of_one_loop(lanes).busy)) == (2, 0)

    def script(number: int, request: bytes) -> list[bytes]:
        return list(GOOD_STREAM) if b"stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]

    with loopback(script) as server:
        anyio.run(main, server.url, backend=backend)
    gc.collect()
    return tally


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_cancelled_calls_lose_no_lane(backend: str) -> None:
    tally = storm(backend, 200, seed=1)
    assert tally["cancelled"] > 25
    assert tally["done"] + tally["cancelled"] == 200


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_ten_thousand_cancelled_calls_lose_no_lane(backend: str) -> None:
    tally: collections.Counter[str] = collections.Counter()
    seed = 0
    while tally["cancelled"] < 10_000:
        seed += 1
        tally += storm(backend, 2_000, seed)
    print(backend, dict(tally))


def test_memory_of_an_answer_survives_json_of_the_account(drive: Drive) -> None:
    with loopback([whole(ANSWER)]) as server:
        answer = drive.send(base_url=server.url)
    assert answer.raw == json.dumps(ANSWER).encode()
    assert msgspec.json.decode(msgspec.json.encode(answer)) == ANSWER
