"""A quick server of chat completions and Gemini with rate limits, in a process of its own.

    python -m tests.bulk.quota_server --requests 60000 --latency 0.02

It prints its port. The prompt of a request contains `row N`, and so does its answer of 1 kB: a test
sees whether a result belongs to its row. `GET /counts` tells what was received. The rate limits are
those of the emulator, whose vendors would cost ten times the CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.quota import LimitState, Meter, Quota
from wire.testing.emulator.vendors.gemini import refusals
from wire.testing.emulator.vendors.openai import errors

_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_ROW = re.compile(rb"row (\d+)")
_HEAD = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n"
_WORDS = "The tide of this harbour rises at five and falls again at eleven. " * 20
_OVERLOADED = b'{"error": {"message": "overloaded", "type": "server_error", "code": null}}'
OUTPUT_TOKENS = 200


def text_of(row: int) -> str:
    """What is answered to a row, about 700 bytes."""
    return f"Answer to row {row}. {_WORDS}"[:700]


def _answer(is_gemini: bool, row: int, input_tokens: int) -> bytes:
    if is_gemini:
        said: dict[str, Any] = {
            "candidates": [
                {
                    "content": {"parts": [{"text": text_of(row)}], "role": "model"},
                    "finishReason": "STOP",
                    "index": 0,
                }
            ],
            "usageMetadata": {
                "promptTokenCount": input_tokens,
                "candidatesTokenCount": OUTPUT_TOKENS,
                "totalTokenCount": input_tokens + OUTPUT_TOKENS,
            },
            "modelVersion": "gemini-3.8-flash",
            "responseId": f"response-{row}",
        }
    else:
        said = {
            "id": f"chatcmpl-{row}",
            "object": "chat.completion",
            "created": 1795392000,
            "model": "gpt-5.4",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text_of(row)},
                    "logprobs": None,
                    "finish_reason": "stop",
                }
            ],
            "usage": {
                "prompt_tokens": input_tokens,
                "completion_tokens": OUTPUT_TOKENS,
                "total_tokens": input_tokens + OUTPUT_TOKENS,
            },
        }
    return json.dumps(said).encode()


class Counts:
    """What the server has received and answered."""

    def __init__(self) -> None:
        self.refused = self.running = self.most = self.tokens = 0
        self.rows: Counter[int] = Counter()
        """Row to the number of its answers; refused requests are not among them."""
        self.first = self.last = 0.0

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "answered": self.rows.total(),
            "refused": self.refused,
            "rows": len(self.rows),
            "repeated": {row: count for row, count in self.rows.items() if count > 1},
            "tokens": self.tokens,
            "most_at_once": self.most,
            "seconds": self.last - self.first,
        }


class QuotaServer(asyncio.Protocol):
    """One connection; requests follow each other."""

    def __init__(self, settings: argparse.Namespace, meter: Meter | None, counts: Counts) -> None:
        self._settings, self._meter, self._counts = settings, meter, counts
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end])
        length = _LENGTH.search(head)
        whole = end + 4 + (int(length[1]) if length else 0)
        if len(self._received) < whole:
            return
        body = bytes(self._received[end + 4 : whole])
        del self._received[:whole]
        if head.startswith(b"GET /counts"):
            self._send(200, json.dumps(self._counts.shown()).encode())
            return
        self._ask(b":generateContent" in head.partition(b"\r\n")[0], body)

    def _ask(self, is_gemini: bool, body: bytes) -> None:
        counts, settings = self._counts, self._settings
        if settings.at_once and counts.running >= settings.at_once:
            counts.refused += 1
            self._send(429, _OVERLOADED)
            return
        if self._meter is not None and (refused := self._meter.take(len(body))):
            counts.refused += 1
            limit, seconds = refused
            said = (
                refusals.quota("m", seconds, limit)
                if is_gemini
                else errors.over_limit(limit, seconds)
            )
            waits = b"" if is_gemini else b"retry-after-ms: %d\r\n" % (seconds * 1000)
            self._send(429, json.dumps(said).encode(), waits + self._limits(is_gemini))
            return
        now = time.monotonic()
        counts.first = counts.first or now
        counts.last = now
        counts.running += 1
        counts.most = max(counts.most, counts.running)
        found = _ROW.search(body)
        row = int(found[1]) if found else 0
        counts.rows[row] += 1
        input_tokens = len(body) // 4
        counts.tokens += input_tokens + OUTPUT_TOKENS
        answer = _answer(is_gemini, row, input_tokens)
        if self._meter is not None:
            self._meter.settle(len(body), Answer(200, (), (answer,)))
        if settings.latency:
            asyncio.get_running_loop().call_later(settings.latency, self._end, is_gemini, answer)
        else:
            self._end(is_gemini, answer)

    def _end(self, is_gemini: bool, answer: bytes) -> None:
        self._counts.running -= 1
        self._send(200, answer, self._limits(is_gemini))

    def _limits(self, is_gemini: bool) -> bytes:
        """The headers of the limits; Gemini has none."""
        if self._meter is None or is_gemini or not self._settings.headers:
            return b""
        return b"".join(map(_headers, self._meter.states()))

    def _send(self, status: int, body: bytes, headers: bytes = b"") -> None:
        self._transport.write(_HEAD % (status, len(body), headers) + body)


def _headers(state: LimitState) -> bytes:
    limit, left = state.limit, state.remaining
    return (
        f"x-ratelimit-limit-{state.unit}: {limit}\r\nx-ratelimit-remaining-{state.unit}: {left}\r\n"
        f"x-ratelimit-reset-{state.unit}: {errors.duration(state.seconds)}\r\n"
    ).encode()


async def serve(settings: argparse.Namespace) -> None:
    """Serve until the process is terminated."""
    limits = {"requests": settings.requests, "tokens": settings.tokens}
    quota = Quota(**limits, window=settings.window)
    meter = Meter(quota, time.monotonic) if any(limits.values()) else None
    counts = Counts()
    server = await asyncio.get_running_loop().create_server(
        lambda: QuotaServer(settings, meter, counts), "127.0.0.1", settings.port, backlog=1024
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def quota_server(**settings: float | bool | None) -> Iterator[str]:
    """A server in a process of its own; gives its URL. The names are those of the options."""
    options = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bulk.quota_server", *options],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def counts(url: str) -> dict[str, Any]:
    """What the server has received so far."""
    with urllib.request.urlopen(f"{url}/counts", timeout=10) as response:
        found: dict[str, Any] = json.load(response)
    return found


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.bulk.quota_server")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--requests", type=int, help="in a window")
    options.add_argument("--tokens", type=int, help="in a window")
    options.add_argument("--window", type=float, default=60.0, help="seconds")
    options.add_argument("--latency", type=float, default=0.0, help="seconds until an answer")
    options.add_argument(
        "--at-once", type=int, default=0, help="requests, or else 429; 0: no limit"
    )
    options.add_argument("--headers", type=int, default=1, help="0: limits are not reported")
    asyncio.run(serve(options.parse_args()))


if __name__ == "__main__":
    main()
