"""`LLMAgent`: a model, its tools and a history, for asyncio and trio. `agent.py` has its twin.

It drives the state machine of `wire.agent.steps`: it asks the model, runs its calls, waits, and
reports the results. It decides nothing.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from decimal import Decimal
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack, cast

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

from wire.agent.config import LLMConfig
from wire.agent.context_cache import AsyncCachedChat, CachePolicy, policy_of
from wire.agent.guard import Guard
from wire.agent.hooks import Verdict
from wire.agent.model import AgentEvent, AsyncModel, MessageJoined, close_model, model_name
from wire.agent.provider import (
    ChatProvider,
    EventsToDeltas,
    as_model,
    create_provider,
)
from wire.agent.run_state import RunResult, RunState
from wire.agent.spans import Spans
from wire.agent.state import (
    MAX_STEPS,
    NO_DONE,
    AgentOptions,
    AgentState,
    AnyOutput,
    OnDelta,
    agent_options,
    check_output,
    message_of,
    seal_agent,
    without_groups,
)
from wire.agent.steps import Ask, Finished, RunCalls, Steps
from wire.agent.tool_calls import Approve, run_calls
from wire.chat.chat import AsyncChat
from wire.chat.stream import AsyncTexts
from wire.core.arguments import checked_arguments, checked_names
from wire.core.errors import ConfigurationError, StreamIncomplete
from wire.core.exchange import Pause
from wire.core.provider import HOST_OPTIONS
from wire.core.retry import RESUME_AGENT, Retry
from wire.core.secret import Headers, sealed_object, unsealed
from wire.core.stream_block import async_stream_block
from wire.history import HistoryManager
from wire.neutral.compaction import Compaction
from wire.neutral.events import events_of
from wire.neutral.messages import Done, Event, Message, Parts, ToolCall, ToolResult
from wire.neutral.request import ServerTool, Tool
from wire.tools import ToolRun
from wire.wires.providers import FACTORIES

if TYPE_CHECKING:
    from wire.agent.early_calls import EarlyTasks
    from wire.agent.live_session import AsyncAgentLiveSession
    from wire.neutral.live import LiveOptions

T = TypeVar("T")


class AsyncRunStream(Generic[AnyOutput]):
    """The events of a run as they arrive, once; `result` is the run so far."""

    @checked_arguments(ConfigurationError)
    def __init__(self, steps: Steps, events: AsyncIterator[AgentEvent]) -> None:
        self._steps, self._events = steps, events

    def __aiter__(self) -> AsyncIterator[AgentEvent]:
        return self._events

    @property
    def result(self) -> RunResult[AnyOutput]:
        """The messages that the run added so far, and why it stopped."""
        return self._steps.result

    def texts(self) -> AsyncIterator[str]:
        """Iterate over the pieces of the replies' texts. As `ChatStream.texts`."""
        return AsyncTexts(self._events)

    def send(self, message: Parts | Message, *, at_once: bool = False) -> None:
        """Send a message to the run. As `LLMAgent.send`."""
        self._steps.send(message_of(message), at_once=at_once)

    def stop(self) -> None:
        """End the run before its next request. As `LLMAgent.stop`."""
        self._steps.stop()


class LLMAgent(AgentState, Generic[AnyOutput]):
    """A model that calls tools until it has an answer, on asyncio and trio.

    >>> from wire.agent.provider import LLMResponse
    >>> class Parrot:
    ...     async def generate(self, messages, **settings):
    ...         return LLMResponse(text=messages[-1].text)
    ...     async def generate_stream(self, messages, **settings):
    ...         yield StreamDelta(text=messages[-1].text)
    >>> anyio.run(LLMAgent(Parrot()).run, "Hello.").text
    'Hello.'

    The runs of one agent share its history and must not overlap; several agents may share a
    provider.

    Raises `ConfigurationError` that names the option.

    Args:
        provider: An `AsyncChat`, any other `AsyncModel`, or any `ChatProvider`. A text such as
            `gemini:gemini-3.8-flash` becomes an `AsyncChat` with the key in the environment.
            Closing the agent closes it.
        system_prompt: The system prompt; empty: none.
        output: The type of the answer, as for `AsyncChat.ask`; `RunResult.output` has its value. An
            answer that does not fit is asked for again. By default, the answer is text.
        tools: Functions, types, or tools made by `wire.tools.tool`; and tools that the vendor's
            server runs, such as `wire.web_search()`.
        max_tokens: Tokens. The longest reply. By default, that of the model.
        temperature: Randomness, from 0 up. By default, that of the model.
        history: Holds the conversation from run to run, and limits how much of it is sent. By
            default, a new one.
        approve: Called before each tool call: `True` approves it, `False` or a text, the reason,
            refuses it. Anything else refuses it too, such as the `None` of a function that returns
            nothing. If it raises, the exception is the reason, and the run continues. It may be
            async, also for `Agent`, which awaits it in an event loop of its own and so works in a
            notebook. `LLMAgent` calls a plain function in a thread, for one call at a time.
            `wire.tools.format_call` shows a call in a question.
        guard: Stops or steers a model that repeats itself.
        stop_when: Called between steps with the state; the run stops if it returns true, and
            `resume` continues it.
        on_change: Called with the state when a run begins, before any request, and each time it
            changes: after each reply, before each tool starts, after each result. With `save_run`
            in it, a killed program can `resume` the run. It is a plain function, called for one
            change at a time, in whatever thread the change happens; the run waits for it. If it
            raises, the run ends, and raises the same.
        max_parallel_tools: The most calls of one turn that run at once, 16 by default; the others
            wait.
        max_calls_per_turn: The most calls of one turn that are run, 1,000 by default. The model
            gets an error for each further call.
        early_tools: True starts a call as soon as its arguments are whole, while the reply is still
            streamed; each reply is streamed then. A reply that breaks off after that keeps the
            results, and the run goes on with them. Calls that need an approval, and those that a
            guard judges, run after the reply. False by default.
        max_cost: USD. The run ends with the reason `max_cost`, before its next request, once its
            replies cost that much, or after a reply whose cost is unknown. A reply of a
            `FallbackChat` costs what the model that answered costs. The catalogue must have the
            price of each model, unless its provider sends the cost. No limit by default.
        max_tokens_total: Tokens. The run ends with the reason `max_tokens_total`, before its next
            request, once its requests and replies have that many, or after a reply without counts.
            No limit by default.
        max_calls: The most calls of tools that a run makes. The model gets an error for each
            further call of that turn, and the run ends with the reason `max_calls`. No limit by
            default.
        output_retries: How often in a row the model is asked again after an answer that does not
            fit `output`, 1 by default. Each request is one of `max_steps`, and counts against the
            budget.
        on_error: Returns the message that the model gets for an exception of a tool.
        retry: For empty replies, and for models that do not retry themselves. By default 3
            attempts, with waits of about 1 s and 2 s.
        view: Returns the messages to send, in place of the history's limits.
        cache: Keeps the system prompt and the tools in a context cache; for chats of Gemini.
        caching: `auto` or `long` lets the vendor cache the beginning of each request, as for a
            chat; on Gemini the agent keeps a context cache, for 300 s or 3,600 s. `off` disables
            both. By default, as the chat.
        compaction: From how many tokens on a long conversation is replaced by a summary: True, a
            number, or a `Compaction`. The server does it where it can; elsewhere the agent asks its
            model, or that of the `Compaction`. The history then has no limits of its own, and keeps
            all messages.
        tracing: The value of `wire.otel.tracing()`: makes a span of each run and of each tool that
            runs, the parents of the spans of their calls. A chat that the agent makes from a name
            gets it as `around=`; another one has its own. By default, there are no spans.
        name: Name of the agent in the spans of its runs.
    """

    @typing.overload
    def __init__(
        self: LLMAgent[T],
        provider: AsyncModel | ChatProvider | str,
        system_prompt: str = "",
        *,
        output: type[T],
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @typing.overload
    def __init__(
        self: LLMAgent[Any],
        provider: AsyncModel | ChatProvider | str,
        system_prompt: str = "",
        *,
        output: Any = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @checked_arguments(ConfigurationError)
    @checked_names(seal=seal_agent)
    def __init__(
        self,
        provider: AsyncModel | ChatProvider | str,
        system_prompt: str = "",
        *,
        output: Any = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        history: HistoryManager | None = None,
        approve: Approve | None = None,
        guard: Guard | None = None,
        stop_when: Callable[[RunState], bool] | None = None,
        on_change: Callable[[RunState], None] | None = None,
        max_parallel_tools: int = 16,
        max_calls_per_turn: int = 1000,
        early_tools: bool = False,
        max_cost: Decimal | float | None = None,
        max_tokens_total: int | None = None,
        max_calls: int | None = None,
        output_retries: int = 1,
        on_error: Callable[[Exception, ToolCall], str] | None = None,
        retry: Retry = RESUME_AGENT,
        view: Callable[[Sequence[Message]], Iterable[Message]] | None = None,
        cache: CachePolicy | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        tracing: Spans | None = None,
        name: str = "",
    ) -> None:
        options = agent_options(locals())
        # Before anything can raise: tracebacks show the arguments of this frame.
        provider = sealed_object(provider, "ask", "generate")
        super().__init__(system_prompt, options, output)
        self.provider = provider

    @property
    def provider(self) -> AsyncModel | ChatProvider:
        """The provider or model of the agent. A new value is used from the next request on.

        A text, the name of a model, becomes an `AsyncChat`. The agent closes the value that it has
        when it is closed, not those before.
        """
        return self._provider

    @provider.setter
    def provider(self, provider: AsyncModel | ChatProvider | str) -> None:
        if isinstance(unsealed(provider), str):
            provider = AsyncChat(cast(str, provider), around=self._tracing)
        given = cast(AsyncModel | ChatProvider, provider)
        model = as_model(given)
        self._check_price(model)
        check_output(self.output, model)
        self.model: AsyncModel = self._cached(model)
        """The model that gets the requests: the provider itself, or the adapter of a
        `ChatProvider`; with `cache=`, and on Gemini with `caching=`, an `AsyncCachedChat`.
        """
        self._provider = given

    def _cached(self, model: AsyncModel) -> AsyncModel:
        policy = policy_of(model, self._cache, self._caching)
        return model if policy is None else AsyncCachedChat(cast(AsyncChat, model), policy)

    @classmethod
    @checked_arguments(ConfigurationError)
    @checked_names(seal=seal_agent)
    def from_config(
        cls,
        config: LLMConfig,
        system_prompt: str = "",
        *,
        http: Any = "auto",
        output: Any = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        history: HistoryManager | None = None,
        approve: Approve | None = None,
        guard: Guard | None = None,
        stop_when: Callable[[RunState], bool] | None = None,
        on_change: Callable[[RunState], None] | None = None,
        max_parallel_tools: int = 16,
        max_calls_per_turn: int = 1000,
        early_tools: bool = False,
        max_cost: Decimal | float | None = None,
        max_tokens_total: int | None = None,
        max_calls: int | None = None,
        output_retries: int = 1,
        on_error: Callable[[Exception, ToolCall], str] | None = None,
        retry: Retry = RESUME_AGENT,
        view: Callable[[Sequence[Message]], Iterable[Message]] | None = None,
        cache: CachePolicy | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        tracing: Spans | None = None,
        name: str = "",
    ) -> Self:
        """Create an agent whose provider is created from a config and closed with the agent.

        >>> config = LLMConfig("fake-key", provider="deepseek", model="deepseek-chat")
        >>> LLMAgent.from_config(config, "Be brief.").provider
        AsyncChatProvider(deepseek:deepseek-chat)

        `http` goes to `create_provider`. Raises as `create_provider` and as the class itself.

        Args:
            config: Provider, model, key and settings; see `wire.load_config`.
            system_prompt: The system prompt; empty: none.
            http: Transport of the provider, as for `create_provider`.
            output: The type of the answer, as for `AsyncChat.ask`; `RunResult.output` has its
                value. An answer that does not fit is asked for again. By default, the answer is
                text.
            tools: Functions, types, or tools made by `wire.tools.tool`; and tools that the vendor's
                server runs, such as `wire.web_search()`.
            max_tokens: Tokens. The longest reply. By default, that of the model.
            temperature: Randomness, from 0 up. By default, that of the model.
            history: Holds the conversation from run to run, and limits how much of it is sent. By
                default, a new one.
            approve: Called before each tool call: `True` approves it, `False` or a text, the
                reason, refuses it. Anything else refuses it too, such as the `None` of a function
                that returns nothing. If it raises, the exception is the reason, and the run
                continues. It may be async, also for `Agent`, which awaits it in an event loop of
                its own and so works in a notebook. `LLMAgent` calls a plain function in a thread,
                for one call at a time. `wire.tools.format_call` shows a call in a question.
            guard: Stops or steers a model that repeats itself.
            stop_when: Called between steps with the state; the run stops if it returns true, and
                `resume` continues it.
            on_change: Called with the state when a run begins, before any request, and each time it
                changes: after each reply, before each tool starts, after each result. With
                `save_run` in it, a killed program can `resume` the run. It is a plain function,
                called for one change at a time, in whatever thread the change happens; the run
                waits for it. If it raises, the run ends, and raises the same.
            max_parallel_tools: The most calls of one turn that run at once, 16 by default; the
                others wait.
            max_calls_per_turn: The most calls of one turn that are run, 1,000 by default. The model
                gets an error for each further call.
            early_tools: True starts a call as soon as its arguments are whole, while the reply is
                still streamed; each reply is streamed then. A reply that breaks off after that
                keeps the results, and the run goes on with them. Calls that need an approval, and
                those that a guard judges, run after the reply. False by default.
            max_cost: USD. The run ends with the reason `max_cost`, before its next request, once
                its replies cost that much, or after a reply whose cost is unknown. A reply of a
                `FallbackChat` costs what the model that answered costs. The catalogue must have the
                price of each model, unless its provider sends the cost. No limit by default.
            max_tokens_total: Tokens. The run ends with the reason `max_tokens_total`, before its
                next request, once its requests and replies have that many, or after a reply without
                counts. No limit by default.
            max_calls: The most calls of tools that a run makes. The model gets an error for each
                further call of that turn, and the run ends with the reason `max_calls`. No limit by
                default.
            output_retries: How often in a row the model is asked again after an answer that does
                not fit `output`, 1 by default. Each request is one of `max_steps`, and counts
                against the budget.
            on_error: Returns the message that the model gets for an exception of a tool.
            retry: For empty replies, and for models that do not retry themselves. By default 3
                attempts, with waits of about 1 s and 2 s.
            view: Returns the messages to send, in place of the history's limits.
            cache: Keeps the system prompt and the tools in a context cache; for chats of Gemini.
            caching: `auto` or `long` lets the vendor cache the beginning of each request, as for a
                chat; on Gemini the agent keeps a context cache, for 300 s or 3,600 s. `off`
                disables both. By default, as the chat.
            compaction: From how many tokens on a long conversation is replaced by a summary: True,
                a number, or a `Compaction`. The server does it where it can; elsewhere the agent
                asks its model, or that of the `Compaction`. The history then has no limits of its
                own, and keeps all messages.
            tracing: The value of `wire.otel.tracing()`: makes a span of each run and of each tool
                that runs, the parents of the spans of their calls. A chat that the agent makes from
                a name gets it as `around=`; another one has its own. By default, there are no
                spans.
            name: Name of the agent in the spans of its runs.
        """
        max_tokens = config.max_tokens if max_tokens is None else max_tokens
        temperature = config.temperature if temperature is None else temperature
        options = agent_options(locals())
        given: dict[str, Any] = {"search_grounding": True} if config.search_grounding else {}
        names = (*HOST_OPTIONS, "credentials")
        given |= {name: value for name in names if (value := getattr(config, name))}
        if config.token:
            given["token"] = config.token_source
        if http != "auto":
            given["http"] = http
        if tracing is not None and config.provider.strip().lower() not in FACTORIES:
            given["around"] = tracing
        provider = create_provider(
            config.provider, config.api_key, config.model, config.api_base, **given
        )
        return cls(provider, system_prompt, output=output, **options)

    @typing.overload
    async def run(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
        *,
        output: type[T],
        headers: Headers | None = None,
    ) -> RunResult[T]: ...
    @typing.overload
    async def run(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
        *,
        output: Any = None,
        headers: Headers | None = None,
    ) -> RunResult[AnyOutput]: ...
    @checked_arguments(ConfigurationError)
    @checked_names()
    async def run(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
        *,
        output: Any = None,
        headers: Headers | None = None,
    ) -> RunResult:
        """Ask the model, run its tool calls, send it the results, until it answers without a call.

        With `stream`, `on_stream_delta` (a function or an async function) gets the deltas of the
        model's replies as they arrive. It is called in the event loop, so one that blocks holds up
        all tasks. Without `user_input` the run continues from the history. The result holds exactly
        the messages that the run added. `max_steps` limits the number of requests to the model; a
        run that reaches the limit returns with the reason `max_steps`.

        Errors of the provider are raised, never in an `ExceptionGroup`. However the run ends, even
        by a cancellation, results that exist are in the history, and `last_run.state` can be
        resumed. A tool that was started is never started again: if it had not returned, its result
        is the error "cancelled while it ran; it may have had effects". A tool that is `read_only`
        has no effects and is run again.

        Args:
            user_input: A text, other parts, or a message. `None` continues from the history.
            max_steps: The most requests to the model; `None`: no limit. The run then returns with
                the reason `max_steps`.
            stream: True asks for a streamed reply, whose deltas `on_stream_delta` gets.
            on_stream_delta: A function or an async function that gets each delta as it arrives.
            output: The type of the answer; by default, that of the agent.
            headers: Further headers of the requests of this run; they replace those of the client.
                Values that look like keys are shown nowhere.
        """
        return await self._run(
            self._begin(user_input, max_steps, headers, output), stream, on_stream_delta
        )

    @typing.overload
    async def resume(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
        output: type[T],
        headers: Headers | None = None,
    ) -> RunResult[T]: ...
    @typing.overload
    async def resume(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
        output: Any = None,
        headers: Headers | None = None,
    ) -> RunResult[AnyOutput]: ...
    @checked_arguments(ConfigurationError)
    @checked_names()
    async def resume(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        stream: bool = False,
        on_stream_delta: OnDelta | None = None,
        output: Any = None,
        headers: Headers | None = None,
    ) -> RunResult:
        """Continue a stopped run, here or in another process.

        `results` are those of calls that waited; `verdicts` approve or refuse calls by their ids.
        Raises as `run`, and `RuleError` for a result that no call waits for.

        Args:
            state: `RunResult.state` of the stopped run, or what `read_run` read.
            results: The results of calls that waited for them.
            verdicts: Id of a call to `True`, which approves it, or to `False` or a reason, which
                refuses it.
            max_steps: The most requests to the model; `None`: no limit. The run then returns with
                the reason `max_steps`.
            stream: True asks for a streamed reply, whose deltas `on_stream_delta` gets.
            on_stream_delta: A function or an async function that gets each delta as it arrives.
            output: The type of the answer; by default, that of the agent.
            headers: Further headers of the requests of this run; they replace those of the client.
                Values that look like keys are shown nowhere.
        """
        return await self._run(
            self._resume(state, results, verdicts, max_steps, headers, output),
            stream,
            on_stream_delta,
        )

    @typing.overload
    def stream(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        *,
        output: type[T],
        headers: Headers | None = None,
    ) -> AbstractAsyncContextManager[AsyncRunStream[T]]: ...
    @typing.overload
    def stream(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        *,
        output: Any = None,
        headers: Headers | None = None,
    ) -> AbstractAsyncContextManager[AsyncRunStream[AnyOutput]]: ...
    @checked_arguments(ConfigurationError)
    @checked_names()
    @async_stream_block("async with agent.stream(...) as events:")
    async def stream(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        *,
        output: Any = None,
        headers: Headers | None = None,
    ) -> AsyncIterator[AsyncRunStream]:
        """Start a run as an iterator of events: `async with agent.stream("Hi") as events:`.

        The events are those of `AsyncChat.stream` for each reply, and a `ToolRun` for each call
        that got its result. Leaving the block ends the run.

        Args:
            user_input: A text, other parts, or a message. `None` continues from the history.
            max_steps: The most requests to the model; `None`: no limit. The run then returns with
                the reason `max_steps`.
            output: The type of the answer; by default, that of the agent.
            headers: Further headers of the requests of this run; they replace those of the client.
                Values that look like keys are shown nowhere.
        """
        steps = self._begin(user_input, max_steps, headers, output)
        async with (
            self._early() as early,
            aclosing(self._events(steps, True, early)) as events,
        ):
            yield AsyncRunStream(steps, events)

    @typing.overload
    def resume_stream(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        output: type[T],
        headers: Headers | None = None,
    ) -> AbstractAsyncContextManager[AsyncRunStream[T]]: ...
    @typing.overload
    def resume_stream(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        output: Any = None,
        headers: Headers | None = None,
    ) -> AbstractAsyncContextManager[AsyncRunStream[AnyOutput]]: ...
    @checked_arguments(ConfigurationError)
    @checked_names()
    @async_stream_block("async with agent.resume_stream(...) as events:")
    async def resume_stream(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        output: Any = None,
        headers: Headers | None = None,
    ) -> AsyncIterator[AsyncRunStream]:
        """Continue a stopped run, as `resume`, with its events, as `stream`.

        Args:
            state: `RunResult.state` of the stopped run, or what `read_run` read.
            results: The results of calls that waited for them.
            verdicts: Id of a call to `True`, which approves it, or to `False` or a reason, which
                refuses it.
            max_steps: The most requests to the model; `None`: no limit. The run then returns with
                the reason `max_steps`.
            output: The type of the answer; by default, that of the agent.
            headers: Further headers of the requests of this run; they replace those of the client.
                Values that look like keys are shown nowhere.
        """
        steps = self._resume(state, results, verdicts, max_steps, headers, output)
        async with (
            self._early() as early,
            aclosing(self._events(steps, True, early)) as events,
        ):
            yield AsyncRunStream(steps, events)

    @checked_names()
    def connect(
        self, **settings: Unpack[LiveOptions]
    ) -> AbstractAsyncContextManager[AsyncAgentLiveSession]:
        """Open a live session with the model, whose calls the tools of the agent answer.

        As `Chat.connect`, with the instructions, tools and `approve` of the agent. The runs of the
        tools are among the events. Limits of a run, such as `max_steps` and budgets, do not apply:
        a session lasts until one side ends it.

        Raises `ConfigurationError` for a model that is no `AsyncChat`.
        """
        from wire.agent.live_session import async_agent_block  # few agents talk

        return async_agent_block(self, settings, self._settings(self.model, Ask(())))

    async def aclose(self) -> None:
        """Delete the context cache and close the provider, if there is something to close.

        Closing twice is fine.
        """
        cached = isinstance(self.model, AsyncCachedChat)
        await close_model(self.model if cached else self.provider)
        if self._long is not None:
            await close_model(self._long.own)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    async def _run(self, steps: Steps, stream: bool, on_delta: OnDelta | None) -> RunResult:
        converter = EventsToDeltas()
        with without_groups():
            async with (
                self._early() as early,
                aclosing(self._events(steps, stream, early)) as events,
            ):
                async for event in events:
                    if on_delta is None or isinstance(event, ToolRun | MessageJoined):
                        continue
                    returned = on_delta(converter.delta(event))
                    if inspect.isawaitable(returned):
                        await returned
        return steps.result

    def _early(self) -> AbstractAsyncContextManager[EarlyTasks | None]:
        """Return the block in which early calls run; it yields `None` if there are none."""
        if not self._early_tools:
            return nullcontext()
        from wire.agent.early_calls import early_tasks  # few agents have them

        return early_tasks(self._max_parallel)

    def _events(
        self, steps: Steps, stream: bool, early: EarlyTasks | None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Yield the events of the run, including those of replies if `stream`."""
        events = self._taken(steps, stream, early)
        run = self._traced_run(steps)
        return events if run is None else run.async_events(events)

    async def _taken(
        self, steps: Steps, stream: bool, early: EarlyTasks | None
    ) -> AsyncGenerator[AgentEvent, None]:
        """Take all steps of the run; yield their events."""
        with self._driven(steps):
            while True:
                step = steps.next()
                for run in steps.take_runs():
                    yield run
                for message in steps.take_joined():
                    yield MessageJoined(message)
                if isinstance(step, Finished):
                    return
                if isinstance(step, Pause):
                    await anyio.sleep(step.seconds)
                    continue
                if isinstance(step, RunCalls):
                    if early is not None:
                        await early.wait()
                    if step.calls:
                        await self._run_calls(steps, *step.calls)
                    continue
                done, handed_out = None, False
                try:
                    async with aclosing(self._reply(steps, step, stream, early)) as events:
                        async for event in events:
                            if isinstance(event, Done):
                                done = event
                            elif stream:
                                handed_out = True
                                yield event
                    if done is None:
                        raise StreamIncomplete(NO_DONE, retryable=False)
                except BaseException as error:
                    restart = steps.failed(error, seen=handed_out)
                    if restart is not None and stream:
                        yield restart
                    continue
                # A consumer that stops at `Done` leaves a run that has the reply already.
                if steps.replied(done.reply) and stream:
                    yield done

    async def _run_calls(self, steps: Steps, *calls: ToolCall) -> None:
        await run_calls(
            self.tools,
            calls,
            self._approve,
            model=model_name(self.model),
            messages=steps.state.messages,
            progress=steps,
            max_parallel=self._max_parallel,
            tracing=self._tracing,
        )

    async def _reply(
        self, steps: Steps, request: Ask, stream: bool, early: EarlyTasks | None
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of one reply; without `stream`, its `Done` alone.

        If a stream fails before its first event, the request is sent once more without streaming
        (S1-72), unless the client or the policy has no attempt left.
        """
        begun = False
        messages, settings = request.messages, self._settings(self.model, request)
        due = self._long and self._long.due(steps, self.model, settings)
        if self._long and due:
            asked = self._long.summarizer(self.model, AsyncChat)
            summary = await asked.ask(messages=due.messages, **due.settings)
            self._long.summarized(steps, due, summary)
            messages = steps.to_send()
        if not stream and early is None:
            yield Done(await self.model.ask(messages=messages, **settings))
            return
        try:
            async with self.model.stream(messages=messages, **settings) as events:
                steps.reading(waker := _waker(events))
                async for event in events:
                    begun = True
                    if early is not None:
                        self._watch(steps, early, event, events)
                    yield event
                    if steps.is_cut and waker is not None:
                        await close_model(events)  # then the next read raises what `failed` gets
        except Exception as error:
            if begun or not steps.asks_whole(error):
                raise
            reply = await self.model.ask(messages=messages, **settings)
            for event in events_of(reply):
                yield event


def _waker(stream: Any) -> Callable[[], object] | None:
    """Return what ends a stream, from any thread; `None` if nothing can."""
    stop, token, loop = getattr(stream, "stop", None), current_token(), get_ident()
    if stop is None:
        return None
    return lambda: stop() if get_ident() == loop else from_thread.run_sync(stop, token=token)


GeminiAgent = LLMAgent
