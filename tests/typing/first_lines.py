"""What a newcomer types first, as mypy and pyright see it; nothing here is run.

A line that both must refuse has `type: ignore`, and each of them reports one that it does not need.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Literal, assert_type

from wire import (
    Agent,
    AsyncChat,
    Chat,
    Client,
    Done,
    FallbackChat,
    LLMAgent,
    Media,
    Message,
    Reply,
    Stop,
    Text,
    TextDelta,
    Thought,
    Tool,
    ToolCall,
    ToolCallEnd,
    ToolResult,
    Usage,
    errors,
    gemini,
    tool,
)
from wire.agent import RunResult, RunState
from wire.chat.chat import AsyncChatStream
from wire.neutral.messages import Part
from wire.tools import FunctionTool


class City:
    name: str


@tool
def add(a: int, b: int = 1) -> int:
    """The sum."""
    return a + b


@tool(timeout=3, needs_approval=True)
async def look(city: str) -> City:
    """The city."""
    return City()


def described(chat: Chat, picture: Media) -> str:
    """As docs/guide/typing.md has it under "What may be None"."""
    chat.ask(["Which port is it?", picture])
    chat.ask(("Which port is it?", picture))
    prompt: list[str | Media] = ["Which port is it?", picture]
    reply = chat.ask(prompt, tools=[add])
    for call in reply.tool_calls:
        add(**(call.arguments or {}))
    tokens = reply.usage.input if reply.usage else 0
    origin = reply.message.origin
    return f"{origin.provider if origin else ''}: {tokens}"


def tools() -> None:
    assert_type(add(1), int)
    assert_type(add(1, b=2), int)
    assert_type(add.function(1), int)
    assert_type(add.name, str)
    waiting: Coroutine[Any, Any, City] = look("Brest")
    print(waiting)
    assert_type(tool(City), Tool)
    assert_type(tool(add.function, name="plus")(3), int)
    kept: list[FunctionTool] = [add, look]
    kept[0]("anything", at="all")
    add("1")  # type: ignore[arg-type]
    add(1, c=2)  # type: ignore[call-arg]
    look(5)  # type: ignore[arg-type, unused-coroutine]
    Chat("gemini:m", tools=[add, look, City])


def parts(part: Part, message: Message) -> None:
    assert_type(part.text, str | None)
    assert_type(part.tool_call, ToolCall | None)
    assert_type(part.tool_result, ToolResult | None)
    assert_type(Text("Hi").text, str)
    assert_type(Thought("So").text, str)
    assert_type(message.text, str)
    assert_type([each.tool_call for each in message.parts], list[ToolCall | None])
    assert_type(message.tool_calls[0].arguments, dict[str, Any] | None)
    print(part.content)  # type: ignore[union-attr]
    assert_type(Message("user", "Hi").parts, tuple[Part, ...])
    Message("user", ["What is this?", Media(url="https://example.com/a.png")], cache=True)
    Message("user", 5)  # type: ignore[arg-type]
    Message(role="user", content="Hi")  # type: ignore[call-arg]
    Message("human")  # type: ignore[arg-type]
    Media("chart.png")  # type: ignore[call-arg, arg-type]
    Media(mime_type="image/png")  # type: ignore[call-arg]
    ToolResult(tool_call_id="c", content="x")  # type: ignore[call-arg]
    gemini.GenerateContentRequest(contents=[], temperature=0)  # type: ignore[call-arg]
    gemini.GenerationConfig(max_output_tokens="many")  # type: ignore[arg-type]


def replies(chat: Chat, reply: Reply[City]) -> None:
    assert_type(reply.output, City)
    assert_type(reply.stop, Stop)
    assert_type(reply.usage, Usage | None)
    assert_type(chat.ask("Hi").output, Any)
    assert_type(chat.ask("Hi", output=City, max_tokens=5, effort="low").output, City)
    assert_type(chat.ask("Hi", output=City, tools=[add]).output, City | None)
    assert_type(chat.ask("Hi", output=City | None).output, Any)
    assert_type(chat.ask("Hi", output=Literal["a", "b"]).output, Any)
    assert_type(chat.ask("Hi", output="json").output, Any)
    chat.ask("Hi", temprature=0)  # type: ignore[call-overload]
    chat.ask("Hi", temperature="hot")  # type: ignore[call-overload]
    print(reply.content)  # type: ignore[attr-defined]
    print(reply.usage.input)  # type: ignore[union-attr]
    with chat.stream("Hi", output=City) as events:
        assert_type(events.reply().output, City)
        assert_type(events.partial(), Reply[City | None])
        for event in events:
            if isinstance(event, TextDelta):
                assert_type(event.text, str)
            if isinstance(event, ToolCallEnd):
                assert_type(event.call, ToolCall)
            if isinstance(event, Done):
                assert_type(event.reply, Reply)
    assert_type(FallbackChat([chat]).ask("Hi", output=City).output, City)
    assert_type(FallbackChat([chat]).ask("Hi", output=City, tools=[add]).output, City | None)


async def tasks(chat: AsyncChat) -> None:
    assert_type((await chat.ask("Hi", output=City)).output, City)
    assert_type((await chat.ask("Hi", output=City, tools=[add])).output, City | None)
    print(chat.ask("Hi").text)  # type: ignore[attr-defined]
    with chat:  # type: ignore[attr-defined]
        pass
    async with chat.stream("Hi", output=City) as events:
        assert_type(events, AsyncChatStream[City])
        assert_type(events.partial().output, City | None)
        for event in events:  # type: ignore[attr-defined]
            print(event)


def refused(client: Client) -> None:
    try:
        client.describe()
    except errors.RateLimitError as error:
        assert_type(error.retry_after, float | None)
        assert_type(error.status, int | None)
        print(error.status_code)  # type: ignore[attr-defined]
    except errors.FieldError as error:
        type_error: TypeError = error
        wrong: errors.ConfigurationError = error
        print(type_error, wrong)
    print(errors.Foreign)  # type: ignore[attr-defined]


def runs(chat: Chat, saved: RunState) -> None:
    agent = Agent(chat, tools=[add], output=City)
    assert_type(agent, Agent[City])
    assert_type(agent.run("Hi").output, City)
    assert_type(agent.run("Hi", output=Usage).output, Usage)
    assert_type(agent.resume(saved).output, City)
    assert_type(Agent("gemini:m", tools=[add]).run("Hi").output, Any)
    assert_type(Agent("gemini:m").run("Hi", output=list[int]).output, list[int])
    plain: Agent = Agent(chat, output="json", max_cost=0.5)
    with plain.stream("Hi", output=City) as events:
        assert_type(events.result.output, City)
    with agent.stream("Hi") as events:
        assert_type(events.result, RunResult[City])
    Agent(chat, temprature=0)  # type: ignore[call-overload]


async def runs_in_tasks(chat: AsyncChat) -> None:
    agent = LLMAgent(chat, output=City)
    assert_type((await agent.run("Hi")).output, City)
    async with agent.stream("Hi", output=Usage) as events:
        assert_type(events.result.output, Usage)
