"""1,000 real exchanges as cassettes: written, loaded, replayed (C-01, C-02).

They are recorded traffic of many vendors, which lies beside this checkout or not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import UNSET

from tests.conformance.records import body_of, lines
from wire.core.secret_fields import masked_body
from wire.testing import Record, Replay
from wire.testing.cassette.format.file import load

SHARED = Path(__file__).parents[4] / "shared" / "corpus"
EXCHANGES = 1000
READABLE = ("openai-chat.", "openai-responses.", "gemini.", "anthropic.")


def _sample() -> Iterator[tuple[str, dict[str, Any]]]:
    """`EXCHANGES` records with the names of their files, spread over all files."""
    paths = sorted(SHARED.glob("*.jsonl.gz"))
    records = [(path.name, each) for path in paths for each in lines(path, ("id", "response_body"))]
    for index in range(EXCHANGES):
        yield records[index * len(records) // EXCHANGES]


def _exchange(transport: httpx.BaseTransport, record: dict[str, Any]) -> bytes:
    sent = str(record.get("request_body") or "").encode("utf-8", "surrogatepass")
    url = str(record.get("url"))
    url = url if url.startswith("http") else "https://llm.example/v1"
    with httpx.Client(transport=transport) as client:
        return client.request(str(record.get("method") or "POST"), url, content=sent).content


@pytest.mark.row("C-01", "C-02")
@pytest.mark.slow
@pytest.mark.skipif(not SHARED.exists(), reason="no recorded traffic beside this checkout")
def test_recorded_traffic_is_replayed_byte_for_byte_and_readable(tmp_path: Path) -> None:
    done = events = 0
    different: list[str] = []
    unreadable: list[str] = []
    for name, record in _sample():
        path = tmp_path / f"{done}.cassette.json"
        body = body_of(record)
        headers = {
            key: value
            for key, value in (record.get("response_headers") or {}).items()
            if key.lower() == "content-type" and isinstance(value, str)
        }
        answer = httpx.Response(int(record["status"]), headers=headers, content=body)
        live = _exchange(Record(httpx.MockTransport(lambda _, made=answer: made), path), record)
        # A cassette has all bytes but credentials; two answers repeat those of their requests.
        if live != body or _exchange(Replay(path), record) != masked_body(body):
            different.append(record["id"])
        [interaction] = load(path.read_bytes(), str(path)).interactions
        stored = interaction.response.body
        if name.startswith(READABLE) and stored is not UNSET and stored.events is not UNSET:
            events += len(stored.events)
            unreadable += [
                f"{record['id']}: {event}"
                for event in stored.events
                if event.base64 is not UNSET or event.text is not UNSET
            ]
        done += 1
    assert (done, different, unreadable) == (EXCHANGES, [], [])
    assert events > 3000
