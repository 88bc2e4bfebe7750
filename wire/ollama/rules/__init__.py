"""The rules that the server enforces, checked before a request is sent; ids as in docs/rules.md.

`check(request, model, provider)` returns all violations at once, each with its JSON path, the id of
the rule and a remedy; `words` are those of the server, where they are known. Conventions of this
folder:

- An `error` is refused today, or lost in silence. A `warning` is not known to be refused.
- A rule of a model is applied only to a model of which `known` says what it can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wire.catalogue.facts import ending
from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.provider import Provider
from wire.ollama.rows import provider_row
from wire.ollama.rules import fields, turns
from wire.ollama.rules.rule_input import AnyRequest as AnyRequest
from wire.ollama.rules.rule_input import Body as Body
from wire.ollama.rules.rule_input import ModelFacts as ModelFacts
from wire.ollama.rules.rule_input import RuleInput, violation

Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("L1", fields.model_named),
    ("L2", fields.options_known),
    ("L3", fields.think_valid),
    ("L4", fields.format_valid),
    ("L5", fields.logprobs_bounded),
    ("L6", fields.raw_alone),
    ("L7", fields.input_valid),
    ("L8", fields.tools_named),
    ("L9", turns.roles_valid),
    ("L10", turns.images_are_data),
    ("L11", turns.arguments_are_objects),
)
"""Ids of rules, and the function that checks them."""

CHECKED = frozenset(name for names, _ in RULES for name in names.split())
"""Ids of all rules that `check` applies."""

_UNKNOWN = ModelFacts()


@checked_arguments()
def check(
    request: AnyRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "ollama",
    *,
    date: str = "",
    known: ModelFacts | None = None,
) -> list[Violation]:
    """Return the violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> from wire.ollama.types import ChatRequest, Options
    >>> request = ChatRequest(model="qwen3", messages=[], think="hard")
    >>> check(request)[0].path, check(request)[0].rule
    ('think', 'L3')

    `model` is for a body that names none. `provider` is a row or its name; `""` is an unknown
    host. `date` is the day on which it is sent, as `2026-11-28`: then a model that ends within 60
    days is a warning too. `known` is what the server says of the model, by `model_facts`.

    A body that is not a JSON object is a violation too, not an exception.
    """
    if expands((request,)):
        return [too_large(request, "")]
    return check_body(Body(request), provider, date, known, model)


_WITH_SCHEMAS = ("tools", "format")


def check_body(
    body: Body,
    provider: Provider | str,
    date: str = "",
    known: ModelFacts | None = None,
    model: str = "",
) -> list[Violation]:
    """Return the violations, as `check`, of a request that was encoded before.

    A body that is checked for several hosts is read once.
    """
    try:
        if not isinstance(body.plain, Mapping):
            return [violation("", "expected a JSON object", "L1")]
        schemas = {key: body.plain[key] for key in _WITH_SCHEMAS if key in body.plain}
        if expands((schemas,), BOUNDS.schema_values):
            return [too_large(schemas, "", BOUNDS.schema_values)]
        row = provider_row(provider)
        request = RuleInput(body, row.dialect, known or _UNKNOWN, model)
        found = [each for _, rule in RULES for each in rule(request)]
        if date and isinstance(request.model, str):
            found += ending(request.model, row.name, date)
        return found
    except (TypeError, ValueError, RecursionError) as cause:
        return [violation("", f"the body is not valid JSON: {cause}", "L1")]
