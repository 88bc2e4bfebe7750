"""The table of providers, and functions on their names."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from wire.core.arguments import checked_arguments
from wire.core.provider import Provider as Provider
from wire.core.provider import family_of as family_of
from wire.core.provider import with_regions
from wire.core.secret import Secret, quoted
from wire.errors import ConfigurationError
from wire.wires import WIRES
from wire.wires import unlisted as unlisted

__all__ = [
    "PROVIDERS",
    "Provider",
    "family_of",
    "model_of",
    "owner_of",
    "unlisted",
]

PROVIDERS: dict[str, Provider] = {
    each.name: each for wire in WIRES.values() for row in wire.ROWS for each in with_regions(row)
}
"""Name to row, for all wires. Each wire defines its rows in `rows.py`."""

FACTORIES: dict[str, Callable[..., Any]] = {}
"""Name to factory of the providers that users registered with `wire.register_provider`."""


@checked_arguments(ConfigurationError)
def model_of(name: str, default: str = "") -> tuple[str, str]:
    """Split `provider:model`; the model keeps further colons.

    A name without a colon is a model of the provider `default`.

    >>> model_of("openai:ft:gpt-4o:org::id"), model_of("kimi@cn:kimi-k2.6")
    (('openai', 'ft:gpt-4o:org::id'), ('kimi@cn', 'kimi-k2.6'))

    Raises `ConfigurationError` if either part is missing.
    """
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not colon:
        provider, model = default, provider
    problem = ""
    if isinstance(name, Secret):
        problem = "it may be a key; expected 'provider:model-name'"
    elif not model.strip():
        problem = "empty model name"
    elif colon and not provider.strip():
        problem = "empty provider name"
    if not colon and not default and not isinstance(name, Secret):
        problem = "missing 'provider:model-name' format"
    if problem:
        raise ConfigurationError(f"model: {quoted(name)}: {problem}")
    return provider, model


@checked_arguments(ConfigurationError)
def owner_of(host: str) -> Provider | None:
    """The provider that owns a host name; no other provider's key is sent to it (R-31).

    >>> owner_of("eu.api.openai.com").name, owner_of("llm.example")
    ('openai', None)

    A provider also owns the names below its host, and below the domain of a host `api.DOMAIN`.
    """
    own = [
        (row, name)
        for row in PROVIDERS.values()
        for name in (urlsplit(row.base_url).hostname, *row.hosts)
        if name
    ]
    exact = (row for row, name in own if fnmatchcase(host, name))
    below = (row for row, name in own if fnmatchcase(host, f"*.{name.removeprefix('api.')}"))
    return next(exact, None) or next(below, None)
