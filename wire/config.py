"""Who is asked, by default and by each agent: settings from a mapping or a file.

Rules of this file:

- An agent with the provider of the top level takes from there whatever it does not say. One with
  another provider takes `max_tokens` and `temperature` only: key, host and model of one vendor are
  nothing for another.
- `${NAME}` in a text is what the environment has under that name; a key may also come from its
  provider's own variable.
- A key is hidden as soon as it is read: errors go up through frames that have the settings as a
  variable (R-28).
- Nothing is asked, and no key is needed, until a client is made.
"""

from __future__ import annotations

import difflib
import json
import math
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

import msgspec

from wire.core.decoders import convert
from wire.core.secret import Secret
from wire.errors import ConfigurationError
from wire.providers import FACTORIES, PROVIDERS, Provider, family_of, owner_of, unlisted

Source: TypeAlias = Mapping[str, Any] | str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
_Lookup: TypeAlias = Callable[[str], str | None]

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ANYWHERE = ("max_tokens", "temperature")
"""What an agent takes from the top level whatever its provider is."""


class LLMConfig(msgspec.Struct, frozen=True):
    """Who is asked and how, as plain values.

    >>> LLMConfig("fake-key", provider="deepseek", model="deepseek-chat").api_key
    Secret('***')

    Raises `ConfigurationError` that names the field.
    """

    api_key: Secret | str = ""
    """Hidden; empty for the provider's environment variable."""
    provider: str = "gemini"
    model: str = "gemini-2.0-flash"
    max_tokens: int | None = 4096
    """`None`: not sent, and the provider decides; `temperature` too."""
    temperature: float | None = 0.7
    api_base: str = ""
    """Empty for the provider's own."""
    search_grounding: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.api_key, Secret) and self.api_key != "":
            msgspec.structs.force_setattr(self, "api_key", Secret.unchecked(self.api_key))
        for name in self.__struct_fields__:
            _check(name, getattr(self, name), name)
        msgspec.structs.force_setattr(self, "provider", self.provider.strip().lower())


class Config(msgspec.Struct, frozen=True):
    """All of a configuration, resolved: each agent's settings are whole."""

    llm: LLMConfig
    agents: dict[str, LLMConfig] = {}
    routing: LLMConfig | None = None
    """Of the model that decides which agent is asked; `None` if nothing was said about it."""

    def agent(self, name: str) -> LLMConfig:
        """The settings of an agent: those of the top level if nothing was said about it."""
        return self.agents.get(name, self.llm)


def load_config(source: Source, *, env: Mapping[str, str] | None = None) -> Config:
    """The configuration of a mapping or a file (.toml, .json, or .yaml with `wire-llm[yaml]`); of
    several paths the first that exists.

    >>> agents = {
    ...     "parser": {
    ...         "provider": "deepseek",
    ...         "api_key": "${DEEPSEEK_API_KEY}",
    ...         "model": "deepseek-chat",
    ...     }
    ... }
    >>> config = load_config(
    ...     {"multi_agent": {"agents": agents}}, env={"DEEPSEEK_API_KEY": "fake-key"}
    ... )
    >>> config.llm.provider, config.agents["parser"].provider, config.agents["parser"].temperature
    ('gemini', 'deepseek', 0.7)

    `env` is asked in place of the process's environment. Raises `ConfigurationError` that names the
    key's path, or the variable.
    """
    look = _lookup(env)
    del env  # no frame that an error goes up through holds a key
    where, data = _read(source)
    del source
    return _config(data, where, look)


def _config(data: dict[str, Any], where: str, look: _Lookup) -> Config:
    """`where` comes before the path of a key in an error."""
    settings = {key: value for key, value in data.items() if key not in _SECTIONS}
    llm = _resolved(settings, None, where, look, (*_SETTINGS, *_SECTIONS))
    multi = _section(data, "multi_agent", where)
    _check_keys(multi, ("agents",), f"{where}multi_agent.")
    found = _section(multi, "agents", f"{where}multi_agent.")
    inside = f"{where}multi_agent.agents."
    agents = {
        _name(name, inside): _resolved(_section(found, name, inside), llm, f"{inside}{name}.", look)
        for name in found
    }
    routing = (
        None
        if data.get("routing") is None
        else _resolved(_section(data, "routing", where), llm, f"{where}routing.", look)
    )
    return Config(llm, agents, routing)


def _resolved(
    section: dict[str, Any],
    top: LLMConfig | None,
    where: str,
    look: _Lookup,
    known: Iterable[str] = (),
) -> LLMConfig:
    """The settings of a section, with those of the top level where they may stand in for what it
    does not say.
    """
    _check_keys(section, known or _SETTINGS, where)
    given = {
        name: value
        for name in _SETTINGS
        if (value := _given(section, name, f"{where}{name}", look)) is not None
    }
    # `null` says of a number that it is not to be sent, and of a text that nothing is said.
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
    row = _row(provider, given.get("api_base") or taken.get("api_base"), f"{where}provider")
    if (
        "model" not in given
        and not same
        and (top is not None or family_of(provider) != family_of(LLMConfig().provider))
    ):
        raise ConfigurationError(
            f"{where}model: {provider} needs one, there is none that it would take by default"
        )
    settings = {**taken, **given}
    lent = (
        bool(taken.get("api_key")) and "api_base" in given
    )  # the key was not meant for this host in particular
    if "api_key" in given:
        settings["api_key"], lent = _key(given["api_key"], row, f"{where}api_key", look)
    owner = _owner(settings.get("api_base", "")) if lent else None
    if owner is not None and family_of(owner.name) != family_of(provider):
        problem = (
            f"a host of {owner.name}, and the key is one of {provider} that was not given for it"
        )
        raise ConfigurationError(
            f"{where}api_base: {problem}; name the provider, or give its api_key"
        )
    return LLMConfig(**settings)


def _row(provider: str, api_base: str | None, path: str) -> Provider:
    listed = PROVIDERS.get(provider)
    if listed is not None:
        return listed
    if provider in FACTORIES:
        return unlisted(provider, key_required=False)  # its factory decides whether it needs a key
    # An unknown region of a known provider is a typing error, even with an api_base.
    if not api_base or family_of(provider) in PROVIDERS:
        known = sorted({*PROVIDERS, *FACTORIES})
        remedy = _meant(provider, known) or "any other host needs api_base"
        raise ConfigurationError(
            f"{path}: {provider!r} is unknown; known are {', '.join(known)}; {remedy}"
        )
    return unlisted(provider, key_required=True)


def _owner(api_base: str) -> Provider | None:
    """The provider whose host this is; a machine of one's own is nobody's."""
    try:
        owner = owner_of(urlsplit(api_base).hostname or "")
    except ValueError:
        return None  # no URL, as the client will say
    return owner if owner is not None and owner.key_required else None


# --- values ---------------------------------------------------------------------------------------


def _given(section: dict[str, Any], name: str, path: str, look: _Lookup) -> Any:
    """What a section says under a name, variables in place, or `None`; a key stays as it is, since
    only its provider expands it.
    """
    value = section.get(name)
    if name == "search_grounding" and isinstance(value, dict):
        _check_keys(value, ("enabled",), f"{path}.")
        value, path = value.get("enabled", False), f"{path}.enabled"
    if isinstance(value, str):
        text = _expanded(value, path, look)
        value = text if text == value or name not in _KINDS else _lenient(text, _KINDS[name])
        if name in ("api_base", "api_key") and not value:
            return None
    if value is not None:
        _check(name, value, path)
    return value


_KINDS: dict[str, Any] = {"max_tokens": int, "temperature": float, "search_grounding": bool}


def _lenient(text: str, kind: Any) -> Any:
    """Variables are texts: one that stands for a number is read as that, and any other text stays
    for the check to refuse.
    """
    try:
        return convert(text, kind, strict=False)
    except msgspec.ValidationError:
        return text


def _check(name: str, value: Any, path: str) -> None:
    """Raise `ConfigurationError` for what a setting cannot be."""
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    problem = ""
    if name in ("provider", "model"):
        problem = "" if isinstance(value, str) and value.strip() else "a name as text is wanted"
    elif name == "api_base":
        problem = "" if isinstance(value, str) else "a URL as text is wanted"
    elif name == "search_grounding":
        problem = "" if isinstance(value, bool) else "true or false is wanted"
    elif name == "max_tokens":
        problem = (
            ""
            if value is None or (number and isinstance(value, int) and value > 0)
            else "a whole number above 0 is wanted"
        )
    elif name == "temperature":
        problem = "" if value is None or (number and value >= 0) else "a number from 0 on is wanted"
    elif value != "" and not (isinstance(value, Secret) and isinstance(value.reveal(), str)):
        raise ConfigurationError(f"{path}: a text is wanted")  # and never shown
    if problem:
        raise ConfigurationError(f"{path}: {problem}, not {value!r}")


def _expanded(text: str, path: str, look: _Lookup) -> str:
    """The text with the environment's values in it."""
    for name in _variables(text, path):
        if look(name) is None:
            raise ConfigurationError(f"{path}: the environment variable {name} is not set")
    return _VARIABLE.sub(lambda found: look(found[1]) or "", text)


def _variables(text: str, path: str) -> list[str]:
    names = _VARIABLE.findall(text)
    if len(names) != text.count("${"):
        del text
        raise ConfigurationError(f"{path}: ${{NAME}} is read here, and no other form of it")
    return names


def _key(given: Secret, row: Provider, path: str, look: _Lookup) -> tuple[Secret, bool]:
    """The key, and whether it is not the one that was asked for but that of the provider's own
    variable.
    """
    unset = [name for name in _variables(given.reveal(), path) if not (look(name) or "").strip()]
    if not unset:
        return Secret.unchecked(
            _VARIABLE.sub(lambda found: look(found[1]) or "", given.reveal()).strip()
        ).check(path), False
    if not (look(row.key_variable) or "").strip():
        instead = "" if row.key_variable in unset else f", and neither is {row.key_variable}"
        raise ConfigurationError(f"{path}: the environment variable {unset[0]} is not set{instead}")
    return Secret.unchecked((look(row.key_variable) or "").strip()).check(row.key_variable), True


def _lookup(env: Mapping[str, str] | None) -> _Lookup:
    """A function, since it shows nothing of what it can find."""
    return lambda name: (os.environ if env is None else env).get(name)


# --- sections -------------------------------------------------------------------------------------


_SETTINGS = LLMConfig.__struct_fields__
_SECTIONS = ("multi_agent", "routing")


def _section(data: dict[str, Any], name: str, where: str) -> dict[str, Any]:
    found = data.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ConfigurationError(
            f"{where}{name}: a section with keys is wanted, not {type(found).__name__}"
        )
    return found


def _check_keys(section: dict[str, Any], known: Iterable[str], where: str) -> None:
    for key in section:
        if key not in known:
            remedy = _meant(key, known) or f"there are {', '.join(known)}"
            raise ConfigurationError(f"{where}{key}: no such key; {remedy}")


def _meant(name: Any, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name), list(known), 1)
    return f"did you mean {close[0]}?" if close else ""


def _name(name: Any, inside: str) -> str:
    if not isinstance(name, str):
        raise ConfigurationError(f"{inside}{name}: a name is a text, not {name!r}")
    return name


# --- files ----------------------------------------------------------------------------------------


def _read(source: Source) -> tuple[str, dict[str, Any]]:
    """What comes before a path in an error, and the settings with their keys hidden."""
    if isinstance(source, Mapping):
        return "", _sealed(source)
    paths = [Path(path) for path in ([source] if isinstance(source, str | os.PathLike) else source)]
    for path in paths:
        if path.is_file():
            return f"{path}: ", _parsed(path)
    raise ConfigurationError(
        f"no configuration: {' and '.join(map(str, paths)) or 'no path given'}: no such file"
    )


def _sealed(value: Any, name: Any = None) -> Any:
    """A copy in which keys are hidden; an empty one is none."""
    if isinstance(value, Mapping):
        return {key: _sealed(value[key], key) for key in value}
    return (
        Secret.unchecked(value)
        if name == "api_key" and not isinstance(value, Secret) and value not in ("", None)
        else value
    )


def _parsed(path: Path) -> dict[str, Any]:
    problem = f"{', '.join(_READERS)} files are read"
    try:
        if path.suffix.lower() in _READERS:
            found = _sealed(_READERS[path.suffix.lower()](path.read_bytes()))
            if found is None or isinstance(found, dict):
                return found or {}
            problem = f"keys and values are wanted, not {type(found).__name__}"
    except _Unreadable as cause:
        problem = str(cause)
    except OSError as cause:
        problem = f"cannot be read: {cause.strerror or type(cause).__name__}"
    except UnicodeDecodeError as cause:
        problem = f"byte {cause.start} is not UTF-8"
    except RecursionError:
        problem = "nested too deeply"
    # Not in an `except`: the cause may have a piece of the file in it, and with it a key.
    raise ConfigurationError(f"{path}: {problem}")


class _Unreadable(Exception):
    """Said without a word of the file."""


def _toml(data: bytes) -> Any:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as cause:
        raise _Unreadable(f"no TOML: {cause}") from None


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as cause:
        raise _Unreadable(f"no JSON: {cause.msg}, line {cause.lineno}") from None


def _yaml(data: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise _Unreadable(
            "YAML needs PyYAML: pip install 'wire-llm[yaml]'; .toml and .json are read without it"
        ) from None
    try:
        return yaml.safe_load(data.decode("utf-8-sig"))
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise _Unreadable(
            f"no YAML: {getattr(cause, 'problem', None) or type(cause).__name__}{line}"
        ) from None


_READERS: dict[str, Callable[[bytes], Any]] = {
    ".toml": _toml,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}
