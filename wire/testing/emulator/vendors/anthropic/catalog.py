"""The models of Anthropic, and what the models endpoint says about them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wire.anthropic.families import (
    all_efforts,
    efforts,
    family,
    takes_adaptive,
    takes_budget,
    takes_schema,
)
from wire.catalogue.abilities import longest_output
from wire.catalogue.catalogue import has_model
from wire.catalogue.facts import shipped
from wire.testing.emulator.vendors.anthropic.lists import page


def is_known(model: str) -> bool:
    """Return whether a model has this name; a date or `-latest` may follow it.

    >>> is_known("claude-opus-5"), is_known("claude-sonet-4-5"), is_known("gpt-5.4")
    (True, False, False)
    """
    return has_model("anthropic", model)


def max_prompt_tokens(model: str) -> int:
    """Return the maximum tokens of a prompt."""
    return 1_000_000 if family(model).since(4, 6) else 200_000


def description(model: str) -> dict[str, Any]:
    """Describe a model in the format of the models endpoint."""
    of = family(model)
    words = re.sub(r"-\d{8}$", "", model).split("-")
    title = re.sub(r"(?<=\d) (?=\d)", ".", " ".join(word.capitalize() for word in words))
    most = longest_output("anthropic", model, 10**9) or 8192
    levels = efforts(of)
    types = {"enabled": takes_budget(of), "adaptive": takes_adaptive(of)}
    return {
        "type": "model",
        "id": model,
        "display_name": title,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": max_prompt_tokens(model),
        "max_tokens": most,
        "capabilities": {
            "batch": _can(True),
            "citations": _can(True),
            "effort": _can(bool(levels))
            | {level: _can(level in levels) for level in all_efforts()},
            "image_input": _can(True),
            "pdf_input": _can(True),
            "structured_outputs": _can(takes_schema(of)),
            "thinking": _can(any(types.values()))
            | {"types": {name: _can(takes) for name, takes in types.items()}},
        },
    }


def _can(supported: bool) -> dict[str, Any]:
    return {"supported": supported}


def listed(query: Mapping[str, str], date: str = "") -> dict[str, Any]:
    """Return a page of the models of a day."""
    return page([description(each) for each in shipped().living("anthropic", date)], query)
