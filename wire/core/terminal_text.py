"""The public name of `wire.core.printable`, which errors use and which raises no errors."""

from __future__ import annotations

from wire.core.errors import ConfigurationError
from wire.core.printable import printable_lines


def printable(text: str) -> str:
    r"""Escape a text of several lines for a terminal: active and invisible characters are escaped.

    >>> printable("Done.\x1b]52;c;cm0gLXJm\x07\n\tNext: \u202etxt.exe")
    'Done.\\x1b]52;c;cm0gLXJm\\x07\n\tNext: \\u202etxt.exe'

    Line feeds and tabs stay, and CR LF becomes a line feed. So do all letters, accents and emoji,
    with the joiners (U+200C, U+200D) and selectors that some of them need. Pieces of a stream can
    be printed one by one. Raises `ConfigurationError` for a value that is not a text.
    """
    if not isinstance(text, str):
        raise ConfigurationError(f"text: expected a str, not {type(text).__name__}")
    return printable_lines(text)
