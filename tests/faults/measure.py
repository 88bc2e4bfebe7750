"""What one call costs, in a process of its own: `python -m tests.faults.measure ...` prints JSON.

The arguments are those of `measured`. Memory is that of the process above its level after one good
call, in MiB; the longest time that an event loop was blocked is in seconds.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import astuple
from pathlib import Path
from typing import Any

import anyio

from tests.faults.clients import FAR, Ports
from tests.faults.pieces import WIRES
from wire import AsyncChat, Chat, Retry, WireError

ROOT = Path(__file__).parents[2]


def measured(ports: Ports, fault: str, wire: str, style: str, streamed: bool) -> dict[str, Any]:
    """The result of a fresh process that makes one call."""
    command = [sys.executable, "-m", "tests.faults.measure"]
    command += [json.dumps([list(astuple(ports)), fault, wire, style, streamed])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    options: Any = {"cwd": ROOT, "env": environment, "text": True, "timeout": 100}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, **options)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(ports: Ports, fault: str, wire: str, style: str, streamed: bool) -> dict[str, Any]:
    """Make a good call, then the call that meets the fault."""
    options: dict[str, Any] = {"api_key": "fake-key", "retry": Retry(attempts=1), "timeouts": FAR}
    model, origin = WIRES[wire].model, f"{ports.origin('plain')}/measure"
    good, bad = (f"{origin}/{name}/{wire}" for name in ("good", fault))
    blocked = 0.0

    def in_threads(url: str) -> str:
        with Chat(model, base_url=url, **options) as chat:
            if not streamed:
                return chat.ask("Hi").text
            with chat.stream("Hi") as events:
                return events.reply().text

    async def in_a_loop(url: str) -> str:
        nonlocal blocked
        async with (
            AsyncChat(model, base_url=url, **options) as chat,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(watch)
            text = await in_a_chat(chat)
            tasks.cancel_scope.cancel()
        return text

    async def in_a_chat(chat: AsyncChat) -> str:
        if not streamed:
            return (await chat.ask("Hi")).text
        async with chat.stream("Hi") as events:
            return (await events.reply()).text

    async def watch() -> None:
        nonlocal blocked
        while True:
            began = time.perf_counter()
            await anyio.sleep(0.001)
            blocked = max(blocked, time.perf_counter() - began)

    def call(url: str) -> str:
        if style == "threads":
            return in_threads(url)
        return anyio.run(in_a_loop, url, backend=style)

    call(good)
    before, blocked, cpu = _peak(), 0.0, time.process_time()
    try:
        outcome = call(bad)
    except WireError as error:
        outcome = type(error).__name__
    except BaseExceptionGroup as group:
        outcome = type(group.exceptions[0]).__name__
    cpu = time.process_time() - cpu
    return {"outcome": outcome, "MiB": _peak() - before, "blocked": blocked, "cpu": cpu}


if __name__ == "__main__":
    ports, *others = json.loads(sys.argv[1])
    print(json.dumps(main(Ports(*ports), *others)))
