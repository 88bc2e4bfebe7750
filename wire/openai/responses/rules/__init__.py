"""The rules that the server enforces, checked before a request is sent; ids as in docs/rules.md.

`check(request, model, provider)` returns all violations at once, each with its JSON path, the
server's words, the rule's id and a remedy. Conventions of this folder:

- Rules of OpenAI's own API are an `error` for hosts whose dialect has `vendor_rules`. For other
  hosts they are left out, or are a `warning`.
- Only the server can verify encrypted reasoning and ids of stored items. With
  `previous_response_id`, `conversation` or an `item_reference`, outputs may answer calls that the
  request does not contain.
- `Violation.code` and `Violation.field` are `code` and `param` of the server's error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wire.catalogue.facts import ending
from wire.core.arguments import checked_arguments
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.provider import Provider
from wire.openai.responses.rows import provider_row
from wire.openai.responses.rules import items, pairs, parts, settings
from wire.openai.responses.rules.rule_input import CALL_NAMES as CALL_NAMES
from wire.openai.responses.rules.rule_input import OUTPUT_OF as OUTPUT_OF
from wire.openai.responses.rules.rule_input import Body as Body
from wire.openai.responses.rules.rule_input import RuleInput, violation
from wire.openai.responses.types import ResponseRequest

Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("P1", items.input_present),
    ("P2", items.types_known),
    ("P3", items.roles_valid),
    ("P4", parts.parts_fit_their_item),
    ("P5", items.required_keys_present),
    ("P6", items.ids_valid),
    ("P7", items.ids_unique),
    ("P8", pairs.outputs_have_calls),
    ("P9 P10", pairs.calls_have_outputs),
    ("P11", pairs.reasoning_is_followed),
    ("P12", pairs.items_have_reasoning),
    ("P13", items.ids_are_stored),
    ("P14", items.no_null_keys),
    ("P15", settings.state_valid),
    ("P16", settings.fields_taken),
    ("P17", settings.values_in_range),
    ("P18", settings.sampling_supported),
    ("P19", settings.include_supported),
    ("P20 P21", settings.format_valid),
    ("P22", settings.tools_valid),
    ("P23", parts.media_readable),
    ("P24", items.reasoning_readable),
    ("P25", parts.media_are_read),
)
"""Ids of rules, and the function that checks them."""

CHECKED = frozenset(name for names, _ in RULES for name in names.split())
"""Ids of all rules that `check` applies."""


@checked_arguments()
def check(
    request: ResponseRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "openai@responses",
    *,
    date: str = "",
) -> list[Violation]:
    """Return the violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> print(check(ResponseRequest(model="gpt-5.6", input="Hi", top_logprobs=2))[0])
    top_logprobs: logprobs are not supported with reasoning models. [P18] (remove it)

    `model` defaults to the request's own. `provider` is a row or its name; `""` is an unknown host,
    for which only the rules of all hosts are applied.

    `date` is the day on which it is sent, as `2026-11-28`: then a model that ends within 60 days is
    a warning too.

    A body that is not a JSON object is a violation too, not an exception.
    """
    if expands((request,)):
        return [too_large(request, "")]
    return check_body(Body(request), model, provider, date)


def check_body(body: Body, model: str, provider: Provider | str, date: str = "") -> list[Violation]:
    """Return the violations, as `check`, of a request that was encoded before.

    A body that is checked for several hosts is read once.
    """
    try:
        if not isinstance(body.plain, Mapping):
            return [violation("", "expected a JSON object", "P1")]
        model = model or str(body.plain.get("model") or "")
        row = provider_row(provider)
        request = RuleInput(body, model, row.dialect)
        violations: list[Violation] = []
        for names, rule in RULES:
            found = body.found.get((names, model))
            if found is None:
                request.has_read_host = False
                found = tuple(rule(request))
                if not request.has_read_host:  # then it finds the same for each host
                    body.found[names, model] = found
            violations += found
        return violations + ending(model, row.name, date) if date else violations
    except (TypeError, ValueError, RecursionError) as cause:
        return [violation("", f"the body is not valid JSON: {cause}", "P1")]
