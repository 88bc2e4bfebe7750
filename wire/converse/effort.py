"""The neutral `effort` as fields that the model itself reads, by its family."""

from __future__ import annotations

from typing import Any

from wire.catalogue.facts import names_of, nearest
from wire.converse.families import Family
from wire.core.memory import Note

_BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
"""Budget of each effort in tokens, for models that take a budget."""
_LEAST_BUDGET = 1024
_WORDS = {
    "reasoningConfig": ("low", "medium", "high"),
    "reasoning_effort": ("low", "medium", "high"),
    "reasoning_config": ("low", "high"),
}
"""Key of the effort -> its words, in ascending order."""


def effort_fields(
    effort: str, model: str, family: Family, max_tokens: int | None, notes: list[Note]
) -> dict[str, Any]:
    """Return the fields of `additionalModelRequestFields` for a neutral effort.

    `max_tokens` is the caller's own, `None` if not given. Each change is added to `notes`.

    >>> from wire.converse.families import family
    >>> name = "us.anthropic.claude-sonnet-4-6"
    >>> effort_fields("high", name, family(name), None, [])
    {'thinking': {'type': 'adaptive'}, 'output_config': {'effort': 'high'}}
    >>> name = "amazon.nova-2-lite-v1:0"
    >>> effort_fields("low", name, family(name), None, [])
    {'reasoningConfig': {'type': 'enabled', 'maxReasoningEffort': 'low'}}
    """
    level = effort.lower()
    if family.is_claude:
        return _of_claude(level, model, family, max_tokens, notes)
    if not family.effort:
        notes.append(Note("effort", "not sent: no form of it is known for this model"))
        return {}
    if level == "none" and family.effort == "reasoningConfig":
        return {family.effort: {"type": "disabled"}}
    if level == "none" and family.effort == "reasoning_config":
        return {}
    word = nearest("low" if level == "none" else level, _WORDS[family.effort])
    if word != level:
        notes.append(Note("effort", f"changed to {word}: this model has no effort {level}"))
    if family.effort == "reasoningConfig":
        return {family.effort: {"type": "enabled", "maxReasoningEffort": word}}
    return {family.effort: word}


def _of_claude(
    level: str, model: str, family: Family, max_tokens: int | None, notes: list[Note]
) -> dict[str, Any]:
    known, version = family.known, _version(model)
    if version is not None and version < (3, 7):
        if level != "none":
            notes.append(Note("effort", "not sent: models before 3.7 do not think"))
        return {}
    if level == "none":
        if known.off not in ("refused", "between_tools"):
            return {"thinking": {"type": "disabled"}}
        words = "changed to low: thinking cannot be disabled for this model"
        notes.append(Note("effort", words))
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}
    if known.adaptive is not False and (version is None or version >= (4, 6)):
        word = nearest("low" if level == "minimal" else level, known.efforts or (level,))
        if word != level:
            notes.append(Note("effort", f"changed to {word}: this model has no effort {level}"))
        # Without it the reply to a request with an effort would have empty thoughts.
        shown = {"display": "summarized"} if version is not None and version >= (4, 7) else {}
        return {"thinking": {"type": "adaptive", **shown}, "output_config": {"effort": word}}
    tokens = _budget(level, max_tokens, notes)
    return {"thinking": {"type": "enabled", "budget_tokens": tokens}} if tokens else {}


def _version(model: str) -> tuple[int, int] | None:
    match = names_of("anthropic.name").fullmatch(model.lower())
    if match is None:
        return None
    major, minor = match["major"] or match["old"], match["minor"] or match["old_minor"]
    return int(major), int(minor or 0)


def _budget(level: str, max_tokens: int | None, notes: list[Note]) -> int | None:
    tokens = _BUDGETS.get(level)
    if tokens is None:
        tokens = _BUDGETS["high"]
        words = f"changed to high ({tokens} tokens): no token budget is defined for {level}"
        notes.append(Note("effort", words))
    if max_tokens is None or tokens < max_tokens:
        return tokens
    if max_tokens <= _LEAST_BUDGET:
        words = f"not sent: thinking needs at least {_LEAST_BUDGET} tokens, and max_tokens is "
        notes.append(Note("effort", f"{words}{max_tokens}"))
        return None
    reduced = max(_LEAST_BUDGET, max_tokens // 2)
    words = f"reduced from {tokens} to {reduced} tokens: max_tokens is {max_tokens}, and includes "
    notes.append(Note("effort", f"{words}the answer"))
    return reduced
