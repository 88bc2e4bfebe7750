"""pydantic-ai, by its requests to a model without an agent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider

from bench.bodies import WIRES as WIRES
from bench.bodies import Turn


class Sdk:
    def __init__(self, base_url: str, _: str) -> None:
        self._google = GoogleProvider(api_key="fake-key", base_url=base_url)
        self._openai = OpenAIProvider(api_key="fake-key", base_url=base_url + "/v1")
        self._anthropic = AnthropicProvider(api_key="fake-key", base_url=base_url)

    def _model(self, wire: str, model: str) -> Model:
        if wire == "gemini":
            return GoogleModel(model, provider=self._google)
        if wire == "chat":
            return OpenAIChatModel(model, provider=self._openai)
        return AnthropicModel(model, provider=self._anthropic)

    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        asked: list[ModelMessage] = [ModelRequest.user_text_prompt("Hi")]
        async with model_request_stream(self._model(wire, model), asked) as events:
            async for event in events:
                if isinstance(event, PartDeltaEvent):
                    delta: Any = event.delta
                    text = getattr(delta, "content_delta", None)
                    got(text or getattr(delta, "args_delta", None) or "")
                elif isinstance(event, PartStartEvent):
                    got(getattr(event.part, "content", "") or "")

    async def ask(self, wire: str, model: str) -> int:
        asked: list[ModelMessage] = [ModelRequest.user_text_prompt("Hi")]
        return _size_of(await model_request(self._model(wire, model), asked))

    def built(self, _: str, turns: list[Turn]) -> list[ModelMessage]:
        return [_message(kind, value) for kind, value in turns]

    async def tell(self, wire: str, messages: list[ModelMessage]) -> int:
        return _size_of(await model_request(self._model(wire, "answer-turns"), messages))

    async def close(self) -> None:
        pass


def _size_of(answer: ModelResponse) -> int:
    """An image is bytes; their base64 was received."""
    contents = [getattr(part, "content", "") for part in answer.parts]
    return sum(len(c) if isinstance(c, str) else len(c.data) * 4 // 3 for c in contents)


def _message(kind: str, value: Any) -> ModelMessage:
    if kind == "call":
        return ModelResponse(parts=[ToolCallPart(value[1], value[2], tool_call_id=value[0])])
    if kind == "result":
        return ModelRequest(parts=[ToolReturnPart(value[1], value[2], tool_call_id=value[0])])
    if kind == "model":
        return ModelResponse(parts=[TextPart(value)])
    return ModelRequest(parts=[UserPromptPart(value)])
