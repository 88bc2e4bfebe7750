"""Code around a call: functions that see, change, delay or refuse it.

`wire.around.seam` describes the interface. `wire.around.pace` keeps calls under rate limits, and
`wire.around.otel` makes spans and metrics. Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.around.seam import Around as Around
    from wire.around.seam import AttemptFailed as AttemptFailed
    from wire.around.seam import AttemptStarted as AttemptStarted
    from wire.around.seam import CallEnded as CallEnded
    from wire.around.seam import CallFailed as CallFailed
    from wire.around.seam import Change as Change
    from wire.around.seam import FirstEvent as FirstEvent
    from wire.around.seam import Give as Give
    from wire.around.seam import HeadReceived as HeadReceived
    from wire.around.seam import Outgoing as Outgoing
    from wire.around.seam import Pause as Pause
    from wire.around.seam import Signal as Signal
    from wire.around.seam import StreamLeft as StreamLeft
    from wire.around.seam import Wait as Wait

_NAMES = {
    "wire.around.seam": (
        "Around",
        "AttemptFailed",
        "AttemptStarted",
        "CallEnded",
        "CallFailed",
        "Change",
        "FirstEvent",
        "Give",
        "HeadReceived",
        "Outgoing",
        "Pause",
        "Signal",
        "StreamLeft",
        "Wait",
    ),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.around", _NAMES)
