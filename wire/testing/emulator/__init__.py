"""The servers of Gemini, chat completions and Anthropic's Messages, played on this machine: what
the real ones refuse is refused, in their words, and nothing that they take.

>>> from wire.testing.emulator import Emulator, serve
>>> with serve(Emulator()) as server:
...     server.url
'http://127.0.0.1:...'

`Emulator` is the whole of it, without a socket or a clock; `serve` puts it on loopback,
`EmulatorTransport` and `AsyncEmulatorTransport` into an httpx client. Scripts:
`wire.testing.emulator.script`; faults: `wire.testing.emulator.faults`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.testing.emulator.answer import Answer as Answer
    from wire.testing.emulator.answer import Cut as Cut
    from wire.testing.emulator.answer import Pause as Pause
    from wire.testing.emulator.answer import Reset as Reset
    from wire.testing.emulator.core import Emulator as Emulator
    from wire.testing.emulator.server import Server as Server
    from wire.testing.emulator.server import serve as serve
    from wire.testing.emulator.transports import AsyncEmulatorTransport as AsyncEmulatorTransport
    from wire.testing.emulator.transports import EmulatorTransport as EmulatorTransport

_NAMES = {
    "wire.testing.emulator.answer": ("Answer", "Cut", "Pause", "Reset"),
    "wire.testing.emulator.core": ("Emulator",),
    "wire.testing.emulator.server": ("Server", "serve"),
    "wire.testing.emulator.transports": ("AsyncEmulatorTransport", "EmulatorTransport"),
}

__getattr__, __dir__ = lazy_names("wire.testing.emulator", _NAMES)
