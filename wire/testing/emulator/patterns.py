"""Regular expressions of requests, without ever running them.

Python's regular expressions backtrack, and hold the interpreter's lock meanwhile: `(a?){40}a{40}`
would stop all threads for years.

- `matching` makes a text for an expression. It is spelled along the parsed expression, and fits by
  construction: what cannot be spelled so, such as a look-around, gives no text.
- `Search` finds an expression in a text. It follows all alternatives at once, so that its time is
  linear in the text.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Mapping
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
    r"""Return the shortest text that matches; empty if none is found.

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
    """Return a character of a set."""
    kind, value = members[0]
    if kind is regex.NEGATE:
        return _outside(members[1:])
    if kind is regex.RANGE:
        return chr(value[0])
    if kind is regex.CATEGORY:
        return next(each for each in _CANDIDATES if _is_in(each, members[:1]))
    return chr(value)


def _outside(members: Any) -> str:
    """Return a character that a set does not have, in either case of letters."""
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
    """Return whether the text is at a position as the pattern says."""
    if kind in (regex.AT_BEGINNING, regex.AT_BEGINNING_STRING):
        return at == 0
    if kind in (regex.AT_END, regex.AT_END_STRING):
        return at == len(text)
    before, after = at > 0 and _is_word(text[at - 1]), at < len(text) and _is_word(text[at])
    if kind is regex.AT_BOUNDARY:
        return before != after
    return kind is regex.AT_NON_BOUNDARY and before == after


# --- search ---------------------------------------------------------------------------------------

_MAX_PROGRAM = 5_000
"""Instructions of a pattern, with its repetitions written out."""
_MAX_SEARCH = 2_000_000
"""Characters times instructions of a search, about a second."""
_FLAGS = re.IGNORECASE | re.MULTILINE | re.DOTALL | re.VERBOSE | re.UNICODE


class Unsearchable(ValueError):
    """A pattern that `Search` cannot follow; the message says why."""


@dataclass(slots=True)
class _Instruction:
    """Takes a character that `fits`, or goes on at all of `targets` where the text is at `at`.

    The last instruction of a program has no targets: reaching it is a match.
    """

    fits: Callable[[str], bool] | None = None
    at: tuple[Any, bool] | None = None
    """A position such as the beginning, and whether lines count."""
    targets: tuple[int, ...] = ()


class Search:
    r"""A compiled pattern.

    >>> Search(r"(a+)+b$").found("aaab"), Search(r"(a|a)*b").found("a" * 1000)
    (True, False)

    Raises `Unsearchable` for what needs backtracking (look-arounds, references to groups, atomic
    groups), for a pattern that is too large, and for one that is none.
    """

    def __init__(self, pattern: str) -> None:
        if len(pattern) > _MAX_PATTERN:
            raise Unsearchable(f"longer than {_MAX_PATTERN} characters")
        if _WARNED.search(pattern):
            raise Unsearchable("escape [, --, &&, ~~ and || in a set")
        try:
            tree = regex_parser.parse(pattern)
        except (re.error, RecursionError, OverflowError) as cause:
            raise Unsearchable(f"invalid: {cause}") from None
        self._program: list[_Instruction] = []
        flags = int(tree.state.flags)
        self._literal = None
        if all(kind is regex.LITERAL for kind, _ in tree) and not flags & re.IGNORECASE:
            self._literal = "".join(chr(value) for _, value in tree)
        self._compile(tree, flags)
        self._add(_Instruction())
        self._has_positions = any(each.at is not None for each in self._program)
        self._next = functools.lru_cache(maxsize=10_000)(self._after)

    @property
    def reach(self) -> int:
        """The number of characters at the beginning of a text that are searched."""
        return _MAX_SEARCH // len(self._program)

    def found(self, text: str) -> bool:
        """Return whether the pattern occurs in the first `reach` characters of the text."""
        if self._literal is not None:
            return self._literal in text
        states = self._closure([0], 0, text)
        for index, character in enumerate(itertools.islice(text, self.reach)):
            if len(self._program) - 1 in states:
                return True
            # A match may begin at each character.
            targets = self._next(states, character)
            states = self._closure(targets, index + 1, text) if self._has_positions else targets
        return len(self._program) - 1 in states

    def _after(self, states: frozenset[int], character: str) -> frozenset[int]:
        targets = {0}
        for state in states:
            fits = self._program[state].fits
            if fits is not None and fits(character):
                targets.add(state + 1)
        return frozenset(targets) if self._has_positions else self._closure(targets, 0, "")

    def _closure(self, states: Iterable[int], position: int, text: str) -> frozenset[int]:
        """Return all instructions that are reached without a character."""
        open_ones, reached = list(states), set()
        while open_ones:
            state = open_ones.pop()
            if state in reached:
                continue
            reached.add(state)
            each = self._program[state]
            if each.at is None or _is_at(*each.at, position, text):
                open_ones += each.targets
        return frozenset(reached)

    def _add(self, instruction: _Instruction) -> int:
        if len(self._program) >= _MAX_PROGRAM:
            raise Unsearchable("too many repetitions")
        self._program.append(instruction)
        return len(self._program) - 1

    def _jump(self, at: int, *targets: int) -> None:
        self._program[at].targets = targets

    def _compile(self, tree: Any, flags: int) -> None:
        if flags & ~_FLAGS:
            raise Unsearchable("only the flags i, m, s, u and x are known")
        for kind, value in tree:
            if kind in (regex.LITERAL, regex.NOT_LITERAL, regex.ANY, regex.IN):
                self._add(_Instruction(fits=_fits(kind, value, flags)))
            elif kind is regex.AT:
                here = self._add(_Instruction(at=(value, bool(flags & re.MULTILINE))))
                self._jump(here, here + 1)
            elif kind in (regex.MAX_REPEAT, regex.MIN_REPEAT):
                least, most, inner = value
                self._repeat(int(least), most, inner, flags)
            elif kind is regex.SUBPATTERN:
                _, on, off, inner = value
                self._compile(inner, (flags | on) & ~off)
            elif kind is regex.BRANCH:
                self._branch(value[1], flags)
            else:
                name = str(kind).lower().replace("_", " ")
                raise Unsearchable(f"{name}: not supported, since it needs backtracking")

    def _repeat(self, least: int, most: Any, tree: Any, flags: int) -> None:
        for _ in range(least):
            before = len(self._program)
            self._compile(tree, flags)
            if len(self._program) == before:
                return  # it is empty, however often it is repeated
        if most is regex.MAXREPEAT:
            split = self._add(_Instruction())
            self._compile(tree, flags)
            self._jump(self._add(_Instruction()), split)
            self._jump(split, split + 1, len(self._program))
            return
        splits = []
        for _ in range(int(most) - least):
            splits.append(self._add(_Instruction()))
            self._compile(tree, flags)
        for split in splits:
            self._jump(split, split + 1, len(self._program))

    def _branch(self, trees: Any, flags: int) -> None:
        split = self._add(_Instruction())
        begins, ends = [], []
        for tree in trees:
            begins.append(len(self._program))
            self._compile(tree, flags)
            ends.append(self._add(_Instruction()))
        self._jump(split, *begins)
        for end in ends:
            self._jump(end, len(self._program))


def _fits(kind: Any, value: Any, flags: int) -> Callable[[str], bool]:
    """Return whether a character fits one item of a pattern."""
    if kind is regex.ANY:
        return (lambda each: True) if flags & re.DOTALL else (lambda each: each != "\n")
    negated = kind is regex.NOT_LITERAL
    members = value if kind is regex.IN else [(regex.LITERAL, value)]
    if members[0][0] is regex.NEGATE:
        negated, members = True, members[1:]
    if not flags & re.IGNORECASE:
        return lambda each: _is_in(each, members) != negated

    def fits(each: str) -> bool:
        forms = {form for form in (each, each.lower(), each.upper()) if len(form) == 1}
        return any(_is_in(form, members) for form in forms) != negated

    return fits


def _is_at(kind: Any, lines: bool, position: int, text: str) -> bool:
    """Return whether a position of a pattern, such as `$`, holds; with `lines` at each line."""
    if kind is regex.AT_BEGINNING and lines and position and text[position - 1] == "\n":
        return True
    if kind is regex.AT_END and text[position : position + 1] == "\n":
        return lines or position == len(text) - 1
    return _holds(kind, position, text)


@functools.lru_cache(maxsize=100)
def searcher(pattern: str) -> Search:
    """Return the `Search` of a pattern, from a cache. Raises `Unsearchable`."""
    return Search(pattern)
