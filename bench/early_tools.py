"""How much sooner a run ends with `early_tools=True`: `python -m bench.early_tools`.

The reply streams three calls, each of which takes 0.5 s, at the pace of a model that writes for
1.5 s; the tool runs once at a time. If calls may run side by side, only those before the last one
end sooner, which the last one hides. Both runs are in one process, in turns.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from typing import Any

import httpx

from wire import Agent, Chat
from wire.testing.emulator import Emulator, EmulatorTransport

SECONDS = 0.5
CALLS = [{"name": "tide", "args": {"port": port}} for port in ("Brest", "Oslo", "Dover")]
SCRIPT: list[Any] = [{"say": {"calls": CALLS}}, {"say": "At 05:12."}]
WRITING = 1.5
"""Seconds in which the model writes its first reply."""


class Paced(httpx.BaseTransport):
    """Hands out the events of the first response at a steady pace."""

    def __init__(self) -> None:
        self._inner = EmulatorTransport(Emulator(SCRIPT))
        self._pace = WRITING

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._inner.handle_request(request)
        events = [each + b"\n\n" for each in answer.read().split(b"\n\n") if each]
        pace, self._pace = self._pace / len(events), 0.0

        def paced() -> Iterator[bytes]:
            for each in events:
                time.sleep(pace)
                yield each

        return httpx.Response(answer.status_code, headers=answer.headers, content=paced())


def tide(port: str) -> str:
    """When the tide is high."""
    time.sleep(SECONDS)
    return "05:12"


def seconds(early: bool, model: str) -> float:
    chat = Chat(model, api_key="fake-key", http=Paced())
    with Agent(chat, tools=[tide], early_tools=early, max_parallel_tools=1) as agent:
        started = time.perf_counter()
        with agent.stream("High tides?") as events:
            for _ in events:
                pass
        assert len(events.result.runs) == len(CALLS)
        return time.perf_counter() - started


def main() -> None:
    for model in ("openai:gpt-5.4", "anthropic:claude-sonnet-5"):
        plain, early = (
            statistics.median(seconds(is_early, model) for _ in range(3))
            for is_early in (False, True)
        )
        print(f"{model}: {plain:.2f} s, early {early:.2f} s, {1 - early / plain:.0%} sooner")


if __name__ == "__main__":
    main()
