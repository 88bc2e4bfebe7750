"""Recorded streams of Responses over a WebSocket: what holds of them over HTTP holds there."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.conformance import responses
from tests.conformance.records import Record, body_of
from tests.conformance.result import Mismatch
from tests.conformance.test_corpus import SHARED
from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, frame, served
from tests.http.loopback import loopback
from wire import WireError
from wire.openai.responses import ResponseRequest, stream_response
from wire.openai.responses.fold import fold
from wire.openai.responses.websocket import ResponseTurns

FILES = ("openai-responses", "openai-responses-compatible")
REQUEST = ResponseRequest(model="m", input="Hi", store=False)


def streams() -> Iterator[tuple[Record, list[bytes]]]:
    """The recorded streams that were answered by 200, with their events."""
    for name in FILES:
        path = SHARED / f"{name}.jsonl.gz"
        if not path.exists():
            pytest.skip("the corpus of recorded traffic is not beside this checkout")
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
            for record in map(json.loads, lines):
                if record.get("framing") != "sse" or record["status"] != 200:
                    continue
                body = body_of(record)
                if responses.scope(record) is not None and body.lstrip()[:1] != b"{":
                    yield record, responses._payloads(body)


def body_over_socket(events: list[bytes]) -> bytes:
    """The body that the reader of the answer gets of these messages."""
    turns, pieces = ResponseTurns(), []
    turns.begin(msgspec.json.encode({"model": "m", "input": "Hi"}))
    for event in events:
        turn = turns.take(event)
        pieces.append(turn.data)
        if turn.is_last:
            break
    return b"".join(pieces)


def begins_as_documented(events: list[bytes]) -> bool:
    """Servers begin with `response.created`; some hosts of streams over HTTP leave it out."""
    kinds = [json.loads(event).get("type") for event in events[:1]]
    return kinds in (["response.created"], ["error"])


def test_what_holds_over_http_holds_over_a_socket() -> None:
    checked = 0
    for record, events in streams():
        if begins_as_documented(events):
            text = body_over_socket(events).decode()
            over = {**record, "response_body": text, "response_body_encoding": "utf-8"}
            assert mismatch(over) == mismatch(record)
            checked += 1
    assert checked > 200


def mismatch(record: Record) -> str:
    """What does not hold of a stream; empty if all does."""
    try:
        responses.check_stream(record)
    except Mismatch as found:
        return str(found)
    return ""


@pytest.mark.parametrize("drive", EVERY)
def test_recorded_streams_are_the_same_over_both(drive: Drive) -> None:
    """Each fifth one, over real connections: the events with their bytes, and the response."""
    chosen = [
        each for at, each in enumerate(streams()) if at % 5 == 0 and begins_as_documented(each[1])
    ]
    assert len(chosen) > 50
    waiting = iter([events for _, events in chosen])

    def script(peer: Peer) -> None:
        while peer.message() is not None:
            peer.send(*(frame("text", event) for event in next(waiting)))

    with loopback(served(script)) as server:

        def work(door: Any) -> None:
            for record, _ in chosen:
                expected, error = responses._read([body_of(record)])
                if error is None:
                    assert door.result(stream_response(REQUEST)) == fold(expected)
                else:
                    with pytest.raises(WireError) as caught:
                        door.result(stream_response(REQUEST))
                    assert type(caught.value) is type(error)

        base = f"{server.url}/v1"
        drive.session(work, "openai", base_url=base, connection="socket", retry=None)
