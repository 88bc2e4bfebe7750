"""Transports and clients of httpx2, as transports of httpx.

httpx2 has the names of httpx, but classes of its own. It is not imported here: an object of httpx2
belongs to a library that is loaded already.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx


def library_of(http: Any) -> Any:
    """Return the module `httpx2` if the transport or client is one of it, otherwise `None`."""
    for cls in type(http).__mro__:
        if cls.__module__.partition(".")[0] == "httpx2":
            return sys.modules.get("httpx2")
    return None


class Httpx2Transport(httpx.BaseTransport):
    """Sends with a transport or client of httpx2, for threads."""

    def __init__(self, http: Any) -> None:
        self._library, self._http = library_of(http), http
        self._send = _sender(http, self._library.Client, "handle_request")

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises the exceptions of httpx."""
        try:
            response = self._send(_request(self._library, request))
        except _errors(self._library) as cause:
            raise _of_httpx(cause) from cause
        return _response(response, _Body(response.stream, self._library))

    def close(self) -> None:
        """Close the transport or client."""
        self._http.close()


class AsyncHttpx2Transport(httpx.AsyncBaseTransport):
    """Sends with a transport or client of httpx2, for asyncio and trio."""

    def __init__(self, http: Any) -> None:
        self._library, self._http = library_of(http), http
        self._send = _sender(http, self._library.AsyncClient, "handle_async_request")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request. Raises the exceptions of httpx."""
        try:
            response = await self._send(_request(self._library, request))
        except _errors(self._library) as cause:
            raise _of_httpx(cause) from cause
        return _response(response, _AsyncBody(response.stream, self._library))

    async def aclose(self) -> None:
        """Close the transport or client."""
        await self._http.aclose()


def _sender(http: Any, client: type, handle: str) -> Any:
    if isinstance(http, client):
        options = {"stream": True, "follow_redirects": False}
        return functools.partial(http.send, **options)  # type: ignore[attr-defined]
    return getattr(http, handle)


def _errors(library: Any) -> tuple[type[Exception], ...]:
    return library.HTTPError, library.InvalidURL, library.StreamError


def _of_httpx(cause: Exception) -> Exception:
    """Return the exception of httpx with the same name, or that of its nearest base."""
    if type(cause).__name__ == "HTTPStatusError":
        status = httpx.Response(cause.response.status_code)  # type: ignore[attr-defined]
        text = str(cause)
        return httpx.HTTPStatusError(text, request=None, response=status)  # type: ignore[arg-type]
    for cls in type(cause).__mro__:
        same = getattr(httpx, cls.__name__, None)
        if isinstance(same, type) and issubclass(same, (httpx.RequestError, httpx.InvalidURL)):
            return same(str(cause))
    return httpx.StreamError(str(cause))


def _request(library: Any, request: httpx.Request) -> Any:
    return library.Request(
        request.method,
        str(request.url),
        headers=request.headers.raw,
        stream=_request_body(library)(request.stream),
        extensions=request.extensions,
    )


@functools.cache
def _request_body(library: Any) -> Any:
    """Make a class of request bodies, since httpx2 requires one of its own classes."""
    return type(
        "RequestBody",
        (library.SyncByteStream, library.AsyncByteStream),
        {
            "__init__": lambda self, body: setattr(self, "body", body),
            "__iter__": lambda self: iter(self.body),
            "__aiter__": lambda self: aiter(self.body),
        },
    )


def _response(response: Any, body: httpx.SyncByteStream | httpx.AsyncByteStream) -> httpx.Response:
    return httpx.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=body,
        extensions=response.extensions,
    )


class _Body(httpx.SyncByteStream):
    def __init__(self, body: Any, library: Any) -> None:
        self._body, self._errors = body, _errors(library)

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._body
        except self._errors as cause:
            raise _of_httpx(cause) from cause

    def close(self) -> None:
        self._body.close()


class _AsyncBody(httpx.AsyncByteStream):
    """Is its own iterator, since trio warns about an async generator that is not closed."""

    def __init__(self, body: Any, library: Any) -> None:
        self._body, self._reads, self._errors = body, aiter(body), _errors(library)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            data: bytes = await anext(self._reads)
        except self._errors as cause:
            raise _of_httpx(cause) from cause
        return data

    async def aclose(self) -> None:
        """Close the body, then exhaust the generators in which httpx2 reads it.

        The connection is closed by then if the body was not read to its end, so that at most one
        buffered read is left in them.
        """
        await self._body.aclose()
        try:
            while True:
                await anext(self._reads)
        except (OSError, RuntimeError, StopAsyncIteration):
            pass
        except self._errors:
            pass
