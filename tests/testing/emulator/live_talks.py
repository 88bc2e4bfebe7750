"""Sessions of Gemini Live as a client holds them, for tests of the emulator."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from wire.testing.emulator import Server

GEMINI = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
VERTEX = "/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent"
MODEL = "models/gemini-2.5-flash-native-audio-latest"
VERTEX_MODEL = "projects/p/locations/us/publishers/google/models/gemini-live-2.5-flash"
EXPRESS_MODEL = "publishers/google/models/gemini-live-2.5-flash"
"""With a key in place of a token and a project."""
TOOL = {
    "name": "get_weather",
    "description": "Weather of a city",
    "parameters": {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}},
}
TOOLS = [{"functionDeclarations": [TOOL]}]
TEXT = {"responseModalities": ["TEXT"]}
SAID = "This is an emulator, and no model. You said: "
SOUND = {"mimeType": "audio/pcm;rate=16000", "data": base64.b64encode(bytes(320)).decode()}
STALLED = {"say": "One two three four five six.", "fault": "stall; after=1; seconds=60"}
"""Its first message is "One two three "."""


def opened(server: Server, path: str = GEMINI, **headers: str) -> ClientConnection:
    url = server.url.replace("http://", "ws://") + path
    key = {"authorization": "Bearer token"} if path == VERTEX else {"x-goog-api-key": "fake-key"}
    return connect(url, additional_headers=headers or key, proxy=None)


def setup(model: str = MODEL, **more: Any) -> dict[str, Any]:
    return {"setup": {"model": model, "generationConfig": TEXT, **more}}


def asks(text: str, complete: bool = True) -> dict[str, Any]:
    turn = {"role": "user", "parts": [{"text": text}]}
    return {"clientContent": {"turns": [turn], "turnComplete": complete}}


def results(*ids: str, **more: Any) -> dict[str, Any]:
    every = [{"id": id, "name": "get_weather", "response": {"sky": "sunny"}, **more} for id in ids]
    return {"toolResponse": {"functionResponses": every}}


def read(socket: ClientConnection, last: str = "turnComplete") -> list[dict[str, Any]]:
    """What comes, up to the first message that has a key, at its top or in its content."""
    got: list[dict[str, Any]] = []
    while not got or last not in got[-1] | got[-1].get("serverContent", {}):
        data = socket.recv(timeout=20)
        assert isinstance(data, bytes), "Google sends binary frames"
        got.append(json.loads(data))
    return got


def said(socket: ClientConnection, *messages: Any, last: str = "turnComplete") -> list[Any]:
    for each in messages:
        socket.send(json.dumps(each))
    return read(socket, last)


def words(messages: list[dict[str, Any]]) -> str:
    turns = (each.get("serverContent", {}).get("modelTurn", {}) for each in messages)
    return "".join(part.get("text", "") for turn in turns for part in turn.get("parts", ()))


def kinds(messages: list[dict[str, Any]]) -> list[str]:
    """The kinds of messages, runs of one kind as one."""
    found: list[str] = []
    for each in messages:
        kind = "+".join(key for key in each if key != "serverContent")
        for key, value in each.get("serverContent", {}).items():
            kind = "+".join(filter(None, [kind, key]))
            if key == "modelTurn":
                kind = "thought" if value["parts"][0].get("thought") else "modelTurn"
        if found[-1:] != [kind]:
            found.append(kind)
    return found


def closing(socket: ClientConnection, *messages: Any) -> tuple[int, str]:
    """Why the server closes the session."""
    for each in messages:
        socket.send(each if isinstance(each, (str, bytes)) else json.dumps(each))
    with pytest.raises(ConnectionClosed) as caught:
        while True:
            socket.recv(timeout=20)
    assert caught.value.rcvd is not None
    return caught.value.rcvd.code, caught.value.rcvd.reason
