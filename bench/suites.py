"""The suites: what is measured, in the order of the page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.bodies import WIRES
from bench.bulk import BASE as BULK_BASE
from bench.bulk import LATE_CONCURRENT, ONE, Bulk, Scale
from bench.implementations import LIMIT
from bench.loopback import CALLS, AgentSteps, Case, Plan, Profiles
from bench.measuring import Figures, Report
from bench.parts import Plan as Part
from bench.processes import BASE, Imports, OneShot, Size

TITLES = {"gemini": "Gemini", "chat": "chat completions", "messages": "Messages"}
"""Wire to its name on the page."""

LENGTHS = (2_000, 20_000, 100_000)
"""Chunks of the streams whose cost a chunk is compared."""


@dataclass(frozen=True, slots=True)
class Suite:
    """One kind of measurement."""

    title: str
    about: str
    of: str
    """What CPU is counted for, such as `a chunk`."""
    run: Callable[[Sequence[str], int | None, Report], Figures]
    """The figures of some clients, in at most so many rounds."""
    base: str = LIMIT
    """The client that ratios are taken to."""
    ideal: float = 0
    """Seconds that the server takes, where it sets the pace."""


def _streams(model: str, chunks: int, rounds: int) -> Plan:
    command = {"do": "stream", "model": model}
    return Plan({wire: Case(wire, command, chunks) for wire in WIRES}, rounds=rounds)


def _answers(model: str, times: int, rounds: int, *measures: str) -> Plan:
    command = {"do": "ask", "model": model, "times": times}
    return Plan({wire: Case(wire, command, times) for wire in WIRES}, ("cpu", *measures), rounds)


def _history() -> Plan:
    command = {"do": "converse", "turns": 1000, "times": 2}
    return Plan({wire: Case(wire, command, 2) for wire in WIRES}, rounds=7, peer_rounds=2)


def _again() -> Plan:
    command = {"do": "again", "turns": 1000, "times": 4}
    return Plan({wire: Case(wire, command, 4) for wire in WIRES}, rounds=7, peer_rounds=2)


def _clients() -> Plan:
    who = ("httpx", "wire*", "google-genai", "openai", "anthropic", "pydantic-ai")
    return Plan({wire: Case(wire, {"do": "make"}, 1, who) for wire in WIRES})


def _at_once(
    streams: int, chunks: int, pause: int, who: dict[str, Sequence[str]], rounds: int
) -> Plan:
    """`pause` is in milliseconds. The wire makes no difference: each SDK is on its own.

    The largest number must complete: streams that ended with an error are counted there.
    """
    command = {"do": "streams", "model": f"timed-{chunks}-{pause}", "times": streams}
    return Plan(
        {wire: Case(wire, command, streams * chunks, names) for wire, names in who.items()},
        ("cpu", "wall", "lag_p50", "lag_p99", "memory", *(["errors"] if streams > 1000 else [])),
        rounds,
        peer_rounds=1,
        most=streams if streams > 1000 else 0,
    )


def _lengths() -> Plan:
    who = (LIMIT, "wire", "wire-neutral")
    return Plan(
        {
            f"{chunks:,}": Case("gemini", {"do": "stream", "model": f"burst-{chunks}"}, chunks, who)
            for chunks in LENGTHS
        },
        rounds=3,
    )


def _profiles() -> Profiles:
    who = ("httpx", "wire", "wire-neutral", "wire-fast", "wire-neutral-fast")
    commands = {
        "burst": {"do": "stream", "model": "burst-5000"},
        "paced": {"do": "stream", "model": "paced-1000"},
        "1kb": {"do": "ask", "model": "answer-1kb", "times": 100},
        "history": {"do": "converse", "turns": 1000},
    }
    return Profiles({name: Case("gemini", each, 1, who) for name, each in commands.items()})


_SDKS = {"chat": (LIMIT, "openai"), "messages": (LIMIT, "anthropic")}
_BY_ITSELF = (LIMIT, "httpx", "wire*", "google-genai")
_FAST = (LIMIT, "wire-fast", "wire-neutral-fast")

SUITES = {
    "import": Suite("Import", "An import in a fresh process", "", Imports().run, BASE),
    "process": Suite(
        "Process",
        "A process that imports, makes a client, asks once for 1 kB and ends",
        "",
        OneShot().run,
        "httpx",
    ),
    "client": Suite(
        "Second client",
        "A client is made where another one was made before",
        "",
        _clients().run,
        "httpx",
    ),
    "size": Suite(
        "Size", "The packages that pip installs, without bytecode", "", Size().run, "openai"
    ),
    "burst": Suite(
        "Burst",
        "One stream of 5,000 chunks, as fast as it is read",
        "a chunk",
        _streams("burst-5000", 5000, rounds=9).run,
    ),
    "paced": Suite(
        "Paced",
        "One stream of 1,000 chunks, one packet of one to three a millisecond",
        "a chunk",
        _streams("paced-1000", 1000, rounds=5).run,
    ),
    "streams-200": Suite(
        "200 streams",
        "200 streams at once on one loop, each with a chunk in 20 ms; each SDK on its own wire",
        "a chunk",
        _at_once(200, 50, 20, {"gemini": ("*",), **_SDKS}, rounds=3).run,
        ideal=1.0,
    ),
    "streams-1000": Suite(
        "1,000 streams",
        "1,000 streams at once on one loop, each with a chunk in 100 ms; each SDK on its own wire",
        "a chunk",
        _at_once(1000, 50, 100, {"gemini": _BY_ITSELF, "chat": _SDKS["chat"]}, rounds=2).run,
        ideal=5.0,
    ),
    "streams-5000": Suite(
        "5,000 streams",
        "5,000 streams at once on one loop, each with a chunk in 500 ms",
        "a chunk",
        _at_once(5000, 20, 500, {"gemini": _FAST}, rounds=2).run,
        ideal=10.0,
    ),
    "1kb": Suite(
        "Answer of 1 kB",
        "A request of one message, and an answer of 1 kB",
        "an answer",
        _answers("answer-1kb", 200, 9).run,
    ),
    "5mb": Suite(
        "Answer of 5 MB",
        "An image of 5 MB at Gemini, a text of 5 MB elsewhere",
        "an answer",
        _answers("answer-5mb", 3, 5, "memory").run,
    ),
    "history": Suite(
        "History",
        "1,000 messages of 2,000 characters, built and sent",
        "a request",
        _history().run,
    ),
    "again": Suite(
        "History again",
        "After a request of 1,000 messages, each further one with an answer and a question more",
        "a request",
        _again().run,
    ),
    "agent": Suite(
        "Agent",
        "A step of an agent with one tool, whose two answers have 1 kB each; (two calls) makes the "
        "same requests in the same process without the agent",
        "a step",
        AgentSteps().run,
        f"wire-neutral{CALLS}",
    ),
    "length": Suite(
        "Length", "Streams of three lengths, as fast as they are read", "a chunk", _lengths().run
    ),
    "core": Suite(
        "Core",
        "A stream without a socket; (structs) decodes alone, (reader) finds events and keeps bytes",
        "a chunk",
        Part("core").run,
    ),
    "sse": Suite("Server-sent events", "Bytes to events alone", "an event", Part("sse").run),
    "echo": Suite(
        "Echo",
        "500 received answers of 2,000 characters, encoded in the next request",
        "a message",
        Part("echo").run,
    ),
    "bulk": Suite(
        "Bulk",
        "Rows of 1 kB from a file to a file, 32 at a time, each with an answer of 1 kB; "
        "`wire.bulk` has the direct transport, keeps limits and can be resumed. On Dask, a driver, "
        "a scheduler and two workers share the cores with the server. `raw` asks for 1 kB, one "
        "call after the other",
        "a row",
        Bulk().run,
        BULK_BASE,
    ),
    "scale": Suite(
        "Workers of bulk",
        "Rows whose answers come after 100 ms, as those of models come late, on one worker of Dask "
        f"and on two; each worker has {LATE_CONCURRENT} rows in flight. It shows what driver and "
        "scheduler take away from a second worker, and not two workers that fill two cores",
        "a row",
        Scale().run,
        ONE,
    ),
    "profile": Suite(
        "Where the time goes",
        "Shares of the CPU of a client at Gemini, by cProfile, which slows calls down and C not",
        "",
        _profiles().run,
        "",
    ),
}
"""By name."""
