"""Maps Gemini's finish reasons to the neutral stop reasons (S2-27, U-60)."""

from __future__ import annotations

from wire.gemini.types import FinishReason
from wire.gemini.types.base import OpenEnum
from wire.neutral.messages import StopReason

REASONS: dict[str, StopReason] = {
    FinishReason.STOP: "end",
    FinishReason.MAX_TOKENS: "length",
    FinishReason.SAFETY: "filter",
    FinishReason.RECITATION: "filter",
    FinishReason.BLOCKLIST: "filter",
    FinishReason.PROHIBITED_CONTENT: "filter",
    FinishReason.SPII: "filter",
    FinishReason.MODEL_ARMOR: "filter",
    FinishReason.IMAGE_SAFETY: "filter",
    FinishReason.IMAGE_PROHIBITED_CONTENT: "filter",
    FinishReason.IMAGE_RECITATION: "filter",
    FinishReason.MALFORMED_FUNCTION_CALL: "error",
    FinishReason.MALFORMED_RESPONSE: "error",
    FinishReason.UNEXPECTED_TOOL_CALL: "error",
    FinishReason.TOO_MANY_TOOL_CALLS: "error",
    FinishReason.MISSING_THOUGHT_SIGNATURE: "error",
    FinishReason.NO_IMAGE: "error",
    FinishReason.LANGUAGE: "other",
    FinishReason.OTHER: "other",
    FinishReason.IMAGE_OTHER: "other",
    FinishReason.ESCALATION: "other",
    FinishReason.PUP_LIMITED_DISABLED: "other",
    FinishReason.CONTINUATION: "other",
}

_NUMBERED: tuple[StopReason, ...] = ("other", "end", "length", "filter", "filter", "other")
"""Stop reasons by the number of the enum, which the server sends instead of the name if the request
asked for `$alt=json;enum-encoding=int`. Ends where the numbers of the two hosts begin to differ.
"""


def reason_of(finish: OpenEnum | None, *, calls: bool = False) -> StopReason:
    """The neutral stop reason of a finish reason; an unlisted finish reason is "other".

    `calls` is whether the response has function calls: Gemini sends `STOP` for them too.

    >>> (
    ...     reason_of("STOP"),
    ...     reason_of("STOP", calls=True),
    ...     reason_of("SPII"),
    ...     reason_of("BORED"),
    ...     reason_of(None),
    ... )
    ('end', 'tool_calls', 'filter', 'other', 'other')
    """
    if isinstance(finish, int):
        reason = _NUMBERED[finish] if 0 <= finish < len(_NUMBERED) else "other"
    else:
        reason = REASONS.get(finish or "", "other")
    return "tool_calls" if reason == "end" and calls else reason
