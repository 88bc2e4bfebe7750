"""Until when a model of the Gemini API answers; the days are those of `wire.catalogue.facts`."""

from __future__ import annotations

from wire.catalogue.facts import ModelFacts, facts

NEWEST = "gemini-3.8-flash"
"""The model that examples name."""


def lifetime(model: str) -> ModelFacts:
    """Return what is known of a model, with its days; nothing for a name of another vendor.

    >>> lifetime("gemini-2.0-flash-001").end(), lifetime("models/gemini-3.8-flash").end()
    ('2026-06-01', '')
    """
    known = facts(model)
    return known if known.vendor == "gemini" else ModelFacts()


def is_shut_down(model: str, day: str = "") -> bool:
    """Return whether a model is shut down on a day, by default that of the facts.

    >>> is_shut_down("gemini-3-pro-preview"), is_shut_down("gemini-3-pro-preview", "2026-03-08")
    (True, False)
    """
    known = lifetime(model)
    return known.has_ended(day) if day else known.gone
