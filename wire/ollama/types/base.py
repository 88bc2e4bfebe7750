"""The base of every message."""

from __future__ import annotations

from wire.core.fields import Fields
from wire.core.memory import WireStruct


class OllamaStruct(WireStruct, frozen=True, kw_only=True):
    """Base of every message of Ollama's API."""


class OllamaRequestStruct(OllamaStruct, frozen=True, kw_only=True, metaclass=Fields):
    """Base of requests and of their settings, which users build: a wrong field is told the right
    one. Messages and their parts do without, since a request has many.
    """
