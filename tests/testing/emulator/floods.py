"""Clients that hold connections and ask nothing, beside one that asks: how long does it wait?

`python -m tests.testing.emulator.floods` prints the figures of each flood, at both servers.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.testing.emulator.asks import GEMINI_3, user

ROOT = Path(__file__).parents[3]
PATH = f"{GEMINI_3}:generateContent"
BODY = json.dumps({"contents": [user("hi")]}).encode()
KEY = b"host: localhost\r\nx-goog-api-key: k\r\n"
POST = b"POST %s HTTP/1.1\r\n%s" % (PATH.encode(), KEY)
ASK = POST + b"content-length: %d\r\n\r\n%s" % (len(BODY), BODY)

SERVER = """
import json, resource, sys
import httpx
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorLimits, serve
name, descriptors, letters, limits = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_NOFILE, (int(descriptors), int(descriptors)))
limits = EmulatorLimits(**json.loads(limits))
letters = int(letters)

class Long(httpx.AsyncByteStream):
    async def __aiter__(self):
        for _ in range(letters // 50_000):
            parts = [{"text": "a" * 50_000}]
            chunk = {"candidates": [{"content": {"role": "model", "parts": parts}}]}
            yield b"data: %s\\r\\n\\r\\n" % json.dumps(chunk).encode()

class Backend(AsyncEmulatorTransport):
    async def handle_async_request(self, request):
        if b'"long"' not in await request.aread():
            return await super().handle_async_request(request)
        headers = {"content-type": "text/event-stream"}
        return httpx.Response(200, headers=headers, stream=Long())

if name == "gateway":
    from wire import AsyncChat
    from wire.gateway import Gateway, serve
    chat = AsyncChat("gemini:gemini-3.8-flash", http=Backend(), api_key="fake-key", retry=None)
    running = serve(Gateway(chat, limits=limits))
else:
    answer = ["a" * letters]
    running = serve(
        Emulator([{"match": {"text": "^long$"}, "answer": answer, "times": 0}], limits=limits)
    )
with running as server:
    print(server.port, flush=True)
    for _ in sys.stdin:
        print(server.open_connections, server.buffered_bytes, flush=True)
"""
"""A server in a process of its own, with its number of file descriptors. A line asks for its
figures."""


@dataclass(frozen=True)
class Running:
    """A server that runs."""

    port: int
    process: subprocess.Popen[str]

    def figures(self) -> tuple[int, int]:
        """Open connections and bytes of bodies."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        connections, buffered = map(int, self.process.stdout.readline().split())
        return connections, buffered

    @property
    def descriptors(self) -> int:
        """How many file descriptors it has open."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    @property
    def memory(self) -> int:
        """Bytes of memory that it has in use."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @property
    def seconds(self) -> float:
        """Seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(
    name: str, *, descriptors: int = 1024, letters: int = 0, **limits: float
) -> Iterator[Running]:
    """A server, `emulator` or `gateway`; it writes nothing to stderr."""
    program = [sys.executable, "-W", "error", "-c", SERVER]
    arguments = [name, str(descriptors), str(letters), json.dumps(limits)]
    with subprocess.Popen(
        [*program, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        try:
            yield Running(int(process.stdout.readline()), process)
            _, written = process.communicate(timeout=60)
            assert (written, process.returncode) == ("", 0)
        finally:
            process.kill()


@dataclass
class Flood:
    """Connections that send some bytes, then one more now and then, and read next to nothing.

    One that the server closes comes back.
    """

    port: int
    number: int
    begin: bytes = b"GET /v1beta/models HTTP/1.1\r\nx-"
    drip: bytes = b"a"
    every: float = 3.0
    """Seconds between two bytes of a connection."""
    again: float = 1.0
    """Seconds until a connection that was closed comes back."""
    half_closed: bool = False
    """Whether it shuts down its side after its first bytes."""
    opened: int = 0
    """Connections that it has opened so far."""
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Flood:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    async def _run(self) -> None:
        tasks = [asyncio.create_task(self._one()) for _ in range(self.number)]
        while not self._over.is_set():  # noqa: ASYNC110  set by another thread
            await asyncio.sleep(0.05)
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                await self._connection()
            await asyncio.sleep(self.again)

    async def _connection(self) -> None:
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
            reader, writer = await asyncio.open_connection(sock=sock, limit=1)
        except BaseException:
            sock.close()
            raise
        self.opened += 1
        try:
            writer.write(self.begin)
            if self.half_closed:
                writer.write_eof()
            while not (reader.at_eof() or writer.is_closing()):
                await asyncio.sleep(self.every)
                if self.drip and not self.half_closed:
                    writer.write(self.drip)
        finally:
            writer.transport.abort()


def asked(port: int) -> float:
    """Seconds until a client of a new connection has its answer."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", PATH, BODY, {"x-goog-api-key": "k"})
    assert connection.getresponse().status == 200
    connection.close()
    return time.monotonic() - began


CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\nffff\r\n"
UNREAD = ASK.replace(b"generateContent", b"streamGenerateContent?alt=sse", 1).replace(
    b'"hi"', b'"long"'
)
UNREAD = UNREAD.replace(b"length: %d" % len(BODY), b"length: %d" % (len(BODY) + 2))
FLOODS: dict[str, dict[str, Any]] = {
    "slow heads": {},
    "silent": {"begin": b"", "drip": b""},
    "slow bodies": {"begin": CHUNKED},
    "unread": {"begin": UNREAD, "drip": b"", "number": 100},
    "half open": {"half_closed": True},
    "half open, unread": {"begin": UNREAD, "half_closed": True, "number": 100},
}

LETTERS = {"emulator": 2_000_000, "gateway": 50_000_000}
"""Of a response to `UNREAD`; the emulator makes it whole, which takes 13 ms for a million."""


@dataclass(frozen=True)
class Figures:
    """What a flood did to a server and to a client beside it."""

    asked: int
    slowest: float
    """Seconds, of all answers."""
    opened: int
    """Connections of the flood."""
    descriptors: int
    """The most that the server had."""
    load: float
    """CPU of the server, as a part of one core."""
    before: int
    most: int
    after: int
    """Bytes of memory of the server: before the flood, at most, and after it."""
    left: int
    """Connections that are open after the flood."""


def flooded(
    server: str,
    seconds: float,
    *,
    number: int = 2000,
    descriptors: int = 1024,
    limits: dict[str, float] | None = None,
    **how: Any,
) -> Figures:
    """Asks a server again and again while a flood runs, and looks at it afterwards."""
    letters = LETTERS[server]
    with running(server, descriptors=descriptors, letters=letters, **(limits or {})) as served:
        asked(served.port)
        before, cpu, began = served.memory, served.seconds, time.monotonic()
        waits, files, most = [], 0, 0
        with Flood(served.port, number, **how) as flood:
            while time.monotonic() < began + seconds:
                waits.append(asked(served.port))
                files, most = max(files, served.descriptors), max(most, served.memory)
                time.sleep(0.1)
            load = (served.seconds - cpu) / (time.monotonic() - began)
            opened = flood.opened
        ends = time.monotonic() + 60
        while (left := served.figures()[0]) and time.monotonic() < ends:
            time.sleep(0.05)
        return Figures(
            len(waits), max(waits), opened, files, load, before, most, served.memory, left
        )


def main() -> None:
    """Prints a line for each flood and server; arguments name floods."""
    seconds = float(os.environ.get("SECONDS", "30"))
    for name in sys.argv[1:] or FLOODS:
        for server in ("emulator", "gateway"):
            for descriptors in (1024, 20_000):
                found = flooded(server, seconds, descriptors=descriptors, **FLOODS[name])
                print(
                    f"{name}, {server}, {descriptors} descriptors: {found.asked} asked, slowest "
                    f"{found.slowest:.2f} s; {found.opened} opened, {found.descriptors} files, "
                    f"{found.load:.0%} CPU, {found.before / 1e6:.0f} MB before, "
                    f"{found.most / 1e6:.0f} at most, {found.after / 1e6:.0f} after, "
                    f"{found.left} left",
                    flush=True,
                )


if __name__ == "__main__":
    main()
