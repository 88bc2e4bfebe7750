"""The loop of an agent as a state machine: what to do next, told what came of it. No clock, no I/O.

`Steps.next()` says what is to be done: ask the model, run calls, wait, or nothing more. The drivers
(`loop.py` for asyncio and trio, `threads.py`) do it and tell. Everything that a run needs in order
to go on later is in its `RunState`, which can be saved between steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Literal, TypeAlias

import msgspec

from wire.agent.guard import Guard
from wire.core import retry as presets
from wire.core.exchange import Pause
from wire.core.memory import Beside
from wire.core.retry import Retry
from wire.errors import (
    ConfigurationError,
    HistoryError,
    RuleError,
    StreamIncomplete,
    Violation,
    WireError,
)
from wire.history import check
from wire.neutral.messages import Message, Reply, ToolCall, ToolResult, Usage
from wire.tools import Toolbox, ToolRun

Reason: TypeAlias = Literal["end", "final", "max_steps", "guard", "waiting", "stopped"]

Verdict: TypeAlias = bool | str | None
"""Of one call: `True` or `None` lets it be made, `False` or a reason refuses it."""


def is_transient(error: Exception) -> bool:
    """Whether another attempt may succeed: errors of this library say it themselves, of others
    these classes do (S1-70).
    """
    return (
        error.retryable
        if isinstance(error, WireError)
        else isinstance(error, (ConnectionError, TimeoutError, EOFError))
    )


class Ask(msgspec.Struct, frozen=True):
    """Ask the model with these messages; tell `replied` or `failed`."""

    messages: tuple[Message, ...]


class RunCalls(msgspec.Struct, frozen=True):
    """Run these calls, at once if possible; tell `answered`."""

    calls: tuple[ToolCall, ...]


class Finished(msgspec.Struct, frozen=True):
    """Nothing is to be done any more, for now."""

    result: RunResult


Step: TypeAlias = Ask | RunCalls | Pause | Finished


class StepRecord(Beside, frozen=True):
    """One turn of the model, and what became of its calls."""

    reply: Reply
    runs: tuple[ToolRun, ...] = ()


class RunState(Beside, frozen=True, kw_only=True):
    """Where a run is: enough to go on later, in another process, with the same model or another."""

    messages: tuple[Message, ...]
    begun: int
    """How many of the messages were there before the run."""
    asked: int = 0
    """How many times the model was asked, since the run began or went on after `max_steps`."""
    tool_only: int = 0
    """Turns in a row that were nothing but calls."""
    repeats: dict[str, int] = msgspec.field(default_factory=dict)
    """Each call of the last turn -> how many times in a row it had been made before."""
    usage: Usage = msgspec.field(default_factory=Usage)
    results: tuple[ToolResult, ...] = ()
    """Answers to calls of the last turn, while others are waited for."""
    reason: Reason | None = None
    """Why it stopped; `None` while it goes on."""

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last turn that have no answer yet."""
        calls = self.messages[-1].tool_calls if self.messages else ()
        answered = {result.id for result in self.results}
        return tuple(call for call in calls if call.id not in answered)


class RunResult(Beside, frozen=True, kw_only=True):
    """What a run has added to its conversation, and why it stopped."""

    state: RunState
    steps: tuple[StepRecord, ...] = ()
    """Of this run, or of this part of it if it was resumed."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """Exactly the messages that were added, of the model and of its tools, in their order."""
        return self.state.messages[self.state.begun :]

    @property
    def reason(self) -> Reason:
        """`end`: the model has answered.

        `final`: a final tool has. `waiting`: calls wait for approval or for you. Else what stopped
        it.
        """
        return self.state.reason or "stopped"

    @property
    def reply(self) -> Reply | None:
        """The last reply of the model."""
        return self.steps[-1].reply if self.steps else None

    @property
    def text(self) -> str:
        """What the model said in its last turn."""
        return next(
            (message.text for message in reversed(self.messages) if message.role == "assistant"), ""
        )

    @property
    def usage(self) -> Usage:
        """Tokens of all steps."""
        return self.state.usage

    @property
    def waiting(self) -> tuple[ToolCall, ...]:
        """Calls that have no answer yet; `resume` takes their results, or verdicts on them."""
        return self.state.open_calls

    @property
    def runs(self) -> tuple[ToolRun, ...]:
        """Every call that was run or answered, with the exception behind an error."""
        return tuple(run for step in self.steps for run in step.runs)

    def __str__(self) -> str:
        return self.text


class Steps:
    """One run.

    `max_steps` is how many times the model is asked at most, `None` for no limit. `view` makes of
    all messages those that are sent. `stop_when` is asked between steps whether to stop here; the
    run can go on later. `asks_approval`: somebody is there to be asked about each call; without,
    calls of tools that need approval wait.
    """

    def __init__(
        self,
        state: RunState,
        toolbox: Toolbox,
        *,
        max_steps: int | None = 20,
        view: Callable[[Sequence[Message]], Iterable[Message]] = tuple,
        guard: Guard | None = None,
        stop_when: Callable[[RunState], bool] | None = None,
        asks_approval: bool = False,
        verdicts: Mapping[str, Verdict] | None = None,
        retry: Retry = presets.RESUME_AGENT,
        dice: Random | None = None,
    ) -> None:
        if max_steps is not None and (type(max_steps) is not int or max_steps < 1):
            raise ConfigurationError(f"max_steps: a number from 1 up or None, not {max_steps!r}")
        self.state = state
        self._toolbox = toolbox
        self._max_steps = max_steps
        self._view = view
        self._guard = guard
        self._stop_when = stop_when
        self._asks_approval = asks_approval
        self._verdicts = dict(verdicts or {})
        self._retry, self._dice = retry, dice or Random()
        self._attempt = 0
        self._pause: float | None = None
        self._records: list[StepRecord] = []
        self._guarded = False

    def next(self) -> Step:
        """What is to be done. Raises `HistoryError` for a conversation that cannot be sent."""
        if self._pause is not None:
            pause, self._pause = self._pause, None
            return Pause(pause)
        while self.state.reason is None:
            if not self.state.messages or self.state.messages[-1].role != "assistant":
                return self._ask()
            step = self._calls()
            if step is not None:
                return step
        return Finished(self.result)

    @property
    def result(self) -> RunResult:
        """What the run has come to so far."""
        return RunResult(state=self.state, steps=tuple(self._records))

    def _change(self, **fields: Any) -> None:
        self.state = msgspec.structs.replace(self.state, **fields)

    # --- the model

    def _ask(self) -> Step:
        if (
            self._records
            and self._stop_when is not None
            and self._attempt == 0
            and self._stop_when(self.state)
        ):
            self._change(reason="stopped")
        elif self._max_steps is not None and self.state.asked >= self._max_steps:
            self._change(reason="max_steps")
        else:
            violations = check(self.state.messages)
            if violations:
                raise HistoryError(violations=violations)
            return Ask(tuple(self._view(self.state.messages)))
        return Finished(self.result)

    def replied(self, reply: Reply) -> None:
        """The model has answered.

        An answer that says nothing counts as a failure that may pass, unless it was cut off at its
        length.
        """
        if reply.empty and reply.stop.reason != "length":
            finish = reply.stop.raw or reply.stop.reason
            said = f": {reply.stop.message}" if reply.stop.message else ""
            self.failed(
                StreamIncomplete(
                    f"the model answered nothing (finish {finish}){said}",
                    retryable=True,
                    partial=reply,
                )
            )
            return
        self._attempt = 0
        self._records.append(StepRecord(reply))
        calls = reply.tool_calls
        repeats = self._guard.counted(calls, self.state.repeats) if self._guard is not None else {}
        self._change(
            messages=(*self.state.messages, reply.message)
            if reply.message.parts
            else self.state.messages,
            asked=self.state.asked + 1,
            tool_only=self.state.tool_only + 1 if calls and not reply.text else 0,
            repeats=repeats,
            usage=self.state.usage + reply.usage if reply.usage is not None else self.state.usage,
            reason=None if calls else "end",
        )
        self._guarded = (
            self._guard is not None
            and bool(calls)
            and self._guard.stops(calls, repeats, self.state.tool_only, self._toolbox)
        )

    def failed(self, error: Exception, *, seen: bool = False) -> None:
        """The model could not be asked. Raises the error, unless another attempt is worth it: then
        the next step is a pause.

        `seen`: a part of the answer was handed out, and nothing is tried again.
        """
        if seen:
            raise error
        self._attempt += 1
        known = error if isinstance(error, WireError) else WireError(retryable=is_transient(error))
        # A client of this library has tried again as often as its own policy wants it.
        wait = self._retry.wait(known, self._attempt, self._dice) if known.attempts == 0 else None
        if wait is None:
            raise error
        self._pause = wait

    # --- its calls

    def _calls(self) -> Step | None:
        """Calls to be run; `None` if those that could be answered at once were all there were."""
        if not self.state.open_calls:  # the results of all that waited came with `resumed`
            self._settle()
        answered, to_run, waiting = [], [], False
        for call in self.state.open_calls:
            result = self._answer_at_once(call)
            if result is not None:
                answered.append(ToolRun(call, result))
            elif self._waits(call):
                waiting = True
            else:
                to_run.append(call)
        if answered:
            self.answered(answered)
        if to_run:
            return RunCalls(tuple(to_run))
        if waiting:
            self._change(reason="waiting")
        return None

    def _answer_at_once(self, call: ToolCall) -> ToolResult | None:
        if self._guarded:
            return ToolResult(
                call.id, call.name, "stopped: the same calls were made again and again", error=True
            )
        if self._guard is not None and (
            steering := self._guard.steers(call, self.state.repeats, self._toolbox)
        ):
            return ToolResult(call.id, call.name, steering, error=True)
        return refused(call, self._verdicts.get(call.id))

    def _waits(self, call: ToolCall) -> bool:
        tool = self._toolbox.get(call.name)
        if tool is None or self._verdicts.get(call.id) is True:
            return False
        return self._toolbox.is_passive(call.name) or (
            getattr(tool, "needs_approval", False) and not self._asks_approval
        )

    def answered(self, runs: Iterable[ToolRun]) -> None:
        """Calls have been run, or answered otherwise; when the last of a turn is, their results go
        into one message in call order.
        """
        runs = tuple(runs)
        if self._records:
            last = self._records[-1]
            self._records[-1] = msgspec.structs.replace(last, runs=(*last.runs, *runs))
        self._change(results=(*self.state.results, *(run.result for run in runs)))
        if not self.state.open_calls:
            self._settle()

    def _settle(self) -> None:
        """All calls of the turn are answered."""
        by_id = {result.id: result for result in self.state.results}
        results = tuple(by_id[call.id] for call in self.state.messages[-1].tool_calls)
        reason: Reason | None = None
        if self._guarded:
            reason = "guard"
        elif any(self._toolbox.is_final(result) for result in results):
            reason = "final"
        self._change(
            messages=(*self.state.messages, Message.tool_response(results)),
            results=(),
            reason=reason,
        )


def refused(call: ToolCall, verdict: Verdict) -> ToolResult | None:
    """The answer to a call that may not be made; `None` if it may."""
    if verdict is None or verdict is True:
        return None
    return ToolResult(
        call.id,
        call.name,
        verdict if isinstance(verdict, str) and verdict else "refused by the user",
        error=True,
    )


def begun(messages: Iterable[Message]) -> RunState:
    """A run that begins after these messages."""
    messages = tuple(messages)
    return RunState(messages=messages, begun=len(messages))


def resumed(state: RunState, results: Iterable[ToolResult] = ()) -> RunState:
    """A stopped run that goes on, with results of calls that waited.

    Raises `RuleError` for a result that nothing waits for.
    """
    results = tuple(results)
    waiting = {call.id for call in state.open_calls}
    for index, result in enumerate(results):
        if result.id not in waiting:
            raise RuleError(
                violations=[
                    Violation(f"results[{index}].id", f"no call {result.id!r} waits for a result")
                ]
            )
        waiting.remove(result.id)
    goes_on = state.reason in ("waiting", "stopped", "max_steps")
    return msgspec.structs.replace(
        state,
        results=(*state.results, *results),
        asked=0 if state.reason == "max_steps" else state.asked,
        reason=None if goes_on else state.reason,
    )
