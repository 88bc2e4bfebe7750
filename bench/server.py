"""A loopback server that plays bytes which were encoded before: `python -m bench.server`.

It prints its port and serves until it is terminated. The model of a request says what is played:

- `burst-N`: a stream of N events, as fast as the client reads.
- `paced-N`: the same, one packet of one to three events a millisecond.
- `timed-N-MS`: N events, one each MS milliseconds; each text begins with the server's clock.
- `answer-1kb`, `answer-5mb`: a whole response.
- `answer-tool`: a whole response of 1 kB with a call of a tool; once the request has the result
  of a tool, which contains `@turn`, a response of 1 kB.
- `late-MS`: as `answer-1kb`, after so many milliseconds.
- `answer-turns`: a whole response with one character for each message of the request.
"""

from __future__ import annotations

import asyncio
import functools
import re
import resource
import socket
import time

from bench import bodies

_MODEL = re.compile(rb"(?:burst|paced|timed|late|answer)-[0-9a-z-]+")
_LENGTH = re.compile(rb"content-length:\s*(\d+)", re.IGNORECASE)
_PATHS = {
    b":generateContent": "gemini",
    b":streamGenerateContent": "gemini",
    b"/messages": "messages",
}

_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)
_WHOLE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_END = b"0\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""


@functools.cache
def stream_chunks(wire: str, count: int) -> list[bytes]:
    """A stream as the chunks of its body, with the last one of length zero."""
    return [*map(_chunk, bodies.packets(bodies.events(wire, count))), _END]


@functools.cache
def timed_chunks(wire: str) -> tuple[bytes, bytes, bytes, bytes]:
    """Before the stream, an event up to its clock, the event after it, the end of the stream."""
    before, event, after = bodies.timed_events(wire)
    head, tail = _chunk(event).split(bodies.CLOCK.encode())
    return _chunk(before), head, tail, _chunk(after) + _END


@functools.cache
def whole(wire: str, size: str) -> bytes:
    """Headers and body of a whole response."""
    made = {"1kb": bodies.answer_1kb, "5mb": bodies.answer_5mb, "tool": bodies.answer_call}
    body = made[size](wire)
    return _WHOLE % len(body) + body


class Server(asyncio.Protocol):
    """One connection; requests follow each other."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._received = bytearray()
        self._writable = asyncio.Event()
        self._writable.set()
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, _: Exception | None) -> None:
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._received[:end])
        length = _LENGTH.search(head)
        if length is None:  # chunked: not read to the end, no client of the table sends it
            raise ValueError("a request without content-length")
        begin = end + 4
        if len(self._received) < begin + int(length[1]):
            return
        body = bytes(self._received[begin : begin + int(length[1])])
        del self._received[: begin + int(length[1])]
        self._answer(head.partition(b"\r\n")[0], body)

    def _answer(self, line: bytes, body: bytes) -> None:
        wire = next((wire for path, wire in _PATHS.items() if path in line), "chat")
        # A body may begin or end with its model; a search through 2 MB of history takes longer.
        model = _MODEL.search(line) or _MODEL.search(body[-500:]) or _MODEL.search(body)
        assert model is not None, line
        kind, *numbers = model[0].decode().split("-")
        if kind == "answer" and numbers == ["turns"]:
            text = "." * body.count(bodies.MARK.encode())
            answer = bodies.answer(wire, text)
            self._transport.write(_WHOLE % len(answer) + answer)
        elif kind == "answer" and numbers == ["tool"] and bodies.MARK.encode() in body:
            self._transport.write(whole(wire, "1kb"))
        elif kind == "late":
            loop = asyncio.get_running_loop()
            loop.call_later(int(numbers[0]) / 1000, self._transport.write, whole(wire, "1kb"))
        elif kind == "answer":
            self._transport.write(whole(wire, numbers[0]))
        elif kind == "timed":
            self._play_timed(wire, int(numbers[0]), int(numbers[1]) / 1000)
        else:
            pause = 0.001 if kind == "paced" else 0
            chunks = stream_chunks(wire, int(numbers[0]))
            self._task = asyncio.ensure_future(self._play(chunks, pause))

    async def _play(self, chunks: list[bytes], pause: float) -> None:
        self._transport.write(_STREAM)
        for chunk in chunks:
            if self._transport.is_closing():
                return
            self._transport.write(chunk)
            if pause:
                await asyncio.sleep(pause)
            elif not self._writable.is_set():
                await self._writable.wait()

    def _play_timed(self, wire: str, count: int, pause: float) -> None:
        loop = asyncio.get_running_loop()
        before, head, tail, after = timed_chunks(wire)
        self._transport.write(_STREAM + before)
        began = loop.time()

        def step(place: int) -> None:
            if self._transport.is_closing():
                return
            self._transport.write(head + b"%018d" % time.perf_counter_ns() + tail)
            if place < count:
                loop.call_at(began + pause * (place + 1), step, place + 1)
            else:
                self._transport.write(after)

        loop.call_at(began + pause, step, 1)


async def serve() -> None:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Server, "127.0.0.1", 0, backlog=8192)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
