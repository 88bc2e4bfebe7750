"""Types of the neutral door, as mypy and pyright see them; nothing here is run."""

from __future__ import annotations

import enum
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, TypedDict, assert_type

from wire import (
    Account,
    Agent,
    AsyncChat,
    AsyncChats,
    AsyncFallbackChat,
    Chat,
    ChatProvider,
    Chats,
    Decisions,
    Embeddings,
    FallbackChat,
    FunctionCall,
    GeminiAgent,
    Guard,
    HistoryManager,
    ListedModel,
    LLMAgent,
    LLMResponse,
    Message,
    ObjectDelta,
    Reply,
    Restart,
    StreamDelta,
    Text,
    TokenCount,
    Tool,
    ToolCall,
    ToolContext,
    ToolSchema,
    bulk,
    create_provider,
    decide,
    embed,
    history,
    load_config,
    one_of,
    register_provider,
    scale,
    tool,
    yes_no,
)
from wire.agent import AgentEvent, AsyncModel, Model, RunResult, dump_session, load_session
from wire.catalogue.usage import Usage
from wire.chat.chat import AsyncChatStream, ChatStream
from wire.core.memory import Noted
from wire.http.aio import AsyncStream
from wire.http.client import Stream
from wire.neutral.messages import Event, Part
from wire.pipeline import Ended, Engine, Finding, Graph, lint, parse
from wire.tools import FunctionTool, mcp


@dataclass
class Weather:
    city: str
    temp_c: int


class Sky(enum.Enum):
    CLEAR = "clear"
    GREY = "grey"


class Forecast(TypedDict):
    sky: Sky


def threads(chat: Chat) -> None:
    reply = chat.ask("Hi", temperature=0.2, tools=[now])
    assert_type(reply, Reply)
    assert_type(reply.text, str)
    assert_type(reply.tool_calls, tuple[ToolCall, ...])
    assert_type(reply.usage, Usage | None)
    assert_type(reply.output, Any)
    assert_type(chat.ask(messages=[Message.user("Hi")], output=Weather), Reply[Weather])
    assert_type(chat.ask("Hi", output=Weather, output_retries=2, timeouts=3).output, Weather)
    assert_type(chat.ask("Hi", output=list[Weather]).output, list[Weather])
    assert_type(chat.ask("Hi", output=Sky).output, Sky)
    assert_type(chat.ask("Hi", output=Forecast).output, Forecast)
    assert_type(chat.ask("Hi", output=int).output, int)
    assert_type(chat.ask("Hi", output={"type": "object"}).output, Any)
    print(chat.ask("Hi", output=Weather).output.altitude)  # type: ignore[attr-defined]
    chat.ask("Hi", output=Weather, output_retry=2)  # type: ignore[call-overload]
    kept: list[Reply[object]] = [chat.ask("Hi", output=Weather)]
    assert_type(kept[0].reasks, tuple[Reply, ...])
    with chat.stream("Hi") as events:
        assert_type(events, ChatStream)
        for event in events:
            assert_type(event, Event)
        assert_type(next(events), Event)
        assert_type(events.reply(), Reply)
        assert_type(events.partial(), Reply[Any | None])
        assert_type(events.account, Account)
        events.result()  # type: ignore[attr-defined]
    with chat.stream("Hi", output=Weather) as growing:
        assert_type(growing, ChatStream[Weather])
        for event in growing:
            assert_type(event, Event)
            if isinstance(event, ObjectDelta):
                assert_type(event.value, Any)
                assert_type(event.path, tuple[str | int, ...])
                assert_type(event.growing, bool)
            if isinstance(event, Restart):
                assert_type(event.error, str)
                assert_type(event.reply, Reply | None)
        assert_type(growing.reply(), Reply[Weather])
        assert_type(growing.partial().output, Weather | None)
    with chat.client.stream(chat.stream_call("Hi")) as sent:
        assert_type(sent, Stream[Event, Reply])
        assert_type(sent.result(), Reply)
    assert_type(chat.count("Hi").total, int)
    assert_type(chat.client.embed("Hi", "m")[0], list[float])
    assert_type(embed(["Hi"], "gemini:m"), Embeddings)
    asked = {"a": yes_no("A"), "b": one_of("B", {"c": None, True: "d"}), "e": scale("E", ["f"])}
    assert_type(decide(["Hi", {"a": 1}], asked, "gemini:m"), Decisions)
    assert_type(chat.client.decide("Hi", asked, "m")["a"].value, str | bool | float | None)
    assert_type(next(chat.client.models()), ListedModel)
    assert_type(mcp.tools_in_threads(object()), list[FunctionTool])


async def tasks(chat: AsyncChat) -> None:
    assert_type(await chat.ask("Hi"), Reply)
    assert_type((await chat.ask("Hi", output=Weather)).output, Weather)
    async with chat.stream("Hi", output=Weather) as growing:
        assert_type(growing, AsyncChatStream[Weather])
        assert_type(await growing.reply(), Reply[Weather])
    async with chat.stream("Hi") as events:
        assert_type(events, AsyncChatStream)
        async for event in events:
            assert_type(event, Event)
        assert_type(await events.reply(), Reply)
        assert_type(events.partial(), Reply[Any | None])
    async with chat.client.stream(chat.stream_call("Hi")) as sent:
        assert_type(sent, AsyncStream[Event, Reply])
        assert_type(await sent.result(), Reply)
    assert_type(await chat.count("Hi"), TokenCount)
    assert_type(await chat.client.embed("Hi", "m"), Embeddings)
    assert_type(await chat.client.decide("Hi", {"a": yes_no("A")}, "m"), Decisions)
    async for model in chat.client.models():
        assert_type(model, ListedModel)
    assert_type(await mcp.tools(object()), list[FunctionTool])


def several(chats: Chats, fallback: FallbackChat) -> None:
    assert_type(chats.ask("Hi", model="m", output=Weather), Reply[Weather])
    assert_type(chats.ask("Hi", model="m"), Reply)
    assert_type(fallback.ask("Hi", output=Weather), Reply[Weather])
    assert_type(fallback.ask("Hi"), Reply)
    with chats.stream("Hi", model="m", output=Weather) as events:
        assert_type(events, ChatStream[Weather])
    with fallback.stream("Hi", output=Weather) as begun:
        assert_type(begun, ChatStream[Weather])


async def several_in_tasks(chats: AsyncChats, fallback: AsyncFallbackChat) -> None:
    assert_type(await chats.ask("Hi", model="m", output=Weather), Reply[Weather])
    assert_type(await fallback.ask("Hi", output=Weather), Reply[Weather])
    async with chats.stream("Hi", model="m", output=Weather) as events:
        assert_type(events, AsyncChatStream[Weather])
    async with fallback.stream("Hi", output=Weather) as begun:
        assert_type(begun, AsyncChatStream[Weather])


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


async def bulk_runs(rows: list[str], data: IO[bytes], text: IO[str]) -> None:
    model = "gemini:gemini-3.8-flash"
    assert_type(bulk.run(data, model), bulk.Run[Any])
    assert_type(bulk.run(text, model, column="q", output=Sky), bulk.Run[Sky])
    run = bulk.run(rows, model, output=Weather, to="out.jsonl", max_tokens=100, concurrent=4)
    assert_type(run, bulk.Run[Weather])
    async for result in run:
        assert_type(result, bulk.Result[Weather])
        if result.reply is not None:
            assert_type(result.reply, Reply[Weather])
            assert_type(result.reply.output.city, str)
            print(result.reply.output.altitude)  # type: ignore[attr-defined]
    async for listed in bulk.run(rows, [model], output=list[Weather]):
        assert_type(listed, bulk.Result[list[Weather]])
    some = bulk.run(rows, [Chat(model), AsyncChat(model), model], output=Weather)
    assert_type(some, bulk.Run[Weather])
    async for plain in bulk.run(rows, AsyncChat(model)):
        assert_type(plain, bulk.Result[Any])
    async for schema in bulk.run(bulk.from_file("in.csv"), model, output={"type": "object"}):
        assert_type(schema.reply, Reply[Any] | None)
    agent = LLMAgent(model, output=Weather, tools=[now])
    assert_type(bulk.run(rows, agent, to="out.jsonl", batch=True), bulk.Run[Weather])
    assert_type(bulk.run(rows, Agent(model, output=Weather), max_steps=9), bulk.Run[Weather])
    assert_type(bulk.run(rows, agent, output=Sky), bulk.Run[Sky])
    async for of_agent in bulk.run(rows, LLMAgent(model)):
        assert_type(of_agent, bulk.Result[Any])
        assert_type(of_agent.run, bulk.AgentRun | None)
    bulk.run(rows, model, output=Weather, stop_afer=1)  # type: ignore[call-overload]
    kept: list[bulk.Result[object]] = [each async for each in run]
    print(kept)
