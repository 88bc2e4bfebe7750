"""Tells a run that a request did not begin as the one that the vendor had cached, and the cost."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from wire.catalogue.catalogue import current
from wire.catalogue.cost import Cost, cost_of_usage
from wire.catalogue.facts import is_in
from wire.catalogue.usage import Usage
from wire.core.memory import MetadataStruct, Note, with_notes
from wire.history import Beginning, change_of, is_compaction
from wire.neutral.messages import Message, Reply, Thought

_LOSS = "_cache_lost"
_BOUND = "anthropic.bound_thoughts"


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
        """Tokens of the last request that the vendor has in a cache."""

    def replied(self, reply: Reply, now: Beginning, summary: Any) -> None:
        """Note in a reply that its request began otherwise than the one before.

        A new summary changes the beginning on purpose. One of the server has no notes; after one of
        the agent, thoughts may be lost all the same.
        """
        before, cached, old_summary = self._before, self._cached, self._summary
        usage = reply.usage
        self._before, self._summary = now, summary
        self._cached = 0 if usage is None else usage.cached + usage.cache_written
        if is_compaction(reply.message):
            self._before = None
        if before is None or not (path := change_of(before, now)):
            return
        notes = list(_bound_thoughts(reply, now, path))
        read = cached if usage is None else usage.cached
        if (lost := max(0, cached - read)) and summary is old_summary:
            loss = CacheLoss(tokens=lost, cost=_price_of(lost, reply))
            vars(reply)[_LOSS] = loss
            words = f"changed since the last request: {lost:,} tokens of its cache were not read"
            notes.append(Note(path, words))
        with_notes(reply, notes)


def _bound_thoughts(reply: Reply, now: Beginning, path: str) -> Iterable[Note]:
    """Yield the note for a model that reads a thought only behind what it was made after."""
    origin = reply.message.origin
    if origin is None or not is_in(_BOUND, origin.model):
        return
    begin = int(path.partition("[")[2].partition("]")[0]) if path.startswith("messages[") else 0
    thoughts = sum(_has_thoughts(message) for message in now.messages[begin:])
    if thoughts:
        counted = "1 message" if thoughts == 1 else f"{thoughts} messages"
        words = (
            f"changed since the last request: {origin.model} reads a thought only behind the "
            f"messages that it was made after, so the thoughts of {counted} may be lost; "
            "compaction= of the server keeps them"
        )
        yield Note(path, words)


def _has_thoughts(message: Message) -> bool:
    return any(isinstance(part, Thought) and bool(part.signature) for part in message.parts)


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
