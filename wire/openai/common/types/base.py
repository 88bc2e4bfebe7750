"""The base of every message."""

from __future__ import annotations

from wire.core.fields import Fields
from wire.core.memory import WireStruct


class OpenAIStruct(WireStruct, frozen=True, kw_only=True):
    """Base of every message of OpenAI's API."""


class OpenAIRequestStruct(OpenAIStruct, frozen=True, kw_only=True, metaclass=Fields):
    """Base of requests and of their settings, which users build: a wrong field is told the right
    one. Messages and their parts do without, since a request has many.
    """
