"""Records the traffic of a test once and replays it later, without a network.

`Cassette` is an httpx transport for the argument `http=` of a client; `Record` and `Replay` are the
same with a fixed mode.

>>> from wire.testing import Cassette  # doctest: +SKIP
>>> Client("gemini", http=Cassette("tide.cassette.json", "once"))  # doctest: +SKIP

`wire.testing.emulator` emulates the servers of the vendors. Names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.testing.cassette.checks.drift import Change as Change
    from wire.testing.cassette.deck import Drifted as Drifted
    from wire.testing.cassette.matching import ComparedRequest as ComparedRequest
    from wire.testing.cassette.matching import Difference as Difference
    from wire.testing.cassette.matching import Match as Match
    from wire.testing.cassette.modes import Mode as Mode
    from wire.testing.cassette.sweeping import SweepFailure as SweepFailure
    from wire.testing.cassette.sweeping import SweepReport as SweepReport
    from wire.testing.cassette.sweeping import async_sweep as async_sweep
    from wire.testing.cassette.sweeping import sweep as sweep
    from wire.testing.cassette.transports import AsyncCache as AsyncCache
    from wire.testing.cassette.transports import AsyncCassette as AsyncCassette
    from wire.testing.cassette.transports import AsyncRecord as AsyncRecord
    from wire.testing.cassette.transports import AsyncReplay as AsyncReplay
    from wire.testing.cassette.transports import Cache as Cache
    from wire.testing.cassette.transports import Cassette as Cassette
    from wire.testing.cassette.transports import Record as Record
    from wire.testing.cassette.transports import Replay as Replay
    from wire.testing.cassette.views.snapshots import Snapshots as Snapshots
    from wire.testing.cassette.views.snapshots import stable as stable

_NAMES = {
    "wire.testing.cassette.deck": ("Drifted",),
    "wire.testing.cassette.checks.drift": ("Change",),
    "wire.testing.cassette.matching": ("ComparedRequest", "Difference", "Match"),
    "wire.testing.cassette.modes": ("Mode",),
    "wire.testing.cassette.views.snapshots": ("Snapshots", "stable"),
    "wire.testing.cassette.sweeping": ("SweepFailure", "SweepReport", "async_sweep", "sweep"),
    "wire.testing.cassette.transports": (
        "AsyncCache",
        "AsyncCassette",
        "AsyncRecord",
        "AsyncReplay",
        "Cache",
        "Cassette",
        "Record",
        "Replay",
    ),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.testing", _NAMES)
