"""Differences between the hosts of Responses, as data."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from wire.core.fields import Fields
from wire.neutral.ids import CallIds
from wire.openai.common.dialect import Caching, Refusal


class Dialect(msgspec.Struct, frozen=True, kw_only=True, metaclass=Fields):
    """Quirks of one host. Sources and dates of each value: docs/providers.md.

    >>> my_host = Dialect(developer_role=False, reasoning="content")
    >>> my_host.stores
    True
    """

    # --- rendering
    developer_role: bool = True
    """The host has the role `developer`. Otherwise instructions are sent as `system`."""
    models_of: str = ""
    """The vendor whose facts about models the host enforces (`wire.catalogue.facts`); empty if the
    names of its models are those of deployments, or if it is not known."""
    encrypts: bool = False
    """The host takes a request for encrypted reasoning of any model."""
    reasoning: Literal["encrypted", "content", "either"] = "either"
    """The reasoning that the host reads when it comes back: `encrypted_content`, or the text in
    `content`. Reasoning without it is left out."""
    ids: Literal["none", "messages", "all"] = "none"
    """Which items go back with the `id` that they came with. A server looks up an id that it did
    not store, and refuses the request."""
    adjacent_results: bool = False
    """The results must follow their calls at once, so a text between them is sent before the
    calls."""
    invalid_arguments: Literal["as_they_came", "wrapped"] = "as_they_came"
    """As in the dialect of chat completions."""
    call_ids: CallIds = msgspec.field(default_factory=lambda: CallIds(most=64))
    """The ids of calls that the host accepts."""

    # --- tools that the host runs
    server_tools: tuple[tuple[str, str], ...] = ()
    """As in the dialect of chat completions."""
    tool_search: str | None = None
    """The models for which the host searches deferred tools, as in `server_tools`; `None` if it has
    no such search."""

    # --- caching
    caching: Caching = Caching()
    """How the host keeps the beginnings of prompts."""

    # --- stored responses
    stores: bool = True
    """The host stores a response unless the request has `store: false`."""
    chains: Literal["yes", "refused", "ignored"] = "yes"
    """How the host handles `previous_response_id`."""
    chain_words: str = ""
    """The host's error message for `previous_response_id`; empty if it is not known."""

    # --- refused requests
    vendor_rules: bool = False
    """The host enforces the rules of OpenAI's own API."""
    refuses: tuple[Refusal, ...] = ()
    """Fields, and values of fields, that the host refuses or ignores."""
    requires: tuple[tuple[str, Any, str], ...] = ()
    """Fields that a request must have, each with its value, `None` for any, and the host's error
    message."""
    ranges: tuple[tuple[str, float, float], ...] = ()
    """Name of a field, minimum, maximum: the host refuses numbers outside."""
    item_types: tuple[str, ...] = ()
    """The types of items that the host knows, if it refuses others."""
    unknown_item_words: str = ""
    """The host's error message for other types; `{path}` and `{type}` are replaced by the path of
    the item and its type."""
    typed_messages: bool = False
    """A message of the assistant must have its `type`; without it, its type is unknown."""
    reasoning_content_words: str = ""
    """The host's error message for reasoning without text in `content`; empty if it has none."""


PLAIN = Dialect()
"""The dialect of an unknown host."""
