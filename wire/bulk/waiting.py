"""Rows that are asked later: on disk, so that memory does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterator

from wire.bulk.index import private_database
from wire.bulk.rows import Row

_AT_ONCE = 100


class Waiting:
    """Rows by the job that they are in, or those that a plan has read.

    >>> waiting = Waiting()
    >>> waiting.add("job", [Row(2, "b", b"{}"), Row(1, "a", b"{}")])
    >>> [row.id for row in waiting.rows("job")]
    ['a', 'b']
    """

    def __init__(self) -> None:
        columns = "job TEXT, row INTEGER, id TEXT, line BLOB, problem TEXT"
        self._database = private_database(
            f"waiting ({columns}, PRIMARY KEY (job, row)) WITHOUT ROWID"
        )

    def add(self, job: str, rows: list[Row]) -> None:
        """Keep the rows of a job."""
        self._database.executemany(
            "INSERT INTO waiting VALUES (?, ?, ?, ?, ?)",
            [(job, row.number, row.id, row.line, row.problem) for row in rows],
        )

    def rows(self, job: str) -> Iterator[Row]:
        """Yield the rows of a job by their numbers."""
        columns = "row, id, line, problem"
        query = f"SELECT {columns} FROM waiting WHERE job = ? AND row > ? ORDER BY row LIMIT ?"
        last = 0
        while found := self._database.execute(query, (job, last, _AT_ONCE)).fetchall():
            for each in found:
                yield Row(*each)
            last = found[-1][0]

    def has(self, job: str) -> bool:
        """Return whether rows of the job are kept."""
        query = "SELECT 1 FROM waiting WHERE job = ? LIMIT 1"
        return self._database.execute(query, (job,)).fetchone() is not None

    def drop(self, job: str) -> None:
        """Forget the rows of a job."""
        self._database.execute("DELETE FROM waiting WHERE job = ?", (job,))

    def close(self) -> None:
        """Delete the database."""
        self._database.close()
