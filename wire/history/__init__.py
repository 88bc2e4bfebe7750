"""Conversations as lists of messages: what can be sent, what is mended, what is left out, what
another model may be told. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.history.hand_over import hand_over as hand_over
    from wire.history.hand_over import handed as handed
    from wire.history.hand_over import sendable as sendable
    from wire.history.order import check as check
    from wire.history.prune import prune as prune
    from wire.history.repair import repair as repair
    from wire.history.tokens import estimate_tokens as estimate_tokens
    from wire.history.window import HistoryManager as HistoryManager

_NAMES = {
    "wire.history.hand_over": ("hand_over", "handed", "sendable"),
    "wire.history.order": ("check",),
    "wire.history.prune": ("prune",),
    "wire.history.repair": ("repair",),
    "wire.history.tokens": ("estimate_tokens",),
    "wire.history.window": ("HistoryManager",),
}

__getattr__, __dir__ = lazy_names("wire.history", _NAMES)
