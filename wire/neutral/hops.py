"""Joins the replies to several requests, each of which went on where the one before it ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wire.catalogue.usage import Usage
from wire.core.chunk_bytes import EARLIER
from wire.core.memory import Note
from wire.neutral.ids import ReplyIds, made_id
from wire.neutral.messages import Citation, Message, Origin, Part, Reply, ToolCall, with_origin


def joined(hops: Sequence[Reply]) -> Reply:
    """Return one reply with the parts of all, the sum of their usage, and the stop of the last.

    Parts keep their bytes and are not merged: a signature belongs to its own part.

    >>> from wire.neutral.messages import Stop
    >>> hops = [Reply(Message.assistant(text), Stop("end")) for text in ("High ", "tide.")]
    >>> joined(hops).text, len(joined(hops).message.parts)
    ('High tide.', 2)
    """
    if len(hops) == 1:
        return hops[0]
    parts: list[Part] = []
    citations: list[Citation] = []
    usage: Usage | None = None
    begin = 0
    used: set[str] = set()
    for hop in hops:
        parts += (_own(part, used) for part in hop.message.parts)
        citations += (_moved(each, begin) for each in hop.citations)
        begin += len(hop.text)
        usage = hop.usage if usage is None else usage + hop.usage
    message = Message("assistant", tuple(parts), citations=tuple(citations))
    origin = next((hop.message.origin for hop in hops if hop.message.origin is not None), None)
    if origin is not None:  # without the bytes of a hop, which are not those of the message
        message = with_origin(message, Origin(origin.provider, origin.model, origin.wire))
    note = Note("", f"the answer took {len(hops)} requests; its parts are joined")
    notes = dict.fromkeys((*(note for hop in hops for note in hop.notes), note))
    last = hops[-1]
    fields = {"message": message, "usage": usage, "notes": tuple(notes), "hops": tuple(hops)}
    reply: Reply = msgspec.structs.replace(last, **fields)
    vars(reply).update(vars(last))  # such as the answer
    return reply


def parsed(parse_reply: Callable[..., Reply], answer: Any, body: bytes, **context: Any) -> Reply:
    """Return the reply of a folded stream that took several requests.

    As in the events, the calls of all requests are numbered together.
    """
    ids, error = ReplyIds(body), context.pop("error", None)
    earlier = vars(answer)[EARLIER]
    replies = [parse_reply(each, body=body, ids=ids, **context) for each in earlier]
    return joined([*replies, parse_reply(answer, body=body, ids=ids, error=error, **context)])


def _own(part: Part, used: set[str]) -> Part:
    """Return the part; a call whose id an earlier one has gets another (`ReplyIds`)."""
    if not isinstance(part, ToolCall):
        return part
    if part.id in used:
        other = msgspec.structs.replace(part, id=made_id(part.id.encode(), len(used)))
        part = with_origin(other, part.origin)
    used.add(part.id)
    return part


def _moved(citation: Citation, begin: int) -> Citation:
    """Return a citation of the text of a hop that begins at `begin` of the whole text."""
    if citation.start is None or citation.end is None:
        return citation
    start, end = citation.start + begin, citation.end + begin
    return msgspec.structs.replace(citation, start=start, end=end)
