"""A process that is forked after its client was used; `test_forks.py` starts it.

    python -m tests.http.forking sync|asyncio|trio SCENE URL [SCENE URL ...]

It prints what parent and child saw in each scene, as JSON. The servers answer with the words of the
prompt.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio

from wire import (
    Agent,
    AsyncChats,
    AsyncClient,
    Chats,
    Client,
    FallbackChat,
    LLMAgent,
    Pace,
    WireError,
    gemini,
    retry,
)
from wire.around import Signal, Wait
from wire.core.circuits import Circuit, Circuits
from wire.http import watchdog
from wire.http.async_lanes import AsyncLanes
from wire.http.client import _wait
from wire.http.lanes import Lanes
from wire.pipeline import environment
from wire.pipeline.context import Context
from wire.pipeline.workspace import Workspace
from wire.testing.cassette.copying import Clock
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.instrument import Instrument
from wire.testing.cassette.matching import Match
from wire.testing.cassette.player import Player
from wire.testing.cassette.recorder import Recorder
from wire.testing.emulator import Emulator

CALLS = 30
KEY = "fake-key"


def call(text: str) -> Any:
    request = gemini.GenerateContentRequest(contents=gemini.contents(text))
    return gemini.generate_content("m", request)


def streamed(text: str) -> Any:
    request = gemini.GenerateContentRequest(contents=gemini.contents(text))
    return gemini.stream_generate_content("m", request)


def forked(work: Callable[[], Any]) -> Callable[[], Any]:
    """`work()` in a child; what is returned waits for its result."""
    ours, childs = os.pipe()
    child = os.fork()
    if not child:
        signal.alarm(30)  # a lock that is held for ever ends the child, and the test
        try:
            result = work()
        except BaseException as error:
            result = f"{type(error).__name__}: {error}"
        os.write(childs, json.dumps(result).encode())
        os._exit(0)
    os.close(childs)

    def wait() -> Any:
        with os.fdopen(ours) as pipe:
            printed = pipe.read()
        os.waitpid(child, 0)
        return json.loads(printed or '"killed"')

    return wait


def attempts(client: Any, answers: list[Any]) -> int:
    return sum(client.account(answer).attempts for answer in answers)


def ask(url: str, question: str) -> Any:
    """Something that the server is told or asked, by another client than the one that is tested."""
    with Client("gemini", api_key=KEY, base_url=url) as client:
        return client.send(call(question)).text


# --- threads --------------------------------------------------------------------------------------


def calls(client: Client, who: str) -> list[Any]:
    """How many answers belong to their request, and in how many attempts."""
    answers = [client.send(call(f"{who} {number}")) for number in range(CALLS)]
    right = sum(answer.text == f"{who} {number}" for number, answer in enumerate(answers))
    return [right, attempts(client, answers)]


def both_call(url: str) -> Any:
    client = Client("gemini", api_key=KEY, base_url=url)
    calls(client, "before")
    child = forked(lambda: calls(client, "child"))
    return [calls(client, "parent"), child()]


def reading(url: str) -> Any:
    """The child leaves the parent's stream, calls by a limit of its own, and closes the client."""
    pace = Pace(concurrent=1)
    client = Client("gemini", api_key=KEY, base_url=url, http=Lanes(limit=1), around=pace)
    with contextlib.ExitStack() as stack:
        chunks = stack.enter_context(client.stream(streamed("a b c")))
        texts = [next(chunks).text]

        def work() -> Any:
            try:
                next(chunks)
            except WireError as error:
                read = type(error).__name__
            stack.close()
            sent = client.send(call("child")).text
            client.close()
            return [read, sent]

        child = forked(work)()
        ask(url, "go on")
        texts += [chunk.text for chunk in chunks]
    return [child, texts, client.send(call("after")).text]


def closing(url: str) -> Any:
    """A connection that the parent closes is closed, while the child lives."""
    client = Client("gemini", api_key=KEY, base_url=url)
    client.send(call("before"))
    over, tell = os.pipe()
    child = forked(lambda: os.read(over, 1).decode())
    client.close()
    closed = ask(url, "has one been closed?")
    os.write(tell, b"x")
    return [closed, child()]


def while_held(lock: Any, work: Callable[[], Any]) -> Any:
    """What a child returns that was forked while another thread of the parent held a lock."""
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = forked(work)
    over.set()
    thread.join()
    return child()


def written(workspace: Workspace) -> str:
    workspace.write("a", b"child")
    with workspace.read("a") as file:
        return file.read().decode()


def locks(url: str) -> Any:
    """Locks that another thread of the parent holds, one kind after the other: the call of the
    child and one of the parent.
    """
    lanes, pace = Lanes(), Pace(concurrent=1)
    client = Client("gemini", api_key=KEY, base_url=url, http=lanes, around=pace)
    chat = FallbackChat([Chats({"gemini": client}, default="gemini").chat("m")])
    emulator = Emulator()
    context = Context({"port": "child"})
    signal = Signal()
    clock, instrument = Clock(), Instrument(faults="500")
    sent = Sent("GET", url, [], b"")
    budget = retry.RetryBudget(100)

    def send() -> Any:
        return client.send(call("child")).text

    def set_and_wait() -> str:
        signal.set()
        _wait(Wait(signal))
        return "child"

    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder))
        player, recorder = Player([], Match(), "x", ""), Recorder(Path(folder, "x.json"))
        held: dict[str, tuple[Any, Callable[[], Any]]] = {
            "lanes": (lanes._lock, send),
            "slots": (lanes._slots._lock, send),
            "watchdog": (watchdog._watchdog.lock, send),
            "pace": (pace._lock, send),
            "circuits": (chat._circuits._lock, lambda: chat.ask("child").text),
            "budget": (retry._counting, lambda: ["", "child"][budget.take(WireError()) > 0]),
            "emulator": (emulator._lock, lambda: ["child"][len(emulator.requests)]),
            "context": (context._lock, lambda: context["port"]),
            "signal": (signal._lock, set_and_wait),
            "player": (player._lock, lambda: player.rewind() or "child"),
            "recorder": (recorder._lock, lambda: "child" if recorder.send(sent) == 1 else ""),
            "clock": (clock._lock, lambda: clock.start() and "child"),
            "instrument": (instrument._lock, lambda: instrument.fault(0) and "child"),
            "workspace": (workspace._writing, lambda: written(workspace)),
            "environment": (
                environment._lock,
                lambda: environment.blank_start_block() or "child",
            ),
        }
        found = {name: while_held(lock, work) for name, (lock, work) in held.items()}
    return [found, client.send(call("parent")).text]


def sockets() -> int:
    """The number of sockets that this process has open."""
    count = 0
    for descriptor in range(256):
        with contextlib.suppress(OSError):
            count += stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    return count


def in_flight(url: str) -> Any:
    """The child calls while a thread of the parent runs the only call that the lanes, the pace and
    the circuits let through, and another one waits for its place.
    """
    found = []
    # All that calls need is imported: a child could not import what a thread is importing.
    with Client("gemini", api_key=KEY, base_url=url, http=Lanes(connections="httpx")) as client:
        client.send(call("before"))
    ask(url, "before")
    before = sockets()
    for connections in ("auto", "httpx"):  # the first is "direct"
        http = Lanes(limit=1, connections=connections)  # type: ignore[arg-type]
        pace = Pace(concurrent=1)
        client = Client("gemini", api_key=KEY, base_url=url, http=http, around=pace)
        texts: list[str] = []

        def one(client: Client = client, texts: list[str] = texts) -> None:
            texts.append(client.send(call("wait")).text)

        threads = [threading.Thread(target=one) for _ in range(2)]
        for thread in threads:
            thread.start()
        ask(url, "until one waits")
        while pace.waiting == 0:
            time.sleep(0.001)

        def work(client: Client = client, pace: Pace = pace) -> Any:
            return [
                sockets() - before,
                client.send(call("child")).text,
                pace.running + pace.waiting,
            ]

        child = forked(work)()
        for _ in threads:
            ask(url, "go on with one")
        for thread in threads:
            thread.join()
        ask(url, "until one waits")  # the second has waited too
        found.append([child, texts, client.send(call("parent")).text, pace.running])
        client.close()
    return found


def probing(url: str) -> Any:
    """A request of the parent finds out whether a model is well again when the child is forked."""
    circuits = Circuits(2, Circuit(failures=1, seconds=0))
    circuits.failed(0, WireError("busy"))
    first = circuits.take(())
    child = forked(lambda: circuits.take(()))()
    return [first, circuits.take(()), child]


def jitter(url: str) -> Any:
    """Retries of parent and child that wait equally long would all come at the same moment."""
    client = Client("gemini", api_key=KEY, base_url=url)
    child = forked(client._dice.random)
    return client._dice.random() != child()


def shout(text: str) -> str:
    """A tool: who called it is seen in its result."""
    return text.upper()


ROUNDS = 5


def runs(chats: Chats, agent: Agent, who: str) -> int:
    """How many chats and runs of an agent with a tool belong to their request."""
    right = 0
    for number in range(ROUNDS):
        right += chats.ask(f"{who} {number}", model="m").text == f"{who} {number}"
        right += agent.run(f"use {who}{number}").text == f"{who}{number}".upper()
    return right


def agents(url: str) -> Any:
    """The second element is the turns that parent and child have in the history of the agent."""
    with Client("gemini", api_key=KEY, base_url=url) as client:
        chats = Chats({"gemini": client}, default="gemini")
        agent = Agent(chats.chat("m"), tools=[shout])
        runs(chats, agent, "before")
        child = forked(lambda: [runs(chats, agent, "child"), len(agent.history.messages)])
        return [[runs(chats, agent, "parent"), len(agent.history.messages)], child()]


def running(url: str) -> Any:
    """A thread of the parent is in a run, and its tool runs, when the child is forked."""
    client = Client("gemini", api_key=KEY, base_url=url)
    chat = Chats({"gemini": client}, default="gemini").chat("m")
    called, go_on, results = threading.Event(), threading.Event(), []

    def slow(text: str) -> str:
        called.set()
        assert go_on.wait(30)
        return text.upper()

    agent = Agent(chat, tools=[slow])
    thread = threading.Thread(target=lambda: results.append(agent.run("use parent").text))
    thread.start()
    assert called.wait(10)
    child = forked(lambda: Agent(chat, tools=[shout]).run("use child").text)()
    go_on.set()
    thread.join()
    return [results[0], child]


# --- event loops ----------------------------------------------------------------------------------


async def async_calls(client: AsyncClient, who: str) -> list[Any]:
    """As `calls`, three at a time."""
    answers: list[Any] = [None] * CALLS

    async def one(number: int) -> None:
        answers[number] = await client.send(call(f"{who} {number}"))

    for first in range(0, CALLS, 3):
        async with anyio.create_task_group() as tasks:
            for number in range(first, first + 3):
                tasks.start_soon(one, number)
    right = sum(answer.text == f"{who} {number}" for number, answer in enumerate(answers))
    return [right, attempts(client, answers)]


def in_a_thread(backend: str, work: Callable[..., Any], *arguments: Any) -> Any:
    """A child of a task of trio can run it in another thread only: this one is inside a run."""
    results: list[Any] = []

    def run() -> None:
        results.append(anyio.run(work, *arguments, backend=backend))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return results[0]


def async_both_call(url: str, backend: str) -> Any:
    async def main() -> Any:
        async with AsyncClient("gemini", api_key=KEY, base_url=url) as client:
            await async_calls(client, "before")
            child = forked(lambda: in_a_thread(backend, async_calls, client, "child"))
            return [await async_calls(client, "parent"), child()]

    return anyio.run(main, backend=backend)


def async_reading(url: str, backend: str) -> Any:
    async def main() -> Any:
        client = AsyncClient("gemini", api_key=KEY, base_url=url, http=AsyncLanes(limit=1))
        async with client:
            async with client.stream(streamed("a b c")) as chunks:
                texts = [(await anext(chunks)).text]

                async def work() -> Any:
                    sent = (await client.send(call("child"))).text
                    await client.aclose()
                    return sent

                child = forked(lambda: in_a_thread(backend, work))()
                ask(url, "go on")
                texts += [chunk.text async for chunk in chunks]
            return [child, texts, (await client.send(call("after"))).text]

    return anyio.run(main, backend=backend)


def async_closing(url: str, backend: str) -> Any:
    over, tell = os.pipe()

    async def main() -> Any:
        async with AsyncClient("gemini", api_key=KEY, base_url=url) as client:
            await client.send(call("before"))
            child = forked(lambda: os.read(over, 1).decode())
        closed = ask(url, "has one been closed?")
        os.write(tell, b"x")
        return [closed, child()]

    return anyio.run(main, backend=backend)


async def async_runs(chats: AsyncChats, agent: LLMAgent, who: str) -> int:
    right = 0
    for number in range(ROUNDS):
        right += (await chats.ask(f"{who} {number}", model="m")).text == f"{who} {number}"
        right += (await agent.run(f"use {who}{number}")).text == f"{who}{number}".upper()
    return right


def async_agents(url: str, backend: str) -> Any:
    async def main() -> Any:
        async with AsyncClient("gemini", api_key=KEY, base_url=url) as client:
            chats = AsyncChats({"gemini": client}, default="gemini")
            agent = LLMAgent(chats.chat("m"), tools=[shout])

            def work() -> Any:
                right = in_a_thread(backend, async_runs, chats, agent, "child")
                return [right, len(agent.history.messages)]

            await async_runs(chats, agent, "before")
            child = forked(work)
            right = await async_runs(chats, agent, "parent")
            return [[right, len(agent.history.messages)], child()]

    return anyio.run(main, backend=backend)


if __name__ == "__main__":
    backend, *pairs = sys.argv[1:]
    found = {}
    for name, url in zip(pairs[::2], pairs[1::2], strict=True):
        if backend == "sync":
            found[name] = globals()[name](url)
        else:
            found[name] = globals()[f"async_{name}"](url, backend)
    print(json.dumps(found))
