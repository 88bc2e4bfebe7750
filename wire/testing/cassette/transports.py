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
from wire.http.lanes import AsyncLanes, Lanes
from wire.http.network import AsyncTransport, Transport
from wire.testing.cassette.deck import Deck, Keep
from wire.testing.cassette.file import End
from wire.testing.cassette.matching import Match
from wire.testing.cassette.modes import Mode, mode_of
from wire.testing.cassette.player import Played
from wire.testing.cassette.sent import Sent

_ENDS: list[tuple[type[Exception], End]] = [
    (httpx.TimeoutException, "timeout"),
    (httpx.RemoteProtocolError, "cut"),
    (Exception, "reset"),
]
_RAISED: dict[End, type[httpx.TransportError]] = {
    "timeout": httpx.ReadTimeout,
    "cut": httpx.RemoteProtocolError,
}


class _InUse:
    """What `Cassette` and `AsyncCassette` share."""

    _deck: Deck

    @property
    def mode(self) -> Mode:
        """The mode; see `wire.testing.Mode`."""
        return self._deck.mode

    @property
    def unplayed(self) -> list[str]:
        """The recorded requests that were not sent yet, as `interactions[1]: POST https://...`.

        Empty in the modes `all` and `rewrite`.
        """
        return self._deck.unplayed

    def check_all_played(self) -> None:
        """Raise `CassetteError` if a recorded request was not sent (C-20)."""
        self._deck.check_all_played()


class Cassette(_InUse, httpx.BaseTransport):
    """A transport that records to the cassette file at `path` and replays from it.

    >>> from wire import Client
    >>> http = Cassette("tide.cassette.json", "once")
    >>> with Client("gemini", http=http) as client:  # doctest: +SKIP
    ...     client.generate_content("gemini-3.5-flash", "How high is the tide?")

    What is replayed, and what is sent with `inner` and recorded, depends on the mode:

    | mode | no file at the start | recorded | not recorded |
    |---|---|---|---|
    | `none` | error | replay | error |
    | `once` | record | replay | error |
    | `new_episodes` | record | replay | record |
    | `all` | record | record in its place | record |
    | `rewrite` | record | record | record |
    | `verify` | error | send and compare | error |

    A request matches a recorded one with the same method, host, path, query and JSON value of the
    body (C-16); `match` adds to this rule. Each interaction is played once; equal requests get
    their responses in recorded order (C-19). A body that was interrupted while recording raises the
    same httpx error after its last recorded byte (C-04).

    Received bytes are passed on as they arrive. The file is written each time the body of a
    response is closed. Only headers of an allow-list are written (C-11). An interaction that
    contains a known secret is not written (C-12): then closing the body raises `CassetteError`,
    which names the position of the secret; its `raw` is the body. Known secrets are the keys of
    requests, the environment variables with names such as `...KEY` or `..._PASSWORD`, and
    `secrets`.

    Raises `CassetteError` for a file that is malformed or missing, and for a request without a
    match; `differences` of the error are those to the closest recorded request.

    Args:
        path: The file. Its folder is created.
        mode: See the table; `new` is `new_episodes`.
        inner: The transport that sends; by default that of a client, `Lanes()`.
        match: Which recorded request answers a sent one.
        secrets: Further texts that must not be written.
        again: How to record again, for error messages, such as a command.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "none",
        *,
        inner: Transport | None = None,
        match: Match | None = None,
        secrets: Iterable[str | Secret] = (),
        again: str = "",
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        inner, secrets = sealed_object(inner, "handle_request"), sealed_list(secrets)
        self._inner: Any = _inner(inner, "handle_request", Httpx2Transport)
        again = again or f"to record it again, use Cassette({os.fspath(path)!r}, 'rewrite') once"
        self._deck = Deck(path, mode_of(mode), match or Match(), again, secrets)

    @checked_arguments(ConfigurationError)
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Replay or send. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = request.read()
        taken = self._deck.take(_sent(request, body))
        if isinstance(taken, Played):
            return _replayed(taken, request)
        if self._inner is None:
            self._inner = Lanes()
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        return _wrapped(response, _Recorded(response.stream, _BodyCopy(taken, response)))

    def close(self) -> None:
        """Close the inner transport."""
        if self._inner is not None:
            self._inner.close()


class AsyncCassette(_InUse, httpx.AsyncBaseTransport):
    """`Cassette` for asyncio and trio; `inner` is `AsyncLanes()` by default.

    Reading and writing the file blocks the event loop, since no thread is used.
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: str = "none",
        *,
        inner: AsyncTransport | None = None,
        match: Match | None = None,
        secrets: Iterable[str | Secret] = (),
        again: str = "",
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_async_request"), sealed_list(secrets)
        self._inner: Any = _inner(inner, "handle_async_request", AsyncHttpx2Transport)
        name = os.fspath(path)
        again = again or f"to record it again, use AsyncCassette({name!r}, 'rewrite') once"
        self._deck = Deck(path, mode_of(mode), match or Match(), again, secrets)

    @checked_arguments(ConfigurationError)
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Replay or send. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = await request.aread()
        taken = self._deck.take(_sent(request, body))
        if isinstance(taken, Played):
            return _replayed(taken, request)
        if self._inner is None:
            self._inner = AsyncLanes()
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return _wrapped(response, _AsyncRecorded(response.stream, _BodyCopy(taken, response)))

    async def aclose(self) -> None:
        """Close the inner transport."""
        if self._inner is not None:
            await self._inner.aclose()


class Record(Cassette):
    """A `Cassette` in the mode `rewrite`: sends with `inner` and records everything.

    >>> from wire import Client, Lanes
    >>> http = Record(Lanes(), "weather.cassette.json")
    >>> with Client("gemini", http=http) as client:  # doctest: +SKIP
    ...     client.generate_content("gemini-3.5-flash", "How high is the tide?")
    """

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        inner: Transport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str | Secret] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_request"), sealed_list(secrets)
        if inner is None:  # which would select the default transport
            raise _no_transport(inner, "handle_request")
        super().__init__(path, "rewrite", inner=inner, secrets=secrets)


class AsyncRecord(AsyncCassette):
    """`Record` for asyncio and trio."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self,
        inner: AsyncTransport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str | Secret] = (),
    ) -> None:
        inner, secrets = sealed_object(inner, "handle_async_request"), sealed_list(secrets)
        if inner is None:  # which would select the default transport
            raise _no_transport(inner, "handle_async_request")
        super().__init__(path, "rewrite", inner=inner, secrets=secrets)


class Replay(Cassette):
    """A `Cassette` in the mode `none`: answers from the file, and sends nothing.

    >>> from wire import Client
    >>> with Client("gemini", http=Replay("weather.cassette.json")) as client:  # doctest: +SKIP
    ...     client.generate_content("gemini-3.5-flash", "How high is the tide?")
    """

    @checked_arguments(ConfigurationError)
    def __init__(self, path: str | os.PathLike[str], *, match: Match | None = None) -> None:
        again = "to record it again, call it once with http=Record(Lanes(), {!r})"
        super().__init__(path, match=match, again=again.format(os.fspath(path)))


class AsyncReplay(AsyncCassette):
    """`Replay` for asyncio and trio."""

    @checked_arguments(ConfigurationError)
    def __init__(self, path: str | os.PathLike[str], *, match: Match | None = None) -> None:
        again = "to record it again, call it once with http=AsyncRecord(AsyncLanes(), {!r})"
        super().__init__(path, match=match, again=again.format(os.fspath(path)))


def _inner(inner: Any, handle: str, httpx2: Callable[[Any], Any]) -> Any:
    if inner is None:
        return None
    if not callable(getattr(inner, handle, None)):
        raise _no_transport(inner, handle)
    return inner if library_of(inner) is None else httpx2(inner)


def _no_transport(inner: Any, handle: str) -> ConfigurationError:
    return ConfigurationError(
        f"inner: expected an httpx transport with {handle}(), not {type(inner).__name__}"
    )


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

    def __init__(self, keep: Keep, response: httpx.Response) -> None:
        self.closed = False
        self.end: End = "closed by the caller"
        self._pieces: list[bytes] = []
        self._keep = keep
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
        """Passes the stored body on; returns the error of that, if any."""
        self.closed = True
        return self._keep(self._status, self._headers, b"".join(self._pieces), self.end)


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
