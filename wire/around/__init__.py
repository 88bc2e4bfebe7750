"""Code around a call: functions that see, change, delay or refuse it.

`wire.around.seam` describes the interface. `wire.around.pace` keeps calls under rate limits, and
`wire.around.otel` makes spans and metrics. Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.around.seam": """
        Again Around AttemptFailed AttemptRefused AttemptStarted CallEnded CallFailed Change
        FirstEvent Give HeadReceived Outgoing Pause Signal StreamLeft Wait
    """,
}

__getattr__, __dir__ = lazy_names("wire.around", _NAMES)
