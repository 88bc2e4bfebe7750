"""A process that is interrupted at random moments; `test_interrupts.py` starts it.

It prints as JSON what it counted: interrupts that ended a call, calls that worked afterwards, slots
that are free and descriptors that are open at the end.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import anyio
import anyio.lowlevel

from tests.http.drive import CALL, QUICK, STREAM_CALL, of_one_loop
from wire import AsyncClient, Client
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Connections, Lanes

LIMIT = 2
AT_CHECKPOINTS = {"restrict_keyboard_interrupt_to_checkpoints": True}
"""trio raises `KeyboardInterrupt` at checkpoints only, as asyncio does.

Without the option it may be raised inside the cancel scopes of anyio, which then break trio.
"""
HOWS = ("send", "read", "leave")


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def left_open(before: int) -> int:
    """Descriptors that stay open. The watchdog may hold a socket until it looks again."""
    end = time.monotonic() + 10
    while (more := descriptors() - before) > 0 and time.monotonic() < end:
        time.sleep(0.05)
    return more


class Storm:
    """Sends SIGINT at a random moment of a piece of work, `count` times."""

    def __init__(self, count: int, dice: random.Random) -> None:
        self.count, self.dice = count, dice
        self.interrupted = self.finished = 0
        self._armed = False
        self._seconds = 0.01
        signal.signal(signal.SIGALRM, self._alarm)

    def _alarm(self, *_: object) -> None:
        # The alarm may come after the work, in the middle of the counting.
        if self._armed:
            self._armed = False
            signal.raise_signal(signal.SIGINT)

    def arm(self) -> None:
        """From here on the signal may come, up to the time that the work usually needs."""
        self._armed = True
        signal.setitimer(signal.ITIMER_REAL, self.dice.uniform(1e-5, self._seconds))

    def disarm(self) -> None:
        """The work has ended."""
        self._armed = False

    def count_one(self, interrupted: bool, seconds: float) -> None:
        self.interrupted += interrupted
        self.finished += not interrupted
        if not interrupted:
            self._seconds = 0.8 * self._seconds + 0.3 * seconds

    def run(self, work: Callable[[], object], *, arm: bool = True) -> None:
        began, interrupted = time.perf_counter(), False
        try:
            if arm:
                self.arm()
            work()
            self.disarm()
        except KeyboardInterrupt:
            interrupted = True
        self.disarm()
        self.count_one(interrupted, time.perf_counter() - began)


def one_call(client: Client, how: str) -> None:
    if how == "send":
        client.send(CALL)
        return
    with client.stream(STREAM_CALL) as chunks:
        for _ in chunks:
            if how == "leave":
                break


async def one_async_call(client: AsyncClient, how: str) -> None:
    if how == "send":
        await client.send(CALL)
        return
    async with client.stream(STREAM_CALL) as chunks:
        async for _ in chunks:
            if how == "leave":
                break


def threads(url: str, storm: Storm, connections: Connections = "auto") -> dict[str, int]:
    """Interrupts in the thread that calls, which is the main one."""
    lanes, before = Lanes(limit=LIMIT, connections=connections), descriptors()
    works = 0
    with Client("gemini", api_key="fake-key", base_url=url, retry=QUICK, http=lanes) as client:
        for how in HOWS:
            one_call(client, how)
        for number in range(storm.count):
            storm.run(functools.partial(one_call, client, HOWS[number % len(HOWS)]))
            works += client.send(CALL).text == "Hello."
    return {
        "works": works,
        "free": LIMIT - len(lanes._slots._taken),
        "left open": left_open(before),
    }


def event_loops(
    url: str, storm: Storm, backend: str, connections: Connections = "auto"
) -> dict[str, int]:
    """Each interrupt ends an event loop; the client goes on in the next one."""
    client = AsyncClient("gemini", api_key="fake-key", base_url=url, retry=QUICK, http=connections)
    works = 0

    async def interrupted(how: str) -> None:
        # Not earlier and not later: asyncio does not stand an interrupt of its own start and end.
        storm.arm()
        try:
            await one_async_call(client, how)
        finally:
            storm.disarm()

    def run(work: Any, *args: Any) -> None:
        options = AT_CHECKPOINTS if backend == "trio" else None
        anyio.run(work, *args, backend=backend, backend_options=options)

    run(one_async_call, client, "send")
    before = descriptors()
    for number in range(storm.count):
        storm.run(functools.partial(run, interrupted, HOWS[number % len(HOWS)]), arm=False)
        run(one_async_call, client, "send")
        works += 1
    return {"works": works, "left open": left_open(before)}


def one_loop(url: str, storm: Storm, backend: str) -> dict[str, int]:
    """Interrupts that are caught inside the event loop, which goes on."""
    lanes = AsyncLanes(limit=LIMIT)

    async def main() -> dict[str, int]:
        works = 0
        async with AsyncClient(
            "gemini", api_key="fake-key", base_url=url, retry=QUICK, http=lanes
        ) as client:
            for how in HOWS:
                await one_async_call(client, how)
            for number in range(storm.count):
                began, interrupted = time.perf_counter(), False
                try:
                    storm.arm()
                    await one_async_call(client, HOWS[number % len(HOWS)])
                    storm.disarm()
                    # An interrupt that came inside of trio is raised at the next checkpoint.
                    await anyio.lowlevel.checkpoint()
                except KeyboardInterrupt:
                    interrupted = True
                storm.disarm()
                storm.count_one(interrupted, time.perf_counter() - began)
                works += (await client.send(CALL)).text == "Hello."
            return {"works": works, "free": of_one_loop(lanes).limiter.value}

    anyio.run(anyio.sleep, 0, backend=backend)
    before = descriptors()
    counted = anyio.run(main, backend=backend, backend_options=AT_CHECKPOINTS)
    return {**counted, "left open": left_open(before)}


SCENES: dict[str, Callable[[str, Storm], dict[str, int]]] = {
    "threads": threads,
    "threads, httpx": lambda url, storm: threads(url, storm, "httpx"),
    "asyncio": lambda url, storm: event_loops(url, storm, "asyncio"),
    "asyncio, httpx": lambda url, storm: event_loops(url, storm, "asyncio", "httpx"),
    "trio": lambda url, storm: event_loops(url, storm, "trio"),
    "trio, one loop": lambda url, storm: one_loop(url, storm, "trio"),
}


def main() -> None:
    scene, url, count, seed = sys.argv[1:]
    storm = Storm(int(count), random.Random(int(seed)))
    result: dict[str, Any] = SCENES[scene](url, storm)
    counted = {"interrupted": storm.interrupted, "finished": storm.finished}
    print(json.dumps({**counted, **result}))


if __name__ == "__main__":
    main()
