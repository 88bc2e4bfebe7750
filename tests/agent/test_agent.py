"""Agents whole: on asyncio, on trio, by threads; against emulators and providers of one's own."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from tests.agent.agents import MODEL, Scripted, Talk, on, talk
from tests.http.loopback import Loopback, loopback
from tests.joined import joined
from wire import create_provider
from wire.agent import (
    Agent,
    AgentEvent,
    GeminiAgent,
    Guard,
    LLMAgent,
    LLMConfig,
    RunResult,
    RunState,
    dump_run,
    load_config,
    load_run,
)
from wire.agent.provider import LLMResponse, StreamDelta
from wire.catalogue.usage import Usage
from wire.chat.chat import AsyncChat, Chat
from wire.core.retry import NONE, Retry
from wire.errors import (
    BadRequestError,
    ConfigurationError,
    ConnectionLost,
    RuleError,
    ServerError,
    StreamIncomplete,
    ToolError,
)
from wire.history import HistoryManager, check
from wire.neutral.messages import (
    Done,
    Message,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResult,
)
from wire.neutral.request import Tool
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import ToolContext, ToolRun, tool

AT_ONCE = Retry(base=0)
STYLES = ["asyncio", "trio", "threads"]
TASKS = ["asyncio", "trio"]


@pytest.fixture(params=STYLES)
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def get_weather(city: str) -> dict[str, str]:
    """The weather of a city."""
    return {"city": city, "sky": "sunny"}


WEATHER = [
    {
        "match": {"number": 1},
        "say": {"text": "I look.", "calls": [{"name": "get_weather", "args": {"city": "東京"}}]},
    },
    {"match": {"number": 2}, "say": "晴れです。"},
]


@pytest.mark.row("S1-56", "S3-07", "S3-17")
def test_call_answer_text_in_exactly_two_requests(style: str) -> None:
    said = talk(
        style,
        WEATHER,
        "東京の天気は？",
        tools=[get_weather],
        system_prompt="Be brief.",
        max_tokens=100,
        temperature=0.5,
    )
    assert (said.result.text, said.result.reason, len(said.requests)) == ("晴れです。", "end", 2)
    assert [message.role for message in said.result.messages] == ["assistant", "tool", "assistant"]
    assert said.result.messages[0].tool_calls[0].arguments == {"city": "東京"}
    assert said.result.messages[1].tool_results[0].answer == {"city": "東京", "sky": "sunny"}
    assert said.history == (Message.user("東京の天気は？"), *said.result.messages)
    first, second = said.bodies
    assert first["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert first["generationConfig"] == {"maxOutputTokens": 100, "temperature": 0.5}
    signed = second["contents"][1]["parts"]
    assert signed[1]["functionCall"]["args"] == {"city": "東京"}
    assert base64.b64decode(signed[1]["thoughtSignature"])
    assert second["contents"][2]["parts"][0]["functionResponse"] == {
        "name": "get_weather",
        "id": signed[1]["functionCall"]["id"],
        "response": {"city": "東京", "sky": "sunny"},
    }


@pytest.mark.row("S1-52", "S1-56", "S1-71")
def test_a_streamed_run_is_the_same_run(style: str) -> None:
    whole = talk(style, WEATHER, "東京の天気は？", tools=[get_weather])
    streamed = talk(style, WEATHER, "東京の天気は？", tools=[get_weather], run={"stream": True})
    # A stream of Gemini ends in an empty text, which may carry the signature, and goes back as it
    # came.
    assert [_spoken(each) for each in streamed.result.messages] == [
        _spoken(each) for each in whole.result.messages
    ]
    assert streamed.bodies[1]["contents"][1]["parts"] == [
        *whole.bodies[1]["contents"][1]["parts"],
        {"text": ""},
    ]
    assert "".join(delta.text for delta in streamed.deltas) == "I look.晴れです。"
    starts = [delta for delta in streamed.deltas if delta.function_call_start]
    ends = [delta.function_call_end for delta in streamed.deltas if delta.function_call_end]
    assert [(delta.function_call_start, delta.index, delta.call_id) for delta in starts] == [
        ("get_weather", 0, ends[0].id)
    ]
    assert ends[0] == whole.result.messages[0].tool_calls[0]
    assert [delta.finish_reason for delta in streamed.deltas if delta.finish_reason] == [
        "tool_calls",
        "end",
    ]
    assert streamed.deltas[-1].response is not None
    assert streamed.deltas[-1].response.text == "晴れです。"


def _spoken(message: Message) -> tuple[Any, ...]:
    return message.role, message.text, message.tool_calls, message.tool_results


def test_a_second_run_knows_the_first(style: str) -> None:
    script = [
        {"match": {"number": 1}, "say": "Hello Ada."},
        {"match": {"number": 2}, "say": "Ada."},
    ]
    said = talk(style, script, "I am Ada.", "Who am I?")
    assert [content["role"] for content in said.bodies[1]["contents"]] == ["user", "model", "user"]
    assert said.result.messages == said.history[3:]


@pytest.mark.row("S1-50")
def test_a_tool_by_name_description_schema_and_function(style: str) -> None:
    schema = {"properties": {"city": {"type": "string"}}, "required": ["city"]}

    def weather(city: str) -> str:
        return f"rain in {city}"

    def register(agent: Any) -> None:
        agent.register_tool("get_weather", "The weather now.", schema, weather)
        agent.register_tool(name="now", description="The time.", parameters={}, func=lambda: "12")
        with pytest.raises(RuleError, match="two tools are called now"):
            agent.register_tool("now", "The time.", {}, weather)
        agent.register_tool("now", "The hour.", {}, lambda: "12", replace=True)
        with pytest.raises(ToolError, match=r"^tool later: func: missing"):
            agent.register_tool("later", "Later.", {})
        with pytest.raises(ToolError, match=r"^description: only a tool that is given by its name"):
            agent.register_tool(get_weather, "Another.")

    calls = [{"name": "get_weather", "args": {"city": "Bergen"}}, {"name": "now", "args": {}}]
    said = talk(style, [{"say": {"calls": calls}}, {"say": "Rain."}], "Hi", setup=register)
    assert said.bodies[0]["tools"] == [
        {
            "functionDeclarations": [
                {
                    "name": "get_weather",
                    "description": "The weather now.",
                    "parameters": {"type": "OBJECT", **schema}
                    | {"properties": {"city": {"type": "STRING"}}},
                },
                {"name": "now", "description": "The hour."},
            ]
        }
    ]
    assert [run.result.answer for run in said.result.runs] == [
        {"result": "rain in Bergen"},
        {"result": "12"},
    ]
    assert schema == {"properties": {"city": {"type": "string"}}, "required": ["city"]}


def test_the_history_of_an_agent_under_its_other_names_and_a_new_conversation(style: str) -> None:
    seen: list[Any] = []

    def setup(agent: Any) -> None:
        agent.history_manager.add_message(Message.user("I am Ada."))
        seen.append(agent.history_manager is agent.history)
        seen.append([message.text for message in agent.history_manager.get_history()])
        agent.reset()
        seen.append(agent.history_manager.get_history())

    said = talk(style, [{"say": "Hello."}], "Who am I?", setup=setup)
    assert seen == [True, ["I am Ada."], []]
    assert [message.text for message in said.history] == ["Who am I?", "Hello."]


@pytest.mark.row("S1-50")
def test_tools_are_registered_once(style: str) -> None:
    def register(agent: Any) -> None:
        agent.register_tool(get_weather)
        with pytest.raises(RuleError, match="two tools are called get_weather"):
            agent.register_tool(get_weather)
        agent.register_tool(Tool("get_weather", "Another."), replace=True)

    said = talk(style, [{"say": "Hi."}], "Hi", setup=register)
    assert said.bodies[0]["tools"] == [
        {"functionDeclarations": [{"name": "get_weather", "description": "Another."}]}
    ]


@pytest.mark.row("S1-56")
def test_the_limit_keeps_the_text_and_a_history_that_can_be_sent(style: str) -> None:
    script = [
        {
            "times": 0,
            "say": {"text": "Again.", "calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]},
        }
    ]
    said = talk(style, script, "Hi", "Go on", tools=[get_weather], run={"max_steps": 2})
    assert [(each.reason, each.text) for each in said.results] == [("max_steps", "Again.")] * 2
    assert len(said.requests) == 4
    assert check(said.history) == []


@pytest.mark.row("S1-57")
def test_the_guard_ends_a_run_that_repeats_itself(style: str) -> None:
    script = [{"times": 0, "say": {"calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]}}]
    said = talk(style, script, "Hi", tools=[get_weather], guard=Guard())
    assert (said.result.reason, len(said.requests)) == ("guard", 2)
    assert check(said.history) == []


@pytest.mark.row("S1-58", "S0-06")
def test_made_and_refused_calls_are_answered_in_one_message(style: str) -> None:
    calls = [{"name": "get_weather", "args": {"city": city}} for city in ("Oslo", "Rome")]
    script = [
        {"match": {"number": 1}, "say": {"calls": calls}},
        {"match": {"number": 2}, "say": "Done."},
    ]

    def approve(call: ToolCall) -> bool | str:
        return (call.arguments or {})["city"] == "Oslo" or "not Rome"

    said = talk(style, script, "Hi", tools=[get_weather], approve=approve)
    assert [result.answer for result in said.result.messages[1].tool_results] == [
        {"city": "Oslo", "sky": "sunny"},
        {"error": "not Rome"},
    ]
    responses = said.bodies[1]["contents"][2]["parts"]
    assert [part["functionResponse"]["response"] for part in responses][1] == {"error": "not Rome"}


@pytest.mark.row("S3-24")
def test_a_final_tool_needs_no_further_request(style: str) -> None:
    @tool(final=True)
    def leave(word: str) -> str:
        """Say the last word."""
        return word

    script = [{"say": {"calls": [{"name": "leave", "args": {"word": "bye"}}]}}]
    said = talk(style, script, "Hi", tools=[leave])
    assert (said.result.reason, len(said.requests)) == ("final", 1)
    assert said.result.messages[-1].tool_results[0].content == "bye"


@pytest.mark.row("S3-25")
def test_tools_see_the_call_the_model_and_the_messages(style: str) -> None:
    def who(context: ToolContext) -> list[str]:
        """Who is there."""
        return [context.model, context.messages[0].text, context.call.name]

    script = [
        {"match": {"number": 1}, "say": {"calls": [{"name": "who"}]}},
        {"match": {"number": 2}, "say": "Ok."},
    ]
    said = talk(style, script, "Hi", tools=[who])
    assert said.result.messages[1].tool_results[0].content == [
        "gemini-3.1-pro-preview",
        "Hi",
        "who",
    ]


def test_a_run_waits_is_saved_and_goes_on_in_another_process(style: str) -> None:
    @tool(needs_approval=True)
    def write(name: str) -> str:
        """Write a file."""
        return f"{name} written"

    calls = [
        {"name": "write", "args": {"name": "a"}},
        {"name": "ask_user", "args": {}},
        {"name": "get_weather", "args": {"city": "Oslo"}},
    ]
    tools = [write, Tool("ask_user", "Ask the user."), get_weather]
    waiting = talk(style, [{"say": {"calls": calls}}], "Hi", tools=tools)
    assert (waiting.result.reason, [call.name for call in waiting.result.waiting]) == (
        "waiting",
        ["write", "ask_user"],
    )
    saved = dump_run(waiting.result.state, {"title": "A run"})
    state = load_run(saved)
    assert state == waiting.result.state
    to_write, to_ask = state.open_calls

    emulator = Emulator([{"say": "Done."}])
    verdicts = {to_write.id: True}
    results = [ToolResult(to_ask.id, "ask_user", "blue")]

    async def main() -> Any:
        async with LLMAgent(
            AsyncChat(MODEL, api_key="fake-key", http=AsyncEmulatorTransport(emulator)), tools=tools
        ) as agent:
            return await agent.resume(
                state, results=results, verdicts=verdicts
            ), agent.history.messages

    result, history = on("asyncio", main)
    assert [each.answer for each in result.messages[1].tool_results] == [
        {"result": "a written"},
        {"result": "blue"},
        {"city": "Oslo", "sky": "sunny"},
    ]
    assert (result.reason, result.text, len(result.messages)) == ("end", "Done.", 3)
    assert tuple(history) == result.state.messages
    # Law 3 holds after loading: the model's turn goes back as it came.
    origin = waiting.result.messages[0].origin
    assert origin is not None
    sent = json.loads(origin.raw)
    assert emulator.requests[0]["body"]["contents"][1] == sent
    assert sent["parts"][0]["thoughtSignature"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (
            '{"format": "wire-session", "version": 1, "messages": []}',
            "x.json: metadata.run: missing, this session has no run; to continue it, give "
            "HistoryManager(read_session(path).messages) to an agent as its history",
        ),
        (
            '{"format": "wire-session", "version": 1, "messages": [], "metadata": '
            '{"run": {"begun": 3}}}',
            "x.json: metadata.run.begun: 3, but there are 0 messages",
        ),
        (
            '{"format": "wire-session", "version": 1, "messages": [], "metadata": '
            '{"run": {"begun": 0, "x": 1}}}',
            "x.json: metadata.run: object contains unknown field `x`",
        ),
    ],
)
def test_a_file_that_is_no_run_is_refused(broken: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        load_run(broken, "x.json")
    assert str(refused.value) == said


def test_a_run_that_was_told_to_stop_goes_on(style: str) -> None:
    def enough(state: RunState) -> bool:
        return state.asked >= 1

    said = talk(style, WEATHER, "東京の天気は？", tools=[get_weather], stop_when=enough)
    assert (said.result.reason, len(said.requests)) == ("stopped", 1)
    assert check(said.history) == []


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.row("S1-53")
def test_an_empty_answer_is_asked_for_again(style: str) -> None:
    empty = {
        "candidates": [
            {"content": {"role": "model", "parts": []}, "finishReason": "MALFORMED_FUNCTION_CALL"}
        ]
    }
    script = [{"match": {"number": 1}, "answer": empty}, {"match": {"number": 2}, "say": "Here."}]
    said = talk(style, script, "Hi", retry=AT_ONCE)
    assert (said.result.text, len(said.requests)) == ("Here.", 2)
    with pytest.raises(
        StreamIncomplete, match=r"reply is empty \(finish MALFORMED_FUNCTION_CALL\)"
    ):
        talk(style, [{"times": 0, "answer": empty}], "Hi", retry=AT_ONCE)


def test_an_error_keeps_what_was_done_before_it(style: str) -> None:
    script = [
        WEATHER[0],
        {"match": {"number": 2}, "fault": "500"},
        {"match": {"number": 3}, "say": "Sunny."},
    ]
    kept: list[Any] = []
    with pytest.raises(ServerError):
        talk(style, script, "Hi", tools=[get_weather], setup=kept.append)
    agent = kept[0]
    assert [message.role for message in agent.history.messages] == ["user", "assistant", "tool"]
    assert agent.last_run.result.messages == tuple(agent.history.messages)[1:]


@pytest.mark.row("S1-72")
@pytest.mark.parametrize("backend", TASKS)
def test_a_stream_that_fails_before_its_first_piece_is_asked_for_once_whole(
    backend: str,
) -> None:
    provider = Scripted([ConnectionResetError("gone")], LLMResponse(text="Hello."))
    deltas: list[StreamDelta] = []
    result = on(
        backend, lambda: LLMAgent(provider).run("Hi", stream=True, on_stream_delta=deltas.append)
    )
    assert [how for how, _ in provider.asked] == ["generate_stream", "generate"]
    assert result.text == "Hello."
    assert [delta.text for delta in deltas] == ["Hello.", ""]
    assert provider.closed == 1


@pytest.mark.row("S1-72")
@joined("backend", TASKS)
@joined(
    "answer",
    [
        [BadRequestError("no", status=400)],
        [StreamDelta(text="Hel"), ConnectionResetError("gone")],
        [StreamDelta(text="Hel"), ConnectionLost("gone", retryable=True)],
    ],
)
def test_other_failures_of_a_stream_are_raised_and_nothing_is_asked_again(
    backend: str, answer: list[Any]
) -> None:
    provider = Scripted(answer, LLMResponse(text="never"))
    with pytest.raises(type(answer[-1])) as raised:
        on(backend, lambda: LLMAgent(provider).run("Hi", stream=True))
    assert raised.value is answer[-1]
    assert len(provider.asked) == 1


@pytest.mark.row("S1-51")
@pytest.mark.parametrize("backend", TASKS)
def test_a_provider_of_ones_own_is_asked_again(backend: str) -> None:
    provider = Scripted(
        TimeoutError(), ServerError("x", status=503, retryable=True), LLMResponse(text="Hello.")
    )
    assert on(backend, lambda: LLMAgent(provider, retry=AT_ONCE).run("Hi")).text == "Hello."
    assert len(provider.asked) == 3


# --- providers ------------------------------------------------------------------------------------


@pytest.mark.row("S1-49", "S1-10")
@pytest.mark.parametrize("backend", TASKS)
def test_any_provider_and_any_answer(backend: str) -> None:
    call = ToolCall(name="get_weather", arguments={"city": "Oslo"})
    provider = Scripted(
        LLMResponse(text="I look.", function_calls=(call,), usage=Usage(input=1)),
        LLMResponse(text="Sunny.", usage=Usage(input=2)),
    )
    agent = LLMAgent(provider, "Be brief.", tools=[get_weather], temperature=0.1)
    result = on(backend, lambda: agent.run("Hi"))
    assert (result.text, result.usage) == ("Sunny.", Usage(input=3))
    assert provider.asked[0][1]["system_prompt"] == "Be brief."
    assert provider.asked[0][1]["temperature"] == 0.1
    assert [each.name for each in provider.asked[0][1]["tools"]] == ["get_weather"]
    assert provider.asked[1][1]["messages"][1] == Message.assistant("I look.", call)
    assert GeminiAgent is LLMAgent


class OfTheSeed:
    """A provider with the signature of the seed: no parameter has a default."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    async def generate(
        self, messages: Any, tools: Any, system_prompt: Any, max_tokens: Any, temperature: Any
    ) -> LLMResponse:
        self.asked.append((tools, system_prompt, max_tokens, temperature))
        return LLMResponse(text="Hello.")

    async def generate_stream(
        self, messages: Any, tools: Any, system_prompt: Any, max_tokens: Any, temperature: Any
    ) -> AsyncIterator[StreamDelta]:
        self.asked.append((tools, system_prompt, max_tokens, temperature))
        yield StreamDelta(text="Hello.")


@pytest.mark.row("S1-10")
@pytest.mark.parametrize("backend", TASKS)
@pytest.mark.parametrize("stream", [False, True])
def test_a_provider_gets_all_five_arguments(backend: str, stream: bool) -> None:
    provider = OfTheSeed()
    assert on(backend, lambda: LLMAgent(provider).run("Hi", stream=stream)).text == "Hello."
    agent = LLMAgent(provider, "Be brief.", max_tokens=9, temperature=0.0)
    assert on(backend, lambda: agent.run("Hi", stream=stream)).text == "Hello."
    assert provider.asked == [(None, None, None, None), (None, "Be brief.", 9, 0.0)]


@pytest.mark.row("S1-10")
def test_a_provider_that_takes_other_arguments_is_refused_at_once() -> None:
    class OfMessages(OfTheSeed):
        async def generate(self, messages: Any) -> LLMResponse:  # type: ignore[override]
            raise AssertionError

    with pytest.raises(ConfigurationError) as refused:
        LLMAgent(OfMessages())
    said = str(refused.value)
    assert said.startswith("provider OfMessages: generate: got an unexpected keyword argument")
    assert said.endswith("it must take messages, system_prompt, tools, max_tokens, temperature")


@pytest.mark.row("S1-07")
@pytest.mark.parametrize("backend", TASKS)
def test_a_stream_of_ones_own_is_folded(backend: str) -> None:
    pieces = [
        StreamDelta(text="I "),
        StreamDelta(text="look."),
        StreamDelta(function_call_start="get_weather", index=0, call_id="c0"),
        StreamDelta(function_call_delta='{"city": ', index=0, call_id="c0"),
        StreamDelta(function_call_delta='"Oslo"}', index=0, call_id="c0"),
        StreamDelta(finish_reason="tool_calls", usage=Usage(output=3)),
    ]
    provider = Scripted(pieces, [StreamDelta(text="Sunny.")])
    result = on(backend, lambda: LLMAgent(provider, tools=[get_weather]).run("Hi", stream=True))
    call = ToolCall(
        id="c0", name="get_weather", arguments={"city": "Oslo"}, text='{"city": "Oslo"}'
    )
    assert result.messages[0] == Message.assistant("I look.", call)
    assert result.messages[1].tool_results == (
        ToolResult("c0", "get_weather", {"city": "Oslo", "sky": "sunny"}),
    )
    assert result.usage == Usage(output=3)


@pytest.mark.parametrize("backend", TASKS)
def test_events_come_by_iterator_and_leaving_ends_the_run(backend: str) -> None:
    async def main() -> tuple[list[AgentEvent], int, Any]:
        provider = Scripted(
            [StreamDelta(text="a"), StreamDelta(text="b")],
            [StreamDelta(text="c"), StreamDelta(text="d")],
        )
        agent = LLMAgent(provider)
        async with agent.stream("Hi") as events:
            seen = [event async for event in events]
        async with agent.stream("Hi") as again:
            async for event in again:
                seen.append(event)
                break
        return seen, provider.closed, (events.result, again.result)

    seen, closed, (first, second) = on(backend, main)
    assert first.reply is not None
    assert seen == [TextDelta("a"), TextDelta("b"), Done(first.reply), TextDelta("c")]
    assert closed == 2
    assert (first.text, first.reason) == ("ab", "end")
    assert second.messages == ()


def test_threads_get_events_by_iterator_too() -> None:
    with Agent(
        Chat(MODEL, api_key="fake-key", http=EmulatorTransport(Emulator([{"say": "Hello there."}])))
    ) as agent:
        with agent.stream("Hi") as events:
            *texts, last = events
        assert "".join(event.text for event in texts) == events.result.text == "Hello there."
        assert last == Done(events.result.reply)


def test_events_of_a_run_are_those_of_its_replies_and_the_runs_of_its_calls(style: str) -> None:
    """A run of two turns: text and two calls, one of which is refused, then the answer."""
    script = [
        {
            "match": {"number": 1},
            "say": {
                "text": "I look.",
                "calls": [
                    {"name": "get_weather", "args": {"city": "Oslo"}},
                    {"name": "get_weather", "args": {"city": "Rome"}},
                ],
            },
        },
        {"say": "Sunny."},
    ]
    options: dict[str, Any] = {
        "tools": [get_weather],
        "approve": lambda call: call.arguments["city"] != "Rome",
    }
    events: list[Any] = []
    if style == "threads":
        chat = Chat(MODEL, api_key="fake-key", http=EmulatorTransport(Emulator(script)))
        with Agent(chat, **options) as agent, agent.stream("Hi") as stream:
            events += stream
            result = stream.result
    else:

        async def main() -> RunResult:
            http = AsyncEmulatorTransport(Emulator(script))
            chat = AsyncChat(MODEL, api_key="fake-key", http=http)
            async with LLMAgent(chat, **options) as agent, agent.stream("Hi") as stream:
                async for event in stream:
                    events.append(event)
                return stream.result

        result = on(style, main)
    first, second = result.steps
    oslo, rome = first.reply.tool_calls
    kinds = [type(event) for event in events if not isinstance(event, TextDelta | ToolCallDelta)]
    of_call = [ToolCallStart, ToolCallEnd]
    assert kinds == [*of_call, *of_call, Done, ToolRun, ToolRun, Done]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == (
        "I look.Sunny."
    )
    assert [event.call for event in events if isinstance(event, ToolCallEnd)] == [oslo, rome]
    assert [event.reply for event in events if isinstance(event, Done)] == [
        first.reply,
        second.reply,
    ]
    assert [event.result for event in events if isinstance(event, ToolRun)] == [
        ToolResult(oslo.id, "get_weather", {"city": "Oslo", "sky": "sunny"}),
        ToolResult(rome.id, "get_weather", "refused by the user", error=True),
    ]


def test_who_stops_at_done_has_the_reply(style: str) -> None:
    script = [{"say": "Hello."}]
    if style == "threads":
        chat = Chat(MODEL, api_key="fake-key", http=EmulatorTransport(Emulator(script)))
        with Agent(chat) as agent:
            with agent.stream("Hi") as events:
                for event in events:
                    if isinstance(event, Done):
                        break
            history = agent.history.messages
    else:

        async def main() -> Any:
            http = AsyncEmulatorTransport(Emulator(script))
            async with LLMAgent(AsyncChat(MODEL, api_key="fake-key", http=http)) as agent:
                async with agent.stream("Hi") as events:
                    async for event in events:
                        if isinstance(event, Done):
                            break
                return agent.history.messages

        history = on(style, main)
    assert [message.text for message in history] == ["Hi", "Hello."]


def test_an_empty_reply_that_is_asked_for_again_has_no_done(style: str) -> None:
    script = [
        {"match": {"number": 1}, "say": ""},
        {"say": "Hello."},
    ]
    seen = talk(style, script, "Hi", run={"stream": True}, retry=AT_ONCE)
    assert [delta.text for delta in seen.deltas if delta.text] == ["Hello."]
    assert [delta.response.text for delta in seen.deltas if delta.response] == ["Hello."]


@pytest.mark.row("S1-56")
@pytest.mark.parametrize("backend", TASKS)
def test_the_callback_may_be_async(backend: str) -> None:
    seen: list[str] = []

    async def told(delta: StreamDelta) -> None:
        await anyio.lowlevel.checkpoint()
        seen.append(delta.text)

    on(
        backend,
        lambda: LLMAgent(Scripted([StreamDelta(text="a"), StreamDelta(text="b")])).run(
            "Hi", stream=True, on_stream_delta=told
        ),
    )
    assert seen == ["a", "b", ""]  # the last delta has the finish reason and the whole response


@pytest.mark.row("S1-13")
@pytest.mark.parametrize("backend", TASKS)
def test_cancelling_a_run_closes_its_stream_and_the_history_can_go_on(backend: str) -> None:
    class Waiting(Scripted):
        async def generate_stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[StreamDelta]:
            try:
                yield StreamDelta(text="a")
                await anyio.sleep(20)
            finally:
                self.closed += 1

    async def main() -> tuple[int, list[str]]:
        provider = Waiting()
        agent = LLMAgent(provider)
        with anyio.CancelScope() as scope:
            await agent.run("Hi", stream=True, on_stream_delta=lambda delta: scope.cancel())
        assert scope.cancelled_caught
        return provider.closed, [message.role for message in agent.history.messages]

    assert on(backend, main) == (1, ["user"])


@pytest.mark.row("S1-13")
@joined("method", ["generate", "generate_stream"])
@joined("backend", TASKS)
def test_a_request_is_awaited_and_cancelling_closes_its_connection(
    backend: str, method: str
) -> None:
    """No thread waits for the answer, and the server sees the end of the connection at once."""

    async def until(done: Callable[[], bool]) -> None:
        with anyio.fail_after(10):
            while not done():  # noqa: ASYNC110 - the server runs in threads
                await anyio.sleep(0.002)

    async def ask(provider: Any) -> None:
        if method == "generate":
            await provider.generate([Message.user("Hi")])
        else:
            async for _ in provider.generate_stream([Message.user("Hi")]):
                pass

    async def main(server: Loopback) -> list[str]:
        before = set(threading.enumerate())
        async with create_provider(
            "gemini", "fake-key", "gemini-3.5-flash", server.url, retry=NONE
        ) as provider:
            async with anyio.create_task_group() as group:
                group.start_soon(ask, provider)
                await until(lambda: bool(server.requests))
                names = [each.name for each in set(threading.enumerate()) - before]
                assert not server.closed.acquire(blocking=False)
                group.cancel_scope.cancel()
            await until(lambda: server.closed.acquire(blocking=False))
        return names

    with loopback(["hold"]) as server:
        threads = on(backend, main, server)
    # The watchdog of all clients keeps clocks; it may have been started by an earlier test.
    assert set(threads) <= {"loopback serves", "wire watchdog"}


WANTED = "provider: expected an object with generate and generate_stream, or an AsyncChat"
CHAT = Chat(MODEL, api_key="fake-key", http=EmulatorTransport(Emulator()))
ASYNC_CHAT = AsyncChat(MODEL, api_key="fake-key", http=AsyncEmulatorTransport(Emulator()))


@joined(
    ("make", "said"),
    [
        (
            lambda: LLMAgent(object()),
            f"{WANTED}, not object",
        ),
        (lambda: LLMAgent(Scripted), f"{WANTED}, not the class Scripted"),
        (lambda: LLMAgent(CHAT), f"{WANTED}, not Chat"),
        (
            lambda: Agent(object()),
            "model: expected a Chat, not object; LLMAgent takes async models and providers",
        ),
        (
            lambda: Agent("gemini-3.8-flash"),
            "model: 'gemini-3.8-flash': missing 'provider:model-name' format; write "
            "'gemini:gemini-3.8-flash'",
        ),
        (
            lambda: LLMAgent("Be brief."),
            "model: 'Be brief.': missing 'provider:model-name' format",
        ),
        (lambda: Agent(ASYNC_CHAT), "model: expected a Chat, not AsyncChat"),
        (lambda: LLMAgent(Scripted(), history=[]), "history: expected a HistoryManager, not list"),
        (
            lambda: LLMAgent(Scripted(), tool=[]),
            "tool: no such option; did you mean 'tools'?",
        ),
    ],
)
def test_what_is_no_agent_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        make()
    assert str(refused.value).startswith(said)


# --- configuration, many agents -------------------------------------------------------------------


@pytest.mark.row("S1-64", "S1-65", "S1-71")
@pytest.mark.parametrize("backend", TASKS)
def test_two_vendors_in_one_run_each_with_its_own_host_and_key(
    backend: str,
) -> None:
    config = load_config(
        {
            "provider": "gemini",
            "api_key": "fake-gemini-key",
            "model": "gemini-3.1-pro-preview",
            "multi_agent": {
                "agents": {
                    "parser": {
                        "provider": "deepseek",
                        "api_key": "fake-deepseek-key",
                        "model": "deepseek-chat",
                    }
                }
            },
        }
    )
    seen: list[tuple[str, str, str]] = []

    class Watching(AsyncEmulatorTransport):
        async def handle_async_request(self, request: Any) -> Any:
            seen.append(
                (
                    request.url.host,
                    request.headers.get("x-goog-api-key", ""),
                    request.headers.get("authorization", ""),
                )
            )
            return await super().handle_async_request(request)

    async def main() -> str:
        parsed = Emulator(
            [{"match": {"endpoint": "chat.completions"}, "say": "parsed"}], lenient=True
        )
        called = [
            {"match": {"number": 1}, "say": {"calls": [{"name": "parse", "args": {"text": "x"}}]}},
            {"say": "Done."},
        ]
        async with (
            LLMAgent.from_config(config.agents["parser"], http=Watching(parsed)) as parser,
            LLMAgent.from_config(config.llm, http=Watching(Emulator(called))) as agent,
        ):

            async def parse(text: str) -> str:
                """Parse it."""
                return (await parser.run(text)).text

            agent.register_tool(parse)
            result = await agent.run("Parse x")
            assert result.messages[1].tool_results[0].content == "parsed"
            return result.text

    assert on(backend, main) == "Done."
    gemini = ("generativelanguage.googleapis.com", "fake-gemini-key", "")
    assert seen == [gemini, ("api.deepseek.com", "", "Bearer fake-deepseek-key"), gemini]


@pytest.mark.row("S1-64")
def test_a_config_says_how_to_ask() -> None:
    config = LLMConfig(
        "fake-key",
        model="gemini-3.1-pro-preview",
        max_tokens=7,
        temperature=0.2,
        search_grounding=True,
    )
    agent = LLMAgent.from_config(config, "Be brief.")
    assert (agent.max_tokens, agent.temperature, agent.system_prompt, repr(agent.provider)) == (
        7,
        0.2,
        "Be brief.",
        "AsyncChatProvider(gemini:gemini-3.1-pro-preview)",
    )
    on("asyncio", agent.aclose)


@pytest.mark.row("S1-11")
def test_a_missing_key_is_named_before_anything_is_sent() -> None:
    with pytest.raises(ConfigurationError, match="DEEPSEEK_API_KEY"):
        LLMAgent.from_config(LLMConfig(provider="deepseek", model="deepseek-chat"))
    with pytest.raises(ConfigurationError, match="KIMI_API_KEY"):
        create_provider("kimi", "", "kimi-k2.6")


@pytest.mark.row("S3-20")
@pytest.mark.parametrize("backend", TASKS)
def test_closed_is_closed_and_twice_is_fine(backend: str) -> None:
    emulator = Emulator()

    async def main() -> None:
        agent = LLMAgent(
            create_provider(
                "gemini",
                "fake-key",
                "gemini-3.1-pro-preview",
                http=AsyncEmulatorTransport(emulator),
                retry=NONE,
            )
        )
        await agent.run("Hi")
        await agent.aclose()
        await agent.aclose()
        for stream in (False, True):
            with pytest.raises(ConfigurationError, match="the client is closed"):
                await agent.run("Hi again", stream=stream)
        with pytest.raises(ConfigurationError, match="the client is closed"):
            await agent.provider.generate([Message.user("Hi")])

    on(backend, main)
    assert len(emulator.requests) == 1


@pytest.mark.row("S1-40")
@pytest.mark.parametrize("backend", TASKS)
def test_what_is_sent_is_limited_and_what_was_said_is_told(backend: str) -> None:
    provider = Scripted(*(LLMResponse(text=f"answer {n}") for n in range(5)))
    agent = LLMAgent(provider, history=HistoryManager(max_messages=3))

    async def main() -> None:
        for number in range(5):
            await agent.run(f"question {number}")

    on(backend, main)
    assert [[message.text for message in said["messages"]] for _, said in provider.asked][-1] == [
        "question 3",
        "answer 3",
        "question 4",
    ]
    assert len(agent.history.messages) <= 4


def test_a_talk_is_one_of_three_styles() -> None:
    assert isinstance(talk("threads", [{"say": "Hi."}], "Hi"), Talk)


def test_a_stream_without_a_block_says_how() -> None:
    with Chat("gemini:gemini-3.8-flash", api_key="fake-key") as chat, Agent(chat) as agent:
        with pytest.raises(ConfigurationError, match=r"`with agent\.stream\(\.\.\.\) as events:`"):
            iter(agent.stream("Hi"))  # type: ignore[call-overload]
    chat = AsyncChat("gemini:gemini-3.8-flash", api_key="fake-key")
    with pytest.raises(ConfigurationError, match=r"`async with agent\.stream\(\.\.\.\) as"):
        aiter(LLMAgent(chat).stream("Hi"))  # type: ignore[arg-type]
