"""Asks the rows of a run in batches of the vendor, at a lower price.

Rows are collected until a job is full, then it is submitted, and the next one is filled while it
runs. The results of a job are read when it has ended, and each of its rows is recorded as if it had
been asked alone.

The journal has each job before it is sent, so that none is created twice: a run that is started
again waits for the jobs that exist, and submits the rows that are in none. If a job was sent and
the response did not arrive, the job is searched for in the vendor's list before it is sent again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import closing
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from wire.bulk.batch_rows import LINE_BYTES, BatchRows, JobResults, id_of
from wire.bulk.executors import Executor, NextRow, Record
from wire.bulk.journal import BatchJob, JobsByRow, Journal, ranges_of
from wire.bulk.output_files import Header
from wire.bulk.results import Outcome
from wire.bulk.rows import Row
from wire.bulk.waiting import Waiting
from wire.chat.batches import batching_of, get_flow
from wire.chat.chat import AsyncChat
from wire.core.call import Call
from wire.core.errors import BadRequestError, NotFoundError, RateLimitError, WireError
from wire.core.flow import Flow
from wire.core.retry import NONE
from wire.neutral.batches import Batch
from wire.neutral.messages import Reply

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


class BatchExecutor(Executor):
    """Asks rows in batches: fills jobs, waits for them and reads their results."""

    def __init__(
        self,
        chat: AsyncChat,
        output: Any,
        header: Header,
        journal: str,
        *,
        jobs: int,
        every: float,
    ) -> None:
        """Raise `ConfigurationError` for a provider without batches."""
        next(get_flow(chat, "batch")).judge(chat.row)  # type: ignore[union-attr]
        self._chat, self._rows = chat, BatchRows(chat, output)
        self._header, self._journal, self._jobs, self._every = header, journal, jobs, every

    async def open(self) -> None:
        """Do nothing: batches need no preparation."""

    async def ask_all(self, next_row: NextRow, record: Record, *, replies: bool) -> None:
        """Ask all remaining rows, as `Executor.ask_all`."""
        with closing(Journal(self._journal)) as journal, closing(Waiting()) as waiting:
            earlier = journal.open_jobs(self._header)
            vendor = _Vendor(self._chat, journal)
            async with anyio.create_task_group() as tasks:
                jobs = _Jobs(vendor, self._rows, waiting, record, tasks, self._jobs, self._every)
                found = [await vendor.found(job) for job in earlier]
                await jobs.ask_all(next_row, [job for job in found if job is not None])

    async def aclose(self) -> None:
        """Close the connections. Jobs of the vendor go on."""
        await self._chat.aclose()


class _Jobs:
    """The jobs of one run: filled, waited for and merged."""

    def __init__(
        self,
        vendor: _Vendor,
        rows: BatchRows,
        waiting: Waiting,
        record: Record,
        tasks: TaskGroup,
        most: int,
        every: float,
    ) -> None:
        self._vendor, self._rows, self._waiting, self._record = vendor, rows, waiting, record
        self._tasks, self._most, self._every = tasks, most, every
        self._running = 0
        self._ended = anyio.Event()
        self._merging = anyio.Lock()

    async def ask_all(self, next_row: NextRow, earlier: list[BatchJob]) -> None:
        """Ask all remaining rows; those of `earlier` jobs are not sent again."""
        by_row = JobsByRow(earlier)
        earlier = sorted(earlier, key=lambda job: job.last)
        filling: list[tuple[Row, Call[Reply]]] = []
        size = 0
        while (row := await next_row()) is not None:
            while earlier and earlier[0].last < row.number:
                await self._begin(earlier.pop(0))
            if (job := by_row.of(row.number)) is not None:
                self._waiting.add(job.key, [row])
                continue
            call = self._rows.call(row)
            if isinstance(call, Outcome):
                await self._record(call)
                continue
            more = len(call.body) + LINE_BYTES
            is_full = size + more > self._vendor.most_bytes
            if filling and (is_full or len(filling) >= self._vendor.most_rows):
                await self._submit(filling)
                filling, size = [], 0
            filling.append((row, call))
            size += more
        for job in earlier:
            await self._begin(job)
        if filling:
            await self._submit(filling)

    async def _submit(self, filling: list[tuple[Row, Call[Reply]]]) -> None:
        """Create a job of the rows and begin to wait for it.

        A request that the vendor refuses may be refused for one of its rows alone, so the halves
        are tried, down to the row.
        """
        await self._room()
        rows = [row for row, _ in filling]
        job = await self._vendor.new_job(ranges_of(row.number for row in rows))
        calls = {id_of(job, row): call for row, call in filling}
        try:
            job = await self._vendor.created(job, calls, self._room_at_vendor)
        except BadRequestError as error:
            if len(filling) == 1:
                await self._record(self._rows.failed(filling[0][0], error))
                return
            half = len(filling) // 2
            await self._submit(filling[:half])
            await self._submit(filling[half:])
            return
        self._waiting.add(job.key, rows)
        await self._begin(job)

    async def _begin(self, job: BatchJob) -> None:
        """Wait for a job in a task of its own."""
        await self._room()
        self._running += 1
        self._tasks.start_soon(self._finish, job)

    async def _room(self) -> None:
        """Wait until another job may run."""
        while self._running >= self._most:
            await self._ended.wait()

    async def _room_at_vendor(self) -> bool:
        """Wait until one of the jobs has ended; false if none runs."""
        if not self._running:
            return False
        await self._ended.wait()
        return True

    async def _finish(self, job: BatchJob) -> None:
        """Wait for a job, and record its rows."""
        if self._waiting.has(job.key):  # else all of them were recorded before
            try:
                batch = await self._wait(job)
            except NotFoundError as error:
                await self._fail(job, error)
            else:
                async with self._merging:  # the results of one job at a time are in memory
                    await self._merge(job, batch)
        self._vendor.journal.merged(job)
        self._waiting.drop(job.key)
        self._running -= 1
        ended, self._ended = self._ended, anyio.Event()
        ended.set()

    async def _wait(self, job: BatchJob) -> Batch:
        failures = 0
        while True:
            try:
                batch = await self._vendor.get(job)
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
            results = await self._vendor.results(job, batch)
        except WireError as error:
            # An error without an attempt is that of the batch, which has no results.
            if error.attempts and not isinstance(error, NotFoundError):
                raise
            await self._fail(job, error)
            return
        if results.are_foreign:
            words = f"{batch.id} is not the batch that the row was sent in"
            await self._fail(job, WireError(words, code=LOST))
            return
        for row in self._waiting.rows(job.key):
            outcome = self._rows.outcome(row, batch, results.take(row))
            await self._record(msgspec.structs.replace(outcome, is_settled=True))

    async def _fail(self, job: BatchJob, error: WireError) -> None:
        for row in self._waiting.rows(job.key):
            await self._record(self._rows.failed_with_job(row, error))


class _Vendor:
    """The vendor's side: creates jobs, each of them once, and reads them."""

    def __init__(self, chat: AsyncChat, journal: Journal) -> None:
        self._chat, self._wire, self.journal = chat, batching_of(chat.row), journal
        self._dice = random.Random()
        self.most_rows = min(MOST_ROWS, self._wire.MAX_REQUESTS)
        self.most_bytes = min(MOST_BYTES, self._wire.MAX_BYTES)

    async def new_job(self, rows: tuple[tuple[int, int], ...]) -> BatchJob:
        """Return a job that is not created yet."""
        after = await self._chat.client.run(self._wire.newest_batch(self._chat.row))
        return BatchJob(key=os.urandom(8).hex(), rows=rows, after=after)

    async def created(
        self, job: BatchJob, calls: Mapping[str, Call[Reply]], room: Callable[[], Awaitable[bool]]
    ) -> BatchJob:
        """Create a job, and return it with its id.

        A retry creates it again only if the vendor does not have it. At a vendor that takes no
        further job now, `room` waits until one has ended. Raises `BadRequestError` and other errors
        of the request that creates it.
        """
        self.journal.submitting(job)
        chat, attempt = self._chat, 0
        while True:
            create = self._wire.create_batch(calls, chat.model, chat.row, job.name)
            try:
                return self._known(job, await chat.client.run(_sent_once(create)))
            except WireError as error:
                if isinstance(error, RateLimitError) and await room():
                    continue
                attempt += 1
                is_refused = _is_refused(error)
                wait = chat.client._target.retry.wait(error, attempt, self._dice)
                if wait is None:
                    if is_refused:
                        self.journal.dropped(job)
                    raise
            await anyio.sleep(wait)
            if not is_refused and (batch := await self._search(job)) is not None:
                return self._known(job, batch)

    async def found(self, job: BatchJob) -> BatchJob | None:
        """Return an open job of the journal with its id; `None` if the vendor does not have it."""
        if job.batch:
            return job
        if (batch := await self._search(job)) is not None:
            return self._known(job, batch)
        self.journal.dropped(job)
        return None

    async def _search(self, job: BatchJob) -> Batch | None:
        flow = self._wire.find_batch(job.name, job.total, job.after, self._chat.row)
        return await self._chat.client.run(flow)

    def _known(self, job: BatchJob, batch: Batch) -> BatchJob:
        job = msgspec.structs.replace(job, batch=batch.id)
        self.journal.created(job)
        return job

    async def get(self, job: BatchJob) -> Batch:
        """Fetch the state of a job."""
        return await self._chat.client.run(self._wire.get_batch(job.batch, self._chat.row))

    async def results(self, job: BatchJob, batch: Batch) -> JobResults:
        """Fetch the results of a job that has ended. Raises the error of a job without results."""
        lines = await self._chat.client.run(self._wire.batch_results(batch, self._chat.row))
        return JobResults(job, batch, lines)


def _is_refused(error: WireError) -> bool:
    """Return whether the vendor has created no job for sure. After 408 and 409 it may have."""
    return error.status is not None and 400 <= error.status < 500 and error.status not in (408, 409)


def _sent_once(flow: Flow[Batch]) -> Flow[Batch]:
    """Run the flow without retries of its calls: a retry could create a job twice."""
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
