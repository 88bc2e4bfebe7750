"""One conversation walks from Gemini to DeepSeek and back: the right signatures, ids and
placeholders in each body.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from syrupy.assertion import SnapshotAssertion

from wire import Chat, Message, Reply, ToolResult, tool

GEMINI = "gemini:gemini-3-pro-preview"
DEEPSEEK = "deepseek:deepseek-reasoner"
SIGNED = "EqQBCqEBAdgrdWl0aCBhIHNpZ25hdHVyZQ=="


@tool
def high_tide(port: str, day: int = 1) -> dict[str, Any]:
    """When the tide is high."""
    return {"port": port, "at": "05:12"}


def of_gemini(*parts: dict[str, Any], finish: str = "STOP") -> dict[str, Any]:
    candidate = {
        "content": {"parts": list(parts), "role": "model"},
        "finishReason": finish,
        "index": 0,
    }
    return {"candidates": [candidate], "modelVersion": "gemini-3-pro-preview", "responseId": "r1"}


def of_deepseek(**message: Any) -> dict[str, Any]:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": None, **message},
        "finish_reason": finish,
    }
    return {
        "id": "d1",
        "model": "deepseek-reasoner",
        "object": "chat.completion",
        "choices": [choice],
    }


class Walk:
    """A conversation, and every body that it sent."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.bodies: list[dict[str, Any]] = []
        self.notes: list[list[str]] = []

    def ask(self, model: str, answer: dict[str, Any], *more: Message) -> Reply:
        def respond(request: httpx.Request) -> httpx.Response:
            self.bodies.append(json.loads(request.content))
            return httpx.Response(200, json=answer)

        self.messages += more
        with Chat(
            model,
            api_key="fake-key",
            http=httpx.MockTransport(respond),
            tools=[high_tide],
            system="You know the tides.",
        ) as chat:
            reply = chat.ask(messages=self.messages)
        self.messages.append(reply.message)
        self.notes.append([str(note) for note in reply.notes])
        return reply

    def results(self, *contents: Any) -> Message:
        calls = self.messages[-1].tool_calls
        return Message.tool_response(
            ToolResult(call.id, call.name, content, error=isinstance(content, str))
            for call, content in zip(calls, contents, strict=True)
        )


@pytest.fixture(scope="module")
def walk() -> Walk:
    walk = Walk()
    walk.ask(
        GEMINI,
        of_gemini(
            {"text": "A thought about tides.", "thought": True},
            {
                "functionCall": {"name": "high_tide", "args": {"port": "Brest"}, "id": "g1"},
                "thoughtSignature": SIGNED,
            },
            {"functionCall": {"name": "high_tide", "args": {"port": "サンマロ"}, "id": "g2"}},
        ),
        Message.user("When is high tide in Brest and Saint-Malo?"),
    )
    # In the middle of Gemini's turn, with its calls answered, DeepSeek goes on, and calls itself.
    walk.ask(
        DEEPSEEK,
        of_deepseek(
            reasoning_content="Whitby is missing.",
            tool_calls=[
                {
                    "index": 0,
                    "id": "call_00_d",
                    "type": "function",
                    "function": {"name": "high_tide", "arguments": '{"port":"Whitby"}'},
                }
            ],
        ),
        walk.results({"port": "Brest", "at": "05:12"}, "no such port"),
    )
    # DeepSeek's unsigned call belongs to the current turn when Gemini is asked again.
    walk.ask(
        GEMINI,
        of_gemini({"text": "05:12, unknown, and 06:30.", "thoughtSignature": SIGNED}),
        walk.results({"at": "06:30"}),
    )
    walk.ask(
        DEEPSEEK,
        of_deepseek(content="You are welcome.", reasoning_content="Polite."),
        Message.user("Thanks."),
    )
    walk.ask(DEEPSEEK, of_deepseek(content="Bye."), Message.user("Bye."))
    return walk


def test_s0_03_s1_71_the_bodies_of_a_walk(walk: Walk, snapshot: SnapshotAssertion) -> None:
    assert [
        {"body": body, "notes": told} for body, told in zip(walk.bodies, walk.notes, strict=True)
    ] == snapshot


def test_s1_02_gemini_gets_its_own_signatures_and_ids_back_and_a_placeholder_for_the_others(
    walk: Walk,
) -> None:
    model = [content for content in walk.bodies[2]["contents"] if content["role"] == "model"]
    assert model[0]["parts"][1] == {
        "functionCall": {"name": "high_tide", "args": {"port": "Brest"}, "id": "g1"},
        "thoughtSignature": SIGNED,
    }
    assert model[1]["parts"] == [
        {
            "functionCall": {"name": "high_tide", "args": {"port": "Whitby"}},
            "thoughtSignature": "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        }
    ]
    results = [
        part["functionResponse"]
        for content in walk.bodies[2]["contents"]
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert [result.get("id") for result in results] == ["g1", "g2", None]


def test_deepseek_gets_its_own_reasoning_and_no_signature(walk: Walk) -> None:
    assert SIGNED not in json.dumps([walk.bodies[1], walk.bodies[3], walk.bodies[4]])
    said = [message for message in walk.bodies[3]["messages"] if message["role"] == "assistant"]
    assert [message.get("reasoning_content") for message in said] == [
        "",
        "Whitby is missing.",
        None,
    ]
    assert [call["id"] for message in said for call in message.get("tool_calls", [])] == [
        "g1",
        "g2",
        "call_00_d",
    ]
