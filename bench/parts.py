"""Measures parts of a client without a socket: `python -m bench.parts SUITE CLIENT`.

It prints CPU seconds and the amount of work of each case, as JSON. Each client has a process of
its own in its own environment, so that a client is a function here, which imports what it needs.
"""

from __future__ import annotations

import functools
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bench import bodies
from bench.bodies import WIRES
from bench.implementations import IMPLEMENTATIONS, ROOT, python_of
from bench.measuring import Figures, Report, environment

_REPEAT = 5
_CHUNKS = 2_000
_MESSAGES = 1_000
_LINE = 64 * 1024  # bytes of one read

Work = dict[str, tuple[Callable[[], int], int]]
"""Case to what is measured, and by how many chunks or messages its time is divided.

What is measured returns a number that is the same for all clients if they do the same work.
"""

LINES = {"line of 1 MB": 1_000_000, "line of 10 MB": 10_000_000}
"""Case of the events to the bytes of its one line."""


# --- server-sent events ---------------------------------------------------------------------------

Decoded = Callable[[Iterable[bytes]], Iterable[object]]


def _events(decoded: Decoded) -> Work:
    """The events of streams in packets, and of one long line."""
    work: Work = {}
    for wire in WIRES:
        packets = bodies.packets(bodies.events(wire, _CHUNKS))
        work[wire] = (functools.partial(_drained, decoded, packets), _CHUNKS)
    for case, size in LINES.items():
        line = b"data: " + b"x" * size + b"\n\n"
        reads = [line[place : place + _LINE] for place in range(0, len(line), _LINE)]
        work[case] = (functools.partial(_drained, decoded, reads), size // 1_000_000)
    return work


def _drained(decoded: Decoded, packets: Iterable[bytes]) -> int:
    return sum(1 for _ in decoded(packets))


def _sse_raw() -> Work:
    from bench import plain

    def decoded(packets: Iterable[bytes]) -> Iterator[object]:
        split = plain.Split()
        for packet in packets:
            yield from split.feed(packet)

    return _events(decoded)


def _sse_wire() -> Work:
    from wire.core.sse import Decoder

    def decoded(packets: Iterable[bytes]) -> Iterator[object]:
        decoder = Decoder()
        for packet in packets:
            yield from decoder.feed(packet)

    return _events(decoded)


def _sse_httpx() -> Work:
    import httpx
    from httpx_sse import EventSource

    def decoded(packets: Iterable[bytes]) -> Iterator[object]:
        headers = {"content-type": "text/event-stream"}
        response = httpx.Response(200, headers=headers, content=iter(packets))
        return EventSource(response).iter_sse()

    return _events(decoded)


def _sse_openai() -> Work:
    from openai._streaming import SSEDecoder

    return _events(lambda packets: SSEDecoder().iter_bytes(iter(packets)))


def _sse_anthropic() -> Work:
    from anthropic._streaming import SSEDecoder

    return _events(lambda packets: SSEDecoder().iter_bytes(iter(packets)))


# --- from bytes to what the caller gets -----------------------------------------------------------


def _core_raw() -> Work:
    from bench import plain

    def read(wire: str, packets: Iterable[bytes]) -> int:
        split, decode, chars = plain.Split(), plain.DECODERS[wire].decode, 0
        for packet in packets:
            for data in split.feed(packet):
                if data != b"[DONE]":
                    chars += len(plain.text_of(wire, decode(data)))
        return chars

    return _core(read)


def _core(read: Callable[[str, Iterable[bytes]], int]) -> Work:
    packets = {wire: bodies.packets(bodies.events(wire, _CHUNKS)) for wire in WIRES}
    return {wire: (functools.partial(read, wire, packets[wire]), _CHUNKS) for wire in WIRES}


def _core_structs() -> Work:
    """msgspec alone, to the structs of the raw door."""
    import msgspec

    from bench.adapters import wire_raw
    from wire import anthropic, gemini, openai

    structs = {
        "gemini": gemini.GenerateContentResponse,
        "chat": openai.ChatCompletionChunk,
        "messages": anthropic.MessageStreamEvent,
    }
    work: Work = {}
    for wire, struct in structs.items():
        text_of = functools.partial(wire_raw.text_of, wire)
        work |= _structs(wire, msgspec.json.Decoder(struct).decode, text_of)
    return work


def _structs(wire: str, decode: Callable[[bytes], Any], text_of: Callable[[Any], str]) -> Work:
    """The JSON of each chunk to an object, without the events around it."""
    chunks = bodies.payloads(wire, _CHUNKS)

    def read() -> int:
        return sum(len(text_of(decode(chunk))) for chunk in chunks)

    return {wire: (read, _CHUNKS)}


def _core_google() -> Work:
    from google.genai import types

    made = types.GenerateContentResponse._from_response

    def decode(data: bytes) -> Any:
        return made(response=json.loads(data), kwargs={"config": {}})

    return _structs("gemini", decode, lambda chunk: chunk.text or "")


def _core_openai() -> Work:
    from openai._models import construct_type
    from openai.types.chat import ChatCompletionChunk

    from bench.adapters.openai import text_of

    made: Any = construct_type
    return _structs(
        "chat", lambda data: made(type_=ChatCompletionChunk, value=json.loads(data)), text_of
    )


def _core_anthropic() -> Work:
    from anthropic._models import construct_type
    from anthropic.types import RawMessageStreamEvent

    from bench.adapters.anthropic import text_of

    made: Any = construct_type
    return _structs(
        "messages", lambda data: made(type_=RawMessageStreamEvent, value=json.loads(data)), text_of
    )


def _core_reader() -> Work:
    """Events found, decoded, their bytes attached."""
    from bench.adapters import wire_raw
    from wire.core.limits import Limits

    def read(wire: str, packets: Iterable[bytes]) -> int:
        reader = wire_raw.stream_call(wire, "burst-1").reader(Limits())
        text_of = wire_raw.text_of
        return sum(len(text_of(wire, chunk)) for packet in packets for chunk in reader.feed(packet))

    return _core(read)


def _core_wire() -> Work:
    """The same within the limits, bytes kept for the result, chunks handed out."""
    from bench.adapters import wire_raw

    def read(wire: str, packets: Iterable[bytes]) -> int:
        call = wire_raw.stream_call(wire, "burst-1")
        return _handed_out(call, packets, functools.partial(wire_raw.text_of, wire))[1]

    return _core(read)


def _core_neutral() -> Work:
    """Events in place of chunks, and the reply."""
    from bench.adapters import wire_neutral

    def read(wire: str, packets: Iterable[bytes]) -> int:
        call = wire_neutral.chat(wire, "burst-1").stream_call("Hi")
        incoming, chars = _handed_out(call, packets, wire_neutral.text_of)
        incoming.result()
        return chars

    return _core(read)


def _handed_out(
    call: Any, packets: Iterable[bytes], text_of: Callable[[Any], str]
) -> tuple[Any, int]:
    from wire.core.account import Account
    from wire.core.incoming import Incoming
    from wire.core.limits import Limits

    incoming: Any = Incoming(call, "", Limits(), Account(), lambda error: error)
    chars = 0
    for packet in packets:
        incoming.feed(packet)
        ready = incoming.ready
        while ready:
            chars += len(text_of(ready.pop()))
    incoming.end()
    return incoming, chars


# --- histories that were received -----------------------------------------------------------------


@functools.cache
def _answers(wire: str) -> list[bytes]:
    texts = [value for kind, value in bodies.conversation(_MESSAGES) if kind == "model"]
    return [bodies.answer(wire, text) for text in texts]


def _echo_raw() -> Work:
    """What has no field is lost."""
    from bench import plain

    def echo(wire: str) -> Callable[[], bytes]:
        received = [plain.DECODERS[wire].decode(body) for body in _answers(wire)]
        return lambda: plain.echo(wire, received)

    return _echo(echo)


def _echo_wire() -> Work:
    from bench.adapters import wire_raw

    def echo(wire: str) -> Callable[[], bytes]:
        parse = wire_raw.call(wire, "answer-1kb").parse
        received = [parse(body) for body in _answers(wire)]
        return lambda: wire_raw.echo(wire, received)

    return _echo(echo)


def _echo_neutral() -> Work:
    from bench.adapters import wire_neutral
    from wire import Message

    def echo(wire: str) -> Callable[[], bytes]:
        chat = wire_neutral.chat(wire, "answer-turns")
        parse = chat.call("Hi").parse
        question = Message.user(bodies.MARK)
        answers = [parse(body).message for body in _answers(wire)]
        messages = [one for answer in answers for one in (question, answer)] + [question]
        return lambda: chat.call(messages=messages).body

    return _echo(echo)


def _echo(echo: Callable[[str], Callable[[], bytes]]) -> Work:
    return {wire: (functools.partial(_marks, echo(wire)), _MESSAGES) for wire in WIRES}


def _marks(body: Callable[[], bytes]) -> int:
    return body().count(bodies.MARK.encode())


PARTS: dict[str, dict[str, Callable[[], Work]]] = {
    "sse": {
        "raw": _sse_raw,
        "httpx": _sse_httpx,
        "wire": _sse_wire,
        "openai": _sse_openai,
        "anthropic": _sse_anthropic,
    },
    "core": {
        "raw": _core_raw,
        "wire (structs)": _core_structs,
        "wire (reader)": _core_reader,
        "wire": _core_wire,
        "wire-neutral": _core_neutral,
        "google-genai (structs)": _core_google,
        "openai (structs)": _core_openai,
        "anthropic (structs)": _core_anthropic,
    },
    "echo": {"raw": _echo_raw, "wire": _echo_wire, "wire-neutral": _echo_neutral},
}
"""Suite to the clients that have the part, or, in parentheses, a stage of it."""


def client_of(part: str) -> str:
    """The client of a stage.

    >>> client_of("wire (reader)")
    'wire'
    """
    return part.partition(" (")[0]


@dataclass(frozen=True, slots=True)
class Plan:
    """One suite; a round has a process for each client."""

    suite: str
    rounds: int = 5
    peer_rounds: int = 3

    def run(self, clients: Sequence[str], most_rounds: int | None, report: Report) -> Figures:
        """The figures of these clients."""
        figures: Figures = {}
        work: dict[str, int] = {}
        taking = [part for part in PARTS[self.suite] if client_of(part) in clients]
        times = min(self.rounds, most_rounds or self.rounds)
        for number in range(times):
            for part in taking:
                if IMPLEMENTATIONS[client_of(part)].is_peer and number >= self.peer_rounds:
                    continue
                for case, (seconds, amount) in self._run(part, report).items():
                    values = figures.setdefault(case, {}).setdefault("cpu", {})
                    if amount != work.setdefault(case, amount):
                        report.fail(f"{self.suite}, {part}, {case}: {amount}, not {work[case]}")
                        continue
                    values.setdefault(part, [None] * times)[number] = seconds
        return figures

    def _run(self, part: str, report: Report) -> dict[str, tuple[float, int]]:
        python = python_of(IMPLEMENTATIONS[client_of(part)].environment)
        done = subprocess.run(
            [python, "-m", "bench.parts", self.suite, part],
            cwd=ROOT,
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            report.fail(f"{self.suite}, {part}: {done.stderr.strip().splitlines()[-1:]}")
            return {}
        found: dict[str, tuple[float, int]] = json.loads(done.stdout)
        return found


def timed(work: Work, repeat: int = _REPEAT) -> dict[str, tuple[float, int]]:
    """CPU of each case for one chunk or message: the median of some repetitions, after one more."""
    found = {}
    for case, (run, count) in work.items():
        times = []
        amount = run()
        for _ in range(repeat):
            gc.collect()
            began = time.process_time()
            run()
            times.append((time.process_time() - began) / count)
        found[case] = (statistics.median(times), amount)
    return found


if __name__ == "__main__":
    print(json.dumps(timed(PARTS[sys.argv[1]][sys.argv[2]]())))
