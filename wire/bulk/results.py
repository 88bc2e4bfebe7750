"""The outcome of a row of a bulk run, as a value and as a line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Generic

import msgspec

from wire.agent.run_state import Reason, RunState
from wire.bulk.rows import Row
from wire.catalogue.usage import Usage
from wire.core.errors import OutputError, RuleError, WireError
from wire.core.memory import encode
from wire.core.secret_fields import masked_body
from wire.neutral.decisions import Decision, Decisions
from wire.neutral.messages import Message, Reply, Value_co
from wire.neutral.reply_json import reply_json
from wire.sessions import serialize_message


class AgentRun(msgspec.Struct, frozen=True, kw_only=True):
    """The run of an agent that a row is, with the replies of all starts.

    >>> from wire.agent import begin_run
    >>> run = AgentRun(state=begin_run([Message.user("Hi")]), known=Decimal("0.25"))
    >>> run.steps, run.cost, run.reason
    (0, Decimal('0.25'), 'stopped')
    """

    state: RunState
    """The state at the end; an agent resumes it, for example with the results of calls that
    wait."""
    known: Decimal = Decimal(0)
    """USD of the replies whose cost is known."""
    unpriced: int = 0
    """The number of replies whose cost is not known."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that the run added to those of the row."""
        return self.state.messages[self.state.begun :]

    @property
    def text(self) -> str:
        """The text of the last message of the model."""
        return next((each.text for each in self.messages[::-1] if each.role == "assistant"), "")

    @property
    def reason(self) -> Reason:
        """Why the run stopped, as `RunResult.reason`."""
        return self.state.reason or "stopped"

    @property
    def steps(self) -> int:
        """The number of replies."""
        return self.state.asked

    @property
    def usage(self) -> Usage:
        """The tokens of all replies."""
        return self.state.usage

    @property
    def cost(self) -> Decimal | None:
        """USD of all replies; `None` if the cost of one is not known."""
        return None if self.unpriced else self.known


class Result(msgspec.Struct, Generic[Value_co], frozen=True, kw_only=True):
    """The reply to a row, or its error.

    To type checkers, the results of a run with `output=City` are `Result[City]`.

    >>> from wire import Message, Stop
    >>> Result(id="a", row=1, reply=Reply(Message.assistant("Hello."), Stop("end"))).reply.text
    'Hello.'
    """

    id: str
    """The id of the row, or its number."""
    row: int
    """The number of the row, from 1; for a file, that of its line."""
    reply: Reply[Value_co] | None = None
    """`None` if the row failed. Of an agent, the last reply, with the `output` of the run."""
    error: WireError | None = None
    """Why the row failed; `None` if it has a reply."""
    metadata: Any = None
    """The `metadata` of the row."""
    run: AgentRun | None = None
    """The run of the agent, if one was asked; of a row that failed, as far as it got."""
    decisions: Decisions | None = None
    """The answers to `questions`, in place of a reply."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The facts that the run needs of a row that has ended. They can be sent to another process."""

    row: Row
    result: Result
    line: bytes
    """The line for the results or the dead letters, with its line end."""
    counts: Mapping[str, Any]
    """The amounts that it adds to the figures of `Progress`."""
    is_settled: bool = False
    """Whether a new start would get the same, as from a batch that has ended."""

    @property
    def failed(self) -> bool:
        """Whether the row has no reply."""
        return self.result.error is not None


def outcome_of(row: Row, result: Result, *, cached: bool = False) -> Outcome:
    """Build the outcome of a row; `cached`: nothing was sent for it.

    A reply that does not fit `output` is paid, too.
    """
    error, reply = result.error, result.reply
    counts: dict[str, Any] = {"failed": 1}
    if error is None:
        counts = {"answered": 1, "cached": int(cached)}
    elif isinstance(error, OutputError) and isinstance(error.partial, Reply):
        reply = error.partial
    paid: Decimal | None = Decimal(0)
    if reply is not None and not cached:
        cost, usage = reply.cost, reply.usage
        paid = cost.total
        counts |= {"cost": cost.known, "unpriced": int(cost.total is None)}
        if usage is not None:
            counts |= {"input_tokens": usage.input, "output_tokens": usage.output}
    line = _line(row, result, paid)
    return Outcome(row=row, result=result, line=line + b"\n", counts=counts)


def outcome_of_run(row: Row, result: Result, before: Usage) -> Outcome:
    """Build the outcome of a row that is a run of an agent; `before` are tokens of earlier starts.

    Cost counts over all starts, as no earlier one has a line of the row.
    """
    run = result.run
    counts: dict[str, Any] = {"failed": 1} if result.error is not None else {"answered": 1}
    if run is not None:
        counts |= {"cost": run.known, "unpriced": run.unpriced}
        counts["input_tokens"] = run.usage.input - before.input
        counts["output_tokens"] = run.usage.output - before.output
    return Outcome(row=row, result=result, line=_run_line(row, result) + b"\n", counts=counts)


def outcome_of_decisions(row: Row, result: Result) -> Outcome:
    """Build the outcome of a row about which questions were asked."""
    found = result.decisions
    if found is None:
        return Outcome(
            row=row,
            result=result,
            line=encode(_beginning(row, result)) + b"\n",
            counts={"failed": 1},
        )
    cost, value = found.cost, _beginning(row, result)
    counts = {"answered": 1, "cost": cost.known, "unpriced": int(cost.total is None)}
    if found.usage is not None:
        counts |= {"input_tokens": found.usage.input, "output_tokens": found.usage.output}
    value["decisions"] = {name: _decision(found[name]) for name in found}
    value |= {"model": found.model, "usage": found.usage, "cost": cost.total}
    value["notes"] = [str(note) for note in found.notes]
    return Outcome(row=row, result=result, line=masked_body(encode(value)) + b"\n", counts=counts)


def _decision(answer: Decision) -> dict[str, Any]:
    """Return an answer as JSON, in which True and False are `true` and `false` also as keys."""
    shown = {
        str(option).lower() if isinstance(option, bool) else option: each
        for option, each in answer.probabilities.items()
    }
    level = {"level": answer.level} if answer.level else {}
    value: dict[str, Any] = {"value": answer.value, **level, "probabilities": shown}
    return value | {"confidence": answer.confidence, "refused": answer.refused}


def _run_line(row: Row, result: Result) -> bytes:
    value, run = _beginning(row, result), result.run
    if result.error is None:
        assert run is not None
        output = None if result.reply is None else result.reply.output
        notes = () if result.reply is None else result.reply.notes
        value |= {"text": run.text, "output": output, "finish": run.reason}
        value["notes"] = [str(note) for note in notes]
    if run is not None and (run.messages or result.error is None):
        value |= {"steps": run.steps, "usage": run.usage, "cost": run.cost}
        value["messages"] = [serialize_message(each) for each in run.messages]
    return masked_body(msgspec.json.format(encode(value), indent=-1))


def _beginning(row: Row, result: Result) -> dict[str, Any]:
    """Return the keys that the line of each row has, and those of its error."""
    value: dict[str, Any] = {"id": result.id, "row": result.row, "digest": row.digest}
    if result.metadata is not None:
        value["metadata"] = result.metadata
    if result.error is not None:
        value["error"] = error_json(result.error)
        value["line"] = _shown(row)
    return value


def _line(row: Row, result: Result, cost: Decimal | None) -> bytes:
    value = _beginning(row, result)
    if result.error is not None:
        if cost != 0:
            value["cost"] = cost
        return encode(value)
    assert result.reply is not None
    reply = reply_json(result.reply)
    value |= {"response_id" if name == "id" else name: each for name, each in reply.items()}
    value["cost"] = cost
    if result.reply.answer is not None:
        value["response"] = result.reply.answer
    # Received JSON may have line ends and indentation, and repeat what was sent.
    return masked_body(msgspec.json.format(encode(value), indent=-1))


def _shown(row: Row) -> Any:
    """Return the line of a row without credentials: its JSON, or its text if it is not JSON."""
    line = masked_body(row.line)
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return line.decode("utf-8", "replace")
    return msgspec.Raw(line)


def error_json(error: WireError) -> dict[str, Any]:
    """Return the fields of an error that a program can use.

    >>> error_json(WireError("no capacity", status=503, retryable=True))
    {'type': 'WireError', 'message': 'no capacity', 'status': 503, 'retryable': True}
    """
    value: dict[str, Any] = {"type": type(error).__name__, "message": error.message}
    for name in ("provider", "status", "code", "request_id", "retry_after"):
        if getattr(error, name) not in (None, ""):
            value[name] = getattr(error, name)
    if error.retryable:
        value["retryable"] = True
    if error.attempts:
        value["attempts"] = error.attempts
    if isinstance(error, RuleError) and error.violations:
        value["violations"] = [{"path": x.path, "message": x.message} for x in error.violations]
    return value
