"""The hosts of Responses, one row each. URL, key and headers are those of their chat completions.

Sources and dates of the facts: docs/providers.md.
"""

from __future__ import annotations

import re

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.provider import Provider, ProviderNames, base_url_variable_of, known_hosts
from wire.openai.common import rows
from wire.openai.responses.dialect import PLAIN, Dialect

_SUFFIX = "@responses"


@checked_arguments()
def responses_host(chat: Provider, dialect: Dialect = PLAIN) -> Provider:
    """Build the row for the Responses of a host that has chat completions, too.

    >>> from wire.openai import chat_host
    >>> row = responses_host(chat_host("my-host", "https://llm.example/v1", "MY_HOST_API_KEY"))
    >>> row.name, row.base_url_variables
    ('my-host@responses', ('MY_HOST_RESPONSES_BASE_URL', 'MY_HOST_BASE_URL'))
    """
    return msgspec.structs.replace(
        chat,
        name=f"{chat.name}{_SUFFIX}",
        wire="openai.responses",
        regions={},
        model_rows=(),
        other_base_url_variable=chat.other_base_url_variable or base_url_variable_of(chat.name),
        dialect=dialect,
    )


def _known_row(host: str) -> Provider:
    dialect = rows.dialect_of(host, "responses", Dialect)
    chat = _CHAT_ROWS.get(host)
    if chat is not None:
        return responses_host(chat, dialect)
    name = host if "@" in host else f"{host}{_SUFFIX}"
    return rows.provider_of(host, "openai.responses", name, dialect)


_CHAT_ROWS = {row.name: row for row in rows.ROWS}
ROWS: tuple[Provider, ...] = tuple(
    _known_row(name) for name, each in known_hosts().items() if each.get("responses")
)

_row = ProviderNames("openai.responses", ROWS, PLAIN).row


_NAMES = frozenset(row.name for row in ROWS)


def provider_row(provider: Provider | str) -> Provider:
    """Return the row itself or the row of that name; for another name one with the default dialect.

    The chat completions of a host stand for its Responses: one client sends calls of both. Raises
    `ConfigurationError` for the row of another wire.
    """
    if isinstance(provider, Provider) and provider.wire == "openai":
        return _row(f"{provider.family}{_SUFFIX}")
    if isinstance(provider, str) and f"{provider}{_SUFFIX}" in _NAMES:
        return _row(f"{provider}{_SUFFIX}")
    return _row(provider)


endpoint_paths: re.Pattern[str] = re.compile(r"/responses/*$", re.IGNORECASE)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves."""
