"""`AgentState`: tools, history and the start of runs, which `Agent` and `LLMAgent` share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, cast, overload

import msgspec

from wire.agent.budgets import checked_budget, checked_count
from wire.agent.context_cache import AsyncCachedChat, CachedChat, CachePolicy
from wire.agent.guard import Guard
from wire.agent.hooks import Verdict, check_plain, refuse_coroutine
from wire.agent.provider import StreamDelta
from wire.agent.run_state import RunState, begin_run, resume_run
from wire.agent.spans import Spans, TracedRun, checked_spans
from wire.agent.steps import MAX_CALLS_PER_TURN, Ask, Steps
from wire.agent.tool_calls import MAX_PARALLEL_TOOLS, Approve
from wire.catalogue.usage import Usage
from wire.chat.chat import AsyncChat, Chat
from wire.core import retry as presets
from wire.core.arguments import check_options, checked_arguments, number, whole_number
from wire.core.errors import (
    ConfigurationError,
    HistoryError,
    RuleError,
    StreamIncomplete,
    ToolError,
    Violation,
    ungrouped,
)
from wire.core.lazy import Foreign
from wire.core.retry import Retry
from wire.core.secret import Headers, checked_headers, type_name
from wire.history import Beginning, HistoryManager, prune
from wire.http.target import seal
from wire.neutral.compaction import Compaction, compaction_of
from wire.neutral.messages import (
    Event,
    Message,
    Parts,
    Reply,
    Restart,
    ToolCall,
    ToolCallEnd,
    ToolResult,
)
from wire.neutral.request import ServerTool, Tool, check_caching
from wire.tools import Toolbox, tool

MAX_STEPS = 20
NO_DONE = "the model's stream ended without Done"

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from wire.agent.early_calls import EarlyTasks, EarlyThreads
    from wire.agent.long_session import LongSession
    from wire.catalogue.cost import Cost
    from wire.chat.cache_health import CacheHealth

    AnyOutput = TypeVarWithDefault("AnyOutput", default=Any)
else:
    AnyOutput = TypeVar("AnyOutput")

OnDelta: TypeAlias = Callable[[StreamDelta], Awaitable[None] | None]
"""A function or an async function that gets each delta of a run as it arrives."""


class AgentOptions(TypedDict, total=False):
    """The options of an agent besides its model and its system prompt."""

    tools: Iterable[Tool | ServerTool | Callable[..., Any]]
    """Functions, types, or tools made by `wire.tools.tool`; and tools that the vendor's server
    runs, such as `wire.web_search()`."""
    max_tokens: int | None
    """Tokens. The longest reply. By default, that of the model."""
    temperature: float | None
    """Randomness, from 0 up. By default, that of the model."""
    history: HistoryManager | None
    """Holds the conversation from run to run, and limits how much of it is sent. By default, a new
    one."""
    approve: Approve | None
    """Called before each tool call: `True` approves it, `False` or a text, the reason, refuses it.

    Anything else refuses it too, such as the `None` of a function that returns nothing. If it
    raises, the exception is the reason, and the run continues. It may be async, also for `Agent`,
    which awaits it in an event loop of its own and so works in a notebook. `LLMAgent` calls a plain
    function in a thread, for one call at a time. `wire.tools.format_call` shows a call in a
    question.
    """
    guard: Guard | None
    """Stops or steers a model that repeats itself."""
    stop_when: Callable[[RunState], bool] | None
    """Called between steps with the state; the run stops if it returns true, and `resume` continues
    it."""
    on_change: Callable[[RunState], None] | None
    """Called with the state when a run begins, before any request, and each time it changes: after
    each reply, before each tool starts, after each result.

    With `save_run` in it, a killed program can `resume` the run. It is a plain function, called for
    one change at a time, in whatever thread the change happens; the run waits for it. If it raises,
    the run ends, and raises the same.
    """
    max_parallel_tools: int
    """The most calls of one turn that run at once, 16 by default; the others wait."""
    max_calls_per_turn: int
    """The most calls of one turn that are run, 1,000 by default.

    The model gets an error for each further call.
    """
    early_tools: bool
    """True starts a call as soon as its arguments are whole, while the reply is still streamed;
    each reply is streamed then. A reply that breaks off after that keeps the results, and the run
    goes on with them. Calls that need an approval, and those that a guard judges, run after the
    reply. False by default."""
    max_cost: Decimal | float | None
    """USD. The run ends with the reason `max_cost`, before its next request, once its replies cost
    that much, or after a reply whose cost is unknown. A reply of a `FallbackChat` costs what the
    model that answered costs. The catalogue must have the price of each model, unless its provider
    sends the cost. No limit by default."""
    max_tokens_total: int | None
    """Tokens. The run ends with the reason `max_tokens_total`, before its next request, once its
    requests and replies have that many, or after a reply without counts. No limit by default."""
    max_calls: int | None
    """The most calls of tools that a run makes. The model gets an error for each further call of
    that turn, and the run ends with the reason `max_calls`. No limit by default."""
    output_retries: int
    """How often in a row the model is asked again after an answer that does not fit `output`, 1 by
    default. Each request is one of `max_steps`, and counts against the budget."""
    on_error: Callable[[Exception, ToolCall], str] | None
    """Returns the message that the model gets for an exception of a tool."""
    retry: Retry
    """For empty replies, and for models that do not retry themselves. By default 3 attempts, with
    waits of about 1 s and 2 s."""
    view: Callable[[Sequence[Message]], Iterable[Message]] | None
    """Returns the messages to send, in place of the history's limits."""
    cache: CachePolicy | None
    """Keeps the system prompt and the tools in a context cache; for chats of Gemini."""
    caching: str | None
    """`auto` or `long` lets the vendor cache the beginning of each request, as for a chat; on
    Gemini the agent keeps a context cache, for 300 s or 3,600 s. `off` disables both. By default,
    as the chat."""
    compaction: Compaction | int | bool | None
    """From how many tokens on a long conversation is replaced by a summary: True, a number, or a
    `Compaction`. The server does it where it can; elsewhere the agent asks its model, or that of
    the `Compaction`. The history then has no limits of its own, and keeps all messages."""
    tracing: Spans | None
    """The value of `wire.otel.tracing()`: makes a span of each run and of each tool that runs, the
    parents of the spans of their calls. A chat that the agent makes from a name gets it as
    `around=`; another one has its own. By default, there are no spans."""
    name: str
    """Name of the agent in the spans of its runs."""


def agent_options(parameters: Mapping[str, Any]) -> AgentOptions:
    """Return the options among the parameters of a function, as its `locals()` has them."""
    return cast(AgentOptions, {name: parameters[name] for name in AgentOptions.__annotations__})


def seal_agent(options: Any) -> None:
    """Replace what may be a key in the options of an agent by a `Secret`, in place."""
    seal(options, (*AgentOptions.__annotations__, *_OWN))


_OWN = ("model", "provider", "system_prompt", "config", "http", "output")
"""Parameters of agents other than options. `Agent` and `LLMAgent` seal them themselves."""


class AgentState(Foreign):
    """Tools, history and options of an agent. `LLMAgent` and `Agent` add the I/O."""

    model: Any
    max_tokens: int | None
    temperature: float | None
    max_cost: Decimal | None
    """The budget of each run, in USD. It may be changed between runs, as the next two."""
    max_tokens_total: int | None
    max_calls: int | None

    @checked_arguments(ConfigurationError)
    def __init__(self, system_prompt: str, options: AgentOptions, output: Any = None) -> None:
        check_plain(options, ("stop_when", "on_change", "on_error", "view"))
        self._long = _long_session(options.get("compaction"))
        history = _checked_history(options.get("history"), unlimited=self._long is not None)
        if not isinstance(system_prompt, str):
            raise ConfigurationError(
                f"system_prompt: expected a str, not {type(system_prompt).__name__}"
            )
        self.system_prompt = system_prompt
        self.max_tokens, self.temperature = options.get("max_tokens"), options.get("temperature")
        if self.max_tokens is not None:
            whole_number("max_tokens", self.max_tokens, least=1, error=ConfigurationError)
        if self.temperature is not None:
            number("temperature", self.temperature, least=0, error=ConfigurationError)
        self.history: HistoryManager = history
        tools, on_error = options.get("tools", ()), options.get("on_error")
        self.tools: Toolbox = Toolbox(tools, on_error=on_error, finds=True)
        self._approve, self._guard = options.get("approve"), options.get("guard")
        self._stop_when, self._view = options.get("stop_when"), options.get("view")
        self._on_change = options.get("on_change")
        self._retry = options.get("retry", presets.RESUME_AGENT)
        self._cache, self._caching = options.get("cache"), options.get("caching")
        self._tracing = checked_spans(options.get("tracing"))
        self.name: str = options.get("name", "")
        check_caching(self._caching, ConfigurationError)
        self.output: Any = output
        """The type of the answer of a run, unless the run has its own; `None` for text."""
        self._early_tools = options.get("early_tools", False)
        self._output_retries = options.get("output_retries", 1)
        whole_number("output_retries", self._output_retries, least=0, error=ConfigurationError)
        self._max_parallel = options.get("max_parallel_tools", MAX_PARALLEL_TOOLS)
        self._max_calls_per_turn = options.get("max_calls_per_turn", MAX_CALLS_PER_TURN)
        checked_count("max_parallel_tools", self._max_parallel)
        checked_count("max_calls_per_turn", self._max_calls_per_turn)
        self.max_tokens_total = options.get("max_tokens_total")
        self.max_calls = options.get("max_calls")
        self.max_cost = checked_budget(
            options.get("max_cost"), self.max_tokens_total, self.max_calls
        )
        check_options(options, AgentOptions, error=ConfigurationError)
        self._health: CacheHealth | None = None
        self._in_history: tuple[Message, ...] = ()
        """The messages of the run that are in the history already."""
        self._earlier: list[Reply] = []
        """The replies of the runs before the last one."""
        self.last_run: Steps | None = None
        """The last run; its `result` is up to date at any moment."""

    @property
    def usage(self) -> Usage:
        """The tokens of all replies that the runs of this agent got."""
        return sum((reply.usage for reply in self._replies() if reply.usage), Usage())

    @property
    def cost(self) -> Cost:
        """The cost of these replies in USD: the sum of their `Reply.cost`."""
        from wire.catalogue.cost import total_of  # loads a file at its first use

        return total_of(reply.cost for reply in self._replies())

    def _replies(self) -> list[Reply]:
        return self._earlier + self._of_last_run()

    def _of_last_run(self) -> list[Reply]:
        return [] if self.last_run is None else [each.reply for each in self.last_run.result.steps]

    @property
    def history_manager(self) -> HistoryManager:
        """The same object as `history`."""
        return self.history

    def send(self, message: Parts | Message, *, at_once: bool = False) -> None:
        """Send a message to the run that is under way, from another thread or task.

        It joins the next request, after the results of the calls that run. A run whose model has
        just answered goes on with it. `at_once` ends the reply that is streamed: what was said
        stays in the conversation, its calls are left out. A reply that is not streamed goes on.

        Messages join in the order in which they were sent, and are saved with the run until then.
        `on_change` is called in the thread of the sender. Raises `HistoryError` if no run is under
        way.
        """
        self._running().send(message_of(message), at_once=at_once)

    def stop(self) -> None:
        """End the run that is under way before its next request, with the reason `stopped`.

        Calls that run get their results first. `resume` continues the run. Any thread may call it.
        A run that has ended stays as it is. Raises `HistoryError` if none has begun.
        """
        self._running().stop()

    def _running(self) -> Steps:
        if self.last_run is None:
            raise HistoryError(violations=[Violation("message", "no run is under way")])
        return self.last_run

    def reset(self) -> None:
        """Begin a new conversation: remove all messages from the history."""
        self.history.clear()

    @overload
    def register_tool(
        self, name: Tool | Callable[..., Any], /, *, replace: bool = False
    ) -> None: ...
    @overload
    def register_tool(
        self,
        name: str,
        description: str,
        parameters: Mapping[str, Any],
        func: Callable[..., Any],
        *,
        replace: bool = False,
    ) -> None: ...
    @checked_arguments(ConfigurationError)
    def register_tool(
        self,
        name: Tool | Callable[..., Any] | str,
        description: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        func: Callable[..., Any] | None = None,
        *,
        replace: bool = False,
    ) -> None:
        """Add a tool: a function, a `Tool`, or a name with its description, schema and function.

            agent.register_tool(get_weather)
            agent.register_tool("get_weather", "The weather of a city now.", schema, get_weather)

        `parameters` is a JSON Schema of the function's keywords; it may leave out `type`. Such a
        schema needs the extra `wire-llm[tools]`. Raises `RuleError` for a name that is taken,
        unless `replace`, and what `wire.tools.tool` raises.
        """
        if not isinstance(name, str):
            further = {"description": description, "parameters": parameters, "func": func}
            if given := [each for each, value in further.items() if value is not None]:
                raise ToolError(f"{given[0]}: only a tool that is given by its name has it")
            self.tools.register(name, replace=replace)
            return
        if func is None:
            raise ToolError(f"tool {name}: func: missing; expected the function of the tool")
        schema = None if parameters is None else {"type": "object", **parameters}
        made = tool(func, name=name, description=description, parameters=schema)
        self.tools.register(made, replace=replace)

    def _begin(
        self,
        user_input: Parts | Message | None,
        max_steps: int | None,
        headers: Headers | None,
        output: Any,
    ) -> Steps:
        headers = _checked(headers)  # before the history has the message
        check_output(output, self.model)
        if user_input is not None:
            self.history.add_message(message_of(user_input))
        return self._steps(begin_run(self.history.messages), max_steps, headers, output)

    def _resume(
        self,
        state: RunState,
        results: Iterable[ToolResult],
        verdicts: Mapping[str, Verdict] | None,
        max_steps: int | None,
        headers: Headers | None,
        output: Any,
    ) -> Steps:
        """Continue a run; its messages replace the history."""
        headers = _checked(headers)
        check_output(output, self.model)
        state = resume_run(state, results)
        self.history.clear()
        for message in state.messages:
            self.history.add_message(message, allow_incomplete=True)
        return self._steps(state, max_steps, headers, output, verdicts)

    def _steps(
        self,
        state: RunState,
        max_steps: int | None,
        headers: Headers | None,
        output: Any,
        verdicts: Mapping[str, Verdict] | None = None,
    ) -> Steps:
        if self._long is not None:
            state = self._long.begun(state)
        self._in_history = state.messages
        self._earlier += self._of_last_run()
        self.last_run = Steps(
            state,
            self.tools,
            max_steps=max_steps,
            headers=headers,
            output=self.output if output is None else output,
            output_retries=self._output_retries,
            max_calls_per_turn=self._max_calls_per_turn,
            max_cost=self.max_cost,
            max_tokens_total=self.max_tokens_total,
            max_calls=self.max_calls,
            view=self._view or self._pruned,
            guard=self._guard,
            stop_when=self._stop_when,
            asks_approval=self._approve is not None,
            verdicts=verdicts,
            retry=self._retry,
            on_change=self._changed,
            on_reply=self._judged,
        )
        self._changed(state)
        return self.last_run

    def _pruned(self, messages: Sequence[Message]) -> Iterable[Message]:
        if self._long is not None:
            return messages
        return prune(
            messages,
            self.history.max_messages,
            self.history.max_tokens,
            estimate=self.history.estimate,
        )

    def _judged(self, reply: Reply, messages: tuple[Message, ...]) -> None:
        """Note in a reply that the vendor could not read its cache of the request before."""
        from wire.chat.cache_health import CacheHealth  # no agent needs it before its first reply

        if self._health is None:
            self._health = CacheHealth()
        beginning = Beginning(tuple(self.tools.definitions), self.system_prompt, messages)
        compacted = None if self.last_run is None else self.last_run.state.compacted
        self._health.replied(reply, beginning, compacted)

    def _changed(self, state: RunState) -> None:
        """Report a state to the history and to the hook."""
        self._remember(state)  # first, since the hook may raise
        if self._on_change is not None:
            refuse_coroutine("on_change", self._on_change(state), "None")

    def _remember(self, state: RunState) -> None:
        """Add new messages of the run to the history; replace the last one if it got results, or
        more of its turn.
        """
        before, now = self._in_history, state.messages
        for index in range(max(0, len(before) - 2), len(before)):  # a reply grows before results
            if now[index] is not before[index]:
                self.history.replace(before[index], now[index])
        for message in now[len(before) :]:
            self.history.add_message(message, allow_incomplete=True)
        self._in_history = now

    @contextmanager
    def _driven(self, steps: Steps) -> Iterator[None]:
        """Run the block of a driver: however it ends, the history has the results that exist."""
        try:
            with without_groups():
                yield
        finally:
            steps.interrupted()
            self._remember(steps.state)  # Ctrl-C may come between the state and the history

    def _watch(
        self, steps: Steps, early: EarlyTasks | EarlyThreads, event: Event, stream: Any
    ) -> None:
        """Start the call that an event of a reply ends, if it may run now.

        Raises `StreamIncomplete` for a reply that begins anew after calls of it have begun to run.
        """
        if type(event) is Restart and steps.has_early:
            raise StreamIncomplete("the reply began anew after its calls were run", retryable=True)
        if type(event) is not ToolCallEnd or event.call.arguments is None:
            return
        partial = getattr(stream, "partial", None)
        if partial is not None and steps.early(event.call, partial()):
            early.start(functools.partial(self._run_calls, steps), event.call)

    def _run_calls(self, steps: Steps, *calls: ToolCall) -> Any:
        """Run calls and report them to `steps`."""
        raise NotImplementedError

    def _traced_run(self, steps: Steps) -> TracedRun | None:
        """Return the run with its span; `None` without `tracing=`."""
        if self._tracing is None:
            return None
        return TracedRun(self._tracing, self.name, self.model, steps)

    def _check_price(self, model: object) -> None:
        """Raise `ConfigurationError` if `max_cost` could not be kept with this model."""
        if self.max_cost is None:
            return
        from wire.catalogue.cost import unpriced  # loads a file at its first use

        chat = model.chat if isinstance(model, CachedChat | AsyncCachedChat) else model
        several = getattr(model, "chats", None)  # of a fallback: each of them may answer
        chats = several if isinstance(several, tuple) else (chat,)
        unknown = []
        for position, each in enumerate(chats):
            if not isinstance(each, Chat | AsyncChat):
                raise ConfigurationError(
                    f"max_cost: the price of {type_name(each)} is unknown; expected a chat"
                )
            name = f"{each.provider}:{each.model}"
            if reason := unpriced(name):
                what = f"models[{position}] {name}" if chats is several else "the model"
                unknown.append(f"the price of {what} is unknown: {reason}")
        if unknown:
            raise ConfigurationError(f"max_cost: {'; '.join(unknown)}")

    def _settings(self, model: object, request: Ask) -> dict[str, Any]:
        """Return the settings of a request.

        A chat whose reply was empty gets the attempts that the agent's policy has left. With a new
        count of its own, it would make up to 2n - 1 requests under a policy of n (R-17).
        """
        settings: dict[str, Any] = {}
        chat = model.chat if isinstance(model, CachedChat | AsyncCachedChat) else model
        if request.attempts is not None and isinstance(chat, Chat | AsyncChat):
            policy = chat.client.retry
            attempts = min(policy.attempts, request.attempts)
            settings["retry"] = msgspec.structs.replace(policy, attempts=attempts)
        if request.headers is not None:
            settings["headers"] = request.headers
        if request.output is not None:
            settings |= {"output": request.output, "output_retries": 0}  # the run asks again itself
        if self.tools.definitions:
            settings["tools"] = self.tools.definitions
        if self.system_prompt:
            settings["system"] = self.system_prompt
        if self.max_tokens is not None:
            settings["max_tokens"] = self.max_tokens
        if self.temperature is not None:
            settings["temperature"] = self.temperature
        if chat is not model:
            settings["caching"] = "auto"  # the context cache has the lifetime that was chosen
        elif self._caching is not None:
            settings["caching"] = self._caching
        if self._long is not None and (sent := self._long.sent_to(model)) is not None:
            settings["compaction"] = sent
        return settings


def message_of(given: Parts | Message) -> Message:
    """Return a message of the user, or the message that is given."""
    return given if isinstance(given, Message) else Message.user(given)


def _long_session(given: Any) -> LongSession | None:
    """Return what compacts the runs of an agent; `None` without `compaction=`."""
    try:
        compaction = compaction_of(given)
    except RuleError as error:
        raise ConfigurationError(str(error)) from None
    if compaction is None:
        return None
    from wire.agent.long_session import LongSession  # few agents have one

    return LongSession(compaction)


def _checked_history(given: Any, *, unlimited: bool) -> HistoryManager:
    """Return the history that is given, or a new one. Raises `ConfigurationError`."""
    if given is None and unlimited:
        return HistoryManager(max_messages=None, max_tokens=None)
    if given is None:
        return HistoryManager()
    if not isinstance(given, HistoryManager):
        raise ConfigurationError(f"history: expected a HistoryManager, not {type_name(given)}")
    return given


@checked_arguments(ConfigurationError)
def check_output(output: Any, model: Any) -> None:
    """Raise what `OutputType` raises for a type without a JSON form; `None` is text.

    Raises `ConfigurationError` if the model takes no output.
    """
    if output is None:
        return
    from wire.neutral.output import OutputType  # few runs have an output

    own = getattr(model, "wrapped", model)  # a `ChatProvider` takes what its interface has
    taken = inspect.signature(model.ask).parameters if own is model else {}
    if "output" not in taken and all(each.kind is not each.VAR_KEYWORD for each in taken.values()):
        raise ConfigurationError(f"output: {type_name(own)} takes no output; expected a chat")
    OutputType(output)


def _checked(headers: Headers | None) -> Headers | None:
    return headers if headers is None else checked_headers(headers)


@contextmanager
def without_groups() -> Iterator[None]:
    """Raise the exception inside an `ExceptionGroup` in place of the group."""
    try:
        yield
    except BaseExceptionGroup as group:
        error = ungrouped(group)
    else:
        return
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context  # its own, not the group
