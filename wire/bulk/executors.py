"""Who asks the rows of a run: tasks of this process. Other executors have modules of their own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from wire.around.pace import Pace
from wire.bulk.results import Outcome
from wire.bulk.rows import Row

NextRow = Callable[[], Awaitable[Row | None]]
"""Returns the next row that is to be asked; `None` at the end."""
Record = Callable[[Outcome], Awaitable[None]]
"""Stores the outcomes of rows, in any order. It may wait until earlier ones have been read."""


class AnyAsker(Protocol):
    """Asks rows, some at a time: chats or agents."""

    steps: int
    """Replies that agents have got."""

    async def answer(self, row: Row) -> Outcome:
        """Ask one row. Raises an error that each row would get."""
        ...

    async def aclose(self) -> None:
        """Close what was opened."""
        ...


class Executor(Protocol):
    """Asks the rows of one run."""

    @property
    def waiting(self) -> int:
        """Rows that wait for a rate limit, as far as this process knows."""
        return 0

    @property
    def steps(self) -> int:
        """Replies that the agents of the rows have got."""
        return 0

    async def open(self) -> None:
        """Make ready, before a row is read. Raises `ConfigurationError` if that is not possible."""
        ...

    async def ask_all(self, next_row: NextRow, record: Record, *, replies: bool) -> None:
        """Ask all remaining rows.

        Each row is recorded once. Without `replies`, somebody needs the lines alone, and a reply
        that is elsewhere may stay there. Raises what each further row would get.
        """
        ...

    async def aclose(self) -> None:
        """Close what is open, also after an error."""
        ...


class LocalExecutor(Executor):
    """Asks so many rows at a time in this process."""

    def __init__(self, asker: AnyAsker, pace: Pace, concurrent: int) -> None:
        self._asker, self._pace, self._concurrent = asker, pace, concurrent

    @property
    def waiting(self) -> int:
        """Rows that wait for a rate limit."""
        return self._pace.waiting

    @property
    def steps(self) -> int:
        """Replies that the agents of the rows have got."""
        return self._asker.steps

    async def open(self) -> None:
        """Do nothing: local calls need no preparation."""

    async def ask_all(self, next_row: NextRow, record: Record, *, replies: bool) -> None:
        """Ask all remaining rows, as `Executor.ask_all`."""

        async def work() -> None:
            while (row := await next_row()) is not None:
                await record(await self._asker.answer(row))

        async with anyio.create_task_group() as tasks:
            for _ in range(self._concurrent):
                tasks.start_soon(work)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._asker.aclose()
