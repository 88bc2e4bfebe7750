"""Probabilities of closed questions, made of the words of the question and of the input."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_MAX_CHARACTERS = 100_000
_WORD = 4.0
"""How much more probable an option is for each word that the input has too."""


def probabilities(question: str, options: Sequence[str], given: str) -> list[float]:
    """Return the probability of each option, with a sum of 1; the same question always gets the
    same.

    >>> calm, angry = probabilities("Mood?", ["calm", "angry"], "An angry customer.")
    >>> calm < angry
    True
    """
    words = _words(given)
    weights = []
    for option in options:
        text = f"{question}\n{option}\n{given[:_MAX_CHARACTERS]}"
        noise = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / (1 << 32)
        weights.append(0.1 + noise + _WORD * len(words & _words(option)))
    total = sum(weights)
    found = [round(each / total, 4) for each in weights]
    best = found.index(max(found))
    found[best] = round(found[best] + 1 - sum(found), 4)
    return found


def truth(question: str, given: str) -> float:
    """Return the probability that a statement is true, from 0.01 to 0.99."""
    true, _ = probabilities(question, ["true", "false"], given)
    return min(max(round(true, 2), 0.01), 0.99)


def score(weights: Sequence[float]) -> float:
    """Return the mean of the numbers of the levels, weighted by their probabilities."""
    return round(sum(number * each for number, each in enumerate(weights)), 4)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text[:_MAX_CHARACTERS].lower()))
