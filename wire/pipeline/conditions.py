"""Conditions of edges, such as `a == 'x' && !b`.

One grammar also reads the other dialect, as in `outcome=success && context.x!=y`:

    any     = all { "||" all }
    all     = one { "&&" one }
    one     = "!" one | "(" any ")" | key | key ("==" | "=" | "!=") value
    key     = letters, digits, "_", "."
    value   = 'text' | "text" | word

A missing key has the empty text as its value (P-63). Values are compared as texts; case counts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from wire.core.errors import PipelineError
from wire.pipeline.graph import written

FORMS: tuple[tuple[str, str], ...] = (
    ("key", "the value is not empty"),
    ("key == 'text'", "the value is this text; `=` is the same, and a word needs no quotes"),
    ("key != text", "the value is another text, or there is none"),
    ("!a", "`a` does not hold"),
    ("a && b", "both hold"),
    ("a || b", "one of them holds; `&&` binds closer"),
    ("(a || b) && c", "parentheses group"),
    ("context.key", "`key`, if no key has the longer name"),
    ("_", "always holds, as an empty condition does"),
)
"""The forms of a condition, with what each means, for docs/pipelines.md."""

_Test: TypeAlias = Callable[[Mapping[str, Any]], bool]

_TOKEN = re.compile(r"""\s*(==|!=|=|!|&&|\|\||\(|\)|'[^']*'|"[^"]*"|[\w.:/+-]+)""")
_WORD = re.compile(r"[\w.:/+-]+")
_KEY = re.compile(r"[A-Za-z0-9_.]+")
# Deeper nesting of parentheses and "!" would overflow the stack of Python.
_MAX_DEPTH = 100


@dataclasses.dataclass(frozen=True)
class Condition:
    """A parsed condition."""

    text: str
    _test: _Test = dataclasses.field(repr=False, compare=False)
    keys: tuple[str, ...] = dataclasses.field(default=(), repr=False, compare=False)
    """The keys of the context that it reads, each once, in order."""

    def holds(self, context: Mapping[str, Any]) -> bool:
        """Return whether the condition is true in this context."""
        return self._test(context)


def parse_condition(text: str) -> Condition:
    """Parse a condition. An empty one, and `_`, always holds (P-60).

    >>> condition = parse_condition("verdict == 'ok' || !(draft && tries != 3)")
    >>> condition.holds({"verdict": "ok"}), condition.holds({"draft": "...", "tries": 2})
    (True, False)
    >>> parse_condition("outcome=success && context.done=true").holds(
    ...     {"outcome": "success", "done": True}
    ... )
    True

    Raises `PipelineError` with the column of a syntax error, and for text after the condition
    (P-64).
    """
    if text.strip() in ("", "_"):
        return Condition(text, lambda context: True)
    parser = _Parser(text)
    return Condition(text, parser.condition(), tuple(dict.fromkeys(parser.keys)))


def value_of(key: str, context: Mapping[str, Any]) -> Any:
    """Return the value of `key`; `context.x` means `x` if no key has the longer name (P-65)."""
    return context.get(key, context.get(key.removeprefix("context.")))


def _compared(key: str, value: str, equal: bool) -> _Test:
    return lambda context: (written(value_of(key, context)) == value) == equal


def _present(key: str) -> _Test:
    return lambda context: value_of(key, context) not in (None, "", [], {})


def _negated(test: _Test) -> _Test:
    return lambda context: not test(context)


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, int]] = []
        self._next = 0
        self.keys: list[str] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            match = _TOKEN.match(text, at)
            if match is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                raise self._error(
                    at, "the text is not closed" if text[at] in "'\"" else "", text[at]
                )
            self._tokens.append((match.group(1), match.start(1)))
            at = match.end()
        self._tokens.append(("", end))

    def condition(self) -> _Test:
        test = self._any(0)
        if self._token:
            raise self._unexpected("the condition is complete before it; expected && or ||")
        return test

    @property
    def _token(self) -> str:
        return self._tokens[self._next][0]

    def _take(self, *tokens: str) -> str:
        token = self._token
        if token not in tokens:
            return ""
        self._next += 1
        return token

    def _error(self, at: int, hint: str, token: str) -> PipelineError:
        shown = repr(token) if token else "end"
        return PipelineError(
            f"condition {self._text!r}: column {at + 1}: unexpected "
            f"{shown}{f': {hint}' if hint else ''}"
        )

    def _unexpected(self, hint: str) -> PipelineError:
        token, at = self._tokens[self._next]
        return self._error(at, hint, token)

    def _any(self, depth: int) -> _Test:
        tests = [self._all(depth)]
        while self._take("||"):
            tests.append(self._all(depth))
        return tests[0] if len(tests) == 1 else lambda context: any(test(context) for test in tests)

    def _all(self, depth: int) -> _Test:
        tests = [self._one(depth)]
        while self._take("&&"):
            tests.append(self._one(depth))
        return tests[0] if len(tests) == 1 else lambda context: all(test(context) for test in tests)

    def _one(self, depth: int) -> _Test:
        if depth > _MAX_DEPTH:
            raise self._unexpected(f"nested deeper than {_MAX_DEPTH}")
        if self._take("!"):
            return _negated(self._one(depth + 1))
        if self._take("("):
            test = self._any(depth + 1)
            if not self._take(")"):
                raise self._unexpected("expected ')'")
            return test
        key = self._token
        if not _KEY.fullmatch(key):
            raise self._unexpected("expected a key: letters, digits, _ and .")
        self._next += 1
        self.keys.append(key)
        compared = self._take("==", "=", "!=")
        return _compared(key, self._literal(), compared != "!=") if compared else _present(key)

    def _literal(self) -> str:
        token = self._token
        quoted = token[:1] in ("'", '"') and token != ""
        if not quoted and not _WORD.fullmatch(token):
            raise self._unexpected("expected a value: a word, or a text in quotes")
        self._next += 1
        return token[1:-1] if quoted else token
