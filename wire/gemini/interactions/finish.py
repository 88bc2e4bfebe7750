"""Why an interaction stopped: its status, and the calls that wait for the client."""

from __future__ import annotations

from collections.abc import Sequence

from wire.catalogue.stops import Stop, StopWord, stop_word, stopped
from wire.core.lenient import well_formed
from wire.core.memory import Note
from wire.gemini.interactions.types import Interaction
from wire.neutral.messages import Part, ToolCall


def meaning_of(status: str | None, *, calls: bool = False) -> StopWord:
    """Return the row of a status.

    `calls` says whether the steps have calls of functions: the status may then be `completed`, too.

    >>> meaning_of("incomplete").reason, meaning_of("completed", calls=True).reason
    ('length', 'tool_calls')
    """
    return stop_word("interactions", status, calls=calls)


def stop_of(interaction: Interaction, parts: Sequence[Part]) -> tuple[Stop, tuple[Note, ...]]:
    """Return the stop of the reply of an interaction with these parts, and the notes on it."""
    calls = any(isinstance(part, ToolCall) for part in parts)
    errors = [each.message or each.code or "" for each in interaction.errors or ()]
    errors += [
        step.error.message or ""
        for step in interaction.steps or ()
        if step.error is not None and step.error.message
    ]
    row = meaning_of(interaction.status, calls=calls)
    message = well_formed("; ".join(filter(None, errors)))
    token = interaction.continuation_token or None
    return stopped(row, interaction.status, message, token=token)
