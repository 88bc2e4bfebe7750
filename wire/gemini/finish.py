"""The meaning of Gemini's finish reasons (S2-27, U-60)."""

from __future__ import annotations

import msgspec

from wire.catalogue.stops import Stop, StopWord, stop_word, stopped
from wire.core.memory import Note
from wire.gemini.types import Candidate, GenerateContentResponse
from wire.gemini.types.base import OpenEnum

_NUMBERED = (
    "FINISH_REASON_UNSPECIFIED",
    "STOP",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "OTHER",
)
"""Finish reasons by the number of the enum, which the server sends instead of the name if the
request asked for `$alt=json;enum-encoding=int`. Ends where the numbers of the two hosts begin to
differ.
"""


def meaning_of(finish: OpenEnum | None, *, calls: bool = False) -> StopWord:
    """Return the row of a finish reason.

    `calls` is whether the response has function calls: Gemini sends `STOP` for them too.

    >>> [
    ...     meaning_of("STOP").reason,
    ...     meaning_of("STOP", calls=True).reason,
    ...     meaning_of(2).reason,
    ...     meaning_of("BORED").reason,
    ...     meaning_of(None).reason,
    ... ]
    ['end', 'tool_calls', 'length', 'other', 'other']
    """
    if isinstance(finish, int):
        finish = _NUMBERED[finish] if 0 <= finish < len(_NUMBERED) else str(finish)
    return stop_word("gemini", finish, calls=calls)


def stop_of(
    response: GenerateContentResponse, candidate: Candidate | None, *, calls: bool, fragments: bool
) -> tuple[Stop, tuple[Note, ...]]:
    """Return the stop of the reply of a candidate, and the notes on it.

    A call streamed in `fragments` is not assembled, so the client cannot make it. The turn is not
    finished without it: "end" would hide that.
    """
    feedback = response.prompt_feedback
    finish = candidate.finish_reason if candidate is not None else None
    if finish is None and feedback is not None and feedback.block_reason is not None:
        word, message = str(feedback.block_reason), feedback.block_reason_message or ""
        # Every reason of a block is a filter, one without a row too.
        row = msgspec.structs.replace(stop_word("gemini.block", word), reason="filter")
        return stopped(row, word, message)
    row = meaning_of(finish, calls=calls)
    if fragments and row.reason == "end":
        row = msgspec.structs.replace(row, reason="other")
    if candidate is None:
        return stopped(row, None)
    raw, message = None if finish is None else str(finish), candidate.finish_message or ""
    # Chunks have tokens before the last one, which may say that nothing is left.
    token = candidate.continuation_token if row.reason in ("pause", "length", "other") else None
    stop, noted = stopped(row, raw, message, token=token)
    return stop, noted if len(response.candidates or ()) < 2 else (*noted, *_others(response))


def _others(response: GenerateContentResponse) -> list[Note]:
    others = [at for at, each in enumerate(response.candidates or ()) if each.index]
    return [Note(f"candidates[{at}]", "left out: the reply is another candidate") for at in others]
