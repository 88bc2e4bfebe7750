"""The table of providers, and functions on their names."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError
from wire.core.hosts import origin_of
from wire.core.lazy import lazy_pattern
from wire.core.provider import Provider as Provider
from wire.core.provider import family_of as family_of
from wire.core.provider import with_regions
from wire.core.secret import Secret, quoted, unsealed
from wire.wires.contract import WIRES
from wire.wires.contract import unlisted as unlisted

__all__ = [
    "PROVIDERS",
    "Provider",
    "family_of",
    "model_of",
    "owner_of",
    "unlisted",
]


class Rows(MutableMapping[str, Provider]):
    """Provider rows by name; the rows of a wire are imported when a name may be one of them.

    Threads may use it at the same time: the first that has imported the rows of a wire stores them
    here, at once, and all others use the same.
    """

    def __init__(self) -> None:
        self._of_wire: dict[str, dict[str, Provider]] = {}
        self._of_user: dict[str, Provider] = {}

    def _rows(self, wire: str) -> dict[str, Provider]:
        if wire not in self._of_wire:
            rows = {each.name: each for row in WIRES[wire].ROWS for each in with_regions(row)}
            self._of_wire.setdefault(wire, rows)
        return self._of_wire[wire]

    def _home(self, name: object) -> dict[str, Provider]:
        """Return the mapping that has a name: the rows of its wire, or those of the user."""
        if not isinstance(name, str):
            return self._of_user
        # A name is in one wire. Imported wires are searched first, because sorting takes longer.
        for rows in list(self._of_wire.values()):
            if name in rows:
                return rows
        family = name.partition("@")[0]
        # First the wire of that name, or of its family, then the one that most providers speak.
        own = name.replace("@", ".")
        wires = sorted(WIRES, key=lambda wire: (wire != own, wire != family, wire != "openai"))
        return next((rows for rows in map(self._rows, wires) if name in rows), self._of_user)

    def __getitem__(self, name: str) -> Provider:
        return self._home(name)[name]

    def __setitem__(self, name: str, row: Provider) -> None:
        self._home(name)[name] = row

    def __delitem__(self, name: str) -> None:
        del self._home(name)[name]

    def __iter__(self) -> Iterator[str]:
        for wire in WIRES:
            yield from list(self._rows(wire))
        yield from list(self._of_user)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return repr(dict(self))


PROVIDERS = Rows()
"""Name to row, for all wires. Each wire defines its rows in `rows.py`. Add a row of your own before
the first client."""


@checked_arguments(ConfigurationError)
def row_of_model(row: Provider, model: str) -> Provider:
    """Return the row for requests to a model: `row`, or another wire that the model needs.

    >>> row_of_model(PROVIDERS["openai"], "gpt-5.6").name
    'openai@responses'
    """
    for pattern, name in row.model_rows:
        if not pattern:
            from wire.catalogue.facts import needs_responses  # most rows have none

            is_of = needs_responses(model)
        else:
            is_of = re.fullmatch(pattern, model, re.IGNORECASE) is not None
        if is_of:
            return row.with_wire(PROVIDERS[name])
    return row


_OTHER_NAMES = {
    "gemini": "google googleai googlegenai googlegla googlegenerativeai aistudio gemma",
    "gemini@vertex": "vertex vertexai googlevertex googlevertexai geminivertex",
    "anthropic": "claude claudeai anthropicai",
    "openai": "gpt chatgpt oai openaichat codex",
    "anthropic@vertex": "claude@vertex vertexanthropic",
    "anthropic@aws": "claude@aws",
    "anthropic@google": "claude@google",
    "azure": "azureopenai azureai azureaifoundry foundry microsoft",
    "azure@anthropic": "anthropic@foundry anthropic@azure claude@foundry",
    "bedrock": "bedrock@converse amazonbedrock awsbedrock bedrockconverse",
    "bedrock@anthropic": "bedrock@messages bedrock@mantle anthropic@bedrock anthropic@mantle",
    "bedrock@openai": "bedrock@chat openai@bedrock",
    "deepseek": "deepseekai",
    "glm": "zai zhipu zhipuai bigmodel chatglm zaiorg",
    "kimi": "moonshot moonshotai",
    "minimax": "minimaxai minimaxi abab hailuo",
    "qwen": "alibaba alibabacloud dashscope tongyi bailian aliyun qwq",
    "mistral": "mistralai codestral magistral",
    "groq": "groqcloud",
    "xai": "grok",
    "together": "togetherai",
    "fireworks": "fireworksai",
    "cerebras": "cerebrasai",
    "ollama": "ollamachat ollama@native ollamanative",
    "ollama@openai": "ollama@chat",
    "vllm": "hostedvllm",
    "llama.cpp": "llama llamaserver",
}
"""Name of a provider -> its other names, without the marks between words: company, product and
model names, and the prefixes of litellm, LangChain and pydantic-ai."""

_ROW_OF_MODEL = (
    ("gemini-", "gemini"),
    ("gemma-", "gemini"),
    ("claude-", "anthropic"),
    ("gpt-oss", "groq"),
    ("gpt-", "openai"),
    ("chatgpt-", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("deepseek-", "deepseek"),
    ("glm-", "glm"),
    ("kimi-", "kimi"),
    ("moonshot-", "kimi"),
    ("minimax-", "minimax"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("mistral-", "mistral"),
    ("ministral-", "mistral"),
    ("magistral-", "mistral"),
    ("codestral-", "mistral"),
    ("devstral-", "mistral"),
    ("grok-", "xai"),
)
"""Prefix of a model's name -> a provider that has it, for the remedy of an error. It never selects
the provider of a request: many hosts serve one model."""

_MAX_SHOWN = 100
"""Characters of a name that are compared and repeated."""

FACTORIES: dict[str, Callable[..., Any]] = {}
"""Name to factory of the providers that users registered with `wire.register_provider`."""


@checked_arguments(ConfigurationError)
def model_of(name: str, default: str = "") -> tuple[str, str]:
    """Split `provider:model`; the model keeps further colons.

    A name without a colon is a model of the provider `default`.

    >>> model_of("openai:ft:gpt-4o:org::id"), model_of("kimi@cn:kimi-k2.6")
    (('openai', 'ft:gpt-4o:org::id'), ('kimi@cn', 'kimi-k2.6'))

    Raises `ConfigurationError` if either part is missing.
    """
    provider, colon, model = name.partition(":") if isinstance(name, str) else ("", "", "")
    if not colon:
        provider, model = default, provider
    problem = ""
    if isinstance(name, Secret):
        problem = "it may be a key; expected 'provider:model-name'"
    elif not model.strip():
        problem = "empty model name"
    elif colon and not provider.strip():
        problem = "empty provider name"
    if not colon and not default and not isinstance(name, Secret):
        problem = f"missing 'provider:model-name' format{_how_to_write(name)}"
    if problem:
        raise ConfigurationError(f"model: {quoted(name)}: {problem}")
    return provider, model


def _how_to_write(model: object) -> str:
    """Return the name of a model with its provider, for a name without one."""
    if not isinstance(model, str) or not model.strip():
        return ""
    vendor, slash, rest = model.partition("/")
    near = nearest_provider(vendor) if slash else ""
    if near and rest and len(model) <= _MAX_SHOWN:
        return f"; write '{near}:{rest}', or 'openrouter:{model}'"
    row = next((row for start, row in _ROW_OF_MODEL if model.lower().startswith(start)), "")
    if not row or len(model) > _MAX_SHOWN:
        return ", such as 'gemini:gemini-3.8-flash'"
    return f"; write '{row}:{model}'"


@checked_arguments(ConfigurationError)
def nearest_provider(name: str, others: Iterable[str] = ()) -> str:
    """Return the provider that a name most likely means; empty if there is none.

    >>> [nearest_provider(name) for name in ("google", "moonshot@cn", "LM_Studio", "acme")]
    ['gemini', 'kimi@cn', 'lmstudio', '']

    `others` are further names that are known. The provider is not used by itself: errors suggest
    it.
    """
    return next(iter(nearest_providers(name, others)), "")


def nearest_providers(name: str, others: Iterable[str] = ()) -> list[str]:
    """Return up to three providers that a name may mean, the likeliest first.

    >>> nearest_providers("mistrel"), nearest_providers("qwen@xx")
    (['mistral'], ['qwen', 'qwen@us', 'qwen@cn'])

    `others` are further names that are known. A name without a region means none of a region.
    """
    if called := row_called(name):
        return [called]
    name = name[:_MAX_SHOWN].lower()
    family, at, _ = name.partition("@")
    known = {*PROVIDERS, *others}
    if at and family in PROVIDERS:
        known = {each for each in known if family_of(each) == family}
    elif not at:
        known = {each for each in known if "@" not in each}
    import difflib  # for errors only

    return difflib.get_close_matches(name, sorted(known), n=3)


def row_called(name: str) -> str:
    """Return the provider with that other name in `_OTHER_NAMES`; empty if there is none."""
    plain = re.sub(r"[^a-z0-9@]", "", name.lower())
    family, _, region = plain.partition("@")
    rows = {re.sub(r"[^a-z0-9@]", "", name): name for name in PROVIDERS}
    rows |= {other: name for name, others in _OTHER_NAMES.items() for other in others.split()}
    row = rows.get(plain) or rows.get(family, "")
    regional = f"{row}@{region}"
    row = regional if regional in PROVIDERS else row
    return "" if row == family_of(name).lower() else row


def unknown_provider(name: object, others: Iterable[str] = ()) -> str:
    """Return the error text for an unknown name: up to three near names, and where all are listed.

    >>> print(unknown_provider("mistrel", ["parrot"]))
    'mistrel' is unknown; did you mean 'mistral'? `wire providers` lists all, besides parrot
    """
    others = sorted(others)
    near = list(map(repr, nearest_providers(name, others))) if isinstance(name, str) else []
    *first, last = near or [""]
    meant = f"did you mean {', '.join(first)}{' or ' if first else ''}{last}? " if near else ""
    registered = f", besides {', '.join(others)}" if others else ""
    return f"{quoted(name)} is unknown; {meant}`wire providers` lists all{registered}"


@functools.cache  # each client looks up the host of each row
def _host_of(base_url: str) -> str | None:
    # An option of the client may be any text.
    return urlsplit(_OPTION().sub("*", base_url)).hostname


_OPTION = lazy_pattern(r"\{\w+\}")


@checked_arguments(ConfigurationError)
def owner_of(host: str, asking: Provider | None = None) -> Provider | None:
    """Return the provider that owns a host name, the only one whose key is sent to it (R-31).

    Several providers have models at the hosts of a cloud. The one with the family and the key of
    `asking` is returned, if it is among them.

    >>> owner_of("eu.api.openai.com").name, owner_of("llm.example")
    ('openai@eu', None)

    A provider also owns the names below its host, and below the domain of a host `api.DOMAIN`.
    """
    own = [
        (row, name)
        for row in PROVIDERS.values()
        for name in (*map(_host_of, (row.base_url, *row.base_urls.values())), *row.hosts)
        if name
    ]
    own.sort(key=lambda each: "*" in each[1])  # a name says more than a pattern
    exact = [row for row, name in own if _fits(host, name)]
    owners = exact or [row for row, name in own if _fits(host, f"*.{name.removeprefix('api.')}")]
    if asking is not None:
        key = asking.family, asking.key_variable
        owners = [row for row in owners if (row.family, row.key_variable) == key] or owners
    return owners[0] if owners else None


def _fits(host: str, name: str) -> bool:
    """Return whether a host matches a name, in which `*` is a wildcard."""
    end = name.removeprefix("*")
    if "*" in end:  # `fnmatch` compiles a pattern for each name, so it gets only a few
        return fnmatchcase(host, name)
    return host == name if end == name else host.endswith(end)


def at_known_host(row: Provider, base_url: object) -> Provider:
    """Give a row the dialect and the key header of the known host that a base URL leads to.

    `Client("openai", base_url="https://api.z.ai/...")` speaks to Z.AI, which refuses other requests
    than OpenAI, and answers some that OpenAI refuses.
    """
    try:
        origin = origin_of(unsealed(base_url))
    except ValueError:  # no URL, or one that a client refuses
        return row
    owner = None if origin.is_loopback else owner_of(origin.host, row)
    if owner is None or owner.family == row.family:
        return row
    theirs = (each for each in PROVIDERS.values() if each.family == owner.family)
    there = next((each for each in theirs if each.wire == row.wire), row)
    return msgspec.structs.replace(
        row,
        dialect=there.dialect,
        key_header=there.key_header,
        key_scheme=there.key_scheme,
        model_rows=(),
    )
