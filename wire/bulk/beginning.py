"""The first rows of a run: if they fail alike, so will the others, and the run ends. No I/O.

The lines of these rows are kept until that is known. A run that ends writes none of them, so the
next start asks them again.
"""

from __future__ import annotations

from collections.abc import Sequence

from wire.bulk.results import Outcome
from wire.bulk.rows import Row
from wire.core.errors import WireError

FAILED_ALIKE = "first_rows_failed"
"""The `code` of the error of a run whose first rows failed alike."""
FIRST = 10
"""The rows that are looked at."""
_MOST_KEPT = 100
"""Rows that fail at once, while one of the first is on its way, are kept up to this number."""


class Beginning:
    """Decides by the first rows of a run whether the others are asked.

    It is over, and rows are written as they end, once a row has a reply, fails with an error that
    may pass, or fails with another error than the others.
    """

    def __init__(self, *, is_over: bool = False) -> None:
        self._is_over = is_over
        self._taken = 0
        self._open: set[int] = set()  # those of the first rows that are on their way
        self._kept: list[Outcome] = []
        self._error: WireError | None = None

    def take(self, row: Row) -> None:
        """Add a row that is asked."""
        if self._taken < FIRST:
            self._taken += 1
            self._open.add(row.number)

    def add(self, outcome: Outcome) -> Sequence[Outcome]:
        """Return the outcomes that are to be written, now that another row has ended.

        Raises `WireError` if the first rows failed alike.
        """
        if self._is_over:
            return (outcome,)
        if self._error is not None:  # of a row that ended before its task was cancelled
            raise self._error
        self._open.discard(outcome.row.number)
        self._kept.append(outcome)
        error = outcome.result.error
        if error is None or error.retryable or outcome.is_settled or self._differs(error):
            self._is_over = True
            return self.rest()
        count = len(self._kept)
        if count < FIRST or (self._open and count < _MOST_KEPT):
            return ()
        self._error = WireError(
            f"stopped, because the first {count} rows failed alike, row {outcome.row.number} with: "
            f"{error}. A new start asks them again",
            code=FAILED_ALIKE,
        )
        self._error.__cause__ = error
        self._kept.clear()
        raise self._error

    def _differs(self, error: WireError) -> bool:
        first = self._kept[0].result.error
        return first is None or (type(first), first.code) != (type(error), error.code)

    def rest(self) -> Sequence[Outcome]:
        """Return the outcomes that are kept, at the end of the run."""
        kept, self._kept = self._kept, []
        return kept
