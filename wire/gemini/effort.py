"""How much to think, as a budget or a level: 2.5 counts tokens, later models know levels (S2-23,
U-149).
"""

from __future__ import annotations

from wire.core.memory import Note
from wire.gemini.families import REFUSED_LEVELS, UNLISTED_LEVELS, Family, budget
from wire.gemini.types import ThinkingConfig

BUDGETS = {"minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens for the words of chat completions, as Google's own endpoint for chat completions counts
them.
"""

LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")


def thinking(effort: str, of: Family, found: list[Note]) -> ThinkingConfig | None:
    """The thinking that an effort asks of a model, `None` if it has none; words that nobody knows
    are passed on as levels.

    >>> from wire.gemini.families import family
    >>> (
    ...     thinking("medium", family("gemini-2.5-flash"), []),
    ...     thinking("medium", family("gemini-3-pro-preview"), []),
    ... )
    (ThinkingConfig(include_thoughts=True, thinking_budget=8192), ThinkingConfig(include_thoughts=True, thinking_level='MEDIUM'))
    """  # noqa: E501
    word = str(effort).lower()
    if of.before(2, 5):
        if word != "none":
            found.append(Note("effort", "not sent: models before 2.5 do not think"))
        return None
    shown = None if word == "none" else True
    if of.before(3) and (word in BUDGETS or word == "none"):
        return ThinkingConfig(include_thoughts=shown, thinking_budget=_tokens(word, of, found))
    return ThinkingConfig(include_thoughts=shown, thinking_level=_level(word, of, found))


def _tokens(word: str, of: Family, found: list[Note]) -> int:
    limits = budget(of)
    if word == "none":
        if limits is None or limits.off:
            return 0
        found.append(
            Note(
                "effort",
                f"the least that this model takes, {limits.low} tokens: it cannot do "
                "without thinking",
            )
        )
        return limits.low
    return BUDGETS[word] if limits is None else min(max(BUDGETS[word], limits.low), limits.high)


def _level(word: str, of: Family, found: list[Note]) -> str:
    if word == "none":
        level = next(level for level in LEVELS if not _lacks(of, level))
        found.append(
            Note("effort", f"the lowest level, {level}: this model cannot do without thinking")
        )
        return level
    level = word.upper()
    if level in LEVELS and _lacks(of, level):
        nearest = next(other for other in LEVELS[LEVELS.index(level) :] if not _lacks(of, other))
        found.append(Note("effort", f"{nearest}: this model has no level {level}"))
        return nearest
    return level


def _lacks(of: Family, level: str) -> bool:
    """Whether the model refuses the level, or its documentation does not list it: of the Pro models
    none lists MINIMAL.
    """
    if of.name != "gemini" or of.version is None:
        return False
    key = (of.version, of.variant)
    listed = level not in UNLISTED_LEVELS.get(key, ()) and not (
        of.variant == "pro" and level == "MINIMAL"
    )
    return level in REFUSED_LEVELS.get(key, ()) or not listed
