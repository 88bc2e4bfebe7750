"""Decisions as neutral calls, in both shapes that hosts of this wire have."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError, RuleError, StreamInvalid, Violation
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral import decision_maps
from wire.neutral.decisions import (
    Content,
    DecideRequest,
    Decision,
    Decisions,
    Kind,
    Question,
    Value,
    decisions_call,
    limited,
    one_of_answer,
    scale_answer,
    unknown_answer,
    yes_no_answer,
)
from wire.neutral.messages import Media
from wire.openai.common.decision_input import image_url, input_of
from wire.openai.common.decision_rules import MOST_QUESTIONS, MOST_QUESTIONS_OF_SYSTEM_ONE
from wire.openai.common.decisions import decisions, reads_images, shape_of, system_one
from wire.openai.common.types import decisions as types

_TYPES: Mapping[str, Kind] = {"predicate": "yes_no", "choice": "one_of", "score": "scale"}
_WORDS = {kind: word for word, kind in _TYPES.items()}


@checked_arguments(ConfigurationError, before=True)
def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "openai"
) -> Call[Decisions] | None:
    """Return the call that answers the questions; `None` for a host without decisions.

    Raises `RuleError` for what the host does not take.
    """
    shape = shape_of(provider)
    if not shape:
        return None
    name = provider if isinstance(provider, str) else provider.name
    if shape == "list":
        return _call(request, model, name)
    return _system_one_call(request, model, name, reads_images(provider))


# --- OpenAI's shape -------------------------------------------------------------------------------


def _call(request: DecideRequest, model: str, name: str) -> Call[Decisions]:
    names = limited(request, MOST_QUESTIONS).questions
    (first, *more) = request.input
    input, told = input_of(request) if more or not isinstance(first, str) else (first, ())
    questions = [_question(key, each) for key, each in names.items()]
    body = types.DecisionRequest(model=model, input=input, questions=questions)
    notes = (
        Note(f"questions.{key}.options", "sent in the instructions: there is no field for them")
        for key, each in names.items()
        if each.kind == "yes_no" and each.options
    )
    convert = functools.partial(_converted, names, model, name)
    return decisions_call(decisions(body), request, convert, (*told, *notes))


def _question(name: str, question: Question) -> types.DecisionQuestion:
    options: dict[str, Any] = {}
    instructions, pairs = question.instructions, question.options.items()
    if question.kind == "yes_no":
        meanings = [f"{_TOLD[value is True]}: {text}" for value, text in pairs if text]
        instructions = "\n".join([instructions, *meanings])
    elif question.kind == "one_of":
        options["choices"] = [
            types.DecisionChoice(value=value, description=text or None) for value, text in pairs
        ]
    else:
        options["levels"] = [
            types.DecisionLevel(label=str(label), description=text or None) for label, text in pairs
        ]
    return types.DecisionQuestion(
        type=_WORDS[question.kind], name=name, instructions=instructions, **options
    )


_TOLD = {True: "True", False: "False"}


def _converted(
    questions: Mapping[str, Question], model: str, provider: str, response: types.Decision
) -> Decisions:
    answers = response.answers or []
    if len(answers) != len(questions):
        raise StreamInvalid(f"expected {len(questions)} answers, not {len(answers)}")
    found: dict[str, Decision] = {}
    for (name, question), answer in zip(questions.items(), answers, strict=True):
        if answer.name not in (name, None):
            raise StreamInvalid(f"the answer to {name!r} has the name {answer.name!r}")
        found[name] = _answer(question, answer)
    usage = None if response.usage is None else _usage(response.usage)
    return Decisions(found, response.model or model, provider, usage, source=response)


def _answer(question: Question, answer: types.DecisionAnswer) -> Decision:
    if answer.type == "refusal":
        return Decision(kind=question.kind, refused=True, source=answer)
    kind, given = _TYPES.get(answer.type or ""), answer.probabilities or ()
    if kind != question.kind:
        return unknown_answer(question.kind, answer)
    if kind == "yes_no":
        return yes_no_answer(answer.probability, answer.confidence, answer)
    if kind == "one_of":
        values = {each.value: each.probability for each in given}
        return one_of_answer(answer.choice, _known(values), answer.confidence, answer)
    levels = {each.label: each.probability for each in given}
    # The first level is 0 here, whatever number the host gives it.
    first = next((each.value for each in given if each.label == next(iter(question.options))), 0)
    score = None if answer.score is None else answer.score - float(first or 0)
    return scale_answer(score, _known(levels), answer.confidence, answer)


def _known(probabilities: Mapping[Any, float | None]) -> dict[Value, float]:
    return {
        key: each
        for key, each in probabilities.items()
        if each is not None and isinstance(key, str | bool)
    }


def _usage(usage: types.DecisionUsage) -> Usage:
    inputs = usage.input_tokens_details or types.DecisionInputTokensDetails()
    outputs = usage.output_tokens_details or types.DecisionOutputTokensDetails()
    input, output = usage.input_tokens or 0, usage.output_tokens or 0
    return Usage(
        input=input,
        output=output,
        cached=inputs.cached_tokens or 0,
        cache_written=inputs.cache_write_tokens or 0,
        reasoning=outputs.reasoning_tokens or 0,
        total=usage.total_tokens or input + output,
    )


# --- System One -----------------------------------------------------------------------------------


def _system_one_call(request: DecideRequest, model: str, name: str, reads: bool) -> Call[Decisions]:
    asked = limited(request, MOST_QUESTIONS_OF_SYSTEM_ONE).questions
    state: Any = [
        _state(part, f"input[{index}]", reads) for index, part in enumerate(request.contents())
    ]
    if len(state) == 1 and not isinstance(request.input[0], Media):
        [state] = state
    questions = {
        key: types.SystemOneQuestion(
            type=decision_maps.TYPES[each.kind],
            instructions=each.instructions,
            criteria=_criteria(each, f"questions.{key}.options"),
        )
        for key, each in asked.items()
    }
    body = types.SystemOneRequest(model=model, state=state, questions=questions)
    convert = functools.partial(_converted_from_system_one, asked, model, name)
    return decisions_call(system_one(body), request, convert)


def _state(part: Content, path: str, reads: bool) -> Any:
    """Return a part of the state; an image has the form of chat completions."""
    if not isinstance(part, Media):
        return part
    if not reads:
        told = "decisions of this host read no media; send a text or a JSON object"
        raise RuleError(violations=[Violation(path, told)])
    return {"type": "image_url", "image_url": {"url": image_url(part, path)}}


def _criteria(question: Question, path: str) -> dict[str, Any] | list[Any] | None:
    if question.kind != "yes_no":
        return decision_maps.criteria_of(question, path, None)
    if not question.options:
        return None
    if not all(question.options.values()):
        told = "this host takes what yes and no mean together: give both, or none"
        raise RuleError(violations=[Violation(path, told)])
    return {"true": question.options[True], "false": question.options[False]}


def _converted_from_system_one(
    questions: Mapping[str, Question], model: str, provider: str, response: types.SystemOneResponse
) -> Decisions:
    found = decision_maps.answers_of(questions, response.answers or {})
    sent, usage = response.usage, None
    if sent is not None and sent.input_tokens is not None:
        input, output = sent.input_tokens, sent.output_tokens or 0
        usage = Usage(input=input, output=output, total=input + output)
    return Decisions(found, response.model or model, provider, usage, source=response)
