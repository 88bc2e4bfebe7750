"""Recorded conversations over WebSocket as cassettes: a client gets every message byte for byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from tests.conformance.records import Record
from tests.conformance.test_corpus import REALTIME, SHARED
from tests.conformance.test_sessions import check_end, connections, records
from tests.http.drive import EVERY, Drive
from wire.core.lenient import decoded
from wire.gemini import live
from wire.gemini.decode import decode
from wire.openai import realtime
from wire.testing import AsyncCassette, Cassette
from wire.testing.cassette.checks.checking import check
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.heard import Heard
from wire.testing.cassette.recorder import Recorder

PATHS = {
    "live": "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "realtime": "/v1/realtime?model={model}",
}


def as_sent(record: Record, data: str) -> Any:
    """The message that our client sends for a recorded one, whose keys may be spelled otherwise."""
    if record["endpoint"] == "live":
        return decode(data.encode(), live.ClientMessage)
    return decoded(data.encode(), realtime.ClientEvent)


def as_cassette(path: Path, record: Record) -> None:
    """Write the connections of a record to a cassette, as a recording of them would be."""
    recorder = Recorder(path)
    for messages in connections(record):
        heard = Heard()
        for each in messages:
            data = each["data"].encode()
            if each["kind"] == "close":
                end = json.loads(data)
                heard.closed(end["code"], end["reason"])
            elif each["direction"] == "sent":
                heard.sent(as_sent(record, each["data"]).raw)
            else:
                heard.received(data, is_text=record["endpoint"] != "live")
        is_live = record["endpoint"] == "live"
        target = PATHS["live" if is_live else "realtime"].format(model=record["model"] or "m")
        sent = Sent("GET", f"wss://llm.example{target}", [], b"")
        refused = recorder.keep(
            recorder.send(sent), sent, 101, [], b"", "closed by the caller", None, heard
        )
        assert refused is None


def play(drive: Drive, path: Path, record: Record) -> tuple[int, int]:
    """Play a cassette to a client; return how many messages came, and how many bytes."""
    is_live = record["endpoint"] == "live"

    def work(door: Any) -> tuple[int, int]:
        count = size = 0
        for messages in connections(record):
            call = live.socket() if is_live else realtime.socket(record["model"] or "m")
            with door.connect(call) as socket:
                for each in messages:
                    if each["direction"] == "sent":
                        socket.send(as_sent(record, each["data"]))
                    elif each["kind"] == "text":
                        assert socket.next().raw == each["data"].encode()
                        count, size = count + 1, size + len(each["data"].encode())
                    else:
                        check_end(socket, json.loads(each["data"]))
        return count, size

    http = (Cassette if drive.name == "sync" else AsyncCassette)(path)
    provider, base = ("gemini", "") if is_live else ("openai", "/v1")
    found: tuple[int, int] = drive.session(
        work, provider, base_url=f"https://llm.example{base}", http=http
    )
    http.check_all_played()
    return found


def expected(record: Record) -> tuple[int, int]:
    data = [
        each["data"].encode()
        for each in record["messages"]
        if (each["direction"], each["kind"]) == ("received", "text")
    ]
    return len(data), sum(map(len, data))


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("record", records(REALTIME), ids=lambda each: each["id"])
def test_the_sample_is_played_from_cassettes(drive: Drive, record: Record, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    as_cassette(path, record)
    assert play(drive, path, record) == expected(record)


@pytest.mark.parametrize("drive", EVERY)
def test_recorded_conversations_are_played_from_cassettes(drive: Drive, tmp_path: Path) -> None:
    corpus = SHARED / "realtime.jsonl.gz"
    if not corpus.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    found = records(corpus)
    assert len(found) >= 26
    count = 0
    for record in found:
        path = tmp_path / f"{record['id']}.cassette.json"
        as_cassette(path, record)
        played = play(drive, path, record)
        assert played == expected(record), record["id"]
        count += played[0]
    assert count >= 800


def faults(path: Path, record: Record) -> list[str]:
    as_cassette(path, record)
    found = check(path.read_bytes(), "s", with_drift=True)
    return [each.message for each in found if each.is_fault]


def test_checks_of_recorded_conversations_find_no_fault(tmp_path: Path) -> None:
    corpus = SHARED / "realtime.jsonl.gz"
    if not corpus.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    for record in records(corpus):
        assert faults(tmp_path / "s.cassette.json", record) == [], record["id"]


def test_checks_of_the_sample_find_what_was_planted_in_it(tmp_path: Path) -> None:
    found = {
        record["id"]: faults(tmp_path / "s.cassette.json", record) for record in records(REALTIME)
    }
    assert found["text-and-tool"][0] == (
        'received message 2, $.session.mood: unknown key with the value: "calm"'
    )
