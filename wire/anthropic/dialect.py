"""Differences between the hosts of Messages, as data."""

from __future__ import annotations

import functools

import msgspec

from wire.core.fields import Fields

API_VERSION_2023 = "2023-06-01"
"""Value of the header `anthropic-version` that all hosts of Messages accept."""
API_VERSION_2026 = "2026-10-21"
"""The version that Anthropic's own API has had since that day. It refuses sampling parameters,
documents in assistant messages, and citations in user messages.
"""


class Dialect(msgspec.Struct, frozen=True, kw_only=True, metaclass=Fields):
    """Quirks of one host. Sources and dates of each value: docs/providers.md."""

    vendor_rules: bool = False
    """The host enforces the rules of Anthropic's own API. Other hosts enforce only what `check`
    reports for an unknown provider."""
    newest_models: bool = False
    """An unknown model name means a new model of Anthropic, with the capabilities of its newest
    models. At other hosts it means a model of that host."""
    older_version: str = API_VERSION_2023
    """The version of the API before 2026-10-21 at this host."""
    adaptive_only: bool = False
    """The models accept `thinking.type: adaptive` only: no token budget, and no effort."""
    reads_effort: bool = False
    """The host ignores the thinking budget and reads `output_config.effort`."""
    server_tools: tuple[tuple[str, str], ...] = ()
    """The tools that the host runs: name of a form in `server_tools.py`, and a regular expression
    of the models that take it, empty for all."""
    tool_search: str | None = None
    """The models for which the host searches deferred tools, as in `server_tools`; `None` if it has
    no such search."""


@functools.lru_cache(maxsize=32)  # rules ask with each call
def is_since_2026(version: str) -> bool:
    """Return whether a version of the API has the rules of 2026-10-21.

    >>> is_since_2026("2026-10-21"), is_since_2026("bedrock-2023-05-31"), is_since_2026("")
    (True, False, False)
    """
    return version[-len(API_VERSION_2026) :] >= API_VERSION_2026


PLAIN = Dialect()
"""The dialect of an unknown host."""
