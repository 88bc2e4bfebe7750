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

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.testing.cassette.pieces": "Cut Pause Reset",
    "wire.testing.emulator.answer": "Answer",
    "wire.testing.emulator.core": "Emulator",
    "wire.testing.emulator.limits": "EmulatorLimits",
    "wire.testing.emulator.outage": "Outage",
    "wire.testing.emulator.quota": "Quota",
    "wire.testing.emulator.server": "serve Server",
    "wire.testing.emulator.transports": "AsyncEmulatorTransport EmulatorTransport",
}

__getattr__, __dir__ = lazy_names("wire.testing.emulator", _NAMES)
