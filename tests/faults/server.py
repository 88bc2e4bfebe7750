"""Plays faults to HTTP clients: `python -m tests.faults.server CERTIFICATE` prints its three ports.

The path of a request names the run, the fault and the wire: `/RUN/FAULT/WIRE/...`. The run counts
what came and which connections are open. `CONTROL RUN` in place of a request is answered by those
counts as JSON. The ports are those of plain HTTP, of TLS, and of a proxy that opens tunnels to TLS.
"""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import struct
import sys
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.faults.families import FAULTS, Ask, Do, Repeat, Step, Wait
from tests.faults.pieces import WIRES

LONGEST = 20.0
"""Seconds that one answer is played: no fault of this server is endless."""


@dataclass
class Run:
    """What one run of a client did."""

    requests: int = 0
    open: int = 0
    """Connections that are open now."""
    connections: int = 0
    sent: int = 0
    """Bytes."""
    bodies: set[bytes] = field(default_factory=set)


class Server:
    """Serves every port."""

    def __init__(self) -> None:
        self.runs: defaultdict[str, Run] = defaultdict(Run)
        self.tls_port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, until either side ends it."""
        run: Run | None = None
        try:
            while request := await _request(reader):
                top, body = request
                if top.startswith(b"CONTROL "):
                    writer.write(json.dumps(self._counts(top.split()[1].decode())).encode())
                    await writer.drain()
                    return
                name, fault, wire = top.split()[1].decode().split("/")[1:4]
                if b'"Next"' in body:  # the call after the fault
                    fault = "ok"
                if run is None:
                    run = self.runs[name]
                    run.open += 1
                    run.connections += 1
                run.requests += 1
                run.bodies.add(body)
                if not await self._answer(reader, writer, run, name, fault, wire, top):
                    return
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            pass  # the client ended the connection, or this process ends
        finally:
            if run is not None:
                run.open -= 1
            writer.close()

    def _counts(self, name: str) -> dict[str, Any]:
        run = self.runs[name]
        return {
            "requests": run.requests,
            "open": run.open,
            "connections": run.connections,
            "sent": run.sent,
            "bodies": len(run.bodies),
        }

    async def _answer(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        run: Run,
        name: str,
        fault: str,
        wire: str,
        top: bytes,
    ) -> bool:
        """Play one answer; False if the connection ends with it."""
        host = _header(top, b"host")
        ask = Ask(run.requests, name, f"{'https' if self._is_tls(writer) else 'http'}://{host}")
        playing = asyncio.ensure_future(self._play(writer, run, fault, wire, ask, top))
        # The client's next request cannot come before its answer: what can be read is the end. A
        # client that closes with unread bytes sends RST: the reader has an error then and no end.
        until = asyncio.get_running_loop().time() + LONGEST
        while not playing.done() and not reader.at_eof() and reader.exception() is None:
            if asyncio.get_running_loop().time() > until:
                break
            await asyncio.wait((playing,), timeout=0.02)
        playing.cancel()
        results = await asyncio.gather(playing, return_exceptions=True)
        return results[0] is True

    def _is_tls(self, writer: asyncio.StreamWriter) -> bool:
        return writer.get_extra_info("ssl_object") is not None

    async def _play(
        self,
        writer: asyncio.StreamWriter,
        run: Run,
        fault: str,
        wire: str,
        ask: Ask,
        top: bytes,
    ) -> bool:
        async for data in _bytes(FAULTS[fault].play(WIRES[wire], ask)):
            if isinstance(data, bytes):
                run.sent += len(data)
                writer.write(data)
                await writer.drain()
            elif data is Do.RESET:
                await asyncio.sleep(0.05)  # what was written has left
                _reset(writer)
                return False
            elif data is Do.HOLD:
                await asyncio.sleep(LONGEST)
            else:
                return False
        return True

    async def proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Open a tunnel to the TLS port, whichever host is asked for."""
        if not await _request(reader):
            return
        inner, outer = await asyncio.open_connection("127.0.0.1", self.tls_port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        relays = asyncio.gather(_relay(reader, outer), _relay(inner, writer))
        await asyncio.gather(relays, return_exceptions=True)
        for each in (writer, outer):
            each.close()


async def _bytes(steps: Any) -> AsyncIterator[Step]:
    """Each step, with waits done and repetitions written out."""
    for step in steps:
        if isinstance(step, Wait):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Repeat):
            for _ in range(step.times):
                yield step.data
                await asyncio.sleep(step.gap)
        else:
            yield step


async def _request(reader: asyncio.StreamReader) -> tuple[bytes, bytes] | None:
    """Head and body of the next request; `None` at the end of the connection."""
    first = await reader.readline()
    if first.startswith(b"CONTROL "):
        return first, b""
    if not first.strip():
        return None
    top = first + await reader.readuntil(b"\r\n\r\n")
    length = _header(top, b"content-length")
    return top, await reader.readexactly(int(length)) if length else b""


def _header(top: bytes, name: bytes) -> str:
    for line in top.split(b"\r\n")[1:]:
        key, _, value = line.partition(b":")
        if key.lower() == name:
            return value.strip().decode()
    return ""


async def _relay(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            sink.write(data)
            await sink.drain()
    with suppress(OSError):
        sink.close()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End the connection by RST instead of FIN."""
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def main(certificate: str) -> None:
    """Serve until the standard input ends."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    server = Server()
    limit = 64 * 1024
    plain = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=limit, backlog=1000)
    secure = await asyncio.start_server(
        server.serve, "127.0.0.1", 0, ssl=tls, limit=limit, backlog=1000
    )
    proxy = await asyncio.start_server(server.proxy, "127.0.0.1", 0, backlog=1000)
    server.tls_port = secure.sockets[0].getsockname()[1]
    ports = [each.sockets[0].getsockname()[1] for each in (plain, secure, proxy)]
    print(json.dumps(ports), flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
