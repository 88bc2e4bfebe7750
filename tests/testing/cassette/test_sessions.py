"""Sessions over WebSocket in cassettes: recorded on loopback, and played without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from tests.http.drive import EVERY, Drive
from tests.http.frames import Peer, close, frame, served, text
from tests.http.loopback import loopback
from wire import Timeouts, errors
from wire.openai import responses
from wire.testing import AsyncCassette, Cassette, Match

CALL = responses.socket()
NAMES = ["one", "two"]


def asked(words: str) -> responses.ResponseRequest:
    return responses.ResponseRequest(model="m", input=words, store=False)


def cassette(drive: Drive, path: Path, mode: str = "none", **options: Any) -> Any:
    return (Cassette if drive.name == "sync" else AsyncCassette)(path, mode, **options)


def echo(peer: Peer) -> None:
    """Greets, and answers each request by its own input."""
    peer.send(text({"type": "greeting"}))
    while (message := peer.message()) is not None:
        peer.send(text({"type": "response.output_text.delta", "delta": message["input"]}))


def talk(door: Any, names: list[str] = NAMES) -> list[str]:
    """Ask by each name; return what came."""
    with door.connect(CALL) as socket:
        got = [socket.next().type]
        for name in names:
            socket.send(asked(name))
            got.append(socket.next().delta)
    return got


def recorded(drive: Drive, path: Path, work: Any = talk, script: Any = echo, **options: Any) -> str:
    """Record a session; return the URL of its server, which is gone then."""
    with loopback(served(script)) as server:
        url = f"{server.url}/v1"
        http = cassette(drive, path, "rewrite", **options)
        drive.session(work, provider="openai", base_url=url, http=http)
    return url


def played(drive: Drive, path: Path, url: str, work: Any = talk, **options: Any) -> Any:
    http = cassette(drive, path, **options)
    return drive.session(work, provider="openai", base_url=url, http=http), http


def interactions(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_text("utf-8"))["interactions"]
    return found


@pytest.mark.parametrize("drive", EVERY)
def test_a_session_is_recorded_in_both_directions_and_played(drive: Drive, tmp_path: Path) -> None:
    path = tmp_path / "s.cassette.json"
    url = recorded(drive, path)
    [found] = interactions(path)
    assert found["request"]["url"] == url.replace("http:", "ws:") + "/responses"
    assert (found["request"]["method"], found["response"]["status"]) == ("GET", 101)
    assert "fake-key" not in path.read_text("utf-8")
    assert found["response"]["end"] == "closed by the caller"
    told = [(each["direction"], each["body"]["json"]) for each in found["messages"]]
    assert [each for each, _ in told] == ["received", *["sent", "received"] * 2]
    assert [value.get("delta", value.get("input")) for _, value in told[1:]] == [
        each for name in NAMES for each in (name, name)
    ]
    got, http = played(drive, path, url)
    assert got == ["greeting", *NAMES]
    assert http.unplayed == []
    http.check_all_played()
