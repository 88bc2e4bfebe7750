"""What a connection needs from this machine: TLS contexts, proxies, and the transport to use."""

from __future__ import annotations

import functools
import ssl
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import httpx

from wire.errors import ConfigurationError
from wire.http.target import Target


@functools.cache
def tls(scheme: str) -> ssl.SSLContext:
    """One context for all lanes: making one costs 20 ms and more, and none that verifies is needed
    before the first https call.
    """
    return httpx.create_ssl_context(verify=scheme == "https")


def proxy_for(scheme: str, host: str, port: int | None) -> str | None:
    """The proxy that the environment names for an origin (`HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`,
    ...).
    """
    proxies = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or urllib.request.proxy_bypass(f"{host}:{port}" if port else host):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{scheme.upper()}_PROXY: only http and https proxies are spoken here, not "
            f"{urlsplit(proxy).scheme}"
        )
    return proxy


def shown_proxy(target: Target) -> str | None:
    """The proxy of a target without its credentials, for `describe`."""
    parts = urlsplit(target.base_url)
    proxy = proxy_for(parts.scheme, parts.hostname or "", parts.port)
    if proxy is None:
        return None
    found = urlsplit(proxy)
    user = "***@" if found.username else ""
    port = f":{found.port}" if found.port else ""
    return f"{found.scheme}://{user}{found.hostname}{port}"


def opened(
    http: Any, lanes: Callable[[], Any], handle: str, client: type
) -> tuple[Any, Callable[[httpx.Request], Any]]:
    """The transport or client to use, and the function of it that answers a request.

    "auto" and "httpx" both mean lanes; the direct transport will be chosen here.
    """
    if isinstance(http, str):
        if http not in ("auto", "httpx"):
            raise ConfigurationError(
                f"http: 'auto', 'httpx', a transport or a client, not {http!r}"
            )
        transport = lanes()
        return transport, getattr(transport, handle)
    if isinstance(http, client):
        return http, functools.partial(http.send, stream=True, follow_redirects=False)  # type: ignore[attr-defined]
    if callable(getattr(http, handle, None)):
        return http, getattr(http, handle)
    raise ConfigurationError(
        f"http: an httpx transport with {handle}() or an httpx.{client.__name__} is "
        f"wanted, not {type(http).__name__}"
    )
