"""litellm, by `completion`, on four wires."""

from __future__ import annotations

from typing import Any

import litellm
from conversing import Answer, Call, Session, main

litellm.suppress_debug_info = True
NAMES = {
    "openai@chat": "openai/",
    "gemini@openai": "openai/",
    "deepseek": "deepseek/",
    "anthropic": "anthropic/",
    "gemini": "gemini/",
    "ollama": "ollama_chat/",
}
"""The host of a task -> the provider of litellm."""


class Completions(Session):
    client = litellm

    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.messages: list[Any] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def ask(self) -> Answer:
        self.text = ""
        keys = ("name", "description", "parameters")
        tools = [
            {"type": "function", "function": {key: each[key] for key in keys}}
            for each in self.task["tools"]
        ]
        base_url = self.task["base_url"]
        if self.task["wire"] == "gemini":
            base_url += "/v1beta"
        given: dict[str, Any] = {
            "model": NAMES[self.task["host"]] + self.task["model"],
            "messages": self.messages,
            "api_base": base_url,
            "api_key": self.task["api_key"],
            "max_tokens": self.task["max_tokens"],
            "num_retries": 2,  # off unless it is asked for
        }
        if self.task["search"]:
            tools.append({"type": "web_search_20250305", "name": "web_search"})
        if tools:
            given["tools"] = tools
        if self.task["thoughts"] and self.task["wire"] != "openai":
            given["reasoning_effort"] = "low"
        if self.task["stream"]:
            chunks = []
            more = {"stream": True, "stream_options": {"include_usage": True}}
            for chunk in litellm.completion(**given, **more):
                chunks.append(chunk)
                delta = chunk.choices[0].delta if chunk.choices else None
                self.text += (delta and delta.content) or ""
            completion: Any = litellm.stream_chunk_builder(chunks, messages=self.messages)
        else:
            completion = litellm.completion(**given)
        choice, usage = completion.choices[0], completion.get("usage")
        self.messages.append(choice.message)
        calls = [
            Call(each.id, each.function.name, each.function.arguments)
            for each in choice.message.tool_calls or ()
        ]
        counts = (usage and usage.prompt_tokens, usage and usage.completion_tokens)
        more = choice.message.get("provider_specific_fields") or {}
        is_paused = more.get("stop_reason") == "pause_turn"  # its own word for it is `length`
        text = choice.message.content or ""
        return Answer(text, choice.finish_reason, counts, calls, is_paused)

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        self.messages += [
            {"role": "tool", "tool_call_id": call.id, "name": call.name, "content": result}
            for call, result in pairs
        ]


if __name__ == "__main__":
    main("litellm", dict.fromkeys(("openai", "anthropic", "gemini", "ollama"), Completions))
