"""TLS contexts, proxies of the environment, and the choice of the transport."""

from __future__ import annotations

import functools
import os
import ssl
import sys
import urllib.request
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

import httpx

from wire.core.errors import ConfigurationError
from wire.core.hosts import Origin, is_loopback
from wire.core.logs import logger
from wire.core.secret import quoted, sealed_object, type_name, unsealed
from wire.http.target import TRANSPORT_METHODS

_log = logger("wire.http")
_TLS_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")


class Transport(Protocol):
    """A transport of httpx or httpx2."""

    def handle_request(self, request: Any, /) -> Any:
        """Send a request; the body of the response is not read."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class HTTPClient(Protocol):
    """A client of httpx or httpx2."""

    def send(self, request: Any, /, *, stream: bool, follow_redirects: bool) -> Any:
        """Send a request; the body of the response is not read."""
        ...

    def close(self) -> None:
        """Close all connections."""
        ...


class AsyncTransport(Protocol):
    """An async transport of httpx or httpx2."""

    def handle_async_request(self, request: Any, /) -> Awaitable[Any]:
        """Send a request; the body of the response is not read."""
        ...

    def aclose(self) -> Awaitable[None]:
        """Close all connections."""
        ...


class AsyncHTTPClient(Protocol):
    """An async client of httpx or httpx2."""

    def send(self, request: Any, /, *, stream: bool, follow_redirects: bool) -> Awaitable[Any]:
        """Send a request; the body of the response is not read."""
        ...

    def aclose(self) -> Awaitable[None]:
        """Close all connections."""
        ...


CONTEXTS: dict[tuple[str, bool], ssl.SSLContext] = {}


def tls(scheme: str, trust_env: bool = True) -> ssl.SSLContext:
    """Return the TLS context that all lanes share, since creating one takes 20 ms and more.

    For http it does not verify, and so loads no certificates. `trust_env` reads `SSL_CERT_FILE`,
    `SSL_CERT_DIR` and `SSLKEYLOGFILE`.

    Raises `ConfigurationError` if a file that they name cannot be read.
    """
    key = scheme, trust_env
    if (known := CONTEXTS.get(key)) is not None:
        return known
    try:
        context = httpx.create_ssl_context(verify=scheme == "https", trust_env=trust_env)
    except (OSError, ValueError) as cause:  # `ssl.SSLError` is an OSError
        names = [name for name in _TLS_VARIABLES if os.environ.get(name)]
        raise ConfigurationError(
            f"{' or '.join(names) or 'TLS'}: cannot be used: {type(cause).__name__}"
        ) from cause
    if not trust_env:
        # The `ssl` module reads SSLKEYLOGFILE by itself: with its file, traffic can be decrypted.
        context.keylog_filename = None  # type: ignore[assignment]
    # Two threads may both have made one. Both get the same: a TLS session of one context cannot be
    # resumed with another. A lock could be held by a thread that a fork leaves behind.
    return CONTEXTS.setdefault(key, context)


_THIS_MACHINE = {
    "0.0.0.0", "::", "::ffff:0.0.0.0", "::ffff:0:0",
    "localhost.localdomain", "localhost4", "localhost6", "localhost4.localdomain4",
    "localhost6.localdomain6", "ip6-localhost", "ip6-loopback",
}  # fmt: skip
"""Hosts besides loopback that are this machine: the unspecified address, to which an operating
system connects as to itself, and names that distributions of Linux write into `/etc/hosts`."""


def proxy_for(scheme: str, host: str, port: int | None, trust_env: bool = True) -> str | None:
    """Return the proxy for an origin by `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` and the like.

    There is none for this machine, whatever `NO_PROXY` contains: a proxy elsewhere could not reach
    it, and would receive the key and the conversation.

    Raises `ConfigurationError` for a proxy that is not http or https. The error does not contain
    the URL, which may have a password.
    """
    if not trust_env or is_loopback(host) or host in _THIS_MACHINE:
        return None
    names = urllib.request.getproxies().keys()
    name = scheme if scheme in names else "all"
    if name not in names or urllib.request.proxy_bypass(f"{host}:{port}" if port else host):
        return None
    if problem := _proxy_problem(name):
        raise ConfigurationError(f"{name.upper()}_PROXY: {problem}")
    return _proxy(name)


def _proxy(name: str) -> str:
    """Return the proxy of a variable as a URL."""
    proxy = urllib.request.getproxies()[name]
    return proxy if "://" in proxy else f"http://{proxy}"


def _proxy_problem(name: str) -> str:
    """Return why the proxy of a variable cannot be used; empty if it can.

    This is separate from `proxy_for`: the traceback of its error must not have the URL as a
    variable.
    """
    try:
        parts = urlsplit(_proxy(name))
        httpx.URL(_proxy(name))
        is_complete = parts.hostname and parts.port != 0 and parts.path in ("", "/")
    except (ValueError, httpx.InvalidURL):
        return "it is no URL"
    if parts.scheme not in ("http", "https"):
        return f"only http and https proxies are supported, not {parts.scheme}"
    # A password with a slash or a question mark ends the host too early.
    return (
        "" if is_complete and not parts.query and not parts.fragment else "it is no URL of a host"
    )


def proxy_option(proxy: str | None, trust_env: bool) -> httpx.Proxy | None:
    """Return the proxy in the form of httpx.

    TLS to the proxy trusts the same certificates as TLS to a host.
    """
    if proxy is None:
        return None
    context = tls("https", trust_env) if urlsplit(proxy).scheme == "https" else None
    return httpx.Proxy(proxy, ssl_context=context)


def shown_proxy(origin: Origin, trust_env: bool) -> str | None:
    """Return the proxy for an origin without its credentials, for `describe`."""
    proxy = proxy_for(origin.scheme, origin.host, origin.port, trust_env)
    if proxy is None:
        return None
    shown = urlsplit(proxy)
    user = "***@" if "@" in shown.netloc else ""
    host = f"[{shown.hostname}]" if ":" in str(shown.hostname) else shown.hostname
    port = f":{shown.port}" if shown.port else ""
    return f"{shown.scheme}://{user}{host}{port}"


UNVERIFIED = "not verified"
_UNVERIFIED_TEXT = (
    "certificates are not verified: http= has switched the checks off (verify=False, or an SSL "
    "context without them), so whoever is on the way can read the key and the texts"
)
_MAX_PARTS = 100
"""Objects of a transport that are looked at; those of httpx have fewer than ten."""


def certificates(http: Any) -> str:
    """Return `not verified` if a part of a transport or client does not check certificates.

    It finds the TLS contexts of httpx and httpx2, and those of a transport that holds another one
    as an attribute. It returns `as http= decides` for a transport without a context, and for one
    whose checks are on.
    """
    contexts = (each for each in parts_of(http) if isinstance(each, ssl.SSLContext))
    checked = (each.verify_mode != ssl.CERT_NONE and each.check_hostname for each in contexts)
    return "as http= decides" if all(checked) else UNVERIFIED


def described(http: Any) -> dict[str, str]:
    """Describe a transport or client of the caller's, as lanes describe themselves."""
    decides = "as http= decides"
    return {"connections": decides, "proxy": decides, "certificates": certificates(http)}


def parts_of(http: Any) -> Iterator[Any]:
    """Yield a transport or client, and the TLS contexts, transports and pools in its attributes."""
    parts, seen = [unsealed(http)], set[int]()
    while parts and len(seen) < _MAX_PARTS:
        part = parts.pop()
        if isinstance(part, ssl.SSLContext):
            yield part
        elif id(part) not in seen and any(hasattr(part, name) for name in TRANSPORT_METHODS):
            seen.add(id(part))
            yield part
            for value in list(getattr(part, "__dict__", {}).values()):
                # Transports by URL are a dict of an `httpx.Client`.
                parts += value.values() if isinstance(value, dict) else [value]


def _tell_unverified(http: Any) -> None:
    """Log and warn, once for each client, if certificates are not verified."""
    if certificates(http) == UNVERIFIED:
        _log.warning(_UNVERIFIED_TEXT)
        # At one place of the source: Python shows it once, however many clients there are.
        warnings.warn(_UNVERIFIED_TEXT, RuntimeWarning, stacklevel=2)


_PATCHED = (
    ("httpx", "HTTPTransport", "handle_request"),
    ("httpx", "AsyncHTTPTransport", "handle_async_request"),
    ("httpcore", "ConnectionPool", "handle_request"),
    ("httpcore", "AsyncConnectionPool", "handle_async_request"),
)
"""Methods that test libraries (respx, pytest-httpx, vcrpy) replace to answer requests."""


def is_patched() -> bool:
    """Return whether a test library answers the requests of httpx.

    Direct lanes would bypass it.
    """
    # `None`: the library is not imported, or another thread is just importing it.
    found = (
        (library, getattr(getattr(sys.modules.get(library), kind, None), method, None))
        for library, kind, method in _PATCHED
    )
    return any(
        each is not None and not each.__module__.startswith(library) for library, each in found
    )


transport_of_block: ContextVar[Callable[[str, bool], Any] | None] = ContextVar(
    "transport_of_block", default=None
)
"""Makes the transport of a client whose `http` is "auto", inside a block such as `wire.record`. It
gets the name of the function that sends, and `trust_env`."""


class Style(NamedTuple):
    """Functions for the choice of a transport in one style: threads, or asyncio and trio."""

    lanes: type
    handle: str
    """The method of a transport that sends a request."""
    client: type
    """The client of httpx."""
    in_time: Callable[..., Any]
    """Sends with a transport or client of the caller's, with the clocks of the attempt."""


def opened(http: Any, trust_env: bool, style: Style) -> tuple[Any, Callable[[httpx.Request], Any]]:
    """Return the transport or client to use, and its function that sends a request.

    "auto", "direct" and "httpx" select lanes and their connections; transports and clients of
    httpx2 are taken too. Raises `ConfigurationError` for anything else, and for `trust_env=False`
    together with a transport, which has its own setting.
    """
    http = sealed_object(http, *TRANSPORT_METHODS)
    if isinstance(http, str):
        if http not in ("auto", "direct", "httpx"):
            raise ConfigurationError(
                "http: expected 'auto', 'direct', 'httpx', a transport or a client, "
                f"not {quoted(http)}"
            )
        make = transport_of_block.get() if http == "auto" else None
        if make is None:
            transport = style.lanes(trust_env=trust_env, connections=http)
            return transport, getattr(transport, style.handle)
        http, trust_env = make(style.handle, trust_env), True
    if not trust_env:
        raise ConfigurationError(
            "trust_env: an option of the transport; give it to the transport that you pass as http="
        )
    sender = _adapted(http, style.handle)
    if isinstance(http, style.client):
        options = {"stream": True, "follow_redirects": False}
        send: Any = functools.partial(http.send, **options)  # type: ignore[attr-defined]
    else:
        send = getattr(sender, style.handle, None)
    if not callable(send):
        raise ConfigurationError(
            f"http: expected an httpx transport with {style.handle}() or an "
            f"httpx.{style.client.__name__}, not {type_name(http)}"
        )
    if isinstance(http, style.lanes):
        return http, send
    _tell_unverified(http)
    return http, functools.partial(style.in_time, send, http=http)


def _adapted(http: Any, handle: str) -> Any:
    """Adapt a transport or client of httpx2 to httpx; return anything else unchanged."""
    if "httpx2" not in sys.modules:
        return http
    from wire.http.httpx2 import AsyncHttpx2Transport, Httpx2Transport, library_of

    library = library_of(unsealed(http))
    if library is None:
        return http
    kind = "Client" if handle == "handle_request" else "AsyncClient"
    if not callable(getattr(http, handle, None)) and not isinstance(http, getattr(library, kind)):
        return None
    return Httpx2Transport(http) if kind == "Client" else AsyncHttpx2Transport(http)
