"""Runs the clients in turn, round by round, and collects what they measured."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from bench.implementations import LIMIT, ROOT, Implementation, python_of

_MOST_SECONDS = 300
"""Of one command; the slowest client takes a minute for 1,000 streams."""

Values = dict[str, list[float | None]]
"""Implementation to one value for each round; None where it took no part."""
Answers = dict[str, list[dict[str, Any] | None]]
"""Implementation to what it answered in each round; None where it took no part."""
Figures = dict[str, dict[str, Values]]
"""Case, which is a wire or a number, to a measure, to its values."""


def environment() -> dict[str, str]:
    """Of all processes: this checkout first, with bytecode, and no proxy between them."""
    gone = {"PYTHONDONTWRITEBYTECODE", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
    kept = {name: value for name, value in os.environ.items() if name.upper() not in gone}
    # litellm loads its prices from the network otherwise.
    return {**kept, "PYTHONPATH": str(ROOT), "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@contextmanager
def server() -> Iterator[str]:
    """A server in a process of its own; gives its URL."""
    process = subprocess.Popen(
        [python_of("wire"), "-m", "bench.server"],
        cwd=ROOT,
        env=environment(),
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


class Worker:
    """The process of one client."""

    def __init__(self, implementation: Implementation, base_url: str, most: int = 0) -> None:
        self.implementation = implementation
        self.name = implementation.name
        self.wires: list[str] = []
        """Known once it has started."""
        command = ["-m", "bench.client", implementation.module, implementation.kind]
        http = implementation.http
        self._process = subprocess.Popen(
            [
                python_of(implementation.environment),
                *command,
                f"{http}:{most}" if http and most else http,
                base_url,
            ],
            cwd=ROOT,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        """What it told last; the first time, its wires."""
        assert self._process.stdout is not None
        timer = threading.Timer(_MOST_SECONDS, self._process.kill)
        timer.start()
        try:
            line = self._process.stdout.readline()
        finally:
            timer.cancel()
        answer: dict[str, Any] = json.loads(line) if line else {"error": "the process ended"}
        return answer

    def told(self, command: dict[str, Any]) -> dict[str, Any]:
        """Send a command and wait for the answer, which is an error if the process has ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):  # it ended before: the other clients go on
            return {"error": "the process ended"}
        return self.answer()

    def stop(self) -> None:
        """It closes nothing, and ends."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            # What could not be written to a process that has ended is written again by `close`.
            with suppress(BrokenPipeError):
                if pipe is not None:
                    pipe.close()


class Member(Protocol):
    """What a round goes through: a client, or one of the things that it does in turns."""

    name: str
    implementation: Implementation

    def told(self, command: dict[str, Any]) -> dict[str, Any]: ...


@dataclass
class Report:
    """What is printed and kept about clients that took no part."""

    refused: dict[str, str] = field(default_factory=dict)
    """Implementation to why it cannot run here."""
    failed: list[str] = field(default_factory=list)
    """A client that raised an exception, or did other work than the limit: its figures of that case
    are left out, and those of the other clients are kept."""

    def refuse(self, name: str, reason: str) -> None:
        if name not in self.refused:
            print(f"without {name}: {reason}", file=sys.stderr)
        self.refused[name] = reason

    def fail(self, line: str) -> None:
        print(f"FAILED {line}", file=sys.stderr)
        self.failed.append(line)


@contextmanager
def workers(
    implementations: Iterable[Implementation], base_url: str, report: Report, most: int = 0
) -> Iterator[list[Worker]]:
    """Started clients, with at most so many connections; those that cannot run are left out."""
    with ExitStack() as stack:
        started = []
        for each in implementations:
            if each.name in report.refused:
                continue
            started.append(Worker(each, base_url, most))
            stack.callback(started[-1].stop)
        for worker in started:
            first = worker.answer()
            if "error" in first:
                report.refuse(worker.name, first["error"])
            else:
                worker.wires = first["wires"]
        yield [worker for worker in started if worker.wires]


def rounds(
    members: Sequence[Member],
    command: dict[str, Any],
    warm_up: dict[str, Any],
    times: int,
    peer_times: int,
    report: Report,
) -> Answers:
    """The answers of each client, in rounds that go through all clients in turn.

    A client that raises an exception is left out from then on. Of streams at once that did not all
    complete only `errors` counts, since the others were less work.
    """
    answers: Answers = {worker.name: [] for worker in members}
    out: set[str] = set()
    for number in range(-1, times):
        given = command if number >= 0 else warm_up
        for worker in members:
            left = worker.name in out or (worker.implementation.is_peer and number >= peer_times)
            answer = None if left else worker.told(given)
            if answer is not None and "error" in answer:
                report.fail(f"{worker.name}, {given}: {answer['error']}")
                out.add(worker.name)
                answer = None
            elif answer is not None and answer.get("errors"):
                failed = f"{answer['errors']} failed, the first with {answer['first']}"
                report.fail(f"{worker.name}, {given}: {failed}")
                answer = {"errors": answer["errors"]}
            if number >= 0:
                answers[worker.name].append(answer)
    return answers


def other_work(answers: Answers) -> dict[str, str]:
    """The clients that gave another number of characters than the limit, and what they gave."""
    counts = {
        name: {answer["chars"] for answer in each if answer is not None and "chars" in answer}
        for name, each in answers.items()
    }
    right = counts.get(LIMIT) or next(filter(None, counts.values()), set())
    return {
        name: f"expected {sorted(right)} characters, got {sorted(count)}"
        for name, count in counts.items()
        if count and count != right
    }
