"""Many requests at once: from a file or an iterable, within the rate limits, and resumable.

>>> from wire import bulk

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.bulk.ordering import read as read
    from wire.bulk.plan import Plan as Plan
    from wire.bulk.progress import Progress as Progress
    from wire.bulk.results import Result as Result
    from wire.bulk.running import Run as Run
    from wire.bulk.start import run as run

_NAMES = {
    "wire.bulk.ordering": ("read",),
    "wire.bulk.plan": ("Plan",),
    "wire.bulk.progress": ("Progress",),
    "wire.bulk.results": ("Result",),
    "wire.bulk.running": ("Run",),
    "wire.bulk.start": ("run",),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.bulk", _NAMES)
