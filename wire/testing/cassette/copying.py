"""What a recording keeps of a response while its caller reads it: bytes, messages and times."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator

import httpx

from wire.core.errors import CassetteError
from wire.core.forks import new_in_child
from wire.http.watchdog import UPGRADE
from wire.testing.cassette.deck import Keep
from wire.testing.cassette.format.structs import End
from wire.testing.cassette.heard import Heard
from wire.testing.cassette.recorder import Timing

_ENDS: list[tuple[type[Exception], End]] = [
    (httpx.TimeoutException, "timeout"),
    (httpx.RemoteProtocolError, "cut"),
    (Exception, "reset"),
]


def wrapped(
    response: httpx.Response, stream: httpx.SyncByteStream | httpx.AsyncByteStream
) -> httpx.Response:
    """Return the response with another stream."""
    # A new object, since a response that was created with its content, as mock transports do it,
    # never reads its stream.
    return httpx.Response(
        response.status_code,
        headers=response.headers.raw,
        stream=stream,
        extensions={**response.extensions},
    )


def opens_session(request: httpx.Request, response: httpx.Response) -> bool:
    """Return whether a response opens the session that its request asks for."""
    if response.status_code != 101 or UPGRADE not in request.extensions:
        return False
    from wire.http.websocket import handshake_problem  # few programs open sessions

    key: str = request.extensions[UPGRADE]
    return not handshake_problem(key, response.status_code, response.headers)


class Watch:
    """Notes when the chunks of one response come."""

    def __init__(self, now: float, started: float) -> None:
        self._last = now
        self.timing = Timing(round(started * 1000), [], [])

    def chunk(self, length: int) -> None:
        """Add a chunk that came now."""
        self.timing.times.append(self.lap())
        self.timing.chunks.append(length)

    def lap(self) -> int:
        """Return the milliseconds since the chunk or message before."""
        now = time.monotonic()
        self._last, last = now, self._last
        return round((now - last) * 1000)


class Clock:
    """Starts with the first request of a recording."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._lock = threading.Lock()
        new_in_child(self, _lock=threading.Lock)

    def start(self) -> Watch:
        """Start the watch of a request that is sent now."""
        with self._lock:  # else a request could come before the first one
            now = time.monotonic()
            if self._first is None:
                self._first = now
        return Watch(now, now - self._first)


class BodyCopy:
    """Copies the body of one response while the caller reads it, and notes how the body ended."""

    def __init__(
        self, keep: Keep, request: httpx.Request, response: httpx.Response, watch: Watch | None
    ) -> None:
        self.closed = False
        self.end: End = "closed by the caller"
        self._pieces: list[bytes] = []
        self._keep = keep
        self._watch = watch
        self._status, self._headers = response.status_code, response.headers.multi_items()
        self.heard: Heard | None = None
        """The messages, of a response that opens a session."""
        if opens_session(request, response):
            self.heard = Heard(None if watch is None else watch.lap)

    def take(self, data: bytes) -> bytes:
        """Store the bytes and return them."""
        self._pieces.append(data)
        if self._watch is not None:
            self._watch.chunk(len(data))
        return data

    def failed(self, cause: Exception) -> None:
        """Record that reading the body raised `cause`; the first cause counts."""
        if self.end == "closed by the caller":
            self.end = next(end for kind, end in _ENDS if isinstance(cause, kind))

    def keep(self) -> CassetteError | None:
        """Pass the stored body on; return the error of that, if any."""
        self.closed = True
        body = b"".join(self._pieces)
        timing = None if self._watch is None else self._watch.timing
        return self._keep(self._status, self._headers, body, self.end, timing, self.heard)


def _raise_unless_interrupted(problem: CassetteError | None) -> None:
    """Raise `problem`, unless a cancellation or interrupt is being raised: it must not be lost."""
    active = sys.exception()
    if problem is not None and (active is None or isinstance(active, Exception)):
        raise problem


class Recorded(httpx.SyncByteStream):
    """A body that is copied while it is read."""

    def __init__(self, body: httpx.SyncByteStream, copy: BodyCopy) -> None:
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
        """Keep the copy, and close the body."""
        if self._copy.closed:
            return
        problem = self._copy.keep()
        try:
            self._body.close()
        finally:
            _raise_unless_interrupted(problem)


class AsyncRecorded(httpx.AsyncByteStream):
    """Is its own iterator, since trio warns of an async generator that is not closed."""

    def __init__(self, body: httpx.AsyncByteStream, copy: BodyCopy) -> None:
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
        """Keep the copy, and close the body."""
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
