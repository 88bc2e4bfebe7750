"""google-genai, Google's SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google import genai
from google.genai import types

from bench.bodies import Turn

WIRES = ("gemini",)


class Sdk:
    def __init__(self, base_url: str, _: str) -> None:
        options = types.HttpOptions(base_url=base_url)
        self._client = genai.Client(api_key="fake-key", http_options=options)
        self._models = self._client.aio.models

    async def stream(self, _: str, model: str, got: Callable[[str], None]) -> None:
        stream = await self._models.generate_content_stream(model=model, contents="Hi")
        async for chunk in stream:
            got(chunk.text or "")

    async def ask(self, _: str, model: str) -> int:
        answer = await self._models.generate_content(model=model, contents="Hi")
        return _size_of(answer)

    def built(self, _: str, turns: list[Turn]) -> list[types.Content]:
        return [_content(kind, value) for kind, value in turns]

    async def tell(self, _: str, messages: list[types.Content]) -> int:
        answer = await self._models.generate_content(model="answer-turns", contents=messages)
        return _size_of(answer)

    async def close(self) -> None:
        await self._client.aio.aclose()


def _size_of(answer: types.GenerateContentResponse) -> int:
    """The SDK decodes base64; its length is that of the characters received."""
    size = 0
    for part in answer.candidates[0].content.parts:
        size += len(part.text or "")
        if part.inline_data:
            size += len(part.inline_data.data) * 4 // 3
    return size


def _content(kind: str, value: Any) -> types.Content:
    if kind == "call":
        call = types.FunctionCall(id=value[0], name=value[1], args=value[2])
        return types.Content(role="model", parts=[types.Part(function_call=call)])
    if kind == "result":
        response = types.FunctionResponse(id=value[0], name=value[1], response=value[2])
        return types.Content(role="user", parts=[types.Part(function_response=response)])
    return types.Content(role=kind, parts=[types.Part(text=value)])
