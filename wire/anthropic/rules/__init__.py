"""The rules that the server enforces, checked before a request is sent; ids as in docs/rules.md.

`check(request, model, provider)` returns all violations at once, each with its JSON path, the
server's words, the rule's id and a remedy. Conventions of this folder:

- A rule of certain models or of Anthropic alone is not applied to others, nor to an unknown model
  or provider.
- An `error` is refused today. A `warning` was refused in the past, is refused by some other hosts,
  or is documented without having been observed.
- Only the server can verify that a thinking block and its signature are unchanged. The rules do not
  try: received blocks are sent back with the bytes in which they came.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wire.anthropic.rows import provider_row
from wire.anthropic.rules import media, settings, tool_search, turns
from wire.anthropic.rules.rule_input import BLOCKS, RuleInput, violation
from wire.anthropic.rules.rule_input import Body as Body
from wire.anthropic.rules.rule_input import as_object as as_object
from wire.anthropic.rules.settings import MIN_THINKING_BUDGET_TOKENS as MIN_THINKING_BUDGET_TOKENS
from wire.anthropic.rules.settings import nodes as nodes
from wire.anthropic.rules.settings import reference_cycle as reference_cycle
from wire.anthropic.rules.turns import CALL_ID as CALL_ID
from wire.anthropic.rules.turns import TOOL_NAME as TOOL_NAME
from wire.anthropic.types import CountTokensRequest, MessageRequest
from wire.catalogue.facts import ending
from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.provider import Provider

Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("A1", turns.messages_present),
    ("A2", turns.roles_valid),
    ("A3", turns.user_first),
    ("A4", turns.roles_alternate),
    ("A5", turns.contents_not_empty),
    ("A6 A7", turns.texts_not_blank),
    ("A8", turns.calls_have_results),
    ("A9 A10", turns.results_have_calls),
    ("A11", turns.server_results_have_calls),
    ("A12 A13", turns.call_ids_valid),
    ("A14 A24", turns.arguments_are_objects),
    ("A15", turns.error_results_are_text),
    ("A16", turns.thinking_is_signed),
    ("A17", turns.final_turn_starts_with_thinking),
    ("A18", turns.no_thinking_while_disabled),
    ("A19 A20", turns.prefill_supported),
    ("A21 A22 A23", turns.cache_breakpoints_valid),
    ("A24 A25 A26", settings.tools_valid),
    ("A27 A28", settings.tool_choice_valid),
    ("A29 A30", settings.strict_schemas_within_limits),
    ("A30 A31", settings.output_schema_is_closed),
    ("A32", settings.thinking_budget_valid),
    ("A33", settings.thinking_type_supported),
    ("A34", settings.effort_supported),
    ("A35 A49", settings.context_edits_valid),
    ("A36", settings.max_tokens_given),
    ("A37 A38 A39 A42", settings.sampling_supported),
    ("A40", settings.tools_given_with_calls),
    ("A41", settings.model_is_served),
    ("A43 A44", turns.blocks_are_of_their_role),
    ("A45", turns.system_messages_placed),
    ("A46 A47", settings.server_state_valid),
    ("A48", media.images_are_read),
    ("A50", tool_search.deferred_tools_findable),
)
"""Ids of rules, and the function that checks them."""

_NEEDS: dict[Rule, frozenset[str]] = {
    turns.contents_not_empty: frozenset({BLOCKS}),
    turns.calls_have_results: frozenset({BLOCKS}),
    turns.results_have_calls: frozenset({BLOCKS}),
    turns.server_results_have_calls: frozenset({BLOCKS}),
    turns.call_ids_valid: frozenset({BLOCKS}),
    turns.arguments_are_objects: frozenset({BLOCKS}),
    turns.error_results_are_text: frozenset({BLOCKS}),
    turns.thinking_is_signed: frozenset({BLOCKS}),
    turns.final_turn_starts_with_thinking: frozenset({"thinking"}),
    turns.no_thinking_while_disabled: frozenset({BLOCKS}),
    turns.cache_breakpoints_valid: frozenset({BLOCKS, "system", "tools"}),
    turns.blocks_are_of_their_role: frozenset({BLOCKS}),
    media.images_are_read: frozenset({BLOCKS}),
    settings.tools_valid: frozenset({"tools"}),
    settings.tool_choice_valid: frozenset({"tool_choice"}),
    settings.strict_schemas_within_limits: frozenset({"tools"}),
    settings.output_schema_is_closed: frozenset({"output_config", "output_format"}),
    settings.thinking_budget_valid: frozenset({"thinking"}),
    settings.thinking_type_supported: frozenset({"thinking"}),
    settings.effort_supported: frozenset({"output_config"}),
    settings.context_edits_valid: frozenset({"context_management"}),
    settings.sampling_supported: frozenset({"temperature", "top_p", "top_k"}),
    settings.tools_given_with_calls: frozenset({BLOCKS}),
    settings.server_state_valid: frozenset({"thread", "compaction"}),
    tool_search.deferred_tools_findable: frozenset({"tools"}),
}
"""Rules that find nothing in a request that has none of these keys."""


@functools.lru_cache(maxsize=256)
def _rules_for(keys: frozenset[str]) -> tuple[tuple[str, Rule], ...]:
    """Return the rules that can find a violation in a request with these keys.

    Most requests are texts.
    """
    return tuple(each for each in RULES if each[1] not in _NEEDS or _NEEDS[each[1]] & keys)


CHECKED = frozenset(name for names, _ in RULES for name in names.split())
"""Ids of all rules that `check` applies."""


@checked_arguments()
def check(
    request: MessageRequest | CountTokensRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "anthropic",
    *,
    endpoint: str = "messages",
    version: str = "",
    date: str = "",
) -> list[Violation]:
    """Return the violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> from wire.anthropic.types import Message
    >>> request = MessageRequest(
    ...     model="claude-sonnet-5",
    ...     max_tokens=100,
    ...     messages=[Message(role="user", content="Hi")],
    ...     temperature=0.5,
    ... )
    >>> print(check(request)[0])
    temperature: `temperature` is not supported for this model. [A37] (remove it)

    `model` defaults to the request's own. `provider` is a row or its name; `""` is an unknown host,
    for which rules of Anthropic alone are not applied. `endpoint` is `messages` or `count_tokens`,
    which needs no `max_tokens`. `version` is the version of the API that is asked for, such as
    `2026-10-21`: the rules of one version are applied to that version only. A client checks a call
    with the version that it sends.

    `date` is the day on which it is sent, as `2026-11-28`: then a model that ends within 60 days is
    a warning too.

    A body that is not a JSON object is a violation too, not an exception.
    """
    if isinstance(request, CountTokensRequest):
        endpoint = "count_tokens"
    if expands((request,)):
        return [too_large(request, "")]
    return check_body(Body(request), model, provider, endpoint, version, date)


_WITH_SCHEMAS = ("tools", "output_config", "output_format")


def check_body(
    body: Body,
    model: str,
    provider: Provider | str,
    endpoint: str = "messages",
    version: str = "",
    date: str = "",
) -> list[Violation]:
    """Return the violations, as `check`, of a request that was encoded before.

    A body that is checked for several hosts is read once.
    """
    try:
        if not isinstance(body.plain, Mapping):
            return [violation("", "expected a JSON object", "A1")]
        schemas = {key: body.plain[key] for key in _WITH_SCHEMAS if key in body.plain}
        if expands((schemas,), BOUNDS.schema_values):
            return [too_large(schemas, "", BOUNDS.schema_values)]
        model = model or str(body.plain.get("model") or "")
        row = provider_row(provider)
        if row.versions and version == row.version:
            version = row.version_for(model)
        request = RuleInput(body, model, row.dialect, endpoint, version)
        violations: list[Violation] = []
        found_before = body.found.setdefault((model, endpoint), {})
        for _, rule in _rules_for(body.keys):
            found = found_before.get(rule)
            if found is None:
                request.has_read_host = False
                found = tuple(rule(request))
                if not request.has_read_host:  # then it finds the same for each host
                    found_before[rule] = found
            violations += found
        return violations + ending(model, row.name, date) if date else violations
    except (TypeError, ValueError, RecursionError) as cause:
        return [violation("", f"the body is not valid JSON: {cause}", "A1")]
