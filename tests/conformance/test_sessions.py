"""Recorded conversations over WebSocket, played by a server on loopback to our client.

What the client sent is sent from our structs, and what it received comes as structs with its bytes.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.records import Record
from tests.conformance.test_corpus import REALTIME, SHARED
from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, close, frame, served
from tests.http.loopback import loopback
from wire import WireError
from wire.core.lenient import decoded
from wire.gemini import live
from wire.gemini.decode import decode
from wire.openai import realtime


def records(path: Path) -> list[Record]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="\n") as lines:
        return [each for each in map(json.loads, lines) if "messages" in each]


def connections(record: Record) -> list[list[Any]]:
    """The messages of each connection: after a close, the client has connected again."""
    found: list[list[Any]] = [[]]
    for each in record["messages"]:
        found[-1].append(each)
        if each["kind"] == "close":
            found.append([])
    return [each for each in found if each]


def played(drive: Drive, record: Record) -> None:
    for messages in connections(record):
        play(drive, record, messages)


def play(drive: Drive, record: Record, messages: list[Any]) -> None:
    """Play one connection; each side compares what comes with what was recorded."""
    is_live = record["endpoint"] == "live"

    def as_sent(data: str) -> Any:
        kind = live.ClientMessage if is_live else realtime.ClientEvent
        return (decode if is_live else decoded)(data.encode(), kind)

    def script(peer: Peer) -> None:
        for each in messages:
            if each["direction"] == "sent":
                ours, theirs = peer.message(), json.loads(as_sent(each["data"]).raw)
                assert ours == theirs, (ours, theirs)
            elif each["kind"] == "text":
                peer.send(frame("binary" if is_live else "text", each["data"].encode()))
            else:
                end = json.loads(each["data"])
                peer.send(close(end["code"], end["reason"]))

    def work(door: Any) -> int:
        count = 0
        call = live.socket() if is_live else realtime.socket(record["model"] or "m")
        with door.connect(call) as socket:
            for each in messages:
                if each["direction"] == "sent":
                    socket.send(as_sent(each["data"]))
                elif each["kind"] == "text":
                    assert socket.next().raw == each["data"].encode()
                    count += 1
                else:
                    check_end(socket, json.loads(each["data"]))
            assert socket.account.events == count
        return count

    with loopback(served(script)) as server:
        provider, base = ("gemini", "") if is_live else ("openai", "/v1")
        received = drive.session(work, provider, base_url=f"{server.url}{base}")
    assert received == sum(
        (each["direction"], each["kind"]) == ("received", "text") for each in messages
    )


def check_end(socket: Any, end: dict[str, Any]) -> None:
    if end["code"] == 1000:
        assert socket.next() is None
        return
    with pytest.raises(WireError) as caught:
        socket.next()
    assert caught.value.message == end["reason"]
    assert caught.value.code == str(end["code"])


@pytest.mark.parametrize("drive", EVERY)
@pytest.mark.parametrize("record", records(REALTIME), ids=lambda each: each["id"])
def test_the_sample_is_played(drive: Drive, record: Record) -> None:
    played(drive, record)


@pytest.mark.parametrize("drive", EVERY)
def test_recorded_conversations_are_played(drive: Drive) -> None:
    path = SHARED / "realtime.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout; the sample serves")
    found = records(path)
    assert len(found) >= 26
    for record in found:
        played(drive, record)
