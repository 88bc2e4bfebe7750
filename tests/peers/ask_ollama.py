"""Ollama's client for Python."""

from __future__ import annotations

from typing import Any

import ollama
from conversing import Answer, Call, Session, main


class Chats(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.client = ollama.Client(
            host=task["base_url"], headers={"authorization": f"Bearer {task['api_key']}"}
        )
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
        given: dict[str, Any] = {
            "messages": self.messages,
            "tools": tools or None,
            "think": self.task["thoughts"],
            "options": {"num_predict": self.task["max_tokens"]},
        }
        if self.task["stream"]:
            made: dict[str, Any] = {"role": "assistant", "content": "", "thinking": ""}
            called: list[Any] = []
            for last in self.client.chat(self.task["model"], stream=True, **given):
                self.text += last.message.content or ""
                made["thinking"] += last.message.thinking or ""
                called += last.message.tool_calls or ()
            made |= {"content": self.text, "tool_calls": called or None}
            self.messages.append({name: value for name, value in made.items() if value})
        else:
            last = self.client.chat(self.task["model"], **given)
            self.text, called = last.message.content or "", list(last.message.tool_calls or ())
            self.messages.append(last.message)
        calls = [Call("", each.function.name, dict(each.function.arguments)) for each in called]
        return Answer(self.text, last.done_reason, (last.prompt_eval_count, last.eval_count), calls)

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        self.messages += [
            {"role": "tool", "content": result, "tool_name": call.name} for call, result in pairs
        ]


if __name__ == "__main__":
    main("ollama", {"ollama": Chats})
