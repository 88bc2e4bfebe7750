"""`Pace` at servers with limits of all shapes: used, hardly refused, no call failed, all fair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import anyio
import pytest
import trio

from tests.around.limited_server import (
    Bucket,
    FixedWindow,
    LimitedServer,
    SlidingWindow,
    absurd,
    as_a_date,
    dated,
    ietf,
    in_seconds,
    openai,
    openai_tokens,
    retry_info,
    zero,
)
from tests.around.test_pace import simulated
from wire import AsyncChat, Pace

TASKS, SECONDS, WINDOW = 200, 120.0, 20.0
RATE = 20.0
SIZE = RATE * WINDOW


def bucket(**options: Any) -> LimitedServer:
    return LimitedServer(Bucket(RATE, SIZE), **options)


def small(**options: Any) -> LimitedServer:
    """Ten calls at once, though a minute allows 1,200."""
    return LimitedServer(Bucket(RATE, 10), **options)


def fixed(**options: Any) -> LimitedServer:
    return LimitedServer(FixedWindow(SIZE, WINDOW), **options)


def sliding(**options: Any) -> LimitedServer:
    return LimitedServer(SlidingWindow(int(SIZE), WINDOW), **options)


NAMED = {"requests": int(SIZE), "window": WINDOW}
SHAPES: dict[str, tuple[Callable[[], LimitedServer], dict[str, Any]]] = {
    "bucket": (lambda: bucket(told=openai, wish=in_seconds), {}),
    "bucket-of-tokens": (
        lambda: LimitedServer(Bucket(200, 4000), openai_tokens, in_seconds, amount=10),
        {},
    ),
    "fixed-window": (lambda: fixed(told=openai, wish=in_seconds), {}),
    "fixed-window-ietf": (lambda: fixed(told=ietf, wish=in_seconds), {}),
    "sliding-window": (lambda: sliding(told=openai, wish=in_seconds), {}),
    "dates-of-a-wrong-clock": (lambda: fixed(told=dated(3600.0), wish=as_a_date), {}),
    "small-burst-named": (lambda: small(wish=in_seconds), NAMED),
    "small-burst": (lambda: small(wish=in_seconds), {}),
    "concurrency": (lambda: LimitedServer(None, concurrent=20), {}),
    "concurrency-in-seconds": (lambda: LimitedServer(None, wish=in_seconds, concurrent=20), {}),
    "in-seconds": (lambda: bucket(wish=in_seconds), {}),
    "as-a-date": (lambda: bucket(wish=as_a_date), {}),
    "zero": (lambda: bucket(wish=zero), {}),
    "absurd": (lambda: bucket(wish=absurd), {}),
    "retry-info": (lambda: bucket(wish=retry_info), {}),
    "window-in-seconds": (lambda: fixed(wish=in_seconds), {}),
    "window-zero": (lambda: fixed(wish=zero), {}),
    "storms": (
        lambda: LimitedServer(Bucket(RATE, RATE), openai, in_seconds, storm=(6.0, 20.0)),
        {},
    ),
    "storms-named": (lambda: small(storm=(6.0, 20.0)), NAMED),
    "storms-alone": (lambda: LimitedServer(None, concurrent=20, storm=(6.0, 20.0)), {}),
}
QUICK = ("retry-info",)


def play(
    make: Callable[[], LimitedServer], pace: dict[str, Any]
) -> tuple[LimitedServer, Counter[int]]:
    """Let tasks ask without a pause; return the server, and the number of answers of each task."""
    answers: Counter[int] = Counter(dict.fromkeys(range(TASKS), 0))
    failures: list[Exception] = []

    async def main() -> LimitedServer:
        server = make()
        limiter = Pace(**pace)
        async with AsyncChat(
            "openai@chat:gpt-5.4", api_key="fake-key", http=server, around=limiter
        ) as chat:

            async def ask(task: int) -> None:
                while server.now < SECONDS:
                    try:
                        await chat.ask("Is it high tide?")
                    except Exception as error:
                        failures.append(error)
                    else:
                        answers[task] += 1

            with trio.move_on_at(trio.current_time() + SECONDS):
                async with anyio.create_task_group() as tasks:
                    for task in range(TASKS):
                        tasks.start_soon(ask, task)
        return server

    with simulated() as clock:
        server = anyio.run(main, backend="trio", backend_options={"clock": clock})
    assert failures == []
    return server, answers


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n in QUICK else pytest.mark.slow) for n in SHAPES]
)
def test_a_limit_is_used_and_hardly_met(name: str) -> None:
    make, pace = SHAPES[name]
    server, answers = play(make, pace)
    up = 1.0 if server.storm is None else 1 - server.storm[0] / server.storm[1]
    taken = [at for at in server.taken if at >= WINDOW]
    refused = [at for at in server.refused if at >= WINDOW]
    if server.shape is not None:
        allowed = server.shape.rate * (SECONDS - WINDOW) * up
        used = len(taken) * server.amount
    else:
        allowed = server.concurrent * (SECONDS - WINDOW) * up
        used = sum(end - max(begin, WINDOW) for begin, end in server.busy if end > WINDOW)
    share, refusals = used / allowed, len(refused) / (len(refused) + len(taken))
    fairness = min(answers.values()) / max(answers.values())
    print(f"{name}: {share:.1%} used, {refusals:.2%} refused, {fairness:.2f} fair")
    assert share >= (0.95 if server.shape is not None else 0.9)
    assert refusals <= 0.005
    assert fairness >= 0.5
