"""The journal of a run with batches: which jobs the vendor has, one line of JSON for each event.

A job that was created costs money and must be found again by the next run, so each step is written
before the next one begins:

    submitting   before the job is sent: its rows, and how it can be found in the vendor's list
    created      it has the id `batch`
    merged       each of its rows has a line in the results or the dead letters
    dropped      it does not exist: the vendor refused it, or never received it

A job whose last line is `submitting` or `created` is open. The first line of the file names the
run, as that of the results does.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable
from typing import Literal

import msgspec

from wire.bulk.output_files import Header, header_line, refuse_other_run
from wire.core.appended import AppendedFile, lines_of
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError
from wire.core.files import open_regular

JOURNAL = ".jobs.jsonl"
"""Follows the name of the results."""
_SAFE = (
    "Jobs may be missing in it: look at the vendor's list of batches first, since a new start asks "
    "their rows again"
)


class BatchJob(msgspec.Struct, frozen=True, kw_only=True):
    """Rows that are one batch of the vendor."""

    key: str
    """16 hexadecimal digits, made at random."""
    rows: tuple[tuple[int, int], ...]
    """First and last number of rows in succession."""
    after: str = ""
    """The newest batch before this one, where batches have no names."""
    batch: str = ""
    """The vendor's id; empty as long as it is not known."""

    @property
    def name(self) -> str:
        """The name of the batch at a vendor whose batches have names."""
        return f"wire-bulk-{self.key}"

    @property
    def total(self) -> int:
        """The number of its rows."""
        return sum(last - first + 1 for first, last in self.rows)

    @property
    def last(self) -> int:
        """The number of its last row."""
        return self.rows[-1][1]


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    event: Literal["submitting", "created", "merged", "dropped"]
    job: str
    rows: tuple[tuple[int, int], ...] = ()
    after: str = ""
    batch: str = ""


def ranges_of(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Group ascending numbers into ranges.

    >>> ranges_of([1, 2, 3, 7, 9, 10])
    ((1, 3), (7, 7), (9, 10))
    """
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return tuple(ranges)


class JobsByRow:
    """Finds the job of a row.

    >>> job = BatchJob(key="a", rows=((3, 5),))
    >>> jobs = JobsByRow([job])
    >>> jobs.of(4) is job, jobs.of(6)
    (True, None)
    """

    def __init__(self, jobs: Iterable[BatchJob]) -> None:
        ranges = [(first, last, job) for job in jobs for first, last in job.rows]
        self._ranges = sorted(ranges, key=lambda each: each[0])
        self._firsts = [first for first, _, _ in self._ranges]

    def of(self, number: int) -> BatchJob | None:
        """Return the job with the row of that number."""
        position = bisect_right(self._firsts, number) - 1
        if position < 0:
            return None
        _, last, job = self._ranges[position]
        return job if number <= last else None


class Journal:
    """The journal of a run, which is appended to."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = AppendedFile(path, ConfigurationError, prefix="to: ", safe=_SAFE)

    def open_jobs(self, header: Header) -> list[BatchJob]:
        """Return the jobs that earlier runs have left; begin the file if it is new.

        Raises `ConfigurationError` for the journal of another run.
        """
        size, first = 0, header_line(header)
        jobs: dict[str, BatchJob] = {}
        for line in self._file.lines():
            if line.number == 1 and (line.ends or not first.startswith(line.data)):
                refuse_other_run(self._path, line.data, header)
            if not line.ends:
                break
            size += line.size
            if line.number > 1:
                _apply(jobs, _read(self._path, line.number, line.data))
        self._file.cut(size)
        if not size:
            self._file.append(first)
        return list(jobs.values())

    def submitting(self, job: BatchJob) -> None:
        """Write that the job will be sent."""
        self._write(_Line(event="submitting", job=job.key, rows=job.rows, after=job.after))

    def created(self, job: BatchJob) -> None:
        """Write the id of the job."""
        self._write(_Line(event="created", job=job.key, batch=job.batch))

    def merged(self, job: BatchJob) -> None:
        """Write that all rows of the job have a line."""
        self._write(_Line(event="merged", job=job.key))

    def dropped(self, job: BatchJob) -> None:
        """Write that the vendor does not have the job."""
        self._write(_Line(event="dropped", job=job.key))

    def _write(self, line: _Line) -> None:
        self._file.append(msgspec.json.encode(line) + b"\n")
        self._file.sync()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def refuse_open_jobs(path: str) -> None:
    """Raise `ConfigurationError` if the journal has open jobs: their rows would be asked twice."""
    if not os.path.exists(path):
        return
    jobs: dict[str, BatchJob] = {}
    with open_regular(path, ConfigurationError) as file:
        for line in lines_of(file):
            if line.number > 1 and line.ends:
                _apply(jobs, _read(path, line.number, line.data))
    if jobs:
        raise ConfigurationError(
            f"batch: {path}: has {len(jobs)} jobs whose results are not merged yet: give batch=True"
        )


def _read(path: str, number: int, line: bytes) -> _Line:
    try:
        read: _Line = decoder(_Line).decode(line)
        if read.event == "submitting" and not read.rows:
            raise msgspec.ValidationError("rows: expected at least one range")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise ConfigurationError(f"to: {path}: line {number}: {cause}") from None
    return read


def _apply(jobs: dict[str, BatchJob], line: _Line) -> None:
    """Change the open jobs by one line."""
    match line.event:
        case "submitting":
            jobs[line.job] = BatchJob(key=line.job, rows=line.rows, after=line.after)
        case "created" if line.job in jobs:
            jobs[line.job] = msgspec.structs.replace(jobs[line.job], batch=line.batch)
        case "merged" | "dropped":
            jobs.pop(line.job, None)
