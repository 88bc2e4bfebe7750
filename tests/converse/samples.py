"""The streams of the sample, and small requests."""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

from wire import Chat, Client
from wire.converse import ContentBlock, ConverseRequest, Message
from wire.core.event_stream import frame_bytes
from wire.testing.emulator import Emulator, EmulatorTransport

FILE = Path(__file__).parents[1] / "fixtures" / "corpus" / "converse.jsonl"
NOVA = "amazon.nova-2-lite-v1:0"
CLAUDE = "us.anthropic.claude-sonnet-4-6"
PLACE: dict[str, Any] = {"api_key": "fake-key", "region": "us-east-1", "retry": None}


@cache
def streams() -> dict[str, bytes]:
    """The bytes of each stream, by the id of its record."""
    records = map(json.loads, FILE.read_text("utf-8").splitlines())
    return {
        record["id"]: base64.b64decode(record["response_body"])
        for record in records
        if record["endpoint"] == "converse-stream"
    }


def framed(*events: tuple[str, dict[str, Any]]) -> bytes:
    """A stream of these events."""
    kinds = {":content-type": "application/json", ":message-type": "event"}
    return b"".join(
        frame_bytes({":event-type": name, **kinds}, json.dumps(value).encode())
        for name, value in events
    )


def exception(name: str, message: str) -> bytes:
    """The frame of an exception."""
    kinds = {":content-type": "application/json", ":message-type": "exception"}
    return frame_bytes(
        {":exception-type": name, **kinds}, json.dumps({"message": message}).encode()
    )


def asked(text: str = "Hi") -> ConverseRequest:
    return ConverseRequest(messages=[Message(role="user", content=[ContentBlock(text=text)])])


def client(emulator: Emulator | None = None) -> Client:
    return Client("bedrock", http=EmulatorTransport(emulator or Emulator()), **PLACE)


def chat(model: str = NOVA, emulator: Emulator | None = None, **options: Any) -> Chat:
    http = EmulatorTransport(emulator or Emulator())
    return Chat(f"bedrock:{model}", **{"http": http, **PLACE, **options})
