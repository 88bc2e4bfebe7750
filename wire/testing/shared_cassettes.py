"""The cassette of a test as a transport: its clients share it, and it has own hosts of vendors."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import httpx

from wire.errors import ConfigurationError
from wire.http.target import set_base_url_variable, target
from wire.providers import PROVIDERS
from wire.testing.cassette.transports import AsyncCassette, Cassette

_SENT_URL = "wire.sent_url"


class OtherHost(NamedTuple):
    """What the environment has in place of the host of a provider."""

    variables: tuple[str, ...]
    """The variables `<NAME>_BASE_URL` of the provider that are set."""
    base_url: str
    """What clients make of them; empty if they refuse it, or need further options."""
    own: str
    """The base URL of the provider."""


def other_hosts() -> list[OtherHost]:
    """All of them. Providers without a host of their own are left out: they need the variable."""
    found: list[OtherHost] = []
    for name, row in PROVIDERS.items():
        if row.base_url and set_base_url_variable(row):
            try:
                base = target(name, {"api_key": "unused"}).base_url
            except ConfigurationError:
                base = ""
            variables = tuple(each for each in row.base_url_variables if each in os.environ)
            found.append(OtherHost(variables, base, row.base_url.format(host="")))
    return found


def _rename(request: httpx.Request, hosts: Mapping[str, str]) -> None:
    """Give the request the URL that the cassette has: that of the provider's own host.

    Otherwise the cassette would have the host of a gateway or an emulator, and its replay would
    match only where the same variable is set.
    """
    url = str(request.url)
    for base, own in hosts.items():
        if url.startswith(f"{base}/"):
            request.extensions[_SENT_URL] = request.url
            request.url = httpx.URL(own + url[len(base) :])
            return


def _restore(request: httpx.Request) -> httpx.Request:
    """Give the request its own URL again."""
    request.url = request.extensions.pop(_SENT_URL, request.url)
    return request


class Sender(httpx.BaseTransport):
    """Sends for all clients of a test: it stays open when one of them is closed."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the URL that the client gave it."""
        response: httpx.Response = self._inner.handle_request(_restore(request))
        return response

    def finish(self) -> None:
        """Close the connections."""
        self._inner.close()


class AsyncSender(httpx.AsyncBaseTransport):
    """As `Sender`, for asyncio and trio."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request to the URL that the client gave it."""
        response: httpx.Response = await self._inner.handle_async_request(_restore(request))
        return response

    async def finish(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class SharedCassette(Cassette):
    """A cassette that has own hosts in place of those in `hosts`, and sends to the latter."""

    def __init__(self, hosts: Mapping[str, str], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._hosts = hosts
        self._inner = self._sender = Sender(self._inner)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """As `Cassette.handle_request`."""
        _rename(request, self._hosts)
        return super().handle_request(request)

    def finish(self) -> None:
        """Close the connections."""
        self._sender.finish()


class AsyncSharedCassette(AsyncCassette):
    """As `SharedCassette`, for asyncio and trio."""

    def __init__(self, hosts: Mapping[str, str], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._hosts = hosts
        self._inner = self._sender = AsyncSender(self._inner)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """As `AsyncCassette.handle_async_request`."""
        _rename(request, self._hosts)
        return await super().handle_async_request(request)

    async def finish(self) -> None:
        """Close the connections."""
        await self._sender.finish()
