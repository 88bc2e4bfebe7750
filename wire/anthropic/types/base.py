"""The base of every message."""

from __future__ import annotations

from wire.core.memory import WireStruct


class AnthropicStruct(WireStruct, frozen=True, kw_only=True):
    """Base of every message of Messages, token counts, models and batches."""
