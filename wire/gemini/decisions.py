"""Decisions as calls. Source: google-genai 3.6.1, _gaos/decisions.py, read on 2026-11-29."""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError
from wire.gemini.decision_rules import violations_of
from wire.gemini.paths import not_on_vertex, plain
from wire.gemini.types import CreateDecisionRequest, CreateDecisionResponse


@checked_arguments()
def create_decision(request: CreateDecisionRequest) -> Call[CreateDecisionResponse]:
    """Answer closed questions about one input, with probabilities. The Gemini API only.

    >>> from wire.gemini.types import DecisionQuestion
    >>> urgent = DecisionQuestion(type="noul", instructions="It is urgent.")
    >>> asked = CreateDecisionRequest(
    ...     model="gemini-decision-1", input="Help!", questions={"urgent": urgent}
    ... )
    >>> create_decision(asked).target
    '/decisions'

    Raises `RuleError` with the path of each value that Google refuses, and for one that JSON cannot
    encode.
    """
    if not isinstance(request, CreateDecisionRequest):
        raise wrong_type("request", request, "CreateDecisionRequest")
    body, read = checked_body(request)
    found = list(violations_of(read))
    if found:
        raise RuleError(violations=found)
    return plain(CreateDecisionResponse, "POST", "/decisions", body, host_rules=not_on_vertex)
