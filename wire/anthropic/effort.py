"""How much to think, in the words of each model: since 4.6 as an effort, before as a budget of
tokens.
"""

from __future__ import annotations

from wire.anthropic.dialect import Dialect
from wire.anthropic.families import (
    EFFORTS,
    Family,
    always_thinks,
    efforts,
    takes_adaptive,
    takes_budget,
)
from wire.anthropic.rules.settings import LEAST_BUDGET
from wire.anthropic.types import Thinking
from wire.core.memory import Note

BUDGETS = {"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384}
"""Tokens for the words of chat completions; with the answer they fit what every model that counts
them can say.
"""


def thinking(
    effort: str, of: Family, dialect: Dialect, most: int | None, found: list[Note]
) -> tuple[Thinking | None, str | None]:
    """The thinking that an effort asks of a model, and the word of `output_config.effort`; `most`
    is `max_tokens`, if the caller named it.

    >>> from wire.anthropic.dialect import PLAIN
    >>> from wire.anthropic.families import family
    >>> thinking("medium", family("claude-sonnet-4-6"), PLAIN, None, [])
    (Thinking(type='adaptive'), 'medium')
    >>> thinking("medium", family("claude-sonnet-4-5"), PLAIN, None, [])
    (Thinking(type='enabled', budget_tokens=8192), None)
    """
    word = str(effort).lower()
    if of.before(3, 7):
        if word != "none":
            found.append(Note("effort", "not sent: models before 3.7 do not think"))
        return None, None
    if word == "none":
        if not always_thinks(of):
            return Thinking(type="disabled"), None
        found.append(Note("effort", "low: this model cannot do without thinking"))
        return Thinking(type="adaptive"), "low"
    unknown_here = of.version is None and dialect.newest_models
    if (of.version is not None and takes_adaptive(of)) or unknown_here or dialect.adaptive_only:
        # Since 4.7 thoughts are left out unless they are asked for; what they are is the caller's
        # to see.
        display = "summarized" if of.since(4, 7) else None
        return Thinking(
            type="adaptive", display=display
        ), None if dialect.adaptive_only else _level(word, of, found)
    # DeepSeek takes no notice of budgets, and reads the effort.
    level = _level(word, of, found) if dialect.reads_effort else None
    budget = _budget(word, most, found) if takes_budget(of) else None
    return (Thinking(type="enabled", budget_tokens=budget) if budget is not None else None), level


def _level(word: str, of: Family, found: list[Note]) -> str:
    taken = efforts(of)
    if word == "minimal":
        found.append(Note("effort", "low: the least that this wire has a word for"))
        return "low"
    if word in EFFORTS and word not in taken:
        nearest = next(
            (each for each in EFFORTS[EFFORTS.index(word) :] if each in taken), taken[-1]
        )
        found.append(Note("effort", f"{nearest}: this model has no level {word}"))
        return nearest
    return word


def _budget(word: str, most: int | None, found: list[Note]) -> int | None:
    tokens = BUDGETS.get(word)
    if tokens is None and word in EFFORTS:
        tokens = BUDGETS["high"]
        found.append(
            Note(
                "effort",
                f"high, {tokens} tokens: this model counts tokens, and {word} is no number of them",
            )
        )
    if tokens is None:
        found.append(
            Note("effort", f"not sent: this model counts tokens, and {word} is no number of them")
        )
        return None
    if not isinstance(most, int) or tokens < most:
        return tokens
    if most <= LEAST_BUDGET:
        found.append(
            Note(
                "effort",
                f"not sent: thinking takes {LEAST_BUDGET} tokens at least, and max_tokens "
                f"is {most}",
            )
        )
        return None
    less = max(LEAST_BUDGET, most // 2)
    found.append(
        Note(
            "effort",
            f"{less} tokens in place of {tokens}: max_tokens is {most}, and the answer "
            "needs some too",
        )
    )
    return less
