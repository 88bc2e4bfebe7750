"""The models of Gemini: since when each answers, and until when.

This is the one list of model names; rules of models go by family (`wire.gemini.families`), so that
old names keep theirs. `check` warns of a model that is gone (G86), the emulator answers by this
list, and a test reads it: no example, page or live test names a model that is gone.

Source: Google's deprecations page and release notes (ai.google.dev/gemini-api/docs/deprecations),
read in November 2026. Vertex AI has dates of its own, which mostly are a little later.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import msgspec

AS_OF = "2026-11-22"
"""The day for which this list is true."""

NEWEST = "gemini-3.8-flash"
"""The model that examples name."""


class Lifetime(msgspec.Struct, frozen=True):
    """The days of a model, as `2026-03-09`."""

    released: str = ""
    """Empty if it is not known."""
    shutdown: str = ""
    """The first day without it; empty if none is announced."""
    replacement: str = ""
    """The model that Google recommends in its place."""
    routed: bool = False
    """From the shutdown on, the replacement answers in its place. Otherwise the answer is 404."""


LIFETIMES: Mapping[str, Lifetime] = {
    "gemini-3.8-flash": Lifetime("2026-09-02"),
    "gemini-3.7-flash": Lifetime("2026-08-13"),
    "gemini-3.6-flash": Lifetime("2026-07-21"),
    "gemini-3.5-flash-lite": Lifetime("2026-07-21"),
    "gemini-3.5-flash": Lifetime("2026-05-19"),
    "gemini-3.1-flash-lite": Lifetime("2026-05-07", "2027-05-07"),
    "gemini-3.1-flash-lite-preview": Lifetime("2026-03-03", "2026-05-25", "gemini-3.1-flash-lite"),
    "gemini-3.1-pro-preview": Lifetime("2026-02-19"),
    "gemini-3-flash-preview": Lifetime("2025-12-17"),
    "gemini-3-pro-preview": Lifetime("2025-11-18", "2026-03-09", "gemini-3.1-pro-preview"),
    "gemini-2.5-pro": Lifetime("2025-06-17", "2026-12-01", "gemini-3.8-flash", routed=True),
    "gemini-2.5-flash": Lifetime("2025-06-17", "2026-12-01", "gemini-3.5-flash-lite", routed=True),
    "gemini-2.5-flash-lite": Lifetime("2025-07-22"),
}
"""Each model by its name, the newest first."""

_FAMILIES: tuple[tuple[re.Pattern[str], Lifetime], ...] = (
    (re.compile(r"gemini-2\.5-pro-preview-.+"), Lifetime("", "2025-12-02", "gemini-2.5-pro")),
    (re.compile(r"gemini-2\.0-.+"), Lifetime("2025-02-05", "2026-06-01", "gemini-2.5-flash")),
    # The day is not known: recorded answers are of August 2025, refusals of January 2026.
    (re.compile(r"gemini-1\.[05]-.+"), Lifetime("", "2026-01-01", "gemini-2.5-flash")),
)
"""Names that share their days: snapshots and variants."""


@functools.lru_cache(maxsize=256)
def lifetime(model: str) -> Lifetime:
    """Return the dates of a model's lifetime; all are unknown for a name that is not listed.

    >>> lifetime("gemini-2.0-flash-001").shutdown, lifetime("models/gemini-3.8-flash").shutdown
    ('2026-06-01', '')
    """
    name = model.rpartition("/")[2]
    found = (days for pattern, days in _FAMILIES if pattern.fullmatch(name))
    return LIFETIMES.get(name) or next(found, Lifetime())


def is_shut_down(model: str, day: str = AS_OF) -> bool:
    """Return whether a model is shut down on a day.

    >>> is_shut_down("gemini-3-pro-preview"), is_shut_down("gemini-3-pro-preview", "2026-03-08")
    (True, False)
    """
    return "" < lifetime(model).shutdown <= day
