"""`python -m tests.faults.soak [CALLS]`: many calls on loopback, and what they leave (R-40).

A tenth of the calls meets a fault; a tenth is left or cancelled. It prints the memory of this
process and its descriptors at each tenth of the run, and fails if they grow.
"""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from tests.faults.clients import Ports
from tests.faults.pieces import WIRES, Pieces
from tests.faults.verdicts import served
from wire import AsyncChat, Chat, Retry, WireError

CALLS = 1_000_000
AT_ONCE = 20
BATCH = 1000
"""Calls in one event loop, or of one set of threads."""
GROWTH = 1.05
"""What memory may grow to, as a factor of that after the first tenth."""

PLAN = ("ok", "good", "ok", "good", "ok", "clean_end_without_finish", "ok", "good", "ok", "left")
"""The faults in turn; `left` is a stream that its caller leaves at its first event."""


def memory() -> int:
    """Resident bytes of this process."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def options(ports: Ports, pieces: Pieces, fault: str) -> dict[str, Any]:
    return {
        "api_key": "fake-key-of-the-soak",
        "retry": Retry(base=0),
        "base_url": f"{ports.origin('plain')}/soak/{fault}/{pieces.wire}",
    }


def one(chats: dict[str, Chat], step: str) -> bool:
    """One call in a thread; True if it ended as it should."""
    chat = chats["good" if step == "left" else step]
    try:
        if step == "ok":
            return chat.ask("Hi").text == "next-soak"
        with chat.stream("Hi") as events:
            for _ in events:
                if step == "left":
                    return True
            return events.reply().text == "Hello."
    except WireError:
        return step.startswith("clean_end")


async def one_async(chats: dict[str, AsyncChat], step: str) -> bool:
    """One call in an event loop; `left` is a cancellation here."""
    chat = chats["good" if step == "left" else step]
    try:
        if step == "ok":
            return (await chat.ask("Hi")).text == "next-soak"
        with anyio.CancelScope() as scope:
            async with chat.stream("Hi") as events:
                async for _ in events:
                    if step == "left":
                        scope.cancel()
                return (await events.reply()).text == "Hello."
        return step == "left"
    except WireError:
        return step.startswith("clean_end")


def threads(chats: dict[str, Chat], calls: int) -> int:
    """Run calls in threads; return how many ended as they should."""
    good = [0] * AT_ONCE

    def work(worker: int) -> None:
        for number in range(worker, calls, AT_ONCE):
            good[worker] += one(chats, PLAN[number % len(PLAN)])

    workers = [threading.Thread(target=work, args=(each,)) for each in range(AT_ONCE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return sum(good)


async def loop(chats: dict[str, AsyncChat], calls: int) -> int:
    """Run calls in one event loop; return how many ended as they should."""
    good: list[bool] = []

    async def work(worker: int) -> None:
        for number in range(worker, calls, AT_ONCE):
            good.append(await one_async(chats, PLAN[number % len(PLAN)]))

    async with anyio.create_task_group() as tasks:
        for each in range(AT_ONCE):
            tasks.start_soon(work, each)
    return sum(good)


def main(calls: int) -> int:
    """Return 1 if a call failed, or memory or descriptors grew."""
    done = good = 0
    first: tuple[int, int] | None = None
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as ports:
        sync: list[dict[str, Chat]] = []
        aio: list[dict[str, AsyncChat]] = []
        for pieces in WIRES.values():
            names = [step for step in dict.fromkeys(PLAN) if step != "left"]
            sync.append({n: Chat(pieces.model, **options(ports, pieces, n)) for n in names})
            aio.append({n: AsyncChat(pieces.model, **options(ports, pieces, n)) for n in names})
        batches: list[Callable[[], int]] = []
        for chats, achats in zip(sync, aio, strict=True):
            batches.append(lambda chats=chats: threads(chats, BATCH))  # type: ignore[misc]
            for backend in ("asyncio", "asyncio", "trio"):
                batches.append(
                    lambda achats=achats, backend=backend: anyio.run(  # type: ignore[misc]
                        loop, achats, BATCH, backend=backend
                    )
                )
        for batch in batches:  # what the first use of each wire and event loop imports and keeps
            batch()
        began = time.monotonic()
        while done < calls:
            good += batches[done // BATCH % len(batches)]()
            done += BATCH
            if done % max(BATCH, calls // 10 // BATCH * BATCH) == 0:
                now = memory(), descriptors()
                first = first or now
                print(
                    f"{done} calls, {good} as they should, {now[0] / 2**20:.1f} MiB, "
                    f"{now[1]} descriptors, {done / (time.monotonic() - began):.0f} calls/s",
                    flush=True,
                )
        for each in sync:
            for chat in each.values():
                chat.close()
    assert first is not None
    grown, left = now[0] / first[0], now[1] - first[1]
    print(f"memory x {grown:.3f} since the first tenth, {left:+d} descriptors")
    return good != done or grown > GROWTH or left > AT_ONCE


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS))
