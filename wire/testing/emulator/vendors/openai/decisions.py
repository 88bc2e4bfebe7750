"""Decisions: OpenAI's, and System One's at OpenRouter."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec

from wire.catalogue.facts import is_in
from wire.core.bodies import decoded_body
from wire.core.errors import Violation
from wire.core.memory import WireStruct
from wire.openai.chat.types import (
    DecisionChoice,
    DecisionLevel,
    DecisionQuestion,
    DecisionRequest,
    SystemOneQuestion,
    SystemOneRequest,
)
from wire.openai.common.decision_rules import decision_violations, system_one_violations
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.decisions import probabilities, score, truth
from wire.testing.emulator.received import Received
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.errors import refusal

R = TypeVar("R", bound=WireStruct)

_TOKENS_OF_A_USD = 10_000_000
"""Tokens of the input of System One for 1 USD."""


def decide(request: Received, *, lenient: bool) -> Answer:
    """Answer each question of a request in OpenAI's shape."""
    asked = _read(request, DecisionRequest, decision_violations, _refused, lenient)
    if not (lenient or is_in("openai.decides", asked.model)):
        message = f"The model '{asked.model}' is not supported by this endpoint."
        raise refusal(400, message, param="model", code="unsupported_model")
    given = _text(asked.input)
    answers = [
        {"type": each.type, "name": each.name, **_answer(each, given)} for each in asked.questions
    ]
    tokens = count(given) + count(_text(asked.questions))
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": 0,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens,
    }
    return body_answer({"answers": answers, "model": asked.model, "usage": usage}, 200)


def _answer(question: DecisionQuestion, given: str) -> dict[str, Any]:
    told = _text(question.instructions)
    if question.type == "predicate":
        return {"probability": truth(told, given)}
    if question.type == "choice":
        values = [each.value for each in question.choices or ()]
        found = probabilities(
            told, [_meant(each.value, each) for each in question.choices or ()], given
        )
        best = found.index(max(found))
        pairs = [
            {"value": value, "probability": each} for value, each in zip(values, found, strict=True)
        ]
        return {"choice": values[best], "confidence": found[best], "probabilities": pairs}
    labels = [each.label for each in question.levels or ()]
    found = probabilities(told, [_meant(each.label, each) for each in question.levels or ()], given)
    levels = [
        {"label": label, "value": number, "probability": each}
        for number, (label, each) in enumerate(zip(labels, found, strict=True))
    ]
    return {"score": score(found), "confidence": max(found), "probabilities": levels}


def _meant(value: object, option: DecisionChoice | DecisionLevel) -> str:
    return f"{value} {option.description or ''}"


def system_one(request: Received, *, lenient: bool) -> Answer:
    """Answer each question of a request in the shape of System One."""
    asked = _read(request, SystemOneRequest, system_one_violations, _refused_by_router, lenient)
    given = _text(asked.state)
    answers = {
        name: {"type": each.type, **_system_one_answer(each, given)}
        for name, each in asked.questions.items()
    }
    tokens = count(given) + count(_text(asked.questions))
    usage = {"input_tokens": tokens, "output_tokens": 0, "cost": tokens / _TOKENS_OF_A_USD}
    head = {"id": f"dec-{request.digest[:24]}", "model": asked.model, "provider": "TypeSafe"}
    return body_answer({**head, "answers": answers, "usage": usage}, 200)


def _system_one_answer(question: SystemOneQuestion, given: str) -> dict[str, Any]:
    told = _text(question.instructions)
    if question.type == "noul":
        return {"noul": truth(told, given)}
    if question.type == "box":
        box = {"left": 0.25, "top": 0.25, "right": 0.75, "bottom": 0.75}
        return {"box": box, "confidence": truth(told, given)}
    criteria = question.criteria or ()
    if isinstance(criteria, dict):
        options = [f"{name} {_text(text)}" for name, text in criteria.items()]
        found = probabilities(told, options, given)
        named = dict(zip(criteria, found, strict=True))
        choice = max(named, key=named.__getitem__)
        return {"choice": choice, "confidence": named[choice], "probabilities": named}
    found = probabilities(told, [_text(each) for each in criteria], given)
    return {
        "score": score(found),
        "confidence": max(found),
        "probabilities": {str(number): each for number, each in enumerate(found)},
        "legend": {str(number): each for number, each in enumerate(criteria)},
    }


def _read(
    request: Received,
    kind: type[R],
    violations: Callable[[R], Iterable[Violation]],
    refused: Callable[[Violation], Refusal],
    lenient: bool,
) -> R:
    """Decode a body. Raises `Refusal` for what the server does not take."""
    asked, problems = decoded_body(request.body, kind)
    if asked is None:
        raise refused(problems[0])
    if lenient:
        return asked
    for each in problems:
        told = f"Unknown parameter: '{each.path}'."
        raise refused(Violation(each.path, told, code="unknown_parameter"))
    for each in violations(asked):
        raise refused(each)
    return asked


def _refused(problem: Violation) -> Refusal:
    if problem.code == "INVALID_ARGUMENT":  # the status, and no code of the vendor's
        return refusal(400, problem.message, param=problem.path or None)
    return refusal(400, problem.message, param=problem.path, code=problem.code)


def _refused_by_router(problem: Violation) -> Refusal:
    """Build the refusal in OpenRouter's envelope, whose code is the status."""
    body = {"error": {"message": problem.message, "code": 400}}
    return Refusal(json_answer(json_bytes(body), 400))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
