"""The process of one client: `python -m bench.client MODULE CLASS HTTP BASE_URL`.

It reads one command a line, as JSON, and answers each with one line: what it measured, or `error`.
CPU is user and system time of this process. Memory is the peak of what is resident, above what
was resident before the run. With a wire as a fifth argument it asks once, and prints the peak.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib
import inspect
import json
import os
import resource
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from bench import bodies
from bench.profiles import shares

_conversation = functools.cache(bodies.conversation)


def memory(name: str) -> int:
    """`VmRSS`, the resident memory, or `VmHWM`, its peak, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def _forget_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


class Run:
    """One command: counts chunks and characters, and the lag of texts that begin with a clock."""

    def __init__(self, adapter: Any, command: dict[str, Any]) -> None:
        self._adapter = adapter
        self._do: str = command["do"]
        self._wire: str = command["wire"]
        self._model: str = command.get("model", "")
        self._times: int = command.get("times", 1)
        self._profiled: bool = command.get("profiled", False)
        self._turns = _conversation(command["turns"]) if "turns" in command else []
        self._messages: list[Any] = []
        """Of a conversation that goes on: what was sent last."""
        self.chunks = self.chars = self.errors = 0
        self.first_error = ""
        self._lags: list[int] = []

    async def in_loop(self) -> None:
        """Of a client of asyncio."""
        adapter = self._adapter
        if self._do == "stream":
            await adapter.stream(self._wire, self._model, self._got)
        elif self._do == "streams":
            every = range(self._times)
            streams = [adapter.stream(self._wire, self._model, self._got_timed) for _ in every]
            for found in await asyncio.gather(*streams, return_exceptions=True):
                if isinstance(found, Exception):
                    self.errors += 1
                    self.first_error = self.first_error or f"{type(found).__name__}: {found}"[:300]
        elif self._is_begun():
            for _ in range(self._times):
                self.chars += await self._once()
        else:
            await adapter.tell(self._wire, self._messages)

    def in_thread(self) -> None:
        """Of a client for threads."""
        if self._do == "stream":
            self._adapter.stream(self._wire, self._model, self._got)
        elif self._is_begun():
            for _ in range(self._times):
                self.chars += self._once()
        else:
            self._adapter.tell(self._wire, self._messages)

    def _is_begun(self) -> bool:
        """False for the first run of a conversation that goes on, which sends all turns."""
        if self._do != "again" or self._messages:
            return True
        self._messages = self._adapter.built(self._wire, self._turns)
        return False

    def _once(self) -> Any:
        adapter = self._adapter
        if self._do == "converse":
            return adapter.tell(self._wire, adapter.built(self._wire, self._turns))
        if self._do == "again":
            more = adapter.built(self._wire, bodies.MORE)
            self._messages = [*self._messages, *more]
            return adapter.tell(self._wire, self._messages)
        if self._do in ("calls", "agent"):
            return getattr(adapter, self._do)(self._wire)
        return adapter.ask(self._wire, self._model)

    def _got(self, text: str) -> None:
        self.chunks += 1
        self.chars += len(text)

    def _got_timed(self, text: str) -> None:
        now = time.perf_counter_ns()
        self._got(text)
        if len(text) > 18 and text[:18].isdigit():
            self._lags.append(now - int(text[:18]))

    def measured(self, perform: Callable[[Run], object]) -> dict[str, Any]:
        if self._profiled:
            return {"shares": shares(lambda: perform(self)), "chars": self.chars}
        if self._do == "again":
            perform(self)
        gc.collect()
        _forget_peak()
        resident, began, cpu = memory("VmRSS"), time.perf_counter(), time.process_time()
        perform(self)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - began
        lags = sorted(self._lags)
        return {
            "cpu": cpu,
            "wall": wall,
            "memory": memory("VmHWM") - resident,
            "chars": self.chars,
            "chunks": self.chunks,
            "errors": self.errors,
            "first": self.first_error,
            "lag_p50": lags[len(lags) // 2] / 1e9 if lags else None,
            "lag_p99": lags[len(lags) * 99 // 100] / 1e9 if lags else None,
        }


async def _made(kind: Any, *options: str) -> Any:
    """Inside a loop, since some clients look for it when they are made."""
    return kind(*options)


def _made_again(wire: str, kind: Any, *options: str) -> dict[str, Any]:
    """CPU of a further client; it is not closed, since nothing was sent."""
    began = time.process_time()
    _client(kind(*options), wire)
    return {"cpu": time.process_time() - began, "chars": 0}


def _client(adapter: Any, wire: str) -> None:
    """Adapters of `wire` make a client on first use, since each wire has its own."""
    if hasattr(adapter, "client"):
        adapter.client(wire)


def main() -> None:
    module, name, http, base_url, *once = sys.argv[1:]
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # What a client prints must not be taken for an answer.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    adapters = importlib.import_module(f"bench.adapters.{module}")
    kind = getattr(adapters, name)
    with asyncio.Runner() as runner:

        def in_loop(run: Run) -> object:
            return runner.run(run.in_loop())

        is_async = inspect.iscoroutinefunction(kind.ask)
        perform = in_loop if is_async else Run.in_thread
        try:
            make = (base_url, http)
            adapter = runner.run(_made(kind, *make)) if is_async else kind(*make)
            _client(adapter, *(once or adapters.WIRES[:1]))
        except Exception as error:  # such as `http="direct"` where it cannot serve
            print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers)
            os._exit(1)
        if once:
            perform(Run(adapter, {"do": "ask", "wire": once[0], "model": "answer-1kb"}))
            print(json.dumps({"memory": memory("VmHWM")}), file=answers)
        else:
            print(json.dumps({"wires": adapters.WIRES}), file=answers)
            for line in sys.stdin:
                command = json.loads(line)
                try:
                    if command["do"] == "make":
                        found = _made_again(command["wire"], kind, base_url, http)
                    else:
                        found = Run(adapter, command).measured(perform)
                except Exception as error:
                    traceback.print_exc()
                    found = {"error": f"{type(error).__name__}: {error}"[:300]}
                print(json.dumps(found), file=answers)
        # Some clients wait at exit for connections that were not closed.
        os._exit(0)


if __name__ == "__main__":
    main()
