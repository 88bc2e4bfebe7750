"""Malformed HTTP responses on direct connections (R-25, R-36, R-44).

Whatever a server sends, a call ends with a result or a `WireError`, no connection stays open, and
the next call of the same client gets its own answer.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import functools
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.http_mutations import case
from tests.faults.soak import descriptors
from wire import AsyncClient, Client, Retry, Timeouts, WireError, gemini
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes

ROOT = Path(__file__).parents[2]
SAMPLE = 150
ALL = 100_000
"""Of each style."""
AT_ONCE = 24
GOOD_EVERY = 3
"""A good call follows each third of the others."""

REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
GOOD = gemini.generate_content("good", REQUEST).replace(retry=Retry(base=0))
CLOCKS = Timeouts(connect=20, first_byte=0.4, idle=0.4, total=10)


@contextlib.contextmanager
def serving() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.faults.http_mutations"]
    options: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": ROOT}
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environment, **options) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.stdin.close()
            server.wait(10)


def call_of(number: int) -> tuple[Any, bool]:
    """The call of a number, and whether it is a stream."""
    model = f"case{number}"
    is_stream = b"event-stream" in b"".join(case(number).pieces)[:300] or number % 5 == 0
    if is_stream:
        return gemini.stream_generate_content(model, REQUEST).replace(timeouts=CLOCKS), True
    return gemini.generate_content(model, REQUEST).replace(timeouts=CLOCKS), False


class Ends(collections.Counter[str]):
    """How the calls ended: the class of the error, or `result`. Foreign exceptions are kept."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def count(self, number: int, error: BaseException | None) -> None:
        self[type(error).__name__ if error is not None else "result"] += 1
        if error is not None and not isinstance(error, WireError):
            self.foreign.append(f"case {number}: {error!r}; {case(number)!r:.2000}")


def one(client: Client, number: int, ends: Ends) -> None:
    error: BaseException | None = None
    call, is_stream = call_of(number)
    try:
        if is_stream:
            with client.stream(call) as chunks:
                chunks.result()
        else:
            client.send(call)
    except Exception as raised:
        error = raised
    ends.count(number, error)
    if number % GOOD_EVERY == 0 and (said := client.send(GOOD).text) != "Hello.":
        ends.foreign.append(f"after case {number}: {said}; {case(number)!r:.2000}")


async def async_one(client: AsyncClient, number: int, ends: Ends) -> None:
    error: BaseException | None = None
    call, is_stream = call_of(number)
    try:
        if is_stream:
            async with client.stream(call) as chunks:
                await chunks.result()
        else:
            await client.send(call)
    except Exception as raised:
        error = raised
    ends.count(number, error)
    if number % GOOD_EVERY == 0 and (said := (await client.send(GOOD)).text) != "Hello.":
        ends.foreign.append(f"after case {number}: {said}; {case(number)!r:.2000}")


def threads(url: str, numbers: range) -> Ends:
    ends, lock, left = Ends(), threading.Lock(), iter(numbers)
    lanes = Lanes(connections="direct")

    def work(client: Client) -> None:
        own = Ends()
        while True:
            with lock:
                number = next(left, None)
            if number is None:
                break
            try:
                one(client, number, own)
            except BaseException as error:
                own.foreign.append(f"the good call after case {number}: {error!r}")
        with lock:
            ends.update(own)
            ends.foreign.extend(own.foreign)

    options: dict[str, Any] = {"api_key": "fake-key", "retry": None, "base_url": url}
    with Client("gemini", http=lanes, **options) as client:
        workers = [threading.Thread(target=work, args=(client,)) for _ in range(AT_ONCE)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    assert (len(lanes._slots._taken), len(lanes._busy)) == (0, 0)
    return ends


async def loop(url: str, numbers: range) -> Ends:
    ends, left = Ends(), iter(numbers)
    lanes = AsyncLanes(limit=100, connections="direct")
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: ends.foreign.append(f"in the loop: {context}")
    )

    async def work(client: AsyncClient) -> None:
        for number in left:
            await async_one(client, number, ends)

    options: dict[str, Any] = {"api_key": "fake-key", "retry": None, "base_url": url}
    async with AsyncClient("gemini", http=lanes, **options) as client:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(AT_ONCE * 2):
                tasks.create_task(work(client))
        (only,) = lanes._loops.values()
        assert (only.limiter.value, len(only.busy)) == (100, 0)
    return ends


def check(style: str, numbers: range) -> None:
    with serving() as url:
        before = descriptors()
        ends = threads(url, numbers) if style == "threads" else asyncio.run(loop(url, numbers))
        assert ends.foreign == []
        assert descriptors() - before <= 0
    assert ends.total() == len(numbers)
    assert ends["result"] > 0.15 * len(numbers)
    for name in ("ConnectionLost", "StreamIncomplete", "FirstByteClock"):
        assert ends[name] > 0.01 * len(numbers), (name, ends)


STYLES = pytest.mark.parametrize("style", ["threads", "asyncio"])


@STYLES
def test_a_sample_of_malformed_responses(style: str) -> None:
    """R-25, R-36, R-44: a sample of the next test."""
    check(style, range(SAMPLE))


@pytest.mark.faults
@pytest.mark.timeout(900)
@STYLES
def test_malformed_responses(style: str) -> None:
    """R-25, R-36, R-44: 200,000 responses, of which each style gets half."""
    first = 0 if style == "threads" else ALL
    check(style, range(first, first + ALL))


def test_the_same_number_gives_the_same_response() -> None:
    cases = [functools.reduce(bytes.__add__, case(number).pieces) for number in range(200)]
    assert len(set(cases)) > 150
    assert [case(number) for number in range(50)] == [case(number) for number in range(50)]
