"""The promises of `docs/reliability.md`, R-01 to R-45, and where each is tested."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

PROMISES = {
    "R-01": "A stream ends complete, or with an error of `wire.errors`; it is never short in "
    "silence.",
    "R-02": "An error after the first byte has what arrived: the partial result, the bytes, the "
    "attempts, the request id. No piece is lost or handed out twice.",
    "R-03": "An error inside a 200 response is an error, whichever way it is written, of the same "
    "class as its HTTP status.",
    "R-04": "A second finish, events after the terminator and events with usage alone change no "
    "text. Reading stops at the terminator.",
    "R-05": "A body of the wrong kind is used if its content is good, else it is a typed error "
    "that shows its beginning. It is never an empty success.",
    "R-06": "Every legal form of server-sent events is read; a line ends only at LF, CR or CRLF.",
    "R-07": "The result does not depend on where the network cut the bytes.",
    "R-08": "Invalid UTF-8, control characters and halves of surrogate pairs are replaced, kept "
    "or a typed error; the halves of one pair join over two events.",
    "R-09": "Unknown fields, events, values of enums and parts are kept and never an error.",
    "R-10": "What is received is limited: an event and a line 32 MiB, a stream and a body 256 "
    "MiB, 1,000,000 events, 1 MiB that completes no event, an error body 1 MiB, headers "
    "100 KiB, JSON 512 levels deep with 50,000 lists and objects, 200 bytes out of each "
    "compressed one. All are fields of `Limits`.",
    "R-11": "Time grows linearly with the bytes received.",
    "R-12": "A message and a repr of an error have at most 2 KiB.",
    "R-13": "Four clocks run in every phase of a call, in threads too: connect, first byte, idle "
    "(comments do not reset it), total (15 minutes).",
    "R-14": "An expired clock is a `ClockError` that names the clock and what was received.",
    "R-15": "Three attempts with random, doubling waits, for errors that may pass; none after an "
    "event was handed out.",
    "R-16": "The server's wish (`retry-after-ms`, `retry-after`, a google.rpc `RetryInfo` on any "
    "wire) is obeyed up to a cap; a longer one raises the error at once.",
    "R-17": "A client spends at most 500 tokens on retries to one host, 5 for each, 10 after a "
    "timeout; successes give them back.",
    "R-18": "Every retry is in the log and in the account; each call can switch retries off.",
    "R-19": "All attempts of a call have the same bytes and, with `idempotency_header`, the same "
    "id.",
    "R-20": "A broken answer is never continued by a new request without the caller.",
    "R-21": "A call that is left, cancelled or broken at any moment closes its connection and "
    "gives its place back.",
    "R-22": "Streams are context managers; nothing relies on the garbage collector. One that is "
    "closed from another thread or task ends alone, at once and with a typed error.",
    "R-23": "A typed error inside a stream closes the connection too.",
    "R-24": "Several event loops may use one client.",
    "R-25": "A connection is used again only if its body was read to the end and nothing arrived "
    "after it. Bytes left after a response never become the next one.",
    "R-26": "A connection that the server closed while it was idle costs no error and no attempt.",
    "R-27": "A key travels in a header, never in a URL.",
    "R-28": "No repr, format, pickle, traceback, log or saved file shows a key.",
    "R-29": "A key that a server repeats is masked.",
    "R-30": "Redirects are not followed; the error shows their target without user, query and "
    "fragment.",
    "R-31": "Keys go over https, to hosts of their own provider. A host has one spelling, which "
    "httpx reads alike. No server directs a request to this machine or a private network. "
    "No URL of the caller's is fetched.",
    "R-32": "Certificates are verified. Proxies of the environment are used except for loopback, "
    "and shown without credentials; `trust_env=False` ignores the environment.",
    "R-33": "Prompts and answers are not logged, except at DEBUG.",
    "R-34": "Control characters of servers and models reach no log and no terminal.",
    "R-35": "Few dependencies, no code at install, reproducible wheels.",
    "R-36": "No exception of httpx, msgspec or anyio reaches the caller: what decoding raises "
    "otherwise becomes `StreamInvalid` with its cause.",
    "R-37": "Every error has the same fields, and can be pickled and copied.",
    "R-38": "An error says what to do, in one line, with the JSON path of a refused field.",
    "R-39": "1,000 streams at once run without an error, and fairly.",
    "R-40": "1,000,000 calls leave memory and descriptors as they were.",
    "R-41": "The first use by many threads at once is safe.",
    "R-42": "A process and its forked child share no connection, and the child waits for no thread "
    "of the parent.",
    "R-43": "Ctrl-C, SIGTERM and SIGHUP at any moment lose no place, leave no command running and "
    "end a pipeline resumable.",
    "R-44": "60,000 mutated answers raise nothing but `WireError`s, and what is returned can be "
    "copied, pickled, saved and continued.",
    "R-45": "The partial result of an error costs nothing until somebody asks for it.",
}

NO_TEST: dict[str, str] = {}
"""Rows without a test of this suite, and why."""

_ROW = re.compile(r"R-\d\d")


def files() -> dict[str, list[str]]:
    """The files of tests that name each row, besides this page and that of the threats."""
    found: dict[str, list[str]] = {row: [] for row in PROMISES}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        if path.parent == Path(__file__).parent and path.name in ("promises.py", "threats.py"):
            continue
        for row in sorted(set(_ROW.findall(path.read_text(encoding="utf-8")))):
            found.setdefault(row, []).append(path.relative_to(ROOT).as_posix())
    return found


def page() -> str:
    """The rows of the table in `docs/reliability.md`."""
    named = files()
    rows = [
        f"| {row} | {promise} | {_shown(named[row]) or NO_TEST.get(row, '')} |"
        for row, promise in PROMISES.items()
    ]
    return "\n".join(["| | promise | tests |", "|---|---|---|", *rows])


def _shown(names: list[str]) -> str:
    return ", ".join(f"`{name.removeprefix('tests/')}`" for name in names)
