"""Conversations with any provider: `Chat`, many at once, fallbacks, batches and embeddings.

Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.chat.chat": "AsyncChat Chat",
    "wire.chat.live": "AsyncLiveSession LiveSession",
    "wire.chat.stream": "AsyncChatStream ChatStream",
    "wire.neutral.live": """
        CallsCancelled Closing Interrupted LiveState Refused SpeechEnd SpeechStart
        TranscriptDelta
    """,
}

__getattr__, __dir__ = lazy_names("wire.chat", _NAMES)
