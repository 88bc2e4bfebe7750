"""Reasoning that stands in the text between `<think>` and `</think>`, told apart while it comes
(Q7).
"""

from __future__ import annotations

from typing import Literal

OPEN, CLOSE = "<think>", "</think>"


class Tags:
    """Text in, pieces of text and of thought out; a tag may be cut anywhere.

    >>> tags = Tags("tags")
    >>> tags.feed("<thi"), tags.feed("nk>Hm</think>Yes"), tags.close()
    ([], [('thought', 'Hm'), ('text', 'Yes')], [])

    "open_implied": the model's template has opened the tag already. A tag that is never closed
    makes thought of all that follows.
    """

    def __init__(self, mode: Literal["tags", "open_implied"]) -> None:
        self._inside = mode == "open_implied"
        self._may_open = self._inside  # the tag that is implied may be there all the same
        self._held = ""

    def feed(self, text: str) -> list[tuple[Literal["text", "thought"], str]]:
        """Pieces that `text` completes; what may be the beginning of a tag is held back."""
        pieces: list[tuple[Literal["text", "thought"], str]] = []
        text, self._held = self._held + text, ""
        while text:
            if self._may_open and text.lstrip().startswith(OPEN):
                text = text.lstrip().removeprefix(OPEN)
                self._may_open = False
                continue
            if self._may_open and OPEN.startswith(text.lstrip()):
                self._held = text
                break
            tag = CLOSE if self._inside else OPEN
            before, found, after = text.partition(tag)
            if not found:
                held = next(
                    (
                        n
                        for n in range(min(len(tag) - 1, len(text)), 0, -1)
                        if tag.startswith(text[-n:])
                    ),
                    0,
                )
                before, self._held = text[: len(text) - held], text[len(text) - held :]
            if before:
                pieces.append(("thought" if self._inside else "text", before))
                self._may_open = False
            if not found:
                break
            self._inside, self._may_open, text = not self._inside, False, after
        return pieces

    def close(self) -> list[tuple[Literal["text", "thought"], str]]:
        """What was held back and has turned out to be no tag."""
        held, self._held = self._held, ""
        return [("thought" if self._inside else "text", held)] if held else []
