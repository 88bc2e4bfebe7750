"""The meaning of the stop reasons of Ollama."""

from __future__ import annotations

from wire.catalogue.stops import StopWord, stop_word

COLUMN = "ollama"
"""The name of the wire in the table of stop words."""


def meaning_of(done_reason: str | None, *, calls: bool = False) -> StopWord:
    """Return the row of a stop reason.

    >>> meaning_of("length").reason, meaning_of("stop", calls=True).reason
    ('length', 'tool_calls')

    `calls` says whether the message has calls for the client.
    """
    return stop_word(COLUMN, done_reason, calls=calls)
