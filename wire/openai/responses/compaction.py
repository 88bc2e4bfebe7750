"""Compaction by the server of Responses: `context_management` of a request.

Sources: openai 3.54.0, and OpenAI's guide "Compaction", read in 2026-11. The output of a request
over the threshold has an item `compaction`; what came before it may be left out of later requests.
"""

from __future__ import annotations

import msgspec

from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.compaction import Compaction, not_sent, trigger_for
from wire.openai.responses.types import ContextManagement, ResponseRequest

MIN_TRIGGER = 1_000
"""Tokens. The server refuses a smaller threshold."""
HOSTS = ("openai@responses", "azure@responses")
"""The rows of the hosts that compact."""


def with_compaction(
    built: ResponseRequest, compaction: Compaction, provider: Provider, notes: list[Note]
) -> ResponseRequest:
    """Return the request with the threshold from which on the server compacts it."""
    if provider.name not in HOSTS:
        notes.append(not_sent(provider))
        return built
    if compaction.instructions:
        words = "not sent: the server of Responses takes no instructions"
        notes.append(Note("compaction.instructions", words))
    trigger = trigger_for(compaction, MIN_TRIGGER, notes)
    entry = ContextManagement(type="compaction", compact_threshold=trigger)
    return msgspec.structs.replace(built, context_management=[entry])
