"""How often an agent sends the request of one step: not more often than its policy says (R-17)."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest

from tests.agent.agents import Scripted
from tests.http.loopback import LAST, STREAM, Script, Step, event, head, loopback, whole
from tests.joined import joined
from wire.agent import Agent, LLMAgent
from wire.agent.provider import LLMResponse
from wire.chat.chat import AsyncChat, Chat
from wire.core.retry import Retry, off
from wire.errors import ConnectionLost, OverloadedError, StreamIncomplete, WireError
from wire.neutral.messages import Restart, TextDelta, ToolCallEnd

MODEL = "gemini:gemini-3.1-pro-preview"
STYLES = ["asyncio", "trio", "threads"]
CALL = {"functionCall": {"name": "write", "args": {"text": "x"}}}


def part(*parts: dict[str, Any]) -> bytes:
    return event({"candidates": [{"content": {"parts": list(parts), "role": "model"}}]})


BROKEN_STREAMS: dict[str, list[Step]] = {
    "before the head": ["reset"],
    "after the head": [STREAM, "reset"],
    "after the first event": [STREAM, part({"text": "Hel"}), "reset"],
    "after a call": [STREAM, part({"text": "Hel"}), part(CALL), "close"],
}
WHOLE = json.dumps({"candidates": [{"content": {"parts": [CALL], "role": "model"}}]}).encode()
BROKEN_BODIES: dict[str, list[Step]] = {
    "before the head": ["reset"],
    "after the head": [head(kind="application/json", content_length="999"), "reset"],
    "in the middle": [head(kind="application/json", content_length="999"), WHOLE, "close"],
}


def run(
    style: str, steps: list[Step] | Script, *, streamed: bool, attempts: int
) -> tuple[int, WireError, list[Any], list[str]]:
    """The number of requests, the error, the events and the tools that ran."""
    events: list[Any] = []
    made: list[str] = []
    policy = Retry(attempts=attempts, base=0)

    def write(text: str) -> str:
        made.append(text)
        return "written"

    async def main(url: str) -> None:
        options: Any = {"api_key": "fake-key", "base_url": url, "retry": policy}
        async with AsyncChat(MODEL, **options) as chat:
            agent = LLMAgent(chat, tools=[write], retry=policy)
            if not streamed:
                await agent.run("Hi")
                return
            async with agent.stream("Hi") as stream:
                async for each in stream:
                    events.append(each)

    def by_threads(url: str) -> None:
        with Chat(MODEL, api_key="fake-key", base_url=url, retry=policy) as chat:
            agent = Agent(chat, tools=[write], retry=policy)
            if not streamed:
                agent.run("Hi")
                return
            with agent.stream("Hi") as stream:
                events.extend(iter(stream))

    with loopback(steps) as server, pytest.raises(WireError) as raised:
        if style == "threads":
            by_threads(server.url)
        else:
            anyio.run(main, server.url, backend=style)
    return len(server.requests), raised.value, events, made


@pytest.mark.row("R-17")
@joined("attempts", [1, 3])
@joined("broken", BROKEN_STREAMS)
@joined("style", STYLES)
def test_a_streamed_step_is_asked_as_often_as_the_policy_says(
    style: str, broken: str, attempts: int
) -> None:
    """Once an event was handed out it is not asked again, and a partial call never runs."""
    committed = broken in ("after the first event", "after a call")
    requests, error, events, made = run(
        style, BROKEN_STREAMS[broken], streamed=True, attempts=attempts
    )
    assert requests == (1 if committed else attempts)
    assert isinstance(error, (ConnectionLost, WireError))
    texts = [each.text for each in events if isinstance(each, TextDelta)]
    assert texts == (["Hel"] if committed else [])
    assert not any(isinstance(each, Restart) for each in events)
    assert sum(isinstance(each, ToolCallEnd) for each in events) <= 1
    assert made == []


@pytest.mark.row("R-17")
@joined("attempts", [1, 3])
@joined("broken", BROKEN_BODIES)
@joined("style", STYLES)
def test_a_whole_step_is_asked_as_often_as_the_policy_says(
    style: str, broken: str, attempts: int
) -> None:
    requests, error, _, made = run(style, BROKEN_BODIES[broken], streamed=False, attempts=attempts)
    assert (requests, isinstance(error, ConnectionLost), made) == (attempts, True, [])


@pytest.mark.row("R-17")
@joined("attempts", [1, 2, 3, 4])
@joined("backend", ["asyncio", "trio"])
def test_a_provider_of_ones_own_is_asked_as_often_as_the_policy_says(
    backend: str, attempts: int
) -> None:
    """Streams that fail at once, each followed by a request without streaming (S1-72)."""
    answers: list[Any] = []
    for _ in range(4):
        answers += [[ConnectionResetError("gone")], ConnectionResetError("gone")]
    provider = Scripted(*answers, LLMResponse(text="never"))
    agent = LLMAgent(provider, retry=Retry(attempts=attempts, base=0))

    async def main() -> None:
        await agent.run("Hi", stream=True)

    with pytest.raises(ConnectionResetError):
        anyio.run(main, backend=backend)
    how = [name for name, _ in provider.asked]
    assert how == ["generate_stream", "generate", "generate_stream", "generate"][:attempts]


@pytest.mark.row("R-17")
@joined("streamed", [False, True])
@joined("style", STYLES)
def test_requests_of_the_client_before_an_empty_reply_are_attempts_too(
    style: str, streamed: bool
) -> None:
    """The client retries 503, the agent an empty reply: both within the three of the policy."""

    def script(number: int, request: bytes) -> list[Step]:
        if number < 2:
            return [whole({"error": {"code": 503, "message": "busy"}}, 503)]
        empty = {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}
        return [STREAM, event(empty), LAST] if streamed else [whole(empty)]

    requests, error, _, _ = run(style, script, streamed=streamed, attempts=3)
    assert (requests, type(error)) == (3, StreamIncomplete)


@pytest.mark.row("R-17")
@joined("streamed", [False, True])
@joined("pattern", ["EBBB", "BEBB", "BEEB", "EEBB", "EBEB"])
@joined("style", STYLES)
def test_an_empty_reply_leaves_the_client_the_rest_of_the_attempts(
    style: str, pattern: str, streamed: bool
) -> None:
    """`E` is an empty reply, `B` a 503: a step sends three requests in any order of them."""

    def script(number: int, request: bytes) -> list[Step]:
        if pattern[number] == "B":
            return [whole({"error": {"code": 503, "message": "busy"}}, 503)]
        empty = {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}
        return [STREAM, event(empty), LAST] if streamed else [whole(empty)]

    requests, error, _, _ = run(style, script, streamed=streamed, attempts=3)
    assert requests == 3
    assert isinstance(error, StreamIncomplete if pattern[2] == "E" else OverloadedError)


@pytest.mark.row("R-18")
@pytest.mark.parametrize("style", STYLES)
def test_retries_of_agents_are_off_too(style: str) -> None:
    empty = {"candidates": [{"content": {"role": "model"}, "finishReason": "STOP"}]}
    with off():
        requests, error, _, _ = run(
            style, lambda number, request: [whole(empty)], streamed=False, attempts=3
        )
    assert (requests, type(error)) == (1, StreamIncomplete)
