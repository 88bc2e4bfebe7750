"""OpenAI's client for Python, on chat completions and Responses."""

from __future__ import annotations

from typing import Any

import openai
from conversing import Answer, Call, Session, main


class HandedOut(Exception):
    """An error that the client hands out as an event."""


class _Session(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.client = openai.OpenAI(api_key=task["api_key"], base_url=task["base_url"])
        self.messages: list[Any] = []

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})


class Chat(_Session):
    def ask(self) -> Answer:
        self.text = ""
        given: dict[str, Any] = {"model": self.task["model"], "messages": self.messages}
        if self.task["host"] == "openai@chat":
            given["max_completion_tokens"] = self.task["max_tokens"]
        if self.task["tools"]:
            keys = ("name", "description", "parameters")
            given["tools"] = [
                {"type": "function", "function": {key: each[key] for key in keys}}
                for each in self.task["tools"]
            ]
        if self.task["stream"]:
            more = {"stream_options": {"include_usage": True}}
            with self.client.chat.completions.stream(**given, **more) as events:
                for event in events:
                    self.text += event.delta if event.type == "content.delta" else ""
                completion = events.get_final_completion()
        else:
            completion = self.client.chat.completions.create(**given)
        choice, usage = completion.choices[0], completion.usage
        self.messages.append(choice.message)
        calls = [
            Call(each.id, each.function.name, each.function.arguments)
            for each in choice.message.tool_calls or ()
        ]
        counts = (usage and usage.prompt_tokens, usage and usage.completion_tokens)
        return Answer(choice.message.content or "", choice.finish_reason, counts, calls)

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        self.messages += [
            {"role": "tool", "tool_call_id": call.id, "content": result} for call, result in pairs
        ]


class Responses(_Session):
    def ask(self) -> Answer:
        self.text = ""
        given: dict[str, Any] = {
            "model": self.task["model"],
            "input": self.messages,
            "max_output_tokens": self.task["max_tokens"],
            "store": False,
        }
        if self.task["thoughts"]:
            given["reasoning"] = {"effort": "medium"}
            given["include"] = ["reasoning.encrypted_content"]
        if self.task["tools"]:
            keys = ("name", "description", "parameters")
            given["tools"] = [
                {"type": "function", **{key: each[key] for key in keys}}
                for each in self.task["tools"]
            ]
        if self.task["stream"]:
            with self.client.responses.stream(**given) as events:
                for event in events:
                    self.text += event.delta if event.type == "response.output_text.delta" else ""
                    told = getattr(event, "response", None) and event.response.error
                    if event.type == "error" or told:  # handed out, and not raised
                        raise HandedOut((told or event).message)
                response = events.get_final_response()
        else:
            response = self.client.responses.create(**given)
        self.messages += response.output
        calls = [
            Call(each.call_id, each.name, each.arguments)
            for each in response.output
            if each.type == "function_call"
        ]
        usage = response.usage
        counts = (usage and usage.input_tokens, usage and usage.output_tokens)
        cut = response.incomplete_details and response.incomplete_details.reason
        return Answer(response.output_text, cut or response.status, counts, calls)

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        self.messages += [
            {"type": "function_call_output", "call_id": call.id, "output": result}
            for call, result in pairs
        ]


if __name__ == "__main__":
    main("openai", {"openai": Chat, "responses": Responses})
