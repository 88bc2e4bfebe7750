"""Agents that compact themselves: what stays goes back as it came, with its thoughts."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.joined import joined
from wire import Agent, AsyncChat, Chat, Compaction, LLMAgent
from wire.agent import RunResult
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODELS = [
    "gemini:gemini-3.8-flash",
    "deepseek:deepseek-v4-pro",  # chat completions with thoughts, which it demands back
    "anthropic:claude-sonnet-4-5",
    "openrouter@responses:openai/gpt-5.6",
]
"""Models whose hosts do not compact."""
STYLES = ["threads", "asyncio", "trio"]
SUMMARY = {"match": {"text": "Summarise this"}, "times": 10**6, "say": "All seas were blue."}
TURNS = 10


def look(at: str) -> str:
    """Look at a place."""
    return f"{at}: {'wave ' * 300}"


def run(style: str, model: str, emulator: Emulator, **options: Any) -> RunResult:
    settings: dict[str, Any] = {"api_key": "fake-key", "effort": "low"}
    if not model.startswith("deepseek"):
        settings["thoughts"] = True
    if style == "threads":
        with Chat(model, http=EmulatorTransport(emulator), **settings) as chat:
            return Agent(chat, tools=[look], **options).run("Look often.")

    async def main() -> RunResult:
        http = AsyncEmulatorTransport(emulator)
        async with AsyncChat(model, http=http, **settings) as chat:
            agent = LLMAgent(chat, tools=[look], **options)
            return await agent.run("Look often.", stream=True)

    return anyio.run(main, backend=style)


def sent(body: Any) -> list[Any]:
    return next(body[key] for key in ("messages", "contents", "input") if key in body)


THOUGHTS = ("thoughtSignature", "thinking", "signature", "encrypted_content", "reasoning_content")


def thoughts(value: Any) -> list[str]:
    """The thoughts and signatures in JSON of any wire, in order."""
    if isinstance(value, list):
        return [each for item in value for each in thoughts(item)]
    if not isinstance(value, dict):
        return []
    told = [value["text"]] if value.get("thought") is True else []
    for key, item in value.items():
        told += [item] if key in THOUGHTS and isinstance(item, str) else thoughts(item)
    return told


@pytest.mark.parametrize("style", STYLES)
@joined("model", MODELS)
def test_replies_that_stay_go_back_with_their_thoughts(style: str, model: str) -> None:
    """The emulator refuses thoughts and signatures that are missing or that are not its own."""
    call = {"name": "look", "args": {"at": "sea"}}
    steps = [{"say": {"calls": [call], "thoughts": f"Which sea, {turn}?"}} for turn in range(TURNS)]
    emulator = Emulator([SUMMARY, *steps, {"say": {"text": "Blue.", "thoughts": "All blue."}}])
    result = run(style, model, emulator, compaction=Compaction(trigger=1_500, keep=2))
    assert (result.reason, result.text) == ("end", "Blue.")
    assert len(result.compactions) > 2
    replies = [step.reply.message for step in result.steps]
    received = [thoughts(json.loads(reply.origin.raw)) for reply in replies if reply.origin]
    assert all(received)
    bodies = [each["body"] for each in emulator.requests]
    asked = 0  # replies before the request
    compacted = 0
    for body in bodies:
        texts = json.dumps(body)
        kept = [each for each in replies[:asked] if each.tool_calls[0].id in texts]
        is_summary = "Summarise this" in texts
        begin = replies.index(kept[0]) if kept else 0
        assert kept == replies[begin : begin + len(kept)]
        assert begin + len(kept) == (asked - 2 if is_summary else asked)
        of_kept = received[begin : begin + len(kept)]
        assert thoughts(sent(body)) == [each for of_one in of_kept for each in of_one]
        compacted += begin > 0 and not is_summary
        asked += not is_summary
    assert compacted > TURNS / 2
