"""What a credential is: a value that heads or signs an attempt, or that is exchanged for one.

No clock, no I/O. A `Credential` is exchanged by steps that the client carries out: it fetches,
works or asks, and sends the outcome back. So each is written once for threads, asyncio and trio.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from typing import Any, ClassVar, TypeAlias

import msgspec

from wire.auth.signing import Scope, Unsigned, authorization, body_hash, moment_of
from wire.core.credentials import SHOWN
from wire.core.errors import AuthenticationError, ConfigurationError
from wire.core.fields import Fields
from wire.core.secret import (
    HEADER_NAME,
    Secret,
    checked_headers,
    revealed_headers,
    sealed,
    sealed_headers,
    type_name,
)

Pairs = list[tuple[str, str]]
SIGNED: Mapping[str, str] = {"x-amz-date": SHOWN, "authorization": f"AWS4-HMAC-SHA256 {SHOWN}"}
"""The headers of a signature, as a preview shows them."""


class Place(msgspec.Struct, frozen=True):
    """Where a client sends, as far as credentials depend on it."""

    provider: str
    base_url: str
    region: str = ""
    service: str = ""
    """The `signing_service` of the row: an AWS service, or the scope of an Entra token."""
    key_variable: str = ""
    """The variable of the key that the host takes in place of credentials; empty without one."""
    looked: list[tuple[str, str]] = []
    """Where the last exchange looked, and what was there."""


class Fetch(msgspec.Struct, frozen=True):
    """Send a request to a server that gives tokens; the outcome is a `Fetched` of any status."""

    what: str
    """What is asked, for errors: `the token endpoint of ...`."""
    method: str
    url: str
    headers: Mapping[str, str | Secret] = {}
    body: bytes = b""
    secrets: tuple[Secret, ...] = ()
    """What the body has, to be hidden."""
    seconds: float = 30.0
    """The longest time that it may take."""

    def __repr__(self) -> str:
        return f"Fetch({self.what!r})"


class Fetched(msgspec.Struct, frozen=True):
    """The answer to a `Fetch`."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def __repr__(self) -> str:
        return f"Fetched({self.status})"


class Work(msgspec.Struct, frozen=True):
    """Call a function; it may return an awaitable."""

    function: Callable[[], Any]
    blocks: bool = False
    """Whether it waits, such as for a process: asyncio and trio run it in a thread."""


class Unsent(msgspec.Struct, frozen=True):
    """A request whose headers a credential completes."""

    method: str
    target: str
    """Path and query as they are sent."""
    headers: Pairs
    body: Any
    """Bytes, or an iterable of them."""

    def __repr__(self) -> str:
        return f"Unsent({self.method})"


class Credential(msgspec.Struct, frozen=True, metaclass=Fields):
    """A value that a client takes as `credentials=`."""

    name: ClassVar[str] = ""
    """What `describe` and errors call it."""
    before: ClassVar[float] = 300.0
    """Seconds before the end of its validity at which it is renewed."""
    shown: ClassVar[Mapping[str, str]] = {"authorization": f"Bearer {SHOWN}"}
    """The headers that it sets, as a preview shows them."""
    is_asked_each_time: ClassVar[bool] = False
    """Whether what is not known to end is exchanged before each attempt."""

    @property
    def is_async(self) -> bool:
        """Whether only an `AsyncClient` can use it."""
        return False

    def _shown_headers(self) -> dict[str, str]:
        """Return the headers that it sets, as a preview shows them."""
        return dict(self.shown)

    def _exchange(self, place: Place) -> Exchange:
        """Yield the steps that lead to what heads or signs an attempt."""
        raise NotImplementedError


class Ready(Credential, frozen=True):
    """A credential that heads or signs attempts by itself."""

    @property
    def _valid_until(self) -> float | None:
        """Seconds since 1970 at which it ends; `None` if it does not."""
        return None

    def _exchange(self, place: Place) -> Exchange:
        """Return itself."""
        return self
        yield

    def _secrets(self) -> tuple[Secret, ...]:
        """Return what a server must not repeat."""
        return ()

    def _headed(self, request: Unsent, place: Place, now: float) -> Pairs:
        """Return the headers of a request with those of this credential."""
        raise NotImplementedError


Step: TypeAlias = Fetch | Work
Exchange: TypeAlias = Generator[Step, Any, Ready]


class HeaderKey(Ready, frozen=True):
    """A key in a header of any name.

    >>> HeaderKey("x-api-key", "fake-key")
    HeaderKey(header='x-api-key', key=Secret('***'), scheme='')
    """

    header: str
    """Name of the header."""
    key: str | Secret
    """The key."""
    scheme: str = ""
    """Precedes the key: `Bearer` and a space."""

    name = "key in a header"

    def __post_init__(self) -> None:
        kept_secret(self, "key")
        if not isinstance(self.header, str) or not HEADER_NAME.fullmatch(self.header):
            raise ConfigurationError("HeaderKey.header: expected the name of a header")
        checked_text(self, "scheme")

    def _secrets(self) -> tuple[Secret, ...]:
        """Return the key."""
        return (_secret(self.key),)

    def _shown_headers(self) -> dict[str, str]:
        """Return the header, with its key hidden."""
        return {self.header.lower(): f"{self.scheme}{SHOWN}"}

    def _headed(self, request: Unsent, place: Place, now: float) -> Pairs:
        """Add the header; it replaces one of its name."""
        return _with(request.headers, self.header, self.scheme + _secret(self.key).reveal())


class Bearer(Ready, frozen=True):
    """A bearer token, and when it ends.

    >>> Bearer("fake-token", expires=1_800_000_000)
    Bearer(token=Secret('***'), expires=1800000000, headers={})
    """

    token: str | Secret
    """The token."""
    expires: float | None = None
    """Seconds since 1970 at which it ends; `None`: it is not known to end."""
    headers: Mapping[str, str] = {}
    """Further headers that belong to the token, unless the call has them. Betas are added to those
    of the call."""

    name = "token"

    def __post_init__(self) -> None:
        kept_secret(self, "token")
        checked_time(self, "expires")
        headers = sealed_headers(self.headers)
        msgspec.structs.force_setattr(self, "headers", headers)
        checked_headers(headers, "Bearer.headers")

    @property
    def _valid_until(self) -> float | None:
        """When it ends."""
        return self.expires

    def _secrets(self) -> tuple[Secret, ...]:
        """Return the token."""
        return (_secret(self.token),)

    def _headed(self, request: Unsent, place: Place, now: float) -> Pairs:
        """Add `authorization`, and the headers that belong to the token."""
        headers = _with(request.headers, "authorization", f"Bearer {_secret(self.token).reveal()}")
        for name, value in revealed_headers(checked_headers(self.headers)):
            given = next((each for key, each in headers if key.lower() == name), None)
            if given is not None and not name.endswith("-beta"):
                continue
            words = [each.strip() for each in f"{given or ''},{value}".split(",")]
            joined = ",".join(dict.fromkeys(filter(None, words)))
            headers = _with(headers, name, joined)
        return headers


class SigV4(Ready, frozen=True):
    """Credentials of AWS, with which each attempt is signed anew (Signature Version 4).

    >>> SigV4("fake-access-key", "fake-secret-key").access_key_id
    'fake-access-key'
    """

    access_key_id: str
    """Id of the access key."""
    secret_access_key: str | Secret
    """Its secret, which never travels."""
    session_token: str | Secret | None = None
    """The token of temporary credentials, which is sent and signed."""
    expires: float | None = None
    """Seconds since 1970 at which they end; `None`: they are not known to end."""
    region: str = ""
    """By default, the region of the client."""
    service: str = ""
    """The service in the scope of the signature. By default, that of the host, such as
    `bedrock`."""

    name = "AWS keys"
    before = 900.0
    shown = SIGNED

    def __post_init__(self) -> None:
        kept_secret(self, "secret_access_key")
        kept_secret(self, "session_token", optional=True)
        for field in ("access_key_id", "region", "service"):
            checked_text(self, field)
        if not self.access_key_id or not self.secret_access_key:
            given, missing = "access_key_id", "secret_access_key"
            if not self.access_key_id:
                given, missing = missing, given
            raise ConfigurationError(f"SigV4.{missing}: it is missing; {given} alone signs nothing")
        checked_time(self, "expires")

    @property
    def _valid_until(self) -> float | None:
        """When they end."""
        return self.expires

    def _secrets(self) -> tuple[Secret, ...]:
        """Return the secret and the session token."""
        token = () if self.session_token is None else (_secret(self.session_token),)
        return (_secret(self.secret_access_key), *token)

    def _headed(self, request: Unsent, place: Place, now: float) -> Pairs:
        """Add the date, the session token and the signature."""
        region, service = self.region or place.region, self.service or place.service
        if not region:
            raise ConfigurationError(
                "region: a signature needs it; give region=, or set AWS_REGION",
                provider=place.provider,
            )
        if not service:
            problem = f"{place.provider} takes no signatures of AWS; SigV4(service=...) names one"
            raise ConfigurationError(f"credentials: {problem}", provider=place.provider)
        scope = Scope(moment_of(now), region, service)
        headers = _with(request.headers, "x-amz-date", scope.moment)
        if self.session_token is not None:
            token = _secret(self.session_token).reveal()
            headers = _with(headers, "x-amz-security-token", token)
        # Proxies change other headers, which no server of AWS asks to be signed.
        signed = [pair for pair in headers if _is_signed(pair[0].lower())]
        unsigned = Unsigned(request.method, request.target, signed, body_hash(request.body))
        secret = _secret(self.secret_access_key)
        value = authorization(unsigned, scope, self.access_key_id, secret.reveal())
        return _with(headers, "authorization", value)


def _is_signed(name: str) -> bool:
    return name in ("host", "content-type") or name.startswith("x-amz-")


def _with(headers: Pairs, name: str, value: str) -> Pairs:
    return [*(pair for pair in headers if pair[0].lower() != name), (name, value)]


def _secret(value: object) -> Secret:
    assert isinstance(value, Secret)  # `kept_secret` made it one
    return value


# --- chains ---------------------------------------------------------------------------------------


class Absent(Exception):
    """A source has nothing: the chain goes on with the next one. The text says why."""


class Chain(Credential, frozen=True):
    """Sources that are looked at in their order, until one has credentials."""

    title: str
    """What errors and `describe` call it."""
    sources: tuple[Credential, ...]
    """The sources."""
    remedy: str = ""
    """What to do if no source has any."""

    def __post_init__(self) -> None:
        checked_text(self, "title")
        checked_text(self, "remedy")
        given: object = self.sources
        if not isinstance(given, tuple) or not all(isinstance(each, Credential) for each in given):
            msgspec.structs.force_setattr(self, "sources", ())
            raise ConfigurationError("Chain.sources: expected a tuple of credentials")
        if not given:
            raise ConfigurationError("Chain.sources: expected at least one source")

    def _shown_headers(self) -> dict[str, str]:
        """Return those of its first source: all are of one vendor."""
        return self.sources[0]._shown_headers()

    def _exchange(self, place: Place) -> Exchange:
        """Yield the steps of each source, until one has credentials."""
        place.looked.clear()  # another chain may have written there
        for source in self.sources:
            try:
                ready = yield from source._exchange(place)
            except Absent as absent:
                place.looked.append((source.name, str(absent)))
            else:
                place.looked.append((source.name, "found"))
                return ready
        told = "; ".join(f"{name}: {problem}" for name, problem in place.looked)
        key = f"give api_key= or set {place.key_variable}" if place.key_variable else ""
        ways = "; or ".join(each for each in (key, self.remedy) if each)
        problem = f"{'no API key and ' if key else ''}no credentials of {self.title}: {ways}; "
        raise ConfigurationError(f"{problem}looked at {told}", provider=place.provider)


# --- checks of fields -----------------------------------------------------------------------------


def kept_secret(owner: msgspec.Struct, field: str, *, optional: bool = False) -> None:
    """Store a field as a `Secret`, and check it: no traceback shows it then (R-28)."""
    value = getattr(owner, field)
    if isinstance(value, Secret):
        secret = value
    elif value is None or (isinstance(value, str) and value == ""):
        if optional:
            msgspec.structs.force_setattr(owner, field, None)
            return
        msgspec.structs.force_setattr(owner, field, "")
        if type(owner).__name__ == "SigV4":
            return  # it names both halves
        raise ConfigurationError(f"{type(owner).__name__}.{field}: it is empty")
    else:
        secret = Secret.unchecked(value)
    del value
    msgspec.structs.force_setattr(owner, field, secret)
    if not secret.is_text:
        raise ConfigurationError(
            f"{type(owner).__name__}.{field}: expected a str, not {secret.kind}"
        )
    secret.check(f"{type(owner).__name__}.{field}")


def checked_text(owner: msgspec.Struct, field: str, *, needed: bool = False) -> None:
    """Raise `ConfigurationError` for a field that is no text, or is empty and must not be."""
    value = sealed(getattr(owner, field))
    msgspec.structs.force_setattr(owner, field, value)
    if isinstance(value, Secret) and value.is_text:
        # An id that looks random, such as that of an access key, is no secret.
        value = value.reveal()
        msgspec.structs.force_setattr(owner, field, value)
    if not isinstance(value, str):
        kind = type_name(value)
        raise ConfigurationError(f"{type(owner).__name__}.{field}: expected a str, not {kind}")
    if needed and not value.strip():
        raise ConfigurationError(f"{type(owner).__name__}.{field}: it is missing")
    if not value.isascii() or not (value == "" or value.isprintable()):
        raise ConfigurationError(f"{type(owner).__name__}.{field}: expected printable ASCII text")


def checked_time(owner: msgspec.Struct, field: str) -> None:
    """Raise `ConfigurationError` for a time that is no number."""
    value = getattr(owner, field)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not is_number:
        msgspec.structs.force_setattr(owner, field, None)
        raise ConfigurationError(
            f"{type(owner).__name__}.{field}: expected seconds since 1970, not {type_name(value)}"
        )


# --- what servers of tokens answer ----------------------------------------------------------------


def fields_of(reply: Fetched, what: str) -> Mapping[str, Any]:
    """Return the JSON object of an answer with a good status.

    Raises `AuthenticationError` with the words of the server for any other one.
    """
    try:
        fields: Any = msgspec.json.decode(reply.body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        fields = None
    if not 200 <= reply.status < 300:
        raise refused(reply, what, fields if isinstance(fields, dict) else {})
    if not isinstance(fields, dict):
        raise AuthenticationError(f"credentials: {what} answered no JSON object")
    return fields


def refused(reply: Fetched, what: str, fields: Mapping[str, Any]) -> AuthenticationError:
    """Build the error of a refusal by a server of tokens, with its own words."""
    error = fields.get("error")
    if isinstance(error, Mapping):  # Google's APIs
        code, words = error.get("status"), error.get("message")
    else:
        code, words = error, fields.get("error_description")
    code = code or fields.get("code") or fields.get("Code") or fields.get("__type")
    words = words or fields.get("message") or fields.get("Message")
    told = f": {words}" if isinstance(words, str) and words else ""
    return AuthenticationError(
        f"credentials: {what} refused{told}",
        status=reply.status,
        code=code if isinstance(code, str) else None,
        retryable=reply.status in (408, 429) or reply.status >= 500,
    )


def token_of(fields: Mapping[str, Any], what: str, now: float, key: str = "access_token") -> Bearer:
    """Return the bearer token in an answer, which ends `expires_in` seconds after `now`, or
    at `expires_on`.
    """
    token, lifetime = fields.get(key), fields.get("expires_in")
    if not isinstance(token, str) or not token:
        raise AuthenticationError(f"credentials: the answer of {what} has no {key}")
    try:
        end = now + float(lifetime) if lifetime is not None else float(fields["expires_on"])
    except (KeyError, TypeError, ValueError):
        end = None
    return Bearer(Secret.unchecked(token), end)
