"""Code that runs on Dask's workers: tasks that ask the rows of a chunk.

A worker has one `Asker` for each run, whose calls wait until the scheduler lets them through.
"""

from __future__ import annotations

import asyncio
import itertools
import math
from collections import deque
from collections.abc import Generator, Mapping
from typing import Any

import msgspec
from distributed import WorkerPlugin, get_worker, secede  # pyright: ignore[reportMissingImports]

from wire.around.pace import Limited, Limiter
from wire.around.seam import Signal, Wait
from wire.bulk.build import build
from wire.bulk.dask_scheduler import END, GO, NAME, SAID, SLICE
from wire.bulk.job import Asker
from wire.bulk.leases import Asked, Ended, Heard, Said, encode
from wire.bulk.results import Outcome, Result
from wire.bulk.rows import Row
from wire.bulk.sealed_job import opened_job
from wire.core.account import Account
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, WireError
from wire.core.logs import log_failure, logger
from wire.core.pacing import BUSY

_LOG = logger(__name__)


class Answered(msgspec.Struct, frozen=True):
    """The outcome of a row, without the row, which the driver has."""

    result: Result
    line: bytes
    counts: Mapping[str, Any]


class Chunk(msgspec.Struct, frozen=True):
    """The result of a task. A task raises nothing: Dask would log the error, with the rows."""

    answered: dict[int, Answered] = {}
    """By the number of the row; rows without an entry were not asked to the end."""
    error: WireError | None = None
    """The error that ends the run."""
    is_unknown: bool = False
    """Whether the scheduler does not know the run."""


def answer_rows(run: str, rows: bytes, replies: bool) -> Chunk:
    """Ask the rows of a chunk as a task; without `replies`, only the lines are returned.

    It leaves the pool of the worker's threads, which are for tasks that compute.
    """
    worker: Any = get_worker()
    secede()
    answered = _answer(worker, run, decoder(list[Row]).decode(rows), replies)
    return asyncio.run_coroutine_threadsafe(answered, worker.loop.asyncio_loop).result()


async def _answer(worker: Any, run: str, rows: list[Row], replies: bool) -> Chunk:
    side = await worker_side(worker)
    try:
        share = await side.share(run)
    except WireError as error:
        return Chunk(error=error)
    return Chunk(is_unknown=True) if share is None else await share.answer(rows, replies)


async def prepare(run: str, dask_worker: Any) -> WireError | None:
    """Make ready for a run; the reason why the worker cannot ask its rows."""
    try:
        await (await worker_side(dask_worker)).share(run)
    except WireError as error:
        return error
    return None


async def worker_side(worker: Any) -> WorkerSide:
    """Return the plugin of a worker, which the first task installs."""
    side = worker.plugins.get(NAME)
    if side is None:
        await worker.plugin_add(plugin=WorkerSide(), name=NAME)  # set up before it waits
        side = worker.plugins[NAME]
    assert isinstance(side, WorkerSide)
    return side


class WorkerSide(WorkerPlugin):
    """The shares of a worker in the runs. They are closed with the worker."""

    name = NAME

    def setup(self, worker: Any) -> None:
        """Take what the scheduler says."""
        self._worker = worker
        build()  # of the files that were imported just now
        self._shares: dict[str, asyncio.Task[Share | None]] = {}
        worker.stream_handlers[GO] = self._go
        worker.stream_handlers[END] = self._end

    async def teardown(self, worker: Any) -> None:
        """End all runs."""
        for run in list(self._shares):
            await self._ended(run)

    async def share(self, run: str) -> Share | None:
        """Return the share in a run; `None` if the run has ended.

        Raises `ConfigurationError` if this worker cannot ask its rows.
        """
        task = self._shares.get(run)
        if task is None:
            task = self._shares[run] = asyncio.create_task(self._begun(run))
        try:
            share = await asyncio.shield(task)
        except Exception:  # the next chunk tries again
            self._shares.pop(run, None)
            raise
        if share is None:
            self._shares.pop(run, None)
        return share

    async def _begun(self, run: str) -> Share | None:
        where = f"on: the worker {self._worker.address}"
        found = await self._worker.scheduler.wire_bulk_job(run=run)
        if found is None:
            return None
        there, data = found
        if there != build():
            raise ConfigurationError(f"{where}: has wire {build()}, and the driver {there}")
        try:
            job = opened_job(data)
        except Exception as cause:  # of the imports of the user's modules
            problem = f"{type(cause).__name__}: {cause}"
            raise ConfigurationError(f"{where}: cannot read the job: {problem}") from None
        lease = _Lease(self._worker, run)
        try:
            return Share(job.asker(lease), lease)
        except ConfigurationError as error:
            raise ConfigurationError(f"{where}: {error.message}") from None

    def _go(self, run: str, numbers: list[int]) -> None:
        task = self._shares.get(run)
        share = task.result() if task is not None and task.done() else None
        if share is not None:
            share.lease.go(numbers)

    async def _end(self, run: str) -> None:
        await self._ended(run)

    async def _ended(self, run: str) -> None:
        task = self._shares.pop(run, None)
        if task is None:
            return
        try:
            share = await task
            if share is not None:
                await share.aclose()
        except Exception as error:  # an error would end the connection to the scheduler
            log_failure(_LOG, "the end of a run: %s", error=error)


class Share:
    """The rows and attempts of one run on a worker."""

    def __init__(self, asker: Asker, lease: _Lease) -> None:
        self._asker, self.lease = asker, lease
        self._tasks: set[asyncio.Task[Outcome]] = set()

    async def answer(self, rows: list[Row], replies: bool) -> Chunk:
        """Ask rows at the same time, as soon as their calls are let through."""
        tasks = {asyncio.create_task(self._asker.answer(row)): row for row in rows}
        self._tasks |= tasks.keys()
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        answered: dict[int, Answered] = {}
        error: BaseException | None = None
        for task, row in tasks.items():
            if not task.done():
                task.cancel()
            elif not task.cancelled() and (error := task.exception() or error) is None:
                answered[row.number] = _answered(task.result(), replies)
        self._tasks -= tasks.keys()
        if error is None or isinstance(error, WireError):
            return Chunk(answered, error)
        return Chunk(answered, WireError(f"{type(error).__name__}: {error}"))

    async def aclose(self) -> None:
        """Stop what runs, and close the connections."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self._asker.aclose()


def _answered(outcome: Outcome, replies: bool) -> Answered:
    result = outcome.result
    if not replies:
        result = msgspec.structs.replace(result, reply=None, metadata=None)
    return Answered(result, outcome.line, outcome.counts)


class _Turn:
    """An attempt that waits or runs."""

    __slots__ = ("is_answered", "number", "signal")

    def __init__(self, number: int) -> None:
        self.number, self.signal = number, Signal()
        self.is_answered = False


class _Lease(Limiter[_Turn]):
    """The limiter of a worker: the scheduler decides."""

    counts_queue = False

    def __init__(self, worker: Any, run: str) -> None:
        super().__init__()
        self._worker, self._run = worker, run
        self._loop = worker.loop.asyncio_loop
        self._numbers = itertools.count(1)
        self._turns: dict[int, _Turn] = {}
        self._said: deque[Said] = deque()
        self._is_told = True
        self._told_at = -math.inf

    def go(self, numbers: list[int]) -> None:
        """Let attempts through."""
        for number in numbers:
            turn = self._turns.get(number)
            if turn is not None:
                turn.signal.set()

    def _entered(self, call: Limited) -> _Turn:
        turn = _Turn(next(self._numbers))
        self._turns[turn.number] = turn
        self._say(Asked(turn.number, call.key, dict(call.amounts), call.before))
        return turn

    def _waited(self, turn: _Turn, *, is_timed: bool) -> Generator[Wait, None, None]:
        while not turn.signal.is_set:
            yield Wait(turn.signal, is_timed=is_timed)

    def _heard(self, turn: _Turn, account: Account, refusal: WireError | None = None) -> None:
        status, retry_after = None, None
        if refusal is not None:
            status, retry_after = refusal.status, refusal.retry_after
        elif account.status in BUSY:
            return  # its error follows
        received_at = account.received_at or 0.0
        self._say(Heard(turn.number, account.limits, received_at, status, retry_after))

    def _answered(self, turn: _Turn) -> None:
        turn.is_answered = True

    def _leave(self, turn: _Turn, used: Mapping[str, float]) -> None:
        self._turns.pop(turn.number, None)
        self._say(Ended(turn.number, dict(used), turn.is_answered))

    def _say(self, said: Said) -> None:
        """Send a message to the scheduler soon, together with those that follow until then."""
        self._said.append(said)
        if self._is_told:
            self._is_told = False
            # The garbage collector may end a call in another thread.
            self._loop.call_soon_threadsafe(self._tell_soon)

    def _tell_soon(self) -> None:
        self._loop.call_at(max(self._loop.time(), self._told_at + SLICE), self._tell)

    def _tell(self) -> None:
        self._is_told = True  # first: a message that is added from now on is sent later, if not now
        self._told_at = self._loop.time()
        said = [self._said.popleft() for _ in range(len(self._said))]
        self._worker.batched_send({"op": SAID, "run": self._run, "said": encode(said)})
