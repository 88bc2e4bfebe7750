"""Recorded exchanges, written in the layouts of other recorders, converted to cassettes and to
other formats, and compared byte for byte (C-37).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from tests.conformance.records import Record, body_of, lines
from tests.conformance.result import Result
from tests.testing.cassette.layouts import BY_VALUE, EXACT, Layout, Recorded, as_compact
from wire.errors import CassetteError
from wire.testing.cassette.convert.conversion import convert
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.file import load

RECORDS = 1000
_IN_ONE_FILE = 20
Bodies = list[tuple[bytes, bytes]]


def run(arguments: list[str]) -> Result:
    """The first 1,000 records of the files, in each layout; prints the differing bodies of each."""
    recorded = list(islice(_recorded(arguments), RECORDS))
    result = Result(records=len(recorded))
    layouts = [
        *((name, layout, _same) for name, layout in EXACT.items()),
        *((name, layout, as_compact) for name, layout in BY_VALUE.items()),
    ]
    for name, layout, expected in layouts:
        compared, differing = _compared(layout, expected, recorded, name, result)
        print(f"{name}: {compared} records, {differing} with differing bytes")
    return result


def _compared(
    layout: Layout,
    expected: Callable[[bytes], bytes],
    recorded: Sequence[Recorded],
    name: str,
    result: Result,
) -> tuple[int, int]:
    compared = differing = 0
    for start in range(0, len(recorded), _IN_ONE_FILE):
        part = recorded[start : start + _IN_ONE_FILE]
        bodies = [(expected(each.sent), expected(each.received)) for each in part]
        case = f"{name} {start}"
        try:
            cassette = convert(layout(part), case).text
            back = [
                convert(convert(cassette.encode(), case, to).text.encode(), case).text
                for to in ("vcr", "har")
            ]
        except CassetteError as error:
            print(f"{case}: {error.message}"[:500])
            result.failed.append(case)
            continue
        for text in (cassette, *back):
            got = _bodies(text, case)
            compared += len(got)
            wrong = len(part) - len(got) + sum(a != b for a, b in zip(got, bodies, strict=False))
            differing += wrong
            if wrong:
                result.failed.append(case)
        result.passed += 1
    return compared, differing


def _recorded(paths: Sequence[str]) -> Iterator[Recorded]:
    for path in paths:
        for record in lines(Path(path), ("id", "status", "response_body")):
            if record.get("request_body") is not None:
                yield Recorded(
                    _sent(record),
                    body_of(record),
                    record["response_headers"].get("content-type", ""),
                    record["status"],
                )


def _sent(record: Record) -> bytes:
    sent = record["request_body"]
    text = sent if isinstance(sent, str) else json.dumps(sent, ensure_ascii=False)
    # Three records have such a word where a credential stood; a cassette hides what stands there.
    text = text.replace('{"AUTHORIZATION": "SCRUBBED"}', '{"AUTHORIZATION": "***"}')
    return text.encode("utf-8", "surrogatepass")


def _bodies(text: str, name: str) -> Bodies:
    return [
        (body_bytes(each.request.body), body_bytes(each.response.body))
        for each in load(text.encode(), name).interactions
    ]


def _same(data: bytes) -> bytes:
    return data
