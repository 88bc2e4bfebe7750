"""The rules that the server enforces, checked before a request is sent; ids as in docs/rules.md.

`check(request, model, provider)` returns all violations at once, each with its JSON path, the
server's words, the rule's id and a remedy. Conventions of this folder:

- The service checks the form of a request by its model, and says so in the words of `constraint`.
  A model checks the rest: its words follow "The model returned the following errors:".
- A rule of certain models is not applied to others, nor to an unknown model.
- An `error` is refused today. A `warning` was refused in the past, is refused by some models of a
  family, or is documented without having been observed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wire.catalogue.facts import ending
from wire.converse.rows import provider_row
from wire.converse.rules import media, settings, turns
from wire.converse.rules.media import DOCUMENT_NAME as DOCUMENT_NAME
from wire.converse.rules.media import FORMATS as FORMATS
from wire.converse.rules.media import MAX_NAME as MAX_NAME
from wire.converse.rules.rule_input import Body as Body
from wire.converse.rules.rule_input import RuleInput, violation
from wire.converse.rules.turns import CALL_ID as CALL_ID
from wire.converse.rules.turns import TOOL_NAME as TOOL_NAME
from wire.converse.types import ConverseRequest, ConverseTokensRequest
from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.provider import Provider

Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("B1", turns.messages_present),
    ("B2", turns.roles_valid),
    ("B3", turns.user_first),
    ("B4", turns.roles_alternate),
    ("B5", turns.contents_not_empty),
    ("B6", turns.texts_not_blank),
    ("B7", turns.blocks_are_of_their_role),
    ("B8", turns.calls_have_results),
    ("B9", turns.results_have_calls),
    ("B10", turns.call_ids_valid),
    ("B11 B12", turns.calls_well_formed),
    ("B13", turns.results_say_something),
    ("B14", turns.turns_of_tools_alone),
    ("B15", turns.tools_given_with_calls),
    ("B16", turns.reasoning_is_signed),
    ("B17 B18", turns.cache_points_valid),
    ("B19", turns.last_message_is_continued),
    ("B20 B21", media.media_well_formed),
    ("B22 B23 B24", media.documents_named),
    ("B25 B26", settings.tools_valid),
    ("B27 B28", settings.tool_choice_valid),
    ("B29", settings.inference_valid),
    ("B30", settings.sampling_supported),
    ("B31", settings.enums_valid),
    ("B32", settings.output_schema_valid),
    ("B33", settings.metadata_valid),
    ("B34", settings.guard_content_valid),
    ("B35", media.media_taken_by_model),
)
"""Ids of rules, and the function that checks them."""

CHECKED = frozenset(name for names, _ in RULES for name in names.split())
"""Ids of all rules that `check` applies."""

_OF_ANSWERS: frozenset[Rule] = frozenset({turns.last_message_is_continued})
"""Rules of requests that are answered; a prompt that is counted may break them."""


@checked_arguments()
def check(
    request: ConverseRequest | ConverseTokensRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "bedrock",
    *,
    date: str = "",
) -> list[Violation]:
    """Return the violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> from wire.converse.types import ContentBlock, Message
    >>> request = ConverseRequest(
    ...     messages=[Message(role="user", content=[ContentBlock(text="")])]
    ... )
    >>> check(request)[0].path, check(request)[0].rule
    ('messages[0].content[0].text', 'B6')

    `model` is the model of the path. `provider` is a row or its name; `""` is an unknown host.
    `date` is the day on which it is sent, as `2026-11-28`: then a model that ends within 60 days is
    a warning too.

    A body that is not a JSON object is a violation too, not an exception.
    """
    if expands((request,)):
        return [too_large(request, "")]
    return check_body(Body(request), model, provider, date)


_WITH_SCHEMAS = ("toolConfig", "outputConfig")


def check_body(body: Body, model: str, provider: Provider | str, date: str = "") -> list[Violation]:
    """Return the violations, as `check`, of a request that was encoded before.

    A body that is checked for several hosts is read once.
    """
    try:
        if not isinstance(body.plain, Mapping):
            return [violation("", "expected a JSON object", "B1")]
        schemas = {key: body.plain[key] for key in _WITH_SCHEMAS if key in body.plain}
        if expands((schemas,), BOUNDS.schema_values):
            return [too_large(schemas, "", BOUNDS.schema_values)]
        row = provider_row(provider)
        request = RuleInput(body, model, row.dialect)
        counts = isinstance(body.request, ConverseTokensRequest)
        rules = (rule for _, rule in RULES if not (counts and rule in _OF_ANSWERS))
        found = [each for rule in rules for each in rule(request)]
        return found + ending(model, row.name, date) if date else found
    except (TypeError, ValueError, RecursionError) as cause:
        return [violation("", f"the body is not valid JSON: {cause}", "B1")]
