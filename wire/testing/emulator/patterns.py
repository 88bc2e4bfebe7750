"""A text for a regular expression of a request, without ever running the expression.

Python's regular expressions backtrack, and hold the interpreter's lock meanwhile: `(a?){40}a{40}`
would stop all threads for years. So the text is spelled along the parsed expression, and fits by
construction: what cannot be spelled so, such as a look-around, gives no text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from re import _constants as regex  # type: ignore[attr-defined]
from re import _parser as regex_parser  # type: ignore[attr-defined]
from typing import Any

_MAX_PATTERN = 2_000
"""Characters of a pattern; the parser is written in Python."""
_MAX_TEXT = 10_000
"""Characters of a text."""
_MAX_STEPS = 100_000
"""Parts of a pattern, counted once for each repetition."""
# Python warns of these in a set: they may mean set operations one day.
_WARNED = re.compile(r"\[\[|--|&&|~~|\|\|")
_CANDIDATES = "a0-_ A.,bcdefghij\n\u00e9\u4e00"
"""Characters that are tried where a set excludes some."""


class _Unspelled(Exception):
    """The pattern has something that no text is spelled for, or the text would be too long."""


@dataclass(slots=True)
class _Spelled:
    """The text so far, and what the pattern says about positions in it."""

    pieces: list[str] = field(default_factory=list)
    length: int = 0
    steps: int = 0
    positions: list[tuple[Any, int]] = field(default_factory=list)

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)
        if self.length > _MAX_TEXT:
            raise _Unspelled


def matching(pattern: Any) -> str:
    r"""The shortest text that matches; empty if none is found.

    >>> matching(r"^[A-Z]{2}-\d+$"), matching("(a?){40}a{3}"), matching("(?=a)b")
    ('AA-0', 'aaa', '')
    """
    if not isinstance(pattern, str) or len(pattern) > _MAX_PATTERN or _WARNED.search(pattern):
        return ""
    spelled = _Spelled()
    try:
        tree = regex_parser.parse(pattern)
        if tree.state.flags & (re.MULTILINE | re.ASCII | re.LOCALE | re.VERBOSE):
            return ""
        _spell(tree, spelled)
        text = "".join(spelled.pieces)
        fits = all(_holds(kind, at, text) for kind, at in spelled.positions)
    except (re.error, _Unspelled, KeyError, RecursionError, OverflowError, ValueError):
        return ""
    return text if fits else ""


def _spell(tree: Any, spelled: _Spelled) -> None:
    for kind, value in tree:
        spelled.steps += 1
        if spelled.steps > _MAX_STEPS:
            raise _Unspelled
        if kind is regex.LITERAL:
            spelled.add(chr(value))
        elif kind is regex.NOT_LITERAL:
            spelled.add(_outside([(regex.LITERAL, value)]))
        elif kind is regex.ANY:
            spelled.add("a")
        elif kind is regex.IN:
            spelled.add(_member(value))
        elif kind in (regex.MAX_REPEAT, regex.MIN_REPEAT):
            _repeat(value[2], int(value[0]), spelled)
        elif kind is regex.SUBPATTERN:
            if value[1]:  # flags of its own
                raise _Unspelled
            _spell(value[3], spelled)
        elif kind is regex.BRANCH:
            _spell(value[1][0], spelled)
        elif kind is regex.AT:
            spelled.positions.append((value, spelled.length))
        else:  # look-arounds, references to groups, atomic groups
            raise _Unspelled


def _repeat(tree: Any, times: int, spelled: _Spelled) -> None:
    for _ in range(times):
        before = spelled.length, len(spelled.positions)
        _spell(tree, spelled)
        if before == (spelled.length, len(spelled.positions)):
            return  # it has no text, however often it is repeated


def _member(members: Any) -> str:
    """A character of a set."""
    kind, value = members[0]
    if kind is regex.NEGATE:
        return _outside(members[1:])
    if kind is regex.RANGE:
        return chr(value[0])
    if kind is regex.CATEGORY:
        return next(each for each in _CANDIDATES if _is_in(each, members[:1]))
    return chr(value)


def _outside(members: Any) -> str:
    """A character that a set does not have, in either case of letters."""
    for each in _CANDIDATES:
        if not any(_is_in(form, members) for form in {each, each.lower(), each.upper()}):
            return each
    raise _Unspelled


def _is_in(character: str, members: Any) -> bool:
    for kind, value in members:
        if kind is regex.LITERAL:
            fits = ord(character) == value
        elif kind is regex.RANGE:
            fits = value[0] <= ord(character) <= value[1]
        else:
            fits = _CATEGORIES[value](character)
        if fits:
            return True
    return False


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


_CATEGORIES: Mapping[Any, Callable[[str], bool]] = {
    regex.CATEGORY_DIGIT: str.isdecimal,
    regex.CATEGORY_NOT_DIGIT: lambda each: not each.isdecimal(),
    regex.CATEGORY_SPACE: str.isspace,
    regex.CATEGORY_NOT_SPACE: lambda each: not each.isspace(),
    regex.CATEGORY_WORD: _is_word,
    regex.CATEGORY_NOT_WORD: lambda each: not _is_word(each),
}


def _holds(kind: Any, at: int, text: str) -> bool:
    """Whether the text is at a position as the pattern says."""
    if kind in (regex.AT_BEGINNING, regex.AT_BEGINNING_STRING):
        return at == 0
    if kind in (regex.AT_END, regex.AT_END_STRING):
        return at == len(text)
    before, after = at > 0 and _is_word(text[at - 1]), at < len(text) and _is_word(text[at])
    if kind is regex.AT_BOUNDARY:
        return before != after
    return kind is regex.AT_NON_BOUNDARY and before == after and bool(text)
