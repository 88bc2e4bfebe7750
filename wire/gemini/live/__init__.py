"""Gemini Live: the messages of a connection.

>>> from wire.gemini import live
>>> live.ClientMessage(setup=live.Setup(model="models/gemini-live-2.5-flash"))
ClientMessage(setup=Setup(model='models/gemini-live-2.5-flash'))

Nothing here does I/O. Each name is imported when it is first used.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.gemini.live.endpoints": "socket",
    "wire.gemini.live.messages": "parse_message",
}
_MODULES = {"types": "wire.gemini.live.types"}

__getattr__, __dir__ = lazy_names(
    "wire.gemini.live", _NAMES, modules=_MODULES, types="wire.gemini.live.types"
)
