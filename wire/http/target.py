"""The configuration of a client: provider, URL, key, timeouts, limits. No I/O.

Both clients use it.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeVar, cast

import msgspec

from wire.core import retry as presets
from wire.core.account import Preview
from wire.core.arguments import unknown_name
from wire.core.call import Call, SocketCall, StreamCall, Timeouts, timeouts_of
from wire.core.credentials import SHOWN, hidden_in_url
from wire.core.errors import ConfigurationError, RuleError, WireError
from wire.core.hosts import Origin, origin_of
from wire.core.limits import Limits
from wire.core.masking import Mask
from wire.core.provider import first_matching
from wire.core.retry import Retry
from wire.core.secret import (
    HEADER_NAME,
    Headers,
    Secret,
    TokenSource,
    checked_headers,
    quoted,
    revealed_headers,
    sealed,
    sealed_headers,
    sealed_object,
    shown_headers,
    type_name,
    unsealed,
)
from wire.http.base_url import FOUND, NAME, base_url_of, check_url, place_of, sealed_url
from wire.wires.contract import WIRES
from wire.wires.providers import (
    PROVIDERS,
    Provider,
    at_known_host,
    family_of,
    unknown_provider,
    unlisted,
)

if TYPE_CHECKING:
    from wire.around.seam import AroundFunction
    from wire.auth.credential import Credential
    from wire.auth.held import Held

T = TypeVar("T")
Calls: TypeAlias = Call[Any] | StreamCall[Any, Any] | SocketCall[Any, Any]
AnyCall = TypeVar("AnyCall", bound=Calls)

Token = Callable[[], str | Awaitable[str]]


class Target(msgspec.Struct, frozen=True):
    """The checked configuration of a client; made by `target(...)`."""

    provider: Provider
    base_url: str
    base_url_source: str
    """`default`, `argument` or an environment variable, and the changes to it."""
    origin: Origin
    """Origin of the base URL."""
    prefix: str
    prefixes: dict[str, str]
    """First segment of a path -> the prefix that replaces `prefix`."""
    headers: Headers
    key: Secret | None
    key_source: str
    token: TokenSource | None
    credentials: Held | None
    """What heads or signs each attempt in place of a key."""
    timeouts: Timeouts
    retry: Retry
    limits: Limits
    trust_env: bool
    connection: str = "http"
    around: tuple[AroundFunction, ...] = ()
    place: dict[str, str] = {}
    """The options of the client that are parts of the URL or of a header, such as `region`."""
    place_sources: dict[str, str] = {}
    """Their sources: `argument`, `base URL`, `default` or an environment variable."""
    mask: Mask = Mask(())
    """Removes the key and the secret headers from texts that servers send back."""

    def __post_init__(self) -> None:
        secrets = (self.key, *self.headers.values())
        mask = Mask(each for each in secrets if isinstance(each, Secret))
        msgspec.structs.force_setattr(self, "mask", mask)

    def accept(self, call: AnyCall, kind: type) -> AnyCall:
        """Check a call and adapt it to the provider.

        Raises `ConfigurationError` unless `call` is of that kind, speaks this provider's wire and
        has a key, and for a `Call.url` in a private network that the base URL is not in;
        `RuleError` for a request that the provider refuses.
        """
        if not isinstance(call, kind):
            uses: dict[type, str] = {StreamCall: "stream", Call: "send", SocketCall: "connect"}
            hints = (
                f"; use {use}() for it" for each, use in uses.items() if isinstance(call, each)
            )
            hint = next(hints, "")
            raise ConfigurationError(
                f"call: expected a {kind.__name__}, not {type(call).__name__}{hint}"
            )
        if str(call.wire).partition(".")[0] != self.provider.api:
            message = (
                f"call: a call of the wire {call.wire!r}, but {self.provider.name!r} speaks "
                f"{self.provider.wire!r}"
            )
            raise ConfigurationError(message, provider=self.provider.name)
        if call.url:
            self._require_reachable(origin_of(call.url))
        else:
            self.require_key()
        try:
            judged = cast(AnyCall, call.judge(self.provider))
            # The test stands here, too: most hosts are spared the call.
            return self.shaped(judged) if self.place or self.provider.shape else judged
        except WireError as error:
            if isinstance(error, RuleError):
                error.preview = self.preview(call)
            self.masked(error)
            raise

    def _require_reachable(self, origin: Origin) -> None:
        """Refuse a host that only this machine or its network reaches, and the provider does not.

        Otherwise a server that returned its URL could make the client send requests to services
        that trust their own network (R-31).
        """
        if (origin.is_loopback and not self.origin.is_loopback) or (
            origin.is_private and not self.origin.is_private
        ):
            kind = "this machine" if origin.is_loopback else "in a private network"
            raise ConfigurationError(
                f"url: {origin.host} is {kind}, and the provider's host {self.origin.host} is not",
                provider=self.provider.name,
            )

    def shaped(self, call: AnyCall) -> AnyCall:
        """Return the call as this host takes it, if it differs from the reference of the wire.

        Raises `ConfigurationError` for an endpoint that the host does not have, and for a model of
        another region.
        """
        if call.url or not (self.provider.shape or self.place):
            return call
        from wire.core.shaping import shaped  # only few hosts have a shape

        return shaped(call, self.provider, self.place.get("region", ""))

    def require_key(self) -> None:
        """Raise `ConfigurationError`, which names the variable, if a key is needed and missing."""
        if self.provider.key_required and not (self.key or self.token or self.credentials):
            variable = self.provider.key_variable
            message = f"no API key: give api_key= or set {variable}"
            message = message if variable else f"no token: {self.provider.name} needs token="
            raise ConfigurationError(message, provider=self.provider.name)

    def url(self, call: Calls) -> str:
        """Return the complete URL of a call. It never contains a key (R-27)."""
        if call.url:
            return call.url
        return self.base_url + call.path_prefix + self._prefix(call.path, call.body) + call.target

    def _prefix(self, path: str, body: Any = b"") -> str:
        """Return the prefix of the path of a call, such as the version."""
        prefix = self.prefixes.get(path.lstrip("/").partition("/")[0], self.prefix)
        if self.provider.model_prefixes and body:
            from wire.core.shaping import model_in  # only few hosts have several prefixes

            prefix = first_matching(self.provider.model_prefixes, model_in(body), prefix)
        return prefix

    def with_id(self, call: AnyCall) -> AnyCall:
        """Add an id to the call in the provider's idempotency header, if it has one (R-19).

        All attempts send the same call, so they have the same id. A header of that name in the call
        or the client takes precedence. A GET needs no id: sending it twice has no effect.
        """
        name = self.provider.idempotency_header
        if not name or call.url or call.method == "GET" or name in self._headers(call):
            return call
        return cast(AnyCall, call.replace(headers={name: str(uuid.uuid4())}))

    def send_headers(self, call: Calls, token: Secret | None) -> list[tuple[str, str]]:
        """Return the headers with secrets revealed.

        Pass them on at once, and keep them in no variable.
        """
        headers = self._headers(call)
        key = self.key if token is None else token
        if call.url or (key is None and not self.provider.key_required) or self.credentials:
            return revealed_headers(headers)
        name, scheme = self._auth
        headers.pop(name, None)
        shown = [*revealed_headers(headers), (name, scheme + (key.reveal() if key else ""))]
        if (other := self.provider.other_key_header) and not self.token and key is not None:
            shown = [*((each, value) for each, value in shown if each != other)]
            shown.append((other, key.reveal()))
        return shown

    @property
    def _auth(self) -> tuple[str, str]:
        """Name of the authentication header, and the scheme before the key."""
        return (
            ("authorization", "Bearer ")
            if self.token
            else (self.provider.key_header, self.provider.key_scheme)
        )

    def _headers(self, call: Calls) -> dict[str, str | Secret]:
        return {**_AGENT, **({} if call.url else self.headers), **call.headers}

    def preview(self, call: Calls, mask: Mask | None = None) -> Preview:
        """Return the request without sending it. Needs no key and shows none.

        `mask` knows the secrets of the call too.
        """
        from wire.core.secret_fields import masked_body  # for previews only

        if not isinstance(call, Call | StreamCall | SocketCall):
            raise ConfigurationError(
                f"call: expected a Call, StreamCall or SocketCall, not {type(call).__name__}"
            )
        call = self.shaped(call)
        auth = {} if call.url else self._shown_auth()
        mask = mask or self.mask.and_also(call.secrets())
        body = masked_body(mask.body(call.body if call.form is None else call.form.shown()))
        return self._preview(call, call.shown(self.url(call)), self._headers(call) | auth, body)

    def addressed(self, preview: Preview) -> Preview:
        """Add the host of this client to the preview of a request that its rules refused.

        Only calls have a `path_prefix` or a `url` that are refused when they are sent.
        """
        headers = {**_AGENT, **self.headers, **preview.headers, **self._shown_auth()}
        url = hidden_in_url(self.base_url + self._prefix(preview.url, preview.body) + preview.url)
        return self._preview(preview, url, headers, self.mask.body(preview.body))

    def _preview(self, of: Any, url: str, headers: Mapping[str, Any], body: bytes) -> Preview:
        variable = set_key_variable(self.provider) or self.provider.key_variable or "API_KEY"
        variable = variable if self.token is None else "ACCESS_TOKEN"
        return Preview(of.method, url, shown_headers(headers), body, of.form, variable)

    def _shown_auth(self) -> dict[str, str]:
        """Return the hidden authentication header; empty if no key is needed and none is set."""
        if self.credentials is not None:
            return self.credentials.credential._shown_headers()
        keyless = self.key is None and self.token is None and not self.provider.key_required
        name, scheme = self._auth
        other = self.provider.other_key_header if self.token is None else ""
        return {} if keyless else {name: scheme + SHOWN, **({other: SHOWN} if other else {})}

    def masked(self, error: WireError) -> WireError:
        """Add the provider's name to an error; mask the key, which a server may repeat (R-29)."""
        error.provider = error.provider or self.provider.name
        self.mask.error(error)
        return error

    def describe(self) -> dict[str, Any]:
        """Describe the settings in plain values, for a log or a bug report."""
        return {
            "provider": self.provider.name,
            "base_url": self.base_url + self.prefix,
            "base_url_source": self.base_url_source,
            **self.place,
            **{f"{option}_source": source for option, source in self.place_sources.items()},
            "key": "token callback" if self.token else self.key_source,
            **(self.credentials.described() if self.credentials else {}),
            "timeouts": self.timeouts,
            "retry": self.retry,
            "limits": self.limits,
            "trust_env": self.trust_env,
            "connection": self.connection,
        }


class Options(TypedDict, total=False):
    """The options of a client, except the provider's name and `http`."""

    api_key: str | Secret | None
    """Replaces the provider's environment variable, such as `OPENAI_API_KEY`."""
    base_url: str | None
    """Replaces the provider's environment variable (`OPENAI_BASE_URL`), which replaces the vendor's
    host. Scheme, host and the path before the endpoint's (`/chat/completions`). The endpoint's path
    is removed from its end, and so is the version for Gemini and Anthropic; `describe()` tells the
    result."""
    timeouts: Timeouts | float | None
    """Seconds. A number limits each single wait: for a connection, for the response headers, and
    between two events or reads; the whole call with its retries still ends after 900 s. `None`:
    no limit at all. `Timeouts(...)` sets each limit; its defaults are `connect` 10 s, `first_byte`
    300 s, `idle` 120 s, `total` 900 s."""
    retry: Retry | None
    """When to send a failed request again. By default 3 attempts, with waits of up to 1 s, then
    2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only."""
    headers: Headers | None
    """Further headers of each request. Values that look like keys are shown nowhere."""
    limits: Limits | None
    """Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body."""
    version: str | None
    """Version of the API, if the path or a header contains one. By default, that of the
    provider."""
    project: str | None
    """Project of Google Cloud, such as for `gemini@vertex`; replaces `GOOGLE_CLOUD_PROJECT`."""
    location: str | None
    """Region of Google Cloud, such as for `gemini@vertex`: `europe-west4`, `us`, `eu` or `global`;
    replaces `GOOGLE_CLOUD_LOCATION`."""
    region: str | None
    """Region of AWS, such as for `bedrock@invoke`: `us-east-1`; replaces `AWS_REGION`."""
    resource: str | None
    """Name of a resource of Azure, such as for `azure`: the first label of its host."""
    workspace: str | None
    """Id of a workspace at Anthropic, for `anthropic@aws` and `anthropic@google`."""
    account: str | None
    """Id of an account, such as for `cloudflare`."""
    token: Token | None
    """Function that returns a bearer token, in place of `api_key`. Called before each attempt. An
    `AsyncClient` also accepts an async function."""
    credentials: Credential | str | None
    """What heads or signs each attempt in place of a key: a value of `wire.auth`, such as `SigV4`,
    or the name of a source, such as `aws` or `aws:profile`. By default, the hosts of clouds look
    where the clients of their vendors do, if there is no key."""
    dialect: Any
    """The `Dialect` of the host; replaces that of its row."""
    plain_http: bool
    """True permits a key over unencrypted http to a host that is not loopback, such as one in your
    own network. Everyone on the way can read the key and the conversation."""
    trust_env: bool
    """False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
    `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own."""
    idempotency_header: str | None
    """Name of a header that carries an id: a new one for each call, the same on all its attempts.
    A gateway that knows the header, such as `Idempotency-Key`, does not run a repeated request
    twice."""
    connection: str
    """`http`, or `socket`: requests of OpenAI's Responses follow each other on a WebSocket, each
    with only what is new in it; all others go over HTTP. It needs the extra `[live]`."""
    around: AroundFunction | Sequence[AroundFunction] | None
    """A function, or several, that see each call and may change, answer, delay or refuse it; see
    `wire.around`."""


def options_of(parameters: Mapping[str, Any]) -> Options:
    """Return the options among the parameters of a function, as its `locals()` has them."""
    return cast(Options, {name: parameters[name] for name in Options.__annotations__})


TRANSPORT_METHODS = ("handle_request", "handle_async_request", "send")
"""Methods of transports and clients, of which the option `http` has one."""

_KINDS: dict[str, Any] = {
    "timeouts": Timeouts | int | float,
    "retry": Retry,
    "limits": Limits,
    "plain_http": bool,
    "trust_env": bool,
}
"""Options whose values of these types cannot show a key."""


_NAMES = (
    *("name", "model", "provider", "default", "version", "project", "location", "region"),
    *("resource", "workspace", "account", "credentials", "idempotency_header", "connection"),
)
"""Parameters whose values are names. One that looks random may be a key in a wrong place."""


def seal(options: Any, others: Iterable[str] = ()) -> None:
    """Replace possible keys in the options by a `Secret`, in place.

    Tracebacks with locals show the options of every frame (R-28), so this comes before any check.
    An unknown name may be a misspelt `api_key`; `others` are names that the caller knows. A key may
    also be the value of a wrong option, or part of a URL.
    """
    for name in options:
        if name not in others:
            options[name] = _sealed_option(name, options[name])


def _sealed_option(name: str, value: Any) -> Any:
    if value is None or isinstance(value, Secret | TokenSource):
        return value
    if name == "headers":
        return sealed_headers(value)
    if name in ("http", "client"):
        return sealed_object(value, *TRANSPORT_METHODS)
    if name == "around":
        if isinstance(value, list | tuple):
            return [_sealed_function(each) for each in value]
        return _sealed_function(value)
    if name == "credentials" and type(value).__module__.startswith("wire.auth."):
        return value  # its secrets are hidden
    if name == "token" and callable(value):
        return TokenSource(cast(Token, value))
    if name == "dialect":
        # Each wire has a class of that name; importing all of them here would cost time.
        is_dialect = any(cls.__name__ == "Dialect" for cls in type(value).__mro__)
        return value if is_dialect else Secret.unchecked(value)
    if name in _KINDS:
        return value if isinstance(value, _KINDS[name]) else sealed(value)
    if name == "base_url":
        return sealed_url(value)
    if name in _NAMES:
        return sealed(value)
    return Secret.unchecked(value)


def _sealed_function(value: Any) -> Any:
    return value if callable(value) or isinstance(value, Secret) else Secret.unchecked(value)


def target(name: str, options: Options) -> Target:
    """Check the options of a client.

    Raises `ConfigurationError` that names the option.
    """
    name = sealed(name)
    seal(options)
    unknown = sorted(set(options) - set(Options.__annotations__))
    if unknown:
        raise unknown_name(unknown[0], ("http", *Options.__annotations__))
    base_url, url_source = base_url_of(name, options.get("base_url"))
    provider = _with_dialect(_provider(name, base_url), base_url, options.get("dialect"))
    provider = _with_idempotency_header(provider, options.get("idempotency_header"))
    from wire.http.identity import credentials_of, held_of  # an import of `Client` needs neither

    token, credentials = cast(Any, options.get("token")), credentials_of(options, provider)
    key, source = (
        (None, "credentials")
        if credentials is not None
        else _key(options.get("api_key"), provider)
        if token is None
        else _no_key(token, options, provider)
    )
    headers = checked_headers(options.get("headers") or {})
    plain_http = _checked(options.get("plain_http"), False, "plain_http")
    if base_url is not None:
        check_url(base_url, url_source, provider, source, headers, plain_http)
    place = place_of(provider, options, base_url, url_source)
    provider = place.row
    return Target(
        provider=provider,
        base_url=place.base_url,
        base_url_source=place.base_url_source,
        origin=place.origin,
        prefix=provider.prefix,
        prefixes={segment: place.filled(each) for segment, each in provider.prefixes.items()},
        headers={
            **{name: place.filled(value) for name, value in provider.headers.items()},
            **headers,
        },
        place={option: str(place.options[option]) for option in place.sources},
        place_sources=place.sources,
        key=key,
        key_source=source,
        token=token,
        credentials=held_of(credentials, key or token, provider, place.base_url, place.options),
        timeouts=timeouts_of(options.get("timeouts", Timeouts())),
        retry=_checked(options.get("retry", presets.DEFAULT), presets.NONE, "retry"),
        limits=_checked(options.get("limits"), Limits(), "limits"),
        trust_env=_checked(options.get("trust_env"), True, "trust_env"),
        connection=_connection(options.get("connection", "http")),
        around=_around(options.get("around")),
    )


def _connection(given: Any) -> str:
    if given not in ("http", "socket"):
        raise ConfigurationError(f"connection: expected 'http' or 'socket', not {quoted(given)}")
    return str(given)


def _around(given: Any) -> tuple[AroundFunction, ...]:
    if given is None:
        return ()
    from wire.around.seam import checked_around  # most clients have no `around`

    return checked_around(given)


def _checked(value: Any, default: T, option: str) -> T:
    if value is None:
        return default
    if not isinstance(value, type(default)):
        raise ConfigurationError(
            f"{option}: expected a {type(default).__name__}, not {type_name(value)}"
        )
    return value


def set_key_variable(provider: Provider) -> str:
    """Return the variable that holds the provider's key in the environment; empty if none does."""
    variables = provider.key_variable, provider.other_key_variable
    return next((each for each in variables if os.environ.get(each, "").strip()), "")


def _key(given: str | Secret | None, provider: Provider) -> tuple[Secret | None, str]:
    if isinstance(given, Secret):
        return given.check("api_key"), "argument"
    variable = set_key_variable(provider)
    if variable:
        return Secret.unchecked(os.environ[variable].strip()).check(variable), variable
    missing = f"{'missing' if provider.key_required else 'none'} ({provider.key_variable})"
    return None, FOUND if provider.auth and provider.key_required else missing


def _no_key(token: object, options: Options, provider: Provider) -> tuple[None, str]:
    if not isinstance(token, TokenSource):
        raise ConfigurationError(
            "token: expected a function that returns a token", provider=provider.name
        )
    if options.get("api_key") is not None:
        raise ConfigurationError("token: give it or api_key, not both", provider=provider.name)
    return None, "token callback"


def _provider(name: Any, base_url: Any) -> Provider:
    """Return the row of that name; with a base URL, a new row for an unlisted name."""
    row = PROVIDERS.get(name.lower()) if isinstance(name, str) else None
    if row is not None:
        return row
    # An unknown region of a listed provider is a typing error, not another host.
    listed = isinstance(name, str) and family_of(name.lower()) in map(family_of, PROVIDERS)
    if base_url is None or listed:
        remedy = "" if listed else "; any other host of chat completions needs base_url="
        raise ConfigurationError(f"provider: {unknown_provider(name)}{remedy}")
    # A name that looks random is a key. The user chooses the name, so it never has to look random.
    if not isinstance(name, str) or not NAME().fullmatch(name):
        raise ConfigurationError(
            f"provider: {quoted(name)} is not a name: expected letters, digits and . _ -, and one "
            "@ before a region"
        )
    try:
        origin = origin_of(unsealed(base_url))
    except ValueError:
        return unlisted(name, key_required=True)  # `check_url` refuses the URL
    # A host to which no key is sent requires none.
    return unlisted(name, key_required=origin.scheme != "http" and not origin.is_loopback)


def _with_dialect(provider: Provider, base_url: Any, dialect: Any) -> Provider:
    """Set the dialect of the caller in a row, or else that of the known host behind the URL."""
    if dialect is None:
        return at_known_host(provider, base_url)
    if not isinstance(dialect, WIRES[provider.wire].Dialect):
        # Each wire has a class `Dialect`, so the message names the module too.
        kind = type(unsealed(dialect))
        given = f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
        raise ConfigurationError(
            f"dialect: expected a wire.{provider.wire}.Dialect, not {given}",
            provider=provider.name,
        )
    # The caller chose the wire with its dialect, whatever the model is.
    return msgspec.structs.replace(provider, dialect=dialect, model_rows=())


def _with_idempotency_header(provider: Provider, name: Any) -> Provider:
    """Set the idempotency header of the caller in a row, if one was given."""
    if name is None:
        return provider
    if not isinstance(name, str) or not HEADER_NAME.fullmatch(name):
        raise ConfigurationError(
            "idempotency_header: expected the name of a header", provider=provider.name
        )
    return msgspec.structs.replace(provider, idempotency_header=name.lower())


# `identity`: a compressed stream costs time to inflate, and compression buffers delay its events.
_AGENT = {"user-agent": "wire", "accept-encoding": "identity"}
