"""The meaning of the finish reasons of many vendors (Q13)."""

from __future__ import annotations

from wire.catalogue.stops import StopWord, known, stop_word
from wire.openai.chat.tool_calls import present
from wire.openai.chat.types import Choice, ChunkChoice


def finish_of(choice: Choice | ChunkChoice) -> str | None:
    """Return the finish reason of a choice, unchanged; `None` if it has none."""
    for reason in (choice.finish_reason, choice.finish_reason_camel):
        if reason is not None and present(reason):
            return reason
    return None


def meaning_of(finish: str | None, native: str | None = None, *, calls: bool = False) -> StopWord:
    """Return the row of a finish reason.

    `native` is the finish reason of the host behind a gateway. The gateway may report a regular end
    while the native reason is a limit, and a limit while the native reason is a pause; the native
    one then counts. `calls` says whether the message has tool calls: some hosts then still send
    `stop`.

    >>> [
    ...     meaning_of("eos").reason,
    ...     meaning_of("stop", calls=True).reason,
    ...     meaning_of("tool_calls", "MAX_TOKENS").reason,
    ...     meaning_of("length", "CONTINUATION").reason,
    ...     meaning_of("bored").reason,
    ... ]
    ['end', 'tool_calls', 'length', 'pause', 'other']
    """
    # The word may be followed by its cause: `function_call_filter: MALFORMED_FUNCTION_CALL`.
    row = stop_word("chat", finish and finish.partition(":")[0], calls=calls)
    behind = known("chat.native", (native or "").lower())
    if behind is not None and (row.whole or (behind.reason, row.reason) == ("pause", "length")):
        return behind
    return row
