"""Runs clients against the server and judges what they did."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import queue
import random
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trustme

from tests.faults.clients import (
    PROGRAMS,
    STYLES,
    TRANSPORTS,
    WAYS,
    Cell,
    Ports,
    Seen,
)
from tests.faults.families import FAMILIES, FAULTS, Fault, canary
from tests.faults.pieces import WIRES, WORDS, Pieces
from wire import WireError

ROOT = Path(__file__).parents[2]

HANGS_AFTER = 25.0
"""Seconds. Each clock of the clients has fired long before."""
AT_ONCE = 12
"""Runs at a time; nearly all of them wait."""
CLOSED_WITHIN = 2.0
"""Seconds in which the server must have seen a closed connection. The rule is 0.25 s (R-21); the
rest is for a machine that runs a dozen clients on two cores."""

KINDS = ("silent", "wrong", "foreign", "hang", "held", "key", "next")
"""What may go wrong: a short answer as if whole, an error of the wrong class or content, an
exception of another library, a call that does not end, a connection that stays open, a key in a
sink, a next call that fails or has another's answer."""


@dataclass(frozen=True)
class Verdict:
    """What came of one run; `kind` is empty if all is as it should be."""

    fault: str
    wire: str
    cell: Cell
    kind: str = ""
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.fault} ({self.wire}; {self.cell})\n  {self.detail[-1500:]}"


class Log(logging.Handler):
    """Keeps the text of every record of every logger, at every level."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if "fake-canary" in (line := self.format(record)):
            self.lines.append(f"{record.name}: {line}")

    def __enter__(self) -> Log:
        root = logging.getLogger()
        self._level = root.level
        root.addHandler(self)
        root.setLevel(logging.DEBUG)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)
        logging.getLogger().setLevel(self._level)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[Ports]:
    """The server in a process of its own, with an authority made for this run."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "authority.pem")
    own = authority.issue_cert("127.0.0.1", "hostile.test")
    own.private_key_and_cert_chain_pem.write_to_path(folder / "server.pem")
    command = [sys.executable, "-m", "tests.faults.server", str(folder / "server.pem")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        plain, tls, proxy = json.loads(server.stdout.readline())
        try:
            yield Ports(plain, tls, proxy, str(folder / "authority.pem"))
        finally:
            server.stdin.close()
            server.wait(10)


def judged(ports: Ports, runs: Sequence[tuple[Fault, Pieces, Cell]]) -> list[Verdict]:
    """The verdicts of all runs, in their order. Some run at a time."""
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    verdicts: list[Verdict | None] = [None] * len(runs)
    # Mixed, since one fault of all wires at a time would be seven answers of 32 MiB: they share the
    # interpreter's lock, and on a slow machine their clocks fired before they had been read.
    for number in random.Random(1).sample(range(len(runs)), len(runs)):
        todo.put(number)

    def work() -> None:
        while True:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            verdicts[number] = _judged(ports, f"r{number}", *runs[number])

    with Log() as log:
        threads = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = [verdict for verdict in verdicts if verdict is not None]
    for number, each in enumerate(found):
        logged = [line for line in log.lines if canary(f"r{number}") in line]
        if logged and not each.kind:
            found[number] = Verdict(each.fault, each.wire, each.cell, "key", f"logged: {logged[0]}")
    return found


def _judged(ports: Ports, run: str, fault: Fault, pieces: Pieces, cell: Cell) -> Verdict:
    """The verdict of one run. A client that hangs keeps its thread, a daemon."""
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def work() -> None:
        try:
            results.put(cell.run(ports, fault, pieces, run))
        except BaseException as error:
            results.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        result = results.get(timeout=HANGS_AFTER)
    except queue.Empty:
        return Verdict(fault.name, pieces.wire, cell, "hang", "the call did not end")
    if isinstance(result, BaseException):
        trace = "".join(traceback.format_exception(result))
        return Verdict(fault.name, pieces.wire, cell, "foreign", trace)
    seen, then = result
    kind, detail = (
        (_of_the_program(fault, seen) if cell.is_program else _of_the_call(fault, seen))
        or key_in(run, seen)
        or _of_the_next(run, then)
        or _of_the_server(ports, run, fault, cell)
        or ("", "")
    )
    return Verdict(fault.name, pieces.wire, cell, kind, detail)


def _of_the_call(fault: Fault, seen: Seen) -> tuple[str, str] | None:
    """What is wrong with the answer or the error."""
    right = fault.expect.split(" ")
    if fault.caller and seen.error is None and seen.text is None:
        return None
    if seen.error is None:
        if seen.text not in right:
            return "silent", f"the answer {seen.text!r} instead of {fault.expect}"
        if fault.streamed and seen.pieces != seen.text:
            return "wrong", f"pieces {seen.pieces!r} of {seen.text!r}"
        return None
    if not isinstance(seen.error, WireError):
        return "foreign", "".join(traceback.format_exception(seen.error))
    if not {each.__name__ for each in type(seen.error).__mro__} & set(right):
        trace = "".join(traceback.format_exception(seen.error))
        return "wrong", f"{trace}instead of {fault.expect}"
    if len(str(seen.error)) > 2048 or not str(seen.error).isprintable():
        return "wrong", "the message is longer than 2 KiB, or has control characters"
    partial = seen.error.partial.text if seen.error.partial is not None else None
    if fault.partial is not None and (partial, seen.pieces) != (fault.partial, fault.partial):
        return "wrong", f"partial {partial!r} and pieces {seen.pieces!r}, not {fault.partial!r}"
    for name, value in fault.fields.items():
        if getattr(seen.error, name) != value:
            return "wrong", f"{name} is {getattr(seen.error, name)!r}, not {value!r}"
    return None


def _of_the_program(fault: Fault, seen: Seen) -> tuple[str, str] | None:
    """What is wrong with what a program gave: a whole answer or any error of this library."""
    if seen.error is not None:
        right = isinstance(seen.error, WireError)
        return None if right else ("foreign", "".join(traceback.format_exception(seen.error)))
    if seen.text not in (WORDS, *fault.expect.split(" "), *([None] if fault.caller else [])):
        return "silent", f"the answer {seen.text!r} instead of {fault.expect}"
    return None


def key_in(run: str, seen: Seen) -> tuple[str, str] | None:
    """The sinks in which the key stands."""
    if canary(run) in seen.written:
        return "key", "the key is in a file"
    error = seen.error
    if error is None:
        return None
    sinks = {
        "str": str(error),
        "repr": repr(error),
        "traceback": "".join(traceback.format_exception(error)),
        "pickle": repr(pickle.loads(pickle.dumps(error))),
        "fields": repr(dict(vars(error))),
    }
    shown = [name for name, text in sinks.items() if canary(run) in text]
    if any(_shows(value, canary(run)) for value in _locals(error)):
        shown.append("locals of a traceback")
    return ("key", f"the key is in {', '.join(shown)}") if shown else None


def _locals(error: BaseException) -> Iterable[object]:
    """What a tool that keeps the locals of tracebacks would show; each value once."""
    values: dict[int, object] = {}
    errors = [error]
    while errors:
        each = errors.pop()
        for frame, _ in traceback.walk_tb(each.__traceback__):
            values |= {id(value): value for value in frame.f_locals.values()}
        context = None if each.__suppress_context__ else each.__context__
        errors += filter(None, (each.__cause__ or context, *getattr(each, "exceptions", ())))
    return values.values()


def _shows(value: object, key: str) -> bool:
    """Whether such a tool shows the key of a value; bytes are searched as they are.

    `repr` of an answer of 64 MiB takes seconds in which no other client of this process runs, so
    that their clocks fire.
    """
    return key.encode() in value if isinstance(value, bytes | bytearray) else key in repr(value)


def _of_the_next(run: str, then: Seen) -> tuple[str, str] | None:
    """What is wrong with the next call of the same client, which has room for one connection."""
    if then.error is not None:
        return "next", "".join(traceback.format_exception(then.error))
    return ("next", f"it got {then.text!r}") if then.text != f"next-{run}" else None


def _of_the_server(ports: Ports, run: str, fault: Fault, cell: Cell) -> tuple[str, str] | None:
    """What the server saw after the client was closed."""
    until = time.monotonic() + CLOSED_WITHIN
    while (counts := _counts(ports, run))["open"] and time.monotonic() < until:
        time.sleep(0.02)
    if counts["open"]:
        return "held", f"{counts['open']} connections are still open"
    # A caller that leaves after some seconds may do so before its request has arrived, and so may
    # the clock of the first byte on a machine that is busy.
    early = fault.caller or "first_byte" in fault.clocks
    right = {fault.requests + 1, 1} if early else {fault.requests + 1}
    if cell.style == "bulk" and fault.streamed:
        right.add(fault.attempts + 1)  # a row has handed out nothing, so it is asked again
    if cell.style == "bulk" and fault.refuses:
        right = set(range(fault.requests + 2, 20))
    if counts["requests"] not in right:
        return "wrong", f"{counts['requests'] - 1} requests instead of {fault.requests}"
    return None


def _counts(ports: Ports, run: str) -> dict[str, int]:
    with socket.create_connection(("127.0.0.1", ports.plain)) as control:
        control.sendall(f"CONTROL {run}\n".encode())
        counts: dict[str, int] = json.loads(control.makefile().read())
        return counts


def applies(fault: Fault, pieces: Pieces, cell: Cell) -> bool:
    """Whether a fault concerns a wire and a client."""
    return (
        fault.family != "none"
        and fault.only in ("", pieces.wire)
        and cell.exists
        and (cell.has_own_pool or not fault.own_pool)
        and (cell.style != "threads" or "cancel" not in fault.caller)
        and (cell.style != "bulk" or not (fault.caller or fault.pause))  # its rows are not left
    )


def matrix() -> list[tuple[Fault, Pieces, Cell]]:
    """All runs of `make faults`."""
    cells = [Cell(style, kind, way) for way in WAYS for kind in TRANSPORTS for style in STYLES]
    # Each meets every fault on every wire once, on a transport of its own.
    cells += [Cell(style, "direct", WAYS[0]) for style in PROGRAMS]
    return [
        (fault, pieces, cell)
        for cell in cells
        for fault in FAULTS.values()
        for pieces in WIRES.values()
        if applies(fault, pieces, cell)
    ]


def table(verdicts: Sequence[Verdict]) -> str:
    """One row for each family, one column for each kind of failure, in Markdown."""
    return _counted(
        "family",
        {
            family: [each for each in verdicts if family in ("all", FAULTS[each.fault].family)]
            for family in (*FAMILIES, "all")
        },
    )


def axes(verdicts: Sequence[Verdict]) -> str:
    """The same figures, one row for each wire, client and transport."""
    groups: dict[str, list[Verdict]] = {}
    for name in ("wire", "style", "transport"):
        for each in verdicts:
            value = each.wire if name == "wire" else getattr(each.cell, name)
            groups.setdefault(f"{'client' if name == 'style' else name} `{value}`", []).append(each)
    return _counted("part", groups)


def _counted(title: str, groups: Mapping[str, Sequence[Verdict]]) -> str:
    rows = [f"| {title} | runs | as it should | " + " | ".join(KINDS) + " |"]
    rows.append("|---" * (len(KINDS) + 3) + "|")
    for name, of in groups.items():
        counts = [sum(each.kind == kind for each in of) for kind in ("", *KINDS)]
        rows.append(f"| {name} | {len(of)} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(rows)
