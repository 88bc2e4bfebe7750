"""The setting `caching` on OpenAI's wires: the key of a request's beginning, and its retention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.core.memory import Note
from wire.neutral.caching import prefix_key
from wire.openai.common.dialect import Caching, matches_model

IMPLICIT_BREAKPOINTS = 80
"""How many breakpoints OpenAI looks at, the latest first. It writes the last three, and one of its
own at the end of the request (prompt caching guide, 2026-07)."""

UNKNOWN = "left out: this host is not known to cache prompts"
NOT_MARKABLE = "left out: only messages of the user, instructions and results can be marked"


def cache_fields(
    caching: str,
    model: str,
    how: Caching,
    *,
    key_refused: bool,
    beginning: Sequence[Any],
    notes: list[Note],
) -> dict[str, Any]:
    """The fields of the body for a request with `caching`, beside its breakpoints.

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
