"""openai, OpenAI's SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import openai

from bench.bodies import Turn

WIRES = ("chat",)


class Sdk:
    def __init__(self, base_url: str, _: str) -> None:
        self._client = openai.AsyncOpenAI(api_key="fake-key", base_url=base_url + "/v1")
        self._create: Any = self._client.chat.completions.create

    async def stream(self, _: str, model: str, got: Callable[[str], None]) -> None:
        messages = [{"role": "user", "content": "Hi"}]
        async for chunk in await self._create(model=model, messages=messages, stream=True):
            got(text_of(chunk))

    async def ask(self, _: str, model: str) -> int:
        messages = [{"role": "user", "content": "Hi"}]
        answer = await self._create(model=model, messages=messages)
        return len(answer.choices[0].message.content)

    def built(self, _: str, turns: list[Turn]) -> list[dict[str, Any]]:
        return chat_messages(turns)

    async def tell(self, _: str, messages: list[dict[str, Any]]) -> int:
        answer = await self._create(model="answer-turns", messages=messages)
        return len(answer.choices[0].message.content)

    async def close(self) -> None:
        await self._client.close()


def text_of(chunk: Any) -> str:
    """The text of a chunk, or its piece of a tool call."""
    if not chunk.choices:
        return ""
    delta = chunk.choices[0].delta
    return delta.content or (delta.tool_calls and delta.tool_calls[0].function.arguments) or ""


def chat_messages(turns: list[Turn]) -> list[dict[str, Any]]:
    """A conversation as dicts of chat completions, which litellm takes too."""
    return [_message(kind, value) for kind, value in turns]


def _message(kind: str, value: Any) -> dict[str, Any]:
    if kind == "call":
        function = {"name": value[1], "arguments": json.dumps(value[2])}
        call = {"id": value[0], "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind == "result":
        return {"role": "tool", "tool_call_id": value[0], "content": json.dumps(value[2])}
    return {"role": "assistant" if kind == "model" else "user", "content": value}
