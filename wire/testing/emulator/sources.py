"""The pages that an answer rests on, and the text of the answer that rests on each.

A vendor writes them in its format if the request lets the model search, or if a script names them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """A page, and the span of the answer that rests on it, in code points."""

    url: str
    title: str = ""
    quote: str = ""
    """Text of the page."""
    cites: str = ""
    """The text of the answer that rests on the page; empty for all of it."""

    def span(self, text: str) -> tuple[int, int]:
        """Start and end in the text of the answer."""
        start = text.find(self.cites) if self.cites else 0
        return (0, len(text)) if not self.cites or start < 0 else (start, start + len(self.cites))


PAGE = Source("https://example.com/", "example.com")
"""The page that the small model finds."""


def found(sources: Sequence[Source], text: str, *, searches: bool) -> Sequence[Source]:
    """Return the sources of an answer: those of its script, else a page if it may search.

    >>> [source.title for source in found((), "It ebbs.", searches=True)]
    ['example.com']
    """
    return sources or ((PAGE,) if searches and text else ())


def segments(text: str, sources: Iterable[Source]) -> Iterator[tuple[str, list[Source]]]:
    """Yield the text in pieces, each with the sources of the complete piece.

    >>> tide = Source("https://a.example/", cites="at five")
    >>> [(piece, len(cited)) for piece, cited in segments("It ebbs at five.", [tide])]
    [('It ebbs ', 0), ('at five', 1), ('.', 0)]
    """
    spans = [(source, *source.span(text)) for source in sources]
    cuts = sorted({0, len(text), *(at for _, *ends in spans for at in ends)})
    for start, end in itertools.pairwise(cuts):
        cited = [source for source, begin, stop in spans if begin <= start and end <= stop]
        yield text[start:end], cited
