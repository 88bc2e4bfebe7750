"""What each vendor's stop word means, whether the answer is whole with it, and who acts next.

`stops.json` has one row for each word of a wire. `gemini.block` are the reasons why a prompt was
blocked, `chat.native` the words of a host behind a gateway, in small letters, and `responses.item`
the calls that the client must run and that have no neutral form. `bedrock` are those of Converse.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

import msgspec

from wire.core.errors import APIError, WireError
from wire.core.lazy import file_beside
from wire.core.memory import MetadataStruct, Note
from wire.core.printable import short

StopReason: TypeAlias = Literal["end", "tool_calls", "pause", "length", "filter", "error", "other"]
Next: TypeAlias = Literal[
    "nothing",
    "send_back",
    "continue_token",
    "poll",
    "run_tools",
    "raise_limit",
    "compact_then_send",
    "retry",
    "ask_user",
]


class StopWord(msgspec.Struct, frozen=True):
    """One stop word of a wire."""

    wire: str
    word: str
    reason: StopReason
    whole: bool
    """Whether the reply is the whole answer of the model to the last message."""
    next: Next
    source: str = ""
    date: str = ""
    evidence: str = "unknown"
    """An `Evidence` of `wire.core.facts`; `unknown` without a source."""


NEXT: dict[StopReason, Next] = {
    "end": "nothing",
    "tool_calls": "run_tools",
    "pause": "send_back",
    "length": "raise_limit",
    "filter": "nothing",
    "error": "retry",
    "other": "nothing",
}
"""Who acts next after most words of a reason."""


def _rows() -> Iterator[StopWord]:
    file = msgspec.json.decode(file_beside(__file__, "stops.json"))
    for *word, source in file["words"]:
        yield StopWord(*word, **file["sources"][source])


ROWS: tuple[StopWord, ...] = tuple(_rows())
_BY_WORD = {(row.wire, row.word): row for row in ROWS}


def known(wire: str, word: str) -> StopWord | None:
    """Return the row of a stop word; `None` if it has none."""
    return _BY_WORD.get((wire, word))


def reason_of(word: str) -> StopReason:
    """Return the reason of a word whose wire is not known; a reason means itself.

    >>> reason_of("stop"), reason_of("end"), reason_of("BORED")
    ('end', 'end', 'other')
    """
    meant: dict[str, StopReason] = {row.word: row.reason for row in reversed(ROWS)}
    meant.update((reason, reason) for reason in NEXT)
    return meant.get(word, "other")


def is_word(word: str) -> bool:
    """Return whether any wire has a stop word."""
    return any(row.word == word for row in ROWS)


def words_of(wire: str) -> frozenset[str]:
    """Return the stop words of a wire."""
    return frozenset(row.word for row in ROWS if row.wire == wire)


def stop_word(wire: str, word: str | None, *, calls: bool = False) -> StopWord:
    """Return what a stop word means; nobody is to act after one without a row.

    `calls` says whether the reply has calls for the client: on every wire, an end is then none.

    >>> stop_word("gemini", "STOP", calls=True).next, stop_word("gemini", "BORED").reason
    ('run_tools', 'other')
    """
    row = _BY_WORD.get((wire, word or "")) or StopWord(wire, word or "", "other", False, "nothing")
    if calls and row.reason == "end":
        return msgspec.structs.replace(row, reason="tool_calls", next="run_tools")
    return row


# --- the stop of a reply --------------------------------------------------------------------------


class Stop(MetadataStruct, frozen=True):
    """Why the model stopped.

    >>> Stop("length", raw="MAX_TOKENS").reason
    'length'
    """

    reason: StopReason
    """The reason in words that all vendors share. After `pause`, the answer goes on once somebody
    acts: `next` says who, and how."""
    raw: str | None = None
    """The vendor's stop reason; `None` if the vendor sent none."""
    message: str = ""
    """Text of an error, or of a refusal, which is a text of the message as well."""
    sequence: str | None = None
    """The text of `stop` that ended the reply; `None` if none did, or the vendor does not say which
    one."""
    then: Next | None = None
    """`next`, where another acts than after most replies with this reason."""
    token: str | None = None
    """The vendor's token with which the same request goes on."""

    @property
    def complete(self) -> bool:
        """Whether the reply is the model's whole answer to the last message.

        >>> Stop("end").complete, Stop("length").complete
        (True, False)
        """
        return self.reason in ("end", "tool_calls")

    @property
    def next(self) -> Next:
        """Who acts next, and how.

        `nothing`: nobody has to. `run_tools`: the client runs the calls. `send_back`: the message
        is sent back as the last one. `continue_token`: the same request is sent with `token`.
        `poll`: the response is read again later. `raise_limit`: the request needs a higher limit.
        `compact_then_send`: the conversation has to become shorter. `retry`: the request is sent
        again. `ask_user`: a person decides.
        """
        return self.then or NEXT[self.reason]


def stopped(
    row: StopWord,
    raw: str | None,
    message: str = "",
    sequence: str | None = None,
    token: str | None = None,
) -> tuple[Stop, tuple[Note, ...]]:
    """Build the stop of a reply from the row of the vendor's word `raw`; note an unknown word."""
    act: Next = "nothing" if row.next == "continue_token" and not token else row.next
    then = None if NEXT[row.reason] == act else act
    notes: tuple[Note, ...] = ()
    if row.word and row.evidence == "unknown":
        words = f"{short(row.word)} is unknown here; the reply may be incomplete"
        notes = (Note("stop", words),)
    return Stop(row.reason, raw, message, sequence, then, token), notes


def partial_stop(stop: Stop, error: WireError | None) -> Stop:
    """Return the `stop` of an incomplete reply; `error` is the one that ended its stream, if any.

    `end`, `tool_calls` and `pause` become `other`, because with them the reply would look complete.
    """
    if isinstance(error, APIError):
        return Stop("error", stop.raw, error.message, token=stop.token)
    if stop.reason in ("end", "tool_calls", "pause"):
        return msgspec.structs.replace(stop, reason="other", then=None)
    return stop
