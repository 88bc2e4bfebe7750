"""Separates reasoning between `<think>` and `</think>` from the text of a stream (Q7)."""

from __future__ import annotations

from typing import Literal

OPEN, CLOSE = "<think>", "</think>"


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
        """The pieces that `text` completes; a possible beginning of a tag is held back."""
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
            before, tag_found, after = text.partition(tag)
            if not tag_found:
                # Length of the longest end of the text that is a beginning of the tag.
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
            if not tag_found:
                break
            self._inside, self._may_open, text = not self._inside, False, after
        return pieces

    def close(self) -> list[tuple[Literal["text", "thought"], str]]:
        """The rest that was held back and is no tag."""
        held, self._held = self._held, ""
        return [("thought" if self._inside else "text", held)] if held else []
