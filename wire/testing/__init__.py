"""Records the traffic of a test once and replays it later, without a network.

`Cassette` is an httpx transport for the argument `http=` of a client; `Record` and `Replay` are the
same with a fixed mode.

>>> from wire.testing import Cassette  # doctest: +SKIP
>>> Client("gemini", http=Cassette("tide.cassette.json", "once"))  # doctest: +SKIP

`wire.testing.emulator` emulates the servers of the vendors. Names are loaded at first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.testing.cassette.deck": "Drifted",
    "wire.testing.cassette.checks.drift": "Change",
    "wire.testing.cassette.matching": "ComparedRequest Difference Match",
    "wire.testing.cassette.modes": "Mode",
    "wire.testing.cassette.views.snapshots": "Snapshots stable",
    "wire.testing.cassette.sweeping": "async_sweep sweep SweepFailure SweepReport",
    "wire.testing.cassette.transports": """
        AsyncCache AsyncCassette AsyncRecord AsyncReplay Cache Cassette Record Replay
    """,
}

__getattr__, __dir__ = lazy_names("wire.testing", _NAMES)
