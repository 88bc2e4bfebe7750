"""Malformed HTTP responses, made with a seed: `python -m tests.faults.http_mutations` plays them.

The process prints its port. The model of a request names what is played: `good`, or `caseN`, which
is the N-th malformed response. It ends when its stdin is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import socket
import struct
import sys
from dataclasses import dataclass
from random import Random

from tests.faults.mutations import mutated
from tests.http.loopback import (
    ANSWER,
    GOOD_STREAM,
    LAST,
    STREAM,
    chunked,
    event,
    head,
    text,
    whole,
)

FORGED = whole(text("forged", "STOP"))
"""A response after the one that was asked for. Nobody must take it for another's."""
_BODY = json.dumps(ANSWER).encode()
_SSE = b"data: " + _BODY + b"\r\n\r\n"

SEEDS: tuple[bytes, ...] = (
    whole(ANSWER),
    whole(ANSWER, connection="close", date="Mon, 23 Nov 2026 04:00:00 GMT"),
    whole({"error": {"code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED"}}, 429),
    whole({"error": {"code": 500, "message": "no", "status": "INTERNAL"}}, 500, retry_after="0"),
    whole(gzip.compress(_BODY, mtime=0), content_encoding="gzip"),
    head(kind="application/json", transfer_encoding="chunked")
    + chunked(_BODY[:20])
    + chunked(_BODY[20:])
    + LAST,
    head(kind="application/json") + _BODY,
    b"".join(each for each in GOOD_STREAM if isinstance(each, bytes)),
    STREAM + event(text("Hel")) + b"7;a=b\r\n: ping\n\r\n" + event(text("lo.", "STOP")) + LAST,
    STREAM + event(text("Hello.", "STOP")) + b"0\r\nx-trailer: 1\r\n\r\n",
    head() + _SSE,
    whole(_SSE, kind="text/event-stream"),
    b"HTTP/1.1 100 Continue\r\n\r\n" + whole(ANSWER),
    b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n" + b"".join(GOOD_STREAM[:1]) + _SSE,  # type: ignore[arg-type]
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n{}",
)

LINES: tuple[bytes, ...] = (
    b"content-length: 0",
    b"content-length: 5",
    b"content-length: 99999999999999999999999",
    b"content-length: -1",
    b"content-length: 5, 5",
    b"content-length:",
    b"transfer-encoding: chunked",
    b"transfer-encoding: gzip",
    b"transfer-encoding: gzip, chunked",
    b"transfer-encoding: identity",
    b"transfer-encoding:",
    b"content-encoding: gzip",
    b"content-encoding: deflate",
    b"content-encoding: unknown",
    b"content-type: text/html; charset=utf-7",
    b"content-type: \xff",
    b"connection: close",
    b"connection: keep-alive, upgrade",
    b"upgrade: h2c",
    b"retry-after: -1",
    b"retry-after: \xd9\xa1",
    b"set-cookie: a=" + b"b" * 3000,
    b"x-long: " + b"a" * 200_000,
    b"x-\xe9: 1",
    b"x-nul: \0",
    b" fold",
    b"\tfold",
    b": no name",
    b"no colon",
    b"x-cr: a\rb",
    b"",
    b"x-many: 1\r\n" * 300 + b"x-last: 1",
)
"""Header lines in the place of a line, or added."""

STATUS_LINES: tuple[bytes, ...] = (
    b"HTTP/1.1 200",
    b"HTTP/1.1 101 Switching Protocols",
    b"HTTP/1.1 100 Continue",
    b"HTTP/1.1 099 X",
    b"HTTP/1.1 304 Not Modified",
    b"HTTP/1.1 204 No Content",
    b"HTTP/1.1 301 Moved",
    b"HTTP/1.1 407 Proxy",
    b"HTTP/1.1 413 Large",
    b"HTTP/1.1 599 \xff\0",
    b"HTTP/1.1 600 X",
    b"HTTP/1.1 20 OK",
    b"HTTP/1.1 2000 OK",
    b"HTTP/1.1 -20 OK",
    b"HTTP/1.0 200 OK",
    b"HTTP/0.9 200 OK",
    b"HTTP/2.0 200 OK",
    b"HTTP/9.9 200 OK",
    b"HTTP/1.1  200 OK",
    b"ICY 200 OK",
    b"RTSP/1.0 200 OK",
    b"GET / HTTP/1.1",
    b"SSH-2.0-x",
    b"<html>",
    b"\x15\x03\x01\x00\x02\x02\x16",
    b"",
)

BYTES: tuple[bytes, ...] = (
    b"\r",
    b"\n",
    b"\r\n",
    b"\r\n\r\n",
    b"\0",
    b"\xff",
    b" ",
    b"\t",
    b":",
    b";",
    b';a="',
    b"0",
    b"0\r\n\r\n",
    b"ffffffffffffffff\r\n",
    b"fffffffffffffffff\r\n",
    b"-1\r\n",
    b"zz\r\n",
    b"5\r\nHello\r\n",
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 103 Early Hints\r\n\r\n" * 50,
    b"x" * 120_000,
)


@dataclass(frozen=True)
class Case:
    """A malformed response: its pieces, and what the server does after them."""

    pieces: tuple[bytes, ...]
    end: str
    """`close`, `reset`, or `stay`."""


def case(number: int) -> Case:
    """The malformed response of this number."""
    dice = Random(number)
    data = dice.choice(SEEDS)
    for _ in range(dice.choice((0, 1, 1, 1, 2, 3))):
        data = _malformed(data, dice)
    end = dice.choice(("close", "close", "reset", "stay"))
    if dice.random() < 0.1:
        # In one piece: what arrives later could be on its way when the next request is sent.
        return Case((data + dice.choice((FORGED, b"\r\n", b"x", b"\0", FORGED[:30])),), end)
    if len(data) < 600 and dice.random() < 0.02:
        return Case(tuple(data[at : at + 1] for at in range(len(data))), end)
    cuts = sorted(dice.randrange(len(data) + 1) for _ in range(dice.choice((0, 0, 1, 2, 5))))
    edges = zip([0, *cuts], [*cuts, len(data)], strict=True)
    return Case(tuple(data[start:stop] for start, stop in edges), end)


def _malformed(data: bytes, dice: Random) -> bytes:
    what = dice.random()
    top, blank, body = data.partition(b"\r\n\r\n")
    lines = top.split(b"\r\n")
    if what < 0.35:
        at = dice.randrange(len(lines))
        if at == 0:
            lines[0] = dice.choice(STATUS_LINES)
        elif dice.random() < 0.5:
            lines[at] = dice.choice(LINES)
        elif dice.random() < 0.5:
            lines.insert(at, dice.choice((*LINES, lines[at])))
        else:
            del lines[at]
        return b"\r\n".join(lines) + blank + body
    if what < 0.45:
        return top + blank + mutated(body, dice)
    # In half of the cases in the head, or close to its end.
    limit = len(top) + 12 if dice.random() < 0.5 else len(data)
    start = dice.randrange(min(limit, len(data)) + 1)
    end = min(len(data), start + dice.choice((1, 1, 2, 5, 40)))
    if what < 0.55:
        return data[:start]
    if what < 0.65:
        return data[:start] + data[end:]
    if what < 0.75:
        return data[:end] + data[start:end] + data[end:]
    if what < 0.85 and start < len(data):
        return data[:start] + bytes([dice.randrange(256)]) + data[start + 1 :]
    return data[:start] + dice.choice(BYTES) + data[start:]


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    with contextlib.suppress(OSError, EOFError):
        while True:
            request = await reader.readuntil(b"\r\n\r\n")
            length = request.lower().partition(b"content-length:")[2].split(b"\r\n")[0]
            await reader.readexactly(int(length or 0))
            model = request.split(b" ")[1].rpartition(b"/")[2].partition(b":")[0].decode()
            played = Case((whole(ANSWER),), "stay")
            if model != "good":
                played = case(int(model.removeprefix("case")))
            for piece in played.pieces:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
            if played.end == "stay":
                continue
            if played.end == "reset":
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            return
    writer.close()


async def _closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await _serve(reader, writer)
    finally:
        writer.close()


async def _main() -> None:
    server = await asyncio.start_server(_closing, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
