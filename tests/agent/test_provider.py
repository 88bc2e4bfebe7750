"""The interface that agents ask models through: any provider behind it, and one's own beside it."""

from __future__ import annotations

import inspect
import json
import tomllib
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from tests.agent.agents import Scripted
from tests.joined import joined
from wire import (
    AsyncChat,
    LLMAgent,
    create_provider,
    load_config,
    register_provider,
    retry,
)
from wire.agent.provider import (
    AsyncChatProvider,
    ChatProvider,
    EventsToDeltas,
    FunctionCall,
    FunctionResponse,
    GenerationConfig,
    LLMResponse,
    MessagePart,
    ResponseBuilder,
    StreamDelta,
    ToolSchema,
    as_model,
    collect,
)
from wire.catalogue.usage import Usage
from wire.errors import ConfigurationError, RuleError, StreamIncomplete
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Reply,
    Restart,
    Stop,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResult,
)
from wire.neutral.request import Tool
from wire.pipeline.dot import parse
from wire.pipeline.linting import lint
from wire.providers import FACTORIES, PROVIDERS
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

NOW = ToolSchema("now", "The time.")
ASKED = [Message.user("Hi")]


def provider(
    script: Any, name: str = "gemini", model: str = "gemini-3.1-pro-preview", **options: Any
) -> AsyncChatProvider:
    return create_provider(
        name,
        "fake-key",
        model,
        http=AsyncEmulatorTransport(Emulator(script, lenient=True)),
        retry=retry.NONE,
        **options,
    )


@pytest.fixture(params=["asyncio", "trio"])
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.row("S1-10")
def test_two_methods_with_one_signature_make_a_provider(backend: str) -> None:
    made = provider([{"times": 0, "say": "Hello."}])
    assert isinstance(made, ChatProvider)
    assert isinstance(Scripted(), ChatProvider)
    assert not isinstance(object(), ChatProvider)
    wanted = ["messages", "tools", "system_prompt", "max_tokens", "temperature"]
    for method in (
        AsyncChatProvider.generate,
        AsyncChatProvider.generate_stream,
        ChatProvider.generate,
        ChatProvider.generate_stream,
    ):
        assert list(inspect.signature(method).parameters)[1:6] == wanted
    assert "stream" not in inspect.signature(AsyncChatProvider.generate).parameters

    async def main() -> tuple[LLMResponse, LLMResponse]:
        async with made:
            whole = await made.generate(ASKED, [NOW], "Be brief.", 100, 0.5)
            return whole, await collect(
                made.generate_stream(
                    ASKED, tools=[NOW], system_prompt="Be brief.", max_tokens=100, temperature=0.5
                )
            )

    whole, streamed = anyio.run(main, backend=backend)
    assert whole.text == streamed.text == "Hello."


@pytest.mark.row("S1-10")
def test_options_in_one_object_or_as_keywords_and_not_half_and_half(backend: str) -> None:
    emulator = Emulator([{"times": 0, "say": "Hello."}])
    config = GenerationConfig("Be brief.", 100, 0.0)

    async def main() -> None:
        async with create_provider(
            "gemini", "fake-key", "gemini-3.1-pro-preview", http=AsyncEmulatorTransport(emulator)
        ) as made:
            await made.generate(ASKED, system_prompt="Be brief.", max_tokens=100, temperature=0.0)
            await made.generate(ASKED, config=config)
            with pytest.raises(
                ConfigurationError, match="temperature: given in config and as a keyword"
            ):
                await made.generate(ASKED, temperature=0.5, config=config)

    anyio.run(main, backend=backend)
    first, second = (each["body"] for each in emulator.requests)
    assert first == second
    assert first["generationConfig"] == {"maxOutputTokens": 100, "temperature": 0.0}


@pytest.mark.row("S1-08")
def test_a_response_has_text_calls_usage_finish_and_the_raw_body(backend: str) -> None:
    said = {"text": "hello", "calls": [{"name": "now", "args": {}}]}

    async def main() -> LLMResponse:
        async with provider([{"say": said}]) as made:
            return await made.generate(ASKED, tools=[NOW])

    response = anyio.run(main, backend=backend)
    assert (
        response.text,
        [call.name for call in response.function_calls],
        response.finish_reason,
    ) == ("hello", ["now"], "tool_calls")
    assert response.usage is not None
    assert response.usage.output > 0
    assert json.loads(response.raw)["candidates"][0]["finishReason"] == "STOP"
    assert response.reply.message.origin is not None


@pytest.mark.row("S1-14")
def test_texts_are_joined_with_nothing_between_them(backend: str) -> None:
    body = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "hello"}, {"text": "world"}]},
                "finishReason": "STOP",
            }
        ]
    }

    async def main() -> str:
        async with provider([{"answer": body}]) as made:
            return (await made.generate(ASKED)).text

    assert anyio.run(main, backend=backend) == "helloworld"


@pytest.mark.row("S1-07")
def test_pieces_of_a_stream_name_the_call_that_they_belong_to(backend: str) -> None:
    calls = [{"name": "now", "args": {"zone": zone}} for zone in ("UTC", "JST")]

    async def main() -> list[StreamDelta]:
        async with provider([{"say": {"text": "I look.", "calls": calls}}]) as made:
            return [delta async for delta in made.generate_stream(ASKED, tools=[NOW])]

    deltas = anyio.run(main, backend=backend)
    ends = [delta.function_call_end for delta in deltas if delta.function_call_end]
    assert [call.arguments for call in ends] == [{"zone": "UTC"}, {"zone": "JST"}]
    for index, call in enumerate(ends):
        own = [delta for delta in deltas if delta.index == index]
        assert {delta.call_id for delta in own} == {call.id}
        assert [bool(delta.function_call_start) for delta in own] == [
            True,
            *[False] * (len(own) - 1),
        ]
        assert json.loads("".join(delta.function_call_delta for delta in own)) == call.arguments
    assert [delta.text for delta in deltas if delta.text] == ["I look."]
    last = deltas[-1]
    assert (last.finish_reason, last.response and last.response.function_calls) == (
        "tool_calls",
        tuple(ends),
    )


@pytest.mark.row("S1-52")
@pytest.mark.parametrize(
    ("name", "model"), [("gemini", "gemini-3.1-pro-preview"), ("deepseek", "deepseek-chat")]
)
def test_a_stream_folds_to_the_response_of_the_plain_call(
    backend: str, name: str, model: str
) -> None:
    said = {
        "text": "I look.",
        "calls": [{"name": "now", "args": {"zone": "東京", "deep": {"a": [1, 2.5, None]}}}],
    }

    async def main() -> tuple[LLMResponse, LLMResponse]:
        script = [
            {"times": 0, "match": {"endpoint": each}, "say": said}
            for each in ("chat.completions", "generateContent")
        ]
        script.append({**script[1], "match": {"endpoint": "streamGenerateContent"}})
        async with provider(script, name, model) as made:
            return await made.generate(ASKED, tools=[NOW]), await collect(
                made.generate_stream(ASKED, tools=[NOW])
            )

    whole, streamed = anyio.run(main, backend=backend)
    assert (streamed.text, streamed.finish_reason, streamed.usage) == (
        whole.text,
        whole.finish_reason,
        whole.usage,
    )
    assert [(call.name, call.arguments, call.signature) for call in streamed.function_calls] == [
        (call.name, call.arguments, call.signature) for call in whole.function_calls
    ]
    if name == "gemini":
        assert streamed.function_calls[0].signature


def test_a_reply_that_starts_anew_drops_what_came_before() -> None:
    to_deltas, builder = EventsToDeltas(), ResponseBuilder()
    events: list[Event] = [
        TextDelta("a"),
        ToolCallStart(0, "now", "c0"),
        Restart(),
        TextDelta("b"),
    ]
    deltas = [to_deltas.delta(event) for event in events]
    assert deltas[2] == StreamDelta(restart=True)
    assert [event for delta in deltas for event in builder.add(delta)] == events
    assert builder.response == LLMResponse(text="b")


def test_pieces_without_a_whole_response_are_put_together() -> None:
    builder = ResponseBuilder()
    for delta in (
        StreamDelta(text="a"),
        StreamDelta(function_call_start="now", index=1, call_id="c1"),
        StreamDelta(function_call_start="then", index=0, call_id="c0"),
        StreamDelta(function_call_delta='{"n":1', index=1),
        StreamDelta(function_call_delta="1}", index=1),
        StreamDelta(function_call_end=ToolCall(id="c0", name="then", arguments={"x": 1}), index=0),
        StreamDelta(text="b", usage=Usage(input=1)),
    ):
        builder.add(delta)
    assert builder.response == LLMResponse(
        text="ab",
        function_calls=(
            ToolCall(id="c0", name="then", arguments={"x": 1}),
            ToolCall(id="c1", name="now", arguments={"n": 11}, text='{"n":11}'),
        ),
        usage=Usage(input=1),
    )


def test_a_call_that_never_ends_is_no_call() -> None:
    builder = ResponseBuilder()
    builder.add(StreamDelta(function_call_start="now", index=0))
    builder.add(StreamDelta(function_call_delta='{"n":', index=0))
    with pytest.raises(StreamIncomplete, match="in the middle of the call of now"):
        _ = builder.response


def test_a_response_and_its_pieces_say_the_same() -> None:
    response = LLMResponse(
        text="a",
        function_calls=(ToolCall(id="c0", name="now", arguments={"zone": "東京"}),),
        finish_reason="tool_calls",
    )
    builder = ResponseBuilder()
    for delta in response.deltas():
        builder.add(delta)
    assert builder.response is response
    assert [
        delta.function_call_delta for delta in response.deltas() if delta.function_call_delta
    ] == ['{"zone":"東京"}']


@pytest.mark.parametrize(
    ("response", "reply"),
    [
        (LLMResponse(text="a"), Reply(Message.assistant("a"), Stop("end"))),
        (
            LLMResponse(text="a", finish_reason="stop"),
            Reply(Message.assistant("a"), Stop("end", "stop")),
        ),
        (
            LLMResponse(finish_reason="length"),
            Reply(Message("assistant"), Stop("length", "length")),
        ),
    ],
)
def test_a_response_of_ones_own_is_a_reply(response: LLMResponse, reply: Reply) -> None:
    assert response.reply == reply


def test_a_response_remembers_its_reply() -> None:
    reply = Reply(Message.assistant(Thought("hm"), "a"), Stop("end"), Usage(input=1))
    assert LLMResponse.of(reply).reply is reply
    assert LLMResponse.of(reply) == LLMResponse(text="a", usage=Usage(input=1), finish_reason="end")


# --- create_provider ------------------------------------------------------------------------------


@pytest.mark.row("S1-01", "S1-06")
def test_names_of_the_field_are_names_of_the_same_things() -> None:
    assert ToolSchema is Tool
    assert FunctionCall is ToolCall
    assert FunctionCall(name="now", arguments={"zone": "UTC"}, id="c0") == ToolCall(
        id="c0", name="now", arguments={"zone": "UTC"}
    )


@pytest.mark.row("S1-31", "S1-32", "S1-33", "S1-34", "S1-35", "S1-61")
@pytest.mark.parametrize(
    ("name", "variable", "host"),
    [
        (
            "Gemini",
            "GEMINI_API_KEY",
            "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent",
        ),
        ("GLM", "GLM_API_KEY", "https://api.z.ai/api/paas/v4/chat/completions"),
        ("kimi", "KIMI_API_KEY", "https://api.moonshot.ai/v1/chat/completions"),
        ("kimi@cn", "KIMI_API_KEY", "https://api.moonshot.cn/v1/chat/completions"),
        ("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/chat/completions"),
        ("minimax", "MINIMAX_API_KEY", "https://api.minimax.io/v1/chat/completions"),
        ("minimax@cn", "MINIMAX_API_KEY", "https://api.minimaxi.com/v1/chat/completions"),
        ("minimax@old", "MINIMAX_API_KEY", "https://api.minimax.chat/v1/chat/completions"),
        ("glm@cn", "GLM_API_KEY", "https://open.bigmodel.cn/api/paas/v4/chat/completions"),
    ],
)
def test_providers_by_name_with_their_variables(
    name: str, variable: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError) as missing:
        create_provider(name, "", "m")
    assert missing.value.message == f"no API key: give api_key= or set {variable}"
    monkeypatch.setenv(variable, "fake-key-of-the-environment")
    made = create_provider(name, None, "m")
    assert made.chat.client.preview(made.chat.call("Hi")).url == host
    assert made.chat.client.describe()["key"] == variable


@pytest.mark.row("S4-02")
@pytest.mark.usefixtures("registry")
def test_providers_by_name_and_their_factories() -> None:
    """The vendors' are there on import; one's own is made when it is asked for, not when a
    pipeline is linted.
    """
    assert {"gemini", "openai", "anthropic", "glm", "kimi", "deepseek", "minimax"} <= set(PROVIDERS)
    made: list[dict[str, Any]] = []

    def parrot(**options: Any) -> Scripted:
        made.append(options)
        return Scripted()

    register_provider("parrot-of-mine", parrot)
    with pytest.raises(ConfigurationError, match="parrot-of-mine"):
        register_provider("parrot-of-mine", parrot)
    text = """digraph g {
        start [type=start]; ask [type=codergen, model="parrot-of-mine:m", prompt="Hi"];
        gem [type=codergen, model="gemini:m", prompt="Hi"]; done [type=exit];
        start -> ask -> gem -> done;
    }"""
    assert (lint(parse(text, "g")), made) == ([], [])
    assert isinstance(create_provider("parrot-of-mine", "fake-key", "m"), Scripted)
    assert len(made) == 1
    with pytest.raises(ConfigurationError) as unknown:
        create_provider("nobody", "fake-key", "m")
    known = str(unknown.value).partition("known are ")[2]
    for name in ("parrot-of-mine", *(name for name in PROVIDERS if "@" not in name)):
        assert name in known
    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
        create_provider("gemini", None, "m")


@pytest.mark.row("S1-33", "S1-35")
def test_a_key_given_for_one_host_goes_to_no_other_of_the_vendor() -> None:
    for vendor in ("kimi", "minimax"):
        source = {"provider": vendor, "api_key": "fake-key", "model": "m"}
        agents = {"here": {}, "there": {"provider": f"{vendor}@cn", "model": "m"}}
        config = load_config({**source, "multi_agent": {"agents": agents}})
        assert [bool(config.agents[name].api_key) for name in agents] == [True, False]


@pytest.mark.row("S1-11", "S1-36")
def test_an_explicit_key_goes_before_the_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "fake-key-of-the-environment")
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["authorization"])
        return httpx.Response(
            200,
            json={
                "choices": [
                    {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}
                ]
            },
        )

    async def main() -> None:
        for key in ("fake-key-given", ""):
            async with create_provider(
                "deepseek", key, "deepseek-chat", http=httpx.MockTransport(answer)
            ) as made:
                await made.generate(ASKED)

    anyio.run(main)
    assert seen == ["Bearer fake-key-given", "Bearer fake-key-of-the-environment"]


@pytest.mark.row("S1-31", "S1-36")
def test_another_base_and_names_that_are_in_no_list() -> None:
    made = create_provider("gemini", "fake-key", "m", "https://proxy.example/google/")
    assert (
        made.chat.client.preview(made.chat.call("Hi")).url
        == "https://proxy.example/google/v1beta/models/m:generateContent"
    )
    mine = create_provider("My-Host", "fake-key", "m", api_base="https://llm.example/v1/")
    assert (
        mine.chat.client.preview(mine.chat.call("Hi")).url
        == "https://llm.example/v1/chat/completions"
    )
    with pytest.raises(
        ConfigurationError,
        match=r"'my-host' is unknown; .*; known are anthropic, azure, baseten, bedrock, cerebras,",
    ):
        create_provider("my-host", "fake-key", "m")


@pytest.mark.row("S1-37")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", "fake", "m"), "provider: '' is not a name"),
        (("gemini:x", "fake", "m"), "provider: 'gemini:x' is not a name"),
        (("gemini", "fake", ""), "model: 'gemini:': empty model name"),
    ],
)
def test_what_is_no_provider_is_refused(arguments: tuple[str, str, str], said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        create_provider(*arguments)
    assert refused.value.message == said
    with pytest.raises(
        ConfigurationError, match="grounding: no such option; did you mean 'search_"
    ):
        create_provider("gemini", "fake", "m", grounding=True)


@pytest.mark.row("S1-17", "S1-37")
def test_search_grounding_is_sent_by_gemini_and_told_elsewhere(backend: str) -> None:
    emulator = Emulator([{"times": 0, "say": "Hi."}])
    host = Emulator(
        [{"times": 0, "match": {"endpoint": "chat.completions"}, "say": "Hi."}], lenient=True
    )

    async def main() -> tuple[Any, ...]:
        async with (
            create_provider(
                "gemini",
                "fake",
                "gemini-3.1-pro-preview",
                search_grounding=True,
                http=AsyncEmulatorTransport(emulator),
            ) as gemini,
            create_provider(
                "deepseek",
                "fake",
                "deepseek-chat",
                search_grounding=True,
                http=AsyncEmulatorTransport(host),
            ) as other,
        ):
            await gemini.generate(ASKED, tools=[NOW])
            await gemini.generate(ASKED)
            return (await other.generate(ASKED)).reply.notes

    told = anyio.run(main, backend=backend)
    both, alone = (each["body"] for each in emulator.requests)
    assert both["tools"] == [
        {"functionDeclarations": [{"name": "now", "description": "The time."}]},
        {"googleSearch": {}},
    ]
    assert both["toolConfig"] == {"includeServerSideToolInvocations": True}
    assert (alone["tools"], alone.get("toolConfig")) == ([{"googleSearch": {}}], None)
    assert "tools" not in host.requests[0]["body"]
    assert [note.path for note in told if note.path != "model"] == ["search_grounding"]


@pytest.mark.row("S1-16", "S1-20")
def test_the_first_piece_is_there_before_the_last_is_sent(backend: str) -> None:
    class Waiting(httpx.AsyncByteStream):
        closed = False

        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"So"}}]}\n\n'
            await anyio.sleep_forever()

        async def aclose(self) -> None:
            Waiting.closed = True

    def answer(request: httpx.Request) -> httpx.Response:
        assert (request.method, str(request.url)) == (
            "POST",
            "https://api.deepseek.com/chat/completions",
        )
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Waiting())

    async def main() -> str:
        async with create_provider(
            "deepseek", "fake", "deepseek-chat", http=httpx.MockTransport(answer)
        ) as made:
            deltas = made.generate_stream(ASKED)
            first = await anext(deltas)
            await deltas.aclose()  # type: ignore[attr-defined]
            return first.text

    assert anyio.run(main, backend=backend) == "So"
    assert Waiting.closed


@pytest.mark.row("S1-70")
def test_the_policy_is_that_of_resume_agent_unless_another_is_given() -> None:
    policy = create_provider("gemini", "fake", "m").chat.client.describe()["retry"]
    assert (
        policy
        == retry.RESUME_AGENT
        == retry.Retry(attempts=3, base=1, factor=2, cap=60, spread=(0.8, 1.2))
    )
    assert (
        create_provider("gemini", "fake", "m", retry=None).chat.client.describe()["retry"]
        == retry.NONE
    )


@pytest.mark.row("S1-69")
def test_no_vendors_sdk_is_a_dependency() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))[
        "project"
    ]
    asked = {
        msgspec.json.encode(each.split(">")[0]).decode().strip('"')
        for each in project["dependencies"]
    }
    assert asked == {"httpx", "msgspec", "anyio"}
    assert not any(
        "openai" in each or "genai" in each or "anthropic" in each
        for each in project["optional-dependencies"]["dev"]
    )


def test_a_text_is_a_part_of_a_response() -> None:
    assert LLMResponse(text="x").reply.message.parts == (Text("x"),)


# --- providers of one's own -----------------------------------------------------------------------


class Own(Scripted):
    """A provider that a factory makes: it remembers how it was made."""

    def __init__(self, *, api_key: str, model: str, api_base: str = "", style: str = "") -> None:
        super().__init__(LLMResponse(text="Hello."), LLMResponse(text="Again."))
        self.made = {"api_key": api_key, "model": model, "api_base": api_base, "style": style}
        self.model = model
        self.closings = 0

    async def aclose(self) -> None:
        self.closings += 1


@pytest.fixture
def registry() -> Iterator[None]:
    """The registry with `mine` alone in it; after the test it is as it was before."""
    before = dict(FACTORIES)
    FACTORIES.clear()
    register_provider("Mine", Own)
    yield
    FACTORIES.clear()
    FACTORIES.update(before)


@pytest.mark.usefixtures("registry")
def test_a_registered_provider_is_made_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    made = create_provider("MINE", "fake-key", "m", "https://mine.example", style="terse")
    assert isinstance(made, Own)
    assert made.made == {
        "api_key": "fake-key",
        "model": "m",
        "api_base": "https://mine.example",
        "style": "terse",
    }
    without = create_provider("mine", None, "m")
    assert isinstance(without, Own)
    assert without.made == {"api_key": "", "model": "m", "api_base": "", "style": ""}
    monkeypatch.setenv("MINE_API_KEY", "fake-env-key")
    by_environment = create_provider("mine", "", "m")
    assert isinstance(by_environment, Own)
    assert by_environment.made["api_key"] == "fake-env-key"


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.usefixtures("registry")
def test_a_registered_provider_works_in_a_configuration(backend: str) -> None:
    config = load_config(
        {
            "provider": "gemini",
            "multi_agent": {
                "agents": {
                    "parser": {
                        "provider": "Mine",
                        "api_key": "${MY_KEY}",
                        "model": "m",
                        "search_grounding": False,
                        "max_tokens": 7,
                    }
                }
            },
        },
        env={"MY_KEY": "fake-key"},
    )

    async def main() -> tuple[str, Any]:
        async with LLMAgent.from_config(config.agents["parser"]) as agent:
            return (await agent.run("Hi")).text, agent.provider

    text, made = anyio.run(main, backend=backend)
    assert text == "Hello."
    assert made.made == {"api_key": "fake-key", "model": "m", "api_base": "", "style": ""}
    assert (made.asked[0][1]["max_tokens"], made.closings) == (7, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: register_provider("", Own), "name: expected letters, digits, '.', '_' and '-'"),
        (lambda: register_provider("a:b", Own), "name: expected letters, digits, '.', '_' and '-'"),
        (lambda: register_provider("a@b", Own), "name: expected letters, digits, '.', '_' and '-'"),
        (lambda: register_provider(7, Own), "name: expected letters, digits, '.', '_' and '-'"),
        (lambda: register_provider("Gemini", Own), "name: 'gemini' is a provider of this library"),
        (
            lambda: register_provider("MINE", Own),
            "name: 'mine' is registered already; replace=True registers it anew",
        ),
        (
            lambda: register_provider("other", Own(api_key="", model="m")),
            "factory: expected a function or class that makes a provider, not Own",
        ),
        (
            lambda: create_provider("mine", "fake-key", "m", colour="red"),
            "provider 'mine': its factory: got an unexpected keyword argument 'colour'",
        ),
        (
            lambda: create_provider("nothing", "fake-key", "m"),
            "provider 'nothing': its factory must make an object with generate and "
            "generate_stream, not NoneType",
        ),
    ],
)
@pytest.mark.usefixtures("registry")
def test_what_is_no_provider_of_ones_own_is_refused(
    call: Callable[[], object], message: str
) -> None:
    register_provider("nothing", lambda **_: None)
    with pytest.raises(ConfigurationError) as refused:
        call()
    assert str(refused.value).startswith(message)


@pytest.mark.usefixtures("registry")
def test_an_unknown_name_is_answered_with_registered_ones_too() -> None:
    with pytest.raises(ConfigurationError, match=r"did you mean 'mine'\? .*, besides .*mine"):
        load_config({"provider": "minne", "model": "m"})


@pytest.mark.usefixtures("registry")
def test_a_factory_is_replaced_if_that_is_wanted() -> None:
    other = Scripted()
    register_provider("mine", lambda api_key, model: other, replace=True)
    assert create_provider("mine", "fake-key", "m") is other


@pytest.mark.usefixtures("registry")
def test_no_error_of_a_factory_holds_the_key_in_a_frame_of_ours() -> None:
    def fails(**_: str) -> Any:
        raise ValueError("no")

    register_provider("fails", fails)
    with pytest.raises(ValueError, match="no") as raised:
        create_provider("fails", "fake-key", "m")
    ours = [
        frame
        for frame, _ in traceback.walk_tb(raised.value.__traceback__)
        if frame.f_code.co_filename.endswith("provider.py") and frame.f_code.co_filename != __file__
    ]
    assert ours
    assert not [frame for frame in ours if "fake-key" in repr(frame.f_locals)]


# --- a provider as a model ------------------------------------------------------------------------


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_provider_is_a_model(backend: str) -> None:
    call = ToolCall(id="c0", name="now", arguments={"zone": "UTC"}, text='{"zone":"UTC"}')
    usage = Usage(input=1)
    provider = Scripted(
        LLMResponse(text="Hello.", usage=usage),
        [
            StreamDelta(thought="hm"),
            StreamDelta(),
            StreamDelta(text="I look.", function_call_start="now", index=0, call_id="c0"),
            StreamDelta(function_call_delta='{"zone":"UTC"}', index=0, call_id="c0"),
            StreamDelta(finish_reason="tool_calls", usage=usage),
        ],
    )

    async def main() -> tuple[Reply, list[Event]]:
        model = as_model(provider)
        reply = await model.ask(messages=ASKED, system="Be brief.", max_tokens=7)
        async with model.stream(messages=ASKED, tools=[NOW]) as events:
            return reply, [event async for event in events]

    reply, events = anyio.run(main, backend=backend)
    assert reply == Reply(Message.assistant("Hello."), Stop("end"), usage)
    assert events == [
        ThoughtDelta("hm"),
        TextDelta("I look."),
        ToolCallStart(0, "now", "c0"),
        ToolCallDelta(0, '{"zone":"UTC"}'),
        ToolCallEnd(0, call),
        Done(
            Reply(
                Message.assistant("I look.", call),
                Stop("tool_calls", "tool_calls"),
                usage,
            )
        ),
    ]
    nothing = {"tools": None, "system_prompt": None, "max_tokens": None, "temperature": None}
    assert provider.asked == [
        ("generate", {"messages": ASKED, **nothing, "system_prompt": "Be brief.", "max_tokens": 7}),
        ("generate_stream", {"messages": ASKED, **nothing, "tools": [NOW]}),
    ]
    assert provider.closed == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_iterator_out_of_an_async_function_is_a_stream_too(backend: str) -> None:
    class Awaited:
        async def generate(self, messages: Any, **_: Any) -> LLMResponse:
            raise AssertionError

        async def generate_stream(self, messages: Any, **_: Any) -> AsyncIterator[StreamDelta]:
            async def deltas() -> AsyncIterator[StreamDelta]:
                yield StreamDelta(text="Hello.")

            return deltas()

    async def main() -> str:
        return (await LLMAgent(Awaited()).run("Hi", stream=True)).text

    assert anyio.run(main, backend=backend) == "Hello."


@joined("backend", ["asyncio", "trio"])
@joined(
    ("stream", "message"),
    [
        (False, "provider Odd: generate must give LLMResponse, not str"),
        (True, "provider Odd: generate_stream must give StreamDelta, not str"),
    ],
)
def test_a_provider_that_gives_something_else_is_named(
    backend: str, stream: bool, message: str
) -> None:
    class Odd:
        async def generate(self, messages: Any, **_: Any) -> Any:
            return "Hello."

        async def generate_stream(self, messages: Any, **_: Any) -> AsyncIterator[Any]:
            yield "Hello."

    async def main() -> None:
        await LLMAgent(Odd(), retry=retry.NONE).run("Hi", stream=stream)

    with pytest.raises(ConfigurationError) as refused:
        anyio.run(main, backend=backend)
    assert str(refused.value) == message


def test_a_setting_that_providers_do_not_take_is_named() -> None:
    async def main() -> None:
        await as_model(Scripted()).ask(messages=ASKED, top_p=0.5)

    with pytest.raises(ConfigurationError, match="top_p: Scripted does not take this setting"):
        anyio.run(main)


def test_models_are_taken_as_they_are_and_our_own_providers_are_unwrapped() -> None:
    chat = AsyncChat("gemini:m", api_key="fake-key", http=AsyncEmulatorTransport(Emulator()))
    assert as_model(chat) is chat
    assert as_model(AsyncChatProvider(chat)) is chat
    assert repr(as_model(Scripted())).startswith("ProviderModel(<")


# --- parts under the names of multi-provider agents -----------------------------------------------


@pytest.mark.row("S1-04")
def test_a_part_is_made_of_exactly_one_thing():
    call = FunctionCall(id="call_1", name="now")
    result = FunctionResponse(name="now", response={"result": "12"}, call_id="call_1")
    made = Message(
        role="assistant",
        parts=[MessagePart.from_text("Wait."), MessagePart.from_function_call(call)],  # type: ignore[arg-type]
    )
    assert made == Message("assistant", (Text("Wait."), ToolCall(id="call_1", name="now")))
    assert MessagePart(function_response=result) is MessagePart.from_function_response(result)
    assert MessagePart(text="") == Text("")
    assert all(isinstance(part, MessagePart) for part in (*made.parts, result))
    assert not isinstance("text", MessagePart)
    assert not isinstance(call, FunctionResponse)
    for given in ({}, {"text": "Hi", "function_call": call}):
        with pytest.raises(RuleError, match=r"part: expected exactly one of text, function_call, "):
            MessagePart(**given)  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"function_call: expected a ToolCall, not 'now'"):
        MessagePart(function_call="now")  # type: ignore[arg-type]


@pytest.mark.row("S1-03")
def test_a_function_response_is_the_result_of_a_call():
    result = FunctionResponse("now", {"result": "12"}, "call_1")
    assert result == ToolResult("call_1", "now", {"result": "12"})
    assert result.answer == {"result": "12"}
    assert isinstance(result, FunctionResponse)
    assert FunctionResponse("now", {"error": "no clock"}, "call_1").error
    assert not FunctionResponse("now", {"error": None, "result": 1}, "call_1").error
    for wrong, path in (
        (("now", "12", "call_1"), "response"),
        (("now", {}, ""), "call_id"),
        (("", {}, "call_1"), "name"),
        (("now", {}, None), "call_id"),
    ):
        with pytest.raises(RuleError) as caught:
            FunctionResponse(*wrong)  # type: ignore[arg-type]
        assert caught.value.violations[0].path == path
