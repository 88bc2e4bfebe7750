"""pydantic-ai, by its direct requests to models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from conversing import Answer, Call, Session, main
from pydantic_ai import WebSearchTool, direct
from pydantic_ai.messages import (
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition


def _openai(task: dict[str, Any]) -> Any:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider: Any = OpenAIProvider(api_key=task["api_key"], base_url=task["base_url"])
    if task["host"] == "deepseek":
        from openai import AsyncOpenAI
        from pydantic_ai.providers.deepseek import DeepSeekProvider

        door = AsyncOpenAI(api_key=task["api_key"], base_url=task["base_url"])
        provider = DeepSeekProvider(openai_client=door)
    return OpenAIChatModel(task["model"], provider=provider)


def _responses(task: dict[str, Any]) -> Any:
    from pydantic_ai.models.openai import OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(api_key=task["api_key"], base_url=task["base_url"])
    return OpenAIResponsesModel(task["model"], provider=provider)


def _anthropic(task: dict[str, Any]) -> Any:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key=task["api_key"], base_url=task["base_url"])
    return AnthropicModel(task["model"], provider=provider)


def _gemini(task: dict[str, Any]) -> Any:
    from google.genai.types import HttpRetryOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider

    provider = GoogleProvider(
        api_key=task["api_key"],
        base_url=task["base_url"],
        retry_options=HttpRetryOptions(attempts=3),  # off unless they are asked for
    )
    return GoogleModel(task["model"], provider=provider)


class Requests(Session):
    def __init__(self, task: dict[str, Any], model: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(task)
        self.client = model(task)
        self.messages: list[Any] = []
        self.parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=each["name"],
                    description=each["description"],
                    parameters_json_schema=each["parameters"],
                )
                for each in task["tools"]
            ],
            native_tools=[WebSearchTool()] if task["search"] else [],
        )
        settings: dict[str, Any] = {"max_tokens": task["max_tokens"]}
        if task["thoughts"]:
            settings["thinking"] = True
        if task["thoughts"] and task["wire"] == "anthropic":
            settings["anthropic_thinking"] = {"type": "enabled", "budget_tokens": 1024}
            del settings["thinking"]
        if task["wire"] == "responses":
            settings["openai_store"] = False
        self.given: dict[str, Any] = {
            "model_settings": ModelSettings(**settings),
            "model_request_parameters": self.parameters,
        }

    def user(self, text: str) -> None:
        self.messages.append(ModelRequest(parts=[UserPromptPart(content=text)]))

    def ask(self) -> Answer:
        self.text = ""
        if self.task["stream"]:
            with direct.model_request_stream_sync(
                self.client, self.messages, **self.given
            ) as stream:
                for event in stream:
                    if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                        self.text += event.part.content
                    elif isinstance(event, PartDeltaEvent):
                        delta = event.delta
                        self.text += delta.content_delta if isinstance(delta, TextPartDelta) else ""
                answer = getattr(stream, "response", None) or stream.get()
        else:
            answer = direct.model_request_sync(self.client, self.messages, **self.given)
        self.messages.append(answer)
        calls = [
            Call(each.tool_call_id, each.tool_name, each.args or {}) for each in answer.tool_calls
        ]
        counts = (answer.usage.input_tokens, answer.usage.output_tokens)
        is_paused = answer.state == "suspended"
        return Answer(answer.text or "", answer.finish_reason, counts, calls, is_paused)

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        parts = [
            ToolReturnPart(tool_name=call.name, content=result, tool_call_id=call.id)
            for call, result in pairs
        ]
        self.messages.append(ModelRequest(parts=parts))


def _session(model: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Session]:
    return lambda task: Requests(task, model)


if __name__ == "__main__":
    models = {
        "openai": _openai,
        "responses": _responses,
        "anthropic": _anthropic,
        "gemini": _gemini,
    }
    main("pydantic-ai-slim", {wire: _session(model) for wire, model in models.items()})
