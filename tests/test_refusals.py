"""A refusal is a part of the message on all wires: it is read, streamed, kept and sent back."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.joined import joined
from wire import Chat, Message, Reply, Text, TextDelta
from wire.errors import BlockedError, OutputError
from wire.history import check, estimate_tokens, hand_over, prune, repair
from wire.neutral.request import Request
from wire.sessions import dump_session, export, load_session
from wire.wires.contract import WIRES

WORDS = "I can't help with that."
REFUSED = Message.assistant(Text(WORDS, refusal=True))
HI, BYE = Message.user("Hi"), Message.user("Bye")


def completion(content: Any, refusal: str | None, finish: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": content, "refusal": refusal}
    return {"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def response(*parts: dict[str, Any], incomplete: str = "") -> dict[str, Any]:
    item = {"type": "message", "id": "msg_1", "role": "assistant", "content": list(parts)}
    status = {"status": "incomplete", "incomplete_details": {"reason": incomplete}}
    return {"id": "r", "object": "response", "status": "completed", "output": [item]} | (
        status if incomplete else {}
    )


PART = {"type": "refusal", "refusal": WORDS}
ANSWERS = {
    "openai:gpt-4.1": completion(None, WORDS),
    "deepseek:deepseek-v4-pro": completion([PART], None),
    "openai@responses:gpt-4.1": response(PART),
}
FILTERED = {
    "openai:gpt-4.1": completion(None, WORDS, "content_filter"),
    "openai@responses:gpt-4.1": response(PART, incomplete="content_filter"),
}


def chat(model: str, answer: Any, bodies: list[Any] | None = None) -> Chat:
    def respond(request: httpx.Request) -> httpx.Response:
        if bodies is not None:
            bodies.append(json.loads(request.content))
        if isinstance(answer, bytes):
            return httpx.Response(
                200, content=answer, headers={"content-type": "text/event-stream"}
            )
        return httpx.Response(200, json=answer)

    return Chat(model, api_key="fake-key", http=httpx.MockTransport(respond))


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def sent(provider: str, *messages: Message) -> tuple[dict[str, Any], list[str]]:
    wire = {"gemini": "gemini", "anthropic": "anthropic"}.get(
        provider, "openai.responses" if "@" in provider else "openai"
    )
    call = WIRES[wire].call(Request(messages=messages, max_tokens=99), "gpt-4.1", provider)
    return json.loads(call.body), [str(note) for note in call.notes]


# --- received -------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ANSWERS)
def test_a_refusal_is_a_text_of_the_message(model: str) -> None:
    reply = chat(model, ANSWERS[model]).ask("Hi")
    assert reply.message.parts == (Text(WORDS, refusal=True),)
    assert (reply.text, reply.message.refusal, reply.stop.message) == (WORDS, WORDS, WORDS)
    assert (reply.stop.reason, reply.empty) == ("end", False)


@pytest.mark.parametrize(
    ("model", "body"),
    [
        (
            "openai:gpt-4.1",
            sse(
                {"choices": [{"index": 0, "delta": {"refusal": "I can't "}}]},
                {"choices": [{"index": 0, "delta": {"refusal": WORDS[8:]}}]},
                {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
            ),
        ),
        (
            "openai@responses:gpt-4.1",
            sse(
                {"type": "response.refusal.delta", "output_index": 0, "delta": "I can't "},
                {"type": "response.refusal.delta", "output_index": 0, "delta": WORDS[8:]},
                {"type": "response.completed", "response": response(PART)},
            ),
        ),
    ],
)
def test_a_refusal_is_streamed_as_text(model: str, body: bytes) -> None:
    with chat(model, body).stream("Hi") as events:
        pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert pieces == ["I can't ", WORDS[8:]]
    assert events.reply().message.parts == (Text(WORDS, refusal=True),)


def test_a_text_before_a_refusal_is_a_part_of_its_own() -> None:
    reply = chat("openai:gpt-4.1", completion("Well.", WORDS)).ask("Hi")
    assert reply.message.parts == (Text("Well."), Text(WORDS, refusal=True))


@pytest.mark.parametrize("model", FILTERED)
def test_a_filtered_refusal_is_a_blocked_reply(model: str) -> None:
    with pytest.raises(BlockedError, match=r"content_filter\): I can't help") as caught:
        chat(model, FILTERED[model]).ask("Hi")
    assert isinstance(caught.value.partial, Reply)
    assert caught.value.partial.message.refusal == WORDS


@pytest.mark.parametrize("model", ANSWERS)
def test_a_refusal_in_place_of_structured_output(model: str) -> None:
    with pytest.raises(OutputError) as caught:
        chat(model, ANSWERS[model]).ask("Hi", output=list[int])
    assert (caught.value.message, caught.value.code) == (f"the model refused: {WORDS}", "refusal")
    assert isinstance(caught.value.partial, Reply)
    assert caught.value.partial.message.refusal == WORDS


def test_a_refusal_that_is_json_is_no_output() -> None:
    with pytest.raises(OutputError, match="the model refused"):
        chat("openai:gpt-4.1", completion(None, '{"value":[1]}')).ask("Hi", output=list[int])


# --- sent back ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "assistant"),
    [
        ("openai:gpt-4.1", {"role": "assistant", "content": None, "refusal": WORDS}),
        ("deepseek:deepseek-v4-pro", {"role": "assistant", "content": [PART]}),
        (
            "openai@responses:gpt-4.1",
            {"type": "message", "role": "assistant", "content": [PART]},
        ),
    ],
)
def test_the_model_gets_its_refusal_back(model: str, assistant: dict[str, Any]) -> None:
    bodies: list[Any] = []
    door = chat(model, ANSWERS[model], bodies)
    reply = door.ask(messages=[HI])
    door.ask(messages=[HI, reply.message, BYE])
    assert (bodies[1].get("messages") or bodies[1]["input"])[1] == assistant


TEXT = {"role": "assistant", "content": WORDS}
NO_REFUSALS = ["messages[1].parts[0]: sent as a text: this host has no refusals"]


@joined(
    ("provider", "assistant", "notes"),
    [
        ("openai", {"role": "assistant", "content": [PART]}, []),
        ("deepseek", TEXT, NO_REFUSALS),
        ("minimax", TEXT, NO_REFUSALS),  # takes its own messages back, whatever is in them
        ("anthropic", TEXT, []),
        ("gemini", {"role": "model", "parts": [{"text": WORDS}]}, []),
        ("openai@responses", {"type": "message", "role": "assistant", "content": [PART]}, []),
        (
            "vllm@responses",
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": WORDS}],
            },
            NO_REFUSALS,
        ),
    ],
)
def test_a_refusal_of_another_model(
    provider: str, assistant: dict[str, Any], notes: list[str]
) -> None:
    body, reported = sent(provider, HI, REFUSED, BYE)
    history = body.get("messages") or body.get("input") or body["contents"]
    assert history[1] == assistant
    assert [note for note in reported if "parts[0]" in note] == notes


def test_a_server_that_fails_on_its_own_refusal_gets_a_text() -> None:
    bodies: list[Any] = []
    door = chat("vllm@responses:m", response(PART), bodies)
    reply = door.ask(messages=[HI])
    again = door.ask(messages=[HI, reply.message, BYE])
    assert bodies[1]["input"][1]["content"] == [{"type": "output_text", "text": WORDS}]
    assert [str(note) for note in again.notes] == NO_REFUSALS


def test_a_text_beside_a_refusal_is_kept_on_a_host_without_refusals() -> None:
    """It was left out without a note."""
    bodies: list[Any] = []
    door = chat("deepseek:deepseek-v4-pro", completion("Well.", WORDS), bodies)
    reply = door.ask(messages=[HI])
    again = door.ask(messages=[HI, reply.message, BYE])
    assert bodies[1]["messages"][1] == {"role": "assistant", "content": f"Well.\n\n{WORDS}"}
    assert [str(note) for note in again.notes] == ["messages[1].refusal: sent as content"]


# --- kept -----------------------------------------------------------------------------------------


def test_histories_keep_a_refusal() -> None:
    reply = chat("openai:gpt-4.1", ANSWERS["openai:gpt-4.1"]).ask("Hi")
    history = [HI, reply.message, BYE]
    assert check(history) == []
    assert list(repair(history)) == history
    assert list(prune(history, max_messages=10)) == history
    assert hand_over(history, "gemini", "gemini-3.8-flash")[1].parts == REFUSED.parts
    assert estimate_tokens(reply.message) == len(WORDS) // 4


def test_a_session_keeps_a_refusal() -> None:
    reply = chat("openai:gpt-4.1", ANSWERS["openai:gpt-4.1"]).ask("Hi")
    loaded = load_session(dump_session([HI, reply.message]))
    assert loaded.messages[1].parts == REFUSED.parts
    assert loaded.messages[1].origin == reply.message.origin


def test_people_see_a_refusal() -> None:
    reply = chat("openai:gpt-4.1", ANSWERS["openai:gpt-4.1"]).ask("Hi")
    html = reply._repr_html_().replace("&#x27;", "'")
    assert (html.count(WORDS), f"Refusal: {WORDS}" in html) == (1, True)
    assert export([REFUSED], "text") == f"assistant:\n  [refusal]\n  {WORDS}\n"
    assert export([REFUSED]) == f"## Assistant\n\n**Refusal**\n\n{WORDS}\n"
    assert json.loads(export([REFUSED], "json"))[0]["parts"] == [
        {"type": "text", "text": WORDS, "refusal": True}
    ]
