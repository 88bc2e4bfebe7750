"""Prompt caches, for both of OpenAI's wires: the breakpoints of messages, the key of a
request's beginning, and its retention.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from wire.core.memory import Note
from wire.neutral.caching import breakpoint_paths, prefix_key
from wire.neutral.messages import Message
from wire.neutral.request import Request
from wire.openai.common.dialect import Caching, matches_model

Turn = TypeVar("Turn")
"""A message of chat completions, or an item of Responses."""

IMPLICIT_BREAKPOINTS = 80
"""How many breakpoints OpenAI looks at, the latest first. It writes the last three, and one of its
own at the end of the request (prompt caching guide, 2026-07)."""

UNKNOWN = "left out: this host is not known to cache prompts"
NOT_MARKABLE = "left out: only messages of the user, instructions and results can be marked"


class Breakpoints(msgspec.Struct, Generic[Turn]):
    """The messages that get a breakpoint, by path, and how it is written."""

    paths: frozenset[str]
    with_mark: Callable[[Turn], Turn | None]
    """Returns the turn with a breakpoint; `None` if it cannot have one."""
    notes: list[Note]

    def marked(self, path: str, turns: Iterable[Turn]) -> list[Turn]:
        """Return the turns of the neutral message at `path`, with a breakpoint on the last one if
        the message has one.
        """
        turns = list(turns)
        if path not in self.paths:
            return turns
        last = self.with_mark(turns[-1]) if turns else None
        if last is None:
            self.notes.append(Note(f"{path}.cache", NOT_MARKABLE))
            return turns
        return [*turns[:-1], last]


def breakpoints(
    request: Request,
    conversation: Sequence[tuple[str, Message]],
    how: Caching,
    with_mark: Callable[[Turn], Turn | None] | None,
    notes: list[Note],
    most: int = IMPLICIT_BREAKPOINTS,
) -> Breakpoints[Turn] | None:
    """Return the breakpoints of messages with `cache`, the last `most` of them.

    `with_mark` is `None` for a model without breakpoints, and so is what is returned. A host that
    caches prompts on its own needs none, and gets no note.
    """
    if with_mark is not None:
        paths = breakpoint_paths(request, conversation, notes, most)
        return Breakpoints(paths, with_mark, notes)
    if not how.unasked and request.caching != "off":
        notes += [Note(f"{path}.cache", UNKNOWN) for path, each in conversation if each.cache]
    return None


def cache_fields(
    caching: str,
    model: str,
    how: Caching,
    *,
    key_refused: bool,
    beginning: Sequence[Any],
    notes: list[Note],
) -> dict[str, Any]:
    """Return the fields of the body for a request with `caching`, beside its breakpoints.

    `beginning` are the values of the body that further requests of the conversation repeat. A note
    reports what the host does not have, unless it caches prompts without being asked.

    >>> fields = cache_fields(
    ...     "auto", "m", Caching(key=True), key_refused=False, beginning=["Be brief."], notes=[]
    ... )
    >>> fields["prompt_cache_key"][:5]
    'wire-'
    """
    fields: dict[str, Any] = {}
    has_marks = bool(how.marks) and matches_model(how.marks, model)
    if key_refused:
        notes.append(Note("caching", "prompt_cache_key left out: this host refuses it"))
    elif how.key:
        fields["prompt_cache_key"] = prefix_key(beginning) or None
    elif not how.unasked and not has_marks:
        notes.append(Note("caching", UNKNOWN))
        return fields
    if caching == "long" and not has_marks:
        if how.retention and matches_model(how.retention, model):
            fields["prompt_cache_retention"] = "24h"
        else:
            words = "sent as auto: this model has no longer lifetime to choose"
            notes.append(Note("caching", words))
    return fields
