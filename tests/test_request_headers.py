"""Headers of one request, and what its account says of the response, on all three doors."""

from __future__ import annotations

import traceback
from typing import Any

import anyio
import pytest

from tests.joined import joined
from tests.library import is_library
from wire import (
    Agent,
    AsyncChat,
    AsyncChats,
    AsyncFallbackChat,
    Chat,
    Chats,
    FallbackChat,
    LLMAgent,
    Message,
    Reply,
    answer_account,
)
from wire.agent.run_state import RunResult, begin_run
from wire.errors import ConfigurationError, WireError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

KEY = "fake-key-8f3b1c7d2e9a"
MODEL = "openai:gpt-5.2"


def ask(style: str, emulator: Emulator, stream: bool, **settings: Any) -> Reply:
    """One question on threads, asyncio or trio."""
    options = {"api_key": KEY, "headers": {"x-team": "tides", "x-site": "brest"}, "retry": None}

    async def asked() -> Reply:
        http = AsyncEmulatorTransport(emulator)
        async with AsyncChat(MODEL, http=http, **options) as chat:
            if not stream:
                return await chat.ask("Hi", **settings)
            async with chat.stream("Hi", **settings) as events:
                return await events.reply()

    if style != "threads":
        return anyio.run(asked, backend=style)
    with Chat(MODEL, http=EmulatorTransport(emulator), **options) as chat:
        if not stream:
            return chat.ask("Hi", **settings)
        with chat.stream("Hi", **settings) as events:
            return events.reply()


@joined("stream", [False, True])
@joined("style", ["threads", "asyncio", "trio"])
def test_one_request_has_headers_of_its_own(style: str, stream: bool) -> None:
    emulator = Emulator()
    ask(style, emulator, stream, headers={"X-Team": "waves", "x-trace": "00-1"})
    ask(style, emulator, stream)
    first, second = (each["headers"] for each in emulator.requests)
    assert (first["x-team"], first["x-site"], first["x-trace"]) == ("waves", "brest", "00-1")
    assert (second["x-team"], "x-trace" in second) == ("tides", False)


def high_tide(port: str) -> str:
    """When the tide is high."""
    return "05:12"


CALL = {"say": {"calls": [{"name": "high_tide", "args": {"port": "Brest"}}]}}


def run(style: str, emulator: Emulator, how: str, **settings: Any) -> RunResult:
    """A run of an agent with two requests, then the same resumed: three requests."""
    options = {"api_key": KEY, "headers": {"x-team": "tides", "x-site": "brest"}, "retry": None}

    async def asked() -> RunResult:
        chat = AsyncChat(MODEL, http=AsyncEmulatorTransport(emulator), **options)
        async with LLMAgent(chat, tools=[high_tide]) as agent:
            if how == "stream":
                async with agent.stream("Hi", max_steps=1, **settings) as events:
                    assert [each async for each in events]
                state = events.result.state
                async with agent.resume_stream(state, **settings) as events:
                    assert [each async for each in events]
                return events.result
            first = await agent.run("Hi", max_steps=1, **settings)
            return await agent.resume(first.state, **settings)

    if style != "threads":
        return anyio.run(asked, backend=style)
    chat = Chat(MODEL, http=EmulatorTransport(emulator), **options)
    with Agent(chat, tools=[high_tide]) as agent:
        if how == "stream":
            with agent.stream("Hi", max_steps=1, **settings) as events:
                assert list(events)
            with agent.resume_stream(events.result.state, **settings) as events:
                assert list(events)
            return events.result
        first = agent.run("Hi", max_steps=1, **settings)
        return agent.resume(first.state, **settings)


@joined("how", ["run", "stream"])
@joined("style", ["threads", "asyncio", "trio"])
def test_a_run_of_an_agent_has_headers_of_its_own(style: str, how: str) -> None:
    emulator = Emulator([CALL, CALL, {"say": "At 05:12."}, CALL, CALL, {"say": "At 05:12."}])
    given = {"X-Team": "waves", "x-trace": "00-1", "x-auth-token": KEY}
    assert run(style, emulator, how, headers=given).text == "At 05:12."
    run(style, emulator, how)
    sent = [each["headers"] for each in emulator.requests]
    teams = [(each["x-team"], each["x-site"], "x-trace" in each) for each in sent]
    assert teams == [("waves", "brest", True)] * 3 + [("tides", "brest", False)] * 3
    assert [each["x-auth-token"] for each in sent[:3]] == ["***"] * 3  # the emulator hides it


@joined("stream", [False, True])
@joined("style", ["threads", "asyncio", "trio"])
def test_a_reply_and_an_error_have_the_headers_of_their_response(style: str, stream: bool) -> None:
    account = answer_account(ask(style, Emulator(), stream))
    assert account is not None
    assert account.response_headers["x-request-id"] == account.request_id
    assert [(each.unit, each.limit) for each in account.limits] == [
        ("requests", 10_000),
        ("tokens", 200_000),
    ]
    with pytest.raises(WireError) as caught:
        ask(style, Emulator([{"fault": "429; retry-after=2"}]), stream)
    failed = answer_account(caught.value)
    assert failed is caught.value.account
    assert failed is not None
    assert failed.response_headers == caught.value.response_headers
    assert (failed.rate_limits["retry-after"], failed.limits[0].remaining) == ("2", 0)


def test_a_quota_in_a_body_is_a_limit_of_its_attempt_only() -> None:
    """The account of a call that succeeded in the end has the limits of its last response."""
    script = [{"fault": "429; retry-after=0"}, {"say": "At 05:12."}]
    http = EmulatorTransport(Emulator(script))
    with Chat("gemini:gemini-3.8-flash", api_key=KEY, http=http) as chat:
        account = answer_account(chat.ask("Hi"))
    assert account is not None
    assert (account.attempts, account.limits) == (2, ())
    http = EmulatorTransport(Emulator([{"fault": "429; retry-after=2"}]))
    with Chat("gemini:gemini-3.8-flash", api_key=KEY, http=http, retry=None) as chat:
        with pytest.raises(WireError) as caught:
            chat.ask("Hi")
    assert caught.value.account is not None
    (limit,) = caught.value.account.limits
    assert (limit.unit, limit.scope, limit.window) == ("requests", "gemini-3.8-flash", 60)
    assert (limit.limit, limit.remaining) == (None, 0)  # the emulator has no quota
    assert limit.resets_at is not None


CHAT = Chat(MODEL, api_key=KEY)
ASYNC_CHAT = AsyncChat(MODEL, api_key=KEY)
CHATS, ASYNC_CHATS = Chats({"openai": CHAT.client}), AsyncChats({"openai": ASYNC_CHAT.client})
STOPPED = begin_run([Message.user("Hi")])
DOORS = {
    "ask": lambda given: CHAT.ask("Hi", headers=given),
    "stream": lambda given: CHAT.stream("Hi", headers=given),
    "call": lambda given: CHAT.call("Hi", headers=given),
    "async stream": lambda given: ASYNC_CHAT.stream("Hi", headers=given),
    "chats": lambda given: CHATS.ask("Hi", model="m", headers=given),
    "async ask": lambda given: anyio.run(lambda: ASYNC_CHAT.ask("Hi", headers=given)),
    "async chats": lambda given: anyio.run(lambda: ASYNC_CHATS.ask("Hi", model="m", headers=given)),
    "fallback": lambda given: FallbackChat([CHAT]).ask("Hi", headers=given),
    "fallback stream": lambda given: entered(FallbackChat([CHAT]).stream("Hi", headers=given)),
    "async fallback": lambda given: anyio.run(
        lambda: AsyncFallbackChat([ASYNC_CHAT]).ask("Hi", headers=given)
    ),
    "async fallback stream": lambda given: anyio.run(
        AsyncFallbackChat([ASYNC_CHAT]).stream("Hi", headers=given).__aenter__
    ),
    "agent": lambda given: Agent(CHAT).run("Hi", headers=given),
    "agent stream": lambda given: entered(Agent(CHAT).stream("Hi", headers=given)),
    "agent resume": lambda given: Agent(CHAT).resume(STOPPED, headers=given),
    "async agent": lambda given: anyio.run(lambda: LLMAgent(ASYNC_CHAT).run("Hi", headers=given)),
    "async agent stream": lambda given: anyio.run(
        LLMAgent(ASYNC_CHAT).stream("Hi", headers=given).__aenter__
    ),
}


def entered(block: Any) -> None:
    with block:
        pass


def test_headers_that_are_refused_leave_the_history_as_it_was() -> None:
    agent = Agent(CHAT)
    with pytest.raises(ConfigurationError):
        agent.run("Hi", headers={"x team": "a"})
    assert list(agent.history.messages) == []


@joined("door", DOORS)
@joined(
    ("given", "problem"),
    [
        ({"x team": "a"}, "headers: 'x team' is not a header name"),
        ({"x-auth-token": KEY + "\n"}, "headers.x-auth-token: character 21 is white space"),
        ({"x-team": "a\r\nx-other: b"}, "headers.x-team: expected printable ASCII text"),
        (KEY, "headers: expected a mapping"),
    ],
)
def test_bad_headers_are_refused_by_name_and_never_shown(
    door: str, given: Any, problem: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        DOORS[door](given)
    assert str(caught.value).startswith(problem)
    frames = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    ours = [each for each in frames.stack if is_library(each.filename)]
    assert KEY not in "".join(str(each.locals) for each in ours)


def test_keys_in_headers_of_a_request_are_sealed() -> None:
    call = CHAT.call("Hi", headers={"x-auth-token": KEY, "x-team": "tides"})
    assert KEY not in repr(call)
    shown = CHAT.client.preview(call).headers
    assert (shown["x-auth-token"], shown["x-team"]) == ("***", "tides")
