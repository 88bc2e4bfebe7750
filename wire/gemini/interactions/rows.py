"""The host of Interactions: the Gemini API, with the key of generateContent."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from wire.core.provider import Provider, ProviderNames, base_url_variable_of
from wire.gemini import rows
from wire.gemini.dialect import Dialect

_GEMINI = next(row for row in rows.ROWS if row.name == "gemini")

ROWS: tuple[Provider, ...] = (
    msgspec.structs.replace(
        _GEMINI,
        name="gemini@interactions",
        wire="gemini.interactions",
        other_base_url_variable=base_url_variable_of(_GEMINI.name),
        dialect=Dialect(
            api="gemini",
            server_tools=(
                ("google_search", ""),
                ("code_execution", ""),
                ("url_context", ""),
                ("file_search", ""),
            ),
        ),
    ),
)

_row: Callable[[Provider | str], Provider] = ProviderNames(
    "gemini.interactions", ROWS, Dialect()
).row


def provider_row(provider: Provider | str) -> Provider:
    """Return the row itself or the row of that name; for another name one with the default dialect.

    The row of Gemini's generateContent stands for its Interactions: one client sends calls of both.
    Raises `ConfigurationError` for the row of another wire.
    """
    name = provider.name if isinstance(provider, Provider) else provider
    return _row("gemini@interactions" if name == "gemini" else provider)


endpoint_paths: re.Pattern[str] = re.compile(
    r"(/(?P<version>v1(alpha|beta\d*)?))?/interactions/*$|/(?P<version_alone>v1(alpha|beta\d*)?)/*$",
    re.IGNORECASE,
)
"""Matches the version, and the path of an endpoint, at the end of a base URL: calls add them."""
