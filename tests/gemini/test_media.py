"""Sounds and images that Gemini generates: streamed, and sent back."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.chat.test_chat import Door
from wire import Chat
from wire.neutral.messages import Media, MediaDelta, Message, TextDelta
from wire.testing.emulator import Emulator

SOUND = "audio/L16;codec=pcm;rate=24000"


def chunk(*parts: Any, finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}}
    return {"candidates": [{**candidate, **({"finishReason": finish} if finish else {})}]}


def blob(kind: str, data: bytes) -> dict[str, Any]:
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(data).decode()}}


@pytest.mark.parametrize("style", ["threads", "asyncio", "trio"])
def test_media_are_streamed_and_go_back(style: str) -> None:
    parts = [{"text": "Listen:"}, blob(SOUND, b"\1\0"), blob(SOUND, b"\2\0")]
    drawn = {**blob("image/png", b"\x89PNG\r\n\x1a\n"), "thoughtSignature": "c2ln"}
    stream = [chunk(*parts[:2]), chunk(parts[2]), chunk(drawn, finish="STOP")]
    events, reply = Door(style).stream(Emulator([{"stream": stream}]), "Hi")
    assert events[:-1] == [
        TextDelta("Listen:"),
        MediaDelta(position=0, data=b"\1\0", media_type=SOUND),
        MediaDelta(position=1, data=b"\2\0", media_type=SOUND),
        MediaDelta(position=2, data=b"\x89PNG\r\n\x1a\n", media_type="image/png"),
    ]
    assert [each.media_type for each in reply.media] == [SOUND, SOUND, "image/png"]
    assert reply.text == "Listen:"
    with Chat("gemini:gemini-3.1-pro-preview", api_key="fake-key") as chat:
        call = chat.call(messages=[Message.user("Hi"), reply.message, Message.user("Again.")])
    assert json.loads(call.body)["contents"][1]["parts"] == [*parts, drawn]


def test_a_thought_that_is_an_image_is_no_media_of_the_reply() -> None:
    thought = {**blob("image/png", b"\x89PNG"), "thought": True}
    drawn = chunk(thought, blob("image/png", b"\x89PNG!"), finish="STOP")
    events, reply = Door("threads").stream(Emulator([{"stream": [drawn]}]), "Draw.")
    assert [each.data for each in events if isinstance(each, MediaDelta)] == [b"\x89PNG!"]
    assert reply.media == (Media(data=b"\x89PNG!", media_type="image/png"),)
