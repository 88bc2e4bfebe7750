"""Conversations with any provider: `Chat`, many at once, fallbacks, batches and embeddings.

Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.chat.chat": "AsyncChat Chat",
    "wire.chat.stream": "AsyncChatStream ChatStream",
}

__getattr__, __dir__ = lazy_names("wire.chat", _NAMES)
