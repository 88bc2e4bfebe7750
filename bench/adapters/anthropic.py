"""anthropic, Anthropic's SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import anthropic

from bench.bodies import Turn

WIRES = ("messages",)


class Sdk:
    def __init__(self, base_url: str, _: str) -> None:
        self._client = anthropic.AsyncAnthropic(api_key="fake-key", base_url=base_url)
        self._create: Any = self._client.messages.create

    async def stream(self, _: str, model: str, got: Callable[[str], None]) -> None:
        messages = [{"role": "user", "content": "Hi"}]
        stream = await self._create(model=model, max_tokens=99, messages=messages, stream=True)
        async for event in stream:
            got(text_of(event))

    async def ask(self, _: str, model: str) -> int:
        messages = [{"role": "user", "content": "Hi"}]
        return await self._whole(model, messages)

    def built(self, _: str, turns: list[Turn]) -> list[dict[str, Any]]:
        return [_message(kind, value) for kind, value in turns]

    async def tell(self, _: str, messages: list[dict[str, Any]]) -> int:
        return await self._whole("answer-turns", messages)

    async def _whole(self, model: str, messages: list[dict[str, Any]]) -> int:
        answer = await self._create(model=model, max_tokens=99, messages=messages)
        return len(answer.content[0].text)

    async def close(self) -> None:
        await self._client.close()


def text_of(event: Any) -> str:
    """The text of an event."""
    return event.delta.text if event.type == "content_block_delta" else ""


def _message(kind: str, value: Any) -> dict[str, Any]:
    if kind == "call":
        use = {"type": "tool_use", "id": value[0], "name": value[1], "input": value[2]}
        return {"role": "assistant", "content": [use]}
    if kind == "result":
        text = json.dumps(value[2])
        result = {"type": "tool_result", "tool_use_id": value[0], "content": text}
        return {"role": "user", "content": [result]}
    return {"role": "assistant" if kind == "model" else "user", "content": value}
