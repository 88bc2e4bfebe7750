"""The pages that an answer rests on, and the text of the answer that rests on each.

A vendor writes them in its format if the request lets the model search, or if a script names them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.neutral.messages import Citation, Reply

_PAGE = Citation(url="https://example.com/", title="example.com")
"""The page that the small model finds."""


def cited(answer: str, words: str = "", **page: Any) -> Citation:
    """Return the citation of a page that some words of a text rest on; all of it without words.

    >>> cited("It ebbs at five.", "at five", url="https://a.example/").start
    8
    """
    start = max(0, answer.find(words))
    return Citation(start=start, end=start + len(words or answer), **page)


def sources_of(reply: Reply, *, searches: bool) -> Sequence[Citation]:
    """Return the sources of an answer: those of its script, else a page if it may search.

    >>> from wire.testing.emulator.model import answer
    >>> [each.title for each in sources_of(answer("It ebbs."), searches=True)]
    ['example.com']
    """
    if reply.citations or not (searches and reply.text):
        return reply.citations
    return (msgspec.structs.replace(_PAGE, start=0, end=len(reply.text)),)


def segments(text: str, sources: Sequence[Citation]) -> Iterator[tuple[str, list[Citation]]]:
    """Yield the text in pieces, each with the sources of the complete piece.

    >>> tide = cited("It ebbs at five.", "at five", url="https://a.example/")
    >>> [(piece, len(cited)) for piece, cited in segments("It ebbs at five.", [tide])]
    [('It ebbs ', 0), ('at five', 1), ('.', 0)]
    """
    spans = [(each, each.start or 0, each.end or 0) for each in sources]
    cuts = sorted({0, len(text), *(at for _, *ends in spans for at in ends)})
    for start, end in itertools.pairwise(cuts):
        yield text[start:end], [each for each, begin, stop in spans if begin <= start < end <= stop]
