"""One way to run an agent in all three styles: `run(door, ...)` on asyncio, trio, or by threads,
against emulators.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from wire.agent import Agent, LLMAgent, RunResult
from wire.agent.provider import LLMResponse, StreamDelta
from wire.chat.chat import AsyncChat, Chat
from wire.core.retry import NONE
from wire.neutral.messages import Message
from wire.neutral.request import Tool
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

MODEL = "gemini:gemini-3.1-pro-preview"


@dataclass
class Talk:
    """An agent's runs, one after the other, and what was seen of them."""

    results: list[RunResult] = field(default_factory=list)
    deltas: list[StreamDelta] = field(default_factory=list)
    history: tuple[Message, ...] = ()
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def result(self) -> RunResult:
        return self.results[-1]

    @property
    def bodies(self) -> list[Any]:
        return [each["body"] for each in self.requests]


def talk(
    style: str,
    script: object,
    *inputs: Any,
    model: str = MODEL,
    run: dict[str, Any] | None = None,
    chat: dict[str, Any] | None = None,
    setup: Callable[[Any], None] | None = None,
    **options: Any,
) -> Talk:
    """Run an agent with these inputs.

    `chat` is given to the chat, `run` to each run, the rest to the agent.
    """
    emulator = Emulator(script)  # type: ignore[arg-type]
    said = Talk()
    of_chat = {"api_key": "fake-key", "retry": NONE, **(chat or {})}
    of_run = dict(run or {})
    if of_run.get("stream"):
        of_run["on_stream_delta"] = said.deltas.append
    if style == "threads":
        with Agent(Chat(model, http=EmulatorTransport(emulator), **of_chat), **options) as agent:
            if setup is not None:
                setup(agent)
            for each in inputs:
                said.results.append(agent.run(each, **of_run))
            said.history = tuple(agent.history.messages)
    else:

        async def main() -> None:
            chat = AsyncChat(model, http=AsyncEmulatorTransport(emulator), **of_chat)
            async with LLMAgent(chat, **options) as agent:
                if setup is not None:
                    setup(agent)
                for each in inputs:
                    said.results.append(await agent.run(each, **of_run))
                said.history = tuple(agent.history.messages)
            await chat.aclose()

        anyio.run(main, backend=style)
    said.requests = [each for each in emulator.requests if each["method"] == "POST"]
    return said


def on(style: str, function: Callable[..., Any], *args: Any) -> Any:
    return anyio.run(functools.partial(function, *args), backend=style)


class Scripted:
    """A provider of one's own: each answer is a response, deltas, or an error to be raised."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.closed = 0

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> LLMResponse:
        self._note("generate", messages, tools, system_prompt, max_tokens, temperature)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, LLMResponse)
        return answer

    async def generate_stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> AsyncIterator[StreamDelta]:
        self._note("generate_stream", messages, tools, system_prompt, max_tokens, temperature)
        try:
            for each in self.answers.pop(0):
                if isinstance(each, Exception):
                    raise each
                yield each
        finally:
            self.closed += 1

    def _note(self, how: str, *said: Any) -> None:
        names = ("messages", "tools", "system_prompt", "max_tokens", "temperature")
        self.asked.append((how, dict(zip(names, said, strict=True))))


def kills(models: Sequence[str], moments: int) -> list[Any]:
    """A model and the number of a change at which a process is killed; most of them are slow."""
    return [
        pytest.param(model, at, marks=pytest.mark.slow if (at + row) % 6 else pytest.mark.processes)
        for row, model in enumerate(models)
        for at in range(moments)
    ]
