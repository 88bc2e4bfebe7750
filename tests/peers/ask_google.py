"""Google's client for Python: its chats, which keep the conversation, and Interactions."""

from __future__ import annotations

import json
from typing import Any

from conversing import Answer, Call, Session, main
from google import genai
from google.genai import types


def _client(task: dict[str, Any]) -> genai.Client:
    return genai.Client(
        api_key=task["api_key"],
        http_options=types.HttpOptions(
            # Its retries are off unless they are asked for.
            base_url=task["base_url"],
            retry_options=types.HttpRetryOptions(attempts=3),
        ),
    )


class Chats(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.client = _client(task)
        declared = [
            types.FunctionDeclaration(
                name=each["name"],
                description=each["description"],
                parameters_json_schema=each["parameters"],
            )
            for each in task["tools"]
        ]
        config = types.GenerateContentConfig(
            max_output_tokens=task["max_tokens"],
            tools=[types.Tool(function_declarations=declared)] if declared else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            thinking_config=types.ThinkingConfig(include_thoughts=True)
            if task["thoughts"]
            else None,
        )
        self.chat = self.client.chats.create(model=task["model"], config=config)
        self.message: Any = None

    def user(self, text: str) -> None:
        self.message = text

    def ask(self) -> Answer:
        self.text = ""
        if self.task["stream"]:
            chunks = []
            for chunk in self.chat.send_message_stream(self.message):
                chunks.append(chunk)
                self.text += _text(chunk)
            last = chunks[-1]
        else:
            last = self.chat.send_message(self.message)
            chunks = [last]
            self.text = _text(last)
        calls = [
            Call(each.id or "", each.name or "", each.args)
            for chunk in chunks
            for each in chunk.function_calls or ()
        ]
        usage, candidate = last.usage_metadata, (last.candidates or [None])[0]
        counts = (usage and usage.prompt_token_count, usage and usage.candidates_token_count)
        stop = candidate and candidate.finish_reason and candidate.finish_reason.value
        if last.prompt_feedback and last.prompt_feedback.block_reason:
            stop = last.prompt_feedback.block_reason.value
        return Answer(self.text, stop, counts, calls)

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        self.message = [
            types.Part(
                function_response=types.FunctionResponse(
                    id=call.id or None, name=call.name, response={"result": result}
                )
            )
            for call, result in pairs
        ]


def _text(chunk: types.GenerateContentResponse) -> str:
    content = chunk.candidates[0].content if chunk.candidates else None
    parts = (content and content.parts) or ()
    return "".join(each.text or "" for each in parts if not each.thought)


class Interactions(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.client = _client(task)
        self.steps: list[Any] = []

    def user(self, text: str) -> None:
        self.steps.append({"type": "user_input", "content": [{"type": "text", "text": text}]})

    def ask(self) -> Answer:
        self.text = ""
        config: dict[str, Any] = {"max_output_tokens": self.task["max_tokens"]}
        if self.task["thoughts"]:
            config["thinking_summaries"] = "auto"
        keys = ("name", "description", "parameters")
        given: dict[str, Any] = {
            "model": self.task["model"],
            "input": self.steps,
            "store": False,
            "generation_config": config,
        }
        if self.task["tools"]:
            given["tools"] = [
                {"type": "function", **{key: each[key] for key in keys}}
                for each in self.task["tools"]
            ]
        if self.task["stream"]:
            answer, steps = self._streamed(self.client.interactions.create(**given, stream=True))
        else:
            answer = self.client.interactions.create(**given)
            steps = [each.model_dump(exclude_none=True, mode="json") for each in answer.steps or ()]
        self.steps += steps
        made = [each for each in steps if each["type"] == "model_output"]
        text = "".join(part["text"] for each in made for part in each["content"])
        calls = [
            Call(each["id"], each["name"], each["arguments"])
            for each in steps
            if each["type"] == "function_call"
        ]
        usage = answer and answer.usage
        counts = (usage and usage.total_input_tokens, usage and usage.total_output_tokens)
        return Answer(text, answer and answer.status, counts, calls)

    def _streamed(self, events: Any) -> tuple[Any, list[Any]]:
        """Join the pieces of a stream, as there is no helper."""
        answer, steps = None, list[Any]()
        open_steps: dict[int, Any] = {}
        for event in events:
            if event.event_type == "step.start":
                step = event.step.model_dump(exclude_none=True, mode="json")
                if step["type"] == "function_call":
                    step["arguments"] = ""
                open_steps[event.index] = step
                steps.append(step)
            elif event.event_type == "step.delta":
                step, delta = open_steps[event.index], event.delta
                if delta.type == "text":
                    self.text += delta.text
                    parts = step.setdefault("content", [{"type": "text", "text": ""}])
                    parts[0]["text"] += delta.text
                elif delta.type == "arguments_delta":
                    step["arguments"] += delta.arguments
                elif delta.type == "thought_summary":
                    part = delta.content.model_dump(exclude_none=True, mode="json")
                    step.setdefault("summary", []).append(part)
                elif delta.type == "thought_signature":
                    step["signature"] = delta.signature
            elif event.event_type == "error":  # handed out, and not raised
                raise HandedOut(event.error.message)
            elif event.event_type == "interaction.completed":
                answer = event.interaction
        for step in steps:
            if step["type"] == "function_call":
                step["arguments"] = json.loads(step["arguments"])
        return answer, steps

    def results(self, pairs: list[tuple[Call, str]]) -> None:
        self.steps += [
            {"type": "function_result", "call_id": call.id, "name": call.name, "result": result}
            for call, result in pairs
        ]


class HandedOut(Exception):
    """An error that the client hands out as an event."""


if __name__ == "__main__":
    main("google-genai", {"gemini": Chats, "interactions": Interactions})
