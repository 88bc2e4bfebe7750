"""How the hosts of Realtime differ: rows of `wire/catalogue/hosts.json`."""

from __future__ import annotations

import msgspec

from wire.core.provider import Provider, known_hosts


class RealtimeHost(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a host."""

    transcripts: str = ""
    """The model that writes down what the user says; empty: the host has no usual one."""
    flat: bool = False
    """Whether a session has voice and turn detection at its top, and no type and modalities."""


def realtime_host(provider: Provider) -> RealtimeHost | None:
    """Return the row of a host; `None` for one without Realtime.

    A host that is not listed is taken for one like OpenAI's.
    """
    row = known_hosts().get(provider.family)
    if row is None:
        return RealtimeHost()
    found = row.get("realtime")
    return None if found is None else RealtimeHost(**found)
