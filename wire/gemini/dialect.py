"""What a host of Gemini's wire does differently, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Quirks of one host. Source of the differences: docs/rules.md, rules that name a host."""

    api: Literal["", "gemini", "vertex"] = ""
    """Whose fields, limits and error words apply. Empty where the host is not known: then only
    rules that both APIs share are applied."""
