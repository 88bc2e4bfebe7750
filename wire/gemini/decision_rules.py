"""What Google's decisions refuse, by the request alone.

Sources: google-genai 3.6.1, _gaos/types/decisions; the limit of questions is that of Google's
announcement of 2026-11-11. No refusal is recorded: the words are inferred.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from wire.core.errors import Violation
from wire.gemini.types.decisions import CreateDecisionRequest, DecisionContent, DecisionQuestion
from wire.neutral.decisions import LEAST_OPTIONS, MOST_OPTIONS

MOST_QUESTIONS = 1000
_MEDIA = ("image", "document", "audio", "video")
_INPUTS = ("text", *_MEDIA)
_CRITERIA = {"noul": dict, "choice": dict, "score": list}
_OF_NOUL = {"true_description", "false_description"}
_OPTION = re.compile(r"(?!\s)[^\x00-\x1f\x7f]+(?<!\s)")
"""The name of an option: no control characters, no spaces around it."""


def violations_of(request: CreateDecisionRequest) -> Iterator[Violation]:
    """Yield what Google refuses of a request."""
    for name in ("model", "input", "questions"):
        if not getattr(request, name):
            yield _missing(name)
    yield from _contents(request.input, "input", _INPUTS)
    questions = request.questions or {}
    if len(questions) > MOST_QUESTIONS:
        told = f"at most {MOST_QUESTIONS} questions can be in one request, not {len(questions)}."
        yield Violation("questions", told)
    for name, question in questions.items():
        yield from _question(question, f"questions.{name}")


def _contents(given: Any, path: str, kinds: tuple[str, ...]) -> Iterator[Violation]:
    if given is None or isinstance(given, str):
        return
    alone = isinstance(given, DecisionContent)
    for index, content in enumerate([given] if alone else given):
        at = path if alone else f"{path}[{index}]"
        if content.type not in kinds:
            yield _invalid(f"{at}.type", content.type, kinds)
        elif content.type == "text" and content.text is None:
            yield _missing(f"{at}.text")
        elif content.type in _MEDIA and (content.data is None) == (content.uri is None):
            yield Violation(at, f"expected either data or uri at '{at}'.")


def _question(question: DecisionQuestion, path: str) -> Iterator[Violation]:
    if question.type not in _CRITERIA:
        yield _invalid(f"{path}.type", question.type, tuple(_CRITERIA))
        return
    if not question.instructions:
        yield _missing(f"{path}.instructions")
    yield from _contents(question.instructions, f"{path}.instructions", ("text",))
    criteria, at = question.criteria, f"{path}.criteria"
    if criteria is None:
        if question.type != "noul":
            yield _missing(at)
        return
    if not isinstance(criteria, _CRITERIA[question.type]):
        expected = "a list" if question.type == "score" else "an object"
        yield Violation(at, f"expected {expected} at '{at}'.")
    elif question.type == "noul":
        for key in criteria:
            if key not in _OF_NOUL:
                yield Violation(f"{at}.{key}", f"Unknown parameter '{key}' at '{at}'.")
    elif not LEAST_OPTIONS <= len(criteria) <= MOST_OPTIONS:
        told = f"expected {LEAST_OPTIONS} to {MOST_OPTIONS} criteria at '{at}', not {len(criteria)}"
        yield Violation(at, f"{told}.")
    else:
        yield from _texts(criteria, at)


def _texts(criteria: Any, path: str) -> Iterator[Violation]:
    """Yield the names of options and the levels that are refused."""
    if isinstance(criteria, list):
        for index, level in enumerate(criteria):
            if not level.strip():
                yield Violation(f"{path}[{index}]", f"a level is empty at '{path}[{index}]'.")
        return
    for name in criteria:
        if not _OPTION.fullmatch(name):
            told = "an option must not be empty, nor have control characters or spaces around it"
            yield Violation(f"{path}.{name}", f"{told}, at '{path}'.")


def _missing(path: str) -> Violation:
    return Violation(path, f"'{path}' is required.")


def _invalid(path: str, value: object, known: tuple[str, ...]) -> Violation:
    if value is None:
        return _missing(path)
    place, _, key = path.rpartition(".")
    told = f"The value '{value}' is not supported for '{key}' at '{place}'."
    return Violation(path, told, remedy=f"use one of {', '.join(known)}")
