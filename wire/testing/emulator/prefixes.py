"""Beginnings of prompts that a vendor keeps, for the prompt caches of all vendors."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from wire.testing.emulator.storage import Remembered


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a prompt, such as its tools, or a message."""

    content: bytes
    """The bytes that must be equal for a read from a cache."""
    tokens: int
    mark: str = ""
    """The kind of the request's breakpoint at its end; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of a prompt that ends after a piece."""

    name: str
    """The same for equal beginnings."""
    tokens: int
    mark: str


@dataclass(slots=True)
class Prefixes:
    """The beginnings that are kept. A beginning that is read lives for its lifetime again.

    >>> prefixes, now = Prefixes(lambda: now), 0.0
    >>> prefixes.keep("a", 300)
    >>> prefixes.read("a"), prefixes.read("b")
    (True, False)
    >>> now = 300.0
    >>> prefixes.read("a")
    False
    """

    clock: Callable[[], float]
    """The time in seconds."""
    _kept: Remembered = field(default_factory=Remembered)

    def keep(self, name: str, lifetime: float) -> None:
        """Keep a beginning for so many seconds."""
        self._kept[name] = self.clock() + lifetime, lifetime

    def read(self, name: str) -> bool:
        """Return whether a beginning is kept; it then lives on."""
        until, lifetime = self._kept.get(name, (0.0, 0.0))
        if self.clock() >= until:
            return False
        self.keep(name, lifetime)
        return True

    def longest(self, prefixes: Iterable[Prefix]) -> int:
        """Read the last of some beginnings that is kept; return its tokens, 0 without one."""
        found = (each.tokens for each in reversed([*prefixes]) if self.read(each.name))
        return next(found, 0)


def prefixes_of(scope: str, pieces: Iterable[Piece]) -> list[Prefix]:
    """Return the beginnings of a prompt, one for each piece; equal ones have an equal `scope`.

    >>> [each.tokens for each in prefixes_of("m", [Piece(b"a", 3), Piece(b"b", 4)])]
    [3, 7]
    """
    digest, tokens = hashlib.sha256(scope.encode()), 0
    prefixes: list[Prefix] = []
    for piece in pieces:
        digest.update(hashlib.sha256(piece.content).digest())
        tokens += piece.tokens
        prefixes.append(Prefix(digest.hexdigest(), tokens, piece.mark))
    return prefixes
