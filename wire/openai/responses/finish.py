"""The status of a response as a neutral stop reason."""

from __future__ import annotations

from wire.neutral.messages import StopReason

REASONS: dict[str, StopReason] = {
    "completed": "end",
    "max_output_tokens": "length",
    "content_filter": "filter",
    "failed": "error",
}


def reason_of(
    status: str | None, incomplete: str | None = None, *, calls: bool = False
) -> StopReason:
    """Return the neutral stop reason; "other" for an unknown one.

    >>> (
    ...     reason_of("completed"),
    ...     reason_of("completed", calls=True),
    ...     reason_of("incomplete", "max_output_tokens"),
    ...     reason_of("queued"),
    ... )
    ('end', 'tool_calls', 'length', 'other')

    `incomplete` is the reason of an incomplete response. `calls` says whether the output has calls
    of functions: the status is then `completed` as well.
    """
    reason = REASONS.get(incomplete or status or "", "other")
    return "tool_calls" if reason == "end" and calls else reason
