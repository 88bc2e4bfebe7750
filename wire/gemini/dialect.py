"""Differences between the hosts of Gemini's wire, as data."""

from __future__ import annotations

from typing import Literal

import msgspec

from wire.core.fields import Fields


class Dialect(msgspec.Struct, frozen=True, kw_only=True, metaclass=Fields):
    """Quirks of one host. Their sources: the rules in docs/rules.md that name a host.

    >>> from wire.gemini.rows import ROWS
    >>> [(row.name, row.dialect.api) for row in ROWS]
    [('gemini', 'gemini'), ('gemini@vertex', 'vertex')]
    """

    api: Literal["", "gemini", "vertex"] = ""
    """The API whose fields, limits and error texts apply. Empty for an unknown host, where only
    the rules that both APIs share apply.
    """
    server_tools: tuple[tuple[str, str], ...] = ()
    """The tools that the host runs: name of a form in `server_tools.py`, and a regular expression
    of the models that take it, empty for all."""
    decisions: Literal["", "map"] = ""
    """The shape of the host's decisions; empty for a host that has none."""
