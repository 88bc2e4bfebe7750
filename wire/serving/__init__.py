"""A gateway: any client of Gemini, OpenAI, Anthropic, Bedrock or Ollama on one model of any vendor.

>>> from wire import AsyncChat
>>> from wire.gateway import Gateway, serve
>>> from wire.testing.emulator import AsyncEmulatorTransport
>>> backend = AsyncChat("anthropic:claude-sonnet-5", http=AsyncEmulatorTransport(), api_key="fake")
>>> with serve(Gateway(backend)) as server:
...     server.url
'http://127.0.0.1:...'

Clients use the paths of their vendor at this address. Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.serving.gateway": "Gateway",
    "wire.serving.server": "GatewayServer serve",
}

__getattr__, __dir__ = lazy_names("wire.serving", _NAMES)
