"""The loop of an agent as a state machine, without a clock and without I/O.

`Steps.next()` returns the next step: ask the model, run calls, pause, or finished. A driver
(`agent.py`) executes the step and reports each call when it starts, and each result as soon as it
exists. So a run that ends in the middle of a turn loses no result. The `RunState` contains
everything that is needed to continue the run later. It can be saved at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from random import Random
from typing import Any, TypeAlias

import msgspec

from wire.agent.budgets import checked_budget, checked_count
from wire.agent.guard import Guard
from wire.agent.hooks import Verdict, check_verdict, refuse_coroutine, refused
from wire.agent.live_run import LiveRun
from wire.agent.run_state import Reason, RunResult, RunState, StepRecord, ending
from wire.core import retry as presets
from wire.core.arguments import checked_arguments
from wire.core.errors import (
    ConfigurationError,
    HistoryError,
    OutputError,
    StreamIncomplete,
    ToolError,
    Violation,
    WireError,
    refuse,
    ungrouped,
)
from wire.core.exchange import Pause
from wire.core.memory import Note, answer_account
from wire.core.retry import Retry
from wire.core.secret import Headers, quoted
from wire.history import Compacted, check, last_calls, with_results
from wire.neutral.messages import Message, Reply, Restart, ToolCall, ToolResult
from wire.tools import Toolbox, ToolRun

MAX_CALLS_PER_TURN = 1000
"""Default for the calls of one turn that are run."""

INTERRUPTED = "cancelled while it ran; it may have had effects"
"""The error of a call whose tool was started and had not returned when the run ended."""


def is_transient(error: BaseException) -> bool:
    """Return whether another attempt may succeed (S1-70).

    Errors of this library have `retryable`. Of other errors, connection errors, timeouts and EOF
    count as transient.
    """
    error = ungrouped(error)
    if isinstance(error, WireError):
        return error.retryable
    return isinstance(error, (ConnectionError, TimeoutError, EOFError))


class Ask(msgspec.Struct, frozen=True):
    """A step of a run: ask the model with these messages; report with `replied` or `failed`.

    >>> from wire.agent import begin_run
    >>> step = Steps(begin_run([Message.user("Hi")]), Toolbox()).next()
    >>> isinstance(step, Ask), step.messages
    (True, (Message('user', 'Hi'),))
    """

    messages: tuple[Message, ...]
    """The conversation to send, oldest message first."""
    attempts: int | None = None
    """The attempts of the policy that are left, after empty replies; `None` for the first request
    of a step, which has all attempts of the client's policy."""
    headers: Headers | None = None
    """Further headers of the request."""
    output: Any = None
    """The type of the answer; `None` for text."""


class RunCalls(msgspec.Struct, frozen=True):
    """A step of a run: run these calls, at the same time if possible; report each with `started`
    and `answered`.

    Calls that began to run early get their results first.

    >>> from wire.agent import begin_run
    >>> from wire.neutral.messages import Stop
    >>> call = ToolCall(id="1", name="high_tide", arguments={"port": "Brest"})
    >>> steps = Steps(begin_run([Message.user("High tide?")]), Toolbox())
    >>> steps.replied(Reply(Message.assistant(call), Stop("tool_calls")))
    True
    >>> steps.next().calls == (call,)
    True
    >>> steps.started(call)
    >>> steps.answered([ToolRun(call, ToolResult("1", "high_tide", "05:12"))])
    >>> type(steps.next()).__name__
    'Ask'
    """

    calls: tuple[ToolCall, ...]
    """The calls, in their order."""


class Finished(msgspec.Struct, frozen=True):
    """The last step of a run: it has stopped; `result.reason` says why.

    >>> from wire.agent import begin_run
    >>> from wire.neutral.messages import Stop
    >>> steps = Steps(begin_run([Message.user("Hi")]), Toolbox())
    >>> steps.replied(Reply(Message.assistant("Hello."), Stop("end")))
    True
    >>> steps.next().result.reason
    'end'
    """

    result: RunResult
    """The result of the run, as `Agent.run` returns it."""


Step: TypeAlias = Ask | RunCalls | Pause | Finished
"""What `Steps.next` returns. A `wire.Pause` comes after an empty reply or a failed request: wait
for its `seconds`, then take the next step."""


class Steps(LiveRun):
    """One run as a state machine; a driver takes its steps.

    >>> from wire.agent import begin_run
    >>> from wire.neutral.messages import Stop
    >>> steps = Steps(begin_run([Message.user("Hi")]), Toolbox())
    >>> type(steps.next()).__name__
    'Ask'
    >>> steps.replied(Reply(Message.assistant("Hello."), Stop("end")))
    True
    >>> steps.next().result.text
    'Hello.'

    - `max_steps`: the maximum number of requests to the model; `None` for no limit.
    - `headers`: further headers of the requests to the model.
    - `output`: the type of the answer; `None` for text. `output_retries`: how often in a row the
      model is asked again after an answer that does not fit.
    - `view`: returns the messages to send, given all messages.
    - `stop_when`: called between steps; the run stops if it returns true, and can be resumed.
    - `max_calls_per_turn`: further calls of a turn are not run; the model gets an error for each.
    - `max_cost`, `max_tokens_total`: USD, and tokens. The run ends before the next request once
      its replies cost, or have, that much, and after a reply that does not tell.
    - `max_calls`: further calls of the run are not run, and it ends after that turn.
    - `asks_approval`: whether the driver asks for approval of each call. If not, calls of tools
      that need approval wait.
    - `on_change`: called with each new state.
    - `on_reply`: called with each reply that the run accepts, and the messages that were sent.

    `started`, `answered`, `send` and `stop` may be called from any thread.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        state: RunState,
        toolbox: Toolbox,
        *,
        max_steps: int | None = 20,
        headers: Headers | None = None,
        output: Any = None,
        output_retries: int = 1,
        max_calls_per_turn: int = MAX_CALLS_PER_TURN,
        max_cost: Decimal | float | None = None,
        max_tokens_total: int | None = None,
        max_calls: int | None = None,
        view: Callable[[Sequence[Message]], Iterable[Message]] = tuple,
        guard: Guard | None = None,
        stop_when: Callable[[RunState], bool] | None = None,
        asks_approval: bool = False,
        verdicts: Mapping[str, Verdict] | None = None,
        retry: Retry = presets.RESUME_AGENT,
        dice: Random | None = None,
        on_change: Callable[[RunState], None] | None = None,
        on_reply: Callable[[Reply, tuple[Message, ...]], None] | None = None,
    ) -> None:
        if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
            raise ConfigurationError(
                f"max_steps: expected a whole number from 1 up or None, not {quoted(max_steps)}"
            )
        checked_count("max_calls_per_turn", max_calls_per_turn)
        super().__init__(state, on_change)
        self._toolbox = toolbox
        self._max_steps, self._max_calls_per_turn = max_steps, max_calls_per_turn
        self._max_cost = checked_budget(max_cost, max_tokens_total, max_calls)
        self._max_tokens_total, self._max_calls = max_tokens_total, max_calls
        self._headers = headers
        self._output, self._output_retries = output, output_retries
        self._exhausted: Reason | None = None
        """The budget that ends the run after this turn."""
        self._view = view
        self._guard = guard
        self._stop_when = stop_when
        self._asks_approval = asks_approval
        self._verdicts = dict(verdicts or {})
        for id, verdict in self._verdicts.items():
            check_verdict(verdict, f"verdicts[{id!r}]")
        self._retry, self._dice = retry, dice or Random()
        self._attempt = 0
        self._pause: float | None = None
        self._guarded = False
        self._refusals: dict[str, ToolRun] = {}
        """Calls of the last turn that the guard failed on, by id, with their results."""
        self._on_reply = on_reply
        self._sent: tuple[Message, ...] = ()
        """The messages of the last request."""
        self._is_compacted = False
        """Whether no reply came since the last summary."""
        self._new_runs: set[str] = set()
        """Ids of calls of the last turn whose runs `take_runs` has not given yet."""
        self._before: tuple[Message, ...] = ()
        """The messages before a reply of which calls have begun to run."""
        self._early: set[str] = set()
        """Ids of the calls of the last turn that began to run while it was streamed."""

    def next(self) -> Step:
        """Return the next step. Raises `HistoryError` for a conversation that cannot be sent."""
        if self._pause is not None:
            pause, self._pause = self._pause, None
            return Pause(pause)
        with self._lock:
            while self.state.reason is None:
                step = self._calls() if self.state.open_calls else self._ask()
                if step is not None:
                    return step
        return Finished(self.result)

    @property
    def last_reply(self) -> Reply | None:
        """The last reply of the model since the last summary, if the run has one."""
        return self._records[-1].reply if self._records and not self._is_compacted else None

    @checked_arguments(ConfigurationError)
    def compacted(self, compacted: Compacted, reply: Reply) -> None:
        """Report a summary of the first messages; its tokens and its cost count."""
        with self._lock:
            self._count(reply)
            self._compactions.append(reply)
            self._is_compacted = True
            self._change(compacted=compacted, usage=self.state.usage + reply.usage)

    def _cut(self, reply: Any) -> None:
        """Keep the part of a reply that was streamed before a message ended it.

        Its texts and thoughts stay in the conversation. Its calls have not run, and are left out.
        """
        self._attempt = 0
        if not isinstance(reply, Reply):
            return
        noted = Note("", "cut off: a message was sent to the run")
        reply = msgspec.structs.replace(reply, notes=(*reply.notes, noted))
        kept = [
            part
            for part in reply.message.parts
            if not isinstance(part, ToolCall) or part.id in self._early
        ]
        messages = self._recorded(reply, Message("assistant", tuple(kept)))
        self._count(reply)
        self._change(
            messages=messages,
            asked=self.state.asked + 1,
            usage=self.state.usage + reply.usage,
        )

    # --- calls that run while their reply is streamed

    @checked_arguments(ConfigurationError)
    def early(self, call: ToolCall, so_far: Reply) -> bool:
        """Report a whole call of a reply that is still streamed; return whether it is to run now.

        If it is, the reply so far is in the conversation, with the call as a started one: whatever
        becomes of the stream, no call runs twice and no result is lost. Calls that need an
        approval, that a guard judges, that `max_calls` counts or that are over a limit run after
        the reply, as others do.
        """
        with self._lock:
            if (
                self._guard is not None
                or self._asks_approval
                or self._toolbox.get(call.name) is None
                or self._waits(call)
                or self._max_calls is not None
                or len(self._early) >= self._max_calls_per_turn
            ):
                return False
            if not self._early:
                self._before = self.state.messages
                self._records.append(StepRecord(so_far))
            self._early.add(call.id)
            parts = [part for part in so_far.message.parts if not _is_open(part)]
            self._change(messages=self._with_results_so_far(Message("assistant", tuple(parts))))
            return True

    @property
    def has_early(self) -> bool:
        """Whether calls of the reply that is streamed have begun to run."""
        return bool(self._early)

    def _recorded(self, reply: Reply, message: Message) -> tuple[Message, ...]:
        """Record a reply as a step; return the conversation with its message."""
        if not self._early:
            self._records.append(StepRecord(reply))
            return self._continued(message)
        self._records[-1] = msgspec.structs.replace(self._records[-1], reply=reply)
        return self._with_results_so_far(message)

    def _with_results_so_far(self, message: Message) -> tuple[Message, ...]:
        """Return the conversation with a reply in place of its beginning, before its results."""
        last = self.state.messages[-1]
        results = (last,) if last.role == "tool" and last not in self._before[-1:] else ()
        return (*self._continued(message, self._before), *results)

    def _broken(self, error: WireError) -> None:
        """Go on with the calls of a reply that broke off after some of them had begun to run."""
        partial = error.partial if isinstance(error.partial, Reply) else self._records[-1].reply
        noted = Note("", f"broken off, and its calls were run: {error.message}")
        reply = msgspec.structs.replace(partial, notes=(*partial.notes, noted))
        self._records[-1] = msgspec.structs.replace(self._records[-1], reply=reply)
        self._count(reply)
        self._attempt, self._refusals = 0, {}
        usage = self.state.usage + reply.usage
        self._change(asked=self.state.asked + 1, usage=usage, tool_only=0, repeats={})

    # --- the model

    def _ask(self) -> Step | None:
        """Return the next request; `None` if the run ends instead."""
        reason = self._ends() if self._attempt == 0 else None
        if reason is not None:
            self._change(reason=reason)
            return None
        if inbox := self.state.inbox:
            self._joined += inbox
            self._change(messages=(*self.state.messages, *inbox), inbox=())
        refuse(check(self.state.messages), HistoryError)
        left = self._retry.attempts - self._attempt if self._attempt else None
        self._is_asking = True
        self._early.clear()
        return Ask(self.to_send(), left, self._headers, self._output)

    def to_send(self) -> tuple[Message, ...]:
        """Return the messages to send: with the summary in place of those that it stands for."""
        messages, compacted = self.state.messages, self.state.compacted
        shown = messages if compacted is None else compacted.applied(messages)
        self._sent = tuple(self._view(shown))
        return self._sent

    def _ends(self) -> Reason | None:
        """Return the reason why the run ends after this turn; `None` if it does not.

        All calls of the turn have results.
        """
        if self._is_stopping:
            return "stopped"
        if self._guarded:
            return "guard"
        # A run may begin with the results of final tools that ended the run before.
        own = len(self.state.messages) > self.state.begun
        results = self.state.messages[-1].tool_results if own else ()
        if any(self._toolbox.is_final(result) for result in results):
            return "final"
        if exhausted := self._exhausted or self._overspent():
            return exhausted
        if self._records and self._stop_when is not None and self._stops_here(self._stop_when):
            return "stopped"
        if self._max_steps is not None and self.state.asked >= self._max_steps:
            return "max_steps"
        return None

    def _overspent(self) -> Reason | None:
        """Return the budget that the replies of the run have used up; `None` if there is none."""
        if self._max_cost is not None and self.state.spent >= self._max_cost:
            return "max_cost"
        if self._max_tokens_total is not None and self._max_tokens_total <= self.state.usage.total:
            return "max_tokens_total"
        return None

    def _count(self, reply: Reply) -> None:
        """Count a reply against the budget. What it does not tell may be any amount."""
        if self._max_cost is not None:
            from wire.catalogue.cost import exact_sum  # loads a file at its first use

            cost = reply.cost
            self._change(spent=exact_sum((self.state.spent, cost.known)))
            if cost.total is None:
                self._exhausted = "max_cost"
        if self._max_tokens_total is not None and reply.usage is None:
            self._exhausted = "max_tokens_total"

    def _stops_here(self, stop_when: Callable[[RunState], bool]) -> bool:
        stops = stop_when(self.state)
        # It would count as true, and end every run after its first step.
        refuse_coroutine("stop_when", stops, "a bool")
        return bool(stops)

    @checked_arguments(ConfigurationError)
    def replied(self, reply: Reply) -> bool:
        """Report the model's reply; return whether the run accepts it.

        An empty reply counts as a transient failure, unless it was cut off or goes on.
        """
        self._count(reply)
        if reply.empty and reply.stop.reason not in ("length", "pause"):
            account = answer_account(reply)
            # `failed` counts one attempt; the client may have made more.
            self._attempt += account.attempts - 1 if account is not None else 0
            finish = reply.stop.raw or reply.stop.reason
            message = f": {reply.stop.message}" if reply.stop.message else ""
            self.failed(
                StreamIncomplete(
                    f"the model's reply is empty (finish {finish}){message}",
                    retryable=True,
                    partial=reply,
                )
            )
            return False
        with self._lock:
            self._accept(reply)
        return True

    def _accept(self, reply: Reply) -> None:
        if self._on_reply is not None:
            self._on_reply(reply, self._sent)
        self._attempt, self._is_compacted = 0, False
        self._ended_asking()
        calls = reply.tool_calls
        messages = self._recorded(reply, reply.message)
        tool_only = self.state.tool_only + 1 if calls and not reply.text else 0
        repeats = self._counted(calls)
        self._guarded = self._stops(calls, repeats, tool_only)
        self._change(
            messages=messages,
            asked=self.state.asked + 1,
            tool_only=tool_only,
            repeats=repeats,
            usage=self.state.usage + reply.usage,
            misfits=0,
            reason=None if calls or self._goes_on(reply) else ending(reply),
        )

    def _goes_on(self, reply: Reply) -> bool:
        """Return whether a message that was sent meanwhile is to be answered."""
        return bool(self.state.inbox) and ending(reply) == "end"

    def _misfit(self, error: OutputError) -> Restart | None:
        """Count a reply that does not fit `output`; return what tells that the model answers again.

        The conversation gets the reply and its problem, so that the next request asks again within
        the limits of the run. Return `None` if the model is not asked again.
        """
        reply = error.partial
        if not isinstance(reply, Reply):
            return None
        self._count(reply)
        self._records.append(StepRecord(reply))
        counted = {"asked": self.state.asked + 1, "usage": self.state.usage + reply.usage}
        from wire.neutral.output_calls import corrections  # few runs have an output

        added = corrections(error)
        if not added or self.state.misfits >= self._output_retries:
            self._change(**counted)
            return None
        self._attempt = 0
        before = self.state.messages if len(added) == 1 else self._continued(added[0])
        misfits = self.state.misfits + 1
        self._change(messages=(*before, added[-1]), misfits=misfits, **counted)
        return Restart(error.message, reply)

    def _continued(
        self, message: Message, before: tuple[Message, ...] | None = None
    ) -> tuple[Message, ...]:
        """Return the messages, or those before a reply, with a new one of the model.

        Its additions to a paused message are joined to that message, so that the turn is one
        message.
        """
        before = self.state.messages if before is None else before
        if not message.parts:
            return before
        if len(before) > self.state.begun and before[-1].role == "assistant":
            paused = before[-1]
            return (*before[:-1], Message("assistant", (*paused.parts, *message.parts)))
        return (*before, message)

    def asks_whole(self, error: BaseException) -> bool:
        """Report a stream that failed before its first event.

        Return whether the driver is to send the request once more, without streaming. That request
        counts as an attempt of the policy, so that a streamed run sends no more requests than the
        policy allows. A client of this library has already used its attempts.
        """
        error = ungrouped(error)
        if self.is_cut:
            return False
        if getattr(error, "attempts", 0) or not is_transient(error):
            return False
        if self._attempt + 1 >= self._retry.attempts or presets.is_off():
            return False
        self._attempt += 1
        return True

    @checked_arguments(ConfigurationError)
    def failed(self, error: BaseException, *, seen: bool = False) -> Restart | None:
        """Report a failed request. The next step is a pause, or the error is raised.

        An error in an `ExceptionGroup` is raised without the group. There is no retry if `seen` is
        true, which means that events of the reply were handed out, and none after an error that is
        not an `Exception`, such as a cancellation. After a reply that does not fit `output` the
        model is asked again; the `Restart` comes before the events of its next reply.
        """
        error = ungrouped(error)
        if self._ended_asking() and isinstance(error, StreamIncomplete):
            self._cut(error.partial)
            return None
        if self._early and isinstance(error, WireError):
            self._broken(error)
            return None
        if isinstance(error, OutputError) and (restart := self._misfit(error)) is not None:
            return restart
        lost = None if isinstance(error, OutputError) else getattr(error, "partial", None)
        if isinstance(lost, Reply) and lost.message.parts:
            self._records.append(StepRecord(lost))  # it was paid for
            self._count(lost)
        if seen or not isinstance(error, Exception):
            raise error
        self._attempt += 1
        known = error if isinstance(error, WireError) else WireError(retryable=is_transient(error))
        # A client of this library has already retried by its own policy (`attempts` > 0).
        wait = self._retry.wait(known, self._attempt, self._dice) if known.attempts == 0 else None
        if wait is None:
            raise error
        self._pause = wait
        return None

    # --- the guard: if it raises, only the calls that were passed to it are refused

    def _counted(self, calls: Iterable[ToolCall]) -> dict[str, int]:
        self._refusals.clear()
        counts: dict[str, int] = {}
        if self._guard is None:
            return counts
        for call in calls:
            try:
                counts |= self._guard.counted([call], {**self.state.repeats, **counts})
            except Exception as error:
                self._refusals[call.id] = self._toolbox.hook_failed(call, "guard", error)
        return counts

    def _stops(self, calls: Iterable[ToolCall], counts: Mapping[str, int], tool_only: int) -> bool:
        checked = [call for call in calls if call.id not in self._refusals]
        if self._guard is None or not checked:
            return False
        try:
            return self._guard.stops(checked, counts, tool_only, self._toolbox)
        except Exception as error:
            for call in checked:
                self._refusals[call.id] = self._toolbox.hook_failed(call, "guard", error)
            return False

    def _steered(self, call: ToolCall) -> ToolRun | None:
        if self._guard is None or call.id in self._refusals:
            return self._refusals.get(call.id)
        try:
            steering = self._guard.steers(call, self.state.repeats, self._toolbox)
        except Exception as error:
            return self._toolbox.hook_failed(call, "guard", error)
        return _answered_with(call, steering) if steering else None

    # --- the calls of a turn

    def _calls(self) -> Step | None:
        """Return the step that runs calls; `None` if each open call has its result already, or
        waits.
        """
        answered: list[ToolRun] = []
        to_run: list[ToolCall] = []
        waiting = running = False
        turn = last_calls(self.state.messages)
        in_limit = {call.id for call in turn[: self._max_calls_per_turn]}
        for call in self.state.open_calls:
            if call.id in self._early:
                running = True
                continue
            run = self._answer_at_once(call) if call.id in in_limit else self._over_limit(call)
            if run is not None:
                answered.append(run)
            elif self._waits(call):
                waiting = True
            elif self._max_calls is not None and self.state.calls + len(to_run) >= self._max_calls:
                answered.append(_answered_with(call, _over("run", self._max_calls)))
                self._exhausted = "max_calls"
            else:
                to_run.append(call)
        if answered:
            self.answered(answered)
        if to_run or running:
            return RunCalls(tuple(to_run))
        if waiting:
            self._change(reason="waiting")
        return None

    def _answer_at_once(self, call: ToolCall) -> ToolRun | None:
        if self._guarded:
            return _answered_with(call, "stopped: the model repeated the same calls too often")
        verdict = self._verdicts.get(call.id)
        steered = self._steered(call)
        if steered is not None:
            return steered
        refusal = None if verdict is None else refused(call, verdict)
        if refusal is not None:
            return ToolRun(call, refusal)
        # The run was saved while this call ran. A verdict `True` allows to run it again.
        return self._interrupted(call) if verdict is not True else None

    def _over_limit(self, call: ToolCall) -> ToolRun:
        return _answered_with(call, _over("turn", self._max_calls_per_turn))

    def _waits(self, call: ToolCall) -> bool:
        tool = self._toolbox.get(call.name)
        if tool is None or self._verdicts.get(call.id) is True:
            return False
        return self._toolbox.is_passive(call.name) or (
            getattr(tool, "needs_approval", False) and not self._asks_approval
        )

    @checked_arguments(ConfigurationError)
    def started(self, call: ToolCall) -> None:
        """Report that the tool of an open call starts: from here on it may have effects.

        Raises `HistoryError` if the run has ended: the tool of an early call must not start then.
        """
        with self._lock:
            if self._is_over and call.id in self._early:
                raise HistoryError(violations=[Violation("call", "the run has ended")])
            counted = {} if self._max_calls is None else {"calls": self.state.calls + 1}
            started = (*self.state.started, call.id)
            self._change(same_turn=True, started=started, **counted)

    @checked_arguments(ConfigurationError)
    def answered(self, runs: Iterable[ToolRun]) -> None:
        """Report the results of calls. Runs and results are put in call order."""
        runs = tuple(runs)
        for index, run in enumerate(runs):
            if not isinstance(run, ToolRun):
                raise ConfigurationError(
                    f"runs[{index}]: expected a ToolRun, not {type(run).__name__}"
                )
        with self._lock:
            if runs and not (self._is_over and runs[0].call.id in self._early):
                self._add(runs)

    def _add(self, runs: tuple[ToolRun, ...]) -> None:
        messages = with_results(self.state.messages, [run.result for run in runs])
        positions = {result.id: index for index, result in enumerate(messages[-1].tool_results)}

        def ordered(before: tuple[ToolRun, ...]) -> tuple[ToolRun, ...]:
            return tuple(sorted((*before, *runs), key=lambda run: positions[run.result.id]))

        if self._records:
            last = self._records[-1]
            self._records[-1] = msgspec.structs.replace(last, runs=ordered(last.runs))
        else:
            self._resumed = ordered(self._resumed)
        ids = {run.call.id for run in runs}
        self._new_runs |= ids
        started = tuple(id for id in self.state.started if id not in ids)
        self._change(same_turn=True, messages=messages, started=started)

    def take_runs(self) -> tuple[ToolRun, ...]:
        """Return the runs that were reported since the last time, in call order."""
        turn = self._records[-1].runs if self._records else self._resumed
        runs = tuple(run for run in turn if run.call.id in self._new_runs)
        self._new_runs.clear()
        return runs

    def interrupted(self) -> None:
        """Report that the driver has stopped: no further results are reported.

        Calls that were started get an error as their result, so that `resume` does not start them
        again. Other calls stay open, and so do those of read-only tools, which may run twice.
        """
        with self._lock:
            if self.state.started:
                cut_off = (self._interrupted(call) for call in self.state.open_calls)
                self.answered(run for run in cut_off if run is not None)
                self._change(started=())
            self._is_over = True

    def _interrupted(self, call: ToolCall) -> ToolRun | None:
        if call.id not in self.state.started:
            return None
        if getattr(self._toolbox.get(call.name), "read_only", False):
            return None
        return _answered_with(call, INTERRUPTED, ToolError(f"tool {call.name}: {INTERRUPTED}"))


def _is_open(part: object) -> bool:
    """Return whether a part is a call without whole arguments."""
    return isinstance(part, ToolCall) and part.arguments is None


def _answered_with(call: ToolCall, message: str, error: Exception | None = None) -> ToolRun:
    return ToolRun(call, ToolResult(call.id, call.name, message, error=True), error)


def _over(span: str, limit: int) -> str:
    return f"refused: at most {limit:,} calls of a {span} are run"
