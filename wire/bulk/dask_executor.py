"""Asks the rows of a run on a cluster of Dask.

The driver sends a few rows at a time as a task, and more of them than may be asked at the same
time, so that no worker waits for rows. The scheduler leases the quota: `wire.bulk.dask_scheduler`.
What a worker or the scheduler had when it ended is sent again.
"""

from __future__ import annotations

import itertools
import re
import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import msgspec
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from distributed import (  # pyright: ignore[reportMissingImports]
    CancelledError,
    Client,
    KilledWorker,
)

from wire.bulk.build import build
from wire.bulk.dask_scheduler import NAME, SchedulerSide
from wire.bulk.dask_worker import Chunk, answer_rows, prepare
from wire.bulk.executors import Executor, NextRow, Record
from wire.bulk.job import Job
from wire.bulk.leases import Terms
from wire.bulk.results import Outcome, Result, outcome_of
from wire.bulk.rows import Row
from wire.bulk.sealed_job import sealed_job
from wire.core.errors import ConfigurationError, WireError
from wire.core.hosts import is_loopback
from wire.core.secret import quoted

CONNECT = 10.0
"""Seconds for the first connection to the scheduler."""
PATIENCE = 300.0
"""Seconds for which a run waits for a scheduler that is away, and for workers."""
CHUNK = 8
"""The most rows in a task. With one row a task, Dask takes four times the CPU a row; with 16 or 32
it takes hardly less than with eight, and more rows are asked again where a worker ends."""
CHUNK_BYTES = 1 << 20
"""A task has no further row after so many bytes."""
AHEAD = 2
"""Times as many rows are at the workers as may be asked at the same time."""
_CLOSING = 5.0
"""Seconds for saying goodbye to a scheduler."""
_PAUSE = 0.5
"""Seconds between two looks at the cluster, and between two attempts to connect."""

_ADDRESS = re.compile(
    r"((?P<scheme>tcp|tls|ws|wss|ucx)://)?(?P<host>[^\s/:@\[\]]+):\d{1,5}"
    r"|(?P<scheme6>tcp|tls)://\[(?P<host6>[0-9a-f:]+)\]:\d{1,5}"
)
_ENCRYPTED = frozenset({"tls", "wss"})


class DaskExecutor(Executor):
    """Asks rows on the workers of a cluster.

    Raises `ConfigurationError` for an invalid address, for a job that cannot be sent, and for one
    with a key that would go to another machine unencrypted, unless `plain_tcp` permits it.
    """

    def __init__(self, address: Any, job: Job, terms: Terms, *, plain_tcp: bool = False) -> None:
        found = _ADDRESS.fullmatch(address) if isinstance(address, str) else None
        if found is None:
            raise ConfigurationError(
                f"on: expected the address of a Dask scheduler such as tcp://scheduler:8786, not "
                f"{quoted(address)}"
            )
        sealed = sealed_job(job)
        if sealed.has_key and not plain_tcp and _is_readable(found):
            raise ConfigurationError(
                f"on: {address} would send the key to another machine unencrypted: use tls://, or "
                "let the workers take the key from their environment; plain_tcp=True permits it"
            )
        self._address = address
        self._job, self._terms = sealed.data, terms
        self._ahead = AHEAD * terms.concurrent
        self._chunk = max(1, min(CHUNK, terms.concurrent // 4))
        self._session: _Session | None = None
        self._opening = anyio.Lock()

    async def open(self) -> None:
        """Connect to the scheduler and make the workers ready.

        Raises `ConfigurationError` if nobody is there, or if a worker cannot ask the rows.
        """
        if not _is_asyncio():
            raise ConfigurationError("on: Dask needs asyncio; this run is on trio")
        try:
            self._session = await _Session.begin(self._address, self._job, self._terms)
        except OSError as cause:
            raise ConfigurationError(f"on: {self._address}: nobody answers: {cause}") from None

    async def ask_all(self, next_row: NextRow, record: Record, *, replies: bool) -> None:
        """Ask all remaining rows, as `Executor.ask_all`."""
        send, receive = anyio.create_memory_object_stream[Row](self._ahead)

        async def work() -> None:
            while rows := await _chunk(receive, self._chunk):
                async for outcome in self._outcomes(rows, replies):
                    await record(outcome)

        async with receive, anyio.create_task_group() as watching:
            watching.start_soon(self._watch)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_read, next_row, send)
                for _ in range(-(-self._ahead // self._chunk)):
                    tasks.start_soon(work)
            watching.cancel_scope.cancel()

    async def _outcomes(self, rows: list[Row], replies: bool) -> AsyncIterator[Outcome]:
        """Yield the outcomes of rows. Rows whose outcome is lost are sent again."""
        left = {row.number: row for row in rows}
        while left:
            session = await self._opened()
            try:
                chunk = await session.ask(list(left.values()), replies)
            except KilledWorker:
                alone = list(left.values())
                if len(alone) == 1:
                    yield _killed(alone[0])
                    return
                for row in alone:  # one of them may be what kills the workers
                    async for outcome in self._outcomes([row], replies):
                        yield outcome
                return
            if chunk is None:
                await self._lose(session)
                continue
            for number, each in chunk.answered.items():
                row = left.pop(number)
                yield Outcome(row=row, result=each.result, line=each.line, counts=each.counts)
            if chunk.error is not None:
                raise chunk.error

    async def _opened(self) -> _Session:
        """Return the session; open a new one if it was lost.

        Raises `WireError` if the scheduler is away for too long.
        """
        async with self._opening:
            deadline = time.monotonic() + PATIENCE
            terms = msgspec.structs.replace(self._terms, idle=0.0)  # workers have asked until now
            while self._session is None:
                try:
                    self._session = await _Session.begin(self._address, self._job, terms)
                except OSError:
                    if time.monotonic() > deadline:
                        raise WireError(
                            f"on: {self._address}: the scheduler was away for {PATIENCE:g} s"
                        ) from None
                    await anyio.sleep(_PAUSE)
            return self._session

    async def _lose(self, session: _Session) -> None:
        """Leave a session whose scheduler is gone, or does not know it any more."""
        async with self._opening:
            if self._session is session:
                self._session = None
                await session.aclose()

    async def _watch(self) -> None:
        """Look whether the scheduler is there, and has workers."""
        seen = time.monotonic()
        while True:
            await anyio.sleep(_PAUSE)
            session = self._session
            if session is None:
                seen = time.monotonic()
                continue
            workers = await session.workers()
            if workers is None:
                await self._lose(session)
            elif workers:
                seen = time.monotonic()
            elif time.monotonic() - seen > PATIENCE:
                raise WireError(f"on: {self._address}: there was no worker for {PATIENCE:g} s")

    async def aclose(self) -> None:
        """End the run on the cluster, and leave it."""
        session, self._session = self._session, None
        if session is not None:
            await session.aclose()


def _is_readable(address: re.Match[str]) -> bool:
    """Return whether others on the way to a scheduler can read what is sent to it."""
    scheme = address["scheme"] or address["scheme6"]
    return scheme not in _ENCRYPTED and not is_loopback(address["host"] or address["host6"])


class _Session:
    """A run on one scheduler, until one of them ends."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._run = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._scopes: set[anyio.CancelScope] = set()

    @classmethod
    async def begin(cls, address: str, job: bytes, terms: Terms) -> _Session:
        """Connect, and make the scheduler and its workers ready.

        Raises `OSError` if nobody is there, and `ConfigurationError` if one of them cannot ask.
        """
        made = Client(address, asynchronous=True, timeout=CONNECT, set_as_default=False, name=NAME)
        session = cls(await made)
        try:
            await session._begin(job, terms)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await session.aclose()
            raise
        return session

    async def _begin(self, job: bytes, terms: Terms) -> None:
        client = self._client
        try:
            await client.register_plugin(SchedulerSide())
        except ImportError as cause:
            raise ConfigurationError(f"on: the scheduler cannot import wire: {cause}") from None
        there = await client.scheduler.wire_bulk_begin(
            version=build(),
            run=self._run,
            client=client.id,
            job=job,
            terms=msgspec.json.encode(terms),
        )
        if there != build():
            raise ConfigurationError(f"on: the scheduler has wire {there}, and this is {build()}")
        found = await client.run(prepare, self._run, on_error="return")
        for worker, problem in found.items():
            if isinstance(problem, WireError):
                raise problem
            if isinstance(problem, Exception) and not isinstance(problem, OSError):
                raise _unable(f"the worker {worker}", problem)

    async def ask(self, rows: list[Row], replies: bool) -> Chunk | None:
        """Have a worker ask rows; `None` if the run is lost."""
        key = f"{NAME}-{self._run}-{next(self._numbers)}"
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            future = self._client.submit(
                answer_rows, self._run, msgspec.json.encode(rows), replies, key=key, pure=False
            )
            try:
                chunk = await future
            except KilledWorker:
                raise
            except (CancelledError, OSError):
                return None
            except Exception as cause:
                raise _unable("a worker", cause) from None
            finally:
                self._scopes.discard(scope)
                future.release()
            assert isinstance(chunk, Chunk)
            return None if chunk.is_unknown else chunk
        return None

    async def workers(self) -> int | None:
        """Return the number of workers; `None` if the scheduler does not answer."""
        try:
            with anyio.fail_after(CONNECT):
                return len(await self._client.scheduler.ncores(workers=None))
        except OSError:
            return None

    async def aclose(self) -> None:
        """End the run, and disconnect."""
        for scope in self._scopes:
            scope.cancel()
        with anyio.move_on_after(_CLOSING):
            try:
                await self._client.scheduler.wire_bulk_end(run=self._run)
            except Exception:  # the scheduler is gone, and the run with it
                pass
        await self._client.close(timeout=_CLOSING)


async def _read(next_row: NextRow, send: MemoryObjectSendStream[Row]) -> None:
    async with send:
        while (row := await next_row()) is not None:
            await send.send(row)


async def _chunk(receive: MemoryObjectReceiveStream[Row], most: int) -> list[Row]:
    """Receive a row, and those that were read meanwhile; return an empty list at the end."""
    rows: list[Row] = []
    try:
        rows.append(await receive.receive())
        size = len(rows[0].line)
        while len(rows) < most and size < CHUNK_BYTES:
            rows.append(receive.receive_nowait())
            size += len(rows[-1].line)
    except (anyio.EndOfStream, anyio.WouldBlock):
        pass
    return rows


def _killed(row: Row) -> Outcome:
    """Return the outcome of a row whose workers ended again and again."""
    error = WireError("the workers that asked it have ended", retryable=True)
    return outcome_of(row, Result(id=row.id, row=row.number, error=error))


def _unable(who: str, cause: Exception) -> ConfigurationError:
    return ConfigurationError(f"on: {who} cannot ask: {type(cause).__name__}: {cause}")


def _is_asyncio() -> bool:
    import asyncio

    return anyio.get_cancelled_exc_class() is asyncio.CancelledError
