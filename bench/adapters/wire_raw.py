"""`wire` by its raw door: the vendors' own structs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bench.bodies import MARK, Turn
from bench.bodies import WIRES as WIRES
from wire import AsyncClient, AsyncLanes, Client

PROVIDERS = {"gemini": ("gemini", ""), "chat": ("openai", "/v1"), "messages": ("anthropic", "")}
"""Wire to the name of its client, and the path of its base URL."""

# A wire is imported when it is used, since a user of one does not import the others.


def stream_call(wire: str, model: str) -> Any:
    """A streamed request that says "Hi"."""
    if wire == "gemini":
        from wire import gemini

        request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
        return gemini.stream_generate_content(model, request)
    if wire == "chat":
        from wire import openai

        asked = openai.ChatCompletionRequest(model=model, messages=openai.messages("Hi"))
        return openai.stream_chat_completions(asked)
    from wire import anthropic

    said = [anthropic.Message(role="user", content="Hi")]
    return anthropic.stream_message(
        anthropic.MessageRequest(model=model, max_tokens=99, messages=said)
    )


def call(wire: str, model: str) -> Any:
    """A request that says "Hi"."""
    if wire == "gemini":
        from wire import gemini

        request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
        return gemini.generate_content(model, request)
    if wire == "chat":
        from wire import openai

        asked = openai.ChatCompletionRequest(model=model, messages=openai.messages("Hi"))
        return openai.chat_completions(asked)
    from wire import anthropic

    said = [anthropic.Message(role="user", content="Hi")]
    return anthropic.create_message(
        anthropic.MessageRequest(model=model, max_tokens=99, messages=said)
    )


def echo(wire: str, answers: list[Any]) -> bytes:
    """The body of a request that sends received answers back, each after a question."""
    if wire == "gemini":
        from wire import gemini

        asked = gemini.Content(role="user", parts=[gemini.Part(text=MARK)])
        contents = [one for each in answers for one in (asked, each.candidates[0].content)]
        request = gemini.GenerateContentRequest(contents=[*contents, asked])
        return gemini.generate_content("answer-turns", request).body
    if wire == "chat":
        from wire import openai

        question = openai.Message(role="user", content=MARK)
        messages = [one for each in answers for one in (question, each.choices[0].message)]
        told = openai.ChatCompletionRequest(model="answer-turns", messages=[*messages, question])
        return openai.chat_completions(told).body
    from wire import anthropic

    said = anthropic.Message(role="user", content=MARK)
    turns = [
        one
        for each in answers
        for one in (said, anthropic.Message(role="assistant", content=each.content))
    ]
    return anthropic.create_message(
        anthropic.MessageRequest(model="answer-turns", max_tokens=99, messages=[*turns, said])
    ).body


def _built(wire: str, turns: list[Turn]) -> list[Any]:
    if wire == "gemini":
        from wire import gemini

        return [_content(gemini, kind, value) for kind, value in turns]
    if wire == "chat":
        from wire import openai

        return [_chat_message(openai, kind, value) for kind, value in turns]
    from wire import anthropic

    return [_message(anthropic, kind, value) for kind, value in turns]


def _history(wire: str, messages: list[Any]) -> Any:
    model = "answer-turns"
    if wire == "gemini":
        from wire import gemini

        return gemini.generate_content(model, gemini.GenerateContentRequest(contents=messages))
    if wire == "chat":
        from wire import openai

        asked = openai.ChatCompletionRequest(model=model, messages=messages)
        return openai.chat_completions(asked)
    from wire import anthropic

    return anthropic.create_message(
        anthropic.MessageRequest(model=model, max_tokens=99, messages=messages)
    )


def text_of(wire: str, chunk: Any) -> str:
    """The text of a chunk, or its piece of a tool call."""
    if wire == "gemini":
        return chunk.text or ""
    if wire == "chat":
        if not chunk.choices:
            return ""
        delta = chunk.choices[0].delta
        return delta.content or (delta.tool_calls and delta.tool_calls[0].function.arguments) or ""
    return (chunk.delta.text or "") if chunk.type == "content_block_delta" else ""


def _size_of(wire: str, answer: Any) -> int:
    if wire == "gemini":
        parts = answer.candidates[0].content.parts
        images = [part.inline_data.data for part in parts if part.inline_data]
        return sum(len(part.text or "") for part in parts) + sum(map(len, images))
    if wire == "chat":
        return len(answer.choices[0].message.content)
    return sum(len(block.text or "") for block in answer.content)


def _content(gemini: Any, kind: str, value: Any) -> Any:
    if kind == "call":
        call = gemini.FunctionCall(name=value[1], args=value[2], id=value[0])
        return gemini.Content(role="model", parts=[gemini.Part(function_call=call)])
    if kind == "result":
        response = gemini.FunctionResponse(name=value[1], response=value[2], id=value[0])
        return gemini.Content(role="user", parts=[gemini.Part(function_response=response)])
    return gemini.Content(role=kind, parts=[gemini.Part(text=value)])


def _chat_message(openai: Any, kind: str, value: Any) -> Any:
    if kind == "call":
        function = openai.FunctionCall(name=value[1], arguments=json.dumps(value[2]))
        call = openai.ToolCall(id=value[0], type="function", function=function)
        return openai.Message(role="assistant", tool_calls=[call])
    if kind == "result":
        return openai.Message(role="tool", tool_call_id=value[0], content=json.dumps(value[2]))
    return openai.Message(role="assistant" if kind == "model" else "user", content=value)


def _message(anthropic: Any, kind: str, value: Any) -> Any:
    if kind == "call":
        use = anthropic.ContentBlock(type="tool_use", id=value[0], name=value[1], input=value[2])
        return anthropic.Message(role="assistant", content=[use])
    if kind == "result":
        text = json.dumps(value[2])
        result = anthropic.ContentBlock(type="tool_result", tool_use_id=value[0], content=text)
        return anthropic.Message(role="user", content=[result])
    return anthropic.Message(role="assistant" if kind == "model" else "user", content=value)


def connections(http: str) -> Any:
    """`http=` of a client of asyncio: `direct`, or `direct:5000` for so many at a time."""
    name, _, limit = http.partition(":")
    return AsyncLanes(limit=int(limit), connections=name) if limit else name


class Asyncio:
    """`AsyncClient`."""

    def __init__(self, base_url: str, http: str) -> None:
        self._base_url, self._http = base_url, http
        self._clients: dict[str, AsyncClient] = {}

    def client(self, wire: str) -> AsyncClient:
        """Made on first use."""
        if wire not in self._clients:
            name, path = PROVIDERS[wire]
            url = self._base_url + path
            http = connections(self._http)
            client = AsyncClient(name, base_url=url, api_key="fake-key", http=http)
            self._clients[wire] = client
        return self._clients[wire]

    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        async with self.client(wire).stream(stream_call(wire, model)) as chunks:
            async for chunk in chunks:
                got(text_of(wire, chunk))

    async def ask(self, wire: str, model: str) -> int:
        return _size_of(wire, await self.client(wire).send(call(wire, model)))

    def built(self, wire: str, turns: list[Turn]) -> list[Any]:
        return _built(wire, turns)

    async def tell(self, wire: str, messages: list[Any]) -> int:
        return _size_of(wire, await self.client(wire).send(_history(wire, messages)))

    async def close(self) -> None:
        for client in self._clients.values():
            await client.aclose()


class Threads:
    """`Client`."""

    def __init__(self, base_url: str, http: str) -> None:
        self._base_url, self._http = base_url, http
        self._clients: dict[str, Client] = {}

    def client(self, wire: str) -> Client:
        """Made on first use."""
        if wire not in self._clients:
            name, path = PROVIDERS[wire]
            url = self._base_url + path
            client = Client(name, base_url=url, api_key="fake-key", http=self._http)
            self._clients[wire] = client
        return self._clients[wire]

    def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        with self.client(wire).stream(stream_call(wire, model)) as chunks:
            for chunk in chunks:
                got(text_of(wire, chunk))

    def ask(self, wire: str, model: str) -> int:
        return _size_of(wire, self.client(wire).send(call(wire, model)))

    def built(self, wire: str, turns: list[Turn]) -> list[Any]:
        return _built(wire, turns)

    def tell(self, wire: str, messages: list[Any]) -> int:
        return _size_of(wire, self.client(wire).send(_history(wire, messages)))

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
