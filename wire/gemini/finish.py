"""Maps Gemini's finish reasons to the neutral stop reasons (S2-27, U-60)."""

from __future__ import annotations

from wire.gemini.types.base import OpenEnum
from wire.neutral.messages import StopReason

REASONS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "SAFETY": "filter",
    "RECITATION": "filter",
    "BLOCKLIST": "filter",
    "PROHIBITED_CONTENT": "filter",
    "SPII": "filter",
    "MODEL_ARMOR": "filter",
    "IMAGE_SAFETY": "filter",
    "IMAGE_PROHIBITED_CONTENT": "filter",
    "IMAGE_RECITATION": "filter",
    "MALFORMED_FUNCTION_CALL": "error",
    "MALFORMED_RESPONSE": "error",
    "UNEXPECTED_TOOL_CALL": "error",
    "TOO_MANY_TOOL_CALLS": "error",
    "MISSING_THOUGHT_SIGNATURE": "error",
    "NO_IMAGE": "error",
    "LANGUAGE": "other",
    "OTHER": "other",
    "IMAGE_OTHER": "other",
    "ESCALATION": "other",
    "PUP_LIMITED_DISABLED": "other",
    "CONTINUATION": "other",
}

_NUMBERED: tuple[StopReason, ...] = ("other", "end", "length", "filter", "filter", "other")
"""Stop reasons by the number of the enum, which the server sends instead of the name if the request
asked for `$alt=json;enum-encoding=int`. Ends where the numbers of the two hosts begin to differ.
"""


def reason_of(finish: OpenEnum | None, *, calls: bool = False) -> StopReason:
    """Return the neutral stop reason of a finish reason; an unlisted finish reason is "other".

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
