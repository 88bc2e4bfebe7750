"""`Agent`: a model, its tools and a history, for threads. `llm_agent.py` has its twin.

It drives the state machine of `wire.agent.steps`: it asks the model, runs its calls, waits, and
reports the results. It decides nothing.
"""

from __future__ import annotations

import time
import typing
from collections.abc import (
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import (
    AbstractContextManager,
    closing,
)
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, Unpack, cast

from wire.agent.context_cache import CachedChat, CachePolicy, policy_of
from wire.agent.guard import Guard
from wire.agent.hooks import HookLoop, Verdict
from wire.agent.model import AgentEvent, MessageJoined, Model, is_model, model_name
from wire.agent.provider import (
    EventsToDeltas,
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
from wire.agent.tool_calls import Approve, run_calls_in_threads
from wire.chat.chat import Chat
from wire.core.arguments import checked_arguments, checked_names
from wire.core.errors import ConfigurationError, StreamIncomplete
from wire.core.exchange import Pause
from wire.core.retry import RESUME_AGENT, Retry
from wire.core.secret import Headers, sealed_object, type_name, unsealed
from wire.core.stream_block import stream_block
from wire.history import HistoryManager
from wire.neutral.compaction import Compaction
from wire.neutral.events import events_of
from wire.neutral.messages import Done, Event, Message, Parts, TextDelta, ToolCall, ToolResult
from wire.neutral.request import ServerTool, Tool
from wire.tools import ToolRun

if TYPE_CHECKING:
    from wire.agent.early_calls import EarlyThreads
    from wire.agent.live_session import AgentLiveSession
    from wire.neutral.live import LiveOptions

T = TypeVar("T")


class RunStream(Generic[AnyOutput]):
    """The events of a run as they arrive, once; `result` is the run so far."""

    @checked_arguments(ConfigurationError)
    def __init__(self, steps: Steps, events: Iterator[AgentEvent]) -> None:
        self._steps, self._events = steps, events

    def __iter__(self) -> Iterator[AgentEvent]:
        return self._events

    @property
    def result(self) -> RunResult[AnyOutput]:
        """The messages that the run added so far, and why it stopped."""
        return self._steps.result

    def texts(self) -> Iterator[str]:
        """Yield the pieces of the replies' texts as they arrive. As `ChatStream.texts`."""
        return (event.text for event in self._events if type(event) is TextDelta)

    def send(self, message: Parts | Message, *, at_once: bool = False) -> None:
        """Send a message to the run. As `Agent.send`."""
        self._steps.send(message_of(message), at_once=at_once)

    def stop(self) -> None:
        """End the run before its next request. As `Agent.stop`."""
        self._steps.stop()


class Agent(AgentState, Generic[AnyOutput]):
    """A model that calls tools until it has an answer. The calls of a turn run in threads.

    >>> from wire import Chat
    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> def high_tide(port: str) -> str:
    ...     "When the tide is high."
    ...     return "17:40"
    >>> call = {"name": "high_tide", "args": {"port": "Brest"}}
    >>> http = EmulatorTransport(Emulator([{"say": {"calls": [call]}}, {"say": "At 17:40."}]))
    >>> chat = Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http)
    >>> with Agent(chat, "Be brief.", tools=[high_tide]) as agent:
    ...     print(agent.run("When is high tide in Brest?"))
    At 17:40.

    `KeyboardInterrupt` ends a run as a cancellation ends one of `LLMAgent`: results
    that exist are kept, and running tools are not waited for.

    Raises `ConfigurationError` that names the option.

    Args:
        model: A `Chat`, or any other `wire.agent.model.Model`. A text such as
            `gemini:gemini-3.8-flash` becomes a `Chat` with the key in the environment. Closing the
            agent closes it.
        system_prompt: The system prompt; empty: none.
        output: The type of the answer, as for `Chat.ask`; `RunResult.output` has its value. An
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
        self: Agent[T],
        model: Model | str,
        system_prompt: str = "",
        *,
        output: type[T],
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @typing.overload
    def __init__(
        self: Agent[Any],
        model: Model | str,
        system_prompt: str = "",
        *,
        output: Any = None,
        **options: Unpack[AgentOptions],
    ) -> None: ...
    @checked_arguments(ConfigurationError)
    @checked_names(seal=seal_agent)
    def __init__(
        self,
        model: Model | str,
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
        model = sealed_object(model, "ask", "stream")
        super().__init__(system_prompt, options, output)
        if isinstance(unsealed(model), str):
            model = Chat(cast(str, model), around=self._tracing)
        if not is_model(model):
            remedy = "LLMAgent takes async models and providers"
            raise ConfigurationError(f"model: expected a Chat, not {type_name(model)}; {remedy}")
        self._check_price(model)
        check_output(self.output, model)
        policy = policy_of(model, self._cache, self._caching)
        self.model: Model = model if policy is None else CachedChat(cast(Chat, model), policy)

    @typing.overload
    def run(
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
    def run(
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
    def run(
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

        As `LLMAgent.run`.

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
        return self._run(
            self._begin(user_input, max_steps, headers, output), stream, on_stream_delta
        )

    @typing.overload
    def resume(
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
    def resume(
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
    def resume(
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
        """Continue a stopped run. As `LLMAgent.resume`.

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
        return self._run(
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
    ) -> AbstractContextManager[RunStream[T]]: ...
    @typing.overload
    def stream(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        *,
        output: Any = None,
        headers: Headers | None = None,
    ) -> AbstractContextManager[RunStream[AnyOutput]]: ...
    @checked_arguments(ConfigurationError)
    @checked_names()
    @stream_block("with agent.stream(...) as events:")
    def stream(
        self,
        user_input: Parts | Message | None = None,
        max_steps: int | None = MAX_STEPS,
        *,
        output: Any = None,
        headers: Headers | None = None,
    ) -> Iterator[RunStream]:
        """Start a run as an iterator of events: `with agent.stream("Hi") as events:`.

        As `LLMAgent.stream`.

        Args:
            user_input: A text, other parts, or a message. `None` continues from the history.
            max_steps: The most requests to the model; `None`: no limit. The run then returns with
                the reason `max_steps`.
            output: The type of the answer; by default, that of the agent.
            headers: Further headers of the requests of this run; they replace those of the client.
                Values that look like keys are shown nowhere.
        """
        steps = self._begin(user_input, max_steps, headers, output)
        with closing(self._events(steps, True)) as events:
            yield RunStream(steps, events)

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
    ) -> AbstractContextManager[RunStream[T]]: ...
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
    ) -> AbstractContextManager[RunStream[AnyOutput]]: ...
    @checked_arguments(ConfigurationError)
    @checked_names()
    @stream_block("with agent.resume_stream(...) as events:")
    def resume_stream(
        self,
        state: RunState,
        *,
        results: Iterable[ToolResult] = (),
        verdicts: Mapping[str, Verdict] | None = None,
        max_steps: int | None = MAX_STEPS,
        output: Any = None,
        headers: Headers | None = None,
    ) -> Iterator[RunStream]:
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
        with closing(self._events(steps, True)) as events:
            yield RunStream(steps, events)

    @checked_names()
    def connect(self, **settings: Unpack[LiveOptions]) -> AbstractContextManager[AgentLiveSession]:
        """Open a live session with the model, whose calls the tools of the agent answer.

        As `Chat.connect`, with the instructions, tools and `approve` of the agent. The runs of the
        tools are among the events. Limits of a run, such as `max_steps` and budgets, do not apply:
        a session lasts until one side ends it.

        Raises `ConfigurationError` for a model that is no `Chat`.
        """
        from wire.agent.live_session import agent_block  # few agents talk

        return agent_block(self, settings, self._settings(self.model, Ask(())))

    def close(self) -> None:
        """Delete the context cache and close the model, if there is something to close.

        Closing twice is fine.
        """
        for model in (self.model, self._long and self._long.own):
            close = getattr(model, "close", None)
            if close is not None:
                close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(
        self,
        steps: Steps,
        stream: bool,
        on_delta: OnDelta | None,
    ) -> RunResult:
        converter = EventsToDeltas()
        with (
            without_groups(),
            HookLoop() as hooks,
            closing(self._events(steps, stream)) as events,
        ):
            for event in events:
                if on_delta is not None and not isinstance(event, ToolRun | MessageJoined):
                    hooks.result(on_delta(converter.delta(event)))
        return steps.result

    def _events(self, steps: Steps, stream: bool) -> Generator[AgentEvent, None, None]:
        """Yield the events of the run, as `LLMAgent._events`."""
        events = self._taken(steps, stream)
        run = self._traced_run(steps)
        return events if run is None else run.events(events)

    def _early(self) -> EarlyThreads | None:
        """Return what runs early calls; `None` if there are none."""
        if not self._early_tools:
            return None
        from wire.agent.early_calls import EarlyThreads  # few agents have them

        return EarlyThreads(self._max_parallel)

    def _taken(self, steps: Steps, stream: bool) -> Generator[AgentEvent, None, None]:
        """Take all steps of the run; yield their events."""
        early = self._early()
        with self._driven(steps):
            while True:
                step = steps.next()
                yield from steps.take_runs()
                yield from map(MessageJoined, steps.take_joined())
                if isinstance(step, Finished):
                    return
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    continue
                if isinstance(step, RunCalls):
                    if early is not None:
                        early.wait()
                    if step.calls:
                        self._run_calls(steps, *step.calls)
                    continue
                done, handed_out = None, False
                try:
                    with closing(self._reply(steps, step, stream, early)) as events:
                        for event in events:
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
                if steps.replied(done.reply) and stream:
                    yield done

    def _run_calls(self, steps: Steps, *calls: ToolCall) -> None:
        run_calls_in_threads(
            self.tools,
            calls,
            self._approve,
            model=model_name(self.model),
            messages=steps.state.messages,
            progress=steps,
            max_parallel=self._max_parallel,
            tracing=self._tracing,
        )

    def _reply(
        self, steps: Steps, request: Ask, stream: bool, early: EarlyThreads | None
    ) -> Generator[Event, None, None]:
        """Yield the events of one reply, as `LLMAgent._reply`."""
        begun = False
        messages, settings = request.messages, self._settings(self.model, request)
        due = self._long and self._long.due(steps, self.model, settings)
        if self._long and due:
            asked = self._long.summarizer(self.model, Chat)
            self._long.summarized(steps, due, asked.ask(messages=due.messages, **due.settings))
            messages = steps.to_send()
        if not stream and early is None:
            yield Done(self.model.ask(messages=messages, **settings))
            return
        try:
            with self.model.stream(messages=messages, **settings) as events:
                steps.reading(getattr(events, "close", None))
                for event in events:
                    begun = True
                    if early is not None:
                        self._watch(steps, early, event, events)
                    yield event
        except Exception as error:
            if begun or not steps.asks_whole(error):
                raise
            yield from events_of(self.model.ask(messages=messages, **settings))
