"""Writes `docs/reliability.md`: the promises, the table of the last run, and each fault."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from tests.faults.clients import HAS_HTTPX2
from tests.faults.families import FAMILIES, FAULTS
from tests.faults.promises import page as promises
from tests.faults.verdicts import Verdict, axes, table

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"

_ABOUT = """\
# Reliability

The promises of the clients when servers, networks and callers misbehave, and the proof of each.
`make faults` runs everything on this page and writes the page anew.

## Promises

Comments and tests name a promise by its number.

{promises}

## Faults

A server on loopback sends {faults} faults of {families} families to each client, on each wire that
a fault concerns. After each fault the same client, which has room for one connection, makes one
more call. A run is as it should be if

- the answer is whole, or the error has the class, the fields and the partial text that are right;
- the number of requests is right, and the next call gets its own answer;
- no connection stays open after the client was closed;
- the key of the client is in no message, repr, traceback with locals, pickle, field or log record.

Two clients are programs: a client of the gateway (`wire serve`), whose backend meets the fault and
which speaks the four APIs in turn, and `wire bulk`, whose first row meets it and whose second row
is the next call. Their errors need not be of one class; their answers, requests, connections, keys
and files are held to the same.

Otherwise it is one of: `silent` (a short answer as if whole), `wrong` (another error), `foreign`
(an exception of another library), `hang`, `held` (an open connection), `key` (in a sink), `next`
(the next call failed, or got another's answer).

{measured}

## Each fault

`Hello.` is the whole answer. A name stands for an error of that class or of one below it.

{each}
"""

MEASURED = "<!-- measured -->"


def measured(verdicts: Sequence[Verdict]) -> str:
    """The table of one run, with its date and what it ran on."""
    cells = {(each.cell.way, each.cell.transport) for each in verdicts}
    ways = "; ".join(
        f"{way}: {', '.join(sorted(kind for other, kind in cells if other == way))}"
        for way in dict.fromkeys(each.cell.way for each in verdicts)
    )
    names = ("httpx", *(("httpx2",) if HAS_HTTPX2 else ()), "anyio", "trio")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return (
        f"{MEASURED}\nMeasured on {today} with Python {platform.python_version()}, {versions}.\n"
        f"Clients for threads, asyncio and trio, one of the gateway, and `wire bulk`; transports\n"
        f"{ways}.\n\n{table(verdicts)}\n\n{axes(verdicts)}\n{MEASURED}"
    )


def written(last: str) -> str:
    """The page with a measured table."""
    faults = [each for each in FAULTS.values() if each.family != "none"]
    rows = [
        f"| {fault.family} | `{fault.name}` | {_right(fault.expect)} | {FAMILIES[fault.family]} |"
        for fault in faults
    ]
    return _ABOUT.format(
        promises=promises(),
        faults=len(faults),
        families=len(FAMILIES),
        measured=last,
        each="\n".join(
            ["| family | fault | what is right | promises |", "|---|---|---|---|", *rows]
        ),
    )


def _right(expect: str) -> str:
    """What is right, with characters beyond ASCII escaped: halves of surrogate pairs are in it."""
    return ", ".join(f"`{each.encode('unicode_escape').decode()}`" for each in expect.split(" "))


def last_measured() -> str:
    """The measured part of the page as it is."""
    _, inner, _ = PAGE.read_text(encoding="utf-8").split(MEASURED)
    return f"{MEASURED}{inner}{MEASURED}"
