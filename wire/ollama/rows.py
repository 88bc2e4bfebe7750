"""The hosts of Ollama's own API, one row each.

The rows are in `wire/catalogue/hosts.json`; sources of single facts: docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.provider import Provider, ProviderNames, known_hosts, tuples
from wire.ollama.dialect import PLAIN, Dialect


@checked_arguments()
def ollama_host(
    name: str,
    base_url: str,
    key_variable: str,
    dialect: Dialect = PLAIN,
    *,
    key_required: bool = True,
) -> Provider:
    """Build the row of a host of Ollama's API, such as a server of your own.

    >>> ollama_host("my-host", "https://llm.example", "MY_HOST_API_KEY").key_header
    'authorization'
    """
    return Provider(
        name,
        wire="ollama",
        base_url=base_url,
        prefix="",
        key_variable=key_variable,
        key_header="authorization",
        key_scheme="Bearer ",
        key_required=key_required,
        dialect=dialect,
    )


def _known_row(ollama: Mapping[str, Any], **fields: Any) -> Provider:
    fields.pop("sources", None)
    more = {name: tuples(fields.pop(name)) for name in tuple(fields) if name not in _ARGUMENTS}
    dialect = Dialect(**{key: tuples(value) for key, value in ollama.items()})
    return msgspec.structs.replace(ollama_host(**fields, dialect=dialect), **more)


_ARGUMENTS = ("name", "base_url", "key_variable", "key_required")
"""Fields of a host that are arguments of `ollama_host`; all others are those of `Provider`."""


ROWS: tuple[Provider, ...] = tuple(
    _known_row(**row) for row in known_hosts().values() if row.get("ollama") is not None
)

provider_row: Callable[[Provider | str], Provider] = ProviderNames("ollama", ROWS, PLAIN).row

endpoint_paths: re.Pattern[str] = re.compile(
    r"(/api(/(chat|generate|embed|embeddings|tags|show|ps|pull|delete|version))?|/v1)/*$",
    re.IGNORECASE,
)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves. `/v1` is that
of the other doors of the server."""
