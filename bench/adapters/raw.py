"""The limit: a protocol of asyncio, chunked bodies undone by hand, `bench.plain`.

It checks nothing: no header, no status, no clock.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from bench import plain
from bench.bodies import WIRES as WIRES
from bench.bodies import Turn


class _Connection(asyncio.Protocol):
    """Collects the data of events, or the pieces of a whole body."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, path: str, body: bytes, *, stream: bool) -> None:
        self._rest = b""
        self._missing = -1  # bytes of the body, once the headers were read
        self._split = plain.Split() if stream else None
        self._headers_read = self.over = False
        self._waiting: asyncio.Future[None] | None = None
        self.found: list[bytes] = []
        self.transport.write(
            b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Authorization: Bearer fake-key\r\nContent-Length: %d\r\n\r\n%s"
            % (path.encode(), len(body), body)
        )

    def data_received(self, data: bytes) -> None:
        if not self._headers_read:
            head, end, data = (self._rest + data).partition(b"\r\n\r\n")
            if not end:
                self._rest = head
                return
            self._headers_read, self._rest = True, b""
            if self._split is None:
                _, _, length = head.partition(b"Content-Length: ")
                self._missing = int(length.partition(b"\r\n")[0])
        if self._split is None:
            self.found.append(data)
            self._missing -= len(data)
            self.over = self._missing <= 0
        else:
            pieces = self._pieces(data)
            if pieces:
                self.found += self._split.feed(b"".join(pieces))
        if self.over or (self._split is not None and self.found):
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def _pieces(self, data: bytes) -> list[bytes]:
        """What the whole chunks contain; the rest waits for more."""
        if self._rest:
            data = self._rest + data
        pieces, begin = [], 0
        while (line_end := data.find(b"\r\n", begin)) >= 0:
            size = int(data[begin:line_end], 16)
            end = line_end + 2 + size
            if len(data) < end + 2:
                break
            if not size:
                self.over = True
                return pieces
            pieces.append(data[line_end + 2 : end])
            begin = end + 2
        self._rest = data[begin:]
        return pieces

    async def more(self) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        await self._waiting
        self._waiting = None


class Raw:
    def __init__(self, base_url: str, _: str) -> None:
        url = urlsplit(base_url)
        self._address = url.hostname, url.port
        self._idle: list[_Connection] = []

    async def _connection(self) -> _Connection:
        if self._idle:
            return self._idle.pop()
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(_Connection, *self._address))[1]

    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        connection = await self._connection()
        connection.send(*plain.target(wire, model, stream=True), stream=True)
        decode, text_of = plain.DECODERS[wire].decode, plain.text_of
        while True:
            found, connection.found = connection.found, []
            for data in found:
                if data != b"[DONE]":
                    got(text_of(wire, decode(data)))
            if connection.over:
                break
            await connection.more()
        self._idle.append(connection)

    async def ask(self, wire: str, model: str) -> int:
        return await self._whole(wire, *plain.target(wire, model, stream=False))

    def built(self, wire: str, turns: list[Turn]) -> list[Any]:
        return plain.built(wire, turns)

    async def tell(self, wire: str, messages: list[Any]) -> int:
        path, _ = plain.target(wire, "answer-turns", stream=False)
        return await self._whole(wire, path, plain.history(wire, "answer-turns", messages))

    async def _whole(self, wire: str, path: str, body: bytes) -> int:
        connection = await self._connection()
        connection.send(path, body, stream=False)
        while not connection.over:
            await connection.more()
        self._idle.append(connection)
        answer = plain.DECODERS[wire].decode(b"".join(connection.found))
        return plain.size_of(wire, answer)

    async def close(self) -> None:
        for connection in self._idle:
            connection.transport.close()
