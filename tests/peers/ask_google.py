"""Google's client for Python; its chats keep the conversation."""

from __future__ import annotations

from typing import Any

from conversing import Answer, Call, Session, main
from google import genai
from google.genai import types


class Chats(Session):
    def __init__(self, task: dict[str, Any]) -> None:
        super().__init__(task)
        self.client = genai.Client(
            api_key=task["api_key"],
            http_options=types.HttpOptions(
                # Its retries are off unless they are asked for.
                base_url=task["base_url"],
                retry_options=types.HttpRetryOptions(attempts=3),
            ),
        )
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


if __name__ == "__main__":
    main("google-genai", {"gemini": Chats})
