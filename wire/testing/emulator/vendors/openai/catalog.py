"""The models of OpenAI, by name.

Facts and sources: recorded traffic up to November 2026, and the reference of August 2026.
"""

from __future__ import annotations

from wire.catalogue.catalogue import has_model
from wire.catalogue.facts import is_in, shipped


def listed(date: str = "") -> tuple[str, ...]:
    """Return the models that the models endpoint lists on a day."""
    return shipped().living("openai", date)


def is_known(model: str) -> bool:
    """Return whether OpenAI has a model of this name.

    >>> is_known("gpt-5.4-mini"), is_known("gpt-5.4-mimi"), is_known("gpt-4o-2024-08-06")
    (True, False, True)
    """
    return model.startswith("ft:") or has_model("openai", model)


def may_be(model: str) -> bool:
    """Return whether a name is one of OpenAI's, or one that somebody may have misspelt.

    >>> may_be("gpt-5.4"), may_be("gpt-5.44"), may_be("house-7b")
    (True, True, False)
    """
    return is_known(model) or is_in("openai.first-letters", model)
