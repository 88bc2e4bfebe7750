"""Types of the neutral door, as mypy and pyright see them; nothing here is run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, assert_type

from wire import (
    Account,
    Agent,
    AsyncChat,
    Chat,
    ChatProvider,
    Embeddings,
    FunctionCall,
    GeminiAgent,
    Guard,
    HistoryManager,
    ListedModel,
    LLMAgent,
    LLMResponse,
    Message,
    Reply,
    StreamDelta,
    Text,
    TokenCount,
    Tool,
    ToolCall,
    ToolContext,
    ToolSchema,
    create_provider,
    embed,
    history,
    load_config,
    register_provider,
    tool,
)
from wire.agent import AgentEvent, AsyncModel, Model, RunResult, dump_session, load_session
from wire.chat import AsyncChatStream, ChatStream
from wire.core.memory import Noted
from wire.http.aio import AsyncStream
from wire.http.client import Stream
from wire.neutral.messages import Event, Part, Usage
from wire.pipeline import Ended, Engine, Finding, Graph, lint, parse
from wire.tools import FunctionTool, mcp


@dataclass
class Weather:
    city: str
    temp_c: int


def threads(chat: Chat) -> None:
    reply = chat.ask("Hi", temperature=0.2, tools=[now])
    assert_type(reply, Reply)
    assert_type(reply.text, str)
    assert_type(reply.tool_calls, tuple[ToolCall, ...])
    assert_type(reply.usage, Usage | None)
    assert_type(chat.ask(messages=[Message.user("Hi")], output=Weather).output, Any)
    with chat.stream("Hi") as events:
        assert_type(events, ChatStream)
        for event in events:
            assert_type(event, Event)
        assert_type(next(events), Event)
        assert_type(events.reply(), Reply)
        assert_type(events.partial(), Reply)
        assert_type(events.account, Account)
        events.result()  # type: ignore[attr-defined]
    with chat.client.stream(chat.stream_call("Hi")) as sent:
        assert_type(sent, Stream[Event, Reply])
        assert_type(sent.result(), Reply)
    assert_type(chat.count("Hi").total, int)
    assert_type(chat.client.embed("Hi", "m")[0], list[float])
    assert_type(embed(["Hi"], "gemini:m"), Embeddings)
    assert_type(next(chat.client.models()), ListedModel)
    assert_type(mcp.tools_in_threads(object()), list[FunctionTool])


async def tasks(chat: AsyncChat) -> None:
    assert_type(await chat.ask("Hi"), Reply)
    async with chat.stream("Hi") as events:
        assert_type(events, AsyncChatStream)
        async for event in events:
            assert_type(event, Event)
        assert_type(await events.reply(), Reply)
        assert_type(events.partial(), Reply)
    async with chat.client.stream(chat.stream_call("Hi")) as sent:
        assert_type(sent, AsyncStream[Event, Reply])
        assert_type(await sent.result(), Reply)
    assert_type(await chat.count("Hi"), TokenCount)
    assert_type(await chat.client.embed("Hi", "m"), Embeddings)
    async for model in chat.client.models():
        assert_type(model, ListedModel)
    assert_type(await mcp.tools(object()), list[FunctionTool])


def values() -> None:
    message = Message.user("Hi", Text("there"))
    assert_type(message, Message)
    assert_type(message.parts, tuple[Part, ...])
    assert_type(history.prune([message]), Noted[Message])
    assert_type(history.repair([message]), Noted[Message])
    assert_type(history.hand_over([message], "deepseek", "deepseek-chat"), Noted[Message])
    assert_type(load_session(dump_session([message])).messages, tuple[Message, ...])
    assert_type(FunctionCall(name="now"), ToolCall)
    assert_type(ToolSchema("now"), Tool)


def now(zone: str, context: ToolContext) -> str:
    """The time."""
    return f"{zone} {context.model}"


@tool(timeout=3)
async def slow(city: str) -> Weather:
    """The weather."""
    return Weather(city, 15)


class Mine:
    """A provider of one's own: structure is enough."""

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> LLMResponse:
        return LLMResponse(text="Hi")

    async def generate_stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> AsyncIterator[StreamDelta]:
        yield StreamDelta(text="Hi")


async def agents() -> None:
    mine: ChatProvider = Mine()
    theirs: ChatProvider = create_provider(
        "gemini", "fake-key", "gemini-3-pro-preview", search_grounding=True
    )
    agent = LLMAgent(
        mine, "Be brief.", tools=[now, slow], history=HistoryManager(max_messages=20), guard=Guard()
    )
    result = await agent.run("Hi", max_steps=5)
    assert_type(result, RunResult)
    assert_type(result.messages, tuple[Message, ...])
    assert_type(await GeminiAgent(theirs).resume(result.state), RunResult)
    async with agent.stream("Hi") as events:
        async for event in events:
            assert_type(event, AgentEvent)
        assert_type(events.result, RunResult)
    configured = LLMAgent.from_config(load_config({"provider": "gemini"}).llm)
    assert_type(configured, LLMAgent)
    with Agent(Chat("gemini:gemini-3-pro-preview"), tools=[now]) as threaded:
        assert_type(threaded.run("Hi"), RunResult)
    model: AsyncModel = AsyncChat("gemini:gemini-3-pro-preview")
    assert_type(await LLMAgent(model).run("Hi"), RunResult)
    chat: Model = Chat("gemini:gemini-3-pro-preview")
    assert_type(Agent(chat).run("Hi"), RunResult)
    register_provider("mine", lambda api_key, model: Mine())


async def pipelines() -> None:
    graph = parse("digraph g { start [type=start] done [type=exit] start -> done }")
    assert_type(graph, Graph)
    assert_type(lint(graph), list[Finding])
    assert_type(await Engine(graph, timeout="5m").run({"seed": "Hi"}), Ended)
