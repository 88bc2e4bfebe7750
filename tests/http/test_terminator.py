"""What happens after the wire's own end of a stream: the body's end is waited for, but not long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.http.drive import Drive, Streamed
from tests.http.loopback import LAST, STREAM, chunked, loopback
from tests.joined import joined
from wire import openai
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.testing import AsyncRecord, Record

CALL = openai.stream_chat_completions(
    openai.ChatCompletionRequest(model="m", messages=[openai.Message(role="user", content="Hi")]),
)
CHUNK = {"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": "stop"}]}
EVENT = chunked(b"data: " + json.dumps(CHUNK).encode() + b"\n\n")
DONE = chunked(b"data: [DONE]\n\n")


def twice(door: Any) -> list[Streamed]:
    return [door.read(CALL), door.read(CALL)]


@joined(
    ("end", "connections"),
    [
        ([DONE + LAST], 1),
        ([DONE, LAST], 1),
        ([DONE, chunked(b": bye\n\n"), LAST], 1),
        ([DONE, "hold"], 2),
        ([DONE, "reset"], 2),
    ],
    ids=["in one piece", "after it", "after more", "never", "reset"],
)
def test_a_connection_is_used_again_if_its_body_ends_soon(
    drive: Drive, end: list[Any], connections: int
) -> None:
    with loopback([STREAM, EVENT, *end]) as server:
        streamed = drive.session(twice, "openai", base_url=server.url)
        assert [(each.texts, each.error, each.reply.text) for each in streamed] == [
            (["Hello."], None, "Hello.")
        ] * 2
        assert (len(server.requests), server.connections) == (2, connections)


def test_a_body_that_goes_on_for_ever_is_left(drive: Drive) -> None:
    """More than anybody would send after the end, so that the time runs out before the bytes do."""
    endless = [DONE, *[chunked(b": still here\n\n" * 1000)] * 20_000]
    with loopback([STREAM, EVENT, *endless]) as server:
        streamed = drive.session(twice, "openai", base_url=server.url)
        assert [each.error for each in streamed] == [None, None]
        assert server.connections == 2


def test_a_recording_ends_with_the_body(drive: Drive, tmp_path: Path) -> None:  # C-04
    path = tmp_path / "x.cassette.json"
    record = Record(Lanes(), path) if drive.name == "sync" else AsyncRecord(AsyncLanes(), path)
    with loopback([STREAM, EVENT, DONE, LAST]) as server:
        drive.session(lambda door: door.read(CALL), "openai", base_url=server.url, http=record)
    (interaction,) = json.loads(path.read_text("utf-8"))["interactions"]
    assert interaction["response"].get("end", "eof") == "eof"
