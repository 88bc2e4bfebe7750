"""Functions on conversations, which are lists of messages. None of them does I/O.

`check` reports violations that prevent sending, `repair` fixes them, `prune` drops old turns, and
`hand_over` prepares a conversation for another model. `HistoryManager` holds one conversation that
grows.
"""

from wire.history.beginnings import Beginning as Beginning
from wire.history.beginnings import change_of as change_of
from wire.history.beginnings import first_change
from wire.history.beginnings import lost_thoughts as lost_thoughts
from wire.history.compact import Compacted, cut_for_summary, summary_request
from wire.history.hand_over import hand_over, handed, sendable
from wire.history.hand_over import has_compaction as has_compaction
from wire.history.hand_over import is_compaction as is_compaction
from wire.history.hand_over import sendable_request as sendable_request
from wire.history.order import check
from wire.history.order import last_calls as last_calls
from wire.history.order import listed as listed
from wire.history.order import unanswered as unanswered
from wire.history.order import with_results as with_results
from wire.history.prune import prune
from wire.history.repair import repair
from wire.history.tokens import estimate_request as estimate_request
from wire.history.tokens import estimate_tokens
from wire.history.window import HistoryManager

__all__ = [
    "Compacted",
    "HistoryManager",
    "check",
    "cut_for_summary",
    "estimate_tokens",
    "first_change",
    "hand_over",
    "handed",
    "prune",
    "repair",
    "sendable",
    "summary_request",
]
