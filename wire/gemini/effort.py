"""Converts the neutral `effort` to a thinking budget or a thinking level: 2.5 has budgets in
tokens, later models have levels (S2-23, U-149).
"""

from __future__ import annotations

from wire.catalogue.facts import nearest
from wire.core.memory import Note
from wire.gemini.families import Family, budget
from wire.gemini.types import ThinkingConfig

BUDGETS = {"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Effort -> thinking budget in tokens. The numbers are those of Google's own endpoint for chat
completions.
"""

DEFAULT_EFFORTS = ("minimal", "low", "medium", "high")
"""Efforts of a model whose own are not known; each is a thinking level of that name."""


def thinking(effort: str, of: Family, report: list[Note]) -> ThinkingConfig | None:
    """Return the thinking config for an effort; `None` for a model that does not think.

    An unlisted effort is sent as a level of that name. `report` gets a note if the model cannot
    think as little, or at the level, that the effort requests.

    >>> from wire.gemini.families import family
    >>> thinking("medium", family("gemini-2.5-flash"), [])
    ThinkingConfig(include_thoughts=True, thinking_budget=8192)
    >>> thinking("medium", family("gemini-3.8-flash"), [])
    ThinkingConfig(include_thoughts=True, thinking_level='MEDIUM')
    """
    word = str(effort).lower()
    if of.before(2, 5):
        if word != "none":
            report.append(Note("effort", "not sent: models before 2.5 do not think"))
        return None
    include = None if word == "none" else True
    if of.before(3) and (word in BUDGETS or word == "none"):
        return ThinkingConfig(include_thoughts=include, thinking_budget=_tokens(word, of, report))
    return ThinkingConfig(include_thoughts=include, thinking_level=_level(word, of, report))


def _tokens(word: str, of: Family, report: list[Note]) -> int:
    """Return the budget for an effort, within the range of the model (G57)."""
    limits = budget(of)
    if word == "none":
        if limits is None or limits.off:
            return 0
        report.append(
            Note(
                "effort",
                f"sent as the model's smallest budget, {limits.low} tokens: it cannot turn "
                "thinking off",
            )
        )
        return limits.low
    return BUDGETS[word] if limits is None else min(max(BUDGETS[word], limits.low), limits.high)


def _level(word: str, of: Family, report: list[Note]) -> str:
    """Return the level for an effort, or the nearest one that the model has (G59)."""
    accepted = of.known.efforts or DEFAULT_EFFORTS
    nearest_word = nearest(word, accepted)
    level = nearest_word.upper()
    if word == "none":
        words = f"sent as the model's lowest level, {level}: it cannot turn thinking off"
        report.append(Note("effort", words))
    elif nearest_word != word:
        words = f"sent as {level}: this model has no level {word.upper()}"
        report.append(Note("effort", words))
    return level
