"""A call that is made while the interpreter ends works, or raises a `WireError` (R-36).

Each child process makes one call at its end: in a `__del__`, in a function of `atexit`, or in a
thread. Neither its output for errors nor its exit status may show another exception.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.loopback import ANSWER, GOOD_STREAM, loopback, whole

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.processes

CHILD = """
import asyncio, atexit, builtins, os, sys, threading

import wire
from wire import Agent, AsyncChat, AsyncClient, Chat, Client, Lanes, Timeouts, errors, gemini
from wire.http.async_lanes import AsyncLanes

url, kind, moment, connections, before = sys.argv[1:]
request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
PLAIN = gemini.generate_content("m", request)
STREAM = gemini.stream_generate_content("m", request)
options = {"api_key": "fake-key", "base_url": url, "retry": None, "timeouts": Timeouts(9, 9, 9, 9)}
sync = {**options, "http": Lanes(connections=connections)}

def chunks(client):
    with client.stream(STREAM) as stream:
        return stream.result()

def events(chat):
    with chat.stream("Hi") as stream:
        return stream.reply()

def again(lanes=Lanes, ours={**options}, given=connections):
    with Chat("gemini:m", **ours, http=lanes(connections=given)) as chat:
        return chat.ask("Hi")

async def later(lanes=AsyncLanes, ours={**options}, given=connections):
    async with AsyncChat("gemini:m", **ours, http=lanes(connections=given)) as chat:
        return await chat.ask("Hi")

async def sent(make=AsyncClient, lanes=AsyncLanes, ours={**options}, given=connections, call=PLAIN):
    async with make("gemini", **ours, http=lanes(connections=given)) as client:
        return await client.send(call)

async def streamed(
    make=AsyncClient, lanes=AsyncLanes, ours={**options}, given=connections, call=STREAM
):
    async with make("gemini", **ours, http=lanes(connections=given)) as client:
        async with client.stream(call) as stream:
            return await stream.result()

client, chat = Client("gemini", **sync), Chat("gemini:m", **sync)
agent = Agent(chat)
call = {
    "send": lambda: client.send(PLAIN),
    "stream": lambda: chunks(client),
    "ask": lambda: chat.ask("Hi"),
    "events": lambda: events(chat),
    "agent": lambda: agent.run("Hi"),
    "made": again,
    "async": lambda run=asyncio.run, later=later: run(later()),
    "async send": lambda run=asyncio.run, sent=sent: run(sent()),
    "async stream": lambda run=asyncio.run, streamed=streamed: run(streamed()),
}[kind]
if before == "used":
    call()

def act(call=call, ours=errors.WireError, write=os.write):
    try:
        outcome = call().text
    except ours as error:
        outcome = type(error).__name__
    write(1, outcome.encode())

class Late:
    def __init__(self):
        self.act = act

    def __del__(self):
        self.act()

if moment == "del":
    late = Late()
elif moment == "cycle":
    late = Late()
    late.self = late
elif moment == "builtins":
    builtins.late = Late()
elif moment == "atexit":
    atexit.register(act)
else:
    threading.Thread(target=lambda: (threading.main_thread().join(), act())).start()
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    def script(number: int, request: bytes) -> list[Any]:
        return list(GOOD_STREAM) if b"stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]

    with loopback(script) as server:
        yield server.url


def outcome(url: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore::ResourceWarning", "-c", CHILD, url, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


KINDS = ["send", "stream", "ask", "events", "agent", "made", "async", "async send", "async stream"]
MOMENTS = ["del", "cycle", "builtins", "atexit", "thread"]
CASES = [
    (kind, moment, connections, before)
    for kind in KINDS
    for moment in MOMENTS
    for connections in ("direct", "httpx")
    for before in ("unused", "used")
    # asyncio itself cannot begin so late, unless it ran before.
    if not kind.startswith("async") or moment in ("atexit", "thread") or before == "used"
]
WHOLE = ["Hello."]
TYPED = ["ConnectionLost", "RuleError", "ConfigurationError"]
QUICK = [
    ("send", "del", "httpx", "unused"),
    ("stream", "builtins", "direct", "used"),
    ("ask", "del", "direct", "unused"),
    ("events", "cycle", "httpx", "used"),
    ("agent", "del", "direct", "used"),
    ("made", "builtins", "httpx", "unused"),
    ("async", "del", "httpx", "used"),
    ("async send", "builtins", "direct", "used"),
    ("async stream", "del", "httpx", "used"),
    ("ask", "atexit", "direct", "unused"),
    ("agent", "thread", "httpx", "unused"),
]


@pytest.mark.parametrize(
    "case",
    [pytest.param(each, marks=[] if each in QUICK else pytest.mark.slow) for each in CASES],
    ids=" ".join,
)
def test_a_call_at_the_end(url: str, case: tuple[str, ...]) -> None:
    moment = case[1]
    printed = outcome(url, *case)
    assert printed in (WHOLE if moment in ("atexit", "thread") else [*WHOLE, *TYPED])
