"""Differences between the hosts of Converse, as data."""

from __future__ import annotations

import msgspec

from wire.core.fields import Fields


class Dialect(msgspec.Struct, frozen=True, kw_only=True, metaclass=Fields):
    """Quirks of one host. Sources and dates of each value: docs/providers.md."""

    vendor_rules: bool = False
    """The host enforces the rules of Amazon Bedrock. Other hosts enforce only what `check` reports
    for an unknown provider."""
    server_tools: tuple[tuple[str, str], ...] = ()
    """The tools that the host runs: name of a form in `server_tools.py`, and a regular expression
    of the models that take it, empty for all."""
    lists_models: bool = False
    """The host lists models, and answers nothing else. Bedrock's other hosts do not list them."""


PLAIN = Dialect()
"""The dialect of an unknown host."""
