"""The files of a bulk run: results and dead letters, one line of JSON each.

A row is done when its line is in one of the files. Lines are only appended, each with one write, so
a process that is killed leaves whole lines and at most one that is cut: the next run removes the
latter and asks its row again. The first line of the results names the run, and no other run appends
to the file.

    new row -> results         it was answered
    new row -> dead letters    it failed, or cannot be read
    dead letters -> new row    the next run asks again what failed for a while, such as at a 503
    damaged line -> new row    the next run asks again what no longer is a line, if it is told to
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Annotated, Any, NamedTuple

import msgspec

from wire.core.appended import MAX_LINE_BYTES, AppendedFile, Line
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, WireError
from wire.core.secret import quoted
from wire.core.secret_fields import masked_body

DAMAGED = ".damaged"
"""Follows the name of the results: the file of the lines that were set aside."""
DEAD = ".dead.jsonl"
"""Follows it, too: the file of the dead letters, unless they have a name of their own."""
FORMAT = "wire-bulk"
VERSION = 1
SAFE = "A new start asks each row that has no line in the file"


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of the results: models and settings of the run, without the rows."""

    format: str = FORMAT
    version: int = VERSION
    models: list[str]
    settings: dict[str, Any]
    """The settings of the run, as keys of a neutral row."""


class Done(NamedTuple):
    """A row that has its line in one of the files."""

    row: int
    id: str
    digest: str
    cost: Decimal | None = Decimal(0)
    """USD; `None` if that is not known."""
    may_pass: bool = False
    """Whether the row failed with an error that may pass."""
    failed: bool = False
    """Whether the row failed."""


class _Error(msgspec.Struct):
    retryable: bool = False


class _Line(msgspec.Struct):
    """The keys of a line that tell which row it is of."""

    id: str
    row: Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]
    digest: str
    error: _Error | None = None
    cost: Decimal | msgspec.UnsetType | None = msgspec.UNSET


def header_line(header: Header) -> bytes:
    """Return the first line of the results, with its line end.

    Credentials in the settings are masked.
    """
    return masked_body(msgspec.json.encode(header, order="deterministic")) + b"\n"


def refuse_other_run(name: str, found: bytes, header: Header) -> None:
    """Raise `ConfigurationError` if the first line of a file is not that of this run.

    The error names the first difference.
    """
    try:
        other = decoder(Header).decode(masked_body(found))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        other = None
    if other is None or other.format != FORMAT:
        raise ConfigurationError(f"to: {name}: exists, and was not written by a bulk run")
    if other.version != VERSION:
        raise ConfigurationError(f"to: {name}: has the version {other.version}, not {VERSION}")
    if other.models != header.models:
        theirs, ours = ", ".join(other.models), ", ".join(header.models)
        raise ConfigurationError(f"to: {name}: has the results of {theirs}, not of {ours}")
    settings = msgspec.json.decode(header_line(header))["settings"]
    for key in sorted(other.settings.keys() | settings.keys()):
        theirs, ours = other.settings.get(key), settings.get(key)
        if theirs != ours:
            raise ConfigurationError(
                f"to: {name}: has the results of another run: {key} was {quoted(theirs, 80)}, and "
                f"is {quoted(ours, 80)}"
            )


def read_done(line: Line) -> Done | str:
    r"""Read the row of a line that has an end, or say why it is damaged.

    >>> read_done(Line(2, 60, 9, b'{"id": "a\n', True))
    'it was cut'
    """
    try:
        read: _Line = decoder(_Line).decode(line.content)
        line.content.decode()  # the decoder does not look at the texts of keys that it leaves out
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        return _damage_of(line) or f"it is no row of a run: {cause}"
    cost = read.cost
    if cost is msgspec.UNSET:  # errors have one only if a reply was paid
        cost = None if read.error is None else Decimal(0)
    may_pass = read.error is not None and read.error.retryable
    return Done(read.row, read.id, read.digest, cost, may_pass, read.error is not None)


def _damage_of(line: Line) -> str:
    """Say why a line is not JSON; empty if it is."""
    if b"\0" in line.data:
        return "it has NUL bytes"
    if len(line.data) < line.size:
        return f"it has more than {MAX_LINE_BYTES:,} bytes"
    text = line.content.strip()
    if not text:
        return "it is blank"
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        return "it was cut" if "truncated" in str(cause) else f"it is not JSON: {cause}"
    return ""


def _asks_again(line: Line) -> bool:
    done = read_done(line)
    return isinstance(done, Done) and done.may_pass


def _header_problem(file: AppendedFile, line: Line, header: Header) -> str:
    """Say why the first line of the results is damaged; empty if it is the header of this run.

    Raises `ConfigurationError` for a file of something else, which has no row or begins with JSON.
    """
    try:
        refuse_other_run(file.path, line.content, header)
    except ConfigurationError:
        problem = _damage_of(line)
        if not problem or not any(isinstance(read_done(each), Done) for each in file.lines()):
            raise
        return f"{problem}, and would name the run; the others are taken for rows of this run"
    return ""


def _appended(path: str, prefix: str) -> AppendedFile:
    return AppendedFile(path, ConfigurationError, prefix=prefix, safe=SAFE)


class _Scan:
    """What is found in one of the files."""

    def __init__(self) -> None:
        self.end = 0  # of the last complete line
        self.damaged = array("q")  # the starts of these lines, at eight bytes each
        self.asks_again = False


class OutputFiles:
    """The results and the dead letters of a run."""

    def __init__(self, to: str, dead: str, *, set_aside: bool = False) -> None:
        self._dead_path, self._set_aside = dead, set_aside
        self._aside_path = f"{to}{DAMAGED}"
        self._results = _appended(to, "to: ")
        self._dead: AppendedFile | None = None

    def read(self, header: Header, add: Callable[[Done], bool], *, begin: bool = True) -> int:
        """Pass the rows that earlier runs have done to `add`, which returns whether each is new.

        Returns the number of damaged lines: those that are not of a row, and further lines of a
        row. They are an error if they are not to be set aside.

        With `begin`, the files are made ready: a last line that was cut is removed, damaged lines
        are set aside, rows that are asked again leave the dead letters, and new results get their
        header.

        Raises `ConfigurationError` for files of another run; the files are then unchanged.
        """
        first = header_line(header)
        found = [(self._results, self._scan(self._results, add, header), first)]
        if os.path.exists(self._dead_path):
            found.append((self._open_dead(), self._scan(self._open_dead(), add), b""))
        for file, scan, header_or_nothing in found if begin else ():
            if scan.damaged or scan.asks_again:
                file.rewrite(self._kept(file, scan, header_or_nothing))
            else:
                file.cut(scan.end)
        if begin and not self._results.size:
            self._results.append(first)
        return sum(len(scan.damaged) for _, scan, _ in found)

    def _scan(
        self, file: AppendedFile, add: Callable[[Done], bool], header: Header | None = None
    ) -> _Scan:
        scan = _Scan()
        for line in file.lines():
            expected = header if line.number == 1 else None
            if not line.ends:
                if expected is not None and not header_line(expected).startswith(line.data):
                    refuse_other_run(file.path, line.content, expected)
                continue
            scan.end += line.size
            if expected is not None:
                problem = _header_problem(file, line, expected)
            elif isinstance(done := read_done(line), str):
                problem = done
            elif done.may_pass:
                scan.asks_again = True
                continue
            else:
                problem = "" if add(done) else f"row {done.row} has a line before it"
            if problem:
                self._refuse_damaged(file, line, problem)
                scan.damaged.append(line.start)
        return scan

    def _refuse_damaged(self, file: AppendedFile, line: Line, problem: str) -> None:
        if not self._set_aside:
            raise ConfigurationError(
                f"set_aside: {file.path}: line {line.number}: {problem}: give set_aside=True to "
                f"move damaged lines to {self._aside_path}, and to ask rows without a line again"
            )

    def _kept(self, file: AppendedFile, scan: _Scan, header: bytes) -> Iterator[bytes]:
        """Yield the lines that stay in a file. The damaged ones are on the disk before the end."""
        aside = None
        damaged = iter(scan.damaged)
        start = next(damaged, None)
        try:
            for line in file.lines():
                if line.start == start:
                    start = next(damaged, None)
                    aside = aside or _appended(self._aside_path, "set_aside: ")
                    aside.copy(file.path, line)
                    if line.number == 1:
                        yield header
                elif line.ends and not _asks_again(line):
                    yield line.data
            if aside is not None:
                aside.sync()
        finally:
            if aside is not None:
                aside.close()

    def _open_dead(self) -> AppendedFile:
        if self._dead is None:
            self._dead = _appended(self._dead_path, "dead: ")
        return self._dead

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Replace the results by these lines, completely or not at all."""
        self._results.rewrite(lines)

    def append(self, line: bytes, *, failed: bool) -> None:
        """Write the line of a row, which has its end."""
        (self._open_dead() if failed else self._results).append(line)

    def check(self) -> None:
        """Raise `WireError` if a file was removed, replaced or cut while the run wrote to it."""
        for file in filter(None, (self._results, self._dead)):
            file.check()

    def sync(self) -> None:
        """Put all lines on the disk. Raises `WireError` if that fails."""
        for file in filter(None, (self._results, self._dead)):
            file.sync()

    def close(self) -> None:
        """Put all lines on the disk and close the files."""
        for file in filter(None, (self._results, self._dead)):
            with suppress(WireError):
                file.sync()
            file.close()
