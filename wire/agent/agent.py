"""`LLMAgent`: a model, tools and a history, on asyncio and trio. `threads.py` is its twin."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager
from typing import Any, Self, Unpack

import anyio

from wire.agent.provider import ChatModel, ChatProvider, Collected, StreamDelta, create_provider
from wire.agent.state import MAX_STEPS, AgentOptions, AgentState, without_groups
from wire.agent.steps import Finished, RunCalls, RunResult, RunState, Steps, Verdict, is_transient
from wire.agent.tool_calls import run_calls
from wire.chat import AsyncChat
from wire.config import LLMConfig
from wire.core.exchange import Pause
from wire.errors import ConfigurationError
from wire.neutral.messages import Message, Parts, Reply, ToolResult

OnDelta = Callable[[StreamDelta], Awaitable[None] | None]


class AgentStream:
    """The deltas of a run as they come, once; `result` is what it has come to so far."""

    def __init__(self, steps: Steps, deltas: AsyncIterator[StreamDelta]) -> None:
        self._steps, self._deltas = steps, deltas

    def __aiter__(self) -> AsyncIterator[StreamDelta]:
        return self._deltas

    @property
    def result(self) -> RunResult:
        """What the run has added and why it stopped."""
        return self._steps.result


class LLMAgent(AgentState):
    """A model that calls tools until it has an answer.

    >>> from wire.agent.provider import LLMResponse
    >>> class Parrot:
    ...     async def generate(
    ...         self, messages, tools=None, system_prompt=None, max_tokens=None, temperature=None
    ...     ):
    ...         return LLMResponse(text=messages[-1].text)
    ...     async def generate_stream(self, messages, **settings):
    ...         yield StreamDelta(text=messages[-1].text)
    >>> anyio.run(LLMAgent(Parrot()).run, "Hello.").text
    'Hello.'

    `provider` is any `ChatProvider`, or an `AsyncChat`. The other options are those of
    `wire.agent.state.AgentOptions`. Runs of one agent share its history and are not made at the
    same time; several agents may share a provider.
    """

    def __init__(
        self,
        provider: ChatProvider | AsyncChat,
        system_prompt: str = "",
        **options: Unpack[AgentOptions],
    ) -> None:
        super().__init__(system_prompt, **options)
        if isinstance(provider, AsyncChat):
            provider = ChatModel(provider)
        if not isinstance(provider, ChatProvider):
            raise ConfigurationError(
                "provider: an object with generate and generate_stream is wanted, not "
                f"{type(provider).__name__}"
            )
        self.provider = provider

    @classmethod
    def from_config(
        cls,
        config: LLMConfig,
        system_prompt: str = "",
        *,
        http: Any = "auto",
        **options: Unpack[AgentOptions],
    ) -> Self:
        """An agent whose provider is made of a config; it is closed with the agent."""
        grounding = {"search_grounding": True} if config.search_grounding else {}
        provider = create_provider(
            config.provider, config.api_key, config.model, config.api_base, http=http, **grounding
        )
        options.setdefault("max_tokens", config.max_tokens)
        options.setdefault("temperature", config.temperature)
        return cls(provider, system_prompt, **options)

    async def run(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
    ) -> RunResult:
        """Ask, run what the model calls, tell it the results, until it answers without a call.

        With `stream`, deltas go to `on_stream_delta` (a function or an async one) as they come.
        Without `user_input` the run goes on from the history as it is. The result has exactly the
        messages that were added. `max_steps` is how often the model is asked at most; a run that
        reaches it returns, with the reason.

        Errors of the provider are raised, never in an `ExceptionGroup`. Whatever ends the run, be
        it a cancellation: results that are there are in the history, and `last_run.state` can be
        resumed. No tool that was started is started again: one that had not returned gets the error
        "cancelled while it ran; it may have had effects" for its result. A tool that is `read_only`
        does no harm and is run again.
        """
        return await self._run(self._begin(user_input, max_steps), stream, on_stream_delta)

    async def resume(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
    ) -> RunResult:
        """Go on with a run that stopped, here or in another process: `results` of calls that
        waited, or `verdicts` on them by their ids.
        """
        return await self._run(
            self._resume(state, results, verdicts, max_steps), stream, on_stream_delta
        )

    @asynccontextmanager
    async def stream(
        self, user_input: Parts | Message | None = None, max_steps: int | None = MAX_STEPS
    ) -> AsyncIterator[AgentStream]:
        """A run as an iterator of deltas: `async with agent.stream("Hi") as deltas:`.

        Leaving the block ends the run.
        """
        steps = self._begin(user_input, max_steps)
        async with aclosing(self._deltas(steps, True)) as deltas:
            yield AgentStream(steps, deltas)

    async def aclose(self) -> None:
        """Close the provider, if it can be closed. Closing twice is fine."""
        close = getattr(self.provider, "aclose", None)
        if close is not None:
            await close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    async def _run(self, steps: Steps, stream: bool, on_delta: OnDelta | None) -> RunResult:
        with without_groups():
            async with aclosing(self._deltas(steps, stream)) as deltas:
                async for delta in deltas:
                    told = on_delta(delta) if on_delta is not None else None
                    if inspect.isawaitable(told):
                        await told
        return steps.result

    async def _deltas(self, steps: Steps, stream: bool) -> AsyncGenerator[StreamDelta, None]:
        """Do what the steps want; yield what the model says on the way, if it is to be streamed."""
        with self._driven(steps):
            while not isinstance(step := steps.next(), Finished):
                if isinstance(step, Pause):
                    await anyio.sleep(step.seconds)
                elif isinstance(step, RunCalls):
                    await run_calls(
                        self.tools,
                        step.calls,
                        self._approve,
                        model=str(getattr(self.provider, "model", "")),
                        messages=steps.state.messages,
                        progress=steps,
                    )
                else:
                    collected = Collected()
                    try:
                        if stream:
                            async with aclosing(self._streamed(step.messages, collected)) as deltas:
                                async for delta in deltas:
                                    yield delta
                            reply = collected.response.reply
                        else:
                            reply = await self._asked(step.messages)
                    except BaseException as error:
                        steps.failed(error, seen=collected.begun)
                    else:
                        steps.replied(reply)

    async def _asked(self, messages: Sequence[Message]) -> Reply:
        response = await self.provider.generate(messages, **self._settings("system_prompt"))
        return response.reply

    async def _streamed(
        self, messages: Sequence[Message], collected: Collected
    ) -> AsyncGenerator[StreamDelta, None]:
        """The deltas of one answer.

        A stream that fails before its first delta is worth one attempt without streaming.
        """
        deltas = self.provider.generate_stream(messages, **self._settings("system_prompt"))
        try:
            async for delta in deltas:
                collected.add(delta)
                yield delta
        except Exception as error:
            if collected.begun or not is_transient(error):
                raise
            response = await self.provider.generate(messages, **self._settings("system_prompt"))
            for delta in response.deltas():
                collected.add(delta)
                yield delta
        finally:
            close = getattr(deltas, "aclose", None)
            if close is not None:
                await close()


GeminiAgent = LLMAgent
