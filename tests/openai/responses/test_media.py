"""Images that a model of Responses generates: received, streamed, sent back."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.chat.test_chat import Door
from tests.joined import joined
from wire import Chat, notes
from wire.neutral.messages import Media, MediaDelta, Message, Other, Part
from wire.openai.responses.parse import parse_reply
from wire.openai.responses.reader import parse_response
from wire.testing.emulator import Emulator

PNG = b"\x89PNG\r\n\x1a\n"
ITEM = {
    "id": "ig_1",
    "type": "image_generation_call",
    "status": "completed",
    "result": base64.b64encode(PNG).decode(),
    "revised_prompt": "A tide.",
}
TEXT = {
    "type": "message",
    "role": "assistant",
    "id": "msg_1",
    "content": [{"type": "output_text", "text": "Here."}],
}
IMAGE = Media(data=PNG, media_type="image/png", extra={"id": "ig_1", "revised_prompt": "A tide."})
MODEL = "openai@responses:gpt-5.4"


def response(*items: Any) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "status": "completed", "output": list(items)}


@joined(
    "changed, part",
    [
        ({}, IMAGE),
        (
            {"output_format": "webp", "result": "AAAA"},
            Media(
                data=b"\0\0\0",
                media_type="image/webp",
                extra={"id": "ig_1", "output_format": "webp", "revised_prompt": "A tide."},
            ),
        ),
        ({"result": "AAAA"}, Media(data=b"\0\0\0", media_type="image/png", extra=IMAGE.extra)),
        ({"result": "%"}, Other("image_generation_call", {**ITEM, "result": "%"})),
        ({"result": None}, Other("image_generation_call", {**ITEM, "result": None})),
    ],
)
def test_an_image_is_media(changed: dict[str, Any], part: Part) -> None:
    reply = parse_reply(parse_response(json.dumps(response({**ITEM, **changed})).encode()))
    assert reply.message.parts == (part,)
    assert not reply.empty


@pytest.mark.parametrize("style", ["threads", "asyncio", "trio"])
def test_images_are_streamed(style: str) -> None:
    emulator = Emulator([{"answer": response(ITEM, TEXT, {**ITEM, "id": "ig_2"})}])
    events, reply = Door(style).stream(emulator, "Draw.", model=MODEL)
    assert [each for each in events if isinstance(each, MediaDelta)] == [
        MediaDelta(position=at, data=PNG, media_type="image/png") for at in (0, 1)
    ]
    assert ([each.data for each in reply.media], reply.text) == ([PNG, PNG], "Here.")


def test_an_image_goes_back_as_it_came() -> None:
    reply = parse_reply(
        parse_response(json.dumps(response(ITEM, TEXT)).encode()),
        provider="openai@responses",
        model="gpt-5.4",
    )
    with Chat(MODEL, api_key="fake-key") as chat:
        call = chat.call(messages=[Message.user("Draw."), reply.message, Message.user("Again.")])
    assert json.loads(call.body)["input"][1] == ITEM
    assert notes(call) == ()
