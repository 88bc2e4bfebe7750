"""A session over WebSocket that is recorded on loopback, and played without a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("websockets", reason="websockets is in the extra `live`")

from tests.http.drive import Drive
from tests.http.frames import Peer, served, text
from tests.http.loopback import loopback
from wire.openai import responses
from wire.testing import AsyncCassette, Cassette

CALL = responses.socket()
RAW = msgspec.structs.replace(CALL, parse=bytes)
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


def session(drive: Drive, http: Any, url: str, work: Any = talk, **options: Any) -> Any:
    return drive.session(work, provider="openai", base_url=url, http=http, **options)


def recorded(
    drive: Drive,
    path: Path,
    work: Any = talk,
    script: Any = echo,
    mode: str = "rewrite",
    client: dict[str, Any] | None = None,
    **options: Any,
) -> str:
    """Record a session; return the URL of its server, which is gone then."""
    with loopback(served(script)) as server:
        url = f"{server.url}/v1"
        session(drive, cassette(drive, path, mode, **options), url, work, **client or {})
    return url


def played(
    drive: Drive,
    path: Path,
    url: str,
    work: Any = talk,
    client: dict[str, Any] | None = None,
    **options: Any,
) -> Any:
    """Play the cassette; return the result of `work`, and the cassette."""
    http = cassette(drive, path, **options)
    return session(drive, http, url, work, **client or {}), http


def interactions(path: Path) -> list[Any]:
    found: list[Any] = json.loads(path.read_text("utf-8"))["interactions"]
    return found
