"""A process ends although something of this library is still open.

The interpreter closes generators when it ends, and has stopped the watchdog by then: nothing would
end a read that waits.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.http.loopback import STREAM, chunked, loopback

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.processes
CHUNK = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
EVENT = b"data: " + json.dumps(CHUNK).encode() + b"\n\n"
ENDS = {
    "ended": [STREAM, chunked(EVENT + b"data: [DONE]\n\n"), "hold"],
    "goes on": [STREAM, chunked(EVENT), "hold"],
}
"""What comes with the first event: the end of the stream, before that of the body, or nothing."""

HEAD = """
import asyncio, sys
from wire import Agent, AsyncChat, AsyncClient, Chat, Client, Lanes, LLMAgent, openai

options = {"api_key": "fake-key", "base_url": sys.argv[1], "retry": None}
messages = [openai.Message(role="user", content="Hi")]
call = openai.stream_chat_completions(openai.ChatCompletionRequest(model="m", messages=messages))
model = "openai@chat:m"

def texts(block):
    with block as events:
        for event in events:
            yield getattr(event, "text", None) or event.choices[0].delta.content

async def async_texts(block):
    async with block as events:
        async for event in events:
            yield getattr(event, "text", None) or event.choices[0].delta.content

kept = []
for code in sys.argv[2:]:
    kept.append(dict(globals()))
    exec(code, kept[-1])
"""

SYNC = {
    "stream": """
block = Client("openai", **options).stream(call)
stream = block.__enter__()
print(next(stream).choices[0].delta.content)
""",
    "generator over a stream": """
left = texts(Client("openai", **options).stream(call))
print(next(left))
""",
    "generator with httpx": """
left = texts(Client("openai", http="httpx", **options).stream(call))
print(next(left))
""",
    "chat": """
left = texts(Chat(model, **options).stream("Hi"))
print(next(left))
""",
    "agent": """
left = texts(Agent(Chat(model, **options)).stream("Hi"))
print(next(left))
""",
    "lanes in use": """
lanes = Lanes()
client = Client("openai", http=lanes, **options)
left = [texts(client.stream(call)) for _ in range(3)]
print(*{next(each) for each in left})
""",
    "a thread with a stream": """
import threading
lefts = []
def work():
    left = texts(Client("openai", **options).stream(call))
    lefts.append(next(left))
    lefts.append(left)
thread = threading.Thread(target=work)
thread.start()
thread.join()
print(lefts[0])
""",
}
ASYNC = {
    "async stream": "AsyncClient('openai', **options).stream(call)",
    "async stream with httpx": "AsyncClient('openai', http='httpx', **options).stream(call)",
    "async chat": "AsyncChat(model, **options).stream('Hi')",
    "async agent": "LLMAgent(AsyncChat(model, **options)).stream('Hi')",
}
RUN = """
lefts = []
async def main():
    left = async_texts({block})
    print(await anext(left))
    lefts.append(left)
asyncio.run(main())
"""
LEFT_LOOP = """
loop = asyncio.new_event_loop()
left = async_texts({block})
async def first():
    return await anext(left)
print(loop.run_until_complete(first()))
"""
SERVERS = {
    "emulator server": """
from wire.testing.emulator import Emulator, serve
block = serve(Emulator([{"say": "Hello."}]))
server = block.__enter__()
print(Chat("openai@chat:gpt-5.4", api_key="fake-key", base_url=server.url).ask("Hi").text)
""",
    "gateway server": """
from wire.gateway import Gateway, serve
block = serve(Gateway(AsyncChat(model, **options)))
server = block.__enter__()
left = texts(Chat(model, api_key="fake-key", base_url=server.url).stream("Hi"))
print(next(left))
""",
    "bulk run": """
from wire import bulk
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
lefts = []
async def main():
    steps = [{"say": "Hello."}, *[{"fault": "stall; seconds=60"}] * 2]
    http = AsyncEmulatorTransport(Emulator(steps))
    run = bulk.run(["Hi"] * 3, "openai@chat:gpt-5.4", concurrent=2, api_key="fake-key", http=http)
    results = aiter(run)
    lefts.extend([run, results])
    print((await anext(results)).reply.text)
asyncio.run(main())
""",
    "session": """
import pathlib, tempfile
from wire.sessions import read_session, save_session
path = pathlib.Path(tempfile.mkdtemp()) / "session.json"
agent = Agent(Chat(model, **options))
left = texts(agent.stream("Hi"))
text = next(left)
save_session(path, agent.history.messages)
session = read_session(path)
print(text)
""",
}
LEFT = {
    **SYNC,
    **{name: RUN.format(block=block) for name, block in ASYNC.items()},
    **{f"{name}, its loop": LEFT_LOOP.format(block=block) for name, block in ASYNC.items()},
    **SERVERS,
}


def ends(left: list[str], end: str) -> str:
    """What a process that leaves these open prints on stderr."""
    with loopback(ENDS[end]) as server:
        command = [sys.executable, "-c", HEAD, server.url, *left]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "Hello.\n" * len(left)), done.stderr
    return done.stderr


@pytest.mark.parametrize("end", ENDS)
def test_a_process_ends_with_everything_open(end: str) -> None:
    ends([*LEFT.values()], end)


def test_a_process_ends_with_connections_of_threads_open() -> None:
    assert ends([*SYNC.values()], "ended") == ""


@pytest.mark.slow
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("left", LEFT)
def test_a_process_ends_with_something_open(left: str, end: str) -> None:
    ends([LEFT[left]], end)
