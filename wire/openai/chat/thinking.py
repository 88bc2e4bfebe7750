"""Separates reasoning between `<think>` and `</think>` from the text of a stream (Q7)."""

from __future__ import annotations

from typing import Literal

OPEN, CLOSE = "<think>", "</think>"
_MAX_BLANKS = 1000
"""Blanks before an opening tag that are held back. Any number would take quadratic time."""


class Tags:
    """Incremental parser: takes text in fragments, returns pieces of text and of thought.

    >>> tags = Tags("tags")
    >>> tags.feed("<thi"), tags.feed("nk>Hm</think>Yes"), tags.close()
    ([], [('thought', 'Hm'), ('text', 'Yes')], [])

    In mode "open_implied" the text begins inside a tag: the model's template contains the opening
    tag. After a tag that is never closed, the rest of the text is thought.

    A tag may be split between fragments at any character. So the end of a fragment that could begin
    a tag is kept in `_held` until the next fragment decides; otherwise half a tag would
    reach the caller as text.
    """

    def __init__(self, mode: Literal["tags", "open_implied"]) -> None:
        self._inside = mode == "open_implied"
        # The model may repeat the implied tag at the start of its text; it is skipped there.
        self._may_open = self._inside
        self._held = ""

    def feed(self, text: str) -> list[tuple[Literal["text", "thought"], str]]:
        """Return the pieces that `text` completes; a possible beginning of a tag is held back."""
        pieces: list[tuple[Literal["text", "thought"], str]] = []
        text, self._held = self._held + text, ""
        if self._may_open:
            bare = text.lstrip()
            if bare.startswith(OPEN):
                text, self._may_open = bare.removeprefix(OPEN), False
            elif OPEN.startswith(bare) and len(text) < _MAX_BLANKS:
                self._held = text
                return pieces
        start = 0
        while start < len(text):
            tag = CLOSE if self._inside else OPEN
            at = text.find(tag, start)
            end = (
                at if at >= 0 else len(text) - _begun(tag, text[max(start, len(text) - len(tag)) :])
            )
            if end > start:
                pieces.append(("thought" if self._inside else "text", text[start:end]))
                self._may_open = False
            if at < 0:
                self._held = text[end:]
                break
            self._inside, self._may_open, start = not self._inside, False, at + len(tag)
        return pieces

    def close(self) -> list[tuple[Literal["text", "thought"], str]]:
        """Return the rest that was held back and is not a tag."""
        held, self._held = self._held, ""
        return [("thought" if self._inside else "text", held)] if held else []


def _begun(tag: str, text: str) -> int:
    """Return the length of the longest end of `text` that is a beginning of `tag`, but not all of
    it.
    """
    lengths = range(min(len(tag) - 1, len(text)), 0, -1)
    return next((length for length in lengths if tag.startswith(text[-length:])), 0)
