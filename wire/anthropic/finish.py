"""Why a model stopped: one meaning for the words of this wire."""

from __future__ import annotations

from wire.neutral.messages import StopReason

REASONS: dict[str, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "filter",
    "pause_turn": "other",
}


def reason_of(stop_reason: str | None, *, calls: bool = False) -> StopReason:
    """The meaning of a stop reason; words that nobody knows are "other".

    >>> (
    ...     reason_of("end_turn"),
    ...     reason_of("end_turn", calls=True),
    ...     reason_of("pause_turn"),
    ...     reason_of("bored"),
    ... )
    ('end', 'tool_calls', 'other', 'other')

    After `pause_turn` the message is sent back as it is, and the model goes on.
    """
    reason = REASONS.get(stop_reason or "", "other")
    return "tool_calls" if reason == "end" and calls else reason
