"""The settings of requests over all wires: one row each in the file `settings.json`.

A row names the key on each wire, its type and range, and what a host without the setting gets. Keys
are paths into the body. It is read when a setting is lost or an option is unknown, so most programs
never load it.
"""

from __future__ import annotations

import functools
import re
from typing import Literal, TypeAlias

import msgspec

from wire.core.arguments import suggestion
from wire.core.decoders import decoder
from wire.core.lazy import file_beside
from wire.core.provider import known_hosts

Policy: TypeAlias = Literal["same", "nearest", "clamp", "reword", "cut", "many", "drop", "refuse"]

COLUMNS = {
    "gemini": "gemini",
    "openai": "chat",
    "openai.responses": "responses",
    "anthropic": "messages",
    "converse": "converse",
    "ollama": "ollama",
    "gemini.interactions": "interactions",
}
"""Name of a wire -> its column in the rows."""
_ENDPOINTS = {
    "gemini": ("generateContent takes it", "gemini:"),
    "chat": ("chat completions take it", "openai@chat:"),
    "responses": ("Responses takes it", "openai@responses:"),
    "messages": ("Messages takes it", "anthropic:"),
    "converse": ("Converse takes it", "bedrock:"),
    "ollama": ("Ollama's own API takes it", "ollama:"),
    "interactions": ("Interactions takes it", "gemini@interactions:"),
}
"""Column -> the endpoint, and the beginning of the names of models that choose it."""


class Setting(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One setting.

    >>> setting("seed").gemini, setting("seed").responses, setting("seed").policy
    ('generationConfig.seed', None, 'drop')
    """

    name: str = ""
    """Name of the neutral setting; empty if only the wires have it."""
    gemini: str | None = None
    """The path of its key in the body of generateContent; `None` on a wire that has none."""
    chat: str | None = None
    responses: str | None = None
    messages: str | None = None
    converse: str | None = None
    ollama: str | None = None
    interactions: str | None = None
    type: Literal["integer", "number", "bool", "text", "list", "object"]
    policy: Policy
    """What a host without the setting gets. Each but `same` leaves a note or an error."""
    bounds: dict[str, tuple[int | None, int | None]] = {}
    """Column -> least and greatest value, or number of items; `None` for no bound."""
    values: dict[str, tuple[str, ...]] = {}
    """Column, or family of providers that has its own -> the words that are known there."""
    alike: tuple[tuple[str, ...], ...] = ()
    """Words of several vendors that mean the same."""
    names: dict[str, str] = {}
    """Family of providers -> the key, where it is not that of the wire."""
    most: dict[str, int] = {}
    """The largest `count` of entries, and the most characters of a `key` and of a `value`."""
    hosts: dict[str, tuple[str, ...]] = {}
    """Column -> the only rows of providers that have it; all hosts of the wire if it is absent."""
    default: int | float | bool | str | None = None
    """A value that means the same as none; nobody misses it."""
    inverse: tuple[str, ...] = ()
    """Columns whose value is the opposite."""
    like: str = ""
    """The named setting whose refusal by a model is the refusal of this one, too."""
    replaces: str = ""
    """The named setting that says the same less exactly; a host gets one of them."""
    why: str = ""
    """Why a key has no neutral setting, or whose it is."""
    source: str
    """O, A, G, B, L: openai 3.54.0, anthropic 2.12.0, google-genai 3.4.0, botocore 1.44.5,
    ollama/ollama @fb30760; D: docs/providers.md.
    """
    date: str

    @property
    def key(self) -> str:
        """The name of a setting that two wires have and that no field of a request is.

        Such settings are `Request.settings`. It is empty for all others.

        >>> [each.key for each in table().settings if each.key][:3]
        ['top_k', 'presence_penalty', 'frequency_penalty']
        """
        columns = (
            *(self.chat, self.responses, self.messages),
            *(self.gemini, self.converse, self.interactions),
            self.ollama,
        )
        paths = [path for path in columns if path]
        plain = self.type not in ("list", "object") and self.policy in ("drop", "nearest")
        return paths[0] if plain and not self.name and len(paths) > 1 else ""

    def path(self, wire: str, family: str = "") -> str | None:
        """Return the path of its key on a wire of `COLUMNS`; `None` if the wire has none."""
        column = COLUMNS.get(wire)
        found: str | None = getattr(self, column) if column else None
        return self.names.get(family, found)

    def words(self, wire: str, family: str) -> tuple[str, ...]:
        """Return the words that a host knows.

        >>> setting("tier").words("openai", "xai")
        ('default', 'priority')
        """
        return self.values.get(family) or self.values.get(COLUMNS.get(wire, ""), ())

    def is_taken(self, wire: str, provider: str) -> bool:
        """Return whether a host has the setting: a row of providers that speaks the wire.

        A region has what its provider has.

        >>> setting("store").is_taken("gemini", "gemini@vertex")
        False
        """
        hosts = self.hosts.get(COLUMNS.get(wire, ""))
        if self.path(wire) is None:
            return False
        return hosts is None or provider in hosts or _without_region(provider) in hosts


def _without_region(provider: str) -> str:
    """Return the name of the provider of which another one is a region; else the name itself."""
    name, _, region = provider.partition("@")
    return name if region in known_hosts().get(name, {}).get("regions", {}) else provider


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    hosts: dict[str, dict[str, tuple[str, ...]]]
    """Column -> family of providers -> the keys that its hosts read beside those of the wire. Those
    of other families may read any key: servers of the user, and hosts without a full reference."""
    settings: tuple[Setting, ...]


@functools.cache
def table() -> Settings:
    """Return the rows and the hosts. The file is read once."""
    data = file_beside(__file__, "settings.json")
    found: Settings = decoder(Settings).decode(data)
    return found


@functools.cache
def shared() -> dict[str, Setting]:
    """Return the settings with a `key`, by it."""
    return {each.key: each for each in table().settings if each.key}


def setting(name: str) -> Setting:
    """Return the row of a neutral setting."""
    return next(each for each in table().settings if each.name == name)


def own_keys(wire: str, family: str) -> tuple[str, ...] | None:
    """Return the keys that a host reads beside those of its wire; `None` if that is not known.

    >>> own_keys("openai", "ollama"), own_keys("openai", "vllm")
    ((), None)
    """
    return table().hosts.get(COLUMNS.get(wire, ""), {}).get(family)


def where_key_is(key: str, wire: str, known: tuple[str, ...], model: str = "") -> str:
    """Return where a key belongs that a wire does not take, as the remedy of an error.

    `known` are the keys of the wire, `model` is the one that was asked.

    >>> where_key_is("seed", "openai.responses", ("input",), "gpt-5.6")
    "chat completions take it, which 'openai@chat:gpt-5.6' chooses"
    >>> where_key_is("stop", "anthropic", ("stop_sequences",))
    "here it is 'stop_sequences'"
    """
    own = COLUMNS.get(wire, "")
    vendor = re.split("[:@]", _ENDPOINTS[own][1])[0] if own else ""
    # Another endpoint of the same vendor first: it has the same model.
    others = sorted(_ENDPOINTS, key=lambda column: not _ENDPOINTS[column][1].startswith(vendor))
    elsewhere = ""
    for row in table().settings:
        steps = {column: (getattr(row, column) or "").split(".") for column in others}
        if key in (row.name, *(path[-1] for path in steps.values())) and steps.get(own, [""])[0]:
            return f"here it is {'.'.join(steps[own])!r}"
        for column in others if not elsewhere else ():
            if key in (steps[column][0], steps[column][-1]):
                takes, prefix = _ENDPOINTS[column]
                elsewhere = f"{takes}, which '{prefix}{model if prefix.startswith(vendor) else ''}'"
                elsewhere += " chooses"
                break
    return elsewhere or suggestion(key, known) or f"there are {', '.join(known)}"
