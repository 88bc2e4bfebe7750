"""Input and output of the command: text for a person, JSON for a program, files and stdin."""

from __future__ import annotations

import os
import sys
from typing import Any, TextIO

from wire.core.printable import printable_json, printable_line, printable_lines


def report(line: str) -> None:
    """Write a line to stderr. A path or a request in it may hold control characters."""
    print(printable_line(line), file=sys.stderr, flush=True)


def write(text: str, end: str = "\n", *, dim: bool = False) -> None:
    """Write text of a model or of a server. A terminal obeys control characters, a pipe does not.

    A program at the other end of a pipe gets the text as it was received. `dim` writes it in a pale
    colour, on a terminal that has colours (https://no-color.org).
    """
    shown = printable_lines(text) if is_terminal() else text
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not is_terminal()
    print(f"\x1b[2m{shown}\x1b[22m" if dim and not plain else shown, end=end, flush=True)


def write_json(value: Any) -> None:
    """Write a JSON document, one line on a pipe; `value` may be JSON in bytes."""
    import msgspec

    from wire.core.memory import encode

    data = value if isinstance(value, bytes) else encode(value)
    indent = 2 if is_terminal() else -1
    print(printable_json(msgspec.json.format(data, indent=indent).decode()), flush=True)


def write_table(rows: list[tuple[str, ...]]) -> None:
    """Write rows in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        write("  ".join(cells).rstrip())


def is_terminal(stream: TextIO | None = None) -> bool:
    """Return whether a stream, stdout by default, is a terminal."""
    stream = sys.stdout if stream is None else stream
    return stream is not None and not stream.closed and stream.isatty()


def piped_text() -> str:
    """Return the text that is piped to the command; empty without a pipe.

    A terminal would wait for a person who does not know that something is expected.
    """
    return "" if sys.stdin is None or is_terminal(sys.stdin) else stdin_text().strip()


def stdin_text() -> str:
    """Read all text of stdin. Raises `ConfigurationError` if it is not UTF-8."""
    from wire.core.errors import ConfigurationError

    data = sys.stdin.buffer.read()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        raise ConfigurationError(f"stdin: byte {cause.start} is not UTF-8") from None


def read_json(path: str) -> tuple[bytes, Any]:
    """Read a JSON file; return its bytes and their value. `-` is stdin.

    Raises `ConfigurationError` that names the file and the place in it.
    """
    from wire.core.errors import ConfigurationError
    from wire.core.files import read_whole
    from wire.core.json_values import json_of_file

    data = sys.stdin.buffer.read() if path == "-" else read_whole(path, ConfigurationError)
    return data, json_of_file(data, "stdin" if path == "-" else path, ConfigurationError)


def read_object(path: str) -> tuple[bytes, dict[str, Any]]:
    """Read a file that holds a JSON object, as `read_json`."""
    from wire.core.errors import ConfigurationError

    data, value = read_json(path)
    if not isinstance(value, dict):
        name = "stdin" if path == "-" else path
        raise ConfigurationError(f"{name}: expected a JSON object, not {type(value).__name__}")
    return data, value
