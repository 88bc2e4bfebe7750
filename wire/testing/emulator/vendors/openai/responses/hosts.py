"""How each host of Responses differs from OpenAI, as data: the rows of `hosts.json`.

Facts: recorded traffic up to November 2026, and public issues of the clients.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from wire.catalogue.facts import is_in
from wire.core.provider import Provider
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.tables import table


@dataclass(frozen=True, slots=True)
class Host:
    """One host of Responses; the defaults are OpenAI's."""

    name: str = "openai"
    response_id: str = "resp_{hex}"
    """Made by `new_id`, as are the next two."""
    item_id: str = "{prefix}_{hex}"
    call_id: str = "call_{short}"
    ids_change: str = "never"
    """When an item gets another id: `never`, `at_end` (in the terminal event), `always` (in each
    event)."""
    reasoning: str = "encrypted"
    """Where the thoughts are: `encrypted` (a summary if the request wants one), `summary` (always),
    `content` (their text), `plain` (their text in `encrypted_content` too)."""
    seals: bool = True
    """Whether it encrypts reasoning, and checks that which comes back."""
    seals_each_event: bool = True
    """Whether the encrypted content differs between the events of one item."""
    stores: bool = True
    chains: bool = True
    """Whether a request may continue a stored response. Of the hosts with a row, that says it."""
    phases: str = ""
    """The group of the models whose messages have a `phase`; empty for none."""
    terminal_output: bool = True
    """Whether the terminal event repeats the items."""
    event_names: bool = True
    """Whether each event has a line with its name."""
    done_marker: bool = False
    """Whether `[DONE]` ends a stream."""
    comment: str = ""
    """Sent before the first event."""
    overlaps: bool = False
    """Whether a reasoning item is closed only after the item that follows it."""
    obfuscates: bool = True
    """Whether deltas are padded to hide their length."""
    reasoning_parts: bool = False
    """vLLM's own events around a text of reasoning."""
    error_form: str = "openai"
    """The body of an error: `openai`, `xai` (`code` and `error`), `detail`, `typed` (the code is
    the type)."""
    only: Collection[str] = ()
    """The keys of a response, if it has not all of OpenAI's."""
    without: Collection[str] = ()
    """Keys of OpenAI's responses that it does not send."""
    more: Mapping[str, Any] = field(default_factory=dict)
    """Keys of a response beyond OpenAI's."""
    more_usage: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the usage beyond OpenAI's."""
    beside: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the terminal event beside the response."""

    def has_phase(self, model: str) -> bool:
        """Return whether messages of a model have a phase."""
        return bool(self.phases) and is_in(self.phases, model)


HOSTS: Mapping[str, Host] = {row["name"]: Host(**row) for row in table(__file__, "hosts")}


def is_responses(route: Route) -> bool:
    """Return whether an endpoint is one of Responses or of conversations."""
    return route.endpoint.startswith(("responses", "conversations"))


def host_of(request: Received, row: Provider | None) -> Host:
    """Return the host that a request means.

    `row` is the provider's, and None for an unknown one.
    """
    origin = urlsplit(f"//{request.origin}").hostname or ""
    # Copilot has no path of its own, but its clients must send this header.
    if "copilot-integration-id" in request.headers or origin.endswith(".githubcopilot.com"):
        return HOSTS["github-copilot"]
    if row is None:
        return Host("")
    dialect = row.dialect
    host = HOSTS.get(row.family, Host(""))
    return replace(host, stores=dialect.stores, chains=dialect.chains == "yes")


def new_id(form: str, prefix: str, seed: str) -> str:
    """Build an id in the form of a host, which depends on the seed alone.

    >>> new_id("{prefix}_{short}", "msg", "1")
    'msg_6b86b273ff34fce19d6b804e'
    >>> new_id("{uuid}", "msg", "1")
    '6b86b273-ff34-fce1-9d6b-804eff5a3f57'
    """
    made = digest(seed)
    # OpenAI's ids have 50 hex digits after their prefix.
    return form.format(prefix=prefix, hex=made[:50], short=made[:24], uuid=uuid.UUID(hex=made[:32]))
