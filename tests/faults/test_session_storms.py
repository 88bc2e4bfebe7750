"""Sessions over WebSocket, cancelled, closed, broken and forked in great number (R-21, R-40, R-42).

Each test runs in small number with all others, and in great number with the tests of faults.
"""

from __future__ import annotations

import math
import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from tests.faults.soak import descriptors, memory
from wire import AsyncChat, Chat, Retry, WireError
from wire.neutral.messages import Done
from wire.testing.emulator import Emulator, Server, serve

AT_ONCE = 10
FEW = pytest.param(60, id="few")
MANY = pytest.param(3000, id="many", marks=[pytest.mark.faults, pytest.mark.timeout(900)])
NUMBERS = pytest.mark.parametrize("number", [FEW, MANY])
BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
MODEL = "openai:gpt-realtime"
TYPED = {"ConnectionLost", "StreamIncomplete", "APIError", "StreamInvalid", "ServerError"}


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator(lambda _: {"say": "Hello."})) as server:
        yield server


def options(server: Server) -> dict[str, Any]:
    return {"api_key": "fake-key", "retry": Retry(base=0), "base_url": f"{server.url}/v1"}


def answered(chat: Chat) -> str:
    with chat.connect(sound=False) as session:
        session.send("Hi")
        for event in session.events():
            if isinstance(event, Done):
                return event.reply.text
    return ""


async def answered_async(chat: AsyncChat) -> str:
    async with chat.connect(sound=False) as session:
        await session.send("Hi")
        async for event in session.events():
            if isinstance(event, Done):
                return event.reply.text
    return ""


@BACKENDS
@NUMBERS
def test_cancellations(server: Server, backend: str, number: int) -> None:
    """Each at a random moment; one in six is not cancelled, however slow the machine is."""
    dice, ended = random.Random(1), []

    async def main() -> tuple[str, int]:
        async with AsyncChat(MODEL, **options(server)) as chat:
            await answered_async(chat)

            async def work(count: int) -> None:
                for at in range(count):
                    seconds = dice.uniform(0, 0.1) if at % 6 else math.inf
                    with anyio.move_on_after(seconds) as scope:
                        await answered_async(chat)
                    ended.append(scope.cancelled_caught)

            async with anyio.create_task_group() as tasks:
                for _ in range(AT_ONCE):
                    tasks.start_soon(work, number // AT_ONCE)
            with anyio.fail_after(20):
                return await answered_async(chat), descriptors()

    before = descriptors()
    text, after = anyio.run(main, backend=backend)
    assert (text, len(ended)) == ("Hello.", number)
    assert number > sum(ended) > 0
    assert after - before < 2 * AT_ONCE + 12  # both ends of sessions that are being closed


@NUMBERS
def test_sessions_that_another_thread_closes(server: Server, number: int) -> None:
    outcomes: Counter[str] = Counter()
    dice = random.Random(2)
    with Chat(MODEL, **options(server)) as chat:
        for _ in range(number):
            with chat.connect(sound=False) as session:
                closer = threading.Timer(dice.uniform(0, 0.02), session.close)
                closer.start()
                try:
                    session.send("Hi")
                    texts = [e.reply.text for e in session.events() if isinstance(e, Done)]
                    outcomes["".join(texts) or "nothing"] += 1
                except WireError as error:
                    outcomes[type(error).__name__] += 1
                closer.join(10)
                assert not closer.is_alive()
        assert answered(chat) == "Hello."
    assert outcomes.total() == number
    assert set(outcomes) <= {"Hello.", "nothing", *TYPED}


FAULTS: list[dict[str, Any]] = [
    {"fault": "close; after=3; code=1011; reason=overloaded"},
    {"fault": "cut; after=2"},
    {"fault": "reset; after=4"},
    {"fault": "swap; after=3"},
    {"fault": "frame; after=2"},
    {},
]


@NUMBERS
def test_sessions_that_break_leave_nothing(number: int) -> None:
    """A session is whole, or ends by a typed error; memory and descriptors do not grow."""
    script = [{"say": "Hello.", **each} for each in FAULTS]
    outcomes: Counter[str] = Counter()
    with (
        serve(Emulator([script[at % len(script)] for at in range(number)])) as server,
        Chat(MODEL, **options(server)) as chat,
    ):
        first = None
        for at in range(number):
            try:
                outcomes[answered(chat)] += 1
            except WireError as error:
                outcomes[type(error).__name__] += 1
            if at == number // 3:
                first = memory(), descriptors()
        assert first is not None
        assert descriptors() - first[1] < 12
        assert memory() < first[0] * 1.2
    assert outcomes["Hello."] >= number // len(FAULTS)
    assert set(outcomes) <= {"Hello.", *TYPED}


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.processes
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_forked_children_leave_sessions_to_the_parent(server: Server) -> None:
    with Chat(MODEL, **options(server)) as chat, chat.connect(sound=False) as session:
        for _ in range(30):
            pid = os.fork()
            if not pid:
                signal.alarm(20)
                left = False
                try:
                    session.send("of the child")
                except WireError:
                    left = True
                os._exit(0 if left else 1)
            session.send("Hi")
            events = session.events()
            while not isinstance(event := next(events), Done):
                pass
            assert event.reply.text == "Hello."
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


@BACKENDS
def test_two_hundred_sessions_at_once(server: Server, backend: str) -> None:
    async def main() -> list[str]:
        found: list[str] = []
        async with AsyncChat(MODEL, **options(server)) as chat:

            async def work() -> None:
                found.append(await answered_async(chat))

            async with anyio.create_task_group() as tasks:
                for _ in range(200):
                    tasks.start_soon(work)
        return found

    assert anyio.run(main, backend=backend) == ["Hello."] * 200
