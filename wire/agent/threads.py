"""`Agent`: what `LLMAgent` is, for threads, over a `Chat`. `loop.py` is its twin."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Self, Unpack

from wire.agent.provider import Collected, Deltas, StreamDelta
from wire.agent.state import MAX_STEPS, AgentOptions, AgentState, without_groups
from wire.agent.steps import Finished, RunCalls, RunResult, RunState, Steps, Verdict
from wire.agent.tool_calls import run_calls_in_threads
from wire.chat import Chat
from wire.core.exchange import Pause
from wire.errors import ConfigurationError
from wire.neutral.messages import Message, Parts, Reply, ToolResult


class RunStream:
    """The deltas of a run as they come, once; `result` is what it has come to so far."""

    def __init__(self, steps: Steps, deltas: Iterator[StreamDelta]) -> None:
        self._steps, self._deltas = steps, deltas

    def __iter__(self) -> Iterator[StreamDelta]:
        return self._deltas

    @property
    def result(self) -> RunResult:
        """What the run has added and why it stopped."""
        return self._steps.result


class Agent(AgentState):
    """A model that calls tools until it has an answer; each call of a turn in a thread of its own.

    `KeyboardInterrupt` ends a run as a cancellation ends one of `LLMAgent`: results that are there
    are kept, and tools that still run are not waited for.

    It takes a `Chat` and the options of `wire.agent.state.AgentOptions`. The methods are those of
    `LLMAgent`.
    """

    def __init__(
        self, chat: Chat, system_prompt: str = "", **options: Unpack[AgentOptions]
    ) -> None:
        super().__init__(system_prompt, **options)
        if not isinstance(chat, Chat):
            raise ConfigurationError(
                f"chat: a Chat is wanted, not {type(chat).__name__}; LLMAgent takes providers"
            )
        self.chat = chat

    def run(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: Callable[[StreamDelta], None] | None = None,
    ) -> RunResult:
        """Ask, run what the model calls, tell it the results, until it answers without a call.

        As `LLMAgent.run`.
        """
        return self._run(self._begin(user_input, max_steps), stream, on_stream_delta)

    def resume(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: Callable[[StreamDelta], None] | None = None,
    ) -> RunResult:
        """Go on with a run that stopped. As `LLMAgent.resume`."""
        return self._run(self._resume(state, results, verdicts, max_steps), stream, on_stream_delta)

    @contextmanager
    def stream(
        self, user_input: Parts | Message | None = None, max_steps: int | None = MAX_STEPS
    ) -> Iterator[RunStream]:
        """A run as an iterator of deltas: `with agent.stream("Hi") as deltas:`.

        Leaving the block ends the run.
        """
        steps = self._begin(user_input, max_steps)
        with closing(self._deltas(steps, True)) as deltas:
            yield RunStream(steps, deltas)

    def close(self) -> None:
        """Close the chat. Closing twice is fine."""
        self.chat.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(
        self,
        steps: Steps,
        stream: bool,
        on_delta: Callable[[StreamDelta], None] | None,
    ) -> RunResult:
        with without_groups(), closing(self._deltas(steps, stream)) as deltas:
            for delta in deltas:
                if on_delta is not None:
                    on_delta(delta)
        return steps.result

    def _deltas(self, steps: Steps, stream: bool) -> Generator[StreamDelta, None, None]:
        """Do what the steps want; yield what the model says on the way, if it is to be streamed."""
        with self._driven(steps):
            while not isinstance(step := steps.next(), Finished):
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                elif isinstance(step, RunCalls):
                    run_calls_in_threads(
                        self.tools,
                        step.calls,
                        self._approve,
                        model=self.chat.model,
                        messages=steps.state.messages,
                        progress=steps,
                    )
                else:
                    collected = Collected()
                    try:
                        if stream:
                            yield from self._streamed(step.messages, collected)
                            reply = collected.response.reply
                        else:
                            reply = self._asked(step.messages)
                    except BaseException as error:
                        steps.failed(error, seen=collected.begun)
                    else:
                        steps.replied(reply)

    def _asked(self, messages: Sequence[Message]) -> Reply:
        return self.chat.ask(messages=messages, **self._settings("system"))

    def _streamed(self, messages: Sequence[Message], collected: Collected) -> Iterator[StreamDelta]:
        deltas = Deltas()
        with self.chat.stream(messages=messages, **self._settings("system")) as events:
            for event in events:
                delta = deltas.of(event)
                collected.add(delta)
                yield delta
