"""The meaning of the stop reasons of Messages."""

from __future__ import annotations

from wire.catalogue.stops import StopWord, stop_word


def meaning_of(stop_reason: str | None, *, calls: bool = False) -> StopWord:
    """Return the row of a stop reason.

    >>> meaning_of("pause_turn").reason, meaning_of("end_turn", calls=True).reason
    ('pause', 'tool_calls')

    `calls` says whether the message has tool calls: some hosts then still send `end_turn`.
    """
    return stop_word("messages", stop_reason, calls=calls)
