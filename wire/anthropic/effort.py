"""The neutral `effort` as settings of a model: an effort level since 4.6, a token budget before."""

from __future__ import annotations

from wire.anthropic.dialect import Dialect
from wire.anthropic.families import (
    Family,
    all_efforts,
    always_thinks,
    efforts,
    takes_adaptive,
    takes_budget,
)
from wire.anthropic.rules import MIN_THINKING_BUDGET_TOKENS
from wire.anthropic.types import Thinking
from wire.catalogue.facts import nearest
from wire.core.memory import Note

THINKING_BUDGET_TOKENS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
"""Budget for each neutral effort, in tokens. Budget and answer together fit the output limit of
every model that accepts a budget.
"""


def thinking_for(
    effort: str, family: Family, dialect: Dialect, max_tokens: int | None, notes: list[Note]
) -> tuple[Thinking | None, str | None]:
    """Return `thinking` and `output_config.effort` of a request for a neutral effort.

    `max_tokens` is the caller's own, `None` if not given. Each change is added to `notes`.

    >>> from wire.anthropic.dialect import PLAIN
    >>> from wire.anthropic.families import family
    >>> thinking_for("medium", family("claude-sonnet-4-6"), PLAIN, None, [])
    (Thinking(type='adaptive'), 'medium')
    >>> thinking_for("medium", family("claude-sonnet-4-5"), PLAIN, None, [])
    (Thinking(type='enabled', budget_tokens=8192), None)
    """
    level = str(effort).lower()
    if family.before(3, 7):
        if level != "none":
            notes.append(Note("effort", "not sent: models before 3.7 do not think"))
        return None, None
    if level == "none":
        if not always_thinks(family):
            return Thinking(type="disabled"), None
        notes.append(Note("effort", "changed to low: thinking cannot be disabled for this model"))
        return Thinking(type="adaptive"), "low"
    is_new_model = family.version is None and dialect.newest_models
    if (
        (family.version is not None and takes_adaptive(family))
        or is_new_model
        or dialect.adaptive_only
    ):
        # Without it the reply to a request with an effort would have empty thoughts.
        display = "summarized" if omits_thoughts(family) else None
        return Thinking(
            type="adaptive", display=display
        ), None if dialect.adaptive_only else _effort_level(level, family, notes)
    # DeepSeek ignores budgets and reads the effort, so both are sent there.
    effort_level = _effort_level(level, family, notes) if dialect.reads_effort else None
    budget = _budget(level, max_tokens, notes) if takes_budget(family) else None
    return (
        Thinking(type="enabled", budget_tokens=budget) if budget is not None else None
    ), effort_level


def omits_thoughts(family: Family) -> bool:
    """Return whether the text of thinking has to be requested, as since 4.7."""
    return family.since(4, 7)


def default_effort(family: Family) -> str:
    """Return the effort of a request without one; `high` if the model is not known."""
    return family.known.default_effort or "high"


def _effort_level(level: str, family: Family, notes: list[Note]) -> str:
    if level == "minimal":
        notes.append(Note("effort", "changed to low: the wire has no lower effort"))
        return "low"
    sent = nearest(level, efforts(family))
    if sent != level:
        notes.append(Note("effort", f"changed to {sent}: this model has no effort {level}"))
    return sent


def _budget(level: str, max_tokens: int | None, notes: list[Note]) -> int | None:
    tokens = THINKING_BUDGET_TOKENS.get(level)
    if tokens is None and level in all_efforts():
        tokens = THINKING_BUDGET_TOKENS["high"]
        notes.append(
            Note(
                "effort",
                f"changed to high ({tokens} tokens): no token budget is defined for {level}",
            )
        )
    if tokens is None:
        notes.append(
            Note(
                "effort",
                f"not sent: no token budget is defined for {level}",
            )
        )
        return None
    if not isinstance(max_tokens, int) or tokens < max_tokens:
        return tokens
    if max_tokens <= MIN_THINKING_BUDGET_TOKENS:
        notes.append(
            Note(
                "effort",
                f"not sent: thinking needs at least {MIN_THINKING_BUDGET_TOKENS} tokens, and "
                f"max_tokens is {max_tokens}",
            )
        )
        return None
    reduced = max(MIN_THINKING_BUDGET_TOKENS, max_tokens // 2)
    notes.append(
        Note(
            "effort",
            f"reduced from {tokens} to {reduced} tokens: max_tokens is {max_tokens}, and includes "
            "the answer",
        )
    )
    return reduced
