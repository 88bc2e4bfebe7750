"""Records the traffic of a test once and replays it later, without a network.

`Record` and `Replay` are httpx transports for the argument `http=` of a client.

>>> from wire.testing import Record, Replay  # doctest: +SKIP
>>> Client("gemini", http=Record(Lanes(), "weather.cassette.json"))  # doctest: +SKIP
>>> Client("gemini", http=Replay("weather.cassette.json"))  # doctest: +SKIP

`wire.testing.emulator` emulates the servers of the vendors. Names are loaded at first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.testing.cassette.transports import AsyncRecord as AsyncRecord
    from wire.testing.cassette.transports import AsyncReplay as AsyncReplay
    from wire.testing.cassette.transports import Record as Record
    from wire.testing.cassette.transports import Replay as Replay

_NAMES = {
    "wire.testing.cassette.transports": ("AsyncRecord", "AsyncReplay", "Record", "Replay"),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.testing", _NAMES)
