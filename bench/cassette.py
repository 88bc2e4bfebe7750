"""`python -m bench.cassette`: what cassettes cost, beside the goals (C-03, C-31). Writes nothing.

Times are wall times, because the goals are: run it on an idle machine.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
from msgspec import UNSET

from wire import Chat, Lanes
from wire.core.errors import CassetteError
from wire.core.files import read_whole
from wire.testing import Record, sweep
from wire.testing.cassette.format.bodies import body_bytes, read_body
from wire.testing.cassette.format.file import dump, load
from wire.testing.cassette.format.structs import Interaction, Request, Response

FILES, FOLDER_BYTES = 1413, 157_000_000
"""Number and size of the cassettes of the largest project known to keep them."""
EVENTS, GAP = 24, 0.040
"""Events of a stream, and seconds between two of them."""
ROUNDS = 7
CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
VENDORS = ("anthropic", "gemini", "openai-chat", "openai-responses")

_WORDS = ["tide", "high", "low", "water", "noon", "Brest", "Saint-Malo", "über", "東京", "the"]
_PLUGIN = """
import importlib.util, sys, time
import pytest
start = time.perf_counter()
spec = importlib.util.spec_from_file_location("wire_llm_pytest", sys.argv[1])
module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
print(time.perf_counter() - start)
"""


def main() -> None:
    """Measure, and print each figure beside its goal."""
    print(f"{'what':<64}{'figure':>12}{'goal':>12}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _row("load a cassette of 1 MiB", _one(folder), 30, "ms")
        _row(f"load {FILES:,} cassettes of {FOLDER_BYTES / 1e6:.0f} MB", _many(folder), 10e3, "ms")
        _row("import the pytest plugin, unused", _plugin(), 20, "ms")
        delay, same = _delay(folder)
        _row(f"delay of the first of {EVENTS} events while recording", delay, 5, "ms")
        print(f"the same chunks while recording: {'yes' if same else 'NO'}")
        taken, runs = _every_split(folder)
        _row(f"a stream of 4 KiB at every split, {runs:,} runs of a chat (C-32)", taken, 5e3, "ms")
    if CORPUS.exists():
        print(f"{', '.join(VENDORS)}: {_stored_events()} (C-02)")
    else:
        print("no recorded traffic beside this checkout, so no events are counted (C-02)")


def _row(what: str, figure: float, goal: float, unit: str) -> None:
    kept = "" if figure < goal else "  missed"
    print(f"{what:<64}{figure:>9.1f} {unit}{goal:>9.0f} {unit}{kept}", flush=True)


def _timed(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1000


# --- sweeping -------------------------------------------------------------------------------------


def _every_split(folder: Path) -> tuple[float, int]:
    """A chat reads a stream of Gemini in two chunks, cut at each of its bytes."""
    path, chunk = folder / "split.cassette.json", {"parts": [{"text": "high water " * 20}]}
    event = json.dumps({"candidates": [{"content": {"role": "model", **chunk}}]})
    last = json.dumps({"candidates": [{"content": {"parts": []}, "finishReason": "STOP"}]})
    stream = "".join(f"data: {each}\n\n" for each in [event] * 13 + [last]).encode()
    inner = httpx.MockTransport(
        lambda request: httpx.Response(
            200, headers={"content-type": "text/event-stream"}, content=stream
        )
    )

    def read(http: Any) -> str:
        chat = Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http)
        with chat, chat.stream("Hi") as events:
            return events.reply().text

    read(Record(inner, path))
    start = time.perf_counter()
    report = sweep(path, read, chunks="every")
    report.check()
    return (time.perf_counter() - start) * 1000, report.runs


# --- recorded traffic -----------------------------------------------------------------------------


def _stored_events() -> str:
    """How many events of vendors a cassette has as text or base64, and whether bytes differ."""
    events = unreadable = different = 0
    for path in sorted(CORPUS.glob("*.jsonl.gz")):
        if path.name.removesuffix(".jsonl.gz") not in VENDORS:
            continue
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            for record in map(json.loads, file):
                data, kind = _received(record)
                body = read_body(data, kind)
                different += body_bytes(body) != data
                if body is not UNSET and body.events is not UNSET:
                    events += len(body.events)
                    unreadable += sum(
                        each.text is not UNSET or each.base64 is not UNSET for each in body.events
                    )
    return f"{events:,} events, {unreadable} not readable, {different} bodies with other bytes"


def _received(record: dict[str, Any]) -> tuple[bytes, str]:
    """The body of a record, and its media type."""
    text, headers = record["response_body"], record.get("response_headers") or {}
    kind = next((text for name, text in headers.items() if name.lower() == "content-type"), "")
    if record.get("response_body_encoding") == "base64":
        return base64.b64decode(text), kind
    return text.encode("utf-8", "surrogatepass"), kind


# --- loading --------------------------------------------------------------------------------------


def _text(size: int, dice: random.Random) -> bytes:
    """A cassette of about `size` bytes: half of the interactions are streams, half JSON."""
    interactions: list[Interaction] = []
    written = 0
    while written < size:
        events = [
            json.dumps(_chunk(dice), separators=(",", ":"), ensure_ascii=False)
            for _ in range(max(1, min(40, (size - written) // 400)))
        ]
        if len(interactions) % 2:
            body, kind = f"[{','.join(events)}]", "application/json"
        else:
            body, kind = "".join(f"data: {each}\n\n" for each in events), "text/event-stream"
        interaction = Interaction(
            request=Request(
                method="POST",
                url="https://llm.example/v1/chat/completions",
                headers={"content-type": "application/json"},
                body=read_body(json.dumps({"model": "m", "messages": _chunk(dice)}).encode()),
            ),
            response=Response(
                status=200,
                headers={"content-type": kind},
                body=read_body(body.encode(), kind),
                end="eof",
            ),
        )
        interactions.append(interaction)
        written += len(dump([interaction]).encode())
    return dump(interactions).encode()


def _chunk(dice: random.Random) -> dict[str, object]:
    text = " ".join(dice.choices(_WORDS, k=dice.randrange(1, 12)))
    delta = {"content": text, "role": "assistant"}
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}
    return {"id": f"chatcmpl-{dice.randrange(10**9)}", "created": 1, "choices": [choice]}


def _read(path: Path) -> int:
    return len(load(read_whole(path, CassetteError), str(path)).interactions)


def _one(folder: Path) -> float:
    path = folder / "one.cassette.json"
    path.write_bytes(_text(1024 * 1024, random.Random(1)))
    _read(path)  # which imports and builds what the first load needs
    return statistics.median(_timed(lambda: _read(path)) for _ in range(ROUNDS))


def _many(folder: Path) -> float:
    """A tenth of the files is ten times as large as the others, as in a real project."""
    dice = random.Random(2)
    small = FOLDER_BYTES // (FILES // 10 * 10 + FILES - FILES // 10)
    several = {size: [_text(size, dice) for _ in range(5)] for size in (small, 10 * small)}
    paths = [folder / f"{index}.cassette.json" for index in range(FILES)]
    for index, path in enumerate(paths):
        path.write_bytes(dice.choice(several[small if index % 10 else 10 * small]))
    total = sum(path.stat().st_size for path in paths)
    print(f"  ({len(paths):,} files, {total / 1e6:.0f} MB)")
    return _timed(lambda: [_read(path) for path in paths])


# --- the plugin -----------------------------------------------------------------------------------


def _plugin() -> float:
    plugin = Path(__file__).parent.parent / "wire" / "testing" / "plugin.py"
    command = [sys.executable, "-c", _PLUGIN, str(plugin)]
    found = [
        float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
        for _ in range(ROUNDS)
    ]
    return statistics.median(found) * 1000


# --- recording ------------------------------------------------------------------------------------


def _delay(folder: Path) -> tuple[float, bool]:
    """Milliseconds by which the first event comes later while recording, and whether the chunks
    are the same.
    """
    later: list[float] = []
    same = True
    with _server() as url:
        for index in range(ROUNDS):
            plain, chunks = _streamed(Lanes(), url)
            recorded, others = _streamed(Record(Lanes(), folder / f"r{index}.json"), url)
            later.append(recorded - plain)
            same = same and chunks == others
    return statistics.median(later), same


def _streamed(transport: httpx.BaseTransport, url: str) -> tuple[float, list[bytes]]:
    """Milliseconds to the first chunk, and all chunks."""
    chunks: list[bytes] = []
    first = 0.0
    with httpx.Client(transport=transport, trust_env=False) as client:
        client.get(url + "/none")  # connects
        start = time.perf_counter()
        with client.stream("GET", url) as response:
            for chunk in response.iter_raw():
                first = first or (time.perf_counter() - start) * 1000
                chunks.append(chunk)
    return first, chunks


@contextlib.contextmanager
def _server() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_serve, args=(listening,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def _serve(listening: socket.socket) -> None:
    while True:
        try:
            connection, _ = listening.accept()
        except OSError:
            return
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while request := connection.recv(65536):
                if b"/none" in request:
                    connection.sendall(b"HTTP/1.1 204 None\r\n\r\n")
                    continue
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
                    b"transfer-encoding: chunked\r\n\r\n"
                )
                for number in range(EVENTS):
                    event = b'data: {"n":%d}\n\n' % number
                    connection.sendall(b"%x\r\n%s\r\n" % (len(event), event))
                    time.sleep(GAP)
                connection.sendall(b"0\r\n\r\n")


if __name__ == "__main__":
    main()
