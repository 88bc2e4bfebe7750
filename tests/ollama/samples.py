"""Streams and answers, written for these tests in the form that the server sends."""

from __future__ import annotations

import json
from typing import Any

from wire import Chat, Client, ollama
from wire.testing.emulator import Emulator, EmulatorTransport

MODEL = "qwen3:8b"
NAME = "ollama"
END: dict[str, Any] = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 900,
    "load_duration": 90,
    "prompt_eval_count": 11,
    "prompt_eval_duration": 300,
    "eval_count": 7,
    "eval_duration": 400,
}
CALL = {"id": "call_a1", "function": {"index": 0, "name": "tide", "arguments": {"port": "Brest"}}}
OTHER = {"id": "call_a2", "function": {"index": 1, "name": "tide", "arguments": {"port": "Ré"}}}


def line(message: dict[str, Any], **fields: Any) -> bytes:
    """One line of a stream."""
    head = {"model": MODEL, "created_at": "2026-11-01T10:00:00.1Z"}
    said = {"role": "assistant", "content": "", **message}
    return json.dumps({**head, "message": said, "done": False, **fields}).encode() + b"\n"


STREAM = b"".join(
    (
        line({"thinking": "Brest"}),
        line({"thinking": ", I think."}),
        line({"content": "At "}),
        line({"content": "05:12 🌊."}),
        line({}, **END),
    )
)
CALLS = line({"content": "I look."}) + line({"tool_calls": [CALL, OTHER]}) + line({}, **END)
LAST_CALLS = line({"tool_calls": [CALL]}, **END)
"""The calls stand in the line that ends the stream."""
STREAMS = {"text": STREAM, "calls": CALLS, "calls at the end": LAST_CALLS}


def request(**fields: Any) -> ollama.ChatRequest:
    """A small request."""
    hi = [ollama.Message(role="user", content="Hi")]
    return ollama.ChatRequest(**{"model": MODEL, "messages": hi, **fields})


def client(emulator: Emulator | None = None) -> Client:
    """A client of an emulated server."""
    return Client(NAME, http=EmulatorTransport(emulator or Emulator()), retry=None)


def chat(emulator: Emulator | None = None, model: str = MODEL, **options: Any) -> Chat:
    """A chat with a model of an emulated server."""
    http = EmulatorTransport(emulator or Emulator())
    return Chat(f"{NAME}:{model}", http=http, retry=None, **options)
