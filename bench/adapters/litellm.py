"""litellm, one interface for all vendors. Its answers have the form of chat completions."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it loads its prices from the network

import litellm

from bench.adapters.openai import chat_messages
from bench.bodies import Turn

WIRES = ("gemini", "chat", "messages")
litellm.suppress_debug_info = True


class Sdk:
    def __init__(self, base_url: str, _: str) -> None:
        self._base_url = base_url

    async def _complete(self, wire: str, model: str, messages: list[Any], **options: Any) -> Any:
        name, base_url = {
            "gemini": ("gemini", f"{self._base_url}/v1beta/models/{model}"),
            "chat": ("openai", f"{self._base_url}/v1"),
            "messages": ("anthropic", self._base_url),
        }[wire]
        return await litellm.acompletion(
            model=f"{name}/{model}",
            api_base=base_url,
            api_key="fake-key",
            messages=messages,
            **options,
        )

    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        messages = [{"role": "user", "content": "Hi"}]
        async for chunk in await self._complete(wire, model, messages, stream=True):
            delta = chunk.choices[0].delta if chunk.choices else None
            calls = delta.tool_calls if delta is not None else None
            text = delta.content if delta is not None else None
            got(text or (calls and calls[0].function.arguments) or "")

    async def ask(self, wire: str, model: str) -> int:
        return _size_of(await self._complete(wire, model, [{"role": "user", "content": "Hi"}]))

    def built(self, _: str, turns: list[Turn]) -> list[dict[str, Any]]:
        return chat_messages(turns)

    async def tell(self, wire: str, messages: list[dict[str, Any]]) -> int:
        return _size_of(await self._complete(wire, "answer-turns", messages))

    async def close(self) -> None:
        pass


def _size_of(answer: Any) -> int:
    """An image is a `data:` URL."""
    message = answer.choices[0].message
    images = [each["image_url"]["url"] for each in getattr(message, "images", None) or ()]
    return len(message.content or "") + sum(len(url.partition(",")[2]) for url in images)
