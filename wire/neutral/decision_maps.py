"""Decisions whose questions and answers are maps by name: the shape of System One, which Google has
too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.core.errors import RuleError, Violation
from wire.neutral.decisions import (
    Decision,
    Kind,
    Question,
    Value,
    one_of_answer,
    scale_answer,
    unknown_answer,
    yes_no_answer,
)

_KINDS: Mapping[str, Kind] = {"noul": "yes_no", "choice": "one_of", "score": "scale"}
TYPES = {kind: word for word, kind in _KINDS.items()}
"""Kind of a question to its type on the wire."""


def criteria_of(question: Question, path: str, empty: str | None) -> dict[str, Any] | list[Any]:
    """Return the criteria of a `one_of` or a `scale`. `empty` stands for an option without a
    meaning.

    Raises `RuleError` for an option that is a bool: the keys of an object are texts.
    """
    if question.kind == "scale":
        return [f"{label}: {text}" if text else str(label) for label, text in _pairs(question)]
    if any(isinstance(value, bool) for value in question.options):
        told = "options of this host are texts: use 'true' and 'false', or yes_no"
        raise RuleError(violations=[Violation(path, told)])
    return {str(value): text or empty for value, text in _pairs(question)}


def _pairs(question: Question) -> Any:
    return question.options.items()


def answers_of(
    questions: Mapping[str, Question], answers: Mapping[str, Any]
) -> dict[str, Decision]:
    """Convert the answers that came, in the order of the questions.

    An answer is a struct of the wire with `type`, `noul`, `choice`, `score`, `confidence` and
    `probabilities`.
    """
    return {
        name: _answer(each, answers[name]) for name, each in questions.items() if name in answers
    }


def _answer(question: Question, answer: Any) -> Decision:
    kind, given = _KINDS.get(answer.type or ""), answer.probabilities or {}
    if kind != question.kind:
        return unknown_answer(question.kind, answer)
    if kind == "yes_no":
        return yes_no_answer(answer.noul, answer.confidence, answer)
    if kind == "one_of":
        options: dict[Value, float] = dict(given.items())
        return one_of_answer(answer.choice, options, answer.confidence, answer)
    # Levels are numbered from 0 on.
    labels: dict[Value, float] = {
        label: given[str(number)]
        for number, label in enumerate(question.options)
        if str(number) in given
    }
    return scale_answer(answer.score, labels, answer.confidence, answer)
