"""Reads the lines of an output file in the order of their rows, with memory that does not grow."""

from __future__ import annotations

import codecs
import os
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec

from wire.bulk.index import private_database
from wire.bulk.output_files import DEAD, FORMAT, Header, read_done
from wire.core.appended import lines_of
from wire.core.arguments import checked_arguments
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError
from wire.core.files import open_regular
from wire.core.secret import quoted


@checked_arguments(ConfigurationError)
def read(path: str | os.PathLike[str]) -> Iterator[dict[str, Any]]:
    """Yield the lines of the results or of the dead letters as dicts, in the order of their rows.

    A line that was cut, as the last one of a run that was killed, is left out. Dead letters that do
    not exist, beside results that do, are none: no row has failed. Raises `ConfigurationError` for
    a file that no bulk run has written.
    """
    name = os.fsdecode(path)
    results = name.removesuffix(DEAD)
    if results != name and os.path.isfile(results) and not os.path.lexists(name):
        return iter(())
    values = (_value(line, name) for line in lines_in_order(name))
    return (value for value in values if "row" in value)


def _value(line: bytes, name: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise ConfigurationError(f"to: {name}: {cause}, in {quoted(line, 80)}") from None
    return value


def _is_header(line: bytes) -> bool:
    """Return whether a line is the first one of the results."""
    try:
        header: Header = decoder(Header).decode(line)
        return header.format == FORMAT
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def lines_in_order(name: str) -> Iterator[bytes]:
    """Yield the header if there is one, then all complete lines in the order of their rows."""
    table = "lines (row INTEGER PRIMARY KEY, start INTEGER, size INTEGER)"
    with (
        closing(private_database(table)) as database,
        open_regular(name, ConfigurationError) as file,
    ):
        for line in lines_of(file):
            if not line.ends:
                break
            if line.number == 1 and _is_header(line.content):
                row = 0
            elif isinstance(done := read_done(line), str):
                raise ConfigurationError(f"to: {name}: line {line.number}: {done}")
            else:
                row = done.row
            entry = (row, line.start, line.size)
            database.execute("INSERT OR IGNORE INTO lines VALUES (?, ?, ?)", entry)
        query = "SELECT start, size FROM lines ORDER BY row"
        for start, size in database.execute(query):
            file.seek(start)
            # Some editors put this mark before the first line.
            yield file.read(size).removeprefix(codecs.BOM_UTF8)
