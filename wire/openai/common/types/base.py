"""The base of every message."""

from __future__ import annotations

from wire.core.memory import WireStruct


class OpenAIStruct(WireStruct, frozen=True, kw_only=True):
    """Base of every message of OpenAI's API."""
