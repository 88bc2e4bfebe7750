"""The outcome of a row of a bulk run, as a value and as a line of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Generic

import msgspec

from wire.bulk.rows import Row
from wire.core.errors import OutputError, RuleError, WireError
from wire.core.memory import encode
from wire.core.secret_fields import masked_body
from wire.neutral.messages import Reply, Value_co
from wire.neutral.reply_json import reply_json


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
    """`None` if the row failed."""
    error: WireError | None = None
    """Why the row failed; `None` if it has a reply."""
    metadata: Any = None
    """The `metadata` of the row."""


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


def _line(row: Row, result: Result, cost: Decimal | None) -> bytes:
    value: dict[str, Any] = {"id": result.id, "row": result.row, "digest": row.digest}
    if result.metadata is not None:
        value["metadata"] = result.metadata
    if result.error is not None:
        value["error"] = error_json(result.error)
        value["line"] = _shown(row)
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
