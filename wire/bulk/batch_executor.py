"""Asks the rows of a run in batches of the vendor, at a lower price.

Rows are collected until a job is full, then it is submitted, and the next one is filled while it
runs. The results of a job are read when it has ended, and each of its rows is recorded as if it had
been asked alone.

The journal has each job before it is sent, so that none is created twice: a run that is started
again waits for the jobs that exist, and submits the rows that are in none.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

import anyio
import msgspec
from anyio.abc import TaskGroup

from wire.bulk.batch_rows import LINE_BYTES, BatchRows, id_of
from wire.bulk.executors import Executor, NextRow, Record
from wire.bulk.journal import BatchJob, JobsByRow, Journal, ranges_of
from wire.bulk.output_files import Header
from wire.bulk.results import Outcome
from wire.bulk.rows import Row
from wire.bulk.vendor_jobs import Vendor
from wire.bulk.waiting import Waiting
from wire.chat.batches import get_flow
from wire.chat.chat import AsyncChat
from wire.core.call import Call
from wire.core.errors import BadRequestError, NotFoundError, WireError
from wire.neutral.batches import Batch
from wire.neutral.messages import Reply


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
            vendor = Vendor(self._chat, journal, self._jobs, self._every)
            async with anyio.create_task_group() as tasks:
                jobs = _Jobs(vendor, self._rows, waiting, record, tasks)
                found = [await vendor.found(job) for job in earlier]
                await jobs.ask_all(next_row, [job for job in found if job is not None])

    async def aclose(self) -> None:
        """Close the connections. Jobs of the vendor go on."""
        await self._chat.aclose()


class _Jobs:
    """The jobs of one run: filled, waited for and merged."""

    def __init__(
        self,
        vendor: Vendor,
        rows: BatchRows,
        waiting: Waiting,
        record: Record,
        tasks: TaskGroup,
    ) -> None:
        self._vendor, self._rows, self._waiting, self._record = vendor, rows, waiting, record
        self._tasks = tasks
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
        await self._vendor.room()
        rows = [row for row, _ in filling]
        job = await self._vendor.new_job(ranges_of(row.number for row in rows))
        calls = {id_of(job, row.number, row.digest): call for row, call in filling}
        try:
            job = await self._vendor.created(job, calls)
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
        await self._vendor.room()
        self._vendor.begins()
        self._tasks.start_soon(self._finish, job)

    async def _finish(self, job: BatchJob) -> None:
        """Wait for a job, and record its rows."""
        if self._waiting.has(job.key):  # else all of them were recorded before
            try:
                batch = await self._vendor.ended(job)
            except NotFoundError as error:
                await self._fail(job, error)
            else:
                async with self._merging:  # the results of one job at a time are in memory
                    await self._merge(job, batch)
        self._vendor.journal.merged(job)
        self._waiting.drop(job.key)
        self._vendor.ends()

    async def _merge(self, job: BatchJob, batch: Batch) -> None:
        results = await self._vendor.results(job, batch)
        if isinstance(results, WireError):
            await self._fail(job, results)
            return
        for row in self._waiting.rows(job.key):
            outcome = self._rows.outcome(row, batch, results.take(row))
            await self._record(msgspec.structs.replace(outcome, is_settled=True))

    async def _fail(self, job: BatchJob, error: WireError) -> None:
        for row in self._waiting.rows(job.key):
            await self._record(self._rows.failed_with_job(row, error))
