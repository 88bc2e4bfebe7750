"""httpx transports that record to a cassette and replay from it. No module is patched (C-09)."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any

import httpx

from wire.core.arguments import checked_arguments
from wire.core.secret import Secret, sealed_list, sealed_object
from wire.errors import CassetteError, ConfigurationError
from wire.http.httpx2 import AsyncHttpx2Transport, Httpx2Transport, library_of
from wire.http.network import AsyncTransport, Transport
from wire.testing.cassette.file import End
from wire.testing.cassette.player import Played, Player
from wire.testing.cassette.recorder import Recorder
from wire.testing.cassette.sent import Sent

_AGAIN = "to record it again, call it once with http=Record(Lanes(), {path!r})"
_ASYNC_AGAIN = "to record it again, call it once with http=AsyncRecord(AsyncLanes(), {path!r})"

_ENDS: list[tuple[type[Exception], End]] = [
    (httpx.TimeoutException, "timeout"),
    (httpx.RemoteProtocolError, "cut"),
    (Exception, "reset"),
]
_RAISED: dict[End, type[httpx.TransportError]] = {
    "timeout": httpx.ReadTimeout,
    "cut": httpx.RemoteProtocolError,
}


class Record(httpx.BaseTransport):
    """Sends requests with `inner` and writes each request and response to a cassette file.

    >>> from wire import Client, Lanes
    >>> http = Record(Lanes(), "weather.cassette.json")
    >>> with Client("gemini", http=http) as client:  # doctest: +SKIP
    ...     client.generate_content("gemini-3.5-flash", "How high is the tide?")

    Bytes are passed on as they arrive. The file at `path` is written each time the body of a
    response is closed; it holds all interactions of this object and replaces an earlier file.
    Only headers of an allow-list are written (C-11).

    An interaction that contains a known secret is not written (C-12). Known secrets are the keys of
    requests, the environment variables with names such as `...KEY` or `..._PASSWORD`, and
    `secrets`. Closing the body then raises `CassetteError`, which names the position of the secret;
    its `raw` is the body.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        inner: Transport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str | Secret] = (),
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        inner, secrets = sealed_object(inner, "handle_request"), sealed_list(secrets)
        self._inner: Any = _transport(inner, "handle_request", Httpx2Transport)
        self._recorder = Recorder(path, secrets)

    @checked_arguments(ConfigurationError)
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send with the inner transport. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = request.read()
        sent = _sent(request, body)
        position = self._recorder.send(sent)
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        return _wrapped(
            response,
            _Recorded(response.stream, _BodyCopy(self._recorder, position, sent, response)),
        )

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncRecord(httpx.AsyncBaseTransport):
    """`Record` for asyncio and trio.

    Writing the file blocks the event loop, since no thread is used.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        inner: AsyncTransport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str | Secret] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_async_request"), sealed_list(secrets)
        self._inner: Any = _transport(inner, "handle_async_request", AsyncHttpx2Transport)
        self._recorder = Recorder(path, secrets)

    @checked_arguments(ConfigurationError)
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send with the inner transport. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = await request.aread()
        sent = _sent(request, body)
        position = self._recorder.send(sent)
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return _wrapped(
            response,
            _AsyncRecorded(response.stream, _BodyCopy(self._recorder, position, sent, response)),
        )

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class Replay(httpx.BaseTransport):
    """Answers requests from the cassette at `path` instead of the network.

    >>> from wire import Client
    >>> with Client("gemini", http=Replay("weather.cassette.json")) as client:  # doctest: +SKIP
    ...     client.generate_content("gemini-3.5-flash", "How high is the tide?")

    A request matches a recorded one with the same method, host, path, query and JSON value of the
    body (C-16). Each interaction is played once; equal requests get their responses in recorded
    order (C-19). A body that was interrupted while recording raises the same httpx error after its
    last recorded byte (C-04).

    Raises `CassetteError` for a file that is missing or malformed, and for a request without a
    match. The error then lists the differences to the closest recorded request.
    """

    @checked_arguments(ConfigurationError)
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._player = Player(path, _AGAIN)

    @checked_arguments(ConfigurationError)
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return the recorded response. Nothing is sent over the network."""
        return _replayed(self._player.play(_sent(request, request.read())), request)


class AsyncReplay(httpx.AsyncBaseTransport):
    """`Replay` for asyncio and trio."""

    @checked_arguments(ConfigurationError)
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._player = Player(path, _ASYNC_AGAIN)

    @checked_arguments(ConfigurationError)
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Return the recorded response. Nothing is sent over the network."""
        return _replayed(self._player.play(_sent(request, await request.aread())), request)


def _transport(inner: Any, handle: str, httpx2: Callable[[Any], Any]) -> Any:
    if not callable(getattr(inner, handle, None)):
        raise ConfigurationError(
            f"inner: expected an httpx transport with {handle}(), not {type(inner).__name__}"
        )
    return inner if library_of(inner) is None else httpx2(inner)


def _sent(request: httpx.Request, body: bytes) -> Sent:
    return Sent(request.method, str(request.url), request.headers.multi_items(), body)


def _wrapped(
    response: httpx.Response, stream: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    # A new object, since a response that was created with its content, as mock transports do it,
    # never reads its stream.
    return httpx.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=stream,
        extensions=response.extensions,
    )


class _BodyCopy:
    """Copies the body of one response while the caller reads it, and notes how the body ended."""

    def __init__(
        self, recorder: Recorder, position: int, sent: Sent, response: httpx.Response
    ) -> None:
        self.closed = False
        self.end: End = "closed by the caller"
        self._pieces: list[bytes] = []
        self._recorder, self._position, self._sent = recorder, position, sent
        self._status, self._headers = response.status_code, response.headers.multi_items()

    def take(self, data: bytes) -> bytes:
        """Stores the bytes and returns them."""
        self._pieces.append(data)
        return data

    def failed(self, cause: Exception) -> None:
        """Records that reading the body raised `cause`; the first cause counts."""
        if self.end == "closed by the caller":
            self.end = next(end for kind, end in _ENDS if isinstance(cause, kind))

    def keep(self) -> CassetteError | None:
        """Passes the stored body to the recorder; returns the recorder's error, if any."""
        self.closed = True
        return self._recorder.keep(
            self._position,
            self._sent,
            self._status,
            self._headers,
            b"".join(self._pieces),
            self.end,
        )


def _raise_unless_interrupted(problem: CassetteError | None) -> None:
    """Raises `problem`, unless a cancellation or interrupt is being raised: it must not be lost."""
    active = sys.exception()
    if problem is not None and (active is None or isinstance(active, Exception)):
        raise problem


class _Recorded(httpx.SyncByteStream):
    def __init__(self, body: httpx.SyncByteStream, copy: _BodyCopy) -> None:
        self._body, self._copy = body, copy

    def __iter__(self) -> Iterator[bytes]:
        reads = iter(self._body)
        while True:
            try:
                data = next(reads)
            except StopIteration:
                self._copy.end = "eof"
                return
            except Exception as cause:
                self._copy.failed(cause)
                raise
            yield self._copy.take(data)

    def close(self) -> None:
        if self._copy.closed:
            return
        problem = self._copy.keep()
        try:
            self._body.close()
        finally:
            _raise_unless_interrupted(problem)


class _AsyncRecorded(httpx.AsyncByteStream):
    """Is its own iterator, since trio warns of an async generator that is not closed."""

    def __init__(self, body: httpx.AsyncByteStream, copy: _BodyCopy) -> None:
        self._body, self._reads, self._copy = body, aiter(body), copy

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return self._copy.take(await anext(self._reads))
        except StopAsyncIteration:
            if self._copy.end == "closed by the caller":
                self._copy.end = "eof"
            raise
        except Exception as cause:
            self._copy.failed(cause)
            raise

    async def aclose(self) -> None:
        if self._copy.closed:
            return
        problem = self._copy.keep()
        try:
            for each in (self._reads, self._body):
                close = getattr(each, "aclose", None)
                if close is not None:
                    await close()
        finally:
            _raise_unless_interrupted(problem)


def _replayed(played: Played, request: httpx.Request) -> httpx.Response:
    return httpx.Response(played.status, headers=played.headers, stream=_Playing(played, request))


class _Playing(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded body, one chunk for each event.

    Reading past the end of an interrupted recording raises: the rest was never received (C-05).
    """

    def __init__(self, played: Played, request: httpx.Request) -> None:
        self._left = iter(played.chunks)
        self._end: End = played.end
        self._request = request

    def __iter__(self) -> Iterator[bytes]:
        while (data := self._next()) is not None:
            yield data

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        data = self._next()
        if data is None:
            raise StopAsyncIteration
        return data

    def _next(self) -> bytes | None:
        data = next(self._left, None)
        if data is None and self._end != "eof":
            raise _RAISED.get(self._end, httpx.ReadError)(
                f"the recording ends here: {self._end}", request=self._request
            )
        return data
