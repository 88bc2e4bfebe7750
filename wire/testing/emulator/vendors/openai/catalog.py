"""The models of OpenAI, by name, and which of them answer chat completions.

Facts and sources: recorded traffic up to November 2026, and the reference of August 2026.
"""

from __future__ import annotations

from wire.catalogue.catalogue import has_model
from wire.catalogue.facts import is_in

LISTED = ("gpt-5.4", "gpt-5.4-mini")
"""The models that the models endpoint lists."""


def is_known(model: str) -> bool:
    """Return whether a model of this name answers chat completions.

    >>> is_known("gpt-5.4-mini"), is_known("gpt-5.4-mimi"), is_known("gpt-4o-2024-08-06")
    (True, False, True)
    """
    named = model.startswith("ft:") or has_model("openai", model)
    return named and not is_shut_down(model) and not is_completions_model(model)


def is_shut_down(model: str) -> bool:
    """Return whether a model of this name answered once."""
    return is_in("openai.ended", model)


def is_completions_model(model: str) -> bool:
    """Return whether a model of this name answers the old completions, and no chat completions."""
    return is_in("openai.completions", model)
