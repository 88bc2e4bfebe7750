"""Where a client sends: its base URL, and the options that are parts of it. No I/O.

Options come from the arguments of a client, or from the variables that its row names.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

import msgspec

from wire.core.credentials import hidden, known_credential
from wire.core.errors import ConfigurationError
from wire.core.hosts import Origin, origin_of
from wire.core.lazy import lazy_pattern
from wire.core.provider import HOST_OPTIONS
from wire.core.secret import Headers, Secret, quoted, sealed, unsealed
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS, Provider, owner_of, row_called, unlisted

_FORMS = {
    "region": (lazy_pattern(r"[a-z]{2,8}(-[a-z0-9]+)+-\d{1,2}"), "a region of AWS", "us-east-1"),
    "location": (lazy_pattern(r"[a-z]+(-[a-z]+\d{1,2})?"), "a region of Google", "europe-west4"),
    "resource": (lazy_pattern(r"[A-Za-z0-9-]+"), "the name of a resource", "my-resource"),
}
"""Form, meaning and example of the options that are parts of a host name."""

_OPTION = lazy_pattern(r"(?!\.+$)[A-Za-z0-9_.:-]+")
_KEYED_URL = lazy_pattern(r"[?#@]|(key|token)=", re.IGNORECASE)
NAME = lazy_pattern(r"[a-z0-9][a-z0-9._-]*(@[a-z0-9._-]+)?", re.IGNORECASE)
"""The name of a provider."""
FOUND = "the environment"
"""The source of credentials that a chain will look for."""


def sealed_url(value: Any) -> Any:
    """Return a base URL that no output shows if it contains a key."""
    keyed = isinstance(value, str) and _KEYED_URL().search(value)
    return Secret.unchecked(value) if keyed else sealed(value)


def set_base_url_variable(provider: Provider) -> str:
    """Return the variable that holds the provider's base URL in the environment; empty if none."""
    variables = provider.base_url_variables
    return next((each for each in variables if os.environ.get(each, "").strip()), "")


def is_placed(provider: Provider) -> bool:
    """Return whether a row or the environment says where the provider is."""
    has_options = all(default_of(each, provider)[0] is not None for each in provider.options)
    return has_options or bool(set_base_url_variable(provider))


def base_url_of(name: Any, given: Any) -> tuple[Any, str]:
    """Return the base URL and its source: the argument, or a variable; `None` for the row's own.

    Another name of a row, such as `google`, reads no variable: it would become an unlisted host,
    without the dialect of that row.
    """
    if given is not None or not isinstance(name, str):
        return given, "base_url"
    row = PROVIDERS.get(name.lower())
    if row is None and NAME().fullmatch(name) and not row_called(name):
        row = unlisted(name, key_required=True)
    variable = set_base_url_variable(row) if row is not None else ""
    if not variable:
        return None, ""
    value = os.environ[variable].strip()
    if row is not None and variable == row.other_base_url_variable and not row.key_required:
        value = _with_scheme(value, row.base_url)
    return sealed_url(value), variable


def _with_scheme(value: str, usual: str) -> str:
    """Return the URL that a variable of a self-hosted server names, which may be a host alone.

    >>> _with_scheme("10.0.0.7", "http://localhost:11434")
    'http://10.0.0.7:11434'
    >>> _with_scheme(":8000", "http://localhost:11434")
    'http://localhost:8000'
    """
    if "://" in value:
        return value
    own = urlsplit(usual)
    host, slash, path = value.partition("/")
    name, colon, port = host.rpartition(":")
    if not colon or not port.isdecimal():
        name, port = host, str(own.port)
    return f"{own.scheme}://{name or own.hostname}:{port}{slash}{path}"


class _ShortURL(msgspec.Struct, frozen=True):
    """A base URL in the form that calls need."""

    url: str
    source: str
    """Its source, and the changes to it."""
    options: Mapping[str, str]
    """The options in its path, such as `version` in `https://host/v1beta`."""


def _short_url(url: str, url_source: str, provider: Provider) -> _ShortURL:
    """Remove the path of an endpoint, which calls add, from the base URL.

    A URL without a path gets that of the row, if its host is the provider's own or the provider is
    a server that users run themselves: the API has no other path there.
    """
    slash = url.find("/", url.index("://") + 3)
    begin = len(url) if slash < 0 else slash
    # The complete URL: a pattern may look back at the host.
    match = WIRES[provider.wire].endpoint_paths.search(url, begin)
    end = match.start() if match else len(url)
    host, path, removed = url[:begin], url[begin:end].rstrip("/"), url[end:].rstrip("/")
    source = "argument" if url_source == "base_url" else url_source
    source += f", without {hidden(removed)}" if removed else ""
    own = urlsplit(provider.base_url)
    if not path and own.path.strip("/"):
        name = origin_of(url).host
        is_own = name == own.hostname or any(fnmatchcase(name, each) for each in provider.hosts)
        if is_own or not provider.key_required:
            path = own.path.rstrip("/")
            source += f", with {path}"
    named = match.groupdict() if match else {}
    named |= _options_in_host(origin_of(url).host, provider)
    return _ShortURL(host + path, source, {name: named[name] for name in named if named[name]})


def _options_in_host(host: str, provider: Provider) -> dict[str, str]:
    """Return the options that a host of the provider names, such as `region`."""
    for template in (provider.base_url, *provider.base_urls.values()):
        name = urlsplit(template).netloc
        if "{" in name:
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^.]+)", re.escape(name))
            if match := re.fullmatch(pattern, host):
                return match.groupdict()
    return {}


def _origin(base_url: str, provider: Provider) -> Origin:
    try:
        return origin_of(base_url)
    except ValueError as problem:
        raise ConfigurationError(f"base_url: expected {problem}", provider=provider.name) from None


class Place(msgspec.Struct, frozen=True):
    """Where a client sends."""

    row: Provider
    """The row of the provider, with the version and the prefix of this client."""
    base_url: str
    base_url_source: str
    origin: Origin
    """Origin of the base URL."""
    options: dict[str, str | None]
    """The options that a row may have in its URL and headers, and `version`."""
    sources: dict[str, str]
    """Option to its source: `argument`, `base URL`, `default` or an environment variable."""

    def filled(self, template: str) -> str:
        """Return a text of the row with the values of its options."""
        return template.format(**self.options)


def place_of(
    provider: Provider, options: Mapping[str, Any], base_url: Any, url_source: str
) -> Place:
    """Return where a client of a provider sends.

    `base_url` is the URL that was given, and `url_source` where; `None` for that of the row.

    Raises `ConfigurationError` that names the option that is missing, contradicts the base URL, or
    that the provider does not have.
    """
    short = _ShortURL("", "default", {})
    if base_url is not None:
        short = _short_url(str(unsealed(base_url)), url_source, provider)
    for option, named in short.options.items():
        given = options.get(option)
        if given is not None and unsealed(given) != named:
            problem = f"{quoted(given)} differs from {quoted(named)} in {url_source}"
            raise ConfigurationError(f"{option}: {problem}", provider=provider.name)
    if options.get("version") and not provider.version:
        problem = f"{provider.name} has no such option; it is part of the base URL"
        raise ConfigurationError(f"version: {problem}", provider=provider.name)
    place, sources = _placed(provider, options, short.options, base_url is None)
    url = _own_url(provider, place) if base_url is None else short.url
    # A base URL with a path says where the endpoints are, whatever the model is.
    has_path = bool(provider.model_prefixes and urlsplit(short.url).path)
    row = msgspec.structs.replace(
        provider,
        # Rules that apply to one version of the API read the version that is called.
        version=place["version"] or "",
        versions=() if options.get("version") else provider.versions,
        # Full names of a project's resources are made of the prefix.
        prefix="" if has_path else provider.prefix.format(**place),
        model_prefixes=() if has_path else provider.model_prefixes,
    )
    return Place(row, url, short.source, _origin(url, provider), place, sources)


def _placed(
    provider: Provider, options: Mapping[str, Any], named: Mapping[str, str], is_own_url: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the options that are parts of the URL and of headers, and their sources.

    An option without a value is `None`. `named` has those that the base URL names.
    """
    beyond = "".join((provider.prefix, *provider.prefixes.values(), *provider.headers.values()))
    place: dict[str, Any] = dict.fromkeys(HOST_OPTIONS)
    sources: dict[str, str] = {}
    for option in HOST_OPTIONS:
        is_needed = is_own_url or f"{{{option}}}" in beyond
        value, source = named.get(option) or options.get(option), "argument"
        if option not in provider.options:
            if value:
                raise _refused(option, provider, "has no such option")
            continue
        is_signed = option == "region" and bool(provider.signing_service)
        if options.get(option) and not (is_needed or option in named or is_signed):
            raise _refused(option, provider, "takes it or base_url, not both")
        if value is None:
            value, source = default_of(option, provider)
        elif option in named:
            source = "base URL"
        if value is None and is_needed:
            raise _refused(option, provider, f"needs it{_missing(option, provider, beyond)}")
        if value is not None:
            place[option], sources[option] = value, source
    place["version"] = named.get("version") or options.get("version") or provider.version or None
    for option, value in place.items():
        if value is not None and (problem := _problem(option, value)):
            raise ConfigurationError(f"{option}: {quoted(value)} {problem}", provider=provider.name)
    return {option: unsealed(value) for option, value in place.items()}, sources


def _problem(option: str, value: Any) -> str:
    """Return why a value cannot be part of a URL; empty if it can."""
    form, meaning, example = _FORMS.get(option, (_OPTION, "", ""))
    if not _is_segment(value):
        return "cannot be part of a path"
    return "" if form().fullmatch(unsealed(value)) else f"is not {meaning}, such as {example}"


def default_of(option: str, provider: Provider) -> tuple[Any, str]:
    """Return the value of an option that is not given, and its source; `None` without one.

    A value that looks like a key is a `Secret`.
    """
    for variable in provider.option_variables.get(option, ()):
        if value := os.environ.get(variable, "").strip():
            return sealed(value), variable
    return provider.option_defaults.get(option), "default"


def _refused(option: str, provider: Provider, problem: str) -> ConfigurationError:
    return ConfigurationError(f"{option}: {provider.name} {problem}", provider=provider.name)


def _missing(option: str, provider: Provider, beyond: str) -> str:
    """Return how a missing option can be given, as the end of a message."""
    alone = f"{{{option}}}" in beyond
    names = list(provider.option_variables.get(option, ()))
    names += [] if alone else provider.base_url_variables
    ways = f"give {option}=" + ("" if alone else " or base_url=")
    return f": {ways}" + (f", or set {' or '.join(names)}" if names else "")


def _is_segment(value: Any) -> bool:
    """Return whether a value may be a segment of a path.

    A key may not, since URLs are logged (R-27).
    """
    text = unsealed(value)
    return isinstance(text, str) and bool(_OPTION().fullmatch(text)) and not known_credential(text)


def _own_url(provider: Provider, place: Mapping[str, Any]) -> str:
    """Return the base URL of a provider for the options of a client."""
    for condition, url in provider.base_urls.items():
        option, _, value = condition.partition("=")
        if fnmatchcase(place[option] or "", value):
            return url.format(**place)
    return provider.base_url.format(**place)


def check_url(
    base_url: Any,
    url_source: str,
    provider: Provider,
    source: str,
    headers: Headers,
    plain_http: bool,
) -> None:
    """Raise `ConfigurationError` for a base URL that `_url_problem` refuses."""
    from_env = url_source != "base_url"
    problem = _url_problem(base_url, provider, source, headers, plain_http, from_env)
    if problem is not None:
        raise ConfigurationError(f"{url_source}: {problem}", provider=provider.name)


def _url_problem(
    base_url: Any,
    provider: Provider,
    source: str,
    headers: Headers,
    plain_http: bool,
    url_from_env: bool,
) -> str | None:
    """Return why a base URL is refused; `None` if it is not. The text shows no key.

    It must be https, except for loopback addresses, for hosts to which no key is sent, and with the
    option `plain_http`. It contains no key and no user, because URLs are logged (R-27, R-31).
    `source` is the origin of the key: a key from the environment is not sent to a host of another
    provider. No key at all is sent there if the environment names the host: the caller, who gives
    the key, may not know of the variable.
    """
    text = unsealed(base_url)
    if isinstance(text, str) and (_KEYED_URL().search(text) or _has_key_in_path(text)):
        return "it must not contain a user, key or query; give api_key="
    try:
        origin = origin_of(text)
    except ValueError as problem:
        return f"expected {problem}, not {quoted(base_url, 100)}{_without_scheme(text)}"
    has_key = (
        provider.key_required
        or not source.startswith("none ")
        or any(isinstance(value, Secret) for value in headers.values())
    )
    from_env = source in (provider.key_variable, provider.other_key_variable, FOUND)
    shown_host = hidden(origin.host)
    guarded = from_env or (url_from_env and has_key)
    owner = owner_of(origin.host, provider) if guarded and not origin.is_loopback else None
    if origin.scheme == "http" and not origin.is_loopback and not plain_http and has_key:
        return (
            f"expected https for {shown_host}: plain http would send the key unencrypted; "
            "plain_http=True permits it"
        )
    if owner is not None and owner.family != provider.family:
        key = f"in {source}" if from_env else f"of {provider.name!r}"
        remedy = "base_url= and api_key=" if url_from_env else "api_key="
        return (
            f"{shown_host} is a host of {owner.name!r}, and the key {key} is not for it; "
            f'use Client("{owner.name}"), or give {remedy} if that key is meant'
        )
    return None


def _without_scheme(text: Any) -> str:
    """Return what to do with a text that only lacks the scheme of a URL."""
    if not isinstance(text, str):
        return ""
    try:
        near = origin_of(f"http://{text}").is_private
    except ValueError:
        return ""
    return f"; put {'http' if near else 'https'}:// before it"


def _has_key_in_path(url: str) -> bool:
    """Return whether the path of a URL contains a key with the prefix of a vendor.

    Other segments that look random are allowed: gateways put the ids of accounts there.
    """
    return known_credential("/".join(url.split("/")[3:]))
