"""`wire` by its neutral door: messages, events and replies."""

from __future__ import annotations

from collections.abc import Callable

from bench.adapters.wire_raw import connections
from bench.bodies import MARK, TOOL, Turn
from bench.bodies import WIRES as WIRES
from wire import (
    Agent,
    AsyncChat,
    Chat,
    LLMAgent,
    Media,
    Message,
    Reply,
    Text,
    TextDelta,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    tool,
)

PROVIDERS = {
    "gemini": ("gemini", ""),
    "chat": ("openai@chat", "/v1"),
    "messages": ("anthropic", ""),
}
"""Wire to the name of its provider, and the path of its base URL."""


def text_of(event: object) -> str:
    """The text of an event, or its piece of a tool call."""
    return event.text if isinstance(event, TextDelta | ToolCallDelta) else ""


def _size_of(reply: Reply) -> int:
    images = [part for part in reply.message.parts if isinstance(part, Media)]
    return len(reply.text) + sum(len(image.data or b"") * 4 // 3 for image in images)


def _message(kind: str, value: object) -> Message:
    if kind == "call":
        identity, name, arguments = value
        return Message("assistant", (ToolCall(id=identity, name=name, arguments=arguments),))
    if kind == "result":
        return Message("tool", (ToolResult(*value),))
    return Message("assistant" if kind == "model" else "user", (Text(value),))


def read_log(path: str) -> str:
    """Read a log."""
    return f"{MARK} {path}"


async def read_log_async(path: str) -> str:
    """Read a log."""
    return f"{MARK} {path}"


TOOLS: dict[bool, Tool] = {False: tool(read_log), True: tool(read_log_async, name=TOOL)}
"""Whether it is for asyncio -> the tool of an agent's step."""


def _second(first: Reply, result: str) -> list[Message]:
    """The conversation of the second request of a step."""
    return [Message.user("Hi"), first.message, Message.tool_result(first.tool_calls[0], result)]


def chat(wire: str, model: str) -> Chat:
    """For parts that need no server."""
    return Chat(f"{PROVIDERS[wire][0]}:{model}", api_key="fake-key")


class Asyncio:
    """`AsyncChat`."""

    def __init__(self, base_url: str, http: str) -> None:
        self._base_url, self._http = base_url, http
        self._chats: dict[tuple[str, str], AsyncChat] = {}
        self._agents: dict[str, LLMAgent] = {}

    def client(self, wire: str, model: str = "answer-1kb") -> AsyncChat:
        """Made on first use, for each model."""
        if (wire, model) not in self._chats:
            name, path = PROVIDERS[wire]
            url = self._base_url + path
            http = connections(self._http)
            made = AsyncChat(f"{name}:{model}", base_url=url, api_key="fake-key", http=http)
            self._chats[wire, model] = made
        return self._chats[wire, model]

    async def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        async with self.client(wire, model).stream("Hi") as events:
            async for event in events:
                got(text_of(event))

    async def ask(self, wire: str, model: str) -> int:
        return _size_of(await self.client(wire, model).ask("Hi"))

    def built(self, _: str, turns: list[Turn]) -> list[Message]:
        return [_message(kind, value) for kind, value in turns]

    async def tell(self, wire: str, messages: list[Message]) -> int:
        return _size_of(await self.client(wire, "answer-turns").ask(messages=messages))

    async def calls(self, wire: str) -> int:
        """The two requests of an agent's step, without an agent."""
        chat, tools = self.client(wire, "answer-tool"), [TOOLS[True]]
        first = await chat.ask("Hi", tools=tools)
        result = await read_log_async(**first.tool_calls[0].arguments)
        return _size_of(await chat.ask(messages=_second(first, result), tools=tools))

    async def agent(self, wire: str) -> int:
        """A step of an agent with a tool; made on first use, and begun anew."""
        if wire not in self._agents:
            self._agents[wire] = LLMAgent(self.client(wire, "answer-tool"), tools=[TOOLS[True]])
        self._agents[wire].reset()
        return len((await self._agents[wire].run("Hi")).text)

    async def close(self) -> None:
        for chat in self._chats.values():
            await chat.aclose()


class Threads:
    """`Chat`."""

    def __init__(self, base_url: str, http: str) -> None:
        self._base_url, self._http = base_url, http
        self._chats: dict[tuple[str, str], Chat] = {}
        self._agents: dict[str, Agent] = {}

    def client(self, wire: str, model: str = "answer-1kb") -> Chat:
        """Made on first use, for each model."""
        if (wire, model) not in self._chats:
            name, path = PROVIDERS[wire]
            url = self._base_url + path
            made = Chat(f"{name}:{model}", base_url=url, api_key="fake-key", http=self._http)
            self._chats[wire, model] = made
        return self._chats[wire, model]

    def stream(self, wire: str, model: str, got: Callable[[str], None]) -> None:
        with self.client(wire, model).stream("Hi") as events:
            for event in events:
                got(text_of(event))

    def ask(self, wire: str, model: str) -> int:
        return _size_of(self.client(wire, model).ask("Hi"))

    def built(self, _: str, turns: list[Turn]) -> list[Message]:
        return [_message(kind, value) for kind, value in turns]

    def tell(self, wire: str, messages: list[Message]) -> int:
        return _size_of(self.client(wire, "answer-turns").ask(messages=messages))

    def calls(self, wire: str) -> int:
        """The two requests of an agent's step, without an agent."""
        chat, tools = self.client(wire, "answer-tool"), [TOOLS[False]]
        first = chat.ask("Hi", tools=tools)
        result = read_log(**first.tool_calls[0].arguments)
        return _size_of(chat.ask(messages=_second(first, result), tools=tools))

    def agent(self, wire: str) -> int:
        """A step of an agent with a tool; made on first use, and begun anew."""
        if wire not in self._agents:
            self._agents[wire] = Agent(self.client(wire, "answer-tool"), tools=[TOOLS[False]])
        self._agents[wire].reset()
        return len(self._agents[wire].run("Hi").text)

    def close(self) -> None:
        for chat in self._chats.values():
            chat.close()
