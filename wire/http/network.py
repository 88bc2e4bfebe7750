"""TLS contexts, proxies of the environment, and the choice of the transport."""

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
    """The TLS context that all lanes share, since creating one takes 20 ms and more.

    For http it does not verify, and so loads no certificates.
    """
    return httpx.create_ssl_context(verify=scheme == "https")


def proxy_for(scheme: str, host: str, port: int | None) -> str | None:
    """The proxy for an origin by `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY` and the like.

    Raises `ConfigurationError` for a proxy that is not http or https.
    """
    proxies = urllib.request.getproxies()
    proxy = proxies.get(scheme) or proxies.get("all")
    if not proxy or urllib.request.proxy_bypass(f"{host}:{port}" if port else host):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if urlsplit(proxy).scheme not in ("http", "https"):
        raise ConfigurationError(
            f"{scheme.upper()}_PROXY: only http and https proxies are supported, not "
            f"{urlsplit(proxy).scheme}"
        )
    return proxy


def shown_proxy(target: Target) -> str | None:
    """The proxy of a target without its credentials, for `describe`."""
    parts = urlsplit(target.base_url)
    proxy = proxy_for(parts.scheme, parts.hostname or "", parts.port)
    if proxy is None:
        return None
    shown = urlsplit(proxy)
    user = "***@" if shown.username else ""
    port = f":{shown.port}" if shown.port else ""
    return f"{shown.scheme}://{user}{shown.hostname}{port}"


def opened(
    http: Any, lanes: Callable[[], Any], handle: str, client: type
) -> tuple[Any, Callable[[httpx.Request], Any]]:
    """The transport or client to use, and its function that sends a request.

    "auto" and "httpx" both select lanes.
    """
    if isinstance(http, str):
        if http not in ("auto", "httpx"):
            raise ConfigurationError(
                f"http: expected 'auto', 'httpx', a transport or a client, not {http!r}"
            )
        transport = lanes()
        return transport, getattr(transport, handle)
    if any(cls.__module__.partition(".")[0] == "httpx2" for cls in type(http).__mro__):
        raise ConfigurationError(
            "http: transports and clients of httpx2 are not supported; give one of httpx"
        )
    if isinstance(http, client):
        return http, functools.partial(http.send, stream=True, follow_redirects=False)  # type: ignore[attr-defined]
    if callable(getattr(http, handle, None)):
        return http, getattr(http, handle)
    raise ConfigurationError(
        f"http: expected an httpx transport with {handle}() or an httpx.{client.__name__}, "
        f"not {type(http).__name__}"
    )
