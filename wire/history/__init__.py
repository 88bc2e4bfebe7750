"""Conversations as lists of messages: what can be sent, what is mended, what is left out, what
another model may be told. Pure.
"""

from wire.history.hand_over import hand_over, handed, sendable
from wire.history.order import check
from wire.history.prune import prune
from wire.history.repair import repair
from wire.history.tokens import estimate_tokens
from wire.history.window import HistoryManager

__all__ = [
    "HistoryManager",
    "check",
    "estimate_tokens",
    "hand_over",
    "handed",
    "prune",
    "repair",
    "sendable",
]
