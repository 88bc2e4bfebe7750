"""Conversations as lists of messages: what can be sent, what is mended, what is left out, what
another model may be told. Pure.
"""

from wire.history.hand_over import hand_over as hand_over
from wire.history.hand_over import handed as handed
from wire.history.hand_over import sendable as sendable
from wire.history.order import check as check
from wire.history.prune import prune as prune
from wire.history.repair import repair as repair
from wire.history.tokens import estimate_tokens as estimate_tokens
from wire.history.window import HistoryManager as HistoryManager
