"""The base of every message."""

from __future__ import annotations

from wire.core.fields import Fields
from wire.core.memory import WireStruct


class InteractionsStruct(WireStruct, frozen=True, kw_only=True):
    """Base of every message of the Interactions API."""


class InteractionsRequestStruct(InteractionsStruct, frozen=True, kw_only=True, metaclass=Fields):
    """Base of requests and of their settings, which users build: a wrong field is told the right
    one. Steps and their contents do without, since a request has many.
    """
