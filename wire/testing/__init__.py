"""Record the traffic of a test once, replay it ever after: httpx transports for `http=` of a client.

>>> from wire.testing import Record, Replay  # doctest: +SKIP
>>> Client("gemini", http=Record(Lanes(), "weather.cassette.json"))  # doctest: +SKIP
>>> Client("gemini", http=Replay("weather.cassette.json"))  # doctest: +SKIP
"""

from __future__ import annotations

from wire.testing.transports import AsyncRecord, AsyncReplay, Record, Replay

__all__ = ["AsyncRecord", "AsyncReplay", "Record", "Replay"]
