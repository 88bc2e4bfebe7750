"""Many requests at once: from a file or an iterable, within the rate limits, and resumable.

>>> from wire import bulk

Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.bulk.ordering": "read",
    "wire.bulk.plan": "Plan",
    "wire.bulk.progress": "Progress",
    "wire.bulk.results": "AgentRun Result",
    "wire.bulk.row_files": "from_file",
    "wire.bulk.running": "Run",
    "wire.bulk.start": "run",
}

__getattr__, __dir__ = lazy_names("wire.bulk", _NAMES)
