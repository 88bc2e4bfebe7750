"""A client whose process is forked, and one that more than one event loop uses."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.http.drive import CALL, STREAM_CALL, Drive
from tests.http.forking import CALLS, ROUNDS, call
from tests.http.loopback import (
    ANSWER,
    GOOD_STREAM,
    LAST,
    STREAM,
    Loopback,
    Step,
    event,
    loopback,
    text,
    whole,
)
from tests.joined import joined
from wire import AsyncClient, errors

ROOT = Path(__file__).parents[2]

forks = pytest.mark.skipif(sys.platform == "win32", reason="no fork")


class Waiting(list[Step]):
    """The head and the first event of a stream at once, the rest when `event` is set."""

    def __init__(self, steps: list[Step], event: threading.Event) -> None:
        super().__init__(steps)
        self._event = event

    def __iter__(self) -> Iterator[Step]:
        for place, step in enumerate(list.__iter__(self)):
            if place == 2:
                assert self._event.wait(30)
            yield step


@contextlib.contextmanager
def serving(certificate: Path | None) -> Iterator[Loopback]:
    """A server that answers with the words of the prompt, as the scenes of `forking.py` need."""
    go_on = threading.Event()
    one_waits, one_goes_on = threading.Semaphore(0), threading.Semaphore(0)

    def script(number: int, request: bytes) -> list[Step]:
        top, _, body = request.partition(b"\r\n\r\n")
        part = json.loads(body)["contents"][-1]["parts"][-1]
        if "functionResponse" in part:
            return [whole(text(part["functionResponse"]["response"]["result"], "STOP"))]
        words = part["text"]
        if words.startswith("use "):
            call = {"name": "", "args": {"text": words.removeprefix("use ")}}
            call["name"] = json.loads(body)["tools"][0]["functionDeclarations"][0]["name"]
            content = {"role": "model", "parts": [{"functionCall": call}]}
            return [whole({"candidates": [{"content": content, "finishReason": "STOP"}]})]
        if b"stream" in top.split(b"\r\n")[0]:
            *first, last = words.split()
            events = [*(event(text(word)) for word in first), event(text(last, "STOP"))]
            return Waiting([STREAM, *events, LAST], go_on)
        if words == "go on":
            go_on.set()
        elif words == "wait":
            one_waits.release()
            assert one_goes_on.acquire(timeout=30)
        elif words == "until one waits":
            assert one_waits.acquire(timeout=30)
        elif words == "go on with one":
            one_goes_on.release()
        elif words == "has one been closed?":
            words = "yes" if server.closed.acquire(timeout=10) else "no"
        return [whole(text(words, "STOP"))]

    with loopback(script, certificate) as server:
        yield server


def scenes(
    backend: str, *names: str, certificate: Path | None = None
) -> dict[str, tuple[Any, Loopback]]:
    """What one process prints of some scenes of `forking.py`, and the server of each."""
    environment = {**os.environ, **({"SSL_CERT_FILE": str(certificate)} if certificate else {})}
    with contextlib.ExitStack() as stack:
        servers = {name: stack.enter_context(serving(certificate)) for name in names}
        pairs = [word for name, server in servers.items() for word in (name, server.url)]
        command = [sys.executable, "-m", "tests.http.forking", backend, *pairs]
        options: Any = {"capture_output": True, "text": True, "timeout": 60}
        done = subprocess.run(command, cwd=ROOT, env=environment, **options)
    assert done.returncode == 0, done.stderr
    return {name: (found, servers[name]) for name, found in json.loads(done.stdout).items()}


def check_both_call(backend: str, found: Any, server: Loopback) -> None:
    """Each answer belongs to its request, at the first attempt, on a connection of one's own."""
    assert found == [[CALLS, CALLS], [CALLS, CALLS]]
    assert server.connections == (2 if backend == "sync" else 6)


@pytest.mark.processes
@pytest.mark.row("R-42")
@forks
def test_parent_and_child(drive: Drive) -> None:
    """They call at the same time, the child is forked while a stream is read, a connection is
    closed though a child lives, and each has its own replies and its own copy of a history.
    """
    seen = scenes(drive.name, "both_call", "reading", "closing", "agents")
    check_both_call(drive.name, *seen["both_call"])
    child = ["ConnectionLost", "child"] if drive.name == "sync" else "child"
    assert seen["reading"][0] == [child, ["a", "b", "c"], "after"]
    assert seen["closing"][0] == ["yes", "x"]
    turns = 4 * 2 * ROUNDS  # a prompt, a call, its result, a reply; before the fork and after it
    assert seen["agents"][0] == [[2 * ROUNDS, turns], [2 * ROUNDS, turns]]


@pytest.mark.processes
@forks
def test_a_child_ends_no_session_of_tls(drive: Drive, certificate: Path) -> None:
    """What the child sent to close its side would be the end of the parent's connection too."""
    seen = scenes(drive.name, "both_call", "reading", certificate=certificate)
    check_both_call(drive.name, *seen["both_call"])
    assert seen["reading"][0][1:] == [["a", "b", "c"], "after"]


@pytest.mark.processes
@pytest.mark.row("R-42")
@forks
def test_a_child_runs_an_agent_while_a_tool_of_the_parent_runs() -> None:
    found, _ = scenes("sync", "running")["running"]
    assert found == ["PARENT", "CHILD"]


@pytest.mark.processes
@forks
def test_locks_that_are_held_when_a_child_is_forked_and_the_waits_of_a_child() -> None:
    seen = scenes("sync", "locks", "jitter")
    held, after = seen["locks"][0]
    assert held == dict.fromkeys(held, "child")
    assert after == "parent"
    assert len(held) == 15
    assert seen["jitter"][0] is True  # parent and child draw other waits


@pytest.mark.processes
@forks
def test_a_child_calls_while_calls_of_the_parent_run_and_wait() -> None:
    """R-42: nobody in the child would end the parent's calls."""
    seen = scenes("sync", "in_flight", "probing")
    # The child has no socket of the parent, and no place in the parent's queue.
    each = [[0, "child", 0], ["wait", "wait"], "parent", 0]
    assert seen["in_flight"][0] == [each, each]
    assert seen["probing"][0] == [0, 1, 0]


# --- event loops ----------------------------------------------------------------------------------


async def used(client: AsyncClient) -> list[Any]:
    """Texts of an answer and of a stream, and in how many attempts they came."""
    answer = await client.send(CALL)
    async with client.stream(STREAM_CALL) as chunks:
        texts = [chunk.text async for chunk in chunks]
    account = client.account(answer)
    return [answer.text, texts, account and account.attempts, chunks.account.attempts]


USED = ["Hello.", ["Hel", "lo."], 1, 1]


def script(number: int, request: bytes) -> list[Step]:
    return list(GOOD_STREAM) if b"stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]


def client_of(server: Loopback) -> AsyncClient:
    return AsyncClient("gemini", api_key="fake-key", base_url=server.url)


@joined("first", ["asyncio", "trio"])
@joined("second", ["asyncio", "trio"])
def test_one_client_in_two_event_loops(first: str, second: str) -> None:
    """The connections of a loop end with it, and the next loop opens its own (R-24)."""
    with loopback(script) as server:
        client = client_of(server)
        for connections, backend in ((1, first), (2, second)):
            assert anyio.run(used, client, backend=backend) == USED
            assert server.closed.acquire(timeout=10)
            assert server.connections == connections
        del client
        gc.collect()  # of a connection that is still open it would warn


def test_event_loops_at_the_same_time() -> None:
    results: list[Any] = []
    barrier = threading.Barrier(4)

    async def many(client: AsyncClient, who: str) -> list[bool]:
        barrier.wait()
        return [(await client.send(call(f"{who} {n}"))).text == f"{who} {n}" for n in range(25)]

    def echo(number: int, request: bytes) -> list[Step]:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        return [whole(text(body["contents"][0]["parts"][0]["text"], "STOP"))]

    with loopback(echo) as server:
        client = client_of(server)

        def run(who: int) -> None:
            backend = ("asyncio", "trio")[who % 2]
            results.append(anyio.run(many, client, str(who), backend=backend))

        threads = [threading.Thread(target=run, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [[True] * 25] * 4
        assert server.connections == 4


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # asyncio's, of a transport
def test_an_event_loop_that_is_closed_without_its_generators() -> None:
    with loopback(script) as server:
        client = client_of(server)
        for connections in (1, 2, 3):
            loop = asyncio.new_event_loop()
            assert loop.run_until_complete(used(client)) == USED
            loop.close()
            assert server.connections == connections
            if connections > 1:  # the lanes of a loop are dropped when the next one begins
                assert server.closed.acquire(timeout=10)
        del client, loop
        gc.collect()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_client_that_another_event_loop_closes(backend: str) -> None:
    with loopback(script) as server:
        client = client_of(server)
        assert anyio.run(used, client, backend=backend) == USED
        anyio.run(client.aclose, backend=backend)
        for _ in range(2):
            with pytest.raises(errors.ConfigurationError, match="the client is closed"):
                anyio.run(used, client, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_client_that_is_closed_while_its_event_loop_ends(backend: str) -> None:
    """Generators that are left open are closed together with the lanes, in any order."""
    open_ones: list[Any] = []

    async def serving(client: AsyncClient) -> Any:
        try:
            yield await used(client)
        finally:
            with anyio.CancelScope(shield=True):
                await client.aclose()

    async def main(client: AsyncClient) -> Any:
        for _ in range(3):
            open_ones.append(serving(client))
            assert await anext(open_ones[-1]) == USED

    with loopback(script) as server:
        client = client_of(server)
        anyio.run(main, client, backend=backend)
        assert server.closed.acquire(timeout=10)
        assert server.connections == 1
