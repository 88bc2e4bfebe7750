"""Differences between the hosts of Ollama's API, as data."""

from __future__ import annotations

import msgspec

from wire.core.fields import Fields


class Dialect(msgspec.Struct, frozen=True, kw_only=True, metaclass=Fields):
    """Quirks of one host. Sources and dates of each value: docs/providers.md."""

    vendor_rules: bool = False
    """The host enforces the rules of Ollama's server. Other hosts enforce only what `check` reports
    for an unknown provider."""
    server_tools: tuple[tuple[str, str], ...] = ()
    """The tools that the host runs: none, at any host that is known."""


PLAIN = Dialect()
"""The dialect of an unknown host."""
