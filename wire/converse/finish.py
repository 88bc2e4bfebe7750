"""The meaning of the stop reasons of Converse."""

from __future__ import annotations

from wire.catalogue.stops import StopWord, stop_word

COLUMN = "bedrock"
"""The name of the wire in the table of stop words."""


def meaning_of(stop_reason: str | None, *, calls: bool = False) -> StopWord:
    """Return the row of a stop reason.

    >>> meaning_of("max_tokens").reason, meaning_of("end_turn", calls=True).reason
    ('length', 'tool_calls')

    `calls` says whether the message has calls for the client.
    """
    return stop_word(COLUMN, stop_reason, calls=calls)
