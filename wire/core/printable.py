r"""Text of models, servers and files, made safe to print on a terminal and to write into a log.

A terminal obeys the characters that it gets: `\r` and ESC overwrite the text on the screen, set its
title or its clipboard; marks of the writing direction reorder a line; zero-width characters and
tags hide text. None of them reaches a terminal from this library. They are shown as escapes, so
that a person sees that they are there, which counts most in a question that the person approves
(R-34).
"""

from __future__ import annotations

import re

from wire.core.lazy import lazy_pattern

UNSAFE = (
    # Control characters, DEL and C1.
    "\x00-\x1f\x7f-\x9f"
    # Soft hyphen, grapheme joiner, marks of Arabic and Mongolian, invisible fillers.
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u3164\uffa0"
    # Zero width, joiners, writing direction, ends of lines and paragraphs, invisible operators.
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb\ufffe\uffff"
    # Surrogates, which no encoding has.
    "\ud800-\udfff"
    # Format characters of shorthand and music, and tags, which can hide any ASCII text.
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""The characters that act on a terminal or cannot be seen, as the inside of a class of `re`."""

_SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_FLAG = "\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f"  # flags of England, Scotland and Wales
_IN_TEXT = lazy_pattern(f"\r\n|{_FLAG}|[{UNSAFE}]")
_KEPT_IN_TEXT = ("\n", "\t", "\u200c", "\u200d")
_IN_LINE = lazy_pattern(f"[{UNSAFE}{_SELECTORS}]")
_SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
# JSON escapes C0 characters inside strings; outside of strings they are line ends.
_IN_JSON = lazy_pattern(f"(?![\x00-\x1f])[{UNSAFE}{_SELECTORS}]")


def printable_lines(text: str) -> str:
    """Escape a text of several lines for a terminal, as `wire.printable` does."""
    return _IN_TEXT().sub(_in_text, text)


def _in_text(match: re.Match[str]) -> str:
    found = match[0]
    if found == "\r\n":
        return "\n"
    return found if found in _KEPT_IN_TEXT or len(found) > 1 else _escaped(found)


def printable_line(text: str) -> str:
    r"""Escape a text as one line for a terminal: everything invisible is escaped.

    >>> printable_line("rm -rf build\r\x1b[2Kls\nyes\u200b")
    'rm -rf build\\r\\x1b[2Kls\\nyes\\u200b'

    Line ends, tabs, joiners and selectors are escaped too, so that two different texts do not look
    the same. Nothing is cut: a question would not show what is approved.
    """
    return _IN_LINE().sub(lambda match: _escaped(match[0]), text)


def _escaped(character: str) -> str:
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else (f"\\U{code:08x}")
    )


def printable_json(json: str) -> str:
    r"""Escape everything invisible in a JSON text; its value does not change.

    >>> printable_json('{"file": "\u202etxt.exe"}')
    '{"file": "\\u202etxt.exe"}'
    """
    return _IN_JSON().sub(json_escape, json)


def json_escape(match: re.Match[str]) -> str:
    r"""Write the characters of a match as `\u` escapes of JSON."""
    code = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{code[at : at + 2].hex()}" for at in range(0, len(code), 2))


_SHOWN_CHARACTERS = 80
"""Characters of a text that a `repr` shows."""


def short(text: str) -> str:
    r"""Return the `repr` of a text, cut after 80 characters.

    >>> short("Hello.\n"), short("a" * 1000)[-20:]
    ("'Hello.\\n'", "aaaaa'... 1,000 long")
    """
    if len(text) <= _SHOWN_CHARACTERS:
        return repr(text)
    return f"{text[:_SHOWN_CHARACTERS]!r}... {len(text):,} long"
