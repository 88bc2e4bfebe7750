"""`ProviderEvent`: events of a stream that no other event stands for, on every wire."""

from __future__ import annotations

import json
from typing import Any

import httpx
import msgspec
import pytest

from wire import Chat, anthropic
from wire.agent.provider import EventsToDeltas, ResponseBuilder
from wire.errors import RuleError
from wire.neutral.messages import Done, Event, ProviderEvent, Restart, TextDelta

THREAD = {"type": "thread_updated", "thread": {"id": "t_1"}}
START = {"type": "message_start", "message": {"id": "m_1", "content": [], "usage": {}}}
HELLO = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
    {"type": "message_stop"},
]
CLAUDE, GPT, GEMINI = "anthropic:claude-opus-4-8", "openai:gpt-5.2", "gemini:gemini-3.5-flash"
MESSAGES = [THREAD, START, {"type": "ping"}, *HELLO[:2], THREAD, *HELLO[2:]]
FILTERS = {"choices": [], "id": "c_1", "prompt_filter_results": [{"prompt_index": 0}]}
COMPLETION = [
    {"choices": [], "id": "c_1", "model": "gpt-5.4", "object": "chat.completion.chunk"},
    FILTERS,
    {"id": "c_1", "choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
]
QUEUED = {"queueState": {"position": 3}, "responseId": "r_1"}
CONTENTS = [
    {"modelVersion": "gemini-3.5-flash", "responseId": "r_1"},
    QUEUED,
    {"usageMetadata": {"promptTokenCount": 1}},
    {"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}]},
]


def events_of(model: str, chunks: list[dict[str, Any]]) -> list[Event]:
    """The events of a stream with these chunks."""
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    http = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, text=body)
    )
    with (
        Chat(model, api_key="fake-key", http=http, max_tokens=9) as chat,
        chat.stream("Hi") as events,
    ):
        return list(events)


@pytest.mark.row("U-75")
@pytest.mark.parametrize(
    ("model", "chunks", "expected"),
    [
        (
            CLAUDE,
            MESSAGES,
            [
                ProviderEvent("thread_updated", THREAD),
                TextDelta("Hi"),
                ProviderEvent("thread_updated", THREAD),
            ],
        ),
        (GPT, COMPLETION, [ProviderEvent("", FILTERS), TextDelta("Hi")]),
        (GEMINI, CONTENTS, [ProviderEvent("", QUEUED), TextDelta("Hi")]),
    ],
)
def test_what_has_no_other_event_is_handed_out_as_received(
    model: str, chunks: list[dict[str, Any]], expected: list[Event]
) -> None:
    *events, done = events_of(model, chunks)
    assert events == expected  # a `Restart` among them would discard the text
    assert isinstance(done, Done)
    assert (done.reply.text, done.reply.stop.reason) == ("Hi", "end")


def test_after_text_a_new_start_is_still_a_restart() -> None:
    events = events_of(CLAUDE, [START, *HELLO[:2], THREAD, START, *HELLO])
    assert [type(each) for each in events] == [TextDelta, ProviderEvent, Restart, TextDelta, Done]


def test_a_chunk_of_the_caller_that_json_cannot_represent() -> None:
    class Whole(int): ...

    chunk = anthropic.MessageStreamEvent(index=Whole(7))
    with pytest.raises(RuleError, match=r"^event\.index: expected an int, not Whole$"):
        anthropic.EventReader().feed(chunk)


def test_a_delta_of_an_agents_provider_carries_it() -> None:
    event = ProviderEvent("thread_updated", THREAD)
    delta = EventsToDeltas().delta(event)
    assert delta.provider_event == event
    assert ResponseBuilder().add(delta) == [event]
    assert msgspec.json.decode(msgspec.json.encode(event))["data"] == THREAD
