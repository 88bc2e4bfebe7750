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
import sys
import threading
from collections.abc import Callable
from typing import Any

import anyio

from wire import Agent, AsyncChats, AsyncClient, Chats, Client, LLMAgent, WireError, gemini
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes

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
    client = Client("gemini", api_key=KEY, base_url=url, http=Lanes(limit=1))
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


def locks(url: str) -> Any:
    """Locks that another thread of the parent holds."""
    lanes = Lanes()
    client = Client("gemini", api_key=KEY, base_url=url, http=lanes)
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with lanes._lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = forked(lambda: client.send(call("child")).text)
    over.set()
    thread.join()
    return [client.send(call("parent")).text, child()]


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
