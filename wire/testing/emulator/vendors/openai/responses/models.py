"""The models that answer Responses, and their default effort."""

from __future__ import annotations

from wire.catalogue.facts import facts, is_in
from wire.testing.emulator.vendors.openai import catalog

PROMPT_MODEL = "gpt-5.4-mini"
"""The model of each stored prompt, for a request that names a prompt and no model."""


def answers_responses(model: str) -> bool:
    """Return whether OpenAI has a model of this name for Responses.

    >>> answers_responses("gpt-5.6-sol"), answers_responses("gpt-audio-mini")
    (True, False)
    """
    known = facts(model)
    if known.is_sure("wires"):
        return "responses" in known.wires
    return catalog.is_known(model) and not is_in("openai.chat-only", model)


def default_effort(model: str) -> str | None:
    """Return the effort of a request without one; None for a model that does not reason.

    >>> [default_effort(each) for each in ("gpt-4o", "gpt-5.4-mini", "gpt-5-pro", "gpt-5.6")]
    [None, 'none', 'high', 'medium']
    """
    known = facts(model)
    return known.default_effort or "medium" if known.efforts else None


def encrypts_unasked(model: str) -> bool:
    """Return whether a model's reasoning has its encrypted content without `include`."""
    return is_in("openai.encrypts-unasked", model)
