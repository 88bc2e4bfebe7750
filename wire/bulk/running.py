"""A bulk run: asks many rows, some at a time, and writes each result to a file."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Generic, Self

import anyio
import msgspec

from wire.bulk.background import Background
from wire.bulk.beginning import Beginning
from wire.bulk.budget import has_room, spent
from wire.bulk.executors import Executor, Record
from wire.bulk.index import Index
from wire.bulk.job import is_of_all_rows
from wire.bulk.ordering import lines_in_order
from wire.bulk.output_files import Header, OutputFiles
from wire.bulk.plan import Plan
from wire.bulk.progress import Counter, Progress
from wire.bulk.results import Outcome, Result
from wire.bulk.rows import Row
from wire.bulk.run_folder import RunFolder
from wire.bulk.source import Source
from wire.bulk.waiting import Waiting
from wire.core.errors import ConfigurationError, WireError, add_to_message, ungrouped
from wire.neutral.messages import Value_co

_MOST_RESULTS = 256
"""Results that wait for the caller. The rows behind them wait too, so that a slow caller does not
fill the memory."""

_PLAN = "plan"
_OF_LINES = ("answered", "failed")
"""What counts when a row has its line. Tokens and money count when they are spent."""
_RUNS_AT_ONCE = 100
"""Saved runs of agents that are removed together, after their lines were put on the disk."""
_LOOK_EVERY = 5.0
"""Seconds between two looks at the files: the next line may be hours away."""


class Run(Generic[Value_co]):
    """Many rows that are asked; `wire.bulk.run` makes one.

    Iterate over it for the results, in the order in which they arrive; or `await run.finish()` if
    the file is enough. Who leaves the loop early does it in a block `async with run:`, whose end
    cancels what is in flight; without the block, that waits for the garbage collector. A run can be
    used once.
    """

    def __init__(
        self,
        source: Source,
        executor: Executor,
        header: Header,
        *,
        to: str | None,
        dead: str | None,
        stop_after: int,
        max_cost: Decimal | None = None,
        in_order: bool = False,
        set_aside: bool = False,
        runs: RunFolder | None = None,
        plan: Callable[[Iterable[Row], int], Plan],
    ) -> None:
        self._in_order, self._plan, self._set_aside = in_order, plan, set_aside
        self._source, self._executor, self._header = source, executor, header
        self._to, self._dead, self._stop_after = to, dead, stop_after
        self._runs = runs
        self._max_cost = max_cost
        self._highest = Decimal(0)
        """The cost of the most expensive row."""
        self._paying = anyio.Lock()
        self._is_spent = False
        """Whether rows are left that are not asked."""
        self._files: OutputFiles | None = None
        self._index = Index()
        self._kept: Waiting | None = None
        """The rows that a plan has read, if they cannot be read again."""
        self._rows: Iterator[Row] = iter(())
        self._async_rows: AsyncIterator[Row] | None = None
        self._reading = anyio.Lock()
        self._counter = Counter(None, 0, time.monotonic())
        self._beginning = Beginning()
        self._failures = 0
        self._results: deque[Result[Value_co]] = deque()
        self._changed = anyio.Event()
        self._is_used = self._is_closed = False
        self._stream: AsyncGenerator[Result[Value_co], None] | None = None

    def __repr__(self) -> str:
        return f"Run({', '.join(self._header.models)})"

    @property
    def progress(self) -> Progress:
        """How far the run is."""
        executor = self._executor
        return self._counter.progress(time.monotonic(), executor.waiting, executor.steps)

    @property
    def dead(self) -> str | None:
        """The path of the dead letters; `None` without a file of results."""
        return self._dead if self._to is not None else None

    def plan(self) -> Plan:
        """Estimate what the run would send. Nothing is sent or written, and the rows are read.

        The run can be used afterwards: rows that can be iterated over only once are kept on disk.
        """
        self._refuse_second_use()
        if self._source.is_async:
            raise ConfigurationError("rows: a plan needs a file, or rows that are not async")
        damaged = 0
        is_whole = False
        try:
            if self._to is not None and os.path.exists(self._to):
                damaged = self._read_files(self._to, begin=False)
            plan = self._plan(self._rows_of_plan(), self._index.count)
            is_whole = True
            return msgspec.structs.replace(plan, set_aside=damaged)
        finally:
            self._index.close()
            self._index = Index()
            if self._files is not None:
                self._files.close()
                self._files = None
            self._is_used = not is_whole  # some of the rows may be lost

    def _rows_of_plan(self) -> Iterator[Row]:
        last = 0
        for row in map(self._checked_id, self._read_to_keep()):
            last = row.number
            if not self._index.is_done(row):
                yield row
        self._refuse_beyond(last)

    def _read_to_keep(self) -> Iterator[Row]:
        """Yield the rows, and keep them if they can be read only once."""
        if self._kept is not None or self._source.can_be_read_again:
            yield from self._read()
            return
        self._kept = Waiting()
        for row in self._source.read():
            self._kept.add(_PLAN, [row])
            yield row

    def _read(self) -> Iterator[Row]:
        return self._source.read() if self._kept is None else self._kept.rows(_PLAN)

    # --- results ----------------------------------------------------------------------------------

    async def finish(self) -> Progress:
        """Ask all rows and return the figures at the end.

        Raises the error that ended the run, as the iteration does.
        """
        self._begin_use()
        try:
            await self._executor.open()
            await anyio.to_thread.run_sync(self._open)
            await self._ask_all(self._record, replies=False)
        except BaseExceptionGroup as group:
            error = ungrouped(group)
            raise error from error.__cause__
        finally:
            await self.aclose()
        return self.progress

    def __aiter__(self) -> AsyncIterator[Result[Value_co]]:
        self._begin_use()
        self._stream = self._iterate()
        return self._stream

    async def _iterate(self) -> AsyncGenerator[Result[Value_co], None]:
        background = Background(self._ask_in_background)
        try:
            await self._executor.open()
            await anyio.to_thread.run_sync(self._open)
            background.start()
            while True:
                while self._results:
                    yield self._results.popleft()
                    self._notify()
                if background.has_ended:
                    break
                await self._changed.wait()
            if background.error is not None:
                raise background.error
        finally:
            with anyio.CancelScope(shield=True):
                await background.stop()
                await self._close()

    async def aclose(self) -> None:
        """Cancel what is in flight and close the files. Closing twice has no effect."""
        self._is_used = True
        with anyio.CancelScope(shield=True):
            if self._stream is not None:
                await self._stream.aclose()
            await self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def _begin_use(self) -> None:
        self._refuse_second_use()
        self._is_used = True

    def _refuse_second_use(self) -> None:
        if self._is_used:
            raise ConfigurationError("run: it was used already; make a new one")

    async def _ask_in_background(self) -> None:
        try:
            await self._ask_all(self._record_and_keep, replies=True)
        finally:
            self._notify()

    async def _ask_all(self, record: Record, *, replies: bool) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                if self._files is not None:
                    tasks.start_soon(_watch, self._files)
                await self._executor.ask_all(self._next_row, record, replies=replies)
                tasks.cancel_scope.cancel()
        except BaseExceptionGroup as group:
            cause = ungrouped(group)
            if isinstance(cause, WireError) and is_of_all_rows(cause):
                more = "" if self._to is None else ", and a new start goes on where it ended"
                add_to_message(cause, f" (the run ended because of it{more})")
            raise
        self._write(self._beginning.rest())
        if self._files is not None:
            await anyio.to_thread.run_sync(self._end, self._files)
        if self._is_spent and (error := self._spent()) is not None:
            raise error

    def _end(self, files: OutputFiles) -> None:
        """Look at the files a last time, and put them on the disk."""
        files.check()
        self._sync(files)
        if self._in_order:
            assert self._to is not None
            files.rewrite(lines_in_order(self._to))

    def _sync(self, files: OutputFiles) -> None:
        """Put the lines on the disk, and remove the runs of agents that have theirs."""
        files.sync()
        if self._runs is not None:
            self._runs.remove_written()

    async def _record_and_keep(self, outcome: Outcome) -> None:
        await self._record(outcome)
        self._results.append(outcome.result)
        self._notify()
        while len(self._results) >= _MOST_RESULTS:
            await self._changed.wait()

    def _notify(self) -> None:
        """Wake who waits for results, for room for them, or for a row that has its cost."""
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    # --- rows and files ---------------------------------------------------------------------------

    def _open(self) -> None:
        """Read which rows are done, before anything is sent."""
        damaged = 0 if self._to is None else self._read_files(self._to)
        if self._runs is not None:
            self._runs.begin(self._index.has)
        total = self._source.count()
        if self._index.count and self._source.path is not None:
            self._check_done()
        elif total is not None:
            self._refuse_beyond(total)
        self._counter = Counter(
            total, self._index.count, time.monotonic(), self._index.cost, self._index.unpriced
        )
        self._counter.set_aside = damaged
        self._beginning = Beginning(is_over=self._index.answered > 0)
        if self._source.is_async:
            self._async_rows = self._source.read_async()
        else:
            self._rows = self._read()

    def _read_files(self, to: str, *, begin: bool = True) -> int:
        """Read which rows are done, and return the number of damaged lines."""
        assert self._dead is not None
        self._files = OutputFiles(to, self._dead, set_aside=self._set_aside)
        return self._files.read(self._header, self._index.add, begin=begin)

    def _check_done(self) -> None:
        """Raise `ConfigurationError` if a row that is done is not in the file, or is another."""
        last = 0
        for row in self._source.read():
            self._index.is_done(row)
            last = row.number
        self._refuse_beyond(last)

    def _refuse_beyond(self, last: int) -> None:
        """Raise `ConfigurationError` if a row is done that comes after the last one."""
        beyond = self._index.beyond(last)
        if beyond is not None:
            raise ConfigurationError(
                f"to: {self._to}: has the results of other rows: row {beyond}, and the input ends "
                f"with row {last}"
            )

    async def _next_row(self) -> Row | None:
        """Return the next row that is not done; `None` at the end, and if `max_cost` is spent.

        With `max_cost`, waits until the rows in flight leave room for it.
        """
        if self._max_cost is None:
            return await self._taken()
        async with self._paying:
            counter = self._counter
            while not has_room(self._max_cost, counter.cost, self._highest, counter.running):
                await self._changed.wait()
            return await self._taken()

    async def _taken(self) -> Row | None:
        row = None if self._is_spent else await self._next_new()
        if row is None:
            return None
        self._is_spent = self._spent() is not None
        if not self._is_spent:
            self._beginning.take(row)
            return row
        self._counter.running -= 1
        return None

    def _spent(self) -> WireError | None:
        return spent(self._max_cost, self._counter.cost, self._counter.unpriced)

    async def _next_new(self) -> Row | None:
        """Return the next row that is not done."""
        if self._async_rows is None:
            for row in self._rows:
                if (new := self._if_new(row)) is not None:
                    return new
            return None
        async with self._reading:
            async for row in self._async_rows:
                if (new := self._if_new(row)) is not None:
                    return new
            return None

    def _if_new(self, row: Row) -> Row | None:
        """Return the row, with its problem; `None` if it is done."""
        row = self._checked_id(row)
        if self._index.is_done(row):
            return None
        self._counter.running += 1
        if self._counter.total is not None and self._source.path is None:
            # A list may grow while it is read.
            self._counter.total = max(self._counter.total, row.number)
        return row

    def _checked_id(self, row: Row) -> Row:
        """Return the row; its problem may be that an earlier one has its id."""
        taken_by = self._index.taken_by(row)
        if taken_by is None or row.problem:
            return row
        return msgspec.structs.replace(row, problem=f"id: row {taken_by} has the same: {row.id}")

    async def _record(self, outcome: Outcome) -> None:
        """Write the line of a row, and count it.

        Raises `WireError` if the first rows failed alike, or too many one after the other.
        """
        counts = {name: each for name, each in outcome.counts.items() if name not in _OF_LINES}
        self._counter.add(running=-1, **counts)
        if self._max_cost is not None:
            self._highest = max(self._highest, counts.get("cost", self._highest))
            self._notify()
        self._write(self._beginning.add(outcome))
        error = outcome.result.error
        if error is None:
            self._failures = 0
        elif error.attempts:  # else nothing was sent
            self._failures += 1
            if self._failures >= self._stop_after:
                raise WireError(
                    f"stopped, because {self._failures:,} rows in a row have failed; the last: "
                    f"{error}"
                ) from error

    def _write(self, outcomes: Iterable[Outcome]) -> None:
        for each in outcomes:
            if self._files is not None:
                self._files.append(each.line, failed=each.failed)
                self._drop_run(each, self._files)
            self._counter.add(**{name: each.counts.get(name, 0) for name in _OF_LINES})

    def _drop_run(self, outcome: Outcome, files: OutputFiles) -> None:
        """Remove the saved run of a row that is not asked again, sooner or later."""
        error = outcome.result.error
        if self._runs is None or (error is not None and error.retryable):
            return
        self._runs.has_line(outcome.row.number)
        if self._runs.written >= _RUNS_AT_ONCE:
            self._sync(files)

    async def _close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        with suppress(WireError):
            self._write(self._beginning.rest())
        await self._executor.aclose()
        if self._async_rows is not None:
            await self._async_rows.aclose()  # type: ignore[attr-defined]
        elif isinstance(self._rows, Generator):
            self._rows.close()
        if self._files is not None:
            await anyio.to_thread.run_sync(self._files.close)
        self._index.close()
        if self._kept is not None:
            self._kept.close()


async def _watch(files: OutputFiles) -> None:
    """Raise `WireError` if a file was removed, replaced or cut while no line is written."""
    while True:
        await anyio.sleep(_LOOK_EVERY)
        files.check()
