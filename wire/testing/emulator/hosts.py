"""Which provider a request means, when several serve the same wire.

Inside a client's transport the address says it. As a server on loopback the emulator has one
address for all, so the path says it, or the name of the model. `Emulator(provider=...)` decides
before both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from wire.catalogue.catalogue import has_model
from wire.catalogue.facts import is_in
from wire.core.errors import ConfigurationError
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS, family_of

_OWN_MODELS_ONLY = ("deepseek", "glm", "kimi", "minimax", "mistral", "qwen", "xai")
"""Providers that serve no models but their own."""
_GATEWAY_NAME = re.compile(r"(?!ft:)[^/:]+[/:].+")
"""`vendor/model` and `model:tag` are names of gateways and of self-hosted servers."""


def serves(row: Provider, model: str) -> bool:
    """Return whether a provider may have a model of this name; of most it is not known.

    >>> serves(PROVIDERS["deepseek"], "deepseek-chat"), serves(PROVIDERS["deepseek"], "gpt-5.4")
    (True, False)
    >>> serves(PROVIDERS["ollama@openai"], "gpt-5.4")
    True
    """
    if row.family not in _OWN_MODELS_ONLY or is_in(f"{row.family}.all", model):
        return True
    return has_model(row.family, model)


def rows_of(wire: str) -> list[Provider]:
    """List the providers of a wire, the vendor's own first.

    The list leaves out Google's chat completions, which are a vendor of their own, and second
    names of rows.

    >>> [row.name for row in rows_of("gemini")]
    ['gemini', 'gemini@vertex']
    """
    others = ("gemini@openai", "openai@chat", "xai@chat")
    return [row for row in PROVIDERS.values() if row.wire == wire and row.name not in others]


def prefix_pattern(wire: str) -> str:
    """Build the regular expression of the prefixes of a call's path, for all rows of a wire.

    It leaves out rows whose paths have another form (`wire.testing.emulator.forms`).
    """
    rows = [row for row in rows_of(wire) if row.shape is None or not row.shape.paths]
    prefixes = {_pattern(row) for row in rows}
    return "(?P<prefix>" + "|".join(sorted(prefixes, key=len, reverse=True)) + ")"


def row_of(
    request: Received,
    route: Route,
    wire: str,
    provider: str = "",
    has: Callable[[str], bool] = bool,
) -> Provider | None:
    """Return the provider that a request means, or `None` for an unknown host.

    `provider` is a name that decides; the vendor of the wire is the default, if it `has` the model.
    """
    if request.host is not None and request.host.wire == wire:
        return request.host
    rows = rows_of(wire)
    if provider:
        named = [row for row in rows if row.name == provider]
        return next(iter(named or _of_family(rows, provider)), None)
    model = request.model
    if request.origin and not _is_loopback(request.origin):
        # The emulator runs inside the transport: this is the address of the real server.
        there = [row for row in rows if _is_at(row, request.origin)]
        return max(
            (row for row in there if _has_prefix(row, route.prefix)),
            key=lambda row: len(row.base_url),
            default=next(iter(there), None),
        )
    local = [row for row in rows if request.origin and _is_at(row, request.origin)]
    if local:
        return local[0]
    vendor = rows[0]
    common = route.prefix in ("", own_prefix(vendor))  # a client of any host may be pointed here
    if not common:
        rows = [row for row in rows if _has_prefix(row, route.prefix)]
        if len({row.family for row in rows}) == 1:
            return rows[0]
    named = [row for row in rows if row.family in _OWN_MODELS_ONLY and serves(row, model)]
    if named:
        return named[0]
    elsewhere = model and (_GATEWAY_NAME.fullmatch(model) or not has(model))
    return vendor if common and not elsewhere else None


def wires_of(provider: str) -> set[str]:
    """Return the wires of a provider, or of all rows of a family whose name is not a provider.

    >>> wires_of("llama.cpp"), wires_of("gemini@openai"), wires_of("")
    ({'openai'}, set(), set())
    """
    rows = [row for wire in WIRES for row in rows_of(wire)]
    named = [row for row in rows if row.name == provider]
    return {row.wire for row in named or rows if provider in (row.name, row.family)}


def check_provider(name: str) -> None:
    """Raise `ConfigurationError` for a name that no provider has."""
    if name and name not in PROVIDERS and name not in map(family_of, PROVIDERS):
        raise ConfigurationError(
            f"provider: {quoted(name)} is unknown; see wire.providers.PROVIDERS"
        )


def _of_family(rows: Iterable[Provider], name: str) -> list[Provider]:
    return [row for row in rows if row.family == family_of(name)]


def own_prefix(row: Provider) -> str:
    """Return the path before that of a call; chat completions have a version in the base URL.

    `{...}` in it stands for an option of the client.
    """
    return urlsplit(row.base_url).path + row.prefix


def _pattern(row: Provider) -> str:
    return re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(own_prefix(row)))


def _has_prefix(row: Provider, prefix: str) -> bool:
    return re.fullmatch(_pattern(row), prefix) is not None


def _is_at(row: Provider, origin: str) -> bool:
    host = urlsplit(f"//{origin}").hostname or ""
    own = (urlsplit(re.sub(r"\{\w+\}", "*", url)).netloc for url in _base_urls(row))
    return any(fnmatchcase(origin, each) for each in own if each) or any(
        fnmatchcase(host, pattern) for pattern in row.hosts
    )


def _base_urls(row: Provider) -> tuple[str, ...]:
    return (row.base_url, *row.base_urls.values())


def _is_loopback(origin: str) -> bool:
    return urlsplit(f"//{origin}").hostname in ("127.0.0.1", "localhost", "::1")
