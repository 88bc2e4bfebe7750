"""What a host of Messages does differently, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Quirks of one host. Sources and dates of each value: docs/providers.md."""

    vendor_rules: bool = False
    """Enforces the rules of Anthropic's own API; other hosts enforce only what `check` reports for
    an unknown provider."""
    newest_models: bool = False
    """A model name that is not in the table of families is a new model of Anthropic's, and takes
    what its newest ones take. At other hosts it is a model of theirs."""
    adaptive_only: bool = False
    """Its models know no token budget for thinking, and no effort level beside it."""
    reads_effort: bool = False
    """Ignores the budget and reads `output_config.effort`."""


PLAIN = Dialect()
"""A host that nothing is known about."""
