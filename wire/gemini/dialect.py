"""Differences between the hosts of Gemini's wire, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Quirks of one host. Their sources: the rules in docs/rules.md that name a host.

    >>> from wire.gemini.rows import ROWS
    >>> [(row.name, row.dialect.api) for row in ROWS]
    [('gemini', 'gemini'), ('gemini@vertex', 'vertex')]
    """

    api: Literal["", "gemini", "vertex"] = ""
    """The API whose fields, limits and error texts apply. Empty for an unknown host, where only
    the rules that both APIs share apply.
    """
