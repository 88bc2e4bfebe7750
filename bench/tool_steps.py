"""A step of an agent on Responses, by HTTP and on a socket: `python -m bench.tool_steps`.

A model calls a tool in each of twenty steps, after a conversation of 100 kB. By HTTP, each step
sends all of it; on a socket, only the result of the tool. The server is in a process of its own. It
decodes what it gets and answers at once, over loopback, and then as behind a link: what is sent
takes the time that it needs at 20 Mbit/s. Both ways are run in turns.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import hashlib
import json
import re
import statistics
import subprocess
import sys
import time
from typing import Any

from websockets.protocol import SERVER, Protocol

from wire import Agent, Chat, HistoryManager, Message

STEPS = 20
HISTORY = 100_000
"""Bytes of the conversation before."""
UPLINK = 20_000_000 / 8
"""Bytes a second."""
ROUNDS = 9
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


# --- the server -----------------------------------------------------------------------------------


def events(step: int) -> list[bytes]:
    """One answer: a call of the tool, or the last words."""
    base: dict[str, Any] = {"id": f"resp_{step}", "object": "response", "model": "m"}
    if step % STEPS == STEPS - 1:
        part = {"type": "output_text", "text": "Done.", "annotations": []}
        item = {"type": "message", "role": "assistant", "id": f"m{step}", "content": [part]}
    else:
        item = {"type": "function_call", "id": f"f{step}", "call_id": f"c{step}"}
        item |= {"name": "tide", "arguments": '{"port": "Brest"}'}
    item["status"] = "completed"
    usage = {"input_tokens": 9, "output_tokens": 9, "total_tokens": 18}
    done = {**base, "status": "completed", "output": [item], "usage": usage}
    made = [
        {"type": "response.created", "response": {**base, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]
    return [json.dumps(each).encode() for each in made]


async def serve(uplink: float, reader: Any, writer: Any) -> None:
    """Serve one connection, which may become a WebSocket."""
    step = 0

    async def answer(body: bytes) -> list[bytes]:
        nonlocal step
        json.loads(body)
        if uplink:
            await asyncio.sleep(len(body) / uplink)
        step += 1
        return events(step - 1)

    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            if key := re.search(rb"(?i)sec-websocket-key: (\S+)", head):
                break
            length = re.search(rb"(?i)content-length: (\d+)", head)
            made = await answer(await reader.readexactly(int(length[1] if length else 0)))
            body = b"".join(b"data: " + each + b"\n\n" for each in made)
            told = f"content-type: text/event-stream\r\ncontent-length: {len(body)}"
            writer.write(f"HTTP/1.1 200 OK\r\n{told}\r\n\r\n".encode() + body)
        accept = base64.b64encode(hashlib.sha1(key[1] + _GUID).digest()).decode()
        told = f"upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: {accept}"
        writer.write(f"HTTP/1.1 101 Switching Protocols\r\n{told}\r\n\r\n".encode())
        protocol = Protocol(SERVER, max_size=None)
        while data := await reader.read(65536):
            protocol.receive_data(data)
            for frame in protocol.events_received():
                if frame.opcode.name == "TEXT":
                    for each in await answer(bytes(frame.data)):
                        protocol.send_text(each)
            writer.write(b"".join(protocol.data_to_send()))
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    writer.close()


async def run_server() -> None:
    """Serve on two ports, without a link and behind one; print them."""
    ports = []
    for uplink in (0.0, UPLINK):
        server = await asyncio.start_server(functools.partial(serve, uplink), "127.0.0.1", 0)
        ports.append(server.sockets[0].getsockname()[1])
    print(*ports, flush=True)
    await asyncio.Event().wait()


# --- the client -----------------------------------------------------------------------------------


def tide(port: str) -> str:
    """When the tide is high."""
    return "05:12"


def seconds(port: int, connection: str) -> float:
    """Return the seconds of a step."""
    words = "The sea rises and falls. " * (HISTORY // 20 // 25)
    before = [
        message for _ in range(10) for message in (Message.user(words), Message.assistant(words))
    ]
    options: dict[str, Any] = {"api_key": "fake-key", "base_url": f"http://127.0.0.1:{port}/v1"}
    with Chat("openai@responses:gpt-5.4", connection=connection, **options) as chat:
        agent = Agent(
            chat, tools=[tide], history=HistoryManager(max_messages=None, max_tokens=None)
        )
        for message in before:
            agent.history.add_message(message)
        agent.run("Is the harbour open?")  # opens the connection
        started = time.perf_counter()
        result = agent.run("High tides?", max_steps=None)
        assert len(result.runs) == STEPS - 1
        return (time.perf_counter() - started) / STEPS


def main() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bench.tool_steps", "serve"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        ports = [int(port) for port in process.stdout.readline().split()]
        try:
            for port, told in zip(ports, ("loopback", "20 Mbit/s up"), strict=True):
                taken: dict[str, list[float]] = {"http": [], "socket": []}
                for _ in range(ROUNDS):
                    for connection, times in taken.items():
                        times.append(seconds(port, connection) * 1000)
                http, socket = (statistics.median(times) for times in taken.values())
                print(f"{told}: {http:.2f} ms a step by HTTP, {socket:.2f} ms on a socket, "
                    f"{socket / http:.2f} times")  # fmt: skip
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(run_server()) if sys.argv[1:] == ["serve"] else main()
