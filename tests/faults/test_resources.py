"""What hostile answers and many streams cost in memory (R-10, R-11, R-39)."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from tests.faults.clients import FAR, STYLES, Ports
from tests.faults.measure import measured
from tests.faults.pieces import WIRES
from tests.faults.soak import memory
from tests.faults.verdicts import served
from wire import AsyncChat, Chat, Retry

pytestmark = pytest.mark.faults

STREAMS = 1000
MEMORY = 80
"""MiB. The largest limit of one value is 32 MiB, and what is decoded may take it twice."""


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 3 * STREAMS:
        pytest.skip(f"only {hard} descriptors are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8 * STREAMS), hard))
    with served(tmp_path_factory.mktemp("served")) as ports:
        yield ports
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("style", ["threads", "asyncio"])
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("fault", "streamed"),
    [
        ("giant_line", True),
        ("gzip_bomb", True),
        ("gzip_bomb_in_a_whole_answer", False),
        ("gzip_bomb_in_an_error", False),
        ("header_bomb", True),
        ("deep_json", False),
        ("many_small_values", False),
        ("endless_error_body", False),
    ],
)
def test_memory_is_bounded(ports: Ports, fault: str, streamed: bool, wire: str, style: str) -> None:
    """R-10: a hostile answer costs at most twice the limit that it breaks."""
    result = measured(ports, fault, wire, style, streamed)
    assert "Error" in result["outcome"] or result["outcome"].startswith(("Stream", "Connection"))
    assert result["MiB"] < MEMORY


def _options(ports: Ports, fault: str, wire: str) -> dict[str, Any]:
    url = f"{ports.origin('plain')}/load/{fault}/{wire}"
    return {"api_key": "fake-key", "retry": Retry(attempts=1), "timeouts": FAR, "base_url": url}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("wire", WIRES)
def test_a_thousand_streams_at_once_end_fairly(ports: Ports, wire: str, style: str) -> None:
    """R-39: no error, and the slowest takes less than three times as long as the fastest."""
    seconds: list[float] = []
    model, options = WIRES[wire].model, _options(ports, "paced", wire)

    def one(chat: Chat) -> None:
        began = time.monotonic()
        with chat.stream("Hi") as events:
            assert events.reply().text == "Hello."
        seconds.append(time.monotonic() - began)

    async def one_async(chat: AsyncChat) -> None:
        began = time.monotonic()
        async with chat.stream("Hi") as events:
            assert (await events.reply()).text == "Hello."
        seconds.append(time.monotonic() - began)

    async def main() -> None:
        async with AsyncChat(model, **options) as chat, anyio.create_task_group() as tasks:
            for _ in range(STREAMS):
                tasks.start_soon(one_async, chat)

    if style == "threads":
        with Chat(model, **options) as chat:
            threads = [threading.Thread(target=one, args=(chat,)) for _ in range(STREAMS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    else:
        anyio.run(main, backend=style)
    assert len(seconds) == STREAMS
    assert max(seconds) < 3 * min(seconds)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_idle_stream_is_small(ports: Ports, backend: str) -> None:
    """R-39: under 100 KiB each."""
    sizes: list[int] = []

    async def main() -> None:
        async with AsyncChat("gemini:m", **_options(ports, "idle", "gemini")) as chat:
            await wave(chat, 10)
            before = memory()
            await wave(chat, STREAMS)
            sizes.append(memory() - before)

    async def wave(chat: AsyncChat, count: int) -> None:
        begun, end = 0, anyio.Event()

        async def one() -> None:
            nonlocal begun
            async with chat.stream("Hi") as events:
                await anext(aiter(events))
                begun += 1
                if begun == count:
                    sizes.append(memory())
                    end.set()
                await end.wait()

        async with anyio.create_task_group() as tasks:
            for _ in range(count):
                tasks.start_soon(one)

    anyio.run(main, backend=backend)
    few, many, _ = sizes
    assert (many - few) / STREAMS < 100 * 1024
