"""Asks the rows of a run in batches of the vendor, at a lower price.

Rows are collected until a job is full, then it is submitted, and the next one is filled while it
runs. The results of a job are read when it has ended, and each of its rows is recorded as if it had
been asked alone.

The journal has each job before it is sent, so that none is created twice: a run that is started
again waits for the jobs that exist, and submits the rows that are in none. If a job was sent and
the response did not arrive, the job is searched for in the vendor's list before it is sent again.

The id of a row in its job is `KEY-NUMBER-DIGEST`, which every vendor accepts and which tells at the
end whether the row is still the same.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
import msgspec

from wire.batches import batching_of, get_flow, read_result
from wire.bulk.executors import NextRow, Record
from wire.bulk.journal import BatchJob, JobsByRow, Journal, ranges_of
from wire.bulk.output_files import Header
from wire.bulk.results import Outcome, Result, outcome_of
from wire.bulk.rows import Question, Row, question_of
from wire.bulk.waiting import Waiting
from wire.chat import AsyncChat
from wire.core.call import Call
from wire.core.flow import Flow
from wire.core.memory import with_notes
from wire.core.retry import NONE
from wire.errors import (
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    RateLimitError,
    RuleError,
    Violation,
    WireError,
)
from wire.neutral.batches import CANCELLED, EXPIRED, Batch, ResultLine, without_answer
from wire.neutral.messages import Reply
from wire.neutral.output import OutputType
from wire.neutral.request import Request

JOBS = 4
"""Jobs that run at the same time. Vendors limit the tokens of all jobs that have not ended."""
MOST_ROWS = 10_000
"""Rows of a job. The results of so many replies fit `Limits.body`, 26 kB for each."""
MOST_BYTES = 32 * 1024 * 1024
"""Bytes of the requests of a job, which are in memory about four times while they are sent. A row
that is larger is a job alone."""
MOST_FAILED_POLLS = 20
"""Polls of a job that may fail in succession before the run ends: with 30 s between them, ten
minutes without a network."""
LOST = "batch_lost"
"""`code` of the error of a row whose job is not the vendor's batch that was taken for it."""
_LINE_BYTES = 200
"""Of the line around a request: its id, its method and its URL."""


class BatchExecutor:
    """Asks rows in batches: fills jobs, waits for them and reads their results."""

    def __init__(
        self,
        chat: AsyncChat,
        output: Any,
        header: Header,
        journal: str,
        *,
        jobs: int = JOBS,
        every: float,
    ) -> None:
        """Raises `ConfigurationError` for a provider without batches."""
        self._chat, self._wire = chat, batching_of(chat.row)
        next(get_flow(chat, "batch")).judge(chat.row)  # type: ignore[union-attr]
        self._output = output
        self._output_type = None if output is None else OutputType(output)
        self._header, self._journal_path, self._every = header, journal, every
        self._most_rows = min(MOST_ROWS, self._wire.MAX_REQUESTS)
        self._most_bytes = min(MOST_BYTES, self._wire.MAX_BYTES)
        self._jobs = jobs
        self._running = 0
        self._ended = anyio.Event()
        self._waiting = Waiting()
        self._journal: Journal | None = None
        self._dice = random.Random()

    async def ask_all(self, next_row: NextRow, record: Record) -> None:
        """As `Executor.ask_all`."""
        self._record = record
        self._merging = anyio.Lock()
        self._journal = Journal(self._journal_path)
        jobs = [await self._found(job) for job in self._journal.open_jobs(self._header)]
        earlier = sorted((job for job in jobs if job is not None), key=lambda job: job.last)
        by_row = JobsByRow(earlier)
        async with anyio.create_task_group() as self._tasks:
            filling: list[tuple[Row, Call[Reply]]] = []
            size = 0
            while (row := await next_row()) is not None:
                while earlier and earlier[0].last < row.number:
                    await self._room()
                    self._begin(earlier.pop(0))
                if (job := by_row.of(row.number)) is not None:
                    self._waiting.add(job.key, [row])
                    continue
                call = self._call(row)
                if isinstance(call, Outcome):
                    await record(call)
                    continue
                more = len(call.body) + _LINE_BYTES
                is_full = len(filling) == self._most_rows or size + more > self._most_bytes
                if filling and is_full:
                    await self._submit(filling)
                    filling, size = [], 0
                filling.append((row, call))
                size += more
            for job in earlier:
                await self._room()
                self._begin(job)
            if filling:
                await self._submit(filling)

    async def aclose(self) -> None:
        """Close the connections and the journal. Jobs of the vendor go on."""
        if self._journal is not None:
            self._journal.close()
        self._waiting.close()
        await self._chat.aclose()

    # --- one row ----------------------------------------------------------------------------------

    def _call(self, row: Row) -> Call[Reply] | Outcome:
        """The call that would ask a row alone; what a row that cannot be asked ends in."""
        metadata = None
        try:
            question = question_of(row)
            metadata = question.metadata
            call = self._rendered(question)
            if len(call.body) + _LINE_BYTES > self._wire.MAX_BYTES:
                problem = (
                    f"{len(call.body):,} bytes, more than a batch of {self._chat.provider} has"
                )
                raise RuleError(violations=[Violation("", problem)])
        except WireError as error:
            return self._failed(row, error, metadata)
        # Both refer to the request as structs, which take three times the memory of its bytes.
        return msgspec.structs.replace(call, parse=bytes, host_rules=None)

    def _rendered(self, question: Question) -> Call[Reply]:
        settings = dict(question.settings)
        output = settings.pop("output", self._output)
        request: Request = self._chat.request(messages=question.request.messages, **settings)
        return self._chat._batch_call(request, output).judge(self._chat.row)

    # --- submitting -------------------------------------------------------------------------------

    async def _submit(self, filling: list[tuple[Row, Call[Reply]]]) -> None:
        """Create a job of the rows and start to wait for it.

        A request that the vendor refuses may be refused for one of its rows alone, so the halves
        are tried, down to the row.
        """
        await self._room()
        after = await self._chat.client.run(self._wire.newest_batch(self._chat.row))
        rows = ranges_of(row.number for row, _ in filling)
        job = BatchJob(key=os.urandom(8).hex(), rows=rows, after=after)
        calls = {_id(job, row): call for row, call in filling}
        try:
            job = await self._created(job, calls)
        except BadRequestError as error:
            if len(filling) == 1:
                await self._record(self._failed(filling[0][0], error))
                return
            half = len(filling) // 2
            await self._submit(filling[:half])
            await self._submit(filling[half:])
            return
        self._waiting.add(job.key, [row for row, _ in filling])
        self._begin(job)

    async def _created(self, job: BatchJob, calls: Mapping[str, Call[Reply]]) -> BatchJob:
        """The job with its id. It is sent again only if the vendor does not have it."""
        assert self._journal is not None
        chat, attempt = self._chat, 0
        self._journal.submitting(job)
        while True:
            create = self._wire.create_batch(calls, chat.model, chat.row, job.name)
            try:
                batch = await chat.client.run(_sent_once(create))
                return self._known(job, batch)
            except WireError as error:
                attempt += 1
                is_refused = _is_refused(error)
                if isinstance(error, RateLimitError) and self._running:
                    await self._ended.wait()
                    continue
                wait = chat.client._target.retry.wait(error, attempt, self._dice)
                if wait is None:
                    if is_refused:
                        self._journal.dropped(job)
                    raise
                await anyio.sleep(wait)
            if not is_refused and (found := await self._search(job)) is not None:
                return self._known(job, found)

    async def _found(self, job: BatchJob) -> BatchJob | None:
        """An open job of the journal with its id; `None` if the vendor does not have it."""
        assert self._journal is not None
        if job.batch:
            return job
        if (found := await self._search(job)) is not None:
            return self._known(job, found)
        self._journal.dropped(job)
        return None

    async def _search(self, job: BatchJob) -> Batch | None:
        flow = self._wire.find_batch(job.name, job.total, job.after, self._chat.row)
        return await self._chat.client.run(flow)

    def _known(self, job: BatchJob, batch: Batch) -> BatchJob:
        assert self._journal is not None
        job = msgspec.structs.replace(job, batch=batch.id)
        self._journal.created(job)
        return job

    # --- waiting and merging ----------------------------------------------------------------------

    def _begin(self, job: BatchJob) -> None:
        self._running += 1
        self._tasks.start_soon(self._finish, job)

    async def _room(self) -> None:
        """Wait until another job may run."""
        while self._running >= self._jobs:
            await self._ended.wait()

    async def _finish(self, job: BatchJob) -> None:
        """Wait for a job, and record its rows."""
        assert self._journal is not None
        if self._waiting.has(job.key):
            try:
                batch = await self._wait(job)
            except NotFoundError as error:
                await self._fail(job, error)
            else:
                async with self._merging:  # the results of one job at a time are in memory
                    await self._merge(job, batch)
        self._journal.merged(job)
        self._waiting.drop(job.key)
        self._running -= 1
        ended, self._ended = self._ended, anyio.Event()
        ended.set()

    async def _wait(self, job: BatchJob) -> Batch:
        failures = 0
        while True:
            try:
                batch = await self._chat.client.run(self._wire.get_batch(job.batch, self._chat.row))
            except WireError as error:
                failures += 1
                if not error.retryable or failures > MOST_FAILED_POLLS:
                    raise
            else:
                failures = 0
                if batch.ended:
                    return batch
            await anyio.sleep(self._every)

    async def _merge(self, job: BatchJob, batch: Batch) -> None:
        try:
            lines = await self._chat.client.run(self._wire.batch_results(batch, self._chat.row))
        except WireError as error:
            # An error without an attempt is that of the batch, which has no results.
            if error.attempts and not isinstance(error, NotFoundError):
                raise
            await self._fail(job, error)
            return
        results = {
            int(number): (digest, line)
            for line in lines
            for key, number, digest in [_parts(line.id)]
            if key == job.key
        }
        if lines and not results:
            words = f"{batch.id} is not the batch that the row was sent in"
            await self._fail(job, WireError(words, code=LOST))
            return
        for row in self._waiting.rows(job.key):
            digest, line = results.pop(row.number, (row.digest, None))
            if digest != row.digest:
                raise ConfigurationError(
                    f"rows: row {row.number} was another one when {batch.id} was submitted"
                )
            await self._record(self._outcome(row, batch, line))

    def _outcome(self, row: Row, batch: Batch, line: ResultLine | None) -> Outcome:
        """What a row of a job ended in; `line` is `None` if the job has no result of it."""
        question = question_of(row)
        if line is None:
            error = _unanswered(batch)
            error.provider = self._chat.provider
            return self._failed(row, error, question.metadata)
        own = question.settings.get("output")
        output_type = self._output_type if own is None else OutputType(own)
        reply = read_result(self._chat, batch.id, line, output_type)
        if isinstance(reply, WireError):
            # The next run asks a row of a cancelled job again, as those without a result.
            reply.retryable = reply.retryable or reply.code == CANCELLED
            return self._failed(row, reply, question.metadata)
        added = question.notes
        with suppress(WireError):  # the rules of another version may refuse what was sent
            added = (*added, *self._rendered(question).notes)
        reply = with_notes(reply, added) if added else reply
        return outcome_of(
            row, Result(id=row.id, row=row.number, reply=reply, metadata=question.metadata)
        )

    async def _fail(self, job: BatchJob, error: WireError) -> None:
        """Record the error of a job for each of its rows: the next run asks them again."""
        error.retryable = True
        error.provider = error.provider or self._chat.provider
        for row in self._waiting.rows(job.key):
            await self._record(self._failed(row, error, question_of(row).metadata))

    def _failed(self, row: Row, error: WireError, metadata: Any = None) -> Outcome:
        failed = Result(id=row.id, row=row.number, error=error, metadata=metadata)
        return outcome_of(row, failed)


def _unanswered(batch: Batch) -> WireError:
    """The error of a row without a result."""
    code = {"expired": EXPIRED, "cancelled": CANCELLED}.get(batch.status)
    if code is None:
        return WireError(f"{batch.id} has no result of the row", retryable=True)
    error = without_answer(code, batch.id)
    error.retryable = True
    return error


def _id(job: BatchJob, row: Row) -> str:
    return f"{job.key}-{row.number}-{row.digest}"


def _parts(id: str) -> tuple[str, str, str]:
    """Key of the job, number and digest of an id that `_id` made; empty texts for another id."""
    parts = id.split("-")
    if len(parts) != 3 or not parts[1].isdecimal():
        return "", "", ""
    return parts[0], parts[1], parts[2]


def _is_refused(error: WireError) -> bool:
    """Whether the vendor has created no job for sure. After 408 and 409 it may have."""
    return error.status is not None and 400 <= error.status < 500 and error.status not in (408, 409)


def _sent_once(flow: Flow[Batch]) -> Flow[Batch]:
    """The flow, whose calls are not sent again if they fail: a job could be created twice."""
    try:
        step = next(flow)
        while True:
            if isinstance(step, Call):
                step = step.replace(retry=NONE)
            try:
                outcome = yield step
            except WireError as error:
                step = flow.throw(error)
            else:
                step = flow.send(outcome)
    except StopIteration as end:
        batch: Batch = end.value
        return batch
