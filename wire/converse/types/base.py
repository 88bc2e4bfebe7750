"""The base of every message."""

from __future__ import annotations

from wire.core.fields import Fields
from wire.core.memory import WireStruct


class ConverseStruct(WireStruct, frozen=True, kw_only=True, rename="camel"):
    """Base of every message of Converse."""


class ConverseRequestStruct(ConverseStruct, frozen=True, kw_only=True, metaclass=Fields):
    """Base of requests and of their settings, which users build: a wrong field is told the right
    one. Messages and their parts do without, since a request has many.
    """
