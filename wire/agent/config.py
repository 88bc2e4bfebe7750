"""`load_config`: the settings of each agent (provider, model, key) from a mapping or a file.

Rules:

- An agent with the provider of the top level takes all settings from there that it does not have
  itself. An agent with another provider takes `max_tokens` and `temperature` only, so that no key,
  host or model of one vendor is used with another.
- `${NAME}` in a text is replaced by an environment variable. If the variable of a key is not set,
  the provider's own variable is used.
- A file may hold settings of the application too. At the top level and in `multi_agent`, keys that
  are not settings stay unread, and a note of the configuration names each. A misspelled setting is
  an error. The sections of agents are strict: there every unknown key is an error, but `enabled`.
- A key becomes a `Secret` as soon as it is read, because tracebacks show the variables of frames,
  and the settings are among them (R-28).
- Loading sends nothing. A missing key raises an error only when a client is created.
"""

from __future__ import annotations

import datetime
import difflib
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeAlias, cast

import msgspec

from wire.catalogue.facts import ending
from wire.core.arguments import checked_arguments, is_finite, items_of
from wire.core.bounds import BOUNDS
from wire.core.credentials import (
    hidden,
    hidden_in_url,
    known_credential,
    looks_secret,
    secret_name,
)
from wire.core.decoders import convert
from wire.core.errors import ConfigurationError
from wire.core.hosts import origin_of
from wire.core.memory import Note
from wire.core.provider import HOST_OPTIONS
from wire.core.secret import Secret, TokenSource, quoted, sealed, type_name, unsealed
from wire.gemini.lifetimes import NEWEST
from wire.wires.providers import (
    FACTORIES,
    PROVIDERS,
    Provider,
    family_of,
    owner_of,
    unknown_provider,
    unlisted,
)

Source: TypeAlias = Mapping[str, Any] | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Token: TypeAlias = Callable[[], str | Awaitable[str]]
_Lookup: TypeAlias = Callable[[str], str | None]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ANYWHERE = ("max_tokens", "temperature")
"""Settings that an agent takes from the top level with any provider."""
_SECRETS = ("api_key", "token")
_WAYS = (*_SECRETS, "credentials")
_OR_FUNCTION = {"api_key": "", "token": " or a function that returns one"}
_SWITCH = "enabled"
"""The key of a section that only the application reads: whether it uses the agent."""
_TYPO_RATIO = 0.8
"""From this similarity on, an unknown key is a misspelled setting and not the application's."""


class LLMConfig(msgspec.Struct, frozen=True):
    """The settings of one agent: provider, key, model, and settings of its requests.

    >>> LLMConfig("fake-key", provider="deepseek", model="deepseek-chat").api_key
    Secret('***')

    Raises `ConfigurationError` that names the field.
    """

    api_key: Secret | str = ""
    """Stored as a `Secret`; empty for the provider's environment variable."""
    provider: str = "gemini"
    """A name of `wire.providers.PROVIDERS` or of `wire.register_provider`, or with `api_base` any
    other name.
    """
    model: str = NEWEST
    """Name of the model, without the provider."""
    max_tokens: int | None = 4096
    """`None`: not sent, so that the provider's default holds."""
    temperature: float | None = 0.7
    """As `max_tokens`."""
    api_base: str = ""
    """The base URL; empty for the provider's own."""
    search_grounding: bool = False
    """Whether the model may search the web; Gemini only."""
    project: str = ""
    """The Google Cloud project; for providers such as `gemini@vertex`."""
    location: str = ""
    """The region of Google, or `global`; as `project`."""
    region: str = ""
    """The region of AWS; for providers such as `bedrock@invoke`."""
    resource: str = ""
    """The name of a resource of Azure; for providers such as `azure`."""
    workspace: str = ""
    """The id of a workspace; for `anthropic@aws` and `anthropic@google`."""
    account: str = ""
    """The id of an account; for `cloudflare`."""
    token: Token | Secret | str = ""
    """The bearer token in place of a key: a text, stored as a `Secret`, or a function that returns
    one, which is called before each request. For providers behind clouds, such as
    `gemini@vertex`."""
    credentials: str = ""
    """The name of a source of credentials in place of a key, such as `aws:profile` (`wire.auth`).
    Without it, and without a key or a token, providers behind clouds look where the clients of
    their vendors do."""

    def __post_init__(self) -> None:
        # No variable of this frame has a value before it is sealed: tracebacks show them.
        for name in _SECRETS:
            msgspec.structs.force_setattr(self, name, _sealed_key(name, getattr(self, name)))
        for name in self.__struct_fields__:
            _check(name, _sealed_field(name, getattr(self, name)), name)
        msgspec.structs.force_setattr(self, "provider", self.provider.strip().lower())

    def __repr__(self) -> str:
        # Any field may have got a key by mistake, and tracebacks show the objects of frames.
        return hidden(msgspec.Struct.__repr__(self))

    @property
    def token_source(self) -> Token | None:
        """The function that a client calls for the token; `None` without a token."""
        token = self.token
        if isinstance(token, Secret):
            return token.reveal
        return token if callable(token) else None


class Config(msgspec.Struct, frozen=True):
    """A loaded configuration, in which each agent has all its settings."""

    llm: LLMConfig
    """The settings of the top level."""
    agents: dict[str, LLMConfig] = {}
    """Name of an agent to its settings, with those of the top level filled in."""
    routing: LLMConfig | None = None
    """Settings of the model that routes requests to agents; `None` without a `routing` section."""
    notes: tuple[Note, ...] = ()
    """The keys that were left to the application; `wire.notes` returns them too."""

    @checked_arguments(ConfigurationError)
    def agent(self, name: str) -> LLMConfig:
        """Return the settings of an agent; those of the top level if it has no section."""
        return self.agents.get(name, self.llm)


@checked_arguments(ConfigurationError)
def load_config(
    source: Source, *, env: Mapping[str, str] | None = None, date: str | None = None
) -> Config:
    """Load a configuration from a mapping or a file.

    >>> parser = {"provider": "deepseek", "api_key": "${MY_KEY}", "model": "deepseek-chat"}
    >>> source = {"provider": "gemini", "multi_agent": {"agents": {"parser": parser}}}
    >>> config = load_config(source, env={"MY_KEY": "fake-key"})
    >>> config.llm.provider, config.agents["parser"].provider, config.agents["parser"].temperature
    ('gemini', 'deepseek', 0.7)

    `source` is a mapping, the path of a file (.toml, .json, or .yaml with `wire-llm[yaml]`), or
    several paths, of which the first existing one is read. `env` replaces the environment of the
    process. `notes` of the result names each key that was left to the application, and each model
    that ends within 60 days of `date`, a day such as `2026-11-28`; of today, if it is not given.

    >>> load_config({"workspace_dir": "./workspace"}).notes
    (Note(path='workspace_dir', message='not a setting: left to the application'),)
    >>> load_config({"provider": "openai", "model": "gpt-5"}, date="2026-11-28").notes[0].message
    'gpt-5 ends on 2026-12-11; its vendor recommends gpt-6.1-sol'

    Raises `ConfigurationError` that names the path of the key, or the variable.
    """
    source = sealed(source) if isinstance(source, str | bytes) else source
    look = _lookup(env)
    del env  # a traceback shows the variables of its frames
    where, data = _read(source)
    del source
    return _config(data, where, look, str(datetime.date.today()) if date is None else date)


def _config(data: dict[str, Any], where: str, look: _Lookup, day: str) -> Config:
    """Read the config; `where` is the prefix of paths in errors."""
    notes: list[Note] = []
    top = {key: value for key, value in data.items() if key not in _SECTIONS}
    settings = _without_foreign(top, (*_SETTINGS, *_SECTIONS), where, "", notes)
    row = _top_row(settings)
    for name in _OF_HOSTS:
        if row is not None and settings.get(name) is not None and not _takes(row, name):
            del settings[name]
            notes.append(
                Note(name, f"not a setting of {row.name}: left to the application; {_takers(name)}")
            )
    llm = _resolved(settings, None, where, look)
    multi = _section(data, "multi_agent", where)
    _without_foreign(multi, ("agents",), f"{where}multi_agent.", "multi_agent.", notes)
    sections = _section(multi, "agents", f"{where}multi_agent.")
    inside = f"{where}multi_agent.agents."
    agents: dict[str, LLMConfig] = {}
    for name in sections:
        section = _section(sections, _name(name, inside), inside)
        path = f"multi_agent.agents.{name}."
        agents[name] = _resolved(_without_switch(section, path, notes), llm, where + path, look)
    routing: LLMConfig | None = None
    if data.get("routing") is not None:
        section = _without_switch(_section(data, "routing", where), "routing.", notes)
        routing = _resolved(section, llm, f"{where}routing.", look)
    named = {"": llm, **{f"multi_agent.agents.{name}.": each for name, each in agents.items()}}
    if routing is not None:
        named["routing."] = routing
    for path, each in named.items():
        if each is not llm and (each.provider, each.model) == (llm.provider, llm.model):
            continue  # the note of the top level says it
        ends = ending(each.model, each.provider, day)
        notes.extend(Note(f"{path}model", violation.message) for violation in ends)
    return Config(llm, agents, routing, tuple(notes))


def _without_foreign(
    section: dict[str, Any], known: Iterable[str], where: str, path: str, notes: list[Note]
) -> dict[str, Any]:
    """Return the section without the keys of the application, each of which becomes a note.

    A key that resembles a known one, and has a value of its kind, is a misspelled setting.
    """
    known = tuple(known)
    kept: dict[str, Any] = {}
    for key, value in section.items():
        if key in known:
            kept[key] = value
            continue
        near = difflib.get_close_matches(str(key), known, 1, _TYPO_RATIO)
        grouped = isinstance(value, dict | list)
        longer = near and str(key).startswith(f"{near[0]}_")  # another word, such as workspace_dir
        alike = near and not longer and (near[0] in _MIXED or grouped is (near[0] in _GROUPS))
        if alike or not isinstance(key, str):
            _check_keys({key: value}, known, where)
        notes.append(Note(f"{path}{key}", "not a setting: left to the application"))
    return kept


def _without_switch(section: dict[str, Any], path: str, notes: list[Note]) -> dict[str, Any]:
    if _SWITCH in section:
        notes.append(Note(f"{path}{_SWITCH}", "not a setting: left to the application"))
    return {key: value for key, value in section.items() if key != _SWITCH}


def _top_row(settings: dict[str, Any]) -> Provider | None:
    """Return the provider of the top level if it is a listed one; other names are checked later."""
    provider = settings.get("provider")
    name = LLMConfig().provider if provider is None else provider
    return PROVIDERS.get(name.strip().lower()) if isinstance(name, str) else None


def _takes(row: Provider, name: str) -> bool:
    """Return whether a provider has this one of `_OF_HOSTS`.

    A token, and credentials, replace the key of a cloud.
    """
    return bool(row.auth) if name in ("token", "credentials") else name in row.options


def _takers(name: str) -> str:
    names = [row.name for row in PROVIDERS.values() if _takes(row, name)]
    return f"{', '.join(names)} {'takes' if len(names) == 1 else 'take'} it"


def _resolved(
    section: dict[str, Any], top: LLMConfig | None, where: str, look: _Lookup
) -> LLMConfig:
    """Return the settings of a section, completed by those of the top level where allowed."""
    _check_keys(section, _SETTINGS, where)
    given = {
        name: value
        for name in _SETTINGS
        if (value := _given(section, name, f"{where}{name}", look)) is not None
    }
    # `null` for a number means "not sent"; for a text it means "not given".
    given |= {name: None for name in _ANYWHERE if name in section and section[name] is None}
    provider = (
        given.setdefault("provider", top.provider if top else LLMConfig().provider).strip().lower()
    )
    same = top is not None and top.provider == provider
    taken = (
        {}
        if top is None
        else {name: getattr(top, name) for name in (_SETTINGS if same else _ANYWHERE)}
    )
    if not given.keys().isdisjoint(_WAYS):  # a client takes one of them
        taken = {name: each for name, each in taken.items() if name not in _WAYS}
    row = _row(provider, given.get("api_base") or taken.get("api_base"), f"{where}provider")
    for name in _OF_HOSTS:
        if provider in PROVIDERS and name in given and not _takes(row, name):
            raise ConfigurationError(
                f"{where}{name}: {provider} has no such setting; {_takers(name)}"
            )
    if (
        "model" not in given
        and not same
        and (top is not None or family_of(provider) != family_of(LLMConfig().provider))
    ):
        raise ConfigurationError(f"{where}model: {provider} has no default model; name one")
    settings = {**taken, **given}
    # A key from the top level, or from a variable, may not be meant for this api_base.
    inherited = bool(taken.get("api_key")) and "api_base" in given
    if "api_key" in given:
        settings["api_key"], inherited = _key(given["api_key"], row, f"{where}api_key", look)
    owner = _owner(settings.get("api_base", "")) if inherited else None
    if owner is not None and family_of(owner.name) != family_of(provider):
        problem = f"a host of {owner.name}, but the key is one of {provider}"
        remedy = "and was not given for it; name the provider, or give its api_key"
        raise ConfigurationError(f"{where}api_base: {problem} {remedy}")
    return LLMConfig(**settings)


def _row(provider: str, api_base: str | None, path: str) -> Provider:
    listed = PROVIDERS.get(provider)
    if listed is not None:
        return listed
    if provider in FACTORIES:
        return unlisted(provider, key_required=False)  # its factory decides whether it needs a key
    # An unknown region of a known provider is a typing error, even with an api_base.
    is_listed = family_of(provider) in map(family_of, PROVIDERS)
    if not api_base or is_listed:
        remedy = "" if is_listed else "; any other host needs api_base"
        raise ConfigurationError(f"{path}: {unknown_provider(provider, FACTORIES)}{remedy}")
    return unlisted(provider, key_required=True)


def _owner(api_base: str) -> Provider | None:
    """Return the provider that owns this host; `None` for a self-hosted endpoint."""
    try:
        owner = owner_of(origin_of(api_base).host)
    except ValueError:
        return None  # no URL; the client raises the error
    return owner if owner is not None and owner.key_required else None


# --- values ---------------------------------------------------------------------------------------


def _given(section: dict[str, Any], name: str, path: str, look: _Lookup) -> Any:
    """Return the value of a setting in a section, with its variables expanded; `None` if it is
    absent.

    Variables in a key are not expanded here: `_key` does that, which knows the provider.
    """
    value = section.get(name)
    if name == "token" and value is not None:
        _check(name, value, path)
        value = _token(value, path, look) if isinstance(value, Secret) else value
    if name == "search_grounding" and isinstance(value, dict):
        _check_keys(value, ("enabled",), f"{path}.")
        value, path = value.get("enabled", False), f"{path}.enabled"
    if isinstance(value, str):
        value = _expanded_value(name, value, path, look)
        if name in ("api_base", "api_key", *_OF_HOSTS) and not value:
            return None
    if value is not None:
        _check(name, value, path)
    return value


_KINDS: dict[str, Any] = {"max_tokens": int, "temperature": float, "search_grounding": bool}


def _expanded_value(name: str, text: str, path: str, look: _Lookup) -> Any:
    """Expand the variables of the text, and convert it to the type of the setting.

    A text that is none of its type is returned as a `Secret` for `_check` to refuse, since the
    variable may hold a key.
    """
    expanded = _expanded(text, path, look)
    if expanded == text or name not in _KINDS:
        return expanded
    try:
        return convert(expanded, _KINDS[name], strict=False)
    except msgspec.ValidationError:
        return Secret.unchecked(expanded)


def _is_empty(value: object) -> bool:
    return isinstance(value, str) and value == ""


def _check(name: str, value: Any, path: str) -> None:
    """Raise `ConfigurationError` for a value that the setting cannot have."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and is_finite(value)
    problem = ""
    if name in ("provider", "model"):
        problem = "" if isinstance(value, str) and value.strip() else "expected a name as text"
    elif name == "api_base":
        problem = "" if isinstance(value, str) else "expected a URL without a key, as text"
    elif name in (*HOST_OPTIONS, "credentials"):
        problem = "" if isinstance(value, str) else "expected a text"
    elif name == "search_grounding":
        problem = "" if isinstance(value, bool) else "expected true or false"
    elif name == "max_tokens":
        is_whole = number and isinstance(value, int) and value > 0
        problem = "" if value is None or is_whole else "expected a whole number above 0"
    elif name == "temperature":
        problem = "" if value is None or (number and value >= 0) else "expected a number from 0 on"
    elif name == "token" and callable(value):
        pass
    elif not _is_empty(value) and not (
        isinstance(value, Secret) and isinstance(value.reveal(), str)
    ):
        # Without the value, which may be a key.
        raise ConfigurationError(f"{path}: expected a text{_OR_FUNCTION[name]}")
    if problem:
        raise ConfigurationError(f"{path}: {problem}, not {quoted(value)}")


def _expanded(text: str, path: str, look: _Lookup) -> str:
    """Replace the variables of the text by their values."""
    for name in _variables(text, path):
        if look(name) is None:
            raise ConfigurationError(f"{path}: the environment variable {name} is not set")
    return _VARIABLE.sub(lambda match: look(match[1]) or "", text)


def _variables(text: str, path: str) -> list[str]:
    names = _VARIABLE.findall(text)
    if len(names) != text.count("${"):
        del text
        raise ConfigurationError(f"{path}: only the form ${{NAME}} of a variable is supported")
    return names


def _key(given: Secret, row: Provider, path: str, look: _Lookup) -> tuple[Secret, bool]:
    """Return the key, and whether it comes from the provider's own variable instead of the given
    one.
    """
    unset = [name for name in _variables(given.reveal(), path) if not (look(name) or "").strip()]
    if not unset:
        return Secret.unchecked(
            _VARIABLE.sub(lambda match: look(match[1]) or "", given.reveal()).strip()
        ).check(path), False
    if not (look(row.key_variable) or "").strip():
        instead = "" if row.key_variable in unset else f", and neither is {row.key_variable}"
        raise ConfigurationError(f"{path}: the environment variable {unset[0]} is not set{instead}")
    return Secret.unchecked((look(row.key_variable) or "").strip()).check(row.key_variable), True


def _token(given: Secret, path: str, look: _Lookup) -> Secret:
    """Return the token with its variables expanded; as in `_key`, no frame has its text as a
    variable.
    """
    for name in _variables(given.reveal(), path):
        if look(name) is None:
            raise ConfigurationError(f"{path}: the environment variable {name} is not set")
    return Secret.unchecked(
        _VARIABLE.sub(lambda match: look(match[1]) or "", given.reveal()).strip()
    ).check(path)


def _lookup(env: Mapping[str, str] | None) -> _Lookup:
    """Read a variable; a function, since the `repr` of a mapping would show keys (R-28)."""
    return lambda name: (os.environ if env is None else env).get(name)


# --- sections -------------------------------------------------------------------------------------


_SETTINGS = LLMConfig.__struct_fields__
_SECTIONS = ("multi_agent", "routing")
_GROUPS = (*_SECTIONS, "agents")
"""Known keys that have keys of their own."""
_MIXED = ("search_grounding",)
"""Settings that are given as a value or as a section."""
_OF_HOSTS = (*HOST_OPTIONS, "token", "credentials")
"""Settings that only some providers have (`_takes`)."""


def _section(data: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    section = data.get(name)
    if section is None:
        return {}
    if not isinstance(section, dict):
        raise ConfigurationError(
            f"{where}{name}: expected a section with keys, not {type_name(section)}"
        )
    return section


def _check_keys(section: dict[str, Any], known: Iterable[str], where: str) -> None:
    for key in section:
        if key not in known:
            remedy = _meant(key, known) or f"there are {', '.join(known)}"
            raise ConfigurationError(f"{where}{hidden(str(key))}: no such key; {remedy}")


def _meant(name: Any, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name), list(known), 1)
    return f"did you mean {close[0]}?" if close else ""


def _name(name: Any, inside: str) -> str:
    if not isinstance(name, str):
        shown = quoted(name)
        raise ConfigurationError(f"{inside}{shown}: expected a text as name, not {shown}")
    return name


# --- files ----------------------------------------------------------------------------------------


def _read(source: Source) -> tuple[str, dict[str, Any]]:
    """Return the prefix of paths in errors, and the settings with each key as a `Secret`."""
    if isinstance(source, Mapping):
        return "", _sealed(source)
    path = _first_file(source)
    if isinstance(path, Path):
        return f"{path}: ", _parsed(path)
    raise ConfigurationError(f"no configuration: {path}: no such file")


def _first_file(source: Any) -> Path | str:
    """Return the first of the paths that exists, or the text that an error shows for them."""
    one = isinstance(source, Secret | str | os.PathLike)
    given = [source] if one else items_of("source", source, error=ConfigurationError)
    paths = [_path(unsealed(path)) for path in given]
    shown = hidden(" and ".join(map(str, paths))) or "no path given"
    return next((path for path in paths if _is_file(path)), shown)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError) as cause:
        reason = cause.strerror if isinstance(cause, OSError) else str(cause)
        raise ConfigurationError(f"source: {quoted(str(path))}: {reason}") from None


def _path(value: Any) -> Path:
    try:
        return Path(value)
    except Exception as cause:  # `__fspath__` is the user's code
        raise ConfigurationError(
            f"source: expected the path of a file, not {type(value).__name__}"
        ) from cause


def _sealed(value: Any, name: Any = None) -> Any:
    """Copy a value with a `Secret` for whatever may be a key: keys, tokens, and all unknown
    settings.

    An unknown setting may be a misspelled `api_key`. A key may also be the value of a wrong one.
    """
    if isinstance(value, Mapping):
        return {key: _sealed(value[key], key) for key in value}
    if name in _SECRETS:
        return value if value is None else _sealed_key(name, value)
    known = name in (*_SETTINGS, _SWITCH)
    if isinstance(value, list | tuple) and not known:
        return [_sealed(each, name) for each in value]
    if value is None or _is_empty(value) or isinstance(value, Secret):
        return value
    if isinstance(value, bool | int | float):
        return Secret.unchecked(value) if secret_name(str(name)) else value
    if not known or not isinstance(value, str):
        return Secret.unchecked(value)
    # Names of models, and paths of gateways, may look random.
    may_look_random = name == "model" or "://" in value
    secret = known_credential(value) if may_look_random else looks_secret(value)
    return Secret.unchecked(value) if secret or hidden_in_url(value) != value else value


def _sealed_key(name: str, value: Any) -> Any:
    """Return a key or token as a `Secret`.

    An empty one, and a function that returns a token, are returned unchanged.
    """
    if isinstance(value, Secret | TokenSource) or (isinstance(value, str) and not value):
        return value
    if name == "token" and callable(value):
        # The `repr` of a partial or a method shows its arguments or its object.
        return value if isinstance(value, FunctionType) else TokenSource(cast(Token, value))
    return Secret.unchecked(value)


def _sealed_field(name: str, value: Any) -> Any:
    """Return a field of `LLMConfig`, as a `Secret` if its value may be a misplaced key."""
    if name in _KINDS:
        return sealed(value)
    plain = isinstance(value, str) or name in _SECRETS
    return value if plain else sealed(value)


def _parsed(path: Path) -> dict[str, Any]:
    # A mapping needs none of them.
    from wire.core.configuration import READERS, Unreadable, read_configuration

    problem = f"expected a file of type {', '.join(READERS)}"
    try:
        if path.suffix.lower() in READERS:
            parsed_value = _sealed(read_configuration(path.suffix.lower(), _bytes(path)))
            if parsed_value is None or isinstance(parsed_value, dict):
                return parsed_value or {}
            problem = f"expected keys and values, not {type(parsed_value).__name__}"
    except Unreadable as cause:
        problem = str(cause)
    except OSError as cause:
        problem = f"cannot be read: {cause.strerror or type(cause).__name__}"
    except UnicodeDecodeError as cause:
        problem = f"byte {cause.start} is not UTF-8"
    except RecursionError:
        problem = "nested too deeply"
    # Raised outside of `except`: the cause may hold a piece of the file, and so a key.
    raise ConfigurationError(f"{path}: {problem}")


def _bytes(path: Path) -> bytes:
    with path.open("rb") as file:  # one byte more than is read tells that the file has more
        return file.read(BOUNDS.file_bytes + 1)
