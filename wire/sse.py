r"""Server-sent events from bytes, without I/O.

>>> from wire.sse import Decoder
>>> decoder = Decoder()
>>> [event.data for event in decoder.feed(b"data: 05:12\n\nda")]
[b'05:12']
>>> [event.data for event in decoder.feed(b"ta: 17:40\n\n")]
[b'17:40']

The events are the same wherever the network cut the bytes. `close` returns the last one if the
stream ended without the blank line after it.
"""

from wire.core.sse import Decoder as Decoder
from wire.core.sse import Event as Event

__all__ = ["Decoder", "Event"]
