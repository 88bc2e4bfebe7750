"""`wire.model`: the catalogue's facts of a model, and what the rules of its wire refuse.

`wire.cost`: what token counts cost.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from wire.catalogue.catalogue import Model, current
from wire.catalogue.cost import Cost, cost_of_usage
from wire.catalogue.usage import Usage
from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, RuleError, SchemaError
from wire.core.provider import Provider
from wire.neutral.messages import Media, Message
from wire.neutral.request import Output, Request, Tool
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS, row_of_model

_SCHEMA = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
_TOOLS = (Tool("now", "The time."),)

_REQUESTS: Mapping[str, Mapping[str, Any]] = {
    "system": {"system": "Be brief."},
    "temperature": {"temperature": 0.5},
    "top_p": {"top_p": 0.5},
    "stop": {"stop": ("END",)},
    "effort": {"effort": "low"},
    "effort=none": {"effort": "none"},
    "tools": {"tools": _TOOLS},
    "tool_choice=required": {"tools": _TOOLS, "tool_choice": "required"},
    "output": {"output": Output(_SCHEMA)},
    "image": {"data": _PIXEL, "media_type": "image/png"},
    "audio": {"data": b"RIFF", "media_type": "audio/wav"},
    "document": {"data": b"%PDF", "media_type": "application/pdf"},
}
"""Key of `Model.refuses` to the settings of a request that has it, or to the media in it."""


@checked_arguments(ConfigurationError)
def model(name: str) -> Model:
    """Return the known facts of a model: limits, modalities, prices, and what its provider refuses.

    >>> sonnet = model("anthropic:claude-sonnet-5")
    >>> sonnet.context_window, sonnet.longest_output, sonnet.source("context_window").name
    (1000000, 128000, 'models.dev')
    >>> sonnet.refuses["temperature"]
    '`temperature` is not supported for this model.'
    >>> model("acme-1").context_window is None
    True

    The figures are those of the catalogue in use, which `wire.catalogue.use` replaces. Of a model
    that it lacks, they are `None`, and `reason` says why. `refuses` comes from the rules that
    requests are checked with: it needs no catalogue. Nothing is sent.

    Raises `ConfigurationError` for a `name` that is not a text, and for a catalogue that cannot be
    read.

    Args:
        name: `provider:model`, such as `gemini:gemini-3.8-flash`, or the model alone. A date, or
            `-latest`, at its end may be left out.
    """
    found = current().model(name)
    provider, colon, _ = name.strip().partition(":")
    row = PROVIDERS.get(provider.lower() if colon else "") or PROVIDERS.get(found.provider)
    if row is None:
        return found
    return msgspec.structs.replace(found, refuses=refused(found.id, row_of_model(row, found.id)))


@checked_arguments(ConfigurationError)
def cost(
    usage: Usage | None, model: str | Model, *, tier: str = "", at: datetime | None = None
) -> Cost:
    """Compute the cost of these tokens by the prices of the catalogue.

    >>> usage = Usage(input=10_000, cached=8_000, output=500)
    >>> print(cost(usage, "anthropic:claude-sonnet-5"))
    0.0106 USD
    >>> cost(usage, "acme-1").total is None
    True

    `usage` must be that of one request: some vendors charge a long request more for each token.
    `Reply.cost` knows more, such as the vendor's own figure and the tier of service. The cost of an
    unknown model is `None`, with a reason. Raises `ConfigurationError` for a `model` that is not a
    name.

    Args:
        usage: Token counts of one reply. `None`, if the vendor sent none, costs an unknown amount.
        model: `provider:model`, the model alone, or what `wire.model` returned.
        tier: `batch`, `flex`, `priority` or `fast`. The standard service by default.
        at: The time of the request, for prices that change. Now by default.
    """
    facts = model if isinstance(model, Model) else current().model(model)
    return cost_of_usage(usage, facts, tier, at)


def refused(model: str, row: Provider) -> dict[str, str]:
    """Return the reasons why the model's provider refuses a request, by the rules of its wire.

    Each request of `_REQUESTS` is built and checked as one that is sent, so no second table of
    models can drift from the rules.
    """
    plain = _refusal(model, row, {})
    if plain:
        return {"model": plain}
    refusals = {key: _refusal(model, row, settings) for key, settings in _REQUESTS.items()}
    return {key: refusal for key, refusal in refusals.items() if refusal}


def _refusal(model: str, row: Provider, settings: Mapping[str, Any]) -> str:
    """Return the reason why a request with these settings is refused, or why one of them is left
    out.

    The text is empty if neither is the case.
    """
    media = [Media(**settings)] if "data" in settings else []
    try:
        request = Request(messages=(Message.user(["Hi", *media]),), **({} if media else settings))
        call = WIRES[row.wire].call(request, model, row).judge(row)
    except (RuleError, SchemaError) as error:
        return error.violations[0].message if error.violations else error.message
    for note in call.notes:
        if note.path == "model" or (note.path in settings and note.message.startswith("not sent")):
            return note.message
    return ""
