"""`Provider`: the URL of a host, the wire that it speaks, and its authentication header."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError
from wire.core.lazy import file_beside
from wire.core.secret import type_name

_WIRE_OPTIONS = {"openai": "openai@chat", "anthropic": "anthropic@messages"}
"""Name of a wire -> the name of its `options`, where a provider has the same name: the options of
that provider are not for the other hosts of the wire."""

HOST_OPTIONS = ("project", "location", "region", "resource", "workspace", "account")
"""The options of a client that are parts of a URL or of a header, at hosts whose rows have them."""


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """Where a host has what the reference of its wire puts elsewhere: data only.

    Paths are those of calls, such as `/messages`. A call to a path that is not listed is sent as it
    is.
    """

    paths: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Path of a call to the path of this host. `{model}` is replaced by the model of the body."""
    stream_paths: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The same for streams, where they have a path of their own."""
    lacks: tuple[str, ...] = ()
    """Paths, or their beginnings, of the endpoints that the host does not have."""
    drops: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Path of a call to the keys that its body does not have here."""
    adds: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=dict)
    """Path of a call to the keys that its body gets, unless it has them, and their values. The text
    `{version}` is replaced by the version of the API."""
    moves: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Header to the key of the body that has its value here. A key that ends in `[]` has a list of
    the texts between commas."""
    query: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Query parameters of each call. `{version}` is replaced by the version of the API."""
    stream_headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Headers of streams."""
    version_header: str = ""
    """The header that has the version of the API, where it depends on the model."""
    wraps: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Path of a call to the keys, from the outermost one, under which its body stands as base64."""
    renames: Mapping[str, Mapping[str, str]] = msgspec.field(default_factory=dict)
    """Path of a call to the keys of its response, and their names in the reference of the wire."""
    error_header: str = ""
    """The header that has the type of an error, where the body has only its message."""
    models: str = ""
    """Regular expression of the models that have this form at paths with a model, for those that
    play the host; empty for all."""
    error_types: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Status to the type that the host sends with it, for those that play the host."""


class Provider(msgspec.Struct, frozen=True):
    """One row of `wire.providers.PROVIDERS`: data only.

    `{...}` in `base_url`, `prefix` and the values of `headers` is replaced by an option of the
    client.

    >>> from wire.providers import PROVIDERS
    >>> PROVIDERS["deepseek"].key_variable
    'DEEPSEEK_API_KEY'
    """

    name: str
    """Name of the provider, with its region: `kimi@cn`."""
    wire: str
    """Name of the wire, a key of `wire.wires.WIRES`."""
    base_url: str
    """Empty where each customer has a URL of their own; then `base_url=` is required."""
    prefix: str
    """Inserted between the base URL and the path of a call. Paths of calls contain no version."""
    key_variable: str
    """The environment variable that is read when no `api_key` is given."""
    key_header: str
    """Name of the header that carries the key."""
    key_scheme: str = ""
    """Precedes the key in the header: `Bearer` and a space."""
    version: str = ""
    """Default of the option `version`; empty if the provider has no such option."""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Sent with each call, unless the client or the call has a header of that name. `{version}` in
    a value is replaced by the option."""
    options: tuple[str, ...] = ()
    """Client options that are parts of the URL or of a header, such as `region`. They are required,
    unless a base URL is given that replaces the only place of an option."""
    option_variables: Mapping[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Option to the environment variables that are read, in this order, when it is not given."""
    option_defaults: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Option to its value when neither it nor a variable is set."""
    base_urls: Mapping[str, str] = msgspec.field(default_factory=dict)
    """`option=value` to the base URL in place of `base_url`; in a value `*` is a wildcard. The
    first that matches counts."""
    key_required: bool = True
    """False for self-hosted servers: without a key, no authentication header is sent."""
    regions: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Region to base URL. `PROVIDERS` has a row for each, named `name@region`."""
    hosts: tuple[str, ...] = ()
    """Further host names of this provider, with `*` as a wildcard. No other provider's key is sent
    there."""
    prefixes: Mapping[str, str] = msgspec.field(default_factory=dict)
    """First segment of a call's path to the prefix that replaces `prefix`."""
    model_prefixes: tuple[tuple[str, str], ...] = ()
    """Regular expression of the names of models, and the prefix that replaces `prefix` in calls
    whose body names such a model. The first that matches counts."""
    versions: tuple[tuple[str, str], ...] = ()
    """Regular expression of the names of models, and the version of the API in place of `version`
    for them, unless the client has an option `version`."""
    shape: Shape | None = None
    """Where the host has what the reference of its wire puts elsewhere; `None` if nowhere."""
    other_key_header: str = ""
    """A second header that carries the key, without a scheme."""
    other_key_variable: str = ""
    """The environment variable that is read when `key_variable` is not set."""
    other_base_url_variable: str = ""
    """The environment variable that the vendor's own SDK reads for the base URL, if its name is not
    the one that is derived from `name`."""
    header_variables: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Environment variable -> header that `wire.Chats.from_env` sends its value in."""
    idempotency_header: str = ""
    """The header in which the provider takes the id of a call, so that it does not run a repeated
    request twice; empty if it documents none. No row has one: neither the references of the
    providers name such a header, nor do the SDKs of OpenAI (3.54) and Anthropic (2.12) send one."""
    model_rows: tuple[tuple[str, str], ...] = ()
    """Regular expression of the names of models, and the row that `wire.Chat` uses for them. It is
    another wire of the same API, so that one client sends the calls of both. An empty expression
    stands for the models that chat completions do not serve, or not with tools
    (`wire.catalogue.facts`)."""
    auth: tuple[str, ...] = ()
    """Names of the chains of credentials that are looked at when a client has neither a key nor
    credentials, in this order: `aws`, `google`, `entra` (`wire.auth`)."""
    signing_service: str = ""
    """What the credentials of `auth` are for: the service in the scope of an AWS signature, such as
    `bedrock`, whose region is the option `region` of the client; or the scope of an Entra token."""
    load_options: tuple[str, ...] = ()
    """Keys of the object `options` of a body: if one has another value than in the request before,
    the server loads the model anew."""
    dialect: Any = None
    """The `Dialect` of its wire: how this host differs from the vendor's reference."""

    def __post_init__(self) -> None:
        if self.dialect is not None and not isinstance(self.dialect, msgspec.Struct):
            raise ConfigurationError(
                f"dialect: expected the Dialect of a wire, not {type_name(self.dialect)}"
            )

    def __hash__(self) -> int:
        return hash((self.name, self.wire, self.base_url))  # mappings are not hashable

    @property
    def base_url_variables(self) -> tuple[str, ...]:
        """The environment variables that are read when no `base_url` is given, in this order.

        >>> Provider("kimi@cn", "openai", "", "", "", "").base_url_variables
        ('KIMI_CN_BASE_URL',)
        """
        return tuple(filter(None, (base_url_variable_of(self.name), self.other_base_url_variable)))

    def version_for(self, model: str) -> str:
        """Return the version of the API for a model: that of `versions`, or else `version`."""
        return first_matching(self.versions, model, self.version)

    @property
    def family(self) -> str:
        """The name before the `@`, which rows of one provider share."""
        return family_of(self.name)

    @property
    def api(self) -> str:
        """The name of the wire before the dot. Clients send the calls of all wires of an API."""
        return self.wire.partition(".")[0]

    @property
    def option_names(self) -> tuple[str, ...]:
        """The names whose `options` a request to this row gets, the most specific one last: its
        wire, its family, itself.

        >>> Provider("kimi@cn", "openai", "", "", "", "").option_names
        ('openai@chat', 'kimi', 'kimi@cn')
        """
        names = dict.fromkeys((wire_option(self.wire), self.family))
        return (*(each for each in names if each != self.name), self.name)

    @checked_arguments(ConfigurationError)
    def with_wire(self, other: Provider) -> Provider:
        """Return this row with the wire of another row of the same API."""
        return msgspec.structs.replace(
            self, name=other.name, wire=other.wire, dialect=other.dialect, model_rows=()
        )


def first_matching(table: Iterable[tuple[str, str]], model: str, default: str) -> str:
    """Return the value of the first regular expression that matches the name of a model.

    >>> first_matching([(".*haiku.*", "/v1")], "claude-haiku-4-5", "/v2")
    '/v1'
    """
    for pattern, value in table:
        if re.fullmatch(pattern, model, re.IGNORECASE):
            return value
    return default


def wire_option(wire: str) -> str:
    """Return the name of the `options` for every provider of a wire.

    >>> wire_option("openai.responses"), wire_option("gemini")
    ('openai@responses', 'gemini')
    """
    return _WIRE_OPTIONS.get(wire, wire.replace(".", "@"))


@checked_arguments(ConfigurationError, before=True)
def family_of(name: str) -> str:
    """Return the name of a provider before the `@`."""
    return name.partition("@")[0]


def with_regions(row: Provider) -> Iterator[Provider]:
    """Yield the row, then one row for each of its regions."""
    yield row
    for region, base_url in row.regions.items():
        # A region is a hosted service, even where the row itself is a self-hosted server.
        yield msgspec.structs.replace(
            row, name=f"{row.name}@{region}", base_url=base_url, regions={}, key_required=True
        )


class ProviderNames:
    """Rows of one wire by name, for functions that take a row or the name of one."""

    def __init__(self, wire: str, rows: Iterable[Provider], dialect: Any) -> None:
        self._unlisted = Provider("", wire, "", "", "", "", dialect=dialect)
        self._rows = {each.name: each for row in rows for each in with_regions(row)}
        self._rows[""] = self._unlisted  # needed in the first check of each call

    def row(self, provider: Provider | str) -> Provider:
        """Return the row itself, the row of that name, or a new one with the default dialect.

        Raises `ConfigurationError` for the row of another wire.
        """
        if isinstance(provider, str):
            return self._rows.get(provider) or msgspec.structs.replace(
                self._unlisted, name=provider
            )
        if not isinstance(provider, Provider):
            raise ConfigurationError(
                f"provider: expected a row or a name, not {type(provider).__name__}"
            )
        if provider.wire != self._unlisted.wire:
            raise ConfigurationError(
                f"provider: {provider.name!r} speaks {provider.wire!r}, not {self._unlisted.wire!r}"
            )
        return provider


@functools.cache
def known_hosts() -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of `wire/catalogue/hosts.json` by name.

    A row has the URL and the key of a host, and how it differs from the vendor on each wire that it
    speaks: `chat`, `responses`, `messages`. `like` names the host, or the host whose dialect, has
    the fields that a row lacks. The rows of a wire are built in its `rows.py`.
    """
    rows: dict[str, dict[str, Any]] = {}
    for row in msgspec.json.decode(file_beside(__file__, "../catalogue/hosts.json"))["hosts"]:
        rows[row["name"]] = {**rows.get(row.pop("like", ""), {}), **row}
    return rows


def tuples(value: Any) -> Any:
    """Return a value of a row with tuples in the place of lists, as structs have them."""
    if isinstance(value, dict):
        return {key: tuples(each) for key, each in value.items()}
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def key_variable_of(name: str) -> str:
    """Return the environment variable for the key of a provider that has no row.

    >>> key_variable_of("my-host")
    'MY_HOST_API_KEY'
    """
    return re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_API_KEY"


def base_url_variable_of(name: str) -> str:
    """Return the environment variable for the base URL of a provider.

    >>> base_url_variable_of("llama.cpp")
    'LLAMA_CPP_BASE_URL'
    """
    return re.sub(r"[^A-Z0-9]", "_", name.upper()) + "_BASE_URL"
