"""Conversations with any provider: `Chat`, many at once, fallbacks, batches and embeddings.

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.chat.chat import AsyncChat as AsyncChat
    from wire.chat.chat import Chat as Chat
    from wire.chat.stream import AsyncChatStream as AsyncChatStream
    from wire.chat.stream import ChatStream as ChatStream

_NAMES = {
    "wire.chat.chat": ("AsyncChat", "Chat"),
    "wire.chat.stream": ("AsyncChatStream", "ChatStream"),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.chat", _NAMES)
