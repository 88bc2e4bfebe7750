"""The state of a run, its steps and its result, as values."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, cast

import msgspec

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments, items_of
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.lazy import Foreign
from wire.core.memory import MetadataStruct
from wire.core.secret import quoted
from wire.history import Compacted, listed, unanswered, with_results
from wire.neutral.messages import Message, Reply, ToolCall, ToolResult, Value_co
from wire.tools import ToolRun

if TYPE_CHECKING:
    from wire.catalogue.cost import Cost
    from wire.chat.cache_health import CacheLoss

Reason: TypeAlias = Literal[
    "end",
    "final",
    "max_steps",
    "max_cost",
    "max_tokens_total",
    "max_calls",
    "guard",
    "waiting",
    "stopped",
    "pause",
    "length",
    "filter",
    "error",
    "other",
]

INCOMPLETE: tuple[Reason, ...] = ("pause", "length", "filter", "error", "other")
"""Reasons of a run whose last reply is not the model's whole answer."""


def ending(reply: Reply) -> Reason | None:
    """Return why a run ends with a reply without calls; `None` if its message is sent back, and
    the model goes on.
    """
    stop = reply.stop
    if stop.reason == "pause" and stop.next in ("send_back", "compact_then_send"):
        return None
    return "end" if stop.reason == "tool_calls" else stop.reason


class StepRecord(MetadataStruct, frozen=True):
    """One step of a run, in `RunResult.steps`: a reply of the model, and the runs of its calls."""

    reply: Reply
    """The reply, with its usage, its notes and why it stopped."""
    runs: tuple[ToolRun, ...] = ()
    """The calls of the reply that got their results, in call order."""


class Turn:
    """The states of a run from one reply to the next, or to its end.

    They differ in the starts and the results of calls, and in nothing else.
    """

    saved: Any = None
    """What is on disk of them; `save_run` sets it."""


_TURN = "_turn"


class RunState(MetadataStruct, frozen=True, kw_only=True):
    """The state of a run: enough to continue it later, in another process or with another model."""

    messages: tuple[Message, ...]
    """While calls of the last turn are open, the last tool message lacks their results."""
    begun: int
    """The number of messages from before the run."""
    asked: int = 0
    """The number of replies since the run began, or since it was resumed after `max_steps`."""
    tool_only: int = 0
    """The number of turns in a row with calls and no text."""
    repeats: dict[str, int] = msgspec.field(default_factory=dict)
    """For each call of the last turn, the number of turns in a row that made it before."""
    usage: Usage = msgspec.field(default_factory=Usage)
    """Token counts of all replies of the run."""
    spent: Decimal = Decimal(0)
    """USD that the replies of the run cost, empty ones included; counted only with `max_cost`."""
    calls: int = 0
    """The number of calls whose tools were started; counted only with `max_calls`."""
    started: tuple[str, ...] = ()
    """Ids of open calls whose tools were started, and may have had effects."""
    inbox: tuple[Message, ...] = ()
    """Messages that were sent to the run and have not joined it yet, oldest first."""
    misfits: int = 0
    """The number of replies in a row that did not fit `output=`."""
    compacted: Compacted | None = None
    """The summary that requests have in place of the first messages; `messages` keeps them."""
    reason: Reason | None = None
    """Why the run stopped; `None` while it runs, and if it was killed: it can be resumed."""

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last turn without a result."""
        return unanswered(self.messages)

    def with_messages(self, messages: Iterable[Message]) -> RunState:
        """Return the state with other messages, to resume a run that was changed from outside.

        Raises `ConfigurationError` for fewer messages than there were before the run.
        """
        messages = items_of("messages", messages)
        if len(messages) < self.begun:
            raise ConfigurationError(
                f"messages: expected the {self.begun} from before the run and those of the run"
            )
        return self._changed(messages=messages)

    def _changed(self, *, same_turn: bool = False, **fields: Any) -> RunState:
        """Return the state after a change, which begins a turn or belongs to the same one."""
        state = msgspec.structs.replace(self, **fields)
        vars(state)[_TURN] = (same_turn and turn_of(self)) or Turn()
        return state


def turn_of(state: RunState) -> Turn | None:
    """Return the turn of a state; `None` if the state was made otherwise than by a run."""
    turn: Turn | None = vars(state).get(_TURN)
    return turn


class RunResult(MetadataStruct, Foreign, Generic[Value_co], frozen=True, kw_only=True):
    """The messages that a run added, their usage and tool runs, and why the run stopped.

    To type checkers, a run with `output=City` has a `RunResult[City]`. Other runs have a
    `RunResult[Any]`, for which `RunResult` is enough.
    """

    state: RunState
    """The state at the end, from which the run can be resumed."""
    steps: tuple[StepRecord, ...] = ()
    """The steps of the run; of a resumed run, those since it was resumed."""
    compactions: tuple[Reply, ...] = ()
    """The replies with the summaries that the agent asked for; the newest is `state.compacted`."""
    resumed: tuple[ToolRun, ...] = ()
    """Runs of calls that were open when the run was resumed; their reply is not in `steps`."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the run added, of the model and of its tools, in order."""
        return self.state.messages[self.state.begun :]

    @property
    def reason(self) -> Reason:
        """Why the run stopped.

        `end`: the model answered without a call. `final`: a final tool returned. `waiting`: calls
        wait for approval or for your results. `max_steps`, `max_cost`, `max_tokens_total`,
        `max_calls`, `guard`: that limit was reached.
        `stopped`: `stop_when` returned true, or the run did not finish. `pause`, `length`,
        `filter`, `error`, `other`: the last reply is not the model's whole answer; its
        `stop` says who acts next.
        """
        return self.state.reason or "stopped"

    @property
    def complete(self) -> bool:
        """Whether the run ended by itself, with a whole answer or the result of a final tool."""
        return self.state.reason in ("end", "final")

    @property
    def reply(self) -> Reply | None:
        """The last reply of the model."""
        return self.steps[-1].reply if self.steps else None

    @property
    def output(self) -> Value_co:
        """The answer as a value of the type `output=`, if the run had one.

        `None` if the run has no answer: it stopped before, or a final tool ended it.
        """
        reply = self.reply if self.state.reason == "end" else None
        return cast(Value_co, None if reply is None else reply.output)

    @property
    def text(self) -> str:
        """The text of the model's last message."""
        return next(
            (message.text for message in reversed(self.messages) if message.role == "assistant"), ""
        )

    @property
    def usage(self) -> Usage:
        """The tokens of all steps."""
        return self.state.usage

    @property
    def cost(self) -> Cost:
        """The cost of the replies in `steps` and `compactions` in USD: the sum of `Reply.cost`.

        If the cost of one is unknown, so is `total`; `known` has the sum of the others.
        """
        from wire.catalogue.cost import total_of  # loads a file at its first use

        replies = (*(step.reply for step in self.steps), *self.compactions)
        return total_of(reply.cost for reply in replies)

    @property
    def cache_lost(self) -> CacheLoss:
        """What requests cost that did not begin as those before them, so that the vendor could not
        read its cache. A note of each such reply tells where it changed.
        """
        from wire.chat.cache_health import cache_lost  # loads the catalogue at its first use

        return cache_lost(step.reply for step in self.steps)

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """Calls without a result; `resume` takes their results, or verdicts on them."""
        return self.state.open_calls

    @property
    def runs(self) -> tuple[ToolRun, ...]:
        """Every call that got its result, with the exception behind an error."""
        return (*self.resumed, *(run for step in self.steps for run in step.runs))

    def __str__(self) -> str:
        return self.text


@checked_arguments(ConfigurationError)
def begin_run(messages: Iterable[Message]) -> RunState:
    """Build the state of a new run after these messages, for `Steps`.

    >>> begin_run([Message.user("Hi")]).begun
    1
    """
    messages = tuple(listed(items_of("messages", messages)))
    return RunState(messages=messages, begun=len(messages))


@checked_arguments(ConfigurationError)
def resume_run(state: RunState, results: Iterable[ToolResult] = ()) -> RunState:
    """Build the state with which a stopped run continues, with results of calls that waited, for
    `Steps`.

    >>> call = ToolCall(id="1", name="book", arguments={"port": "Brest"})
    >>> state = begin_run([Message.user("Book a berth."), Message.assistant(call)])
    >>> state.open_calls == (call,)
    True
    >>> resume_run(state, [ToolResult("1", "book", "booked")]).open_calls
    ()

    A run that has ended by itself stays as it is. Raises `RuleError` for a result that no call
    waits for.
    """
    results = items_of("results", results)
    listed(state.messages)
    started = items_of("state.started", state.started)
    waiting = {call.id for call in state.open_calls}
    for index, result in enumerate(results):
        if not isinstance(result, ToolResult):  # an iterator, whose items nobody has looked at yet
            problem = f"expected a ToolResult, not {type(result).__name__}"
            raise RuleError(violations=[Violation(f"results[{index}]", problem)])
        if not isinstance(result.id, str) or result.id not in waiting:
            raise RuleError(
                violations=[
                    Violation(
                        f"results[{index}].id", f"no call {quoted(result.id)} waits for a result"
                    )
                ]
            )
        waiting.remove(result.id)
    ended = state.reason in ("end", "final", "guard", *INCOMPLETE)
    can_continue = not ended or bool(state.inbox)
    ids = {result.id for result in results}
    return state._changed(
        messages=with_results(state.messages, results),
        started=tuple(id for id in started if id not in ids),
        asked=0 if state.reason == "max_steps" else state.asked,
        reason=None if can_continue else state.reason,
    )
