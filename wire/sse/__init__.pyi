# Written by `python -m tests.faces`.
from wire.core.sse import Decoder as Decoder
from wire.core.sse import Event as Event
