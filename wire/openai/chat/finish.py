"""Finish reasons of many vendors as neutral stop reasons (Q13)."""

from __future__ import annotations

from wire.neutral.messages import StopReason
from wire.openai.chat.tool_calls import present
from wire.openai.chat.types import Choice, ChunkChoice

REASONS: dict[str, StopReason] = {
    "stop": "end",
    "end": "end",
    "eos": "end",
    "end_turn": "end",
    "length": "length",
    "model_length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "content_filter": "filter",
    "sensitive": "filter",
    "error": "error",
    "network_error": "error",
    "insufficient_system_resource": "error",
}

_NATIVE_LENGTH_REASONS = {"length", "max_tokens", "max_output_tokens"}


def finish_of(choice: Choice | ChunkChoice) -> str | None:
    """Return the finish reason of a choice, unchanged; `None` if it has none."""
    for reason in (choice.finish_reason, choice.finish_reason_camel):
        if reason is not None and present(reason):
            return reason
    return None


def reason_of(finish: str | None, native: str | None = None, *, calls: bool = False) -> StopReason:
    """Return the neutral stop reason; "other" for an unknown one.

    `native` is the finish reason of the host behind a gateway. The gateway may report a regular end
    while the native reason is a length limit; the native one then counts. `calls` says whether the
    message has tool calls: some hosts then still send `stop`.

    >>> (
    ...     reason_of("eos"),
    ...     reason_of("stop", calls=True),
    ...     reason_of("tool_calls", "MAX_TOKENS"),
    ...     reason_of("bored"),
    ... )
    ('end', 'tool_calls', 'length', 'other')
    """
    if finish is None:
        return "other"
    reason = "error" if finish.startswith("function_call_filter") else REASONS.get(finish, "other")
    if reason in ("end", "tool_calls") and (native or "").lower() in _NATIVE_LENGTH_REASONS:
        return "length"
    return "tool_calls" if reason == "end" and calls else reason
