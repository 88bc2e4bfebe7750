"""Rules of items that belong together: calls and their outputs, reasoning and what it led to.

Each function checks the rules whose ids its docstring begins with, and yields one violation for
each breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

from collections.abc import Iterator

from wire.core.errors import Violation
from wire.openai.responses.rules.rule_input import (
    CALL_NAMES,
    OUTPUT_OF,
    Entry,
    RuleInput,
    violation,
)

_REMEDY = "answer it with an output of the same call_id, or remove the call"

Violations = Iterator[Violation]


# --- calls and outputs ----------------------------------------------------------------------------


def outputs_have_calls(request: RuleInput) -> Violations:
    """P8: an output follows the call that it answers, unless the server may hold the call."""
    if request.continues or request.body.has_references:
        return
    calls: set[str] = set()
    for item in request.body.items_beyond_messages:
        # A shell call may be answered by the output of another type, so only ids are compared.
        if item.type.endswith("_call"):
            calls.add(item.call_id)
        elif item.type in OUTPUT_OF and item.call_id and item.call_id not in calls:
            message = (
                f"No tool call found for {OUTPUT_OF[item.type]} output with call_id {item.call_id}."
            )
            remedy = "send the call before it, or remove the output"
            yield violation(item.path, message, "P8", remedy, request.severity, field="input")


def calls_have_outputs(request: RuleInput) -> Violations:
    """P9, P10: a call has an output after it; at some hosts directly after it."""
    if request.dialect.adjacent_results:
        yield from _adjacent(request)
        return
    if request.body.has_references:
        return
    answered: set[str] = set()
    unanswered: list[Entry] = []
    for item in reversed(request.body.items_beyond_messages):
        if item.type in OUTPUT_OF or item.type.endswith("_call_output"):
            answered.add(item.call_id)
        elif item.type in CALL_NAMES and item.call_id and item.call_id not in answered:
            unanswered.append(item)
    for call in reversed(unanswered):
        message = f"No tool output found for {CALL_NAMES[call.type]} {call.call_id}."
        yield violation(call.path, message, "P9", _REMEDY, request.severity, field="input")


def _adjacent(request: RuleInput) -> Violations:
    """P10: after the calls of a turn come their outputs, with no message between."""
    calls: list[Entry] = []
    answered: set[str] = set()
    for item in [*request.items, None]:
        if item is not None and item.type in OUTPUT_OF:
            answered.add(item.call_id)
            continue
        is_call = item is not None and item.type in CALL_NAMES
        if answered or item is None or item.type == "message":
            for call in calls:
                if call.call_id not in answered:
                    message = f"No tool output found for tool call {call.call_id}."
                    remedy = "send all calls of a turn, then all their outputs, then messages"
                    code = "invalid_request_error"
                    yield violation(call.path, message, "P10", remedy, code=code, field="")
            calls, answered = [], set()
        if is_call and item is not None:
            calls.append(item)


# --- reasoning ------------------------------------------------------------------------------------


def reasoning_is_followed(request: RuleInput) -> Violations:
    """P11: reasoning with an id precedes the item that it led to.

    Encrypted reasoning without an id is not checked by the server.
    """
    if not request.at_openai:
        return
    following: Entry | None = None
    alone: list[Entry] = []
    for item in reversed(request.items):
        if item.type != "reasoning":
            following = item
        elif item.id and (following is None or not following.is_models):
            alone.append(item)
    for item in reversed(alone):
        message = (
            f"Item '{item.id}' of type 'reasoning' was provided without its required following "
            "item."
        )
        remedy = "send the item after it too, unchanged and in its place, or remove both"
        yield violation(item.path, message, "P11", remedy, field="input")


def items_have_reasoning(request: RuleInput) -> Violations:
    """P12: an item that reasoning led to has this reasoning before it.

    A warning: only the server knows whether there was reasoning before a stored item. DeepSeek
    refuses calls without their reasoning, and was recorded to accept some.
    """
    if request.dialect.adjacent_results:
        yield from _reasoning_sent_back(request)
    if not request.at_openai or request.continues or not request.is_reasoning:
        return
    for before, item in zip([None, *request.items], request.items, strict=False):
        starts_turn = before is None or not before.is_models
        if item.id and starts_turn and item.type in ("message", *CALL_NAMES) and item.is_models:
            message = (
                f"Item '{item.id}' of type '{item.type}' was provided without its required "
                "'reasoning' item."
            )
            remedy = "send the reasoning before it, or leave the id out"
            yield violation(item.path, message, "P12", remedy, "warning", field="input")


def _reasoning_sent_back(request: RuleInput) -> Violations:
    if request.effort == "none":
        return
    for before, item in zip([None, *request.items], request.items, strict=False):
        starts_turn = before is None or not before.is_models
        if item.type == "function_call" and starts_turn:
            message = "The `reasoning_text` in the thinking mode must be passed back to the API."
            remedy = "send the reasoning item that came before the call"
            yield violation(item.path, message, "P12", remedy, "warning", field="")
