"""Counts what each journey costs in calls of the library's functions: `python bench/frames.py`.

Counted, not timed, so that the figures are the same on each machine. tests/test_frames.py holds
ceilings for them. `python bench/frames.py NAME` also lists the functions that the journey NAME
calls.
"""

from __future__ import annotations

import collections
import contextlib
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import anyio
import httpx

import wire
from wire import Chat, Message, Reply, Text, anthropic, gemini, openai, tool
from wire.core.account import Account
from wire.core.call import StreamCall
from wire.core.incoming import Incoming
from wire.core.limits import Limits
from wire.gemini.reader import parse_response
from wire.neutral.messages import ToolCall
from wire.neutral.request import Tool
from wire.pipeline import Engine, parse
from wire.wires.providers import PROVIDERS

PACKAGE = str(Path(wire.__file__).parent)
GEMINI, OPENAI, CLAUDE = "gemini-3.8-flash", "gpt-4.1", "claude-opus-4-8"
RESPONSES = "openai:gpt-5.6"
EVENTS_BEFORE = 3  # events of a stream that come before the one that is counted

ANSWER = (
    b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"get_weather","args":'
    b'{"city":"Tokyo"}},"thoughtSignature":"RXJRQ0NrZ0lCeEFCR0FJaVFBPT0="}],"role":"model"},'
    b'"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":3}}'
)
CHAT_EVENT = (
    b'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m",'
    b'"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}\n\n'
)
RESPONSES_EVENT = (
    b"event: response.output_text.delta\n"
    b'data: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1",'
    b'"output_index":0,"content_index":0,"delta":"Hi","logprobs":[],"obfuscation":"a1b2c3"}\n\n'
)
GEMINI_EVENT = (
    b'data: {"candidates":[{"content":{"parts":[{"text":"Hi"}],"role":"model"}}]}\r\n\r\n'
)
FUNCTION = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 0}},
        "required": ["city"],
    },
}


class Frames(collections.Counter[tuple[str, str]]):
    """Calls of functions of this library: (file, function) to how often."""

    @property
    def calls(self) -> int:
        """How many calls there were; a generator counts again each time it is resumed."""
        return self.total()

    @property
    def files(self) -> int:
        """How many files the functions stand in."""
        return len({file for file, _ in self})


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection inside. One before, unless a block around this one had it already.

    A collection closes the generators that other work has left, and that counts as calls.
    """
    if not gc.isenabled():
        yield
        return
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def counted(journey: Callable[[], object]) -> Frames:
    """The frames of one run. The journey runs once before, so that caches are filled."""
    journey()
    frames = Frames()

    def profile(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(PACKAGE)
        # Comprehensions and lambdas are lines of the function that they stand in.
        if event == "call" and ours and not code.co_name.startswith("<"):
            frames[code.co_filename.removeprefix(PACKAGE), code.co_qualname] += 1

    with uncollected():
        sys.setprofile(profile)
        try:
            journey()
        finally:
            sys.setprofile(None)
    return frames


@tool
def get_weather(city: str) -> dict[str, Any]:
    """The weather of a city."""
    return {"city": city}


def chat(model: str, **settings: Any) -> Chat:
    http = httpx.MockTransport(lambda _: httpx.Response(200, content=ANSWER))
    return Chat(model, api_key="fake-key", http=http, **settings)


def signed_reply() -> Reply:
    return chat(f"gemini:{GEMINI}").ask("Hi", tools=[get_weather])


def raw_request() -> Callable[[], object]:
    """The answer to a signed call, as the next request of the raw door."""
    content = parse_response(ANSWER).candidates[0].content

    def journey() -> object:
        result = gemini.function_response(content.parts[0].function_call, {"temp_c": 15})
        turns = gemini.contents("Hi", content, [result])
        return gemini.generate_content(GEMINI, gemini.GenerateContentRequest(contents=turns))

    return journey


def neutral_request(**settings: Any) -> Callable[[], object]:
    """The answer to a signed call, as the next request of the neutral door."""
    reply = signed_reply()
    result = Message.tool_result(reply.tool_calls[0], {"temp_c": 15})
    messages = [Message.user("Hi"), reply.message, result]
    asking = chat(f"gemini:{GEMINI}", **settings)
    return lambda: asking.call(messages=messages)


def answered_call(model: str, tools: int = 1) -> Callable[[], object]:
    """The answer to a call that was made here, as a neutral request with so many tools."""
    call = ToolCall(id="call_1", name="tool_0", arguments={"city": "Tokyo"})
    result = Message.tool_result(call, {"temp_c": 15})
    messages = [Message.user("Hi"), Message.assistant(call), result]
    declared = [
        Tool(f"tool_{number}", "The weather.", FUNCTION["parameters"]) for number in range(tools)
    ]
    asking = chat(model, tools=declared, max_tokens=99)
    return lambda: asking.call(messages=messages)


def added(less: Frames, more: Frames) -> Frames:
    """What the second journey costs beyond the first."""
    more.subtract(less)
    return Frames({key: count for key, count in more.items() if count > 0})


def ten_tools(model: str) -> Frames:
    """What ten more tools add to a neutral request that is not the first with them."""
    return added(counted(answered_call(model)), counted(answered_call(model, tools=11)))


def raw_calls(texts: list[tuple[str, str]]) -> dict[str, Callable[[], object]]:
    """The call of each wire with these texts of user and model, judged as a client does."""
    chats = [openai.Message(role=role, content=text) for role, text in texts]
    items = [openai.responses.Item(type="message", role=role, content=text) for role, text in texts]
    turns = [anthropic.Message(role=role, content=text) for role, text in texts]
    contents = [
        gemini.Content(role=role.replace("assistant", "model"), parts=[gemini.Part(text=text)])
        for role, text in texts
    ]
    row = {name: PROVIDERS[name] for name in ("gemini", "openai", "anthropic")}
    return {
        "Gemini": lambda: gemini.generate_content(
            GEMINI, gemini.GenerateContentRequest(contents=contents)
        ).judge(row["gemini"]),
        "chat completions": lambda: openai.chat_completions(
            openai.ChatCompletionRequest(model=OPENAI, messages=chats)
        ).judge(row["openai"]),
        "Responses": lambda: openai.responses.create_response(
            openai.responses.ResponseRequest(model=OPENAI, input=items)
        ).judge(row["openai"]),
        "Messages": lambda: anthropic.create_message(
            anthropic.MessageRequest(model=CLAUDE, max_tokens=9, messages=turns)
        ).judge(row["anthropic"]),
    }


def texts(count: int) -> list[tuple[str, str]]:
    """So many texts of user and model, and one of the user."""
    return [*[("user", "Hi"), ("assistant", "Hello.")] * (count // 2), ("user", "Well?")]


def raw_text(wire: str) -> Frames:
    """A request of one text, as a client that sends it often makes it."""
    return counted(raw_calls(texts(0))[wire])


def neutral_text(model: str) -> Frames:
    """The same of the neutral door."""
    asking = chat(model)
    return counted(lambda: asking.call("Hi"))


def ten_raw_messages(wire: str) -> Frames:
    """What ten more messages add to a request of the raw door."""
    return added(counted(raw_calls(texts(10))[wire]), counted(raw_calls(texts(20))[wire]))


def ten_messages(model: str) -> Frames:
    """What ten more messages add to a request of the neutral door."""
    asking = chat(model)
    less, more = (
        [Message(role, (Text(text),)) for role, text in texts(count)] for count in (10, 20)
    )
    return added(
        counted(lambda: asking.call(messages=less)), counted(lambda: asking.call(messages=more))
    )


def event(call: StreamCall[Any, Any], data: bytes) -> Callable[[], object]:
    """One SSE event of a stream that goes on."""
    incoming: Incoming[Any, Any] = Incoming(call, "", Limits(), Account(), lambda error: error)
    for _ in range(EVENTS_BEFORE):
        incoming.feed(data)
    return lambda: incoming.feed(data)


def raw_chat_event() -> Callable[[], object]:
    turns = [openai.Message(role="user", content="Hi")]
    request = openai.ChatCompletionRequest(model=OPENAI, messages=turns)
    return event(openai.stream_chat_completions(request), CHAT_EVENT)


def raw_gemini_event() -> Callable[[], object]:
    request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    return event(gemini.stream_generate_content(GEMINI, request), GEMINI_EVENT)


def pipeline(nodes: int) -> Callable[[], object]:
    """A run of a pipeline with so many nodes between its start and its exit."""
    names = [f"node_{number}" for number in range(nodes)]
    inner = "".join(f'{name} [type=set, key=last_output, value="Hi"] ' for name in names)
    graph = parse(
        f"digraph journey {{ start [type=start] {inner} done [type=exit] "
        f"{' -> '.join(['start', *names, 'done'])} }}"
    )
    return lambda: anyio.run(Engine(graph).run)


def one_node() -> Frames:
    """What one more node adds to a run."""
    return added(counted(pipeline(1)), counted(pipeline(2)))


JOURNEYS: dict[str, Callable[[], Frames]] = {
    "raw event of chat completions": lambda: counted(raw_chat_event()),
    "raw event of Gemini": lambda: counted(raw_gemini_event()),
    "neutral event of chat completions": lambda: counted(
        event(chat(f"openai:{OPENAI}").stream_call("Hi"), CHAT_EVENT)
    ),
    "neutral event of Gemini": lambda: counted(
        event(chat(f"gemini:{GEMINI}").stream_call("Hi"), GEMINI_EVENT)
    ),
    "raw signature to the next call": lambda: counted(raw_request()),
    "neutral signature to the next call": lambda: counted(neutral_request()),
    "neutral signature and a tool": lambda: counted(neutral_request(tools=[get_weather])),
    "neutral event of Responses": lambda: counted(
        event(chat(RESPONSES).stream_call("Hi"), RESPONSES_EVENT)
    ),
    "neutral result, chat completions": lambda: counted(answered_call(f"openai:{OPENAI}")),
    "neutral result, Responses": lambda: counted(answered_call(RESPONSES)),
    "neutral result, Messages": lambda: counted(answered_call(f"anthropic:{CLAUDE}")),
    "one text, raw, Gemini": lambda: raw_text("Gemini"),
    "one text, raw, chat completions": lambda: raw_text("chat completions"),
    "one text, raw, Responses": lambda: raw_text("Responses"),
    "one text, raw, Messages": lambda: raw_text("Messages"),
    "one text, Gemini": lambda: neutral_text(f"gemini:{GEMINI}"),
    "one text, chat completions": lambda: neutral_text(f"openai:{OPENAI}"),
    "one text, Responses": lambda: neutral_text(RESPONSES),
    "one text, Messages": lambda: neutral_text(f"anthropic:{CLAUDE}"),
    "ten more messages, raw, Gemini": lambda: ten_raw_messages("Gemini"),
    "ten more messages, raw, chat completions": lambda: ten_raw_messages("chat completions"),
    "ten more messages, raw, Responses": lambda: ten_raw_messages("Responses"),
    "ten more messages, raw, Messages": lambda: ten_raw_messages("Messages"),
    "ten more messages, Gemini": lambda: ten_messages(f"gemini:{GEMINI}"),
    "ten more messages, chat completions": lambda: ten_messages(f"openai:{OPENAI}"),
    "ten more messages, Responses": lambda: ten_messages(RESPONSES),
    "ten more messages, Messages": lambda: ten_messages(f"anthropic:{CLAUDE}"),
    "ten more tools, Gemini": lambda: ten_tools(f"gemini:{GEMINI}"),
    "ten more tools, chat completions": lambda: ten_tools(f"openai:{OPENAI}"),
    "ten more tools, Responses": lambda: ten_tools(RESPONSES),
    "ten more tools, Messages": lambda: ten_tools(f"anthropic:{CLAUDE}"),
    "function to Gemini's schema": lambda: counted(lambda: gemini.tools(FUNCTION)),
    "one pipeline node": one_node,
}
"""Name of a journey to what counts it."""


def main(names: list[str]) -> None:
    for name, count in JOURNEYS.items():
        frames = count()
        print(f"{name:42} {frames.calls:4} calls {frames.files:3} files")
        if name in names:
            for (file, function), times in sorted(frames.items()):
                print(f"    {times:3}  {file.lstrip('/')}:{function}")


if __name__ == "__main__":
    main(sys.argv[1:])
