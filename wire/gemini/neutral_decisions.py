"""Decisions as neutral calls."""

from __future__ import annotations

import base64
import functools
from collections.abc import Mapping
from typing import Any

from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import BlockedError, ConfigurationError, RuleError, Violation
from wire.core.json_values import json_text
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.gemini.decision_rules import MOST_QUESTIONS
from wire.gemini.decisions import create_decision
from wire.gemini.rows import provider_row
from wire.gemini.types import (
    CreateDecisionRequest,
    CreateDecisionResponse,
    DecisionContent,
    DecisionQuestion,
    DecisionUsage,
)
from wire.neutral import decision_maps
from wire.neutral.decisions import (
    Content,
    DecideRequest,
    Decisions,
    Question,
    decisions_call,
    limited,
)
from wire.neutral.messages import Media

_KINDS = ("image", "audio", "video")


@checked_arguments(ConfigurationError, before=True)
def decide_call(
    request: DecideRequest, model: str, provider: Provider | str = "gemini"
) -> Call[Decisions] | None:
    """Return the call that answers the questions; `None` for a host without decisions.

    The call raises `BlockedError` if the filters of the host blocked the input. Raises `RuleError`
    for what the host does not take.
    """
    row = provider_row(provider)
    if not row.dialect.decisions:
        return None
    asked = limited(request, MOST_QUESTIONS).questions
    given = request.contents()
    (first, *more) = given
    input: Any = first
    if more or not isinstance(first, str):
        input = [_content(part, f"input[{index}]") for index, part in enumerate(given)]
    notes = [
        Note(f"input[{index}]", "sent as a text: there is no field for JSON")
        for index, part in enumerate(given)
        if isinstance(part, Mapping)
    ]
    questions = {key: _question(each, f"questions.{key}.options") for key, each in asked.items()}
    body = CreateDecisionRequest(model=model, input=input, questions=questions)
    convert = functools.partial(_converted, asked, model, row.name)
    return decisions_call(create_decision(body), request, convert, notes)


def _content(part: Content, path: str) -> DecisionContent:
    if isinstance(part, str):
        return DecisionContent(type="text", text=part)
    if not isinstance(part, Media):
        return DecisionContent(type="text", text=json_text(dict(part), path))
    if not part.media_type:
        told = "this host needs the media type of a URL, such as image/png"
        raise RuleError(violations=[Violation(f"{path}.media_type", told)])
    kind = part.media_type.partition("/")[0]
    data = None if part.data is None else base64.b64encode(part.data).decode()
    return DecisionContent(
        type=kind if kind in _KINDS else "document",
        data=data,
        uri=part.url,
        mime_type=part.media_type,
        resolution=part.detail if part.detail in ("low", "high") else None,
    )


def _question(question: Question, path: str) -> DecisionQuestion:
    criteria: Any = None
    if question.kind != "yes_no":
        criteria = decision_maps.criteria_of(question, path, "")
    elif question.options:
        meanings = question.options[True], question.options[False]
        named = zip(("true_description", "false_description"), meanings, strict=True)
        criteria = {name: text for name, text in named if text}
    return DecisionQuestion(
        type=decision_maps.TYPES[question.kind],
        instructions=question.instructions,
        criteria=criteria,
    )


def _converted(
    questions: Mapping[str, Question], model: str, provider: str, response: CreateDecisionResponse
) -> Decisions:
    feedback = response.prompt_feedback
    if feedback is not None and feedback.block_reason:
        detail = f": {feedback.block_reason_message}" if feedback.block_reason_message else ""
        told = f"blocked by the provider ({feedback.block_reason}){detail}"
        raise BlockedError(told, code=feedback.block_reason)
    found = decision_maps.answers_of(questions, response.answers or {})
    usage = None if response.usage is None else _usage(response.usage)
    return Decisions(found, model, provider, usage, source=response)


def _usage(usage: DecisionUsage) -> Usage:
    input = usage.total_input_tokens or 0
    thoughts = usage.total_thought_tokens or 0
    output = (usage.total_output_tokens or 0) + thoughts
    return Usage(
        input=input,
        output=output,
        cached=usage.total_cached_tokens or 0,
        reasoning=thoughts,
        total=usage.total_tokens or input + output,
    )
