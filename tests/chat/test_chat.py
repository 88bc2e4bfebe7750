"""`Chat` and `AsyncChat`: one model asked, whole and in pieces, by any provider."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import msgspec
import pydantic
import pytest

from tests.joined import joined
from tests.library import FOLDER
from wire import AsyncClient, Client, answer_account, notes
from wire.chat.chat import AsyncChat, Chat
from wire.core.memory import PARTIAL
from wire.core.retry import NONE, Retry
from wire.errors import (
    BlockedError,
    ConfigurationError,
    ConnectionLost,
    HistoryError,
    OutputError,
    RateLimitError,
    RuleError,
    StreamIncomplete,
)
from wire.gemini import GenerateContentResponse
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    Message,
    Reply,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallEnd,
    ToolResult,
)
from wire.providers import model_of
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

GEMINI = "gemini:gemini-3.1-pro-preview"
AT_ONCE = Retry(base=0)


class Door:
    """Ask and stream in one of three styles, against one emulator."""

    def __init__(self, style: str) -> None:
        self.style = style

    def ask(
        self,
        emulator: Emulator,
        *args: Any,
        model: str = GEMINI,
        chat: dict[str, Any] | None = None,
        **asked: Any,
    ) -> Reply:
        return self._with(emulator, model, chat, lambda made: made.ask(*args, **asked))

    def stream(
        self,
        emulator: Emulator,
        *args: Any,
        model: str = GEMINI,
        chat: dict[str, Any] | None = None,
        **asked: Any,
    ) -> tuple[list[Event], Reply]:
        def plain(made: Chat) -> tuple[list[Event], Reply]:
            with made.stream(*args, **asked) as events:
                return list(events), events.reply()

        async def tasks(made: AsyncChat) -> tuple[list[Event], Reply]:
            async with made.stream(*args, **asked) as events:
                return [event async for event in events], await events.reply()

        return self.use(emulator, plain, tasks, model, chat)

    def use(
        self,
        emulator: Emulator,
        plain: Callable[[Chat], Any],
        tasks: Callable[[AsyncChat], Any],
        model: str = GEMINI,
        chat: dict[str, Any] | None = None,
    ) -> Any:
        return self._with(emulator, model, chat, plain if self.style == "threads" else tasks)

    def _with(
        self,
        emulator: Emulator,
        model: str,
        options: dict[str, Any] | None,
        use: Callable[[Any], Any],
    ) -> Any:
        options = {"api_key": "fake-key", "retry": NONE, **(options or {})}
        if self.style == "threads":
            with Chat(model, http=EmulatorTransport(emulator), **options) as chat:
                return use(chat)

        async def main() -> Any:
            async with AsyncChat(model, http=AsyncEmulatorTransport(emulator), **options) as chat:
                return await use(chat)

        return anyio.run(main, backend=self.style)


@pytest.fixture(params=["threads", "asyncio", "trio"])
def door(request: pytest.FixtureRequest) -> Door:
    return Door(request.param)


@dataclass
class Person:
    name: str
    age: int


class Book(msgspec.Struct):
    title: str


class Model(pydantic.BaseModel):
    title: str


SAID = {"text": "Blue.", "thoughts": "Light scatters."}


@pytest.mark.row("S2-06")
def test_a_question_whole_and_in_pieces(door: Door) -> None:
    whole = door.ask(Emulator([{"say": SAID}]), "Why?", effort="low")
    events, reply = door.stream(Emulator([{"say": SAID}]), "Why?", effort="low")
    assert (whole.text, whole.thought, whole.stop.reason, whole.model) == (
        "Blue.",
        "Light scatters.",
        "end",
        "gemini-3.1-pro-preview",
    )
    assert (reply.text, reply.thought, reply.stop, reply.usage) == (
        whole.text,
        whole.thought,
        whole.stop,
        whole.usage,
    )
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Blue."
    assert (
        "".join(event.text for event in events if isinstance(event, ThoughtDelta))
        == "Light scatters."
    )
    assert events[-1] == Done(reply)
    assert whole.usage is not None
    assert whole.usage.reasoning == 8
    assert isinstance(whole.answer, GenerateContentResponse)
    assert whole.answer.candidates[0].content.raw == whole.message.origin.raw  # type: ignore[index,union-attr]
    account = answer_account(whole)
    assert account is not None
    assert account.attempts == 1


def test_settings_of_a_chat_hold_for_all_questions_and_those_of_a_question_for_it(
    door: Door,
) -> None:
    emulator = Emulator([{"times": 0, "say": "Hi."}])
    door.ask(
        emulator,
        "Hi",
        chat={"system": "Be brief.", "temperature": 0.1, "stop": "END"},
        temperature=0.9,
        stop=["A", "B"],
    )
    body = emulator.requests[0]["body"]
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["generationConfig"] == {"temperature": 0.9, "stopSequences": ["A", "B"]}


@pytest.mark.row("S0-03", "S1-71")
def test_one_conversation_walks_from_vendor_to_vendor(door: Door) -> None:
    def now(zone: str) -> str:
        """The time."""
        return "noon"

    script = [{"say": {"text": "I look.", "calls": [{"name": "now", "args": {"zone": "UTC"}}]}}]
    first = door.ask(Emulator(script), "What time is it?", tools=[now])
    call = first.tool_calls[0]
    said = [
        Message.user("What time is it?"),
        first.message,
        Message.tool_response(ToolResult(call.id, "now", "noon")),
    ]
    host = Emulator([{"match": {"endpoint": "chat.completions"}, "say": "Noon."}], lenient=True)
    second = door.ask(host, messages=said, tools=[now], model="deepseek:deepseek-chat")
    assert host.requests[0]["body"]["messages"] == [
        {"role": "user", "content": "What time is it?"},
        {
            "role": "assistant",
            "content": "I look.",
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": "now", "arguments": '{"zone":"UTC"}'},
                }
            ],
            "reasoning_content": "",
        },
        {"role": "tool", "content": "noon", "tool_call_id": call.id},
    ]
    assert [note.message for note in second.notes if "withheld" in note.message] == [
        "withheld: metadata of gemini in the call of now"
    ]
    third = Emulator([{"say": "Yes."}])
    door.ask(third, messages=[*said, second.message, Message.user("Sure?")], tools=[now])
    contents = third.requests[0]["body"]["contents"]
    assert contents[1] == json.loads(first.message.origin.raw)  # type: ignore[union-attr]
    assert contents[3:] == [
        {"role": "model", "parts": [{"text": "Noon."}]},
        {"role": "user", "parts": [{"text": "Sure?"}]},
    ]


@joined(
    ("asked", "error", "said"),
    [
        ({}, RuleError, "messages: expected either a prompt or messages"),
        (
            {"prompt": "Hi", "messages": [Message.user("Hi")]},
            RuleError,
            "messages: expected either a prompt or messages",
        ),
        ({"messages": ["Hi"]}, RuleError, "messages[0]: expected a Message, not str"),
        ({"messages": []}, HistoryError, "messages: there is no user message [H1]"),
        ({"prompt": "Hi", "temprature": 1}, ConfigurationError, "temprature: no such setting"),
        (
            {"prompt": "Hi", "tool_choice": "get_weather"},
            RuleError,
            "tool_choice: expected auto, none or required, not 'get_weather'",
        ),
        ({"prompt": Media(url="file.xyz")}, RuleError, "messages[0].parts[0]"),
        (
            {
                "messages": [
                    Message.user("Hi"),
                    Message.assistant(ToolCall(id="a", name="now")),
                    Message.user("?"),
                ]
            },
            HistoryError,
            "messages[1].parts[0]: the call of now (a) has no result in the messages after it [H3]",
        ),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(
    door: Door, asked: dict[str, Any], error: type, said: str
) -> None:
    emulator = Emulator()
    with pytest.raises(error) as refused:
        door.ask(emulator, **asked)
    assert str(refused.value).startswith(said)
    assert emulator.requests == []


@pytest.mark.row("S1-37")
@joined(
    ("make", "said"),
    [
        (
            lambda: Chat("gemini-3.1-pro-preview"),
            "model: 'gemini-3.1-pro-preview': missing 'provider:model-name' format",
        ),
        (lambda: Chat(":x"), "model: ':x': empty provider name"),
        (lambda: Chat("gemini:"), "model: 'gemini:': empty model name"),
        (lambda: Chat("nobody:x"), "provider: 'nobody' is unknown; `wire providers` lists all"),
        (
            lambda: Chat(GEMINI, temprature=1),
            "temprature: no such option; did you mean 'temperature'?",
        ),
        (
            lambda: Chat(GEMINI, colour="red"),
            "colour: no such option; there are client, http, system, tools, ",
        ),
        (
            lambda: Chat(GEMINI, client=Client("deepseek")),
            "client: it sends to 'deepseek', but the model 'gemini:gemini-3.1-pro-preview' is one "
            "of 'gemini'",
        ),
        (
            lambda: Chat(GEMINI, client=Client("gemini"), api_key="fake"),
            "api_key: an option of the client; give it to the client",
        ),
        (
            lambda: Chat(GEMINI, client=Client("gemini"), http="httpx"),
            "http: an option of the client; give it to the client",
        ),
    ],
)
def test_what_is_no_chat_is_refused(make: Callable[[], Chat], said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        make()
    assert refused.value.message.startswith(said)


def test_a_bare_name_is_a_model_of_the_clients_provider() -> None:
    with Client("gemini", api_key="fake-key") as client:
        chat = Chat("gemini-3.1-pro-preview", client=client)
        assert repr(chat) == "Chat(gemini:gemini-3.1-pro-preview)"
        assert chat.request("Hi").messages == (Message.user("Hi"),)
    assert model_of("gemini-3.1-pro-preview", "gemini") == ("gemini", "gemini-3.1-pro-preview")


def test_the_key_shows_itself_nowhere() -> None:
    key = "sk-" + "canary" * 4
    with pytest.raises(ConfigurationError) as refused:
        Chat("gemini:", api_key=key)
    frames = []
    trace = refused.tb
    while trace is not None:
        frames.append(
            repr(trace.tb_frame.f_locals)
            if trace.tb_frame.f_code.co_filename == str(FOLDER / "chat" / "state.py")
            else ""
        )
        trace = trace.tb_next
    assert key not in "".join(frames) + repr(refused.value)
    assert key not in repr(vars(Chat(GEMINI, api_key=key)))


class Closing(EmulatorTransport):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_client_that_was_given_stays_open_and_an_own_one_does_not() -> None:
    given, own = (Closing(Emulator([{"times": 0, "say": "Hi."}])) for _ in range(2))
    with Client("gemini", api_key="fake-key", http=given) as client:
        with Chat(GEMINI, client=client) as chat:
            chat.ask("Hi")
        assert given.closed == 0
        assert Chat(GEMINI, client=client).ask("Hi").text == "Hi."
    assert given.closed == 1
    with Chat(GEMINI, api_key="fake-key", http=own) as chat:
        chat.ask("Hi")
    assert own.closed == 1


# --- output ---------------------------------------------------------------------------------------


@joined(
    ("kind", "said", "value"),
    [
        (Person, '{"name": "Alice", "age": 30}', Person("Alice", 30)),
        (Book, '{"title": "x"}', Book("x")),
        (Model, '{"title": "x"}', Model(title="x")),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            '{"n": 3}',
            {"n": 3},
        ),
    ],
)
def test_an_answer_comes_as_the_value_that_was_asked_for(
    door: Door, kind: Any, said: str, value: Any
) -> None:
    emulator = Emulator([{"times": 0, "say": said}])
    assert door.ask(emulator, "Who?", output=kind).output == value
    events, reply = door.stream(emulator, "Who?", output=kind)
    assert reply.output == value
    assert isinstance(events[-1], Done)
    assert events[-1].reply.output == value
    config = emulator.requests[0]["body"]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"]["type"] == "OBJECT"


@pytest.mark.parametrize("raw", [True, False])
def test_a_schema_goes_as_it_is_where_that_is_wanted(door: Door, raw: bool) -> None:
    emulator = Emulator([{"say": '{"title": "x"}'}])
    door.ask(emulator, "Who?", output=Book, raw_schemas=raw)
    assert ("responseJsonSchema" in emulator.requests[0]["body"]["generationConfig"]) is raw


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('{"name": "Alice", "age": "old"}', "$.age"),
        ("Alice is 30.", "the answer is not JSON"),
        ('{"name": "Alice"}', "age"),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error_with_the_reply(
    door: Door, said: str, why: str
) -> None:
    emulator = Emulator([{"times": 0, "say": said}])
    for ask in (door.ask, door.stream):
        with pytest.raises(OutputError) as failed:
            ask(emulator, "Who?", output=Person, output_retries=0)
        assert why in str(failed.value)
        assert failed.value.partial.text == said
        assert PARTIAL not in failed.value.partial.notes, "the reply is whole, and does not fit"
        assert failed.value.partial.stop.reason == "end"
    assert len(emulator.requests) == 2


def test_reply_raises_what_ask_raises(door: Door) -> None:
    """A reply that does not fit, one that was blocked: without iterating, and again afterwards."""
    thought = {"role": "model", "parts": [{"text": "Hm.", "thought": True}]}
    blocked = [{"candidates": [{"content": thought}]}, {"candidates": [{"finishReason": "SAFETY"}]}]
    for script, error, asked in (
        ({"say": "no JSON"}, OutputError, {"output": Person, "output_retries": 0}),
        ({"stream": blocked}, BlockedError, {}),
    ):
        failed: list[Exception] = []

        def plain(
            chat: Chat,
            error: Any = error,
            asked: Any = asked,
            failed: Any = failed,
        ) -> None:
            with chat.stream("Hi", **asked) as events:
                for _ in range(2):
                    with pytest.raises(error) as caught:
                        events.reply()
                    failed.append(caught.value)

        async def tasks(
            chat: AsyncChat,
            error: Any = error,
            asked: Any = asked,
            failed: Any = failed,
        ) -> None:
            async with chat.stream("Hi", **asked) as events:
                for _ in range(2):
                    with pytest.raises(error) as caught:
                        await events.reply()
                    failed.append(caught.value)

        door.use(Emulator([script]), plain, tasks)
        assert failed[0] is failed[1]
        assert PARTIAL not in failed[0].partial.notes  # type: ignore[attr-defined]


def test_a_partial_reply_has_no_value_though_its_json_is_complete(door: Door) -> None:
    said = '{"title": "x"}'
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": said}]}}]}
    with pytest.raises(StreamIncomplete) as failed:
        door.stream(Emulator([{"stream": [chunk]}]), "Which?", output=Book)
    assert (failed.value.partial.text, failed.value.partial.output) == (said, None)


def test_an_answer_cut_off_says_so(door: Door) -> None:
    emulator = Emulator([{"say": {"text": '{"name": "Al', "finish": "MAX_TOKENS"}}])
    with pytest.raises(OutputError, match=r"\(it stopped with 'MAX_TOKENS'\)"):
        door.ask(emulator, "Who?", output=Person)


def test_while_tools_are_called_there_is_no_value_yet(door: Door) -> None:
    def now() -> str:
        """The time."""
        return "noon"

    emulator = Emulator([{"say": {"calls": [{"name": "now"}]}}])
    reply = door.ask(emulator, "Who?", output=Person, tools=[now])
    assert (reply.output, [call.name for call in reply.tool_calls]) == (None, ["now"])


@pytest.mark.parametrize(
    ("model", "form"),
    [("openai@chat:gpt-5.4", "json_schema"), ("deepseek:deepseek-chat", "json_object")],
)
def test_hosts_of_chat_completions_are_asked_by_their_own_means(
    door: Door, model: str, form: str
) -> None:
    host = Emulator(
        [{"match": {"endpoint": "chat.completions"}, "say": '{"title": "x"}'}], lenient=True
    )
    reply = door.ask(host, "Which?", output=Book, model=model)
    body = host.requests[0]["body"]
    assert (reply.output, body["response_format"]["type"]) == (Book("x"), form)
    told = [note for note in reply.notes if "json_schema" in note.path + note.message]
    assert bool(told) == (form == "json_object") == ("schema" in str(body["messages"]))


# --- failures -------------------------------------------------------------------------------------


@pytest.mark.row("S1-14")
def test_a_blocked_prompt_is_an_error_with_the_reason(door: Door) -> None:
    body = {
        "promptFeedback": {"blockReason": "PROHIBITED_CONTENT"},
        "usageMetadata": {"promptTokenCount": 3},
    }
    for ask in (door.ask, door.stream):
        with pytest.raises(BlockedError) as blocked:
            ask(Emulator([{"answer": body}]), "Hi")
        assert (blocked.value.code, blocked.value.provider) == ("PROHIBITED_CONTENT", "gemini")


def test_an_answer_stopped_by_a_filter_in_its_middle_is_a_reply(door: Door) -> None:
    events, reply = door.stream(Emulator([{"say": {"text": "So far", "finish": "SAFETY"}}]), "Hi")
    assert (reply.text, reply.stop.reason, reply.stop.raw) == ("So far", "filter", "SAFETY")
    assert isinstance(events[-1], Done)


def test_a_refusal_of_the_provider_comes_with_its_class(door: Door) -> None:
    with pytest.raises(RateLimitError) as limited:
        door.ask(Emulator([{"fault": "429; retry-after=1"}]), "Hi")
    assert (limited.value.status, limited.value.retry_after, limited.value.attempts) == (429, 1, 1)


@pytest.mark.row("S1-72")
def test_a_stream_that_breaks_has_the_reply_so_far(door: Door) -> None:
    script = [{"say": "one two three four", "fault": "reset; after=2"}]
    with pytest.raises(ConnectionLost) as lost:
        door.stream(Emulator(script), "Hi")
    assert isinstance(lost.value.partial, Reply)
    assert "one two three four".startswith(lost.value.partial.text)
    assert lost.value.partial.text
    assert lost.value.retryable is False


class Broken(httpx.SyncByteStream):
    """A connection that is gone after these bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        yield self.data
        raise httpx.ReadError("gone")


@pytest.mark.row("S1-72")
@pytest.mark.parametrize(
    ("first", "requests"),
    [({"role": "model"}, 2), ({"role": "model", "parts": [{"text": "So"}]}, 1)],
)
def test_a_stream_that_breaks_before_anything_is_said_is_tried_again(
    first: dict[str, Any], requests: int
) -> None:
    bodies = [
        Broken(event(content=first)),
        event(content={"role": "model", "parts": [{"text": "Here."}]}, finishReason="STOP"),
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        body = bodies[len(seen) - 1]
        head = {"content-type": "text/event-stream"}
        return (
            httpx.Response(200, headers=head, content=body)
            if isinstance(body, bytes)
            else httpx.Response(200, headers=head, stream=body)
        )

    seen: list[httpx.Request] = []
    with Chat(GEMINI, api_key="fake-key", http=httpx.MockTransport(answer), retry=AT_ONCE) as chat:
        if requests == 2:
            with chat.stream("Hi") as events:
                assert [each.text for each in events if isinstance(each, TextDelta)] == ["Here."]
        else:
            with chat.stream("Hi") as events, pytest.raises(ConnectionLost) as lost:
                list(events)
            assert lost.value.retryable is False
    assert len(seen) == requests


def test_a_stream_without_a_finish_is_no_reply(door: Door) -> None:
    chunk = {"candidates": [{"content": {"role": "model", "parts": [{"text": "So"}]}, "index": 0}]}
    with pytest.raises(StreamIncomplete) as failed:
        door.stream(Emulator([{"stream": [chunk]}]), "Hi")
    assert failed.value.partial.text == "So"


# --- while it comes -------------------------------------------------------------------------------


class Slow(httpx.SyncByteStream):
    """Events that wait until they are asked for; the last is never sent."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self.pieces
        raise AssertionError("read too far")

    def close(self) -> None:
        self.closed = True


def event(**candidate: Any) -> bytes:
    return (
        b"data: " + json.dumps({"candidates": [{"index": 0, **candidate}]}).encode() + b"\r\n\r\n"
    )


@pytest.mark.row("S1-16")
def test_the_first_piece_is_there_before_the_last_is_sent() -> None:
    body = Slow([event(content={"role": "model", "parts": [{"text": "So"}]})])

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)

    with (
        Chat(GEMINI, api_key="fake-key", http=httpx.MockTransport(answer)) as chat,
        chat.stream("Hi") as events,
    ):
        assert next(iter(events)) == TextDelta("So")
    assert body.closed


def test_calls_end_with_the_call_of_the_reply(door: Door) -> None:
    def now(zone: str) -> str:
        """The time."""
        return zone

    calls = [{"name": "now", "args": {"zone": zone}} for zone in ("UTC", "JST")]
    events, reply = door.stream(Emulator([{"say": {"calls": calls}}]), "When?", tools=[now])
    assert (
        tuple(event.call for event in events if isinstance(event, ToolCallEnd)) == reply.tool_calls
    )
    assert [call.arguments for call in reply.tool_calls] == [{"zone": "UTC"}, {"zone": "JST"}]


def test_what_a_call_leaves_out_is_told_before_it_is_sent_and_with_the_reply(door: Door) -> None:
    said = [Message.user("Hi"), Message.assistant("Hello."), Message.user("Look")]
    host = Emulator([{"match": {"endpoint": "chat.completions"}, "say": "Ok."}], lenient=True)
    reply = door.ask(host, messages=said, model="openai@chat:gpt-5.4", search_grounding=True)
    assert ["search_grounding" in str(note) for note in reply.notes] == [True]
    with Chat("openai@chat:gpt-5.4", api_key="fake-key") as chat:
        assert notes(chat.call(messages=said, search_grounding=True)) == reply.notes
        assert notes(chat.call(messages=said)) == ()


def test_thoughts_go_back_to_the_model_that_had_them(door: Door) -> None:
    emulator = Emulator([{"say": SAID}, {"say": "Yes."}])
    first = door.ask(emulator, "Why?", effort="low")
    assert isinstance(first.message.parts[0], Thought)
    door.ask(emulator, messages=[Message.user("Why?"), first.message, Message.user("Sure?")])
    assert emulator.requests[1]["body"]["contents"][1] == json.loads(first.message.origin.raw)  # type: ignore[union-attr]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_chat_takes_a_client_and_leaves_it_open(backend: str) -> None:
    async def main() -> list[str]:
        emulator = Emulator([{"times": 0, "say": "Hi."}])
        async with AsyncClient(
            "gemini", api_key="fake-key", http=AsyncEmulatorTransport(emulator)
        ) as client:
            async with AsyncChat(GEMINI, client=client) as chat:
                first = (await chat.ask("Hi")).text
            await chat.aclose()
            return [first, (await AsyncChat(GEMINI, client=client).ask("Hi")).text]

    assert anyio.run(main, backend=backend) == ["Hi.", "Hi."]


MODELS = ("gemini:gemini-3.8-flash", "openai:gpt-5.2", "anthropic:claude-opus-4-8")


@pytest.mark.parametrize("model", MODELS)
def test_one_message_alone_is_sent(model: str) -> None:
    message = Message.user("Hi")
    with Chat(model, api_key="fake-key") as chat:
        alone = chat.call(messages=message)
        assert alone.body == chat.call(messages=[message]).body == chat.call("Hi").body


class _Door:
    """Streams of a chat and of the raw door, without a block."""

    def __init__(self, client: Any, chat: Any, prefix: str) -> None:
        call = chat.stream_call("Hi")
        self.streams = {
            f"{prefix}with client.stream(call) as chunks:": lambda: client.stream(call),
            f"{prefix}with chat.stream(...) as events:": lambda: chat.stream("Hi"),
        }


@pytest.mark.parametrize("model", MODELS)
def test_a_stream_without_a_block_says_how(model: str) -> None:
    with Chat(model, api_key="fake-key") as chat:
        for line, stream in _Door(chat.client, chat, "").streams.items():
            for wrong in (iter, next, aiter):
                with pytest.raises(ConfigurationError) as caught:
                    wrong(stream())
                assert str(caught.value) == f"stream: open it as a block, `{line}`"
            with pytest.raises(AttributeError, match=re.escape("reply: open the stream as a ")):
                stream().reply()


@joined("backend", ["asyncio", "trio"])
@joined("model", MODELS)
def test_an_async_stream_without_a_block_says_how(model: str, backend: str) -> None:
    async def awaited(stream: Any) -> None:
        await stream

    async def iterated(stream: Any) -> None:
        async for _ in stream:
            pass

    async def entered(stream: Any) -> None:
        with stream:
            pass

    async def main() -> None:
        async with AsyncChat(model, api_key="fake-key") as chat:
            for line, stream in _Door(chat.client, chat, "async ").streams.items():
                for wrong in (awaited, iterated, entered):
                    with pytest.raises(ConfigurationError) as caught:
                        await wrong(stream())
                    assert str(caught.value) == f"stream: open it as a block, `{line}`"

    anyio.run(main, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_async_stream_is_entered_once(backend: str) -> None:
    async def main() -> None:
        http = AsyncEmulatorTransport(Emulator([{"say": "Hi."}]))
        async with AsyncChat(GEMINI, api_key="fake-key", http=http) as chat:
            block = chat.client.stream(chat.stream_call("Hi"))
            async with block as events:
                assert (await events.result()).text == "Hi."
            with pytest.raises(ConfigurationError, match="the block was entered before"):
                async with block:
                    pass

    anyio.run(main, backend=backend)
