"""Which rows are done, and which ids are taken: on disk, so that memory does not grow with rows.

A private database of SQLite, which no other process sees and which is gone with this one. It keeps
a few MiB in memory and the rest in a temporary file. The files of the run are the truth: the index
is built from them at each start.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterable
from decimal import Decimal

from wire.bulk.output_files import Done
from wire.bulk.rows import Row
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted

_CACHE_KIB = 4096


class _Private(sqlite3.Connection):
    """Is closed with its last reference: nobody else sees what is in it."""

    def __del__(self) -> None:
        self.close()


def private_database(*tables: str) -> sqlite3.Connection:
    """Open an SQLite database that no other process sees.

    A few MiB are in memory, the rest on disk.
    """
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False, factory=_Private)
    for statement in (
        f"PRAGMA cache_size=-{_CACHE_KIB}",
        "PRAGMA journal_mode=OFF",
        "PRAGMA synchronous=OFF",
        "PRAGMA temp_store=FILE",
        *(f"CREATE TABLE {table}" for table in tables),
        "BEGIN",
    ):
        database.execute(statement)
    return database


class Index:
    """The rows that are done, and the ids of the rows that were read.

    >>> index = Index([Done(1, "a", Row(1, "a", b"{}").digest)])
    >>> index.count, index.is_done(Row(1, "a", b"{}")), index.is_done(Row(2, "b", b"{}"))
    (1, True, False)
    """

    def __init__(self, done: Iterable[Done] = ()) -> None:
        self._database = private_database(
            "done (row INTEGER PRIMARY KEY, id TEXT, digest TEXT)",
            "ids (id BLOB PRIMARY KEY, row INTEGER) WITHOUT ROWID",
        )
        self.count = 0
        """The rows that are done."""
        self.answered = 0
        """Those that have a reply."""
        self.cost = Decimal(0)
        """USD of these rows, as far as it is known."""
        self.unpriced = 0
        """Those whose cost is not known."""
        for each in done:
            self.add(each)

    def add(self, done: Done) -> bool:
        """Return whether the row is new."""
        insert = "INSERT OR IGNORE INTO done VALUES (?, ?, ?)"
        if not self._database.execute(insert, done[:3]).rowcount:
            return False
        self.count += 1
        self.answered += not done.failed
        self.cost += done.cost or 0
        self.unpriced += done.cost is None
        return True

    def is_done(self, row: Row) -> bool:
        """Return whether an earlier run has done the row.

        Raises `ConfigurationError` if it did another row of that number.
        """
        if not self.count:
            return False
        query = "SELECT id, digest FROM done WHERE row = ?"
        found = self._database.execute(query, (row.number,)).fetchone()
        if found is None:
            return False
        if found[1] != row.digest:
            raise ConfigurationError(
                f"to: has the results of other rows: row {row.number} was another one, with the id "
                f"{quoted(found[0], 80)}"
            )
        return True

    def has(self, number: int) -> bool:
        """Return whether an earlier run has done the row of that number."""
        query = "SELECT 1 FROM done WHERE row = ?"
        return self._database.execute(query, (number,)).fetchone() is not None

    def beyond(self, last: int) -> int | None:
        """Return the number of a row that is done and comes after the last one."""
        query = "SELECT min(row) FROM done WHERE row > ?"
        number: int | None = self._database.execute(query, (last,)).fetchone()[0]
        return number

    def taken_by(self, row: Row) -> int | None:
        """Return the number of an earlier row with the same id; `None` takes it for this row."""
        key = hashlib.blake2b(row.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        insert = "INSERT OR IGNORE INTO ids VALUES (?, ?)"
        if self._database.execute(insert, (key, row.number)).rowcount:
            return None
        query = "SELECT row FROM ids WHERE id = ?"
        number: int = self._database.execute(query, (key,)).fetchone()[0]
        return number if number != row.number else None

    def close(self) -> None:
        """Delete the index."""
        self._database.close()
