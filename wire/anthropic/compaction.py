"""Compaction at a token threshold: the edit of a request, and the beta that it needs.

Source: the guides "Compaction at a token threshold" and "Preserved thinking" of Anthropic, read in
2026-11. The reply of a request over the trigger begins with a block `compaction`; later requests
send it back, and the server ignores what is before it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from wire.anthropic.families import Family
from wire.anthropic.types import ContextManagement, MessageRequest
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.compaction import Compaction, not_sent, trigger_for

COMPACT_BETA = "compact-2026-01-12"
"""The beta of requests with the edit."""
COMPACT_EDIT = "compact_20260112"
MIN_TRIGGER = 50_000
"""Tokens. The server refuses a smaller trigger."""
_SINCE = {"opus": (4, 6), "sonnet": (4, 6), "fable": (5, 0), "mythos": (5, 0)}
"""Family of models -> the first version that compacts."""


def compacts(model_family: Family, provider: Provider) -> bool:
    """Return whether a host compacts for a model: Anthropic's own API, from 4.6 on, without haiku.

    >>> from wire.anthropic.families import family
    >>> from wire.anthropic.rows import provider_row
    >>> compacts(family("claude-opus-5"), provider_row("anthropic"))
    True
    >>> compacts(family("claude-haiku-4-5"), provider_row("anthropic"))
    False
    """
    if provider.name != "anthropic":
        return False
    if model_family.version is None:
        return True  # a new model
    since = _SINCE.get(model_family.name)
    return since is not None and model_family.since(*since)


def with_compaction(
    built: MessageRequest,
    compaction: Compaction | None,
    model_family: Family,
    provider: Provider,
    notes: list[Note],
) -> MessageRequest:
    """Return the request with the edit that compacts it.

    A request that sends a compaction back has the edit as well: the server refuses the block
    without it.
    """
    if not compacts(model_family, provider):
        if compaction is not None:
            notes.append(not_sent(provider))
        return built
    if compaction is None:
        words = "sent: the messages have a compaction, which the server takes with the setting only"
        notes.append(Note("compaction", words))
        compaction = Compaction()
    edit: dict[str, Any] = {"type": COMPACT_EDIT}
    if (trigger := trigger_for(compaction, MIN_TRIGGER, notes)) is not None:
        edit["trigger"] = {"type": "input_tokens", "value": trigger}
    if compaction.instructions:
        edit["instructions"] = compaction.instructions
    edited = ContextManagement(edits=[edit])
    return msgspec.structs.replace(built, context_management=edited)
