"""The hosts of OpenAI's API, one row each: base URL, key, dialect.

The rows are in `wire/catalogue/hosts.json`; sources of single facts: docs/providers.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from wire.core.arguments import checked_arguments
from wire.core.provider import (
    Provider,
    ProviderNames,
    Shape,
    key_variable_of,
    known_hosts,
    tuples,
)
from wire.openai.common.dialect import (
    PLAIN,
    Caching,
    CallIds,
    Dialect,
    MediaEndpoints,
    ModelRefusal,
    Refusal,
)

_Dialect = TypeVar("_Dialect")


@checked_arguments()
def chat_host(
    name: str,
    base_url: str,
    key_variable: str,
    dialect: Dialect = PLAIN,
    *,
    key_required: bool = True,
    regions: Mapping[str, str] | None = None,
    hosts: tuple[str, ...] = (),
    header_variables: Mapping[str, str] | None = None,
) -> Provider:
    """Build the row of a host of chat completions.

    >>> chat_host("my-host", "https://llm.example/v1", "MY_HOST_API_KEY").key_scheme
    'Bearer '

    The base URL ends in the version; the key is sent as `authorization: Bearer KEY`.
    """
    return Provider(
        name,
        wire="openai",
        base_url=base_url,
        prefix="",
        key_variable=key_variable,
        key_header="authorization",
        key_scheme="Bearer ",
        key_required=key_required,
        regions=regions or {},
        hosts=hosts,
        header_variables=header_variables or {},
        dialect=dialect,
    )


@checked_arguments()
def unlisted(name: str, *, key_required: bool) -> Provider:
    """Build a row for a host of chat completions that `ROWS` lacks, without a base URL.

    >>> unlisted("my-host", key_required=True).key_variable
    'MY_HOST_API_KEY'
    """
    return chat_host(name.lower(), "", key_variable_of(name), key_required=key_required)


# --- the known hosts ------------------------------------------------------------------------------

RESPONSES_ONLY = "This model is only supported in v1/responses and not in v1/chat/completions."
_RECORDS = {"refuses": Refusal, "refuses_models": ModelRefusal}
_PARTS = {"caching": Caching, "call_ids": CallIds, "media": MediaEndpoints, "shape": Shape}
_OF_CALLS = ("chat", "responses", "realtime", "sources")


def dialect_of(host: str, calls: Literal["chat", "responses"], kind: type[_Dialect]) -> _Dialect:
    """Build the dialect of a known host, for chat completions or for Responses."""
    fields = known_hosts()[host][calls]
    if "like" in fields:
        fields = {**known_hosts()[fields["like"]][calls], **fields}
    return kind(**{name: _value(name, value) for name, value in fields.items() if name != "like"})


def _value(name: str, value: Any) -> Any:
    if name in _RECORDS:
        return tuple(_RECORDS[name](**each) for each in value)
    if name in _PARTS:
        return _PARTS[name](**tuples(value))
    return tuples(value)


def provider_of(host: str, wire: str, name: str, dialect: Any) -> Provider:
    """Build the row of a known host for one wire."""
    row = {"base_url": "", "prefix": "", "key_header": "authorization", "key_scheme": "Bearer "}
    row |= {key: value for key, value in known_hosts()[host].items() if key not in _OF_CALLS}
    fields = {key: _value(key, value) for key, value in row.items()}
    return Provider(**{**fields, "name": name, "wire": wire, "dialect": dialect})


ROWS: tuple[Provider, ...] = tuple(
    provider_of(name, "openai", name, dialect_of(name, "chat", Dialect))
    for name, each in known_hosts().items()
    if each.get("chat") is not None
)

provider_row: Callable[[Provider | str], Provider] = ProviderNames("openai", ROWS, PLAIN).row

endpoint_paths: re.Pattern[str] = re.compile(
    r"/(chat/completions|responses|embeddings|decisions|systemone"
    r"|images(/(generations|edits|variations))?|audio/(speech|transcriptions|translations)"
    r"|(?<!\.services\.ai\.azure\.com/)models)/*$",
    re.IGNORECASE,
)
"""Matches the path of an endpoint at the end of a base URL: calls add it themselves."""
