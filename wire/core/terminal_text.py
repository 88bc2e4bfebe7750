"""The public door to `wire.core.printable`, which errors use and which raises none."""

from __future__ import annotations

from wire.core.errors import ConfigurationError
from wire.core.printable import printable_lines


def printable(text: str) -> str:
    r"""A text of several lines for a terminal: what could act on it, or hide, is escaped.

    >>> printable("Done.\x1b]52;c;cm0gLXJm\x07\n\tNext: \u202etxt.exe")
    'Done.\\x1b]52;c;cm0gLXJm\\x07\n\tNext: \\u202etxt.exe'

    Line feeds and tabs stay, and CR LF becomes a line feed. So do all letters, accents and emoji,
    with the joiners (U+200C, U+200D) and selectors that some of them need. Pieces of a stream can
    be printed one by one. Raises `ConfigurationError` for a value that is no text.
    """
    if not isinstance(text, str):
        raise ConfigurationError(f"text: expected a str, not {type(text).__name__}")
    return printable_lines(text)
