"""Recorded exchanges: each request decoded and written again, each answer read, written again and
folded.

A record is one JSON object a line, in a file of any name (gzip or plain): `id`, `vendor`,
`endpoint`, `request_body`, `status`, `response_headers`, `response_body`, `response_body_encoding`,
`framing`.
"""

from __future__ import annotations

import collections
from pathlib import Path

from tests.conformance import (
    anthropic,
    converse,
    gemini,
    interactions,
    invoke,
    media,
    ollama,
    openai,
    realtime,
    responses,
)
from tests.conformance.compare import UNKNOWN
from tests.conformance.records import Record, lines
from tests.conformance.result import APART, Result


def run(arguments: list[str]) -> Result:
    """Every record of the files; those of endpoints that are not built are counted apart
    and named, and so are those that could be judged only in part.

    `--every-cut` cuts each stream at each of its events, not at three of them.
    """
    every = "--every-cut" in arguments
    paths = [each for each in arguments if each != "--every-cut"]
    result = Result()
    APART.clear()
    UNKNOWN.clear()
    outside: collections.Counter[str] = collections.Counter()
    for path in paths:
        for record in lines(Path(path), ("id", "status", "response_body")):
            result.records += 1
            checks = scope(record, every=every)
            if isinstance(checks, str):
                result.out_of_scope += 1
                outside[checks] += 1
            else:
                result.hold(record, checks, "fidelity", "endpoint")
    for endpoint, number in sorted(outside.items()):
        print(f"out of scope: {number} of {endpoint}")
    for kind, number in sorted(APART.items()):
        print(f"judged in part: {number} of {kind}")
    for name in sorted(UNKNOWN):
        print(f"without a field: {name}")
    return result


def scope(record: Record, *, every: bool = False) -> gemini.Checks | str:
    """What is to hold of a record, or the endpoint's name if it is not built."""
    vendor = str(record.get("vendor"))
    wires = {
        "gemini": [gemini.scope],
        "anthropic": [anthropic.scope],
        "anthropic-compatible": [anthropic.scope],
        "ollama": [ollama.scope],
        "gemini-interactions": [interactions.scope],
        "media": [media.scope, gemini.scope],
        "realtime": [realtime.scope],
        "bedrock": [invoke.scope, converse.scope, responses.scope],
    }
    of_openai = [responses.scope, openai.scope, media.scope] if vendor.startswith("openai-") else []
    found = (find(record, every=every) for find in wires.get(vendor, of_openai))
    checks = next((each for each in found if each is not None), None)
    return f"{vendor} {record.get('endpoint')}" if checks is None else checks
