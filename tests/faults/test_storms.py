"""Cancellations, closes and forks in great number, and then one call that works (R-21, R-42).

`tests/http` has the same in small number. Ctrl-C is in `tests/http/test_interrupts.py`.
"""

from __future__ import annotations

import math
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.faults.clients import Ports
from tests.faults.pieces import WIRES
from tests.faults.soak import descriptors
from tests.faults.verdicts import served
from wire import AsyncChat, AsyncClient, Chat, Client, Retry, WireError
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]

STORM = 10_000
AT_ONCE = 20


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    with served(tmp_path_factory.mktemp("served")) as ports:
        yield ports


def _options(ports: Ports, fault: str = "good") -> dict[str, Any]:
    url = f"{ports.origin('plain')}/storm/{fault}/gemini"
    return {"api_key": "fake-key", "retry": Retry(base=0), "base_url": url}


LOOPS = pytest.mark.parametrize(
    ("backend", "connections"), [("asyncio", "direct"), ("asyncio", "httpx"), ("trio", "httpx")]
)
THREADS = pytest.mark.parametrize("connections", ["direct", "httpx"])


@LOOPS
def test_cancellations(ports: Ports, backend: str, connections: Any) -> None:
    """R-21: each at a random moment, on two connections; one in ten is not cancelled."""
    dice, ended = random.Random(1), []

    async def main() -> tuple[str, int]:
        http = AsyncLanes(limit=2, connections=connections)
        async with AsyncChat("gemini:m", http=http, **_options(ports)) as chat:

            async def work(count: int) -> None:
                for at in range(count):
                    seconds = dice.uniform(0, 0.03) if at % 10 else math.inf
                    with anyio.move_on_after(seconds) as scope:
                        async with chat.stream("Hi") as events:
                            await events.reply()
                    ended.append(scope.cancelled_caught)

            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(work, STORM // AT_ONCE)
            with anyio.fail_after(10):
                async with chat.stream("Hi") as events:
                    return (await events.reply()).text, descriptors()

    before = descriptors()
    text, after = anyio.run(main, backend=backend)
    assert (text, len(ended)) == ("Hello.", STORM)
    assert STORM > sum(ended) > STORM // 20
    assert after - before < 12  # those of the loop, and of two connections


@THREADS
def test_closes_of_clients_in_use_by_threads(ports: Ports, connections: Any) -> None:
    """R-21, R-24: readers end at once, with an error or the whole text."""
    outcomes: list[str] = []

    def read(client: Client) -> None:
        try:
            with Chat("gemini:m", client=client).stream("Hi") as events:
                outcomes.append(events.reply().text)
        except WireError as error:
            outcomes.append(type(error).__name__)

    before = descriptors()
    dice = random.Random(2)
    for _ in range(STORM // 4):
        http = Lanes(limit=4, connections=connections)
        client = Client("gemini", http=http, **_options(ports))
        threads = [threading.Thread(target=read, args=(client,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        threads[0].join(dice.uniform(0, 0.01))
        client.close()
        for thread in threads:
            thread.join(10)
            assert not thread.is_alive()
    assert len(outcomes) == STORM // 4 * 4
    assert set(outcomes) <= {"Hello.", "ConnectionLost", "ConfigurationError", "StreamIncomplete"}
    assert "Hello." in outcomes
    assert descriptors() - before < 3


@LOOPS
def test_closes_of_clients_in_use_by_tasks(ports: Ports, backend: str, connections: Any) -> None:
    """R-21, R-24: the same for tasks."""
    outcomes: list[str] = []
    dice = random.Random(3)

    async def read(client: AsyncClient) -> None:
        try:
            async with AsyncChat("gemini:m", client=client).stream("Hi") as events:
                outcomes.append((await events.reply()).text)
        except WireError as error:
            outcomes.append(type(error).__name__)

    async def main() -> None:
        for _ in range(STORM // 4):
            client = AsyncClient(
                "gemini", http=AsyncLanes(limit=4, connections=connections), **_options(ports)
            )
            with anyio.fail_after(20):
                async with anyio.create_task_group() as tasks:
                    for _ in range(4):
                        tasks.start_soon(read, client)
                    await anyio.sleep(dice.uniform(0, 0.01))
                    await client.aclose()

    before = descriptors()
    anyio.run(main, backend=backend)
    assert len(outcomes) == STORM // 4 * 4
    assert set(outcomes) <= {"Hello.", "ConnectionLost", "ConfigurationError", "StreamIncomplete"}
    assert "Hello." in outcomes
    assert descriptors() - before < 3


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@THREADS
def test_forks(ports: Ports, connections: Any) -> None:
    """R-42: parent and child call on a used client; each gets its own answer."""
    pieces = WIRES["gemini"]
    urls = {each: f"{ports.origin('plain')}/{each}/ok/gemini" for each in ("parent", "child")}
    options: dict[str, Any] = {"api_key": "fake-key", "retry": Retry(attempts=1)}
    http = Lanes(limit=2, connections=connections)
    ours = Client("gemini", base_url=urls["parent"], http=http, **options)
    theirs = Client("gemini", base_url=urls["child"], http=http, **options)
    parent, child = (Chat(pieces.model, client=each) for each in (ours, theirs))
    before = descriptors()
    failed = 0
    for _ in range(STORM):
        assert parent.ask("Hi").text == "next-parent"
        pid = os.fork()
        if not pid:
            signal.alarm(20)
            try:
                good = child.ask("Hi").text == "next-child"
            except BaseException:
                good = False
            os._exit(0 if good else 1)
        assert parent.ask("Hi").text == "next-parent"
        failed += os.waitpid(pid, 0)[1] != 0
    assert failed == 0
    assert descriptors() - before < 3
    http.close()


def test_the_storm_is_counted_on_linux() -> None:
    """Descriptors are read from `/proc`."""
    assert Path("/proc/self/fd").is_dir()
