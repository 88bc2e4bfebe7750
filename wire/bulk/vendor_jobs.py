"""The jobs of a run at the vendor: each is created once, waited for and read.

A job is in the journal before it is sent. If it was sent and the response did not arrive, it is
searched for in the vendor's list before it is sent again.
"""

from __future__ import annotations

import os
import random
from collections.abc import Mapping

import anyio
import msgspec

from wire.bulk.batch_rows import LOST, JobResults
from wire.bulk.journal import BatchJob, Journal
from wire.chat.batches import batching_of
from wire.chat.chat import AsyncChat
from wire.core.call import Call
from wire.core.errors import NotFoundError, RateLimitError, WireError
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


class Vendor:
    """The vendor's side: creates jobs, each of them once, and reads them."""

    def __init__(self, chat: AsyncChat, journal: Journal, most: int, every: float) -> None:
        """`most` jobs run at the same time, and are polled `every` so many seconds."""
        self._chat, self._wire, self.journal = chat, batching_of(chat.row), journal
        self._dice = random.Random()
        self._most, self._every = most, every
        self._running = 0
        self._ended = anyio.Event()
        self.most_rows = min(MOST_ROWS, self._wire.MAX_REQUESTS)
        self.most_bytes = min(MOST_BYTES, self._wire.MAX_BYTES)

    async def new_job(self, rows: tuple[tuple[int, int], ...]) -> BatchJob:
        """Return a job that is not created yet."""
        after = await self._chat.client.run(self._wire.newest_batch(self._chat.row))
        return BatchJob(key=os.urandom(8).hex(), rows=rows, after=after)

    async def created(self, job: BatchJob, calls: Mapping[str, Call[Reply]]) -> BatchJob:
        """Create a job, and return it with its id.

        A retry creates it again only if the vendor does not have it. At a vendor that takes no
        further job now, waits until one has ended. Raises `BadRequestError` and other errors of the
        request that creates it.
        """
        self.journal.submitting(job)
        chat, attempt = self._chat, 0
        while True:
            create = self._wire.create_batch(calls, chat.model, chat.row, job.name)
            try:
                return self._known(job, await chat.client.run(_sent_once(create)))
            except WireError as error:
                if isinstance(error, RateLimitError) and await self._one_has_ended():
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

    # --- what runs

    async def room(self) -> None:
        """Wait until another job may run."""
        while self._running >= self._most:
            await self._ended.wait()

    async def _one_has_ended(self) -> bool:
        """Wait until one of the jobs has ended; false if none runs."""
        if not self._running:
            return False
        await self._ended.wait()
        return True

    def begins(self) -> None:
        """Note that a job runs, until `ends`."""
        self._running += 1

    def ends(self) -> None:
        """Note that a job has ended: another one may run."""
        self._running -= 1
        ended, self._ended = self._ended, anyio.Event()
        ended.set()

    async def ended(self, job: BatchJob) -> Batch:
        """Poll a job until it has ended.

        Raises `NotFoundError` if the vendor does not have it, and the error of too many polls that
        fail.
        """
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

    async def results(self, job: BatchJob, batch: Batch) -> JobResults | WireError:
        """Fetch the results of a job that has ended, or the error that each of its rows gets."""
        try:
            lines = await self._chat.client.run(self._wire.batch_results(batch, self._chat.row))
        except WireError as error:
            # An error without an attempt is that of the batch, which has no results.
            if error.attempts and not isinstance(error, NotFoundError):
                raise
            return error
        results = JobResults(job, batch, lines)
        if results.are_foreign:
            words = f"{batch.id} is not the batch that the row was sent in"
            return WireError(words, code=LOST)
        return results


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
