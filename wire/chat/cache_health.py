"""Notes in a reply that its request did not begin as the one that the vendor had cached, and what
that cost: `CacheHealth` for the requests of an agent, `CacheWatch` for those of a chat.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

import msgspec

from wire.catalogue.catalogue import current
from wire.catalogue.cost import Cost, cost_of_usage
from wire.catalogue.usage import Usage
from wire.core.memory import PARTIAL, MetadataStruct, Note, with_notes
from wire.history import Beginning, change_of, is_compaction, lost_thoughts
from wire.neutral.messages import Message, Reply

_LOSS = "_cache_lost"
_TOLD = "_cache_notes"
"""Notes of a chat, which an agent replaces by its own."""
_CONVERSATIONS = 16
"""How many conversations of a chat are compared at the same time."""


class CacheLoss(MetadataStruct, frozen=True, kw_only=True):
    """What requests that did not begin as those before them cost.

    >>> CacheLoss(tokens=4_096).tokens
    4096
    """

    tokens: int = 0
    """Tokens that the request before read from a cache or wrote to it, and this one did not
    read."""
    cost: Decimal | None = Decimal(0)
    """USD. The difference of the prices of new and of cached tokens; `None` if it is unknown."""


def cache_lost(replies: Iterable[Reply]) -> CacheLoss:
    """Add up the losses of replies."""
    losses: list[CacheLoss] = [vars(reply)[_LOSS] for reply in replies if _LOSS in vars(reply)]
    costs = [loss.cost for loss in losses]
    known = [each for each in costs if each is not None]
    total = sum(known, Decimal(0)) if len(known) == len(costs) else None
    return CacheLoss(tokens=sum(loss.tokens for loss in losses), cost=total)


class CacheHealth:
    """Compares each request of an agent with the one before it."""

    def __init__(self) -> None:
        self._before: Beginning | None = None
        self._summary: Any = None
        self._cached = 0

    def replied(self, reply: Reply, now: Beginning, summary: Any) -> None:
        """Note in a reply that its request began otherwise than the one before.

        A new summary changes the beginning on purpose. One of the server has no notes; after one of
        the agent, thoughts may be lost all the same. The notes of the agent's chat, which knows
        nothing of summaries, are replaced.
        """
        if told := vars(reply).pop(_TOLD, ()):
            vars(reply).pop(_LOSS, None)
            kept = tuple(note for note in reply.notes if note not in told)
            msgspec.structs.force_setattr(reply, "notes", kept)
        before, cached, old_summary = self._before, self._cached, self._summary
        self._before, self._summary, self._cached = now, summary, _cached_of(reply)
        if is_compaction(reply.message):
            self._before = None
        if before is not None:
            _compare(reply, before, now, cached if summary is old_summary else 0)


class _Watched(NamedTuple):
    """A request of a chat that the vendor may have cached."""

    beginning: Beginning
    reply: Message
    cached: int
    """Tokens of the request that the vendor has in a cache."""


class CacheWatch:
    """Compares each request of a chat that asks for caching with the one that it goes on from.

    A chat keeps no conversation. A request goes on from an earlier one if it has its reply: the
    same object, or an equal one behind an equal message. Requests of many conversations may come
    in any order, from any thread.
    """

    def __init__(self) -> None:
        self._watched: tuple[_Watched, ...] = ()

    def replied(self, reply: Reply, now: Beginning) -> None:
        """Note in a reply that its request began otherwise than the one that it goes on from."""
        if PARTIAL in reply.notes:
            return
        earlier = [each for each in self._watched if _goes_on(each, now)]
        same = [each for each in earlier if not change_of(each.beginning, now)]
        before = next(reversed(same or earlier), None)
        kept = [each for each in self._watched if each is not before]
        if not is_compaction(reply.message):
            kept.append(_Watched(now, reply.message, _cached_of(reply)))
        self._watched = tuple(kept[-_CONVERSATIONS:])
        if before is not None:
            vars(reply)[_TOLD] = _compare(reply, before.beginning, now, before.cached)


def _goes_on(before: _Watched, now: Beginning) -> bool:
    """Return whether a request has the reply of an earlier one."""
    question = before.beginning.messages[-1:]
    for index, message in enumerate(now.messages):
        if message is before.reply:
            return True
        if message == before.reply and tuple(now.messages[index - 1 : index]) == tuple(question):
            return True
    return False


def _cached_of(reply: Reply) -> int:
    """Return how many tokens of its request the vendor has in a cache."""
    return 0 if reply.usage is None else reply.usage.cached + reply.usage.cache_written


def _compare(reply: Reply, before: Beginning, now: Beginning, cached: int) -> tuple[Note, ...]:
    """Add notes on a changed beginning, and the loss of `cached` tokens, to a reply."""
    if not (path := change_of(before, now)):
        return ()
    notes = list(_bound_thoughts(reply, now, path))
    read = cached if reply.usage is None else reply.usage.cached
    if lost := max(0, cached - read):
        vars(reply)[_LOSS] = CacheLoss(tokens=lost, cost=_price_of(lost, reply))
        words = f"changed since the last request: {lost:,} tokens of its cache were not read"
        notes.append(Note(path, words))
    with_notes(reply, notes)
    return tuple(notes)


def _bound_thoughts(reply: Reply, now: Beginning, path: str) -> Iterable[Note]:
    """Yield the note for a model that reads a thought only behind what it was made after."""
    origin = reply.message.origin
    if origin is None:
        return
    begin = int(path.partition("[")[2].partition("]")[0]) if path.startswith("messages[") else 0
    if told := lost_thoughts(now.messages[begin:], origin.model):
        remedy = "compaction= of the server keeps them"
        yield Note(path, f"changed since the last request: {told}; {remedy}")


def _price_of(tokens: int, reply: Reply) -> Decimal | None:
    """Return the difference of the prices of new and of cached tokens; `None`: unknown."""
    origin = reply.message.origin
    if origin is None:
        return None
    facts = current().model(f"{origin.provider}:{origin.model}")
    as_new: Cost = cost_of_usage(Usage(input=tokens, total=tokens), facts, "", None)
    usage = Usage(input=tokens, cached=tokens, total=tokens)
    as_read = cost_of_usage(usage, facts, "", None)
    if as_new.total is None or as_read.total is None:
        return None
    return as_new.total - as_read.total
