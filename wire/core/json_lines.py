"""Files of JSON lines, the format of batches and their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def join_lines(values: Iterable[bytes]) -> bytes:
    r"""Join JSON values to a file with one value a line.

    >>> join_lines([b'{"a":1}', b'{"b":\n2}'])
    b'{"a":1}\n{"b": 2}\n'

    Remembered bytes of received messages may contain line ends, which would split a value over
    several lines. Outside of strings a line end is white space in JSON, and inside a string it is
    always escaped, so that a space replaces it.
    """
    return b"".join(one_line_of(each) + b"\n" for each in values)


def one_line_of(value: bytes) -> bytes:
    r"""Return a JSON value on one line.

    >>> one_line_of(b'{\n"a": "b\\n"}')
    b'{ "a": "b\\n"}'
    """
    return value.replace(b"\r", b" ").replace(b"\n", b" ")


def numbered_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    r"""Yield the lines of a file that are not blank, with their numbers, counted from 1.

    >>> list(numbered_lines(b"{}\n\n[]\n"))
    [(1, b'{}'), (3, b'[]')]
    """
    return ((number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip())
