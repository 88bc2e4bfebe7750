"""What the server refuses, found before anything is sent; ids as in docs/rules.md.

`check(request, model, provider)` gives all violations at once, each with its JSON path, the
server's words, the rule's id and what to do. Rules of this folder:

- A rule that is limited to models or to the vendor itself is no violation elsewhere, nor where
  model or provider are not known.
- An `error` is refused today; a `warning` was refused once, is refused by other hosts of this wire,
  or is told of and never seen.
- Whether a thought is as it was, and its signature whole, only the server knows: what came goes
  back in the bytes it came in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from wire.anthropic.families import family
from wire.anthropic.rows import provider_row
from wire.anthropic.rules import settings, turns
from wire.anthropic.rules.rule_input import RuleInput, refused
from wire.anthropic.types import CountTokensRequest, MessageRequest
from wire.core.memory import RAW, kept_bytes
from wire.core.provider import Provider
from wire.errors import Violation

Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("A1", turns.messages_are_there),
    ("A2", turns.roles_are_known),
    ("A3", turns.user_comes_first),
    ("A4", turns.roles_alternate),
    ("A5", turns.contents_are_there),
    ("A6 A7", turns.texts_say_something),
    ("A8", turns.calls_are_answered),
    ("A9 A10", turns.results_have_calls),
    ("A11", turns.server_results_have_calls),
    ("A12 A13", turns.ids_are_sound),
    ("A14 A24", turns.calls_are_objects),
    ("A15", turns.errors_are_text),
    ("A16", turns.thoughts_are_signed),
    ("A17", turns.thinks_first),
    ("A18", turns.no_thoughts_while_off),
    ("A19 A20", turns.prefill_is_known),
    ("A21 A22 A23", turns.marks_are_few),
    ("A24 A25 A26", settings.tools_are_sound),
    ("A27 A28", settings.choice_fits),
    ("A29 A30", settings.strict_schemas_are_small),
    ("A30 A31", settings.answer_is_closed),
    ("A32", settings.budget_fits),
    ("A33", settings.thinking_is_known),
    ("A34", settings.effort_is_known),
    ("A35", settings.edits_fit),
    ("A36", settings.tokens_are_named),
    ("A37 A38 A39", settings.sampling_is_known),
    ("A40", settings.tools_are_told),
)
"""Ids, and the function that finds them."""

CHECKED = frozenset(name for names, _ in RULES for name in names.split())
"""Every rule that `check` finds."""


def check(
    request: MessageRequest | CountTokensRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "anthropic",
    *,
    endpoint: str = "messages",
) -> list[Violation]:
    """Every rule that the request breaks: a struct, or a body as somebody sent it, as bytes or
    JSON.

    >>> from wire.anthropic.types import Message
    >>> request = MessageRequest(
    ...     model="claude-sonnet-5",
    ...     max_tokens=100,
    ...     messages=[Message(role="user", content="Hi")],
    ...     temperature=0.5,
    ... )
    >>> print(check(request)[0])
    temperature: `temperature` is not supported for this model. [A37] (leave it out)

    The model is that of the request unless another one is named. `provider` is a row or its
    name; `""` stands for an unknown host, where what the vendor alone refuses is not found.
    `endpoint` is `messages` or `count_tokens`, which wants no `max_tokens`.
    """
    if isinstance(request, CountTokensRequest):
        endpoint = "count_tokens"
    try:
        plain = _plain(request)
        if not isinstance(plain, Mapping):
            return [refused("", "an object is wanted", "A1")]
        model = model or str(plain.get("model") or "")
        asked = RuleInput(plain, model, family(model), provider_row(provider).dialect, endpoint)
        return [violation for _, rule in RULES for violation in rule(asked)]
    except (TypeError, ValueError, RecursionError) as cause:
        return [refused("", f"the body is no JSON that can be read: {cause}", "A1")]


def _plain(request: MessageRequest | CountTokensRequest | bytes | Mapping[str, Any]) -> Any:
    if isinstance(request, (MessageRequest, CountTokensRequest)):
        if RAW not in vars(request):
            return msgspec.to_builtins(request)
        request = bytes(kept_bytes(request))  # what is sent is these bytes
    return json.loads(request) if isinstance(request, bytes) else request
