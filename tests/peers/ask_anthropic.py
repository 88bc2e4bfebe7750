"""Anthropic's client for Python."""

from __future__ import annotations

from typing import Any

import anthropic
from conversing import Answer, Call, Session, main


class Messages(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.client = anthropic.Anthropic(api_key=task["api_key"], base_url=task["base_url"])
        self.messages: list[Any] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def ask(self) -> Answer:
        self.text = ""
        given: dict[str, Any] = {
            "model": self.task["model"],
            "messages": self.messages,
            "max_tokens": self.task["max_tokens"],
        }
        if self.task["thoughts"]:
            given["thinking"] = {"type": "enabled", "budget_tokens": 1024}
        if self.task["tools"]:
            given["tools"] = [
                {
                    "name": each["name"],
                    "description": each["description"],
                    "input_schema": each["parameters"],
                }
                for each in self.task["tools"]
            ]
        if self.task["search"]:
            given["tools"] = [{"type": "web_search_20250305", "name": "web_search"}]
        if self.task["stream"]:
            with self.client.messages.stream(**given) as stream:
                for text in stream.text_stream:
                    self.text += text
                message = stream.get_final_message()
        else:
            message = self.client.messages.create(**given)
        self.messages.append({"role": "assistant", "content": message.content})
        text = "".join(each.text for each in message.content if each.type == "text")
        calls = [
            Call(each.id, each.name, each.input)
            for each in message.content
            if each.type == "tool_use"
        ]
        counts = (message.usage.input_tokens, message.usage.output_tokens)
        stop = message.stop_reason
        return Answer(text, stop, counts, calls, is_paused=stop == "pause_turn")

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        content = [
            {"type": "tool_result", "tool_use_id": call.id, "content": result}
            for call, result in pairs
        ]
        self.messages.append({"role": "user", "content": content})


if __name__ == "__main__":
    main("anthropic", {"anthropic": Messages})
