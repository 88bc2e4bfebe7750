"""Rows as requests of a batch, and the results of a batch as what its rows ended in. No I/O.

The id of a row in its job is `KEY-NUMBER-DIGEST`, which every vendor accepts and which tells at the
end whether the row is still the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from wire.bulk.journal import BatchJob
from wire.bulk.results import Outcome, Result, outcome_of
from wire.bulk.rows import Question, Row, question_of
from wire.chat.batches import batching_of, read_result
from wire.chat.chat import AsyncChat
from wire.core.call import Call
from wire.core.errors import ConfigurationError, RuleError, Violation, WireError
from wire.core.memory import with_notes
from wire.neutral.batches import CANCELLED, EXPIRED, Batch, ResultLine, without_answer
from wire.neutral.messages import Message, Reply
from wire.neutral.output import OutputType
from wire.neutral.request import Request

LINE_BYTES = 200
"""Of the line around a request: its id, its method and its URL."""
LOST = "batch_lost"
"""`code` of the error of a row whose job is not the vendor's batch that was taken for it."""


class BatchRows:
    """The rows of a run with batches."""

    def __init__(self, chat: AsyncChat, output: Any) -> None:
        self._chat, self._output = chat, output
        self._output_type = None if output is None else OutputType(output)

    def call(self, row: Row) -> Call[Reply] | Outcome:
        """Return the call that would send a row alone, or the outcome of an invalid row."""
        metadata = None
        try:
            question = question_of(row)
            metadata = question.metadata
            settings = {"output": self._output, **question.settings}
            return batch_call(self._chat, question.request.messages, **settings)
        except WireError as error:
            return self.failed(row, error, metadata)

    def _rendered(self, question: Question) -> Call[Reply]:
        settings = {"output": self._output, **question.settings}
        return _rendered(self._chat, question.request.messages, **settings)

    def outcome(self, row: Row, batch: Batch, line: ResultLine | None) -> Outcome:
        """Return the outcome of a row; `line` is `None` if the batch has no result for it."""
        question = question_of(row)
        own = question.settings.get("output")
        output_type = self._output_type if own is None else OutputType(own)
        reply = reply_of(self._chat, batch, line, output_type)
        if isinstance(reply, WireError):
            return self.failed(row, reply, question.metadata)
        added = question.notes
        with suppress(WireError):  # the rules of another version may refuse what was sent
            added = (*added, *self._rendered(question).notes)
        reply = with_notes(reply, added) if added else reply
        return outcome_of(
            row, Result(id=row.id, row=row.number, reply=reply, metadata=question.metadata)
        )

    def failed(self, row: Row, error: WireError, metadata: Any = None) -> Outcome:
        """Return the outcome of a row that failed."""
        return outcome_of(row, Result(id=row.id, row=row.number, error=error, metadata=metadata))

    def failed_with_job(self, row: Row, error: WireError) -> Outcome:
        """Return the outcome of a row whose job has no results: the next run asks it again."""
        of_job(error, self._chat)
        return self.failed(row, error, question_of(row).metadata)


def batch_call(chat: AsyncChat, messages: Sequence[Message], **settings: Any) -> Call[Reply]:
    """Return the call that would send a request of a batch alone.

    Raises `RuleError` for one that cannot be sent, or is larger than a batch.
    """
    call = _rendered(chat, messages, **settings)
    size, most = len(call.body) + LINE_BYTES, batching_of(chat.row).MAX_BYTES
    if size > most:
        problem = f"{size:,} bytes, more than the {most:,} of a batch"
        raise RuleError(violations=[Violation("", problem)])
    # Both refer to the request as structs, which take three times the memory of its bytes.
    return msgspec.structs.replace(call, parse=bytes, host_rules=None)


def _rendered(
    chat: AsyncChat, messages: Sequence[Message], output: Any = None, **settings: Any
) -> Call[Reply]:
    request: Request = chat.request(messages=messages, **settings)
    return chat._batch_call(request, output).judge(chat.row)


def reply_of(
    chat: AsyncChat, batch: Batch, line: ResultLine | None, output_type: OutputType | None
) -> Reply | WireError:
    """Read the reply of a request, or its error; `line` is `None` if the batch has no result."""
    if line is None:
        return _unanswered(batch)
    reply = read_result(chat, batch.id, line, output_type)
    if isinstance(reply, WireError):
        # The next run asks a row of a cancelled job again, as those without a result.
        reply.retryable = reply.retryable or reply.code == CANCELLED
    return reply


def of_job(error: WireError, chat: AsyncChat) -> None:
    """Change the error of a job without results to that of its rows: the next run asks again."""
    error.retryable = True
    error.provider = error.provider or chat.provider


def _unanswered(batch: Batch) -> WireError:
    """Return the error of a row without a result."""
    code = {"expired": EXPIRED, "cancelled": CANCELLED}.get(batch.status)
    error = (
        WireError(f"{batch.id} has no result of the row")
        if code is None
        else without_answer(code, batch.id)
    )
    error.retryable, error.provider = True, batch.provider
    return error


def id_of(job: BatchJob, number: int, digest: str) -> str:
    """Return the id of a row in its job; the digest tells whether it is still the same.

    >>> id_of(BatchJob(key="0f", rows=((7, 7),)), 7, "01e7b720ff566d53")
    '0f-7-01e7b720ff566d53'
    """
    return f"{job.key}-{number}-{digest}"


class JobResults:
    """The results of one job by its rows."""

    def __init__(self, job: BatchJob, batch: Batch, lines: Iterable[ResultLine]) -> None:
        self._batch = batch
        self._lines: dict[str, tuple[str, ResultLine]] = {}
        self.are_foreign = False
        """Whether the batch has results, and none of them is of the job."""
        for line in lines:
            self.are_foreign = True
            key, _, rest = line.id.partition("-")
            if key == job.key:
                number, _, digest = rest.partition("-")
                self._lines[number] = digest, line
        self.are_foreign = self.are_foreign and not self._lines

    def found(self, number: int) -> tuple[str, ResultLine] | None:
        """Remove and return the result of a row with its digest; `None` if there is none."""
        return self._lines.pop(str(number), None)

    def take(self, row: Row) -> ResultLine | None:
        """Remove and return the result of a row; `None` if there is none.

        Raises `ConfigurationError` if another row of that number was sent.
        """
        digest, line = self.found(row.number) or (row.digest, None)
        if digest != row.digest:
            raise ConfigurationError(
                f"rows: row {row.number} was another one when {self._batch.id} was submitted"
            )
        return line
