"""The hosts of Interactions: the Gemini API and Vertex AI, with the credentials of generateContent.

Source of the paths on Vertex: google-genai 3.4.0, November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from wire.core.provider import Provider, ProviderNames, base_url_variable_of
from wire.gemini import rows
from wire.gemini.dialect import Dialect

_GEMINI, _VERTEX = rows.ROWS
_ON_VERTEX = "/{version}/projects/{project}/locations/{location}"
_TOOLS = (("google_search", ""), ("code_execution", ""), ("url_context", ""))

ROWS: tuple[Provider, ...] = (
    msgspec.structs.replace(
        _GEMINI,
        name="gemini@interactions",
        wire="gemini.interactions",
        other_base_url_variable=base_url_variable_of(_GEMINI.name),
        dialect=Dialect(
            api="gemini",
            server_tools=(*_TOOLS, ("file_search", "")),
        ),
    ),
    msgspec.structs.replace(
        _VERTEX,
        name="gemini@vertex-interactions",
        wire="gemini.interactions",
        prefix=_ON_VERTEX,
        key_variable="",  # paths with a project take tokens alone
        hosts=(),  # those of the other row of Vertex
        prefixes={**_VERTEX.prefixes, "models": _VERTEX.prefix},  # of generateContent's calls
        dialect=Dialect(api="vertex", server_tools=_TOOLS),
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
    r"(/(?P<version>v1(alpha|beta\d*)?)"
    r"(/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+))?)?/interactions/*$"
    r"|/(?P<version_alone>v1(alpha|beta\d*)?)/*$",
    re.IGNORECASE,
)
"""Matches the version, and the path of an endpoint, at the end of a base URL: calls add them."""
