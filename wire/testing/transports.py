"""Record and replay as httpx transports: they pass bytes on, and tell the recorder or ask the
player. No module is patched.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TypeVar

import httpx

from wire.errors import CassetteError, ConfigurationError
from wire.testing.cassette import End
from wire.testing.tape import Played, Player, Recorder, Sent

T = TypeVar("T")

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
    """Passes requests to `inner`, and writes what was sent and received to the cassette at `path`.

    Bytes are handed on as they arrive; the file is written when the body of a response is closed,
    with all interactions of this object, and an earlier file is replaced. It holds no header but
    those of an allow-list, and no secret: a known one that is found anywhere (keys of requests,
    `...KEY`, `...TOKEN`, `...SECRET`, `...PASSWORD` of the environment, `secrets`) keeps the
    interaction out of the file. Then closing the body raises `CassetteError` that names the place;
    its `raw` is the body.
    """

    def __init__(
        self,
        inner: httpx.BaseTransport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str] = (),
    ) -> None:
        self._inner, self._recorder = _transport(inner, "handle_request"), Recorder(path, secrets)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send with the inner transport. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = request.read()
        sent = _sent(request, body)
        place = self._recorder.send(sent)
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        return _wrapped(
            response, _Recorded(response.stream, _Taking(self._recorder, place, sent, response))
        )

    def close(self) -> None:
        """Close the inner transport."""
        self._inner.close()


class AsyncRecord(httpx.AsyncBaseTransport):
    """What `Record` is, for asyncio and trio.

    The file is written without a thread: it takes as long as writing a file does.
    """

    def __init__(
        self,
        inner: httpx.AsyncBaseTransport,
        path: str | os.PathLike[str],
        *,
        secrets: Iterable[str] = (),
    ) -> None:
        self._inner, self._recorder = (
            _transport(inner, "handle_async_request"),
            Recorder(path, secrets),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send with the inner transport. A request that gets no response is not recorded."""
        try:
            body = request.content
        except httpx.RequestNotRead:
            body = await request.aread()
        sent = _sent(request, body)
        place = self._recorder.send(sent)
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return _wrapped(
            response,
            _AsyncRecorded(response.stream, _Taking(self._recorder, place, sent, response)),
        )

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()


class Replay(httpx.BaseTransport):
    """Answers requests from the cassette at `path`, each interaction once, in recorded order among
    equal ones.

    A request matches by method, host, path, query and the value of its JSON body. One that does not
    raises `CassetteError` with the closest recorded request and what is different. A body that did
    not end well raises after its last byte.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._player = Player(path, _AGAIN)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer; nothing goes over the network."""
        return _replayed(self._player.play(_sent(request, request.read())), request)


class AsyncReplay(httpx.AsyncBaseTransport):
    """What `Replay` is, for asyncio and trio."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._player = Player(path, _ASYNC_AGAIN)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer; nothing goes over the network."""
        return _replayed(self._player.play(_sent(request, await request.aread())), request)


def _transport(inner: T, handle: str) -> T:
    if not callable(getattr(inner, handle, None)):
        raise ConfigurationError(
            f"inner: an httpx transport with {handle}() is wanted, not {type(inner).__name__}"
        )
    return inner


def _sent(request: httpx.Request, body: bytes) -> Sent:
    return Sent(request.method, str(request.url), request.headers.multi_items(), body)


def _wrapped(
    response: httpx.Response, stream: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    # A new object: one that was made with its content, as mock transports do, would never ask its
    # stream.
    return httpx.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=stream,
        extensions=response.extensions,
    )


class _Taking:
    """The body of one response on its way to the caller, and how it ended."""

    def __init__(
        self, recorder: Recorder, place: int, sent: Sent, response: httpx.Response
    ) -> None:
        self.closed = False
        self.end: End = "closed by the caller"
        self._pieces: list[bytes] = []
        self._recorder, self._place, self._sent = recorder, place, sent
        self._status, self._headers = response.status_code, response.headers.multi_items()

    def take(self, data: bytes) -> bytes:
        """Keep the bytes that are passed on."""
        self._pieces.append(data)
        return data

    def failed(self, cause: Exception) -> None:
        """The body ended in an error."""
        if self.end == "closed by the caller":
            self.end = next(end for kind, end in _ENDS if isinstance(cause, kind))

    def keep(self) -> CassetteError | None:
        """Give what was taken to the recorder."""
        self.closed = True
        return self._recorder.keep(
            self._place, self._sent, self._status, self._headers, b"".join(self._pieces), self.end
        )


def _tell(problem: CassetteError | None) -> None:
    """Raise, but not in place of a cancellation or an interrupt on its way out."""
    flying = sys.exception()
    if problem is not None and (flying is None or isinstance(flying, Exception)):
        raise problem


class _Recorded(httpx.SyncByteStream):
    def __init__(self, body: httpx.SyncByteStream, taking: _Taking) -> None:
        self._body, self._taking = body, taking
        self.abort = getattr(body, "abort", None)

    def __iter__(self) -> Iterator[bytes]:
        reads = iter(self._body)
        while True:
            try:
                data = next(reads)
            except StopIteration:
                self._taking.end = "eof"
                return
            except Exception as cause:
                self._taking.failed(cause)
                raise
            yield self._taking.take(data)

    def close(self) -> None:
        if self._taking.closed:
            return
        problem = self._taking.keep()
        try:
            self._body.close()
        finally:
            _tell(problem)


class _AsyncRecorded(httpx.AsyncByteStream):
    """Its own iterator: an async generator that nobody finishes is a warning on trio."""

    def __init__(self, body: httpx.AsyncByteStream, taking: _Taking) -> None:
        self._body, self._reads, self._taking = body, aiter(body), taking

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            return self._taking.take(await anext(self._reads))
        except StopAsyncIteration:
            if self._taking.end == "closed by the caller":
                self._taking.end = "eof"
            raise
        except Exception as cause:
            self._taking.failed(cause)
            raise

    async def aclose(self) -> None:
        if self._taking.closed:
            return
        problem = self._taking.keep()
        try:
            for each in (self._reads, self._body):
                close = getattr(each, "aclose", None)
                if close is not None:
                    await close()
        finally:
            _tell(problem)


def _replayed(played: Played, request: httpx.Request) -> httpx.Response:
    return httpx.Response(played.status, headers=played.headers, stream=_Playing(played, request))


class _Playing(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A recorded body, an event a chunk.

    What was not recorded cannot be given, and is no clean end (C-05).
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
