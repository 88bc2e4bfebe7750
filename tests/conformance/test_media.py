"""Recorded answers with sounds and images: the reply holds them, and they go back as their host
takes them.
"""

from __future__ import annotations

import base64
import collections
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conformance.neutral import check_events, check_saved
from wire import Chat
from wire.neutral.messages import Media, Message, Other, Reply

SHARED = Path(__file__).parents[3] / "shared" / "corpus"
MODELS = {
    "gemini": "gemini:gemini-2.5-flash",
    "openai-chat": "openai@chat:gpt-audio",
    "openai-responses": "openai@responses:gpt-5",
    "openai-responses-compatible": "openai@responses:gpt-5",
}
"""Kind of records -> the model that the answer is read for."""
HELD = {
    "gemini": {"inlineData": 6},
    "openai-chat": {"audio": 8},
    "openai-responses": {"image_generation_call": 1, "malformed": 2},
    "openai-responses-compatible": {"image_generation_call": 4},
}
"""Kind of records -> media that recorded answers have; more, if records are added. The base64 of
`malformed` was cut by the recorder."""


@pytest.mark.parametrize("name", MODELS)
def test_recorded_media(name: str) -> None:
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    held: collections.Counter[str] = collections.Counter()
    for record in _records(path):
        model = "xai@responses:grok-4.5" if record["provider"] == "xai" else MODELS[name]
        reply = _reply(record, model)
        sent = _sent_back(reply, model)
        received = [_joined(each) for each in _received(record)]
        kinds = [kind for kind, _ in received]
        for (kind, wanted), part in zip(received, _media_of(reply), strict=True):
            assert _content(part) == _decoded(wanted), record["id"]
            if isinstance(part, Other):
                kinds[kinds.index(kind)] = "malformed"
        assert _back(sent, name) == [_goes_back(kind, value) for kind, value in received]
        held.update(kinds)
    assert all(held[kind] >= number for kind, number in HELD[name].items()), held


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if not any(key in line for key in ("inlineData", "image_generation", "transcript")):
                continue
            record = json.loads(line)
            if record["status"] == 200 and any(_received(record)):
                yield record


def _reply(record: dict[str, Any], model: str) -> Reply:
    """The reply that a chat gives for a recorded answer; a stream's events come to it."""

    def answer(request: httpx.Request) -> httpx.Response:
        kind = "text/event-stream" if record["framing"] == "sse" else "application/json"
        body = record["response_body"].encode()
        return httpx.Response(200, headers={"content-type": kind}, content=body)

    with Chat(model, api_key="fake-key", http=httpx.MockTransport(answer)) as chat:
        if not record["stream"]:
            reply = chat.ask("Hi")
        else:
            with chat.stream("Hi") as stream:
                events = list(stream)
                reply = stream.reply()
            check_events(events, reply)
    check_saved(reply)
    return reply


def _sent_back(reply: Reply, model: str) -> Any:
    """The body of a request that continues the conversation."""
    messages = [Message.user("Hi"), reply.message, Message.user("Go on.")]
    with Chat(model, api_key="fake-key") as chat:
        return json.loads(chat.client.preview(chat.call(messages=messages)).body or b"")


def _media_of(reply: Reply) -> list[Media | Other]:
    kinds = ("image_generation_call", "audio")
    return [
        part
        for part in reply.message.parts
        if isinstance(part, Media) or (isinstance(part, Other) and part.kind in kinds)
    ]


def _content(part: Media | Other) -> Any:
    """What a part has of its media: bytes and transcript, or the id of a sound without bytes."""
    if isinstance(part, Other):
        return part.data["result"]
    return part.data or part.url, part.transcript


# --- the same read from the JSON ------------------------------------------------------------------


def _received(record: dict[str, Any]) -> list[tuple[str, list[Any]]]:
    """Kind of each of the media, and the JSON objects that it came in."""
    whole: list[tuple[str, list[Any]]] = []
    speech: list[Any] = []
    for value in _values(record["response_body"]):
        if not isinstance(value, dict):
            continue
        for candidate in value.get("candidates") or ():
            parts = (candidate.get("content") or {}).get("parts") or ()
            whole += [("inlineData", [part]) for part in parts if "inlineData" in part]
        for choice in value.get("choices") or ():
            audio = (choice.get("delta") or choice.get("message") or {}).get("audio") or {}
            speech += [audio] if any(audio.values()) else []
        items = [value["item"]] if value.get("type") == "response.output_item.done" else ()
        output = value.get("output") if value.get("object") == "response" else None
        for item in items or output or ():
            if item.get("type") == "image_generation_call" and item.get("result"):
                whole.append((item["type"], [item]))
    return [*whole, *([("audio", speech)] if speech else [])]


def _values(body: str) -> Iterator[Any]:
    try:
        value = json.loads(body)
    except ValueError:
        lines = [line.strip() for line in body.split("\n") if line.startswith("data:")]
        yield from (json.loads(line[5:]) for line in lines if not line.endswith("[DONE]"))
    else:
        yield from value if isinstance(value, list) else [value]


def _joined(media: tuple[str, list[Any]]) -> tuple[str, Any]:
    """The kind and one JSON object; the texts of the pieces of a sound are joined."""
    kind, pieces = media
    if kind != "audio":
        return kind, pieces[0]
    joined: dict[str, Any] = {}
    for piece in pieces:
        for key, value in piece.items():
            is_text = key in ("data", "transcript") and key in joined
            joined[key] = joined[key] + value if is_text else value
    return kind, joined


def _decoded(value: Any) -> Any:
    text = value["inlineData"]["data"] if "inlineData" in value else value.get("data")
    text = value.get("result", text)
    try:
        data = base64.b64decode(text or "", validate=True)
    except ValueError:
        return text
    return data or value["id"], value.get("transcript", "")


def _goes_back(kind: str, value: Any) -> Any:
    return {"id": value["id"]} if kind == "audio" else value


def _back(body: Any, name: str) -> list[Any]:
    """The media among what is sent back of the answer."""
    if name == "gemini":
        return [part for part in body["contents"][1]["parts"] if "inlineData" in part]
    if name == "openai-chat":
        return [body["messages"][1]["audio"]]
    return [item for item in body["input"] if item.get("type") == "image_generation_call"]
