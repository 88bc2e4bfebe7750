"""Recorded conversations of Realtime and Live, read as neutral sessions.

The facts are those of the recorded JSON: its sounds, words, calls and token counts. What the
neutral session sends is compared with what the recorded client sent, in kind and order.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.records import Record
from tests.conformance.test_corpus import SHARED
from tests.conformance.test_sessions import connections, records
from wire import Message
from wire.core.memory import encode
from wire.gemini import live
from wire.history import check
from wire.neutral.live import LiveConversation, LiveRequest, TranscriptDelta
from wire.neutral.messages import (
    Done,
    MediaDelta,
    ProviderEvent,
    Reply,
    Text,
    TextDelta,
    ToolCall,
    ToolCallEnd,
    ToolResult,
)
from wire.neutral.request import Request, Tool
from wire.openai import realtime
from wire.wires.asking import live_conversation
from wire.wires.providers import PROVIDERS

PROVIDER = {"gemini-api": "gemini", "azure-voice-live": "azure", "vertex": "gemini"}
"""Providers of the corpus whose names are others here."""


def plain(messages: list[Any], direction: str) -> list[Any]:
    return [
        json.loads(each["data"])
        for each in messages
        if each["direction"] == direction and each["kind"] == "text"
    ]


def conversation_of(record: Record) -> LiveConversation:
    provider = PROVIDER.get(record["provider"], record["provider"])
    request = Request(messages=(), tools=(Tool("get_weather"), Tool("queue_followup")))
    row = PROVIDERS[provider]
    made = live_conversation(LiveRequest(request=request), record["model"] or "m", row)
    made.begin()
    return made


def said(sent: Any) -> tuple[Any, ...]:
    """The neutral parts of what the recorded client sent; empty for settings and sound."""
    item = sent.get("item", {})
    if item.get("type") == "message" and item["role"] == "user":
        return tuple(Text(part["text"]) for part in item["content"])
    if item.get("type") == "function_call_output":
        return (ToolResult(item["call_id"], "get_weather", item["output"]),)
    content = sent.get("client_content", sent.get("clientContent", {}))
    if content.get("turnComplete", content.get("turn_complete")):
        return tuple(Text(part["text"]) for part in content["turns"][-1]["parts"])
    answered = sent.get("tool_response", sent.get("toolResponse", {}))
    results = answered.get("functionResponses", answered.get("function_responses", ()))
    return tuple(ToolResult(each["id"], each["name"], each["response"]) for each in results)


def read(record: Record, messages: list[Any]) -> tuple[LiveConversation, list[Any]]:
    """Play the messages of one connection to a neutral session."""
    made, events = conversation_of(record), []
    is_live = record["endpoint"] == "live"
    for each in messages:
        if each["kind"] != "text":
            continue
        if each["direction"] == "sent":
            if parts := said(json.loads(each["data"])):
                made.send(parts)
        else:
            data = each["data"].encode()
            events += made.receive(
                live.parse_message(data) if is_live else realtime.parse_event(data)
            )
    return made, events


def sound(events: list[Any]) -> bytes:
    return b"".join(each.data for each in events if isinstance(each, MediaDelta))


def replies(events: list[Any]) -> list[Reply]:
    return [each.reply for each in events if isinstance(each, Done)]


def calls(events: list[Any]) -> list[ToolCall]:
    return [each.call for each in events if isinstance(each, ToolCallEnd)]


def check_realtime(record: Record, messages: list[Any]) -> None:
    made, events = read(record, messages)
    received = plain(messages, "received")
    sounds = [each["delta"] for each in received if each.get("type", "").endswith("audio.delta")]
    assert sound(events) == b"".join(map(base64.b64decode, sounds))
    done = [each for each in received if each.get("type") == "response.done"]
    found = replies(events)
    assert len(found) == len(done)
    for reply, each in zip(found, done, strict=True):
        output = each["response"]["output"]
        words = [
            part.get("transcript") or part.get("text") or ""
            for item in output
            for part in item.get("content", ())
        ]
        assert reply.text == "".join(words)
        assert [(call.id, call.name, call.text) for call in reply.tool_calls] == [
            (item["call_id"], item["name"], item["arguments"])
            for item in output
            if item["type"] == "function_call"
        ]
        usage = each["response"].get("usage") or each["usage"]
        assert reply.usage is not None
        counted = (reply.usage.input, reply.usage.output, reply.usage.total)
        assert counted == tuple(usage[f"{name}_tokens"] for name in ("input", "output", "total"))
        assert reply.stop.reason == ("tool_calls" if reply.tool_calls else "end")
        assert reply.id == each["response"]["id"]
    assert calls(events) == [call for reply in found for call in reply.tool_calls]
    heard = {  # at xAI, each one has all that came before
        each["item_id"]: each["transcript"]
        for each in received
        if each.get("type", "").endswith("input_audio_transcription.completed")
    }
    by_user = [message.text for message in made.messages if message.role == "user"]
    assert [text for text in by_user if text in heard.values()] == [*heard.values()]
    unknown = {each.name for each in events if isinstance(each, ProviderEvent)}
    assert unknown <= {"output_audio_buffer.started", "output_audio_buffer.stopped"}


def check_live(record: Record, messages: list[Any]) -> None:
    made, events = read(record, messages)
    received = plain(messages, "received")
    contents = [each["serverContent"] for each in received if "serverContent" in each]
    parts = [part for each in contents for part in each.get("modelTurn", {}).get("parts", ())]
    sounds = [part["inlineData"]["data"] for part in parts if "inlineData" in part]
    assert sound(events) == b"".join(map(base64.b64decode, sounds))
    words = "".join(each["outputTranscription"]["text"] for each in contents
                    if "text" in each.get("outputTranscription", {}))  # fmt: skip
    written = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    found = replies(events)
    assert "".join(reply.text for reply in found) == words + written
    assert "".join(
        each.text for each in events if isinstance(each, TranscriptDelta | TextDelta)
    ) == (words + written)
    wanted = [
        (call["id"], call["name"], call["args"])
        for each in received
        for call in each.get("toolCall", {}).get("functionCalls", ())
    ]
    assert [(call.id, call.name, call.arguments) for call in calls(events)] == wanted
    ends = sum("turnComplete" in each for each in contents)
    assert len(found) == ends + sum("toolCall" in each for each in received)
    totals = [each["usageMetadata"]["totalTokenCount"] for each in received
              if "usageMetadata" in each]  # fmt: skip
    assert [reply.usage.total for reply in found if reply.usage is not None] == totals
    assert made.unanswered == ()


def check_sent(record: Record, messages: list[Any], made: LiveConversation) -> None:
    """Ours are of the same kinds, in the same order; sound apart, which the test does not send."""

    def kind(sent: Any) -> str:
        (key,) = [key for key in sent if key != "type"] if "type" not in sent else ("type",)
        name = sent["type"] if key == "type" else key
        return str(name).replace("_", "").lower()

    seeded = {json.dumps(each) for each in seeds(record, messages)}
    theirs = [
        kind(each)
        for each in plain(messages, "sent")
        if "append" not in kind(each) and json.dumps(each) not in seeded
    ]
    assert [kind(json.loads(encode(each))) for each in made.outbox] == theirs


def seeds(record: Record, messages: list[Any]) -> list[Any]:
    """What the recorded client sent of a conversation before: it asked for no answer to it."""
    sent = plain(messages, "sent")
    content = [each for each in sent if each.get("client_content", {}).get("turnComplete") is False]
    items = [index for index, each in enumerate(sent) if each.get("type", "").endswith("create")]
    first = next((index for index in items if sent[index]["type"] == "response.create"), len(sent))
    before = [sent[index] for index in items if index < first - 1]
    return content + before


def judge(record: Record) -> None:
    for messages in connections(record):
        (check_live if record["endpoint"] == "live" else check_realtime)(record, messages)
        made, _ = read(record, without_seeds(record, messages))
        check_sent(record, messages, made)
        rules = [each.rule for each in check(made.messages) if each.severity == "error"]
        assert rules == []


def without_seeds(record: Record, messages: list[Any]) -> list[Any]:
    seeded = [json.dumps(each) for each in seeds(record, messages)]
    return [
        each
        for each in messages
        if each["kind"] != "text" or json.dumps(json.loads(each["data"])) not in seeded
    ]


def test_recorded_conversations_are_read() -> None:
    path: Path = SHARED / "realtime.jsonl.gz"
    if not path.exists():
        pytest.skip("the corpus of recorded traffic is not beside this checkout")
    found = records(path)
    assert len(found) >= 26
    for record in found:
        judge(record)


def test_messages_before_are_sent_as_the_recorded_client_sent_them() -> None:
    before = (Message.user("I am Ann."), Message.assistant("Hello, Ann."))
    request = LiveRequest(request=Request(messages=before))
    google = live_conversation(request, "gemini-3.8-live", PROVIDERS["gemini"])
    google.begin()
    google.receive(live.parse_message(b'{"setupComplete": {}}'))
    assert json.loads(encode(google.outbox[1])) == {
        "clientContent": {
            "turns": [
                {"parts": [{"text": "I am Ann."}], "role": "user"},
                {"parts": [{"text": "Hello, Ann."}], "role": "model"},
            ],
            "turnComplete": False,
        }
    }
    openai = live_conversation(request, "gpt-realtime-2.1", PROVIDERS["openai"])
    openai.begin()
    assert [json.loads(encode(each))["item"] for each in list(openai.outbox)[1:]] == [
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "I am Ann."}],
        },
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Hello, Ann."}],
        },
    ]
