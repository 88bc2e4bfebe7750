"""Our own clients against the emulator's Messages: the raw door and the neutral one, and three
vendors one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.http.drive import Drive
from tests.joined import joined
from wire import Chat, Message, answer_account, anthropic, errors
from wire.neutral.messages import Done, TextDelta, Thought, ThoughtDelta, ToolCallEnd
from wire.pipeline.cli import main as attractor
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport, Server, serve

PIPELINE = Path(__file__).parents[3] / "examples" / "multi_provider.dot"
MODEL = "claude-sonnet-4-5"
TEXT = "This is an emulator, and no model. You said: hi"
TOOL = anthropic.Tool(
    name="get_weather",
    description="Weather of a city",
    input_schema={
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
)
THINKING = anthropic.Thinking(type="enabled", budget_tokens=1024)
QUESTION = "What is the weather in Paris and in Oslo?"
TOLD = 'Your tool get_weather says {"result": "sunny"} and get_weather says {"result": "sunny"}.'


def get_weather(city: str) -> str:
    """Weather of a city"""
    raise AssertionError(city)


def request(*turns: anthropic.Message, **more: Any) -> anthropic.MessageRequest:
    first = anthropic.Message(role="user", content="hi") if not turns else turns[0]
    return anthropic.MessageRequest(
        model=MODEL, max_tokens=2000, messages=[first, *turns[1:]], **more
    )


def user(content: Any) -> anthropic.Message:
    return anthropic.Message(role="user", content=content)


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


@pytest.fixture(params=["loopback", "transport"])
def options(request: pytest.FixtureRequest, server: Server, drive: Drive) -> dict[str, Any]:
    """The same emulator through a socket, and without one."""
    if request.param == "loopback":
        return {"provider": "anthropic", "base_url": server.url}
    return {
        "provider": "anthropic",
        "http": (EmulatorTransport if drive.name == "sync" else AsyncEmulatorTransport)(
            server.emulator
        ),
    }


def test_whole_and_streamed(drive: Drive, options: dict[str, Any]) -> None:
    whole = drive.send(anthropic.create_message(request()), **options)
    assert (whole.text, whole.usage.output_tokens, whole.stop_reason) == (TEXT, 15, "end_turn")
    assert answer_account(whole).request_id.startswith("req_01")  # type: ignore[union-attr]
    found = drive.read(anthropic.stream_message(request()), **options)
    assert (found.error, "".join(found.texts), found.reply.text) == (None, TEXT, TEXT)
    assert found.reply.usage.output_tokens == 15


def test_a_conversation_goes_back_in_its_bytes(
    drive: Drive, options: dict[str, Any], server: Server
) -> None:
    def talk(door: Any) -> tuple[Any, Any]:
        more = {"tools": [TOOL], "thinking": THINKING}
        first = door.read(anthropic.stream_message(request(user(QUESTION), **more))).reply
        results = [
            anthropic.ContentBlock(type="tool_result", tool_use_id=call.id, content="sunny")
            for call in first.tool_uses
        ]
        return first, door.read(
            anthropic.stream_message(request(user(QUESTION), first.message, user(results), **more))
        ).reply

    first, last = drive.session(talk, **options)
    assert [call.input for call in first.tool_uses] == [{"city": "Paris"}, {"city": "Oslo"}]
    assert last.text == TOLD
    assert [each["status"] for each in server.requests] == [200, 200]
    sent = server.requests[1]
    assert [block["type"] for block in sent["body"]["messages"][1]["content"]] == [
        "thinking",
        "tool_use",
        "tool_use",
    ]
    assert sent["headers"]["authorization"] == "***"


def test_counts_and_models(drive: Drive, options: dict[str, Any]) -> None:
    count = anthropic.CountTokensRequest(model=MODEL, messages=[user("hi there")])
    assert drive.send(anthropic.count_tokens(count), **options).input_tokens == 3
    assert drive.send(anthropic.get_model(MODEL), **options).max_input_tokens == 200_000
    assert MODEL in [each.id for each in drive.send(anthropic.list_models(), **options).data]


def test_errors_have_their_types(drive: Drive, options: dict[str, Any]) -> None:
    call = anthropic.create_message(request())
    with pytest.raises(errors.AuthenticationError, match="Invalid bearer token"):
        drive.send(call, **options, api_key="bad-key")
    unknown = anthropic.MessageRequest(model="claude-nothing", max_tokens=5, messages=[user("hi")])
    with pytest.raises(errors.NotFoundError, match="model: claude-nothing"):
        drive.send(anthropic.create_message(unknown), **options)
    with pytest.raises(
        errors.ContextLengthError, match="prompt is too long: 225001 tokens > 200000 maximum"
    ):
        drive.send(anthropic.create_message(request(user("word " * 225_000))), **options)
    with pytest.raises(errors.RateLimitError) as raised:
        drive.send(call, **options, headers={"x-wire-fault": "429; retry-after=0"})
    assert (raised.value.attempts, raised.value.retry_after) == (3, 0)
    assert (
        drive.send(call, **options, headers={"x-wire-fault": "529; retry-after=0; times=2"}).text
        == TEXT
    )


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("error; after=5", errors.OverloadedError),
        ("error-bare; after=5", errors.OverloadedError),
        ("end; after=5", errors.StreamIncomplete),
        ("cut; after=5", errors.ConnectionLost),
        ("reset; after=5", errors.ConnectionLost),
        ("garbage; after=5", errors.StreamInvalid),
    ],
)
def test_streams_that_break(
    drive: Drive, options: dict[str, Any], fault: str, kind: type[Exception]
) -> None:
    found = drive.read(
        anthropic.stream_message(request()), **options, headers={"x-wire-fault": fault}
    )
    assert isinstance(found.error, kind)
    assert [text for text in found.texts if text] == ["This is an ", "emulator, and no "]


# --- the neutral door -----------------------------------------------------------------------------

HOSTS = [
    "anthropic:claude-sonnet-4-5",
    "anthropic:claude-sonnet-5",
    "anthropic:claude-opus-4-8",
    "kimi@anthropic:kimi-k2-thinking",
]


@joined("model", [*HOSTS, "deepseek@anthropic:deepseek-chat", "minimax@anthropic:MiniMax-M3"])
def test_a_chat_with_calls_and_thoughts(model: str) -> None:
    emulator = Emulator()
    with Chat(
        model, http=EmulatorTransport(emulator), api_key="k", effort="medium", tools=[get_weather]
    ) as chat:
        first = chat.ask(QUESTION)
        assert [call.arguments for call in first.tool_calls] == [
            {"city": "Paris"},
            {"city": "Oslo"},
        ]
        assert (first.stop.reason, first.stop.raw) == ("tool_calls", "tool_use")
        assert [isinstance(part, Thought) for part in first.message.parts] == [True, False, False]
        answers = [Message.tool_result(call, "sunny") for call in first.tool_calls]
        last = chat.ask(messages=[Message.user(QUESTION), first.message, *answers])
        assert last.text == TOLD
    body = emulator.requests[1]["body"]
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [each["status"] for each in emulator.requests] == [200, 200]


def test_a_streamed_chat() -> None:
    script = [
        {
            "say": {
                "text": "Noon, I think.",
                "thoughts": "Hm.",
                "calls": [{"name": "get_weather", "args": {"city": "Rome"}}],
            }
        }
    ]
    with (
        Chat(
            HOSTS[0],
            http=EmulatorTransport(Emulator(script)),
            api_key="k",
            effort="low",
            tools=[get_weather],
        ) as chat,
        chat.stream("Hello") as stream,
    ):
        events = list(stream)
        reply = stream.reply()
    assert (
        "".join(event.text for event in events if isinstance(event, TextDelta))
        == reply.text
        == "Noon, I think."
    )
    assert "".join(event.text for event in events if isinstance(event, ThoughtDelta)) == "Hm."
    assert [event.call for event in events if isinstance(event, ToolCallEnd)] == list(
        reply.tool_calls
    )
    assert (isinstance(events[-1], Done), reply.tool_calls[0].arguments) == (True, {"city": "Rome"})


@pytest.mark.row("S4-22")
def test_three_vendors_one_after_the_other() -> None:
    emulator = Emulator()
    turns = [Message.user(QUESTION)]
    for model in (
        "anthropic:claude-sonnet-4-5",
        "openai:gpt-4o",
        "gemini:gemini-3.1-pro-preview",
        "anthropic:claude-opus-4-8",
    ):
        with Chat(
            model, http=EmulatorTransport(emulator), api_key="k", tools=[get_weather]
        ) as chat:
            reply = chat.ask(messages=turns)
            assert len(reply.tool_calls) == 2, model
            turns += [
                reply.message,
                *(Message.tool_result(call, "sunny") for call in reply.tool_calls),
            ]
            reply = chat.ask(messages=turns)
            assert reply.text == TOLD, model
            turns += [reply.message, Message.user(QUESTION)]
    assert [each["status"] for each in emulator.requests] == [200] * 8


@pytest.mark.row("S4-22")
def test_a_pipeline_asks_three_vendors(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    server: Server,
    tmp_path: Path,
) -> None:
    for name, url in (
        ("ANTHROPIC", server.url),
        ("OPENAI", f"{server.url}/v1"),
        ("GEMINI", server.url),
    ):
        monkeypatch.setenv(f"{name}_BASE_URL", url)
        monkeypatch.setenv(f"{name}_API_KEY", "fake-key")
    assert (
        attractor(["run", str(PIPELINE), "--seed", "a week of rain", "--workdir", str(tmp_path)])
        == 0
    )
    assert "completed done (exit)" in capsys.readouterr().err
    assert {each["status"] for each in server.requests} == {200}
    assert list(dict.fromkeys(each["target"] for each in server.requests)) == [
        "/v1/messages",
        "/v1/responses",
        "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
    ]
