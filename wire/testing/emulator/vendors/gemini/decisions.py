"""Decisions. Their errors have the form of Interactions: the code is a word."""

from __future__ import annotations

from typing import Any

import msgspec

from wire.catalogue.facts import is_in
from wire.core.bodies import decoded_body
from wire.gemini.decision_rules import violations_of
from wire.gemini.types import CreateDecisionRequest, DecisionQuestion
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.decisions import probabilities, score, truth
from wire.testing.emulator.received import Received
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.gemini.bodies import whole


def decide(request: Received, *, lenient: bool) -> Answer:
    """Answer each question. Raises `Refusal`."""
    asked, problems = decoded_body(request.body, CreateDecisionRequest)
    if asked is None:
        raise _refused(f"Invalid value at '{problems[0].path}': {problems[0].message}")
    if not lenient:
        for each in problems:
            raise _refused(f"Unknown parameter '{each.path}'.")
        for each in violations_of(asked):
            raise _refused(each.message)
        if not is_in("gemini.decides", (asked.model or "").removeprefix("models/")):
            raise _refused(f"Model '{asked.model}' not found.", 404, "not_found")
    given = _text(asked.input)
    questions = asked.questions or {}
    answers = {
        name: {"type": each.type, **_answer(each, given)} for name, each in questions.items()
    }
    tokens = count(given) + count(_text(questions))
    usage = {
        "total_input_tokens": tokens,
        "input_tokens_by_modality": [{"modality": "text", "tokens": tokens}],
        "total_cached_tokens": 0,
        "total_output_tokens": 0,
        "total_thought_tokens": 0,
        "total_tool_use_tokens": 0,
        "total_tokens": tokens,
    }
    return whole({"answers": answers, "usage": usage})


def _answer(question: DecisionQuestion, given: str) -> dict[str, Any]:
    told = _text(question.instructions)
    if question.type == "noul":
        true = truth(told, given)
        return {"noul": true, "confidence": max(true, round(1 - true, 2))}
    criteria = question.criteria or {}
    if isinstance(criteria, dict):
        options = [f"{name} {text}" for name, text in criteria.items()]
        named = dict(zip(criteria, probabilities(told, options, given), strict=True))
        choice = max(named, key=named.__getitem__)
        return {"choice": choice, "confidence": named[choice], "probabilities": named}
    found = probabilities(told, criteria, given)
    return {
        "score": score(found),
        "confidence": max(found),
        "probabilities": {str(number): each for number, each in enumerate(found)},
        "legend": {str(number): each for number, each in enumerate(criteria)},
    }


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _refused(message: str, status: int = 400, code: str = "invalid_request") -> Refusal:
    body = {"error": {"message": message, "code": code}}
    return Refusal(whole(body, status))
