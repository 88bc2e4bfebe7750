"""Stop reasons of Messages as neutral stop reasons."""

from __future__ import annotations

from wire.neutral.messages import StopReason

REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
    "pause_turn": "pause",
}


def reason_of(stop_reason: str | None, *, calls: bool = False) -> StopReason:
    """Return the neutral stop reason; "other" for an unknown one.

    >>> (
    ...     reason_of("end_turn"),
    ...     reason_of("end_turn", calls=True),
    ...     reason_of("pause_turn"),
    ...     reason_of("bored"),
    ... )
    ('end', 'tool_calls', 'pause', 'other')

    `calls` says whether the message has tool calls: some hosts then still send `end_turn`. After
    `pause_turn` the caller sends the message back unchanged, and the model continues.
    """
    reason = REASONS.get(stop_reason or "", "other")
    return "tool_calls" if reason == "end" and calls else reason
