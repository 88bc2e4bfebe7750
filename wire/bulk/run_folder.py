"""The runs of rows that are agents, saved in a folder beside the results until they have a line.

Each row has a file of `wire.agent.save_run`, with the journal of its calls, from its first reply
on. It is removed when the line of the row is on the disk: until then a new start reads the run in
place of asking again, so that no tool runs twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any

import msgspec

from wire.agent.run_state import RunState
from wire.bulk.rows import Row
from wire.core.decoders import convert
from wire.core.errors import ConfigurationError
from wire.sessions import read_session

RUNS = ".runs"
"""Follows the name of the results."""
_KEY = "bulk"
_SUFFIX = ".json"


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the run of a row besides its state."""

    digest: str
    """That of the row."""
    known: Decimal = Decimal(0)
    """USD of the replies so far, as far as their cost is known."""
    unpriced: Annotated[int, msgspec.Meta(ge=0)] = 0
    """The number of replies whose cost is not known."""
    job: str = ""
    """The key of the job whose reply was the last; empty without batches."""


class RunFolder:
    """The folder of a bulk run, which needs not exist."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._written: list[int] = []

    def path(self, number: int) -> str:
        """Return the path of the run of a row."""
        return os.path.join(self._path, f"{number}{_SUFFIX}")

    def begin(self, is_done: Callable[[int], bool]) -> None:
        """Remove the runs of rows that are done, which a kill has left."""
        names: list[str] = []
        with suppress(FileNotFoundError, NotADirectoryError):
            names = os.listdir(self._path)
        for name in names:
            number = name.partition(".")[0]
            if number.isascii() and number.isdigit() and is_done(int(number)):
                self._written.append(int(number))
        self.remove_written()

    def read(self, row: Row) -> tuple[RunState, Kept] | None:
        """Return the run of a row; `None` if it has not begun.

        Raises `ConfigurationError` for a damaged file, and for the run of another row.
        """
        path = self.path(row.number)
        if not os.path.lexists(path):
            return None
        from wire.agent import read_run  # most runs of rows have no agent

        state, metadata = read_run(path), read_session(path).metadata
        try:
            kept: Kept = convert(metadata.get(_KEY), Kept)
        except msgspec.ValidationError as cause:
            raise ConfigurationError(f"to: {path}: metadata.{_KEY}: {cause}") from None
        if kept.digest != row.digest:
            raise ConfigurationError(
                f"rows: row {row.number} was another one when its run began, which is in {path}"
            )
        return state, kept

    def save(self, number: int, state: RunState, kept: Kept) -> None:
        """Save the run of a row."""
        from wire.agent import save_run  # as above

        fields: Any = msgspec.to_builtins(kept)
        save_run(self.path(number), state, {_KEY: fields})

    @property
    def written(self) -> int:
        """The number of runs that may be removed once the results are on the disk."""
        return len(self._written)

    def has_line(self, number: int) -> None:
        """Note that a row has its line, and is not asked again."""
        self._written.append(number)

    def remove_written(self) -> None:
        """Remove the runs of rows whose lines are on the disk, and the folder if it is empty."""
        from wire.agent.run_journal import JOURNAL  # as above

        for number in self._written:
            for path in (self.path(number), self.path(number) + JOURNAL):
                with suppress(OSError):
                    os.unlink(path)
        self._written.clear()
        with suppress(OSError):
            os.rmdir(self._path)
