"""An emulator of the servers of Gemini, OpenAI's chat completions and Anthropic's Messages.

It refuses what the real servers refuse, in their words, and nothing else.

>>> from wire.testing.emulator import Emulator, serve
>>> with serve(Emulator()) as server:
...     server.url
'http://127.0.0.1:...'

`Emulator` opens no socket, and reads a clock for a quota only. `serve` runs it as an HTTP server
on loopback, `EmulatorTransport` and `AsyncEmulatorTransport` run it inside an httpx client.
`wire.testing.emulator.script` describes scripts, `wire.testing.emulator.faults` faults.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.testing.cassette.pieces import Cut as Cut
    from wire.testing.cassette.pieces import Pause as Pause
    from wire.testing.cassette.pieces import Reset as Reset
    from wire.testing.emulator.answer import Answer as Answer
    from wire.testing.emulator.core import Emulator as Emulator
    from wire.testing.emulator.limits import EmulatorLimits as EmulatorLimits
    from wire.testing.emulator.outage import Outage as Outage
    from wire.testing.emulator.quota import Quota as Quota
    from wire.testing.emulator.server import Server as Server
    from wire.testing.emulator.server import serve as serve
    from wire.testing.emulator.transports import AsyncEmulatorTransport as AsyncEmulatorTransport
    from wire.testing.emulator.transports import EmulatorTransport as EmulatorTransport

_NAMES = {
    "wire.testing.cassette.pieces": ("Cut", "Pause", "Reset"),
    "wire.testing.emulator.answer": ("Answer",),
    "wire.testing.emulator.core": ("Emulator",),
    "wire.testing.emulator.limits": ("EmulatorLimits",),
    "wire.testing.emulator.outage": ("Outage",),
    "wire.testing.emulator.quota": ("Quota",),
    "wire.testing.emulator.server": ("Server", "serve"),
    "wire.testing.emulator.transports": ("AsyncEmulatorTransport", "EmulatorTransport"),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.testing.emulator", _NAMES)
