"""The hosts of Messages, one row each.

The rows are in `wire/catalogue/hosts.json`; sources of single facts: docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wire.anthropic.dialect import API_VERSION_2023, PLAIN, Dialect
from wire.core.arguments import checked_arguments
from wire.core.provider import Provider, ProviderNames, Shape, known_hosts, tuples


@checked_arguments()
def messages_host(
    name: str,
    base_url: str,
    key_variable: str,
    dialect: Dialect = PLAIN,
    *,
    bearer: bool = False,
    key_required: bool = True,
    version: str = API_VERSION_2023,
) -> Provider:
    """Build the row of a host of Messages.

    >>> messages_host("my-host", "https://llm.example", "MY_HOST_API_KEY").key_header
    'x-api-key'

    The base URL has no version, as in Anthropic's SDKs. `bearer` sends the key as
    `authorization: Bearer KEY`. `version` is the default of the header `anthropic-version`, which
    `Client(version=...)` replaces.
    """
    return Provider(
        name,
        wire="anthropic",
        base_url=base_url,
        prefix="/v1",
        key_variable=key_variable,
        key_header="authorization" if bearer else "x-api-key",
        key_scheme="Bearer " if bearer else "",
        version=version,
        headers={"anthropic-version": "{version}"},
        key_required=key_required,
        dialect=dialect,
    )


def _known_row(messages: Mapping[str, Any], **fields: Any) -> Provider:
    fields.pop("sources", None)
    more = {name: tuples(fields.pop(name)) for name in tuple(fields) if name not in _ARGUMENTS}
    if "shape" in more:
        more["shape"] = Shape(**more["shape"])
    dialect = Dialect(**{key: tuples(value) for key, value in messages.items()})
    return msgspec.structs.replace(messages_host(**fields, dialect=dialect), **more)


_ARGUMENTS = ("name", "base_url", "key_variable", "bearer", "key_required", "version")
"""Fields of a host that are arguments of `messages_host`; all others are those of `Provider`."""


ROWS: tuple[Provider, ...] = tuple(
    _known_row(**row) for row in known_hosts().values() if "messages" in row
)

provider_row: Callable[[Provider | str], Provider] = ProviderNames("anthropic", ROWS, PLAIN).row

endpoint_paths: re.Pattern[str] = re.compile(
    r"/v1/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)"
    r"(/publishers/anthropic(/models(/[^/]+)?)?"
    r"|/workspaces/(?P<workspace>[^/]+)/invoke(/v1(/(messages|models))?)?)?/*$"
    r"|/(v1(/(messages|models))?)/*$",
    re.IGNORECASE,
)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves. The groups are
options of the client.
"""
